// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/* Opening of events by perf_event_open(2) and /dev/tally, and reading of their counts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/tally.h>
#include "reader.h"

static int open_perf(const struct perf_event_attr *attr, struct libtally_target *target)
{
	int fd = syscall(SYS_perf_event_open, attr, target->pid, target->cpu,
			 target->group_fd, target->perf_flags | PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		return fd;
	fd = -errno;
	snprintf(target->error, sizeof(target->error), "perf_event_open: %s", strerror(-fd));
	return fd;
}

static int open_device(const struct perf_event_attr *attr, struct libtally_target *target)
{
	int device = target->device, fd;
	struct tally_error why;
	struct tally_open o;

	memset(&why, 0, sizeof(why));
	why.size = sizeof(why);
	memset(&o, 0, sizeof(o));
	o.size = sizeof(o);
	o.error = (unsigned long)&why;
	o.flags = target->flags;
	o.attr = (unsigned long)attr;
	o.pid = target->pid;
	o.cpu = target->cpu;
	o.group_fd = target->group_fd;
	o.perf_flags = target->perf_flags | PERF_FLAG_FD_CLOEXEC;
	if (target->pid == -1 && target->cpu == -1)
		o.flags |= TALLY_OPEN_ALL_CPUS;
	if (target->name) {
		if (strlen(target->name) >= sizeof(o.name)) {
			snprintf(target->error, sizeof(target->error),
				 "the name has more than %zu characters", sizeof(o.name) - 1);
			return -ENAMETOOLONG;
		}
		strcpy(o.name, target->name);
	}
	if (device < 0)
		device = open("/dev/tally", O_RDWR | O_CLOEXEC);
	if (device < 0) {
		fd = -errno;
		snprintf(target->error, sizeof(target->error), "/dev/tally: %s",
			 strerror(-fd));
		return fd;
	}
	fd = ioctl(device, TALLY_IOC_OPEN, &o);
	if (fd < 0) {
		fd = -errno;
		why.text[sizeof(why.text) - 1] = 0;
		snprintf(target->error, sizeof(target->error), "%s",
			 why.text[0] ? why.text : strerror(-fd));
	}
	target->id = o.id;
	if (target->device < 0)
		close(device);
	return fd;
}

/* Fills in a sentence for a failure that has none yet. */
static int explained(struct libtally_target *target, int result)
{
	if (result < 0 && !target->error[0])
		snprintf(target->error, sizeof(target->error), "%s", strerror(-result));
	return result;
}

int libtally_open_event(const struct perf_event_attr *attr, struct libtally_target *target)
{
	target->error[0] = 0;
	return explained(target, target->via == LIBTALLY_VIA_DEVICE ?
				 open_device(attr, target) : open_perf(attr, target));
}

#define ONLINE		"/sys/devices/system/cpu/online"
#define POSSIBLE	"/sys/devices/system/cpu/possible"

/* Calls a function for each CPU in a list of the kernel's, until one call fails. */
static int each_cpu(const char *list, int (*call)(void *data, int cpu), void *data)
{
	FILE *file = fopen(list, "re");
	int first, last, error = 0;

	if (!file)
		return -errno;
	while (!error && fscanf(file, "%d", &first) == 1) {
		last = first;
		if (fscanf(file, "-%d", &last) < 1)
			last = first;
		for (; !error && first <= last; first++)
			error = call(data, first);
		if (getc(file) != ',')
			break;
	}
	fclose(file);
	return error;
}

struct opening {
	struct libtally_reader *reader;
	struct perf_event_attr *attr;
	struct libtally_target *target;
	size_t pages;
	const char *name;
	int number;
	int fd;
	int first_ring;
	int share;
	int all;
};

static unsigned int ring_flags(const struct opening *o)
{
	unsigned int flags = o->target->via == LIBTALLY_VIA_DEVICE ? LIBTALLY_RING_PAUSE_WAITS : 0;

	if (o->attr->write_backward)
		flags |= LIBTALLY_RING_READ_ONLY | LIBTALLY_RING_BACKWARD;
	return flags;
}

/* Returns the task whose files may share a ring; -1 for all tasks, as on a CPU. */
static int key_pid(const struct opening *o)
{
	return o->all || o->target->cpu >= 0 ? -1 : o->target->pid;
}

static int add_ring(struct opening *o, __u64 at)
{
	struct libtally_ring *ring = malloc(sizeof(*ring));
	int error;

	if (!ring)
		return -ENOMEM;
	error = libtally_ring_map(ring, o->fd, o->pages, at, ring_flags(o));
	if (error) {
		snprintf(o->target->error, sizeof(o->target->error), "mmap: %s%s",
			 strerror(-error), error != -EPERM ? "" :
			 "; RLIMIT_MEMLOCK and kernel.perf_event_mlock_kb are the limits");
		free(ring);
		return error;
	}
	error = libtally_reader_add_ring(o->reader, ring, 1);
	if (error < 0) {
		libtally_ring_unmap(ring);
		free(ring);
		return error;
	}
	o->reader->rings[error].shared = o->share;
	o->reader->rings[error].target_pid = key_pid(o);
	o->reader->rings[error].target_cpu = o->target->cpu;
	return 0;
}

/* Sends the file's records to a ring that the reader has. Returns 1, or 0 if no ring fits. */
static int shares_ring(const struct opening *o)
{
	const struct reader_ring *r;
	int i;

	for (i = 0; o->share && i < o->reader->nr; i++) {
		r = &o->reader->rings[i];
		if (r->shared && r->target_cpu == o->target->cpu && r->target_pid == key_pid(o) &&
		    r->ring->flags == ring_flags(o) &&
		    !ioctl(o->fd, PERF_EVENT_IOC_SET_OUTPUT, r->ring->fd))
			return 1;
	}
	return 0;
}

/* Opens a file and adds its id to the event, which is added with the first file. */
static int add_file(struct opening *o)
{
	struct libtally_events *events = o->reader->events;
	__u64 id;
	int error;

	o->fd = (o->target->open ? o->target->open : libtally_open_event)(o->attr, o->target);
	if (o->fd < 0)
		return o->fd;
	error = libtally_reader_add_file(o->reader, o->fd);
	if (error < 0) {
		close(o->fd);
		return error;
	}
	if (ioctl(o->fd, PERF_EVENT_IOC_ID, &id))
		return -errno;
	if (o->number >= 0)
		return libtally_events_add_id(events, o->number, id);
	o->number = libtally_events_add(events, o->attr, &id, 1, o->name);
	if (o->number == -EINVAL)
		snprintf(o->target->error, sizeof(o->target->error),
			 "its records have their ids at another place than those of the other events");
	return o->number < 0 ? o->number : 0;
}

static int map_of(void *data, int cpu)
{
	struct libtally_reader *reader = ((struct opening *)data)->reader;
	int error = add_ring(data, TALLY_RING_AT(cpu));

	if (!error)
		reader->rings[reader->nr - 1].cpu = cpu;
	return error;
}

/* A CPU that is offline may never come online: the limits may leave no ring for it. */
static int map_of_offline(void *data, int cpu)
{
	struct opening *o = data;
	int i, error;

	for (i = o->first_ring; i < o->reader->nr; i++)
		if (o->reader->rings[i].cpu == cpu)
			return 0;
	error = map_of(o, cpu);
	if (error != -EPERM)
		return error;
	o->target->error[0] = 0;
	return 0;
}

/*
 * The rings of CPUs that are offline get records when these come online. They are mapped
 * last, so that they take nothing from the others.
 */
static int map_all(struct opening *o)
{
	int error;

	o->first_ring = o->reader->nr;
	error = each_cpu(ONLINE, map_of, o);
	return error ? error : each_cpu(POSSIBLE, map_of_offline, o);
}

/* Finds or makes the rings of the file that was added last. */
static int add_rings(struct opening *o)
{
	if (shares_ring(o))
		return libtally_reader_add_polled(o->reader, o->fd);
	return o->all && o->target->cpu < 0 ? map_all(o) : add_ring(o, 0);
}

static int open_on(void *data, int cpu)
{
	struct opening *o = data;
	int error;

	o->target->cpu = cpu;
	error = add_file(o);
	return error ? error : add_rings(o);
}

/* Returns 1 if the records of the attr have the format of the event with the number. */
static int has_format(const struct libtally_events *events, int number,
		      const struct perf_event_attr *attr)
{
	const struct libtally_format *has = libtally_events_format(events, number);
	struct libtally_format format;

	libtally_format_init(&format, attr);
	return has && !memcmp(has, &format, sizeof(format));
}

/* Opens the event for o->reader, o->target, o->pages, o->name, o->number and o->share. */
static int add_event(struct opening *o, const struct perf_event_attr *attr)
{
	struct libtally_target *target = o->target;
	size_t size = attr->size ? attr->size : PERF_ATTR_SIZE_VER0;
	/* The pid of a cgroup is a file: a flag says that the event is on all CPUs. */
	int all = target->cpu == -1 &&
		  (target->pid == -1 || target->flags & LIBTALLY_OPEN_ALL_CPUS);
	int each = target->cpu == -1 &&
		   (all ? target->via == LIBTALLY_VIA_PERF : attr->inherit), error;
	struct perf_event_attr *copy;

	if (size < PERF_ATTR_SIZE_VER0)
		return -EINVAL;
	/* libtally_open_event() returns 0 then, which is no file to be closed. */
	if (target->via == LIBTALLY_VIA_DEVICE && target->flags & TALLY_OPEN_MEMBER) {
		snprintf(target->error, sizeof(target->error),
			 "an event with TALLY_OPEN_MEMBER has no file of its own");
		return -EINVAL;
	}
	if (each && (target->name || target->group_fd >= 0)) {
		snprintf(target->error, sizeof(target->error),
			 "an event with a file for each CPU has no name and no leader");
		return -EINVAL;
	}
	copy = calloc(1, size < sizeof(*copy) ? sizeof(*copy) : size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, attr, size);
	copy->sample_type |= PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER;
	copy->sample_id_all = 1;
	o->attr = copy;
	o->all = all;
	if (o->number >= 0 && !has_format(o->reader->events, o->number, copy)) {
		snprintf(target->error, sizeof(target->error),
			 "the event with this number has other records");
		error = -EINVAL;
	} else if (each) {
		error = each_cpu(ONLINE, open_on, o);
		target->cpu = -1;
	} else {
		error = add_file(o);
		if (!error)
			error = add_rings(o);
	}
	free(copy);
	return error ? error : o->number;
}

static int open_or_cut(struct opening *o, const struct perf_event_attr *attr)
{
	struct reader_mark mark = libtally_reader_mark(o->reader);
	int number;

	o->target->error[0] = 0;
	number = add_event(o, attr);
	if (number < 0)
		libtally_reader_cut(o->reader, &mark);
	return explained(o->target, number);
}

int libtally_reader_open(struct libtally_reader *reader, const struct perf_event_attr *attr,
			 struct libtally_target *target, size_t data_pages, const char *name)
{
	struct opening o = {
		.reader = reader, .target = target, .pages = data_pages, .name = name,
		.number = -1,
	};

	return open_or_cut(&o, attr);
}

int libtally_reader_share(struct libtally_reader *reader, int number,
			  const struct perf_event_attr *attr, struct libtally_target *target,
			  size_t data_pages, const char *name)
{
	struct opening o = {
		.reader = reader, .target = target, .pages = data_pages, .name = name,
		.number = number, .share = 1,
	};

	return open_or_cut(&o, attr);
}

size_t libtally_read_size(__u64 read_format, unsigned int nr)
{
	size_t words = 1 + !!(read_format & PERF_FORMAT_ID) +
		       !!(read_format & LIBTALLY_FORMAT_LOST);

	if (read_format & PERF_FORMAT_GROUP)
		words = words * nr + 1;
	words += !!(read_format & PERF_FORMAT_TOTAL_TIME_ENABLED);
	words += !!(read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	return words * sizeof(__u64);
}

int libtally_read_counts(int fd, void *buffer, size_t size, __u64 read_format,
			 struct libtally_counts *counts)
{
	ssize_t got = read(fd, buffer, size);

	if (got < 0)
		return -errno;
	/* An event in the error state reads as the end of the file. */
	if (!got)
		return -ENODATA;
	return libtally_counts_parse(counts, buffer, got, read_format) < 0 ? -EIO : 0;
}

int libtally_page_read(const volatile struct perf_event_mmap_page *page,
		       struct libtally_count_entry *entry)
{
	__u32 lock, index;
	int tries;

	memset(entry, 0, sizeof(*entry));
	for (tries = 0; tries < 1000000; tries++) {
		lock = page->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		index = page->index;
		entry->value = page->offset;
		entry->enabled = page->time_enabled;
		entry->running = page->time_running;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		/* Any CPU writes tally's page: an odd lock says that one is writing. */
		if (lock == page->lock && !(lock & 1))
			return index ? -EOPNOTSUPP : 0;
	}
	return -EAGAIN;
}
