// SPDX-License-Identifier: GPL-2.0
/* The argument group_dead of the tracepoint sched_process_exit: 6.16. */
#include <trace/events/sched.h>
#include "probes/try.h"

static void with_task(void *data, struct task_struct *task) { }
static void with_dead(void *data, struct task_struct *task, bool group_dead) { }

PROBE void probe(void)
{
	TRY(check_trace_callback_type_sched_process_exit(with_dead),
	    check_trace_callback_type_sched_process_free(with_task),
	    check_trace_callback_type_sched_process_free(with_dead));
}
