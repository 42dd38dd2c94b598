// SPDX-License-Identifier: GPL-2.0
/*
 * Groups: perf puts the events of a set on the PMU together, or none of them.
 *
 * perf has groups of the events of its system call. forward.c gives an event of
 * a module its leader, too. The first counter of a set that can be in a group
 * leads: its event on a CPU leads those of the other counters there. So all of
 * them run for the same time, and their ratios are exact also when the PMU
 * takes turns. Each kind of core has a group of its own. A weak set gets
 * another group where the one before is full. Software events need no room:
 * they are in the first group of their set. They never lead one: perf would
 * keep it on the PMU all the time, at the cost of others.
 *
 * perf's event of a leader that is off keeps its group off the PMU. So a leader is on as long as
 * one of its siblings is. When perf releases a leader, its siblings go on alone.
 *
 * A group counts only where the PMU has room for all that are on. So no counter of another owner is
 * in it: sets share all of their counters, or none (find_or_add()).
 *
 * An event that overflows can lead, but is no sibling: Linux 6.2 to 6.15 never
 * starts a sibling again that was throttled (perf_adjust_freq_unthr_events()
 * goes through leaders only). Such a leader is on only if its own event is.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include "base/kprobe.h"
#include "base/pmu.h"
#include "base/trick.h"
#include "compat.h"
#include "counter/counter.h"
#include "counter/slot.h"

static bool is_software(const struct perf_event *event)
{
	const struct pmu *pmu = READ_ONCE(event->pmu);

	return pmu && pmu->task_ctx_nr == perf_sw_context;
}

/* Returns whether the event is in the group of @leader, and on its PMU unless it needs none. */
static bool is_sibling(const struct perf_event *event, const struct perf_event *leader)
{
	return READ_ONCE(event->group_leader) == leader && event->ctx == leader->ctx &&
	       (event->pmu == leader->pmu || is_software(event)) &&
	       READ_ONCE(leader->attach_state) & PERF_ATTACH_GROUP;
}

/* Puts the group of @leader on the PMU anew if its sibling @event is enabled, but not there. */
static void restart(struct perf_event *event, struct perf_event *leader)
{
	if (READ_ONCE(event->state) != PERF_EVENT_STATE_INACTIVE ||
	    READ_ONCE(leader->state) != PERF_EVENT_STATE_ACTIVE)
		return;
	perf_event_disable(leader);
	perf_event_enable(leader);
}

/**
 * tally_group_catch_up - put an enabled software event on beside its leader
 * @c: its counter, locked; any counter
 * @slot: its slot
 * @event: the event
 *
 * To enable an event, perf reschedules only the PMU of that event. So one of
 * software waits until the PMU of its leader is rescheduled. Inherited events
 * are left alone: a child that is forked while this switches their leader off
 * would never count. They wait until the task is switched.
 *
 * Context: Process context, may sleep.
 */
void tally_group_catch_up(const struct tally_counter *c, unsigned int slot,
			  struct perf_event *event)
{
	struct perf_event *leader = c->leader ? c->leader->slots[slot].event : NULL;

	/* The lock keeps only this leader: perf may free another one meanwhile. */
	if (leader && READ_ONCE(event->group_leader) == leader && is_software(event) &&
	    !event->attr.inherit)
		restart(event, leader);
}

static struct perf_event *forward(const struct perf_event_attr *attr, int cpu,
				  const struct tally_forward *how)
{
	return IS_ENABLED(CONFIG_CGROUP_PERF) && how->css ?
	       tally_cgroup_create(attr, cpu, how, NULL, NULL) :
	       tally_forward(*attr, cpu, how, NULL, NULL);
}

/* ---- the proof ---- */

/*
 * Returns 0 if a clock goes on and stops with its leader, for the same time; 1
 * if not; EAGAIN if the leader stood.
 */
static int compare(struct perf_event *event, struct perf_event *leader)
{
	u64 end = ktime_get_ns() + TALLY_CLOCK_STANDS, begun, leader_begun, passed;

	perf_event_disable(leader);
	begun = tally_perf_totals(event).running;
	leader_begun = tally_perf_totals(leader).running;
	perf_event_enable(leader);
	while (tally_perf_totals(leader).running == leader_begun && ktime_get_ns() < end)
		cond_resched();
	perf_event_disable(leader);
	passed = tally_perf_totals(leader).running - leader_begun;
	if (!passed)
		return -EAGAIN;
	return tally_perf_totals(event).running - begun != passed;
}

