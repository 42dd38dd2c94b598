/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* What libtally_events_new() makes. */
#ifndef LIBTALLY_EVENTS_H
#define LIBTALLY_EVENTS_H

#include "libtally_record.h"

struct event {
	struct libtally_format *format;	/* stays where it is: records lead there */
	void *attr;		/* as many bytes as it says it has */
	size_t attr_size;
	char *name;
};

struct event_id {
	__u64 id;
	int number;
};

/**
 * struct libtally_events - events in the same rings
 * @sample_place:	where all samples have the id, in bytes
 * @trailer_place:	how many bytes before the end other records have it
 * @sample_time:	where all samples have the time; -1 if they have none
 * @trailer_time:	how many bytes before the end other records have it; or -1
 * @times_differ:	those two are not the same for all events
 * @ids:		by rising id
 * @room:		for how many ids
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

/* Keeps the first ones, so many. */
void libtally_events_cut(struct libtally_events *events, int nr);

#endif /* LIBTALLY_EVENTS_H */
