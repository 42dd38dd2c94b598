/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * tally: counters that live in the kernel, for user programs.
 *
 * /dev/tally makes files that behave as those of perf_event_open(2): the same
 * ioctl numbers (PERF_EVENT_IOC_*), the same layouts of read(2), the same page to
 * map. What counts is an event of tally, which does what perf's cannot: count on
 * all CPUs in one file, CPUs that are still to come included; have other events
 * in the same file; be looked at by any number of readers; and publish what it
 * has counted where it is read without a system call.
 *
 *	struct perf_event_attr attr = {
 *		.size = sizeof(attr),
 *		.type = PERF_TYPE_HARDWARE,
 *		.config = PERF_COUNT_HW_INSTRUCTIONS,
 *	};
 *	struct tally_open o = {
 *		.size = sizeof(o),
 *		.attr = (unsigned long)&attr,
 *		.pid = -1,
 *		.cpu = -1,
 *		.group_fd = -1,
 *		.flags = TALLY_OPEN_ALL_CPUS,
 *	};
 *	int dev = open("/dev/tally", O_RDWR | O_CLOEXEC);
 *	int fd = ioctl(dev, TALLY_IOC_OPEN, &o);
 *	__u64 count;
 *
 *	if (fd < 0)
 *		errx(1, "%s", o.error.text);
 *	...
 *	read(fd, &count, sizeof(count));
 *
 * An open device takes some of its user's memory, too: EDQUOT from open(2) if that is
 * more than kbytes_per_user allows (see struct tally_info).
 *
 * Rules for all structs here:
 * - The first member is the struct's size, as the program knows it. If the kernel
 *   knows a shorter one, what it does not know must be 0: else E2BIG, with the
 *   kernel's size written back. If it knows a longer one, the rest is taken for 0,
 *   and is not written. A size below the first published one is EINVAL.
 * - Members called "reserved", bits without a name, and what is behind the end of a
 *   name, must be 0: else EINVAL.
 * - 0 is the default, but for pid, cpu and group_fd, which are as perf has them.
 *
 * What a file answers EOPNOTSUPP to, because a module cannot do it:
 * PERF_EVENT_IOC_SET_BPF and PERF_EVENT_IOC_QUERY_BPF; PERF_EVENT_IOC_PERIOD and
 * PERF_EVENT_IOC_MODIFY_ATTRIBUTES of an inherited event; and with TALLY_IOC_OPEN
 * PERF_FLAG_PID_CGROUP, and of perf_event_attr mmap, mmap2, mmap_data, build_id,
 * namespaces, ksymbol, bpf_event, text_poke, inherit_stat, aux_output, aux_action,
 * aux_watermark, aux_sample_size, PERF_SAMPLE_AUX, sigtrap with inherit or with TALLY_OPEN_REQUIRE, which tries the
 * event before it is asked for, the tracepoint ftrace:function, a kprobe or uprobe by
 * config1, and, but on x86, a breakpoint with a period.
 *
 * Samples. The file of an event has a ring, as perf's: 1 + 2^n pages are mapped, the
 * first one as struct perf_event_mmap_page, the others with records. Mapped with
 * PROT_WRITE, the reader tells by data_tail what it has read, and what finds no room is
 * lost: PERF_RECORD_LOST, and PERF_FORMAT_LOST of read(2). Read only, the newest records
 * take the place of the oldest. Records are perf's, byte for byte: PERF_RECORD_SAMPLE
 * with all of sample_type but PERF_SAMPLE_AUX, LOST, THROTTLE, UNTHROTTLE, and, of what
 * tasks do, COMM, FORK, EXIT, SWITCH, SWITCH_CPU_WIDE and CGROUP. The ids in them are
 * those of PERF_EVENT_IOC_ID.
 * - A file of an event on all CPUs has a ring for each of them, which is mapped at
 *   TALLY_RING_AT(cpu), and one poll(2) for all. TALLY_OPEN_MEMBER's events write to
 *   their leader's rings. PERF_EVENT_IOC_SET_OUTPUT gives the rings of a file of the
 *   same target.
 * - Memory is counted as perf counts it: EPERM, and a line in the kernel's log, for
 *   more than mlock_kbytes of the module's parameters for each online CPU, together with
 *   perf's own, and RLIMIT_MEMLOCK beyond that; not for CAP_IPC_LOCK. What
 *   kernel.perf_event_mlock_kb and perf_event_paranoid say, no module can read.
 * - PERF_EVENT_IOC_PAUSE_OUTPUT returns when nobody is in the middle of a record.
 * - PERF_EVENT_IOC_SET_FILTER is for tracepoints and kprobe:, in perf's language. It
 *   says EOPNOTSUPP of a frequency, of sigtrap, of an inherited event whose period is not
 *   1, of the tracepoints sched:sched_stat_*, which say themselves how much they count,
 *   and of what only perf can look at. A reader on another CPU may see what does not
 *   pass counted for a moment.
 * - UNTHROTTLE is told with the next sample, and a throttled event whose task moves
 *   may tell THROTTLE in one CPU's ring only.
 * - PERF_SAMPLE_READ with inherit is EINVAL, as perf before Linux 6.12. Later kernels'
 *   perf takes it together with PERF_SAMPLE_TID, and tells each task's own count.
 * - A child's stream id is its own, with the highest bit set.
 * - use_clockid takes all clocks for all kinds of events: they are read in the way
 *   that is fit for NMI, by which CLOCK_REALTIME, CLOCK_BOOTTIME and CLOCK_TAI may go
 *   back by a moment when they are adjusted.
 * - Call chains: perf knows whether a CPU was in a virtual machine; here, the host's
 *   part is told then. sample_max_stack is at most 127.
 * - Records of tasks: both halves of a switch are told as it begins; EXIT and FORK come
 *   within some microseconds of perf's; the path of a cgroup ends after 1023 bytes.
 * - It cannot be read by a direct write to a disk (O_DIRECT).
 *
 * What else differs from perf's files:
 * - poll() tells EPOLLHUP when the task has exited, or the event was released, and
 *   not while nothing is mapped; EPOLLIN | EPOLLRDNORM as perf, by wakeup_events or
 *   wakeup_watermark, and once for each wake-up, however much is left in the ring. So a
 *   file is added to an epoll set before it is enabled: epoll_ctl() looks, too.
 * - What comes while the reader is just being woken, or sent a signal, has that done
 *   once more a millisecond later, also if it is what the record tells of; so do those
 *   that follow each other by less than 100 microseconds, after 64 in a row.
 * - After the last overflow that PERF_EVENT_IOC_REFRESH allowed, the event counts on
 *   until it is disabled, a moment later. No sample or signal comes of that.
 * - The members of a group begin to count together, when all of them are enabled; each
 *   has samples from when it was enabled itself.
 * - An event on all CPUs that is in the error state on one of them is so for read(2),
 *   which then tells 0 bytes; TALLY_IOC_READ tells the other CPUs' parts.
 * - With O_ASYNC each overflow is a signal, as perf's, and each wake-up that a record of
 *   what tasks do makes, as newer kernels' perf has it; of an event on all CPUs the one
 *   that says POLL_HUP, of the last overflow that PERF_EVENT_IOC_REFRESH allowed, may
 *   come twice, or just before another one.
 * - PERF_EVENT_IOC_RESET lets begin again what children have counted, too.
 * - PERF_EVENT_IOC_MODIFY_ATTRIBUTES is ENODEV while the breakpoint's CPU is offline.
 * - What counts nothing is refused: switches and migrations with exclude_kernel, and
 *   everything excluded.
 * - One page that is mapped, PROT_READ and MAP_SHARED, has counts, and no ring's first
 *   page has: EACCES if it is to be written to, EINVAL for a private mapping and an
 *   inherited event, ENODEV if its owner has released it. Its capability bits are 0, and
 *   so is its index: no program can read a counter of tally's by rdpmc. It is written by
 *   any CPU, so a program reads again while the lowest bit of its lock is set, too.
 */
