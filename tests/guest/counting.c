// SPDX-License-Identifier: GPL-2.0
/*
 * counting perf|tally: what a program written for perf_event_open(2) does, on
 * files of the one kind or the other, first counting, then with a ring, signals and
 * filters; only open_event() differs.
 *
 * Prints what can be told of both: a file of tally behaves as perf's if the two
 * outputs are the same. Lines that begin with "not ok" are wrong for either. The last
 * line says that all was done.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/tally.h>

static int device = -1;

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu,
		      int group_fd, unsigned long flags)
{
	struct tally_open o = {
		.size = sizeof(o), .attr = (unsigned long)attr, .pid = pid,
		.cpu = cpu, .group_fd = group_fd, .perf_flags = flags,
		.publish_ns = 1000000,
	};
	int fd;

	if (device < 0)
		return syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
	fd = ioctl(device, TALLY_IOC_OPEN, &o);
	if (fd < 0)
		fprintf(stderr, "# %s (stage %u, field %#x)\n", o.error.text,
			o.error.stage, o.error.field);
	return fd;
}

static const char *yes(int condition)
{
	return condition ? "yes" : "no";
}

static void check(int good, const char *what)
{
	if (!good)
		printf("not ok %s\n", what);
}

/* ---- something to count ---- */

static char *area;
static long page_size;

static void touch(int pages)
{
	int i;

	madvise(area, 4096 * page_size, MADV_DONTNEED);
	for (i = 0; i < pages; i++)
		area[i * page_size] = 1;
}

/* The guest's clocks may go by ticks. */
static void spin(void)
{
	struct timespec t;
	long long end = 0, now;

	/* The clock that perf goes by, which may stand for a while. */
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = t.tv_sec * 1000000000LL + t.tv_nsec;
		end = end ? end : now + 30000000;
	} while (now < end);
}

static struct perf_event_attr page_faults(uint64_t format, int disabled)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.read_format = format,
		.disabled = disabled,
	};

	return attr;
}

static int must_open(uint64_t config, uint64_t format, int disabled, int group_fd)
{
	struct perf_event_attr attr = page_faults(format, disabled);
	int fd;

	attr.config = config;
	fd = open_event(&attr, 0, -1, group_fd, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		err(1, "config %llu", (unsigned long long)config);
	return fd;
}

static uint64_t value_of(int fd)
{
	uint64_t value[16] = { 0 };

	if (read(fd, value, sizeof(value)) <= 0)
		return ~0ULL;
	return value[0];
}

/* The count to within what a program does besides. */
static const char *about(uint64_t value, uint64_t expected)
{
	static char text[64];

	if (value >= expected && value <= expected + 8)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)expected);
	else
		snprintf(text, sizeof(text), "%llu, not %llu",
			 (unsigned long long)value, (unsigned long long)expected);
	return text;
}

/* ---- one event ---- */

