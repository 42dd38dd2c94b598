// SPDX-License-Identifier: GPL-2.0
/*
 * enclose SECONDS CONTROL ANSWERS FILE...: reads tally's count files around a
 * window of perf stat --control, whose events are off until then:
 *
 *	read, "enable", answer, sleep, "disable", answer, read
 *
 * Prints by how much each file grew. Runs before everything else, so that the
 * two windows are nearly one: run perf by "as fifo" too.
 */
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES 32

static int control, answers;

static void tell(const char *order)
{
	char buf[16] = "";

	if (write(control, order, strlen(order)) < 0 || read(answers, buf, sizeof(buf) - 1) < 0)
		err(1, "perf does not answer");
	if (strncmp(buf, "ack", 3))
		errx(1, "perf answers '%s'", buf);
}

static unsigned long long count(int fd)
{
	char buf[32];
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);

	if (n <= 0)
		err(1, "cannot read a count");
	buf[n] = '\0';
	return strtoull(buf, NULL, 10);
}

int main(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = 10 };
	unsigned long long before[FILES], after[FILES];
	int fd[FILES], i, nr = argc - 4;

	if (nr < 1 || nr > FILES) {
		fprintf(stderr, "usage: enclose SECONDS CONTROL ANSWERS FILE...\n");
		return 2;
	}
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		err(1, "sched_setscheduler");
	control = open(argv[2], O_RDWR);
	answers = open(argv[3], O_RDWR);
	if (control < 0 || answers < 0)
		err(1, "open");
	for (i = 0; i < nr; i++) {
		fd[i] = open(argv[4 + i], O_RDONLY);
		if (fd[i] < 0)
			err(1, "%s", argv[4 + i]);
		count(fd[i]);
	}
	tell("ping\n");

	for (i = 0; i < nr; i++)
		before[i] = count(fd[i]);
	tell("enable\n");
	sleep(atoi(argv[1]));
	tell("disable\n");
	for (i = 0; i < nr; i++)
		after[i] = count(fd[i]);

	for (i = 0; i < nr; i++)
		printf("%llu ", after[i] - before[i]);
	printf("\n");
	return 0;
}
