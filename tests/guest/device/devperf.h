/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers for programs that make the same call for a file of perf and for one of tally. */
#ifndef DEVPERF_H
#define DEVPERF_H

#include "devtest.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))
#define LENGTH(n)	((n) * page_size)

enum { PERF, TALLY };
static const char *const kinds[] = { "perf", "tally" };

/* Returns a file, or -errno. */
static inline int open_as(int kind, const struct perf_event_attr *a, pid_t pid, int cpu, int group,
		   unsigned long flags)
{
	struct tally_open request = {
		.size = sizeof(request), .attr = (unsigned long)a, .pid = pid, .cpu = cpu,
		.group_fd = group, .perf_flags = flags, .error = (unsigned long)&why,
	};
	int fd;

	why.text[0] = '\0';
	if (kind == PERF)
		fd = syscall(SYS_perf_event_open, a, pid, cpu, group, flags);
	else
		fd = ioctl(device, TALLY_IOC_OPEN, &request);
	return fd < 0 ? -errno : fd;
}

static inline const char *name_of(long result)
{
	static char text[2][32];
	static int turn;

	if (result < 0)
		return strerrorname_np(-result) ?: "?";
	turn ^= 1;
	snprintf(text[turn], sizeof(text[turn]), "%ld", result);
	return text[turn];
}

#define SW(number)						\
	.type = PERF_TYPE_SOFTWARE, .size = sizeof(struct perf_event_attr), .config = (number)
#define FAULTS	SW(PERF_COUNT_SW_PAGE_FAULTS)

/* A pid that no task has. */
#define NOBODYS_PID	0x3ffffffe

#endif /* DEVPERF_H */
