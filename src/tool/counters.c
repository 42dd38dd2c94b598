// SPDX-License-Identifier: GPL-2.0
/* Opening and reading of the events of a command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "counters.h"
#include "tool.h"

/* Most events in one group: TALLY_USER_MEMBERS of <linux/tally.h> */
#define MEMBERS	64

/* The place of a command: the child itself. */
static const struct place itself = { .pid = 0, .cpu = -1 };

static bool of_task(const struct place *place)
{
	return place->pid >= 0 && !place->cgroup;
}

/* Opens event number e at a place. leader is the file of its group's first event, or -1. */
static int open_one(const struct counters *c, int e, const struct place *place, int leader,
		    char *why)
{
	const struct wanted *w = &c->events->list[e];
	struct perf_event_attr attr = w->attr;
	struct libtally_target target;
	int fd;

	if (w->error) {
		strcpy(why, w->why);
		return w->error;
	}
	target_at(&target, c->device, place);
	target.group_fd = leader;
	if (w->weak)
		target.flags |= LIBTALLY_OPEN_WEAK;
	attr.disabled = leader < 0;
	attr.inherit = c->inherit && of_task(place);
	attr.enable_on_exec = leader < 0 && place == &itself && !c->delayed;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	/* This says to the module that the event leads a group. */
	if (c->device >= 0 && w->group >= 0 && leader < 0)
		attr.read_format |= PERF_FORMAT_GROUP;
	fd = libtally_open_event(&attr, &target);
	strcpy(why, fd < 0 ? target.error : "");
	return result_of_member(fd, leader);
}

/* Returns the first file of an event's group at a place; -1 without one. */
static int leader_of(const struct counters *c, int e, const int *files)
{
	int i;

	for (i = 0; i < e; i++)
		if (c->events->list[e].group >= 0 && files[i] >= 0 &&
		    c->events->list[i].group == c->events->list[e].group)
			return files[i];
	return -1;
}

/* Opens all events for the child, in the child, and sends their files. */
static void open_itself(void *data, int socket)
{
	const struct counters *c = data;
	char why[LIBTALLY_ERROR_SIZE];
	int *files = need(calloc(c->events->nr, sizeof(*files))), e;

	for (e = 0; e < c->events->nr; e++) {
		files[e] = open_one(c, e, &itself, leader_of(c, e, files), why);
		child_send(socket, files[e], why);
	}
	for (e = 0; e < c->events->nr; e++)
		if (files[e] >= 0)
			close(files[e]);
	free(files);
}

static bool is_unsupported(int error)
{
	return error == -ENOENT || error == -EOPNOTSUPP || error == -ENXIO;
}

/* Keeps a new file, or its error. A task of many may have ended meanwhile. */
static void take(struct counters *c, int p, int e, int fd, const char *why)
{
	struct wanted *w = &c->events->list[e];

	c->files[p * c->events->nr + e] = fd < 0 ? -1 : fd;
	if (fd >= 0)
		return;
	if (is_unsupported(fd) || (fd == -ESRCH && c->nr_places > 1)) {
		if (fd != -ESRCH || !c->errors[e]) {
			c->errors[e] = fd;
			strcpy(w->why, why);
		}
		return;
	}
	say_failed(w->name, fd, why);
	exit(STATUS_FAILED);
}

static void open_at(struct counters *c, int p)
{
	const struct place *place = &c->targets->places[p];
	char why[LIBTALLY_ERROR_SIZE];
	int *files = c->files + p * c->events->nr, e, fd;

	for (e = 0; e < c->events->nr; e++) {
		files[e] = -1;
		fd = open_one(c, e, place, leader_of(c, e, files), why);
		take(c, p, e, fd, why);
	}
}

static void add_row(struct counters *c, int cpu, const char *cgroup)
{
	struct row *row;

	c->rows = need(realloc(c->rows, (c->nr_rows + 1) * sizeof(*c->rows)));
	row = &c->rows[c->nr_rows++];
	row->cpu = cpu;
	row->cgroup = cgroup;
	row->shown = true;
	row->totals = need(calloc(c->events->nr + 1, sizeof(*row->totals)));
	row->ratios = need(calloc(c->events->nr_groups + 1, sizeof(*row->ratios)));
}

static void add_cpu_row(void *data, int cpu)
{
	struct counters *c = data;

	add_row(c, cpu, NULL);
	c->rows[c->nr_rows - 1].shown = false;
}

static void show_cpu_row(void *data, int cpu)
{
	struct counters *c = data;
	int r;

	for (r = 0; r < c->nr_rows; r++)
		c->rows[r].shown |= c->rows[r].cpu == cpu;
}

static void add_possible(void *data, int cpu)
{
	struct counters *c = data;

	if (cpu >= c->nr_cpus)
		c->nr_cpus = cpu + 1;
}

