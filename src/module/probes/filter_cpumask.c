// SPDX-License-Identifier: GPL-2.0
/* FILTER_CPUMASK, a type of fields in filters of trace events: since 6.6. */
#include <linux/trace_events.h>
#include "probes/try.h"

PROBE_NAME(FILTER_CPUMASK, FILTER_OTHER, NO_SUCH_VALUE);
