/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_SLOT_H
#define TALLY_SLOT_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include "base/kprobe.h"
#include "base/pmu.h"
#include "base/register.h"
#include "base/target.h"
#include "base/trick.h"
#include "compat.h"

/* Totals of perf: the value, and the nanoseconds enabled and running. The times never fall. */
struct tally_totals {
	u64 value;
	u64 enabled;
	u64 running;
};

static inline void tally_totals_add(struct tally_totals *to, const struct tally_totals *t)
{
	to->value += t->value;
	to->enabled += t->enabled;
	to->running += t->running;
}

/* Reads the totals of an event by perf's own function. Process context, may sleep. */
static inline struct tally_totals tally_perf_totals(struct perf_event *event)
{
	struct tally_totals t;

	t.value = perf_event_read_value(event, &t.enabled, &t.running);
	return t;
}

static inline void tally_totals_subtract(struct tally_totals *from, const struct tally_totals *t)
{
	from->value -= t->value;
	from->enabled -= t->enabled;
	from->running -= t->running;
}

/**
 * struct tally_slot - part of a counter on one CPU, or for its task
 * @event: perf's event; NULL if there is none. A read without the lock disables
 *	interrupts or is under RCU, so the event is not freed meanwhile.
 * @others: array of perf's events for the task on other kinds of cores, with a NULL at its end;
 *	NULL if @event counts on all cores. Of these and @event, one at most is on a PMU at a
 *	time. Written before @event, and never changed.
 * @read: function that brings the count of @event up to date, on the CPU that
 *	it is counting on
 * @width: number of bits of the register that counts @event, if local reads
 *	read that register and do not call @read; else 0
 * @up_to_date: the count of @event is always up to date
 * @update_on_overflow: the count of @event is brought up to date by overflows only
 * @software: a software PMU of perf counts @event, as for clocks, tracepoints and breakpoints
 * @bank: totals of events that were released, when their CPU went offline or
 *	when the counter ended; written while @event is NULL
 * @was_read: in the last read, the CPU on which the slot was counting has read
 *	it. This and the next four are valid until the counter is unlocked.
 * @was_throttled: the slot was throttled then; valid with @was_read
 * @time: local_clock() of that CPU then; valid with @was_read
 * @at_rest: nanoseconds for which the slot's events had been on the PMU, as of the moment at which
 *	the last read of several counters found them off the PMU; valid without @was_read
 * @now: totals that the last read found
 * @err: error that keeps an online CPU without an event; 0 if there is none;
 *	ENODEV for the moment in which the totals of an event go to @bank
 * @absent: the PMU does not count on this CPU, or the counter has ended; the slot gets no event
 *	until the CPU has come or gone, or any slot of the counter is banked
 * @roused: perf's event is enabled for a moment: see rouse_group() in group.c
 * @paused: the event is disabled because it overflowed too often
 * @disarmed: the event is disabled until it is armed again
 */
struct tally_slot {
	struct perf_event *event;
	struct perf_event **others;
	tally_read_fn read;
	u32 width;
	bool up_to_date;
	bool update_on_overflow;
	bool software;
	struct tally_totals bank;
	bool was_read;
	bool was_throttled;
	u64 time;
	u64 at_rest;
	struct tally_totals now;
	int err;
	bool absent;
	bool roused;
	bool paused;
	bool disarmed;
};

/* Who finds a counter that is its own first: events alone, sets built at once, or nobody. */
enum tally_finder { TALLY_OF_ONE, TALLY_OF_SET, TALLY_OF_FILES };

