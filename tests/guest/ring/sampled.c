// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of /dev/tally's rings, which perf reads from a perf.data file.
 *
 *	sampled record FILE	samples what programs do on all CPUs, and one task; prints
 *				how many samples there are
 *	sampled dump FILE	prints each record in the words of `perf script -D`
 *	sampled fields FILE	prints each sample in one line, as `perf script -F` does
 *	sampled change FILE	changes one field in some samples; prints their offsets
 *	sampled both		reads an event of perf and one of /dev/tally by one reader
 *	sampled later CPU	reads an event on all CPUs, one of which comes online later
 *
 * "record", "dump", "both" and "later" print "ok TEXT" or "bad TEXT" on standard error.
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "recorded.h"
#include <signal.h>
#include <sys/prctl.h>

/* Names of the events, by the number that the order of opening gives them in a file. */
static const char *const event_names[] = {
	"clock", "faults", "renames", "switches", "registers", "cycles",
};

static unsigned long long samples_of[sizeof(event_names) / sizeof(event_names[0])];

/* ---- record ------------------------------------------------------------- */

static struct perf_event_attr sampling(__u32 type, __u64 config, __u64 period)
{
	struct perf_event_attr attr = usual(config);

	attr.type = type;
	attr.sample_period = period;
	attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD;
	attr.disabled = 1;
	return attr;
}

/* Opens an event on all CPUs: one file with a ring for each CPU. */
static void open_all(struct perf_event_attr attr, const char *name)
{
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	open_for(&attr, -1, -1, 256, name);
}

/* Opens an event without call chains: perf would unwind its own from the stack. */
static void open_registers(pid_t pid)
{
	struct perf_event_attr attr = sampling(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
					       2000000);

	attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR |
			    PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT;
	attr.sample_regs_user = 0x1ff;
	attr.sample_regs_intr = 0x1a5;
	attr.sample_stack_user = 256;
	open_for(&attr, pid, -1, 64, "registers");
}

static void open_events(pid_t pid)
{
	struct perf_event_attr attr;

	via = LIBTALLY_VIA_DEVICE;
	open_all(sampling(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 2000000), "clock");
	open_all(sampling(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1), "faults");
	attr = sampling(PERF_TYPE_TRACEPOINT, trace_id("task/task_rename"), 1);
	attr.sample_type |= PERF_SAMPLE_RAW;
	open_all(attr, "renames");
	attr = sampling(PERF_TYPE_TRACEPOINT, trace_id("sched/sched_switch"), 1);
	attr.sample_type |= PERF_SAMPLE_RAW;
	open_for(&attr, pid, -1, 64, "switches");
	open_registers(pid);
#ifdef __aarch64__
	open_all(sampling(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000), "cycles");
#endif
}

/*
 * perf refuses a tracepoint whose format the file does not have. So the file says that
 * the samples are of PERF_COUNT_SW_BPF_OUTPUT, for which perf prints the raw bytes.
 */
static struct libtally_events *events_of_file(void)
{
	const struct libtally_events *events = libtally_reader_events(reader);
	struct libtally_events *of_file = libtally_events_new();
	struct perf_event_attr attr;
	size_t i;
	int e;

	for (e = 0; e < libtally_events_nr(events); e++) {
		memcpy(&attr, events->list[e].attr, sizeof(attr));
		if (attr.type == PERF_TYPE_TRACEPOINT) {
			attr.type = PERF_TYPE_SOFTWARE;
			attr.config = PERF_COUNT_SW_BPF_OUTPUT;
		}
		for (i = 0; i < events->nr_ids && events->ids[i].number != e; i++)
			;
		if (i == events->nr_ids ||
		    libtally_events_add(of_file, &attr, &events->ids[i].id, 1,
					events->list[e].name) != e)
			errx(2, "event %d", e);
	}
	return of_file;
}

/* Renames, faults, runs and sleeps on a CPU, from the pipe's end until it is killed. */
static void work(int cpu, int begin)
{
	char name[32];
	int i;

	run_on(cpu);
	if (read(begin, name, 1))
		err(2, "pipe");
	for (i = 0; ; i++) {
		snprintf(name, sizeof(name), "work %d of %d", i % 10, cpu);
		prctl(PR_SET_NAME, name);
		touch_new(5);
		spin(CLOCK_MONOTONIC, 5);
		usleep(2000);
	}
}

/* keep() that also counts the samples of each event. */
static void keep_counted(const struct perf_event_header *header)
{
	int e = libtally_events_find(libtally_reader_events(reader), header, header->size);

	if (e >= 0 && header->type == PERF_RECORD_SAMPLE)
		samples_of[e]++;
	keep(header);
}

