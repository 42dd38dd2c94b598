// SPDX-License-Identifier: GPL-2.0
/*
 * window SECONDS LEAST WORD FILE OTHER: compares a count of tally with a count of the
 * kernel's own. The window lasts at least SECONDS, and until tally's count has grown by
 * LEAST, but at most five minutes more.
 *
 * At each end of the window, the kernel's count is read before and after tally's:
 *
 *	other0 tally0 other1 ... other2 tally1 other3
 *
 * So tally must have counted at least other2 - other1, and at most other3 - other0,
 * whatever happens between two reads. No tolerance is needed. The program prints
 * "LOW GOT HIGH".
 *
 * FILE is tally's count. OTHER is a file with a line "WORD NUMBER". WORD may also be a
 * difference, as in "pgfault-pgmajfault", or "-" if OTHER has nothing but the number.
 * If OTHER is "time", the kernel's count is CLOCK_MONOTONIC in nanoseconds, times WORD.
 *
 * Two clocks that advance at ticks differ by one tick at most, at each end of the window.
 * If CLOCK_MONOTONIC has the resolution of a tick, LOW and HIGH are wider by two ticks.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char buf[1 << 16];

static const char *contents(int fd)
{
	size_t len = 0;
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET))
		err(1, "lseek");
	while ((n = read(fd, buf + len, sizeof(buf) - 1 - len)) > 0)
		len += n;
	if (n < 0)
		err(1, "read");
	buf[len] = '\0';
	return buf;
}

static unsigned long long find(const char *text, const char *word, size_t len)
{
	const char *line = text;

	while (line) {
		if (!strncmp(line, word, len) && line[len] == ' ')
			return strtoull(line + len, NULL, 10);
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	errx(1, "no line '%.*s'", (int)len, word);
}

static unsigned long long other(int fd, const char *word)
{
	const char *minus = strchr(word, '-');
	const char *text;
	struct timespec t;

	if (fd < 0) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		return (t.tv_sec * 1000000000ULL + t.tv_nsec) * atoi(word);
	}
	text = contents(fd);
	if (!strcmp(word, "-"))
		return strtoull(text, NULL, 10);
	if (!minus)
		return find(text, word, strlen(word));
	return find(text, word, minus - word) - find(text, minus + 1, strlen(minus + 1));
}

static unsigned long long tally(int fd)
{
	return strtoull(contents(fd), NULL, 10);
}

int main(int argc, char **argv)
{
	unsigned long long o[4], t[2], apart = 0, least;
	struct timespec resolution;
	int tally_fd, other_fd = -1, tenths;
	const char *word;

	if (argc != 6) {
		fprintf(stderr, "usage: window SECONDS LEAST WORD FILE OTHER\n");
		return 2;
	}
	least = strtoull(argv[2], NULL, 10);
	word = argv[3];
	tally_fd = open(argv[4], O_RDONLY);
	if (tally_fd < 0)
		err(1, "%s", argv[4]);
	if (strcmp(argv[5], "time")) {
		other_fd = open(argv[5], O_RDONLY);
		if (other_fd < 0)
			err(1, "%s", argv[5]);
	} else {
		clock_getres(CLOCK_MONOTONIC, &resolution);
		apart = 2ULL * resolution.tv_nsec * atoi(word);
	}
	/* Touch all pages that the reads need: reads in the window then do not fault. */
	other(other_fd, word);
	tally(tally_fd);

	o[0] = other(other_fd, word);
	t[0] = tally(tally_fd);
	o[1] = other(other_fd, word);
	sleep(atoi(argv[1]));
	for (tenths = 0; tenths < 3000 && tally(tally_fd) - t[0] < least; tenths++)
		usleep(100000);
	o[2] = other(other_fd, word);
	t[1] = tally(tally_fd);
	o[3] = other(other_fd, word);
	printf("%llu %llu %llu\n", o[2] - o[1] - apart, t[1] - t[0], o[3] - o[0] + apart);
	return 0;
}
