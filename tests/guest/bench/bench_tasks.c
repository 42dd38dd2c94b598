// SPDX-License-Identifier: GPL-2.0
/*
 * bench_tasks: what a switch, and a fork with an exit, of tasks without an event cost while
 * others have events, in tenths of an instruction, with icount:
 *
 *	# figure tasks tally_switch_one_1000 123
 *
 *	switch	two processes hand a byte to each other, beside N threads of a third one
 *	fork	a process forks, and its child exits
 *
 *	# figure cgroups tally_in_out 123
 *
 *	in_out	the two processes are in a cgroup with an event, and in one without
 *	in_in	both are in the cgroup with an event; out_out: neither is
 *
 * bench_tasks WHOSE: what tasks pay for 100 counting events of the CPU, if WHOSE is "perf" or
 * "tally". Any other word opens no event, and is only the name of the figures:
 *
 *	# figure others tally_switch 123
 *
 *	switch and fork as above; interrupt: a timer's, of a task that runs; idle: the CPU is
 *	idle for 100 us, and that time is not counted
 *
 * The N threads sleep. "one" are threads of one file, which has the records of a process and
 * its threads; "each" have a file each. Files are of perf or of tally; "no" has none.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "bench.h"

#define CALLS	60

/* ---- who has events ---- */

static int kind_of(const char *whose)
{
	return strcmp(whose, "tally") ? PERF : TALLY;
}

static void open_records(void)
{
	struct perf_event_attr attr = {
		SW(PERF_COUNT_SW_DUMMY), .comm = 1, .task = 1, .context_switch = 1,
		.remove_on_exec = 1, .inherit = 1, .inherit_thread = 1,
	};
	struct tally_open r = request(&attr, 0, -1, -1, 0);

	must_open(device < 0 ? PERF : TALLY, &r);
}

static int ready[2], begun[2];
static void *sleeper(void *each)
{
	if (each)
		open_records();
	if (write(begun[1], "", 1) != 1)
		die("begun: %m");
	for (;;)
		pause();
	return NULL;
}

/* Makes the threads, and returns the process that has them. */
static pid_t others(int nr, const char *whose, int each)
{
	pthread_attr_t small;
	pthread_t thread;
	char c;
	pid_t pid;
	int i;

	if (pipe(ready) || pipe(begun))
		die("pipe: %m");
	pid = fork();
	if (pid) {
		if (read(ready[0], &c, 1) != 1 || c)
			die("the others are not there");
		close(ready[0]);
		close(ready[1]);
		close(begun[0]);
		close(begun[1]);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (kind_of(whose) == TALLY)
		need_device();
	if (!each && strcmp(whose, "no"))
		open_records();
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32768);
	for (i = 0; i < nr; i++)
		if (pthread_create(&thread, &small, sleeper, each ? &device : NULL))
			die("thread %d: %m", i);
	for (i = 0; i < nr; i++)
		if (read(begun[0], &c, 1) != 1)
			die("begun: %m");
	if (write(ready[1], "", 1) != 1)
		die("ready: %m");
	for (;;)
		pause();
}

/* ---- what is measured ---- */

static int there[2], back[2];

static void switches(void)
{
	char c;

	if (write(there[1], "", 1) != 1 || read(back[0], &c, 1) != 1)
		die("switch: %m");
}

static pid_t begin_echo(void)
{
	pid_t pid;
	char c;

	if (pipe(there) || pipe(back))
		die("pipe: %m");
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	_exit(0);
}

static void forks(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("fork: %m");
}

/* The longest time between two looks at the clock is the one with the interrupt. */
static unsigned long long interrupt(timer_t timer)
{
	const struct itimerspec soon = { .it_value.tv_nsec = 50000 };
	unsigned long long begin = now_ns(), before = begin, now, most = 0;

	timer_settime(timer, 0, &soon, NULL);
	for (now = now_ns(); now - begin < 100000; now = now_ns()) {
		if (now - before > most)
			most = now - before;
		before = now;
	}
	return most;
}

static void idle(void)
{
	const struct timespec soon = { .tv_nsec = 100000 };

	nanosleep(&soon, NULL);
}

static int compare(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a, y = *(const unsigned long long *)b;

	return (x > y) - (x < y);
}

/*
 * Returns ten times the median of the calls: a timer changes the cost of some, to less or to
 * more. Between two calls the kernel frees what the first one has left.
 */
static unsigned long long cost(void (*op)(void))
{
	unsigned long long costs[CALLS], t;
	int i;

	for (i = 0; i < CALLS; i++) {
		usleep(20000);
		op();
		t = now_ns();
		op();
		costs[i] = now_ns() - t;
	}
	qsort(costs, CALLS, sizeof(costs[0]), compare);
	return 10 * costs[CALLS / 2];
}

