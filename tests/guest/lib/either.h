/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for programs that use perf_event_open(2), and do the same with files of
 * /dev/tally:
 *
 *	PROGRAM perf|tally
 *
 * Only open_event() differs. A program prints only results in which perf and tally have
 * to agree: a file of tally behaves as perf's if the two outputs are the same. A line
 * that begins with "not ok" is a failure of either one. The last line says that the
 * program reached its end.
 */
#ifndef EITHER_H
#define EITHER_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/tally.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int device = -1;

static inline int open_event(struct perf_event_attr *attr, pid_t pid, int cpu,
			     int group_fd, unsigned long flags)
{
	struct tally_error why = { .size = sizeof(why) };
	struct tally_open o = {
		.size = sizeof(o), .error = (unsigned long)&why, .attr = (unsigned long)attr, .pid = pid,
		.cpu = cpu, .group_fd = group_fd, .perf_flags = flags,
		.publish_ns = 1000000,
	};
	int fd;

	if (device < 0)
		return syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
	fd = ioctl(device, TALLY_IOC_OPEN, &o);
	if (fd < 0)
		fprintf(stderr, "# %s (stage %u, field %#x)\n", why.text,
			why.stage, why.field);
	return fd;
}

static inline const char *yes(int condition)
{
	return condition ? "yes" : "no";
}

static inline void check(int good, const char *what)
{
	if (!good)
		printf("not ok %s\n", what);
}

/* ---- something to count ---- */

static char *area;
static long page_size;

static inline void touch(int pages)
{
	int i;

	madvise(area, 4096 * page_size, MADV_DONTNEED);
	for (i = 0; i < pages; i++)
		area[i * page_size] = 1;
}

static inline struct perf_event_attr page_faults(uint64_t format, int disabled)
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

static inline uint64_t value_of(int fd)
{
	uint64_t value[16] = { 0 };

	if (read(fd, value, sizeof(value)) <= 0)
		return ~0ULL;
	return value[0];
}

/* ---- start of a program ---- */

static inline void begin(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: %s perf|tally", argv[0]);
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
}

#endif /* EITHER_H */
