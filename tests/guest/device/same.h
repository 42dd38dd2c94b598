/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for programs that do the same with files of perf or with files of /dev/tally:
 *
 *	PROGRAM perf|tally
 *
 * A program prints only results in which perf and tally have to agree: a file of tally
 * behaves as perf's if the two outputs are the same. A line that begins with "not ok" is
 * a failure of either one. The last line says that the program reached its end.
 */
#ifndef SAME_H
#define SAME_H

#include "either.h"

/* Whose files the program uses. */
static int side;

static inline int open_own(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
			   unsigned long flags)
{
	struct tally_open r = request(attr, pid, cpu, group_fd, flags);
	int fd;

	r.publish_ns = 1000000;
	fd = open_as(side, &r);
	if (fd < 0 && side == TALLY)
		fprintf(stderr, "# %s (stage %u, field %#x)\n", why.text, why.stage, why.field);
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

static inline struct perf_event_attr page_faults(uint64_t format, int disabled)
{
	return (struct perf_event_attr) {
		PAGE_FAULTS, .read_format = format, .disabled = disabled,
	};
}

static inline void begin(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: %s perf|tally", argv[0]);
	side = strcmp(argv[1], "tally") ? PERF : TALLY;
	if (side == TALLY)
		need_device();
	begin_area();
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
}

#endif /* SAME_H */
