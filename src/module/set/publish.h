/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PUBLISH_H
#define TALLY_PUBLISH_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <tally/tally.h>
#include "base/account.h"
#include "event/event.h"

struct tally_mapping;
struct tally_publisher;

/*
 * Limits of the publishing interval, in nanoseconds. The shortest one is for up
 * to eight events; each further eight add as much. A shorter one takes a CPU
 * for the timer alone; nobody waits for a longer one.
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

/**
 * struct publish_copy - counts at one moment
 * @time_ns: time of that moment in nanoseconds, by ktime_get_mono_fast_ns()
 * @totals: totals of each member
 * @states: state of each member, TALLY_STATE_*
 */
struct publish_copy {
	u64 time_ns;
	struct tally_totals totals[TALLY_SET_MOST];
	u8 states[TALLY_SET_MOST];
};

/**
 * struct publish_page - published counts of one slot
 * @number: number of copies ever written; the lowest bit is the index of the
 *	copy to read; 0 before the first copy
 * @writing: 1 while a writer has taken the page
 * @base: totals of the only member in the first copy, for an unprivileged publisher; else 0
 * @copies: the copy to read, and the one to write next
 */
struct publish_page {
	u32 number;
	u32 writing;
	struct tally_totals base;
	struct publish_copy copies[2];
};

static_assert(sizeof(struct publish_page) <= 4096);

/**
 * struct publish_cpu - timers of a publisher on one CPU
 * @tick: timer that runs at ticks of a busy CPU; it starts @timer
 * @timer: timer that keeps the interval, until it finds the CPU idle
 * @lock: lock of @stopped and of the start of @tick; taken in any context but NMI
 * @stopped: whether @tick must not be started
 * @moved: the driver of a PMU has moved an event of another CPU's slot to this CPU
 * @publisher: the publisher
 * @cpu: the CPU
 */
struct publish_cpu {
	struct timer_list tick;
	struct hrtimer timer;
	raw_spinlock_t lock; /* stopped, start of tick */
	bool stopped;
	bool moved;
	struct tally_publisher *publisher;
	int cpu;
};

/**
 * struct tally_publisher - publisher of an event or a set
 * @node: link in the list of publishers
 * @interval: least interval of the timers, and least age of an unprivileged copy, in nanoseconds
 * @work: work of publishing once, with @mapping: 1 for up to eight members on eight CPUs
 * @account: account of the user whose pages share a rate; NULL for none
 * @unprivileged: no CPU is interrupted for the publisher, and a copy stays for an interval: it has
 *	no hard timers, and begins to count on a CPU with the first copy there
 * @keeper: CPU whose publish_cpu::timer runs for the task; -1 if none does, and
 *	always for events of CPUs
 * @nr_slots: number of slots of each member's counter
 * @moved: tally_publisher::cpus has a CPU with publish_cpu::moved
 * @start: work that starts the deferrable timers
 * @cpus: timers on each CPU
 * @pages: page for each slot
 * @mapping: page with the sums, for user programs; NULL if there is none
 * @sums: memory for the sum of all slots, and for a copy of one slot, with @mapping
 * @nr: number of members
 * @members: the events, which are not freed before the publisher
 */
struct tally_publisher {
	struct list_head node;
	u64 interval;
	unsigned int work;
	struct tally_account *account;
	bool unprivileged;
	int keeper;
	unsigned int nr_slots;
	bool moved;
	struct work_struct start;
	struct publish_cpu __percpu *cpus;
	struct publish_page **pages;
	struct tally_mapping *mapping;
	struct publish_copy *sums;
	unsigned int nr;
	struct tally_event *members[];
};

/**
 * struct tally_shared - count of an event in a slot, which its unprivileged publishers share
 * @taken: somebody writes or reads the other members
 * @time_ns: time of the count in nanoseconds, by ktime_get_mono_fast_ns(); 0 for none
 * @totals: the count
 * @state: state of the event
 *
 * Without it, a user who has many publishers could see a count of a CPU change
 * as often as he likes: each has a copy of its own time.
 */
struct tally_shared {
	bool taken;
	u64 time_ns;
	struct tally_totals totals;
	u8 state;
};

/*
 * The least time between two publications of one user's pages on a CPU, in nanoseconds. A
 * publication takes up to 0.2 ms in a slow virtual machine with a debugging kernel. Timers that
 * take all of the time would never let the softirq end.
 */
#define TALLY_PUBLISH_SHARE	400000ULL

/*
 * Returns the interval of the timers, in nanoseconds. Many pages of one user
 * are published less often, to leave the CPU to other users.
 */
static inline u64 tally_publisher_interval(const struct tally_publisher *p)
{
	if (!p->account)
		return p->interval;
	return max(p->interval, TALLY_PUBLISH_SHARE * atomic_read(&p->account->published));
}

/*
 * A reader may read a copy while it is written. The reader sees by the number that it
 * did, and reads again; but all accesses are marked, because they are data races.
 */
static inline void tally_publish_load(const struct publish_copy *copy, unsigned int i,
				      struct tally_totals *t, u8 *state)
{
	t->value = READ_ONCE(copy->totals[i].value);
	t->enabled = READ_ONCE(copy->totals[i].enabled);
	t->running = READ_ONCE(copy->totals[i].running);
	*state = READ_ONCE(copy->states[i]);
}

static inline void tally_publish_store(struct publish_copy *new, unsigned int i,
				       u64 value, u64 enabled, u64 running,
				       enum tally_state state)
{
	WRITE_ONCE(new->totals[i].value, value);
	WRITE_ONCE(new->totals[i].enabled, enabled);
	WRITE_ONCE(new->totals[i].running, running);
	WRITE_ONCE(new->states[i], state);
}

/*
 * Guards the list of publishers, their members and their timers, and writes of
 * tally_event::publisher and ::unpublished. Taken inside the mmap lock of a
 * program, so perf's locks must not be taken inside it: perf copies to user
 * memory, which may take the mmap lock, while it holds them.
 */
extern struct mutex tally_publishers_lock;
extern struct list_head tally_publishers;

struct tally_publisher *tally_publisher_new(struct tally_event **members,
					    unsigned int nr, unsigned int room,
					    u64 interval);
int tally_publish_share(struct tally_event *ev);
void tally_publisher_init(struct tally_publisher *p);
void tally_publisher_start(struct tally_publisher *p);
void tally_publisher_stop(struct tally_publisher *p);
int tally_publisher_cpu(const struct tally_publisher *p);
void tally_publish_counting(struct tally_publisher *p);
void tally_publish_here(struct tally_publisher *p, int cpu);
bool tally_publish_at_rest(struct tally_publisher *p, unsigned int slot);
void tally_publish_mapped(struct tally_publisher *p);
void tally_mapped_add_up(struct tally_publisher *p);
void tally_mapped_write(struct tally_publisher *p);
void tally_mapped_read(struct perf_event_mmap_page *page, struct tally_count *count,
		       u64 *time_ns);
void tally_mapped_zero(struct perf_event_mmap_page *page);
void tally_mapped_init(struct perf_event_mmap_page *page);

#endif /* TALLY_PUBLISH_H */
