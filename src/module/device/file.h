/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_FILE_H
#define TALLY_FILE_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/wait.h>
#include "read/attach.h"
#include "device/task_exit.h"
#include "base/kick.h"
#include "read/window.h"
#include "device/quota.h"

struct fasync_struct;
struct perf_event_attr;
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

/**
 * struct tally_file_extra - what is charged for an event that has no file of its own
 * @node: in tally_file::extras
 * @charge: the charge
 */
struct tally_file_extra {
	struct list_head node;
	struct tally_charge charge;
};

/**
 * struct tally_file - a file
 * @ev: its event; NULL of one that is attached to
 * @set: the set that the event is in; changes under the locks of the old one and the
 *	new one
 * @joined: the other file's, which stays as long as this file; or NULL
 * @at: the attachment
 * @at_event: what it is attached to, until that is gone
 * @at_mapping: what is published of that
 * @at_ring: the rings of that may be mapped
 * @read_format: of what read() tells
 * @given: what the program wants of a breakpoint, else NULL; under tally_set::lock
 * @signal: sends one, for an overflow
 * @spent: for the last of those that were asked for
 * @session: what it was made with
 * @node: in the list of that
 * @charge: to whom it is charged
 * @extras: charges for members without a file; guarded by tally_set::lock
 * @wait: those who poll
 * @fasync: those who want a signal
 * @exit: waits for the end of the task's event
 * @rcu: frees the file, at which the listener in @exit may still look
 * @own: the set that the event is in while it is in no other file's. It keeps this in
 *	memory as long as anybody may look at it. Not there if @ev is NULL.
 */
struct tally_file {
	struct tally_event *ev;
	struct tally_set *set;
	struct tally_set *joined;
	struct tally_attachment at;
	struct tally_event *at_event;
	struct tally_mapping at_mapping;
	bool at_ring;
	u64 read_format;
	struct perf_event_attr *given;
	struct tally_kick signal;
	bool spent;
	struct tally_session *session;
	struct list_head node;
	struct tally_charge charge;
	struct list_head extras;
	wait_queue_head_t wait;
	struct fasync_struct *fasync;
	struct tally_task_exit exit;
	struct rcu_head rcu;
	struct tally_set own;
};

/* The set that the event is in, locked. One that it was in stays. */
static inline struct tally_set *tally_file_lock(struct tally_file *f)
{
	struct tally_set *set;

	for (;;) {
		set = READ_ONCE(f->set);
		mutex_lock(&set->lock);
		if (set == f->set)
			return set;
		mutex_unlock(&set->lock);
	}
}

struct tally_session *tally_session_new(void);
void tally_session_put(struct tally_session *s);
void tally_session_add(struct tally_session *s, struct tally_file *f);
void tally_session_enable(struct tally_session *s, bool enable);
struct tally_file *tally_file_alloc(u64 read_format, unsigned int members);
size_t tally_file_memory(void);
void tally_file_control(struct tally_set *set, u64 members, unsigned int cmd);
void tally_file_overflow(struct tally_event *ev, const struct tally_sample *sample,
			 void *context);
bool tally_file_has_ended(struct tally_file *f);
void tally_file_end(struct tally_file *f);
void tally_file_put(struct tally_set *set);

#endif /* TALLY_FILE_H */
