// SPDX-License-Identifier: GPL-2.0
/*
 * asperf.so: a library for LD_PRELOAD with which perf_event_open() makes files of
 * /dev/tally. It is for trinity, which knows perf's files and makes all system calls by
 * syscall().
 *
 * tally seldom accepts the attributes that trinity makes up. So most attributes keep only what
 * TALLY_IOC_INFO says that tally knows, in values that fit together: samples, clocks, records
 * and wake-ups are among them. Most mappings of a file begin at the page of the event. Rings
 * are mapped here, because trinity asks for no size that a ring can have. The tails of rings
 * are moved to where a reader would leave them, or anywhere. trinity knows no ioctl of perf,
 * and its own ioctl() faults if trinity has no pipes and sockets. So it is started with calls
 * such as pread64(), most of which become ioctls here. Calls that wait return soon. All other
 * calls are unchanged.
 *
 * trinity uses the ten files that it opened first. In its children, a new file takes the
 * place of one of them: so calls on new files are made, too, and new files are closed.
 *
 * Calls on these files are counted. The numbers are printed when trinity ends:
 *
 *	on tally's files: ioctl 1000 400	1000 calls, of which 400 succeeded
 *
 * "sampled" counts the files that were asked for with sample_type, "ring" the mappings of rings.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/tally.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLS	500
#define FILES	10

/* Places in counts, behind those of the system calls. */
enum { SAMPLED = CALLS, RING, COUNTS };

static const unsigned long ioctls[] = {
	PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_REFRESH,
	PERF_EVENT_IOC_RESET, PERF_EVENT_IOC_PERIOD, PERF_EVENT_IOC_SET_OUTPUT,
	PERF_EVENT_IOC_SET_FILTER, PERF_EVENT_IOC_ID, PERF_EVENT_IOC_SET_BPF,
	PERF_EVENT_IOC_PAUSE_OUTPUT, PERF_EVENT_IOC_QUERY_BPF,
	PERF_EVENT_IOC_MODIFY_ATTRIBUTES, TALLY_IOC_READ, TALLY_IOC_INFO, TALLY_IOC_OPEN,
	TALLY_IOC_NEXT, TALLY_IOC_ATTACH, TALLY_IOC_ENABLE_ALL, TALLY_IOC_DISABLE_ALL,
	TALLY_IOC_RING_INFO,
};

static long (*libc_syscall)(long nr, ...);
static struct { unsigned long calls, good; } *counts;	/* shared with the children */
static int device = -1, files[FILES], nr_files;
static struct tally_info info = { .size = sizeof(info) };
/* A ring is mapped in the process @of alone: a child does not get the mapping. */
static struct { struct perf_event_mmap_page *at; size_t size; int prot; pid_t of; } rings[FILES];
static pid_t first;
static __u64 state = 1;

static unsigned int below(unsigned int n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((state ^ (__u64)getpid() << 40) >> 33) % n;
}

static int is_ours(unsigned long fd)
{
	int i;

	for (i = 0; i < nr_files; i++)
		if (fd == (unsigned int)files[i])
			return 1;
	return 0;
}

static void count(int what, int good)
{
	__atomic_add_fetch(&counts[what].calls, 1, __ATOMIC_RELAXED);
	if (good)
		__atomic_add_fetch(&counts[what].good, 1, __ATOMIC_RELAXED);
}

/* Each value is one that some event may have; a mask of registers has only those of 64 bits. */
static void mend_samples(struct perf_event_attr *attr)
{
	static const __u64 registers = 0xff0fff;

	if (attr->freq)
		attr->sample_freq %= 10000;
	else
		attr->sample_period %= below(2) ? 100 : 1000000;
	attr->sample_type &= info.sample_type & ~PERF_SAMPLE_BRANCH_STACK;
	if (attr->inherit)
		attr->sample_type &= ~PERF_SAMPLE_READ;
	attr->branch_sample_type = 0;
	attr->sample_regs_user = (attr->sample_regs_user & registers) | 1;
	attr->sample_regs_intr = (attr->sample_regs_intr & registers) | 1;
	attr->sample_stack_user = (attr->sample_stack_user % 4096 & ~7) | 8;
	attr->sample_max_stack %= info.max_stack;
	attr->wakeup_events %= 64;
	attr->clockid = below(12);
	if (!(info.clocks >> attr->clockid & 1))
		attr->use_clockid = 0;
	if (!attr->use_clockid)
		attr->clockid = 0;
}

