// SPDX-License-Identifier: GPL-2.0
/* task_is_runnable(), false for a task on the runqueue that sleeps: 6.12 (cd9626e9ebc7). */
#include <linux/sched.h>
#include "probes/try.h"

PROBE_NAME(task_is_runnable, wake_up_process, no_such_function);
