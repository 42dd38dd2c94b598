// SPDX-License-Identifier: GPL-2.0
/*
 * rd FILE: reads a file and prints its contents, or the name of the errno; with "open: "
 * in front of the name if the file does not open.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char buf[65536];
	ssize_t n;
	int fd;

	if (argc != 2) {
		fprintf(stderr, "usage: rd FILE\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY);
	if (fd < 0) {
		printf("open: %s\n", strerrorname_np(errno));
		return 1;
	}
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, n, stdout);
	if (n < 0)
		printf("%s\n", strerrorname_np(errno));
	return n < 0;
}
