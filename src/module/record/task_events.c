// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to tasks, for those who asked: COMM, FORK, EXIT, SWITCH and CGROUP.
 *
 * perf writes these records into buffers of its own alone, so they are made again,
 * from the tracepoints next to which perf makes them. As perf does, each goes to
 * those who ask about the CPU that it happens on, and about the task that does it:
 * the parent of a FORK, who renames a task rather than whose name changes.
 *
 *	listener->kinds = tally_task_events_kinds(attr);
 *	listener->cpu = 3;
 *	listener->out = ring_of;
 *	err = tally_task_events_add(listener);
 *	...
 *	tally_task_events_leave(listener);
 *	synchronize_rcu();
 *
 * perf finds the task's event with the task; it may have none any more when the
 * tracepoint of exit() comes. So the tasks of an event are remembered here, from
 * fork() to exit(). What differs from perf:
 * - Both halves of a switch are told as it begins: before the task that is switched
 *   out has its counters stopped, and before the other has its own started.
 * - EXIT comes some time before or after the end of the task's events, on each kernel
 *   at another place, and so may switches in between. FORK comes just after perf's, and
 *   COMM just before: a task may be switched out between the two.
 * - A child is told of while the event is enabled, not its own copy of it.
 * - The path of a cgroup ends after 1023 bytes.
 * - CGROUP tells of new ones; perf also of all that are there, when its controller
 *   moves to another hierarchy.
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
#include "record/record.h"
#include "record/task_events.h"
#include "base/tracepoint.h"

/**
 * struct member - a task that a listener is told of
 * @node: in the table of members, by the task
 * @of_listener: in the listener's list, or in that of the spare ones
 * @listener: whose
 * @task: which; it has not passed the tracepoint of exit() yet, or @listener holds it
 * @rcu: for those who still look at it
 */
struct member {
	struct hlist_node node;
	struct list_head of_listener;
	struct tally_task_listener *listener;
	const struct task_struct *task;
	struct rcu_head rcu;
};

/* Guards what follows, which is read under RCU. No lock is inside. */
static DEFINE_RAW_SPINLOCK(members_lock);
static DEFINE_HASHTABLE(members, 10);
static DEFINE_PER_CPU(struct hlist_head, on_cpu);
static HLIST_HEAD(on_all);

/* Guarded by the same: at a fork() there may be no memory, and with RT never is. */
#define SPARES	256
static LIST_HEAD(spares);
static unsigned int nr_spares;
static unsigned int nr_inheriting;

static void refill(struct work_struct *work);
static DECLARE_WORK(refilling, refill);

/* ---- who is told ---- */

typedef void (*tell_fn)(struct tally_task_listener *listener, struct tally_output *out,
			const void *what);

static void tell(struct tally_task_listener *listener, unsigned int kind,
		 tell_fn fn, const void *what)
{
	int cpu = smp_processor_id();
	struct tally_output *out;

	if (!(listener->kinds & kind) || (listener->cpu >= 0 && listener->cpu != cpu))
		return;
	out = listener->out(listener, cpu);
	if (out)
		fn(listener, out, what);
}

static void tell_cpu(unsigned int kind, tell_fn fn, const void *what)
{
	struct tally_task_listener *listener;

	rcu_read_lock();
	hlist_for_each_entry_rcu(listener, this_cpu_ptr(&on_cpu), node)
		tell(listener, kind, fn, what);
	hlist_for_each_entry_rcu(listener, &on_all, node)
		tell(listener, kind, fn, what);
	rcu_read_unlock();
}

static void tell_task(const struct task_struct *task, unsigned int kind, tell_fn fn,
		      const void *what)
{
	struct member *m;

	rcu_read_lock();
	hash_for_each_possible_rcu(members, m, node, (unsigned long)task)
		if (m->task == task)
			tell(m->listener, kind, fn, what);
	rcu_read_unlock();
}

/* ---- whose tasks they are ---- */

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

/* Adds up to as many as are wanted while anybody inherits. */
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

/* ---- COMM ---- */

struct comm {
	struct task_struct *task;
	u16 misc;
	size_t size;
	char name[TASK_COMM_LEN];
};

static void tell_comm(struct tally_task_listener *listener,
		      struct tally_output *out, const void *what)
{
	const struct comm *c = what;
	struct {
		u32 pid;
		u32 tid;
		char name[TASK_COMM_LEN];
	} body = {
		.pid = tally_output_pid(out, c->task),
		.tid = tally_output_tid(out, c->task),
	};

	memcpy(body.name, c->name, sizeof(body.name));
	tally_record_task_event(out, PERF_RECORD_COMM, c->misc, current, &body,
				offsetof(typeof(body), name) + c->size);
}