#ifndef _UAPI_LINUX_TALLY_H
#define _UAPI_LINUX_TALLY_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* What TALLY_IOC_INFO tells as its abi. It changes only if programs would break. */
#define TALLY_ABI		1

#define TALLY_IOC_MAGIC		0xDA

/* Of /dev/tally */
#define TALLY_IOC_INFO		_IO(TALLY_IOC_MAGIC, 0x00) /* struct tally_info */
#define TALLY_IOC_OPEN		_IO(TALLY_IOC_MAGIC, 0x01) /* struct tally_open */
#define TALLY_IOC_NEXT		_IO(TALLY_IOC_MAGIC, 0x02) /* struct tally_next */
#define TALLY_IOC_ATTACH	_IO(TALLY_IOC_MAGIC, 0x03) /* struct tally_attach */

/*
 * As prctl(PR_TASK_PERF_EVENTS_ENABLE) and _DISABLE: the event of each file that was
 * made by this open file of /dev/tally, and is still open, with its members that have
 * no file. No argument.
 */
#define TALLY_IOC_ENABLE_ALL	_IO(TALLY_IOC_MAGIC, 0x04)
#define TALLY_IOC_DISABLE_ALL	_IO(TALLY_IOC_MAGIC, 0x05)

/* Of the file of an event */
#define TALLY_IOC_READ		_IO(TALLY_IOC_MAGIC, 0x40) /* struct tally_read */
#define TALLY_IOC_RING_INFO	_IO(TALLY_IOC_MAGIC, 0x41) /* struct tally_ring_info */

