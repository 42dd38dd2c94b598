// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/*
 * The writer of perf.data files, for perf's own tools. A file has a header, the ids of each
 * event, the attrs, the records one behind the other, and "features": the machine, the
 * command and the names of the events.
 *
 * The header says how many bytes of records there are. Without features it is valid at any time:
 * a program that writes a file for long flushes it now and then, and can lose only the rest.
 *
 * Standard output, and a file that cannot seek, such as a pipe, get perf's format for pipes: a
 * header without offsets, and all else as perf's own records, in the order in which it is known.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "events.h"
#include "perfdata.h"

/* perf's numbers of features */
#define HEADER_TRACING_DATA	1
#define HEADER_BUILD_ID		2
#define HEADER_HOSTNAME		3
#define HEADER_OSRELEASE	4
#define HEADER_VERSION		5
#define HEADER_ARCH		6
#define HEADER_NRCPUS		7
#define HEADER_CMDLINE		11
#define HEADER_EVENT_DESC	12

/* perf's own records; all but RECORD_FINISHED_ROUND stand in a pipe only */
#define RECORD_ATTR		64
#define RECORD_TRACING_DATA	66
#define RECORD_FINISHED_ROUND	68
#define RECORD_EVENT_UPDATE	78
#define RECORD_FEATURE		80

/* The kinds of RECORD_EVENT_UPDATE */
#define UPDATE_NAME		2

struct section {
	__u64 offset, size;
};

/* "PERFILE2" as a number, whose byte order is that of all other numbers in the file. */
#define MAGIC	0x32454c4946524550ULL

struct file_header {
	__u64 magic;
	__u64 size;
	__u64 attr_size;
	struct section attrs, data, event_types;
	__u64 features[4];
};

/* The features that each file has. */
static const int features[] = {
	HEADER_HOSTNAME, HEADER_OSRELEASE, HEADER_VERSION, HEADER_ARCH, HEADER_NRCPUS,
	HEADER_CMDLINE, HEADER_EVENT_DESC,
};

#define NR_FEATURES (sizeof(features) / sizeof(features[0]))

static void put(struct libtally_perfdata *d, const void *bytes, size_t size)
{
	if (size && fwrite(bytes, size, 1, d->file) != 1 && !d->error)
		d->error = errno ? -errno : -EIO;
}

static void put_zeros(struct libtally_perfdata *d, size_t size)
{
	static const char zeros[64];

	for (; size > sizeof(zeros); size -= sizeof(zeros))
		put(d, zeros, sizeof(zeros));
	put(d, zeros, size);
}

static void put_u64(struct libtally_perfdata *d, __u64 value)
{
	put(d, &value, sizeof(value));
}

static void put_u32(struct libtally_perfdata *d, __u32 value)
{
	put(d, &value, sizeof(value));
}

static void put_string(struct libtally_perfdata *d, const char *string)
{
	size_t length = strlen(string) + 1, aligned = (length + 63) / 64 * 64;

	put_u32(d, aligned);
	put(d, string, length);
	put_zeros(d, aligned - length);
}

/*
 * Returns the size of each attr in the file. All have the same size, and the shortest
 * possible one, because an older perf refuses an attr that is longer than its own.
 */
static size_t common_size(const struct libtally_events *events)
{
	static const size_t sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136 };
	size_t needed = 0, i;
	int e;

	for (e = 0; e < events->nr; e++) {
		const unsigned char *attr = events->list[e].attr;
		size_t used = events->list[e].attr_size;

		while (used > needed && !attr[used - 1])
			used--;
		if (used > needed)
			needed = used;
	}
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (needed <= sizes[i])
			return sizes[i];
	return (needed + 7) / 8 * 8;
}

