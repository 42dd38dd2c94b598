// SPDX-License-Identifier: GPL-2.0
/* FILTER_STACKTRACE, a type of fields in filters of trace events: 6.3. */
#include <linux/trace_events.h>
#include "probes/try.h"

PROBE_NAME(FILTER_STACKTRACE, FILTER_OTHER, NO_SUCH_VALUE);
