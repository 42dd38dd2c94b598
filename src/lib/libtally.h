/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * libtally: events and their rings, for programs. It serves perf_event_open(2) and
 * /dev/tally alike, because both speak one protocol.
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
 * The library's names begin with libtally_ and LIBTALLY_, the kernel's with tally_ and
 * TALLY_. If nothing else is said, a function that returns an int returns 0 or more, or a
 * negative errno, and a function that returns a pointer returns NULL for want of memory.
 * Different threads may use different objects; one object serves one thread at a time.
 */
#ifndef LIBTALLY_H
#define LIBTALLY_H

#include <string.h>
#include "libtally_record.h"

/* As <linux/tally.h>: offset for mmap(2) of a CPU's ring in a file on all CPUs, in bytes. */
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
 * Flags of a ring.
 *
 * READ_ONLY	map the ring for reading only: the kernel overwrites the oldest records and
 *		waits for no reader. libtally_ring_snapshot() reads the ring of an event with
 *		write_backward. libtally_ring_next() follows other rings, copies each record,
 *		and skips to data_head when it is more than half of the ring behind.
 * BACKWARD	the event has write_backward; READ_ONLY is needed, too
 * TWICE	map the data twice, one mapping behind the other: no record is in two
 *		pieces, and without READ_ONLY no record is copied
 * PAUSE_WAITS	PERF_EVENT_IOC_PAUSE_OUTPUT of the file returns when no record is being
 *		written, as it does for /dev/tally and not for perf: a snapshot has the whole
 *		ring then. libtally_reader_open() sets the flag; other callers set it
 *		themselves.
 *
 * The page of an overwritten ring does not say how far its writers are. So the library takes the
 * older half for overwritten, unless libtally_ring_snapshot() has stopped the writers. If writers
 * pass half of the ring before data_head moves, which takes a storm of interrupts during one
 * record of a task, the returned records may be torn.
 */
#define LIBTALLY_RING_READ_ONLY	(1U << 0)
#define LIBTALLY_RING_BACKWARD	(1U << 1)
#define LIBTALLY_RING_TWICE	(1U << 2)
#define LIBTALLY_RING_PAUSE_WAITS	(1U << 3)

/**
 * struct libtally_ring - a mapped ring
 *
 * Programs may read the members of the first part.
 *
 * @page:	page before the data
 * @size:	size of the data, in bytes
 * @fd:		file of the event; -1 if it is not known
 * @error:	reason why libtally_ring_next() last returned NULL: 0 for an empty ring;
 *		LIBTALLY_RECORD_BAD_SIZE for bytes that are no record, which are skipped up to
 *		data_head, or for a data_head that is no place of a record, where nothing is
 *		skipped; -EOVERFLOW for overwritten records, which are skipped up to data_head
 * @skipped:	number of bytes that were skipped because they were no records, or may have been
 *		overwritten
 */
struct libtally_ring {
	struct perf_event_mmap_page *page;
	__u64 size;
	int fd;
	int error;
	__u64 skipped;

	/* For libtally_ring_next() */
	const unsigned char *base;
	__u64 mask;
	__u64 at;	/* place of the next record */
	__u64 edge;	/* end of the records that need no libtally_ring_next_slow() */

