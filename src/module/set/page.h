/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PAGE_H
#define TALLY_PAGE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include "counter/slot.h"

struct page;
struct tally_account;
struct tally_count;
struct tally_event;
struct tally_publisher;
struct vm_area_struct;

/* Time between two updates of the page if the program sets none: 10 ms. */
#define TALLY_PUBLISH_DEFAULT	10000000ULL

/**
 * struct tally_mapping - page with counts that programs map
 * @lock: lock of the members above @writing; taken inside tally_set::lock, tally_attachment::lock
 *	and the mmap lock of a program, so perf's functions are not called inside it
 * @page: the page; NULL before the first mapping or tally_mapping_publish()
 * @maps: number of mappings
 * @publisher: publisher that writes the page; NULL while the page is not published
 * @interval: time between two updates, in nanoseconds
 * @account: account of the user whom the file is charged to; NULL for none, and
 *	for an interval below the default, which takes CAP_PERFMON. The page is
 *	not published when the charge is given back.
 * @members: events whose counts the page shows
 * @nr: number of @members; 0 when they are gone
 * @attached: the only event has another owner, whose resets are ignored
 * @unprivileged: no CPU is interrupted for the page. The only event is published from
 *	tally_mapping_publish() on, whether the page is mapped or not.
 * @writing: 1 while a writer uses @page, @base and tally_publisher::sums
 * @base: part of the attached event's totals that the program does not see
 * @written: time of the last write in nanoseconds, by ktime_get_mono_fast_ns()
 * @refreshed: time of the last publication by page.c, by the same clock
 */
struct tally_mapping {
	struct mutex lock; /* members above writing */
	struct page *page;
	unsigned int maps;
	struct tally_publisher *publisher;
	u64 interval;
	struct tally_account *account;
	struct tally_event **members;
	unsigned int nr;
	bool attached;
	bool unprivileged;
	u32 writing;
	struct tally_totals base;
	u64 written;
	u64 refreshed;
};

void tally_mapping_init(struct tally_mapping *m, u64 interval, struct tally_account *account);
void tally_mapping_free_page(struct tally_mapping *m);
void tally_mapping_end(struct tally_mapping *m);
void tally_mapping_show(struct tally_mapping *m, struct tally_event **members,
			unsigned int nr);
void tally_mapping_rebase(struct tally_mapping *m, const struct tally_totals *base);
void tally_mapping_refresh(struct tally_mapping *m);
void tally_mapping_finish(struct tally_mapping *m, const struct tally_count *count);
int tally_mapping_publish(struct tally_mapping *m, struct tally_event **member);
void tally_mapping_read(struct tally_mapping *m, struct tally_count *count, u64 *time_ns);
void tally_mapping_reset(struct tally_mapping *m);
size_t tally_publisher_memory(void);
void tally_pages_repair(void);
int tally_mapping_mmap(struct tally_mapping *m, struct vm_area_struct *vma);

#endif /* TALLY_PAGE_H */
