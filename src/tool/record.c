// SPDX-License-Identifier: GPL-2.0
/*
 * tally record: writes samples to a file for perf report. The names of programs, and what they have
 * mapped, come from its companion, an event of perf.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "companion.h"
#include "counters.h"
#include "datafile.h"
#include "parse.h"
#include "target.h"
#include "tool.h"

/* How much the file lacks at most if this command dies. */
#define FLUSH_BYTES	65536
#define FLUSH_NS	1000000000

#define USUAL_FREQ	4000
#define USUAL_PAGES	128

enum { KEY_CALL_GRAPH = 256 };

static const struct argp_option options[] = {
	{ "event", 'e', "LIST", 0, "These events [cycles, or cpu-clock without a PMU]", 1 },
	{ "count", 'c', "N", 0, "A sample each N counts", 1 },
	{ "freq", 'F', "HZ", 0, "HZ samples a second [4000]", 1 },
	{ NULL, 'g', NULL, 0, "Call chains, by frame pointers", 1 },
	{ "call-graph", KEY_CALL_GRAPH, "MODE", 0, "The same; MODE is fp", 1 },
	{ "no-inherit", 'i', NULL, 0, "Do not sample children", 1 },
	{ "mmap-pages", 'm', "N", 0, "Pages of each ring, a power of two [128]", 1 },
	{ "output", 'o', "FILE", 0, "Write to this file, or - for standard output [perf.data]", 2 },
	{ "quiet", 'q', NULL, 0, "Show no progress", 2 },
	{ 0 }
};

static const struct argp_child children[] = { { &target_argp, 0, "Targets:", 3 }, { 0 } };

/* A file of an event of the command line: the last one that was opened at a place */
struct opened {
	int event;
	const struct place *place;
	int file;
};

/**
 * struct record - a run of `tally record`
 * @parts:	places of @targets for sets: perf's tools tell the counts of CPUs apart by the ids
 *		of files, so each CPU has a file for each member
 * @lists:	-e, @nr_lists of them
 * @period:	-c; 0 without
 * @freq:	-F; 0 without
 * @chains:	-g
 * @pages:	-m
 * @numbers:	numbers of the events in @reader; -1 before the first file
 * @companion:	the event of perf, whose records are in @reader, too
 * @reader:	rings of all events
 * @opened:	files in @reader
 * @last_file:	result of the last open_file(): a file or a negative errno
 * @data:	the file that is written
 * @files:	mapped files that records name
 * @draining:	records of the rings are being written
 * @error:	negative errno of the first failure to write
 * @samples:	number of samples written
 * @lost:	number of records that found no room
 * @bytes:	size of the records written, in bytes
 * @flushed:	@bytes at the last flush
 * @flushed_ns:	CLOCK_MONOTONIC of the last flush, in nanoseconds
 */
struct record {
	struct targets targets;
	struct targets parts;
	struct wanted_list events;
	const char *lists[64];
	int nr_lists;
	__u64 period, freq;
	bool chains;
	bool inherit;
	bool quiet;
	size_t pages;
	const char *output;
	int device;
	int *numbers;
	struct companion companion;
	struct child child;
	struct libtally_reader *reader;
	struct opened *opened;
	int nr_opened, last_file;
	struct libtally_perfdata *data;
	struct mapped_files files;
	bool draining;
	int error;
	unsigned long long samples, lost, bytes, flushed;
	__u64 flushed_ns;
};

static volatile sig_atomic_t stopped;

/* The command while it runs; or 0 */
static volatile pid_t command;

/*
 * A second signal kills the command. A third one ends this command, too: it may wait for the reader
 * of a pipe that never reads.
 */
static void stop(int number)
{
	if (++stopped < 2)
		return;
	signal(number, SIG_DFL);
	if (command)
		kill(command, SIGKILL);
}

