// SPDX-License-Identifier: GPL-2.0
/* pmu::scope: 6.12 (4ba4f1afb6a9). */
#include <linux/perf_event.h>
#include "probes/try.h"

PROBE_MEMBER(struct pmu, scope, task_ctx_nr, no_such_member);
