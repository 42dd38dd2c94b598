/* SPDX-License-Identifier: GPL-2.0 */
/* The files of the events of a command line at all their places, and the counts of these. */
#ifndef TALLY_TOOL_COUNTERS_H
#define TALLY_TOOL_COUNTERS_H

#include <stdbool.h>
#include "parse.h"
#include "target.h"

/**
 * struct total - count of an event in a row of the output
 * @value:	count
 * @enabled:	nanoseconds the event was enabled
 * @running:	nanoseconds the event counted
 * @scaled:	the count, estimated for all the time enabled: the sum of the parts' estimates
 * @rough:	nanoseconds enabled of parts that have counted for less than a tenth of them
 * @known:	a part was read
 * @failed:	a part is in the error state, and the value no count
 */
struct total {
	__u64 value, enabled, running;
	double scaled;
	__u64 rough;
	bool known, failed;
};

/**
 * struct part - what was read last of an event at a place, on one CPU or in one sum
 */
struct part {
	__u64 value, enabled, running;
};

/**
 * struct row - a part of the output: all together, a CPU or a cgroup
 * @cpu:	CPU; -1 for all
 * @cgroup:	cgroup; NULL for none
 * @shown:	the output has the row; a CPU that is offline at the start gets one when it counts
 * @totals:	one for each event
 * @ratios:	for each group 1 if its counts are of one window
 */
struct row {
	int cpu;
	const char *cgroup;
	bool shown;
	struct total *totals;
	int *ratios;
};

/**
 * struct counters - events that are counted
 * @events:	the events
 * @targets:	where they count
 * @nr_places:	number of places; 1 for a command alone
 * @files:	file of event e at place p: [p * events->nr + e]; -1 without one
 * @parts:	last values of event e at place p on a CPU: [(p * events->nr + e) * nr_cpus + cpu];
 *		a sum over CPUs is at CPU 0's place
 * @nr_cpus:	the highest number of a possible CPU, plus 1; 1 if no file is read by CPU
 * @errors:	for each event the negative errno of a place that lacks it, while files are opened
 * @delayed:	exec() does not enable the events of a command: counters_enable() does
 * @inherit:	children of a task are counted, too
 * @on_cpus:	the only file can be read for each of its CPUs
 * @per_cpu:	the output has a row for each CPU
 * @rows:	the rows
 */
struct counters {
	struct wanted_list *events;
	struct targets *targets;
	int device;
	int nr_places;
	int *files;
	struct part *parts;
	int nr_cpus;
	int *errors;
	bool delayed;
	bool inherit;
	bool on_cpus;
	bool per_cpu;
	struct row *rows;
	int nr_rows;
};

/*
 * Opens all events, disabled. Forks the child of a command, which waits for child_go(); without a
 * target, the child opens the events for itself. An event that this machine cannot count gets an
 * error, and the others go on. Exits for what the caller may not count.
 */
void counters_open(struct counters *counters, struct child *child);
/* Makes room for the last values of each file: one part, or with all, a part for each CPU. */
void counters_begin(struct counters *counters, bool all);
/* Enables or disables all events, but for those that exec() of a command enables. */
void counters_enable(const struct counters *counters, bool on);
/*
 * Reads all events: fills in the totals of the rows, since the last call or the opening; of a gauge
 * the value now. Events share the PMU of each CPU differently, so each CPU's count is scaled by the
 * times of that CPU.
 */
void counters_read(struct counters *counters);
/* Returns whether a file's task has exited, its cgroup is removed, or its event was released. */
bool has_exited(int file);
/* Returns whether has_exited() is true for all files; without a file, returns @none. */
bool counters_exited(const struct counters *counters, bool none);
/* Returns got, the result of opening; as perf, ESRCH for ENODEV if the leader's task has exited. */
int result_of_member(int got, int leader);
/* Returns what the kernel probe of a file has missed; 0 if there is none, or it is not known. */
__u64 missed_by(int device, int file);
/* Notes what the kernel probes of the files have missed before they are counted. */
void counters_begin_missed(const struct counters *counters);
/* Adds the hits that the probes have missed since then, or were made, to wanted::missed. */
void counters_add_missed(const struct counters *counters);
/* Says which events have missed hits. */
void counters_say_missed(const struct counters *counters);
void counters_close(struct counters *counters);

/* Adds a total of another part, row or run to a sum. */
void total_add(struct total *sum, const struct total *total);

#endif /* TALLY_TOOL_COUNTERS_H */
