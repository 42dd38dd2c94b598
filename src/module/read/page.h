/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PAGE_H
#define TALLY_PAGE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include "counter/slot.h"

struct page;
struct tally_count;
struct tally_event;
struct tally_publisher;
struct vm_area_struct;

/* How often, if a program does not say: 10 ms. */
#define TALLY_PUBLISH_DEFAULT	10000000ULL

/**
 * struct tally_mapping - what is published for programs that mapped a page
 * @lock: guards what follows. Inside tally_set::lock, that of an attachment, and
 *	that of a program's mappings; so perf is not asked for anything inside.
 * @page: the page; from the first mapping on
 * @maps: how many mappings there are
 * @publisher: what publishes, while there is one
 * @interval: how often, in nanoseconds
 * @members: the events whose counts it shows
 * @nr: how many; 0 when they are gone
 * @attached: the only one is another one's
 * @base: what of it is not the program's
 */
struct tally_mapping {
	struct mutex lock; /* all of it */
	struct page *page;
	unsigned int maps;
	struct tally_publisher *publisher;
	u64 interval;
	struct tally_event **members;
	unsigned int nr;
	bool attached;
	struct tally_totals base;
};

void tally_mapping_init(struct tally_mapping *m, u64 interval);
void tally_mapping_end(struct tally_mapping *m);
void tally_mapping_show(struct tally_mapping *m, struct tally_event **members,
			unsigned int nr);
void tally_mapping_rebase(struct tally_mapping *m, const struct tally_totals *base);
void tally_mapping_refresh(struct tally_mapping *m);
void tally_mapping_last(struct tally_mapping *m, const struct tally_count *count);
size_t tally_publisher_memory(void);
void tally_pages_repair(void);
int tally_mapping_mmap(struct tally_mapping *m, struct vm_area_struct *vma);

#endif /* TALLY_PAGE_H */
