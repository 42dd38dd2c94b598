// SPDX-License-Identifier: GPL-2.0
/*
 * A counter as a whole: its perf events are enabled, disabled and changed, and
 * their states are returned. read.c reads them.
 *
 * Each function that changes perf's events is called under the counter's lock. It leaves a slot
 * without an event, or with an event that perf detached, to the work in hotplug.c.
 */
#include <linux/cpu.h>
#include <linux/hw_breakpoint.h>
#include <linux/lockdep.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include "base/cgroup.h"
#include "base/count.h"
#include "base/pmu.h"
#include "compat.h"
#include "counter/counter.h"
#include "counter/slot.h"

/*
 * Enables perf's event in each slot where it is off or in error, unless the slot is paused or
 * disarmed. A caller that enables an event once more clears the error of a pinned event. A slot
 * that got no event because of an error asks perf for one again.
 */
void tally_counter_enable_slots(struct tally_counter *c)
{
	struct perf_event *event;
	struct tally_slot *s;
	int state;

	tally_counter_assert_locked(c);
	for (s = c->slots; s < c->slots + c->nr_slots; s++) {
		/* The slot was in the state ERROR until now. That time is not counted as a gap. */
		if (!s->event && s->err)
			tally_slot_repair(c, s, 0);
		if (!tally_slot_lives(c, s) || s->paused || s->disarmed)
			continue;
		tally_slot_for_each(s, event) {
			state = READ_ONCE(event->state);
			if (state == PERF_EVENT_STATE_ERROR || state == PERF_EVENT_STATE_OFF) {
				tally_slot_enable(c, s);
				break;
			}
		}
	}
}

/*
 * Switches the leader of a counter on or, as perf does, lets it wait for exec(). A leader that
 * overflows is left alone: its own event may be disabled, and then the counter does not count.
 */
static void lead_on(const struct tally_counter *c)
{
	struct tally_counter *leader = c->leader;

	if (!leader || leader->handler)
		return;
	if (tally_counter_awaits_exec(leader))
		tally_counter_on_exec(leader);
	else
		tally_counter_on(leader);
}

/* Counts an enabled event, a sibling or a trial (life/build.c) in @users_on. Arms all slots. */
void tally_counter_on(struct tally_counter *c)
{
	unsigned int i;

	lead_on(c);
	for (i = 0; i < c->nr_slots; i++)
		c->slots[i].disarmed = false;
	c->users_on++;
	tally_counter_enable_slots(c);
}

/* As tally_counter_on(), but perf enables its event when the task calls exec(). */
void tally_counter_on_exec(struct tally_counter *c)
{
	tally_counter_assert_locked(c);
	lead_on(c);
	c->users_on++;
}

void tally_counter_off(struct tally_counter *c)
{
	tally_counter_leave(c);
	tally_counter_disable_if_off(c);
}

/*
 * As tally_counter_off(), for an event that ends. tally_counter_end() follows,
 * and disables perf's events if no other event has them enabled.
 */
void tally_counter_leave(struct tally_counter *c)
{
	tally_counter_assert_locked(c);
	c->users_on--;
	if (c->leader && !c->leader->handler)
		tally_counter_off(c->leader);
}

/**
 * tally_counter_pause - switch a slot off while its counter stays on
 * @c: the counter, which is not shared
 * @slot: the slot
 * @disarm: tally_counter_on() switches the slot on again, too; else tally_counter_go_on() alone
 */
void tally_counter_pause(struct tally_counter *c, unsigned int slot, bool disarm)
{
	struct tally_slot *s = &c->slots[slot];

	tally_counter_assert_locked(c);
	if (disarm)
		s->disarmed = true;
	else
		s->paused = true;
	if (tally_slot_lives(c, s))
		tally_slot_disable(s);
}

/*
 * Disables perf's events if no event of the counter is enabled. perf cannot clear enable_on_exec of
 * an event, so exec() may have enabled perf's event after the event that waited was disabled.
 */