/* Returns 1 if a leader is on the PMU, and a sibling is not. */
static int is_left_behind(const struct perf_event *event, const struct perf_event *leader)
{
	int ret;

	preempt_disable();
	ret = READ_ONCE(leader->oncpu) >= 0 && READ_ONCE(event->oncpu) < 0;
	preempt_enable();
	return ret;
}

/* Proves that a clock runs with its leader, an event of the current task, which this releases. */
static int prove_beside(struct perf_event *leader)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	const struct tally_forward how = { .task = current, .leader = leader };
	struct perf_event *event;
	int ret;

	if (IS_ERR(leader))
		return PTR_ERR(leader);
	event = forward(&attr, -1, &how);
	ret = PTR_ERR_OR_ZERO(event);
	if (!ret) {
		restart(event, leader);
		ret = READ_ONCE(leader->state) == PERF_EVENT_STATE_ERROR ? -EAGAIN :
		      !is_sibling(event, leader) || is_left_behind(event, leader) ?
		      1 : compare(event, leader);
		perf_event_release_kernel(event);
	}
	perf_event_release_kernel(leader);
	return ret;
}

/* Proves TALLY_TRICK_GROUP: one clock leads another one, for which no PMU is needed. */
static int prove_group(void *data)
{
	return prove_beside(tally_trick_event(PERF_COUNT_SW_CPU_CLOCK, 0, -1));
}

static int prove_software(void *data)
{
	const struct perf_event_attr *of_leader = data;
	struct perf_event_attr attr = *of_leader;

	attr.disabled = 0;
	attr.sample_period = 0;
	attr.freq = 0;
	attr.precise_ip = 0;
	attr.exclusive = 0;
	attr.enable_on_exec = 0;
	attr.inherit = 0;
	/* A pinned event is on the PMU whenever the task runs, or is in error. */
	attr.pinned = 1;
	return prove_beside(perf_event_create_kernel_counter(&attr, -1, current, NULL, NULL));
}

/* ---- counters ---- */

/* Kind of the generic events of cores of several kinds: perf finds out which PMU counts each. */
#define ANY_KIND	INT_MAX
#define SOFTWARE_KIND	(INT_MAX - 1)

/*
 * Returns whether an event is a software event, a tracepoint or a kernel probe.
 * Such an event may join a group that another event leads, and never leads one.
 */
bool tally_attr_is_software(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE || attr->type == PERF_TYPE_TRACEPOINT ||
	       tally_attr_is_kprobe(attr);
}

/**
 * tally_group_kind - find out with which other counters a counter can be in a group
 * @attr: attributes of the counter
 * @target: target of the counter
 *
 * Context: Process context, may sleep.
 * Return: the counter's kind, or -1 if the counter has to be alone. All
 * hardware counters of a group have one kind; software counters may join them.
 */
int tally_group_kind(const struct perf_event_attr *attr, const struct tally_target *target)
{
	u32 types[TALLY_CORE_PMUS], type = attr->type;

	/* The drivers of other architectures take a group that their PMU has no room for. */
	if (!IS_ENABLED(CONFIG_X86) && !IS_ENABLED(CONFIG_ARM64))
		return -1;
	if (attr->remove_on_exec)
		return -1;
	if (tally_attr_is_software(attr))
		return tally_task_has_one_context() ? SOFTWARE_KIND : -1;
	if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE)
		type = attr->config >> PERF_PMU_TYPE_SHIFT;
	else if (type == PERF_TYPE_RAW && !target->one_kind)
		type = 0;
	else if (type != PERF_TYPE_RAW && !tally_pmu_is_core(type))
		return -1;
	if (tally_core_pmus(types) < 2)
		return 0;
	/* A task has an event for each kind of core. */
	if (target->task && target->cpu < 0)
		return -1;
	return type ?: ANY_KIND;
}

static struct tally_counter *find(struct tally_counter *first, int kind, bool weak)
{
	struct tally_counter *lead, *found = NULL;

	if (kind == SOFTWARE_KIND)
		return list_first_entry_or_null(&first->leads, struct tally_counter, group_node);
	list_for_each_entry(lead, &first->leads, group_node)
		if ((!found || weak) && lead->kind == kind)
			found = lead;
	return found;
}

/* In perf, only leaders are pinned or exclusive, and their whole groups with them. */
static bool may_lead(const struct tally_counter *lead, const struct perf_event_attr *attr)
{
	return !attr->sample_period && attr->inherit == lead->attr.inherit &&
	       attr->pinned <= lead->attr.pinned && attr->exclusive <= lead->attr.exclusive;
}

