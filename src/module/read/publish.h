/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PUBLISH_H
#define TALLY_PUBLISH_H

#include <linux/types.h>

struct tally_count;
struct tally_event;
struct tally_publisher;

/*
 * Limits of the publishing interval, in nanoseconds. The shortest one is for up to eight
 * events; each further eight add as much.
 */
#define TALLY_PUBLISH_SHORTEST	10000ULL
#define TALLY_PUBLISH_LONGEST	3600000000000ULL

int tally_publish(struct tally_event **members, unsigned int nr, u64 interval);
struct tally_publisher *tally_publisher_end(struct tally_event **members,
					    unsigned int nr);
void tally_publisher_free(struct tally_publisher *p);
void tally_publish_overflow(struct tally_event *ev);
int tally_published(struct tally_event *first, int cpu, unsigned int nr,
		    struct tally_count *counts, u64 *age);

#endif /* TALLY_PUBLISH_H */
