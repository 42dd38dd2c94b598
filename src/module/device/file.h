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
#include "base/kick.h"
#include "device/quota.h"
#include "device/task_exit.h"
#include "set/attach.h"
#include "set/page.h"
#include "set/set.h"

struct fasync_struct;
struct perf_event_attr;
struct tally_account;
struct tally_builder;
struct tally_event;
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
 * @set: the set that @ev is in; once the file is made, it changes under the
 *	locks of the old and the new set
 * @joined: set of the leader's file that @ev has joined, with a reference until
 *	this file ends; NULL for none
 * @at: attachment to the event of another owner
 * @at_event: that event, for @mapping; dangling once its owner has released it
 * @at_ring: whether the program may map the rings of that event
 * @exceeded: number of windows of that event that had been exceeded when the
 *	program last asked; guarded by tally_attachment::lock
 * @read_format: PERF_FORMAT_* bits for read()
 * @given: attributes of a breakpoint as the program passed them, else NULL;
 *	guarded by tally_set::lock
 * @signal: work that sends SIGIO for an overflow, or for a record of a task
 * @last_signal: whether the next signal is for the last overflow of PERF_EVENT_IOC_REFRESH
 * @session: session that the file was made with; NULL for none
 * @node: node in tally_session::files
 * @charge: charge for the event, its filter, the file, and members without a file
 * @wait: pollers
 * @fasync: receivers of SIGIO
 * @exit: waits for the end of the task's event
 * @rcu: delays the free of the file: a tracepoint may still look at @exit
 * @mapping: page on which the count of the file's event, or of its group, is published
 * @own: the set that @ev is in unless it has joined another; its references
 *	keep the file in memory. Not allocated for an attached file
 */
struct tally_file {
	struct tally_event *ev;
	struct tally_set *set;
	struct tally_set *joined;
	struct tally_attachment at;
	struct tally_event *at_event;
	bool at_ring;
	u64 exceeded;
	u64 read_format;
	struct perf_event_attr *given;
	struct tally_kick signal;
	bool last_signal;
	struct tally_session *session;
	struct list_head node;
	struct tally_charge charge;
	wait_queue_head_t wait;
	struct fasync_struct *fasync;
	struct tally_task_exit exit;
	struct rcu_head rcu;
	struct tally_mapping mapping;
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

/* read.c */
ssize_t tally_file_read(struct tally_file *f, char __user *buf, size_t size);
long tally_file_ioc_read(struct tally_file *f, void __user *arg);

/* ioctl.c */
extern const struct file_operations tally_file_ops;

struct tally_file *tally_file_of(struct file *file);

/* open.c */
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

#endif /* TALLY_FILE_H */