/*
 * Where the ring of a CPU begins in a file that counts on all CPUs: the offset for
 * mmap(2). All other files have one ring, at 0.
 */
#define TALLY_RING_AT(cpu)	((__u64)(cpu) << 32)

/* The length of an event's name, its NUL included. */
#define TALLY_USER_NAME_LEN	64

/* The most events that one file can have. */
#define TALLY_USER_MEMBERS	64

/*
 * What was wrong with a call, so far as is known: struct tally_error's stage.
 *
 * REQUEST	the call itself: sizes, flags, pointers
 * SETTINGS	what is asked for is nothing that could be counted
 * LIMIT	the user has too much already: the module's parameters
 * TARGET	the task, the CPU or the other file is not there
 * PERMISSION	the caller may not
 * PERF		perf, or the PMU, refused to make the event
 * FILE		no file could be made
 */
#define TALLY_STAGE_NONE	0
#define TALLY_STAGE_REQUEST	1
#define TALLY_STAGE_SETTINGS	2
#define TALLY_STAGE_LIMIT	3
#define TALLY_STAGE_TARGET	4
#define TALLY_STAGE_PERMISSION	5
#define TALLY_STAGE_PERF	6
#define TALLY_STAGE_FILE	7

/*
 * Where it was wrong: struct tally_error's field. Members of the struct that the
 * call was given, or of perf_event_attr by the offset of the 8 or 4 bytes that
 * they are in; its one-bit members by their number, from 0 for "disabled" on,
 * precise_ip being 15 and 16.
 */
#define TALLY_FIELD_NONE	0
#define TALLY_FIELD_SIZE	1
#define TALLY_FIELD_FLAGS	2
#define TALLY_FIELD_ATTR	3
#define TALLY_FIELD_PID		4
#define TALLY_FIELD_CPU		5
#define TALLY_FIELD_GROUP_FD	6
#define TALLY_FIELD_PERF_FLAGS	7
#define TALLY_FIELD_PUBLISH_NS	8
#define TALLY_FIELD_NAME	9
#define TALLY_FIELD_RESERVED	10
#define TALLY_FIELD_ID		11
#define TALLY_FIELD_READ_FORMAT	12
#define TALLY_FIELD_ATTR_AT(offset)	(0x10000 | (offset))
#define TALLY_FIELD_ATTR_BIT(number)	(0x20000 | (number))

/**
 * struct tally_error - why a call failed
 *
 * Written by TALLY_IOC_OPEN and TALLY_IOC_ATTACH if they fail, when the struct
 * that they were given could be read; ignored as they read it.
 *
 * @error:	the errno; 0 if the call did not get so far
 * @stage:	TALLY_STAGE_*
 * @field:	TALLY_FIELD_*
 * @cpu:	on which CPU; -1 on none in particular
 * @text:	a sentence, without a full stop
 */
struct tally_error {
	__u32 error;
	__u32 stage;
	__u32 field;
	__s32 cpu;
	char text[112];
};

/*
 * What TALLY_IOC_INFO tells as its features.
 *
 * ALL_CPUS	TALLY_OPEN_ALL_CPUS
 * MEMBERS	TALLY_OPEN_MEMBER
 * PUBLISH	a page can be mapped
 * ATTACH	TALLY_IOC_NEXT and TALLY_IOC_ATTACH
 * RINGS	samples, in rings that can be mapped
 */
#define TALLY_FEATURE_ALL_CPUS	(1ULL << 0)
#define TALLY_FEATURE_MEMBERS	(1ULL << 1)
#define TALLY_FEATURE_PUBLISH	(1ULL << 2)
#define TALLY_FEATURE_ATTACH	(1ULL << 3)
#define TALLY_FEATURE_RINGS	(1ULL << 4)

