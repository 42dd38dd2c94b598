// SPDX-License-Identifier: GPL-2.0
/*
 * devbusy hold TYPE CONFIG: opens a pinned event of perf on CPU 0, prints the pid, and
 *	holds the event until it is killed.
 * devbusy root|nobody TYPE CONFIG: requires an event of its own on CPU 0, and prints the errno
 *	and the sentence; as the user nobody, who may not see the events of others.
 */
#define _GNU_SOURCE
#include "devtest.h"

static struct perf_event_attr attr = {
	.size = sizeof(attr),
	.exclude_kernel = 1,
	.exclude_hv = 1,
	.exclude_guest = 1,
};

static void hold(void)
{
	attr.pinned = 1;
	attr.exclude_kernel = 0;
	o = request(&attr, -1, 0, -1, 0);
	must_open(PERF, &o);
	printf("%d\n", getpid());
	fflush(stdout);
	pause();
}

static void require(int as_nobody)
{
	o = request(&attr, 0, -1, -1, 0);
	o.flags = TALLY_OPEN_REQUIRE;
	need_device();
	run_on(0);
	if (as_nobody)
		become(0);
	printf("%s ", outcome(open_it()));
	printf("%s\n", why.text);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	attr.type = strtoul(argv[2], NULL, 0);
	attr.config = strtoul(argv[3], NULL, 0);
	if (!strcmp(argv[1], "hold"))
		hold();
	else
		require(!strcmp(argv[1], "nobody"));
	return 0;
}