static void put_attr(struct libtally_perfdata *d, const struct event *event)
{
	size_t have = event->attr_size < d->attr_size ? event->attr_size : d->attr_size;
	struct perf_event_attr head;

	/* The size is in the first 64 bytes, which every attr has. */
	memcpy(&head, event->attr, PERF_ATTR_SIZE_VER0);
	head.size = d->attr_size;
	put(d, &head, PERF_ATTR_SIZE_VER0);
	put(d, (const char *)event->attr + PERF_ATTR_SIZE_VER0, have - PERF_ATTR_SIZE_VER0);
	put_zeros(d, d->attr_size - have);
}

static __u32 put_ids(struct libtally_perfdata *d, int number)
{
	__u32 nr = 0;
	size_t i;

	for (i = 0; i < d->events->nr_ids; i++) {
		if (d->events->ids[i].number != number)
			continue;
		put(d, &d->events->ids[i].id, sizeof(__u64));
		nr++;
	}
	return nr;
}

static __u32 count_ids(const struct libtally_perfdata *d, int number)
{
	__u32 nr = 0;
	size_t i;

	for (i = 0; i < d->events->nr_ids; i++)
		nr += d->events->ids[i].number == number;
	return nr;
}

static __u64 put_attrs(struct libtally_perfdata *d)
{
	struct section ids = { sizeof(struct file_header), 0 };
	__u64 begin;
	int e;

	for (e = 0; e < d->events->nr; e++)
		put_ids(d, e);
	begin = ftello(d->file);
	for (e = 0; e < d->events->nr; e++) {
		ids.size = count_ids(d, e) * sizeof(__u64);
		put_attr(d, &d->events->list[e]);
		put(d, &ids, sizeof(ids));
		ids.offset += ids.size;
	}
	return begin;
}

/* Most bytes that a record may have behind its header, whose size has 16 bits */
#define RECORD_ROOM	(65535 - sizeof(struct perf_event_header))

/* Writes the header of a record that has size more bytes. */
static void put_record_header(struct libtally_perfdata *d, __u32 type, size_t size)
{
	struct perf_event_header header = { .type = type, .size = sizeof(header) + size };

	put(d, &header, sizeof(header));
}

/* ---- a file that can seek ---- */

/* Writes what stands before the records. The header is written by libtally_perfdata_flush(). */
static int begin_file(struct libtally_perfdata *d)
{
	put_zeros(d, sizeof(struct file_header));
	d->attrs = put_attrs(d);
	d->data = ftello(d->file);
	/* perf refuses a file without any record, which a writer that is killed early leaves. */
	put_record_header(d, RECORD_FINISHED_ROUND, 0);
	return 0;
}

/* Writes the header for the records up to an offset. */
static void put_header(struct libtally_perfdata *d, off_t end, const __u64 *bits)
{
	struct file_header header = {
		.magic = MAGIC, .size = sizeof(header),
		.attr_size = d->attr_size + sizeof(struct section),
		.attrs = { d->attrs, d->data - d->attrs },
		.data = { d->data, end - d->data },
	};
	ssize_t written;

	if (bits)
		memcpy(header.features, bits, sizeof(header.features));
	do
		written = pwrite(fileno(d->file), &header, sizeof(header), 0);
	while (written < 0 && errno == EINTR);
	if (written != sizeof(header) && !d->error)
		d->error = written < 0 ? -errno : -EIO;
}

static void put_event_desc(struct libtally_perfdata *d)
{
	const struct event *event;
	char name[64];
	int e;

	put_u32(d, d->events->nr);
	put_u32(d, d->attr_size);
	for (e = 0; e < d->events->nr; e++) {
		event = &d->events->list[e];
		put_attr(d, event);
		put_u32(d, count_ids(d, e));
		snprintf(name, sizeof(name), "event%d", e);
		put_string(d, event->name ? event->name : name);
		put_ids(d, e);
	}
}

