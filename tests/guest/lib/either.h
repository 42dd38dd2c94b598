/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The same on perf and on tally. One function opens an event of either, and one set of
 * functions maps and reads the rings of either:
 *
 *	struct tally_open r = request(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
 *
 *	for (kind = PERF; kind <= TALLY; kind++)
 *		fds[kind] = must_open(kind, &r);
 *
 * Also what programs do to be counted: they touch pages, run, sleep and have children.
 */
#ifndef EITHER_H
#define EITHER_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/tally.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- events ---- */

/* Who makes an event. */
enum { PERF, TALLY };

/* A file of /dev/tally, for events of tally. */
static int device = -1;
static struct tally_error why = { .size = sizeof(why) };

/*
 * For loops that keep a CPU busy: an emulator that runs all processors in one thread lets the
 * others run at each pause.
 */
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
	asm volatile("");
}

static inline const char *maker(int kind)
{
	return kind == PERF ? "perf" : "tally";
}

static inline int device_file(void)
{
	return open("/dev/tally", O_RDWR | O_CLOEXEC);
}

static inline void need_device(void)
{
	device = device_file();
	if (device < 0)
		err(2, "/dev/tally");
}

#define SW(number)						\
	.type = PERF_TYPE_SOFTWARE, .size = sizeof(struct perf_event_attr), .config = (number)
#define PAGE_FAULTS	SW(PERF_COUNT_SW_PAGE_FAULTS)

static inline struct tally_open request(const struct perf_event_attr *a, pid_t pid, int cpu,
					int group, unsigned long flags)
{
	return (struct tally_open) {
		.size = sizeof(struct tally_open), .attr = (uintptr_t)a, .pid = pid, .cpu = cpu,
		.group_fd = group, .perf_flags = flags, .error = (uintptr_t)&why,
	};
}

/* Opens what is requested. perf has attr, pid, cpu, group_fd and perf_flags, and no more. */
static inline int open_as(int kind, struct tally_open *r)
{
	why.text[0] = '\0';
	if (kind == TALLY)
		return ioctl(device, TALLY_IOC_OPEN, r);
	return syscall(SYS_perf_event_open, (uintptr_t)r->attr, r->pid, r->cpu, r->group_fd,
		       (unsigned long)r->perf_flags);
}

static inline int open_event(int kind, const struct perf_event_attr *a, pid_t pid, int cpu,
			     int group, unsigned long flags)
{
	struct tally_open r = request(a, pid, cpu, group, flags);

	return open_as(kind, &r);
}

static inline int must_open(int kind, struct tally_open *r)
{
	int fd = open_as(kind, r);

	if (fd < 0)
		err(2, "an event of %s: %s", maker(kind), why.text);
	return fd;
}

/* The count, with any read_format of one event; ~0 if it cannot be read. */
static inline uint64_t value_of(int fd)
{
	uint64_t value[16] = { 0 };

	return read(fd, value, sizeof(value)) > 0 ? value[0] : ~0ULL;
}

/* TALLY_IOC_READ of a file's first value, on a CPU or with -1 on all. */
static inline int read_first(int fd, int cpu, struct tally_value *value)
{
	struct tally_read r = {
		.size = sizeof(r), .cpu = cpu, .nr = 1, .values = (uintptr_t)value,
		.value_size = sizeof(*value),
	};

	return ioctl(fd, TALLY_IOC_READ, &r);
}

/* The events that poll() returns for a file within @ms; 0 for none. */
static inline int polled_for(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 ? p.revents : 0;
}

/* ---- memory ---- */

static long page_size;
static char *area;
#define AREA 4096

/* Memory in which each page has a fault of its own. */
static inline char *new_area(long pages)
{
	long size = pages * getpagesize();
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		err(2, "mmap");
	madvise(at, size, MADV_NOHUGEPAGE);
	return at;
}

static inline void begin_area(void)
{
	page_size = getpagesize();
	area = new_area(AREA);
}

/* A fault for each of the first pages of the area. */
static inline void touch(int pages)
{
	int i;

	madvise(area, AREA * page_size, MADV_DONTNEED);
	for (i = 0; i < pages; i++)
		area[i * page_size] = 1;
}

/* The same in a program that has no area: @n page faults, and no other ones. */
static inline void touch_new(long n)
{
	long size = getpagesize(), i;
	char *at = new_area(n);

	for (i = 0; i < n; i++)
		*(volatile char *)(at + i * size) = 1;
	munmap(at, n * size);
}

/* ---- rings, and the page of counts ---- */

#define LARGEST 65536

struct ring {
	int fd;
	int cpu;
	char *base;
	unsigned long size;
	volatile struct perf_event_mmap_page *page;
	uint64_t id;
	uint64_t tail;
	/* A copy of one record, in one piece. */
	uint64_t record[LARGEST / 8];
};

static inline void *map_pages(int fd, int pages, int prot, uint64_t at)
{
	return mmap64(NULL, pages * page_size, prot, MAP_SHARED, fd, at);
}