/**
 * struct tally_info - what there is
 *
 * @size:		see above; written: the kernel's
 * @abi:		TALLY_ABI
 * @features:		TALLY_FEATURE_*
 * @attr_size:		of the perf_event_attr that this kernel knows
 * @nr_cpus:		every CPU's number is below this one
 * @files_per_user:	how many files one user may have; 0 is no limit
 * @events_per_user:	how many of perf's events: one for each event and CPU
 * @memory_per_user:	how many bytes for all of that
 * @publish_min_ns:	the shortest interval of a published count, of up to 8 events
 *			in a file and 64 in all on its CPUs; for more it is so many times
 *			that
 * @publish_max_ns:	the longest one
 * @publish_default_ns:	that of a file that was opened without one
 *
 * Errors: EFAULT, E2BIG, EINVAL for a size below 64.
 */
struct tally_info {
	__u32 size;
	__u32 abi;
	__aligned_u64 features;
	__u32 attr_size;
	__u32 nr_cpus;
	__u32 files_per_user;
	__u32 events_per_user;
	__aligned_u64 memory_per_user;
	__aligned_u64 publish_min_ns;
	__aligned_u64 publish_max_ns;
	__aligned_u64 publish_default_ns;
};

/*
 * struct tally_open's flags.
 *
 * ALL_CPUS	count on every CPU, with pid and cpu -1. read() tells the sum,
 *		TALLY_IOC_READ each CPU's part. CPUs may come and go.
 * MEMBER	the event becomes a part of the file group_fd, with no file of its
 *		own: the call returns its place there, from 1 on. It ends with that
 *		file. Its place is one less when a sibling before it is closed.
 * REQUIRE	EBUSY if it cannot count right now, rather than wait for room on the
 *		PMU; also if it is disabled, or its leader is, as it is tried. EINVAL
 *		if it waits for exec().
 */
#define TALLY_OPEN_ALL_CPUS	(1U << 0)
#define TALLY_OPEN_MEMBER	(1U << 1)
#define TALLY_OPEN_REQUIRE	(1U << 2)

/**
 * struct tally_open - make an event
 *
 * @size:	see above
 * @flags:	TALLY_OPEN_*
 * @attr:	address of a struct perf_event_attr of any published size
 * @pid:	as for perf_event_open(2): a task in the caller's PID namespace, 0
 *		for the caller, -1 for whatever runs on @cpu
 * @cpu:	as for perf_event_open(2): a CPU; -1 for wherever the task runs
 * @group_fd:	the file of the group's leader; -1 for none
 * @reserved:	0
 * @perf_flags:	PERF_FLAG_FD_CLOEXEC, PERF_FLAG_FD_NO_GROUP, PERF_FLAG_FD_OUTPUT
 * @publish_ns:	how often what is counted is published in the page that can be
 *		mapped, in nanoseconds; 0 for the default. Nothing is published while
 *		nobody has it mapped. Less than the default needs CAP_PERFMON.
 * @name:	what the event is called in debugfs, of fewer than 64 characters that
 *		are printable, no blank and no '/'; an event without a name has no
 *		folder there
 * @error:	written if the call fails
 *
 * A sibling of a pinned leader is pinned, too. perf puts each event on the PMU by
 * itself: that all of a group were there at the same time TALLY_READ_RATIO tells.
 *
 * Returns a file, or with TALLY_OPEN_MEMBER a number. Errors: those of
 * perf_event_open(2), for the same reasons, where there is no other one below.
 *
 * EACCES	without CAP_PERFMON; sigtrap for another process without CAP_KILL
 * E2BIG	a struct of a later kernel, with something in it that this one does
 *		not know; more than 64 events in a group
 * EBADF	group_fd is no file of an event of tally
 * EBUSY	with TALLY_OPEN_REQUIRE
 * EDQUOT	the user has too many files, events, or too much memory
 * EEXIST	the name is taken
 * EINVAL	a setting that cannot be; group_fd is no leader, or counts something
 *		else than the same task and CPU
 * EOPNOTSUPP	what a module cannot do, see above; a sibling of an exclusive leader, which
 *		would keep it off the PMU; one with enable_on_exec whose leader does not
 *		wait for exec()
 */
struct tally_open {
	__u32 size;
	__u32 flags;
	__aligned_u64 attr;
	__s32 pid;
	__s32 cpu;
	__s32 group_fd;
	__u32 reserved;
	__aligned_u64 perf_flags;
	__aligned_u64 publish_ns;
	char name[TALLY_USER_NAME_LEN];
	struct tally_error error;
};

