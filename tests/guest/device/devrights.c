// SPDX-License-Identifier: GPL-2.0
/*
 * devrights rights NAME: the capabilities that each act needs; NAME contains an address.
 * devrights namespace: a namespace of PIDs.
 * devrights locked ERRNO: lockdown; samples of registers are refused with ERRNO.
 * devrights hold WHAT: keeps the "device", a "file" or a "page" until its input ends.
 */
#define _GNU_SOURCE
#include "devtest.h"

/* ---- rights ---- */

/* Runs @test as nobody in a child, and returns what it returned. */
static int as(uint64_t caps, int (*test)(int), int arg)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		become(caps);
		_exit(test(arg));
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int open_pid(int pid)
{
	usual();
	o.pid = pid;
	return open_it() < 0 ? errno : 0;
}

static int open_cpu(int cpu)
{
	usual();
	o.pid = -1;
	o.cpu = cpu;
	return open_it() < 0 ? errno : 0;
}

static int open_device(int unused)
{
	(void)unused;
	return open("/dev/tally", O_RDWR) < 0 ? errno : 0;
}

static int read_file(int fd)
{
	return value_of(fd) == ~0ULL ? EIO : 0;
}

static int enable_file(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) ? errno : 0;
}

static int read_values_of(int fd)
{
	struct tally_value values[64];

	return read_values(fd, values, NULL) < 0 ? errno : 0;
}

static int map_file(int fd)
{
	return map(fd, PROT_READ) == MAP_FAILED ? errno : 0;
}

static int trap_pid(int pid)
{
	usual();
	o.pid = pid;
	attr.sample_period = 1000000000;
	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
	return open_it() < 0 ? errno : 0;
}

static int grow_file(int fd)
{
	usual();
	o.group_fd = fd;
	return open_it() < 0 ? errno : 0;
}

static int attach_any(int unused)
{
	struct tally_attach at = { .size = sizeof(at), .name = "public" };

	(void)unused;
	return ioctl(device, TALLY_IOC_ATTACH, &at) < 0 ? errno : 0;
}

static int attach_often(int unused)
{
	struct tally_attach at = {
		.size = sizeof(at), .name = "public", .publish_ns = 1000000,
	};

	(void)unused;
	return ioctl(device, TALLY_IOC_ATTACH, &at) < 0 ? errno : 0;
}

/* The name of an event that contains the address it watches. */
static char hidden[64];

static int attach_hidden(int unused)
{
	struct tally_attach at = { .size = sizeof(at) };

	(void)unused;
	strcpy(at.name, hidden);
	return ioctl(device, TALLY_IOC_ATTACH, &at) < 0 ? errno : 0;
}

static int attach_task(int unused)
{
	struct tally_attach at = { .size = sizeof(at), .name = "private" };

	(void)unused;
	return ioctl(device, TALLY_IOC_ATTACH, &at) < 0 ? errno : 0;
}

static int see_address(int unused)
{
	struct tally_next next = { .size = sizeof(next) };

	(void)unused;
	while (!ioctl(device, TALLY_IOC_NEXT, &next))
		if (!strcmp(next.name, "address"))
			return next.what[0] ? 1 : 0;
	return ENOENT;
}

/* A name that tally generated contains what is counted, and so the address. */
static int see_names(int unused)
{
	struct tally_next next = { .size = sizeof(next) };
	int named = 0;

	(void)unused;
	while (!ioctl(device, TALLY_IOC_NEXT, &next))
		if (next.type == PERF_TYPE_BREAKPOINT && next.name[0])
			named += strcmp(next.name, "address") ? 16 : 1;
	return named;
}

static void right(int got, int error, const char *what)
{
	tell(got == error, "%s: %s", what, got ? strerrorname_np(got) : "OK");
}

/* The parameter of the module that lets CAP_PERFMON suffice at every level. */
static void set_perfmon(char value)
{
	int fd = open("/sys/module/tally/parameters/perfmon", O_WRONLY);

	if (fd < 0 || write(fd, &value, 1) != 1)
		err(2, "parameter perfmon");
	close(fd);
}

