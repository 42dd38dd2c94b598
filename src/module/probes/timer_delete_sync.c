// SPDX-License-Identifier: GPL-2.0
/* timer_delete_sync(), which was del_timer_sync(): 6.2 (9b13df3fb64e). */
#include <linux/timer.h>
#include "probes/try.h"

PROBE_NAME(timer_delete_sync, mod_timer, no_such_function);
