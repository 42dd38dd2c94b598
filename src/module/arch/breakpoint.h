/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_BREAKPOINT_H
#define TALLY_BREAKPOINT_H

#include <linux/kconfig.h>
#include <linux/types.h>

/* x86 cannot watch reads without writes. */
static inline bool tally_breakpoint_can_read(void)
{
	return !IS_ENABLED(CONFIG_X86);
}

/*
 * Elsewhere the arch code steps over a breakpoint only for perf's own handler: with
 * another one the CPU would run into it for ever.
 */
static inline bool tally_breakpoint_can_overflow(void)
{
	return IS_ENABLED(CONFIG_X86);
}

#endif /* TALLY_BREAKPOINT_H */
