/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of the other files here that kunit.c calls. */
#ifndef TALLY_NATIVE_H
#define TALLY_NATIVE_H

/* The number of the current task */
#define NATIVE_SELF	9

/**
 * struct native_made - what was made last
 * @ev: the event
 * @ls: the set of a line
 */
struct native_made {
	struct tally_event *ev;
	struct tally_line_set *ls;
};

extern struct native_made native_made;

const char *native_skips(const char *name);
u64 native_passes(void);
double native_seconds(void);

#endif /* TALLY_NATIVE_H */
