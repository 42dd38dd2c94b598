// SPDX-License-Identifier: GPL-2.0
/*
 * is_user_task(): 6.19, and late 6.12 and other stable kernels. perf asks it
 * whether a task has a user space.
 */
#include <linux/sched.h>
#include "probes/try.h"

PROBE_NAME(is_user_task, wake_up_process, no_such_function);
