// SPDX-License-Identifier: GPL-2.0
/*
 * task: a process that carries out orders, one per line of standard input, and prints
 * "done" after each. It exits at the end of input.
 *
 *	touch N		N page faults, and no other ones
 *	fork N		a child process makes N page faults, and is waited for
 *	forks N		N child processes, some at a time, with 1 to 10 page faults
 *	thread N	a thread makes N page faults, and is waited for
 *	getppid N	N system calls getppid
 *	sleep N		N voluntary context switches, at least
 *	spin N		N milliseconds on the CPU
 *	on N		goes to CPU N and stays there
 *	migrate N	N migrations between CPU 0 and 1
 *	open N		N events of perf on CPU 1, one after the other
 *	exec		starts itself again, as the same process
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "either.h"

static void *touch_thread(void *n)
{
	touch_new((long)n);
	return NULL;
}

static void await_child(void)
{
	int status;

	if (wait(&status) < 0 || status)
		errx(1, "a child");
}

static void fork_many(long n)
{
	long i;

	for (i = 0; i < n; i++) {
		pid_t child = fork();

		if (!child) {
			touch_new(i % 10 + 1);
			_exit(0);
		}
		if (child < 0)
			err(1, "fork");
		if (i >= 20)
			await_child();
	}
	for (i = n < 20 ? n : 20; i; i--)
		await_child();
}

static void migrate(long n)
{
	long i;

	/* The task may be on the first CPU already, so there is one round more. */
	for (i = 0; i <= n; i++)
		run_on(i % 2);
}

static void open_perf(long n)
{
	struct perf_event_attr attr = { SW(PERF_COUNT_SW_DUMMY) };
	struct tally_open r = request(&attr, -1, 1, -1, PERF_FLAG_FD_CLOEXEC);

	while (n--)
		close(must_open(PERF, &r));
}

static void obey(const char *order, long n, char **argv)
{
	struct timespec t = { .tv_nsec = 1000000 };
	pthread_t thread;
	int status;

	if (!strcmp(order, "touch")) {
		touch_new(n);
	} else if (!strcmp(order, "fork")) {
		pid_t child = fork();

		if (!child) {
			touch_new(n);
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			errx(1, "fork");
	} else if (!strcmp(order, "forks")) {
		fork_many(n);
	} else if (!strcmp(order, "thread")) {
		if (pthread_create(&thread, NULL, touch_thread, (void *)n) ||
		    pthread_join(thread, NULL))
			errx(1, "thread");
	} else if (!strcmp(order, "getppid")) {
		while (n--)
			syscall(SYS_getppid);
	} else if (!strcmp(order, "sleep")) {
		while (n--)
			nanosleep(&t, NULL);
	} else if (!strcmp(order, "spin")) {
		spin(CLOCK_PROCESS_CPUTIME_ID, n);
	} else if (!strcmp(order, "on")) {
		run_on(n);
	} else if (!strcmp(order, "migrate")) {
		migrate(n);
	} else if (!strcmp(order, "open")) {
		open_perf(n);
	} else if (!strcmp(order, "exec")) {
		printf("done\n");
		fflush(stdout);
		execv("/proc/self/exe", argv);
		err(1, "exec");
	} else {
		errx(1, "unknown order '%s'", order);
	}
}

int main(int argc, char **argv)
{
	char line[128], order[16];
	size_t len = 0;
	long n;

	(void)argc;
	/* Read byte by byte: exec() would lose input that was read ahead. */
	while (read(0, line + len, 1) == 1) {
		if (line[len] != '\n' && len < sizeof(line) - 1) {
			len++;
			continue;
		}
		line[len] = '\0';
		len = 0;
		n = 0;
		if (sscanf(line, "%15s %ld", order, &n) < 1)
			continue;
		obey(order, n, argv);
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