static void put_feature(struct libtally_perfdata *d, int feature, const struct utsname *name)
{
	switch (feature) {
	case HEADER_HOSTNAME:
		put_string(d, name->nodename);
		break;
	case HEADER_OSRELEASE:
		put_string(d, name->release);
		break;
	case HEADER_VERSION:
		put_string(d, "libtally");
		break;
	case HEADER_ARCH:
		put_string(d, name->machine);
		break;
	case HEADER_NRCPUS:
		put_u32(d, sysconf(_SC_NPROCESSORS_CONF));
		put_u32(d, sysconf(_SC_NPROCESSORS_ONLN));
		break;
	case HEADER_CMDLINE:
		put_u32(d, 1);
		put_string(d, "libtally");
		break;
	case HEADER_EVENT_DESC:
		put_event_desc(d);
		break;
	}
}

static int keep_feature(struct libtally_perfdata *d, unsigned int number, const void *content,
			size_t size)
{
	struct feature *list;
	void *copy;

	list = realloc(d->added, (d->nr_added + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	d->added = list;
	copy = malloc(size + 1);
	if (!copy)
		return -ENOMEM;
	if (size)
		memcpy(copy, content, size);
	list[d->nr_added].number = number;
	list[d->nr_added].content = copy;
	list[d->nr_added].size = size;
	d->nr_added++;
	return 0;
}

static const struct feature *find_added(const struct libtally_perfdata *d, unsigned int number)
{
	int i;

	/* The last one replaces the others. */
	for (i = d->nr_added - 1; i >= 0; i--)
		if (d->added[i].number == number)
			return &d->added[i];
	return NULL;
}

static int is_own(unsigned int number)
{
	size_t i;

	for (i = 0; i < NR_FEATURES; i++)
		if ((unsigned int)features[i] == number)
			return 1;
	return 0;
}

/*
 * Writes a table of the features' places, and the features; fills in the table last. Sets the bits
 * of the features.
 */
static void put_features(struct libtally_perfdata *d, __u64 *bits)
{
	const unsigned int most = 8 * sizeof(((struct file_header *)0)->features);
	struct section sections[8 * sizeof(((struct file_header *)0)->features)];
	off_t table = ftello(d->file);
	const struct feature *added;
	struct utsname name;
	unsigned int i, nr = 0;

	memset(sections, 0, sizeof(sections));
	uname(&name);
	for (i = 0; i < most; i++)
		nr += is_own(i) || find_added(d, i);
	put(d, sections, nr * sizeof(sections[0]));
	nr = 0;
	for (i = 0; i < most; i++) {
		added = find_added(d, i);
		if (!added && !is_own(i))
			continue;
		sections[nr].offset = ftello(d->file);
		if (added)
			put(d, added->content, added->size);
		else
			put_feature(d, i, &name);
		sections[nr].size = ftello(d->file) - sections[nr].offset;
		bits[i / 64] |= 1ULL << i % 64;
		nr++;
	}
	if (fseeko(d->file, table, SEEK_SET) && !d->error)
		d->error = -errno;
	put(d, sections, nr * sizeof(sections[0]));
}

static void end_file(struct libtally_perfdata *d)
{
	__u64 bits[4] = { 0 };

	put_features(d, bits);
	if (fflush(d->file) && !d->error)
		d->error = -errno;
	if (!d->error)
		put_header(d, d->flushed, bits);
}

/* ---- a pipe ---- */

static size_t size_of_attr(const struct libtally_perfdata *d, int number)
{
	return d->attr_size + count_ids(d, number) * sizeof(__u64);
}

static void put_attr_record(struct libtally_perfdata *d, int number)
{
	put_record_header(d, RECORD_ATTR, size_of_attr(d, number));
	put_attr(d, &d->events->list[number]);
	put_ids(d, number);
}

static void put_name_record(struct libtally_perfdata *d, int number)
{
	const struct event *event = &d->events->list[number];
	size_t length = event->name ? strlen(event->name) + 1 : 0, aligned = (length + 7) / 8 * 8;

	if (!length || 2 * sizeof(__u64) + aligned > RECORD_ROOM)
		return;
	put_record_header(d, RECORD_EVENT_UPDATE, 2 * sizeof(__u64) + aligned);
	put_u64(d, UPDATE_NAME);
	put_u64(d, event->first_id);
	put(d, event->name, length);
	put_zeros(d, aligned - length);
}

static int put_feature_record(struct libtally_perfdata *d, unsigned int number,
			      const void *content, size_t size)
{
	size_t aligned = (size + 7) / 8 * 8;

	/* Formats of tracepoints have any size, behind the header. Build ids are records. */
	if (number == HEADER_TRACING_DATA) {
		put_record_header(d, RECORD_TRACING_DATA, sizeof(__u32));
		put_u32(d, aligned);
	} else if (number != HEADER_BUILD_ID) {
		if (sizeof(__u64) + aligned > RECORD_ROOM)
			return -E2BIG;
		put_record_header(d, RECORD_FEATURE, sizeof(__u64) + aligned);
		put_u64(d, number);
	}
	put(d, content, size);
	if (number != HEADER_BUILD_ID)
		put_zeros(d, aligned - size);
	return d->error;
}

/* Writes one of the library's own features. Its size is known when it has been made. */
static void put_own_record(struct libtally_perfdata *d, int feature, const struct utsname *name)
{
	FILE *pipe = d->file;
	char *content = NULL;
	size_t size;

	d->file = open_memstream(&content, &size);
	if (d->file) {
		put_feature(d, feature, name);
		if (fclose(d->file))
			d->error = -ENOMEM;
	} else {
		d->error = -ENOMEM;
	}
	d->file = pipe;
	if (!d->error)
		put_feature_record(d, feature, content, size);
	free(content);
}

/* Returns 0, or E2BIG: then nothing is written. */
static int begin_pipe(struct libtally_perfdata *d)
{
	const __u64 header[] = { MAGIC, 2 * sizeof(__u64) };
	struct utsname name;
	size_t i;
	int e;

	for (e = 0; e < d->events->nr; e++)
		if (size_of_attr(d, e) > RECORD_ROOM)
			return E2BIG;
	put(d, header, sizeof(header));
	for (e = 0; e < d->events->nr; e++)
		put_attr_record(d, e);
	for (e = 0; e < d->events->nr; e++)
		put_name_record(d, e);
	uname(&name);
	/* The names stand in records of their own, and the command may come from the caller. */
	for (i = 0; i < NR_FEATURES; i++)
		if (features[i] != HEADER_CMDLINE && features[i] != HEADER_EVENT_DESC)
			put_own_record(d, features[i], &name);
	return 0;
}

/* ---- either ---- */

int libtally_perfdata_is_open(const char *path)
{
	return !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/stderr") ||
	       !strncmp(path, "/dev/fd/", strlen("/dev/fd/")) ||
	       !strncmp(path, "/proc/self/fd/", strlen("/proc/self/fd/"));
}

/* Opens a file that the process has open already. A regular one loses its content. */
static int open_again(const char *path)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	struct stat status;

	if (fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode))
		fchmod(fd, 0600);
	return fd;
}