	__u64 head;
	__u64 tail;	/* data_tail as last written */
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
 * Maps the ring of a file: one page, and data_pages of data, a power of two. at is 0, or
 * TALLY_RING_AT(cpu) for an event of /dev/tally on all CPUs. With LIBTALLY_RING_TWICE the
 * call fails with -EOPNOTSUPP if the kernel cannot replace one page of a mapping, as newer
 * kernels cannot for perf's files.
 */
int libtally_ring_map(struct libtally_ring *ring, int fd, size_t data_pages, __u64 at,
		      unsigned int flags);
/* Uses a mapping of the caller as the ring. The caller unmaps it after libtally_ring_unmap(). */
int libtally_ring_attach(struct libtally_ring *ring, void *mapped, size_t size, int fd,
			 unsigned int flags);
void libtally_ring_unmap(struct libtally_ring *ring);

/*
 * Sets how many bytes are read before data_tail is written, which makes room for the
 * kernel: 0 for a quarter of the ring, the default; 1 for each record. data_tail is written,
 * too, whenever the ring is empty.
 */
void libtally_ring_set_batch(struct libtally_ring *ring, __u64 bytes);
/* Writes data_tail now. All records that were returned are invalid afterwards. */
void libtally_ring_release(struct libtally_ring *ring);

const struct perf_event_header *libtally_ring_next_slow(struct libtally_ring *ring);

/*
 * Returns the next record, whole and at a multiple of 8; NULL for the reason in ring->error, which
 * is 0 if there is none now. The record is valid until the next call for this ring. There is no
 * system call. A record is copied only if it is in two pieces, or the ring is READ_ONLY.
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
 * Copies a backward ring. libtally_ring_next() then returns the copy's records, the oldest
 * first. The ring is paused for the copy (PERF_EVENT_IOC_PAUSE_OUTPUT) and resumed, also if the
 * caller had paused it. The older half is skipped if the file cannot be paused, and for a file of
 * perf if membarrier(2), which waits for records that are being written, is refused. Returns the
 * number of records; -EINVAL for a ring that is not backward.
 */
int libtally_ring_snapshot(struct libtally_ring *ring);
/* Pauses or resumes a ring (PERF_EVENT_IOC_PAUSE_OUTPUT). Records of a paused ring are lost. */
int libtally_ring_pause(struct libtally_ring *ring, int paused);

/*
 * ---- /dev/tally ----------------------------------------------------------
 *
 * Each function with a parameter error writes a sentence without a full stop there when it fails.
 * error must not be NULL, and has room for LIBTALLY_ERROR_SIZE bytes. If nothing else is said,
 * -ENOTTY reports a kernel module tally that is older than the function, or a file of another kind.
 */
#define LIBTALLY_ERROR_SIZE	128

/* Opens the device. Returns a file. */
int libtally_device_open(char *error);

/*
 * Sets attr, whose size is attr_size, for an event by its name: cycles:u, cpu/event=0x3c/,
 * sched:sched_switch. All members are 0 but the size and those that the event needs.
 */
int libtally_device_parse(int device, const char *name, struct perf_event_attr *attr,
			  size_t attr_size, char *error);

/**
 * struct libtally_unit - how perf stat prints the count of an event
 * @scale:	factor of the count; 1 for none
 * @unit:	unit of the product; empty for none
 * @gauge:	1 if the count is a level, such as a temperature: only the last value has a meaning,
 *		as a signed number, and it may fall; 0 from an older module
 */
struct libtally_unit {
	double scale;
	char unit[32];
	__u32 gauge;
};

/*
 * Finds the unit of an event by its name: milliseconds for a clock, and what a PMU says of its
 * events. A module that is older than this function knows no units. Returns 0, or an error as
 * libtally_device_parse().
 */
int libtally_device_unit(int device, const char *name, struct libtally_unit *unit, char *error);

enum libtally_line_op {
	LIBTALLY_LINE_CREATE = 0,	/* the line is an event with options */
	LIBTALLY_LINE_REMOVE = 1,	/* the line is a name, here and below */
	LIBTALLY_LINE_ENABLE = 2,
	LIBTALLY_LINE_DISABLE = 3
};

/* Makes, removes or changes an event that belongs to no file. */
int libtally_device_line(int device, enum libtally_line_op op, const char *line, char *error);

/**
 * struct libtally_running - an event of any owner, as struct tally_next of <linux/tally.h>
 * @id:		id of the event; before the call, id of the event before it, or 0 for the first one
 * @config:	perf_event_attr's config; 0 if the caller may not see it
 * @type:	perf_event_attr's type
 * @cpu:	CPU; -1 for all CPUs, or for every CPU that the task runs on
 * @pid:	task in the caller's PID namespace; 0 for a task outside of it, -1 for all tasks
 * @state:	LIBTALLY_IS_*
 * @has_more:	1 if the members from @overflows on are known: an older module has none, and a
 *		caller without CAP_PERFMON does not see them
 * @name:	name; empty if the caller may not see it
 * @owner:	module that made the event
 * @what:	the event as a line for debugfs; empty if the caller may not see it
 * @of_file:	1 if the event belongs to an open file, and ends with it; 0 from an older module
 * @overflows:	overflows since the event was made
 * @missed:	overflows without a call of a handler, and hits that a kernel probe missed
 * @lost:	number of records that found no room in a ring
 * @throttled:	number of times that too many overflows turned the event off
 * @cgroup:	path of the cgroup whose tasks count; empty for none
 */
struct libtally_running {
	__u64 id;
	__u64 config;
	__u32 type;
	__s32 cpu;
	__s32 pid;
	__u32 state;
	__u32 has_more;
	char name[64];
	char owner[64];
	char what[128];
	__u32 of_file;
	__u64 overflows, missed, lost, throttled;
	char cgroup[256];
};

/* Writes the event that follows the one with event->id. Returns 1; 0 after the last event. */
int libtally_device_next(int device, struct libtally_running *event);

/*
 * Opens a file that reads an event of any owner, by id, or by name if id is 0. Counts begin at 0.
 * publish_ns is the interval of the page of counts, in nanoseconds; 0 for the default. Returns the
 * file; -ENOENT if no event has the id or name.
 */
int libtally_device_attach(int device, __u64 id, const char *name, __u64 publish_ns, char *error);

/*
 * Does what libtally_device_attach() does, with the counts since the event was made, whatever its
 * owner has reset. -EACCES without CAP_PERFMON, and -EINVAL for a module that is older than this
 * function.
 */
int libtally_device_attach_total(int device, __u64 id, const char *name, __u64 publish_ns,
				 char *error);

/* States of an event */
enum libtally_state {
	LIBTALLY_IS_OFF = 0,
	LIBTALLY_IS_INACTIVE = 1,
	LIBTALLY_IS_ACTIVE = 2,
	LIBTALLY_IS_ERROR = 3,
	LIBTALLY_IS_OFFLINE = 4,
	LIBTALLY_IS_EXITED = 5,
	LIBTALLY_IS_THROTTLED = 6,
	LIBTALLY_IS_RELEASED = 7,
	LIBTALLY_IS_SILENT = 8
};

/* Returns "active", "off", ...; "?" for a state that the library does not know. */
const char *libtally_state_name(unsigned int state);

/**
 * struct libtally_value - count of one event
 * @value:	count
 * @enabled:	nanoseconds the event was enabled, summed over CPUs
 * @running:	nanoseconds the event counted, summed over CPUs; if 0, @value is no count
 * @id:		id of the event
 * @state:	LIBTALLY_IS_*
 * @reserved:	0
 */
struct libtally_value {
	__u64 value;
	__u64 enabled;
	__u64 running;
	__u64 id;
	__u32 state;
	__u32 reserved;
};

/*
 * Reads the event of a file and, for a leader, the members of its group. values has room for nr of
 * them. cpu is a CPU whose part is read, or -1 for the sum. is_ratio, which may be NULL, receives 1
 * if all events counted at the same times, so that their values can be divided, else 0. Returns the
 * number of values; -ENOSPC if there are more than nr.
 */
int libtally_values_read(int fd, int cpu, struct libtally_value *values, unsigned int nr,
			 int *is_ratio);

/**
 * struct libtally_budget - the windows of an event with a budget on a CPU
 * @budget:	counts that are allowed in one window
 * @window_ns:	length of a window, in nanoseconds
 * @window:	number of the window that goes on
 * @used:	counts in the window that goes on
 * @windows:	number of windows that have ended
 * @exceeded:	number of windows that counted more than @budget
 */
struct libtally_budget {
	__u64 budget, window_ns, window, used, windows, exceeded;
};

/*
 * Reads the windows of an attached event on a CPU. poll(2) of the file reports POLLPRI for a
 * window that was exceeded since the last call. -EINVAL for an event without a budget.
 */
int libtally_budget_read(int fd, int cpu, struct libtally_budget *budget);

/**
 * struct libtally_ring_info - the rings of an attached event's owner
 * @sample_type:	perf_event_attr's sample_type
 * @pages:		number of pages with records in each ring
 * @rings:		number of rings; ring n is mapped at TALLY_RING_AT(n)
 * @backward:		1 for perf_event_attr's write_backward
 * @sample_id_all:	perf_event_attr's sample_id_all
 */
struct libtally_ring_info {
	__u64 sample_type;
	__u32 pages, rings, backward, sample_id_all;
};

/* Describes an attached event's rings. -EACCES if not shared, or attached without CAP_PERFMON. */
int libtally_ring_info_read(int fd, struct libtally_ring_info *info);

/* Maps the page of counts of a file, which libtally_page_values() reads. */
int libtally_page_map(int fd, const void **page);
void libtally_page_unmap(const void *page);

/*
 * Reads the page of counts, without a system call. time_ns, which may be NULL, receives the time
 * of publishing (CLOCK_MONOTONIC), 0 before the first. Returns the number of values, at most nr;
 * -EAGAIN if the page was written at each of a million tries.
 */
int libtally_page_values(const void *page, struct libtally_value *values, unsigned int nr,
			 __u64 *time_ns);

/*
 * ---- Many rings ----------------------------------------------------------
 */

struct libtally_reader;

struct libtally_reader *libtally_reader_new(void);
/* Frees the reader and its events; unmaps and closes the rings and files that it has opened. */
void libtally_reader_free(struct libtally_reader *reader);

/* Returns the reader's events, which the reader frees. libtally_reader_open() adds its own. */
struct libtally_events *libtally_reader_events(struct libtally_reader *reader);

/*
 * Adds a ring of the caller, whose struct must stay where it is until libtally_reader_free(). From
 * then on libtally_ring_next() returns the records that the reader has not returned. Returns the
 * ring's number, from 0 on.
 */
int libtally_reader_add(struct libtally_reader *reader, struct libtally_ring *ring);

/*
 * Returns the next record of all rings by time; NULL if there is none. The record is valid until
 * the next call of libtally_reader_next(), _poll() or _snapshot(). The order holds while the rings
 * are written, too: the reader returns a record after it has looked at all rings once more. The
 * order means nothing without PERF_SAMPLE_TIME and sample_id_all.
 */
const struct perf_event_header *libtally_reader_next(struct libtally_reader *reader);
/* Returns the number of the last returned record's ring, in the order of adding; -1 for none. */
int libtally_reader_ring(const struct libtally_reader *reader);
/* Calls libtally_events_parse() for a record that the reader returned, and returns its result. */
int libtally_reader_parse(struct libtally_reader *reader, const struct perf_event_header *header,
			  struct libtally_record *record);
/* Returns the number of records that were returned behind one of a later time. */
__u64 libtally_reader_late(const struct libtally_reader *reader);

/*
 * Waits until a ring has as many records as attr's wakeup_events asks for, or the milliseconds
 * have passed; -1 sets no limit. Returns the number of files that are readable or hung up; a
 * file hangs up when its task has ended. Returns -EPIPE when all files have hung up before, and
 * -EINTR after a signal.
 */
int libtally_reader_poll(struct libtally_reader *reader, int milliseconds);

/*
 * Takes a snapshot of each ring, as libtally_ring_snapshot() does, while all of them are paused.
 * Returns the number of records. If a ring is not backward, returns -EINVAL and reads no ring.
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
 * struct libtally_target - what an event counts on, and who makes it
 * @via:	enum libtally_via
 * @pid:	task, as for perf_event_open(2)
 * @cpu:	CPU, as for perf_event_open(2); with /dev/tally, -1 beside pid -1 for all CPUs
 *		in one file
 * @group_fd:	file of the group's leader; -1 for none
 * @device:	open file of /dev/tally; -1 to open one for the call
 * @flags:	with /dev/tally: LIBTALLY_OPEN_*; for libtally_reader_open() with perf,
 *		LIBTALLY_OPEN_ALL_CPUS says that the cgroup @pid counts on all CPUs
 * @perf_flags:	PERF_FLAG_*; PERF_FLAG_FD_CLOEXEC is always added
 * @name:	with /dev/tally: name of the event in debugfs; NULL for none
 * @error:	sentence of the last failure
 * @id:		with /dev/tally, written: id of the event; of several files, that of the last
 * @open:	function that libtally_reader_open() and libtally_reader_share() call in place of
 *		libtally_open_event(), for files that another process opens; NULL for none. It is
 *		called once for each file; @cpu is set if there is a file for each CPU. It returns a
 *		file, which the reader closes, or a negative errno, and may write @error.
 * @data:	for @open
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
	char error[LIBTALLY_ERROR_SIZE];
	__u64 id;
	int (*open)(const struct perf_event_attr *attr, struct libtally_target *target);
	void *data;
};

/* Flags of a target of the device, as TALLY_OPEN_* of <linux/tally.h> */
#define LIBTALLY_OPEN_ALL_CPUS	(1U << 0)
#define LIBTALLY_OPEN_MEMBER	(1U << 1)
#define LIBTALLY_OPEN_REQUIRE	(1U << 2)
#define LIBTALLY_OPEN_WEAK	(1U << 3)

#define LIBTALLY_TARGET_INIT { LIBTALLY_VIA_PERF, -1, -1, -1, -1, 0, 0, NULL, "", 0, NULL, NULL }

/*
 * Sets size, type and config; all other members are 0, the default. The function is inline, so
 * that the size is that of the program's headers, and not of the library's.
 */
static __inline__ void libtally_attr_init(struct perf_event_attr *attr, __u32 type, __u64 config)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = type;
	attr->config = config;
}

