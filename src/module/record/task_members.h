/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TASK_MEMBERS_H
#define TALLY_TASK_MEMBERS_H

#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include "record/task_events.h"

struct task_struct;

/* Reports an event to a listener, if the listener wants events of that kind and of this CPU. */
static inline void tally_member_report(struct tally_task_listener *listener,
				       const struct tally_task_event *e)
{
	if (listener->kinds & e->kinds &&
	    (listener->cpu < 0 || listener->cpu == smp_processor_id()))
		listener->notify(listener, e);
}

/*
 * Guards the writers of all lists of listeners and of their tasks, and the
 * waiters of device/task_exit.c. Probes take it with other locks held, so no
 * lock is taken inside but those of kfree_rcu().
 */
extern raw_spinlock_t tally_members_lock;

int tally_members_add(struct tally_task_listener *listener);
void tally_members_remove(struct tally_task_listener *listener);
void tally_members_report(const struct task_struct *task, const struct tally_task_event *e);
void tally_members_inherit(const struct task_struct *parent, const struct task_struct *child,
			   unsigned long clone_flags);
void tally_members_leave(const struct task_struct *task, const struct tally_task_listener *one,
			 bool exec);
bool tally_members_gone(const struct tally_task_listener *listener);
int tally_members_init(void);
void tally_members_exit(void);

#endif /* TALLY_TASK_MEMBERS_H */
