// SPDX-License-Identifier: GPL-2.0
/*
 * A slot: perf's event on one CPU, or for one task, and the totals of earlier
 * events there.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/async.h>
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include "compat.h"
#include "counter/counter.h"
#include "counter/slot.h"

DEFINE_PER_CPU(const void *, tally_reading);

/* tally_slot_init()'s argument; set before there is any counter. */
static void (*slot_changed)(struct tally_counter *c, unsigned int slot, u64 gap_ns, bool missed);
atomic_long_t tally_slot_changes = ATOMIC_LONG_INIT(1);
static atomic_long_t nr_perf_events, nr_repairs, nr_repair_errors;

static void slot_has_changed(struct tally_counter *c, const struct tally_slot *s, u64 gap_ns,
			     bool missed)
{
	slot_changed(c, s - c->slots, gap_ns, missed);
	if (c->nr_slots > 1)
		atomic_long_inc_return_release(&tally_slot_changes); /* Z */
}

/* Returns the CPU of a slot; -1 for a task on any CPU. */
int tally_slot_cpu(const struct tally_counter *c, const struct tally_slot *s)
{
	return tally_counter_on_all_cpus(c) ? s - c->slots : c->target.cpu;
}

/* Returns whether the counter's attributes stand for an event of each kind of core. */
static bool is_of_cores(const struct tally_counter *c)
{
	const struct perf_event_attr *attr = &c->attr;

	return (attr->type == PERF_TYPE_RAW && !c->target.one_kind) ||
	       ((attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE) &&
		!(attr->config >> PERF_PMU_TYPE_SHIFT));
}

/* Creates an event of perf: of the counter's own trace event, if it has one. */
static struct perf_event *create_perf(const struct tally_counter *c, int cpu,
				      struct perf_event_attr *attr,
				      perf_overflow_handler_t handler, void *context)
{
	const struct tally_forward how = { .css = c->target.css };
	struct perf_event *event;

	if (c->kprobe) {
		attr->type = PERF_TYPE_TRACEPOINT;
		attr->config = tally_kprobe_id(c->kprobe);
		attr->kprobe_addr = 0;
	}
	event = c->leader && !handler ? tally_sibling_create(c, cpu, *attr) : NULL;
	if (event)
		return event;
	if (IS_ENABLED(CONFIG_CGROUP_PERF) && c->target.css)
		return tally_cgroup_create(attr, cpu, &how, handler, context);
	return perf_event_create_kernel_counter(attr, cpu, c->target.task, handler, context);
}

/* Creates an event on the cores whose PMU has the number @type; 0 if perf chooses. */
static struct perf_event *create_on(const struct tally_counter *c, int cpu, u32 type)
{
	struct perf_event_attr attr = c->attr;

	if (type && attr.type == PERF_TYPE_RAW)
		attr.type = type;
	else if (type)
		attr.config |= (u64)type << PERF_PMU_TYPE_SHIFT;
	/*
	 * A child that is forked while its parent's event is disabled never
	 * counts, and perf cannot disable the children of an event that is
	 * enabled. So an inherited event of perf counts from its creation, or
	 * exec(), to its release. The view of a tally event leaves out what is
	 * counted while the tally event is disabled.
	 */
	attr.disabled = !(attr.inherit || c->at_once) || attr.enable_on_exec;
	return create_perf(c, cpu, &attr, c->handler, c->context);
}

static struct perf_event *create(const struct tally_counter *c, int cpu)
{
	struct perf_event *event = create_on(c, cpu, 0);
	u32 types[TALLY_CORE_PMUS];
	unsigned int nr;

	/* perf asks one kind of core for a raw event; the CPU may be of another kind. */
	if (event != ERR_PTR(-ENOENT) || c->attr.type != PERF_TYPE_RAW || c->target.one_kind)
		return event;
	nr = tally_core_pmus(types);
	while (nr-- && event == ERR_PTR(-ENOENT))
		event = create_on(c, cpu, types[nr]);
	return event;
}

/*
 * Returns whether another slot's event already counts what @event would count,
 * as for a PMU that counts for a whole package.
 */
static bool served_already(const struct tally_counter *c,
			   const struct perf_event *event, int cpu)
{
	const struct cpumask *scope = tally_pmu_scope(event->pmu, cpu);
	const struct tally_slot *s;

	/* A PMU whose events a task can have counts on each CPU separately. */
	if (event->pmu->task_ctx_nr != perf_invalid_context)
		return false;
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		if (s->event && cpumask_test_cpu(READ_ONCE(s->event->cpu), scope))
			return true;
	return false;
}

