/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TASK_EXIT_H
#define TALLY_TASK_EXIT_H

#include <linux/list.h>
#include <linux/types.h>

struct task_struct;

/**
 * struct tally_task_exit - somebody who is told when a task's events have ended
 * @node: in the table of watches; guarded by its lock, as are the next three
 * @due: in the list of those that are to be asked, or in none
 * @tries: how often it is still to be asked
 * @told: it has said that it has ended
 * @task: whose; NULL for any, of an event that counts in children, too
 * @ended: called in process context until it says so: whether it has ended
 */
struct tally_task_exit {
	struct hlist_node node;
	struct list_head due;
	unsigned int tries;
	bool told;
	struct task_struct *task;
	bool (*ended)(struct tally_task_exit *w);
};

int tally_task_exit_watch(struct tally_task_exit *w, const struct task_struct *task);
void tally_task_exit_unwatch(struct tally_task_exit *w);
void tally_task_exit_stop(void);

#endif /* TALLY_TASK_EXIT_H */
