// SPDX-License-Identifier: GPL-2.0
/* The self-test's checks of counts: tally's window lies between two of perf's, see selftest.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "doctor.h"
#include "selftest.h"
#include "tool.h"

#define WINDOW_MS	100	/* a window of a count */
#define CPUS		16	/* CPUs that are counted one by one */

/**
 * struct nested - events that perf, tally and perf count, one around the other
 * @nr:		number of events; the others are members of the first one's group
 * @attrs:	the events
 * @place:	where they count
 * @failed:	layer whose event could not be opened; LAYERS for none
 * @live:	counts while all of them count
 * @last:	counts after the end
 * @shared:	an event did not have the PMU all the time
 */
struct nested {
	int nr;
	struct perf_event_attr attrs[MEMBERS];
	struct place place;
	int failed;
	struct counted live[LAYERS][MEMBERS];
	struct counted last[LAYERS][MEMBERS];
	bool shared;
};

static void add(const struct selftest *t, struct nested *n, __u32 type, __u64 config)
{
	struct perf_event_attr *attr = &n->attrs[n->nr];

	selftest_attr(t, attr, type, config);
	attr->disabled = !n->nr++;
}

static int open_nested(struct selftest *t, struct nested *n, int fds[LAYERS][MEMBERS])
{
	struct perf_event_attr attr;
	int layer, i;

	for (layer = OUTER; layer < LAYERS; layer++) {
		n->failed = layer;
		for (i = 0; i < n->nr; i++) {
			attr = n->attrs[i];
			attr.read_format |= n->nr > 1 ? PERF_FORMAT_GROUP : 0;
			fds[layer][i] = selftest_open(t, layer, &attr, &n->place,
						      i ? fds[layer][0] : -1);
			if (fds[layer][i] < 0)
				return fds[layer][i];
		}
	}
	n->failed = LAYERS;
	return 0;
}

/* Reads the inner layer first: the others are read later, and so are at least as great. */
static bool read_nested(int fds[LAYERS][MEMBERS], struct counted counts[LAYERS][MEMBERS], int nr)
{
	bool good = true;
	int layer;

	for (layer = INNER; layer >= OUTER; layer--)
		good &= selftest_read(fds[layer][0], counts[layer], nr);
	return good;
}

/* Returns 0, or the error of n->failed, with a sentence in t->why. */
static int run_nested(struct selftest *t, struct nested *n)
{
	int fds[LAYERS][MEMBERS], error, layer;
	bool read;

	memset(fds, -1, sizeof(fds));
	error = open_nested(t, n, fds);
	if (!error) {
		for (layer = OUTER; layer < LAYERS; layer++)
			selftest_enable(fds[layer][0], true);
		selftest_work(WINDOW_MS / 2);
		read = read_nested(fds, n->live, n->nr);
		selftest_work(WINDOW_MS / 2);
		for (layer = INNER; layer >= OUTER; layer--)
			selftest_enable(fds[layer][0], false);
		read &= read_nested(fds, n->last, n->nr);
		if (!read) {
			strcpy(t->why, "read(2) failed, or was short");
			error = -EIO;
		}
	}
	for (layer = OUTER; layer < LAYERS; layer++) {
		selftest_close(fds[layer], n->nr);
		n->shared |= n->last[layer][0].running < n->last[layer][0].enabled;
	}
	return error;
}

static void compare_times(struct selftest *t, const struct nested *n, const char *what)
{
	const struct counted *outer = n->last[OUTER], *inner = n->last[INNER];
	const struct counted *own = n->last[TALLY];

	t->times++;
	if (t->wrong[0])
		return;
	/* Where three have no room on the PMU, tally's may never run, as perf's. */
	if (own->enabled < inner->enabled || own->enabled > outer->enabled ||
	    own->running > own->enabled)
		snprintf(t->wrong, sizeof(t->wrong),
			 "%s: tally enabled %llu and running %llu ns, perf %llu within that and "
			 "%llu around it", what, (unsigned long long)own->enabled,
			 (unsigned long long)own->running, (unsigned long long)inner->enabled,
			 (unsigned long long)outer->enabled);
}

