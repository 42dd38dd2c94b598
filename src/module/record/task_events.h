/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TASK_EVENTS_H
#define TALLY_TASK_EVENTS_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/types.h>

struct perf_event_attr;
struct task_struct;
struct tally_output;

/* Kinds of records: COMM; FORK and EXIT; SWITCH and SWITCH_CPU_WIDE; CGROUP. */
#define TALLY_TASK_COMM		BIT(0)
#define TALLY_TASK_LIFE		BIT(1)
#define TALLY_TASK_SWITCH	BIT(2)
#define TALLY_TASK_CGROUP	BIT(3)
/* No records: exit() and exec(), with which a task's event may end. */
#define TALLY_TASK_END		BIT(4)

/**
 * struct tally_task_listener - somebody who is told what happens to tasks
 * @kinds: TALLY_TASK_*: which records; see tally_task_events_kinds()
 * @task: whose; NULL of whatever runs on @cpu
 * @cpu: on which CPU alone; -1 on all
 * @inherit: of the tasks, too, that @task and they make from now on
 * @inherit_thread: but only of those that are threads of theirs
 * @remove_on_exec: of none that has called exec()
 * @out: where to write what happens on @cpu, which is this one; NULL is nowhere.
 *	In any context but NMI, the runqueue locked and interrupts off. It goes by
 *	what was asked for, enabled or not, and not by the state of perf's event,
 *	which may have ended before its task's EXIT is told.
 * @missed: tasks that could not be inherited, for want of memory
 * @node: private: in the list of those of a CPU, or of all
 * @members: private: the tasks
 * @gone: private: no task is inherited any more
 *
 * The first seven are set before tally_task_events_add(), and not changed.
 */
struct tally_task_listener {
	unsigned int kinds;
	struct task_struct *task;
	int cpu;
	bool inherit;
	bool inherit_thread;
	bool remove_on_exec;
	struct tally_output *(*out)(struct tally_task_listener *listener, int cpu);
	atomic_long_t missed;
	struct hlist_node node;
	struct list_head members;
	bool gone;
};

unsigned int tally_task_events_kinds(const struct perf_event_attr *attr);
int tally_task_events_add(struct tally_task_listener *listener);
void tally_task_events_leave(struct tally_task_listener *listener);
void tally_task_events_exit(void);

#endif /* TALLY_TASK_EVENTS_H */
