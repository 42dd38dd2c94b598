/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* What libtally_perfdata_create() makes. */
#ifndef LIBTALLY_PERFDATA_H
#define LIBTALLY_PERFDATA_H

#include "libtally.h"

/**
 * struct libtally_perfdata - a perf.data file that is being written
 * @attr_size:	of each attr in it
 * @attrs:	where they are
 * @data:	where records begin
 * @error:	the first one
 */
struct libtally_perfdata {
	FILE *file;
	const struct libtally_events *events;
	size_t attr_size;
	__u64 attrs;
	__u64 data;
	int error;
};

#endif /* LIBTALLY_PERFDATA_H */