/* Clears what only samples need. */
static void mend_counting(struct perf_event_attr *attr)
{
	attr->sample_period = 0;
	attr->freq = 0;
	attr->sample_type = 0;
	attr->watermark = 0;
	attr->wakeup_events = 0;
	attr->use_clockid = 0;
	attr->clockid = 0;
	attr->branch_sample_type = 0;
	attr->sample_regs_user = 0;
	attr->sample_regs_intr = 0;
	attr->sample_stack_user = 0;
	attr->sample_max_stack = 0;
}

/* Leaves of @attr what tally can know. What few events may have is mostly cleared. */
static void mend(struct perf_event_attr *attr)
{
	__u64 *bits = &attr->read_format + 1;

	attr->size = sizeof(*attr);
	if (below(2)) {
		attr->type = PERF_TYPE_SOFTWARE;
		attr->config %= PERF_COUNT_SW_MAX;
		attr->config1 = 0;
		attr->config2 = 0;
	}
	*bits &= info.attr_bits;
	attr->read_format &= info.read_format;
	attr->aux_watermark = 0;
	if (below(8)) {
		attr->precise_ip = 0;
		attr->exclude_callchain_kernel = 0;
		attr->exclude_callchain_user = 0;
		attr->sigtrap = 0;
		attr->exclusive = 0;
	}
	if (below(2))
		attr->inherit = 0;
	if (below(2)) {
		attr->comm = 0;
		attr->comm_exec = 0;
		attr->task = 0;
		attr->context_switch = 0;
	}
	if (attr->exclude_user)
		attr->exclude_kernel = 0;
	if (below(3))
		mend_samples(attr);
	else
		mend_counting(attr);
}

/* Maps the ring of the file in the place @n, which is the one of @cpu. */
static void map_ring(int n, unsigned int cpu)
{
	size_t size = (1 + (1UL << below(4))) * getpagesize();
	int prot = below(2) ? PROT_READ : PROT_READ | PROT_WRITE;
	void *at;

	if (rings[n].at && rings[n].of == getpid())
		munmap(rings[n].at, rings[n].size);
	rings[n].at = NULL;
	at = mmap(NULL, size, prot, MAP_SHARED, files[n], TALLY_RING_AT(cpu));
	count(RING, at != MAP_FAILED);
	if (at == MAP_FAILED)
		return;
	rings[n].at = at;
	rings[n].size = size;
	rings[n].prot = prot;
	rings[n].of = getpid();
}

/* Moves the tail of a ring, in one of two calls to where a reader leaves it. */
static void move_tail(int n)
{
	struct perf_event_mmap_page *page = rings[n].at;

	if (page && rings[n].of == getpid() && rings[n].prot & PROT_WRITE)
		__atomic_store_n(&page->data_tail, below(2) ?
				 __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) : below(1 << 16),
				 __ATOMIC_RELEASE);
}

static long open_file(const void *attr, int pid, int cpu, int group_fd, unsigned long flags)
{
	struct perf_event_attr mended = { 0 };
	struct tally_open o = {
		.size = sizeof(o),
		.attr = (unsigned long)attr,
		.pid = pid,
		.cpu = cpu,
		.group_fd = group_fd,
		.perf_flags = flags,
	};
	const struct perf_event_attr *asked = attr;
	int n;
	long fd;

	if (below(4)) {
		asked = &mended;
		/* trinity knows the attributes up to this size. */
		memcpy(&mended, attr, PERF_ATTR_SIZE_VER5);
		mend(&mended);
		o.attr = (unsigned long)&mended;
		o.perf_flags &= PERF_FLAG_FD_CLOEXEC | PERF_FLAG_FD_NO_GROUP;
		if (pid == -1 && cpu == -1)
			o.flags |= TALLY_OPEN_ALL_CPUS;
	}
	if (getpid() != first && group_fd >= 0 && !below(4))
		o.flags |= TALLY_OPEN_MEMBER;
	fd = libc_syscall(__NR_ioctl, device, TALLY_IOC_OPEN, &o);
	if (asked == &mended && mended.sample_type)
		count(SAMPLED, fd >= 0);
	if (fd < 0)
		return fd;
	/* A member has no file. */
	if (o.flags & TALLY_OPEN_MEMBER)
		return group_fd;
	if (getpid() == first && nr_files < FILES) {
		n = nr_files++;
		files[n] = fd;
	} else {
		n = below(nr_files);
		dup2(fd, files[n]);
		close(fd);
	}
	if (below(2))
		map_ring(n, o.flags & TALLY_OPEN_ALL_CPUS ? below(info.nr_cpus) : 0);
	return files[n];
}

