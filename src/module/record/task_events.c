// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to tasks, reported to listeners: new names, fork(), exec(), exit(),
 * switches and new cgroups. task_records.c writes perf's records of them.
 *
 *	listener->kinds = TALLY_TASK_LIFE;
 *	listener->cpu = 3;
 *	listener->notify = count_forks;
 *	err = tally_task_events_add(listener);
 *	...
 *	tally_task_events_leave(listener);
 *	synchronize_rcu();
 *
 * As in perf, an event is reported to the listeners of the CPU that it happens on and
 * to the listeners of the task that causes it: a fork() to those of the parent, a new
 * name to those of the task that does the renaming.
 *
 * perf finds its own events by the task. The tracepoint of exit() may come after perf
 * has taken them from the task, so this file remembers the tasks of each listener from
 * fork() to exit().
 *
 * Ordering:
 *
 * Y. exit() sets PF_EXITING and then looks for listeners, in probe_exit(). A listener for
 *    the end of a task is in the table before it reads PF_EXITING, in
 *    tally_task_exit_watch(). So at least one of both sees the other.
 */
#include <linux/align.h>
#include <linux/cgroup.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>
#include <trace/events/cgroup.h>
#include <trace/events/sched.h>
#include <trace/events/task.h>
#include "compat.h"
#include "record/task_events.h"
#include "base/tracepoint.h"

/**
 * struct member - a task of a listener
 * @node: node in the table of members, hashed by @task
 * @of_listener: node in the listener's list, or in the list of spares
 * @listener: the listener
 * @task: the task, only compared; its address is not used again, as it has not passed
 *	the tracepoint of exit() or @listener holds a reference
 * @rcu: frees the member after its readers
 */
struct member {
	struct hlist_node node;
	struct list_head of_listener;
	struct tally_task_listener *listener;
	const struct task_struct *task;
	struct rcu_head rcu;
};

/*
 * Guards the writers of all lists and counters below; the table and the lists of
 * listeners are read under RCU. No lock is taken inside.
 */
static DEFINE_RAW_SPINLOCK(members_lock);
static DEFINE_HASHTABLE(members, 10);
static DEFINE_PER_CPU(struct hlist_head, on_cpu);
static HLIST_HEAD(on_all);

/*
 * Members for the children of tasks: the tracepoint of fork() cannot sleep, and with
 * PREEMPT_RT cannot allocate at all. There are spares while a listener inherits.
 */
#define SPARES	256
static LIST_HEAD(spares);
static unsigned int nr_spares;
static unsigned int nr_inheriting;

static void refill(struct work_struct *work);
static DECLARE_WORK(refilling, refill);

/* ---- delivery to listeners ---- */

static void tell(struct tally_task_listener *listener, const struct tally_task_event *e)
{
	if (listener->kinds & e->kinds &&
	    (listener->cpu < 0 || listener->cpu == smp_processor_id()))
		listener->notify(listener, e);
}

static void tell_cpu(const struct tally_task_event *e)
{
	struct tally_task_listener *listener;

	rcu_read_lock();
	hlist_for_each_entry_rcu(listener, this_cpu_ptr(&on_cpu), node)
		tell(listener, e);
	hlist_for_each_entry_rcu(listener, &on_all, node)
		tell(listener, e);
	rcu_read_unlock();
}

static void tell_task(const struct task_struct *task, const struct tally_task_event *e)
{
	struct member *m;

	rcu_read_lock();
	hash_for_each_possible_rcu(members, m, node, (unsigned long)task)
		if (m->task == task)
			tell(m->listener, e);
	rcu_read_unlock();
}

/* ---- tasks of listeners ---- */

static void link_member(struct member *m, struct tally_task_listener *listener,
			const struct task_struct *task)
{
	lockdep_assert_held(&members_lock);
	m->listener = listener;
	m->task = task;
	list_add(&m->of_listener, &listener->members);
	hash_add_rcu(members, &m->node, (unsigned long)task);
}

static void drop_member(struct member *m)
{
	lockdep_assert_held(&members_lock);
	hash_del_rcu(&m->node);
	list_del(&m->of_listener);
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
		raw_spin_lock(&members_lock);
		more = nr_inheriting && nr_spares < SPARES;
		if (more) {
			list_add(&m->of_listener, &spares);
			nr_spares++;
		}
		raw_spin_unlock(&members_lock);
	} while (more);
	kfree(m);
}