/* Whether there are enough samples of each event to compare. */
static int enough(void)
{
	int e;

	for (e = 0; e < libtally_events_nr(libtally_reader_events(reader)); e++)
		if (samples_of[e] < 40)
			return 0;
	return seen[PERF_RECORD_SAMPLE] >= 800;
}

/* An event with a period of 1 has as many samples as it has counted. */
static void check_events(void)
{
	const struct libtally_events *events = libtally_reader_events(reader);
	const struct perf_event_attr *attr;
	struct libtally_count_entry entry;
	struct libtally_counts counts;
	__u64 buffer[8];
	char text[64];
	int e;

	for (e = 0; e < libtally_events_nr(events); e++) {
		fprintf(stderr, "# %llu samples of %s\n", samples_of[e], event_names[e]);
		snprintf(text, sizeof(text), "there are samples of %s", event_names[e]);
		tell(samples_of[e] >= 10 && !strcmp(event_names[e], events->list[e].name), text);
		attr = events->list[e].attr;
		if (attr->sample_period != 1)
			continue;
		entry.value = 0;
		if (!libtally_read_counts(reader->files[e], buffer, sizeof(buffer),
					  attr->read_format, &counts))
			libtally_counts_get(&counts, 0, &entry);
		fprintf(stderr, "# %llu of them were counted\n", U(entry.value));
		snprintf(text, sizeof(text), "as many as %s were counted", event_names[e]);
		tell(entry.value == samples_of[e], text);
	}
}

