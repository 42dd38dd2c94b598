/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that the programs for measuring share. */
#ifndef BENCH_H
#define BENCH_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

static inline unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

#endif /* BENCH_H */
