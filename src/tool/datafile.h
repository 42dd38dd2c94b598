/* SPDX-License-Identifier: GPL-2.0 */
/* perf.data files: their creation, and their features, by which perf finds names. */
#ifndef TALLY_TOOL_DATAFILE_H
#define TALLY_TOOL_DATAFILE_H

#include <argp.h>
#include <stdbool.h>
#include <libtally.h>
#include "parse.h"

/**
 * struct mapped_files - files that programs have mapped
 * @most: number of files in the list at which those that are there twice are removed
 */
struct mapped_files {
	struct mapped_file *list;
	size_t nr, most;
};

/* The name of the file without -o. A path that is this pointer was given by no -o. */
extern const char *const perfdata_usual;

/* Calls argp_error() if the path is empty or that of a terminal. */
void perfdata_check_path(struct argp_state *state, const char *path);
/* Waits until a fifo has a reader, before a command starts that is sampled. */
void perfdata_wait_for_reader(const char *path);
/* Returns whether the path is "-", or is opened as it is and is standard output's pipe or file. */
bool perfdata_is_stdout(const char *path);
/* Returns the name of the file for messages. */
const char *perfdata_name(const char *path);

/*
 * Creates the file, and exits on failure. A new regular file has another name until
 * perfdata_publish(), and is removed if this command exits before. From now on, a pipe without a
 * reader is an error of the file, and no signal.
 */
struct libtally_perfdata *perfdata_create(const char *path, const struct libtally_events *events);
/*
 * Gives a new regular file its name. What had the name before gets .old behind its name, unless it
 * is an empty file. Returns 0 or a negative errno.
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
/* Adds which events are sets. numbers has each event's number in the file; -1 for none. */
void perfdata_add_groups(struct libtally_perfdata *data, const struct wanted_list *events,
			 const int *numbers);
/* Adds the arguments of this command. */
void perfdata_add_command(struct libtally_perfdata *data, int argc, char **argv);

#endif /* TALLY_TOOL_DATAFILE_H */
