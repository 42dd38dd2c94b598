// SPDX-License-Identifier: GPL-2.0
/* The self-test's checks of events on all CPUs: each CPU beside perf, and one that goes offline. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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
 * Compares the part of one CPU, and adds it to the sum. Returns the mark of what it writes to text;
 * "ok" if it writes nothing; NULL if the PMU was shared, so that the counts are of different times.
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

/* Prints on how many CPUs tally's part is right, deviates, cannot be compared or was left out. */
static void print_cpus(const struct on_cpus *o, const char *name, int same, int deviating,
		       int shared)
{
	char rest[LINE_SIZE] = "";
	size_t length;

	if (deviating)
		snprintf(rest, sizeof(rest), "; %d deviate", deviating);
	length = strlen(rest);
	if (shared)
		snprintf(rest + length, sizeof(rest) - length, "; others share the PMU on %d",
			 shared);
	length = strlen(rest);
	if (o->more)
		snprintf(rest + length, sizeof(rest) - length, "; %d were left out", o->more);
	finding(same && !deviating ? "ok" : "note",
		"%s on all CPUs: tally's part lies between perf's two on %d of %d CPUs%s", name,
		same, o->nr + o->more, rest);
}

/* Prints a line about the first CPU that is BAD, or else deviates; and one about all CPUs. */
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

/**
 * struct unplugged - what was counted of a CPU that went offline and came back
 * @before:	tally's part before that
 * @offline:	the same while the CPU was offline
 * @returned:	the same after the return
 * @last:	the same after some work
 * @inner:	perf's count of that work
 */
struct unplugged {
	struct libtally_value before, offline, returned, last;
	struct counted inner;
};

/* Reads tally's part of a CPU. */
static bool read_part(struct selftest *t, int fd, int cpu, struct libtally_value *part)
{
	int nr = libtally_values_read(fd, cpu, part, 1, NULL);

	if (nr != 1)
		selftest_fail(t, TALLY, nr < 0 ? -nr : 0, "the part of the CPU cannot be read");
	return nr == 1;
}

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

/* Waits until the command lets go of the pipe, for at most a minute. Then brings the CPU back. */
static void guard(int cpu, int end)
{
	struct pollfd pipe = { .fd = end };
	__u64 deadline;

	setsid();
	poll(&pipe, 1, 60000);
	deadline = now_ns() + 10000000000ULL;
	/* Another program may keep CPUs from coming and going for a moment. */
	while (!set_online(cpu, true) && now_ns() < deadline)
		poll(NULL, 0, 100);
	_exit(0);
}

/*
 * Takes the CPU offline, reads tally's part, and brings the CPU back. The caller has blocked all
 * signals, but SIGKILL ends the command all the same: then the pipe ends, whose write end nobody
 * else has, and the guard goes on. So the guard always brings the CPU back. Returns false, with
 * t->why, if the CPU was not offline or the part cannot be read.
 */
static bool go_offline(struct selftest *t, int fd, int cpu, struct unplugged *u)
{
	bool done = false;
	pid_t child;
	int ends[2];

	selftest_fail(t, LAYERS, 0, "it cannot be taken offline");
	if (pipe2(ends, O_CLOEXEC))
		return false;
	fflush(NULL);
	child = fork();
	if (!child) {
		close(ends[1]);
		guard(cpu, ends[0]);
	}
	if (child > 0 && set_online(cpu, false))
		done = read_part(t, fd, cpu, &u->offline);
	close(ends[1]);
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return done;
}

/* Works on a CPU, and reads tally's part of it. */
static bool work_and_read(struct selftest *t, int fd, int cpu, struct libtally_value *part)
{
	if (!selftest_go_to(cpu)) {
		selftest_fail(t, LAYERS, errno, "the command cannot run there");
		return false;
	}
	selftest_work(WINDOW_MS);
	selftest_go_to(t->cpu);
	return read_part(t, fd, cpu, part);
}

/* Waits until tally counts on a CPU again, for at most a second. */
static void wait_active(int fd, int cpu, struct libtally_value *part)
{
	__u64 end = now_ns() + 1000000000ULL;

	while (part->state != LIBTALLY_IS_ACTIVE && now_ns() < end)
		libtally_values_read(fd, cpu, part, 1, NULL);
}

