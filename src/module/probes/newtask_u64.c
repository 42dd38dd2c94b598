// SPDX-License-Identifier: GPL-2.0
/* The argument clone_flags of the tracepoint task_newtask is a u64: 6.18. */
#include <trace/events/sched.h>
#include <trace/events/task.h>
#include "probes/try.h"

static void with_task(void *data, struct task_struct *task) { }
static void with_flags(void *data, struct task_struct *task, u64 clone_flags) { }

PROBE void probe(void)
{
	TRY(check_trace_callback_type_task_newtask(with_flags),
	    check_trace_callback_type_sched_process_free(with_task),
	    check_trace_callback_type_sched_process_free(with_flags));
}
