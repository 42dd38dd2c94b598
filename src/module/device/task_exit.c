// SPDX-License-Identifier: GPL-2.0
/*
 * Telling whoever polls a file that its task's event has ended.
 *
 * perf tells nobody. So two of the scheduler's tracepoints are watched, from the
 * first file of a task on: of exit() and of exec(), with which an event may end,
 * too. They come some time before or after the end of the events, on each kernel
 * at another place; so a work looks until it has come.
 */
#include <linux/hashtable.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "device/task_exit.h"
#include "base/tracepoint.h"

/* Guards what follows. Tracepoints take it, wherever they are: no lock is inside. */
static DEFINE_RAW_SPINLOCK(watches_lock);
static DEFINE_HASHTABLE(watches, 6);
static LIST_HEAD(due);

/* Held while watches are asked, and taken away. Outside all that they take. */
static DEFINE_MUTEX(asking_lock);

/* Guards what follows. */
static DEFINE_MUTEX(probing_lock);
static bool probing;

/* Twice as long each time, up to a second; one for any task not for ever. */
#define TRIES	16
static unsigned long delay = 1;

static void ask(struct work_struct *work);
static DECLARE_DELAYED_WORK(asking, ask);

static void kick(struct irq_work *work)
{
	WRITE_ONCE(delay, 1);
	mod_delayed_work(system_wq, &asking, 0);
}

static DEFINE_IRQ_WORK(kicked, kick);

static void make_due(struct tally_task_exit *w)
{
	lockdep_assert_held(&watches_lock);
	w->tries = TRIES;
	if (list_empty(&w->due))
		list_add_tail(&w->due, &due);
}

/* Those who wait for @task, or for any. */
static bool mark(const struct task_struct *task)
{
	struct tally_task_exit *w;
	bool any = false;

	hash_for_each_possible(watches, w, node, (unsigned long)task) {
		if (w->task != task || w->told)
			continue;
		make_due(w);
		any = true;
	}
	return any;
}

static void something_ended(const struct task_struct *task)
{
	unsigned long flags;
	bool any;

	raw_spin_lock_irqsave(&watches_lock, flags);
	any = mark(task) | mark(NULL);
	raw_spin_unlock_irqrestore(&watches_lock, flags);
	if (any)
		irq_work_queue(&kicked);
}

static void probe_exit(void *data, struct task_struct *task)
{
	something_ended(task);
}

static void probe_exec(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	something_ended(task);
}

/* An exec() that left the event alone is over; an exit() is not, until it is. */
static bool may_end(const struct tally_task_exit *w)
{
	return w->task ? READ_ONCE(w->task->flags) & PF_EXITING : w->tries;
}

/* The next one of this round; it may become due again while it is asked. */
static struct tally_task_exit *next_of(struct list_head *round)
{
	struct tally_task_exit *w;

	raw_spin_lock_irq(&watches_lock);
	w = list_first_entry_or_null(round, struct tally_task_exit, due);
	if (w) {
		list_del_init(&w->due);
		w->tries--;
	}
	raw_spin_unlock_irq(&watches_lock);
	return w;
}

static void ask_one(struct tally_task_exit *w)
{
	bool ended = w->ended(w);

	raw_spin_lock_irq(&watches_lock);
	if (ended) {
		w->told = true;
		list_del_init(&w->due);
	} else if (may_end(w) && list_empty(&w->due)) {
		list_add_tail(&w->due, &due);
	}
	raw_spin_unlock_irq(&watches_lock);
}

static void ask(struct work_struct *work)
{
	unsigned long again = READ_ONCE(delay);
	struct tally_task_exit *w;
	LIST_HEAD(round);

	mutex_lock(&asking_lock);
	raw_spin_lock_irq(&watches_lock);
	list_splice_init(&due, &round);
	raw_spin_unlock_irq(&watches_lock);
	while ((w = next_of(&round)))
		ask_one(w);
	if (!list_empty_careful(&due)) {
		WRITE_ONCE(delay, min_t(unsigned long, again * 2, HZ));
		queue_delayed_work(system_wq, &asking, again);
	}
	mutex_unlock(&asking_lock);
}

static struct tally_tracepoint exit_probe =
	TALLY_TRACEPOINT_PROBE("sched_process_exit", probe_exit);
static struct tally_tracepoint exec_probe =
	TALLY_TRACEPOINT_PROBE("sched_process_exec", probe_exec);

static int start_probing(void)
{
	int err;

	lockdep_assert_held(&probing_lock);
	if (probing)
		return 0;
	err = tally_tracepoint_get(&exit_probe);
	if (err)
		return err;
	err = tally_tracepoint_get(&exec_probe);
	if (err) {
		tally_tracepoint_put(&exit_probe);
		tracepoint_synchronize_unregister();
		return err;
	}
	probing = true;
	return 0;
}

/**
 * tally_task_exit_watch - ask for being told
 * @w: the watch; @w->task and @w->ended are set
 * @task: whose event it is
 *
 * What has ended before is told, too.
 *
 * Context: Process context, may sleep.
 * Return: 0; EOPNOTSUPP in a kernel without tracepoints, ENOMEM.
 */
int tally_task_exit_watch(struct tally_task_exit *w, const struct task_struct *task)
{
	int err;

	mutex_lock(&probing_lock);
	err = start_probing();
	mutex_unlock(&probing_lock);
	if (err)
		return err;
	raw_spin_lock_irq(&watches_lock);
	INIT_LIST_HEAD(&w->due);
	w->told = false;
	hash_add(watches, &w->node, (unsigned long)w->task);
	raw_spin_unlock_irq(&watches_lock);
	/* It may be past the tracepoint, but not yet where perf ends its events. */
	if (READ_ONCE(task->flags) & PF_EXITING)
		something_ended(w->task);
	return 0;
}

/* On return it is not being asked, and never will be. */
void tally_task_exit_unwatch(struct tally_task_exit *w)
{
	mutex_lock(&asking_lock);
	raw_spin_lock_irq(&watches_lock);
	hash_del(&w->node);
	list_del_init(&w->due);
	raw_spin_unlock_irq(&watches_lock);
	mutex_unlock(&asking_lock);
}

/* Nobody watches any more. */
void tally_task_exit_stop(void)
{
	if (probing) {
		tally_tracepoint_put(&exec_probe);
		tally_tracepoint_put(&exit_probe);
		tracepoint_synchronize_unregister();
	}
	irq_work_sync(&kicked);
	cancel_delayed_work_sync(&asking);
}