void tally_counter_disable_if_off(struct tally_counter *c)
{
	struct tally_slot *s;

	tally_counter_assert_locked(c);
	if (c->users_on)
		return;
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		if (tally_slot_lives(c, s))
			tally_slot_disable(s);
}

/* Switches a slot on again that tally_counter_pause() has switched off. */
void tally_counter_go_on(struct tally_counter *c, unsigned int slot, bool disarmed)
{
	struct tally_slot *s = &c->slots[slot];
	bool *off = disarmed ? &s->disarmed : &s->paused;

	tally_counter_assert_locked(c);
	if (!*off)
		return;
	WRITE_ONCE(*off, false); /* tally_counter_state() */
	if (tally_slot_lives(c, s) && c->users_on && !s->paused && !s->disarmed)
		tally_slot_enable(c, s);
}

/*
 * perf begins the new period at once. But a software event, unless it is a
 * clock, would overflow at its first count, as if that was the whole period. It
 * does not if it is scheduled again.
 */
static int slot_set_period(struct tally_counter *c, struct tally_slot *s,
			   u64 period)
{
	struct perf_event *event;
	unsigned int i;
	bool again;
	int err = 0;

	if (!tally_slot_lives(c, s))
		return 0;
	again = tally_perf_is_on(s->event) && s->software && !tally_attr_is_clock(&c->attr);
	if (again)
		tally_slot_disable(s);
	for (i = 0; !err && (event = tally_slot_nth(s, i)); i++)
		err = perf_event_period(event, period);
	if (again)
		tally_slot_enable(c, s);
	return err;
}

/**
 * tally_counter_set_period - change the period or frequency of overflows
 * @c: the counter, which is not shared
 * @period: number of counts for one overflow; overflows per second for a
 *	counter with a frequency
 *
 * Return: 0, or the error of perf_event_period(). On error nothing has changed.
 */