/**
 * struct tally_counter - perf's events with the same attributes on one target
 * @lock: lock of @users, @users_on and @slots, and of the views of the events
 *	that use the counter; of all counters that have this one as @first.
 *	Taken outside cpu_hotplug_lock, which perf takes when it creates and
 *	releases events. So a hotplug callback must never take @lock.
 * @first: counter of the first member of the set that this one was made for,
 *	with a reference; the counter itself, if it is that counter or in no set
 * @of_group: of a counter that is its own @first: who finds it. Guarded by the table's lock
 * @kind: tally_group_kind(); -1 if it is in no group
 * @leads: of a counter that is its own @first: those of the set that lead groups, by @group_node
 * @leader: the counter that leads the group of this one, with a reference; NULL for none. Its event
 *	in a slot leads that of this one there, see counter/group.c.
 * @siblings: the counters that this one leads, by @group_node
 * @nr_siblings: their number
 * @group_node: link in @leads or @siblings; guarded by @lock
 * @full: the group had no room for another counter
 * @waits: its new events stay off until those of its siblings are there
 * @filled: the counter has had its first events; later ones without room in the group are alone
 * @node: link in the table of counters that events may share; guarded by the table's lock
 * @cpu_node: link in the list of counters that count on CPUs; guarded by the table's lock
 * @refs: number of events that count with the counter; guarded by the table's lock
 * @holds: number of references: of events that may still read the counter, of counters that have it
 *	as @first or @leader, and of tally_counters_visit()
 * @users: events that use the counter, by tally_event::user_node
 * @users_on: number of enabled events that use the counter or, without @handler, its siblings; one
 *	more for an inherited counter, during a trial (life/build.c), and for a leader with
 *	@handler that ends (life/end.c)
 * @dead: no slot gets an event any more: the creation failed, or the last use has ended
 * @at_once: perf's events are being created, and are enabled from their creation on
 * @by_perf: only perf reads its events: they are inherited, or TALLY_TRICK_TIMES was not proved
 * @moves: the PMU may serve several CPUs, and its driver move an event from one to another
 * @gauge: the count is a level, as tally_event::gauge: a new event of perf begins with all of it
 * @unused: perf's events were enabled from their creation on, and no event of
 *	the counter has been enabled yet
 * @target: target of the counter, with references to the task and the cgroup
 * @attr: attributes of perf's events
 * @kprobe: trace event that perf's events count in place of @attr's kernel probe; NULL without one
 * @handler: perf's callback for overflows; NULL for a counter that does not overflow
 * @context: argument for @handler in perf's event; not NULL if only one event
 *	may use the counter
 * @nr_slots: number of @slots: nr_cpu_ids for all CPUs, else 1
 * @slot_mask: mask that makes the number of a slot from the number of its CPU
 * @slots: slot of each CPU, or the only slot
 *
 * Events that count the same share one counter, and each event counts from its
 * own start: the PMU has few hardware counters, and perf goes through all
 * events of a CPU to enable one.
 */
struct tally_counter {
	struct mutex lock; /* users_on, slots, views */
	struct tally_counter *first;
	enum tally_finder of_group;
	int kind;
	struct list_head leads;
	struct tally_counter *leader;
	struct list_head siblings;
	unsigned int nr_siblings;
	struct list_head group_node;
	bool full;
	bool waits;
	bool filled;
	struct hlist_node node;
	struct list_head cpu_node;
	unsigned int refs;
	refcount_t holds;
	struct list_head users;
	unsigned int users_on;
	bool dead;
	bool at_once;
	bool by_perf;
	bool moves;
	bool gauge;
	bool unused;
	struct tally_target target;
	struct perf_event_attr attr;
	struct tally_kprobe *kprobe;
	perf_overflow_handler_t handler;
	void *context;
	unsigned int nr_slots;
	unsigned int slot_mask;
	struct tally_slot slots[];
};

/* Locks a counter, and with it those of other members of a set. */
static inline void tally_counter_lock(struct tally_counter *c)
{
	mutex_lock(&c->first->lock);
}

/* Locks a counter as tally_counter_lock(), but returns false if that would have to wait. */
static inline bool tally_counter_lock_now(struct tally_counter *c)
{
	return mutex_trylock(&c->first->lock);
}

static inline void tally_counter_unlock(struct tally_counter *c)
{
	mutex_unlock(&c->first->lock);
}

static inline void tally_counter_assert_locked(const struct tally_counter *c)
{
	lockdep_assert_held(&c->first->lock);
}

/* For each of perf's events of a slot. */
#define tally_slot_for_each(s, event)						\
	for (unsigned int __i = 0; ((event) = tally_slot_nth(s, __i)); __i++)

static inline struct perf_event *tally_slot_nth(const struct tally_slot *s, unsigned int i)
{
	if (!i)
		return READ_ONCE(s->event);
	return s->others ? s->others[i - 1] : NULL;
}

/*
 * Returns the slot's event that is on the PMU of @cpu. If none is, it returns the first one, which
 * may be on another CPU or on none; NULL if the slot has no event.
 */
static inline struct perf_event *tally_slot_here(const struct tally_slot *s, int cpu)
{
	struct perf_event *event = smp_load_acquire(&s->event); /* K */
	unsigned int i;

	if (likely(!event || !s->others || READ_ONCE(event->oncpu) == cpu))
		return event;
	for (i = 0; s->others[i]; i++)
		if (READ_ONCE(s->others[i]->oncpu) == cpu)
			return s->others[i];
	return event;
}

/* Returns the CPU on which an event of the slot is on the PMU; -1 if none is. */
static inline int tally_slot_oncpu(const struct tally_slot *s)
{
	const struct perf_event *event;
	unsigned int i;
	int cpu = -1;

	for (i = 0; cpu < 0 && (event = tally_slot_nth(s, i)); i++)
		cpu = READ_ONCE(event->oncpu);
	return cpu;
}

