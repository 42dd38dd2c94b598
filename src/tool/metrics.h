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
 * Computes the metric of event e in a row. totals has the totals of the row, of an interval or of
 * all runs, and elapsed their wall-clock time in seconds. There is no metric if the ratio is not
 * valid: one of the two events had the PMU for a part of the time only, and they are in no set that
 * was on the PMU as a whole.
 */
struct metric metric_of(const struct counters *counters, const struct row *row,
			const struct total *totals, int e, double elapsed);

#endif /* TALLY_TOOL_METRICS_H */
