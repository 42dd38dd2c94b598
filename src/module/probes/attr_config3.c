// SPDX-License-Identifier: GPL-2.0
/* perf_event_attr::config3: 6.3 (09519ec3b19e). */
#include <linux/perf_event.h>
#include "probes/try.h"

PROBE_MEMBER(struct perf_event_attr, config3, config2, no_such_member);