long syscall(long nr, ...)
{
	static const struct timespec soon = { .tv_nsec = 1000000 };
	unsigned long a[6], fd;
	__builtin_va_list list;
	long ret;
	int i;

	__builtin_va_start(list, nr);
	for (i = 0; i < 6; i++)
		a[i] = __builtin_va_arg(list, unsigned long);
	__builtin_va_end(list);

	switch (nr) {
	case __NR_mmap:
		fd = a[4];
		/* Keep the length: trinity unmaps and writes as much as it asked for. */
		if (is_ours(fd) && below(4)) {
			a[2] = PROT_READ;
			a[3] = MAP_SHARED;
			a[5] = 0;
		}
		break;
	case __NR_pread64:
	case __NR_fadvise64:
		fd = a[0];
		if (!below(8))
			break;
		/* The argument is an address, or a number that is often small. */
		a[2] = nr == __NR_fadvise64 && below(2) ? a[3] : a[1];
		a[1] = ioctls[below(sizeof(ioctls) / sizeof(*ioctls))];
		nr = __NR_ioctl;
		if (nr_files && below(2))
			a[0] = files[below(nr_files)];
		fd = a[0];
		break;
	case __NR_epoll_ctl:
		fd = a[2];
		break;
#ifdef __NR_poll
	case __NR_poll:
#endif
	case __NR_ppoll:
		if (nr == __NR_ppoll)
			a[2] = (unsigned long)&soon;
		fd = a[1] ? ((struct pollfd *)a[0])->fd : -1;
		break;
#ifdef __NR_epoll_wait
	case __NR_epoll_wait:
#endif
	case __NR_epoll_pwait:
		a[3] = below(3);
		fd = a[0];
		break;
	default:
		fd = a[0];
	}
	if (nr == __NR_perf_event_open)
		ret = open_file((void *)a[0], a[1], a[2], a[3], a[4]);
	else
		ret = libc_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if ((nr == __NR_perf_event_open || is_ours(fd)) && nr < CALLS)
		count(nr, ret >= 0);
	if (nr_files && !below(16))
		move_tail(below(nr_files));
	return ret;
}

__attribute__((constructor)) static void begin(void)
{
	libc_syscall = dlsym(RTLD_NEXT, "syscall");
	first = getpid();
	device = open("/dev/tally", O_RDWR | O_CLOEXEC);
	if (device < 0 || ioctl(device, TALLY_IOC_INFO, &info))
		err(2, "/dev/tally");
	counts = mmap(NULL, COUNTS * sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		err(2, "mmap");
}

__attribute__((destructor)) static void end(void)
{
	static const struct { int nr; const char *name; } names[] = {
		{ __NR_perf_event_open, "perf_event_open" }, { __NR_ioctl, "ioctl" },
		{ __NR_mmap, "mmap" }, { __NR_read, "read" }, { __NR_readv, "readv" },
		{ __NR_pread64, "pread64" }, { __NR_ppoll, "ppoll" },
		{ __NR_epoll_ctl, "epoll_ctl" }, { __NR_fcntl, "fcntl" },
		{ __NR_dup, "dup" }, { __NR_dup3, "dup3" },
#ifdef __NR_poll
		{ __NR_poll, "poll" }, { __NR_dup2, "dup2" },
#endif
		{ SAMPLED, "sampled" }, { RING, "ring" },
	};
	unsigned int i;

	if (getpid() != first)
		return;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		dprintf(STDOUT_FILENO, "on tally's files: %s %lu %lu\n", names[i].name,
			counts[names[i].nr].calls, counts[names[i].nr].good);
}