/* At the level that the kernel starts with, which is 2 or 3. */
static void at_level(const char *name)
{
	uint64_t perfmon = BIT(CAP_PERFMON), admin = BIT(CAP_SYS_ADMIN);
	int mine, parent = getpid();

	snprintf(hidden, sizeof(hidden), "%s", name);
	right(as(perfmon, open_pid, 0), EACCES, "CAP_PERFMON alone: not itself");
	right(as(perfmon, open_pid, parent), EACCES, "nor another one's task");
	right(as(perfmon, open_cpu, 0), EACCES, "nor a CPU");
	usual();
	strcpy(o.name, "private");
	mine = open_it();
	right(as(perfmon, attach_task, 0), EACCES, "CAP_PERFMON alone: does not attach to another one's task");
	close(mine);
	right(as(perfmon, see_address, 0), 0, "CAP_PERFMON alone: sees no address");
	right(as(perfmon, attach_hidden, 0), ENOENT, "CAP_PERFMON alone: finds no hidden name");
	right(as(admin, attach_hidden, 0), 0, "CAP_SYS_ADMIN: finds it");
}

static void rights(const char *name)
{
	uint64_t perfmon = BIT(CAP_PERFMON), admin = BIT(CAP_SYS_ADMIN);
	int mine, parent = getpid();

	at_level(name);
	set_perfmon('1');
	right(as(0, open_device, 0), EACCES, "a user cannot open the device");
	right(as(0, open_pid, 0), EACCES, "with perfmon=1 and a file of it, a user cannot count itself");
	right(as(0, open_pid, parent), EACCES, "nor another one's task");
	right(as(0, open_cpu, 0), EACCES, "nor a CPU");
	right(as(perfmon, open_pid, 0), 0, "CAP_PERFMON: itself");
	right(as(perfmon, open_pid, parent), 0, "CAP_PERFMON: another one's task");
	right(as(perfmon, open_cpu, 0), 0, "CAP_PERFMON: a CPU");
	right(as(admin, open_pid, 0), 0, "CAP_SYS_ADMIN: itself");
	right(as(admin, open_pid, parent), 0, "CAP_SYS_ADMIN: another one's task");
	right(as(admin, open_cpu, 0), 0, "CAP_SYS_ADMIN: a CPU");
	right(as(BIT(CAP_KILL) | BIT(CAP_NET_ADMIN), open_pid, 0), EACCES,
	      "other capabilities: not itself");

	usual();
	mine = open_it();
	right(as(0, read_file, mine), 0, "a file that is handed on can be read");
	right(as(0, enable_file, mine), 0, "and enabled, as perf's");
	right(as(0, read_values_of, mine), 0, "and read with its state");
	right(as(0, map_file, mine), 0, "and mapped");
	right(as(0, grow_file, mine), EACCES, "but nothing joins it");
	close(mine);

	right(as(perfmon, trap_pid, 0), 0, "CAP_PERFMON: signals for itself");
	right(as(perfmon, trap_pid, parent), EACCES, "but not for another one");
	right(as(perfmon | BIT(CAP_KILL), trap_pid, parent), 0, "but with CAP_KILL");

	usual();
	strcpy(o.name, "public");
	o.pid = -1;
	o.cpu = 0;
	mine = open_it();
	right(as(0, attach_any, 0), 0, "whoever has the device reads what counts a CPU");
	right(as(0, attach_often, 0), EACCES, "but not often");
	right(as(perfmon, attach_often, 0), 0, "but for CAP_PERFMON");
	close(mine);
	usual();
	strcpy(o.name, "private");
	mine = open_it();
	right(as(0, attach_task, 0), EACCES, "but not another one's task");
	right(as(perfmon, attach_task, 0), 0, "but for CAP_PERFMON");
	close(mine);
	right(as(0, see_address, 0), 0, "nobody sees an address");
	right(as(perfmon, see_address, 0), 1, "but who has CAP_PERFMON");
	tell(as(0, see_names, 0) == 1, "nor a name that has one in it");
	tell(as(perfmon, see_names, 0) == 17, "but the same");
	right(as(0, attach_hidden, 0), ENOENT, "nor guesses one");
	right(as(perfmon, attach_hidden, 0), 0, "but the same: attached to");
	set_perfmon('0');
	right(as(perfmon, attach_hidden, 0), ENOENT, "CAP_PERFMON alone: finds none again");
}

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
	perf = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
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
	perf = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
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

static void test_rights(char **arguments)
{
	rights(arguments[0]);
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
	{ "rights", .arguments = 1, .with = test_rights },
	{ "namespace", .run = namespaces },
	{ "locked", .arguments = 1, .with = test_locked },
	{ "hold", .arguments = 1, .with = test_hold },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
