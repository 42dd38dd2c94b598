// SPDX-License-Identifier: GPL-2.0
/*
 * devquota account: memory is charged to the cgroup of who makes a file.
 * devquota files|events|memory|rings: what a user can do to take more than the limits allow.
 * Each attempt has a line with its errno. The program sets the parameters of the module, and
 * restores them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "devtest.h"

#define MOST	3
#define OTHER	1000
#define MANY	4000

static int files[MOST];

/* ---- parameters ---- */

static void parameter(const char *name, char *was, size_t size, const char *value)
{
	char path[128];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/sys/module/tally/parameters/%s", name);
	fd = open(path, O_RDWR);
	if (was)
		n = read(fd, was, size - 1);
	if (fd < 0 || n < 0 || pwrite(fd, value, strlen(value), 0) < 0)
		err(2, "%s", path);
	if (was)
		was[n] = '\0';
	close(fd);
}

/* Runs attempts as nobody, in a child, while a parameter has another value. */
static void limited(const char *name, unsigned long value, void (*attempts)(void))
{
	char number[32], was[32];
	int status;

	snprintf(number, sizeof(number), "%lu", value);
	parameter(name, was, sizeof(was), number);
	fflush(stdout);
	if (!fork()) {
		/* tally wants CAP_SYS_ADMIN where modules cannot read perf_event_paranoid. */
		become(BIT(CAP_SYS_ADMIN) | BIT(CAP_SETUID));
		attempts();
		exit(0);
	}
	wait(&status);
	parameter(name, NULL, 0, was);
	tell(WIFEXITED(status) && !WEXITSTATUS(status), "%s=%lu: status %#x", name, value, status);
}

/* ---- ways to open ---- */

static int errno_of(int fd)
{
	return fd < 0 ? errno : 0;
}

static int open_usual(void)
{
	usual();
	return open_it();
}

static int attach_public(void)
{
	return attach_to("public");
}

/* By another file of the device. */
static int open_beside(void)
{
	int own = device, fd;

	device = device_file();
	fd = open_usual();
	close(device);
	device = own;
	return fd;
}

static int with_effective_user(void)
{
	int fd;

	if (seteuid(OTHER))
		err(2, "seteuid");
	fd = open_usual();
	if (seteuid(NOBODY))
		err(2, "seteuid");
	return fd;
}

static void *in_thread(void *fd)
{
	*(int *)fd = errno_of(open_usual());
	return NULL;
}

static int from_thread(void)
{
	pthread_t thread;
	int ret;

	if (pthread_create(&thread, NULL, in_thread, &ret) || pthread_join(thread, NULL))
		errx(2, "thread");
	errno = ret;
	return ret ? -1 : 0;
}

/*
 * A child's outcome, as if it were the caller's. A child with new namespaces has a child of
 * its own: unshare() moves only children to another namespace of PIDs.
 */
static int from_child(int (*open_one)(void), int flags)
{
	int status;

	fflush(stdout);
	if (!fork()) {
		if (flags && unshare(flags))
			_exit(ENOSYS);
		_exit(errno_of(flags ? from_child(open_one, 0) : open_one()));
	}
	wait(&status);
	errno = WEXITSTATUS(status);
	return errno ? -1 : 0;
}

/* Attaches as a subordinate uid, in a user namespace that the user has made. */
static int as_subordinate_user(void)
{
	static const char map[] = "0 65534 1\n1 100000 10\n";
	int ready[2], mapped[2], status, fd;
	char path[64], c = 0;
	pid_t pid;

	if (pipe(ready) || pipe(mapped))
		err(2, "pipe");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWUSER) || prctl(PR_SET_DUMPABLE, 1) ||
		    write(ready[1], &c, 1) != 1 || read(mapped[0], &c, 1) != 1 || setresuid(1, 1, 1))
			_exit(ENOSYS);
		_exit(errno_of(attach_public()));
	}
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	if (read(ready[0], &c, 1) != 1)
		err(2, "a namespace");
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, map, sizeof(map) - 1) < 0 || write(mapped[1], &c, 1) != 1)
		err(2, "%s", path);
	close(fd);
	wait(&status);
	for (fd = 0; fd < 2; fd++) {
		close(ready[fd]);
		close(mapped[fd]);
	}
	errno = WEXITSTATUS(status);
	return errno ? -1 : 0;
}

/* ---- files ---- */

