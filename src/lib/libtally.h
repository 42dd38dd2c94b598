/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * libtally: events and their rings, for programs. It serves perf_event_open(2) and
 * /dev/tally alike, as both speak one protocol.
 *
 *	struct libtally_target target = LIBTALLY_TARGET_INIT;	// all tasks, all CPUs
 *	struct libtally_reader *reader = libtally_reader_new();
 *	const struct perf_event_header *header;
 *	struct libtally_record r;
 *
 *	libtally_reader_open(reader, &attr, &target, 64, "cycles");
 *	while (libtally_reader_poll(reader, -1) >= 0)
 *		while ((header = libtally_reader_next(reader)) != NULL)
 *			if (libtally_reader_parse(reader, header, &r) >= 0)
 *				libtally_record_print(stdout, &r);
 *
 * What returns an int returns 0 or more, or a negative errno; what returns a pointer
 * returns NULL for want of memory, if nothing else is said. Different objects may be
 * used by different threads, one object only by one at a time.
 */
#ifndef LIBTALLY_H
#define LIBTALLY_H

#include "libtally_record.h"

/* Where in the file of an event on all CPUs the ring of a CPU is mapped. */
#ifndef TALLY_RING_AT
#define TALLY_RING_AT(cpu)	((__u64)(cpu) << 32)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Rings ---------------------------------------------------------------
 */

/*
 * READ_ONLY	map for reading only: the kernel overwrites the oldest records, and
 *		needs nobody to make room. Of an event with write_backward it is read by
 *		libtally_ring_snapshot(). Of another one it is followed as other rings
 *		are, and what was overwritten meanwhile is left out.
 * BACKWARD	of an event with write_backward; READ_ONLY is needed, too.
 * TWICE	the data is there twice, one behind the other, and so no record
 *		is in two pieces: nothing is ever copied.
 * PAUSE_WAITS	PERF_EVENT_IOC_PAUSE_OUTPUT of its file returns when nobody is in the
 *		middle of a record, as of /dev/tally, and not of perf: then a snapshot
 *		has all. libtally_reader_open() knows; others say so.
 *
 * A ring that is overwritten does not say how far those are who write just now. So
 * of one that is not paused the older half is never told: it may be theirs. Only if
 * they have written more than that behind the back of data_head, which takes a storm of
 * interrupts in one record of a task, what is told may be torn.
 */
#define LIBTALLY_RING_READ_ONLY	(1U << 0)
#define LIBTALLY_RING_BACKWARD	(1U << 1)
#define LIBTALLY_RING_TWICE	(1U << 2)
#define LIBTALLY_RING_PAUSE_WAITS	(1U << 3)

/**
 * struct libtally_ring - a ring that is mapped
 *
 * Only the members of the first part are for programs, to look at.
 *
 * @page:	the page before the data
 * @size:	of the data, in bytes
 * @fd:		of the event; -1 if not known
 * @error:	why libtally_ring_next() last had no record: 0 if there was none, or
 *		LIBTALLY_RECORD_BAD_SIZE: what is there is no record, and so all until the
 *		head of that time is left out, or that head is none, and nothing is;
 *		or a negative errno
 * @skipped:	bytes that were left out, as they were overwritten or no records
 */
struct libtally_ring {
	struct perf_event_mmap_page *page;
	__u64 size;
	int fd;
	int error;
	__u64 skipped;

	/* What libtally_ring_next() looks at */
	const unsigned char *base;
	__u64 mask;
	__u64 at;	/* of the next record */
	__u64 edge;	/* up to here all records are whole, and read by nobody else */

	__u64 head;
	__u64 tail;	/* as last told to the kernel */
	__u64 batch;
	unsigned char *data;
	unsigned char *copy;
	unsigned char *snapshot;
	void *mapped;
	size_t mapped_size;
	unsigned int flags;
	int held;
};

/*
 * Maps the ring of a file: one page and so many pages of data, a power of two. at is
 * 0, or for an event on all CPUs of /dev/tally TALLY_RING_AT(cpu). With
 * LIBTALLY_RING_TWICE -EOPNOTSUPP if the kernel does not let go of a page that is mapped
 * twice, as those do not for perf's files that refuse to split such a mapping.
 */
