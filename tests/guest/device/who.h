/* SPDX-License-Identifier: GPL-2.0 */
/* The calls in the table of devwho.c, and what they need. Calls return an errno, or 0. */
#ifndef WHO_H
#define WHO_H

#include "rights.h"

#define DEBUGFS			"/sys/kernel/debug/tally/"

/* The files, events and numbers that root gives to the callers. */
static struct {
	int parent;
	uint64_t address, function;
	int rename_id, call_id;
	int create, remove;
	int file, second, on_cpu, breakpoint, tracepoint;
	uint64_t public, private, traced, watched;
	char hidden[TALLY_USER_NAME_LEN];
	/* A set without a name, its member that is no address, and that of a set with a name. */
	char set[TALLY_USER_NAME_LEN], beside[TALLY_USER_NAME_LEN], member[TALLY_USER_NAME_LEN];
	int pages;
} made_by_root;

/* Ids of two events of the caller, which root makes when the caller has begun. */
static struct {
	uint64_t own, inherited;
} of_caller;

/* ---- TALLY_IOC_OPEN ---- */

static void kernel(void)
{
}

static void other(void)
{
	user();
	o.pid = made_by_root.parent;
}

static void joined(void)
{
	other();
	o.group_fd = made_by_root.file;
}

static void other_trap(void)
{
	trap();
	o.pid = made_by_root.parent;
}

static void cpu(void)
{
	o.pid = -1;
	o.cpu = 0;
}

static void cpu_user(void)
{
	user();
	cpu();
}

static void all_cpus(void)
{
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
}

static void all_cpus_user(void)
{
	user();
	all_cpus();
}

static void chain(void)
{
	user();
	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
}

static void physical(void)
{
	user();
	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR;
}

static void kprobe(void)
{
	probe(made_by_root.function);
}

static void tracepoint(void)
{
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = made_by_root.rename_id;
}

static void sampled_tracepoint(void)
{
	tracepoint();
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
}

static void sampled_call(void)
{
	sampled_tracepoint();
	attr.config = made_by_root.call_id;
}

static void breakpoint(void)
{
	watch(made_by_root.address);
}

static void named(void)
{
	user();
	strcpy(o.name, "who");
}

static void often(void)
{
	user();
	o.publish_ns = 1000000;
}

/* Returns the errno of a call, and closes a file that it has made. */
static int closed(int ret)
{
	int error = ret < 0 ? errno : 0;

	if (ret >= 0)
		close(ret);
	return error;
}

/* ---- other ioctls of the device ---- */

static int info(void)
{
	struct tally_info i = { .size = sizeof(i) };

	return ioctl(device, TALLY_IOC_INFO, &i) ? errno : 0;
}

static int switch_all(void)
{
	return ioctl(device, TALLY_IOC_ENABLE_ALL) || ioctl(device, TALLY_IOC_DISABLE_ALL) ?
	       errno : 0;
}

/* Sets @next to the event. */
static int find(uint64_t id, struct tally_next *next)
{
	memset(next, 0, sizeof(*next));
	next->size = sizeof(*next);
	while (!ioctl(device, TALLY_IOC_NEXT, next))
		if (next->id == id)
			return 0;
	return errno;
}

static int list_events(void)
{
	struct tally_next next;

	return find(made_by_root.public, &next) ?:
	       strcmp(next.name, "public") || !next.what[0] || next.cpu ? ENODATA :
	       find(made_by_root.private, &next) ?:
	       strcmp(next.name, "private") || !next.what[0] ||
	       next.pid != made_by_root.parent ? ENODATA : 0;
}

/* Each event is listed, with the name that its owner gave it. */
static int list_address(void)
{
	struct tally_next next;

	return find(made_by_root.watched, &next) ?:
	       strcmp(next.name, "address") ? ENOENT :
	       !next.config && !next.what[0] ? ENODATA : 0;
}

static int list_name(const char *name)
{
	struct tally_next next = { .size = sizeof(next) };

	while (!ioctl(device, TALLY_IOC_NEXT, &next))
		if (!strcmp(next.name, name))
			return 0;
	return errno == ENOENT ? ENODATA : errno;
}

/* ---- TALLY_IOC_ATTACH ---- */

/* Attaches a file by @id, or by @name if that is 0, and uses it. */
static int attach(uint64_t id, const char *name, int (*use)(int fd))
{
	struct tally_attach at = { .size = sizeof(at), .id = id };
	int fd, error;

	if (!id)
		strcpy(at.name, name);
	fd = ioctl(device, TALLY_IOC_ATTACH, &at);
	if (fd < 0)
		return errno;
	error = use ? use(fd) : 0;
	close(fd);
	return error;
}