static int record(const char *path)
{
	int nr = nr_online(), i, late;
	struct libtally_events *of_file;
	pid_t children[nr];
	int begin[2];

	if (pipe(begin))
		err(2, "pipe");
	for (i = 0; i < nr; i++) {
		children[i] = fork();
		if (!children[i]) {
			close(begin[1]);
			work(i, begin[0]);
		}
	}
	reader = libtally_reader_new();
	open_events(children[0]);
	tell(reader->nr == 3 * nr + 2
#ifdef __aarch64__
	     + nr
#endif
	     , "all CPUs' events have a ring for each");
	of_file = events_of_file();
	out = libtally_perfdata_create(path, of_file);
	if (!out)
		err(2, "%s", path);
	if (libtally_reader_ioctl(reader, PERF_EVENT_IOC_ENABLE))
		err(2, "enable");
	/* The children begin now: an event that is being enabled may sample uncounted. */
	close(begin[1]);
	for (i = 0; i < 6000 && !enough(); i++) {
		usleep(10000);
		drain(keep_counted);
	}
	for (i = 0; i < nr; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	if (libtally_reader_ioctl(reader, PERF_EVENT_IOC_DISABLE))
		err(2, "disable");
	drain(keep_counted);
	check_events();
	late = libtally_reader_late(reader);
	fprintf(stderr, "# %llu records, %llu of them lost ones, %d late\n", nr_all,
		seen[PERF_RECORD_LOST], late);
	tell(!nr_bad, "all can be taken apart, and are of a known event and time");
	tell(!seen[PERF_RECORD_LOST], "none is lost");
	tell(!libtally_perfdata_close(out), "they are written");
	printf("%llu\n", seen[PERF_RECORD_SAMPLE]);
	libtally_events_free(of_file);
	libtally_reader_free(reader);
	return 0;
}

/* ---- fields ------------------------------------------------------------- */

/*
 * The chain of a program without frame pointers may have any word. If one looks like a
 * PERF_CONTEXT_ mark but is none, perf takes the chain for corrupted, and prints nothing.
 */
static int is_corrupted(const struct libtally_sample *s)
{
	for (__u64 i = 0; i < s->nr_ips; i++)
		if (s->ips[i] >= PERF_CONTEXT_MAX && s->ips[i] != PERF_CONTEXT_HV &&
		    s->ips[i] != PERF_CONTEXT_KERNEL && s->ips[i] != PERF_CONTEXT_USER)
			return 1;
	return 0;
}

static void print_fields(const struct libtally_sample *s, const char *name)
{
	const unsigned char *raw = s->raw;
	__u64 nr_ips = is_corrupted(s) ? 0 : s->nr_ips;

	printf("%d/%d [%03u] %llu.%09llu: %llu %s: %llx", s->pid, s->tid, s->cpu,
	       U(s->time / 1000000000), U(s->time % 1000000000), U(s->period), name, U(s->addr));
	/* perf does not print PERF_CONTEXT_ marks. */
	for (__u64 i = 0; i < nr_ips; i++)
		if (s->ips[i] < PERF_CONTEXT_MAX)
			printf(" %llx", U(s->ips[i]));
	if (!(s->has & PERF_SAMPLE_CALLCHAIN))
		printf(" %llx", U(s->ip));
	if (s->raw_size)
		printf(" raw");
	for (__u32 i = 0; i < s->raw_size; i++)
		printf(" %02x", raw[i]);
	printf("\n");
}

static const struct perf_event_header *header_at(size_t at)
{
	return (void *)((char *)file_bytes + at);
}

static int fields(const char *path)
{
	const struct perf_event_header *header;
	size_t at, end_at;
	struct libtally_record r;
	int e;

	read_file(path, &at, &end_at);
	for (; at < end_at; at += header->size) {
		header = header_at(at);
		if (header->type >= OF_TOOLS)
			continue;
		e = libtally_events_parse(file_events, &r, header, end_at - at);
		if (e < 0)
			errx(2, "record at %#zx", at);
		if (r.type == PERF_RECORD_SAMPLE)
			print_fields(&r.u.sample, event_names[e]);
	}
	return 0;
}

/* ---- change ------------------------------------------------------------- */

/* Parts of a sample of "clock" or, for raw data, of "renames" that are changed. */
enum part { IP, PID, TIME, ADDR, CPU, PERIOD, CHAIN, RAW, NR_PARTS };

static const char *const parts[] = { "ip", "pid", "time", "addr", "cpu", "period", "chain",
				     "raw" };

/* Returns the address of a part in a record; NULL if this one does not have it. */
static const void *place_of(enum part part, const struct libtally_record *r, int e)
{
	const struct libtally_sample *s = &r->u.sample;
	/* Words: header, IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD. */
	const __u64 *words = (const void *)r->header;

	if (r->type != PERF_RECORD_SAMPLE || strcmp(event_names[e], part == RAW ? "renames" : "clock"))
		return NULL;
	switch (part) {
	case IP:
		return words + 2;
	case PID:
		return words + 3;
	case TIME:
		return words + 4;
	case ADDR:
		return words + 5;
	case CPU:
		return words + 8;
	case PERIOD:
		return words + 9;
	case CHAIN:
		return s->nr_ips > 1 ? &s->ips[1] : NULL;
	default:
		return (const char *)s->raw + s->raw_size / 2;
	}
}

/* Changes each part, each in another sample. A call chain gets a word like a mark. */
static int change(const char *path)
{
	static const __u64 no_mark = ~0ULL;
	int fd = open(path, O_RDWR), e;
	unsigned char bits[1];
	size_t nr;
	size_t at, end_at;
	enum part part = 0;
	struct libtally_record r;
	const unsigned char *place;

	if (fd < 0)
		err(2, "%s", path);
	read_file(path, &at, &end_at);
	for (; at < end_at && part < NR_PARTS; at += header_at(at)->size) {
		if (header_at(at)->type >= OF_TOOLS)
			continue;
		e = libtally_events_parse(file_events, &r, header_at(at), end_at - at);
		if (e < 0)
			errx(2, "record at %#zx", at);
		place = place_of(part, &r, e);
		if (!place)
			continue;
		nr = part == CHAIN ? sizeof(no_mark) : 1;
		bits[0] = *place ^ 1;
		if (pwrite(fd, part == CHAIN ? (void *)&no_mark : bits, nr,
			   place - (unsigned char *)file_bytes) != (ssize_t)nr)
			err(2, "%s", path);
		printf("%s %#zx\n", parts[part++], at);
	}
	close(fd);
	return part != NR_PARTS;
}

/* ---- both --------------------------------------------------------------- */

/* Opens an event of this process that no reader reads. */
static int open_alone(const struct perf_event_attr *attr, int with)
{
	struct libtally_target target = LIBTALLY_TARGET_INIT;
	int fd;

	target.via = with;
	target.pid = 0;
	fd = libtally_open_event(attr, &target);
	if (fd < 0)
		errx(2, "%s", target.error);
	return fd;
}

/* Returns the id of an event of /dev/tally, which is open for a moment. */
static __u64 passing_id(const struct perf_event_attr *attr)
{
	int fd = open_alone(attr, LIBTALLY_VIA_DEVICE);
	__u64 id;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id))
		err(2, "id");
	close(fd);
	return id;
}

/* Whether a sample has the ids of its file. Bit 63 marks the stream ids of tally's children. */
static int own_ids(const struct libtally_sample *s, __u64 id, int child)
{
	if (s->id != id)
		return 0;
	if (!child)
		return s->stream_id == id;
	return id >> 62 ? s->stream_id >> 63 == 1 : s->stream_id > id && !(s->stream_id >> 62);
}

static void fault_with_child(int pages)
{
	pid_t child = fork();

	if (!child) {
		touch_new(pages);
		_exit(0);
	}
	touch_new(pages);
	waitpid(child, NULL, 0);
}

/*
 * Events of perf and of tally for the same page faults, of this process and of a child. The
 * reader finds the event by the id; each of them has a ring of its own, with the same number.
 */
