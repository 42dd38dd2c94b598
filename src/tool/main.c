// SPDX-License-Identifier: GPL-2.0
/* The command `tally`: it runs the command that its first argument names. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tool.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{ "list", command_list, "what can be counted here; --running: what is counted now" },
	{ "stat", command_stat, "count a command, processes, CPUs or cgroups" },
	{ "top", command_top, "live rates of everything that is counted" },
	{ "record", command_record, "write samples to a file for perf report" },
	{ "snapshot", command_snapshot, "write a flight recorder's content to such a file" },
	{ "create", command_create, "make an event that outlives this command" },
	{ "remove", command_remove, "remove such an event" },
	{ "enable", command_enable, "let such an event count" },
	{ "disable", command_disable, "let such an event stand still" },
	{ "watch", command_watch, "print a line or run a command when a rate is passed" },
	{ "export", command_export, "serve counts to Prometheus" },
	{ "doctor", command_doctor, "say what works on this machine, and remedies for the rest" },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *file)
{
	size_t i;

	fprintf(file, "Usage: tally COMMAND [OPTION]... [ARGUMENT]...\n\n");
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(file, "  %-9s %s\n", commands[i].name, commands[i].what);
	fprintf(file, "\n`tally COMMAND --help' lists the options; tally(1) has the rest.\n");
}

/* Output that cannot be written, as to a full disk, is a failure, also where argp exits. */
static void check_output(int status, void *unused)
{
	(void)unused;
	if (!fflush(stdout) && !ferror(stdout))
		return;
	say("standard output cannot be written");
	_exit(status ? status : STATUS_FAILED);
}

/*
 * Puts something in place of standard files that are closed: else, a device or file that a command
 * opens would be one, and get the output. It fails as a closed file, and is one in other programs.
 */
static void fill_standard_files(void)
{
	int fd;

	for (fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_CLOEXEC) != fd)
			_exit(STATUS_FAILED);
}

static void do_nothing(int signal)
{
	(void)signal;
}

int main(int argc, char **argv)
{
	static char name[32];
	size_t i;

	fill_standard_files();
	argp_err_exit_status = STATUS_USAGE;
	/* The parent may ignore ends of children. The commands wait for theirs. */
	signal(SIGCHLD, SIG_DFL);
	/* A file that grows too large is an error of write(2). A command gets no handler. */
	if (signal(SIGXFSZ, do_nothing) == SIG_IGN)
		signal(SIGXFSZ, SIG_IGN);
	sigprocmask(SIG_SETMASK, NULL, &tool_mask);
	on_exit(check_output, NULL);
	if (argc < 2) {
		usage(stderr);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "help") && argc > 2) {
		argv[1] = argv[2];
		argv[2] = "--help";
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("tally %s\n", TOOL_VERSION);
		return 0;
	}
	for (i = 0; i < NR_COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		snprintf(name, sizeof(name), "tally %s", argv[1]);
		tool_name = name;
		argv[1] = name;
		return commands[i].run(argc - 1, argv + 1);
	}
	say("there is no command '%s'; `tally help' lists them", argv[1]);
	return STATUS_USAGE;
}
