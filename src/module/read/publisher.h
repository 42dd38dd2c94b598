/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PUBLISHER_H
#define TALLY_PUBLISHER_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <tally/tally.h>
#include "event/event.h"

/**
 * struct publish_copy - the counts at one moment
 * @time_ns: when that was, by ktime_get_mono_fast_ns()
 * @totals: of each member
 * @states: of each member: TALLY_STATE_*
 */
struct publish_copy {
	u64 time_ns;
	struct tally_totals totals[TALLY_SET_MOST];
	u8 states[TALLY_SET_MOST];
};

/**
 * struct publish_page - what is published of one slot
 * @number: how often; its lowest bit tells the copy to read; 0 not yet
 * @writing: in the middle of it
 * @copies: the one that is read, and the next one
 */
struct publish_page {
	u32 number;
	u32 writing;
	struct publish_copy copies[2];
};

static_assert(sizeof(struct publish_page) <= 4096);

/**
 * struct publish_cpu - what publishes on one CPU
 * @timer: the timer
 * @publisher: whose
 * @cpu: where
 */
struct publish_cpu {
	struct hrtimer timer;
	struct tally_publisher *publisher;
	int cpu;
};

/**
 * struct tally_publisher - what publishes an event or a set
 * @node: in the list of all
 * @interval: of the timers
 * @asked: as it was asked for
 * @nr_slots: of each member's counter
 * @cpus: a timer for each CPU
 * @pages: one for each slot
 * @mapped: the page of a user program that is to have the sum of all; or NULL
 * @nr: how many members
 * @members: the events; they live longer
 */
struct tally_publisher {
	struct list_head node;
	u64 interval;
	u64 asked;
	unsigned int nr_slots;
	struct publish_cpu __percpu *cpus;
	struct publish_page **pages;
	struct publish_mapped *mapped;
	unsigned int nr;
	struct tally_event *members[];
};

/**
 * struct publish_mapped - a page that user programs read
 * @page: the page
 * @base: what is not the program's, of the only member
 * @attached: that is so, and what its owner resets it to does not matter
 * @writing: somebody is, and has the rest for himself
 * @cpu: which CPU's timer does
 * @sum: of all slots
 * @one: of one
 */
struct publish_mapped {
	struct perf_event_mmap_page *page;
	struct tally_totals base;
	bool attached;
	u32 writing;
	int cpu;
	struct publish_copy sum;
	struct publish_copy one;
};

struct tally_publisher *tally_publisher_new(struct tally_event **members,
					    unsigned int nr, unsigned int room,
					    u64 interval);
void tally_publisher_start_here(void *publisher);
void tally_publisher_stop(struct tally_publisher *p);
bool tally_publishes_on(const struct tally_publisher *p, int cpu);
void tally_publish_here(struct tally_publisher *p, int cpu);
void tally_publish_at_rest(struct tally_publisher *p, unsigned int slot);
void tally_publish_mapped(struct tally_publisher *p);
void tally_mapped_add_up(struct tally_publisher *p);
void tally_mapped_write(const struct publish_mapped *m, unsigned int nr);
void tally_mapped_init(struct perf_event_mmap_page *page);

#endif /* TALLY_PUBLISHER_H */
