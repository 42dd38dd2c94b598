// SPDX-License-Identifier: GPL-2.0
/*
 * Proofs of the tricks that reads and changes of slots use; see base/trick.c.
 * Each compares with what perf's own functions return for the same event.
 */
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "base/pmu.h"
#include "base/trick.h"
#include "counter/counter.h"
#include "counter/slot.h"

/**
 * struct glance - times of an event as a local read finds them
 * @event: the event
 * @t: receives the times
 * @here: the event is counting on this CPU
 */
struct glance {
	struct perf_event *event;
	struct tally_totals t;
	bool here;
};

/* Called on the event's CPU, with interrupts disabled. */
static void glance_here(void *data)
{
	struct glance *g = data;
	const struct tally_slot s = { .event = g->event };

	g->here = READ_ONCE(g->event->oncpu) == smp_processor_id();
	if (g->here)
		tally_local_times(&s, g->event, local_clock(), &g->t);
}

/* Looks at the times on @cpu; on this CPU if @cpu is -1, for an event of the current task. */
static void glance(struct glance *g, int cpu)
{
	if (cpu >= 0) {
		smp_call_function_single(cpu, glance_here, g, true);
		return;
	}
	local_irq_disable();
	glance_here(g);
	local_irq_enable();
}

/**
 * tally_times_compare - compare the times that local reads find with those that perf returns
 * @event: the event, which is enabled
 * @cpu: CPU of the event; -1 for one of the current task
 *
 * Context: Process context, may sleep.
 * Return: 0 if perf's times lie between those of a read before and of one
 * after; 1 if not; EAGAIN if the event was not counting.
 */
int tally_times_compare(struct perf_event *event, int cpu)
{
	struct glance before = { .event = event }, after = { .event = event };
	struct tally_totals t;

	glance(&before, cpu);
	t = tally_perf_totals(event);
	glance(&after, cpu);
	if (!before.here || !after.here)
		return -EAGAIN;
	return before.t.enabled > t.enabled || t.enabled > after.t.enabled ||
	       before.t.running > t.running || t.running > after.t.running;
}

static int prove_times_on(int cpu)
{
	struct perf_event *event = tally_trick_event(PERF_COUNT_SW_CPU_CLOCK, 0, cpu);
	int ret;

	/* The CPU may go offline. */
	if (IS_ERR(event))
		return event == ERR_PTR(-ENODEV) ? -EAGAIN : PTR_ERR(event);
	ret = tally_times_compare(event, cpu);
	perf_event_release_kernel(event);
	return ret;
}

/* perf may refuse an event of a CPU to the caller, who then cannot make one either. */
static int prove_times(void *data)
{
	int ret = prove_times_on(raw_smp_processor_id());

	return ret && ret != -EACCES ? ret : prove_times_on(-1);
}

/* Returns 0 if local reads find the times of events; or as tally_trick_try(). */
int tally_times_work(void)
{
	return tally_trick_try(TALLY_TRICK_TIMES, prove_times, NULL);
}

static int prove_task_clock(void *data)
{
	struct perf_event *event = tally_trick_event(PERF_COUNT_SW_TASK_CLOCK, 0, -1);
	u64 first = 0, second = 0, third = 0;
	bool here;

	if (IS_ERR(event))
		return PTR_ERR(event);
	local_irq_disable();
	here = READ_ONCE(event->oncpu) == smp_processor_id();
	if (here) {
		event->pmu->read(event);
		first = local64_read(&event->count);
		tally_read_task_clock(event);
		second = local64_read(&event->count);
		event->pmu->read(event);
		third = local64_read(&event->count);
	}
	local_irq_enable();
	perf_event_release_kernel(event);
	if (!here)
		return -EAGAIN;
	return first > second || second > third;
}

/* Returns 0 if tally_read_task_clock() may be used; or as tally_trick_try(). */
int tally_task_clock_works(void)
{
	return tally_trick_try(TALLY_TRICK_TASK_CLOCK, prove_task_clock, NULL);
}

/* Moves the totals of one clock to another. Returns 0 if perf then reads these, and goes on. */
static int compare_hand_over(struct perf_event *old, struct perf_event *event)
{
	struct tally_totals given, taken, later;

	perf_event_disable(old);
	perf_event_disable(event);
	given = tally_perf_totals(old);
	tally_slot_hand_over(event, &given);
	taken = tally_perf_totals(event);
	perf_event_enable(event);
	later = tally_perf_totals(event);
	return memcmp(&given, &taken, sizeof(given)) || later.value < given.value ||
	       later.enabled < given.enabled || later.running < given.running;
}

static int prove_hand_over(void *data)
{
	struct perf_event *old = tally_trick_event(PERF_COUNT_SW_CPU_CLOCK, 0, -1), *event;
	int ret;

	if (IS_ERR(old))
		return PTR_ERR(old);
	event = tally_trick_event(PERF_COUNT_SW_CPU_CLOCK, 0, -1);
	ret = PTR_ERR_OR_ZERO(event);
	if (!ret) {
		ret = compare_hand_over(old, event);
		perf_event_release_kernel(event);
	}
	perf_event_release_kernel(old);
	return ret;
}

/* Returns 0 if an event can be given the totals of another; or as tally_trick_try(). */
int tally_hand_over_works(void)
{
	return tally_trick_try(TALLY_TRICK_HAND_OVER, prove_hand_over, NULL);
}
