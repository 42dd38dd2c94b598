// SPDX-License-Identifier: GPL-2.0
/* perf_sample_data::br_stack_cntr: 6.8 (571d91dcadfa). */
#include <linux/perf_event.h>
#include "probes/try.h"

PROBE_MEMBER(struct perf_sample_data, br_stack_cntr, br_stack, no_such_member);