static void take_files(void)
{
	int i;

	for (i = 0; i < MOST; i++)
		files[i] = open_usual();
	tell(files[MOST - 1] >= 0, "%d files", MOST);
}

static void leave_files(void)
{
	int i;

	for (i = 0; i < MOST; i++)
		close(files[i]);
}

/* Closes a file that is still there in another way: that gives nothing back. */
static void held_otherwise(void)
{
	struct msghdr message = { 0 };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .header = {
		.cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	} };
	char byte = 0;
	struct iovec data = { &byte, 1 };
	int sockets[2], copy = dup(files[0]);
	void *page;

	close(files[0]);
	expect(open_usual(), EDQUOT, "a file closed, of which there is a copy");
	page = map(copy, PROT_READ);
	close(copy);
	expect(open_usual(), EDQUOT, "a file closed whose page is mapped");
	munmap(page, page_size);
	files[0] = open_usual();
	expect(files[0], 0, "without the mapping");

	message.msg_iov = &data;
	message.msg_iovlen = 1;
	message.msg_control = &control;
	message.msg_controllen = sizeof(control);
	memcpy(CMSG_DATA(&control.header), &files[0], sizeof(int));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) || sendmsg(sockets[0], &message, 0) != 1)
		err(2, "send");
	close(files[0]);
	expect(open_usual(), EDQUOT, "a file closed that is on its way to another process");
	/* The socket that has not been read drops the file. */
	close(sockets[0]);
	close(sockets[1]);
	files[0] = -1;
	tell(eventually((files[0] = open_usual()) >= 0), "and when the socket is gone: %s",
	     outcome(files[0]));
}

/* Many processes open at a time, and keep what they get until all have tried. */
static void race(void)
{
	enum { RACERS = 16 };
	int i, got = 0, refused_ones = 0, results[2], go[2];
	char c;

	if (pipe(results) || pipe(go))
		err(2, "pipe");
	fflush(stdout);
	for (i = 0; i < RACERS; i++) {
		if (fork())
			continue;
		close(go[1]);
		close(results[0]);
		c = errno_of(open_usual());
		if (write(results[1], &c, 1) != 1)
			_exit(1);
		_exit(read(go[0], &c, 1));
	}
	for (i = 0; i < RACERS && read(results[0], &c, 1) == 1; i++) {
		got += !c;
		refused_ones += c == EDQUOT;
	}
	close(go[1]);
	while (wait(NULL) > 0)
		;
	tell(got == MOST && got + refused_ones == RACERS, "%d processes at a time: %d files",
	     RACERS, got);
}

static void attempts_at_files(void)
{
	int i, fd;

	take_files();
	usual();
	refused(EDQUOT, TALLY_FIELD_NONE, "one more");
	expect(from_child(open_usual, 0), EDQUOT, "in a child");
	expect(from_thread(), EDQUOT, "in a thread");
	expect(open_beside(), EDQUOT, "by the device opened again");
	expect(with_effective_user(), EDQUOT, "with another effective user");
	expect(from_child(open_usual, CLONE_NEWPID), EDQUOT, "in another namespace");
	expect(from_child(open_usual, CLONE_NEWUSER), EDQUOT, "as root of a user namespace");
	expect(from_child(attach_public, CLONE_NEWUSER), EDQUOT, "attached there");
	expect(attach_public(), EDQUOT, "attached");
	expect(as_subordinate_user(), EDQUOT, "attached by a subordinate uid");
	usual();
	o.perf_flags |= PERF_FLAG_FD_OUTPUT;
	o.group_fd = files[0];
	refused(EDQUOT, TALLY_FIELD_NONE, "that writes to a file's rings");
	usual();
	o.group_fd = files[0];
	refused(EDQUOT, TALLY_FIELD_NONE, "in a group");
	held_otherwise();

	/* Files stay charged to the user who opened them. */
	if (setresuid(OTHER, OTHER, NOBODY))
		err(2, "setresuid");
	fd = open_usual();
	expect(fd, 0, "another user");
	close(files[0]);
	for (i = 1; i < MOST; i++)
		expect(open_usual(), 0, "has as many");
	expect(open_usual(), EDQUOT, "and gets none for one of the first user's");
	close(fd);
	if (setresuid(NOBODY, NOBODY, NOBODY))
		err(2, "setresuid");
	files[0] = open_usual();
	expect(files[0], 0, "which the first user gets");
	expect(open_usual(), EDQUOT, "but nothing for one of the other user's");
	leave_files();
	race();
	take_files();
	expect(open_usual(), EDQUOT, "at the end, and no more");
}

