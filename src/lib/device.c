// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/* The calls of /dev/tally that are not perf's: names, lines, events of others, their counts. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/tally.h>
#include "libtally.h"

static int explain(char *error, int result, const char *text)
{
	snprintf(error, LIBTALLY_ERROR_SIZE, "%s", text[0] ? text : strerror(-result));
	return result;
}

int libtally_device_open(char *error)
{
	int fd = open("/dev/tally", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	fd = -errno;
	snprintf(error, LIBTALLY_ERROR_SIZE, "/dev/tally: %s", strerror(-fd));
	return fd;
}

/* Calls an ioctl whose struct has the address of why. */
static int call(int device, unsigned long request, void *arg, struct tally_error *why, char *error)
{
	int result = ioctl(device, request, arg);

	if (result >= 0)
		return result;
	result = -errno;
	if (result == -ENOTTY)
		return explain(error, result, "the module tally is older than this program");
	why->text[sizeof(why->text) - 1] = 0;
	return explain(error, result, why->text);
}

static int parse(int device, struct tally_parse *p, size_t size, const char *name,
		 struct perf_event_attr *attr, size_t attr_size, char *error)
{
	struct tally_error why = { .size = sizeof(why) };

	memset(p, 0, sizeof(*p));
	p->size = size;
	p->name = (unsigned long)name;
	p->attr = (unsigned long)attr;
	p->error = (unsigned long)&why;
	memset(attr, 0, attr_size);
	attr->size = attr_size;
	return call(device, TALLY_IOC_PARSE, p, &why, error);
}

int libtally_device_parse(int device, const char *name, struct perf_event_attr *attr,
			  size_t attr_size, char *error)
{
	struct tally_parse p;

	/* The module looks for a unit if there is room for it. */
	return parse(device, &p, offsetof(struct tally_parse, scale), name, attr, attr_size,
		     error);
}

/* Parses a decimal number. strtod() reads the decimal point of the program's language. */
static double number_of(const char *text)
{
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	double number = 0;

	if (!plain)
		return 0;
	number = strtod_l(text, NULL, plain);
	freelocale(plain);
	return number;
}

int libtally_device_unit(int device, const char *name, struct libtally_unit *unit, char *error)
{
	struct perf_event_attr attr;
	struct tally_parse p;
	int result;

	memset(unit, 0, sizeof(*unit));
	unit->scale = 1;
	/* A kernel probe has no unit, and the module would make a probe to check the name. */
	if (!strncmp(name, "kprobe:", 7) || !strncmp(name, "kretprobe:", 10))
		return 0;
	result = parse(device, &p, sizeof(p), name, &attr, sizeof(attr), error);
	if (result)
		return result;
	memcpy(unit->unit, p.unit, sizeof(unit->unit) - 1);
	if (number_of(p.scale) > 0)
		unit->scale = number_of(p.scale);
	unit->gauge = !!(p.flags & TALLY_PARSE_GAUGE);
	return 0;
}

int libtally_device_line(int device, enum libtally_line_op op, const char *line, char *error)
{
	struct tally_error why = { .size = sizeof(why) };
	struct tally_line l = {
		.size = sizeof(l), .op = op, .line = (unsigned long)line,
		.error = (unsigned long)&why,
	};

	return call(device, TALLY_IOC_LINE, &l, &why, error);
}

int libtally_device_next(int device, struct libtally_running *event)
{
	struct tally_next n = { .size = sizeof(n), .id = event->id };

	if (ioctl(device, TALLY_IOC_NEXT, &n))
		return errno == ENOENT ? 0 : -errno;
	event->id = n.id;
	event->config = n.config;
	event->type = n.type;
	event->cpu = n.cpu;
	event->pid = n.pid;
	event->state = n.state;
	event->has_more = n.size == sizeof(n) && n.overflows != ~0ULL;
	memcpy(event->name, n.name, sizeof(event->name));
	memcpy(event->owner, n.owner, sizeof(event->owner));
	memcpy(event->what, n.what, sizeof(event->what));
	event->of_file = !!(n.flags & TALLY_NEXT_OF_FILE);
	event->overflows = n.overflows;
	event->missed = n.missed;
	event->lost = n.lost;
	event->throttled = n.throttled;
	memcpy(event->cgroup, n.cgroup, sizeof(event->cgroup));
	return 1;
}

static int attach(int device, __u64 id, const char *name, __u64 publish_ns, unsigned int flags,
		  char *error)
{
	struct tally_error why = { .size = sizeof(why) };
	struct tally_attach a = {
		.size = sizeof(a), .flags = flags, .id = id, .publish_ns = publish_ns,
		.perf_flags = PERF_FLAG_FD_CLOEXEC, .error = (unsigned long)&why,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	if (!id && strlen(name) >= sizeof(a.name))
		return explain(error, -ENOENT, "no event has so long a name");
	if (!id)
		strcpy(a.name, name);
	return call(device, TALLY_IOC_ATTACH, &a, &why, error);
}

int libtally_device_attach(int device, __u64 id, const char *name, __u64 publish_ns, char *error)
{
	return attach(device, id, name, publish_ns, 0, error);
}

int libtally_device_attach_total(int device, __u64 id, const char *name, __u64 publish_ns,
				 char *error)
{
	return attach(device, id, name, publish_ns, TALLY_ATTACH_TOTAL, error);
}

const char *libtally_state_name(unsigned int state)
{
	static const char *const names[] = {
		"off", "inactive", "active", "error", "offline", "exited", "throttled", "released",
		"silent",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

int libtally_values_read(int fd, int cpu, struct libtally_value *values, unsigned int nr,
			 int *is_ratio)
{
	struct tally_read r = {
		.size = sizeof(r), .cpu = cpu, .nr = nr, .values = (unsigned long)values,
		.value_size = sizeof(*values),
	};

	if (ioctl(fd, TALLY_IOC_READ, &r))
		return -errno;
	if (is_ratio)
		*is_ratio = !!(r.flags & TALLY_READ_RATIO);
	return r.nr;
}

int libtally_budget_read(int fd, int cpu, struct libtally_budget *budget)
{
	struct tally_budget_info info = { .size = sizeof(info), .cpu = cpu };

	if (ioctl(fd, TALLY_IOC_BUDGET, &info))
		return -errno;
	budget->budget = info.budget;
	budget->window_ns = info.window_ns;
	budget->window = info.window;
	budget->used = info.used;
	budget->windows = info.windows;
	budget->exceeded = info.exceeded;
	return 0;
}

int libtally_ring_info_read(int fd, struct libtally_ring_info *info)
{
	struct tally_ring_info i = { .size = sizeof(i) };

	if (ioctl(fd, TALLY_IOC_RING_INFO, &i))
		return -errno;
	info->sample_type = i.sample_type;
	info->pages = i.pages;
	info->rings = i.rings;
	info->backward = !!(i.flags & TALLY_RING_INFO_BACKWARD);
	info->sample_id_all = !!(i.flags & TALLY_RING_INFO_SAMPLE_ID);
	return 0;
}

int libtally_page_map(int fd, const void **page)
{
	void *mapped = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);

	if (mapped == MAP_FAILED)
		return -errno;
	*page = mapped;
	return 0;
}

void libtally_page_unmap(const void *page)
{
	munmap((void *)page, sysconf(_SC_PAGESIZE));
}

/* Copies what the page has; the caller checks that nobody wrote it meanwhile. */
static unsigned int take(const void *page, struct libtally_value *values, unsigned int nr,
			 __u64 *time_ns)
{
	const volatile struct tally_page *p = tally_page_of(page);
	const volatile struct tally_page_value *v;
	unsigned int i, has = p->nr;

	for (i = 0; i < has && i < nr; i++) {
		v = tally_page_nth_value((const struct tally_page *)p, i);
		values[i].value = v->value;
		values[i].enabled = v->enabled_ns;
		values[i].running = v->running_ns;
		values[i].id = v->id;
		values[i].state = v->state;
		values[i].reserved = 0;
	}
	*time_ns = p->time_ns;
	return i;
}

int libtally_page_values(const void *page, struct libtally_value *values, unsigned int nr,
			 __u64 *time_ns)
{
	const volatile struct perf_event_mmap_page *p = page;
	unsigned int got;
	__u64 time;
	__u32 lock;
	int tries;

	for (tries = 0; tries < 1000000; tries++) {
		lock = p->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (lock & 1)
			continue;
		got = take(page, values, nr, &time);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (lock != p->lock)
			continue;
		if (time_ns)
			*time_ns = time;
		return got;
	}
	return -EAGAIN;
}
