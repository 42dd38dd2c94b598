// SPDX-License-Identifier: GPL-2.0
/*
 * tally doctor --self-test: counts beside perf, and prints a report. The checks are in
 * selftest_count.c, selftest_cpus.c and selftest_pmu.c; this file has their order, and what they
 * share.
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

bool selftest_go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
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
	if (fd < 0)
		strcpy(t->why, target.error);
	else if (layer == TALLY && t->nr_ids < (int)(sizeof(t->ids) / sizeof(t->ids[0])))
		t->ids[t->nr_ids++] = target.id;
	return fd;
}

bool selftest_read(int fd, struct counted *counted, int nr)
{
	__u64 format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
		       (nr > 1 ? PERF_FORMAT_GROUP : 0);
	struct libtally_count_entry entry;
	struct libtally_counts counts;
	__u64 buffer[64];
	int i;

	memset(counted, 0, nr * sizeof(*counted));
	if (libtally_read_counts(fd, buffer, sizeof(buffer), format, &counts) ||
	    counts.nr != (__u64)nr)
		return false;
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

bool selftest_lies(const char *what, __u64 low, __u64 value, __u64 high)
{
	__u64 slack = value / 1000;

	if (low <= value && value <= high)
		return true;
	if (low > high)
		note("%s: not compared: perf counted %llu, and within that %llu", what,
		     (unsigned long long)high, (unsigned long long)low);
	else
		finding(value + slack >= low && value - slack <= high ? "note" : "BAD",
			"%s: tally counted %llu, perf %llu within that and %llu around it", what,
			(unsigned long long)value, (unsigned long long)low,
			(unsigned long long)high);
	return false;
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

/* Finds out what the caller may count. Returns false if that is nothing. */
static bool find_rights(struct selftest *t)
{
	const struct place cpu = { .pid = -1, .cpu = t->cpu };

	t->on_cpus = opens(t, OUTER, &cpu) && opens(t, TALLY, &cpu);
	if (opens(t, OUTER, &selftest_own) && opens(t, TALLY, &selftest_own))
		return true;
	t->user_only = true;
	if (!opens(t, OUTER, &selftest_own) || !opens(t, TALLY, &selftest_own)) {
		note("not tried: all checks: run it as root: %s", t->why);
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
	if (!selftest_read(fd, &c, 1) || !c.running)
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
	cpu_set_t may;
	int i, cpu, first = -1;

	if (sched_getaffinity(0, sizeof(may), &may))
		CPU_ZERO(&may);
	for (i = 0; i < 2 && !t->event; i++) {
		for (cpu = 0; cpu < CPU_SETSIZE && !t->event; cpu++) {
			if (!CPU_ISSET(cpu, &may) || !selftest_go_to(cpu))
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

/* Works until the page shows counts of after a moment. Returns false after a second without. */
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

void check_page(struct selftest *t)
{
	struct counted before, behind, last;
	struct perf_event_attr attr;
	struct libtally_value value;
	char isolated[64] = "";
	const void *page;
	bool shown;
	int fd;

	selftest_attr(t, &attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	fd = selftest_open(t, TALLY, t->event ? &t->attr : &attr, &selftest_own, -1);
	if (fd < 0 || libtally_page_map(fd, &page)) {
		fault("page of counts: %s", fd < 0 ? t->why : "it cannot be mapped");
		selftest_close(&fd, 1);
		return;
	}
	selftest_enable(fd, true);
	selftest_work(20);
	selftest_read(fd, &before, 1);
	shown = wait_for_page(page, now_ns(), &value);
	selftest_read(fd, &behind, 1);
	read_line("/sys/devices/system/cpu/nohz_full", isolated, sizeof(isolated));
	if (shown && value.value >= before.value && value.value <= behind.value)
		good("page of counts: without a system call %llu, between read(2)'s %llu and %llu",
		     (unsigned long long)value.value, (unsigned long long)before.value,
		     (unsigned long long)behind.value);
	else if (shown || !isolated[0] || isolated[0] == '(')
		fault("page of counts: %llu%s, read(2) %llu before that and %llu behind",
		      (unsigned long long)value.value, shown ? "" : " for a second",
		      (unsigned long long)before.value, (unsigned long long)behind.value);
	else
		note("page of counts: no timer publishes on CPUs of nohz_full");
	selftest_enable(fd, false);
	if (selftest_read(fd, &last, 1) && libtally_page_values(page, &value, 1, NULL) == 1 &&
	    value.value != last.value)
		fault("page of counts: %llu after the end, read(2) %llu",
		      (unsigned long long)value.value, (unsigned long long)last.value);
	libtally_page_unmap(page);
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
		/* Again, with the kernel or without. */
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
