// SPDX-License-Identifier: GPL-2.0
/*
 * Events of cgroups, in files of perf and of tally, which count the same tasks at the same
 * time:
 *
 * cgroups equal	counts of two cgroups, and of one above them
 * cgroups moves N	N moves of tasks between two cgroups, under load on all CPUs
 * cgroups samples	samples have tasks of the cgroup only, and are as many as perf's
 * cgroups page		the page of counts, while no task of the cgroup runs
 * cgroups clocks	counts and times, while a task of the cgroup runs on another CPU
 * cgroups refused	wrong targets, which perf refuses with the same errno
 * cgroups work DIR N	a process moves into DIR, and touches N pages
 *
 * The folder /sys/fs/cgroup/t has the cgroups a, with b below it, and c.
 */
#define _GNU_SOURCE
#include <sys/stat.h>
#include "devperf.h"

#define TOP	"/sys/fs/cgroup/t"
#define CPUS	64

static int dir_of(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), TOP "%s", name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		err(2, "%s", path);
	return fd;
}

static int procs_of(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), TOP "%s/cgroup.procs", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		err(2, "%s", path);
	return fd;
}

static void move(pid_t pid, int procs)
{
	if (dprintf(procs, "%d", pid) < 0)
		err(2, "a move of %d", pid);
}

/* ---- workers: processes that do one job for each byte of a pipe ---- */

struct worker {
	pid_t pid;
	int to, from;
};

static int forking = 1;

/* Touches pages, and has a child that does, too; then hands the CPU on. */
static void job(int round)
{
	touch(10 + round % 7);
	if (forking && round % 16 == 0)
		touch_in_child(5);
	sched_yield();
}

static void order(const struct worker *w)
{
	if (write(w->to, "", 1) != 1)
		err(2, "an order");
}

static void answer(const struct worker *w)
{
	char c;

	if (read(w->from, &c, 1) != 1)
		errx(2, "a worker is gone");
}

/* The first job is done when this returns: its page faults are those of a new process. */
static struct worker begin_worker(const char *name)
{
	int procs = procs_of(name), to[2], from[2], round = 0;
	struct worker w;
	char c;

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		err(2, "pipe");
	w = (struct worker) { fork(), to[1], from[0] };
	if (w.pid) {
		close(to[0]);
		close(from[1]);
		move(w.pid, procs);
		close(procs);
		order(&w);
		answer(&w);
		return w;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(to[1]);
	while (read(to[0], &c, 1) == 1 && !c) {
		job(round++);
		if (write(from[1], &c, 1) != 1)
			break;
	}
	_exit(0);
}

/* Later workers have copies of the pipe. The exit of the worker is counted, too. */
static void end_worker(struct worker *w)
{
	if (write(w->to, "q", 1) != 1)
		err(2, "the last order");
	close(w->to);
	close(w->from);
	waitpid(w->pid, NULL, 0);
}

/* ---- counts of all CPUs ---- */

struct counted {
	int fds[CPUS], nr;
};

static struct counted count_in(int kind, struct perf_event_attr *a, int dir)
{
	struct counted c = { .nr = kind == PERF ? nr_online() : 1 };
	int i;

	for (i = 0; i < c.nr; i++) {
		o = request(a, dir, kind == PERF ? i : -1, -1,
			    PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
		o.flags = TALLY_OPEN_ALL_CPUS;
		c.fds[i] = open_as(kind, &o);
		if (c.fds[i] < 0)
			c.nr = -1;
	}
	return c;
}

static uint64_t sum_of(const struct counted *c)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < c->nr; i++)
		sum += value_of(c->fds[i]);
	return sum;
}

static void end_counts(struct counted *c)
{
	while (c->nr > 0)
		close(c->fds[--c->nr]);
}

#define HARD(number)	\
	.type = PERF_TYPE_HARDWARE, .size = sizeof(struct perf_event_attr), .config = (number)