static void add_rows(struct counters *c)
{
	int p;

	if (c->per_cpu && !c->targets->cpus) {
		each_possible(add_cpu_row, c);
		each_online(show_cpu_row, c);
		return;
	}
	if (!c->per_cpu && !c->targets->cgroups) {
		add_row(c, -1, NULL);
		return;
	}
	for (p = 0; p < c->nr_places; p++)
		add_row(c, c->targets->places[p].cpu, c->targets->places[p].cgroup);
}

/* An event is not supported if no place has it. Exits if all tasks have ended. */
static void keep_errors(struct counters *c)
{
	int e, p, files, all = 0, ended = -1;
	struct wanted *w;

	for (e = 0; e < c->events->nr; e++) {
		for (p = 0, files = 0; p < c->nr_places; p++)
			files += c->files[p * c->events->nr + e] >= 0;
		all += files;
		if (c->errors[e] == -ESRCH)
			ended = e;
		else if (!files)
			c->events->list[e].error = c->errors[e];
	}
	if (!all && ended >= 0) {
		w = &c->events->list[ended];
		say_failed(w->name, -ESRCH, w->why);
		exit(STATUS_FAILED);
	}
	free(c->errors);
	c->errors = NULL;
}

void counters_begin(struct counters *c, bool all)
{
	c->nr_cpus = 1;
	if (all)
		each_possible(add_possible, c);
	c->parts = need(calloc((size_t)c->nr_places * c->events->nr * c->nr_cpus + 1,
			       sizeof(*c->parts)));
}

void counters_open(struct counters *c, struct child *child)
{
	char why[LIBTALLY_ERROR_SIZE];
	bool alone = !c->targets->nr, on_cpus = false;
	int p, e, fd;

	c->nr_places = alone ? 1 : c->targets->nr;
	c->files = need(malloc((c->nr_places * c->events->nr + 1) * sizeof(*c->files)));
	c->errors = need(calloc(c->events->nr + 1, sizeof(*c->errors)));
	for (p = 0; p < c->targets->nr; p++)
		on_cpus |= c->targets->places[p].cpu < 0 && !of_task(&c->targets->places[p]);
	counters_begin(c, on_cpus);
	if (!c->nr_rows)
		add_rows(c);
	if (c->targets->command)
		child_start(child, c->targets->command, alone ? open_itself : NULL, c);
	for (e = 0; alone && e < c->events->nr; e++) {
		fd = child_receive(child->files, why);
		take(c, 0, e, fd, why);
	}
	for (p = 0; p < c->targets->nr; p++)
		open_at(c, p);
	keep_errors(c);
}

void counters_enable(const struct counters *c, bool on)
{
	int e, p, fd, nr = c->delayed ? c->nr_places : c->targets->nr;

	for (p = 0; p < nr; p++) {
		for (e = 0; e < c->events->nr; e++) {
			fd = c->files[p * c->events->nr + e];
			if (fd >= 0 && leader_of(c, e, c->files + p * c->events->nr) < 0)
				ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		}
	}
}

/* The last value of a gauge is its count, and no difference. */
static void add_value(struct total *total, struct part *part, const struct libtally_value *v,
		      bool gauge)
{
	struct total since = {
		.value = v->value - (gauge ? 0 : part->value),
		.enabled = v->enabled - part->enabled,
		.running = v->running - part->running,
		.known = true, .failed = v->state == LIBTALLY_IS_ERROR,
	};

	part->value = v->value;
	part->enabled = v->enabled;
	part->running = v->running;
	/* The value of a gauge may be below 0. */
	since.scaled = (__s64)since.value;
	if (!gauge && since.running && since.running < since.enabled)
		since.scaled *= (double)since.enabled / since.running;
	if (!gauge && since.running < since.enabled / 10)
		since.rough = since.enabled;
	total_add(total, &since);
}

/* Reads an event, and if it is a leader, its group, into a row: on a CPU, or for -1 the sum. */
static void read_part(const struct counters *c, int p, int e, int cpu, struct row *row)
{
	const int *files = c->files + p * c->events->nr;
	struct part *parts = c->parts + (size_t)p * c->events->nr * c->nr_cpus;
	struct libtally_value values[MEMBERS];
	int group = c->events->list[e].group;
	int is_ratio, i, v = 0, nr;

	nr = libtally_values_read(files[e], cpu, values, MEMBERS, &is_ratio);
	/* The PMU may not serve this CPU. */
	if (nr < 0)
		return;
	if (group >= 0)
		row->ratios[group] &= is_ratio;
	for (i = e; i < c->events->nr && v < nr; i++)
		if (i == e || (group >= 0 && c->events->list[i].group == group && files[i] >= 0))
			add_value(&row->totals[i], &parts[i * c->nr_cpus + (cpu < 0 ? 0 : cpu)],
				  &values[v++], c->events->list[i].unit.gauge);
}

