// SPDX-License-Identifier: GPL-2.0
/*
 * uprobe_task::auprobe: 6.12 (cfa7f3d2c526), and older stable kernels. perf
 * then takes care of uprobes at the entry of a function.
 */
#include <linux/uprobes.h>
#include "probes/try.h"

PROBE_MEMBER(struct uprobe_task, auprobe, active_uprobe, no_such_member);
