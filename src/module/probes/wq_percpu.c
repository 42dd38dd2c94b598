// SPDX-License-Identifier: GPL-2.0
/*
 * WQ_PERCPU, with system_percpu_wq and system_dfl_wq: 6.17, and late 6.12.
 * Later kernels warn at run time about a queue with neither WQ_PERCPU nor
 * WQ_UNBOUND, and about the old system queues.
 */
#include <linux/workqueue.h>
#include "probes/try.h"

PROBE_NAME(WQ_PERCPU, WQ_UNBOUND, NO_SUCH_VALUE);