/**
 * tally_group_check - find out whether a new counter goes into a group
 * @first: tally_counter::first of its set
 * @wanted: its attributes
 * @kind: its kind
 *
 * Context: Process context, may sleep; takes the lock of @first.
 * Return: 0; ENOENT if no group can have it; or as tally_trick_try().
 */
int tally_group_check(struct tally_counter *first, const struct perf_event_attr *wanted, int kind)
{
	u32 types[TALLY_CORE_PMUS];
	struct perf_event_attr attr;
	struct tally_counter *lead;
	bool follows;
	int err = tally_trick_try(TALLY_TRICK_GROUP, prove_group, NULL);

	if (err)
		return err;
	tally_counter_lock(first);
	lead = find(first, kind, false);
	follows = lead && may_lead(lead, wanted);
	if (follows)
		attr = lead->attr;
	tally_counter_unlock(first);
	if (kind != SOFTWARE_KIND)
		return follows || !lead ? 0 : -ENOENT;
	/* A slot of a leader has no event where its kind of core is not. */
	if (!follows || tally_core_pmus(types) > 1)
		return -ENOENT;
	return tally_trick_try(TALLY_TRICK_GROUP_SOFTWARE, prove_software, &attr);
}

/* Returns for how many counters of a kind a group of a set that is not weak has room. */
unsigned int tally_group_room(struct tally_counter *first, int kind)
{
	const struct tally_counter *lead, *c;
	unsigned int nr = 0;

	tally_counter_lock(first);
	lead = find(first, kind, false);
	if (lead) {
		nr++;
		list_for_each_entry(c, &lead->siblings, group_node)
			nr += c->kind == kind;
	}
	tally_counter_unlock(first);
	return nr;
}

/* Returns how many counters the set's groups have; @cut: whether one is full. Under its lock. */
unsigned int tally_group_total(const struct tally_counter *first, bool *cut)
{
	const struct tally_counter *lead;
	unsigned int nr = 0;

	*cut = false;
	list_for_each_entry(lead, &first->leads, group_node) {
		nr += 1 + lead->nr_siblings;
		*cut |= lead->full;
	}
	return nr;
}

/**
 * tally_group_enter - let a new counter enter a group of its set, or lead one
 * @c: the counter, whose @kind is not -1, and which has no events yet; under the lock of its set
 * @weak: whether it leads another group if that of its set is full
 */
void tally_group_enter(struct tally_counter *c, bool weak)
{
	struct tally_counter *lead = find(c->first, c->kind, weak);
	bool leads = c->kind != SOFTWARE_KIND;

	tally_counter_assert_locked(c);
	if (lead && !may_lead(lead, &c->attr))
		lead = NULL;
	if (!lead && !leads) {
		c->kind = -1;
		return;
	}
	if (!lead || (weak && lead->full && leads)) {
		list_add_tail(&c->group_node, &c->first->leads);
		return;
	}
	c->leader = lead;
	refcount_inc(&lead->holds);
	list_add_tail(&c->group_node, &lead->siblings);
	lead->nr_siblings++;
}

/*
 * Takes a new leader out of its group, which is empty, if its events, of which @event is one, are
 * not of the cores' PMU: on AMD, the PMU IBS has the precise ones. Under its lock.
 */
void tally_group_settle(struct tally_counter *c, const struct perf_event *event)
{
	const struct pmu *pmu = event ? READ_ONCE(event->pmu) : NULL;

	if (!c->attr.precise_ip || c->leader || !pmu || pmu->type == PERF_TYPE_RAW ||
	    tally_pmu_is_core(pmu->type))
		return;
	list_del_init(&c->group_node);
	c->kind = -1;
}

/* Takes a counter out of its group: it ends, or its creation failed. Under its lock. */
void tally_group_exit(struct tally_counter *c)
{
	if (list_empty(&c->group_node))
		return;
	list_del_init(&c->group_node);
	if (!c->leader)
		return;
	c->leader->nr_siblings--;
	/* There is room again. */
	if (c->filled)
		c->leader->full = false;
}

/*
 * Returns the leader of a counter if it overflows, is off, and can be switched on for a trial of
 * the counter: nobody would count with it. Else NULL. Under its lock.
 */
struct tally_counter *tally_group_idle_leader(const struct tally_counter *c)
{
	struct tally_counter *leader = c->leader, *sibling;

	if (!leader || !leader->handler || leader->users_on)
		return NULL;
	list_for_each_entry(sibling, &leader->siblings, group_node)
		if (sibling->users_on)
			return NULL;
	return leader;
}

