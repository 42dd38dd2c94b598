/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_OVERFLOW_H
#define TALLY_OVERFLOW_H

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/workqueue.h>
#include <tally/tally.h>
#include "base/kick.h"
#include "base/queue.h"

struct tally_output;
struct tally_overflow;
struct tally_target;

/*
 * What keeps an overflow from going straight to its handler, in
 * tally_overflow::special. Written under tally_counter::lock.
 */
#define TALLY_SPECIAL_SHUT	BIT(0)	/* the event is disabled */
#define TALLY_SPECIAL_LIMITED	BIT(1)	/* @left more, then off */
#define TALLY_SPECIAL_ONE_SHOT	BIT(2)	/* one, then off until rearmed */
#define TALLY_SPECIAL_LIMITS	(TALLY_SPECIAL_LIMITED | TALLY_SPECIAL_ONE_SHOT)
#define TALLY_SPECIAL_STRIP	BIT(3)	/* no kernel registers */
#define TALLY_SPECIAL_NO_IDLE	BIT(4)	/* nothing of the idle task */
#define TALLY_SPECIAL_TIME	BIT(5)	/* the direct handler wants the time */
#define TALLY_SPECIAL_DEFER	BIT(6)	/* there are bottom halves */
#define TALLY_SPECIAL_INHERIT	BIT(7)	/* it may be a child's */
#define TALLY_SPECIAL_PRECISE	BIT(8)	/* the ip may be exact */
#define TALLY_SPECIAL_BRANCHES	BIT(9)	/* the branches are wanted */
#define TALLY_SPECIAL_QUIET	BIT(10)	/* there is no direct handler */
#define TALLY_SPECIAL_PUBLISH	BIT(11)	/* publish the count */
#define TALLY_SPECIAL_RECORD	BIT(12)	/* there may be a ring */
#define TALLY_SPECIAL_FILTER	BIT(13)	/* not all of them count */
#define TALLY_SPECIAL_FILL	BIT(14)	/* beside a ring, a handler that looks at its sample */

/**
 * struct tally_calls - what the calls of one handler took, on one CPU
 * @calls: how many there were; not of a direct handler
 * @timed: how many of them were timed
 * @ns: what those took
 * @max_ns: the longest of them
 *
 * Written where the handler runs, which never interrupts itself.
 */
struct tally_calls {
	u64 calls;
	u64 timed;
	u64 ns;
	u64 max_ns;
};

/**
 * struct tally_overflow_cpu - an event's overflows on one CPU
 * @busy: the direct handler is running; written by the callback
 * @paused: too many; set by the callback, cleared by the work that resumes
 * @gate: both, for the callback to see at once; words that x86 writes with one
 *	instruction
 * @look_at: the sequence at which to look at the clock next; the callback's
 * @in_window: overflows since @window_start, while not paused; the callback's
 * @skipped: overflows that a direct handler was not called for, because it was
 *	running or they were too many; counted by the callback, in any context
 * @throttled: how often it was switched off; as @skipped
 * @window_start: when the rate was last found to be low enough; the callback's
 * @passed: number of records that passed the filter since the last overflow
 * @sample: for the direct handler; off the stack, which may be that of an NMI.
 *	Its sequence is how many overflows there were, without @skipped.
 * @direct: the direct handler's calls
 * @irq: the interrupt's calls; written by @announce
 * @work: the work's calls; written by @bottom
 * @queue: to the bottom halves
 * @announce: the interrupt, on this CPU: calls the handler in interrupt and starts
 *	@bottom
 * @bottom: the work
 * @of: the event's
 *
 * "The callback's" means: written while @busy, which nothing on this CPU
 * interrupts to do the same.
 */
struct tally_overflow_cpu {
	struct tally_sample sample;
	union {
		struct {
			u32 busy;
			u32 paused;
		};
		u64 gate;
	};
	u32 in_window;
	u64 look_at;
	local_t passed;
	local_t skipped;
	local_t throttled;
	u64 window_start;
	struct tally_calls direct;
	struct tally_calls irq;
	struct tally_calls work;
	struct tally_queue queue;
	struct tally_kick announce;
	struct work_struct bottom;
	struct tally_overflow *of;
};

/**
 * struct tally_overflow - the overflows of one event
 * @special: TALLY_SPECIAL_*
 * @direct: the handler that is called at once
 * @ev: the event, for the handlers
 * @output: where its records go, with TALLY_SPECIAL_RECORD
 * @lost: the records of @output that found no room; NULL without an output
 * @filter_period: number of records that pass for one overflow, with
 *	TALLY_SPECIAL_FILTER
 * @filter_one: the event is of one task or CPU and uses @passed, not that of each CPU
 * @passed: number of records that passed since the last overflow
 * @cpus: the parts on each CPU
 * @reload: how many overflows between two looks at the clock
 * @batch: how many are too many in one window; 0 if any number is fine
 * @window_ns: the length of a window
 * @left: how many more until the event goes off, with TALLY_SPECIAL_LIMITED
 * @armed: one is wanted, with TALLY_SPECIAL_ONE_SHOT
 * @rearm: tally_event_rearm() was called; consumed by @control
 * @rearm_period: the period it was given, 0 for the same
 * @irq: the handler in hard interrupt
 * @work: the handler in process context
 * @kick: starts @control from any context
 * @control: switches perf's events off and on, and changes their period
 * @resume: ends pauses
 * @limits_next: @left is for the next time that the event is enabled; written under
 *	tally_counter::lock
 * @closing: the event is being released; written under tally_counter::lock
 * @node: in the list of all
 *
 * perf's events point to it. It goes a grace period after the last of them, and
 * after all that they started; see tally_events_destroy().
 */
struct tally_overflow {
	unsigned long special;
	u32 reload;
	struct tally_handler direct;
	struct tally_event *ev;
	struct tally_output *output;
	const atomic64_t *lost;
	s64 filter_period;
	bool filter_one;
	local_t passed;
	struct tally_overflow_cpu __percpu *cpus;
	u32 batch;
	u64 window_ns;
	atomic64_t left;
	atomic_t armed;
	atomic_t rearm;
	u64 rearm_period;
	struct tally_handler irq;
	struct tally_handler work;
	struct irq_work kick;
	struct work_struct control;
	struct delayed_work resume;
	bool limits_next;
	bool closing;
	struct list_head node;
};

struct tally_overflow *tally_overflow_new(const struct tally_builder *b,
					  const struct perf_event_attr *attr,
					  const struct tally_target *target,
					  struct tally_event *ev,
					  const atomic64_t *lost);
void tally_overflow_set_rate(struct tally_overflow *of, u32 rate,
			     bool interrupts);
void tally_overflow_drain(struct tally_overflow *of);
void tally_overflow_free(struct tally_overflow *of);
void tally_overflow_special(struct tally_overflow *of, u32 set, u32 clear);
void tally_overflow_stats(const struct tally_overflow *of,
			  struct tally_overflow_stats *stats);
void tally_overflow_stats_all(struct tally_overflow_stats *stats);
bool tally_overflow_inside(const struct tally_overflow *of);
int tally_overflow_init(void);
void tally_overflow_exit(void);

void tally_overflow_kick(struct tally_overflow *of);
bool tally_overflow_is_spent(const struct tally_overflow *of);
void tally_call_timed(struct tally_calls *calls,
		      const struct tally_handler *handler,
		      struct tally_event *ev, const struct tally_sample *s);

#endif /* TALLY_OVERFLOW_H */
