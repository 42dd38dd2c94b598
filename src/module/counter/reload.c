// SPDX-License-Identifier: GPL-2.0
/*
 * A new period of perf's event on its own CPU, in hard interrupt.
 *
 * perf_event_period() sleeps, and interrupts the CPU of the event. There it
 * does what this does: it disables the PMU, stops the event, clears what is
 * left of the period, starts the event, and enables the PMU. Drivers write
 * registers when the PMU is enabled only, so none of these steps can be left
 * out. All that perf does with an event of a CPU is done on that CPU, with
 * interrupts disabled, so hard interrupts of this CPU see the event at rest.
 */
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "base/pmu.h"
#include "base/trick.h"
#include "compat.h"
#include "counter/counter.h"
#include "counter/slot.h"

static void set_period(struct perf_event *event, u64 period)
{
	if (!period)
		return;
	event->attr.sample_period = period;
	event->hw.sample_period = period;
}

/*
 * No register counts a software event: it overflows when hw.period_left, which
 * perf increments, passes zero. So a new period begins when that is written.
 */
static int reload_software(struct perf_event *event, u64 period, u64 rest)
{
	struct hw_perf_event *hwc = &event->hw;

	set_period(event, period);
	hwc->last_period = hwc->sample_period;
	local64_set(&hwc->period_left,
		    (s64)tally_mutant(TALLY_TRICK_RELOAD) - (s64)(rest ?: hwc->sample_period));
	return 0;
}

static int reload_hardware(struct perf_event *event, u64 period, u64 rest)
{
	int err = -EAGAIN;

	tally_pmu_disable_here(event->pmu);
	/*
	 * If an interrupt of the PMU has throttled the event, perf starts it again, and warns if it
	 * finds it started. A pending overflow may still throttle the event until it is stopped.
	 */
	if (tally_pmu_throttled(event))
		goto out;
	set_period(event, period);
	event->pmu->stop(event, PERF_EF_UPDATE);
	if (tally_pmu_throttled(event))
		goto out;
	local64_set(&event->hw.period_left, rest + tally_mutant(TALLY_TRICK_RELOAD));
	event->pmu->start(event, PERF_EF_RELOAD);
	err = 0;
out:
	tally_pmu_enable_here(event->pmu);
	return err;
}

/* The event is on the PMU of this CPU. */
static int reload_counting(const struct tally_counter *c, const struct tally_slot *s,
			   struct perf_event *event, u64 period, u64 rest)
{
	bool clock = tally_attr_is_clock(&c->attr);

	/* Events for each kind of core have the same period. */
	if (period && s->others)
		return -EAGAIN;
	/* perf's overflow of a clock was interrupted, or calls this: stop() would wait for it. */
	if (tally_pmu_disabled_here(event->pmu) ||
	    (clock && hrtimer_callback_running(&event->hw.hrtimer)))
		return -EAGAIN;
	if (period && event->pmu->check_period(event, period))
		return -EINVAL;
	if (s->software && !clock)
		return reload_software(event, period, rest);
	return reload_hardware(event, period, rest);
}

/**
 * tally_reload_here - begin a new period of a counter's event at once
 * @c: the counter
 * @cpu: this CPU
 * @period: the new period; 0 for the same as before
 * @rest: what is left of the one that begins, but not of those after it; 0 for all of it
 *
 * If a CPU's event is disabled, or not on the PMU now, it begins a period of the same length, or
 * this rest of one, when perf puts it on the PMU. An event whose PMU is disabled here is left
 * alone, and so is one that perf has throttled, unless it is a software event, which goes on
 * counting.
 *
 * Context: Hard interrupt, not NMI, with interrupts disabled.
 * Return: 0 if the event is on the PMU of this CPU, and has a new period; 1 if it begins one later;
 * EINVAL if the PMU refuses the period; EAGAIN in all other cases, and without TALLY_TRICK_RELOAD.
 */
int tally_reload_here(struct tally_counter *c, int cpu, u64 period, u64 rest)
{
	struct tally_slot *s = &c->slots[cpu & c->slot_mask];
	struct perf_event *event = tally_slot_here(s, cpu);

	if (!event || !tally_trick_works(TALLY_TRICK_RELOAD))
		return -EAGAIN;
	if (READ_ONCE(event->oncpu) == cpu && READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE)
		return reload_counting(c, s, event, period, rest);
	/* Any CPU may be changing the event of a task. */
	if (period || c->target.task || READ_ONCE(event->cpu) != cpu)
		return -EAGAIN;
	/* As perf_event_period(); what is left of a software event's period is negative. */
	if (s->software && !tally_attr_is_clock(&c->attr))
		rest = -rest;
	local64_set(&event->hw.period_left, rest);
	return 1;
}

/* ---- the proof ---- */

/* No event of the proof counts as much: 18 minutes for a clock. */
#define PERIOD	BIT_ULL(40)

/* Numbers that an event has when a period begins */
struct begun {
	u64 period, last, left;
};

static void note_period(const struct perf_event *event, struct begun *begun)
{
	begun->period = event->attr.sample_period;
	begun->last = event->hw.last_period;
	begun->left = local64_read(&event->hw.period_left);
}

/* perf begins a period of a software event when it enables the event. */
static int prove_software(void)
{
	struct perf_event *event = tally_trick_event(PERF_COUNT_SW_DUMMY, PERIOD, -1);
	struct begun by_perf, ours;
	int err;

	if (IS_ERR(event))
		return PTR_ERR(event);
	err = perf_event_period(event, 2 * PERIOD);
	perf_event_disable(event);
	perf_event_enable(event);
	local_irq_disable();
	note_period(event, &by_perf);
	reload_software(event, PERIOD, 0);
	reload_software(event, 2 * PERIOD, 0);
	note_period(event, &ours);
	local_irq_enable();
	perf_event_release_kernel(event);
	return err ?: !!memcmp(&by_perf, &ours, sizeof(ours));
}

/* Returns what is left of a clock's period, in nanoseconds; 0 if it does not count on this CPU. */
static s64 remaining(struct perf_event *event)
{
	if (READ_ONCE(event->oncpu) != smp_processor_id())
		return 0;
	return ktime_to_ns(hrtimer_get_remaining(&event->hw.hrtimer));
}

/* The timer of a clock shows when the period ends. */
static int prove_clock(void)
{
	struct perf_event *event = tally_trick_event(PERF_COUNT_SW_CPU_CLOCK, PERIOD, -1);
	s64 by_perf, ours = 0;
	int err;

	if (IS_ERR(event))
		return PTR_ERR(event);
	err = perf_event_period(event, 2 * PERIOD);
	local_irq_disable();
	by_perf = remaining(event);
	if (by_perf) {
		err = err ?: reload_hardware(event, 4 * PERIOD, 0);
		ours = remaining(event);
	}
	local_irq_enable();
	perf_event_release_kernel(event);
	if (err || !by_perf)
		return err ?: -EAGAIN;
	return by_perf > 2 * PERIOD || by_perf < PERIOD || ours > 4 * PERIOD || ours < 3 * PERIOD;
}

static int prove(void *data)
{
	return prove_software() ?: prove_clock();
}

/* Proves that tally_reload_here() works. Returns as tally_trick_try(). */
int tally_reload_works(void)
{
	return tally_trick_try(TALLY_TRICK_RELOAD, prove, NULL);
}
