// SPDX-License-Identifier: GPL-2.0
/*
 * perf's events of a cgroup: forward.c gives them their cgroup.
 *
 * perf_cgroup_connect() does one thing more. When perf schedules the events of
 * a CPU, it merges those of a task's cgroup and of all cgroups above it, in an
 * array that has to be long enough for their depth. make_room() does that. The
 * array is the CPU's, and stays with perf as one of its own. To find it before
 * there is an event of the cgroup, another event is created, which counts
 * nothing and is of no cgroup; it also shows which PMU serves the event.
 */
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/perf_event.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include "base/trick.h"
#include "compat.h"
#include "counter/counter.h"

/**
 * struct place - where a cgroup is counted
 * @cpu: the CPU
 * @css: perf's state of the cgroup
 * @ctx: perf's context of the CPU
 */
struct place {
	int cpu;
	struct cgroup_subsys_state *css;
	struct perf_event_context *ctx;
};

/* Returns 0 if perf's array and its length are where make_room() looks for them; 1 if not. */
static int prove_depth(void *data)
{
	struct perf_cpu_context *cpuctx = data;
	unsigned int size = ARRAY_SIZE(cpuctx->heap_default) +
			    tally_mutant(TALLY_TRICK_CGROUP_DEPTH);
	bool right;

	raw_spin_lock_irq(&cpuctx->ctx.lock);
	right = cpuctx->heap_size == size ?
		cpuctx->heap == cpuctx->heap_default :
		cpuctx->heap_size > size && cpuctx->heap && cpuctx->heap != cpuctx->heap_default;
	raw_spin_unlock_irq(&cpuctx->ctx.lock);
	return !right;
}

/* Makes the array of @event's CPU long enough for @css, as perf_cgroup_ensure_storage() does. */
static int make_room(const struct perf_event *event, const struct cgroup_subsys_state *css)
{
	struct perf_cpu_context *cpuctx = container_of(event->ctx, struct perf_cpu_context, ctx);
	struct perf_event **heap;
	int size = 1, err;

	for (; css; css = css->parent)
		size++;
	if (READ_ONCE(cpuctx->heap_size) >= size)
		return 0;
	err = tally_trick_try(TALLY_TRICK_CGROUP_DEPTH, prove_depth, cpuctx);
	if (err)
		return err;
	heap = kmalloc_array_node(size, sizeof(*heap), GFP_KERNEL, cpu_to_node(event->cpu));
	if (!heap)
		return -ENOMEM;
	raw_spin_lock_irq(&cpuctx->ctx.lock);
	if (cpuctx->heap_size < size) {
		swap(cpuctx->heap, heap);
		if (heap == cpuctx->heap_default)
			heap = NULL;
		cpuctx->heap_size = size;
	}
	raw_spin_unlock_irq(&cpuctx->ctx.lock);
	kfree(heap);
	return 0;
}

/*
 * Prepares the CPU for an event without a leader, and returns the PMU. As perf,
 * this refuses a PMU that serves several CPUs: each of them may run another cgroup.
 */
static const struct pmu *prepare(const struct perf_event_attr *attr, struct place *place)
{
	struct perf_event_attr still = *attr;
	struct perf_event *event;
	const struct pmu *pmu;
	int err;

	still.disabled = 1;
	event = perf_event_create_kernel_counter(&still, place->cpu, NULL, NULL, NULL);
	if (IS_ERR(event))
		return ERR_CAST(event);
	pmu = event->pmu;
	/* The context is the CPU's, and stays. */
	place->ctx = event->ctx;
	err = pmu->task_ctx_nr == perf_invalid_context ? -EINVAL : make_room(event, place->css);
	perf_event_release_kernel(event);
	return err ? ERR_PTR(err) : pmu;
}

static const struct perf_event_attr clock_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(clock_attr),
	.config = PERF_COUNT_SW_CPU_CLOCK,
};

