// SPDX-License-Identifier: GPL-2.0
/*
 * tally doctor --self-test: counts beside perf, and prints a report. The checks are in
 * selftest_count.c, selftest_cpus.c and selftest_pmu.c; this file has their order, what they share,
 * and the checks of the page of counts and of what is left behind.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "doctor.h"
#include "selftest.h"
#include "tool.h"

const struct place selftest_own = { .pid = 0, .cpu = -1 };

/* ---- the work that is counted ---- */

#define AREA_BITS	22	/* 4 MiB, more than most second caches have */
#define STEPS		4000	/* of the loop: less than a millisecond */

static unsigned char area[1 << AREA_BITS];

/* Jumps about in the area, and takes a branch that nobody can predict. */
__attribute__((noinline, section("tally_loop")))
static __u64 loop(__u64 x)
{
	int i;

	for (i = 0; i < STEPS; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		if (area[x >> (64 - AREA_BITS)] & 1)
			__asm__ volatile("" ::: "memory");
		else
			x ^= x >> 7;
	}
	return x;
}

bool selftest_in_loop(__u64 ip)
{
	return ip >= (unsigned long)__start_tally_loop && ip < (unsigned long)__stop_tally_loop;
}

static void fill_area(void)
{
	__u64 x = 1;
	size_t i;

	for (i = 0; i < sizeof(area); i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		area[i] = x >> 56;
	}
}

void selftest_run(int ms)
{
	static __u64 state = 1;
	__u64 end = now_ns() + ms * 1000000ULL;

	do {
		state = loop(state);
	} while (now_ns() < end);
}

void selftest_work(int ms)
{
	__u64 end = now_ns() + ms * 1000000ULL;
	size_t size = sysconf(_SC_PAGESIZE);
	char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	for (i = 1; now_ns() < end; i++) {
		selftest_run(0);
		syscall(SYS_getppid);
		if (page != MAP_FAILED) {
			*(volatile char *)page = 1;
			madvise(page, size, MADV_DONTNEED);
		}
		if (i % 8 == 0)
			poll(NULL, 0, 1);
	}
	if (page != MAP_FAILED)
		munmap(page, size);
}

/* ---- CPUs ---- */

/* The kernel has 8192 CPUs at most, and a cpu_set_t has room for 1024. */
#define MAX_CPUS	8192
#define SETS		(MAX_CPUS / CPU_SETSIZE)

bool selftest_go_to(int cpu)
{
	cpu_set_t mask[SETS];

	CPU_ZERO_S(sizeof(mask), mask);
	CPU_SET_S(cpu, sizeof(mask), mask);
	return !sched_setaffinity(0, sizeof(mask), mask);
}

struct search {
	int cpu;
	bool found;
};

static void compare_cpu(void *data, int cpu)
{
	struct search *search = data;

	search->found |= cpu == search->cpu;
}

bool selftest_lists(const char *name, int cpu)
{
	struct search search = { .cpu = cpu };
	char path[64], list[4096];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s", name);
	/* An empty list may read "(null)". */
	if (read_line(path, list, sizeof(list)))
		each_number(list, compare_cpu, &search);
	return search.found;
}

/* ---- failures ---- */

void selftest_fail(struct selftest *t, int layer, int error, const char *why)
{
	t->failed = layer;
	t->error = error;
	snprintf(t->why, sizeof(t->why), "%s%s%s", why, error ? ": " : "",
		 error ? strerror(error) : "");
}

const char *selftest_mark(const struct selftest *t)
{
	bool no_right = geteuid() && (t->error == EACCES || t->error == EPERM);

	return t->failed == TALLY && !no_right ? "BAD" : "note";
}

void selftest_refused(const struct selftest *t, const char *what)
{
	const char *mark = selftest_mark(t);

	finding(mark, "%s%s: %s%s", mark[0] == 'n' ? "not tried: " : "", what,
		t->failed == TALLY ? "tally: " : t->failed < LAYERS ? "perf: " : "", t->why);
}

/* ---- files ---- */

