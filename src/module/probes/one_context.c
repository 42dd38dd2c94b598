// SPDX-License-Identifier: GPL-2.0
/* A task has one context for the events of all PMUs: 6.2 (bd27568117664). */
#include <linux/perf_event.h>
#include <linux/sched.h>
#include "probes/try.h"

PROBE int probe(struct task_struct *task, struct perf_event_context *ctx)
{
	return TRY(task->perf_event_ctxp->nr_events, ctx->nr_events, ctx->no_such_member);
}
