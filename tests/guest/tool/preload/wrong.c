// SPDX-License-Identifier: GPL-2.0
/*
 * wrong.so: a library for LD_PRELOAD with which files of tally are wrong: a read of one event
 * returns twice the count, and the first of them is never closed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int is_tally(int fd)
{
	char path[64], link[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, link, sizeof(link) - 1) > 0 && !strcmp(link, "anon_inode:[tally]");
}

ssize_t read(int fd, void *buffer, size_t size)
{
	ssize_t (*libc_read)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
	ssize_t got = libc_read(fd, buffer, size);

	/* The number of events stands first in a read of a group. */
	if (got == 3 * sizeof(uint64_t) && is_tally(fd))
		*(uint64_t *)buffer *= 2;
	return got;
}

int close(int fd)
{
	int (*libc_close)(int) = dlsym(RTLD_NEXT, "close");
	static int kept;

	return !kept && is_tally(fd) ? !(kept = 1) : libc_close(fd);
}
