// SPDX-License-Identifier: GPL-2.0
/*
 * perf_paranoid_any(), in the kernels of Debian and others: from level 3 of
 * kernel.perf_event_paranoid on, perf_event_open() needs CAP_SYS_ADMIN.
 */
#include <linux/perf_event.h>
#include "probes/try.h"

PROBE_NAME(perf_paranoid_any, perf_event_release_kernel, no_such_function);
