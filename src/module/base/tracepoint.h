/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TRACEPOINT_H
#define TALLY_TRACEPOINT_H

struct tracepoint;

/**
 * struct tally_tracepoint - a function of ours at one of the kernel's tracepoints
 * @name: the tracepoint's
 * @function: called with NULL and what the tracepoint tells
 * @point: found when it is first needed; guarded by a lock of tracepoint.c, as is @users
 * @users: how many need it
 */
struct tally_tracepoint {
	const char *name;
	void *function;
	struct tracepoint *point;
	unsigned int users;
};

#define TALLY_TRACEPOINT_PROBE(name_, function_)	{ .name = name_, .function = function_ }

int tally_tracepoint_get(struct tally_tracepoint *probe);
void tally_tracepoint_put(struct tally_tracepoint *probe);

#endif /* TALLY_TRACEPOINT_H */
