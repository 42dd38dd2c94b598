/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_EXITS_H
#define TALLY_EXITS_H

#include <linux/list.h>
#include <linux/types.h>

struct task_struct;

/**
 * struct tally_watch - somebody who is told when a task's events have ended
 * @node: in the table of watches; guarded by its lock, as are the next three
 * @due: in the list of those that are to be asked, or in none
 * @tries: how often it is still to be asked
 * @told: it has said that it has ended
 * @task: whose; NULL for any, of an event that counts in children, too
 * @ended: called in process context until it says so: whether it has ended
 */
struct tally_watch {
	struct hlist_node node;
	struct list_head due;
	unsigned int tries;
	bool told;
	struct task_struct *task;
	bool (*ended)(struct tally_watch *w);
};

int tally_watch(struct tally_watch *w, const struct task_struct *task);
void tally_unwatch(struct tally_watch *w);
void tally_exits_exit(void);

#endif /* TALLY_EXITS_H */
