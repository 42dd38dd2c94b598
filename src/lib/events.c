// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/* Several events in one ring: the id in a record says which event it is of. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "events.h"

struct libtally_events *libtally_events_new(void)
{
	return calloc(1, sizeof(struct libtally_events));
}

static void empty(struct event *event)
{
	free(event->format);
	free(event->attr);
	free(event->name);
}

void libtally_events_free(struct libtally_events *events)
{
	int i;

	if (!events)
		return;
	for (i = 0; i < events->nr; i++)
		empty(&events->list[i]);
	free(events->list);
	free(events->ids);
	free(events);
}

/* Returns the place of the id in a sample, in bytes; -1 without one. */
static int sample_place(const struct libtally_format *f)
{
	__u64 before = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;

	if (f->sample_type & PERF_SAMPLE_IDENTIFIER)
		return sizeof(struct perf_event_header);
	if (!(f->sample_type & PERF_SAMPLE_ID))
		return -1;
	return sizeof(struct perf_event_header) +
	       sizeof(__u64) * __builtin_popcountll(f->sample_type & before);
}

/* Returns the place of the id in other records, in bytes before the end; -1 without one. */
static int trailer_place(const struct libtally_format *f)
{
	__u64 behind = PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;

	if (!f->sample_id_all)
		return -1;
	if (f->sample_type & PERF_SAMPLE_IDENTIFIER)
		return sizeof(__u64);
	if (!(f->sample_type & PERF_SAMPLE_ID))
		return -1;
	return sizeof(__u64) * (1 + __builtin_popcountll(f->sample_type & behind));
}

/*
 * Returns the place of the first id that is not below this one. The search is binary, as
 * each record is looked up and each event may have an id for each CPU.
 */