/* The task has still its old name. Nothing else renames it in the middle of exec(). */
static void probe_rename(void *data, struct task_struct *task, const char *name)
{
	bool exec = task == current && current->in_execve;
	struct comm c = {
		.task = task,
		.misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
	};

	strscpy(c.name, name, sizeof(c.name));
	c.size = ALIGN(strlen(c.name) + 1, sizeof(u64));
	if (exec)
		leave_task(current, true);
	tell_cpu(TALLY_TASK_COMM, tell_comm, &c);
	tell_task(current, TALLY_TASK_COMM, tell_comm, &c);
}

/* ---- FORK and EXIT ---- */

/* As perf has it; the time is filled in. */
struct task_body {
	u32 pid;
	u32 ppid;
	u32 tid;
	u32 ptid;
	u64 time;
};

static void tell_fork(struct tally_task_listener *listener,
		      struct tally_output *out, const void *what)
{
	struct task_struct *task = (struct task_struct *)what;
	const struct task_body body = {
		.pid = tally_output_pid(out, task),
		.ppid = tally_output_pid(out, current),
		.tid = tally_output_tid(out, task),
		.ptid = tally_output_tid(out, current),
	};

	tally_record_task_event(out, PERF_RECORD_FORK, 0, current, &body, sizeof(body));
}

static void probe_newtask(void *data, struct task_struct *task, unsigned long clone_flags)
{
	tell_cpu(TALLY_TASK_LIFE, tell_fork, task);
	tell_task(current, TALLY_TASK_LIFE, tell_fork, task);
	inherit(current, task, clone_flags);
}

/* perf tells the parent's process twice, and no thread. */
static void tell_exit(struct tally_task_listener *listener,
		      struct tally_output *out, const void *what)
{
	struct task_struct *task = (struct task_struct *)what;
	struct task_struct *parent = rcu_dereference(task->real_parent);
	const struct task_body body = {
		.pid = tally_output_pid(out, task),
		.ppid = tally_output_pid(out, parent),
		.tid = tally_output_tid(out, task),
		.ptid = tally_output_pid(out, parent),
	};

	tally_record_task_event(out, PERF_RECORD_EXIT, 0, current, &body, sizeof(body));
}

static void probe_exit(void *data, struct task_struct *task)
{
	/* Pairs with the barrier in tally_task_exit_watch(); PF_EXITING is set already. */
	smp_mb();
	tell_task(task, TALLY_TASK_LIFE | TALLY_TASK_END, tell_exit, task);
	tell_cpu(TALLY_TASK_LIFE | TALLY_TASK_END, tell_exit, task);
	leave_task(task, false);
}

/* Who listens to the end of a task has no record written. */
static void probe_exec(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	tell_task(task, TALLY_TASK_END, NULL, NULL);
	tell_cpu(TALLY_TASK_END, NULL, NULL);
}

/* ---- SWITCH ---- */

struct switching {
	struct task_struct *task;
	struct task_struct *other;
	u16 misc;
};

/* Who comes, or has gone, is told only to those who see all of the CPU. */
static void tell_switch(struct tally_task_listener *listener,
			struct tally_output *out, const void *what)
{
	const struct switching *s = what;
	struct {
		u32 pid;
		u32 tid;
	} body;

	if (listener->task) {
		tally_record_task_event(out, PERF_RECORD_SWITCH, s->misc, s->task, NULL, 0);
		return;
	}
	body.pid = tally_output_pid(out, s->other);
	body.tid = tally_output_tid(out, s->other);
	tally_record_task_event(out, PERF_RECORD_SWITCH_CPU_WIDE, s->misc, s->task,
				&body, sizeof(body));
}

/* The runqueue is locked: nothing here takes a lock, or wakes anybody. */
static void probe_switch(void *data, bool preempt, struct task_struct *prev,
			 struct task_struct *next, unsigned int prev_state)
{
	const struct switching away = {
		.task = prev,
		.other = next,
		.misc = PERF_RECORD_MISC_SWITCH_OUT |
			(tally_task_runnable(prev) ? PERF_RECORD_MISC_SWITCH_OUT_PREEMPT : 0),
	};
	const struct switching in = {
		.task = next,
		.other = prev,
	};

	tell_cpu(TALLY_TASK_SWITCH, tell_switch, &away);
	tell_task(prev, TALLY_TASK_SWITCH, tell_switch, &away);
	tell_cpu(TALLY_TASK_SWITCH, tell_switch, &in);
	tell_task(next, TALLY_TASK_SWITCH, tell_switch, &in);
}

/* ---- CGROUP ---- */

/* As long as the path that the tracepoint tells, which the kernel keeps to itself. */
#define PATH_SIZE	1024

struct cgroup_body {
	u64 id;
	char path[PATH_SIZE];
};

/* Guards the body, which is too large for a stack. */
static DEFINE_RAW_SPINLOCK(path_lock);
static struct cgroup_body cgroup_body;

