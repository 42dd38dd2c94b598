// SPDX-License-Identifier: GPL-2.0
/*
 * bench_user FILE...: what reading counts costs a process: perf's file of an
 * event, one and eight of them, of a group of eight; and FILE, a count in
 * tally's folder, opened once. In tenths of an instruction, with icount:
 *
 *	# figure user read 1234
 *
 * The event is page-faults on CPU 0.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	30
#define CALLS	64

static int alone[8], group[8], file;
static char buf[4096];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int open_event(int leader, unsigned long long format)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.read_format = format,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, leader, 0);

	if (fd < 0)
		die("perf_event_open");
	return fd;
}

static void read_one(void)
{
	if (read(alone[0], buf, sizeof(buf)) != 8)
		die("read");
}

static void read_eight(void)
{
	int i;

	for (i = 0; i < 8; i++)
		if (read(alone[i], buf, sizeof(buf)) != 8)
			die("read");
}

static void read_group(void)
{
	if (read(group[0], buf, sizeof(buf)) != 9 * 8)
		die("read of a group");
}

static void read_file(void)
{
	if (pread(file, buf, sizeof(buf), 0) <= 0)
		die("pread");
}

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void figure(const char *name, void (*op)(void))
{
	unsigned long long best = ~0ULL, t;
	int i, j;

	for (i = 0; i < ROUNDS; i++) {
		t = now_ns();
		for (j = 0; j < CALLS; j++)
			op();
		t = now_ns() - t;
		best = t < best ? t : best;
	}
	printf("# figure user %s %llu\n", name, best * 10 / CALLS);
}

int main(int argc, char **argv)
{
	int i;

	for (i = 0; i < 8; i++) {
		alone[i] = open_event(-1, 0);
		group[i] = open_event(i ? group[0] : -1, PERF_FORMAT_GROUP);
	}
	figure("read", read_one);
	figure("read_8", read_eight);
	figure("read_group_8", read_group);
	for (i = 1; i < argc; i++) {
		file = open(argv[i], O_RDONLY);
		if (file < 0)
			die(argv[i]);
		figure("file", read_file);
		close(file);
	}
	return 0;
}
