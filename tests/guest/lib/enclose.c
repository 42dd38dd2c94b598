// SPDX-License-Identifier: GPL-2.0
/*
 * enclose SECONDS OUTER INNER FILE LEAST...: reads tally's count files between the
 * windows of two runs of perf stat --control, whose events are disabled before:
 *
 *	enable OUTER, read, enable INNER, wait, disable INNER, read, disable OUTER
 *
 * So tally must have counted at least as much as the inner perf, and at most as much as
 * the outer one, whatever happens in between. OUTER and INNER are folders with perf's
 * fifos control and answers. The wait lasts at least SECONDS, and until each file has
 * grown by its LEAST, but at most five minutes more.
 *
 * The program prints by how much each file grew.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES 32

struct perf {
	int control, answers;
};

static void tell(const struct perf *perf, const char *order)
{
	char buf[16] = "";

	if (write(perf->control, order, strlen(order)) < 0 ||
	    read(perf->answers, buf, sizeof(buf) - 1) < 0)
		err(1, "perf does not answer");
	if (strncmp(buf, "ack", 3))
		errx(1, "perf answers '%s'", buf);
}

static int open_fifo(const char *folder, const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static struct perf open_perf(const char *folder)
{
	struct perf perf = { open_fifo(folder, "control"), open_fifo(folder, "answers") };

	tell(&perf, "ping\n");
	return perf;
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

static struct {
	int fd;
	unsigned long long least, before, after;
} files[FILES];
static int nr;

static int all_grown(void)
{
	int i;

	for (i = 0; i < nr; i++)
		if (count(files[i].fd) - files[i].before < files[i].least)
			return 0;
	return 1;
}

int main(int argc, char **argv)
{
	struct perf outer, inner;
	int i, tenths;

	nr = (argc - 4) / 2;
	if (argc < 6 || argc % 2 || nr > FILES) {
		fprintf(stderr, "usage: enclose SECONDS OUTER INNER FILE LEAST...\n");
		return 2;
	}
	for (i = 0; i < nr; i++) {
		files[i].fd = open(argv[4 + 2 * i], O_RDONLY);
		if (files[i].fd < 0)
			err(1, "%s", argv[4 + 2 * i]);
		files[i].least = strtoull(argv[5 + 2 * i], NULL, 10);
	}
	outer = open_perf(argv[2]);
	inner = open_perf(argv[3]);

	tell(&outer, "enable\n");
	for (i = 0; i < nr; i++)
		files[i].before = count(files[i].fd);
	tell(&inner, "enable\n");
	sleep(atoi(argv[1]));
	for (tenths = 0; tenths < 3000 && !all_grown(); tenths++)
		usleep(100000);
	tell(&inner, "disable\n");
	for (i = 0; i < nr; i++)
		files[i].after = count(files[i].fd);
	tell(&outer, "disable\n");

	for (i = 0; i < nr; i++)
		printf("%llu ", files[i].after - files[i].before);
	printf("\n");
	return 0;
}
