// SPDX-License-Identifier: GPL-2.0
/*
 * Waking the pollers of a file when its task's event ends.
 *
 * perf calls nobody when an event ends, which exit() and exec() may do. Their
 * tracepoints come some time before or after that end, and each kernel has them at
 * another place. So a tracepoint only makes a waiter due, and a work asks the waiter,
 * again and again, whether its event has ended.
 */
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "device/task_exit.h"

/*
 * Guards the list, and due, tries and done of each waiter. A tracepoint takes this
 * lock with other locks held, so no lock is taken inside.
 */
static DEFINE_RAW_SPINLOCK(due_lock);
static LIST_HEAD(due);

/* Held while waiters are asked. Outside of all locks that a waiter takes. */
static DEFINE_MUTEX(asking_lock);

/* Jiffies until the next round of asks: doubled after each round, up to a second. */
static unsigned long delay = 1;

/* A waiter for any task gives up after so many asks; most tasks are not its own. */
#define TRIES	16

static void ask(struct work_struct *work);
static DECLARE_DELAYED_WORK(asking, ask);

/* Runs in hard interrupt, also on PREEMPT_RT: queueing a work takes raw locks only. */
static void kick(struct irq_work *work)
{
	WRITE_ONCE(delay, 1);
	mod_delayed_work(tally_percpu_wq, &asking, 0);
}

/*
 * On PREEMPT_RT other irq_works run in a thread of the CPU. If the CPU goes offline, they
 * wait until it is back.
 */
static struct irq_work kicked = IRQ_WORK_INIT_HARD(kick);

static void task_ended(struct tally_task_listener *listener, const struct tally_task_event *e)
{
	struct tally_task_exit *w = container_of(listener, struct tally_task_exit, listener);
	unsigned long flags;
	bool ask;

	raw_spin_lock_irqsave(&due_lock, flags);
	ask = !w->done;
	w->tries = TRIES;
	if (ask && list_empty(&w->due))
		list_add_tail(&w->due, &due);
	raw_spin_unlock_irqrestore(&due_lock, flags);
	if (ask)
		irq_work_queue(&kicked);
}

/* After an exec() one ask is enough. After an exit() the event ends for certain. */
static bool may_end(const struct tally_task_exit *w)
{
	const struct task_struct *task = w->listener.task;

	return task ? READ_ONCE(task->flags) & PF_EXITING : w->tries;
}

/* A waiter may become due again while it is asked. */
static struct tally_task_exit *next_of(struct list_head *round)
{
	struct tally_task_exit *w;

	raw_spin_lock_irq(&due_lock);
	w = list_first_entry_or_null(round, struct tally_task_exit, due);
	if (w) {
		list_del_init(&w->due);
		w->tries--;
	}
	raw_spin_unlock_irq(&due_lock);
	return w;
}

static void ask_one(struct tally_task_exit *w)
{
	bool ended = w->ended(w);

	raw_spin_lock_irq(&due_lock);
	if (ended) {
		w->done = true;
		list_del_init(&w->due);
	} else if (may_end(w) && list_empty(&w->due)) {
		list_add_tail(&w->due, &due);
	}
	raw_spin_unlock_irq(&due_lock);
}

static void ask(struct work_struct *work)
{
	unsigned long again = READ_ONCE(delay);
	struct tally_task_exit *w;
	LIST_HEAD(round);

	mutex_lock(&asking_lock);
	raw_spin_lock_irq(&due_lock);
	list_splice_init(&due, &round);
	raw_spin_unlock_irq(&due_lock);
	while ((w = next_of(&round)))
		ask_one(w);
	if (!list_empty_careful(&due)) {
		WRITE_ONCE(delay, min_t(unsigned long, again * 2, HZ));
		queue_delayed_work(tally_percpu_wq, &asking, again);
	}
	mutex_unlock(&asking_lock);
}

/**
 * tally_task_exit_watch - wait for the end of a task's event
 * @w: the waiter, zeroed but for @w->ended
 * @task: the task of the event
 * @children: whether the event counts in children of @task, too, so that it ends with
 *	the last of them
 *
 * A task that is exiting already is noticed, too. An exec() that came before is not.
 *
 * Context: Process context, may sleep; takes cpus_read_lock().
 * Return: 0; EOPNOTSUPP in a kernel that lacks a tracepoint, ENOMEM.
 */
int tally_task_exit_watch(struct tally_task_exit *w, struct task_struct *task,
			  bool children)
{
	int err;

	INIT_LIST_HEAD(&w->due);
	w->listener.kinds = TALLY_TASK_END;
	w->listener.task = children ? NULL : task;
	w->listener.cpu = -1;
	w->listener.notify = task_ended;
	err = tally_task_events_add(&w->listener);
	if (err) {
		w->listener.kinds = 0;
		return err;
	}
	/* Either exit() finds the listener, or PF_EXITING is seen here. */
	smp_mb(); /* Y */
	if (READ_ONCE(task->flags) & PF_EXITING)
		task_ended(&w->listener, NULL);
	return 0;
}

/**
 * tally_task_exit_unwatch - end a wait
 * @w: the waiter; nothing happens if it was never added
 *
 * On return @w is not being asked and never will be. A tracepoint may still look at
 * @w until a grace period has passed, so @w is freed by kfree_rcu().
 *
 * Context: Process context, may sleep; takes cpus_read_lock().
 */
void tally_task_exit_unwatch(struct tally_task_exit *w)
{
	if (!w->listener.kinds)
		return;
	mutex_lock(&asking_lock);
	raw_spin_lock_irq(&due_lock);
	w->done = true;
	list_del_init(&w->due);
	raw_spin_unlock_irq(&due_lock);
	mutex_unlock(&asking_lock);
	tally_task_events_leave(&w->listener);
}

/* Before the module goes. Nobody waits any more, but a tracepoint may still run. */
void tally_task_exit_stop(void)
{
	synchronize_rcu();
	irq_work_sync(&kicked);
	cancel_delayed_work_sync(&asking);
}
