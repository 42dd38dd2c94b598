// SPDX-License-Identifier: GPL-2.0
/*
 * devrights namespace: a namespace of PIDs.
 * devrights locked ERRNO: lockdown; samples of registers are refused with ERRNO.
 * devrights hold WHAT: keeps the "device", a "file" or a "page" until its input ends.
 */
#define _GNU_SOURCE
#include "devtest.h"

/* ---- a namespace ---- */

/* The new namespace has one task, number 1; @outside has no number there. */
static int in_namespace(int outside)
{
	uint64_t before;
	int fd;

	usual();
	o.pid = 1;
	fd = open_it();
	before = value_of(fd);
	touch(200);
	if (fd < 0 || value_of(fd) - before < 200)
		return 1;
	o.pid = outside;
	return open_it() >= 0 || errno != ESRCH ? 2 : 0;
}

static void namespaces(void)
{
	int status, fd, outside = getpid();
	pid_t pid;

	if (unshare(CLONE_NEWPID)) {
		expect(-1, EINVAL, "this kernel has none");
		return;
	}
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(in_namespace(outside));
	waitpid(pid, &status, 0);
	tell(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	     "a task is the one that has this number there: %d", WEXITSTATUS(status));
	usual();
	o.pid = pid;
	fd = open_it();
	expect(fd, ESRCH, "it has gone");
}

static void locked(const char *error)
{
	int expected = strcmp(error, "EPERM") ? 0 : EPERM;
	int fd, perf;

	usual();
	fd = open_it();
	tell(fd >= 0, "an event can be made: %s", why.text);
	perf = open_as(PERF, &o);
	tell(perf >= 0, "as one of perf: %s", outcome(perf));
	touch(100);
	tell(value_of(fd) >= 100 && value_of(perf) >= 100, "it counts: %llu",
	     (unsigned long long)value_of(fd));
	tell(map(fd, PROT_READ) != MAP_FAILED, "its page can be mapped");
	close(fd);
	close(perf);
	fd = attach_to("page-faults");
	tell(fd >= 0, "one from before can be attached to");
	close(fd);
	usual();
	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_intr = 1;
	fd = open_it();
	expect(fd, expected, "registers");
	perf = open_as(PERF, &o);
	if (expected == EPERM)
		expect(perf, EPERM, "and perf's");
}

/* ---- files that are kept ---- */

static void hold(const char *what)
{
	struct perf_event_mmap_page *page = NULL;
	char c;
	int fd = -1;

	usual();
	if (strcmp(what, "device")) {
		fd = open_it();
		close(device);
	}
	if (!strcmp(what, "page")) {
		page = map(fd, PROT_READ);
		if (page == MAP_FAILED)
			err(2, "hold");
		close(fd);
	}
	printf("held\n");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	printf("%u\n", page ? page->lock : 0);
}

static void test_locked(char **arguments)
{
	locked(arguments[0]);
}

static void test_hold(char **arguments)
{
	hold(arguments[0]);
}

static const struct devtest tests[] = {
	{ "namespace", .run = namespaces },
	{ "locked", .arguments = 1, .with = test_locked },
	{ "hold", .arguments = 1, .with = test_hold },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
