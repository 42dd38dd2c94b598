// SPDX-License-Identifier: GPL-2.0
/*
 * The tasks of listeners: members join by fork() and leave by exit() and exec().
 *
 *	err = tally_members_add(listener);
 *	...
 *	tally_members_report(task, &event);
 *
 * The cost of a switch, fork, exec or exit of a task without a listener does
 * not depend on the number of tasks that have one. A switch or a fork looks up
 * only tasks that perf has a context for. exit() and exec() look up each task,
 * and take the lock only if they find it.
 *
 * The user of a listener is charged for each member. A child beyond the limit is missed.
 */
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "base/account.h"
#include "record/task_members.h"

/**
 * struct member - a task of a listener
 * @node: node in the table of members, hashed by @task
 * @of_listener: node in the listener's list, or in the list of spares
 * @listener: the listener
 * @task: the task, only compared; its address is not used again, as it has not
 *	passed the tracepoint of exit() or @listener holds a reference
 * @rcu: frees the member after its readers
 */
struct member {
	struct hlist_node node;
	struct list_head of_listener;
	struct tally_task_listener *listener;
	const struct task_struct *task;
	struct rcu_head rcu;
};

/* The lock also guards @spares, @nr_spares and @nr_inheriting. @members is read under RCU. */
DEFINE_RAW_SPINLOCK(tally_members_lock);
static struct hlist_head *members __read_mostly;
static unsigned int members_bits __read_mostly;

/*
 * Members for the children of tasks: the tracepoint of fork() cannot sleep, and with
 * PREEMPT_RT cannot allocate at all. There are spares while a listener inherits. The table
 * is no rhashtable, because an insertion into that may allocate.
 */
#define SPARES	256
static LIST_HEAD(spares);
static unsigned int nr_spares;
static unsigned int nr_inheriting;

static void refill(struct work_struct *work);
static DECLARE_WORK(refilling, refill);

static struct hlist_head *bucket_of(const struct task_struct *task)
{
	return &members[hash_ptr(task, members_bits)];
}

/* Reports an event to all listeners of a task. */
void tally_members_report(const struct task_struct *task, const struct tally_task_event *e)
{
	struct member *m;

	rcu_read_lock();
	preempt_disable();
	hlist_for_each_entry_rcu(m, bucket_of(task), node)
		if (m->task == task)
			tally_member_report(m->listener, e);
	preempt_enable();
	rcu_read_unlock();
}

static void link_member(struct member *m, struct tally_task_listener *listener,
			const struct task_struct *task)
{
	lockdep_assert_held(&tally_members_lock);
	m->listener = listener;
	m->task = task;
	list_add(&m->of_listener, &listener->members);
	hlist_add_head_rcu(&m->node, bucket_of(task));
}

static void drop_member(struct member *m)
{
	lockdep_assert_held(&tally_members_lock);
	hlist_del_init_rcu(&m->node);
	list_del(&m->of_listener);
	tally_account_uncharge(m->listener->account, sizeof(*m));
	kfree_rcu(m, rcu);
}

static void refill(struct work_struct *work)
{
	struct member *m;
	bool more;

	do {
		m = kmalloc(sizeof(*m), GFP_KERNEL);
		if (!m)
			return;
		raw_spin_lock(&tally_members_lock);
		more = nr_inheriting && nr_spares < SPARES;
		if (more) {
			list_add(&m->of_listener, &spares);
			nr_spares++;
		}
		raw_spin_unlock(&tally_members_lock);
	} while (more);
	kfree(m);
}

static struct member *get_spare(void)
{
	struct member *m;
	bool low;

	raw_spin_lock(&tally_members_lock);
	m = list_first_entry_or_null(&spares, struct member, of_listener);
	if (m) {
		list_del(&m->of_listener);
		nr_spares--;
	}
	low = nr_spares < SPARES / 2;
	raw_spin_unlock(&tally_members_lock);
	if (low)
		schedule_work(&refilling);
	return m;
}

/* As far as possible, the member of a child is charged to the memory cgroup of its parent. */
static struct member *new_member(struct tally_task_listener *listener)
{
	struct member *m = NULL;

	if (!tally_account_charge(listener->account, sizeof(*m)))
		return NULL;
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		m = kmalloc(sizeof(*m), GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT);
	if (!m)
		m = get_spare();
	if (!m)
		tally_account_uncharge(listener->account, sizeof(*m));
	return m;
}

static void join(struct tally_task_listener *listener, const struct task_struct *task)
{
	struct member *m = new_member(listener);

	if (!m) {
		atomic_long_inc(&listener->missed);
		pr_warn_ratelimited(KBUILD_MODNAME ": %s[%d]: no memory, or no more of kbytes_per_user, to follow it: it has no records\n",
				    task->comm, task->pid);
		return;
	}
	raw_spin_lock(&tally_members_lock);
	if (!listener->gone) {
		link_member(m, listener, task);
		m = NULL;
	}
	raw_spin_unlock(&tally_members_lock);
	if (m) {
		tally_account_uncharge(listener->account, sizeof(*m));
		kfree_rcu(m, rcu);
	}
}