/*
 * What an event is doing: struct tally_value's and struct tally_next's state. The
 * words are those of debugfs.
 */
#define TALLY_IS_OFF		0
#define TALLY_IS_INACTIVE	1
#define TALLY_IS_ACTIVE		2
#define TALLY_IS_ERROR		3
#define TALLY_IS_OFFLINE	4
#define TALLY_IS_EXITED		5
#define TALLY_IS_THROTTLED	6
#define TALLY_IS_RELEASED	7

/**
 * struct tally_value - what one event has counted
 *
 * @value:	how much; nanoseconds for a clock
 * @enabled_ns:	how long it was enabled, in nanoseconds, summed over the CPUs
 * @running_ns:	how long it really counted; 0 says that @value is no count
 * @id:		of the event, as PERF_EVENT_IOC_ID tells it
 * @state:	TALLY_IS_*
 * @reserved:	0
 */
struct tally_value {
	__aligned_u64 value;
	__aligned_u64 enabled_ns;
	__aligned_u64 running_ns;
	__aligned_u64 id;
	__u32 state;
	__u32 reserved;
};

/*
 * struct tally_read's flags.
 *
 * RATIO	written: all values are of the same time, and can be divided by each
 *		other. It may be set as the call is made, and means nothing then.
 */
#define TALLY_READ_RATIO	(1U << 0)

/**
 * struct tally_read - what a file's events have counted, with their states
 *
 * @size:	see above
 * @flags:	written: TALLY_READ_*
 * @cpu:	-1 for all of it, or the CPU whose part is wanted
 * @nr:		how many values there is room for; written: how many there are
 * @values:	address of an array of struct tally_value: of the event, if it leads
 *		a group of all members of that, in the order of their making
 * @time_ns:	written: when they were read, by the clock of the CPU that counts
 *
 * Errors: EINVAL for a flag that has no name, and a CPU that does not exist or that
 * the events are not on, ENODEV for one that their PMU does not serve, ENOSPC if
 * there is no room, with @nr written.
 */
struct tally_read {
	__u32 size;
	__u32 flags;
	__s32 cpu;
	__u32 nr;
	__aligned_u64 values;
	__aligned_u64 time_ns;
};

/**
 * struct tally_next - an event that exists, whoever made it
 *
 * @size:	see above
 * @state:	written: TALLY_IS_*
 * @id:		the event after this one is told; 0 for the first. Written: its id.
 * @type:	written: perf_event_attr's type
 * @cpu:	written: which CPU; -1 for all, or wherever the task runs
 * @config:	written: perf_event_attr's config; 0 if it may be an address, and the
 *		caller lacks CAP_PERFMON
 * @pid:	written: which task, in the caller's PID namespace; -1 for none, 0
 *		for one that is not in it
 * @reserved:	0
 * @name:	written: what it is called; nothing if that may tell an address, and the
 *		caller lacks CAP_PERFMON
 * @owner:	written: the module that made it; "tally" for what was made by this
 *		device, by debugfs, or when the module was loaded
 * @what:	written: what it counts, as the line of text that debugfs takes;
 *		addresses only for a caller with CAP_PERFMON
 *
 * Events come in the order in which they were made; one that was made or released
 * meanwhile may be told or not. Errors: ENOENT after the last one.
 */
struct tally_next {
	__u32 size;
	__u32 state;
	__aligned_u64 id;
	__u32 type;
	__s32 cpu;
	__aligned_u64 config;
	__s32 pid;
	__u32 reserved;
	char name[TALLY_USER_NAME_LEN];
	char owner[TALLY_USER_NAME_LEN];
	char what[128];
};

/**
 * struct tally_attach - a file for an event that exists
 *
 * @size:		see above
 * @reserved:		0
 * @id:			which event; 0 to go by @name
 * @perf_flags:		PERF_FLAG_FD_CLOEXEC
 * @read_format:	as perf_event_attr's; without PERF_FORMAT_GROUP
 * @publish_ns:		as for TALLY_IOC_OPEN
 * @name:		which event, if @id is 0
 * @error:		written if the call fails
 *
 * A file that is attached has no ring of its own, and writes no records: PERF_FORMAT_LOST
 * is 0. It shows those of the event's owner, if that allows it: struct tally_ring_info.
 *
 * The file counts from here on: its value and times begin at 0, and
 * PERF_EVENT_IOC_RESET lets its value begin again, for this file alone. It cannot
 * enable, disable or change the event: EPERM. When the event's owner releases it,
 * the file keeps the final count, and poll() tells EPOLLHUP.
 *
 * Returns a file. Errors: ENOENT no such event, EDQUOT, EINVAL; EACCES without
 * CAP_PERFMON, for an event of another process, and of any but the usual kinds:
 * hardware, software and caches.
 */
