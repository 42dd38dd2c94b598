// SPDX-License-Identifier: GPL-2.0
/*
 * traps: a process whose events send it SIGTRAP. It prints the address of a word of its
 * own, and then carries out orders, one per line of standard input. After each order it
 * prints the number of perf's signals that the order caused, and how many of them had the
 * address of the word:
 *
 *	write N		N writes to the word
 *	touch N		N page faults
 *	exec N		starts itself again, without a handler for SIGTRAP; the new
 *			program makes N page faults and N writes, prints 0 0 and exits
 */
#define _GNU_SOURCE
#include <signal.h>
#include "either.h"

#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif

static volatile unsigned long word;
static volatile sig_atomic_t traps, at_word, others;

static void trapped(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_code != TRAP_PERF)
		others++;
	traps++;
	if (info->si_addr == (void *)&word)
		at_word++;
}

static void write_word(long n)
{
	while (n--)
		word = n;
}

static void obey(const char *order, long n)
{
	char count[32];

	if (!strcmp(order, "write")) {
		write_word(n);
	} else if (!strcmp(order, "touch")) {
		touch_new(n);
	} else if (!strcmp(order, "exec")) {
		snprintf(count, sizeof(count), "%ld", n);
		execl("/proc/self/exe", "traps", count, NULL);
		err(1, "exec");
	} else {
		errx(1, "unknown order '%s'", order);
	}
}

static void answer(void)
{
	if (others)
		errx(1, "a SIGTRAP that is not perf's");
	printf("%d %d\n", (int)traps, (int)at_word);
	fflush(stdout);
	traps = 0;
	at_word = 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART };
	char line[64], order[16];
	long n;

	if (argc > 1) {
		touch_new(atoi(argv[1]));
		write_word(atoi(argv[1]));
		answer();
		return 0;
	}
	action.sa_sigaction = trapped;
	if (sigaction(SIGTRAP, &action, NULL))
		err(1, "sigaction");
	/* Page in the code and data that the handler and the first orders need. */
	raise(SIGTRAP);
	touch_new(1);
	traps = 0;
	at_word = 0;
	others = 0;
	printf("%p\n", (void *)&word);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %ld", order, &n) != 2)
			errx(1, "no order: %s", line);
		obey(order, n);
		answer();
	}
	return 0;
}
