/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_BUDGET_H
#define TALLY_BUDGET_H

#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <tally/tally.h>

struct tally_event;
struct window_length;

/**
 * struct tally_budget_cpu - windows of an event on one CPU
 * @number: number of the current window; written by begin()
 * @first: number of the first window
 * @base: what the event had counted on the CPU when the window began; written by begin()
 * @whole: perf has begun a period that ends with the budget of this window; written by begin()
 * @over: the budget of this window is used up, or begin() is at work; set by the callback and
 *	begin(), cleared by begin()
 * @exceeded: number of windows whose budget was used up; written by the
 *	callback, or by begin() if the callback comes late
 * @latest: numbers of the latest of these windows; of the nth one at n % ARRAY_SIZE(@latest). One
 *	may be written while the others are read.
 *
 * All are written on the CPU of the windows only, with interrupts disabled. The callback
 * may come in NMI: while begin() writes @number, @first and @base, @over keeps it away. begin() is
 * called in interrupt, by the timer and when the event begins.
 */
struct tally_budget_cpu {
	u64 number;
	u64 first;
	u64 base;
	bool whole;
	bool over;
	u64 exceeded;
	u64 latest[TALLY_BUDGET_LATEST + 1];
};

/**
 * struct tally_budget - the budget of an event
 * @ev: the event
 * @max: counts that are allowed in one window on each CPU
 * @window_ns: length of a window, in nanoseconds
 * @inexact: the count may be a little short of the period when perf's event overflows
 * @length: timers of all budgets with windows of this length, which are freed when the last of
 *	these budgets ends. Used under lengths_lock (budget.c) only.
 * @node: link in the list of @length
 * @cpus: windows on each CPU
 * @exceeded: sum of tally_budget_cpu::exceeded, for poll
 * @wake: wakes those who poll
 */
struct tally_budget {
	struct tally_event *ev;
	u64 max;
	u64 window_ns;
	bool inexact;
	struct window_length *length;
	struct list_head node;
	struct tally_budget_cpu __percpu *cpus;
	atomic64_t exceeded;
	struct irq_work wake;
};

extern struct wait_queue_head tally_budget_wait;

int tally_budget_new(struct tally_event *ev, u64 max, u64 window_ns);
void tally_budget_end(struct tally_budget *b);
void tally_budget_free(struct tally_budget *b);
void tally_budget_repair(void);
bool tally_budget_exceed(struct tally_budget *b);
u64 tally_budget_nr_exceeded(const struct tally_budget *b);
void tally_budget_begun(struct tally_budget *b);
int tally_budget_used(struct tally_event *ev, int cpu, u64 *used);

#endif /* TALLY_BUDGET_H */
