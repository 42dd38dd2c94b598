/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* The struct behind libtally_events_new(). */
#ifndef LIBTALLY_EVENTS_H
#define LIBTALLY_EVENTS_H

#include "libtally_record.h"

struct event {
	struct libtally_format *format;	/* stays where it is: records point to it */
	void *attr;		/* attr_size bytes */
	size_t attr_size;
	char *name;
	__u64 first_id;		/* the one that was added first */
};

/**
 * struct event_id - id of one file of an event
 * @number:	number of the event
 * @place:	number of the ids that were there before
 */
struct event_id {
	__u64 id;
	int number;
	size_t place;
};

/**
 * struct libtally_events - events in the same rings
 * @sample_place:	place of the id in all samples, in bytes; -1 without an id
 * @trailer_place:	place of the id in other records, in bytes before the end; or -1
 * @sample_time:	place of the time in all samples, in bytes; -1 without a time
 * @trailer_time:	place of the time in other records, in bytes before the end; or -1
 * @times_differ:	1 if @sample_time or @trailer_time is not the same for all events
 * @ids:		ids, sorted
 * @room:		length of the array @ids
 */
struct libtally_events {
	struct event *list;
	int nr;
	int sample_place;
	int trailer_place;
	int sample_time;
	int trailer_time;
	int times_differ;
	struct event_id *ids;
	size_t nr_ids;
	size_t room;
};

/*
 * If the id in a record was added behind the first nr ids, returns its place in the record, in
 * bytes, and sets first to the first id of the same event. Returns -1 for other records.
 */
int libtally_events_find_late(const struct libtally_events *events,
			      const struct perf_event_header *record, size_t nr, __u64 *first);

/* Removes all events but the first nr, and all ids but the first nr_ids that were added. */
void libtally_events_cut(struct libtally_events *events, int nr, size_t nr_ids);

#endif /* LIBTALLY_EVENTS_H */