static int attach_often(void)
{
	struct tally_attach at = {
		.size = sizeof(at), .id = made_by_root.public, .publish_ns = 1000000,
	};

	return closed(ioctl(device, TALLY_IOC_ATTACH, &at));
}

static int attach_total(void)
{
	struct tally_attach at = {
		.size = sizeof(at), .id = made_by_root.public, .flags = TALLY_ATTACH_TOTAL,
	};

	return closed(ioctl(device, TALLY_IOC_ATTACH, &at));
}

/* ---- the files of events ---- */

/* Returns 0 if all that reads an attached or handed on file succeeds. */
static int read_all(int fd)
{
	struct tally_value values[64];
	void *page = map(fd, PROT_READ);

	if (page == MAP_FAILED)
		return errno;
	munmap(page, page_size);
	if (value_of(fd) == ~0ULL)
		return EIO;
	return read_values(fd, values, NULL) < 0 || ioctl(fd, PERF_EVENT_IOC_RESET, 0) ?
	       errno : 0;
}

static int read_cpu(int fd)
{
	struct tally_value value;

	return read_first(fd, 0, &value) ? errno : 0;
}

static int ring_info(int fd)
{
	struct tally_ring_info i = { .size = sizeof(i) };

	return ioctl(fd, TALLY_IOC_RING_INFO, &i) ? errno : 0;
}

static int map_and_unmap(int fd, int pages, int prot)
{
	void *ring = map_pages(fd, pages, prot, 0);

	return ring == MAP_FAILED || munmap(ring, pages * page_size) ? errno : 0;
}

static int map_shared(int fd)
{
	return map_and_unmap(fd, made_by_root.pages, PROT_READ);
}

/* Returns the errno that all calls have that change an event, or 0. */
static int change(int fd)
{
	uint64_t period = 1000;
	const struct {
		unsigned long call, argument;
	} calls[] = {
		{ PERF_EVENT_IOC_ENABLE, 0 }, { PERF_EVENT_IOC_DISABLE, 0 },
		{ PERF_EVENT_IOC_REFRESH, 1 }, { PERF_EVENT_IOC_PERIOD, (unsigned long)&period },
		{ PERF_EVENT_IOC_MODIFY_ATTRIBUTES, (unsigned long)&attr },
		{ PERF_EVENT_IOC_SET_OUTPUT, made_by_root.second },
		{ PERF_EVENT_IOC_SET_FILTER, (unsigned long)"pid == 1" },
		{ PERF_EVENT_IOC_PAUSE_OUTPUT, 1 },
	};
	unsigned int i;
	int error = 0;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (!ioctl(fd, calls[i].call, calls[i].argument) || (i && errno != error))
			return 0;
		error = errno;
	}
	return error;
}

static int map_two(int fd)
{
	return map_and_unmap(fd, 2, PROT_READ | PROT_WRITE);
}

static int control(int fd)
{
	uint64_t period = 1000;

	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) || ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) ||
	       ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) || ioctl(fd, PERF_EVENT_IOC_PERIOD, &period) ||
	       ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1) ||
	       ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0) ||
	       ioctl(made_by_root.second, PERF_EVENT_IOC_SET_OUTPUT, fd) ? errno : 0;
}

static int set_filter(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "pid == 1") ? errno : 0;
}

static int move(int fd, uint64_t address)
{
	usual();
	watch(address);
	attr.disabled = 1;
	return ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) ? errno : 0;
}

static int move_user(int fd)
{
	return move(fd, (unsigned long)area);
}

static int move_kernel(int fd)
{
	return move(fd, made_by_root.address);
}

static int own_filter(void)
{
	int fd, error;

	usual();
	tracepoint();
	fd = open_it();
	if (fd < 0)
		return errno;
	error = set_filter(fd);
	close(fd);
	return error;
}

static int create_line(void)
{
	static const char line[] = "page-faults name=line", name[] = "line";

	if (write(made_by_root.create, line, strlen(line)) < 0)
		return errno;
	return write(made_by_root.remove, name, strlen(name)) < 0 ? errno : 0;
}

static int line(void)
{
	if (line_it(TALLY_LINE_CREATE, "page-faults name=ioctl"))
		return errno;
	if (line_it(TALLY_LINE_DISABLE, "ioctl") || line_it(TALLY_LINE_ENABLE, "ioctl"))
		return errno;
	return line_it(TALLY_LINE_REMOVE, "ioctl") ? errno : 0;
}

static int parse(void)
{
	return parse_it("cs:k") ? errno : 0;
}

static int parse_kprobe(void)
{
	return parse_it("kprobe:do_exit") ? errno : 0;
}

#endif /* WHO_H */
