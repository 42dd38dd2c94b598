/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_IOCTL_H
#define TALLY_IOCTL_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include "device/quota.h"

struct file;
struct perf_event_attr;
struct tally_builder;
struct tally_event;
struct tally_file;
struct tally_sample;

/**
 * struct tally_session - an open file of /dev/tally, and what was made with it
 * @refs: its own, and one of each file
 * @lock: guards @files. Outside tally_set::lock.
 * @files: of the events
 * @charge: for itself; so it keeps the record of the user who opened it
 */
struct tally_session {
	refcount_t refs;
	struct mutex lock; /* files */
	struct list_head files;
	struct tally_charge charge;
};

void tally_session_put(struct tally_session *s);
void tally_session_enable(struct tally_session *s, bool enable);

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

void tally_file_overflow(struct tally_event *ev, const struct tally_sample *sample,
			 void *context);
size_t tally_file_memory(void);
struct tally_file *tally_file_get(struct file *file);
struct tally_event *tally_file_event(struct tally_file *f);
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

#endif /* TALLY_IOCTL_H */
