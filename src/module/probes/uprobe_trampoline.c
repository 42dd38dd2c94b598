// SPDX-License-Identifier: GPL-2.0
/*
 * uprobe_get_trampoline_vaddr(): 6.11 (ff474a78cef5). Since the same release, perf writes
 * the true return address where a uretprobe has replaced it (4a365eb8a6d9).
 */
#include <linux/uprobes.h>
#include "probes/try.h"

PROBE_NAME(uprobe_get_trampoline_vaddr, uprobe_munmap, no_such_function);