/*
 * Returns the CPU that the slot is counting on; -1 if there is none. Called
 * with the counter locked, or under RCU.
 *
 * perf takes an event off its CPU in three steps: it updates the count, sets
 * @oncpu to -1, and updates the times and the state. After the second step
 * perf_event_read_value() returns old times, and a read on the CPU has perhaps
 * returned later ones. So wait for the third.
 */
static inline int tally_slot_counting_on(const struct tally_slot *s)
{
	const struct perf_event *event;
	unsigned int i;
	int cpu = -1;

	for (i = 0; cpu < 0 && (event = tally_slot_nth(s, i)); i++)
		while ((cpu = READ_ONCE(event->oncpu)) < 0 &&
		       READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE)
			cpu_relax();
	return cpu;
}

static inline bool tally_counter_on_all_cpus(const struct tally_counter *c)
{
	return !c->target.task && c->target.cpu < 0;
}

/* Returns the slot of a CPU; EINVAL if no such CPU can be, or the counter has no slot for it. */
static inline int tally_counter_slot_of(const struct tally_counter *c, int cpu)
{
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu) ||
	    (!tally_counter_on_all_cpus(c) && c->target.cpu != cpu))
		return -EINVAL;
	return cpu & c->slot_mask;
}

/*
 * Returns whether perf has detached the event of a slot. perf's list_del_event() clears
 * PERF_ATTACH_CONTEXT when a CPU goes offline, under locks of perf. If this read misses that, the
 * work that the hotplug callback queues finds it.
 *
 * The event of a PMU that serves several CPUs is also detached while its driver
 * moves it from a CPU that goes offline to another one. Only with
 * cpus_read_lock() held, a detached event stays so.
 */
static inline bool tally_slot_detached(const struct perf_event *event)
{
	return !(READ_ONCE(event->attach_state) & PERF_ATTACH_CONTEXT);
}

/*
 * Returns whether the PMU of an event has gone. Since Linux 6.15 perf then
 * detaches the event, and its pointer to the PMU is NULL.
 */
static inline bool tally_slot_revoked(const struct perf_event *event)
{
	return !READ_ONCE(event->pmu);
}

/* Returns whether an event of perf is enabled: not off, waiting for exec(), in error or exited. */
static inline bool tally_perf_is_on(const struct perf_event *event)
{
	return READ_ONCE(event->state) >= PERF_EVENT_STATE_INACTIVE;
}

/* Number of changes of slots, if a counter has several. Each may fill a blank slot: set/row.c. */
extern atomic_long_t tally_slot_changes;

/*
 * Returns whether the slot has no event, no error and no counts: its CPU was
 * never online, or the PMU has not counted there. Without the lock this may
 * miss a change that is going on, but never the counts of an event that went.
 */
static inline bool tally_slot_is_blank(const struct tally_slot *s)
{
	return !smp_load_acquire(&s->event) && !smp_load_acquire(&s->err) && /* Z */
	       !data_race(s->bank.enabled);
}

/*
 * Returns whether perf can enable and disable the slot's event. It cannot while a driver moves the
 * event, and need not: perf_pmu_migrate_context() then enables every event that is not in error.
 * For the event of a task that has exited, perf does nothing.
 */
static inline bool tally_slot_lives(const struct tally_counter *c, const struct tally_slot *s)
{
	return s->event && !tally_slot_revoked(s->event) &&
	       (c->target.task || !tally_slot_detached(s->event));
}

/*
 * Local reads. They run on the CPU that @event, of @s, is counting on, with interrupts disabled.
 * Code that may have interrupted perf at its work on @event calls tally_local_check() first.
 */

/*
 * The event that is being read on this CPU. The pointer points to itself if it
 * may be any of several events.
 */
DECLARE_PER_CPU(const void *, tally_reading);

/*
 * Adds what the slot's events other than @event have counted, and makes the time enabled that
 * of the first one. The task runs here with @event on the PMU, so the others are at rest.
 */
static inline void tally_slot_add_others(const struct tally_slot *s,
					 const struct perf_event *event,
					 struct tally_totals *t)
{
	/* NULL if the slot's events are being released: they stay until this read is over. */
	struct perf_event *first = READ_ONCE(s->event), *other;
	unsigned int i;

	if (first && first != event) {
		t->value += local64_read(&first->count);
		t->running += first->total_time_running;
		t->enabled += first->total_time_enabled - event->total_time_enabled +
			      event->tstamp - first->tstamp;
	}
	for (i = 0; (other = s->others[i]); i++) {
		if (other == event)
			continue;
		t->value += local64_read(&other->count);
		t->running += other->total_time_running;
	}
}

