// SPDX-License-Identifier: GPL-2.0
/* tally: counters that live in the kernel. */
#include <linux/module.h>

MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("In-kernel performance counters with debugfs and a kernel API");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
