// SPDX-License-Identifier: GPL-2.0
/*
 * The clock of an event's records.
 */
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/time.h>
#include <linux/timekeeping.h>
#include "base/clock.h"

/**
 * tally_clock_of - find the clock of an event's records
 * @attr: attributes of the event
 *
 * Context: Any context.
 * Return: a function that reads the clock, in nanoseconds and in any context;
 * NULL if there is no such clock, or if some context cannot read it.
 */
tally_clock_fn tally_clock_of(const struct perf_event_attr *attr)
{
	if (!attr->use_clockid)
		return local_clock;
	switch (attr->clockid) {
	case CLOCK_MONOTONIC:
		return ktime_get_mono_fast_ns;
	case CLOCK_MONOTONIC_RAW:
		return ktime_get_raw_fast_ns;
	case CLOCK_REALTIME:
		return ktime_get_real_fast_ns;
	case CLOCK_BOOTTIME:
		return ktime_get_boot_fast_ns;
	case CLOCK_TAI:
		return ktime_get_tai_fast_ns;
	default:
		return NULL;
	}
}
