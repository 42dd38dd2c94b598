// SPDX-License-Identifier: GPL-2.0
/*
 * failnth create FILE TEXT N: writes the text to the file while the N-th
 *	allocation of that write fails.
 * failnth insmod FILE PARAMETERS N: loads a module the same way.
 *
 * Prints OK or the name of the errno, and then "failed" if there was an N-th
 * allocation, or "passed" if there were fewer.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int nth_fd;

static void arm(const char *n)
{
	if (pwrite(nth_fd, n, strlen(n), 0) < 0)
		err(2, "cannot write fail-nth");
}

/* What is left to count down; 0 once it happened. */
static int left(void)
{
	char buf[32] = "";

	if (pread(nth_fd, buf, sizeof(buf) - 1, 0) < 0)
		err(2, "cannot read fail-nth");
	return atoi(buf);
}

int main(int argc, char **argv)
{
	int fd, rest, saved = 0, is_module;
	long ret;

	if (argc != 5) {
		fprintf(stderr, "usage: failnth create|insmod FILE TEXT N\n");
		return 2;
	}
	is_module = !strcmp(argv[1], "insmod");
	fd = open(argv[2], is_module ? O_RDONLY : O_WRONLY);
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (fd < 0 || nth_fd < 0)
		err(2, "cannot open");
	/* The reading of fail-nth needs memory, too: have it done once. */
	left();

	arm(argv[4]);
	if (is_module)
		ret = syscall(SYS_finit_module, fd, argv[3], 0);
	else
		ret = write(fd, argv[3], strlen(argv[3]));
	if (ret < 0)
		saved = errno;
	rest = left();
	/* Whether reading was what failed cannot be told; disarm in any case. */
	arm("0");
	printf("%s %s\n", saved ? strerrorname_np(saved) : "OK",
	       rest ? "passed" : "failed");
	return 0;
}