static struct kind_of_event {
	const char *name;
	struct perf_event_attr attr;
} events[] = {
	{ "context-switches", { SW(PERF_COUNT_SW_CONTEXT_SWITCHES) } },
	{ "page-faults", { PAGE_FAULTS } },
	{ "page-faults:u", { PAGE_FAULTS, .exclude_kernel = 1 } },
	{ "context-switches:u", { SW(PERF_COUNT_SW_CONTEXT_SWITCHES), .exclude_kernel = 1 } },
	{ "cpu-migrations", { SW(PERF_COUNT_SW_CPU_MIGRATIONS) } },
	{ "cgroup-switches", { SW(PERF_COUNT_SW_CGROUP_SWITCHES) } },
	{ "instructions:u", { HARD(PERF_COUNT_HW_INSTRUCTIONS), .exclude_kernel = 1 } },
	{ "cycles", { HARD(PERF_COUNT_HW_CPU_CYCLES) } },
};

static const char *const cgroups[] = { "/a", "/a/b", "/c", "" };

/* ---- equal ---- */

static struct counted counts[NR(events)][NR(cgroups)][2];

/* The PMU has room for the hardware events of two cgroups, one of which is running. */
static int is_counted(unsigned int e, unsigned int g)
{
	return events[e].attr.type != PERF_TYPE_HARDWARE || g == 0 || g == 2;
}

/*
 * Whether the condition becomes true in time. waitpid() returns before the last instructions and the
 * last switch of a task that exits: of two sums, one may be read before these, and the other after
 * them. Once the task is gone, the sums stand still.
 */
#define in_time(condition) ({			\
	int turn;				\
						\
	for (turn = 0; !(condition) && turn < 10000; turn++)	\
		usleep(1000);			\
	turn < 10000;				\
})

static void compare(unsigned int e, unsigned int g)
{
	uint64_t perf, tally;

	tell(in_time((perf = sum_of(&counts[e][g][PERF])) ==
		     (tally = sum_of(&counts[e][g][TALLY]))) &&
	     (perf || strstr(events[e].name, "cpu-migrations") ||
	     strstr(events[e].name, "switches:u")),
	     "%s of t%s: perf %llu, tally %llu", events[e].name, cgroups[g],
	     (unsigned long long)perf, (unsigned long long)tally);
}

static void equal(void)
{
	struct worker workers[3];
	unsigned int e, g, kind;
	int round;

	for (g = 0; g < 3; g++)
		workers[g] = begin_worker(cgroups[g]);
	for (e = 0; e < NR(events); e++)
		for (g = 0; g < NR(cgroups); g++)
			for (kind = PERF; kind <= TALLY && is_counted(e, g); kind++)
				counts[e][g][kind] = count_in(kind, &events[e].attr,
							      dir_of(cgroups[g]));
	for (round = 0; round < 300; round++) {
		for (g = 0; g < 3; g++)
			order(&workers[g]);
		for (g = 0; g < 3; g++)
			answer(&workers[g]);
	}
	for (g = 0; g < 3; g++)
		end_worker(&workers[g]);
	for (e = 0; e < NR(events); e++) {
		if (counts[e][0][PERF].nr < 0) {
			tell(counts[e][0][TALLY].nr < 0, "%s: neither perf nor tally has it: %s",
			     events[e].name, why.text);
			continue;
		}
		for (g = 0; g < NR(cgroups); g++)
			if (is_counted(e, g))
				compare(e, g);
		for (g = 0; g < NR(cgroups); g++)
			for (kind = PERF; kind <= TALLY; kind++)
				end_counts(&counts[e][g][kind]);
	}
}

/* ---- moves ---- */

#define WORKERS	8

/*
 * perf counts a page fault with interrupts enabled, by one event after the other. If the interrupt
 * that moves the task comes between two of them, it takes the later ones off the CPU, and they
 * miss this fault. Switches are counted with interrupts disabled.
 */
static int agree(uint64_t one, uint64_t other, int e, int nr)
{
	uint64_t most = events[e].attr.config == PERF_COUNT_SW_PAGE_FAULTS ? (nr + 249) / 250 : 0;

	return one > other ? one - other <= most : other - one <= most;
}