/*
 * Returns whether perf calls a handler for overflows. With a period of 1,
 * Intel's driver records branches in a buffer that no handler sees. It refuses
 * a change to such a period, so setting the same period again finds that out.
 */
static bool can_overflow(struct perf_event *event)
{
	if (event->pmu->capabilities & PERF_PMU_CAP_NO_INTERRUPT)
		return false;
	return event->attr.freq || event->attr.sample_period != 1 ||
	       event->pmu->task_ctx_nr == perf_sw_context ||
	       !perf_event_period(event, 1);
}

/*
 * Returns 1 if only overflows bring the count up to date, as for AMD's IBS, whose read
 * function does nothing, and else 0 or ENOMEM. Such a PMU cannot count without a period:
 * the driver refuses an event without one, or takes a period out of its config.
 */
static int updates_on_overflow(const struct tally_counter *c, struct perf_event *event, int cpu)
{
	struct perf_event_attr attr = event->attr;
	struct perf_event *trial;
	int late;

	if (event->pmu->type < PERF_TYPE_MAX || event->pmu->task_ctx_nr == perf_sw_context ||
	    tally_pmu_is_core(event->pmu->type) || !is_sampling_event(event))
		return false;
	if (!c->attr.sample_period)
		return true;
	attr.sample_period = 0;
	attr.freq = 0;
	/* Other drivers refuse it without a period. */
	attr.precise_ip = 0;
	attr.disabled = 1;
	trial = perf_event_create_kernel_counter(&attr, cpu, c->target.task, NULL, NULL);
	if (trial == ERR_PTR(-ENOMEM))
		return -ENOMEM;
	if (IS_ERR(trial))
		return trial == ERR_PTR(-EINVAL) || trial == ERR_PTR(-EOPNOTSUPP);
	late = is_sampling_event(trial);
	perf_event_release_kernel(trial);
	return late;
}

/* Returns why an event that perf has created is of no use; 0 if it is. */
static int check(const struct tally_counter *c, struct perf_event *event)
{
	/* A PMU with AUX buffers counts only with a buffer that perf's own files map. */
	if (event->pmu->setup_aux || (c->handler && !can_overflow(event)))
		return -EOPNOTSUPP;
	return 0;
}

static void release_others(struct tally_slot *s)
{
	unsigned int i;

	for (i = 0; s->others && s->others[i]; i++) {
		perf_event_release_kernel(s->others[i]);
		atomic_long_dec(&nr_perf_events);
	}
}

/*
 * perf's event for a task counts on one kind of core, while its enabled time
 * goes on. Gives the slot an event for each other kind that has such an event.
 */
static int create_others(struct tally_counter *c, struct tally_slot *s,
			 const struct perf_event *first)
{
	u32 types[TALLY_CORE_PMUS];
	struct perf_event *event;
	unsigned int nr, i, made = 0;
	int err = 0;

	if (!c->target.task || c->target.cpu >= 0 || !is_of_cores(c))
		return 0;
	nr = tally_core_pmus(types);
	if (nr < 2)
		return 0;
	s->others = kcalloc(nr + 1, sizeof(*s->others), GFP_KERNEL);
	if (!s->others)
		return -ENOMEM;
	for (i = 0; i < nr && !err; i++) {
		if (types[i] == first->pmu->type)
			continue;
		event = create_on(c, -1, types[i]);
		err = PTR_ERR_OR_ZERO(event);
		if (!err) {
			s->others[made++] = event;
			err = check(c, event);
		} else if (tally_slot_refused(err)) {
			err = 0;
		}
	}
	atomic_long_add(made, &nr_perf_events);
	if (err)
		release_others(s);
	if (err || !made) {
		kfree(s->others);
		s->others = NULL;
	}
	return err;
}

/**
 * tally_slot_create - give the slot an event
 * @c: the counter, locked
 * @s: the slot, which has no event
 *
 * Return: 0; ENOENT if the PMU counts on another CPU for this one; EOPNOTSUPP
 * for a PMU with AUX buffers, or one that cannot overflow if it should; ENOMEM;
 * the error of perf_event_create_kernel_counter(), tally_sibling_create() or
 * tally_cgroup_create(). tally_slot_refused() says which mean that the PMU does
 * not serve this CPU, if it serves others.
 */
