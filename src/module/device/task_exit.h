/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TASK_EXIT_H
#define TALLY_TASK_EXIT_H

#include <linux/list.h>
#include <linux/types.h>
#include "record/task_events.h"

/**
 * struct tally_task_exit - a waiter for the end of a task's event
 * @listener: private: a listener to exit() and exec(); its kinds are 0 while nobody waits
 * @due: private: node in the list of waiters to ask; guarded by a lock of task_exit.c,
 *	as are @tries and @done
 * @tries: private: number of asks left after an exit() or exec()
 * @done: private: true once the waiter is never asked again
 * @ended: callback that returns whether the event has ended; it runs in process context
 *	after each exit() and exec(), until it returns true
 */
struct tally_task_exit {
	struct tally_task_listener listener;
	struct list_head due;
	unsigned int tries;
	bool done;
	bool (*ended)(struct tally_task_exit *w);
};

int tally_task_exit_watch(struct tally_task_exit *w, struct task_struct *task,
			  bool children);
void tally_task_exit_unwatch(struct tally_task_exit *w);
void tally_task_exit_stop(void);

#endif /* TALLY_TASK_EXIT_H */