/* Returns the time for which a clock was enabled or, if not @enabled, ran: that is its value. */
static u64 time_of(struct perf_event *event, bool enabled)
{
	struct tally_totals t = tally_perf_totals(event);

	return enabled ? t.enabled : t.value;
}

/*
 * Returns 0 if a time of @event grows, and not faster than that of @all; 1 if
 * not; EAGAIN if @all, an event of the same CPU, does not grow either.
 */
static int compare(bool enabled, struct perf_event *event, struct perf_event *all)
{
	u64 end = ktime_get_ns() + 10 * TALLY_CLOCK_STANDS;
	u64 begun = time_of(all, enabled), first = time_of(event, enabled), last, passed;

	do {
		last = time_of(event, enabled);
		passed = time_of(all, enabled) - begun;
		if (last > first)
			return last - first > passed;
	} while (passed < TALLY_CLOCK_STANDS && ktime_get_ns() < end);
	if (time_of(event, enabled) > first)
		return 0;
	return passed < TALLY_CLOCK_STANDS ? -EAGAIN : 1;
}

static struct perf_event *create(const struct place *place)
{
	const struct tally_forward how = { .css = place->css };

	return tally_forward(clock_attr, place->cpu, &how, NULL, NULL);
}

static int prove_cgroup(void *data)
{
	const struct place *place = data;
	struct perf_event *all = tally_trick_event(PERF_COUNT_SW_CPU_CLOCK, 0, place->cpu), *event;
	int ret;

	if (IS_ERR(all))
		return PTR_ERR(all);
	event = create(place);
	ret = PTR_ERR_OR_ZERO(event);
	if (!ret) {
		ret = !event->cgrp || &event->cgrp->css != place->css || event->pmu != all->pmu ||
		      compare(false, event, all);
		perf_event_release_kernel(event);
	}
	perf_event_release_kernel(all);
	return ret;
}

#ifdef TALLY_HAVE_ONE_CONTEXT
#define STARTS_LATE true
/* Returns the cgroup that perf counts on this CPU; NULL if it has no enabled event of a cgroup. */
static const struct perf_cgroup *cgroup_here(struct perf_event_context *ctx)
{
	return container_of(ctx, struct perf_cpu_context, ctx)->cgrp;
}
#else
/* perf starts the clocks in time. */
#define STARTS_LATE false
/* Each PMU has a context. All of them follow the task that runs. */
static const struct perf_cgroup *cgroup_here(struct perf_event_context *ctx)
{
	return perf_cgroup_from_task(current, NULL);
}
#endif

/* Called on the CPU in interrupt: perf, too, writes the clock with interrupts disabled. */
static void set_clock_here(void *data)
{
	const struct place *place = data;
	const struct perf_cgroup *cgroup = container_of(place->css, struct perf_cgroup, css), *here;
	bool runs;

	rcu_read_lock();
	here = cgroup_here(place->ctx);
	runs = here && cgroup_is_descendant(here->css.cgroup, cgroup->css.cgroup);
	rcu_read_unlock();
	if (!runs || STARTS_LATE)
		tally_cgroup_clock_set(this_cpu_ptr(cgroup->info), runs,
				       tally_mutant(TALLY_TRICK_CGROUP_CLOCK));
}

/*
 * Sets the clock of a cgroup on a CPU, before and after an event of the cgroup is enabled there.
 *
 * perf starts and stops the clocks of cgroups when a CPU goes from one cgroup
 * to another, as long as the CPU has an enabled event of a cgroup. Since Linux
 * 6.12 it does not start them for the first such event if the CPU counts other
 * events already (ctx_time_freeze() keeps EVENT_TIME, so ctx_sched_in() leaves
 * perf_cgroup_set_timestamp() out). No kernel stops them after the last one. So
 * a clock may stand, or go on from the time at which it was used last. The
 * first call brings that time up to date; the second one starts the clock if
 * the cgroup runs. If the CPU has gone, so has the event.
 */