static size_t id_place(const struct libtally_events *events, __u64 id)
{
	size_t low = 0, high = events->nr_ids, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (events->ids[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int libtally_events_add_id(struct libtally_events *events, int number, __u64 id)
{
	size_t place = id_place(events, id);
	struct event_id *ids;

	if (number < 0 || number >= events->nr)
		return -EINVAL;
	if (place < events->nr_ids && events->ids[place].id == id)
		return events->ids[place].number == number ? 0 : -EINVAL;
	if (events->nr_ids == events->room) {
		size_t room = events->room ? 2 * events->room : 16;

		ids = realloc(events->ids, room * sizeof(*ids));
		if (!ids)
			return -ENOMEM;
		events->ids = ids;
		events->room = room;
	}
	if (!events->list[number].first_id)
		events->list[number].first_id = id;
	ids = events->ids + place;
	memmove(ids + 1, ids, (events->nr_ids - place) * sizeof(*ids));
	ids->id = id;
	ids->number = number;
	ids->place = events->nr_ids++;
	return 0;
}

/* Removes all ids but the first @nr that were added. */
static void remove_ids(struct libtally_events *events, size_t nr)
{
	size_t from, to = 0;

	for (from = 0; from < events->nr_ids; from++)
		if (events->ids[from].place < nr)
			events->ids[to++] = events->ids[from];
	events->nr_ids = to;
}

static int fill(struct event *event, const struct perf_event_attr *attr, const char *name)
{
	size_t size = attr->size ? attr->size : PERF_ATTR_SIZE_VER0;

	memset(event, 0, sizeof(*event));
	event->format = malloc(sizeof(*event->format));
	event->attr = malloc(size);
	event->name = name ? strdup(name) : NULL;
	if (!event->format || !event->attr || (name && !event->name)) {
		empty(event);
		return -ENOMEM;
	}
	memcpy(event->attr, attr, size);
	event->attr_size = size;
	libtally_format_init(event->format, attr);
	return 0;
}

/* The id says which event a record is of only if all events have it at the same place. */
static int is_distinct(struct libtally_events *events, const struct libtally_format *format)
{
	int sample = sample_place(format), trailer = trailer_place(format);

	if (!events->nr) {
		events->sample_place = sample;
		events->trailer_place = trailer;
		events->sample_time = libtally_format_sample_time(format);
		events->trailer_time = libtally_format_trailer_time(format);
		return 1;
	}
	return sample >= 0 && sample == events->sample_place &&
	       trailer == events->trailer_place &&
	       format->sample_id_all == events->list[0].format->sample_id_all;
}

static int time_differs(const struct libtally_events *events, const struct libtally_format *format)
{
	return events->sample_time != libtally_format_sample_time(format) ||
	       events->trailer_time != libtally_format_trailer_time(format);
}

void libtally_events_cut(struct libtally_events *events, int nr, size_t nr_ids)
{
	int i;

	remove_ids(events, nr_ids);
	while (events->nr > nr)
		empty(&events->list[--events->nr]);
	events->times_differ = 0;
	for (i = 0; i < events->nr; i++)
		events->times_differ |= time_differs(events, events->list[i].format);
}

int libtally_events_add(struct libtally_events *events, const struct perf_event_attr *attr,
			const __u64 *ids, size_t nr_ids, const char *name)
{
	int error, number = events->nr;
	size_t i, had = events->nr_ids;
	struct event *list;

	list = realloc(events->list, (number + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	events->list = list;
	error = fill(&list[number], attr, name);
	if (error)
		return error;
	if (!is_distinct(events, list[number].format)) {
		empty(&list[number]);
		return -EINVAL;
	}
	events->times_differ |= time_differs(events, list[number].format);
	events->nr++;
	for (i = 0; i < nr_ids; i++) {
		error = libtally_events_add_id(events, number, ids[i]);
		if (error) {
			libtally_events_cut(events, number, had);
			return error;
		}
	}
	return number;
}

int libtally_events_nr(const struct libtally_events *events)
{
	return events->nr;
}

const struct libtally_format *libtally_events_format(const struct libtally_events *events,
						     int number)
{
	if (number < 0 || number >= events->nr)
		return NULL;
	return events->list[number].format;
}

/* Returns the place of a word in a record, or -1; a place inside of the header is wrong. */
static int word_place(const struct perf_event_header *header, int sample, int trailer)
{
	int at = header->type == PERF_RECORD_SAMPLE ? sample : header->size - trailer;

	if (header->type == PERF_RECORD_SAMPLE ? sample < 0 : trailer < 0)
		return -1;
	if (at < (int)sizeof(*header) || at + (int)sizeof(__u64) > header->size)
		return -1;
	return at;
}

static int word_of(const struct perf_event_header *header, const void *data, int sample,
		   int trailer, __u64 *word)
{
	int at = word_place(header, sample, trailer);

	if (at < 0)
		return -1;
	memcpy(word, (const char *)data + at, sizeof(*word));
	return 0;
}

/* Reads the header of a record, which must be whole. */
static int take_header(struct perf_event_header *header, const void *data, size_t size)
{
	if (size < sizeof(*header))
		return LIBTALLY_RECORD_SHORT;
	memcpy(header, data, sizeof(*header));
	if (header->size < sizeof(*header))
		return LIBTALLY_RECORD_BAD_SIZE;
	return header->size <= size ? 0 : LIBTALLY_RECORD_SHORT;
}

int libtally_events_find(const struct libtally_events *events, const void *data, size_t size)
{
	struct perf_event_header header;
	size_t place;
	__u64 id;
	int error;

	if (events->nr <= 1)
		return events->nr ? 0 : LIBTALLY_RECORD_NO_EVENT;
	error = take_header(&header, data, size);
	if (error)
		return error;
	if (header.type != PERF_RECORD_SAMPLE && events->trailer_place < 0) {
		/* Without an id, all events have the same layout of these records. */
		return header.type == PERF_RECORD_READ ? LIBTALLY_RECORD_NO_EVENT : 0;
	}
	if (word_of(&header, data, events->sample_place, events->trailer_place, &id))
		return LIBTALLY_RECORD_TRUNCATED;
	place = id_place(events, id);
	if (place == events->nr_ids || events->ids[place].id != id)
		return LIBTALLY_RECORD_NO_EVENT;
	return events->ids[place].number;
}

int libtally_events_find_late(const struct libtally_events *events,
			      const struct perf_event_header *record, size_t nr, __u64 *first)
{
	int at = word_place(record, events->sample_place, events->trailer_place);
	size_t place;
	__u64 id;

	if (at < 0)
		return -1;
	memcpy(&id, (const char *)record + at, sizeof(id));
	place = id_place(events, id);
	if (place == events->nr_ids || events->ids[place].id != id || events->ids[place].place < nr)
		return -1;
	*first = events->list[events->ids[place].number].first_id;
	return at;
}

int libtally_events_parse(const struct libtally_events *events, struct libtally_record *record,
			  const void *data, size_t size)
{
	int error, number = libtally_events_find(events, data, size);

	if (number < 0)
		return number;
	error = libtally_record_parse(record, data, size, events->list[number].format);
	return error ? error : number;
}

__u64 libtally_events_time(const struct libtally_events *events, const void *data, size_t size)
{
	int number = libtally_events_find(events, data, size);
	struct perf_event_header header;
	const struct libtally_format *f;
	__u64 time;

	if (number < 0 || take_header(&header, data, size))
		return 0;
	f = events->list[number].format;
	if (word_of(&header, data, libtally_format_sample_time(f), libtally_format_trailer_time(f),
		    &time))
		return 0;
	return time;
}
