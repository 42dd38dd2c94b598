// SPDX-License-Identifier: GPL-2.0
/*
 * Waking the pollers of a file when its task's event ends.
 *
 * perf calls nobody when an event ends. task_events.c reports that its last
 * task has exited, or has left it by exec(), some time before or after that
 * end: each kernel has the tracepoints at another place. So a report only makes
 * a waiter due, and a work asks the waiter, again and again, whether its event
 * has ended.
 *
 * A file that is attached to the event of another owner does not know the children that were
 * forked before. If they outlive the tasks that it knows, the file is asked once a second.
 */
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "device/task_exit.h"
#include "record/task_members.h"

/*
 * Waiters that are due, and the one that is being asked. Guarded by
 * tally_members_lock, as are the members of each waiter from due to done.
 */
static LIST_HEAD(due);
static struct tally_task_exit *asked;

static void ask(struct work_struct *work);
static DECLARE_DELAYED_WORK(asking, ask);

/* Runs in hard interrupt, also on PREEMPT_RT: queueing a work takes raw locks only. */
static void kick(struct irq_work *work)
{
	mod_delayed_work(tally_percpu_wq, &asking, 0);
}

/*
 * On PREEMPT_RT an irq_work that is not hard runs in a thread of the CPU. If
 * the CPU goes offline, the irq_work waits until the CPU is back.
 */
static struct irq_work kicked = IRQ_WORK_INIT_HARD(kick);

static void task_ended(struct tally_task_listener *listener, const struct tally_task_event *e)
{
	struct tally_task_exit *w = container_of(listener, struct tally_task_exit, listener);
	bool ask;

	raw_spin_lock(&tally_members_lock);
	ask = !w->done && list_empty(&w->due);
	if (ask) {
		list_add_tail(&w->due, &due);
		w->next = jiffies;
		w->delay = 1;
	}
	raw_spin_unlock(&tally_members_lock);
	if (ask)
		irq_work_queue(&kicked);
}

/*
 * Takes the first waiter of a round whose time has come, and stores it in @asked; NULL if there is
 * none. Those before it go back to the list @due, and @soonest becomes the earliest of their times.
 */
static struct tally_task_exit *next_of(struct list_head *round, unsigned long *soonest)
{
	struct tally_task_exit *w;
	bool waits;

	/* There may be very many waiters: the lock is dropped after each. */
	do {
		raw_spin_lock(&tally_members_lock);
		w = list_first_entry_or_null(round, struct tally_task_exit, due);
		waits = w && time_before(jiffies, w->next);
		if (waits) {
			list_move_tail(&w->due, &due);
			if (time_before(w->next, *soonest))
				*soonest = w->next;
		} else if (w) {
			list_del_init(&w->due);
		}
		asked = waits ? NULL : w;
		raw_spin_unlock(&tally_members_lock);
	} while (waits);
	return w;
}

/*
 * Calls w->ended(). If the event has not ended, this plans the next call: the
 * delay doubles each time, up to a second. Meanwhile a report may put the
 * waiter on the list again, and tally_task_exit_unwatch() may set w->done.
 */
static void ask_one(struct tally_task_exit *w, unsigned long *soonest)
{
	bool ended = w->ended(w);

	raw_spin_lock(&tally_members_lock);
	asked = NULL;
	if (ended) {
		w->done = true;
		list_del_init(&w->due);
	} else if (!w->done && list_empty(&w->due)) {
		list_add_tail(&w->due, &due);
		w->next = jiffies + w->delay;
		w->delay = min_t(unsigned long, w->delay * 2, HZ);
		if (time_before(w->next, *soonest))
			*soonest = w->next;
	}
	raw_spin_unlock(&tally_members_lock);
}