static void test_files(void)
{
	limited("files_per_user", MOST, attempts_at_files);
}

/* ---- perf events ---- */

static void attempts_at_events(void)
{
	int leader = open_all(PERF_COUNT_SW_PAGE_FAULTS, -1, 0), fd, i;

	expect(leader, 0, "on all CPUs");
	open_all(PERF_COUNT_SW_PAGE_FAULTS, -1, 0);
	refused(EDQUOT, TALLY_FIELD_NONE, "on all CPUs again");
	open_all(PERF_COUNT_SW_PAGE_FAULTS, leader, 0);
	refused(EDQUOT, TALLY_FIELD_NONE, "in a group");
	open_all(PERF_COUNT_SW_PAGE_FAULTS, leader, TALLY_OPEN_MEMBER);
	refused(EDQUOT, TALLY_FIELD_NONE, "without a file");
	/* There is one left, and attempts that failed have not taken it. */
	fd = open_usual();
	expect(fd, 0, "of one task");
	expect(open_usual(), EDQUOT, "and another one");
	expect(ioctl(leader, PERF_EVENT_IOC_ENABLE, 0), 0, "what there is goes on");
	for (i = 0; i < 100; i++)
		if (attach_public() < 0)
			break;
	tell(i == 100, "%d attached files take no event", i);
	close(fd);
	fd = open_usual();
	expect(fd, 0, "one for one");
}

static void test_events(void)
{
	limited("events_per_user", sysconf(_SC_NPROCESSORS_CONF) + 1, attempts_at_events);
}

/* ---- memory ---- */

static int open_all_cpus(void)
{
	return open_all(PERF_COUNT_SW_PAGE_FAULTS, -1, 0);
}

/* Opens until that fails with EDQUOT, and returns how often it did not; closes all. */
static int until_full(int (*open_one)(void), int children)
{
	static int fds[MANY];
	int error = 0, n, i;

	for (n = 0; n < MANY; n++) {
		fds[n] = open_one();
		error = errno_of(fds[n]);
		if (error)
			break;
	}
	if (children)
		expect(from_child(open_one, 0), EDQUOT, "and in a child");
	for (i = 0; i < n; i++)
		close(fds[i]);
	return error == EDQUOT ? n : -1;
}

static void fill(int (*open_one)(void), const char *what)
{
	int first = until_full(open_one, 1), second = until_full(open_one, 0);

	tell(first > 0 && first == second, "%s until there is no memory: %d, and again %d", what,
	     first, second);
}

static int leader;

static int open_member(void)
{
	if (open_all(PERF_COUNT_SW_PAGE_FAULTS, leader, TALLY_OPEN_MEMBER))
		return -1;
	/* It has no file, and stays. */
	return dup(leader);
}

static void members(void)
{
	int n, again;

	leader = open_all_cpus();
	n = until_full(open_member, 1);
	close(leader);
	leader = open_all_cpus();
	again = until_full(open_member, 0);
	close(leader);
	tell(n > 0 && n == again, "members until there is no memory: %d, and again %d", n, again);
}

/* Number of a tracepoint, which only root can find out. */
static int renames;

static int set_filter(int fd, int terms)
{
	static char text[4000];
	char *at = text;

	at += sprintf(at, "pid==1");
	while (--terms)
		at += sprintf(at, "||pid==1");
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, text);
}

static void filters(void)
{
	int fds[MANY], n, fd;

	usual();
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = renames;
	fd = open_it();
	expect(fd, 0, "a tracepoint");
	for (n = 0; n < MANY; n++) {
		fds[n] = device_file();
		if (fds[n] < 0)
			break;
	}
	expect(set_filter(fd, 10), EDQUOT, "its filter, when the memory is full");
	while (n-- % 10)
		close(fds[n]);
	close(fds[n]);
	expect(set_filter(fd, 400), EDQUOT, "a long filter");
	while (n--)
		close(fds[n]);
	expect(set_filter(fd, 400), 0, "the long filter, when there is memory");
	expect(set_filter(fd, 1), EEXIST, "another filter");
	close(fd);
}