void selftest_attr(const struct selftest *t, struct perf_event_attr *attr, __u32 type, __u64 config)
{
	libtally_attr_init(attr, type, config);
	attr->disabled = 1;
	attr->exclude_kernel = t->user_only;
	attr->exclude_hv = t->user_only;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

int selftest_open(struct selftest *t, int layer, const struct perf_event_attr *attr,
		  const struct place *place, int group_fd)
{
	struct libtally_target target;
	int fd;

	target_at(&target, t->device, place);
	target.via = layer == TALLY ? LIBTALLY_VIA_DEVICE : LIBTALLY_VIA_PERF;
	target.group_fd = group_fd;
	fd = libtally_open_event(attr, &target);
	if (fd < 0) {
		selftest_fail(t, layer, -fd, "");
		strcpy(t->why, target.error);
	} else if (layer == TALLY && t->nr_ids < (int)(sizeof(t->ids) / sizeof(t->ids[0]))) {
		t->ids[t->nr_ids++] = target.id;
	}
	return fd;
}

bool selftest_read(struct selftest *t, int layer, int fd, struct counted *counted, int nr)
{
	__u64 format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
		       (nr > 1 ? PERF_FORMAT_GROUP : 0);
	struct libtally_count_entry entry;
	struct libtally_counts counts;
	__u64 buffer[64];
	int i, error;

	memset(counted, 0, nr * sizeof(*counted));
	error = libtally_read_counts(fd, buffer, sizeof(buffer), format, &counts);
	if (error || counts.nr != (__u64)nr) {
		selftest_fail(t, layer, -error, "read(2) failed, or was short");
		return false;
	}
	for (i = 0; i < nr; i++) {
		libtally_counts_get(&counts, i, &entry);
		counted[i].value = entry.value;
		counted[i].enabled = counts.enabled;
		counted[i].running = counts.running;
	}
	return true;
}

void selftest_close(int *fds, int nr)
{
	while (nr-- > 0) {
		if (fds[nr] >= 0)
			close(fds[nr]);
		fds[nr] = -1;
	}
}

void selftest_enable(int fd, bool on)
{
	ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

const char *selftest_compare(char *text, const char *what, __u64 low, __u64 value, __u64 high)
{
	__u64 slack = value / 1000;

	if (low <= value && value <= high)
		return "ok";
	if (low > high) {
		snprintf(text, LINE_SIZE, "%s: not compared: perf counted %llu, and within that "
			 "%llu", what, (unsigned long long)high, (unsigned long long)low);
		return "note";
	}
	snprintf(text, LINE_SIZE, "%s: tally counted %llu, perf %llu within that and %llu around "
		 "it", what, (unsigned long long)value, (unsigned long long)low,
		 (unsigned long long)high);
	return value + slack >= low && value - slack <= high ? "note" : "BAD";
}

bool selftest_lies(const char *what, __u64 low, __u64 value, __u64 high)
{
	char text[LINE_SIZE] = "";
	const char *mark = selftest_compare(text, what, low, value, high);

	if (text[0])
		finding(mark, "%s", text);
	return !text[0];
}

/* ---- before the checks ---- */

static bool opens(struct selftest *t, int layer, const struct place *place)
{
	struct perf_event_attr attr;
	int fd;

	selftest_attr(t, &attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	fd = selftest_open(t, layer, &attr, place, -1);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Returns whether perf and tally count at a place. Prints tally's refusal of what perf grants. */
static bool both_open(struct selftest *t, const char *what, const struct place *place)
{
	if (opens(t, OUTER, place) && opens(t, TALLY, place))
		return true;
	if (!strcmp(selftest_mark(t), "BAD"))
		selftest_refused(t, what);
	return false;
}

/* Finds out what the caller may count. Returns false if that is nothing. */
static bool find_rights(struct selftest *t)
{
	const struct place cpu = { .pid = -1, .cpu = t->cpu };

	t->on_cpus = both_open(t, "rights: a CPU", &cpu);
	if (both_open(t, "rights: own task", &selftest_own))
		return true;
	t->user_only = true;
	if (!both_open(t, "rights: own task, user space", &selftest_own)) {
		note("not tried: all checks: %s%s", geteuid() ? "run it as root: " : "", t->why);
		return false;
	}
	note("rights: only user space of own programs is counted: run it as root for the rest");
	return true;
}

/* Counts the work for a moment. Returns the counts of a millisecond; 0 if nothing counts. */
static double try_event(struct selftest *t, __u64 config)
{
	struct counted c;
	int fd;

	selftest_attr(t, &t->attr, PERF_TYPE_HARDWARE, config);
	fd = selftest_open(t, OUTER, &t->attr, &selftest_own, -1);
	if (fd < 0)
		return 0;
	selftest_enable(fd, true);
	selftest_run(20);
	selftest_enable(fd, false);
	if (!selftest_read(t, OUTER, fd, &c, 1) || !c.running)
		c.value = 0;
	close(fd);
	return c.value ? c.value * 1e6 / c.running : 0;
}

/*
 * Goes to the first CPU where perf counts instructions or cycles: where kinds of cores differ, its
 * generic events count on one of them. Any CPU does if perf counts neither.
 */
static void find_event(struct selftest *t)
{
	static const struct {
		const char *name;
		__u64 config;
	} events[] = {
		{ "instructions", PERF_COUNT_HW_INSTRUCTIONS },
		{ "cycles", PERF_COUNT_HW_CPU_CYCLES },
	};
	int i, cpu, first = -1;
	cpu_set_t may[SETS];

	if (sched_getaffinity(0, sizeof(may), may))
		CPU_ZERO_S(sizeof(may), may);
	for (i = 0; i < 2 && !t->event; i++) {
		for (cpu = 0; cpu < MAX_CPUS && !t->event; cpu++) {
			if (!CPU_ISSET_S(cpu, sizeof(may), may) || !selftest_go_to(cpu))
				continue;
			if (first < 0)
				first = cpu;
			t->cpu = cpu;
			t->per_ms = try_event(t, events[i].config);
			if (t->per_ms)
				t->event = events[i].name;
			else if (cpu - first >= 16)
				break;
		}
	}
	if (!t->event && first >= 0) {
		t->cpu = first;
		selftest_go_to(first);
	}
}

/* ---- the page of counts ---- */

/* Works until the page was published later than a moment. Returns false after a second. */
static bool wait_for_page(const void *page, __u64 moment, struct libtally_value *value)
{
	__u64 time = 0, end = moment + 1000000000ULL;

	do {
		selftest_run(1);
		if (libtally_page_values(page, value, 1, &time) == 1 && time > moment)
			return true;
	} while (now_ns() < end);
	return false;
}

/* Compares the page with read(2) while the event counts, and after the end. */
static void compare_page(struct selftest *t, int fd, const void *page)
{
	struct libtally_value value = { 0 };
	struct counted before, after, last;
	bool shown, read;

	selftest_enable(fd, true);
	selftest_work(20);
	read = selftest_read(t, TALLY, fd, &before, 1);
	shown = wait_for_page(page, now_ns(), &value);
	read &= selftest_read(t, TALLY, fd, &after, 1);
	selftest_enable(fd, false);
	read &= selftest_read(t, TALLY, fd, &last, 1);
	if (!read)
		selftest_refused(t, "page of counts");
	else if (!shown && selftest_lists("nohz_full", t->cpu))
		note("page of counts: no timer updates the page on CPU %d, which is in nohz_full",
		     t->cpu);
	else if (!shown)
		fault("page of counts: the page was not updated within a second");
	else
		finding(value.value >= before.value && value.value <= after.value ? "ok" : "BAD",
			"page of counts: the page has %llu; read(2) returned %llu before, and %llu "
			"after", (unsigned long long)value.value, (unsigned long long)before.value,
			(unsigned long long)after.value);
	if (read && (libtally_page_values(page, &value, 1, NULL) != 1 || value.value != last.value))
		fault("page of counts: after the end, the page has %llu, and read(2) returns %llu",
		      (unsigned long long)value.value, (unsigned long long)last.value);
}

void check_page(struct selftest *t)
{
	struct perf_event_attr attr;
	const void *page;
	int fd, error;

	selftest_attr(t, &attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	fd = selftest_open(t, TALLY, t->event ? &t->attr : &attr, &selftest_own, -1);
	if (fd < 0) {
		selftest_refused(t, "page of counts");
		return;
	}
	error = libtally_page_map(fd, &page);
	if (error) {
		selftest_fail(t, TALLY, -error, "the page cannot be mapped");
		selftest_refused(t, "page of counts");
	} else {
		compare_page(t, fd, page);
		libtally_page_unmap(page);
	}
	close(fd);
}

/* ---- behind the checks ---- */

static int nr_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int nr = 0;

	while (folder && readdir(folder))
		nr++;
	if (folder)
		closedir(folder);
	return nr;
}

static bool is_own(const struct selftest *t, __u64 id)
{
	int i;

	for (i = 0; i < t->nr_ids; i++)
		if (t->ids[i] == id)
			return true;
	return false;
}

static void check_left_behind(const struct selftest *t, int files)
{
	struct libtally_running event = { .id = 0 };
	int left = 0;

	while (libtally_device_next(t->device, &event) > 0)
		left += is_own(t, event.id);
	if (left || nr_files() != files)
		fault("rest: %d of %d events are left; %d files are open, and %d were at the start",
		      left, t->nr_ids, nr_files(), files);
	else
		good("rest: none of %d events is left, and no file", t->nr_ids);
}

void self_test(int device, bool hotplug)
{
	struct selftest t = { .device = device, .hotplug = hotplug };
	__u64 begin = now_ns();
	int files = nr_files();

	raise_file_limit();
	fill_area();
	find_event(&t);
	if (find_rights(&t)) {
		/* t->user_only is known now, and decides whether the event counts the kernel. */
		t.event = NULL;
		find_event(&t);
		check_counts(&t);
		check_exclusion(&t);
		check_group(&t);
		check_page(&t);
		check_software_samples(&t);
		check_samples(&t);
		check_precise(&t);
		check_nmi_reads(&t);
		check_multiplexing(&t);
		check_cpus(&t);
		check_hotplug(&t);
	}
	check_left_behind(&t, files);
	printf("      %.1f seconds; BAD: %d\n", (now_ns() - begin) / 1e9, doctor_bad);
}
