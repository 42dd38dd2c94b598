// SPDX-License-Identifier: GPL-2.0
/* tally create, remove, enable, disable: events that outlive the command. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tool.h"

/* Joins arguments to a line, so that a line needs no quotes in the shell. */
static char *join(char **words, int nr)
{
	size_t size = 1;
	char *line;
	int i;

	for (i = 0; i < nr; i++)
		size += strlen(words[i]) + 1;
	line = need(calloc(1, size));
	for (i = 0; i < nr; i++) {
		strcat(line, words[i]);
		if (i < nr - 1)
			strcat(line, " ");
	}
	return line;
}

static int give(int device, enum libtally_line_op op, const char *line)
{
	char why[LIBTALLY_ERROR_SIZE];
	int error = libtally_device_line(device, op, line, why);

	if (error && op != LIBTALLY_LINE_CREATE)
		say_no_event(line, error, why);
	else if (error)
		say_failed(line, error, why);
	return error ? STATUS_FAILED : 0;
}

int command_create(int argc, char **argv)
{
	static const struct argp argp = {
		.args_doc = "EVENT [OPTION]...",
		.doc = "Makes an event that counts until it is removed or the module is unloaded. "
		       "The words are those of the file create in debugfs.\v"
		       "Example: tally create page-faults cpu=all name=faults",
	};
	int first = parse_arguments(&argp, argc, argv, ARGP_IN_ORDER, NULL);
	int device, status;
	char *line;

	if (first == argc) {
		say("no event is given; see: tally create --help");
		return STATUS_USAGE;
	}
	line = join(argv + first, argc - first);
	device = device_or_die();
	status = give(device, LIBTALLY_LINE_CREATE, line);
	close(device);
	free(line);
	return status;
}

/* Does one thing with each event that is named; the others follow if one fails. */
static int named(int argc, char **argv, enum libtally_line_op op, const char *doc)
{
	const struct argp argp = { .args_doc = "NAME...", .doc = doc };
	int i = parse_arguments(&argp, argc, argv, 0, NULL), device, status = 0;

	if (i == argc) {
		say("no name is given; `tally list --running' lists the names");
		return STATUS_USAGE;
	}
	device = device_or_die();
	for (; i < argc; i++)
		status |= give(device, op, argv[i]);
	close(device);
	return status;
}

int command_remove(int argc, char **argv)
{
	return named(argc, argv, LIBTALLY_LINE_REMOVE,
		     "Removes events and sets that `tally create', debugfs or the module's "
		     "parameter made.");
}

int command_enable(int argc, char **argv)
{
	return named(argc, argv, LIBTALLY_LINE_ENABLE,
		     "Lets events and sets count again, or for the first time.");
}

int command_disable(int argc, char **argv)
{
	return named(argc, argv, LIBTALLY_LINE_DISABLE,
		     "Lets events and sets stand still; they keep their counts.");
}
