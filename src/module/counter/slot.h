/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_SLOT_H
#define TALLY_SLOT_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include "base/pmu.h"
#include "base/target.h"

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
 * @context: what @handler finds in perf's event; not NULL if only one event may use
 *	the counter
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

/*
 * All of these: on the CPU that @event, of @s, is counting on, with interrupts
 * disabled, and where tally_local_check() allows it.
 */

/*
 * The event that is being read on this CPU, innermost. One of several, nobody
 * knows which, if it points to itself.
 */
DECLARE_PER_CPU(const void *, tally_reading);

/* What the slot has counted. */
static inline u64 tally_local_value(const struct tally_slot *s,
				    struct perf_event *event)
{
	const void **reading, *outer;

	if (!s->still) {
		reading = raw_cpu_ptr(&tally_reading);
		outer = *reading;
		WRITE_ONCE(*reading, outer ? (const void *)reading : event);
		barrier(); /* J */
		s->read(event);
		barrier(); /* J */
		WRITE_ONCE(*reading, outer);
	}
	return local64_read(&event->count) + s->bank.value;
}

/* All that perf knows of the slot, as of @now of local_clock(). */
static inline void tally_local_totals(const struct tally_slot *s,
				      struct perf_event *event, u64 now,
				      struct tally_totals *t)
{
	s64 since = now + READ_ONCE(event->ctx->timeoffset) - event->tstamp;

	since = max(since, 0LL);

	t->value = tally_local_value(s, event);
	t->enabled = s->bank.enabled + event->total_time_enabled + since;
	t->running = s->bank.running + event->total_time_running + since;
}

/**
 * struct tally_slot_stats - numbers of all counters' slots
 * @perf_events: perf's events there are
 * @repairs: events of CPUs that went offline, whose counts were kept
 * @repair_errors: events that a CPU could not be given when it came
 */
struct tally_slot_stats {
	unsigned long perf_events;
	unsigned long repairs;
	unsigned long repair_errors;
};

/* Under tally_counter::lock. */
int tally_slot_cpu(const struct tally_counter *c, const struct tally_slot *s);
int tally_slot_create(struct tally_counter *c, struct tally_slot *s);
void tally_slot_release(struct tally_counter *c, struct tally_slot *s);
void tally_slot_read(const struct tally_slot *s, struct tally_totals *t);
void tally_slot_bank(struct tally_counter *c, struct tally_slot *s);
void tally_slot_repair(struct tally_counter *c, struct tally_slot *s);

int tally_counter_replace(struct tally_counter *c, const struct perf_event_attr *attr,
			  perf_overflow_handler_t handler, void *context);

void tally_slot_stats(struct tally_slot_stats *stats);
void tally_slot_init(void (*changed)(struct tally_counter *c, unsigned int slot));

#endif /* TALLY_SLOT_H */
