// SPDX-License-Identifier: GPL-2.0
/*
 * devwaits others: calls that have nothing to do with the task of the event "one", whose events
 * perf has locked. Each one ends. The event "all" is anybody's.
 * devwaits reads NAME: attaches to an event, and reads it.
 * devwaits floods PID: makes events of a task that are off after their first overflow, and keeps
 * them to the end of standard input.
 * devwaits file PID: a file of a task is read when a byte comes, and the task's end is waited for.
 *
 * Each call is made by a process of its own: one that waits for perf cannot be ended.
 */
#define _GNU_SOURCE
#include "devtest.h"

#define DIR	"/sys/kernel/debug/tally/"

/* ---- calls; -1 if one fails ---- */

static int opens(void)
{
	int fd = device_file();

	return fd < 0 ? -1 : close(fd);
}

static int informs(void)
{
	struct tally_info info = { .size = sizeof(info) };

	return ioctl(device, TALLY_IOC_INFO, &info);
}

static int lists(void)
{
	struct tally_next next = { .size = sizeof(next) };
	int seen = 0;

	while (!ioctl(device, TALLY_IOC_NEXT, &next))
		seen |= strcmp(next.name, "one") ? !strcmp(next.name, "all") : 2;
	return seen == 3 ? 0 : -1;
}

static int counts(int fd)
{
	struct tally_value value;

	if (fd < 0 || value_of(fd) == ~0ULL || read_first(fd, -1, &value))
		return -1;
	return ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) || ioctl(fd, PERF_EVENT_IOC_RESET, 0) ||
	       ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) || close(fd) ? -1 : 0;
}

static int makes(void)
{
	usual();
	return counts(open_it());
}

static int makes_all(void)
{
	return counts(open_all(PERF_COUNT_SW_PAGE_FAULTS, -1, 0));
}

static int makes_group(void)
{
	int leader;

	usual();
	leader = open_it();
	o.group_fd = leader;
	return leader < 0 || counts(open_it()) || counts(leader) ? -1 : 0;
}

static int enables_all(void)
{
	return ioctl(device, TALLY_IOC_DISABLE_ALL, 0) || ioctl(device, TALLY_IOC_ENABLE_ALL, 0);
}

static int records(void)
{
	static struct ring ring;
	uint64_t head;

	usual();
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	if (map_ring(&ring, open_it(), 8, PROT_READ | PROT_WRITE, 0))
		return -1;
	touch(10);
	head = head_of(&ring);
	unmap_ring(&ring);
	return head ? 0 : -1;
}

static int shows_page(void)
{
	void *page;
	int fd;

	usual();
	fd = open_it();
	page = map(fd, PROT_READ);
	return page == MAP_FAILED || munmap(page, page_size) || close(fd) ? -1 : 0;
}

/* The end of a task is told to who polls the file of its event, or one attached to it. */
static int ends(void)
{
	int go[2], fd;
	pid_t pid = fork_waiting(go);

	if (!pid)
		_exit(0);
	usual();
	o.pid = pid;
	fd = open_it();
	let_go_on(go);
	waitpid(pid, NULL, 0);
	return fd >= 0 && polled_for(fd, 50000) & POLLHUP ? close(fd) : -1;
}

static int attaches(void)
{
	int fd = attach_to("all");

	return fd < 0 || value_of(fd) == ~0ULL || polled_for(fd, 0) ? -1 : close(fd);
}

/* The event whose task has perf busy can be read all the same. */
static int attaches_to_one(void)
{
	struct tally_value value;
	int fd = attach_to("one");

	return fd < 0 || value_of(fd) == ~0ULL || read_first(fd, -1, &value) ||
	       ioctl(fd, PERF_EVENT_IOC_RESET, 0) || !fdinfo(fd) ? -1 : close(fd);
}

/* The event goes off after its first overflow, which a work does. */
static int limits(void)
{
	uint64_t end = now_ns() + 30000000000ULL;
	struct tally_value value;
	int fd;

	usual();
	attr.sample_period = 1;
	fd = open_it();
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_REFRESH, 1))
		return -1;
	touch(1);
	do {
		wait_ms(1);
		if (read_first(fd, -1, &value))
			return -1;
	} while (value.state != TALLY_IS_OFF && now_ns() < end);
	return value.state == TALLY_IS_OFF ? close(fd) : -1;
}

static int line(void)
{
	return line_it(TALLY_LINE_CREATE, "page-faults cpu=0 name=goes") ||
	       line_it(TALLY_LINE_DISABLE, "goes") || line_it(TALLY_LINE_ENABLE, "goes") ||
	       line_it(TALLY_LINE_REMOVE, "goes");
}