int tally_slot_create(struct tally_counter *c, struct tally_slot *s)
{
	int cpu = tally_slot_cpu(c, s);
	struct perf_event *event;
	int err, late;

	event = create(c, cpu);
	if (IS_ERR(event))
		return PTR_ERR(event);
	late = updates_on_overflow(c, event, cpu);
	err = late < 0 ? late : check(c, event) ?: create_others(c, s, event);
	if (err) {
		perf_event_release_kernel(event);
		return err;
	}

	/*
	 * A PMU that serves several CPUs on one of them moves the event there, unless it has a
	 * scope (Linux 6.12). That CPU has a slot of its own; a second event would count twice.
	 */
	if (tally_counter_on_all_cpus(c) &&
	    (READ_ONCE(event->cpu) != cpu || served_already(c, event, cpu))) {
		perf_event_release_kernel(event);
		return -ENOENT;
	}
	s->read = event->pmu->read;
	if (tally_attr_is_task_clock(&c->attr) && tally_trick_works(TALLY_TRICK_TASK_CLOCK))
		s->read = tally_read_task_clock;
	s->width = s->others ? 0 : tally_register_width(event);
	s->up_to_date = tally_pmu_is_still(event->pmu);
	s->update_on_overflow = late;
	s->software = event->pmu->task_ctx_nr == perf_sw_context;
	if (event->pmu->task_ctx_nr == perf_invalid_context)
		WRITE_ONCE(c->moves, true);
	if (c->gauge)
		s->bank.value = 0;
	/* Reads without the lock use all of this. */
	smp_store_release(&s->event, event); /* K */
	slot_has_changed(c, s, 0, false);
	atomic_long_inc(&nr_perf_events);
	return 0;
}

/*
 * Takes the event from its slot, to be released. A local read that has found
 * the event before this keeps interrupts disabled: perf frees the event after a
 * grace period, and cannot take it off a CPU that is reading it.
 */
struct perf_event *tally_slot_detach(struct tally_counter *c, struct tally_slot *s)
{
	struct perf_event *event = s->event;

	if (!event)
		return NULL;
	WRITE_ONCE(s->event, NULL);
	slot_has_changed(c, s, 0, false);
	return event;
}

/* Releases an event that was taken from the slot, and those for other kinds of cores. */
void tally_slot_free(struct tally_slot *s, struct perf_event *event)
{
	if (!event)
		return;
	perf_event_release_kernel(event);
	atomic_long_dec(&nr_perf_events);
	release_others(s);
}

/*
 * Reads the totals by perf's own function, which works in every state of the event. Of
 * several events the first one is enabled as long as any other, so its time is read last.
 */
void tally_slot_read(const struct tally_slot *s, struct tally_totals *t)
{
	struct tally_totals part;
	unsigned int i;

	*t = s->bank;
	if (!s->event)
		return;
	for (i = 0; s->others && s->others[i]; i++) {
		part = tally_perf_totals(s->others[i]);
		t->value += part.value;
		t->running += part.running;
	}
	part = tally_perf_totals(s->event);
	tally_totals_add(t, &part);
}

/*
 * Releases of events that perf detached. On PREEMPT_RT perf waits for a grace period in each of
 * them, so they run beside each other. Only the exit of the module waits for them.
 */
static ASYNC_DOMAIN_EXCLUSIVE(releases);

static void release_lost(void *event, async_cookie_t cookie)
{
	perf_event_release_kernel(event);
}

/* Waits until all events that perf detached are released. */
void tally_slot_wait_released(void)
{
	async_synchronize_full_domain(&releases);
}

/* Banks the totals of an event that perf detached, and has it released. */
void tally_slot_bank(struct tally_counter *c, struct tally_slot *s)
{
	struct perf_event *event = s->event;
	bool in_error = tally_slot_in_error(c, s);
	struct tally_totals t;
	unsigned int i;

	tally_slot_read(s, &t);
	/* The slot must not look blank while it has neither the event nor its totals. */
	WRITE_ONCE(s->err, -ENODEV);
	smp_store_release(&s->event, NULL); /* Z */
	smp_wmb(); /* K */
	s->bank = t;
	smp_store_release(&s->err, 0); /* Z */
	slot_has_changed(c, s, 0, in_error);
	/* A probe cannot go, nor another event have the debug register, before the event goes. */
	if (c->kprobe || c->attr.type == PERF_TYPE_BREAKPOINT)
		perf_event_release_kernel(event);
	else
		async_schedule_domain(release_lost, event, &releases);
	atomic_long_dec(&nr_perf_events);
	s->paused = false;
	atomic_long_inc(&nr_repairs);

	/* The PMU may count on another CPU from now on. */
	for (i = 0; i < c->nr_slots; i++)
		c->slots[i].absent = false;
}