/* Opens a character device or a fifo; EEXIST for all else, also if it was put there just now. */
static int open_special(const char *path)
{
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || (!fstat(fd, &status) &&
		       (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode))))
		return fd;
	close(fd);
	errno = EEXIST;
	return -1;
}

/*
 * Samples have addresses of the kernel and of programs: they are for the owner alone. A file or a
 * link that is there may be another user's, who can read the file, or choose which one the link
 * leads to.
 */
static int open_output(const char *path)
{
	struct stat status;

	if (!strcmp(path, "-"))
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (libtally_perfdata_is_open(path))
		return open_again(path);
	if (!lstat(path, &status)) {
		if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
			return open_special(path);
		if (unlink(path))
			return -1;
	}
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static FILE *open_stream(const char *path)
{
	int fd = open_output(path), error;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (file || fd < 0)
		return file;
	error = errno;
	close(fd);
	errno = error;
	return NULL;
}

struct libtally_perfdata *libtally_perfdata_create(const char *path,
						   const struct libtally_events *events)
{
	struct libtally_perfdata *d;
	int e, error;

	for (e = 0; e < events->nr; e++) {
		if (events->list[e].attr_size < PERF_ATTR_SIZE_VER0) {
			errno = EINVAL;
			return NULL;
		}
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->file = open_stream(path);
	if (!d->file) {
		error = errno;
		free(d);
		errno = error;
		return NULL;
	}
	d->events = events;
	d->attr_size = common_size(events);
	d->nr_ids = events->nr_ids;
	/* Standard output may be shared: nothing before its place is written again. */
	d->is_pipe = !strcmp(path, "-") || lseek(fileno(d->file), 0, SEEK_CUR) < 0;
	/* perf before 6.6 looks for the ids of a pipe's attr behind an attr of its own size. */
	if (d->is_pipe && d->attr_size < sizeof(struct perf_event_attr))
		d->attr_size = sizeof(struct perf_event_attr);
	error = d->is_pipe ? begin_pipe(d) : begin_file(d);
	if (error) {
		fclose(d->file);
		free(d);
		errno = error;
		return NULL;
	}
	libtally_perfdata_flush(d);
	return d;
}

int libtally_perfdata_flush(struct libtally_perfdata *d)
{
	off_t end;

	/*
	 * Lets perf show records that it else holds in memory up to the end of the file: from now
	 * on, no record is older than those from before the previous flush.
	 */
	if (d->written)
		put_record_header(d, RECORD_FINISHED_ROUND, 0);
	d->written = 0;
	end = d->is_pipe ? 0 : ftello(d->file);
	if (fflush(d->file) && !d->error)
		d->error = -errno;
	if (d->error || end == d->flushed)
		return d->error;
	put_header(d, end, NULL);
	d->flushed = end;
	return d->error;
}

int libtally_perfdata_feature(struct libtally_perfdata *d, unsigned int number,
			      const void *content, size_t size)
{
	/* perf's number 0 is reserved. */
	if (!number || number >= 8 * sizeof(((struct file_header *)0)->features))
		return -EINVAL;
	if (!d->is_pipe)
		return keep_feature(d, number, content, size);
	/* The names of the events have been written. */
	return number == HEADER_EVENT_DESC ? 0 : put_feature_record(d, number, content, size);
}

/* Writes a record. The file has no id that was added later: the event's first one stands for it. */
static void put_record(struct libtally_perfdata *d, const struct perf_event_header *record)
{
	size_t behind;
	__u64 first;
	int at = -1;

	if (d->events->nr_ids > d->nr_ids)
		at = libtally_events_find_late(d->events, record, d->nr_ids, &first);
	if (at < 0) {
		put(d, record, record->size);
		return;
	}
	behind = at + sizeof(first);
	put(d, record, at);
	put_u64(d, first);
	put(d, (const char *)record + behind, record->size - behind);
}

void libtally_perfdata_watch(struct libtally_perfdata *data,
			     void (*call)(void *argument, const struct perf_event_header *record),
			     void *argument)
{
	data->watch = call;
	data->argument = argument;
}

int libtally_perfdata_write(struct libtally_perfdata *data, const struct perf_event_header *record)
{
	if (record->size < sizeof(*record))
		return -EINVAL;
	put_record(data, record);
	data->written = 1;
	if (data->watch)
		data->watch(data->argument, record);
	return data->error;
}

int libtally_perfdata_close(struct libtally_perfdata *d)
{
	int error;

	/* After an error, the header of the last flush stays, without what was written since. */
	if (!libtally_perfdata_flush(d) && !d->is_pipe)
		end_file(d);
	if (fclose(d->file) && !d->error)
		d->error = -errno;
	error = d->error;
	while (d->nr_added)
		free(d->added[--d->nr_added].content);
	free(d->added);
	free(d);
	return error;
}
