// SPDX-License-Identifier: GPL-2.0
/*
 * A counter as a whole: switching its perf events on and off, changing what they
 * do, and telling what they are doing.
 *
 * It goes through the slots, under the counter's lock; a slot without an event,
 * or with one that perf detached, is left to the work in cpus.c.
 */
#include <linux/hw_breakpoint.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include "base/pmu.h"
#include "compat.h"
#include "counter/counter.h"
#include "counter/slot.h"

/*
 * Enables what is not; that clears a pinned event's error, and a CPU may now
 * have room for us.
 */
static void start_slots(struct tally_counter *c)
{
	struct tally_slot *s;
	int state;

	for (s = c->slots; s < c->slots + c->nr_slots; s++) {
		if (!s->event && s->err)
			tally_slot_repair(c, s);
		if (!tally_slot_lives(c, s) || s->paused || s->spent)
			continue;
		state = READ_ONCE(s->event->state);
		if (state == PERF_EVENT_STATE_ERROR ||
		    state == PERF_EVENT_STATE_OFF)
			perf_event_enable(s->event);
	}
}

/* One more event is enabled. */
void tally_counter_on(struct tally_counter *c)
{
	lockdep_assert_held(&c->lock);
	c->users_on++;
	start_slots(c);
}

/* As tally_counter_on(), but perf starts it when the task calls exec(). */
void tally_counter_on_exec(struct tally_counter *c)
{
	lockdep_assert_held(&c->lock);
	c->users_on++;
}

void tally_counter_retry(struct tally_counter *c)
{
	lockdep_assert_held(&c->lock);
	start_slots(c);
}

void tally_counter_off(struct tally_counter *c)
{
	struct tally_slot *s;

	lockdep_assert_held(&c->lock);
	if (--c->users_on)
		return;
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		if (tally_slot_lives(c, s))
			perf_event_disable(s->event);
}

/*
 * One event less is enabled, and it ends: tally_counter_end() sees to what is on for
 * nobody.
 */
void tally_counter_leave(struct tally_counter *c)
{
	lockdep_assert_held(&c->lock);
	c->users_on--;
}

/**
 * tally_counter_pause - switch a slot off while its counter stays on
 * @c: the counter, which is not shared
 * @slot: the slot
 * @spent: until tally_counter_arm(), else until tally_counter_unpause()
 */
void tally_counter_pause(struct tally_counter *c, unsigned int slot, bool spent)
{
	struct tally_slot *s = &c->slots[slot];

	lockdep_assert_held(&c->lock);
	if (spent)
		s->spent = true;
	else
		s->paused = true;
	if (tally_slot_lives(c, s))
		perf_event_disable(s->event);
}

/*
 * Of a counter that no event has on. exec() may have enabled it all the same: it
 * was told to before the event was disabled, and perf has no way back.
 */
void tally_counter_quieten(struct tally_counter *c)
{
	struct tally_slot *s;

	lockdep_assert_held(&c->lock);
	if (c->users_on)
		return;
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		if (tally_slot_lives(c, s))
			perf_event_disable(s->event);
}

static void slot_continue(struct tally_counter *c, struct tally_slot *s)
{
	if (tally_slot_lives(c, s) && c->users_on && !s->paused && !s->spent)
		perf_event_enable(s->event);
}

void tally_counter_unpause(struct tally_counter *c, unsigned int slot)
{
	struct tally_slot *s = &c->slots[slot];

	lockdep_assert_held(&c->lock);
	if (!s->paused)
		return;
	s->paused = false;
	slot_continue(c, s);
}

void tally_counter_arm(struct tally_counter *c, unsigned int slot)
{
	struct tally_slot *s = &c->slots[slot];

	lockdep_assert_held(&c->lock);
	if (!s->spent)
		return;
	s->spent = false;
	slot_continue(c, s);
}

/* Enabled in perf: neither waiting for exec() nor switched off. */
static bool slot_is_on(const struct tally_slot *s)
{
	return READ_ONCE(s->event->state) >= PERF_EVENT_STATE_INACTIVE;
}

/*
 * perf begins a new period at once. But for events that it counts in software
 * it takes the first one for the whole of it, unless it is scheduled anew.
 */
static int slot_set_period(struct tally_counter *c, struct tally_slot *s,
			   u64 period)
{
	bool again;
	int err;

	if (!tally_slot_lives(c, s))
		return 0;
	again = slot_is_on(s) && s->event->pmu->task_ctx_nr == perf_sw_context &&
		!tally_attr_is_clock(&c->attr);
	if (again)
		perf_event_disable(s->event);
	err = perf_event_period(s->event, period);
	if (again)
		perf_event_enable(s->event);
	return err;
}

/**
 * tally_counter_set_period - overflow every so many counts from now on
 * @c: the counter, which is not shared
 * @period: the period, or the frequency for one that has that
 *
 * Return: 0, or what perf says; then nothing has changed.
 */
