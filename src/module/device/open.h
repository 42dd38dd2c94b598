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
 * struct tally_file_how - properties of a new file
 * @id_at: where the program wants the id of a new event
 * @read_format: PERF_FORMAT_* bits for read()
 * @interval: time between two updates of the page, in nanoseconds; 0 for the default
 * @flags: flags of the descriptor
 * @wanted: whether the event counts as soon as its leader does
 * @require: whether a wanted event must be on the PMU at once, or is refused
 * @total: an attached file begins with all that the event has counted, and not at 0
 * @follows: whether the event is pinned only because its leader is
 * @awaits: whether the event waits for exec() only because its leader does
 * @given: attributes as the program passed them
 * @output: file whose rings the event writes to; NULL for its own
 */
struct tally_file_how {
	u64 __user *id_at;
	u64 read_format;
	u64 interval;
	int flags;
	bool wanted;
	bool require;
	bool total;
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
		   const struct tally_file_how *how, struct tally_builder *b);
int tally_file_attach(u64 id, const char *name, struct tally_charge *charge,
		      const struct tally_file_how *how, struct tally_builder *b);

#endif /* TALLY_OPEN_H */
