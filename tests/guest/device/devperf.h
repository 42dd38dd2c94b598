/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers for programs that compare the results of calls on files of perf and of tally. */
#ifndef DEVPERF_H
#define DEVPERF_H

#include "devtest.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))
#define LENGTH(n)	((n) * page_size)
#define FAULTS		PAGE_FAULTS

static inline const char *name_of(long result)
{
	static char text[2][32];
	static int turn;

	if (result < 0)
		return strerrorname_np(-result) ?: "?";
	turn ^= 1;
	snprintf(text[turn], sizeof(text[turn]), "%ld", result);
	return text[turn];
}

/* A pid that no task has. */
#define NOBODYS_PID	0x3ffffffe

#endif /* DEVPERF_H */