/*
 * Gives the slot an event if it has none and its CPU is online. @came_ns is the time at which
 * the CPU came online, of ktime_get_ns(), if the slot has not counted since; else 0.
 */
void tally_slot_repair(struct tally_counter *c, struct tally_slot *s, u64 came_ns)
{
	int cpu = tally_slot_cpu(c, s);
	bool on = c->users_on && !s->disarmed;
	u64 gap_ns = 0;
	int err;

	if (s->event || s->absent)
		return;
	if (!cpu_online(cpu)) {
		s->err = 0;
		return;
	}

	/* Handlers use tally_slot::event: an event with a handler is enabled once it is there. */
	c->at_once = on && !c->handler && !c->waits;
	err = tally_slot_create(c, s);
	c->at_once = false;
	s->absent = tally_slot_refused(err) && tally_counter_on_all_cpus(c);
	/*
	 * ENODEV: the CPU is going offline again. perf knows that some time before
	 * cpu_online_mask does. The hotplug callback queues the work again.
	 */
	s->err = s->absent || err == -ENODEV ? 0 : err;
	if (s->err) {
		atomic_long_inc(&nr_repair_errors);
		pr_warn_ratelimited("cpu %d: cannot resume counting type %u config %#llx: error %d\n",
				    cpu, c->attr.type, c->attr.config, err);
	} else if (!err && on) {
		if (!c->waits)
			tally_slot_enable(c, s);
		gap_ns = came_ns ? ktime_get_ns() - came_ns : 0;
	}
	/* Members of a set, unless they are a group, begin to count one after the other. */
	slot_has_changed(c, s, gap_ns, s->err || (s->event && on));
}

/* Clears errors. The first event is enabled first and disabled last: no other runs without it. */
void tally_slot_enable(struct tally_counter *c, const struct tally_slot *s)
{
	struct perf_event *event;

	if (tally_slot_in_error(c, s))
		slot_has_changed(c, s, 0, true);
	tally_slot_for_each(s, event) {
		if (IS_ENABLED(CONFIG_CGROUP_PERF) && c->target.css)
			tally_cgroup_enable(event, c->target.css);
		else
			perf_event_enable(event);
		tally_group_catch_up(c, s - c->slots, event);
	}
}

void tally_slot_disable(const struct tally_slot *s)
{
	unsigned int i;

	for (i = 0; s->others && s->others[i]; i++)
		perf_event_disable(s->others[i]);
	perf_event_disable(s->event);
}

/*
 * Returns the state of an event: its own, or that of its leader if that is off or in error. Any
 * context. perf frees a leader a grace period after its siblings have left it.
 */
int tally_perf_state(const struct perf_event *event)
{
	int state = READ_ONCE(event->state), of_leader;

	if (state <= PERF_EVENT_STATE_OFF || READ_ONCE(event->group_leader) == event)
		return state;
	rcu_read_lock();
	of_leader = READ_ONCE(READ_ONCE(event->group_leader)->state);
	rcu_read_unlock();
	return of_leader == PERF_EVENT_STATE_OFF || of_leader == PERF_EVENT_STATE_ERROR ?
	       of_leader : state;
}

/*
 * Returns whether overflows have switched a slot off, or that of its leader, with which it stops.
 * Such a slot has counted, and may count again. The caller has the lock.
 */
bool tally_slot_rests(const struct tally_counter *c, unsigned int slot)
{
	const struct tally_slot *s = &c->slots[slot], *leader;

	if (s->disarmed || s->paused || !s->event || !c->leader)
		return s->disarmed || s->paused;
	leader = &c->leader->slots[slot];
	return (leader->disarmed || leader->paused) && s->event->group_leader == leader->event;
}