static void measure(const char *whose, int nr, int each)
{
	pid_t pid = others(nr, whose, each);
	const char *files = each ? "each" : "one";

	printf("# figure tasks %s_switch_%s_%d %llu\n", whose, files, nr, cost(switches));
	printf("# figure tasks %s_fork_%s_%d %llu\n", whose, files, nr, cost(forks));
	fflush(stdout);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- cgroups ---- */

#define CGROUPS	"/sys/fs/cgroup/"

static void enter(const char *cgroup, pid_t pid)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), CGROUPS "%s/cgroup.procs", cgroup);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%d", pid) < 0 || fclose(f))
		die("%s: %m", path);
}

static int open_in(const char *whose, int dir)
{
	struct perf_event_attr attr = { PAGE_FAULTS };
	struct tally_open r = request(&attr, dir, 0, -1, PERF_FLAG_PID_CGROUP);
	int fd;

	device = device_file();
	fd = must_open(kind_of(whose), &r);
	close(device);
	return fd;
}

static void measure_cgroups(const char *whose, pid_t echo)
{
	static const char *const pairs[][2] = { { "in", "out" }, { "in", "in" }, { "out", "out" } };
	int dir = open(CGROUPS "in", O_RDONLY | O_DIRECTORY), fd = dir;
	unsigned int i;

	if (strcmp(whose, "no"))
		fd = open_in(whose, dir);
	for (i = 0; i < 3; i++) {
		enter(pairs[i][0], getpid());
		enter(pairs[i][1], echo);
		printf("# figure cgroups %s_%s_%s %llu\n", whose, pairs[i][0], pairs[i][1],
		       cost(switches));
	}
	fflush(stdout);
	enter(".", getpid());
	enter(".", echo);
	close(fd);
	if (fd != dir)
		close(dir);
	/* perf leaves its look at each switch in place for a second. */
	sleep(2);
}

/* The children of a cgroup have perf's controller once it has any. */
static void make_cgroups(void)
{
	FILE *f = fopen(CGROUPS "cgroup.subtree_control", "w");

	if (!f || fprintf(f, "+pids") < 0 || fclose(f))
		die("cgroups: %m");
	if ((mkdir(CGROUPS "in", 0755) || mkdir(CGROUPS "out", 0755)) && errno != EEXIST)
		die("cgroups: %m");
}

/* ---- events of the CPU ---- */

#define EVENTS	100

/* No two events count the same, so that tally has as many events of perf as perf itself. */
static void open_counting(const char *whose)
{
	static const int kinds[] = {
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
		PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_CONTEXT_SWITCHES,
		PERF_COUNT_SW_CPU_MIGRATIONS, PERF_COUNT_SW_ALIGNMENT_FAULTS,
		PERF_COUNT_SW_EMULATION_FAULTS, PERF_COUNT_SW_DUMMY,
	};
	int i;

	device = device_file();
	for (i = 0; i < EVENTS; i++) {
		struct perf_event_attr attr = {
			SW(kinds[i % 8]),
			.exclude_user = i >> 3, .exclude_kernel = i >> 4,
			.exclude_hv = i >> 5, .exclude_idle = i >> 6,
		};
		struct tally_open r = request(&attr, -1, 0, -1, 0);

		must_open(kind_of(whose), &r);
	}
}

static void measure_others(const char *whose)
{
	struct sigevent quiet = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	unsigned long long costs[CALLS];
	timer_t timer;
	int i;

	/* Timers end when they are due, not up to 50 us later with others. */
	prctl(PR_SET_TIMERSLACK, 1);
	signal(SIGUSR1, SIG_IGN);
	if (timer_create(CLOCK_MONOTONIC, &quiet, &timer))
		die("timer: %m");
	cost(switches);
	if (!strcmp(whose, "perf") || !strcmp(whose, "tally"))
		open_counting(whose);
	printf("# figure others %s_switch %llu\n", whose, cost(switches));
	printf("# figure others %s_fork %llu\n", whose, cost(forks));
	printf("# figure others %s_idle %llu\n", whose, cost(idle) - 10 * 100000);
	for (i = 0; i < CALLS; i++)
		costs[i] = interrupt(timer);
	qsort(costs, CALLS, sizeof(costs[0]), compare);
	printf("# figure others %s_interrupt %llu\n", whose, 10 * costs[CALLS / 2]);
}

int main(int argc, char **argv)
{
	static const struct rlimit files = { 4096, 4096 };
	static const char *const both[] = { "perf", "tally" };
	pid_t echo = begin_echo();
	int i;

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("files: %m");
	/* A switch costs less while the machine is young, and in the first calls. */
	sleep(30);
	cost(switches);
	if (argc > 1) {
		measure_others(argv[1]);
		kill(echo, SIGKILL);
		return 0;
	}
	measure("no", 1000, 0);
	for (i = 0; i < 2; i++) {
		measure(both[i], 1, 0);
		measure(both[i], 1000, 0);
		measure(both[i], 10000, 0);
		measure(both[i], 1000, 1);
	}
	make_cgroups();
	sleep(2);
	measure_cgroups("no", echo);
	measure_cgroups("perf", echo);
	measure_cgroups("tally", echo);
	kill(echo, SIGKILL);
	waitpid(echo, NULL, 0);
	rmdir(CGROUPS "in");
	rmdir(CGROUPS "out");
	return 0;
}