/* Compares the counts of one event, while it counted and at the end. */
static bool compare_counts(const struct nested *n, int i, const char *what)
{
	char live[64];

	snprintf(live, sizeof(live), "%s while it counts", what);
	return selftest_lies(live, n->live[INNER][i].value, n->live[TALLY][i].value,
			     n->live[OUTER][i].value) &&
	       selftest_lies(what, n->last[INNER][i].value, n->last[TALLY][i].value,
			     n->last[OUTER][i].value);
}

/* ---- one event after the other ---- */

static const struct {
	const char *name;
	__u32 type;
	__u64 config;
} events[] = {
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
};

/* Counts the work by one file alone. Returns false if it cannot; a rate is in counts per ms. */
static bool count_alone(struct selftest *t, int layer, const struct perf_event_attr *attr,
			double *rate)
{
	struct counted c = { 0 };
	int fd = selftest_open(t, layer, attr, &selftest_own, -1);

	if (fd < 0)
		return false;
	selftest_enable(fd, true);
	selftest_work(WINDOW_MS);
	selftest_enable(fd, false);
	selftest_read(fd, &c, 1);
	close(fd);
	*rate = c.value * 1e6 / c.running;
	return c.running;
}

/*
 * The three windows found no room on the PMU together: some events have one counter. So they take
 * turns, and the work is only about the same each time.
 */
static void compare_in_turn(struct selftest *t, const struct perf_event_attr *attr,
			    const char *name)
{
	double first, own, last, low, high;

	if (!count_alone(t, OUTER, attr, &first) ||
	    !count_alone(t, INNER, attr, &last)) {
		note("%s: perf does not get the PMU for it: others hold it", name);
		return;
	}
	if (!count_alone(t, TALLY, attr, &own)) {
		fault("%s: tally counted for 0 ns, and perf for some, each alone", name);
		return;
	}
	low = (first < last ? first : last) * 0.8;
	high = (first > last ? first : last) * 1.2;
	finding(low <= own && own <= high ? "ok" : "note",
		"%s: in turn, no room for three: tally %.0f/ms, perf %.0f/ms and %.0f/ms", name,
		own, first, last);
}

/* Says why an event was not counted. Both may refuse it, but not one alone. */
static void report_refusal(struct selftest *t, const char *name, const struct nested *n, int error)
{
	int fd;

	if (n->failed != OUTER) {
		finding(n->failed == INNER ? "note" : "BAD", "%s: perf opens it, %s does not: %s",
			name, n->failed == INNER ? "and again it" : "tally", t->why);
		return;
	}
	fd = selftest_open(t, TALLY, &n->attrs[0], &n->place, -1);
	if (fd >= 0) {
		close(fd);
		fault("%s: tally opens it, perf does not: %s", name, strerror(-error));
	} else {
		snprintf(t->absent + strlen(t->absent), NAMES - strlen(t->absent), " %s", name);
	}
}

static void check_event(struct selftest *t, const char *name, __u32 type, __u64 config)
{
	struct nested n = { .place = selftest_own };
	int error;

	add(t, &n, type, config);
	error = run_nested(t, &n);
	if (error && n.failed < LAYERS) {
		report_refusal(t, name, &n, error);
		return;
	}
	if (error) {
		fault("%s: %s", name, t->why);
		return;
	}
	compare_times(t, &n, name);
	if (n.shared)
		compare_in_turn(t, &n.attrs[0], name);
	else if (compare_counts(&n, 0, name))
		finding(n.last[OUTER][0].value ? "ok" : "note",
			"%s: tally %llu, between perf's %llu and %llu", name,
			(unsigned long long)n.last[TALLY][0].value,
			(unsigned long long)n.last[INNER][0].value,
			(unsigned long long)n.last[OUTER][0].value);
}

void check_counts(struct selftest *t)
{
	size_t i;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (t->user_only && events[i].type == PERF_TYPE_SOFTWARE && i)
			continue;
		check_event(t, events[i].name, events[i].type, events[i].config);
	}
	if (t->absent[0])
		note("not tried: perf does not have, or not for a task:%s", t->absent);
	if (t->wrong[0])
		fault("times: %s", t->wrong);
	else
		good("times: %d times, tally's lie between perf's", t->times);
}

/* ---- user and kernel ---- */

