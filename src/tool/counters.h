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
 * @parts:	what counters_read() has read of each file on each CPU, at the CPU's place from
 *		@files' place times @nr_cpus on; the first one is for a sum
 * @nr_cpus:	the highest number of a CPU, plus 1
 * @errors:	for each event why a place does not have it, while they are opened
 * @delayed:	a command does not enable its own events, either
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
 * Opens all events, disabled; those of a command in that child. An event that this machine
 * cannot count gets an error, and the others go on. Exits for what the caller may not count.
 */
void counters_open(struct counters *counters, struct child *child);
/* Makes room for the parts; with all, of each CPU. */
void counters_begin(struct counters *counters, bool all);
/* Enables or disables all events that no command enables. */
void counters_enable(const struct counters *counters, bool on);
/*
 * Reads all events: fills in the totals of the rows, since the last call or the opening; of a gauge
 * the value now. Each CPU
 * has a share of its PMU of its own, so its count is estimated by that, and not by all CPUs'.
 */
void counters_read(struct counters *counters);
/* Returns whether a file's task has exited, its cgroup is removed, or its event was released. */
bool has_exited(int file);
/* The same of all files. */
bool counters_exited(const struct counters *counters);
/* Returns what opening a member returned: as perf's, ESRCH if the task of its leader has exited. */
int result_of_member(int got, int leader);
/* Returns what the kernel probe of a file has missed; 0 if there is none, or it is not known. */
__u64 missed_by(int device, int file);
/* Adds what the kernel probes of the files have missed to that of the events. */
void counters_add_missed(const struct counters *counters);
/* Says which events have missed hits. */
void counters_say_missed(const struct counters *counters);
void counters_close(struct counters *counters);

/* Adds a total of another time. */
void total_add(struct total *sum, const struct total *total);

#endif /* TALLY_TOOL_COUNTERS_H */
