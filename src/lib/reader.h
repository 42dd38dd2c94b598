/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* What libtally_reader_new() makes. */
#ifndef LIBTALLY_READER_H
#define LIBTALLY_READER_H

#include <poll.h>
#include "ring.h"

/**
 * struct reader_ring - one ring of many
 * @header:	its next record, which was taken from it, and not told yet
 * @time:	of that
 * @first_look:	where its head was at the look before the last one
 * @ours:	made by libtally_reader_open()
 */
struct reader_ring {
	struct libtally_ring *ring;
	const struct perf_event_header *header;
	__u64 time;
	__u64 first_look;
	int ours;
};

/**
 * struct libtally_reader - many rings
 * @heap:	those with a record, as numbers, the earliest first
 * @nr_early:	how many of their records were there at the look before the last one
 * @last:	which ring a record was last told of
 * @told:	that record is the caller's still
 * @time:	the latest that was told
 */
struct libtally_reader {
	struct libtally_events *events;
	struct reader_ring *rings;
	int nr;
	int *heap;
	int nr_heap;
	int nr_early;
	int last;
	int told;
	__u64 time;
	__u64 late;
	int *files;
	int nr_files;
	struct pollfd *polled;
	int nr_polled;
};

int libtally_reader_add_ring(struct libtally_reader *reader, struct libtally_ring *ring, int ours);
/* Closed with the reader. */
int libtally_reader_add_file(struct libtally_reader *reader, int fd);

/* How much a reader had, so that what was added since can be taken out again. */
struct reader_mark {
	int nr;
	int nr_files;
	int nr_polled;
	int nr_events;
};

struct reader_mark libtally_reader_mark(const struct libtally_reader *reader);
/* Nothing was read of the rings meanwhile. */
void libtally_reader_cut(struct libtally_reader *reader, const struct reader_mark *mark);

#endif /* LIBTALLY_READER_H */
