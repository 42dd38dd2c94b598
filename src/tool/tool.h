/* SPDX-License-Identifier: GPL-2.0 */
/* What the commands of `tally` share. */
#ifndef TALLY_TOOL_H
#define TALLY_TOOL_H

#include <argp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <libtally.h>

/*
 * Exit statuses, beside 0. `tally stat` and `tally record` with a command return the command's
 * status, or 126 or 127 as the shell does.
 */
enum status {
	STATUS_FAILED = 1,	/* something could not be done; a sentence says what */
	STATUS_USAGE = 2,	/* the arguments are wrong */
	STATUS_NOT_RUN = 126,	/* the command cannot be executed */
	STATUS_NOT_FOUND = 127	/* there is no such command */
};

/* Name of the command that runs, for messages: "tally stat". */
extern const char *tool_name;
/* Signals that were blocked at the start, and are blocked in the commands that are executed. */
extern sigset_t tool_mask;
/* Not 0 when a signal has come to end the command; stop_tool() counts the signals. */
extern volatile sig_atomic_t tool_stopped;
/* The command writes, maybe to a reader that does not read. */
extern volatile sig_atomic_t tool_writes;

/* Prints a sentence on standard error, with the name of the command. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a sentence as say() does, and exits with STATUS_FAILED. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Returns the pointer; calls die() for want of memory if it is NULL. */
void *need(void *pointer);
/* Prints why something failed, by an errno of any sign or by why, and a remedy if one is known. */
void say_failed(const char *what, int error, const char *why);

/* As say_failed(), for the name of an event that another owner may have made. */
void say_no_event(const char *name, int error, const char *why);

/* Returns whether the name or line of an event is that of a kernel probe. */
bool is_probe(const char *event);

/* Opens /dev/tally, or exits with a sentence. */
int device_or_die(void);

/* Parses arguments with argp; returns the index of the first that is no option. */
int parse_arguments(const struct argp *argp, int argc, char **argv, unsigned int flags,
		    void *input);
/* Parses a number within limits, hexadecimal behind 0x; argp reports another text and exits. */
long number_argument(struct argp_state *state, const char *text, long least, long most);

/* A handler: notes a signal in tool_stopped. A second one ends a command that writes. */
void stop_tool(int signal);
/* Catches SIGINT, SIGTERM and SIGHUP, except those that are ignored, as in the background. */
void catch_signals(const struct sigaction *action);
/* Lets the signals of catch_signals() end a child, before it executes a command. */
void uncatch_signals(void);
/* Blocks the signals of catch_signals(), so that they can be waited for; set receives them. */
void block_signals(sigset_t *set);
/* Unblocks the signals of block_signals() while the command writes; stop_tool() handles them. */
void allow_signals(void);

/* Raises the limit of open files as far as this user may: each event takes one on each target. */
void raise_file_limit(void);
/* Undoes raise_file_limit() in a child, for the command that it executes. */
void restore_file_limit(void);

/* Reads the first line of a file; false if there is none. */
bool read_line(const char *path, char *line, size_t size);

/*
 * Returns a text for people, JSON and Prometheus, for free(): valid UTF-8 that prints. \OOO, an
 * octal number, stands for any other byte, and for a backslash that would look like this. The
 * module reads a cgroup's path in this form.
 */
char *escape(const char *text);

/* Returns the number of bytes of the first characters of a text in UTF-8, at most so many. */
size_t first_bytes(const char *text, size_t characters);
/* Writes so many characters: the first ones of a text in UTF-8, and spaces behind its end. */
void fit(const char *text, size_t characters, char *fitted, size_t size);

/* Returns the folder of tracefs: its own mount, or the one in debugfs. */
const char *tracefs(void);

/* Returns CLOCK_MONOTONIC in nanoseconds. */
__u64 now_ns(void);

int command_create(int argc, char **argv);
int command_disable(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_enable(int argc, char **argv);
int command_export(int argc, char **argv);
int command_list(int argc, char **argv);
int command_record(int argc, char **argv);
int command_remove(int argc, char **argv);
int command_snapshot(int argc, char **argv);
int command_stat(int argc, char **argv);
int command_top(int argc, char **argv);
int command_watch(int argc, char **argv);

#endif /* TALLY_TOOL_H */
