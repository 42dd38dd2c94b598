// SPDX-License-Identifier: GPL-2.0
/*
 * load OPTION...: makes work for the counters until SIGTERM.
 *
 *	-f RATE	page faults per second; 0 for as many as possible
 *	-s RATE	context switches per second, as a ping-pong between two
 *		processes; 0 for as many as possible
 *	-m RATE	migrations per second, from CPU to CPU
 *	-b	a busy loop in user space
 *	-M RATE	major faults per second: pages are swapped out, and touched again
 *	-c CPU	binds the processes of the options that follow to a CPU; "any"
 *		ends that
 *	-t S	ends the program after S seconds
 *
 * Each option but -c and -t starts a process of its own. Options may be repeated.
 * If a CPU goes offline, its processes run elsewhere.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include "either.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

#define PAGES 64

/* Sleeps while more was done than the rate allows. */
static void pace(unsigned long long start, unsigned long long done, long rate)
{
	struct timespec t = { .tv_nsec = 5000000 };

	while (rate && done * 1000000000ULL / rate > now_ns() - start)
		nanosleep(&t, NULL);
}

static void fault(long rate, int advice)
{
	unsigned long long start = now_ns(), done = 0;
	long size = getpagesize();
	char *area = new_area(PAGES);
	int i;

	for (;;) {
		for (i = 0; i < PAGES; i++)
			*(volatile char *)(area + i * size) = i;
		done += PAGES;
		if (madvise(area, PAGES * size, advice))
			err(1, "madvise");
		pace(start, done, rate);
	}
}

static void ping_pong(long rate)
{
	unsigned long long start = now_ns(), done = 0;
	pid_t parent = getpid();
	int to[2], from[2];
	char c = 0;

	if (pipe(to) || pipe(from))
		err(1, "pipe");
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			exit(0);
		while (read(to[0], &c, 1) == 1 && write(from[1], &c, 1) == 1)
			;
		exit(0);
	}
	while (write(to[1], &c, 1) == 1 && read(from[0], &c, 1) == 1) {
		done += 2;
		if (!(done % 64))
			pace(start, done, rate);
	}
}

static void migrate(long rate)
{
	unsigned long long start = now_ns(), done = 0;
	int cpu, nr = sysconf(_SC_NPROCESSORS_CONF);

	for (;;) {
		for (cpu = 0; cpu < nr; cpu++) {
			go_to(cpu);
			pace(start, ++done, rate);
		}
	}
}

static void busy(void)
{
	for (;;)
		relax();
}

static void work(int kind, long rate, int cpu)
{
	pid_t parent = getpid();

	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		break;
	default:
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		exit(0);
	signal(SIGTERM, SIG_DFL);
	if (cpu >= 0)
		run_on(cpu);
	if (kind == 'f')
		fault(rate, MADV_DONTNEED);
	else if (kind == 'M')
		fault(rate, MADV_PAGEOUT);
	else if (kind == 's')
		ping_pong(rate);
	else if (kind == 'm')
		migrate(rate);
	else
		busy();
	exit(0);
}

int main(int argc, char **argv)
{
	int cpu = -1, opt;

	while ((opt = getopt(argc, argv, "f:s:m:bM:c:t:")) >= 0) {
		switch (opt) {
		case 'c':
			cpu = strcmp(optarg, "any") ? atoi(optarg) : -1;
			break;
		case 't':
			alarm(atoi(optarg));
			break;
		case '?':
			return 2;
		default:
			work(opt, optarg ? atol(optarg) : 0, cpu);
		}
	}
	/* The workers die with this process. A worker that ends, ends the program. */
	return wait(NULL) > 0;
}
