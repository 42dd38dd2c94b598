// SPDX-License-Identifier: GPL-2.0
/*
 * counting perf|tally: a program that counts with files of perf or of tally (see
 * same.h). It uses single events, groups and all read formats, opens that are refused,
 * and the mapped page.
 */
#define _GNU_SOURCE
#include "same.h"

static int open_count(uint64_t config, uint64_t format, int disabled, int group_fd)
{
	struct perf_event_attr attr = page_faults(format, disabled);
	int fd;

	attr.config = config;
	fd = open_own(&attr, 0, -1, group_fd, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		err(1, "config %llu", (unsigned long long)config);
	return fd;
}

/* The expected count, or both values. The program itself may add up to 8 faults. */
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
	int fd = open_count(PERF_COUNT_SW_PAGE_FAULTS, 0, 1, -1);
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

	fds[0] = open_count(PERF_COUNT_SW_TASK_CLOCK, f, 1, -1);
	fds[1] = open_count(PERF_COUNT_SW_PAGE_FAULTS, f, 0, fds[0]);
	fds[2] = open_count(PERF_COUNT_SW_CPU_CLOCK, f, 0, fds[0]);
	for (i = 0; i < 3; i++)
		ioctl(fds[i], PERF_EVENT_IOC_ID, &ids[i]);
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	touch(10);
	spin(CLOCK_THREAD_CPUTIME_ID, 30);
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
 * All events are of one PMU. If a leader of another PMU already counts when its sibling
 * is enabled, perf on 6.12 never counts the sibling.
 */
static void group(void)
{
	int leader = open_count(PERF_COUNT_SW_PAGE_FAULTS, GROUP, 1, -1);
	int faults = open_count(PERF_COUNT_SW_PAGE_FAULTS_MIN, GROUP, 0, leader);
	int minor = open_count(PERF_COUNT_SW_PAGE_FAULTS_MIN, 0, 1, leader);
	struct group g, h;

	touch(20);
	g = read_group(leader);
	show("leader disabled", &g, 0);
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	touch(30);
	spin(CLOCK_THREAD_CPUTIME_ID, 30);
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

	fd = open_own(attr, pid, cpu, group_fd, flags);
	printf("%s: %s\n", what, fd < 0 ? strerrorname_np(errno) : "made");
	if (fd >= 0)
		close(fd);
}

static void refusals(void)
{
	int leader = open_count(PERF_COUNT_SW_PAGE_FAULTS, 0, 1, -1);
	int sibling = open_count(PERF_COUNT_SW_PAGE_FAULTS, 0, 1, leader);
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

static void mapped(void)
{
	int fd = open_count(PERF_COUNT_SW_PAGE_FAULTS, PERF_FORMAT_TOTAL_TIME_ENABLED, 1, -1);
	struct perf_event_mmap_page *page;
	struct shown s;

	page = map(fd, PROT_READ);
	if (page == MAP_FAILED) {
		printf("not ok mmap: %s\n", strerrorname_np(errno));
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(100);
	spin(CLOCK_THREAD_CPUTIME_ID, 30);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	s = read_page(page);
	printf("page: version %u, compat %u, index %u, size %u\n", page->version,
	       page->compat_version, page->index, page->size);
	printf("page: rdpmc %u, deprecated %u\n",
	       (unsigned int)page->cap_user_rdpmc,
	       (unsigned int)page->cap_bit0_is_deprecated);
	/* Only some of perf's events have cap_user_time. */
	check(side == PERF || !page->cap_user_time, "no capability that is not there");
	printf("page: data at %s, %llu\n", yes(page->data_offset == (uint64_t)page_size),
	       (unsigned long long)page->data_size);
	/* perf does not keep the page of a software event up to date. */
	check(side == PERF || ((uint64_t)s.value == value_of(fd) && s.enabled && s.running),
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

int main(int argc, char **argv)
{
	uint64_t f;

	begin(argc, argv);
	one();
	for (f = 0; f < 32; f++)
		format(f);
	group();
	refusals();
	mapped();
	printf("done\n");
	return 0;
}
