/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers for tests that let every allocation of a task fail in turn. */
#ifndef FAILNTH_H
#define FAILNTH_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIR "/sys/kernel/debug/tally"

static int nth_fd;

static inline void arm(int n)
{
	char buf[16];
	int len = snprintf(buf, sizeof(buf), "%d", n);

	if (pwrite(nth_fd, buf, len, 0) != len)
		err(2, "cannot write fail-nth");
}

/* Whether the allocation that arm() selected was reached, and so has failed. */
static inline int disarm(void)
{
	char buf[16] = "";
	int left;

	if (pread(nth_fd, buf, sizeof(buf) - 1, 0) < 0)
		err(2, "cannot read fail-nth");
	left = atoi(buf);
	arm(0);
	return !left;
}

static inline const char *outcome(int error)
{
	return error ? strerrorname_np(error) : "OK";
}

static char text[4096];

static inline const char *contents(const char *file)
{
	int fd = open(file, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd < 0)
		err(2, "%s", file);
	text[n < 0 ? 0 : n] = '\0';
	close(fd);
	return text;
}

static inline int put(int fd, const char *line)
{
	return write(fd, line, strlen(line)) < 0 ? errno : 0;
}

static int bad;
static char first_bad[512];

static inline void complain(int n, const char *what, ...)
{
	char line[512];
	va_list args;

	va_start(args, what);
	vsnprintf(line, sizeof(line), what, args);
	va_end(args);
	/* The message is printed as one line. */
	for (char *c = line; *c; c++)
		if (*c == '\n')
			*c = ' ';
	printf("# allocation %d: %s\n", n, line);
	if (!bad++)
		snprintf(first_bad, sizeof(first_bad), ": allocation %d: %.400s", n, line);
}

/* Prints the result: what was done (@subject), with which event or module (@what). */
static inline void conclude(const char *subject, const char *what)
{
	printf("%s %s: %s%s\n", bad ? "bad" : "ok", subject, what, bad ? first_bad : "");
}

static inline void begin(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (nth_fd < 0)
		err(2, "fail-nth");
	/* The first read of fail-nth may allocate memory, which no test is to count. */
	disarm();
}

#endif /* FAILNTH_H */
