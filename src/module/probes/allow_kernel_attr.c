// SPDX-License-Identifier: GPL-2.0
/* perf_allow_kernel() with an argument, found as in allow_kernel.c: 6.12.95. */
#include <linux/perf_event.h>
#include "probes/try.h"

int declared(struct perf_event_attr *attr);
static inline int defined(struct perf_event_attr *attr)
{
	return 0;
}

#define FUNCTION	TRY(perf_allow_kernel, declared, defined)

PROBE int (*probe)(struct perf_event_attr *attr) = FUNCTION;

int FUNCTION(struct perf_event_attr *attr)
{
	return 0;
}