static struct member *take_spare(void)
{
	struct member *m;
	bool low;

	raw_spin_lock(&members_lock);
	m = list_first_entry_or_null(&spares, struct member, of_listener);
	if (m) {
		list_del(&m->of_listener);
		nr_spares--;
	}
	low = nr_spares < SPARES / 2;
	raw_spin_unlock(&members_lock);
	if (low)
		schedule_work(&refilling);
	if (!m && !IS_ENABLED(CONFIG_PREEMPT_RT))
		m = kmalloc(sizeof(*m), GFP_NOWAIT | __GFP_NOWARN);
	return m;
}

static void join(struct tally_task_listener *listener, const struct task_struct *task)
{
	struct member *m = take_spare();

	if (!m) {
		atomic_long_inc(&listener->missed);
		pr_warn_ratelimited(KBUILD_MODNAME ": %s[%d]: no memory to follow it: its records are missing\n",
				    task->comm, task->pid);
		return;
	}
	raw_spin_lock(&members_lock);
	if (!listener->gone) {
		link_member(m, listener, task);
		m = NULL;
	}
	raw_spin_unlock(&members_lock);
	if (m)
		kfree_rcu(m, rcu);
}

static void inherit(const struct task_struct *parent, const struct task_struct *child,
		    unsigned long clone_flags)
{
	struct tally_task_listener *listener;
	struct member *m;

	rcu_read_lock();
	hash_for_each_possible_rcu(members, m, node, (unsigned long)parent) {
		listener = m->listener;
		if (m->task == parent && listener->inherit &&
		    (!listener->inherit_thread || clone_flags & CLONE_THREAD))
			join(listener, child);
	}
	rcu_read_unlock();
}

static void leave_task(const struct task_struct *task, bool exec)
{
	struct hlist_node *next;
	struct member *m;

	raw_spin_lock(&members_lock);
	hash_for_each_possible_safe(members, m, next, node, (unsigned long)task)
		if (m->task == task && (!exec || m->listener->remove_on_exec))
			drop_member(m);
	raw_spin_unlock(&members_lock);
}

/* ---- what happens to tasks ---- */

/* @task has its old name yet. In the middle of exec(), only exec() itself renames. */
static void probe_rename(void *data, struct task_struct *task, const char *name)
{
	bool exec = task == current && current->in_execve;
	char padded[TASK_COMM_LEN] = { };
	const struct tally_task_event e = {
		.kinds = TALLY_TASK_COMM,
		.type = PERF_RECORD_COMM,
		.misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
		.task = task,
		.data = padded,
		.size = ALIGN(strnlen(name, sizeof(padded) - 1) + 1, sizeof(u64)),
	};

	strscpy(padded, name, sizeof(padded));
	if (exec)
		leave_task(current, true);
	tell_cpu(&e);
	tell_task(current, &e);
}

static void probe_newtask(TALLY_NEWTASK_ARGS)
{
	const struct tally_task_event e = {
		.kinds = TALLY_TASK_LIFE,
		.type = PERF_RECORD_FORK,
		.task = task,
	};

	tell_cpu(&e);
	tell_task(current, &e);
	inherit(current, task, clone_flags);
}

static void probe_exit(TALLY_EXIT_ARGS)
{
	const struct tally_task_event e = {
		.kinds = TALLY_TASK_LIFE | TALLY_TASK_END,
		.type = PERF_RECORD_EXIT,
		.task = task,
	};

	smp_mb(); /* Y */
	tell_task(task, &e);
	tell_cpu(&e);
	leave_task(task, false);
}

static void probe_exec(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	const struct tally_task_event e = {
		.kinds = TALLY_TASK_END,
		.task = task,
	};

	tell_cpu(&e);
	tell_task(task, &e);
}

/* The runqueue is locked: no lock may be taken here, and no task woken. */
static void probe_switch(void *data, bool preempt, struct task_struct *prev,
			 struct task_struct *next, unsigned int prev_state)
{
	const struct tally_task_event out = {
		.kinds = TALLY_TASK_SWITCH,
		.type = PERF_RECORD_SWITCH,
		.misc = PERF_RECORD_MISC_SWITCH_OUT |
			(tally_task_runnable(prev) ? PERF_RECORD_MISC_SWITCH_OUT_PREEMPT : 0),
		.task = prev,
		.other = next,
	};
	const struct tally_task_event in = {
		.kinds = TALLY_TASK_SWITCH,
		.type = PERF_RECORD_SWITCH,
		.task = next,
		.other = prev,
	};