static int both(void)
{
	struct perf_event_attr attr = sampling(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1);
	static const char *const makers[] = { "perf", "tally" };
	unsigned long long children[2] = { 0 }, strange[2] = { 0 };
	const struct perf_event_header *header;
	struct libtally_count_entry entry;
	struct libtally_counts counts;
	struct libtally_record r;
	__u64 ids[2], buffer[8];
	char text[64];
	int e, ring, child;

	reader = libtally_reader_new();
	run_on(0);
	/* perf may swap the events of parent and child, but not if one is not inherited. */
	open_alone(&attr, LIBTALLY_VIA_PERF);
	attr.inherit = 1;
	open_for(&attr, 0, 0, 64, "an event of perf");
	ioctl(reader->files[0], PERF_EVENT_IOC_ID, &ids[0]);
	/* If ids of tally's came from the same range, the next one would be the same. */
	while (passing_id(&attr) + 1 < ids[0])
		;
	via = LIBTALLY_VIA_DEVICE;
	open_for(&attr, 0, 0, 64, "an event of tally, by the same reader");
	if (reader->nr_files != 2)
		return 0;
	ioctl(reader->files[1], PERF_EVENT_IOC_ID, &ids[1]);
	fprintf(stderr, "# perf's id is %#llx, tally's %#llx\n", U(ids[0]), U(ids[1]));
	if (libtally_reader_ioctl(reader, PERF_EVENT_IOC_ENABLE))
		err(2, "enable");
	fault_with_child(50);
	if (libtally_reader_ioctl(reader, PERF_EVENT_IOC_DISABLE))
		err(2, "disable");
	while ((header = libtally_reader_next(reader))) {
		e = libtally_reader_parse(reader, header, &r);
		ring = libtally_reader_ring(reader);
		child = r.id.pid != (__u32)getpid();
		if (e != ring || r.type != PERF_RECORD_SAMPLE ||
		    !own_ids(&r.u.sample, ids[ring], child)) {
			if (!strange[ring]++)
				fprintf(stderr, "# in the ring of %s: event %d, type %u, id %#llx, stream id %#llx\n",
					makers[ring], e, r.type, U(r.id.id), U(r.id.stream_id));
			continue;
		}
		samples_of[e]++;
		children[e] += child;
	}
	for (e = 0; e < 2; e++) {
		entry.value = 0;
		if (!libtally_read_counts(reader->files[e], buffer, sizeof(buffer), 0, &counts))
			libtally_counts_get(&counts, 0, &entry);
		fprintf(stderr, "# %s: %llu samples, %llu of the child, %llu strange; count %llu\n",
			makers[e], samples_of[e], children[e], strange[e], U(entry.value));
		snprintf(text, sizeof(text), "all records of %s's ring are of its event", makers[e]);
		tell(!strange[e] && samples_of[e] == entry.value && children[e] >= 50 &&
		     samples_of[e] - children[e] >= 50, text);
	}
	libtally_reader_free(reader);
	return 0;
}

/* ---- later -------------------------------------------------------------- */

/* Returns the number of samples of this process on that CPU. */
static unsigned long long samples_on(unsigned int cpu)
{
	const struct perf_event_header *header;
	unsigned long long nr = 0;
	struct libtally_record r;

	while ((header = libtally_reader_next(reader)))
		if (libtally_reader_parse(reader, header, &r) >= 0 &&
		    r.type == PERF_RECORD_SAMPLE && r.id.pid == (__u32)getpid() &&
		    r.id.cpu == cpu)
			nr++;
	return nr;
}

/* The module gives a CPU that came online its perf event some time later. */
static int later(int cpu)
{
	struct perf_event_attr attr = sampling(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1);
	unsigned long long nr = 0;
	int tries = 6000;

	attr.disabled = 0;
	via = LIBTALLY_VIA_DEVICE;
	reader = libtally_reader_new();
	set_online(cpu, 0);
	open_for(&attr, -1, -1, 64, "an event on all CPUs, one of which is offline");
	set_online(cpu, 1);
	run_on(cpu);
	while (!nr && tries--) {
		touch_new(50);
		nr = samples_on(cpu);
		usleep(10000);
	}
	tell(nr > 0, "the records of that CPU arrive when it is online");
	touch_new(50);
	nr = samples_on(cpu);
	fprintf(stderr, "# %llu samples\n", nr);
	tell(nr >= 50, "all of them");
	libtally_reader_free(reader);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "later"))
		return later(atoi(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "both"))
		return both();
	if (argc != 3)
		errx(2, "usage: sampled record|dump|fields|change FILE, sampled both, or sampled later CPU");
	if (!strcmp(argv[1], "record"))
		return record(argv[2]);
	if (!strcmp(argv[1], "fields"))
		return fields(argv[2]);
	if (!strcmp(argv[1], "change"))
		return change(argv[2]);
	return dump(argv[2], 0);
}