static int line_set(void)
{
	return line_it(TALLY_LINE_CREATE, "{page-faults,cs} name=goes") ||
	       line_it(TALLY_LINE_REMOVE, "goes");
}

static int parses(void)
{
	return parse_it("page-faults");
}

/* The end of an event, to which somebody is attached. */
static int releases(void)
{
	int fd, ret;

	if (line_it(TALLY_LINE_CREATE, "page-faults cpu=0 name=left"))
		return -1;
	fd = attach_to("left");
	ret = line_it(TALLY_LINE_REMOVE, "left");
	return ret || !(polled_for(fd, 0) & POLLHUP) ? -1 : close(fd);
}

static int has_text(const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	return n > 0 ? close(fd) : -1;
}

static const char *file;

static int reads_file(void)
{
	char path[128];

	snprintf(path, sizeof(path), DIR "%s", file);
	return has_text(path);
}

/* ---- each of them ---- */

static const struct {
	const char *what;
	int (*call)(void);
} calls[] = {
	{ "open(2), close(2)", opens },
	{ "INFO", informs },
	{ "NEXT", lists },
	{ "OPEN, read(2), READ, DISABLE, RESET, ENABLE", makes },
	{ "the same on all CPUs", makes_all },
	{ "a group", makes_group },
	{ "ENABLE_ALL, DISABLE_ALL", enables_all },
	{ "a ring", records },
	{ "a page of counts", shows_page },
	{ "poll(2) at the end of a task", ends },
	{ "ATTACH, read(2), poll(2)", attaches },
	{ "ATTACH, read(2), READ, RESET, fdinfo of its event", attaches_to_one },
	{ "REFRESH", limits },
	{ "LINE: CREATE, DISABLE, ENABLE, REMOVE", line },
	{ "LINE: a set", line_set },
	{ "LINE: REMOVE, with a reader", releases },
	{ "PARSE", parses },
	{ "events", reads_file },
	{ "stats", reads_file },
	{ "all/count", reads_file },
	{ "all/state", reads_file },
	{ "all/per_cpu", reads_file },
	{ "all/spec", reads_file },
	{ "all/running_ns", reads_file },
};

#define CALLS	(sizeof(calls) / sizeof(calls[0]))
#define MOST_MS	60000

static void others(void)
{
	uint64_t begin, ms;
	unsigned int i;
	int status;
	pid_t pid;

	for (i = 0; i < CALLS; i++) {
		begin = now_ns();
		pid = fork();
		if (!pid) {
			file = calls[i].what;
			_exit(calls[i].call() ? 1 : 0);
		}
		status = -1;
		do {
			wait_ms(1);
			ms = (now_ns() - begin) / 1000000;
		} while (!waitpid(pid, &status, WNOHANG) && ms < MOST_MS);
		if (status < 0)
			kill(pid, SIGKILL);
		tell(!status, "%s: %s", calls[i].what, status < 0 ? "waits" : "ends");
		printf("# %s: %llu ms\n", calls[i].what, (unsigned long long)ms);
		fflush(stdout);
	}
}

static void reads(char **arguments)
{
	int fd = attach_to(arguments[0]);

	tell(fd >= 0 && value_of(fd) != ~0ULL, "%s is read", arguments[0]);
}

#define FLOOD	300

static void floods(char **arguments)
{
	char c;
	int i, fd;

	for (i = 0; i < FLOOD; i++) {
		usual();
		o.pid = atoi(arguments[0]);
		attr.sample_period = 1;
		fd = open_it();
		if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_REFRESH, 1))
			break;
	}
	tell(i == FLOOD, "%d events with a limit", i);
	fflush(stdout);
	if (read(0, &c, 1) < 0)
		err(2, "standard input");
}

static void file_of(char **arguments)
{
	char c;
	int fd;

	usual();
	o.pid = atoi(arguments[0]);
	fd = open_it();
	tell(fd >= 0, "a file");
	if (read(0, &c, 1) < 0)
		err(2, "standard input");
	tell(value_of(fd) != ~0ULL && polled_for(fd, 60000) & POLLHUP,
	     "its count is read, and its end is seen");
}

int main(int argc, char **argv)
{
	static const struct devtest tests[] = {
		{ "others", .run = others },
		{ "file", .arguments = 1, .with = file_of },
		{ "reads", .arguments = 1, .with = reads },
		{ "floods", .arguments = 1, .with = floods },
		{ }
	};

	return run_test(tests, argc, argv);
}
