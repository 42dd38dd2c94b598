/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* The struct behind libtally_reader_new(). */
#ifndef LIBTALLY_READER_H
#define LIBTALLY_READER_H

#include <poll.h>
#include "ring.h"

/**
 * struct reader_ring - one ring of a reader
 * @header:	record that was taken from the ring, and that the caller is not done with; or NULL
 * @time:	time of @header, or of the last record that had a time, in nanoseconds
 * @first_look:	data_head at the look before the last one
 * @ours:	1 if the reader made the ring, and unmaps and frees it
 * @cpu:	CPU of the ring, if the file has a ring for each CPU
 * @shared:	1 if libtally_reader_share() made the ring
 * @target_pid:	task whose files may write to a shared ring; -1 for all tasks
 * @target_cpu:	CPU whose files may write to a shared ring; -1 for files without a CPU
 */
struct reader_ring {
	struct libtally_ring *ring;
	const struct perf_event_header *header;
	__u64 time;
	__u64 first_look;
	int ours;
	int cpu;
	int shared;
	int target_pid;
	int target_cpu;
};

/**
 * struct libtally_reader - many rings
 * @heap:	numbers of the rings with a record, the earliest record first
 * @nr_early:	number of these records that existed at the look before the last one
 * @last:	number of the ring of the record that was returned last
 * @returned:	1 while the caller uses that record
 * @time:	latest time of all returned records, in nanoseconds
 * @process:	number of the process that made the reader
 */
struct libtally_reader {
	struct libtally_events *events;
	struct reader_ring *rings;
	int nr;
	int *heap;
	int nr_heap;
	int nr_early;
	int last;
	int returned;
	__u64 time;
	__u64 late;
	int *files;
	int nr_files;
	struct pollfd *polled;
	int nr_polled;
	int process;
};

int libtally_reader_add_ring(struct libtally_reader *reader, struct libtally_ring *ring, int ours);
/* libtally_reader_poll() waits for the file, too. */
int libtally_reader_add_polled(struct libtally_reader *reader, int fd);
/* The reader closes the file. */
int libtally_reader_add_file(struct libtally_reader *reader, int fd);

/* Sizes of a reader's lists, for libtally_reader_cut(). */
struct reader_mark {
	int nr;
	int nr_files;
	int nr_polled;
	int nr_events;
	size_t nr_ids;
};

struct reader_mark libtally_reader_mark(const struct libtally_reader *reader);
/* Removes all added after the mark. If records were read since, the reader may only be freed. */
void libtally_reader_cut(struct libtally_reader *reader, const struct reader_mark *mark);

#endif /* LIBTALLY_READER_H */