static void moves(char **arguments)
{
	static const char *const to[] = { "/a", "/c", "" };
	int procs[2] = { procs_of("/a"), procs_of("/c") };
	struct counted sums[2][NR(to)][2];
	struct worker workers[WORKERS];
	int nr = atoi(arguments[0]), n, i, kind, e;
	uint64_t parts, whole, perf, tally;

	for (i = 0; i < WORKERS; i++)
		workers[i] = begin_worker(to[i % 2]);
	for (e = 0; e < 2; e++)
		for (i = 0; i < (int)NR(to); i++)
			for (kind = PERF; kind <= TALLY; kind++)
				sums[e][i][kind] = count_in(kind, &events[e].attr, dir_of(to[i]));
	for (n = 0; n < nr; ) {
		for (i = 0; i < WORKERS; i++)
			order(&workers[i]);
		/* They run, or wait for a CPU, while they are moved. */
		for (i = 0; i < WORKERS; i++, n++)
			move(workers[i].pid, procs[(n / WORKERS + i + 1) % 2]);
		for (i = 0; i < WORKERS; i++)
			answer(&workers[i]);
	}
	for (i = 0; i < WORKERS; i++)
		end_worker(&workers[i]);
	for (e = 0; e < 2; e++) {
		for (kind = PERF; kind <= TALLY; kind++) {
			tell(in_time((parts = sum_of(&sums[e][0][kind]) +
					      sum_of(&sums[e][1][kind]),
				      whole = sum_of(&sums[e][2][kind]),
				      agree(parts, whole, e, n))) && sum_of(&sums[e][0][kind]) &&
			     sum_of(&sums[e][1][kind]),
			     "%s: %d moves, %s: a and c have %llu, both have %llu",
			     events[e].name, n, maker(kind), (unsigned long long)parts,
			     (unsigned long long)whole);
		}
		for (i = 0; i < (int)NR(to); i++)
			tell(in_time((perf = sum_of(&sums[e][i][PERF]),
				      tally = sum_of(&sums[e][i][TALLY]),
				      agree(perf, tally, e, n))),
			     "%s of t%s: perf %llu, tally %llu", events[e].name, to[i],
			     (unsigned long long)perf, (unsigned long long)tally);
	}
}

/* ---- samples ---- */

#define PAGES	64

/* Returns the number of samples in the ring, and in @foreign those of other tasks. */
static unsigned int samples_in(struct ring *r, pid_t pid, unsigned int *foreign)
{
	uint64_t head = head_of(r);
	struct perf_event_header *h;
	unsigned int nr = 0;

	*foreign = 0;
	for (; (h = r->tail < head ? copy_record(r, r->tail, head) : NULL); r->tail += h->size) {
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		nr++;
		*foreign += *(pid_t *)(h + 1) != pid;
	}
	return nr;
}

static void samples(void)
{
	struct perf_event_attr a = {
		PAGE_FAULTS, .exclude_kernel = 1, .sample_type = PERF_SAMPLE_TID,
	};
	unsigned int nr[2], foreign[2], period;
	static struct ring rings[2];
	int kind, dir = dir_of("/a"), i;
	struct worker w;

	run_on(0);
	forking = 0;
	for (period = 1; period < 100; period += 12) {
		a.sample_period = period;
		w = begin_worker("/a/b");
		for (kind = PERF; kind <= TALLY; kind++) {
			o = request(&a, dir, 0, -1, PERF_FLAG_PID_CGROUP);
			must_map(&rings[kind], must_open(kind, &o), PAGES);
		}
		for (i = 0; i < 40; i++) {
			order(&w);
			touch(13);
			answer(&w);
		}
		end_worker(&w);
		for (kind = PERF; kind <= TALLY; kind++) {
			nr[kind] = samples_in(&rings[kind], w.pid, &foreign[kind]);
			tell(!foreign[kind] && nr[kind] &&
			     nr[kind] == value_of(rings[kind].fd) / period,
			     "period %u: %s: %u samples, %u of others, %llu faults", period,
			     maker(kind), nr[kind], foreign[kind],
			     (unsigned long long)value_of(rings[kind].fd));
			unmap_ring(&rings[kind]);
		}
		tell(nr[PERF] == nr[TALLY],
		     "period %u: as many of both", period);
	}
}

/* ---- the page of counts ---- */

