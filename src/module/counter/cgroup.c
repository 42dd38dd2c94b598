// SPDX-License-Identifier: GPL-2.0
/*
 * perf's events of a cgroup.
 *
 * perf_event_create_kernel_counter() has no argument for a cgroup. But perf lets a PMU
 * forward a new event to another PMU: event_init() of the first one changes attr.type and
 * returns ENOENT, and perf_init_event() asks the PMU of that type. All events of a cgroup
 * are created through a PMU of tally's own, which forwards them. Before that, it gives the
 * event its cgroup, as perf_cgroup_connect() does for perf's system call. perf looks at
 * perf_event::cgrp when it accounts for the event, installs it, schedules it and frees it,
 * each of which comes after event_init(). So the event is one of perf's own for cgroups:
 * perf counts, at each switch and when a task moves, what it counts for perf stat -G.
 *
 * perf_cgroup_connect() does one thing more. When perf schedules the events of a CPU, it
 * merges those of a task's cgroup and of all cgroups above it, in an array that has to be
 * long enough for their depth. make_room() does that. The array is the CPU's, and stays
 * with perf as one of its own. To find it before there is an event of the cgroup, another
 * event is created, which counts nothing and is of no cgroup; it also shows which PMU
 * serves the event.
 */
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "compat.h"
#include "counter/counter.h"

#ifdef CONFIG_CGROUP_PERF

/*
 * The event that is being created: @task creates it, for the cgroup @css, and a PMU of
 * @type counts it. Written under forward_lock, by the task that event_init() runs in.
 */
static struct {
	struct task_struct *task;
	struct cgroup_subsys_state *css;
	u32 type;
} forwarded;

static DEFINE_MUTEX(forward_lock);

static struct pmu forwarder;
static bool registered;

/* Programs may open events of this PMU, too, which gets them ENOENT. */
static int forward(struct perf_event *event)
{
	if (READ_ONCE(forwarded.task) != current || event->attr.type != forwarder.type)
		return -ENOENT;
	/*
	 * perf drops this reference when it frees the event, also if its creation fails. Before
	 * Linux 6.12.24 and 6.15 it does not if the next PMU fails (err_ns in perf_event_alloc()),
	 * which nobody outside can tell from a later failure.
	 */
	css_get(forwarded.css);
	event->cgrp = container_of(forwarded.css, struct perf_cgroup, css);
	event->attr.type = forwarded.type;
	return -ENOENT;
}

static struct pmu forwarder = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_invalid_context,
	.event_init = forward,
};

/* Registers the PMU for the first event of a cgroup. Until then sysfs does not show it. */
static int register_forwarder(void)
{
	int err;

	lockdep_assert_held(&forward_lock);
	if (registered)
		return 0;
	err = perf_pmu_register(&forwarder, "tally", -1);
	registered = !err;
	return err;
}

/* @event is on the CPU. As perf_cgroup_ensure_storage(). */
static int make_room(const struct perf_event *event, const struct cgroup_subsys_state *css)
{
	struct perf_cpu_context *cpuctx = container_of(event->ctx, struct perf_cpu_context, ctx);
	struct perf_event **heap;
	int size = 1;

	for (; css; css = css->parent)
		size++;
	if (READ_ONCE(cpuctx->heap_size) >= size)
		return 0;
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
 * Prepares the CPU, and finds the PMU. perf refuses a PMU that serves several CPUs: each of
 * them may run another cgroup.
 */
static const struct pmu *prepare(const struct perf_event_attr *attr, int cpu,
				 const struct cgroup_subsys_state *css)
{
	struct perf_event_attr still = *attr;
	struct perf_event *event;
	const struct pmu *pmu;
	int err;

	still.disabled = 1;
	event = perf_event_create_kernel_counter(&still, cpu, NULL, NULL, NULL);
	if (IS_ERR(event))
		return ERR_CAST(event);
	pmu = event->pmu;
	err = pmu->task_ctx_nr == perf_invalid_context ? -EINVAL : make_room(event, css);
	perf_event_release_kernel(event);
	return err ? ERR_PTR(err) : pmu;
}

/* perf changes the attributes that are forwarded. */
static struct perf_event *create(struct perf_event_attr attr, int cpu,
				 struct cgroup_subsys_state *css,
				 perf_overflow_handler_t handler, void *context)
{
	struct perf_event *event;

	forwarded.css = css;
	forwarded.type = attr.type;
	/* The bits above say which PMU counts, which perf looks up from the type alone. */
	if (attr.type == PERF_TYPE_HARDWARE || attr.type == PERF_TYPE_HW_CACHE)
		attr.config &= PERF_HW_EVENT_MASK;
	attr.type = forwarder.type;
	WRITE_ONCE(forwarded.task, current);
	event = perf_event_create_kernel_counter(&attr, cpu, NULL, handler, context);
	WRITE_ONCE(forwarded.task, NULL);
	return event;
}

/**
 * tally_cgroup_create - create an event of perf that counts the tasks of a cgroup
 * @attr: attributes of the event
 * @cpu: CPU of the event
 * @css: perf's state of the cgroup, with a reference; the cgroup may be removed
 * @handler: perf's callback for overflows, or NULL
 * @context: argument for @handler in perf's event
 *
 * Context: Process context, may sleep; takes cpu_hotplug_lock.
 * Return: the event; EINVAL for a PMU that counts for several CPUs; ENOENT for a PMU that
 * is not that of the CPU; the error of perf_event_create_kernel_counter() or of
 * perf_pmu_register().
 */
struct perf_event *tally_cgroup_create(const struct perf_event_attr *attr, int cpu,
				       struct cgroup_subsys_state *css,
				       perf_overflow_handler_t handler, void *context)
{
	const struct pmu *pmu = prepare(attr, cpu, css);
	struct perf_event *event;
	int err;

	if (IS_ERR(pmu))
		return ERR_CAST(pmu);
	mutex_lock(&forward_lock);
	err = register_forwarder();
	event = err ? ERR_PTR(err) : create(*attr, cpu, css, handler, context);
	mutex_unlock(&forward_lock);
	if (!IS_ERR(event) && event->pmu != pmu) {
		perf_event_release_kernel(event);
		return ERR_PTR(-ENOENT);
	}
	return event;
}

/* Called when no events are left. */
void tally_cgroup_exit(void)
{
	if (registered)
		perf_pmu_unregister(&forwarder);
}

#else /* !CONFIG_CGROUP_PERF */

/* Never called: without CONFIG_CGROUP_PERF, tally_cgroup_find() fails for each cgroup. */
struct perf_event *tally_cgroup_create(const struct perf_event_attr *attr, int cpu,
				       struct cgroup_subsys_state *css,
				       perf_overflow_handler_t handler, void *context)
{
	return ERR_PTR(-EINVAL);
}

void tally_cgroup_exit(void)
{
}

#endif
