// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/*
 * The records of many rings by time.
 *
 * The records of one ring are in order. So the earliest record of all is the first one of
 * some ring, and a heap holds the first records. But a ring that is looked at early lacks
 * records that are earlier than those of a ring that is looked at late. So all rings are
 * looked at twice: a record is returned while the heap has records that existed at the
 * first look, because all earlier records existed at the second.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "events.h"
#include "reader.h"

struct libtally_reader *libtally_reader_new(void)
{
	struct libtally_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->last = -1;
	reader->process = getpid();
	reader->events = libtally_events_new();
	if (!reader->events) {
		free(reader);
		return NULL;
	}
	return reader;
}

struct reader_mark libtally_reader_mark(const struct libtally_reader *reader)
{
	struct reader_mark mark = { reader->nr, reader->nr_files, reader->nr_polled,
				    libtally_events_nr(reader->events), reader->events->nr_ids };

	return mark;
}

/* Gives the caller his ring back, with the records that the reader has not returned. */
static void let_go(const struct libtally_reader *reader, struct reader_ring *r)
{
	int returned = reader->returned && r == &reader->rings[reader->last];

	/* The caller may have unmapped the ring. */
	if (r->ring->page)
		libtally_ring_let_go(r->ring, r->header && !returned ? r->header->size : 0);
}

/* A child of fork() has none of the rings, and may have other memory at their addresses. */
void libtally_reader_cut(struct libtally_reader *reader, const struct reader_mark *mark)
{
	int child = reader->process != getpid();
	struct reader_ring *r;

	while (reader->nr > mark->nr) {
		r = &reader->rings[--reader->nr];
		if (child)
			continue;
		if (!r->ours) {
			let_go(reader, r);
			continue;
		}
		libtally_ring_unmap(r->ring);
		free(r->ring);
	}
	while (reader->nr_files > mark->nr_files)
		close(reader->files[--reader->nr_files]);
	reader->nr_polled = mark->nr_polled;
	libtally_events_cut(reader->events, mark->nr_events, mark->nr_ids);
}

void libtally_reader_free(struct libtally_reader *reader)
{
	static const struct reader_mark nothing;

	if (!reader)
		return;
	libtally_reader_cut(reader, &nothing);
	libtally_events_free(reader->events);
	free(reader->rings);
	free(reader->files);
	free(reader->heap);
	free(reader->polled);
	free(reader);
}

struct libtally_events *libtally_reader_events(struct libtally_reader *reader)
{
	return reader->events;
}

static int grow(void *array, size_t size)
{
	void *grown = realloc(*(void **)array, size);

	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	return 0;
}

int libtally_reader_add_polled(struct libtally_reader *reader, int fd)
{
	int i;

	for (i = 0; i < reader->nr_polled; i++)
		if (reader->polled[i].fd == fd)
			return 0;
	if (fd < 0)
		return 0;
	if (grow(&reader->polled, (reader->nr_polled + 1) * sizeof(*reader->polled)))
		return -ENOMEM;
	reader->polled[reader->nr_polled].fd = fd;
	reader->polled[reader->nr_polled].events = POLLIN;
	reader->polled[reader->nr_polled].revents = 0;
	reader->nr_polled++;
	return 0;
}

int libtally_reader_add_ring(struct libtally_reader *reader, struct libtally_ring *ring, int ours)
{
	struct reader_ring *r;

	if (grow(&reader->rings, (reader->nr + 1) * sizeof(*reader->rings)) ||
	    grow(&reader->heap, (reader->nr + 1) * sizeof(*reader->heap)) ||
	    libtally_reader_add_polled(reader, ring->fd))
		return -ENOMEM;
	r = &reader->rings[reader->nr];
	memset(r, 0, sizeof(*r));
	r->ring = ring;
	r->ours = ours;
	r->first_look = ring->head;
	libtally_ring_hold(ring);
	return reader->nr++;
}

