/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TRACE_H
#define TALLY_TRACE_H

struct tracepoint;

/**
 * struct tally_probe - a function of ours at one of the kernel's tracepoints
 * @name: the tracepoint's
 * @function: called with NULL and what the tracepoint tells
 * @point: found when it is first needed; guarded by a lock of trace.c, as is @users
 * @users: how many need it
 */
struct tally_probe {
	const char *name;
	void *function;
	struct tracepoint *point;
	unsigned int users;
};

#define TALLY_PROBE(name_, function_)	{ .name = name_, .function = function_ }

int tally_probe_get(struct tally_probe *probe);
void tally_probe_put(struct tally_probe *probe);

#endif /* TALLY_TRACE_H */
