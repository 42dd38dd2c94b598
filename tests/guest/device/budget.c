// SPDX-License-Identifier: GPL-2.0
/*
 * budget NAME CPU: attaches to the event NAME, which has a budget. For each line of standard input,
 * polls for POLLPRI until it comes, or not at all with "now", and prints whether it has come and
 * what TALLY_IOC_BUDGET returns for the CPU.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tally.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

int main(int argc, char **argv)
{
	struct tally_budget_info b = { .size = sizeof(b) };
	struct tally_attach at = { .size = sizeof(at) };
	struct pollfd p = { .events = POLLPRI };
	char line[16];
	int device;

	if (argc != 3)
		errx(2, "usage: budget NAME CPU");
	device = open("/dev/tally", O_RDWR);
	strncpy(at.name, argv[1], sizeof(at.name) - 1);
	p.fd = ioctl(device, TALLY_IOC_ATTACH, &at);
	if (device < 0 || p.fd < 0)
		err(1, "%s", argv[1]);
	b.cpu = atoi(argv[2]);
	while (fgets(line, sizeof(line), stdin)) {
		if (poll(&p, 1, strncmp(line, "now", 3) ? -1 : 0) < 0)
			err(1, "poll");
		printf("%s ", p.revents & POLLPRI ? "POLLPRI" : p.revents ? "POLLHUP" : "none");
		if (ioctl(p.fd, TALLY_IOC_BUDGET, &b))
			printf("%s\n", strerrorname_np(errno));
		else
			printf("%llu/%llu %llu %llu %llu\n", b.budget, b.window_ns,
			       b.window - b.latest[0], b.windows, b.exceeded);
		fflush(stdout);
	}
	return 0;
}
