/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TRACEPOINT_H
#define TALLY_TRACEPOINT_H

struct tracepoint;

/**
 * struct tally_tracepoint - a function that is attached to a tracepoint
 * @name: name of the tracepoint
 * @function: the function, which is called with NULL and the arguments of the tracepoint
 * @point: the tracepoint; NULL before the first use. Guarded by probes_lock, as @users.
 * @users: number of users; the function is attached if there are any
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
