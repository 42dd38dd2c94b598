// SPDX-License-Identifier: GPL-2.0
/*
 * A new period of perf's event on its own CPU, in hard interrupt.
 *
 * perf_event_period() sleeps, and interrupts the CPU of the event. There it does what this
 * does: it disables the PMU, stops the event, clears what is left of the period, starts the
 * event, and enables the PMU. Drivers write registers when the PMU is enabled only, so none of
 * these steps can be left out. All that perf does with an event of a CPU is done on that CPU,
 * with interrupts disabled, so hard interrupts of this CPU see the event at rest.
 */
#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include "base/pmu.h"
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

/* The event overflows when perf's own counter of it passes zero, and no PMU does. */
static int reload_software(struct perf_event *event, u64 period)
{
	struct hw_perf_event *hwc = &event->hw;

	set_period(event, period);
	hwc->last_period = hwc->sample_period;
	local64_set(&hwc->period_left, -(s64)hwc->sample_period);
	return 0;
}

static int reload_hardware(struct perf_event *event, u64 period)
{
	bool throttled;

	tally_pmu_disable_here(event->pmu);
	/*
	 * No interrupt of the PMU throttles the event from here on. If one has, perf starts it
	 * again, and warns if it finds it started.
	 */
	throttled = tally_pmu_throttled(event);
	if (!throttled) {
		set_period(event, period);
		event->pmu->stop(event, PERF_EF_UPDATE);
		local64_set(&event->hw.period_left, 0);
		event->pmu->start(event, PERF_EF_RELOAD);
	}
	tally_pmu_enable_here(event->pmu);
	return throttled ? -EAGAIN : 0;
}

/* The event is on the PMU of this CPU. */
static int reload_counting(const struct tally_counter *c, const struct tally_slot *s,
			   struct perf_event *event, u64 period)
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
		return reload_software(event, period);
	return reload_hardware(event, period);
}

/**
 * tally_reload_here - begin a new period of a counter's event at once
 * @c: the counter
 * @cpu: this CPU
 * @period: the new period; 0 for the same as before
 *
 * The event of a CPU that is disabled, or not on the PMU now, begins a period of the same length
 * when perf puts it there. An event whose PMU is disabled here is left alone, and so is one that
 * perf has throttled, unless it is a software event, which goes on counting.
 *
 * Context: Hard interrupt, not NMI, with interrupts disabled.
 * Return: 0 if the event is on the PMU of this CPU, and has a new period; 1 if it begins one of the
 * same length later; EINVAL if the PMU refuses the period; EAGAIN in all other cases.
 */
int tally_reload_here(struct tally_counter *c, int cpu, u64 period)
{
	struct tally_slot *s = &c->slots[cpu & c->slot_mask];
	struct perf_event *event = tally_slot_here(s, cpu);

	if (!event)
		return -EAGAIN;
	if (READ_ONCE(event->oncpu) == cpu && READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE)
		return reload_counting(c, s, event, period);
	/* Any CPU may be changing the event of a task. */
	if (period || c->target.task || READ_ONCE(event->cpu) != cpu)
		return -EAGAIN;
	/* As perf_event_period(). */
	local64_set(&event->hw.period_left, 0);
	return 1;
}