/* Returns whether the counter is on, and its event waits for exec(), where perf enables it. */
bool tally_counter_awaits_exec(const struct tally_counter *c)
{
	const struct perf_event *event = c->slots[0].event;

	return c->users_on && c->attr.enable_on_exec && event && event->attr.enable_on_exec;
}

static void rouse(struct tally_slot *s)
{
	if (!s->event || READ_ONCE(s->event->state) != PERF_EVENT_STATE_OFF || s->paused ||
	    s->disarmed)
		return;
	s->roused = true;
	perf_event_enable(s->event);
}

static void calm(struct tally_counter *c, unsigned int slot)
{
	struct tally_slot *s = &c->slots[slot];

	if (!s->roused)
		return;
	s->roused = false;
	perf_event_disable(s->event);
	/* The first period begins again: it must not contain what was counted meanwhile. */
	if (c->handler && !c->attr.freq)
		perf_event_period(s->event, c->attr.sample_period);
}

/*
 * Enables the events of a leader's group in a slot that are off, until calm_group(): drivers check
 * only enabled events when a new one joins. Nobody counts with these meanwhile. But somebody would
 * count with an event that waits for exec(), for siblings, or for a leader that overflows. If there
 * is one, a leader that is off stays off; beside one that is on, events that wait for exec() stay
 * off. A pinned leader stays off: it would be in error for good if it found no hardware counter.
 */
static void rouse_group(struct tally_counter *leader, unsigned int slot)
{
	bool off = READ_ONCE(leader->slots[slot].event->state) == PERF_EVENT_STATE_OFF;
	bool waits = leader->waits || tally_counter_awaits_exec(leader);
	struct tally_counter *c;

	list_for_each_entry(c, &leader->siblings, group_node) {
		waits |= tally_counter_awaits_exec(c) || (leader->handler && c->users_on);
		if (off || !tally_counter_awaits_exec(c))
			rouse(&c->slots[slot]);
	}
	if (!waits && !leader->attr.pinned)
		rouse(&leader->slots[slot]);
}

static void calm_group(struct tally_counter *leader, unsigned int slot)
{
	struct tally_counter *c;

	calm(leader, slot);
	list_for_each_entry(c, &leader->siblings, group_node)
		calm(c, slot);
}

/*
 * Returns the event of a leader in a slot, for a sibling's event to join; NULL if the sibling's
 * event has to be alone; or an error: the sibling has no event until the leader has one.
 */
static struct perf_event *leader_in(const struct tally_counter *c, unsigned int slot)
{
	const struct tally_slot *s = &c->slots[slot];
	struct perf_event *leader = s->event;

	/* Where the leader has still to be repaired, its siblings follow. */
	if (!leader)
		return s->absent || c->dead ? NULL : ERR_PTR(s->err ?: -ENODEV);
	/* perf has removed the event from its group: with its PMU, its task, or its CPU. */
	if (tally_slot_revoked(leader))
		return NULL;
	if (tally_slot_detached(leader))
		return c->target.task || c->dead ? NULL : ERR_PTR(-ENODEV);
	return leader;
}

/* Creates an event of @attr that is off, in no group and not inherited. */
static struct perf_event *create_disabled(const struct tally_counter *c, int cpu,
					  struct perf_event_attr attr)
{
	attr.disabled = 1;
	attr.inherit = 0;
	attr.enable_on_exec = 0;
	return perf_event_create_kernel_counter(&attr, cpu, c->target.task, NULL, NULL);
}

/*
 * Creates an event that shows which PMU and which context a sibling would have,
 * where these might not be those of its leader. Nothing in the attributes says
 * which PMU counts a generic event where cores are of several kinds. And perf
 * swaps the contexts of a task and its child if all events in them are inherited.
 * The new event is not, and prevents that until the caller releases it. If only
 * that is wanted, the event has the attributes of the leader: perf may refuse
 * those of the sibling, such as a topdown metric, outside of a group. Returns
 * NULL if no event is needed; EXDEV if PMU or context differ.
 */
static struct perf_event *hold_context(const struct tally_counter *c, int cpu,
				       const struct perf_event_attr *attr,
				       const struct perf_event *leader)
{
	struct perf_event *event;

	if (c->kind != ANY_KIND && !attr->inherit)
		return NULL;
	event = create_disabled(c, cpu, c->kind == ANY_KIND ? *attr : c->leader->attr);
	if (IS_ERR(event) || (event->ctx == READ_ONCE(leader->ctx) &&
			      (event->pmu == leader->pmu || is_software(event))))
		return event;
	perf_event_release_kernel(event);
	return ERR_PTR(-EXDEV);
}

