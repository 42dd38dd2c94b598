// SPDX-License-Identifier: GPL-2.0
/*
 * perf_paranoid_any(), in the kernels of Debian and others: at level 3 of
 * kernel.perf_event_paranoid, perf_event_open() takes CAP_SYS_ADMIN.
 */
#include <linux/perf_event.h>
#include "probes/try.h"

PROBE void *probe(void)
{
	return TRY(perf_paranoid_any, perf_event_release_kernel, no_such_function);
}