int tally_counter_set_period(struct tally_counter *c, u64 period)
{
	struct tally_slot *s;
	int err = 0;

	tally_counter_assert_locked(c);
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

static int slot_modify(const struct tally_counter *c, struct tally_slot *s,
		       const struct perf_event_attr *to, bool on)
{
	struct perf_event_attr attr = *to;

	if (!tally_slot_lives(c, s))
		return 0;
	/* perf enables the event if this is 0, and only then. */
	attr.disabled = !on;
	return modify_user_hw_breakpoint(s->event, &attr);
}

/**
 * tally_counter_modify - move a breakpoint
 * @c: counter of the breakpoint, which is not shared
 * @attr: attributes with the new address, length and access
 *
 * perf checks the caller's rights when it moves one of its events, so the
 * counter needs at least one.
 *
 * Return: 0; ENODEV while the counter has no event of perf, or the error of
 * modify_user_hw_breakpoint(). On error nothing has changed.
 */
int tally_counter_modify(struct tally_counter *c, const struct perf_event_attr *attr)
{
	struct tally_slot *s;
	bool on = false, any = false;
	int err = 0;

	tally_counter_assert_locked(c);
	for (s = c->slots; s < c->slots + c->nr_slots && !err; s++) {
		any |= tally_slot_lives(c, s);
		on = tally_slot_lives(c, s) && tally_perf_is_on(s->event);
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
	/* The event that failed may be off now. */
	slot_modify(c, --s, &c->attr, on);
	while (--s >= c->slots)
		slot_modify(c, s, &c->attr, s->event && tally_perf_is_on(s->event));
	return err;
}

/* Returns one of perf's events; NULL while the counter has none. */
const struct perf_event *tally_counter_any_event(const struct tally_counter *c)
{
	const struct tally_slot *s;

	tally_counter_assert_locked(c);
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		if (s->event)
			return s->event;
	return NULL;
}

/* Returns whether overflows interrupt any code, as those of clocks and of hardware do. */
bool tally_counter_interrupts(struct tally_counter *c)
{
	const struct tally_slot *s;
	bool software = false;

	tally_counter_lock(c);
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		software |= s->event && s->software;
	tally_counter_unlock(c);
	return !software || tally_attr_is_clock(&c->attr);
}

/*
 * Returns the state of an inherited event. When perf switches between a task
 * and its child, and all their events are inherited, perf swaps the events. So
 * the first event may belong to any of the tasks, and end with any. Only the
 * flags of the task itself show whether it has exited.
 */
static enum tally_state inherited_state(const struct tally_counter *c,
					const struct perf_event *event)
{
	const struct task_struct *task = c->target.task;
	int state = READ_ONCE(event->state);

	if (READ_ONCE(task->flags) & PF_EXITING)
		return TALLY_STATE_EXITED;
	/* exec() of a program with more rights ended the event, which has no child. */
	if (state <= PERF_EVENT_STATE_EXIT && list_empty(&event->child_list))
		return TALLY_STATE_EXITED;
	if (tally_perf_state(event) == PERF_EVENT_STATE_ERROR)
		return TALLY_STATE_ERROR;
	/*
	 * Without a child, perf has swapped nothing: the event is the task's own, and is off only
	 * until exec(). With a child that was forked before, it may be the child's.
	 */
	if (state == PERF_EVENT_STATE_OFF && c->attr.enable_on_exec &&
	    list_empty(&event->child_list))
		return TALLY_STATE_OFF;
	if (state == PERF_EVENT_STATE_ACTIVE || tally_task_is_running(task))
		return TALLY_STATE_ACTIVE;
	return TALLY_STATE_INACTIVE;
}

static __always_inline enum tally_state perf_state(const struct tally_counter *c,
						   const struct perf_event *event)
{
	int state;

	if (c->attr.inherit)
		return inherited_state(c, event);
	state = READ_ONCE(event->state);
	if (c->target.task && state <= PERF_EVENT_STATE_EXIT)
		return TALLY_STATE_EXITED;
	/* A group is in error as a whole. */
	if (tally_perf_state(event) == PERF_EVENT_STATE_ERROR)
		return TALLY_STATE_ERROR;
	switch (state) {
	case PERF_EVENT_STATE_ACTIVE:
		return TALLY_STATE_ACTIVE;
	case PERF_EVENT_STATE_INACTIVE:
		return TALLY_STATE_INACTIVE;
	default:
		return TALLY_STATE_OFF;
	}
}

/*
 * Returns the PID of the counter's task in the caller's namespace; 0 if the task has none there.
 * Only the first namespace still knows the PID of a task that was reaped.
 */
pid_t tally_counter_pid(const struct tally_counter *c)
{
	struct pid_namespace *ns = task_active_pid_ns(current);

	return ns == &init_pid_ns ? task_pid_nr(c->target.task) :
				    task_pid_nr_ns(c->target.task, ns);
}

/*
 * Returns the state of a counter whose kernel probe is gone, else -1. A counter that ends loses
 * its probe without the lock, and the probe is freed a grace period later.
 */
static noinline int state_without_probe(const struct tally_counter *c)
{
	const struct tally_kprobe *kp;
	int state = -1;

	rcu_read_lock();
	kp = READ_ONCE(c->kprobe);
	if (kp && tally_kprobe_is_gone(kp))
		state = tally_kprobe_may_return(kp) ? TALLY_STATE_OFFLINE : TALLY_STATE_EXITED;
	rcu_read_unlock();
	return state;
}

/**
 * tally_counter_state - find out the state of a slot
 * @c: the counter, locked; or not, and then the state may be that of a moment ago
 * @slot: the slot
 *
 * Context: Any context; without the lock, under RCU.
 * Return: the state.
 */
enum tally_state tally_counter_state(const struct tally_counter *c, unsigned int slot)
{
	const struct tally_slot *s = &c->slots[slot];
	const struct perf_event *event = smp_load_acquire(&s->event); /* K */
	enum tally_state state;
	bool throttled;
	unsigned int i;
	int gone, err;

	if (tally_cgroup_is_removed(c->target.css))
		return TALLY_STATE_EXITED;
	if (unlikely(READ_ONCE(c->kprobe))) {
		gone = state_without_probe(c);
		if (gone >= 0)
			return gone;
	}
	if (!event) {
		err = READ_ONCE(s->err);
		/* ENODEV: the event is being banked. */
		return err && err != -ENODEV ? TALLY_STATE_ERROR : TALLY_STATE_OFFLINE;
	}
	if (!c->target.task && tally_slot_detached(event))
		return tally_slot_revoked(event) ? TALLY_STATE_EXITED : TALLY_STATE_OFFLINE;
	state = perf_state(c, event);
	throttled = tally_pmu_throttled(event);
	for (i = 0; s->others && s->others[i]; i++) {
		state = tally_state_worse(state, perf_state(c, s->others[i]));
		throttled |= tally_pmu_throttled(s->others[i]);
	}
	if (state == TALLY_STATE_OFF && READ_ONCE(s->paused))
		return TALLY_STATE_THROTTLED;
	/* Since Linux 6.16, a group is throttled with its leader. */
	if (state == TALLY_STATE_ACTIVE && (c->handler || c->leader) && throttled)
		return TALLY_STATE_THROTTLED;
	return state;
}

/* Returns how many hits a counter's kernel probe has missed; 0 without one. Process context. */
u64 tally_counter_missed(const struct tally_counter *c)
{
	struct tally_kprobe *kp;
	u64 missed = 0;

	rcu_read_lock();
	kp = READ_ONCE(c->kprobe);
	if (kp)
		missed = tally_kprobe_missed(kp);
	rcu_read_unlock();
	return missed;
}

static bool slot_counts_now(const struct tally_counter *c, unsigned int slot)
{
	if (tally_slot_rests(c, slot))
		return true;
	switch (tally_counter_state(c, slot)) {
	case TALLY_STATE_ACTIVE:
	case TALLY_STATE_THROTTLED:
	case TALLY_STATE_OFFLINE:
		return true;
	case TALLY_STATE_INACTIVE:
		/* Another task, or one of a cgroup, may just not be running. */
		return c->target.css || (c->target.task && c->target.task != current);
	default:
		return false;
	}
}

/*
 * Returns false if a slot that could count now does not. CPUs that are offline, and tasks that are
 * not running, do not matter. Called with the counter locked.
 */
bool tally_counter_counts(const struct tally_counter *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_slots; i++)
		if (!slot_counts_now(c, i))
			return false;
	return true;
}

/*
 * Returns whether the task has exited, and no child of the task is counting any
 * more. Called as tally_counter_state().
 */
bool tally_counter_ended(const struct tally_counter *c)
{
	const struct perf_event *event;

	if (!c->target.task || tally_counter_state(c, 0) != TALLY_STATE_EXITED)
		return false;
	if (!c->attr.inherit)
		return true;
	tally_slot_for_each(&c->slots[0], event)
		if (READ_ONCE(event->state) > PERF_EVENT_STATE_EXIT ||
		    !list_empty(&event->child_list))
			return false;
	return true;
}

/*
 * Returns false for a slot that has nothing to show: its CPU is not possible, or the PMU does not
 * count there, and never did. Called as tally_counter_state().
 */
bool tally_counter_serves(const struct tally_counter *c, unsigned int slot)
{
	if (!tally_counter_on_all_cpus(c))
		return true;
	/* A CPU that another one serves now still shows the counts that were banked. */
	return cpu_possible(slot) &&
	       (!READ_ONCE(c->slots[slot].absent) ||
		data_race(c->slots[slot].bank.enabled)); /* without the lock */
}

/* Returns on how many CPUs perf counts. @online receives the number of CPUs that are online. */
unsigned int tally_counter_served(struct tally_counter *c, unsigned int *online)
{
	unsigned int served = 0;
	struct tally_slot *s;

	tally_counter_lock(c);
	cpus_read_lock();
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		served += tally_slot_lives(c, s);
	*online = num_online_cpus();
	cpus_read_unlock();
	tally_counter_unlock(c);
	return served;
}
