// SPDX-License-Identifier: GPL-2.0
/*
 * A fake /dev/tally for programs that are not built for tests: LD_PRELOAD this library. The device
 * knows the event "cycles" and two that run, and takes lines. The file of an event is memory.
 *
 * Variables of the environment change the fake. FAKE_LINE is a line that has made one event more.
 * FAKE_MISSED is a file with the number of hits that such an event has missed. FAKE_STATES and
 * FAKE_EXCEEDED are lists of its states, and of the windows above its budget on CPU 0: each call
 * gets the next one, and after the last one this again; "-" stands for an error. FAKE_HOST is the
 * name of the machine.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <linux/tally.h>

#define NR_FILES	1024
#define NR_EVENTS	8

struct event {
	__u64 id;
	__u32 state;
	char name[TALLY_USER_NAME_LEN], what[128];
};

static struct event events[NR_EVENTS] = {
	{ 3, TALLY_IS_ACTIVE, "first", "cycles cpu=1 name=first" },
	{ 5, TALLY_IS_OFF, "", "" },
};

/* Of each descriptor: whether it is the device, or the number of its event and more. */
static struct file {
	int is_device, event, is_attached, members;
	__u32 state;
} files[NR_FILES];

static int device_open(void)
{
	int fd = memfd_create("device", MFD_CLOEXEC);

	if (fd >= 0 && fd < NR_FILES)
		files[fd] = (struct file){ .is_device = 1 };
	return fd;
}

int open(const char *path, int flags, ...)
{
	va_list list;
	int mode;

	va_start(list, flags);
	mode = va_arg(list, int);
	va_end(list);
	if (!strcmp(path, "/dev/tally"))
		return device_open();
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

/* As the kernel's mappings of events, those of the files here are not in a child of fork(). */
void *mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset)
{
	void *mapped = (void *)syscall(SYS_mmap, at, size, rights, flags, fd, offset);

	if (mapped != MAP_FAILED && fd >= 0 && fd < NR_FILES && files[fd].event)
		madvise(mapped, size, MADV_DONTFORK);
	return mapped;
}

