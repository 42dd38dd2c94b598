// SPDX-License-Identifier: GPL-2.0
/*
 * What holds the PMU when an event cannot count: an exclusive event, with which no other one
 * is on the PMU, or events that are pinned to it, as that of the NMI watchdog.
 *
 * perf has a list of the events of each CPU and task. An event of tally has a
 * name, an event of a program has an owner, and any other one has the function
 * of the kernel that its overflows call. Events that take turns are not named,
 * nor are those of other tasks, which hold the PMU while these run. What
 * firmware, a hypervisor or the reservation of a driver holds is in no list,
 * and is not known.
 */
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "life/life.h"
#include "builder/builder.h"
#include "counter/counter.h"
#include "counter/slot.h"
#include "event/event.h"
#include "event/registry.h"

/* perf's mark for events of the kernel. */
#define OWNER_KERNEL ((void *)-1L)

/**
 * struct holder - what holds the PMU on a CPU
 * @mine: perf's event that cannot count
 * @pmu: its PMU
 * @cpu: the CPU
 * @nr: number of events that hold the PMU there
 * @exclusive: one of them is exclusive
 * @watchdog: one of them is that of the NMI watchdog, which kernel.nmi_watchdog ends
 * @who: the exclusive event, or that of the watchdog, or a pinned one; empty if there is none
 */
struct holder {
	const struct perf_event *mine;
	const struct pmu *pmu;
	int cpu;
	unsigned int nr;
	bool exclusive;
	bool watchdog;
	char who[TALLY_NAME_LEN + 8];
};

static bool holds(const struct holder *h, const struct perf_event *event)
{
	return event != h->mine && event->pmu == h->pmu &&
	       READ_ONCE(event->oncpu) == h->cpu &&
	       (event->attr.exclusive || event->attr.pinned);
}

static bool is_watchdog(const struct perf_event *event)
{
	char function[48];

	snprintf(function, sizeof(function), "%ps", event->overflow_handler);
	return event->owner == OWNER_KERNEL &&
	       str_has_prefix(function, "watchdog_overflow_callback");
}

/*
 * Names an event as perf knows it. perf clears the owner when that exits. A
 * process chooses its name, which may reach a terminal: it is escaped.
 */
static void name(struct holder *h, const struct perf_event *event)
{
	struct task_struct *owner = READ_ONCE(event->owner);
	char function[48];

	if (!owner) {
		strscpy(h->who, "a program that has exited", sizeof(h->who));
		return;
	}
	if (owner != OWNER_KERNEL) {
		snprintf(h->who, sizeof(h->who), "%*pE[%d]",
			 (int)strnlen(owner->comm, sizeof(owner->comm)), owner->comm, owner->pid);
		return;
	}
	snprintf(function, sizeof(function), "%ps", event->overflow_handler);
	if (is_watchdog(event))
		strscpy(h->who, "the NMI watchdog", sizeof(h->who));
	else if (str_has_prefix(function, "perf_event_output") || !IS_ENABLED(CONFIG_KALLSYMS))
		strscpy(h->who, "the kernel", sizeof(h->who));
	else
		snprintf(h->who, sizeof(h->who), "function %s", function);
}

/* Looks at all events of a CPU or of a task. */
static void check_all(struct holder *h, struct perf_event_context *ctx)
{
	struct perf_event *event;

	mutex_lock(&ctx->mutex);
	/* A task that exits has given up its events a grace period before it is freed. */
	rcu_read_lock();
	list_for_each_entry(event, &ctx->event_list, event_entry) {
		if (!holds(h, event))
			continue;
		if (!h->nr++ || (event->attr.exclusive && !h->exclusive) ||
		    (is_watchdog(event) && !h->exclusive))
			name(h, event);
		h->exclusive |= event->attr.exclusive;
		h->watchdog |= is_watchdog(event);
	}
	rcu_read_unlock();
	mutex_unlock(&ctx->mutex);
}

/* Looks at the events of the CPU: perf's list of them is found by an event of that CPU only. */
static void check_cpu(struct holder *h)
{
	struct perf_event_attr attr = {
		.type = h->mine->attr.type,
		.size = sizeof(attr),
		.config = h->mine->attr.config,
		.config1 = h->mine->attr.config1,
		.config2 = h->mine->attr.config2,
		.disabled = 1,
	};
	struct perf_event *there;

	there = perf_event_create_kernel_counter(&attr, h->cpu, NULL, NULL, NULL);
	if (IS_ERR(there))
		return;
	check_all(h, there->ctx);
	perf_event_release_kernel(there);
}

/* Looks at the first CPU on which the event does not count. */
static void check_perf(struct holder *h, const struct tally_counter *c)
{
	const struct task_struct *task = c->target.task;
	enum tally_state state;
	unsigned int i;

	for (i = 0; i < c->nr_slots && !h->mine; i++) {
		state = tally_counter_state(c, i);
		if (state == TALLY_STATE_INACTIVE || state == TALLY_STATE_ERROR)
			h->mine = c->slots[i].event;
	}
	if (!h->mine)
		return;
	h->pmu = h->mine->pmu;
	h->cpu = task ? task_cpu(task) : tally_slot_cpu(c, &c->slots[i - 1]);
	check_all(h, h->mine->ctx);
	if (task)
		check_cpu(h);
}

static void check_event(struct holder *h, const struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	struct perf_event *event;

	/* The counter of somebody else's task may stay locked for any time. */
	if (!tally_counter_lock_now(c))
		return;
	event = tally_slot_here(&c->slots[h->cpu & c->slot_mask], h->cpu);
	if (event && holds(h, event))
		snprintf(h->who, sizeof(h->who), "event %s", ev->name);
	tally_counter_unlock(c);
}

/* Names one of tally's events rather than another one of the same kind. */
static void check_ours(struct holder *h)
{
	struct tally_event *ev;
	u64 id = 0;

	while ((ev = tally_registry_hold(id))) {
		id = ev->id + 1;
		if (ev->attr.exclusive ||
		    (ev->attr.pinned && !h->exclusive && !h->watchdog))
			check_event(h, ev);
		tally_registry_put(ev);
	}
}

/**
 * tally_build_busy - record that an event cannot count, and what holds its PMU
 * @b: builder of the event
 * @ev: the event, which is enabled
 *
 * The names of others are for those who may see them.
 *
 * Context: Process context, may sleep; not under tally_counter::lock.
 * Return: EBUSY, or the builder's first error.
 */
int tally_build_busy(struct tally_builder *b, struct tally_event *ev)
{
	bool may_know = !(b->flags & TALLY_BUILDER_FILE) || tally_perfmon_capable();
	struct holder h = { };

	if (b->err || !may_know)
		return tally_builder_failed(b, -EBUSY, -1);
	tally_counter_lock(ev->counter);
	check_perf(&h, ev->counter);
	tally_counter_unlock(ev->counter);
	if (h.nr)
		check_ours(&h);
	else if (ev->attr.exclusive)
		return tally_bad(b, -EBUSY,
				 "the PMU is taken, and an exclusive event shares it with pinned ones only");
	else
		return tally_builder_failed(b, -EBUSY, -1);
	if (h.exclusive || h.nr < 2)
		return tally_bad(b, -EBUSY, "the PMU is taken; %s on cpu %d: %s",
				 h.exclusive ? "exclusive" : "pinned", h.cpu, h.who);
	return tally_bad(b, -EBUSY, "the PMU is taken; pinned on cpu %d: %s, and %u more", h.cpu,
			 h.who, h.nr - 1);
}