/* The files: perf's of all, tally's of user space and of the kernel, and perf's of all again. */
static bool open_halves(struct selftest *t, int *fds, const struct perf_event_attr *all)
{
	static const int layers[] = { OUTER, TALLY, TALLY, INNER };
	struct perf_event_attr attr;
	int i;

	for (i = 0; i < 4; i++) {
		attr = *all;
		attr.exclude_kernel = i == 1;
		attr.exclude_hv = i == 1;
		attr.exclude_user = i == 2;
		fds[i] = selftest_open(t, layers[i], &attr, &selftest_own, -1);
		if (fds[i] < 0)
			return false;
	}
	return true;
}

void check_exclusion(struct selftest *t)
{
	struct counted c[4];
	int fds[4] = { -1, -1, -1, -1 }, i;
	bool shared = false;

	if (!t->event || t->user_only) {
		note("not tried: user and kernel: %s", t->event ? "no right to count the kernel" :
							  "no hardware event");
		return;
	}
	if (!open_halves(t, fds, &t->attr)) {
		fault("user and kernel: %s", t->why);
		selftest_close(fds, 4);
		return;
	}
	for (i = 0; i < 4; i++)
		selftest_enable(fds[i], true);
	selftest_work(WINDOW_MS);
	for (i = 3; i >= 0; i--) {
		selftest_enable(fds[i], false);
		shared |= !selftest_read(fds[i], &c[i], 1) || c[i].running < c[i].enabled;
	}
	selftest_close(fds, 4);
	if (shared)
		note("not tried: user and kernel: there is no room for four files on the PMU");
	else if (!c[1].value || !c[2].value)
		fault("user and kernel: tally counted %llu %s:u and %llu %s:k",
		      (unsigned long long)c[1].value, t->event, (unsigned long long)c[2].value,
		      t->event);
	else if (selftest_lies("user and kernel", c[3].value, c[1].value + c[2].value, c[0].value))
		good("%s: tally :u %llu and :k %llu, between perf's %llu and %llu of both",
		     t->event, (unsigned long long)c[1].value, (unsigned long long)c[2].value,
		     (unsigned long long)c[3].value, (unsigned long long)c[0].value);
}

/* ---- a group ---- */

