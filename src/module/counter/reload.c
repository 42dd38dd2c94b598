// SPDX-License-Identifier: GPL-2.0
/*
 * A new period of perf's event on the CPU that it counts on, in hard interrupt.
 *
 * perf_event_period() sleeps, and interrupts the CPU of the event. There it does what this
 * does: it stops the event, clears what is left of the period, and starts the event. All that
 * perf does with an event that is on the PMU is done on the CPU of that, with interrupts
 * disabled, so hard interrupts of this CPU see the event at rest.
 */
#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include "base/pmu.h"
#include "compat.h"
#include "counter/reload.h"

/* Whether the event overflows when perf's own counter of it passes zero, and no PMU does. */
static bool is_software(const struct perf_event *event)
{
	return event->pmu->task_ctx_nr == perf_sw_context && !tally_attr_is_clock(&event->attr);
}

/* perf's overflow of a clock is what was interrupted, or calls this: perf would wait for it. */
static bool is_in_clock(struct perf_event *event)
{
	return tally_attr_is_clock(&event->attr) && hrtimer_callback_running(&event->hw.hrtimer);
}

/**
 * tally_reload_here - begin a new period of perf's event at once
 * @event: the event; NULL is none
 * @period: the new period; 0 for the same as before
 *
 * An event that perf has throttled, or whose PMU is disabled here, is left alone.
 *
 * Context: Hard interrupt, not NMI, with interrupts disabled.
 * Return: whether the event is on the PMU of this CPU, and has a new period.
 */
bool tally_reload_here(struct perf_event *event, u64 period)
{
	struct hw_perf_event *hwc;

	if (!event || READ_ONCE(event->oncpu) != smp_processor_id() ||
	    READ_ONCE(event->state) != PERF_EVENT_STATE_ACTIVE || tally_pmu_throttled(event) ||
	    tally_pmu_disabled_here(event->pmu) || is_in_clock(event))
		return false;
	hwc = &event->hw;
	if (period) {
		event->attr.sample_period = period;
		hwc->sample_period = period;
	}
	if (is_software(event)) {
		hwc->last_period = hwc->sample_period;
		local64_set(&hwc->period_left, -(s64)hwc->sample_period);
		return true;
	}
	event->pmu->stop(event, PERF_EF_UPDATE);
	local64_set(&hwc->period_left, 0);
	event->pmu->start(event, PERF_EF_RELOAD);
	return true;
}