/* Returns a file; with LIBTALLY_OPEN_MEMBER 0, because a member has no file. */
int libtally_open_event(const struct perf_event_attr *attr, struct libtally_target *target);

/*
 * Opens an event, maps its rings and adds all of them to the reader. If cpu is -1, an inherited
 * event of a task, and an event of perf on all CPUs, have a file for each online CPU: they do not
 * count on CPUs that come online later, and target has no name and no leader, else -EINVAL. Other
 * events have one file. An event of /dev/tally on all CPUs has a ring for each possible CPU, so
 * that CPUs which come online later have theirs, too.
 * If the limits of locked memory leave no ring for a CPU that is offline, the records of that CPU
 * are not read. The library adds PERF_SAMPLE_TIME, PERF_SAMPLE_IDENTIFIER and sample_id_all to its
 * copy of attr. Returns the event's number; a call that fails adds nothing.
 * LIBTALLY_OPEN_MEMBER is -EINVAL, because a member has no file.
 */
int libtally_reader_open(struct libtally_reader *reader, const struct perf_event_attr *attr,
			 struct libtally_target *target, size_t data_pages, const char *name);
/*
 * Does what libtally_reader_open() does, with fewer rings. The records of a file go to the ring
 * that an earlier call of this function made for the same CPU, for the same task without a CPU, or
 * for events of /dev/tally on all CPUs (PERF_EVENT_IOC_SET_OUTPUT). If there is none, or the kernel
 * refuses to share it, the file gets a ring of its own. number is -1 for a new event. The number of
 * an event that the reader has adds files to that event, such as those of a CPU that came online;
 * attr must ask for the same fields of samples: else -EINVAL.
 */
