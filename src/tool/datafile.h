/* SPDX-License-Identifier: GPL-2.0 */
/* Features of perf.data files, by which perf finds names. */
#ifndef TALLY_TOOL_DATAFILE_H
#define TALLY_TOOL_DATAFILE_H

#include <argp.h>
#include <stdbool.h>
#include <libtally.h>
#include "parse.h"

/**
 * struct mapped_files - files that programs have mapped
 * @most: when there are so many, each is kept once
 */
struct mapped_files {
	struct mapped_file *list;
	size_t nr, most;
};

/* The name of the file without -o: the pointer says that no -o gave it. */
extern const char *const perfdata_usual;

/* Refuses a terminal, and no name, as the argument of -o. */
void perfdata_check_path(struct argp_state *state, const char *path);
/* Waits until a fifo has a reader, before a command starts that is sampled. */
void perfdata_wait_for_reader(const char *path);
/* Whether the path is that of standard output: "-", or a pipe or file that is opened as it is. */
bool perfdata_is_stdout(const char *path);
/* The name of the file in messages. */
const char *perfdata_name(const char *path);

/*
 * Creates the file, and exits on failure. A file that is to replace another one has a name of its
 * own until perfdata_publish(), and goes if this command exits before. From now on, a pipe without
 * a reader is an error of the file, and no signal.
 */
struct libtally_perfdata *perfdata_create(const char *path, const struct libtally_events *events);
/*
 * Gives the file its name, and keeps what had it before with .old behind its name. Returns 0 or a
 * negative errno.
 */
int perfdata_publish(const char *path);
/* Keeps the file of a record MMAP2 in a struct mapped_files. */
void mapped_files_add(void *files, const struct perf_event_header *record);

/*
 * Adds build ids of the kernel and of these files, and frees the list. Files whose records have no
 * build id are opened.
 */
void perfdata_add_build_ids(struct libtally_perfdata *data, struct mapped_files *files);
/*
 * Adds formats of the tracepoints among the events; without any, nothing. Exits if a format cannot
 * be read in tracefs: perf reads no samples of any event then.
 */
void perfdata_add_formats(struct libtally_perfdata *data, struct wanted_list *events);
/* Adds which events are sets. numbers has those of the events in the file; -1 for one without. */
void perfdata_add_groups(struct libtally_perfdata *data, const struct wanted_list *events,
			 const int *numbers);
/* Adds the arguments of this command. */
void perfdata_add_command(struct libtally_perfdata *data, int argc, char **argv);

#endif /* TALLY_TOOL_DATAFILE_H */
