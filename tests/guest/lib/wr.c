// SPDX-License-Identifier: GPL-2.0
/*
 * wr FILE [TEXT]: writes the text, or all of standard input if there is none, to a file
 * with one write(2). Prints OK, "SHORT n" for a write of n bytes, or the name of the
 * errno; with "open: " in front of the name if the file does not open.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char input[1 << 20];
	const char *text = input;
	size_t len = 0;
	ssize_t n;
	int fd;

	if (argc == 3) {
		text = argv[2];
		len = strlen(text);
	} else if (argc == 2) {
		while (len < sizeof(input)) {
			n = read(0, input + len, sizeof(input) - len);
			if (n <= 0)
				break;
			len += n;
		}
	} else {
		fprintf(stderr, "usage: wr FILE [TEXT]\n");
		return 2;
	}

	fd = open(argv[1], O_WRONLY);
	if (fd < 0) {
		printf("open: %s\n", strerrorname_np(errno));
		return 1;
	}
	n = write(fd, text, len);
	if (n < 0)
		printf("%s\n", strerrorname_np(errno));
	else if ((size_t)n < len)
		printf("SHORT %zd\n", n);
	else
		printf("OK\n");
	return n != (ssize_t)len;
}