	tell_cpu(&out);
	tell_task(prev, &out);
	tell_cpu(&in);
	tell_task(next, &in);
}

/* TRACE_CGROUP_PATH_LEN, the size of the path at the tracepoint, is private. */
#define PATH_SIZE	1024

/* Guards the body, which is too large for the stack. */
static DEFINE_RAW_SPINLOCK(path_lock);
static struct {
	u64 id;
	char path[PATH_SIZE];
} cgroup_body;

static void probe_mkdir(void *data, struct cgroup *cgroup, const char *path)
{
	size_t length = strnlen(path, PATH_SIZE - 1);
	size_t size = ALIGN(length + 1, sizeof(u64));
	const struct tally_task_event e = {
		.kinds = TALLY_TASK_CGROUP,
		.type = PERF_RECORD_CGROUP,
		.task = current,
		.data = &cgroup_body,
		.size = offsetof(typeof(cgroup_body), path) + size,
	};
	unsigned long flags;

	if (!tally_cgroup_has_perf(cgroup))
		return;
	raw_spin_lock_irqsave(&path_lock, flags);
	cgroup_body.id = cgroup_id(cgroup);
	memcpy(cgroup_body.path, path, length);
	memset(cgroup_body.path + length, 0, size - length);
	tell_cpu(&e);
	tell_task(current, &e);
	raw_spin_unlock_irqrestore(&path_lock, flags);
}

/* ---- tracepoints ---- */

/* In the order of their start: an inherited task must be seen to exit. */
enum { EXIT, NEWTASK, EXEC, RENAME, SWITCH, MKDIR, NR_PROBES };

static struct tally_tracepoint probes[NR_PROBES] = {
	[EXIT] = TALLY_TRACEPOINT_PROBE("sched_process_exit", probe_exit),
	[NEWTASK] = TALLY_TRACEPOINT_PROBE("task_newtask", probe_newtask),
	[EXEC] = TALLY_TRACEPOINT_PROBE("sched_process_exec", probe_exec),
	[RENAME] = TALLY_TRACEPOINT_PROBE("task_rename", probe_rename),
	[SWITCH] = TALLY_TRACEPOINT_PROBE("sched_switch", probe_switch),
	[MKDIR] = TALLY_TRACEPOINT_PROBE("cgroup_mkdir", probe_mkdir),
};

/* tracepoint.c finds tracepoints by name, so here the compiler checks the types. */
static void __maybe_unused check_types(void)
{
	check_trace_callback_type_sched_process_exit(probe_exit);
	check_trace_callback_type_task_newtask(probe_newtask);
	check_trace_callback_type_sched_process_exec(probe_exec);
	check_trace_callback_type_task_rename(probe_rename);
	check_trace_callback_type_sched_switch(probe_switch);
	check_trace_callback_type_cgroup_mkdir(probe_mkdir);
}

/*
 * To register a probe patches the kernel's code, and programs open and close many files
 * of tasks. So what waits for the end of tasks keeps its probes until the module unloads.
 */
static unsigned long kept;

static unsigned int needs(const struct tally_task_listener *listener)
{
	unsigned int mask = 0;

	if (listener->kinds & TALLY_TASK_LIFE || listener->inherit)
		mask |= BIT(EXIT) | BIT(NEWTASK);
	if (listener->task)
		mask |= BIT(EXIT);
	if (listener->kinds & TALLY_TASK_END)
		mask |= BIT(EXIT) | BIT(EXEC);
	if (listener->kinds & TALLY_TASK_COMM || listener->remove_on_exec)
		mask |= BIT(RENAME);
	if (listener->kinds & TALLY_TASK_SWITCH)
		mask |= BIT(SWITCH);
	if (listener->kinds & TALLY_TASK_CGROUP && IS_ENABLED(CONFIG_CGROUP_PERF))
		mask |= BIT(MKDIR);
	return mask;
}