/* Returns false if the CPU is offline, the PMU or task has gone, or exec() removed the event. */
static bool may_count(const struct tally_counter *c, const struct tally_slot *s)
{
	return tally_slot_lives(c, s) &&
	       READ_ONCE(s->event->state) > PERF_EVENT_STATE_EXIT;
}

/* Creates the next event of a slot, disabled. Returns NULL if the slot needs none. */
static struct perf_event *create_next(const struct tally_counter *c,
				      const struct tally_slot *s,
				      const struct perf_event_attr *to,
				      perf_overflow_handler_t handler, void *context)
{
	struct perf_event_attr attr = *to;
	struct perf_event *event;

	if (!may_count(c, s))
		return NULL;
	attr.disabled = 1;
	attr.enable_on_exec = 0;
	event = create_perf(c, tally_slot_cpu(c, s), &attr, handler, context);
	/* The CPU went offline, or the task exited, meanwhile. */
	if (event == ERR_PTR(-ESRCH) || (IS_ERR(event) && !may_count(c, s)))
		return NULL;
	return event;
}

/*
 * Replaces the event of a slot. The next event gets the counts of the one before. A read
 * without the lock finds one of both events, and reads the same count from either.
 */
static void hand_over(struct tally_counter *c, struct tally_slot *s,
		      struct perf_event *event)
{
	struct perf_event *old = s->event;
	struct tally_totals t;
	bool on;

	if (!may_count(c, s)) {
		perf_event_release_kernel(event);
		return;
	}
	on = tally_perf_is_on(old);
	perf_event_disable(old);
	t = tally_perf_totals(old);
	tally_slot_hand_over(event, &t);
	/* Not earlier: from here on exec() may enable the next event, and it counts. */
	event->attr.enable_on_exec = old->attr.enable_on_exec;
	smp_store_release(&s->event, event); /* K */
	slot_has_changed(c, s, 0, false);
	if (on || tally_perf_is_on(old))
		tally_slot_enable(c, s);
	perf_event_release_kernel(old);
}

/**
 * tally_counter_replace - go on counting with other events of perf
 * @c: counter of one event, which is not inherited; locked
 * @attr: attributes for the same PMU, which enable and disable events as before
 * @handler: perf's callback for overflows
 * @context: argument for @handler in perf's event
 *
 * The totals are kept. In the few microseconds between its two events a CPU does not count.
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOMEM, EOPNOTSUPP without TALLY_TRICK_HAND_OVER, or the error of
 * perf_event_create_kernel_counter(). On error nothing has changed.
 */
int tally_counter_replace(struct tally_counter *c, const struct perf_event_attr *attr,
			  perf_overflow_handler_t handler, void *context)
{
	struct perf_event **events;
	unsigned int i, made;
	int err = 0;

	tally_counter_assert_locked(c);
	if (!tally_trick_works(TALLY_TRICK_HAND_OVER))
		return -EOPNOTSUPP;
	events = kvcalloc(c->nr_slots, sizeof(*events), GFP_KERNEL);
	if (!events)
		return -ENOMEM;
	for (made = 0; made < c->nr_slots && !err; made++) {
		events[made] = create_next(c, &c->slots[made], attr, handler, context);
		err = PTR_ERR_OR_ZERO(events[made]);
	}
	if (!err) {
		c->attr = *attr;
		c->handler = handler;
		c->context = context;
	}
	for (i = 0; i < made; i++) {
		if (IS_ERR_OR_NULL(events[i]))
			continue;
		if (err)
			perf_event_release_kernel(events[i]);
		else
			hand_over(c, &c->slots[i], events[i]);
	}
	kvfree(events);
	return err;
}

/* Fills in the numbers of slots, for tally_counter_stats(). */
void tally_slot_stats(struct tally_counter_stats *stats)
{
	stats->perf_events = atomic_long_read(&nr_perf_events);
	stats->repairs = atomic_long_read(&nr_repairs);
	stats->repair_errors = atomic_long_read(&nr_repair_errors);
}

/**
 * tally_slot_init - set the hook for changes of slots, before the first counter
 * @changed: called under tally_counter::lock whenever the event or bank of a slot changes; gap_ns:
 *	nanoseconds from when its CPU came online until the slot counted again, or 0; missed: the
 *	slot has not counted until now because of an error or of hotplug, or still does not
 */
void tally_slot_init(void (*changed)(struct tally_counter *c, unsigned int slot, u64 gap_ns,
				     bool missed))
{
	slot_changed = changed;
}