int tally_counter_set_period(struct tally_counter *c, u64 period)
{
	struct tally_slot *s;
	int err = 0;

	lockdep_assert_held(&c->lock);
	for (s = c->slots; s < c->slots + c->nr_slots && !err; s++)
		err = slot_set_period(c, s, period);
	if (!err) {
		c->attr.sample_period = period;
		return 0;
	}
	while (--s >= c->slots)
		slot_set_period(c, s, c->attr.sample_period);
	return err;
}

static bool slot_was_on(const struct tally_counter *c,
			const struct tally_slot *s)
{
	return tally_slot_lives(c, s) && slot_is_on(s);
}

static int slot_modify(const struct tally_counter *c, struct tally_slot *s,
		       const struct perf_event_attr *to, bool on)
{
	struct perf_event_attr attr = *to;

	if (!tally_slot_lives(c, s))
		return 0;
	/* It enables the event if this is 0, and only then. */
	attr.disabled = !on;
	return modify_user_hw_breakpoint(s->event, &attr);
}

/**
 * tally_counter_modify - watch something else
 * @c: a breakpoint's counter, which is not shared
 * @attr: what to watch
 *
 * Whether the caller may, perf tells when it moves one: so there has to be one.
 *
 * Return: 0; ENODEV while there is none, or what perf says; then nothing has
 * changed.
 */
int tally_counter_modify(struct tally_counter *c,
			 const struct perf_event_attr *attr)
{
	struct tally_slot *s;
	bool on = false, any = false;
	int err = 0;

	lockdep_assert_held(&c->lock);
	for (s = c->slots; s < c->slots + c->nr_slots && !err; s++) {
		any |= tally_slot_lives(c, s);
		on = slot_was_on(c, s);
		err = slot_modify(c, s, attr, on);
	}
	if (!any)
		return -ENODEV;
	if (!err) {
		c->attr.bp_addr = attr->bp_addr;
		c->attr.bp_len = attr->bp_len;
		c->attr.bp_type = attr->bp_type;
		return 0;
	}
	/* The one that failed may have been left off. */
	slot_modify(c, --s, &c->attr, on);
	while (--s >= c->slots)
		slot_modify(c, s, &c->attr, slot_was_on(c, s));
	return err;
}

static bool can_look(int cpu, void *counter)
{
	const struct tally_counter *c = counter;
	const struct perf_event *event = c->slots[cpu & c->slot_mask].event;

	return event && READ_ONCE(event->oncpu) == cpu;
}

static void look_here(void *counter)
{
	struct tally_counter *c = counter;
	int cpu = smp_processor_id();
	struct tally_slot *s = &c->slots[cpu & c->slot_mask];

	/* It may have gone, to another CPU even, on the way here. */
	if (!can_look(cpu, c))
		return;
	tally_local_totals(s, s->event, local_clock(), &s->now);
	s->looked = true;
}

/**
 * tally_counter_look - read all slots
 * @c: the counter
 *
 * Leaves in each slot what it has counted so far. One interrupt for each other
 * CPU that is counting, all at the same time; what is not on the PMU, and what
 * has children, perf is asked for.
 */
void tally_counter_look(struct tally_counter *c)
{
	struct tally_slot *s;

	if (!tally_counter_on_all_cpus(c)) {
		tally_counter_look_slot(c, 0);
		return;
	}
	lockdep_assert_held(&c->lock);
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		s->looked = false;
	on_each_cpu_cond(can_look, look_here, c, true);
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		if (!s->looked)
			tally_slot_read(s, &s->now);
}

/* The same for one slot. */
void tally_counter_look_slot(struct tally_counter *c, unsigned int slot)
{
	struct tally_slot *s = &c->slots[slot];
	int cpu = s->event ? READ_ONCE(s->event->oncpu) : -1;

	lockdep_assert_held(&c->lock);
	s->looked = false;
	if (cpu >= 0 && !c->attr.inherit)
		smp_call_function_single(cpu, look_here, c, true);
	if (!s->looked)
		tally_slot_read(s, &s->now);
}

/* That of its events; NULL while there is none. */
static const struct pmu *pmu_of(const struct tally_counter *c)
{
	const struct tally_slot *s;

	lockdep_assert_held(&c->lock);
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		if (s->event)
			return s->event->pmu;
	return NULL;
}

/* Whether it may be taken off the PMU for others. */
bool tally_counter_rotates(struct tally_counter *c)
{
	const struct pmu *pmu;
	bool rotates;

	mutex_lock(&c->lock);
	pmu = pmu_of(c);
	rotates = !pmu || pmu->task_ctx_nr != perf_sw_context;
	mutex_unlock(&c->lock);
	return rotates;
}