/* No exit leaves a command behind that nobody samples. */
static void end_command(void)
{
	if (command)
		kill(command, SIGTERM);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct record *r = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &r->targets;
		break;
	case 'e':
		if (r->nr_lists == (int)(sizeof(r->lists) / sizeof(r->lists[0])))
			argp_error(state, "too many lists of events");
		r->lists[r->nr_lists++] = argument;
		break;
	case 'c':
		r->period = number_argument(state, argument, 1, __LONG_MAX__);
		break;
	case 'F':
		r->freq = number_argument(state, argument, 1, 1000000);
		break;
	case KEY_CALL_GRAPH:
		if (strcmp(argument, "fp"))
			argp_error(state, "call chains are by frame pointers: --call-graph fp");
		r->chains = true;
		break;
	case 'g':
		r->chains = true;
		break;
	case 'i':
		r->inherit = false;
		break;
	case 'm':
		r->pages = number_argument(state, argument, 1, 1 << 20);
		if (r->pages & (r->pages - 1))
			argp_error(state, "-m takes a power of two");
		break;
	case 'o':
		r->output = argument;
		break;
	case 'q':
		r->quiet = true;
		break;
	case ARGP_KEY_END:
		if (!r->targets.command && !r->targets.all && !r->targets.cpus &&
		    !r->targets.pids && !r->targets.tids && !r->targets.cgroups)
			argp_error(state, "no command, and no target");
		perfdata_check_path(state, r->output);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void set_up(const struct record *r, struct wanted *w)
{
	char line[32];
	__u64 most = 0;

	w->attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_IDENTIFIER;
	w->attr.sample_id_all = 1;
	w->attr.disabled = 1;
	if (r->chains)
		w->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (w->group >= 0) {
		w->attr.sample_type |= PERF_SAMPLE_READ;
		w->attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	}
	if (r->pages >= 4) {
		w->attr.watermark = 1;
		w->attr.wakeup_watermark = r->pages * sysconf(_SC_PAGESIZE) / 4;
	}
	if (w->attr.type == PERF_TYPE_TRACEPOINT)
		w->attr.sample_type |= PERF_SAMPLE_RAW;
	if (wanted_leader(&r->events, w - r->events.list) >= 0) {
		w->attr.disabled = 0;
		return;
	}
	if (r->period || (!r->freq && (w->attr.type == PERF_TYPE_TRACEPOINT ||
				       w->attr.type == PERF_TYPE_BREAKPOINT))) {
		w->attr.sample_period = r->period ? r->period : 1;
		return;
	}
	if (read_line("/proc/sys/kernel/perf_event_max_sample_rate", line, sizeof(line)))
		most = strtoull(line, NULL, 10);
	w->attr.freq = 1;
	w->attr.sample_freq = r->freq ? r->freq : USUAL_FREQ;
	if (most && w->attr.sample_freq > most)
		w->attr.sample_freq = most;
}

/* Explains that the memory of rings is limited. */
static void explain(const struct record *r, int error, const char *reason, char *why)
{
	if (error == -EPERM && strstr(reason, "mmap"))
		snprintf(why, LIBTALLY_ERROR_SIZE,
			 "no memory for %zu pages of a ring: give fewer by -m, or raise ulimit -l",
			 r->pages);
	else
		snprintf(why, LIBTALLY_ERROR_SIZE, "%s", reason);
}

/* Opens a file, or takes the next one of the child, which has opened it. */
static int open_file(const struct perf_event_attr *attr, struct libtally_target *target)
{
	struct record *r = target->data;

	r->last_file = r->targets.nr ? libtally_open_event(attr, target) :
				       child_receive(r->child.files, target->error);
	return r->last_file;
}

/* Opens files of event e; the first ones make the event in the reader. */
static int open_files(struct record *r, int e, const struct perf_event_attr *attr,
		      const struct place *place, struct libtally_target *target)
{
	int number;

	target->open = open_file;
	target->data = r;
	number = libtally_reader_share(r->reader, r->numbers[e], attr, target, r->pages,
				       r->events.list[e].name);
	if (number < 0)
		return number;
	r->numbers[e] = number;
	r->opened = need(realloc(r->opened, (r->nr_opened + 1) * sizeof(*r->opened)));
	r->opened[r->nr_opened].event = e;
	r->opened[r->nr_opened].place = place;
	r->opened[r->nr_opened++].file = r->last_file;
	return number;
}

/* Whether children are sampled, too: the module has no samples of children with counts of a set. */
static bool is_inherited(const struct record *r, int e)
{
	return r->inherit && r->events.list[e].group < 0;
}

/* Returns the file of a group's leader at a place, whose files were opened last; -1 without one. */
static int leader_at(const struct record *r, int leader, const struct place *place)
{
	int i = r->nr_opened;

	while (i-- && r->opened[i].place == place)
		if (r->opened[i].event == leader)
			return r->opened[i].file;
	return -1;
}

static int open_at(struct record *r, int e, const struct place *place, char *why)
{
	struct perf_event_attr attr = r->events.list[e].attr;
	int number, leader = wanted_leader(&r->events, e);
	struct libtally_target target;

	target_at(&target, r->device, place);
	target.flags |= r->events.list[e].weak ? LIBTALLY_OPEN_WEAK : 0;
	if (leader >= 0) {
		target.group_fd = leader_at(r, leader, place);
		if (target.group_fd < 0)
			return -ESRCH;
	}
	attr.inherit = is_inherited(r, e) && place->pid >= 0 && !place->cgroup;
	number = open_files(r, e, &attr, place, &target);
	/* The PMU may have no such precision. */
	while (number < 0 && attr.precise_ip) {
		attr.precise_ip--;
		number = open_files(r, e, &attr, place, &target);
	}
	if (number < 0)
		explain(r, number, target.error, why);
	return result_of_member(number, target.group_fd);
}

/*
 * Returns whether an event may be missing at one of several places: its task has ended, or the
 * leader of its set is missing; or its set is on each CPU, and this one is offline or differs.
 */
static bool may_miss(const struct record *r, int e, int error)
{
	return error == -ESRCH || ((error == -ENODEV || error == -ENOENT) && !r->targets.cpus &&
				   r->events.list[e].group >= 0);
}

/* ---- a command, which opens its events itself ---- */

static const struct place itself = { .pid = 0, .cpu = -1 };

/**
 * struct opening - what the child opens
 * @attr:	the event that it opens now, for each online CPU if that is inherited
 * @flags:	LIBTALLY_OPEN_* of @attr
 * @socket:	where the child sends its files
 * @follows:	@attr is in the group of @leader
 * @leader:	file of the last event that leads a group, which stays open until exec()
 */
struct opening {
	const struct record *record;
	struct perf_event_attr attr;
	__u32 flags;
	int socket;
	bool follows;
	int leader;
};

static void open_and_send(void *data, int cpu)
{
	const struct place place = { .pid = 0, .cpu = cpu };
	struct opening *o = data;
	struct libtally_target target;
	int fd;

	target_at(&target, o->record->device, &place);
	target.flags |= o->flags;
	if (o->follows)
		target.group_fd = o->leader;
	fd = libtally_open_event(&o->attr, &target);
	while (fd < 0 && o->attr.precise_ip) {
		o->attr.precise_ip--;
		fd = libtally_open_event(&o->attr, &target);
	}
	child_send(o->socket, fd, target.error);
	if (!o->follows && o->attr.read_format & PERF_FORMAT_GROUP)
		o->leader = fd;
	else if (fd >= 0)
		close(fd);
}

static void open_itself(void *data, int socket)
{
	const struct record *r = data;
	struct opening o = { .record = r, .socket = socket };
	int e;

	for (e = 0; e < r->events.nr; e++) {
		o.attr = r->events.list[e].attr;
		o.flags = r->events.list[e].weak ? LIBTALLY_OPEN_WEAK : 0;
		o.follows = wanted_leader(&r->events, e) >= 0;
		o.attr.inherit = is_inherited(r, e);
		o.attr.enable_on_exec = !o.follows;
		if (o.attr.inherit)
			each_online(open_and_send, &o);
		else
			open_and_send(&o, -1);
	}
}

static int receive_event(struct record *r, int e, char *why)
{
	struct perf_event_attr attr = r->events.list[e].attr;
	struct libtally_target target;
	int number;

	target_at(&target, r->device, &itself);
	attr.inherit = is_inherited(r, e);
	attr.enable_on_exec = wanted_leader(&r->events, e) < 0;
	number = open_files(r, e, &attr, &itself, &target);
	if (number < 0)
		explain(r, number, target.error, why);
	return number;
}

/* Without -e, a machine without a PMU samples a clock. */
static bool falls_back(const struct record *r, int error)
{
	return !r->nr_lists && (error == -ENOENT || error == -EOPNOTSUPP);
}

static void fail(const struct wanted *w, int error, const char *why)
{
	say_failed(w->name, error, why);
	exit(STATUS_FAILED);
}

/*
 * Opens events first to last - 1, which are a set if they are several, at all their places. Returns
 * 0, or the error of an event that may be replaced by a clock.
 */
static int open_set(struct record *r, int first, int last)
{
	bool is_set = r->events.list[first].group >= 0;
	const struct targets *t = is_set ? &r->parts : &r->targets;
	int p, e, got = 0, nr = t->nr ? t->nr : 1, missed = 0;
	char why[LIBTALLY_ERROR_SIZE] = "";

	for (p = 0; p < nr; p++) {
		for (e = first; e < last; e++) {
			got = t->nr ? open_at(r, e, &t->places[p], why) : receive_event(r, e, why);
			if (got < 0 && falls_back(r, got))
				return got;
			if (got < 0 && !(nr > 1 && may_miss(r, e, got)))
				fail(&r->events.list[e], got, why);
			if (got < 0 && (got != -ESRCH || !missed))
				missed = got;
		}
	}
	for (e = first; e < last; e++)
		if (r->numbers[e] < 0 && missed)
			fail(&r->events.list[e], missed, why);
	return 0;
}

/* Says what the samples of a set lack that those of other events have. */
static void say_alone(const struct record *r)
{
	const struct targets *t = &r->targets;

	if (r->inherit && !t->all && !t->cpus && !t->cgroups)
		say("a set is not sampled in children, nor in threads that begin later");
}

/* Opens all events, and starts the child that is to be the command. Returns as open_set(). */
static int open_events(struct record *r)
{
	int e, got = 0;

	r->child.out_is_err = perfdata_is_stdout(r->output);
	if (r->events.nr_groups)
		targets_split(&r->targets, &r->parts);
	if (r->targets.command)
		child_start(&r->child, r->targets.command, r->targets.nr ? NULL : open_itself, r);
	for (e = 0; e < r->events.nr && !got; e = wanted_behind(&r->events, e))
		got = open_set(r, e, wanted_behind(&r->events, e));
	if (r->events.nr_groups)
		say_alone(r);
	return got;
}

/* Chooses the events of -e, or without any the given one. */
static void choose_events(struct record *r, const char *usual)
{
	struct wanted *w;
	int i;

	wanted_free(&r->events);
	for (i = 0; i < r->nr_lists; i++)
		wanted_add(&r->events, r->device, r->lists[i]);
	if (!r->nr_lists)
		wanted_add(&r->events, r->device, usual);
	for (w = r->events.list; w < r->events.list + r->events.nr; w++) {
		if (w->error)
			fail(w, w->error, w->why);
		if (w->group >= 0 && !w->leader_samples)
			fail(w, -EINVAL, "a set is sampled by its first event: write {...}:S");
		set_up(r, w);
	}
	wanted_restrict(&r->events, r->device);
	for (w = r->events.list; w < r->events.list + r->events.nr; w++)
		if (w->error)
			fail(w, w->error, w->why);
	r->nr_opened = 0;
	free(r->numbers);
	r->numbers = need(malloc((r->events.nr + 1) * sizeof(*r->numbers)));
	for (i = 0; i < r->events.nr; i++)
		r->numbers[i] = -1;
}

/* Makes the file one that perf reads, whatever ends this command. */
static void flush(struct record *r)
{
	r->flushed_ns = now_ns();
	r->flushed = r->bytes;
	if (!r->error)
		r->error = libtally_perfdata_flush(r->data);
}

static void write_record(struct record *r, const struct perf_event_header *header)
{
	struct libtally_record parsed;

	if (!r->error)
		r->error = libtally_perfdata_write(r->data, header);
	r->bytes += header->size;
	if (r->bytes - r->flushed >= FLUSH_BYTES)
		flush(r);
	if (header->type == PERF_RECORD_SAMPLE)
		r->samples++;
	else if ((header->type == PERF_RECORD_LOST || header->type == PERF_RECORD_LOST_SAMPLES) &&
		 libtally_reader_parse(r->reader, header, &parsed) >= 0)
		r->lost += parsed.u.lost.lost;
}

/* Writes at most so many records: the CPUs may produce them as fast as they are written. */
static void drain(struct record *r, unsigned long most)
{
	const struct perf_event_header *header;

	r->draining = true;
	while (most-- && (header = libtally_reader_next(r->reader)))
		write_record(r, header);
	r->draining = false;
}

/*
 * Takes note of a record that was written. A record of write_running() is not from a ring: there
 * are many of these, and the companion's rings must not overflow meanwhile.
 */
static void note_record(void *data, const struct perf_event_header *header)
{
	static unsigned int others;
	struct record *r = data;

	mapped_files_add(&r->files, header);
	if (!r->draining && ++others % 64 == 0)
		drain(r, 100000);
}

static void show_progress(const struct record *r, bool last)
{
	static __u64 shown;
	__u64 now = now_ns();

	if (r->quiet || (!last && (now - shown < 1000000000 || !isatty(STDERR_FILENO))))
		return;
	shown = now;
	fprintf(stderr, "%s[ %s: %s %.3f MB to %s (%llu samples, %llu lost) ]%s",
		isatty(STDERR_FILENO) ? "\r" : "", tool_name, last ? "wrote" : "writing",
		r->bytes / 1e6, perfdata_name(r->output), r->samples, r->lost, last ? "\n" : "");
}

/*
 * Returns whether all cgroups are removed, for which this looks twice a second. The companion's
 * files do not hang up then: they are of all CPUs.
 */
static bool are_cgroups_gone(const struct record *r)
{
	static __u64 looked;
	int i;

	if (!r->targets.cgroups || now_ns() - looked < 500000000)
		return false;
	looked = now_ns();
	for (i = 0; i < r->nr_opened; i++)
		if (!has_exited(r->opened[i].file))
			return false;
	return true;
}

/*
 * Reads until the command or all tasks have ended. A signal, or an error of the file, ends the
 * command that is sampled, and a second signal kills it. Returns the status.
 */
static int read_all(struct record *r)
{
	int status = 0, ready, told = 0;
	pid_t ended;

	for (;;) {
		ended = r->child.pid > 0 ? waitpid(r->child.pid, &status, WNOHANG) : 0;
		if (ended) {
			command = 0;
			break;
		}
		if (r->error && !stopped)
			stopped = 1;
		if (stopped && r->child.pid <= 0)
			break;
		if (stopped > told) {
			kill(r->child.pid, stopped > 1 ? SIGKILL : SIGTERM);
			told = stopped;
		}
		companion_follow(&r->companion);
		ready = libtally_reader_poll(r->reader, 200);
		drain(r, 100000);
		if (now_ns() - r->flushed_ns >= FLUSH_NS)
			flush(r);
		show_progress(r, false);
		if (r->child.pid <= 0 && (ready == -EPIPE || are_cgroups_gone(r)))
			break;
		/* All files have hung up, so no poll(2) waits any more, but the command goes on. */
		if (ready == -EPIPE)
			usleep(10000);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Writes the names and mappings of now; the companion's rings have those since it was opened. */
static void write_running(struct record *r, int pid)
{
	int error = libtally_perfdata_write_running(r->data, pid);

	if (!r->error)
		r->error = error;
}

static void create_file(struct record *r, int argc, char **argv)
{
	r->data = perfdata_create(r->output, libtally_reader_events(r->reader));
	perfdata_add_command(r->data, argc, argv);
	perfdata_add_formats(r->data, &r->events);
	perfdata_add_groups(r->data, &r->events, r->numbers);
	/* Until exec(), the child maps this command's files: nobody needs their build ids. */
	if (!r->targets.nr && r->companion.number >= 0)
		write_running(r, r->child.pid);
	libtally_perfdata_watch(r->data, note_record, r);
	if (r->targets.nr)
		write_running(r, -1);
	flush(r);
	if (r->error)
		die("%s: %s", perfdata_name(r->output), strerror(-r->error));
}

/* Executes the command. Returns 0, or the status of a command that was not executed. */
static int begin_command(struct record *r)
{
	int error;

	if (stopped) {
		child_abandon(&r->child);
		return 128 + SIGTERM;
	}
	error = child_go(&r->child);
	if (error) {
		say_failed(r->targets.command[0], 0, strerror(error));
		return error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
	}
	command = r->child.pid;
	atexit(end_command);
	return 0;
}

/*
 * The file is there before the events and the command begin, so nothing of them is lost, and no
 * command goes on without a file. A file of before stays as it is if there is no such command.
 */
static int run(struct record *r, int argc, char **argv)
{
	int status;

	create_file(r, argc, argv);
	if (r->targets.nr)
		libtally_reader_ioctl(r->reader, PERF_EVENT_IOC_ENABLE);
	status = r->child.pid > 0 ? begin_command(r) : 0;
	if (status)
		exit(status);
	r->error = perfdata_publish(r->output);
	/* Without a companion, only /proc has names, and only those of this moment. */
	if (!r->targets.nr && r->companion.number < 0)
		write_running(r, r->child.pid);
	status = read_all(r);
	libtally_reader_ioctl(r->reader, PERF_EVENT_IOC_DISABLE);
	drain(r, ~0UL);
	return status;
}

static void begin(struct record *r)
{
	r->reader = need(libtally_reader_new());
	choose_events(r, "cycles:P");
	if (!open_events(r))
		return;
	if (r->child.pid > 0)
		child_abandon(&r->child);
	libtally_reader_free(r->reader);
	r->reader = need(libtally_reader_new());
	choose_events(r, "cpu-clock");
	if (open_events(r))
		die("neither cycles nor cpu-clock can be sampled");
}

/* Says how many hits kernel probes have missed: these have no sample, and are not in r->lost. */
static void say_missed(const struct record *r)
{
	__u64 missed;
	struct wanted *w;
	int i;

	for (i = 0; i < r->nr_opened; i++) {
		w = &r->events.list[r->opened[i].event];
		if (!is_probe(w->name))
			continue;
		/* A probe misses hits on any CPU and in any task: all files have one number. */
		missed = missed_by(r->device, r->opened[i].file);
		w->missed = missed > w->missed ? missed : w->missed;
	}
	for (w = r->events.list; w < r->events.list + r->events.nr; w++)
		if (w->missed)
			say("%s: the kernel missed %llu hits, which have no sample: they came "
			    "within the handler of a probe, or too many at a time",
			    w->name, (unsigned long long)w->missed);
}

int command_record(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .children = children,
		.args_doc = "[--] [COMMAND [ARGUMENT]...]",
		.doc = "Samples while a command runs, or until it is interrupted, for "
		       "`perf report', `perf script' and `perf annotate'.\vThe exit status is "
		       "the command's.",
	};
	struct record r = {
		.pages = USUAL_PAGES, .output = perfdata_usual, .inherit = true,
		.child = { .pid = -1 },
	};
	struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESTART };
	int status, error;

	parse_arguments(&argp, argc, argv, ARGP_IN_ORDER, &r);
	r.device = device_or_die();
	raise_file_limit();
	targets_find(&r.targets);
	begin(&r);
	r.companion.reader = r.reader;
	r.companion.targets = &r.targets;
	r.companion.pages = r.pages;
	r.companion.inherit = r.inherit;
	companion_open(&r.companion, r.child.pid);
	perfdata_wait_for_reader(r.output);
	catch_signals(&action);
	/* A file that grows too large is an error of write(2). */
	signal(SIGXFSZ, SIG_IGN);
	status = run(&r, argc, argv);
	/* Build ids are read from files that may be anybody's: first, the records are made safe. */
	libtally_perfdata_flush(r.data);
	perfdata_add_build_ids(r.data, &r.files);
	error = libtally_perfdata_close(r.data);
	if (r.error || error)
		die("%s: %s", perfdata_name(r.output), strerror(-(r.error ? r.error : error)));
	show_progress(&r, true);
	if (r.lost)
		say("%llu records found no room: give more pages by -m", r.lost);
	say_missed(&r);
	libtally_reader_free(r.reader);
	free(r.opened);
	targets_free(&r.targets);
	targets_free(&r.parts);
	return status;
}