void *mmap64(void *at, size_t size, int rights, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

static int fails(__u64 why, int error, const char *text)
{
	struct tally_error *e = (void *)(unsigned long)why;

	e->error = error;
	snprintf(e->text, sizeof(e->text), "%s", text);
	errno = error;
	return -1;
}

static struct event *find(__u64 id, const char *name)
{
	int i;

	for (i = 0; i < NR_EVENTS; i++)
		if (events[i].id && (id ? events[i].id == id : !strcmp(events[i].name, name)))
			return &events[i];
	return NULL;
}

static int parse(struct tally_parse *p)
{
	struct perf_event_attr *attr = (void *)(unsigned long)p->attr;
	const char *name = (const char *)(unsigned long)p->name;

	if (strncmp(name, "cycles", 6))
		return fails(p->error, ENOENT, "no such event");
	attr->type = PERF_TYPE_HARDWARE;
	attr->config1 = 17;
	attr->exclude_kernel = !strcmp(name, "cycles:u");
	/* The event needs a member that only a later, longer struct has. */
	if (!strcmp(name, "cycles-later"))
		return fails(p->error, E2BIG, "the event needs members that attr's size leaves out");
	/* A program in another language has another decimal point. */
	strcpy(p->scale, "2.5e-1");
	strcpy(p->unit, "msec");
	p->flags = strcmp(name, "cycles-gauge") ? 0 : TALLY_PARSE_GAUGE;
	/* The size is that of the caller. */
	attr->config2 = attr->size;
	return 0;
}

/* A made event has the name behind "name=". */
static int create(struct tally_line *l, const char *line)
{
	const char *name = strstr(line, "name=");
	int i;

	if (!name)
		return fails(l->error, EINVAL, "the fake needs a name");
	for (i = 0; events[i].id; i++)
		;
	events[i].id = 7 + i;
	events[i].state = TALLY_IS_ACTIVE;
	snprintf(events[i].name, sizeof(events[i].name), "%s", name + 5);
	snprintf(events[i].what, sizeof(events[i].what), "%s", line);
	return 0;
}

__attribute__((constructor)) static void begin(void)
{
	struct tally_line l = { 0 };

	if (getenv("FAKE_LINE"))
		create(&l, getenv("FAKE_LINE"));
}

static int line(struct tally_line *l)
{
	const char *text = (const char *)(unsigned long)l->line;
	struct event *e;

	if (l->op == TALLY_LINE_CREATE)
		return create(l, text);
	e = find(0, text);
	if (!e)
		return fails(l->error, ENOENT, "no event has this name");
	if (l->op == TALLY_LINE_REMOVE)
		e->id = 0;
	else
		e->state = l->op == TALLY_LINE_ENABLE ? TALLY_IS_ACTIVE : TALLY_IS_OFF;
	return 0;
}

/* Returns the next number of a list, and moves behind it unless it is the last one. */
static __u64 take(const char **list)
{
	const char *now = *list, *comma = strchr(now, ',');

	if (comma)
		*list = comma + 1;
	return *now == '-' ? ~0ULL : strtoull(now, NULL, 10);
}

static __u64 missed(void)
{
	FILE *file = getenv("FAKE_MISSED") ? fopen(getenv("FAKE_MISSED"), "re") : NULL;
	unsigned long long nr = 22;

	if (file) {
		if (fscanf(file, "%llu", &nr) != 1)
			nr = 0;
		fclose(file);
	}
	return nr;
}

/* The event without a name is one that the caller may not see all of. */
static int next(struct tally_next *n)
{
	static const char *states;
	struct event *e = NULL;
	int i;

	if (!states)
		states = getenv("FAKE_STATES");
	for (i = NR_EVENTS - 1; i >= 0; i--)
		if (events[i].id > n->id)
			e = &events[i];
	if (!e) {
		errno = ENOENT;
		return -1;
	}
	n->id = e->id;
	n->state = states && e->id >= 7 ? take(&states) : e->state;
	n->type = 11;
	n->config = 12;
	n->cpu = 13;
	n->pid = -1;
	strcpy(n->name, e->name);
	strcpy(n->owner, "tally");
	strcpy(n->what, e->what);
	if (!e->name[0]) {
		n->size = offsetof(struct tally_next, overflows);
		n->flags = TALLY_NEXT_OF_FILE;
		return 0;
	}
	n->overflows = 21;
	n->missed = e->id >= 7 ? missed() : 22;
	n->lost = 23;
	n->throttled = 24;
	strcpy(n->cgroup, "/a");
	return 0;
}

/* Makes the file of an event: the page of counts, and room for a ring. */
static int event_file(int event, int is_attached)
{
	int fd = memfd_create("event", MFD_CLOEXEC);
	struct {
		struct tally_page page;
		struct tally_page_value value;
	} page = {
		.page = { sizeof(page.page), sizeof(page.value), 1, 0, 77 },
		.value = { 100, 60, 20, event, TALLY_IS_ACTIVE, 0 },
	};

	if (fd < 0 || fd >= NR_FILES || ftruncate(fd, 1 << 20) ||
	    pwrite(fd, &page, sizeof(page), TALLY_PAGE_AT) != sizeof(page))
		return -1;
	files[fd] = (struct file){ 0, event, is_attached, 0, TALLY_IS_ACTIVE };
	return fd;
}

static int attach(struct tally_attach *a)
{
	struct event *e = find(a->id, a->name);

	if (!e)
		return fails(a->error, ENOENT, "there is no such event");
	if (a->flags)
		return fails(a->error, EACCES, "the fake knows no total");
	return event_file(e->id, 1);
}

/* A sample of the fields that tally.py asks for, a sample that is cut off, and a throttle. */
struct records {
	struct perf_event_header sample;
	__u64 id, ip;
	__u32 pid, tid;
	__u64 time;
	__u32 cpu, reserved;
	struct perf_event_header cut;
	__u64 cut_id;
	struct perf_event_header throttle;
	__u64 throttle_time, throttle_id, stream_id;
	__u64 trailer[4];	/* pid and tid, time, cpu, id */
};

static void put_records(int fd, __u64 event)
{
	struct records r = {
		{ PERF_RECORD_SAMPLE, 0, offsetof(struct records, cut) },
		event, 0x1234, 5, 6, 7, 8, 0,
		{ PERF_RECORD_SAMPLE, 0, 16 }, event,
		{ PERF_RECORD_THROTTLE, 0, sizeof(r) - offsetof(struct records, throttle) },
		7, event, event, { 0, 7, 8, event },
	};
	struct perf_event_mmap_page page = { .data_head = sizeof(r) };

	if (pwrite(fd, &page, sizeof(page), 0) != sizeof(page) ||
	    pwrite(fd, &r, sizeof(r), sysconf(_SC_PAGESIZE)) != sizeof(r))
		files[fd].event = 0;
}

static int open_event(struct tally_open *o)
{
	const struct perf_event_attr *attr = (const void *)(unsigned long)o->attr;
	int fd;

	if (attr->type != PERF_TYPE_HARDWARE || attr->config1 != 17)
		return fails(o->error, EOPNOTSUPP, "the fake has cycles only");
	o->id = 40;
	fd = event_file(o->id, 0);
	if (attr->disabled)
		files[fd].state = TALLY_IS_OFF;
	if (o->group_fd >= 0)
		files[o->group_fd].members++;
	if (attr->sample_period)
		put_records(fd, o->id);
	return fd;
}

static int values(struct file *f, struct tally_read *r)
{
	struct tally_value *v = (void *)(unsigned long)r->values;
	int i;

	if ((int)r->nr < 1 + f->members) {
		errno = ENOSPC;
		return -1;
	}
	r->nr = 1 + f->members;
	for (i = 0; i < (int)r->nr; i++)
		v[i] = (struct tally_value){ 200 + i, 90, 30, f->event, f->state, 0 };
	return 0;
}

static int control(struct file *f, unsigned long request)
{
	if (f->is_attached && request != PERF_EVENT_IOC_RESET) {
		errno = EPERM;
		return -1;
	}
	if (request != PERF_EVENT_IOC_RESET)
		f->state = request == PERF_EVENT_IOC_ENABLE ? TALLY_IS_ACTIVE : TALLY_IS_OFF;
	return 0;
}

/* An event that was made has a budget on CPU 0. */
static int budget(const struct file *f, struct tally_budget_info *info)
{
	static const char *exceeded;

	if (!exceeded)
		exceeded = getenv("FAKE_EXCEEDED");
	errno = EINVAL;
	if (!exceeded || f->event < 7 || info->cpu)
		return -1;
	info->exceeded = take(&exceeded);
	errno = ENODATA;
	return info->exceeded == ~0ULL ? -1 : 0;
}

static int device_ioctl(unsigned long request, void *data)
{
	switch (request) {
	case TALLY_IOC_PARSE: return parse(data);
	case TALLY_IOC_LINE: return line(data);
	case TALLY_IOC_NEXT: return next(data);
	case TALLY_IOC_ATTACH: return attach(data);
	case TALLY_IOC_OPEN: return open_event(data);
	}
	errno = ENOTTY;
	return -1;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *data;

	va_start(list, request);
	data = va_arg(list, void *);
	va_end(list);
	if (fd >= 0 && fd < NR_FILES && files[fd].is_device)
		return device_ioctl(request, data);
	if (fd < 0 || fd >= NR_FILES || !files[fd].event)
		return syscall(SYS_ioctl, fd, request, data);
	if (request == TALLY_IOC_READ)
		return values(&files[fd], data);
	if (request == TALLY_IOC_BUDGET)
		return budget(&files[fd], data);
	if (request == PERF_EVENT_IOC_ID)
		*(__u64 *)data = files[fd].event;
	else
		return control(&files[fd], request);
	return 0;
}

/* As POSIX lets it, the call changes nothing if the name has no room. */
int gethostname(char *name, size_t size)
{
	const char *host = getenv("FAKE_HOST");

	errno = ENAMETOOLONG;
	if (!host || strlen(host) >= size)
		return -1;
	strcpy(name, host);
	return 0;
}