/* Whether an event, or a member of the group that it leads, may have to share a PMU. */
static bool may_share(const struct counters *c, int e)
{
	int group = c->events->list[e].group, i;
	__u32 type;

	for (i = e; i < c->events->nr; i++) {
		type = c->events->list[i].attr.type;
		if ((i == e || (group >= 0 && c->events->list[i].group == group)) &&
		    type != PERF_TYPE_SOFTWARE && type != PERF_TYPE_TRACEPOINT &&
		    type != PERF_TYPE_BREAKPOINT)
			return true;
	}
	return false;
}

static void read_into(const struct counters *c, int p, int e, struct row *row)
{
	const struct place *place = c->targets->nr ? &c->targets->places[p] : &itself;
	int cpu;

	if (c->per_cpu && !c->targets->cpus) {
		read_part(c, p, e, row->cpu, row);
	} else if (!c->on_cpus && (place->cpu >= 0 || of_task(place) || !may_share(c, e))) {
		read_part(c, p, e, -1, row);
	} else {
		for (cpu = 0; cpu < c->nr_cpus; cpu++)
			read_part(c, p, e, cpu, row);
	}
}

static void read_place(const struct counters *c, int p, struct row *row)
{
	const int *files = c->files + p * c->events->nr;
	int e;

	for (e = 0; e < c->events->nr; e++)
		if (files[e] >= 0 && leader_of(c, e, files) < 0)
			read_into(c, p, e, row);
}

void counters_read(struct counters *c)
{
	struct row *row;
	int r, g, p, e;

	for (r = 0; r < c->nr_rows; r++) {
		row = &c->rows[r];
		memset(row->totals, 0, c->events->nr * sizeof(*row->totals));
		for (g = 0; g < c->events->nr_groups; g++)
			row->ratios[g] = 1;
		/* Without a row for each place, all rows are of all places. */
		for (p = 0; p < c->nr_places; p++)
			if (c->nr_rows != c->nr_places || p == r)
				read_place(c, p, row);
		for (e = 0; e < c->events->nr; e++)
			row->shown |= row->totals[e].enabled > 0;
	}
}

bool has_exited(int file)
{
	struct libtally_value values[MEMBERS];

	return libtally_values_read(file, -1, values, MEMBERS, NULL) > 0 &&
	       (values[0].state == LIBTALLY_IS_EXITED || values[0].state == LIBTALLY_IS_RELEASED);
}

int result_of_member(int got, int leader)
{
	return got == -ENODEV && leader >= 0 && has_exited(leader) ? -ESRCH : got;
}

bool counters_exited(const struct counters *c, bool none)
{
	int i;

	for (i = 0; i < c->nr_places * c->events->nr; i++) {
		if (c->files[i] >= 0 && !has_exited(c->files[i]))
			return false;
		none |= c->files[i] >= 0;
	}
	return none;
}

__u64 missed_by(int device, int file)
{
	struct libtally_running running = { 0 };
	__u64 id;

	if (file < 0 || ioctl(file, PERF_EVENT_IOC_ID, &id))
		return 0;
	running.id = id - 1;
	if (libtally_device_next(device, &running) != 1 || running.id != id ||
	    !running.has_more)
		return 0;
	return running.missed;
}

/* A probe misses hits on any CPU and in any task: the number of one place is that of all. */
static __u64 missed_at(const struct counters *c, int e)
{
	__u64 missed, most = 0;
	int p;

	for (p = 0; p < c->nr_places; p++) {
		missed = missed_by(c->device, c->files[p * c->events->nr + e]);
		most = missed > most ? missed : most;
	}
	return most;
}

void counters_begin_missed(const struct counters *c)
{
	int e;

	for (e = 0; e < c->events->nr; e++)
		c->events->list[e].missed_before = missed_at(c, e);
}

void counters_add_missed(const struct counters *c)
{
	struct wanted *w;
	__u64 missed;
	int e;

	for (e = 0; e < c->events->nr; e++) {
		w = &c->events->list[e];
		missed = missed_at(c, e);
		/* Nobody knows what a probe missed that is gone. */
		if (missed > w->missed_before)
			w->missed += missed - w->missed_before;
	}
}

void counters_say_missed(const struct counters *c)
{
	const struct wanted *w;

	for (w = c->events->list; w < c->events->list + c->events->nr; w++)
		if (w->missed)
			say("%s: the kernel missed %llu hits, which are not in the count: they "
			    "came within the handler of a probe, or too many at a time",
			    w->name, (unsigned long long)w->missed);
}

void counters_close(struct counters *c)
{
	int i;

	for (i = 0; i < c->nr_places * c->events->nr; i++)
		if (c->files[i] >= 0)
			close(c->files[i]);
	free(c->files);
	free(c->parts);
	c->files = NULL;
	c->parts = NULL;
}

void total_add(struct total *sum, const struct total *t)
{
	sum->value += t->value;
	sum->enabled += t->enabled;
	sum->running += t->running;
	sum->scaled += t->scaled;
	sum->rough += t->rough;
	sum->known |= t->known;
	sum->failed |= t->failed;
}