/*
 * Returns the value of the slot, by the driver: perf's count is up to date
 * then. All that is kept of a slot, such as the start of an event, is read so,
 * because some later reads have perf's count only.
 */
static inline u64 tally_local_value(const struct tally_slot *s, struct perf_event *event)
{
	struct tally_totals others = { };
	const void **reading, *outer;

	if (!s->up_to_date) {
		reading = raw_cpu_ptr(&tally_reading);
		outer = *reading;
		WRITE_ONCE(*reading, outer ? (const void *)reading : event);
		barrier(); /* J */
		if (unlikely(s->others))
			event->pmu->read(event);
		else
			s->read(event);
		barrier(); /* J */
		WRITE_ONCE(*reading, outer);
	}
	if (unlikely(s->others))
		tally_slot_add_others(s, event, &others);
	return local64_read(&event->count) + others.value + s->bank.value;
}

/* Returns the value of the slot for a read that keeps nothing: by its register, if it has one. */
static inline u64 tally_local_count(const struct tally_slot *s, struct perf_event *event)
{
	return s->width ? tally_register_count(event, &s->width) + s->bank.value :
			  tally_local_value(s, event);
}

/* Reads the times of the slot, after its value. @now is local_clock(). */
static inline void tally_local_times(const struct tally_slot *s, struct perf_event *event, u64 now,
				     struct tally_totals *t)
{
	struct tally_totals others = { };
	s64 since;

	since = tally_event_time(event, now) + tally_mutant(TALLY_TRICK_TIMES) - event->tstamp;
	since = max(since, 0LL);
	t->enabled = s->bank.enabled + event->total_time_enabled + since;
	t->running = s->bank.running + event->total_time_running + since;
	if (unlikely(s->others)) {
		tally_slot_add_others(s, event, &others);
		t->enabled += others.enabled;
		t->running += others.running;
	}
}

/* Reads all totals of the slot by the driver. @now is local_clock(). */
static inline void tally_local_totals(const struct tally_slot *s, struct perf_event *event, u64 now,
				      struct tally_totals *t)
{
	t->value = tally_local_value(s, event);
	tally_local_times(s, event, now, t);
}

/* Gives an event that is disabled the totals of the one before; see tally_counter_replace(). */
static inline void tally_slot_hand_over(struct perf_event *event, const struct tally_totals *t)
{
	local64_set(&event->count, t->value + tally_mutant(TALLY_TRICK_HAND_OVER));
	event->total_time_enabled = t->enabled;
	event->total_time_running = t->running;
}

/*
 * Returns whether the error of an event is the PMU's answer for a CPU that it
 * does not serve. Each driver of a PMU that serves some CPUs has its own.
 */
static inline bool tally_slot_refused(int err)
{
	return err == -ENOENT || err == -ENODEV || err == -EINVAL;
}

/* Under tally_counter::lock, except tally_slot_free(), _wait_released() and tally_perf_state(). */
int tally_slot_cpu(const struct tally_counter *c, const struct tally_slot *s);
int tally_slot_create(struct tally_counter *c, struct tally_slot *s);
struct perf_event *tally_slot_detach(struct tally_counter *c, struct tally_slot *s);
void tally_slot_free(struct tally_slot *s, struct perf_event *event);
void tally_slot_read(const struct tally_slot *s, struct tally_totals *t);
void tally_slot_bank(struct tally_counter *c, struct tally_slot *s);
void tally_slot_wait_released(void);
void tally_slot_repair(struct tally_counter *c, struct tally_slot *s, u64 came_ns);
void tally_slot_enable(struct tally_counter *c, const struct tally_slot *s);
void tally_slot_disable(const struct tally_slot *s);
bool tally_slot_rests(const struct tally_counter *c, unsigned int slot);
int tally_perf_state(const struct perf_event *event);

/*
 * Returns whether a slot is in error because its pinned event, or its pinned
 * leader, found no hardware counter. perf puts also topdown events in error
 * whose leader it has removed: these may have counted all the time.
 */
static inline bool tally_slot_in_error(const struct tally_counter *c, const struct tally_slot *s)
{
	struct perf_event *event;

	if (likely(!(c->leader ?: c)->attr.pinned))
		return false;
	tally_slot_for_each(s, event)
		if (tally_perf_state(event) == PERF_EVENT_STATE_ERROR)
			return true;
	return false;
}

int tally_counter_replace(struct tally_counter *c, const struct perf_event_attr *attr,
			  perf_overflow_handler_t handler, void *context);

void tally_slot_init(void (*changed)(struct tally_counter *c, unsigned int slot, u64 gap_ns,
				     bool missed));

#endif /* TALLY_SLOT_H */