static void set_clock(struct place *place)
{
	smp_call_function_single(place->cpu, set_clock_here, place, true);
}

/* Returns 0 if the times of an event of the root go on, and local reads find them. */
static int prove_clock(void *data)
{
	struct place *place = data;
	struct perf_event *all = tally_trick_event(PERF_COUNT_SW_CPU_CLOCK, 0, place->cpu), *event;
	int ret;

	if (IS_ERR(all))
		return PTR_ERR(all);
	set_clock(place);
	event = create(place);
	ret = PTR_ERR_OR_ZERO(event);
	if (!ret) {
		set_clock(place);
		if (!tally_trick_is_off(TALLY_TRICK_TIMES))
			ret = tally_times_compare(event, place->cpu);
		ret = ret ?: compare(true, event, all);
		perf_event_release_kernel(event);
	}
	perf_event_release_kernel(all);
	return ret;
}

/* Proves the tricks of events of cgroups on the root cgroup, in which all tasks are. */
static int prove(const struct place *place)
{
	struct place root = *place;
	int err;

	while (root.css->parent)
		root.css = root.css->parent;
	err = tally_trick_try(TALLY_TRICK_CGROUP, prove_cgroup, &root);
	/* If this trick fails, the times are those of perf. */
	if (!err)
		tally_trick_try(TALLY_TRICK_CGROUP_CLOCK, prove_clock, &root);
	return err;
}

/* Enables an event of a cgroup. Process context, may sleep. */
void tally_cgroup_enable(struct perf_event *event, struct cgroup_subsys_state *css)
{
	struct place place = { event->cpu, css, event->ctx };
	bool works = tally_trick_works(TALLY_TRICK_CGROUP_CLOCK);

	if (works)
		set_clock(&place);
	perf_event_enable(event);
	if (works)
		set_clock(&place);
}

/**
 * tally_cgroup_create - create an event of perf that counts the tasks of a cgroup
 * @attr: attributes of the event
 * @cpu: CPU of the event
 * @how: perf's state of the cgroup, of which the caller has a reference, though
 *	the cgroup may have been removed; and the leader
 * @handler: perf's callback for overflows, or NULL
 * @context: argument for @handler in perf's event
 *
 * Context: Process context, may sleep; takes cpu_hotplug_lock.
 * Return: the event; EINVAL for a PMU that counts for several CPUs; ENOENT for a PMU that
 * is not that of the CPU; EOPNOTSUPP without TALLY_TRICK_CGROUP, or TALLY_TRICK_CGROUP_DEPTH if
 * that is needed; ENOMEM; EAGAIN if something disturbed a proof; the error of
 * perf_event_create_kernel_counter() or of perf_pmu_register().
 */
struct perf_event *tally_cgroup_create(const struct perf_event_attr *attr, int cpu,
				       const struct tally_forward *how,
				       perf_overflow_handler_t handler, void *context)
{
	struct place place = { cpu, how->css };
	const struct pmu *pmu = NULL;
	struct perf_event *event;
	int err;

	/* A driver may refuse a sibling alone, such as a topdown metric. Its leader is here. */
	if (how->leader)
		place.ctx = READ_ONCE(how->leader->ctx);
	else
		pmu = prepare(attr, &place);
	if (IS_ERR(pmu))
		return ERR_CAST(pmu);
	err = prove(&place);
	if (tally_trick_works(TALLY_TRICK_CGROUP_CLOCK))
		set_clock(&place);
	event = err ? ERR_PTR(err) : tally_forward(*attr, cpu, how, handler, context);
	if (tally_trick_works(TALLY_TRICK_CGROUP_CLOCK))
		set_clock(&place);
	/* tally_sibling_create() compares the PMU of a sibling with that of its leader. */
	if (!IS_ERR(event) && pmu && event->pmu != pmu) {
		perf_event_release_kernel(event);
		return ERR_PTR(-ENOENT);
	}
	return event;
}
