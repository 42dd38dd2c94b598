// SPDX-License-Identifier: GPL-2.0
/* pmu::pmu_disable_count: in cpu_pmu_context from 6.15 on (4baeb0687abf). */
#include <linux/perf_event.h>
#include "probes/try.h"

PROBE_MEMBER(struct pmu, pmu_disable_count, task_ctx_nr, no_such_member);