int libtally_ring_map(struct libtally_ring *ring, int fd, size_t data_pages, __u64 at,
		      unsigned int flags);
/* The same for what the caller has mapped, and unmaps after libtally_ring_unmap(). */
int libtally_ring_attach(struct libtally_ring *ring, void *mapped, size_t size, int fd,
			 unsigned int flags);
void libtally_ring_unmap(struct libtally_ring *ring);

/*
 * How many bytes of records are read before the kernel is told that there is room
 * again; 0, as it begins, for a quarter of the ring; 1 for after each record. It is
 * told, too, whenever there is nothing left to read.
 */
void libtally_ring_set_batch(struct libtally_ring *ring, __u64 bytes);
/* Tells it now, of all records that were returned: they are gone. */
void libtally_ring_release(struct libtally_ring *ring);

const struct perf_event_header *libtally_ring_next_slow(struct libtally_ring *ring);

/*
 * The next record, whole and at a multiple of 8, until the next call for this ring;
 * NULL if there is none now. No system call, and no copy unless the record is in two
 * pieces.
 */
static __inline__ const struct perf_event_header *libtally_ring_next(struct libtally_ring *ring)
{
	const struct perf_event_header *header = (const struct perf_event_header *)
		(ring->base + (size_t)(ring->at & ring->mask));
	__u64 left = ring->edge - ring->at;

	if (left < sizeof(*header) || header->size > left ||
	    header->size < sizeof(*header) || header->size % 8)
		return libtally_ring_next_slow(ring);
	ring->at += header->size;
	return header;
}

/*
 * Copies what a backward ring has, so that libtally_ring_next() tells it, the oldest
 * record first. Meanwhile the ring is paused (PERF_EVENT_IOC_PAUSE_OUTPUT), if its
 * file can do that. If it cannot, or if it is perf's and membarrier(2), by which those
 * are waited for who are in the middle of a record, is refused, the older half is left out.
 * Returns how many records there are.
 */
int libtally_ring_snapshot(struct libtally_ring *ring);
/* PERF_EVENT_IOC_PAUSE_OUTPUT: no records are written, and those that come are lost. */
int libtally_ring_pause(struct libtally_ring *ring, int paused);

/*
 * ---- Many rings ----------------------------------------------------------
 */

struct libtally_reader;

struct libtally_reader *libtally_reader_new(void);
/* Unmaps and closes what the reader has opened itself. */
void libtally_reader_free(struct libtally_reader *reader);

/* The events whose records are read: add more, or what libtally_reader_open() added. */
struct libtally_events *libtally_reader_events(struct libtally_reader *reader);

/*
 * A ring of the caller's, which stays where it is until the reader is freed. Then what
 * the reader has not told is to be had of the ring itself again.
 */
int libtally_reader_add(struct libtally_reader *reader, struct libtally_ring *ring);

/*
 * The next record of all rings by time, until the next call; NULL if there is none.
 * What was read is in order also if the rings are written to meanwhile: a record is
 * told once all rings were looked at after it had been written. Without
 * PERF_SAMPLE_TIME, and sample_id_all, the order means nothing.
 */
const struct perf_event_header *libtally_reader_next(struct libtally_reader *reader);
/* In which ring that was, in the order of their adding; -1 before the first. */
int libtally_reader_ring(const struct libtally_reader *reader);
/* As libtally_events_parse(). */
int libtally_reader_parse(struct libtally_reader *reader, const struct perf_event_header *header,
			  struct libtally_record *record);
/* How many records were told behind one of a later time. */
__u64 libtally_reader_late(const struct libtally_reader *reader);

/*
 * Waits until a ring has enough to read, as attr's wakeup_events says, or for so many
 * milliseconds. Returns how many files have something, or have hung up, as they do
 * when their task has ended; -EPIPE if all had done that before: there is no more to
 * come.
 */
int libtally_reader_poll(struct libtally_reader *reader, int milliseconds);

/*
 * libtally_ring_snapshot() of all rings, paused together. Returns how many records; -EINVAL
 * if not all rings are backward, and then nothing was done.
 */
int libtally_reader_snapshot(struct libtally_reader *reader);

