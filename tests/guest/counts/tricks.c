// SPDX-License-Identifier: GPL-2.0
/*
 * This program uses what tally does with its tricks, or without one (src/module/base/trick.c):
 *
 *	tricks read|enabled|clock|page|filter|times|hold
 *
 * Prints OK, the name of an errno, or what is wrong. "hold" has perf count on each CPU until it is
 * killed.
 */
#define _GNU_SOURCE
#include "either.h"

static void say(int error)
{
	printf("%s\n", error ? strerrorname_np(error) : "OK");
}

static int open_own(const struct perf_event_attr *attr, int kind)
{
	struct tally_open r = request(attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return must_open(kind, &r);
}

/* The page faults of this task, counted by both. */
static void count_faults(void)
{
	static const struct perf_event_attr attr = { PAGE_FAULTS, .exclude_kernel = 1 };
	int perf = open_own(&attr, PERF), tally = open_own(&attr, TALLY);
	uint64_t first = value_of(tally) - value_of(perf), last;
	char *pages = mmap(NULL, 100 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	int i;

	for (i = 0; i < 100; i++)
		pages[i << 12] = 1;
	last = value_of(tally) - value_of(perf);
	if (first != last)
		printf("%lld more than perf\n", (long long)(last - first));
	else
		say(0);
}

/* The time of an event lies between those of one of perf that is older and of one that is newer. */
static void compare_times(void)
{
	static const struct perf_event_attr attr = {
		PAGE_FAULTS, .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	int older = open_own(&attr, PERF), tally = open_own(&attr, TALLY);
	int newer = open_own(&attr, PERF);
	uint64_t t[3][2];

	if (read(newer, t[0], sizeof(t[0])) != sizeof(t[0]) ||
	    read(tally, t[1], sizeof(t[1])) != sizeof(t[1]) ||
	    read(older, t[2], sizeof(t[2])) != sizeof(t[2]))
		err(2, "read");
	if (t[0][1] > t[1][1] || t[1][1] > t[2][1])
		printf("%llu, %llu, %llu ns\n", (unsigned long long)t[0][1],
		       (unsigned long long)t[1][1], (unsigned long long)t[2][1]);
	else
		say(0);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

/* The time of this task, which is not more than what has passed. */
static void watch_clock(void)
{
	static const struct perf_event_attr attr = { SW(PERF_COUNT_SW_TASK_CLOCK) };
	uint64_t begun = now(), first, last, passed;
	int fd = open_own(&attr, TALLY);

	/* A clock of the kernel may stand for a tick. */
	first = value_of(fd);
	do {
		last = value_of(fd);
		passed = now() - begun;
	} while ((last == first || passed < 2000000) && passed < 500000000);
	if (last <= first || last > passed + 10000000)
		printf("%llu to %llu of %llu ns\n", (unsigned long long)first,
		       (unsigned long long)last, (unsigned long long)passed);
	else
		say(0);
}

static void map_page(void)
{
	static const struct perf_event_attr attr = { PAGE_FAULTS };
	int fd = open_own(&attr, TALLY);

	say(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? errno : 0);
}

/* An event that only counts, of a tracepoint. */
static void filter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr),
		.config = trace_id("sched/sched_switch"),
	};
	int fd = open_own(&attr, TALLY);

	say(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "prev_pid == 1") ? errno : 0);
}

/* Samples that have the times of the event. */
static void sample_times(void)
{
	static const struct perf_event_attr attr = {
		PAGE_FAULTS, .sample_period = 100, .sample_type = PERF_SAMPLE_READ,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED,
	};
	struct tally_open r = request(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	say(open_as(TALLY, &r) < 0 ? errno : 0);
}

static void hold(void)
{
	static const struct perf_event_attr attr = { SW(PERF_COUNT_SW_CPU_CLOCK) };
	struct tally_open r = request(&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	for (; r.cpu < sysconf(_SC_NPROCESSORS_ONLN); r.cpu++)
		must_open(PERF, &r);
	say(0);
	fflush(stdout);
	pause();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	/* perf alone holds. */
	if (strcmp(what, "hold"))
		need_device();
	if (!strcmp(what, "read"))
		count_faults();
	else if (!strcmp(what, "enabled"))
		compare_times();
	else if (!strcmp(what, "clock"))
		watch_clock();
	else if (!strcmp(what, "page"))
		map_page();
	else if (!strcmp(what, "filter"))
		filter();
	else if (!strcmp(what, "times"))
		sample_times();
	else if (!strcmp(what, "hold"))
		hold();
	else
		errx(2, "usage: tricks read|enabled|clock|page|filter|times|hold");
	return 0;
}
