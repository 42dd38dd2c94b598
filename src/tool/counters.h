/* SPDX-License-Identifier: GPL-2.0 */
/* The files of the events of a command line at all their places, and the counts of these. */
#ifndef TALLY_TOOL_COUNTERS_H
#define TALLY_TOOL_COUNTERS_H

#include <stdbool.h>
#include "events.h"
#include "target.h"

/**
 * struct total - count of an event in a row of the output
 * @value:	count
 * @enabled:	nanoseconds the event was enabled
 * @running:	nanoseconds the event counted
 * @known:	a part was read
 * @failed:	a part is in the error state, and the value no count
 */
struct total {
	__u64 value, enabled, running;
	bool known, failed;
};

/**
 * struct row - a part of the output: all together, a CPU or a cgroup
 * @cpu:	CPU; -1 for all
 * @cgroup:	cgroup; NULL for none
 * @totals:	one for each event
 * @ratios:	for each group 1 if its counts are of one window
 */
struct row {
	int cpu;
	const char *cgroup;
	struct total *totals;
	int *ratios;
};

/**
 * struct counters - events that are counted
 * @events:	the events
 * @targets:	where they count
 * @nr_places:	number of places; 1 for a command alone
 * @files:	file of event e at place p: [p * events->nr + e]; -1 without one
 * @errors:	for each event why a place does not have it, while they are opened
 * @inherit:	children of a task are counted, too
 * @per_cpu:	the output has a row for each CPU
 * @rows:	the rows
 */
struct counters {
	struct wanted_list *events;
	struct targets *targets;
	int device;
	int nr_places;
	int *files;
	int *errors;
	bool inherit;
	bool per_cpu;
	struct row *rows;
	int nr_rows;
};

/*
 * Opens all events, disabled; those of a command in that child. An event that this machine
 * cannot count gets an error, and the others go on. Exits for what the caller may not count.
 */
void counters_open(struct counters *counters, struct child *child);
/* Enables or disables all events that no command enables. */
void counters_enable(const struct counters *counters, bool on);
/* Reads all events: fills in the totals of the rows, which begin with the opening. */
void counters_read(struct counters *counters);
/* Returns whether all tasks have exited, or their events were released. */
bool counters_exited(const struct counters *counters);
void counters_close(struct counters *counters);

/* Subtracts an earlier total. */
struct total total_since(const struct total *now, const struct total *before);
/* Returns the count, estimated for all the time enabled. */
double total_scaled(const struct total *total);

#endif /* TALLY_TOOL_COUNTERS_H */
