/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TASK_EXIT_H
#define TALLY_TASK_EXIT_H

#include <linux/list.h>
#include <linux/types.h>
#include "record/task_events.h"

struct perf_event_attr;
struct tally_account;

/**
 * struct tally_task_exit - a waiter for the end of a task's event
 * @listener: private: a listener to the end of the event's tasks; its kinds are
 *	0 while nobody waits
 * @due: private: node in the list of waiters to ask; guarded by
 *	tally_members_lock, as are the members up to @done
 * @next: private: time of the next ask, in jiffies
 * @delay: private: jiffies from the next ask to the one after it
 * @done: private: true once the waiter is never asked again
 * @ended: callback that returns whether the event has ended; it runs in process
 *	context after the last task has left the event, until it returns true
 */
struct tally_task_exit {
	struct tally_task_listener listener;
	struct list_head due;
	unsigned long next;
	unsigned long delay;
	bool done;
	bool (*ended)(struct tally_task_exit *w);
};

int tally_task_exit_watch(struct tally_task_exit *w, struct task_struct *task,
			  const struct perf_event_attr *attr, struct tally_account *account);
void tally_task_exit_left(struct tally_task_exit *w);
bool tally_task_exit_seen(const struct tally_task_exit *w);
void tally_task_exit_unwatch(struct tally_task_exit *w);
void tally_task_exit_stop(void);

#endif /* TALLY_TASK_EXIT_H */
