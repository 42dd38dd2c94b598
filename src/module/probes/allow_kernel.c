// SPDX-License-Identifier: GPL-2.0
/*
 * perf_allow_kernel() without an argument, as a function that modules can call: late 6.12.
 * Before, it was an inline function that calls what is not exported. A function can be
 * defined here if it is declared, and not an inline function of the header.
 */
#include <linux/perf_event.h>
#include "probes/try.h"

int declared(void);
static inline int defined(void)
{
	return 0;
}

#define FUNCTION	TRY(perf_allow_kernel, declared, defined)

PROBE int (*probe)(void) = FUNCTION;

int FUNCTION(void)
{
	return 0;
}
