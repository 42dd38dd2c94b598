// SPDX-License-Identifier: GPL-2.0
/* tally snapshot: writes the content of a flight recorder, which a module shares, to a file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <linux/tally.h>
#include "datafile.h"
#include "tool.h"

/* Most bytes that writers may have begun in a backward ring: see <linux/tally.h>. */
#define BEGUN	(256 * 1024)

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Write to this file, or - for standard output [perf.data]", 0 },
	{ 0 }
};

/**
 * struct snapshot - a run of `tally snapshot`
 * @about:	the event
 * @info:	its rings
 * @events:	the event, for the writer of the file
 * @size:	size of a ring's data in bytes
 * @copy:	copy of a ring's data, twice in a row, so that each record is in one piece
 */
struct snapshot {
	const char *name;
	const char *output;
	struct libtally_running about;
	struct libtally_ring_info info;
	struct libtally_events *events;
	struct libtally_perfdata *data;
	size_t size;
	char *copy;
	unsigned long long records;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct snapshot *s = state->input;

	switch (key) {
	case 'o':
		s->output = argument;
		break;
	case ARGP_KEY_ARG:
		if (s->name)
			argp_error(state, "one name is enough");
		s->name = argument;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no name of an event");
		break;
	case ARGP_KEY_END:
		perfdata_check_path(state, s->output);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void find(struct snapshot *s, int device)
{
	int more;

	while ((more = libtally_device_next(device, &s->about)) > 0)
		if (!strcmp(s->about.name, s->name))
			return;
	if (more < 0)
		die("/dev/tally: %s", strerror(-more));
	say_no_event(s->name, -ENOENT, NULL);
	exit(STATUS_FAILED);
}

/* Describes the event as its owner made it, as far as its records need that. */
static void describe(struct snapshot *s)
{
	const __u64 unknown = PERF_SAMPLE_READ | PERF_SAMPLE_BRANCH_STACK |
			      PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
			      PERF_SAMPLE_REGS_INTR;
	struct perf_event_attr attr;
	int number;

	/* The layout of these fields depends on members of attr that the module does not tell. */
	if (s->info.sample_type & unknown)
		die("%s: samples with counts, branches, registers or stacks cannot be written",
		    s->name);
	libtally_attr_init(&attr, s->about.type, s->about.config);
	attr.sample_type = s->info.sample_type;
	attr.sample_id_all = s->info.sample_id_all;
	attr.sample_period = 1;
	attr.write_backward = s->info.backward;
	s->events = need(libtally_events_new());
	number = libtally_events_add(s->events, &attr, &s->about.id, 1,
				     s->about.what[0] ? s->about.what : s->name);
	if (number < 0)
		die("%s: %s", s->name, strerror(-number));
}

static __u64 load(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void copy_data(const struct snapshot *s, const struct perf_event_mmap_page *page, char *to)
{
	memcpy(to, (const char *)page + page->data_offset, s->size);
	/* data_head is read after the copy. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static void write_record(struct snapshot *s, const struct perf_event_header *record)
{
	int error = libtally_perfdata_write(s->data, record);

	if (error)
		die("%s: %s", perfdata_name(s->output), strerror(-error));
	s->records++;
}

/* Returns the record at a place of the copy; NULL if no whole one lies there. */
static const struct perf_event_header *record_at(const struct snapshot *s, __u64 at, size_t left)
{
	const struct perf_event_header *record = (const void *)(s->copy + (at & (s->size - 1)));

	if (left < sizeof(*record) || record->size < sizeof(*record) || record->size % 8 ||
	    record->size > left)
		return NULL;
	return record;
}

/* Copies the data behind itself. */
static void double_copy(struct snapshot *s)
{
	memcpy(s->copy + s->size, s->copy, s->size);
}

/* The records of a forward ring stay until its owner reads them. */
static void write_forward(struct snapshot *s, const struct perf_event_mmap_page *page)
{
	const struct perf_event_header *record;
	__u64 head = load(&page->data_head), tail;

	copy_data(s, page, s->copy);
	double_copy(s);
	tail = load(&page->data_tail);
	while ((__s64)(head - tail) > 0 && (record = record_at(s, tail, head - tail))) {
		write_record(s, record);
		tail += record->size;
	}
}

/*
 * Copies a backward ring, and returns how many bytes from its head on are whole. If two copies are
 * the same and the head stands still, nobody writes: all is whole.
 */
static size_t copy_backward(struct snapshot *s, const struct perf_event_mmap_page *page,
			    __u64 *head)
{
	const struct timespec moment = { 0, 20000000 };
	__u64 now, good, margin = s->size / 2;

	if (margin > BEGUN)
		margin = BEGUN;
	*head = load(&page->data_head);
	copy_data(s, page, s->copy);
	nanosleep(&moment, NULL);
	copy_data(s, page, s->copy + s->size);
	now = load(&page->data_head);
	if (now == *head && !memcmp(s->copy, s->copy + s->size, s->size))
		return s->size;
	*head = load(&page->data_head);
	copy_data(s, page, s->copy);
	double_copy(s);
	/* The head of a backward ring falls. A small ring has no more than half of it begun. */
	now = *head - load(&page->data_head);
	good = now < s->size ? s->size - now : 0;
	return good > margin ? good - margin : 0;
}

/* Writes the oldest record first. */
static void write_backward(struct snapshot *s, const struct perf_event_mmap_page *page)
{
	const struct perf_event_header **list, *record;
	size_t left, nr = 0;
	__u64 head;

	left = copy_backward(s, page, &head);
	list = need(malloc((s->size / sizeof(*record) + 1) * sizeof(*list)));
	while ((record = record_at(s, head, left))) {
		list[nr++] = record;
		head += record->size;
		left -= record->size;
	}
	while (nr)
		write_record(s, list[--nr]);
	free(list);
}

static void write_ring(struct snapshot *s, int fd, __u32 ring)
{
	size_t page_size = sysconf(_SC_PAGESIZE), size = page_size * (1 + s->info.pages);
	const struct perf_event_mmap_page *page;

	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, TALLY_RING_AT(ring));
	/* The ring of a CPU that does not exist */
	if (page == MAP_FAILED && errno == EINVAL)
		return;
	if (page == MAP_FAILED)
		die("%s: mmap: %s", s->name, strerror(errno));
	if (page->data_size != s->size || page->data_offset != page_size)
		die("%s: ring %u has another size than the module says", s->name, ring);
	if (s->info.backward)
		write_backward(s, page);
	else
		write_forward(s, page);
	munmap((void *)page, size);
}

static void write_all(struct snapshot *s, int fd)
{
	struct mapped_files none = { 0 };
	struct wanted event = {
		.name = s->about.name,
		.attr = { .type = s->about.type, .config = s->about.config },
	};
	struct wanted_list events = { .list = &event, .nr = 1 };
	__u32 ring;
	int error;

	s->size = (size_t)s->info.pages * sysconf(_SC_PAGESIZE);
	s->copy = need(malloc(2 * s->size));
	s->data = perfdata_create(s->output, s->events);
	perfdata_add_formats(s->data, &events);
	error = perfdata_publish(s->output);
	if (error)
		die("%s: %s", perfdata_name(s->output), strerror(-error));
	error = libtally_perfdata_write_running(s->data, -1);
	if (error)
		die("%s: %s", perfdata_name(s->output), strerror(-error));
	for (ring = 0; ring < s->info.rings; ring++)
		write_ring(s, fd, ring);
	perfdata_add_build_ids(s->data, &none);
	error = libtally_perfdata_close(s->data);
	if (error)
		die("%s: %s", perfdata_name(s->output), strerror(-error));
	free(s->copy);
}

int command_snapshot(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "NAME",
		.doc = "Writes the records of an event's flight recorder to a file for `perf "
		       "script' "
		       "and `perf report'. The recorder goes on.\vA module shares the rings of its "
		       "event by TALLY_RING_SHARED. Other events have no recorder.",
	};
	struct snapshot s = { .output = perfdata_usual };
	char why[LIBTALLY_ERROR_SIZE];
	int device, fd, error;

	parse_arguments(&argp, argc, argv, 0, &s);
	device = device_or_die();
	find(&s, device);
	fd = libtally_device_attach(device, s.about.id, "", 0, why);
	if (fd < 0) {
		say_no_event(s.name, fd, why);
		return STATUS_FAILED;
	}
	error = libtally_ring_info_read(fd, &s.info);
	if (error == -EACCES) {
		say("%s: its owner shares no flight recorder, or this user lacks CAP_PERFMON",
		    s.name);
		fprintf(stderr, "  remedy: run it as root; a module shares its rings by "
				"TALLY_RING_SHARED\n");
		return STATUS_FAILED;
	}
	if (error)
		die("%s: %s", s.name, strerror(-error));
	describe(&s);
	write_all(&s, fd);
	libtally_events_free(s.events);
	fprintf(stderr, "[ %s: wrote %llu records to %s ]\n", tool_name, s.records,
		perfdata_name(s.output));
	close(fd);
	close(device);
	return 0;
}
