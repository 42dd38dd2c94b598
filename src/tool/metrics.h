/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers that follow from two counts, as perf stat prints them. */
#ifndef TALLY_TOOL_METRICS_H
#define TALLY_TOOL_METRICS_H

#include "counters.h"

/**
 * struct metric - a number behind a count
 * @value:	number
 * @percent:	the number is a percentage
 * @unit:	what it is; empty without a metric
 */
struct metric {
	double value;
	bool percent;
	char unit[40];
};

/*
 * Computes the metric of event e in a row, of which totals are those of the interval. elapsed is
 * the wall-clock time in seconds. There is none if the ratio is not valid: if one of both events
 * had the PMU for a part of the time only, and both are in no set that was there as a whole.
 */
struct metric metric_of(const struct counters *counters, const struct row *row,
			const struct total *totals, int e, double elapsed);

#endif /* TALLY_TOOL_METRICS_H */