/* Children of an event that inherits take memory while they live. */
static void children(void)
{
	int fds[2], i, fd, other;
	char c;

	usual();
	attr.inherit = 1;
	attr.task = 1;
	fd = open_it();
	expect(fd, 0, "an event that follows children");
	if (pipe(fds))
		err(2, "pipe");
	fflush(stdout);
	for (i = 0; i < 1000; i++) {
		if (fork())
			continue;
		close(fds[1]);
		_exit(read(fds[0], &c, 1));
	}
	expect(open_usual(), EDQUOT, "one beside 1000 children");
	close(fds[1]);
	while (wait(NULL) > 0)
		;
	other = open_usual();
	expect(other, 0, "one after their end");
	close(other);
	close(fd);
}

static void attempts_at_memory(void)
{
	int all = until_full(open_all_cpus, 0);

	fill(open_usual, "files");
	fill(device_file, "files of the device");
	fill(attach_public, "attached files");
	fill(open_all_cpus, "files of all CPUs");
	members();
	filters();
	children();
	tell(until_full(open_all_cpus, 0) == all, "at the end, all of it is there again");
}

/* Root lowers the limit while files are open. */
static void lowered(void)
{
	int fd = open_usual(), second;

	parameter("kbytes_per_user", NULL, 0, "1");
	expect(open_usual(), EDQUOT, "after the limit was lowered");
	expect(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0, "what there is goes on");
	tell(value_of(fd) != ~0ULL, "and can be read");
	parameter("kbytes_per_user", NULL, 0, "0");
	second = open_usual();
	expect(second, 0, "without a limit");
	close(second);
	close(fd);
}

static void test_memory(void)
{
	char was[32];

	renames = trace_id("task/task_rename");
	limited("kbytes_per_user", 128, attempts_at_memory);
	parameter("kbytes_per_user", was, sizeof(was), "65536");
	lowered();
	parameter("kbytes_per_user", NULL, 0, was);
}

/* ---- rings ---- */

#define RING	(1 + 4)

static int open_sampling(int kind)
{
	usual();
	attr.sample_period = 1000;
	return open_as(kind, &o);
}

static int ring_file;

static int map_there(void)
{
	return map_pages(ring_file, RING, PROT_READ | PROT_WRITE, 0) == MAP_FAILED ? -1 : 0;
}

/* The limit is that of two rings. */
static void attempts_at_rings(void)
{
	const struct rlimit none = { 0, 0 };
	int fds[3], i, perf = open_sampling(PERF), other;
	void *rings[3];

	for (i = 0; i < 3; i++)
		fds[i] = open_sampling(TALLY);
	setrlimit(RLIMIT_MEMLOCK, &none);
	for (i = 0; i < 2; i++) {
		rings[i] = map_pages(fds[i], RING, PROT_READ | PROT_WRITE, 0);
		tell(rings[i] != MAP_FAILED, "ring %d", i);
	}
	rings[2] = map_pages(fds[0], RING, PROT_READ | PROT_WRITE, 0);
	tell(rings[2] != MAP_FAILED, "the first one again");
	ring_file = fds[2];
	expect(map_there(), EPERM, "a third ring");
	expect(from_child(map_there, 0), EPERM, "in a child");
	expect(from_child(map_there, CLONE_NEWUSER), EPERM, "as root of a user namespace");
	expect(mremap(rings[0], RING * page_size, 2 * RING * page_size, MREMAP_MAYMOVE) ==
	       MAP_FAILED ? -1 : 0, EFAULT, "a larger mapping");
	usual();
	attr.sample_period = 1000;
	o.perf_flags |= PERF_FLAG_FD_OUTPUT;
	o.group_fd = fds[0];
	other = open_it();
	expect(other, 0, "a file that writes to a ring takes none");
	munmap(rings[0], RING * page_size);
	expect(map_there(), EPERM, "one of two mappings gone");
	munmap(rings[2], RING * page_size);
	expect(map_there(), 0, "and the other one");
	close(other);
	ring_file = fds[0];
	expect(map_there(), EPERM, "nothing is given back for the file that wrote to it");
	munmap(rings[1], RING * page_size);
	ring_file = perf;
	expect(map_there(), 0, "perf's ring instead of one");
	ring_file = fds[1];
	expect(map_there(), EPERM, "beside perf's");
}

static void test_rings(void)
{
	int cpus = nr_online(), pages = (2 * RING + cpus - 1) / cpus;

	limited("mlock_kbytes", pages * page_size / 1024, attempts_at_rings);
}