/* A new task joins the listeners of its parent that inherit. */
void tally_members_inherit(const struct task_struct *parent, const struct task_struct *child,
			   unsigned long clone_flags)
{
	struct tally_task_listener *listener;
	struct member *m;

	/* perf has inherited nothing. */
	if (!tally_task_has_perf(child))
		return;
	rcu_read_lock();
	hlist_for_each_entry_rcu(m, bucket_of(parent), node) {
		listener = m->listener;
		if (m->task == parent && listener->inherit &&
		    (!listener->inherit_thread || clone_flags & CLONE_THREAD))
			join(listener, child);
	}
	rcu_read_unlock();
}

/* The caller is an RCU reader. Somebody else may drop the member at the same time. */
static void leave(struct member *m)
{
	static const struct tally_task_event end = { .kinds = TALLY_TASK_END };
	struct tally_task_listener *listener = m->listener;
	bool last = false;

	raw_spin_lock(&tally_members_lock);
	if (!hlist_unhashed(&m->node)) {
		drop_member(m);
		last = list_empty(&listener->members);
	}
	raw_spin_unlock(&tally_members_lock);
	if (last)
		tally_member_report(listener, &end);
}

/* A task leaves its listeners, or @one of them; with @exec, those with remove_on_exec. */
void tally_members_leave(const struct task_struct *task, const struct tally_task_listener *one,
			 bool exec)
{
	struct member *m;

	rcu_read_lock();
	hlist_for_each_entry_rcu(m, bucket_of(task), node)
		if (m->task == task && (!one || m->listener == one) &&
		    (!exec || m->listener->remove_on_exec))
			leave(m);
	rcu_read_unlock();
}

/**
 * tally_members_gone - check that all tasks of a listener have left it
 * @listener: the listener, after tally_members_add()
 *
 * Context: Process context.
 * Return: true if they have, and then the last of their records have been written.
 */
bool tally_members_gone(const struct tally_task_listener *listener)
{
	bool gone;

	raw_spin_lock(&tally_members_lock);
	gone = list_empty(&listener->members);
	raw_spin_unlock(&tally_members_lock);
	return gone;
}

/**
 * tally_members_add - add the first member of a listener
 * @listener: the listener, with a task
 *
 * The listener holds a reference to its task until tally_members_remove(): the task may exit
 * unseen, and a new task must not have the address that members know.
 *
 * Context: Process context, may sleep.
 * Return: 0; EDQUOT, ENOMEM.
 */
int tally_members_add(struct tally_task_listener *listener)
{
	struct member *m;

	if (!tally_account_charge(listener->account, sizeof(*m)))
		return -EDQUOT;
	m = kmalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m) {
		tally_account_uncharge(listener->account, sizeof(*m));
		return -ENOMEM;
	}
	INIT_LIST_HEAD(&listener->members);
	atomic_long_set(&listener->missed, 0);
	listener->gone = false;
	get_task_struct(listener->task);
	raw_spin_lock(&tally_members_lock);
	link_member(m, listener, listener->task);
	if (listener->inherit)
		nr_inheriting++;
	raw_spin_unlock(&tally_members_lock);
	if (listener->inherit)
		refill(NULL);
	return 0;
}

/* Drops the lock after each member, because there may be very many. */
static void drop_all(struct tally_task_listener *listener)
{
	struct member *m;

	do {
		raw_spin_lock(&tally_members_lock);
		listener->gone = true;
		m = list_first_entry_or_null(&listener->members, struct member, of_listener);
		if (m)
			drop_member(m);
		raw_spin_unlock(&tally_members_lock);
	} while (m);
}

static void drop_spares(void)
{
	struct member *m, *next;
	LIST_HEAD(old);

	raw_spin_lock(&tally_members_lock);
	if (!--nr_inheriting) {
		list_splice_init(&spares, &old);
		nr_spares = 0;
	}
	raw_spin_unlock(&tally_members_lock);
	list_for_each_entry_safe(m, next, &old, of_listener)
		kfree(m);
}

/**
 * tally_members_remove - remove all members of a listener
 * @listener: the listener, after tally_members_add()
 *
 * Context: Process context, may sleep.
 */
void tally_members_remove(struct tally_task_listener *listener)
{
	drop_all(listener);
	if (listener->inherit)
		drop_spares();
	put_task_struct(listener->task);
}

/* A bucket for each thread that fits into the memory, up to half a MiB of buckets. */
int tally_members_init(void)
{
	unsigned long buckets = totalram_pages() >> (17 - PAGE_SHIFT);

	members_bits = ilog2(clamp(buckets, BIT(10), BIT(16)));
	members = kvcalloc(BIT(members_bits), sizeof(*members), GFP_KERNEL);
	return members ? 0 : -ENOMEM;
}

/* Frees the table. Called when no probe runs any more, before the module goes. */
void tally_members_exit(void)
{
	cancel_work_sync(&refilling);
	kvfree(members);
}