int libtally_reader_add(struct libtally_reader *reader, struct libtally_ring *ring)
{
	return libtally_reader_add_ring(reader, ring, 0);
}

int libtally_reader_add_file(struct libtally_reader *reader, int fd)
{
	if (grow(&reader->files, (reader->nr_files + 1) * sizeof(*reader->files)))
		return -ENOMEM;
	reader->files[reader->nr_files] = fd;
	return reader->nr_files++;
}

static int before(const struct libtally_reader *reader, int a, int b)
{
	const struct reader_ring *x = &reader->rings[a], *y = &reader->rings[b];

	return x->time != y->time ? x->time < y->time : a < b;
}

/* Moves the ring at this place of the heap behind earlier ones. */
static void sink(struct libtally_reader *reader, int place)
{
	int *heap = reader->heap, ring = heap[place], child;

	while ((child = 2 * place + 1) < reader->nr_heap) {
		if (child + 1 < reader->nr_heap &&
		    before(reader, heap[child + 1], heap[child]))
			child++;
		if (before(reader, ring, heap[child]))
			break;
		heap[place] = heap[child];
		place = child;
	}
	heap[place] = ring;
}

/* Does what libtally_events_time() does, faster if all events have the time at one place. */
static __u64 time_of(const struct libtally_events *events, const struct perf_event_header *header)
{
	int sample = header->type == PERF_RECORD_SAMPLE;
	int place = sample ? events->sample_time : events->trailer_time;
	__u64 time;

	if (!events->nr || events->times_differ)
		return libtally_events_time(events, header, header->size);
	if (place < 0)
		return 0;
	if (!sample)
		place = header->size - place;
	if (place < (int)sizeof(*header) || place + (int)sizeof(time) > header->size)
		return 0;
	memcpy(&time, (const char *)header + place, sizeof(time));
	return time;
}

/* Takes the next record of a ring. Returns 0 if the ring is empty. */
static int take_next(struct libtally_reader *reader, struct reader_ring *r)
{
	__u64 time;

	r->header = libtally_ring_next(r->ring);
	/* There may be records behind the skipped bytes. */
	if (!r->header && r->ring->error)
		r->header = libtally_ring_next(r->ring);
	if (!r->header)
		return 0;
	time = time_of(reader->events, r->header);
	/* A record without a time is returned right behind the one before it. */
	if (time)
		r->time = time;
	return 1;
}

static int is_early(const struct reader_ring *r)
{
	return r->header && (__s64)(r->first_look - r->ring->at) >= 0;
}

/* Looks at all rings. Returns 0 if all are empty. */
static int look(struct libtally_reader *reader)
{
	int i;

	reader->nr_early = 0;
	reader->nr_heap = 0;
	for (i = 0; i < reader->nr; i++) {
		struct reader_ring *r = &reader->rings[i];

		r->first_look = r->ring->head;
		libtally_ring_refresh(r->ring);
	}
	for (i = 0; i < reader->nr; i++) {
		struct reader_ring *r = &reader->rings[i];

		if (!r->header && !take_next(reader, r))
			continue;
		reader->heap[reader->nr_heap++] = i;
		reader->nr_early += is_early(r);
	}
	for (i = reader->nr_heap / 2 - 1; i >= 0; i--)
		sink(reader, i);
	return reader->nr_heap;
}

/* Replaces the record that was returned last by the next one of its ring. */
static void advance(struct libtally_reader *reader)
{
	struct reader_ring *r = &reader->rings[reader->last];

	reader->returned = 0;
	reader->nr_early -= is_early(r);
	if (take_next(reader, r))
		reader->nr_early += is_early(r);
	else
		reader->heap[0] = reader->heap[--reader->nr_heap];
	if (reader->nr_heap > 1)
		sink(reader, 0);
}

