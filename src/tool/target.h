/* SPDX-License-Identifier: GPL-2.0 */
/* Targets of a command line: CPUs, tasks, cgroups or a command. */
#ifndef TALLY_TOOL_TARGET_H
#define TALLY_TOOL_TARGET_H

#include <argp.h>
#include <stdbool.h>
#include <sys/types.h>
#include <libtally.h>

/**
 * struct place - one task, one CPU or all CPUs
 * @pid:	task; -1 for all tasks; with @cgroup an open file of its directory
 * @cpu:	CPU; -1 for all CPUs, or for those that the task runs on
 * @cgroup:	path of the cgroup as given; NULL for none
 */
struct place {
	int pid;
	int cpu;
	const char *cgroup;
};

/**
 * struct targets - the target options of a command line
 * @all:	-a
 * @cpus:	-C
 * @pids:	-p
 * @tids:	-t
 * @cgroups:	-G
 * @command:	words of the command; NULL without one
 * @places:	the places that these options name; none if only the command is counted
 */
struct targets {
	bool all;
	char *cpus;
	char *pids;
	char *tids;
	char *cgroups;
	char **command;
	struct place *places;
	int nr;
};

/* Options of all commands that have a target; state->input is a struct targets. */
extern const struct argp target_argp;

/* Finds the places. Exits for a wrong list, and if a process or cgroup does not exist. */
void targets_find(struct targets *targets);
/* Adds the places of targets to parts; in place of one on all CPUs, one on each online CPU. */
void targets_split(const struct targets *targets, struct targets *parts);
/* Returns whether a task exists that the targets name, or they name something else. */
bool targets_exist(const struct targets *targets);
void targets_free(struct targets *targets);

/* Prepares a call of libtally_open_event() or libtally_reader_open() for a place. */
void target_at(struct libtally_target *target, int device, const struct place *place);

/**
 * struct child - a command that waits to be executed
 * @pid:	its process
 * @go:		pipe that lets it go
 * @files:	socket from which files come that it opens
 * @failed:	pipe with the errno of execvp()
 * @out_is_err:	its standard output is to be standard error
 */
struct child {
	pid_t pid;
	int go;
	int files;
	int failed;
	bool out_is_err;
};

/*
 * Forks a child. It calls prepare(data, socket) unless that is NULL, which may open events for
 * itself and send them by child_send(), and then waits for child_go(). A program may count itself
 * without any right; so the child opens the events, and not its parent.
 */
void child_start(struct child *child, char **command, void (*prepare)(void *data, int socket),
		 void *data);
/* Lets the child execute its command. Returns 0, or the positive errno of execvp(). */
int child_go(struct child *child);
/* Ends a child that will not execute its command. */
void child_abandon(struct child *child);

/* Sends a file, or a negative errno with a sentence. */
void child_send(int socket, int fd, const char *why);
/* Receives a file, or a negative errno with a sentence of LIBTALLY_ERROR_SIZE bytes. */
int child_receive(int socket, char *why);

/* Calls a function for each CPU that is online. Exits if their list cannot be read. */
void each_online(void (*call)(void *data, int cpu), void *data);
/* As each_online(), for each CPU that may ever be online. */
void each_possible(void (*call)(void *data, int cpu), void *data);

/* Reads a list such as "0-2,5"; calls a function for each number. False for another text. */
bool each_number(const char *list, void (*call)(void *data, int number), void *data);

#endif /* TALLY_TOOL_TARGET_H */