static void one(void)
{
	int fd = must_open(PERF_COUNT_SW_PAGE_FAULTS, 0, 1, -1);
	uint64_t id = 0, before;

	touch(100);
	printf("disabled: %s\n", about(value_of(fd), 0));
	printf("enable: %d\n", ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	touch(100);
	printf("enabled: %s\n", about(value_of(fd), 100));
	printf("reset: %d\n", ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	touch(50);
	printf("from there: %s\n", about(value_of(fd), 50));
	printf("disable: %d\n", ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	before = value_of(fd);
	touch(50);
	printf("nothing more: %s\n", yes(value_of(fd) == before));
	printf("id: %d, not 0: %s\n", ioctl(fd, PERF_EVENT_IOC_ID, &id), yes(id));
	printf("not an ioctl: %s\n", ioctl(fd, _IO('$', 99), 0) ? strerrorname_np(errno) : "0");
	printf("refresh: %s\n", ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) ?
	       strerrorname_np(errno) : "0");
	before = 0;
	printf("period: %s\n", ioctl(fd, PERF_EVENT_IOC_PERIOD, &before) ?
	       strerrorname_np(errno) : "0");
	printf("write: %s\n", write(fd, &before, 8) < 0 ? strerrorname_np(errno) : "0");
	printf("seek: %s\n", lseek(fd, 0, SEEK_SET) < 0 ? strerrorname_np(errno) : "0");
	close(fd);
}

/* ---- all formats ---- */

static void format(uint64_t f)
{
	uint64_t v[64], ids[3] = { 0 }, nr = f & PERF_FORMAT_GROUP ? 3 : 1, at = 0;
	unsigned int expected = 0, i;
	int fds[3];
	ssize_t n;

	fds[0] = must_open(PERF_COUNT_SW_TASK_CLOCK, f, 1, -1);
	fds[1] = must_open(PERF_COUNT_SW_PAGE_FAULTS, f, 0, fds[0]);
	fds[2] = must_open(PERF_COUNT_SW_CPU_CLOCK, f, 0, fds[0]);
	for (i = 0; i < 3; i++)
		ioctl(fds[i], PERF_EVENT_IOC_ID, &ids[i]);
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	touch(10);
	spin();
	ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);

	expected = !!(f & PERF_FORMAT_GROUP) + !!(f & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		   !!(f & PERF_FORMAT_TOTAL_TIME_RUNNING) +
		   nr * (1 + !!(f & PERF_FORMAT_ID) + !!(f & PERF_FORMAT_LOST));
	n = read(fds[0], v, sizeof(v));
	printf("format %#llx: %zd bytes, right: %s, short: %s", (unsigned long long)f, n,
	       yes(n == (ssize_t)expected * 8),
	       read(fds[0], v + 40, n - 1) < 0 ? strerrorname_np(errno) : "read");
	if (f & PERF_FORMAT_GROUP)
		printf(", nr %llu", (unsigned long long)v[at++]);
	for (i = 0; i < nr; i++) {
		uint64_t value = 0;

		if (i == 0 && !(f & PERF_FORMAT_GROUP))
			value = v[at++];
		if (i == 0 && f & PERF_FORMAT_TOTAL_TIME_ENABLED)
			printf(", enabled: %s", yes(v[at++] > 0));
		if (i == 0 && f & PERF_FORMAT_TOTAL_TIME_RUNNING)
			printf(", running: %s", yes(v[at++] > 0));
		if (f & PERF_FORMAT_GROUP)
			value = v[at++];
		printf(", value %u: %s", i, i == 1 ? about(value, 10) : yes(value > 0));
		if (f & PERF_FORMAT_ID)
			printf(", id %u: %s", i, yes(v[at++] == ids[i]));
		if (f & PERF_FORMAT_LOST)
			printf(", lost %llu", (unsigned long long)v[at++]);
	}
	n = read(fds[1], v, sizeof(v));
	printf("; sibling %zd bytes\n", n);
	check(at == expected, "a read has as many values as it is long");
	for (i = 0; i < 3; i++)
		close(fds[i]);
}

/* ---- groups ---- */

struct group {
	uint64_t nr, enabled, running, value[3];
};

#define GROUP (PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | \
	       PERF_FORMAT_TOTAL_TIME_RUNNING)

static struct group read_group(int fd)
{
	struct group g;

	memset(&g, 0, sizeof(g));
	if (read(fd, &g, sizeof(g)) < 0)
		err(1, "group");
	return g;
}

static void show(const char *what, const struct group *g, uint64_t faults)
{
	printf("%s: nr %llu, time %s, faults %s", what, (unsigned long long)g->nr,
	       yes(g->enabled && g->running), about(g->value[0], faults));
	printf(", minor %s\n", about(g->value[1], faults));
}

/*
 * All of one PMU: on 6.12, perf never counts what is enabled while its leader, of
 * another one, counts already.
 */
static void group(void)
{
	int leader = must_open(PERF_COUNT_SW_PAGE_FAULTS, GROUP, 1, -1);
	int faults = must_open(PERF_COUNT_SW_PAGE_FAULTS_MIN, GROUP, 0, leader);
	int minor = must_open(PERF_COUNT_SW_PAGE_FAULTS_MIN, 0, 1, leader);
	struct group g, h;

	touch(20);
	g = read_group(leader);
	show("leader disabled", &g, 0);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	touch(30);
	spin();
	g = read_group(leader);
	show("leader enabled", &g, 30);
	printf("one that is disabled: %llu\n", (unsigned long long)g.value[2]);
	g = read_group(faults);
	show("read by a sibling", &g, 30);
	ioctl(leader, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	touch(40);
	g = read_group(leader);
	show("group reset and enabled", &g, 40);
	printf("minor: %s\n", about(g.value[2], 40));
	ioctl(faults, PERF_EVENT_IOC_DISABLE, 0);
	touch(10);
	h = read_group(leader);
	printf("a sibling disabled: %s, the other goes on: %s\n",
	       yes(h.value[1] <= g.value[1] + 8), yes(h.value[2] >= g.value[2] + 10));
	ioctl(minor, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	g = read_group(leader);
	touch(10);
	h = read_group(leader);
	printf("group disabled by a sibling: %s\n",
	       yes(!memcmp(&g, &h, sizeof(g))));
	ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	close(minor);
	g = read_group(leader);
	printf("one closed: nr %llu\n", (unsigned long long)g.nr);
	ioctl(faults, PERF_EVENT_IOC_RESET, 0);
	close(leader);
	touch(25);
	g = read_group(faults);
	printf("without its leader: nr %llu, faults %s\n", (unsigned long long)g.nr,
	       about(g.value[0], 25));
	close(faults);
}

/* ---- what is refused ---- */

static void refused(const char *what, struct perf_event_attr *attr, pid_t pid,
		    int cpu, int group_fd, unsigned long flags)
{
	int fd;

	fd = open_event(attr, pid, cpu, group_fd, flags);
	printf("%s: %s\n", what, fd < 0 ? strerrorname_np(errno) : "made");
	if (fd >= 0)
		close(fd);
}

static void refusals(void)
{
	int leader = must_open(PERF_COUNT_SW_PAGE_FAULTS, 0, 1, -1);
	int sibling = must_open(PERF_COUNT_SW_PAGE_FAULTS, 0, 1, leader);
	struct perf_event_attr attr = page_faults(0, 1);
	siginfo_t info;
	pid_t zombie;

	fflush(stdout);
	refused("neither task nor cpu", &attr, -1, -1, -1, 0);
	refused("no such task", &attr, 0x3fffff, -1, -1, 0);
	refused("a negative task", &attr, -7, -1, -1, 0);
	zombie = fork();
	if (!zombie)
		_exit(0);
	while (waitid(P_PID, zombie, &info, WEXITED | WNOWAIT))
		;
	refused("a task that has exited", &attr, zombie, -1, -1, 0);
	waitpid(zombie, NULL, 0);
	refused("no such cpu", &attr, 0, 100000, -1, 0);
	refused("a negative cpu", &attr, 0, -2, -1, 0);
	refused("unknown flags", &attr, 0, -1, -1, 1UL << 20);
	refused("a leader that is no file", &attr, 0, -1, 999, 0);
	refused("a leader that is another file", &attr, 0, -1, 1, 0);
	refused("a sibling as leader", &attr, 0, -1, sibling, 0);
	refused("another cpu than the leader's", &attr, 0, 0, leader, 0);
	refused("another task than the leader's", &attr, 1, -1, leader, 0);
	refused("no group", &attr, 0, 0, leader, PERF_FLAG_FD_NO_GROUP);
	refused("no attr", NULL, 0, -1, -1, 0);
	attr.pinned = 1;
	refused("a pinned sibling", &attr, 0, -1, leader, 0);
	refused("a pinned event", &attr, 0, -1, -1, 0);
	attr = page_faults(0, 1);
	attr.exclusive = 1;
	refused("an exclusive sibling", &attr, 0, -1, leader, 0);
	attr = page_faults(0, 1);
	attr.inherit = 1;
	refused("an inherited sibling of one that is not", &attr, 0, -1, leader, 0);
	refused("inherit on a cpu", &attr, -1, 0, -1, 0);
	attr = page_faults(1 << 5, 1);
	refused("an unknown format", &attr, 0, -1, -1, 0);
	attr = page_faults(0, 1);
	attr.sample_type = 1U << 31;
	refused("an unknown sample", &attr, 0, -1, -1, 0);
	attr = page_faults(0, 1);
	attr.__reserved_2 = 1;
	refused("something reserved", &attr, 0, -1, -1, 0);
	attr = page_faults(0, 1);
	attr.size = 60;
	refused("a size below the first", &attr, 0, -1, -1, 0);
	printf("its size: %s\n", yes(attr.size >= 128));
	attr.size = 8192;
	refused("a size above a page", &attr, 0, -1, -1, 0);
	attr = page_faults(0, 1);
	attr.size = 0;
	refused("the size 0", &attr, 0, -1, -1, 0);
	attr = page_faults(0, 1);
	attr.config = 99;
	refused("no such event", &attr, 0, -1, -1, 0);
	attr = page_faults(0, 1);
	attr.sample_period = 1ULL << 63;
	refused("a negative period", &attr, 0, -1, -1, 0);
	attr = page_faults(0, 1);
	attr.freq = 1;
	attr.sample_freq = 1000000000;
	refused("too high a frequency", &attr, 0, -1, -1, 0);
	attr = page_faults(0, 1);
	attr.remove_on_exec = 1;
	attr.enable_on_exec = 1;
	refused("both actions on exec", &attr, 0, -1, -1, 0);
	attr.disabled = 0;
	refused("both, enabled", &attr, 0, -1, -1, 0);
	refused("both, on a cpu", &attr, -1, 0, -1, 0);
	attr = page_faults(0, 1);
	attr.inherit_thread = 1;
	refused("inherit_thread alone", &attr, 0, -1, -1, 0);
	attr = page_faults(0, 1);
	attr.sigtrap = 1;
	refused("sigtrap alone", &attr, 0, -1, -1, 0);
	close(sibling);
	close(leader);
}

/* ---- the page ---- */

/* The loop of the manual page, for a counter that cannot be read by itself. */
static uint64_t page_read(volatile struct perf_event_mmap_page *pc, uint64_t *enabled,
			  uint64_t *running)
{
	uint32_t seq;
	uint64_t count;

	do {
		seq = pc->lock;
		__sync_synchronize();
		*enabled = pc->time_enabled;
		*running = pc->time_running;
		count = pc->offset;
		__sync_synchronize();
	} while (pc->lock != seq);
	return count;
}

static void mapped(void)
{
	int fd = must_open(PERF_COUNT_SW_PAGE_FAULTS, PERF_FORMAT_TOTAL_TIME_ENABLED, 1, -1);
	struct perf_event_mmap_page *page;
	uint64_t enabled, running, count;

	page = mmap(NULL, page_size, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		printf("not ok mmap: %s\n", strerrorname_np(errno));
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(100);
	spin();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	count = page_read(page, &enabled, &running);
	printf("page: version %u, compat %u, index %u, size %u\n", page->version,
	       page->compat_version, page->index, page->size);
	printf("page: rdpmc %u, deprecated %u\n",
	       (unsigned int)page->cap_user_rdpmc,
	       (unsigned int)page->cap_bit0_is_deprecated);
	/* Which only some of perf's events have. */
	check(device < 0 || !page->cap_user_time, "no capability that is not there");
	printf("page: data at %s, %llu\n", yes(page->data_offset == (uint64_t)page_size),
	       (unsigned long long)page->data_size);
	/* perf writes what software counts there when it feels like it. */
	check(device < 0 || (count == value_of(fd) && enabled && running),
	      "the page has what is read");
	munmap(page, page_size);
	page = mmap(NULL, page_size, PROT_READ, MAP_PRIVATE, fd, 0);
	printf("a private page: %s\n", page == MAP_FAILED ? strerrorname_np(errno) : "mapped");
	page = mmap(NULL, 4 * page_size, PROT_READ, MAP_SHARED, fd, 0);
	printf("four pages: %s\n", page == MAP_FAILED ? strerrorname_np(errno) : "mapped");
	page = mmap(NULL, page_size, PROT_READ, MAP_SHARED, fd, page_size);
	printf("another page: %s\n", page == MAP_FAILED ? strerrorname_np(errno) : "mapped");
	close(fd);
}

/* ---- a ring, as the manual page reads it ---- */

struct ring {
	int fd;
	char *data;
	uint64_t size;
	uint64_t id;
	uint64_t trace_id;	/* of an event whose samples have raw data */
	volatile struct perf_event_mmap_page *page;
};

#define RING_PAGES 8

static const char *result(long ret)
{
	return ret < 0 ? strerrorname_np(errno) : "0";
}

static int map_ring(struct ring *r, int fd, int prot)
{
	char *at = mmap(NULL, (1 + RING_PAGES) * page_size, prot, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		printf("not ok a ring: %s\n", strerrorname_np(errno));
		return -1;
	}
	r->fd = fd;
	r->page = (void *)at;
	r->data = at + page_size;
	r->size = RING_PAGES * page_size;
	r->id = 0;
	r->trace_id = 0;
	ioctl(fd, PERF_EVENT_IOC_ID, &r->id);
	return 0;
}

static void unmap_ring(struct ring *r)
{
	munmap((void *)r->page, (1 + RING_PAGES) * page_size);
	close(r->fd);
}

/* A record in one piece; *at is behind it then. */
static struct perf_event_header *record_at(const struct ring *r, uint64_t *at)
{
	static uint64_t record[65536 / 8];
	struct perf_event_header *h = (void *)record;
	unsigned int i, size = sizeof(*h);

	for (i = 0; i < size; i++) {
		((char *)record)[i] = r->data[(*at + i) & (r->size - 1)];
		if (i + 1 == sizeof(*h) && h->size > size)
			size = h->size;
	}
	*at += size;
	return h;
}

/* What all samples here have; in this order. */
#define WORDS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
	       PERF_SAMPLE_ID | PERF_SAMPLE_CPU)

struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time, addr, id;
	uint32_t cpu, reserved;
	/* Of page faults the period, if that was asked for. */
	union {
		uint64_t period;
		struct {
			uint32_t raw_size;
			char raw[60];
		};
	};
};

#define SAMPLE_SIZE offsetof(struct sample, period)

static uint64_t last_time;

static void show_sample(const struct sample *s, const struct ring *r)
{
	printf("sample: misc %u, %u bytes, own %s, cpu %s, time %s", s->header.misc,
	       s->header.size, yes(s->pid == (uint32_t)getpid() && s->tid == s->pid),
	       yes(s->cpu < 1024 && !s->reserved), yes(s->time >= last_time));
	last_time = s->time;
	if (s->id == r->trace_id) {
		/* pid, oldcomm, newcomm, behind what all tracepoints have */
		printf(", raw %u, own %s, '%.16s' to '%.16s'\n", s->raw_size,
		       yes(*(const uint32_t *)(s->raw + 8) == (uint32_t)getpid()), s->raw + 12,
		       s->raw + 28);
		return;
	}
	check(s->id == r->id, "a sample's id is that of an event");
	printf(", page %ld, in user space %s", ((char *)(unsigned long)s->addr - area) / page_size,
	       yes(s->ip && s->ip < 1ULL << 56));
	if (s->header.size > SAMPLE_SIZE)
		printf(", period %llu", (unsigned long long)s->period);
	printf("\n");
}

static void show_lost(const struct perf_event_header *h, const struct ring *r)
{
	const uint64_t *v = (const void *)(h + 1);

	printf("lost: %u bytes, own %s, %llu, trailer: own %s, id %s\n", h->size,
	       yes(v[0] == r->id), (unsigned long long)v[1],
	       yes((uint32_t)v[2] == (uint32_t)getpid()), yes(v[4] == r->id));
}

/* Reads all that is there; shows so many of them, and counts the rest. */
static void drain(struct ring *r, int shown)
{
	uint64_t head = r->page->data_head, at = r->page->data_tail;
	int nr[PERF_RECORD_MAX] = { 0 }, i;
	struct perf_event_header *h;

	__sync_synchronize();
	while (at < head) {
		h = record_at(r, &at);
		if (h->size < sizeof(*h) || h->type >= PERF_RECORD_MAX) {
			printf("not ok a record of type %u, %u bytes\n", h->type, h->size);
			break;
		}
		nr[h->type]++;
		if (h->type == PERF_RECORD_LOST)
			show_lost(h, r);
		else if (h->type == PERF_RECORD_SAMPLE && shown-- > 0)
			show_sample((void *)h, r);
	}
	__sync_synchronize();
	r->page->data_tail = head;
	printf("read to the end: %s", yes(at == head));
	for (i = 0; i < PERF_RECORD_MAX; i++)
		if (nr[i])
			printf(", %d of type %d", nr[i], i);
	printf("\n");
}

static struct perf_event_attr sampling(uint64_t period)
{
	struct perf_event_attr attr = page_faults(PERF_FORMAT_LOST, 1);

	attr.sample_period = period;
	attr.sample_type = WORDS;
	attr.sample_id_all = 1;
	attr.wakeup_events = 1;
	return attr;
}

static struct perf_event_attr renames(uint64_t period)
{
	struct perf_event_attr attr = sampling(period);
	FILE *f = fopen("/sys/kernel/tracing/events/task/task_rename/id", "r");
	int id;

	if (!f || fscanf(f, "%d", &id) != 1)
		err(1, "task_rename");
	fclose(f);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = id;
	attr.sample_type |= PERF_SAMPLE_RAW;
	return attr;
}

static int open_sampling(struct perf_event_attr *attr, pid_t pid)
{
	int fd = open_event(attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		err(1, "an event that samples");
	return fd;
}

/* While it is enabled; and nothing else happens then. */
static void sample_faults(int fd, int pages)
{
	touch(1);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(pages);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}

static void rename_to(const char *name, int nr)
{
	char text[16];
	int i;

	for (i = 0; i < nr; i++) {
		snprintf(text, sizeof(text), "%s %d", name, i);
		prctl(PR_SET_NAME, text);
	}
}

static void show_poll(const char *what, int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int ret;

	do
		ret = poll(&p, 1, ms);
	while (ret < 0 && errno == EINTR);
	printf("%s: poll %d, events %#x\n", what, ret, p.revents);
}

static void show_lost_count(int fd)
{
	uint64_t v[2] = { 0 };

	if (read(fd, v, sizeof(v)) != sizeof(v))
		printf("not ok read: %s\n", strerrorname_np(errno));
	printf("count %llu, lost %llu\n", (unsigned long long)v[0], (unsigned long long)v[1]);
}

static void samples(void)
{
	struct perf_event_attr attr = sampling(1);
	struct ring r;

	attr.sample_type |= PERF_SAMPLE_PERIOD;
	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	printf("ring: data at %s, size %s, head %llu\n",
	       yes(r.page->data_offset == (uint64_t)page_size), yes(r.page->data_size == r.size),
	       (unsigned long long)r.page->data_head);
	show_poll("nothing yet", r.fd, 0);
	sample_faults(r.fd, 5);
	show_poll("five", r.fd, 1000);
	show_poll("again", r.fd, 0);
	drain(&r, 5);
	/* Around its end, several times. */
	sample_faults(r.fd, 500);
	drain(&r, 1);
	sample_faults(r.fd, 500);
	drain(&r, 1);
	printf("more than there is room for\n");
	sample_faults(r.fd, 2000);
	show_lost_count(r.fd);
	drain(&r, 1);
	sample_faults(r.fd, 1);
	drain(&r, 1);
	show_lost_count(r.fd);
	unmap_ring(&r);
}

/* ---- signals ---- */

static volatile int awaited, nr_in, nr_hup, nr_plain, nr_strange;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (sig == SIGIO && info->si_code == SI_KERNEL)
		nr_plain++;
	else if (info->si_fd != awaited)
		nr_strange++;
	else if (info->si_code == POLL_IN && info->si_band == (POLLIN | POLLRDNORM))
		nr_in++;
	else if (info->si_code == POLL_HUP && info->si_band == (POLLHUP | POLLERR))
		nr_hup++;
	else
		nr_strange++;
}

static void show_signals(const char *what)
{
	/* One may be on its way. */
	poll(NULL, 0, 20);
	printf("%s: %d POLL_IN, %d POLL_HUP, %d plain, %d others\n", what, nr_in, nr_hup,
	       nr_plain, nr_strange);
	nr_in = 0;
	nr_hup = 0;
	nr_plain = 0;
	nr_strange = 0;
}

static void ask_for_signals(int fd, int sig)
{
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	sigaction(sig ? sig : SIGIO, &act, NULL);
	awaited = fd;
	printf("O_ASYNC: %s", result(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC)));
	printf(", F_SETSIG: %s", result(fcntl(fd, F_SETSIG, sig)));
	printf(", F_SETOWN: %s", result(fcntl(fd, F_SETOWN, getpid())));
	printf(", there: %s\n", yes(fcntl(fd, F_GETFL) & O_ASYNC && fcntl(fd, F_GETSIG) == sig &&
				    fcntl(fd, F_GETOWN) == getpid()));
	/* The handler's pages are not to be faults of the test. */
	raise(sig ? sig : SIGIO);
	show_signals("by raise()");
}

/*
 * The last one ends it, at once; but what a file of tally counts may go on for a moment.
 * What is left of a period then is forgotten when the event is given one.
 */
static void begin_anew(const struct ring *r, uint64_t period)
{
	printf("period %lld: %s\n", (long long)period,
	       result(ioctl(r->fd, PERF_EVENT_IOC_PERIOD, &period)));
}

static void refresh_by(struct ring *r, int nr, int counted)
{
	uint64_t before = value_of(r->fd);

	printf("refresh %d: %s\n", nr, result(ioctl(r->fd, PERF_EVENT_IOC_REFRESH, nr)));
	touch(100);
	show_signals("signals");
	check(value_of(r->fd) - before >= (uint64_t)counted &&
	      value_of(r->fd) - before <= 108 && (device >= 0 ||
	      value_of(r->fd) - before <= (uint64_t)counted + 8), "so much is counted");
	show_poll("poll", r->fd, 0);
	drain(r, 5);
}

static void signals(void)
{
	struct perf_event_attr attr = sampling(10);
	struct ring r;
	uint64_t before;

	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	ask_for_signals(r.fd, SIGRTMIN + 1);
	refresh_by(&r, 3, 30);
	/* It is disabled now, and stays so. */
	before = value_of(r.fd);
	touch(100);
	printf("off: %s\n", yes(value_of(r.fd) == before));
	show_signals("afterwards");
	begin_anew(&r, 10);
	refresh_by(&r, 1, 10);
	begin_anew(&r, 7);
	refresh_by(&r, 4, 28);
	begin_anew(&r, 0);
	begin_anew(&r, 1ULL << 63);
	begin_anew(&r, 8);
	/* Two times, before either is over. */
	printf("refresh: %s\n", result(ioctl(r.fd, PERF_EVENT_IOC_REFRESH, 1)));
	refresh_by(&r, 2, 24);
	fcntl(r.fd, F_SETFL, fcntl(r.fd, F_GETFL) & ~O_ASYNC);
	begin_anew(&r, 7);
	refresh_by(&r, 2, 14);
	ask_for_signals(r.fd, 0);
	begin_anew(&r, 7);
	refresh_by(&r, 1, 7);
	unmap_ring(&r);
}

/* From one sample to the next, of those that are there. */
static void show_distance(struct ring *r)
{
	uint64_t head = r->page->data_head, at = r->page->data_tail, last = 0, distance = 0;
	struct sample *s;

	__sync_synchronize();
	while (at < head) {
		s = (void *)record_at(r, &at);
		distance = s->addr - last;
		last = s->addr;
	}
	r->page->data_tail = head;
	printf("one in %lld\n", (long long)distance / page_size);
}

/*
 * While it counts. perf's events of software have a sample at once then, and one more
 * of the old period; tally's next one comes after the new period.
 */
static void periods(void)
{
	static const uint64_t each[] = { 3, 1, 8, 5 };
	struct perf_event_attr attr = sampling(10);
	unsigned int i;
	struct ring r;

	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	touch(1);
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(40);
	show_distance(&r);
	for (i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		uint64_t period = each[i];

		printf("period %llu: %s, ", (unsigned long long)period,
		       result(ioctl(r.fd, PERF_EVENT_IOC_PERIOD, &period)));
		touch(40);
		show_distance(&r);
	}
	unmap_ring(&r);
}

/* ---- who is woken, and when ---- */

static void woken_after(const char *what, struct perf_event_attr *attr, int most)
{
	struct pollfd p = { .events = POLLIN };
	struct ring r;
	int i;

	if (map_ring(&r, open_sampling(attr, 0), PROT_READ | PROT_WRITE))
		return;
	p.fd = r.fd;
	printf("%s: woken after", what);
	for (i = 1; i <= most; i++) {
		sample_faults(r.fd, 1);
		if (poll(&p, 1, i == most ? 1000 : 5) == 1)
			printf(" %d (%#x)", i, p.revents);
	}
	printf("\n");
	unmap_ring(&r);
}

static void wakeups(void)
{
	struct perf_event_attr attr = sampling(1);

	woken_after("each", &attr, 4);
	attr.wakeup_events = 3;
	woken_after("three", &attr, 10);
	attr.watermark = 1;
	attr.wakeup_watermark = 200;
	woken_after("200 bytes", &attr, 12);
	attr.wakeup_watermark = 1 << 30;
	woken_after("more than there is", &attr, 5);
}

static void end_of_task(void)
{
	struct perf_event_attr attr = sampling(1);
	int go[2], status;
	struct ring r;
	pid_t child;
	char c;

	fflush(stdout);
	if (pipe(go))
		err(1, "pipe");
	child = fork();
	if (!child) {
		close(go[1]);
		_exit(read(go[0], &c, 1) != 0);
	}
	/* It is disabled: the child has faults as it begins and ends. */
	if (map_ring(&r, open_sampling(&attr, child), PROT_READ | PROT_WRITE))
		return;
	show_poll("its task is there", r.fd, 0);
	close(go[1]);
	waitpid(child, &status, 0);
	show_poll("its task is gone", r.fd, 1000);
	close(go[0]);
	unmap_ring(&r);
}

/* ---- filters ---- */

static void filter(const char *text, uint64_t period)
{
	struct perf_event_attr attr = renames(period);
	struct ring r;

	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	r.trace_id = r.id;
	ask_for_signals(r.fd, SIGRTMIN + 1);
	printf("filter %s, period %llu: %s", text, (unsigned long long)period,
	       result(ioctl(r.fd, PERF_EVENT_IOC_SET_FILTER, text)));
	printf(", another one: %s\n", result(ioctl(r.fd, PERF_EVENT_IOC_SET_FILTER, "pid > 0")));
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	rename_to("odd", 5);
	rename_to("even", 5);
	rename_to("odd", 5);
	ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	rename_to("counting", 1);
	show_lost_count(r.fd);
	show_signals("signals");
	drain(&r, 20);
	unmap_ring(&r);
}

static void filters(void)
{
	struct perf_event_attr attr = sampling(1);
	int fd = open_sampling(&attr, 0);

	printf("a filter of page faults: %s\n",
	       result(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "pid > 0")));
	close(fd);
	filter("newcomm ~ \"odd*\"", 1);
	filter("newcomm ~ \"odd*\"", 3);
	filter("newcomm == \"even 3\" || newcomm == \"odd 4\"", 1);
	filter("pid == 0", 1);
	filter("oom_score_adj >= -1000", 4);
	filter("newcomm", 5);
	filter("there is none", 5);
}