/* Of a listener that leaves. The first one for the end of a task hands its probes over. */
static unsigned int no_longer_needed(const struct tally_task_listener *listener)
{
	unsigned int mask = needs(listener);

	if (listener->kinds & TALLY_TASK_END) {
		if (!test_and_set_bit(EXIT, &kept))
			mask &= ~BIT(EXIT);
		if (!test_and_set_bit(EXEC, &kept))
			mask &= ~BIT(EXEC);
	}
	return mask;
}

static void stop_probes(unsigned int mask)
{
	int i;

	for (i = NR_PROBES - 1; i >= 0; i--)
		if (mask & BIT(i))
			tally_tracepoint_put(&probes[i]);
}

static int start_probes(unsigned int mask)
{
	int i, err;

	for (i = 0; i < NR_PROBES; i++) {
		err = mask & BIT(i) ? tally_tracepoint_get(&probes[i]) : 0;
		if (err) {
			stop_probes(mask & (BIT(i) - 1));
			return err;
		}
	}
	return 0;
}

/* ---- listeners ---- */

static struct hlist_head *list_of(const struct tally_task_listener *listener)
{
	return listener->cpu < 0 ? &on_all : per_cpu_ptr(&on_cpu, listener->cpu);
}

static void link_listener(struct tally_task_listener *listener, struct member *first)
{
	raw_spin_lock(&members_lock);
	if (first)
		link_member(first, listener, listener->task);
	else
		hlist_add_head_rcu(&listener->node, list_of(listener));
	if (listener->inherit)
		nr_inheriting++;
	raw_spin_unlock(&members_lock);
	if (listener->inherit)
		refill(NULL);
}

/**
 * tally_task_events_add - add a listener
 * @listener: the listener, with its public members set
 *
 * @listener->notify may run before this function returns.
 *
 * Context: Process context, may sleep; takes cpus_read_lock().
 * Return: 0; EOPNOTSUPP in a kernel that lacks a tracepoint, ENOMEM.
 */
int tally_task_events_add(struct tally_task_listener *listener)
{
	struct member *first = NULL;
	int err;

	/* Without a task there is none to inherit from. */
	if (!listener->task) {
		listener->inherit = false;
		listener->remove_on_exec = false;
	}
	INIT_LIST_HEAD(&listener->members);
	atomic_long_set(&listener->missed, 0);
	listener->gone = false;
	if (listener->task) {
		first = kmalloc(sizeof(*first), GFP_KERNEL);
		if (!first)
			return -ENOMEM;
	}
	err = start_probes(needs(listener));
	if (err) {
		kfree(first);
		return err;
	}
	/* It may exit unseen: a new task must not have the address that members know. */
	if (listener->task)
		get_task_struct(listener->task);
	link_listener(listener, first);
	return 0;
}

/* Drops the lock after each member, because there may be very many. */
static void drop_all(struct tally_task_listener *listener)
{
	struct member *m;

	do {
		raw_spin_lock(&members_lock);
		listener->gone = true;
		m = list_first_entry_or_null(&listener->members, struct member, of_listener);
		if (m)
			drop_member(m);
		raw_spin_unlock(&members_lock);
	} while (m);
}

static void drop_spares(void)
{
	struct member *m, *next;
	LIST_HEAD(old);

	raw_spin_lock(&members_lock);
	if (!nr_inheriting) {
		list_splice_init(&spares, &old);
		nr_spares = 0;
	}
	raw_spin_unlock(&members_lock);
	list_for_each_entry_safe(m, next, &old, of_listener)
		kfree(m);
}

/**
 * tally_task_events_leave - remove a listener
 * @listener: the listener, which was added
 *
 * @listener->notify may still run until an RCU grace period has passed.
 *
 * Context: Process context, may sleep; takes cpus_read_lock().
 */
void tally_task_events_leave(struct tally_task_listener *listener)
{
	drop_all(listener);
	raw_spin_lock(&members_lock);
	if (!listener->task)
		hlist_del_rcu(&listener->node);
	if (listener->inherit)
		nr_inheriting--;
	raw_spin_unlock(&members_lock);
	if (listener->inherit)
		drop_spares();
	stop_probes(no_longer_needed(listener));
	if (listener->task)
		put_task_struct(listener->task);
}

/* Before the module goes, and after the last listener has left. */
void tally_task_events_exit(void)
{
	stop_probes(kept);
	tracepoint_synchronize_unregister();
	cancel_work_sync(&refilling);
}