void check_group(struct selftest *t)
{
	struct nested n = { .place = selftest_own };
	bool is_good = true;
	char what[64];
	int error, i;

	if (t->event)
		add(t, &n, t->attr.type, t->attr.config);
	add(t, &n, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	add(t, &n, PERF_TYPE_SOFTWARE, t->user_only ? PERF_COUNT_SW_PAGE_FAULTS_MIN :
						      PERF_COUNT_SW_CONTEXT_SWITCHES);
	error = run_nested(t, &n);
	if (error) {
		finding(n.failed == OUTER || n.failed == INNER ? "note" : "BAD", "group: %s: %s",
			n.failed == OUTER || n.failed == INNER ? "perf" : "tally", t->why);
		return;
	}
	if (n.shared) {
		note("not tried: group: no room for three groups on the PMU");
		return;
	}
	for (i = 0; i < n.nr; i++) {
		snprintf(what, sizeof(what), "group, event %d", i + 1);
		is_good &= compare_counts(&n, i, what);
	}
	if (is_good)
		good("group: one read(2) of %d events: each lies between those of perf's groups",
		     n.nr);
}

/* ---- each CPU ---- */

/**
 * struct on_cpus - one file of tally on all CPUs, and two of perf on each
 * @cpus:	numbers of the CPUs
 * @nr:		number of these
 * @more:	number of CPUs that are left out
 * @attr:	the event
 * @tally:	tally's file
 * @perf:	perf's files, outer and inner ones
 */
struct on_cpus {
	int cpus[CPUS];
	int nr, more;
	struct perf_event_attr attr;
	int tally;
	int perf[LAYERS][CPUS];
};

static void add_cpu(void *data, int cpu)
{
	struct on_cpus *o = data;

	if (o->nr < CPUS)
		o->cpus[o->nr++] = cpu;
	else
		o->more++;
}

static bool open_on(struct selftest *t, struct on_cpus *o, int layer)
{
	struct place place = { .pid = -1 };
	int i;

	for (i = 0; i < o->nr; i++) {
		place.cpu = o->cpus[i];
		o->perf[layer][i] = selftest_open(t, layer, &o->attr, &place, -1);
		if (o->perf[layer][i] < 0)
			return false;
	}
	return true;
}

static void enable_on(const struct on_cpus *o, int layer, bool on)
{
	int i;

	for (i = 0; i < o->nr; i++)
		selftest_enable(o->perf[layer][i], on);
}

/* A child on each CPU works there. */
static void work_on(const struct on_cpus *o)
{
	pid_t children[CPUS];
	int i;

	fflush(NULL);
	for (i = 0; i < o->nr; i++) {
		children[i] = fork();
		if (!children[i]) {
			if (selftest_go_to(o->cpus[i]))
				selftest_work(WINDOW_MS);
			_exit(0);
		}
	}
	for (i = 0; i < o->nr; i++)
		if (children[i] > 0)
			waitpid(children[i], NULL, 0);
}

/* Compares the part of one CPU. Returns 1, 0 if it is not to be compared, or -1. */
static int compare_on(const struct on_cpus *o, int i, const char *name, __u64 *sum)
{
	struct counted outer, inner;
	struct libtally_value part;
	char what[64];
	int error;

	snprintf(what, sizeof(what), "%s on CPU %d", name, o->cpus[i]);
	error = libtally_values_read(o->tally, o->cpus[i], &part, 1, NULL);
	if (error < 0) {
		fault("%s: tally cannot read it: %s", what, strerror(-error));
		return -1;
	}
	*sum += part.value;
	if (!selftest_read(o->perf[OUTER][i], &outer, 1) ||
	    !selftest_read(o->perf[INNER][i], &inner, 1) || outer.running < outer.enabled ||
	    inner.running < inner.enabled || part.running < part.enabled)
		return 0;
	return selftest_lies(what, inner.value, part.value, outer.value) ? 1 : -1;
}

static void compare_all(const struct on_cpus *o, const char *name)
{
	int i, result, same = 0, wrong = 0;
	struct counted all;
	__u64 sum = 0;

	for (i = 0; i < o->nr; i++) {
		result = compare_on(o, i, name, &sum);
		same += result > 0;
		wrong += result < 0;
	}
	if (!selftest_read(o->tally, &all, 1) || (!o->more && all.value != sum))
		fault("%s on all CPUs: read(2) returns %llu, and the sum of the CPUs is %llu", name,
		      (unsigned long long)all.value, (unsigned long long)sum);
	else if (!wrong)
		finding(same ? "ok" : "note", "%s on all CPUs: on %d of %d CPUs, tally's part lies "
			"between perf's two%s", name, same, o->nr + o->more,
			same < o->nr ? "; others share the PMU" : "");
}

static void check_on_cpus(struct selftest *t, struct on_cpus *o, const char *name)
{
	const struct place all = { .pid = -1, .cpu = -1 };

	memset(o->perf, -1, sizeof(o->perf));
	o->tally = selftest_open(t, TALLY, &o->attr, &all, -1);
	if (o->tally < 0) {
		fault("%s on all CPUs: %s", name, t->why);
	} else if (!open_on(t, o, OUTER) || !open_on(t, o, INNER)) {
		note("not tried: %s on all CPUs: perf: %s", name, t->why);
	} else {
		enable_on(o, OUTER, true);
		selftest_enable(o->tally, true);
		enable_on(o, INNER, true);
		work_on(o);
		enable_on(o, INNER, false);
		selftest_enable(o->tally, false);
		enable_on(o, OUTER, false);
		compare_all(o, name);
	}
	selftest_close(&o->tally, 1);
	selftest_close(o->perf[OUTER], o->nr);
	selftest_close(o->perf[INNER], o->nr);
}

void check_cpus(struct selftest *t)
{
	struct on_cpus o = { .nr = 0 };

	if (!t->on_cpus) {
		note("not tried: each CPU: no right to count CPUs");
		return;
	}
	each_online(add_cpu, &o);
	selftest_attr(t, &o.attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	check_on_cpus(t, &o, "page-faults");
	selftest_attr(t, &o.attr, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	if (t->event)
		check_on_cpus(t, &o, "cycles");
}

/* ---- hotplug ---- */

static bool set_online(int cpu, bool online)
{
	char path[64];
	int fd;
	bool done;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	done = fd >= 0 && write(fd, online ? "1" : "0", 1) == 1;
	if (fd >= 0)
		close(fd);
	return done;
}

static void find_last(void *data, int cpu)
{
	*(int *)data = cpu;
}

/* Works on a CPU, and reads tally's part of it there. */
static bool work_and_read(const struct selftest *t, int fd, int cpu, struct libtally_value *part)
{
	bool there = selftest_go_to(cpu);

	selftest_work(WINDOW_MS);
	selftest_go_to(t->cpu);
	return libtally_values_read(fd, cpu, part, 1, NULL) == 1 && there;
}

/* Waits until tally counts on a CPU again, as soon as a second later. */
static void wait_active(int fd, int cpu)
{
	struct libtally_value part = { .state = LIBTALLY_IS_OFFLINE };
	__u64 end = now_ns() + 1000000000ULL;

	while (part.state != LIBTALLY_IS_ACTIVE && now_ns() < end)
		libtally_values_read(fd, cpu, &part, 1, NULL);
}

/* Returns NULL, or what failed. */
static const char *unplug(struct selftest *t, int fd, int cpu, struct libtally_value *part,
			  __u64 *inner)
{
	const struct place place = { .pid = -1, .cpu = cpu };
	struct perf_event_attr attr = t->attr;
	struct counted c = { 0 };
	int perf;

	if (!work_and_read(t, fd, cpu, &part[0]))
		return "its part cannot be read";
	if (!set_online(cpu, false))
		return "it cannot be taken offline";
	libtally_values_read(fd, cpu, &part[1], 1, NULL);
	if (!set_online(cpu, true))
		return "it stays offline";
	wait_active(fd, cpu);
	perf = selftest_open(t, INNER, &attr, &place, -1);
	selftest_enable(perf, true);
	work_and_read(t, fd, cpu, &part[2]);
	selftest_enable(perf, false);
	if (perf >= 0 && selftest_read(perf, &c, 1))
		*inner = c.value;
	selftest_close(&perf, 1);
	libtally_values_read(fd, cpu, &part[2], 1, NULL);
	return NULL;
}

static void compare_unplugged(int cpu, const struct libtally_value *part, __u64 inner)
{
	if (part[1].state != LIBTALLY_IS_OFFLINE || part[1].value < part[0].value)
		fault("hotplug of CPU %d: offline, tally says %s and %llu, and before %llu", cpu,
		      libtally_state_name(part[1].state), (unsigned long long)part[1].value,
		      (unsigned long long)part[0].value);
	else if (part[2].state != LIBTALLY_IS_ACTIVE || part[2].value - part[1].value < inner)
		fault("hotplug of CPU %d: back, tally says %s and counted %llu more, perf %llu",
		      cpu, libtally_state_name(part[2].state),
		      (unsigned long long)(part[2].value - part[1].value),
		      (unsigned long long)inner);
	else
		good("hotplug of CPU %d: offline at %llu; back, tally counted %llu more, perf %llu "
		     "of these", cpu, (unsigned long long)part[1].value,
		     (unsigned long long)(part[2].value - part[1].value),
		     (unsigned long long)inner);
}

void check_hotplug(struct selftest *t)
{
	const struct place all = { .pid = -1, .cpu = -1 };
	struct libtally_value part[3];
	const char *failed;
	char path[64];
	__u64 inner = 0;
	sigset_t signals;
	int cpu = 0, fd;

	if (!t->hotplug || geteuid() || !t->on_cpus) {
		note("not tried: hotplug: %s", t->hotplug ? "only root may take a CPU offline" :
							     "it takes the option --hotplug");
		return;
	}
	each_online(find_last, &cpu);
	if (cpu <= 0) {
		note("not tried: hotplug: there is only CPU 0");
		return;
	}
	memset(part, 0, sizeof(part));
	if (!t->event)
		selftest_attr(t, &t->attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	fd = selftest_open(t, TALLY, &t->attr, &all, -1);
	if (fd < 0) {
		fault("hotplug: %s", t->why);
		return;
	}
	selftest_enable(fd, true);
	/* Nobody ends the command while the CPU is offline. */
	block_signals(&signals);
	failed = unplug(t, fd, cpu, part, &inner);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	selftest_close(&fd, 1);
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	if (failed && !number_in(path, 1))
		fault("hotplug of CPU %d: %s", cpu, failed);
	else if (failed)
		note("not tried: hotplug of CPU %d: %s", cpu, failed);
	else
		compare_unplugged(cpu, part, inner);
}