static void ask(struct work_struct *work)
{
	unsigned long soonest = jiffies + HZ;
	struct tally_task_exit *w;
	LIST_HEAD(round);

	raw_spin_lock(&tally_members_lock);
	list_splice_init(&due, &round);
	raw_spin_unlock(&tally_members_lock);
	while ((w = next_of(&round, &soonest)))
		ask_one(w, &soonest);
	if (!list_empty_careful(&due))
		queue_delayed_work(tally_percpu_wq, &asking,
				   max_t(long, soonest - jiffies, 1));
}

/**
 * tally_task_exit_watch - wait for the end of a task's event
 * @w: the waiter, zeroed but for @w->ended
 * @task: the task of the event
 * @attr: the attributes of the event, which say whether it ends with the last
 *	child of @task, or by exec()
 * @account: account of the user who is charged for the tasks
 *
 * A task that is exiting already is noticed, too. If exec() may have removed
 * the event before, the caller calls tally_task_exit_left().
 *
 * Context: Process context, may sleep; takes cpus_read_lock().
 * Return: 0; EOPNOTSUPP in a kernel that lacks a tracepoint, EDQUOT, ENOMEM.
 */
int tally_task_exit_watch(struct tally_task_exit *w, struct task_struct *task,
			  const struct perf_event_attr *attr, struct tally_account *account)
{
	int err;

	INIT_LIST_HEAD(&w->due);
	w->listener.kinds = TALLY_TASK_END;
	w->listener.task = task;
	w->listener.cpu = -1;
	w->listener.inherit = attr->inherit;
	w->listener.inherit_thread = attr->inherit_thread;
	w->listener.remove_on_exec = attr->remove_on_exec;
	w->listener.notify = task_ended;
	w->listener.account = account;
	err = tally_task_events_add(&w->listener);
	if (err) {
		w->listener.kinds = 0;
		return err;
	}
	/* Either exit() finds the listener, or PF_EXITING is seen here. */
	smp_mb(); /* Y */
	if (READ_ONCE(task->flags) & PF_EXITING)
		tally_members_leave(w->listener.task, &w->listener, false);
	return 0;
}

/**
 * tally_task_exit_left - end the wait for a task whose event has ended already
 * @w: the waiter; nothing happens if it was never added
 *
 * No tracepoint reports an exec() that was over before tally_task_exit_watch().
 *
 * Context: Process context.
 */
void tally_task_exit_left(struct tally_task_exit *w)
{
	if (w->listener.kinds)
		tally_members_leave(w->listener.task, &w->listener, false);
}

/**
 * tally_task_exit_seen - check that all tasks of a waiter are known to have left the event
 * @w: the waiter, which need not have been added
 *
 * perf's event may end before the tracepoint at which the EXIT record of its last task is
 * written. A reader stops at EPOLLHUP, so the end is reported after both.
 *
 * Context: Process context.
 * Return: true if they are, or if nobody waits for them.
 */
bool tally_task_exit_seen(const struct tally_task_exit *w)
{
	return !w->listener.kinds || tally_members_gone(&w->listener);
}

/**
 * tally_task_exit_unwatch - end a wait
 * @w: the waiter; nothing happens if it was never added
 *
 * On return @w is not being asked and never will be. A tracepoint may still
 * look at @w until a grace period has passed, so @w is freed by kfree_rcu().
 *
 * Context: Process context, may sleep; takes cpus_read_lock().
 */
void tally_task_exit_unwatch(struct tally_task_exit *w)
{
	bool is_asked;

	if (!w->listener.kinds)
		return;
	raw_spin_lock(&tally_members_lock);
	w->done = true;
	list_del_init(&w->due);
	is_asked = asked == w;
	raw_spin_unlock(&tally_members_lock);
	/* No other work is waited for: one that has not begun may have to wait for its CPU. */
	if (is_asked)
		flush_work(&asking.work);
	tally_task_events_leave(&w->listener);
}

/* Called before the module goes. No file waits any more, but a tracepoint may still run. */
void tally_task_exit_stop(void)
{
	synchronize_rcu();
	irq_work_sync(&kicked);
	cancel_delayed_work_sync(&asking);
}
