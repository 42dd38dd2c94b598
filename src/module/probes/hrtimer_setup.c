// SPDX-License-Identifier: GPL-2.0
/* hrtimer_setup(): 6.13 (908a1d775422); hrtimer_init() is gone since 6.15. */
#include <linux/hrtimer.h>
#include "probes/try.h"

PROBE_NAME(hrtimer_setup, hrtimer_cancel, no_such_function);
