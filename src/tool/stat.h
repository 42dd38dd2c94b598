/* SPDX-License-Identifier: GPL-2.0 */
/* tally stat: how it counts, and how it prints. */
#ifndef TALLY_TOOL_STAT_H
#define TALLY_TOOL_STAT_H

#include "counters.h"

/**
 * struct stat_options - options of `tally stat`
 * @interval_ms:	-I; 0 without
 * @repeat:		-r; 1 without
 * @separator:		-x; NULL without
 * @json:		--json
 * @file:		where it prints
 * @what:		what is counted, for the heading
 */
struct stat_options {
	long interval_ms;
	long repeat;
	const char *separator;
	bool json;
	FILE *file;
	char *what;
};

/**
 * struct stat_runs - sums over the runs of -r, of event e in row r: [r * events->nr + e]
 * @sum:	sum of the scaled counts
 * @squares:	sum of their squares
 * @counted:	number of runs in which the event counted
 * @totals:	sums of the totals
 */
struct stat_runs {
	double *sum;
	double *squares;
	long *counted;
	struct total *totals;
	double elapsed, elapsed_squares;
	long nr;
};

/**
 * struct stat_print - what is printed
 * @totals:	count of event e in row r of the interval, or sum of all runs: [r * events->nr + e]
 * @runs:	runs of -r; NULL without
 * @at:		seconds since the beginning, with -I
 * @elapsed:	seconds of this interval, or of an average run
 * @user:	seconds of the command in user space; below 0 without a command
 * @sys:	seconds of the command in the kernel
 */
struct stat_print {
	const struct counters *counters;
	const struct stat_options *options;
	const struct total *totals;
	const struct stat_runs *runs;
	double at;
	double elapsed;
	double user, sys;
};

void stat_print_heading(const struct stat_print *p);
void stat_print_counts(const struct stat_print *p);
void stat_print_end(const struct stat_print *p);

#endif /* TALLY_TOOL_STAT_H */
