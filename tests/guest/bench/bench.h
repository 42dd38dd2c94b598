/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that the programs for measuring share. */
#ifndef BENCH_H
#define BENCH_H

#include <stdarg.h>
#include "either.h"

/* Call chains have the same length each time only if all functions have frames. */
#define FRAMED __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))
#define FRAMES	8

static inline void die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	exit(1);
}

#endif /* BENCH_H */
