/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_OPEN_H
#define TALLY_OPEN_H

#include <linux/types.h>

struct perf_event_attr;
struct tally_builder;
struct tally_charge;
struct tally_event;
struct tally_file;
struct tally_session;

/**
 * struct tally_file_how - what a file is to be like
 * @read_format: of what read() tells
 * @interval: of what is published, in nanoseconds
 * @flags: for its descriptor
 * @wanted: its event is to count
 * @require: and to be on the PMU at once
 * @follows: it is pinned because its leader is
 * @awaits: it waits for exec() because its leader does
 * @given: what the program asked for
 * @output: whose rings it writes to; NULL its own
 */
struct tally_file_how {
	u64 read_format;
	u64 interval;
	int flags;
	bool wanted;
	bool require;
	bool follows;
	bool awaits;
	const struct perf_event_attr *given;
	struct tally_file *output;
};

void tally_file_follow(struct tally_file *leader, struct perf_event_attr *attr,
		       struct tally_file_how *how);
int tally_file_new(struct tally_session *s, struct tally_event *ev,
		   struct tally_file *leader, struct tally_charge *charge,
		   const struct tally_file_how *how, struct tally_builder *b);
int tally_file_add(struct tally_event *ev, struct tally_file *leader,
		   struct tally_charge *charge, const struct tally_file_how *how,
		   struct tally_builder *b);
int tally_file_attach(u64 id, const char *name, struct tally_charge *charge,
		      const struct tally_file_how *how, struct tally_builder *b);

#endif /* TALLY_OPEN_H */
