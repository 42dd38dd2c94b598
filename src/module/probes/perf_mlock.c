// SPDX-License-Identifier: GPL-2.0
/*
 * user_struct::perf_mlock: 7.3, and 6.12.115 and 6.1.192 of Debian. Before,
 * perf charged its rings to user_struct::locked_vm.
 */
#include <linux/sched/user.h>
#include "probes/try.h"

PROBE_MEMBER(struct user_struct, perf_mlock, uid, no_such_member);