/* The page has the whole count while the tasks of the cgroup are away. */
static void page(void)
{
	struct perf_event_attr a = { PAGE_FAULTS, .exclude_kernel = 1 };
	const struct perf_event_mmap_page *shown;
	int fd, dir = dir_of("/a"), i;
	struct worker w;

	run_on(0);
	w = begin_worker("/a/b");
	o = request(&a, dir, 0, -1, PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
	o.publish_ns = 1000000;
	fd = open_it();
	shown = map(fd, PROT_READ);
	if (shown == MAP_FAILED)
		err(2, "a page of counts: %s", why.text);
	for (i = 0; i < 50; i++) {
		order(&w);
		answer(&w);
	}
	tell(value_of(fd) >= 500 && while_busy(shown->offset == (int64_t)value_of(fd)),
	     "the page of counts has %lld of %llu", (long long)shown->offset,
	     (unsigned long long)value_of(fd));
	end_worker(&w);
	close(fd);
}

/* ---- counts and times while a task runs ---- */

#define CLOCK_MS	100
#define MOST_NS		60000000000ULL
#define TIMES	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

struct shot {
	uint64_t value, enabled, running;
};

static struct shot shot_of(int fd)
{
	struct shot s;

	if (read(fd, &s, sizeof(s)) != sizeof(s))
		err(2, "read");
	return s;
}

static struct shot shot_of_cpu(int fd, int cpu)
{
	struct tally_value v;

	if (read_first(fd, cpu, &v))
		err(2, "TALLY_IOC_READ");
	return (struct shot) { v.value, v.enabled_ns, v.running_ns };
}

static int is_between(const struct shot *before, const struct shot *s, const struct shot *after)
{
	return before->value <= s->value && s->value <= after->value &&
	       before->enabled <= s->enabled && s->enabled <= after->enabled &&
	       before->running <= s->running && s->running <= after->running;
}

/* A page is older than a read, and never goes back. */
static int has_grown(const struct shown *then, const struct shown *now, const struct shot *most)
{
	return now->value >= then->value && now->enabled >= then->enabled &&
	       now->running >= then->running && now->value <= (int64_t)most->value &&
	       now->enabled <= most->enabled && now->running <= most->running;
}

/* A process of a cgroup that runs on CPU 1 from let_go_on() on. */
static pid_t begin_runner(const char *name, int go[2])
{
	int procs = procs_of(name);
	pid_t pid = fork_waiting(go);

	if (pid) {
		move(pid, procs);
		close(procs);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run_on(1);
	for (;;)
		relax();
}

/*
 * perf and tally begin to count when the task gets the CPU, by one clock. So each of tally's reads
 * lies between two of perf's.
 */
static void clock_of(uint64_t config, const char *name)
{
	struct perf_event_attr a = { SW(config), .read_format = TIMES };
	int fds[2], kind, go[2], dir = dir_of("/a"), wrong[3] = { 0 }, nr = 0;
	struct shown shown = { 0 }, last;
	struct shot before, s, cpu, after;
	volatile void *page;
	pid_t pid = begin_runner("/a/b", go);
	uint64_t begun;

	for (kind = PERF; kind <= TALLY; kind++) {
		o = request(&a, dir, 1, -1, PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
		o.publish_ns = 1000000;
		fds[kind] = must_open(kind, &o);
	}
	page = map(fds[TALLY], PROT_READ);
	/* The contexts' clocks go on meanwhile, and those of the cgroup do not. */
	wait_ms(2 * CLOCK_MS);
	let_go_on(go);
	begun = now_ns();
	do {
		before = shot_of(fds[PERF]);
		s = shot_of(fds[TALLY]);
		cpu = shot_of_cpu(fds[TALLY], 1);
		last = shown;
		shown = read_page(page);
		after = shot_of(fds[PERF]);
		wrong[0] += !is_between(&before, &s, &after);
		wrong[1] += !is_between(&before, &cpu, &after);
		wrong[2] += !has_grown(&last, &shown, &after);
		nr++;
	} while ((after.running < CLOCK_MS * 1000000ULL || !shown.value) &&
		 now_ns() - begun < MOST_NS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	tell(shown.value, "%s: the page shows it", name);
	/* The task may leave the CPU a moment after its end is known. */
	do {
		before = shot_of(fds[PERF]);
		wait_ms(20);
		after = shot_of(fds[PERF]);
	} while (memcmp(&before, &after, sizeof(before)));
	tell(!wrong[0], "%s: %d of %d reads are not between two of perf", name, wrong[0], nr);
	tell(!wrong[1], "%s: nor are %d reads of the CPU", name, wrong[1]);
	tell(!wrong[2], "%s: %d pages went back, or too far", name, wrong[2]);
	s = shot_of(fds[TALLY]);
	tell(!memcmp(&before, &s, sizeof(s)), "%s: perf %llu, tally %llu, enabled %llu and %llu ns",
	     name, (unsigned long long)before.value, (unsigned long long)s.value,
	     (unsigned long long)before.enabled, (unsigned long long)s.enabled);
	for (kind = PERF; kind <= TALLY; kind++)
		close(fds[kind]);
}

static void clocks(void)
{
	run_on(0);
	clock_of(PERF_COUNT_SW_TASK_CLOCK, "task-clock");
}

/* ---- refused ---- */

static void both_refuse(int pid, int cpu, unsigned long flags, int error, const char *what)
{
	struct perf_event_attr a = { PAGE_FAULTS };
	int perf, tally;

	o = request(&a, pid, cpu, -1, flags);
	perf = open_errno(PERF);
	tally = open_errno(TALLY);
	tell(perf == error && tally == error && why.text[0], "%s: perf %s, tally %s: %s", what,
	     errno_name(perf), errno_name(tally), why.text);
}

static void refusals(void)
{
	int top = dir_of(""), procs = procs_of("/a"), gone, leader, tree, fd;
	struct perf_event_attr a = { PAGE_FAULTS };
	const unsigned long cgroup = PERF_FLAG_PID_CGROUP;

	if (mkdir(TOP "/gone", 0755))
		err(2, "mkdir");
	gone = dir_of("/gone");
	rmdir(TOP "/gone");
	tree = open("/proc", O_RDONLY | O_DIRECTORY);
	both_refuse(9999, 0, cgroup, EBADF, "no file");
	both_refuse(-2, 0, cgroup, EBADF, "no number of a file");
	both_refuse(device, 0, cgroup, EBADF, "a device");
	both_refuse(tree, 0, cgroup, EBADF, "a directory of no cgroup");
	both_refuse(procs, 0, cgroup, EBADF, "a file of a cgroup");
	both_refuse(gone, 0, cgroup, ENOENT, "a cgroup that is removed");
	both_refuse(top, -1, cgroup, EINVAL, "every CPU");
	both_refuse(-1, 0, cgroup, EINVAL, "cgroup -1");
	both_refuse(top, 9999, cgroup, EINVAL, "a CPU that does not exist");
	both_refuse(top, 0, cgroup | 1UL << 20, EINVAL, "an unknown flag");
	leader = open_event(TALLY, &a, top, 0, -1, cgroup);
	fd = open_event(TALLY, &a, dir_of("/a"), 0, leader, cgroup);
	tell(leader >= 0 && fd < 0 && errno == EINVAL, "a leader of another cgroup: %s", why.text);
	fd = open_event(TALLY, &a, -1, 0, leader, 0);
	tell(fd < 0 && errno == EINVAL, "a sibling of no cgroup: %s", why.text);
	fd = open_event(TALLY, &a, top, 0, leader, cgroup);
	tell(fd >= 0, "a sibling of the same cgroup");
}

static void work(char **arguments)
{
	move(getpid(), procs_of(arguments[0]));
	touch(atoi(arguments[1]));
}

int main(int argc, char **argv)
{
	static const struct devtest tests[] = {
		{ "equal", .run = equal },
		{ "moves", .arguments = 1, .with = moves },
		{ "samples", .run = samples },
		{ "page", .run = page },
		{ "clocks", .run = clocks },
		{ "refused", .run = refusals },
		{ "work", .arguments = 2, .with = work },
		{ }
	};

	return run_test(tests, argc, argv);
}
