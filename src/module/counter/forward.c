// SPDX-License-Identifier: GPL-2.0
/*
 * perf's events of a cgroup, and siblings of a group.
 *
 * perf_event_create_kernel_counter() has no argument for a cgroup or for a
 * leader. But perf lets a PMU forward a new event to another PMU: event_init()
 * of the first one changes attr.type and returns ENOENT, and perf_init_event()
 * asks the PMU of that type. Such events are created through a PMU of tally's
 * own. It first gives the event its cgroup, as perf_cgroup_connect() does, and
 * its leader, and then forwards the event. perf looks at perf_event::cgrp and
 * ::group_leader when it locks the leader's context, checks the event with its
 * driver, accounts for it, installs it, schedules it and frees it, each of
 * which comes after that. So the event is one of perf's own. What perf's system
 * call checks of a leader is left to the caller.
 */
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include "base/trick.h"
#include "counter/counter.h"

/**
 * struct forwarding - an event that is being created
 * @node: link in @forwardings
 * @task: the task that creates it, in which event_init() runs
 * @how: what the event asks for
 * @type: type of the PMU that counts it
 */
struct forwarding {
	struct list_head node;
	struct task_struct *task;
	const struct tally_forward *how;
	u32 type;
};

static LIST_HEAD(forwardings);
/* Guards @forwardings. No lock is held while perf creates an event: that may wait for a task. */
static DEFINE_SPINLOCK(forwardings_lock);

static struct pmu forwarder;

static const struct forwarding *find(const struct task_struct *task)
{
	const struct forwarding *f, *found = NULL;

	spin_lock(&forwardings_lock);
	list_for_each_entry(f, &forwardings, node)
		if (f->task == task)
			found = f;
	spin_unlock(&forwardings_lock);
	return found;
}

static void give_cgroup(struct perf_event *event, struct cgroup_subsys_state *css)
{
#ifdef CONFIG_CGROUP_PERF
	if (!css || tally_mutant(TALLY_TRICK_CGROUP))
		return;
	/*
	 * perf drops this reference when it frees the event, also if its creation fails. Before
	 * Linux 6.12.24 and 6.15 it does not if the next PMU fails (err_ns in perf_event_alloc()),
	 * which nobody outside can tell from a later failure.
	 */
	css_get(css);
	event->cgrp = container_of(css, struct perf_cgroup, css);
#endif
}

/* Returns the trick by which an event has its leader. */
static enum tally_trick trick_of(const struct forwarding *f)
{
	bool software = f->type == PERF_TYPE_SOFTWARE || f->type == PERF_TYPE_TRACEPOINT;

	return software && f->how->leader->pmu->task_ctx_nr != perf_sw_context ?
	       TALLY_TRICK_GROUP_SOFTWARE : TALLY_TRICK_GROUP;
}

/*
 * Always returns ENOENT. If it has changed the type, perf asks the PMU of the new type next. A
 * program may open an event of this PMU, too, and gets the ENOENT.
 */
static int forward(struct perf_event *event)
{
	/* @f stays without a lock: only this task removes it. */
	const struct forwarding *f = find(current);

	if (!f || event->attr.type != forwarder.type)
		return -ENOENT;
	event->attr.type = f->type;
	give_cgroup(event, f->how->css);
	if (f->how->leader && !tally_mutant(trick_of(f)))
		event->group_leader = f->how->leader;
	return -ENOENT;
}

static const struct pmu unregistered = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_invalid_context,
	.event_init = forward,
};

/* Guards @registered. */
static DEFINE_MUTEX(register_lock);
static bool registered;

/* Registers the PMU for the first event. Until then sysfs does not show it. */
static int register_forwarder(void)
{
	int err = 0;

	mutex_lock(&register_lock);
	if (!registered) {
		/* A call that failed has left pointers to memory that perf has freed. */
		forwarder = unregistered;
		err = perf_pmu_register(&forwarder, "tally", -1);
	}
	registered |= !err;
	mutex_unlock(&register_lock);
	return err;
}

/**
 * tally_forward - create an event of perf with a cgroup, or in a group
 * @attr: attributes; this function changes its copy
 * @cpu: as for perf_event_create_kernel_counter()
 * @how: the cgroup and the leader
 * @handler: perf's callback for overflows, or NULL
 * @context: argument for @handler in perf's event
 *
 * Context: Process context, may sleep.
 * Return: the event; the error of perf_pmu_register() or perf_event_create_kernel_counter().
 */
struct perf_event *tally_forward(struct perf_event_attr attr, int cpu,
				 const struct tally_forward *how,
				 perf_overflow_handler_t handler, void *context)
{
	struct forwarding f = { .task = current, .how = how, .type = attr.type };
	struct perf_event *event;
	int err = register_forwarder();

	if (err)
		return ERR_PTR(err);
	/* The bits above the mask name the PMU. perf does not take them off a forwarded event. */
	if (attr.type == PERF_TYPE_HARDWARE || attr.type == PERF_TYPE_HW_CACHE)
		attr.config &= PERF_HW_EVENT_MASK;
	attr.type = forwarder.type;
	spin_lock(&forwardings_lock);
	list_add(&f.node, &forwardings);
	spin_unlock(&forwardings_lock);
	event = perf_event_create_kernel_counter(&attr, cpu, how->task, handler, context);
	spin_lock(&forwardings_lock);
	list_del(&f.node);
	spin_unlock(&forwardings_lock);
	return event;
}

/* Called when no events are left. */
void tally_forward_exit(void)
{
	if (registered)
		perf_pmu_unregister(&forwarder);
}
