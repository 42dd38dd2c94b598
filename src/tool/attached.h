/* SPDX-License-Identifier: GPL-2.0 */
/* All events that are counted now, whoever made them, by their published pages. */
#ifndef TALLY_TOOL_ATTACHED_H
#define TALLY_TOOL_ATTACHED_H

#include <stdbool.h>
#include <libtally.h>

#define RUNNING_HISTORY	60

/* Room for the target of an event: each byte of a cgroup's path may need four. */
#define RUNNING_TARGET	1100

/**
 * struct running - an event of any owner
 * @about:	what the device says of it
 * @unit:	unit and scale of the count
 * @fd:		file that is attached to the event; -1 if the attaching failed
 * @error:	negative errno of the attaching; 0 with a file
 * @why:	sentence for @error
 * @page:	its mapped page of counts; NULL without a file, and for an inherited event
 * @begins_now: the count begins with the attaching, and not when the event was made
 * @value:	count as last read
 * @time:	CLOCK_MONOTONIC of the last publishing, in nanoseconds; 0 before the first
 * @seen:	CLOCK_MONOTONIC of the last reading, in nanoseconds; 0 before the first
 * @rate:	units per second between the last two readings; below 0 if not known yet, and for a
 *		gauge
 * @history:	the last rates, @nr_history of them, with @rate at the end
 * @alive:	the event existed at the last look
 */
struct running {
	struct libtally_running about;
	struct libtally_unit unit;
	int fd;
	int error;
	char why[LIBTALLY_ERROR_SIZE];
	const void *page;
	bool begins_now;
	struct libtally_value value;
	__u64 time, seen;
	double rate;
	double history[RUNNING_HISTORY];
	int nr_history;
	bool alive;
};

/**
 * struct running_list - the events, in the order in which they were made
 * @device:	open device
 * @no_files:	leave out the events of open files, which end with their files
 * @totals:	read what the events have counted since they were made, if the caller may
 * @nr:		number of events
 * @files:	number of files that are attached
 * @most_files:	greatest value of @files: a quarter of files_per_user is left to this user's
 *		other programs
 */
struct running_list {
	int device;
	bool no_files;
	bool totals;
	struct running **list;
	int nr;
	unsigned int files, most_files;
};

/* Attaches to new events and to those that lacked room; frees released ones. Exits on an error. */
void running_look(struct running_list *events);
/* Reads all pages, which interrupts no CPU. An inherited event has no page: a call reads it. */
void running_read(struct running_list *events);
/* Returns whether a limit, and not a right, keeps this user from the counts. */
bool running_lacks_room(const struct running *event);
/* Returns for how many events running_lacks_room() is true; *lacking is set to the last, if any. */
int running_lacking(const struct running_list *events, const struct running **lacking);
/* Prints for how many events running_lacks_room() is true, and a remedy; nothing for none. */
void running_say_lacking(const struct running_list *events);
void running_free(struct running_list *events);

/* Returns a name for the event, also if it has none that the caller may see. */
const char *running_name(const struct running *event);
/* Writes the target as text: "cpu=all", "pid=17", "cgroup=/a", in RUNNING_TARGET bytes. */
void running_target(const struct running *event, char *text);
/* Room for running_state() */
#define RUNNING_STATE	16

/* Writes the state, with a '!' if a kernel probe missed hits, or a handler was not called. */
void running_state(const struct running *event, char *text);

/* Returns the last count in its unit. A gauge may be below 0. */
static inline double running_count(const struct running *event)
{
	double value = event->value.value;

	if (event->unit.gauge)
		value = (__s64)event->value.value;
	return value * event->unit.scale;
}

/* Writes the rate as text: "-" if it is not known, and "gauge" for a gauge, which has none. */
void running_rate(const struct running *event, char *text, size_t size);

/* Writes a number in at most 8 characters, and a '-' if it is below 0: "9.5", "99999", "100.0K". */
void short_number(double value, char *text, size_t size);

#endif /* TALLY_TOOL_ATTACHED_H */