/* ---- where it goes ---- */

static void outputs(void)
{
	struct perf_event_attr attr = sampling(1), other = renames(1);
	struct ring r;
	int fd;

	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ | PROT_WRITE))
		return;
	fd = open_sampling(&other, 0);
	printf("to a file: %s", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 1)));
	printf(", to none: %s", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 999)));
	printf(", to itself: %s", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd)));
	printf(", of a ring: %s", result(ioctl(r.fd, PERF_EVENT_IOC_SET_OUTPUT, fd)));
	printf(", to a ring: %s\n", result(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r.fd)));
	ioctl(fd, PERF_EVENT_IOC_ID, &r.trace_id);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	sample_faults(r.fd, 2);
	rename_to("other", 2);
	show_poll("two events", r.fd, 1000);
	sample_faults(r.fd, 1);
	rename_to("other", 1);
	show_poll("by the other", fd, 1000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	drain(&r, 10);
	show_lost_count(fd);

	printf("pause of no ring: ");
	other.disabled = 1;
	close(fd);
	fd = open_sampling(&other, 0);
	printf("%s, pause: ", result(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	printf("%s\n", result(ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	sample_faults(r.fd, 5);
	drain(&r, 10);
	printf("go on: %s\n", result(ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0)));
	sample_faults(r.fd, 2);
	drain(&r, 10);
	show_lost_count(r.fd);
	close(fd);
	unmap_ring(&r);
}

/* The newest are first, and what is behind the last whole one is no record. */
static void backward(void)
{
	struct perf_event_attr attr = sampling(1);
	struct perf_event_header *h;
	uint64_t at, end, last;
	struct ring r;
	int nr, wrong;

	attr.write_backward = 1;
	if (map_ring(&r, open_sampling(&attr, 0), PROT_READ))
		return;
	sample_faults(r.fd, 3000);
	printf("pause: %s\n", result(ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1)));
	at = r.page->data_head;
	end = at + r.size;
	printf("head %lld\n", (long long)at);
	last = (unsigned long)area + 3000 * page_size;
	for (nr = 0, wrong = 0; end - at >= SAMPLE_SIZE; nr++) {
		h = record_at(&r, &at);
		wrong += h->type != PERF_RECORD_SAMPLE || ((struct sample *)h)->id != r.id ||
			 ((struct sample *)h)->addr != last - page_size;
		last -= page_size;
	}
	printf("the newest: %d, others: %d\n", nr, wrong);
	sample_faults(r.fd, 10);
	printf("paused: head %lld\n", (long long)r.page->data_head);
	show_lost_count(r.fd);
	unmap_ring(&r);
}

int main(int argc, char **argv)
{
	uint64_t f;

	if (argc != 2)
		errx(2, "usage: counting perf|tally");
	if (!strcmp(argv[1], "tally")) {
		device = open("/dev/tally", O_RDWR | O_CLOEXEC);
		if (device < 0)
			err(1, "/dev/tally");
	}
	page_size = sysconf(_SC_PAGESIZE);
	area = mmap(NULL, 4096 * page_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(area, 4096 * page_size, MADV_NOHUGEPAGE);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	one();
	for (f = 0; f < 32; f++)
		format(f);
	group();
	refusals();
	mapped();
	samples();
	signals();
	periods();
	wakeups();
	end_of_task();
	filters();
	outputs();
	backward();
	printf("done\n");
	return 0;
}
