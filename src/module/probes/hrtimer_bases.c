// SPDX-License-Identifier: GPL-2.0
/* <linux/hrtimer_bases.h>, with hrtimer_callback_running(): 7.3. */
#include "probes/try.h"
#include TRY("linux/hrtimer_bases.h", "linux/hrtimer.h", "linux/no_such_header.h")