static void tell_cgroup(struct tally_task_listener *listener,
			struct tally_output *out, const void *what)
{
	const size_t *size = what;

	tally_record_task_event(out, PERF_RECORD_CGROUP, 0, current, &cgroup_body,
				offsetof(struct cgroup_body, path) + *size);
}

/* Of a hierarchy without perf's controller perf says nothing. */
static bool perf_knows(struct cgroup *cgroup)
{
#ifdef CONFIG_CGROUP_PERF
	return rcu_access_pointer(cgroup->subsys[perf_event_cgrp_id]);
#else
	return false;
#endif
}

static void probe_mkdir(void *data, struct cgroup *cgroup, const char *path)
{
	unsigned long flags;
	size_t length, size;

	if (!perf_knows(cgroup))
		return;
	raw_spin_lock_irqsave(&path_lock, flags);
	cgroup_body.id = cgroup_id(cgroup);
	length = strnlen(path, PATH_SIZE - 1);
	size = ALIGN(length + 1, sizeof(u64));
	memcpy(cgroup_body.path, path, length);
	memset(cgroup_body.path + length, 0, size - length);
	tell_cpu(TALLY_TASK_CGROUP, tell_cgroup, &size);
	tell_task(current, TALLY_TASK_CGROUP, tell_cgroup, &size);
	raw_spin_unlock_irqrestore(&path_lock, flags);
}

/* ---- which tracepoints ---- */

/* In the order in which they begin: who is inherited must be seen to exit. */
enum { EXIT, NEWTASK, EXEC, RENAME, SWITCH, MKDIR, NR_PROBES };

static struct tally_tracepoint probes[NR_PROBES] = {
	[EXIT] = TALLY_TRACEPOINT_PROBE("sched_process_exit", probe_exit),
	[NEWTASK] = TALLY_TRACEPOINT_PROBE("task_newtask", probe_newtask),
	[EXEC] = TALLY_TRACEPOINT_PROBE("sched_process_exec", probe_exec),
	[RENAME] = TALLY_TRACEPOINT_PROBE("task_rename", probe_rename),
	[SWITCH] = TALLY_TRACEPOINT_PROBE("sched_switch", probe_switch),
	[MKDIR] = TALLY_TRACEPOINT_PROBE("cgroup_mkdir", probe_mkdir),
};

/* They are looked for by name, so that the compiler would not compare their types. */
static void __maybe_unused check_types(void)
{
	check_trace_callback_type_sched_process_exit(probe_exit);
	check_trace_callback_type_task_newtask(probe_newtask);
	check_trace_callback_type_sched_process_exec(probe_exec);
	check_trace_callback_type_task_rename(probe_rename);
	check_trace_callback_type_sched_switch(probe_switch);
	check_trace_callback_type_cgroup_mkdir(probe_mkdir);
}

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

/* ---- those who are told ---- */

/**
 * tally_task_events_kinds - which records perf would write for an event
 * @attr: the event's
 *
 * Return: TALLY_TASK_*. Who asks for names or mappings is told of tasks, too.
 */
unsigned int tally_task_events_kinds(const struct perf_event_attr *attr)
{
	unsigned int kinds = 0;

	if (attr->comm)
		kinds |= TALLY_TASK_COMM;
	if (attr->comm || attr->mmap || attr->mmap2 || attr->mmap_data || attr->task)
		kinds |= TALLY_TASK_LIFE;
	if (attr->context_switch)
		kinds |= TALLY_TASK_SWITCH;
	if (attr->cgroup)
		kinds |= TALLY_TASK_CGROUP;
	return kinds;
}

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
 * tally_task_events_add - from here on somebody is told
 * @listener: who, with its first members set; @listener->out may be called at once
 *
 * Context: Process context, may sleep; takes cpus_read_lock().
 * Return: 0; EOPNOTSUPP in a kernel that lacks a tracepoint, ENOMEM.
 */
int tally_task_events_add(struct tally_task_listener *listener)
{
	struct member *first = NULL;
	int err;

	/* Only tasks are followed, and only from one on. */
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
	/* It may exit unseen; another task at its place must not be taken for it. */
	if (listener->task)
		get_task_struct(listener->task);
	link_listener(listener, first);
	return 0;
}

/* Not for long at once: there may be very many. */
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
 * tally_task_events_leave - nothing more is told
 * @listener: of tally_task_events_add()
 *
 * @listener may still be used, and its @out may run, until a grace period has passed.
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
	stop_probes(needs(listener));
	if (listener->task)
		put_task_struct(listener->task);
}

/* Nobody is told any more; before the module goes. */
void tally_task_events_exit(void)
{
	tracepoint_synchronize_unregister();
	cancel_work_sync(&refilling);
}