/*
 * ---- Opening -------------------------------------------------------------
 */

enum libtally_via {
	LIBTALLY_VIA_PERF = 0,	/* perf_event_open(2) */
	LIBTALLY_VIA_DEVICE = 1	/* /dev/tally */
};

/**
 * struct libtally_target - what is counted, and by whom
 * @via:	enum libtally_via
 * @pid:	as for perf_event_open(2), as the next two and @perf_flags
 * @cpu:	with /dev/tally and pid -1: -1 for all CPUs in one file
 * @group_fd:	-1 for none
 * @device:	a file of /dev/tally that is open; -1: one is opened for the call
 * @flags:	with /dev/tally: TALLY_OPEN_*
 * @perf_flags:	PERF_FLAG_*; PERF_FLAG_FD_CLOEXEC is always set
 * @name:	with /dev/tally: what it is called in debugfs; or NULL
 * @error:	if that fails: why, in words
 */
struct libtally_target {
	int via;
	int pid;
	int cpu;
	int group_fd;
	int device;
	unsigned int flags;
	unsigned long perf_flags;
	const char *name;
	char error[128];
};

#define LIBTALLY_TARGET_INIT { LIBTALLY_VIA_PERF, -1, -1, -1, -1, 0, 0, NULL, "" }

/* All members 0 but the size: what is then set is all that differs from the default. */
void libtally_attr_init(struct perf_event_attr *attr, __u32 type, __u64 config);

/* Returns a file; with TALLY_OPEN_MEMBER a place in that of its group. */
int libtally_open_event(const struct perf_event_attr *attr, struct libtally_target *target);

/*
 * Opens an event, maps its rings and adds all of that to the reader: one file, or
 * with pid and cpu -1 of perf one for each CPU that is online; of /dev/tally one file
 * with a ring for each of them. attr must say what is in samples; PERF_SAMPLE_TIME,
 * PERF_SAMPLE_IDENTIFIER and sample_id_all are added. Returns the event's number. If
 * it fails, nothing is added. TALLY_OPEN_MEMBER is -EINVAL: a member has no file.
 */
int libtally_reader_open(struct libtally_reader *reader, const struct perf_event_attr *attr,
			 struct libtally_target *target, size_t data_pages, const char *name);
/* PERF_EVENT_IOC_ENABLE, _DISABLE, ... with 0 as argument, of all files opened so. */
int libtally_reader_ioctl(struct libtally_reader *reader, unsigned long request);

/*
 * read(2): fills counts with what is in buffer (at a multiple of 8) then. -ENODATA for
 * an event in the error state; -ENOSPC if the buffer is too small.
 */
int libtally_read_counts(int fd, void *buffer, size_t size, __u64 read_format,
			 struct libtally_counts *counts);

/* How many bytes a read of a group of so many events wants. */
size_t libtally_read_size(__u64 read_format, unsigned int nr);

/*
 * What the page of an event says it has counted, without a system call. -EOPNOTSUPP
 * if the rest is in a register of the CPU, and read(2) must be asked; -EAGAIN if it was
 * written over and over.
 */
int libtally_page_read(const volatile struct perf_event_mmap_page *page,
		       struct libtally_count_entry *entry);

/*
 * ---- perf.data -----------------------------------------------------------
 */

struct libtally_perfdata;

/*
 * A file for `perf script` and `perf report`. The events must all be there, with
 * their ids, and stay until libtally_perfdata_close(). NULL with errno.
 */
struct libtally_perfdata *libtally_perfdata_create(const char *path,
						   const struct libtally_events *events);
/* A record as it is. */
int libtally_perfdata_write(struct libtally_perfdata *data,
			    const struct perf_event_header *record);
/*
 * What happened before, from /proc: COMM and MMAP2 for tasks that run, MMAP for the
 * kernel, so that addresses get names. Of one process, or for pid -1 of all.
 */
int libtally_perfdata_write_running(struct libtally_perfdata *data, int pid);
/* Finishes the file. Without that it is none. Frees in any case. */
int libtally_perfdata_close(struct libtally_perfdata *data);

#ifdef __cplusplus
}
#endif

#endif /* LIBTALLY_H */