/* Counts the CPU that has come back, by tally and by a new file of perf. */
static bool count_again(struct selftest *t, int fd, int cpu, struct unplugged *u)
{
	const struct place place = { .pid = -1, .cpu = cpu };
	bool done;
	int perf;

	wait_active(fd, cpu, &u->returned);
	perf = selftest_open(t, INNER, &t->attr, &place, -1);
	if (perf < 0)
		return false;
	selftest_enable(perf, true);
	done = work_and_read(t, fd, cpu, &u->last);
	selftest_enable(perf, false);
	done = done && selftest_read(t, INNER, perf, &u->inner, 1);
	close(perf);
	/* Tally's part is read again, behind the end of perf's window. */
	return done && read_part(t, fd, cpu, &u->last);
}

static void compare_unplugged(int cpu, const struct unplugged *u)
{
	__u64 more = u->last.value - u->offline.value;
	__u64 running = u->last.running - u->returned.running;

	if (u->offline.state != LIBTALLY_IS_OFFLINE || u->offline.value < u->before.value)
		fault("hotplug of CPU %d: offline, tally says %s and %llu, and before %llu", cpu,
		      libtally_state_name(u->offline.state), (unsigned long long)u->offline.value,
		      (unsigned long long)u->before.value);
	else if (u->inner.running < u->inner.enabled || !u->inner.running ||
		 (running && running < u->last.enabled - u->returned.enabled))
		note("hotplug of CPU %d: not compared: others share its PMU", cpu);
	else if (u->last.state != LIBTALLY_IS_ACTIVE ||
		 u->last.value < u->offline.value + u->inner.value)
		fault("hotplug of CPU %d: back, tally says %s and counted %llu more, perf %llu",
		      cpu, libtally_state_name(u->last.state), (unsigned long long)more,
		      (unsigned long long)u->inner.value);
	else
		good("hotplug of CPU %d: offline at %llu; back, tally counted %llu more, perf %llu "
		     "of these", cpu, (unsigned long long)u->offline.value,
		     (unsigned long long)more, (unsigned long long)u->inner.value);
}

static void find_last(void *data, int cpu)
{
	if (!selftest_lists("isolated", cpu) && !selftest_lists("nohz_full", cpu))
		*(int *)data = cpu;
}

/* Takes the CPU offline while tally's file counts it. */
static void unplug(struct selftest *t, int fd, int cpu)
{
	struct unplugged u;
	sigset_t all, before;
	char text[96];
	bool done;

	memset(&u, 0, sizeof(u));
	selftest_enable(fd, true);
	done = work_and_read(t, fd, cpu, &u.before);
	/* Nobody ends or stops the command while the CPU is offline. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	done = done && go_offline(t, fd, cpu, &u);
	sigprocmask(SIG_SETMASK, &before, NULL);
	snprintf(text, sizeof(text), "/sys/devices/system/cpu/cpu%d/online", cpu);
	if (!number_in(text, 1) && !set_online(cpu, true)) {
		fault("hotplug of CPU %d: it stays offline: as root: echo 1 >%s", cpu, text);
		return;
	}
	snprintf(text, sizeof(text), "hotplug of CPU %d", cpu);
	if (done && count_again(t, fd, cpu, &u))
		compare_unplugged(cpu, &u);
	else
		selftest_refused(t, text);
}

void check_hotplug(struct selftest *t)
{
	const struct place all = { .pid = -1, .cpu = -1 };
	int cpu = 0, fd;

	if (!t->hotplug || geteuid() || !t->on_cpus) {
		note("not tried: hotplug: %s", t->hotplug ? "only root may take a CPU offline" :
							     "it takes the option --hotplug");
		return;
	}
	each_online(find_last, &cpu);
	if (cpu <= 0) {
		note("not tried: hotplug: only CPU 0 is neither isolated nor in nohz_full");
		return;
	}
	if (!t->event)
		selftest_attr(t, &t->attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	fd = selftest_open(t, TALLY, &t->attr, &all, -1);
	if (fd < 0) {
		selftest_refused(t, "hotplug");
		return;
	}
	unplug(t, fd, cpu);
	close(fd);
}