int libtally_reader_share(struct libtally_reader *reader, int number,
			  const struct perf_event_attr *attr, struct libtally_target *target,
			  size_t data_pages, const char *name);
/* Calls ioctl(2) with argument 0 on the files that the reader has opened, until a call fails. */
int libtally_reader_ioctl(struct libtally_reader *reader, unsigned long request);

/*
 * Reads counts from a file. They point into buffer, which is at a multiple of 8. Returns
 * -ENODATA for an event in the error state, -ENOSPC for too small a buffer.
 */
int libtally_read_counts(int fd, void *buffer, size_t size, __u64 read_format,
			 struct libtally_counts *counts);

/* Returns the size of a read of nr events, in bytes. */
size_t libtally_read_size(__u64 read_format, unsigned int nr);

/*
 * Reads the count from the mapped page of an event, without a system call. perf updates its page
 * when it starts the event, not at each count: without rdpmc, the page has the count of that time.
 * Returns -EOPNOTSUPP if a part of the count is in a register of the CPU, where only read(2) gets
 * it; -EAGAIN if the page was written at each of a million tries.
 */
int libtally_page_read(const volatile struct perf_event_mmap_page *page,
		       struct libtally_count_entry *entry);

/*
 * ---- perf.data -----------------------------------------------------------
 */

