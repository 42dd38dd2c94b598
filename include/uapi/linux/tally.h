/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * tally: counters that live in the kernel, for user programs.
 *
 * /dev/tally makes files of events. Such a file behaves as one of perf_event_open(2):
 * it takes the ioctls PERF_EVENT_IOC_*, read(2) returns the layouts of read_format,
 * and mmap(2) gives perf's page and perf's rings. Beyond perf, one file can count on
 * all CPUs, CPUs that come online later included; one file can hold 64 events; a file
 * can read an event that another program or a kernel module has made; and counts are
 * published in a page that is read without a system call.
 *
 *	struct perf_event_attr attr = {
 *		.size = sizeof(attr),
 *		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS,
 *	};
 *	struct tally_error why = { .size = sizeof(why) };
 *	struct tally_open o = {
 *		.size = sizeof(o), .attr = (unsigned long)&attr,
 *		.pid = -1, .cpu = -1, .group_fd = -1, .flags = TALLY_OPEN_ALL_CPUS,
 *		.error = (unsigned long)&why,
 *	};
 *	int dev = open("/dev/tally", O_RDWR | O_CLOEXEC);
 *	int fd = ioctl(dev, TALLY_IOC_OPEN, &o);
 *	__u64 count;
 *
 *	if (fd < 0)
 *		errx(1, "%s", why.text[0] ? why.text : strerror(errno));
 *	...
 *	read(fd, &count, sizeof(count));
 *
 * Structs
 * - The first member of each struct that is given to an ioctl is the struct's size, as the program
 *   knows it. A program's struct may be longer than the kernel's: what the kernel does not know
 *   must be 0, else the call fails with E2BIG and writes the kernel's size to the first member. It
 *   may be shorter: the kernel takes the rest for 0 and does not write it. A size below the first
 *   published one is EINVAL. Where the kernel writes the size, it writes the smaller one of the
 *   program's and its own, so that the struct can be given again.
 * - Reserved members, unknown flags and the bytes behind the end of a name must be 0, else EINVAL.
 * - 0 is the default of every member but pid, cpu and group_fd, which are perf's.
 * - struct tally_value and struct tally_page_value stand in arrays. value_size says how far apart
 *   they are, so that they can grow, too.
 * - Programs that were built for TALLY_ABI 1 cannot make files: EPROTO, with a sentence.
 *
 * Rights
 * - Opening /dev/tally takes the device's file mode. It is root's, unless a udev rule gives it to
 *   others: see "Group access".
 * - Without the module parameter perfmon=1, tally refuses every event that perf_event_open(2) of
 *   the same kernel refuses the same caller.
 *   It refuses more where a module cannot see what perf decides by, above all
 *   kernel.perf_event_paranoid. An event takes:
 *
 *	level		kernels with level 3	other kernels
 *	below 2		as for perf		as for perf
 *	2, 3		CAP_SYS_ADMIN		as for perf
 *	not seen	CAP_SYS_ADMIN		CAP_PERFMON, but for one's own user space
 *
 *   Debian's kernels have level 3. The level is not seen in kernels that do not export
 *   perf_allow_kernel(), such as 6.1. With the parameter perfmon=1 of the module, CAP_PERFMON
 *   replaces CAP_SYS_ADMIN in this table.
 * - The next table has a column for each kind of caller. ADMIN has CAP_SYS_ADMIN. PERFMON has
 *   CAP_PERFMON, where the table above does not say CAP_SYS_ADMIN. All others are LOW at a level
 *   below 2, and HIGH at a higher level and where the level is not seen. Where the rest of this
 *   file says CAP_PERFMON, it means callers of the first two columns.
 *
 *	call				ADMIN	PERFMON	LOW		HIGH
 *	TALLY_IOC_OPEN of an event
 *	  of the own process
 *	    user space			yes	yes	yes		yes (a)
 *	    kernel, its call chains	yes	yes	yes		EACCES
 *	    PERF_SAMPLE_PHYS_ADDR	yes	yes	yes		EACCES
 *	    tracepoint			yes	yes	yes		EACCES
 *	    sampled tracepoint		yes	yes	EPERM (b)	EACCES
 *	    filtered tracepoint		yes	yes	EOPNOTSUPP (b)	EACCES
 *	  of another process		yes	yes	EACCES		EACCES
 *	    with sigtrap		(c)	(c)	EACCES		EACCES
 *	    in a group handed on	yes	yes	EACCES		EACCES
 *	  on CPUs, also of a cgroup
 *	    user space			yes	yes	EACCES (d)	EACCES (a, d)
 *	    kernel			yes	yes	EACCES (d)	EACCES
 *	  kprobe			yes	yes	EACCES		EACCES
 *	  breakpoint in the kernel	yes (e)	EPERM	EPERM		EACCES
 *	  with a name			yes	yes	EACCES		EACCES
 *	  short publish_ns		yes	yes	EACCES		EACCES
 *	INFO, ENABLE_ALL, DISABLE_ALL	yes	yes	yes		yes
 *	TALLY_IOC_NEXT			yes	yes	no addresses	no addresses
 *	TALLY_IOC_ATTACH to an event
 *	  of hardware, software, cache
 *	    own process, CPU, all CPUs	yes	yes	yes		yes
 *	  of another process, a cgroup,
 *	  inherited			yes	yes	EACCES		EACCES
 *	  of any other type		yes	yes	EACCES		EACCES
 *	  by a name that tally made up	yes	yes	(g)		(g)
 *	  short publish_ns		yes	yes	EACCES		EACCES
 *	  TALLY_ATTACH_TOTAL		yes	yes	EACCES		EACCES
 *	file that was attached
 *	  read, page of counts, RESET	yes	yes	copies		copies
 *	  TALLY_IOC_READ of one CPU	yes	yes	EACCES		EACCES
 *	  RING_INFO, rings, BUDGET	yes	yes	EACCES		EACCES
 *	  all else that changes it	EPERM	EPERM	EPERM		EPERM
 *	file that was handed on
 *	  all that its maker may	yes	yes	yes		yes
 *	  breakpoint into the kernel	yes (e)	EPERM	EPERM		EPERM
 *	TALLY_IOC_LINE			yes	yes	EACCES		EACCES
 *	TALLY_IOC_PARSE of a kprobe	yes	yes	EACCES		EACCES
 *	write to debugfs create, remove	yes	yes (f)	EACCES		EACCES
 *
 *	(a) EACCES in kernels with level 3; (c) yes with CAP_KILL, else EACCES; (d) yes below 1
 *	(b) yes below level 0; at each level for syscalls:*, raw_syscalls:* and uprobes
 *	(e) this and EPERM are EINVAL on arm64, which has such breakpoints for CPUs only
 *	(f) in kernels with level 3: if CAP_SYS_ADMIN opened the file, or with perfmon=1
 *	(g) ENOENT where the rows above say EACCES, and if the name may have an address; else as
 *	    they say
 *
 * - The rows of tracepoints and of breakpoints in the kernel are without exclude_kernel.
 * - A capability that a user namespace gives does not count. From level 2 on, and where the
 *   level is not seen, a program in such a namespace makes no event.
 * - An attached file has the rights of the caller that attached it, whoever uses it.
 *
 * Group access
 * A user who may open the device, and has no capability,
 * - makes the events that the columns LOW and HIGH show: perf grants them without the device, too;
 * - reads copies of the counts of all hardware, software and cache events on CPUs that others
 *   count, which perf does not grant from level 1 on: a count of a CPU changes at most once each
 *   publish_default_ns of struct tally_info;
 * - sees which events exist, and what they count unless that may be an address: also the module,
 *   the CPU, the state, and the process if it is in the caller's PID namespace;
 * - learns which names of events the machine has, by TALLY_IOC_PARSE;
 * - takes kernel memory and events up to the limits below.
 *
 * Limits
 * - Each open device, file and event is charged to its user: see files_per_user and the members
 *   behind it in struct tally_info. EDQUOT reports that a limit is reached; open(2) of the device
 *   can report it, too. A file is also charged for its filter (EDQUOT of
 *   PERF_EVENT_IOC_SET_FILTER), and for each child that it follows (inherit). A child beyond
 *   memory_per_user is counted, but has no records; the kernel log says so. Events of
 *   TALLY_IOC_LINE are charged to nobody, as those of debugfs.
 * - Pages of rings are charged as locked memory: mlock_kbytes of the module's parameters for each
 *   online CPU, shared with perf's own rings, then RLIMIT_MEMLOCK. mmap(2) of more is EPERM, with a
 *   line in the kernel log, unless the caller has CAP_IPC_LOCK.
 *
 * Rings
 * - A mapping of 1 + 2^n pages is a ring: a struct perf_event_mmap_page, then records. Mapped with
 *   PROT_WRITE, the ring keeps what the reader has not passed with data_tail. A record that finds
 *   no room is lost: it is counted by the next PERF_RECORD_LOST and by PERF_FORMAT_LOST. Mapped
 *   read-only, the ring overwrites its oldest records. A ring has at most 2 GiB of records, else
 *   mmap(2) is EINVAL.
 * - The file of an event on all CPUs has a ring for each CPU, mapped at TALLY_RING_AT(cpu), and one
 *   poll(2) for all. Other files have one ring, at 0.
 * - An event made with TALLY_OPEN_MEMBER writes to the rings of its leader. Other events write to
 *   another file's rings after PERF_EVENT_IOC_SET_OUTPUT, under perf's conditions; both files count
 *   on all CPUs, or neither does. Only the rings that are mapped at that moment are shared.
 * - Records have perf's layouts: PERF_RECORD_SAMPLE (with every bit of sample_type but
 *   PERF_SAMPLE_AUX), LOST, THROTTLE, UNTHROTTLE, and the records of tasks: COMM, FORK, EXIT,
 *   SWITCH, SWITCH_CPU_WIDE and CGROUP. Their ids are those of PERF_EVENT_IOC_ID. Ids of events
 *   are greater than 1 << 62, and perf's count from 1: one reader can tell records of both apart.
 * - poll(2) returns EPOLLIN | EPOLLRDNORM once for each wake-up (wakeup_events, wakeup_watermark),
 *   however much the ring holds. epoll_ctl(2) polls, too, and consumes a wake-up: a program adds a
 *   file to an epoll set before it enables the event. With O_ASYNC, each overflow and each wake-up
 *   by a record of a task sends a signal, but for those of events without a file of their own.
 *
 * Page of counts
 * - A mapping of one page, PROT_READ and MAP_SHARED, has the file's counts: see struct tally_page.
 *   Counts are published while at least one program has the page mapped. EACCES for a mapping with
 *   PROT_WRITE; EINVAL for a private mapping and for an inherited event; ENODEV for an attached
 *   file whose event was released; EOPNOTSUPP if debugfs' file tricks has "times" off or wrong.
 * - A timer of each busy CPU publishes what the CPU has counted; for the event of a task, of the
 *   CPU that the task runs on. The timer ends when it finds the CPU idle, and begins again at a
 *   tick that finds the CPU busy, an interval later at the earliest. CPUs of nohz_full= have no
 *   timer. What an idle CPU, or one that is busy between its ticks only, has counted since is not
 *   in the page. PERF_EVENT_IOC_ENABLE, DISABLE and RESET publish all counts at once, but for
 *   RESET of a file that was attached without CAP_PERFMON: see struct tally_attach.
 *
 * Filters
 * - PERF_EVENT_IOC_SET_FILTER takes perf's language, for tracepoints and kprobe: events. It is
 *   EOPNOTSUPP for an event with a frequency or sigtrap, for an inherited event whose period is not
 *   1, for the tracepoints sched:sched_stat_*, which say themselves how much they count, and for
 *   sched:sched_wak* of a task on one CPU, which perf also counts while the task does not run. It
 *   is EINVAL for a filter with sets of CPUs ("CPUS{0-3}") or functions ("ip.function ==
 *   schedule"), E2BIG for one with more than 16384 comparisons, and ENODEV while the event's CPU is
 *   offline. For an event that only counts, it is EOPNOTSUPP if the trick "hand-over" is off.
 * - A record that does not pass the filter is counted for a moment, until tally takes it off:
 *   modules see a record only after perf has counted it. If the event is enabled or reset at that
 *   moment, its count begins at -1.
 *
 * Not supported
 * The kernel gives modules no access to what these need, so they are EOPNOTSUPP:
 * - ioctls: PERF_EVENT_IOC_SET_BPF and PERF_EVENT_IOC_QUERY_BPF; PERF_EVENT_IOC_PERIOD and
 *   PERF_EVENT_IOC_MODIFY_ATTRIBUTES of an inherited event;
 * - members of perf_event_attr: mmap, mmap2, mmap_data, build_id, namespaces, ksymbol, bpf_event,
 *   text_poke, inherit_stat, aux_output, aux_action, aux_sample_size, and PERF_SAMPLE_AUX of
 *   sample_type;
 * - sigtrap with inherit; sigtrap with TALLY_OPEN_REQUIRE, which tries the event before the program
 *   may have its signal;
 * - every event of a PMU with AUX areas, such as Intel PT;
 * - the tracepoint ftrace:function, and a kprobe or uprobe by config1;
 * - a breakpoint with a period on other machines than x86.
 *
 * Differences from perf's files, each as: perf's behaviour / tally's / the reason.
 * Rights and limits:
 * - Who may count: kernel.perf_event_paranoid decides, and ptrace's rules for other processes /
 *   fewer callers: see "Rights" / modules cannot read the level, nor ask ptrace_may_access().
 * - Sampled tracepoints without PERF_SAMPLE_RAW: opened at levels 0 and 1 / EPERM without
 *   CAP_PERFMON / a filter may come later, which reads the raw record.
 * - Locked memory: kernel.perf_event_mlock_kb / the parameter mlock_kbytes, of the same default /
 *   modules cannot read the former.
 * Counting:
 * - PERF_EVENT_IOC_RESET of an inherited event: the children's counts stay / they begin at 0, too /
 *   the value that is read next is 0.
 * - Groups: all events are on the PMU together / those of the PMU of the cores are, on x86 and
 *   arm64, and since Linux 6.2 the software events that join them. Software events before them,
 *   those of other PMUs (as precise ones on AMD), siblings that overflow, and those of a task where
 *   cores differ, are on their own; the one pair of times that PERF_FORMAT_GROUP has is then the
 *   leader's alone / Linux 6.2 to 6.15 does not start a sibling again that was throttled.
 * - Start of a group: the PMU starts its events together / all count from the moment the last one
 *   is on; the samples of each begin when it is on itself / some are in no group of perf.
 * - A group with two equal events of the PMU: each takes a counter / they share one.
 * - A leader without PERF_FORMAT_GROUP: leads / may share a counter with equal events, and then no
 *   member is on the PMU together with it / the group would hold up the others.
 * - Generic events of a task, where cores differ: one kind counts / all do / the task is whole.
 * - PERF_EVENT_IOC_MODIFY_ATTRIBUTES while the breakpoint's CPU is offline: succeeds / ENODEV /
 *   there is no event of perf to modify then.
 * - The last overflow that PERF_EVENT_IOC_REFRESH allows: the event stops with it / the event
 *   counts on until a kernel thread disables it, without samples and signals / modules cannot
 *   disable an event in its overflow.
 * Page of counts:
 * - Reading by rdpmc: the index names a counter / cap_user_rdpmc and index are 0 / modules cannot
 *   permit rdpmc.
 * - Writer of the page: the CPU that the event counts on / any CPU, so a program reads again while
 *   lock is odd, and not only when lock has changed / one page has the sum of all CPUs.
 * - First page of a ring: has counts, so another page of the file is EINVAL / has none, and the
 *   page of counts can be mapped as well / counts are in the page of counts.
 * poll(2) and signals:
 * - A file without a ring: EPOLLHUP / nothing, until its task has exited or its event was released,
 *   which is EPOLLHUP / such files are polled for these ends.
 * - A wake-up or signal while its CPU delivers another one, or after 64 in a row less than 100
 *   microseconds apart: at once / 1 ms later / an event may count what wake-ups do, and would wake
 *   its reader for ever.
 * - POLL_HUP of O_ASYNC for the last overflow that PERF_EVENT_IOC_REFRESH allows: once / on all
 *   CPUs maybe twice, or just before another signal / overflows of several CPUs share one signal.
 * - POLL_HUP of O_ASYNC when the task has exited, or an attached event is released: none, but for
 *   one that is due / one / a program that waits for signals learns the end.
 * - PERF_EVENT_IOC_REFRESH of an event with sigtrap: limits the signals / EINVAL / perf sends them.
 * Rings and records:
 * - PERF_EVENT_IOC_PAUSE_OUTPUT: returns while a record may still be written / returns when no
 *   record is being written / a paused ring can be read as a whole.
 * - UNTHROTTLE: written when the event starts again / written in front of the next sample in that
 *   ring / modules do not see the start. An inherited event's children share one such state in each
 *   ring.
 * - PERF_SAMPLE_READ with inherit: EINVAL before Linux 6.12, later accepted with PERF_SAMPLE_TID,
 *   with each task's own count / EINVAL / it would take as much code as all other reads in samples.
 * - Stream id of a child's records: the id of perf's event / the same, with the highest bit set /
 *   no event of tally or of perf has an id that is equal to it.
 * - use_clockid with CLOCK_REALTIME, CLOCK_BOOTTIME or CLOCK_TAI: EINVAL for events that may
 *   overflow in NMI / accepted for all, and a time may lie before the one in front of it when the
 *   clock is adjusted / the clocks are read as NMI allows.
 * - Call chains: up to kernel.perf_event_max_stack entries / up to 127, else EOVERFLOW / modules
 *   cannot read the limit. An overflow in a virtual machine: a mark, no addresses / the host's call
 *   chain / only perf learns from KVM that a virtual machine runs.
 * - PERF_SAMPLE_IP of a 32-bit program on x86 with a code segment of its own: the segment's base is
 *   in it / is not / a module cannot read the base.
 * - SWITCH and SWITCH_CPU_WIDE: the half of the new task is written when that runs / both halves
 *   are written when the switch begins / there is one tracepoint. COMM, FORK: as perf's / COMM just
 *   before, FORK just after the time of perf's / the tracepoints' places. EXIT: with the end of the
 *   task's events / before or after it, at no fixed distance / the tracepoint's place differs
 *   between kernels. EXIT at exec() of a program that may not be dumped: for the task and for each
 *   CPU / for the task / modules see this exec() only of a task that has an event.
 * - A sibling with enable_on_exec whose leader is enabled, disabled and enabled again before
 *   exec(): waits on / counts / a module cannot have perf's event wait again.
 * - Records of tasks of a sibling: while it is enabled / while its leader is, too / a sibling is on
 *   only with its leader.
 * - Records of a child: while its own copy of the event is enabled / while the event is enabled /
 *   modules do not see the copy.
 * - CGROUP: of new cgroups, and of all when the controller moves / of new ones, with at most 1023
 *   bytes of path / modules see new ones.
 * - PERF_EVENT_IOC_SET_FILTER: what does not pass is never counted / it is counted and taken back,
 *   and another CPU may read it in between / a module's handler runs after perf has counted.
 * - PERF_EVENT_IOC_SET_FILTER of an event that counts: nothing is missed / what happens on a CPU in
 *   the microseconds of the change is not counted / the event goes on with another event of perf,
 *   which has a handler.
 * - Writing the ring to a file with O_DIRECT: possible / EFAULT / the pages are not the program's
 *   own.
 */
#ifndef _UAPI_LINUX_TALLY_H
#define _UAPI_LINUX_TALLY_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* struct tally_info's abi. It changes only when programs would break. */
#define TALLY_ABI		2
#define TALLY_IOC_MAGIC		0xDA

/* ioctls of /dev/tally */
#define TALLY_IOC_INFO		_IO(TALLY_IOC_MAGIC, 0x00) /* struct tally_info */
#define TALLY_IOC_NEXT		_IO(TALLY_IOC_MAGIC, 0x02) /* struct tally_next */
#define TALLY_IOC_OPEN		_IO(TALLY_IOC_MAGIC, 0x06) /* struct tally_open */
#define TALLY_IOC_ATTACH	_IO(TALLY_IOC_MAGIC, 0x07) /* struct tally_attach */
#define TALLY_IOC_LINE		_IO(TALLY_IOC_MAGIC, 0x08) /* struct tally_line */
#define TALLY_IOC_PARSE		_IO(TALLY_IOC_MAGIC, 0x09) /* struct tally_parse */

/*
 * Enable or disable, as prctl(PR_TASK_PERF_EVENTS_ENABLE) and _DISABLE, the event of each
 * open file that this open /dev/tally has made with TALLY_IOC_OPEN, and its members
 * without a file. No argument.
 */
#define TALLY_IOC_ENABLE_ALL	_IO(TALLY_IOC_MAGIC, 0x04)
#define TALLY_IOC_DISABLE_ALL	_IO(TALLY_IOC_MAGIC, 0x05)

/* ioctls of the file of an event */
#define TALLY_IOC_RING_INFO	_IO(TALLY_IOC_MAGIC, 0x41) /* struct tally_ring_info */
#define TALLY_IOC_READ		_IO(TALLY_IOC_MAGIC, 0x42) /* struct tally_read */

#define TALLY_IOC_BUDGET	_IO(TALLY_IOC_MAGIC, 0x43) /* struct tally_budget_info */

/* Offset for mmap(2) of a CPU's ring, in bytes, in a file that counts on all CPUs. */
#define TALLY_RING_AT(cpu)	((__u64)(cpu) << 32)

/* Size of an event's name in bytes, its NUL included. */
#define TALLY_USER_NAME_LEN	64

/* Greatest number of events in one file. */
#define TALLY_USER_MEMBERS	64

/*
 * struct tally_error's stage: the part of a call that failed.
 *
 * NONE		unknown
 * REQUEST	the call itself: sizes, flags, pointers
 * SETTINGS	the settings of the event: no event can have them
 * LIMIT	the user's limits: see the module's parameters
 * TARGET	the task, the CPU or the other file: it does not exist, or does not fit
 * PERMISSION	the caller's rights
 * PERF		perf or the PMU: they refused the event
 * FILE		the new file: no descriptor or no memory for it
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
 * struct tally_error's field: the member that was refused. It is a member of the struct
 * that the call was given, or of its perf_event_attr. LINE is the text of TALLY_IOC_LINE and
 * TALLY_IOC_PARSE, and FLAGS also the op of TALLY_IOC_LINE. ATTR_AT(offset) has the offset in
 * bytes, ATTR_BIT(number) the number of a one-bit member, from 0 for "disabled" on;
 * precise_ip is 15 and 16.
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
#define TALLY_FIELD_LINE	13
#define TALLY_FIELD_ATTR_AT(offset)	(0x10000 | (offset))
#define TALLY_FIELD_ATTR_BIT(number)	(0x20000 | (number))

/**
 * struct tally_error - the cause of a failure
 *
 * TALLY_IOC_OPEN, ATTACH, LINE and PARSE write it when they fail, to the address in their member
 * error. They write nothing if that is 0, or if the struct of the ioctl cannot be read or has a
 * wrong size.
 *
 * @size:	size of the struct, in bytes; written: the smaller of it and the kernel's
 * @error:	written: errno
 * @stage:	written: TALLY_STAGE_*
 * @field:	written: TALLY_FIELD_*
 * @cpu:	written: CPU that the event was refused on; -1 for none in particular
 * @reserved:	written: 0
 * @text:	written: sentence without a full stop, with its NUL
 *
 * A size below 136 is EINVAL, an address that cannot be read is EFAULT; no event is made then.
 */
struct tally_error {
	__u32 size;
	__u32 error;
	__u32 stage;
	__u32 field;
	__s32 cpu;
	__u32 reserved;
	char text[112];
};

/*
 * struct tally_info's features: what this kernel can do, so that a tool need not try.
 *
 * ALL_CPUS		TALLY_OPEN_ALL_CPUS
 * MEMBERS		TALLY_OPEN_MEMBER
 * PUBLISH		the page of counts
 * ATTACH		TALLY_IOC_NEXT and TALLY_IOC_ATTACH
 * RINGS		rings with records, forward and backward
 * SHARED_RINGS		TALLY_IOC_RING_INFO
 * FILTERS		PERF_EVENT_IOC_SET_FILTER
 * BREAKPOINTS		PERF_TYPE_BREAKPOINT
 * BREAKPOINT_PERIODS	PERF_TYPE_BREAKPOINT with a period
 * BPF			PERF_EVENT_IOC_SET_BPF and PERF_EVENT_IOC_QUERY_BPF
 * INHERITED_PERIODS	PERF_EVENT_IOC_PERIOD and PERF_EVENT_IOC_MODIFY_ATTRIBUTES of an inherited
 *			event
 * INHERITED_READS	PERF_SAMPLE_READ of an inherited event
 * INHERITED_SIGTRAPS	sigtrap of an inherited event
 * REQUIRED_SIGTRAPS	sigtrap with TALLY_OPEN_REQUIRE
 * FTRACE_FUNCTION	the tracepoint ftrace:function
 * PROBES_BY_NAME	a kprobe or uprobe by config1
 * RDPMC		cap_user_rdpmc in the page of counts
 * LINES		TALLY_IOC_LINE and TALLY_IOC_PARSE
 *
 * No kernel has one of BPF to RDPMC yet: see "Not supported" and "Differences".
 */
#define TALLY_FEATURE_ALL_CPUS			(1ULL << 0)
#define TALLY_FEATURE_MEMBERS			(1ULL << 1)
#define TALLY_FEATURE_PUBLISH			(1ULL << 2)
#define TALLY_FEATURE_ATTACH			(1ULL << 3)
#define TALLY_FEATURE_RINGS			(1ULL << 4)
#define TALLY_FEATURE_SHARED_RINGS		(1ULL << 5)
#define TALLY_FEATURE_FILTERS			(1ULL << 6)
#define TALLY_FEATURE_BREAKPOINTS		(1ULL << 7)
#define TALLY_FEATURE_BREAKPOINT_PERIODS	(1ULL << 8)
#define TALLY_FEATURE_BPF			(1ULL << 9)
#define TALLY_FEATURE_INHERITED_PERIODS		(1ULL << 10)
#define TALLY_FEATURE_INHERITED_READS		(1ULL << 11)
#define TALLY_FEATURE_INHERITED_SIGTRAPS	(1ULL << 12)
#define TALLY_FEATURE_REQUIRED_SIGTRAPS		(1ULL << 13)
#define TALLY_FEATURE_FTRACE_FUNCTION		(1ULL << 14)
#define TALLY_FEATURE_PROBES_BY_NAME		(1ULL << 15)
#define TALLY_FEATURE_RDPMC			(1ULL << 16)
#define TALLY_FEATURE_LINES			(1ULL << 17)

/**
 * struct tally_info - TALLY_IOC_INFO: the ABI and the limits
 *
 * @size:		size of the struct, in bytes; written: the smaller of it and the kernel's
 * @abi:		TALLY_ABI of the kernel
 * @features:		TALLY_FEATURE_*
 * @attr_size:		size of this kernel's perf_event_attr, in bytes
 * @nr_cpus:		number above every possible CPU's number
 * @files_per_user:	greatest number of open event files of one user; 0 for no limit
 * @events_per_user:	greatest number of perf's events of one user: one for each event
 *			and CPU; 0 for no limit
 * @memory_per_user:	greatest size of one user's open devices, files, events and filters,
 *			and of the children that they follow, in bytes, by tally's own
 *			estimate; 0 for no limit. Pages of rings are charged as locked memory
 *			instead.
 * @publish_min_ns:	shortest publish_ns, in nanoseconds. A page with n events on c CPUs takes
 *			max(n / 8, n * c / 64) shares, both quotients rounded up. Its interval is
 *			at least publish_min_ns * shares; if publish_ns is publish_default_ns or
 *			more, also 0.4 milliseconds * the shares of all such pages of the user.
 * @publish_max_ns:	longest publish_ns, in nanoseconds
 * @publish_default_ns:	publish_ns of a file that was opened with 0, in nanoseconds
 * @attr_bits:		one-bit members of perf_event_attr that may be 1: bit n is the member
 *			TALLY_FIELD_ATTR_BIT(n)
 * @sample_type:	bits of perf_event_attr's sample_type
 * @read_format:	bits of perf_event_attr's read_format
 * @perf_flags:		bits of struct tally_open's perf_flags
 * @clocks:		clocks for use_clockid: bit n is clockid n
 * @max_stack:		greatest sample_max_stack, in entries
 * @reserved:		written: 0
 *
 * A bit of a mask is 1 if TALLY_IOC_OPEN accepts it from some caller for some event. A PMU may
 * refuse it all the same, such as branches.
 *
 * Errors: EFAULT; E2BIG; EINVAL for a size below 64.
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
	__aligned_u64 attr_bits;
	__aligned_u64 sample_type;
	__aligned_u64 read_format;
	__aligned_u64 perf_flags;
	__aligned_u64 clocks;
	__u32 max_stack;
	__u32 reserved;
};

/*
 * struct tally_open's flags.
 *
 * ALL_CPUS	count on every CPU, with cpu -1, and with pid -1 or that of a cgroup; CPUs may
 *		come and go. read(2) returns the sum, TALLY_IOC_READ each CPU's part. A pinned
 *		event that is in the error state on one CPU is so for read(2), which returns 0
 *		bytes.
 * MEMBER	add the event to the file group_fd, without a file of its own. The call
 *		returns 0, and the event is known by its id. It ends with the file, writes to
 *		the file's rings, and is charged to the user of the file. EINVAL with
 *		PERF_FLAG_FD_OUTPUT, which is for files; PERF_FLAG_FD_CLOEXEC has no effect.
 * REQUIRE	fail with EBUSY if the event cannot count at this moment, rather than wait
 *		for room on the PMU. The event is tried also if it, or its leader, is opened
 *		disabled. EINVAL for an event that waits for exec().
 * WEAK		where the PMU has no room for the event beside those of its group, it begins
 *		another group, which takes turns with the first one. Without this: EINVAL.
 */
#define TALLY_OPEN_ALL_CPUS	(1U << 0)
#define TALLY_OPEN_MEMBER	(1U << 1)
#define TALLY_OPEN_REQUIRE	(1U << 2)
#define TALLY_OPEN_WEAK		(1U << 3)

/**
 * struct tally_open - TALLY_IOC_OPEN: make an event
 *
 * @size:	size of the struct, in bytes
 * @flags:	TALLY_OPEN_*
 * @attr:	address of a struct perf_event_attr of any published size
 * @pid:	task in the caller's PID namespace; 0 for the caller, -1 for all tasks. With
 *		PERF_FLAG_PID_CGROUP a descriptor of a cgroup's directory: the tasks of the
 *		cgroup and of all cgroups below it count, on one CPU or on all CPUs.
 * @cpu:	CPU; -1 for every CPU that the task runs on
 * @group_fd:	file of the group's leader; -1 for none
 * @reserved:	0
 * @perf_flags:	PERF_FLAG_FD_CLOEXEC, PERF_FLAG_FD_NO_GROUP, PERF_FLAG_FD_OUTPUT,
 *		PERF_FLAG_PID_CGROUP
 * @publish_ns:	interval of the page of counts, in nanoseconds; 0 for the default. Less than
 *		the default takes CAP_PERFMON.
 * @error:	address of a struct tally_error for the cause of a failure; 0 for none
 * @id:		written: id of the event, as PERF_EVENT_IOC_ID returns it
 * @name:	name of the event's folder in debugfs: fewer than 64 printable ASCII characters,
 *		without blanks and '/'; empty for no folder. A name takes CAP_PERFMON.
 *
 * Returns a file, or with TALLY_OPEN_MEMBER 0. A sibling of a pinned leader is pinned,
 * too. Some events are on the PMU without the others of their group, see "Differences":
 * TALLY_READ_RATIO says whether all of them were there at the same time.
 *
 * Errors are those of perf_event_open(2), and:
 * EACCES	the caller lacks a right: see "Rights"; for sigtrap of another process
 *		CAP_KILL
 * E2BIG	the struct or attr has something that this kernel does not know; the group
 *		has 64 events
 * EBADF	group_fd is no file of an event of tally; pid is no directory of a cgroup
 * EBUSY	the event cannot count at this moment: TALLY_OPEN_REQUIRE
 * EDQUOT	a limit of the user is reached
 * EEXIST	an event has this name
 * EINVAL	a setting is impossible; group_fd is no leader, or has another target; the PMU
 *		has no room for the group, and TALLY_OPEN_WEAK is not set
 * EOPNOTSUPP	a module cannot do it: see "Not supported"; what it needs does not work on this
 *		kernel, or is switched off: see the file tricks in debugfs; the leader is
 *		exclusive, and would keep its sibling off the PMU, because that is in no group
 *		with it, nor a software event; the sibling has enable_on_exec and its leader does
 *		not wait for exec()
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
	__aligned_u64 error;
	__aligned_u64 id;
	char name[TALLY_USER_NAME_LEN];
};

/*
 * State of an event: the member state of struct tally_value, tally_next and tally_page_value.
 *
 * OFF		disabled, or waiting for exec()
 * INACTIVE	enabled; its task does not run, or other events have the PMU
 * ACTIVE	counting
 * ERROR	a pinned event without room on the PMU, or a CPU that refused its part
 * OFFLINE	the CPU is offline, or the module with the function of a kernel probe is not
 *		loaded; the event counts again when it is back
 * EXITED	the task has exited, exec() has removed the event, or the cgroup, the PMU or the
 *		module of a kernel probe is removed for good; the count is final, unless an
 *		inherited event still has children
 * THROTTLED	off for a while after too many overflows: milliseconds, or up to a second
 * RELEASED	the owner has released the event; the count is final
 * SILENT	counting, but no overflow has come in two periods, or with a frequency in ten since
 *		the event was enabled: a PMU without interrupts
 */
#define TALLY_IS_OFF		0
#define TALLY_IS_INACTIVE	1
#define TALLY_IS_ACTIVE		2
#define TALLY_IS_ERROR		3
#define TALLY_IS_OFFLINE	4
#define TALLY_IS_EXITED		5
#define TALLY_IS_THROTTLED	6
#define TALLY_IS_RELEASED	7
#define TALLY_IS_SILENT		8

/**
 * struct tally_value - the count of one event
 * @value:	count; nanoseconds for a clock
 * @enabled_ns:	nanoseconds the event was enabled, summed over CPUs
 * @running_ns:	nanoseconds the event counted, summed over CPUs; if 0, @value is no count
 * @id:		id of the event, as PERF_EVENT_IOC_ID returns it
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
 * RATIO	written: all values are of one window and can be divided; ignored if set before
 */
#define TALLY_READ_RATIO	(1U << 0)

/**
 * struct tally_read - TALLY_IOC_READ: counts of a file, with states
 *
 * @size:	size of the struct, in bytes; written: the smaller of it and the kernel's
 * @flags:	written: TALLY_READ_*
 * @cpu:	CPU whose part is read; -1 for the sum
 * @nr:		length of the array @values; written: number of values
 * @values:	address of an array of struct tally_value, for the file's event; for a
 *		leader, all members of the group follow in the order of their making
 * @time_ns:	written: time of the reading in nanoseconds, by local_clock() of the CPU that
 *		counts; the latest of several CPUs. Of an attached file: by that of the caller's
 *		CPU, and without CAP_PERFMON as struct tally_attach says.
 * @value_size:	size of an element of @values in bytes, as the program knows struct tally_value.
 *		The kernel writes as much of an element as it knows, and fills the rest with 0.
 * @reserved:	0
 *
 * Errors: EINVAL for an unknown flag, for a @value_size below 40 or above 4096, and for a CPU that
 * does not exist or that the event is not on; EACCES for a CPU of a file that was attached
 * without CAP_PERFMON; ENODEV for a CPU that no PMU of these events serves; ENOSPC for too short an
 * array, with @nr written; EBUSY as struct tally_attach says.
 */
struct tally_read {
	__u32 size;
	__u32 flags;
	__s32 cpu;
	__u32 nr;
	__aligned_u64 values;
	__aligned_u64 time_ns;
	__u32 value_size;
	__u32 reserved;
};

/*
 * struct tally_next's flags.
 *
 * OF_FILE	written: the event belongs to an open file, and ends with it; ignored if set before
 */
#define TALLY_NEXT_OF_FILE	(1U << 0)

/**
 * struct tally_next - TALLY_IOC_NEXT: one event after the other, of all owners
 *
 * @size:	size of the struct, in bytes; written: the smaller of it and the kernel's
 * @state:	written: TALLY_IS_*
 * @id:		id of the event before the wanted one; 0 for the first; written: its id
 * @type:	written: perf_event_attr's type
 * @cpu:	written: CPU; -1 for all CPUs, or for every CPU that the task runs on
 * @config:	written: perf_event_attr's config; 0 if it may be an address and the caller
 *		lacks CAP_PERFMON
 * @pid:	written: task in the caller's PID namespace; 0 for a task outside of it, -1
 *		for all tasks
 * @flags:	written: TALLY_NEXT_*
 * @name:	written: name; empty if it may hold an address and the caller lacks
 *		CAP_PERFMON
 * @owner:	written: module that made the event; "tally" for events of this device, of
 *		debugfs and of the module's parameters
 * @what:	written: the event as a line for debugfs; empty if it may hold an address and
 *		the caller lacks CAP_PERFMON
 * @overflows:	written: overflows since the event was made; 0 without a period
 * @missed:	written: overflows that a handler in interrupt or in a work was not called for, and
 *		hits that a kernel probe has missed since the event was made. A hit is missed within
 *		the handler of a probe, and at the return if too many calls go on at the same time;
 *		those of all CPUs and tasks are counted here.
 * @lost:	written: records without room; 0 without a period: PERF_FORMAT_LOST has lost records
 *		of tasks
 * @throttled:	written: number of times that too many overflows turned the event off
 * @cgroup:	written: path of the cgroup whose tasks count, from the root of the hierarchy;
 *		empty for none. Of a longer path, "id:", the number of the cgroup, "..." and the
 *		end of the path
 *
 * If the caller lacks CAP_PERFMON, the four numbers from @overflows on are 2^64 - 1, and @cgroup is
 * empty.
 *
 * A caller that begins with 0 and passes @id back gets all events, in the order in which
 * they were made. An event that is made or released meanwhile may be missing. Errors:
 * ENOENT after the last one; EINVAL for an unknown flag.
 */
struct tally_next {
	__u32 size;
	__u32 state;
	__aligned_u64 id;
	__u32 type;
	__s32 cpu;
	__aligned_u64 config;
	__s32 pid;
	__u32 flags;
	char name[TALLY_USER_NAME_LEN];
	char owner[TALLY_USER_NAME_LEN];
	char what[128];
	__aligned_u64 overflows;
	__aligned_u64 missed;
	__aligned_u64 lost;
	__aligned_u64 throttled;
	char cgroup[256];
};

/*
 * struct tally_attach's flags.
 *
 * TOTAL	values and times are those of the event since it was made, whatever its owner has
 *		reset; without CAP_PERFMON: EACCES
 */
#define TALLY_ATTACH_TOTAL	(1U << 0)

/**
 * struct tally_attach - TALLY_IOC_ATTACH: a file that reads an event of any owner
 *
 * @size:		size of the struct, in bytes
 * @flags:		TALLY_ATTACH_*
 * @id:			id of the event; 0 to find it by @name. PERF_EVENT_IOC_ID of the file
 *			returns it.
 * @perf_flags:		PERF_FLAG_FD_CLOEXEC
 * @read_format:	layout of read(2), as perf_event_attr's; without PERF_FORMAT_GROUP
 * @publish_ns:		as struct tally_open's
 * @error:		as struct tally_open's
 * @name:		name of the event if @id is 0; else empty
 *
 * Without TALLY_ATTACH_TOTAL, the file's value and times begin at 0. PERF_EVENT_IOC_RESET begins
 * the value again, for this file alone. The file cannot enable, disable or change the event:
 * EPERM. When the owner releases the event, the file keeps the last count and poll(2) returns
 * EPOLLHUP.
 *
 * A file that was attached without CAP_PERFMON shows what is published: its reads interrupt no
 * CPU. read(2) and TALLY_IOC_READ return what the page of counts shows, whether the page is
 * mapped or not; tally_read's time_ns is the page's. The file begins to count on a CPU when a
 * copy of the CPU's count is made for the first time, and PERF_EVENT_IOC_RESET counts from the
 * last copy on. All such files of an event share the copy of a CPU, which stays for at least
 * tally_info's publish_default_ns, and in a file with a longer @publish_ns for that; so the first
 * one may be older than the file by that time. The next one is made at a tick that finds the CPU
 * busy, or by a read on that CPU. CPUs of nohz_full= have no copy but by the latter. Before the
 * first copy of any CPU, value and times are 0, and the state is TALLY_IS_INACTIVE.
 * TALLY_IOC_READ of one CPU's part is EACCES.
 *
 * The file has no ring of its own and writes no records: PERF_FORMAT_LOST is 0. It maps the
 * owner's rings if the owner allows that: struct tally_ring_info.
 *
 * A program can keep perf from the events of its own tasks for any time. Some events of such a task
 * cannot be read meanwhile, inherited ones above all: this call, read(2), TALLY_IOC_READ and
 * PERF_EVENT_IOC_RESET are EBUSY after 10 milliseconds.
 *
 * Returns a file. Errors: ENOENT without such an event; without CAP_PERFMON, EACCES for an
 * event of another process or of a cgroup, for an inherited event, and for any event whose type is
 * not hardware, software or cache, and for TALLY_ATTACH_TOTAL, and EOPNOTSUPP if the file tricks in
 * debugfs has "times" off or wrong; EBUSY; EDQUOT; EINVAL, also for an unknown flag; ENOMEM.
 */
struct tally_attach {
	__u32 size;
	__u32 flags;
	__aligned_u64 id;
	__aligned_u64 perf_flags;
	__aligned_u64 read_format;
	__aligned_u64 publish_ns;
	__aligned_u64 error;
	char name[TALLY_USER_NAME_LEN];
};

/*
 * struct tally_line's op.
 *
 * CREATE	make an event or a set from a line, as debugfs' file create does. The event belongs
 *		to tally: it counts until it is removed or the module is unloaded.
 * REMOVE	remove the event or set of this name, as debugfs' file remove does
 * ENABLE	enable the event or set of this name
 * DISABLE	disable it; its count stays
 */
#define TALLY_LINE_CREATE	0
#define TALLY_LINE_REMOVE	1
#define TALLY_LINE_ENABLE	2
#define TALLY_LINE_DISABLE	3

/**
 * struct tally_line - TALLY_IOC_LINE: events that outlive the program
 *
 * @size:	size of the struct, in bytes
 * @op:		TALLY_LINE_*
 * @line:	address of a text of at most 1023 bytes and a NUL, without line feeds inside: a
 *		line, or a name
 * @error:	as struct tally_open's
 *
 * Lockdown refuses the files of debugfs, but not this call. A failure that the text causes has no
 * stage and no field, unless the text is empty, too long or of several lines. Errors: EACCES
 * without CAP_PERFMON; EFAULT; EINVAL for an unknown @op and for a text that is no line; ENOENT for
 * an event that does not exist, or that this machine does not have; EEXIST; EPERM for an event of a
 * file or of another module, for a member of a set, and for counts of a function under lockdown for
 * confidentiality; ESRCH for ENABLE of an event whose task has exited or whose cgroup is removed,
 * and ENODATA of a pinned one without room on the PMU; as TALLY_IOC_OPEN.
 */
struct tally_line {
	__u32 size;
	__u32 op;
	__aligned_u64 line;
	__aligned_u64 error;
};

/*
 * struct tally_parse's flags.
 *
 * GAUGE	the count is a level, such as a temperature: only the last value has a meaning,
 *		and it may fall. The PMU says so by a file "snapshot".
 */
#define TALLY_PARSE_GAUGE	(1U << 0)

/**
 * struct tally_parse - TALLY_IOC_PARSE: the attributes and the unit of an event by its name
 *
 * @size:	size of the struct, in bytes; written: the smaller of it and the kernel's
 * @reserved:	0
 * @name:	address of a text of at most 1023 bytes and a NUL: an event as in a line, with
 *		modifiers, without options
 * @attr:	address of a struct perf_event_attr whose size is set; written: type, config,
 *		config1 to config3, bp_addr, bp_len, bp_type and the bits of modifiers, 0 in all
 *		other members, and the smaller of its size and the kernel's
 * @error:	as struct tally_open's
 * @scale:	written, if @size has room: decimal number, as "2.3e-10", by which perf stat
 *		multiplies the count of the event; empty for 1
 * @unit:	written: unit of the product; empty for none
 * @flags:	written: TALLY_PARSE_*
 * @reserved2:	written: 0
 *
 * The modifier P is precise_ip 3. Nothing is made, and the caller may have no right to the event.
 * Errors: EACCES for a kprobe without CAP_PERFMON, and EPERM under lockdown for confidentiality;
 * EINVAL for a text that is no event, for a software event, tracepoint or kprobe that never happens
 * in what its modifiers leave (cs:u), for @reserved and for a size of attr below 64; ENOENT for an
 * event that this machine does not have; EADDRNOTAVAIL for a kprobe of a name that several
 * functions have; EBUSY for a tracepoint of a module that is being unloaded; EOPNOTSUPP; E2BIG for
 * an event that uses what attr's size leaves out; EFAULT; ENOMEM.
 */
struct tally_parse {
	__u32 size;
	__u32 reserved;
	__aligned_u64 name;
	__aligned_u64 attr;
	__aligned_u64 error;
	char scale[48];
	char unit[32];
	__u32 flags;
	__u32 reserved2;
};

/*
 * struct tally_ring_info's flags.
 *
 * BACKWARD	perf_event_attr's write_backward: each record lies in front of the one
 *		before, and replaces the oldest
 * SAMPLE_ID	perf_event_attr's sample_id_all: records other than samples end with the
 *		fields of sample_type that identify a sample
 */
#define TALLY_RING_INFO_BACKWARD	(1U << 0)
#define TALLY_RING_INFO_SAMPLE_ID	(1U << 1)

/**
 * struct tally_ring_info - TALLY_IOC_RING_INFO: the rings of an attached event's owner
 *
 * @size:		size of the struct, in bytes; written: the smaller of it and the kernel's
 * @flags:		written: TALLY_RING_INFO_*
 * @sample_type:	written: perf_event_attr's sample_type
 * @pages:		written: number of pages with records in each ring, a power of two
 * @rings:		written: number of rings; ring n is mapped at TALLY_RING_AT(n), and of
 *			several rings it is CPU n's
 *
 * The kernel module that owns an event may share its rings (TALLY_RING_SHARED of
 * <tally/tally.h>). A file that a caller with CAP_PERFMON attached to the event maps them:
 * 1 + @pages pages, PROT_READ and MAP_SHARED, the first one a struct perf_event_mmap_page.
 * These are the pages that the kernel writes, and the program cannot change them:
 * data_tail is the module's, records stay as long as the module lets them, and poll(2)
 * reports the end of the event (EPOLLHUP), never records. The mapping stays when the owner
 * releases the event; its contents do not change from then on.
 *
 * A program that copies a ring of an enabled event reads data_head and data_tail again
 * afterwards:
 * - forward: the records from data_tail to data_head are whole until data_tail moves; the
 *   bytes in front of the new data_tail may have been overwritten.
 * - with BACKWARD: the records from data_head on are whole, but the oldest of them may have
 *   been overwritten meanwhile: as many bytes as data_head has moved, and up to 256 KiB
 *   more that writers have begun. While the owner keeps the ring frozen, nothing is written
 *   and data_head stands still.
 *
 * Errors: EACCES if the owner does not share its rings, or the file was attached without
 * CAP_PERFMON; ENODEV if the owner has released the event; ENOTTY for a file that is not
 * attached; EFAULT; E2BIG; EINVAL for a size below 24. mmap(2) has the same errors, and
 * EACCES for PROT_WRITE, EINVAL for another size or offset and for a private mapping.
 */
struct tally_ring_info {
	__u32 size;
	__u32 flags;
	__aligned_u64 sample_type;
	__u32 pages;
	__u32 rings;
};

/* Number of windows that struct tally_budget_info has the numbers of. */
#define TALLY_BUDGET_WINDOWS	8

/**
 * struct tally_budget_info - TALLY_IOC_BUDGET: the windows of an attached event with a budget
 *
 * @size:		size of the struct, in bytes; written: the smaller of it and the kernel's
 * @cpu:		number of the CPU whose windows are asked for
 * @budget:		written: counts that are allowed in one window on each CPU
 * @window_ns:		written: length of a window, in nanoseconds
 * @window:		written: number of the current window: CLOCK_MONOTONIC divided by
 *			@window_ns, plus 1
 * @used:		written: counts in the current window
 * @windows:		written: number of windows that have ended
 * @exceeded:		written: number of windows that counted more than @budget
 * @latest:		written: numbers of the latest of these, the last one first; 0 for none
 *
 * poll(2) reports POLLPRI if a window of any CPU was exceeded since the last call of this
 * ioctl; or at all, before the first call.
 *
 * Errors: EACCES if the file was attached without CAP_PERFMON; ENODEV if the owner has
 * released the event; ENODATA if it is in error on this CPU, and counts nothing; EINVAL for an
 * event without a budget, a CPU that it does not count on and a size below 120; ENOTTY for a file
 * that is not attached; EFAULT; E2BIG.
 */
struct tally_budget_info {
	__u32 size;
	__s32 cpu;
	__aligned_u64 budget;
	__aligned_u64 window_ns;
	__aligned_u64 window;
	__aligned_u64 used;
	__aligned_u64 windows;
	__aligned_u64 exceeded;
	__aligned_u64 latest[TALLY_BUDGET_WINDOWS];
};

/*
 * Offset of struct tally_page in the page of counts, in bytes. The page begins as a struct
 * perf_event_mmap_page, whose lock, offset, time_enabled and time_running are used as
 * perf_event_open(2) describes. struct tally_page is of the same moment, under the same lock.
 */
#define TALLY_PAGE_AT		1280

/**
 * struct tally_page_value - the count of one event in the page
 * @value:	as struct tally_value's
 * @enabled_ns:	as struct tally_value's
 * @running_ns:	as struct tally_value's
 * @id:		as struct tally_value's
 * @state:	TALLY_IS_*
 * @reserved:	0
 */
struct tally_page_value {
	__aligned_u64 value;
	__aligned_u64 enabled_ns;
	__aligned_u64 running_ns;
	__aligned_u64 id;
	__u32 state;
	__u32 reserved;
};

/**
 * struct tally_page - counts of a file's events in the page
 * @size:	size of the struct in bytes; the values follow it
 * @value_size:	size of a struct tally_page_value, in bytes
 * @nr:		number of values: of the file's event and, for a leader, of the members of its
 *		group in the order of their making, as many as the page has room for
 * @reserved:	0
 * @time_ns:	time of publishing in nanoseconds, by CLOCK_MONOTONIC, of the CPU that did so
 *		last; 0 before the first
 */
struct tally_page {
	__u32 size;
	__u32 value_size;
	__u32 nr;
	__u32 reserved;
	__aligned_u64 time_ns;
};

/* The counts in a page that is mapped at an address. */
static __inline__ const struct tally_page *tally_page_of(const void *mapping)
{
	return (const struct tally_page *)((const char *)mapping + TALLY_PAGE_AT);
}

/* The value with the number n, from 0 to nr - 1. */
static __inline__ const struct tally_page_value *
tally_page_nth_value(const struct tally_page *page, __u32 n)
{
	return (const struct tally_page_value *)((const char *)page + page->size +
						 n * page->value_size);
}

#endif /* _UAPI_LINUX_TALLY_H */
