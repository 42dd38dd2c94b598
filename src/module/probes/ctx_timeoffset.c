// SPDX-License-Identifier: GPL-2.0
/*
 * perf_event_context::timeoffset: until 7.1; from 7.2 on in
 * perf_event_context::time, beside perf_event_context::timeguest.
 */
#include <linux/perf_event.h>
#include "probes/try.h"

PROBE_MEMBER(struct perf_event_context, timeoffset, nr_events, no_such_member);
