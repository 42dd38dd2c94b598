/* SPDX-License-Identifier: GPL-2.0 */
/* Events as a command line names them. */
#ifndef TALLY_TOOL_PARSE_H
#define TALLY_TOOL_PARSE_H

#include <stdbool.h>
#include <libtally.h>

/**
 * struct wanted - an event of a command line
 * @name:	text as given, with the modifiers of its group
 * @attr:	type, config and modifiers
 * @pfm:	libpfm4 has encoded the name, and always leaves out the hypervisor
 * @group:	number of its group; -1 without one
 * @weak:	the group may be cut before the event, if the PMU has no room for all
 * @leader_samples: the first event of the group samples, with the counts of all its events
 * @has_format:	of a tracepoint: its format is in the data file
 * @error:	negative errno if the event cannot be counted here; else 0
 * @why:	sentence for @error
 * @unit:	unit and scale of the count
 * @missed:	hits that the event's kernel probe has missed; 0 for other events
 * @missed_before: what its probe has missed before the event was counted here
 */
struct wanted {
	char *name;
	struct perf_event_attr attr;
	bool pfm;
	int group;
	bool weak;
	bool leader_samples;
	bool has_format;
	int error;
	char why[LIBTALLY_ERROR_SIZE];
	struct libtally_unit unit;
	__u64 missed, missed_before;
};

struct wanted_list {
	struct wanted *list;
	int nr;
	int nr_groups;
};

/*
 * Adds the events of a text such as "cycles:u,{cs,page-faults},cpu/event=0x3c/". An event that
 * this machine does not have is added with its error. Exits for a text that is no list.
 */
void wanted_add(struct wanted_list *events, int device, const char *text);
/* Returns whether the event is a clock, which counts nanoseconds. */
bool is_clock(const struct perf_event_attr *attr);

/* Adds an event by a name of libpfm4. */
void wanted_add_pfm(struct wanted_list *events, int device, const char *text);
/*
 * Restricts events without modifiers to user space, as perf does, if the caller may not count them
 * in the kernel, not even of this process. Their names get the modifier u. An event that never
 * happens in user space gets an error.
 */
void wanted_restrict(struct wanted_list *events, int device);
/* Gives an error to each clock that is to exclude something: it excludes samples, but no counts. */
void wanted_counts(struct wanted_list *events);
void wanted_free(struct wanted_list *events);

/* Returns the event that leads the group of event e; -1 if it leads one, or is in none. */
int wanted_leader(const struct wanted_list *events, int e);
/* Returns the event behind event e; of a group, the one behind its last member. */
int wanted_behind(const struct wanted_list *events, int e);

#endif /* TALLY_TOOL_PARSE_H */