struct libtally_perfdata;

/*
 * Creates a file for `perf script` and `perf report`, which only its owner may read. A regular file
 * or a link that is there is replaced by a new file; a character device or a fifo is opened. So is
 * what the process has open at /dev/stdout or /dev/fd/N, and a regular file there is truncated.
 * All events must have been added, with an id, and must stay until libtally_perfdata_close().
 * Records with an id that is added later get their event's first one.
 * The path "-" is standard output. That, and a file that cannot seek, gets perf's format for
 * pipes, where features belong in front of the records that need them.
 * Returns NULL with errno: E2BIG if an event has more ids than a pipe has room for; EEXIST if a
 * block device is there; those of open(2), such as EISDIR.
 */
struct libtally_perfdata *libtally_perfdata_create(const char *path,
						   const struct libtally_events *events);
/*
 * Adds a feature, or replaces one of the library's own. number is one of perf's HEADER_*, content
 * the section of that feature. The content is copied. -E2BIG if a pipe has no room for it.
 */
int libtally_perfdata_feature(struct libtally_perfdata *data, unsigned int number,
			      const void *content, size_t size);
/*
 * Sets a function that is called for each record that libtally_perfdata_write() and
 * libtally_perfdata_write_running() write from now on; NULL for none.
 */
void libtally_perfdata_watch(struct libtally_perfdata *data,
			     void (*call)(void *argument, const struct perf_event_header *record),
			     void *argument);
/* Writes a record. */
int libtally_perfdata_write(struct libtally_perfdata *data,
			    const struct perf_event_header *record);
/*
 * Writes records of what exists already, so that addresses get names: COMM and MMAP2 of
 * running tasks from /proc, MMAP of the kernel. pid is a process, or -1 for all.
 */
int libtally_perfdata_write_running(struct libtally_perfdata *data, int pid);
/*
 * Writes the records that are held in memory, and the size of them all; a pipe has no size. If the
 * writer dies, tools read the file as far as the last flush; the features, which are written last,
 * are missing then. A tool that reads the file or the pipe sorts the records by time, and after two
 * flushes it shows those from before the first, and frees them: no record that comes after the
 * second may be older than these. Returns the first error of the file.
 */
int libtally_perfdata_flush(struct libtally_perfdata *data);
/*
 * Finishes the file, and frees data, also if the call fails: then the file has the records from
 * before the last flush that succeeded.
 */
int libtally_perfdata_close(struct libtally_perfdata *data);

#ifdef __cplusplus
}
#endif

#endif /* LIBTALLY_H */
