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

struct tally_event;
struct tally_output;
struct tally_overflow;
struct tally_target;

/*
 * Flags of tally_overflow::special: reasons why an overflow is more than a call
 * of the direct handler. Changed by tally_overflow_special().
 */
#define TALLY_SPECIAL_DISABLED	BIT(0)	/* the event is disabled */
#define TALLY_SPECIAL_LIMITED	BIT(1)	/* the event goes off after @left overflows */
#define TALLY_SPECIAL_ONE_SHOT	BIT(2)	/* the event goes off after each overflow */
#define TALLY_SPECIAL_LIMITS	(TALLY_SPECIAL_LIMITED | TALLY_SPECIAL_ONE_SHOT)
#define TALLY_SPECIAL_STRIP	BIT(3)	/* samples show nothing of the kernel */
#define TALLY_SPECIAL_NO_IDLE	BIT(4)	/* overflows of idle tasks are ignored */
#define TALLY_SPECIAL_TIME	BIT(5)	/* samples of the direct handler have the time */
#define TALLY_SPECIAL_DEFER	BIT(6)	/* the event has bottom halves */
#define TALLY_SPECIAL_INHERIT	BIT(7)	/* the overflow may be a child's */
#define TALLY_SPECIAL_PRECISE	BIT(8)	/* the instruction pointer may be exact */
#define TALLY_SPECIAL_BRANCHES	BIT(9)	/* samples have branches */
#define TALLY_SPECIAL_NO_DIRECT	BIT(10)	/* the event has no direct handler */
#define TALLY_SPECIAL_PUBLISH	BIT(11)	/* overflows publish the count */
#define TALLY_SPECIAL_RECORD	BIT(12)	/* @output may have a ring */
#define TALLY_SPECIAL_FILTER	BIT(13)	/* the event has a filter */
#define TALLY_SPECIAL_FILL	BIT(14)	/* handlers may read samples, beside @output */
#define TALLY_SPECIAL_BUDGET	BIT(15)	/* one overflow in each window is delivered */
#define TALLY_SPECIAL_PAYLOAD	BIT(16)	/* samples have a payload */

/**
 * struct tally_calls - time that one handler took on one CPU
 * @calls: number of calls; not used for direct handlers
 * @timed: number of calls that were timed
 * @ns: nanoseconds that the timed calls took together
 * @max_ns: nanoseconds that the longest of them took
 *
 * Written where the handler runs. A handler never interrupts itself.
 */
struct tally_calls {
	u64 calls;
	u64 timed;
	u64 ns;
	u64 max_ns;
};

