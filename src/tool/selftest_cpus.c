// SPDX-License-Identifier: GPL-2.0
/* The self-test's checks of events on all CPUs: each CPU beside perf, and one that goes offline. */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "doctor.h"
#include "selftest.h"
#include "tool.h"

#define CPUS	16	/* that are counted one by one */

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

/*
 * Compares the part of one CPU. Returns the mark of what it writes to the text, "ok" without one;
 * NULL if the PMU was shared, so that the three counts are estimates.
 */
static const char *compare_on(struct selftest *t, const struct on_cpus *o, int i, const char *name,
			      __u64 *sum, char *text)
{
	struct counted outer, inner;
	struct libtally_value part;
	char what[64];
	int error;

	snprintf(what, sizeof(what), "%s on CPU %d", name, o->cpus[i]);
	error = libtally_values_read(o->tally, o->cpus[i], &part, 1, NULL);
	if (error < 0) {
		snprintf(text, LINE_SIZE, "%s: tally cannot read it: %s", what, strerror(-error));
		return "BAD";
	}
	*sum += part.value;
	if (!selftest_read(t, OUTER, o->perf[OUTER][i], &outer, 1) ||
	    !selftest_read(t, INNER, o->perf[INNER][i], &inner, 1)) {
		snprintf(text, LINE_SIZE, "%s: perf: %s", what, t->why);
		return "note";
	}
	if (outer.running < outer.enabled || inner.running < inner.enabled ||
	    part.running < part.enabled)
		return NULL;
	return selftest_compare(text, what, inner.value, part.value, outer.value);
}

/* Prints how many CPUs are as they should be, and how many of the others are why not. */
static void print_cpus(const struct on_cpus *o, const char *name, int same, int deviating,
		       int shared)
{
	char rest[LINE_SIZE] = "";
	size_t length;

	if (deviating)
		snprintf(rest, sizeof(rest), "; %d deviate", deviating);
	length = strlen(rest);
	if (shared)
		snprintf(rest + length, sizeof(rest) - length, "; others share the PMU of %d",
			 shared);
	length = strlen(rest);
	if (o->more)
		snprintf(rest + length, sizeof(rest) - length, "; %d were left out", o->more);
	finding(same && !deviating ? "ok" : "note",
		"%s on all CPUs: tally's part lies between perf's two on %d of %d CPUs%s", name,
		same, o->nr + o->more, rest);
}

/* A line is about the first CPU that deviates, and one about all. */
static void compare_all(struct selftest *t, const struct on_cpus *o, const char *name)
{
	char text[LINE_SIZE] = "", first[LINE_SIZE] = "";
	int i, same = 0, deviating = 0, shared = 0;
	const char *mark, *worst = "ok";
	struct counted all;
	__u64 sum = 0;

	for (i = 0; i < o->nr; i++) {
		mark = compare_on(t, o, i, name, &sum, text);
		if (!mark) {
			shared++;
		} else if (!strcmp(mark, "ok")) {
			same++;
		} else if (!deviating++ || (!strcmp(mark, "BAD") && strcmp(worst, "BAD"))) {
			worst = mark;
			strcpy(first, text);
		}
	}
	if (deviating)
		finding(worst, "%s", first);
	if (!selftest_read(t, TALLY, o->tally, &all, 1))
		fault("%s on all CPUs: tally: %s", name, t->why);
	else if (!o->more && all.value != sum)
		fault("%s on all CPUs: read(2) returns %llu, and the sum of the CPUs is %llu", name,
		      (unsigned long long)all.value, (unsigned long long)sum);
	else
		print_cpus(o, name, same, deviating, shared);
}

static void check_on_cpus(struct selftest *t, struct on_cpus *o, const char *name)
{
	const struct place all = { .pid = -1, .cpu = -1 };
	char what[64];

	snprintf(what, sizeof(what), "%s on all CPUs", name);
	memset(o->perf, -1, sizeof(o->perf));
	o->tally = selftest_open(t, TALLY, &o->attr, &all, -1);
	if (o->tally < 0 || !open_on(t, o, OUTER) || !open_on(t, o, INNER)) {
		selftest_refused(t, what);
	} else {
		enable_on(o, OUTER, true);
		selftest_enable(o->tally, true);
		enable_on(o, INNER, true);
		work_on(o);
		enable_on(o, INNER, false);
		selftest_enable(o->tally, false);
		enable_on(o, OUTER, false);
		compare_all(t, o, name);
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
	if (perf >= 0 && selftest_read(t, INNER, perf, &c, 1))
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