struct tally_attach {
	__u32 size;
	__u32 reserved;
	__aligned_u64 id;
	__aligned_u64 perf_flags;
	__aligned_u64 read_format;
	__aligned_u64 publish_ns;
	char name[TALLY_USER_NAME_LEN];
	struct tally_error error;
};

/*
 * struct tally_ring_info's flags.
 *
 * BACKWARD	perf_event_attr's write_backward: each record lies in front of the one
 *		before, and takes the place of the oldest
 * SAMPLE_ID	perf_event_attr's sample_id_all: other records than samples end with the
 *		fields of sample_type that identify a sample
 */
#define TALLY_RING_INFO_BACKWARD	(1U << 0)
#define TALLY_RING_INFO_SAMPLE_ID	(1U << 1)

/**
 * struct tally_ring_info - the rings of another one's event
 *
 * @size:		see above; written: the kernel's
 * @flags:		written: TALLY_RING_INFO_*
 * @sample_type:	written: perf_event_attr's sample_type
 * @pages:		written: pages of records in each ring; a power of two
 * @rings:		written: the number of rings; ring n is mapped at TALLY_RING_AT(n), and
 *			is that of CPU n if there are several
 *
 * The kernel module that owns an event may allow programs to look into its rings
 * (TALLY_RING_SHARED of <tally/tally.h>). A file that was attached to the event by a
 * caller with CAP_PERFMON maps them: 1 + @pages pages, PROT_READ and MAP_SHARED. The
 * first page is a struct perf_event_mmap_page. The program sees the very pages that the
 * kernel writes, and cannot change them: data_tail is the module's, records stay in the
 * ring as long as the module lets them, and poll(2) reports the end of the event
 * (EPOLLHUP), never records. The mapping stays when the owner releases the event, and its
 * contents do not change from then on.
 *
 * A program that copies a ring while the event goes on reads data_head and data_tail
 * again afterwards:
 * - forward, the records from data_tail to data_head are whole, and remain so until
 *   data_tail moves: what lies in front of the new data_tail may have been written over.
 * - with BACKWARD, the records from data_head on are whole. What was written meanwhile,
 *   and up to 256 KiB that are being written, have taken the place of the oldest ones.
 *   Nothing is written while the owner keeps the ring frozen: then data_head stands
 *   still.
 *
 * Errors: EACCES if the owner does not share its rings, or the file was attached without
 * CAP_PERFMON, ENODEV if the owner has released the event, ENOTTY for a file that is not
 * attached, EFAULT, E2BIG, EINVAL for a size below 24. Those of mmap(2): the same, EACCES
 * for PROT_WRITE, EINVAL for another size or offset, and for a private mapping.
 */
struct tally_ring_info {
	__u32 size;
	__u32 flags;
	__aligned_u64 sample_type;
	__u32 pages;
	__u32 rings;
};

/*
 * The page that can be mapped begins as a struct perf_event_mmap_page, in which
 * lock, offset, time_enabled and time_running are used as the manual page of
 * perf_event_open(2) says. At TALLY_PAGE_AT bytes from its beginning there is
 * more of the same moment, under the same lock.
 */
#define TALLY_PAGE_AT		2048

/**
 * struct tally_page_value - what one event had counted
 * @value:	as struct tally_value
 * @enabled_ns:	as struct tally_value
 * @running_ns:	as struct tally_value
 */
struct tally_page_value {
	__aligned_u64 value;
	__aligned_u64 enabled_ns;
	__aligned_u64 running_ns;
};

/**
 * struct tally_page - what the page has besides what perf's has
 * @time_ns:	when this was written, by CLOCK_MONOTONIC; 0 not yet
 * @nr:		how many values there are
 * @state:	TALLY_IS_* of the first
 * @values:	of the file's event, and of those that are in its group
 */
struct tally_page {
	__aligned_u64 time_ns;
	__u32 nr;
	__u32 state;
	struct tally_page_value values[TALLY_USER_MEMBERS];
};

#endif /* _UAPI_LINUX_TALLY_H */