/* Whether perf has the events of both, which are on one target, in one context. */
bool tally_counter_same_context(struct tally_counter *a, struct tally_counter *b)
{
	const struct pmu *pmu;
	bool same;

	/* One after the other: two counters are never locked at the same time. */
	mutex_lock(&a->lock);
	pmu = pmu_of(a);
	mutex_unlock(&a->lock);
	mutex_lock(&b->lock);
	same = pmu && pmu_of(b) && tally_pmus_share_context(pmu, pmu_of(b));
	mutex_unlock(&b->lock);
	return same;
}

/* Whether its events interrupt whatever runs: clocks, and hardware. */
bool tally_counter_interrupts(struct tally_counter *c)
{
	return tally_counter_rotates(c) || tally_attr_is_clock(&c->attr);
}

/*
 * A switch between a task and its child swaps their events, if all of them are
 * inherited. So the first event may be in any of the tasks, and end with any;
 * the task itself tells whether it still exists.
 */
static enum tally_state inherited_state(const struct task_struct *task,
					const struct perf_event *event)
{
	int state = READ_ONCE(event->state);

	if (READ_ONCE(task->flags) & PF_EXITING)
		return TALLY_STATE_EXITED;
	/* exec() of a program with more rights ended it, and it has no child. */
	if (state <= PERF_EVENT_STATE_EXIT && list_empty(&event->child_list))
		return TALLY_STATE_EXITED;
	if (state == PERF_EVENT_STATE_ERROR)
		return TALLY_STATE_ERROR;
	if (state == PERF_EVENT_STATE_ACTIVE || tally_task_is_running(task))
		return TALLY_STATE_ACTIVE;
	return TALLY_STATE_INACTIVE;
}

static enum tally_state perf_state(const struct tally_counter *c,
				   const struct tally_slot *s)
{
	int state;

	if (!s->event)
		return s->err ? TALLY_STATE_ERROR : TALLY_STATE_OFFLINE;

	if (c->attr.inherit)
		return inherited_state(c->target.task, s->event);
	state = READ_ONCE(s->event->state);
	if (c->target.task && state <= PERF_EVENT_STATE_EXIT)
		return TALLY_STATE_EXITED;
	if (!c->target.task && tally_slot_detached(s))
		return TALLY_STATE_OFFLINE;
	switch (state) {
	case PERF_EVENT_STATE_ACTIVE:
		return TALLY_STATE_ACTIVE;
	case PERF_EVENT_STATE_INACTIVE:
		return TALLY_STATE_INACTIVE;
	case PERF_EVENT_STATE_ERROR:
		return TALLY_STATE_ERROR;
	default:
		return TALLY_STATE_OFF;
	}
}

enum tally_state tally_counter_state(const struct tally_counter *c,
				     unsigned int slot)
{
	const struct tally_slot *s = &c->slots[slot];
	enum tally_state state = perf_state(c, s);

	lockdep_assert_held(&c->lock);
	if (state == TALLY_STATE_OFF && s->paused)
		return TALLY_STATE_THROTTLED;
	if (state == TALLY_STATE_ACTIVE && c->handler &&
	    tally_pmu_throttled(s->event))
		return TALLY_STATE_THROTTLED;
	return state;
}

static bool slot_counts_now(const struct tally_counter *c, unsigned int slot)
{
	/* It has overflowed already. */
	if (c->slots[slot].spent)
		return true;
	switch (tally_counter_state(c, slot)) {
	case TALLY_STATE_ACTIVE:
	case TALLY_STATE_THROTTLED:
	case TALLY_STATE_OFFLINE:
		return true;
	case TALLY_STATE_INACTIVE:
		/* Another task may just not be running. */
		return c->target.task && c->target.task != current;
	default:
		return false;
	}
}

/* Whether it is counting wherever it can, right now. */
bool tally_counter_counts(const struct tally_counter *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_slots; i++)
		if (!slot_counts_now(c, i))
			return false;
	return true;
}

/* Whether the task has exited, and no child of it counts any more. */
bool tally_counter_ended(const struct tally_counter *c)
{
	const struct perf_event *event = c->slots[0].event;

	lockdep_assert_held(&c->lock);
	return c->target.task && tally_counter_state(c, 0) == TALLY_STATE_EXITED &&
	       (!c->attr.inherit || !event ||
		(READ_ONCE(event->state) <= PERF_EVENT_STATE_EXIT &&
		 list_empty(&event->child_list)));
}

/* Whether the slot stands for anything: a CPU that can exist and is served. */
bool tally_counter_serves(const struct tally_counter *c, unsigned int slot)
{
	lockdep_assert_held(&c->lock);
	if (!tally_counter_on_all_cpus(c))
		return true;
	/* What was banked of a CPU that is now served by another is shown. */
	return cpu_possible(slot) &&
	       (!c->slots[slot].absent || c->slots[slot].bank.enabled);
}
