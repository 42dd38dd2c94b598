/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TASK_EVENTS_H
#define TALLY_TASK_EVENTS_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/types.h>

struct tally_account;
struct task_struct;

/* Kinds of events: new names; fork() and exit(); switches; new cgroups. */
#define TALLY_TASK_COMM		BIT(0)
#define TALLY_TASK_LIFE		BIT(1)
#define TALLY_TASK_SWITCH	BIT(2)
#define TALLY_TASK_CGROUP	BIT(3)
/* The last task of the listener has left it, by exit() or exec(). */
#define TALLY_TASK_END		BIT(4)

/**
 * struct tally_task_event - what happens to a task
 * @kinds: kinds that the event belongs to, a mask of TALLY_TASK_*
 * @type: PERF_RECORD_* that perf has for it: COMM, FORK, EXIT, SWITCH, CGROUP;
 *	0 for TALLY_TASK_END, which has no other members
 * @misc: misc bits of perf's record
 * @task: the task that is renamed, new, exiting, switched in or out, or makes a cgroup
 * @other: the other task of a switch
 * @data: new name of a COMM, body of a CGROUP record
 * @size: size of @data in bytes, a multiple of 8, with zeros behind the string
 */
struct tally_task_event {
	unsigned int kinds;
	u32 type;
	u16 misc;
	struct task_struct *task;
	struct task_struct *other;
	const void *data;
	size_t size;
};

/**
 * struct tally_task_listener - a listener to what happens to tasks
 * @kinds: kinds of events it wants, a mask of TALLY_TASK_*
 * @task: the task it listens to, which has an event of perf; NULL for all tasks on @cpu
 * @cpu: the CPU it listens to; -1 for all
 * @inherit: whether it listens to new children of its tasks, too
 * @inherit_thread: with @inherit: only to those that are threads of their parent
 * @remove_on_exec: whether a task leaves it by exec()
 * @notify: callback for each event, with preemption disabled, in an RCU
 *	read-side critical section, on the CPU of the event, in any context but
 *	NMI. For a switch the runqueue is locked and interrupts are off.
 *	TALLY_TASK_END may come with preemption enabled, and also from
 *	tally_task_events_add() or another caller of tally_members_leave()
 * @account: account of the user who is charged for the tasks; NULL for none
 * @missed: number of children lost for want of memory, or because @account is used up
 * @node: private: node in the list of a CPU, or of all CPUs; unused with a task
 * @members: private: list of the tasks
 * @gone: private: true once no task joins any more
 *
 * The members up to @account are set before tally_task_events_add() and then constant.
 */
struct tally_task_listener {
	unsigned int kinds;
	struct task_struct *task;
	int cpu;
	bool inherit;
	bool inherit_thread;
	bool remove_on_exec;
	void (*notify)(struct tally_task_listener *listener, const struct tally_task_event *e);
	struct tally_account *account;
	atomic_long_t missed;
	struct hlist_node node;
	struct list_head members;
	bool gone;
};

int tally_task_events_add(struct tally_task_listener *listener);
void tally_task_events_leave(struct tally_task_listener *listener);
void tally_task_events_exit(void);

#endif /* TALLY_TASK_EVENTS_H */
