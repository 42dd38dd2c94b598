/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PUBLISH_H
#define TALLY_PUBLISH_H

#include <linux/types.h>

struct tally_count;
struct tally_event;
struct tally_page;
struct tally_publisher;
struct tally_totals;

/* The interval of what is published, in nanoseconds, for each eight events begun. */
#define TALLY_PUBLISH_SHORTEST	10000ULL
#define TALLY_PUBLISH_LONGEST	3600000000000ULL

int tally_publish(struct tally_event **members, unsigned int nr, u64 interval);
struct tally_publisher *tally_publisher_end(struct tally_event **members,
					    unsigned int nr);
void tally_publisher_free(struct tally_publisher *p);
void tally_publish_overflow(struct tally_event *ev);
int tally_published(struct tally_event *first, int cpu, unsigned int nr,
		    struct tally_count *counts, u64 *age);
void tally_publish_repair(void);
size_t tally_publisher_memory(void);

struct tally_publisher *tally_publisher_map(struct tally_event **members,
					    unsigned int nr, u64 interval,
					    void *page,
					    const struct tally_totals *base);
void tally_publisher_refresh(struct tally_publisher *p,
			     const struct tally_totals *base);
void tally_publisher_change(struct tally_publisher *p,
			    struct tally_event **members, unsigned int nr);
void tally_publisher_last(struct tally_publisher *p,
			  const struct tally_count *count);
void tally_publisher_unmap(struct tally_publisher *p);

#endif /* TALLY_PUBLISH_H */