/* ---- cgroups ---- */

#define CGROUP	"/sys/fs/cgroup/tally_quota/"

static long memory_now(void)
{
	FILE *f = fopen(CGROUP "memory.current", "r");
	long bytes = -1;

	if (!f || fscanf(f, "%ld", &bytes) != 1)
		err(2, CGROUP "memory.current");
	fclose(f);
	return bytes;
}

static int open_with_filter(void)
{
	int fd;

	usual();
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = renames;
	fd = open_it();
	return fd < 0 || set_filter(fd, 400) ? -1 : fd;
}

static int open_with_page(void)
{
	int fd = open_usual();

	return map(fd, PROT_READ) == MAP_FAILED ? -1 : fd;
}

/* The page stays with its file. What publishes in it does not. */
static int open_with_unmapped(void)
{
	int fd = open_usual();
	void *page = map(fd, PROT_READ);

	return page == MAP_FAILED || munmap(page, page_size) ? -1 : fd;
}

/* The leader of a file is closed. */
static int without_leader(int first)
{
	int fd;

	usual();
	o.group_fd = first;
	fd = open_it();
	close(first);
	return fd;
}

static int open_sibling(void)
{
	return without_leader(open_usual());
}

static int open_sibling_of_page(void)
{
	return without_leader(open_with_unmapped());
}

static int open_with_ring(void)
{
	int fd = open_sampling(TALLY);

	return map_pages(fd, RING, PROT_READ | PROT_WRITE, 0) == MAP_FAILED ? -1 : fd;
}

/*
 * Each file takes at least so much, which is given back when the process ends. Returns how
 * much each file took.
 */
static long charged(int (*open_one)(void), long least, const char *what)
{
	enum { FILES = 1000 };
	long before = memory_now(), after, *each;
	int i;

	each = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (each == MAP_FAILED)
		err(2, "mmap");

	fflush(stdout);
	if (!fork()) {
		before = memory_now();
		for (i = 0; i < FILES; i++)
			if (open_one() < 0)
				break;
		after = memory_now();
		*each = (after - before) / FILES;
		tell(i == FILES && *each >= least, "%d %s: %ld bytes each, of at least %ld", i,
		     what, *each, least);
		_exit(0);
	}
	wait(NULL);
	/* Some memory is freed after a grace period. */
	tell(eventually(memory_now() - before < FILES * 600), "and gives them back");
	return *each;
}

static void test_account(void)
{
	char pid[16], was[32];
	long each, more;

	renames = trace_id("task/task_rename");
	/* Each CPU keeps up to 64 pages of a cgroup for later. */
	run_on(0);
	write_to("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP, 0700))
		err(2, CGROUP);
	parameter("kbytes_per_user", was, sizeof(was), "0");
	fflush(stdout);
	if (!fork()) {
		snprintf(pid, sizeof(pid), "%d", getpid());
		write_to(CGROUP "cgroup.procs", pid);
		charged(open_all_cpus, 2048, "files of all CPUs");
		/* What the files before them leave to be freed may hide half of it. */
		each = charged(open_usual, 1024, "files of a task");
		each = charged(open_with_unmapped, each + page_size / 2, "files with a page");
		charged(open_with_page, each + page_size / 2, "files with a page that is mapped");
		each = charged(open_sibling, 2048, "files whose leader is closed");
		more = charged(open_sibling_of_page, 2048, "files whose leader had a page");
		tell(more < each + page_size / 2, "which is gone with the leader");
		charged(open_with_ring, (RING - 1) * page_size, "files with a ring");
		charged(open_with_filter, 400 * 40, "files with a filter");
		exit(0);
	}
	while (wait(NULL) > 0)
		;
	parameter("kbytes_per_user", NULL, 0, was);
	tell(eventually(!rmdir(CGROUP)), "the cgroup goes");
}

static const struct devtest tests[] = {
	{ "account", .run = test_account },
	{ "files", .run = test_files },
	{ "events", .run = test_events },
	{ "memory", .run = test_memory },
	{ "rings", .run = test_rings },
	{ }
};

int main(int argc, char **argv)
{
	const struct rlimit many = { MANY + 100, MANY + 100 };

	if (setrlimit(RLIMIT_NOFILE, &many))
		err(2, "files");
	return run_test(tests, argc, argv);
}