/* Maps the page of counts. */
static inline void *map(int fd, int prot)
{
	return map_pages(fd, 1, prot, 0);
}

/* The values that a page shows. */
struct shown {
	int64_t value;
	uint64_t enabled, running;
};

/* The loop of perf_event_open(2), for a counter that rdpmc cannot read. */
static inline struct shown read_page(const volatile struct perf_event_mmap_page *page)
{
	struct shown s;
	uint32_t seq;

	do {
		seq = page->lock;
		__sync_synchronize();
		s.value = page->offset;
		s.enabled = page->time_enabled;
		s.running = page->time_running;
		__sync_synchronize();
	} while (seq & 1 || page->lock != seq);
	return s;
}

static inline int map_ring(struct ring *r, int fd, int pages, int prot, uint64_t at)
{
	memset(r, 0, sizeof(*r));
	r->fd = fd;
	r->size = pages * page_size;
	r->base = map_pages(fd, 1 + pages, prot, at);
	if (r->base == MAP_FAILED) {
		r->base = NULL;
		return -1;
	}
	r->page = (void *)r->base;
	return ioctl(fd, PERF_EVENT_IOC_ID, &r->id);
}

static inline void must_map(struct ring *r, int fd, int pages)
{
	if (map_ring(r, fd, pages, PROT_READ | PROT_WRITE, 0))
		err(2, "a ring: %s", why.text);
}

static inline void unmap_ring(struct ring *r)
{
	if (r->base)
		munmap(r->base, page_size + r->size);
	if (r->fd >= 0)
		close(r->fd);
	r->base = NULL;
	r->fd = -1;
}

static inline uint64_t head_of(const struct ring *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

static inline void copy_from_ring(const struct ring *r, uint64_t at, void *to, unsigned long nr)
{
	unsigned long from = at & (r->size - 1), first = r->size - from;

	if (first > nr)
		first = nr;
	memcpy(to, r->base + page_size + from, first);
	memcpy((char *)to + first, r->base + page_size, nr - first);
}

/* Copies the record at @at to @r->record. Returns NULL if it does not end before @end. */
static inline struct perf_event_header *copy_record(struct ring *r, uint64_t at, uint64_t end)
{
	struct perf_event_header *h = (void *)r->record;

	copy_from_ring(r, at, h, sizeof(*h));
	if (h->size < sizeof(*h) || h->size & 7 || h->size > end - at)
		return NULL;
	copy_from_ring(r, at, h, h->size);
	return h;
}

/* Tells the writer how far the ring is read. */
static inline void done(struct ring *r)
{
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}

/* ---- time and CPUs ---- */

static inline uint64_t ns_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return ns_of(CLOCK_MONOTONIC);
}

/* Runs until the clock has advanced. In a guest a clock may advance by ticks. */
static inline void spin(clockid_t clock, int ms)
{
	uint64_t end = ns_of(clock) + ms * 1000000ULL;

	while (ns_of(clock) < end)
		;
}

/* Some kernels lack nanosleep() for 32-bit programs. poll() is there in all of them. */
static inline void wait_ms(int ms)
{
	poll(NULL, 0, ms);
}

static inline int nr_online(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

/* Returns -1 if the CPU is offline. */
static inline int go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static inline void run_on(int cpu)
{
	if (go_to(cpu))
		err(2, "cpu %d", cpu);
}

/* ---- children ---- */

static inline pid_t touch_in_child(int pages)
{
	pid_t pid = fork();

	if (!pid) {
		touch(pages);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		err(2, "a child");
	return pid;
}

/* Forks. In the child, this returns 0 after the parent's let_go_on(). */
static inline pid_t fork_waiting(int go[2])
{
	pid_t pid;
	char c;

	if (pipe2(go, O_CLOEXEC))
		err(2, "pipe");
	pid = fork();
	if (pid < 0)
		err(2, "fork");
	if (pid)
		return pid;
	close(go[1]);
	if (read(go[0], &c, 1) != 1)
		_exit(1);
	return 0;
}

static inline void let_go_on(int go[2])
{
	if (write(go[1], "", 1) != 1)
		err(2, "a child");
	close(go[0]);
	close(go[1]);
}

/* ---- files of the kernel ---- */

static inline void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		err(2, "%s", path);
	close(fd);
}

/* The number in a file; @none if there is no such file. */
static inline uint64_t number_in(const char *path, uint64_t none)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? strtoull(text, NULL, 0) : none;
}

static inline void set_online(int cpu, int online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	write_to(path, online ? "1" : "0");
}

/* The type number of a PMU; 0 if the kernel does not have the PMU. */
static inline int type_of(const char *pmu)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	return number_in(path, 0);
}

/* The number of a tracepoint, such as "sched/sched_switch"; -1 if there is none. */
static inline int trace_id(const char *event)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", event);
	return number_in(path, -1);
}

#endif /* EITHER_H */
