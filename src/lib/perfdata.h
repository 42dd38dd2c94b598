/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* The struct behind libtally_perfdata_create(). */
#ifndef LIBTALLY_PERFDATA_H
#define LIBTALLY_PERFDATA_H

#include "libtally.h"

/**
 * struct feature - section of a feature
 * @number:	perf's number of the feature
 * @content:	the section
 */
struct feature {
	unsigned int number;
	void *content;
	size_t size;
};

/**
 * struct libtally_perfdata - a perf.data file that is being written
 * @attr_size:	size of each attr in the file, in bytes
 * @attrs:	offset of the attrs in the file
 * @data:	offset of the records in the file
 * @nr_ids:	number of ids that the file has
 * @flushed:	offset of the end of the records that the header has; 0 before the first header,
 *		and for a pipe
 * @is_pipe:	1 for perf's format for pipes, which has none of these offsets
 * @written:	1 if records were written after the last flush
 * @added:	features of the caller
 * @watch:	function that is called for each record; NULL for none
 * @error:	negative errno of the first failure
 */
struct libtally_perfdata {
	FILE *file;
	const struct libtally_events *events;
	size_t attr_size;
	__u64 attrs;
	__u64 data;
	size_t nr_ids;
	__s64 flushed;
	int is_pipe;
	int written;
	void (*watch)(void *argument, const struct perf_event_header *record);
	void *argument;
	struct feature *added;
	int nr_added;
	int error;
};

/*
 * Returns 1 for the names in /dev and /proc of a file that the process has open, such as
 * /dev/stdout. They are links, but no other user can make one.
 */
int libtally_perfdata_is_open(const char *path);

#endif /* LIBTALLY_PERFDATA_H */