/*
 * Finds why perf has refused an event as a sibling. Returns the error that the event gets alone; or
 * E2BIG if the group has no room for it; NULL, to create it alone, if its counter has had events.
 */
static struct perf_event *why_refused(const struct tally_counter *c, int cpu,
				      const struct perf_event_attr *attr)
{
	struct perf_event *event = create_disabled(c, cpu, *attr);

	if (IS_ERR(event))
		return event;
	perf_event_release_kernel(event);
	return c->filled ? NULL : ERR_PTR(-E2BIG);
}

/*
 * Puts a leader on the PMU again that was there @before and is not: its group may have had no room
 * for a moment. perf has put a pinned leader in error, and any other one waits for its turn. An
 * inherited leader is left to wait: a child that is forked while it is disabled would never count.
 */
static void put_back(struct perf_event *leader, int before, struct cgroup_subsys_state *css)
{
	int now = READ_ONCE(leader->state);

	if (before > now && now == PERF_EVENT_STATE_INACTIVE && !leader->attr.inherit)
		perf_event_disable(leader);
	else if (before == PERF_EVENT_STATE_ERROR || now != PERF_EVENT_STATE_ERROR)
		return;
	if (IS_ENABLED(CONFIG_CGROUP_PERF) && css)
		tally_cgroup_enable(leader, css);
	else
		perf_event_enable(leader);
}

/* Creates the event enabled: drivers check whether a group has room for its enabled events only. */
static struct perf_event *create_on_pmu(const struct tally_counter *c, int cpu,
					const struct perf_event_attr *attr,
					const struct tally_forward *how)
{
	int before = READ_ONCE(how->leader->state);
	unsigned int slot = cpu & c->slot_mask;
	struct perf_event_attr enabled = *attr;
	struct perf_event *event;

	enabled.disabled = 0;
	rouse_group(c->leader, slot);
	event = forward(&enabled, cpu, how);
	if (!IS_ERR(event) && attr->disabled)
		perf_event_disable(event);
	calm_group(c->leader, slot);
	put_back(how->leader, before, how->css);
	return event == ERR_PTR(-EINVAL) ? why_refused(c, cpu, attr) : event;
}

/**
 * tally_sibling_create - create an event of perf in the group of its counter's leader
 * @c: the counter, which has a leader, locked
 * @cpu: CPU of the event; -1 for a task on any CPU
 * @attr: attributes of the event
 *
 * Context: Process context, may sleep.
 * Return: the event; NULL if it has to be alone; E2BIG if the group has no room for the counter's
 * first events; ENODEV or the leader's error while the leader's event is missing; or as
 * perf_event_create_kernel_counter() or tally_cgroup_create().
 */
struct perf_event *tally_sibling_create(const struct tally_counter *c, int cpu,
					struct perf_event_attr attr)
{
	const struct tally_forward how = {
		.task = c->target.task,
		.css = c->target.css,
		.leader = leader_in(c->leader, cpu & c->slot_mask),
	};
	struct perf_event *event, *held;

	if (IS_ERR_OR_NULL(how.leader))
		return how.leader;
	/* An inherited event does not catch up, unless with a leader that is off until exec(). */
	if (c->kind == SOFTWARE_KIND && attr.inherit &&
	    READ_ONCE(how.leader->state) != PERF_EVENT_STATE_OFF)
		return NULL;
	held = hold_context(c, cpu, &attr, how.leader);
	if (IS_ERR(held))
		return held == ERR_PTR(-EXDEV) ? NULL : held;
	/* The leader is pinned, or exclusive, for all of the group. */
	attr.pinned = 0;
	attr.exclusive = 0;
	event = c->kind == SOFTWARE_KIND ? forward(&attr, cpu, &how) :
					   create_on_pmu(c, cpu, &attr, &how);
	if (!IS_ERR_OR_NULL(event) && is_sibling(event, how.leader)) {
		tally_group_catch_up(c, cpu & c->slot_mask, event);
	} else if (!IS_ERR_OR_NULL(event)) {
		/* The leader does not know of this event, so the event must be released first. */
		perf_event_release_kernel(event);
		event = !how.task && tally_slot_detached(how.leader) ? ERR_PTR(-ENODEV) : NULL;
	}
	if (held)
		perf_event_release_kernel(held);
	return event;
}
