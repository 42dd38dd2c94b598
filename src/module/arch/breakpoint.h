/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_BREAKPOINT_H
#define TALLY_BREAKPOINT_H

#include <linux/kconfig.h>
#include <linux/types.h>

/* Kernels without CONFIG_HAVE_HW_BREAKPOINT have no PMU for PERF_TYPE_BREAKPOINT. */
static inline bool tally_breakpoint_exists(void)
{
	return IS_ENABLED(CONFIG_HAVE_HW_BREAKPOINT);
}

/* x86 cannot watch reads without writes. */
static inline bool tally_breakpoint_can_read(void)
{
	return !IS_ENABLED(CONFIG_X86);
}

/*
 * On x86 a breakpoint can overflow into any handler. Other architectures step
 * over the instruction only for perf's own handler: with another one, the CPU
 * would hit the breakpoint again and again.
 */
static inline bool tally_breakpoint_can_overflow(void)
{
	return IS_ENABLED(CONFIG_X86);
}

#endif /* TALLY_BREAKPOINT_H */
