// SPDX-License-Identifier: GPL-2.0
/*
 * monot FILE COLUMN...: reads the file over and over until SIGTERM, and fails as soon as
 * a number is smaller than it was before.
 *
 * The first word of a line identifies it from one sample to the next; or its line number,
 * if the first word is one of the columns. A '-' instead of a number is a failure, and so
 * is a file that cannot be read or has no line. A line that begins with "cpu" is a head, and
 * is left out. The number of samples is printed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES 1024
#define COLUMNS 8

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static struct {
	char key[64];
	unsigned long long last[COLUMNS];
} seen[LINES];
static int nr_seen;

static int find(const char *key)
{
	int i;

	for (i = 0; i < nr_seen; i++)
		if (!strcmp(seen[i].key, key))
			return i;
	if (nr_seen == LINES)
		return -1;
	snprintf(seen[i].key, sizeof(seen[i].key), "%s", key);
	return nr_seen++;
}

static int check_line(const char *file, char *line, int place, int nr,
		      char **columns, unsigned long samples)
{
	char *words[16] = { NULL }, *save = NULL, *word, key[64];
	int n = 0, i, s, by_place = 0;

	for (word = strtok_r(line, " ", &save); word && n < 16;
	     word = strtok_r(NULL, " ", &save))
		words[n++] = word;
	if (n && !strcmp(words[0], "cpu"))
		return 0;
	for (i = 0; i < nr; i++)
		by_place |= atoi(columns[i]) == 1;
	if (by_place)
		snprintf(key, sizeof(key), "line %d", place);
	else
		snprintf(key, sizeof(key), "%s", words[0] ? words[0] : "");
	s = find(key);
	for (i = 0; i < nr; i++) {
		int c = atoi(columns[i]) - 1;
		unsigned long long now;
		char *end;

		if (s < 0 || c < 0 || c >= n) {
			printf("# %s: %s has no column %s\n", file, key, columns[i]);
			return 1;
		}
		now = strtoull(words[c], &end, 10);
		if (end == words[c] || *end) {
			printf("# %s: %s, column %s is '%s' in sample %lu\n",
			       file, key, columns[i], words[c], samples);
			return 1;
		}
		if (now < seen[s].last[i]) {
			printf("# %s: %s, column %s fell from %llu to %llu in sample %lu\n",
			       file, key, columns[i], seen[s].last[i], now,
			       samples);
			return 1;
		}
		seen[s].last[i] = now;
	}
	return 0;
}

static int check(const char *file, int nr, char **columns, unsigned long samples)
{
	static char buf[1 << 18];
	size_t len = 0;
	char *line, *save = NULL;
	int place = 0;
	ssize_t n;
	int fd = open(file, O_RDONLY);

	if (fd < 0) {
		printf("# %s: cannot be opened: %s\n", file, strerror(errno));
		return 1;
	}
	while ((n = read(fd, buf + len, sizeof(buf) - 1 - len)) > 0)
		len += n;
	if (n < 0) {
		printf("# %s: cannot be read: %s\n", file, strerror(errno));
		close(fd);
		return 1;
	}
	close(fd);
	buf[len] = '\0';
	for (line = strtok_r(buf, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (check_line(file, line, place++, nr, columns, samples))
			return 1;
	if (!place)
		printf("# %s: empty in sample %lu\n", file, samples);
	return !place;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = stop };
	unsigned long samples = 0;

	if (argc < 3 || argc - 2 > COLUMNS) {
		fprintf(stderr, "usage: monot FILE COLUMN...\n");
		return 2;
	}
	sigaction(SIGTERM, &sa, NULL);
	while (!stopped) {
		if (check(argv[1], argc - 2, argv + 2, samples))
			return 1;
		samples++;
	}
	printf("# %s: %lu samples, none fell\n", argv[1], samples);
	return samples < 2;
}
