// SPDX-License-Identifier: GPL-2.0
/*
 * latelib LIBRARY MS: maps the library, calls its function late_function() for MS milliseconds of
 * its own time, and ends. The program is no static one, because it maps a library.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Returns a number, so that the caller's frame is still there during the call. */
__attribute__((noinline))
static int call(int (*function)(int), long ms)
{
	clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);
	int sum = 0;

	while (clock() < end)
		sum += function(100000);
	return sum;
}

int main(int argc, char **argv)
{
	int (*function)(int);
	void *library;

	if (argc != 3)
		return 2;
	library = dlopen(argv[1], RTLD_NOW);
	function = library ? (int (*)(int))dlsym(library, "late_function") : NULL;
	if (!function) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return call(function, atol(argv[2])) == -1;
}
