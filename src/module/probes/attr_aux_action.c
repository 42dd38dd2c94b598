// SPDX-License-Identifier: GPL-2.0
/* perf_event_attr::aux_action: 6.13 (18d92bb57c39), and 6.12.y. */
#include <linux/perf_event.h>
#include "probes/try.h"

PROBE_MEMBER(struct perf_event_attr, aux_action, config2, no_such_member);
