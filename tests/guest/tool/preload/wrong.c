// SPDX-License-Identifier: GPL-2.0
/*
 * wrong.so: a library for LD_PRELOAD that makes tally look wrong to a program. read(2) of a file
 * of tally that has one event returns twice the count, and the first file of tally that the program
 * closes stays open.
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

	/*
	 * A file of one event returns its count and two times. A group returns more words, of which
	 * the first is the number of its events.
	 */
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
