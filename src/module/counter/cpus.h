/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_CPUS_H
#define TALLY_CPUS_H

#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/refcount.h>
#include <tally/tally.h>
#include "base/pmu.h"

/**
 * struct tally_target - whom to count
 * @task: one task; NULL counts whatever runs on the CPU
 * @cpu: one CPU; -1 for any CPU the task runs on, or, without a task, all CPUs
 */
struct tally_target {
	struct task_struct *task;
	int cpu;
};

/* What perf counted; all three only ever grow. */
struct tally_totals {
	u64 value;
	u64 enabled;
	u64 running;
};

/**
 * struct tally_slot - the part of a counter on one CPU, or for its task
 * @event: perf's event; NULL where there is none. What reads it without the
 *	lock has interrupts disabled, which keeps it from being freed.
 * @read: what brings its count up to date; on the CPU that it is counting on
 * @still: nothing has to
 * @bank: what earlier events of this slot counted before their CPU went offline;
 *	written while @event is NULL
 * @looked: @now is from the last tally_counter_look()
 * @now: what that found
 * @err: why there is no event on an online CPU
 * @absent: the PMU does not serve this CPU
 * @paused: switched off because it overflowed too often
 * @spent: switched off until its event is armed again
 */
struct tally_slot {
	struct perf_event *event;
	tally_read_fn read;
	bool still;
	struct tally_totals bank;
	bool looked;
	struct tally_totals now;
	int err;
	bool absent;
	bool paused;
	bool spent;
};

/**
 * struct tally_counter - perf's events for one thing counted on one target
 * @lock: guards @users_on and @slots, and the views of the events that use it.
 *	Taken outside cpu_hotplug_lock: perf takes that one when it creates and
 *	releases events. So a hotplug callback must never take @lock.
 * @node: in the table of counters that can be shared
 * @refs: events that count with it; guarded by the table's lock
 * @holds: events that may still ask it what it has counted
 * @users: those that can be read without @lock; guarded by it
 * @users_on: events that use it and are enabled
 * @at_once: perf's events are enabled as they are made, which happens now
 * @fresh: they were, and none of the events has begun yet
 * @target: whom it counts; holds a reference to the task
 * @attr: what it counts
 * @handler: perf's callback for its overflows, which are of the one event that
 *	uses it; NULL if it only counts
 * @context: what @handler finds in perf's event
 * @nr_slots: nr_cpu_ids for all CPUs, else 1
 * @slot_mask: takes the number of a CPU to that of its slot
 * @slots: one per possible CPU, or one
 *
 * Events that ask for the same thing share one counter, each seeing it from
 * its own start: the PMU has few counters, and perf goes through all events of
 * a CPU to enable one.
 */
struct tally_counter {
	struct mutex lock; /* users_on, slots, views */
	struct hlist_node node;
	unsigned int refs;
	refcount_t holds;
	struct list_head users;
	unsigned int users_on;
	bool at_once;
	bool fresh;
	struct tally_target target;
	struct perf_event_attr attr;
	perf_overflow_handler_t handler;
	void *context;
	unsigned int nr_slots;
	unsigned int slot_mask;
	struct tally_slot slots[];
};

struct tally_counter *tally_counter_get(const struct perf_event_attr *attr,
					const struct tally_target *target,
					perf_overflow_handler_t handler,
					void *context, bool at_once, int *err_cpu);
void tally_counter_end(struct tally_counter *c);
void tally_counter_put(struct tally_counter *c);
void tally_counter_on(struct tally_counter *c);
void tally_counter_on_exec(struct tally_counter *c);
void tally_counter_retry(struct tally_counter *c);
void tally_counter_off(struct tally_counter *c);
void tally_counter_leave(struct tally_counter *c);
void tally_counter_quieten(struct tally_counter *c);
void tally_counter_pause(struct tally_counter *c, unsigned int slot,
			 bool spent);
void tally_counter_unpause(struct tally_counter *c, unsigned int slot);
void tally_counter_arm(struct tally_counter *c, unsigned int slot);
int tally_counter_set_period(struct tally_counter *c, u64 period);
int tally_counter_modify(struct tally_counter *c,
			 const struct perf_event_attr *attr);
bool tally_counter_interrupts(struct tally_counter *c);
bool tally_counter_rotates(struct tally_counter *c);
bool tally_counter_is_still(struct tally_counter *c);
bool tally_counter_same_pmu(struct tally_counter *a, struct tally_counter *b);
void tally_counter_look(struct tally_counter *c);
void tally_counter_look_slot(struct tally_counter *c, unsigned int slot);
bool tally_counter_counts(const struct tally_counter *c);
bool tally_counter_ended(const struct tally_counter *c);
enum tally_state tally_counter_state(const struct tally_counter *c,
				     unsigned int slot);

static inline unsigned int tally_target_slots(const struct tally_target *target)
{
	return target->task || target->cpu >= 0 ? 1 : nr_cpu_ids;
}

bool tally_counter_serves(const struct tally_counter *c, unsigned int slot);
/* What event.c does about a slot with another event, or none, or another bank. */
void tally_users_changed(struct tally_counter *c, unsigned int slot);
void tally_slot_repair(struct tally_counter *c, struct tally_slot *s);
void tally_slot_read(const struct tally_slot *s, struct tally_totals *t);

static inline bool tally_counter_on_all_cpus(const struct tally_counter *c)
{
	return !c->target.task && c->target.cpu < 0;
}

/*
 * perf's list_del_event() clears the bit when it takes a CPU's events away,
 * under locks that are not ours to take; what is missed here is seen by the
 * work that the going of the CPU queued.
 */
static inline bool tally_slot_detached(const struct tally_slot *s)
{
	return !(READ_ONCE(s->event->attach_state) & PERF_ATTACH_CONTEXT);
}

/* Its CPU has not been there so far. */
static inline bool tally_slot_is_blank(const struct tally_slot *s)
{
	return !s->event && !s->err && !s->bank.enabled;
}

static inline bool tally_slot_lives(const struct tally_counter *c,
				    const struct tally_slot *s)
{
	return s->event && (c->target.task || !tally_slot_detached(s));
}

/* A clock, which perf counts and samples in nanoseconds whatever it is told. */
static inline bool tally_attr_is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

static inline bool tally_attr_is_task_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       attr->config == PERF_COUNT_SW_TASK_CLOCK;
}

struct tally_cpus_stats {
	unsigned long counters;
	unsigned long perf_events;
	unsigned long repairs;
	unsigned long repair_errors;
};

void tally_cpus_stats(struct tally_cpus_stats *stats);
int tally_cpus_init(void);
void tally_cpus_exit(void);

#endif /* TALLY_CPUS_H */
