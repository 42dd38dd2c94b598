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
 * struct tally_session - an open file of /dev/tally, and the files made with it
 * @refs: references: one of the open file, one of each file in @files
 * @lock: guards @files; taken outside tally_set::lock
 * @files: list of the files with an event of their own
 * @charge: charge for the session itself
 */
struct tally_session {
	refcount_t refs;
	struct mutex lock; /* files */
	struct list_head files;
	struct tally_charge charge;
};

/**
 * struct tally_file - the file of an event
 * @ev: the event; NULL for an attached file
 * @set: the set that @ev is in; changes under the locks of the old and the new set
 * @joined: set of the leader's file that @ev has joined, with a reference until this
 *	file ends; NULL for none
 * @at: attachment to the event of another owner
 * @at_event: that event, until its owner releases it
 * @at_mapping: page on which the count of that event is published
 * @at_ring: whether the program may map the rings of that event
 * @exceeded: windows of that event exceeded when the program last asked; guarded by
 *	tally_attachment::lock
 * @read_format: PERF_FORMAT_* bits for read()
 * @given: attributes of a breakpoint as the program passed them, else NULL; guarded by
 *	tally_set::lock
 * @signal: sends SIGIO for an overflow
 * @spent: whether the next signal is for the last overflow of PERF_EVENT_IOC_REFRESH
 * @session: session that the file was made with; NULL for none
 * @node: node in tally_session::files
 * @charge: charge for the event, the file, and members without a file
 * @wait: pollers
 * @fasync: receivers of SIGIO
 * @exit: waits for the end of the task's event
 * @rcu: delays the free of the file: a tracepoint may still look at @exit
 * @own: the set that @ev is in unless it has joined another; its references keep the
 *	file in memory. Not allocated for an attached file
 */
struct tally_file {
	struct tally_event *ev;
	struct tally_set *set;
	struct tally_set *joined;
	struct tally_attachment at;
	struct tally_event *at_event;
	struct tally_mapping at_mapping;
	bool at_ring;
	u64 exceeded;
	u64 read_format;
	struct perf_event_attr *given;
	struct tally_kick signal;
	bool spent;
	struct tally_session *session;
	struct list_head node;
	struct tally_charge charge;
	wait_queue_head_t wait;
	struct fasync_struct *fasync;
	struct tally_task_exit exit;
	struct rcu_head rcu;
	struct tally_set own;
};

/* Locks the set that the event is in. A set that it left stays in memory. */
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
struct tally_file *tally_file_alloc(u64 read_format, bool attached);
size_t tally_file_memory(void);
void tally_file_control(struct tally_set *set, u64 members, unsigned int cmd);
void tally_file_overflow(struct tally_event *ev, const struct tally_sample *sample,
			 void *context);
bool tally_file_has_ended(struct tally_file *f);
void tally_file_end(struct tally_file *f);
void tally_file_put(struct tally_set *set);

#endif /* TALLY_FILE_H */