/**
 * struct tally_overflow_cpu - overflow state of one event on one CPU
 * @sample: sample for the direct handler; not on the stack, which may be that of an NMI.
 *	@sample.sequence is the number of overflows, without @skipped. (c)
 * @busy: 1 while the direct handler is running; written by the callback
 * @paused: 1 if there were too many overflows; set by the callback, cleared by
 *	tally_overflow::resume
 * @gate: @busy and @paused, for the callback to read both at once. They are
 *	words, which x86 writes with one instruction.
 * @in_rate_window: number of overflows since @rate_window_start (c)
 * @check_in: number of overflows until the rate is looked at next (c)
 * @passed: number of records that passed the filter since the last overflow
 * @skipped: number of overflows without a call of the direct handler, because
 *	it was running or @paused was set; counted in any context
 * @throttled: number of times that perf or @paused stopped the event; counted in any context
 * @guest: number of overflows in a guest of KVM; counted in any context
 * @rate_window_start: time at which the rate was last found to be low enough (c)
 * @direct: time that the direct handler took (c)
 * @irq: time that the handler in interrupt took; written by @announce
 * @work: time that the handler in process context took; written by @bottom
 * @queue: samples for the bottom halves
 * @announce: calls the handler in interrupt, and starts @bottom
 * @bottom: calls the handler in process context
 * @of: overflow state of the event
 *
 * (c): written by the callback while @busy is 1. A callback that interrupts it
 * on this CPU sees @busy and does not write these.
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
	u32 in_rate_window;
	u32 check_in;
	local_t passed;
	local_t skipped;
	local_t throttled;
	local_t guest;
	u64 rate_window_start;
	struct tally_calls direct;
	struct tally_calls irq;
	struct tally_calls work;
	struct tally_queue queue;
	struct tally_kick announce;
	struct work_struct bottom;
	struct tally_overflow *of;
};

/**
 * struct tally_overflow - overflow state of one event
 * @special: TALLY_SPECIAL_*
 * @reload: number of overflows from one look at the rate to the next
 * @direct: handler that the callback calls
 * @ev: the event, for the handlers
 * @output: output for records, with TALLY_SPECIAL_RECORD
 * @lost: number of records of @output that found no room; NULL without an output
 * @filter_period: number of records that pass for one overflow, with
 *	TALLY_SPECIAL_FILTER
 * @filter_one: the event is of one task or CPU and uses @passed, not that of each CPU
 * @passed: number of records that passed since the last overflow
 * @cpus: overflow state on each CPU
 * @batch: number of overflows in one window of the rate that are too many; 0 without a limit
 * @rate_window_ns: length of a window of the rate, in nanoseconds
 * @left: number of overflows until the event goes off, with TALLY_SPECIAL_LIMITED; without that
 *	flag, a negative number is one that the next tally_event_limit() adds to
 * @armed: 1 if the next overflow is delivered, with TALLY_SPECIAL_ONE_SHOT
 * @rearm: 1 from when tally_event_rearm() or tally_event_reload() leaves a new period to @control,
 *	until @control, or the next enabling of the event, begins that period
 * @rearm_period: length of the period that @rearm asks for; 0 for the same as before
 * @irq: handler in hard interrupt
 * @work: handler in process context
 * @kick: starts @control from any context
 * @control: switches perf's events off and on, and changes their period
 * @again: jiffies for which @control last put itself off because the counter
 *	was locked; 0 if it was not. Used by @control alone.
 * @resume: ends pauses
 * @limits_next: @left is for the next time that the event is enabled; written
 *	under tally_counter::lock
 * @closing: the event is being released; written under tally_counter::lock
 * @node: link in the list of all overflow states; guarded by the registry's lock
 *
 * perf's events point to the state. It is freed a grace period after the last of them was
 * released, or detached for good, when all works have ended; see tally_events_destroy().
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
	u64 rate_window_ns;
	atomic64_t left;
	atomic_t armed;
	atomic_t rearm;
	u64 rearm_period;
	struct tally_handler irq;
	struct tally_handler work;
	struct irq_work kick;
	struct delayed_work control;
	unsigned int again;
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
void tally_overflow_set_rate(struct tally_overflow *of, u32 rate, bool interrupts);
void tally_overflow_drain(struct tally_overflow *of);
void tally_overflow_free(struct tally_overflow *of);
void tally_overflow_special(struct tally_overflow *of, u32 set, u32 clear);
void tally_overflow_stats(const struct tally_overflow *of, struct tally_overflow_stats *stats);
void tally_overflow_stats_all(struct tally_overflow_stats *stats);
bool tally_overflow_inside(const struct tally_overflow *of);
int tally_overflow_init(void);
void tally_overflow_exit(void);

void tally_overflow_kick(struct tally_overflow *of);
bool tally_overflow_at_limit(const struct tally_overflow *of);
void tally_call_timed(struct tally_calls *calls,
		      const struct tally_handler *handler,
		      struct tally_event *ev, const struct tally_sample *s);

/* control.c */
void tally_control_setup(struct tally_overflow *of);
int tally_event_limit(struct tally_event *ev, int overflows);
void tally_control_cancel(struct tally_overflow *of);
int tally_control_init(void);
void tally_control_exit(void);

#endif /* TALLY_OVERFLOW_H */