const struct perf_event_header *libtally_reader_next(struct libtally_reader *reader)
{
	struct reader_ring *r;

	if (reader->returned)
		advance(reader);
	while (!reader->nr_early)
		if (!look(reader))
			return NULL;
	reader->last = reader->heap[0];
	reader->returned = 1;
	r = &reader->rings[reader->last];
	if (r->time < reader->time)
		reader->late++;
	else
		reader->time = r->time;
	return r->header;
}

int libtally_reader_ring(const struct libtally_reader *reader)
{
	return reader->last;
}

int libtally_reader_parse(struct libtally_reader *reader, const struct perf_event_header *header,
			  struct libtally_record *record)
{
	return libtally_events_parse(reader->events, record, header, header->size);
}

__u64 libtally_reader_late(const struct libtally_reader *reader)
{
	return reader->late;
}

int libtally_reader_poll(struct libtally_reader *reader, int milliseconds)
{
	int i, ready, open = 0;

	if (reader->returned)
		advance(reader);
	/* A record that was taken and not returned yet must not be overwritten. */
	for (i = 0; i < reader->nr; i++)
		if (!reader->rings[i].header)
			libtally_ring_release(reader->rings[i].ring);
	for (i = 0; i < reader->nr_polled; i++)
		open += reader->polled[i].fd >= 0;
	if (!open)
		return -EPIPE;
	ready = poll(reader->polled, reader->nr_polled, milliseconds);
	if (ready < 0)
		return -errno;
	for (i = 0; i < reader->nr_polled; i++) {
		/* A file that has hung up would end each poll(2) at once. */
		if (reader->polled[i].revents & (POLLHUP | POLLERR | POLLNVAL))
			reader->polled[i].fd = -1;
	}
	return ready;
}

/* Returns the first ring of the same file: one pause is for all of them. */
static int first_of_file(const struct libtally_reader *reader, int ring)
{
	int fd = reader->rings[ring].ring->fd, i = 0;

	while (reader->rings[i].ring->fd != fd)
		i++;
	return i;
}

/* Pauses each file once: a pause may wait, and a file may have a ring for each CPU. */
static void pause_all(struct libtally_reader *reader, char *paused)
{
	int i, first;

	for (i = 0; i < reader->nr; i++) {
		if (reader->rings[i].ring->fd < 0)
			continue;
		first = first_of_file(reader, i);
		paused[i] = first < i ? paused[first] :
					libtally_ring_pause(reader->rings[i].ring, 1) == 0;
	}
}

int libtally_reader_snapshot(struct libtally_reader *reader)
{
	int i, nr, all = 0, error = 0;
	int waited = -1, still;
	char *paused;

	for (i = 0; i < reader->nr; i++)
		if (!(reader->rings[i].ring->flags & LIBTALLY_RING_BACKWARD))
			return -EINVAL;
	paused = calloc(reader->nr + 1, 1);
	if (!paused)
		return -ENOMEM;
	if (reader->returned)
		reader->rings[reader->last].header = NULL;
	reader->returned = 0;
	reader->nr_early = 0;
	pause_all(reader, paused);
	for (i = 0; i < reader->nr; i++) {
		still = paused[i];
		/* One wait serves all rings. */
		if (still && !(reader->rings[i].ring->flags & LIBTALLY_RING_PAUSE_WAITS)) {
			if (waited < 0)
				waited = libtally_ring_wait(reader->rings[i].ring);
			still = waited;
		}
		nr = libtally_ring_copy(reader->rings[i].ring, still);
		if (nr < 0) {
			error = nr;
			continue;
		}
		reader->rings[i].header = NULL;
		all += nr;
	}
	for (i = 0; i < reader->nr; i++)
		if (paused[i] && first_of_file(reader, i) == i)
			libtally_ring_pause(reader->rings[i].ring, 0);
	free(paused);
	reader->time = 0;
	return error ? error : all;
}

int libtally_reader_ioctl(struct libtally_reader *reader, unsigned long request)
{
	int i;

	for (i = 0; i < reader->nr_files; i++)
		if (ioctl(reader->files[i], request, 0))
			return -errno;
	return 0;
}
