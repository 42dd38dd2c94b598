/* SPDX-License-Identifier: GPL-2.0 */
/* The event of perf beside those of `tally record`, for the names of programs and functions. */
#ifndef TALLY_TOOL_COMPANION_H
#define TALLY_TOOL_COMPANION_H

#include <stdbool.h>
#include <sys/types.h>
#include <libtally.h>
#include "target.h"

/**
 * struct companion - the event
 * @reader:	where its rings are
 * @targets:	its places; without any, it is of the command
 * @pages:	pages of a ring
 * @inherit:	children of tasks have it, too
 * @number:	its number in @reader; -1 if it is not open
 * @uevents:	socket on which the kernel says which CPUs come online; or -1
 */
struct companion {
	struct libtally_reader *reader;
	const struct targets *targets;
	size_t pages;
	bool inherit;
	int number;
	int uevents;
};

/* Opens the companion at all places; without any, for the process of the command. */
void companion_open(struct companion *c, pid_t pid);
/* Opens the companion on CPUs that came online since the last call. */
void companion_follow(struct companion *c);

#endif /* TALLY_TOOL_COMPANION_H */
