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
 * As in perf, an event is reported to the listeners of the CPU that it happens
 * on and to the listeners of the task that causes it: a fork() to those of the
 * parent, a new name to those of the task that does the renaming.
 *
 * perf finds its own events by the task. The tracepoint of exit() may come
 * after perf has taken them from the task, so task_members.c remembers the
 * tasks of each listener from fork() to exit().
 *
 * exec() of a program that may not be dumped, such as a set-user-ID program, takes perf's
 * events from the task. From then on, perf_event_ctxp is NULL: the task's listeners get only an
 * EXIT, at the tracepoint that follows, where the task leaves them.
 *
 * Ordering:
 *
 * Y. exit() sets PF_EXITING and then looks for listeners, in probe_exit().
 *    tally_task_exit_watch() puts a listener in the table before it reads
 *    PF_EXITING. So exit() finds the listener, or the function sees PF_EXITING.
 *    Two other pairs are alike: exec() sets perf_event_ctxp to NULL before
 *    probe_exec(), and tally_task_events_add() reads it last; exec() ends
 *    events with remove_on_exec before probe_rename(), and the caller of
 *    tally_task_exit_watch() asks last whether the event has ended.
 */
#include <linux/align.h>
#include <linux/cgroup.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/percpu.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <trace/events/cgroup.h>
#include <trace/events/sched.h>
#include <trace/events/task.h>
#include "compat.h"
#include "record/task_events.h"
#include "record/task_members.h"

/* Changed under tally_members_lock, and read under RCU. */
static DEFINE_PER_CPU(struct hlist_head, on_cpu);
static HLIST_HEAD(on_all);

/* ---- delivery to listeners ---- */

static void report_cpu(const struct tally_task_event *e)
{
	struct tally_task_listener *listener;

	rcu_read_lock();
	/* Newer kernels leave preemption enabled at tracepoints. */
	preempt_disable();
	hlist_for_each_entry_rcu(listener, this_cpu_ptr(&on_cpu), node)
		tally_member_report(listener, e);
	hlist_for_each_entry_rcu(listener, &on_all, node)
		tally_member_report(listener, e);
	preempt_enable();
	rcu_read_unlock();
}

static bool cpu_has_listeners(void)
{
	return !hlist_empty(this_cpu_ptr(&on_cpu)) || !hlist_empty(&on_all);
}

/* As in perf, only a task that has events of perf has records. */
static void report_task(const struct task_struct *task, const struct tally_task_event *e)
{
	if (tally_task_has_perf(task))
		tally_members_report(task, e);
}

/* ---- what happens to tasks ---- */

/* @task still has its old name. While current is in exec(), only exec() itself renames it. */
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
	if (exec) {
		smp_mb(); /* Y */
		tally_members_leave(current, NULL, true);
	}
	report_cpu(&e);
	report_task(current, &e);
}

static void probe_newtask(TALLY_NEWTASK_ARGS)
{
	const struct tally_task_event e = {
		.kinds = TALLY_TASK_LIFE,
		.type = PERF_RECORD_FORK,
		.task = task,
	};

	report_cpu(&e);
	report_task(current, &e);
	tally_members_inherit(current, task, clone_flags);
}

/* perf writes EXIT, too, when it takes its events from a task that goes on. */
static void report_exit(struct task_struct *task, bool exits)
{
	const struct tally_task_event e = {
		.kinds = TALLY_TASK_LIFE,
		.type = PERF_RECORD_EXIT,
		.task = task,
	};

	tally_members_report(task, &e);
	if (exits)
		report_cpu(&e);
	tally_members_leave(task, NULL, false);
}

/* TALLY_EXIT_ARGS declares @task. */
static void probe_exit(TALLY_EXIT_ARGS)
{
	smp_mb(); /* Y */
	report_exit(task, true);
}

/*
 * If perf has taken its events from the task, as it does when a program with more rights is
 * executed, the task leaves those that listen: they get an EXIT record, though the task goes on.
 */
static void probe_exec(void *data, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	smp_mb(); /* Y */
	if (!tally_task_has_perf(task))
		report_exit(task, false);
}

static noinline void report_switch(struct task_struct *prev, struct task_struct *next)
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

	report_cpu(&out);
	report_task(prev, &out);
	report_cpu(&in);
	report_task(next, &in);
}

/*
 * The runqueue is locked: no lock may be taken here, and no task woken. Most
 * switches have no listener.
 */
static void probe_switch(void *data, bool preempt, struct task_struct *prev,
			 struct task_struct *next, unsigned int prev_state)
{
	if (cpu_has_listeners() || tally_task_has_perf(prev) || tally_task_has_perf(next))
		report_switch(prev, next);
}

/* TRACE_CGROUP_PATH_LEN, the size of the path at the tracepoint, is private. */
#define PATH_SIZE	1024

/*
 * The body is too large for the stack. One CPU uses it at a time: the kernel writes the path of any
 * cgroup to the same buffer, and holds a lock while it calls the tracepoint with that.
 */
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

	if (!tally_cgroup_has_perf(cgroup))
		return;
	cgroup_body.id = cgroup_id(cgroup);
	memcpy(cgroup_body.path, path, length);
	memset(cgroup_body.path + length, 0, size - length);
	report_cpu(&e);
	report_task(current, &e);
}

/* ---- tracepoints ---- */

/* In the order of their start: an inherited task must be seen to exit. */
enum { EXIT, NEWTASK, EXEC, RENAME, SWITCH, MKDIR, NR_PROBES };

/**
 * struct probe - a function that is attached to a tracepoint while it has users
 * @name: name of the tracepoint
 * @function: the function, which is called with NULL and the arguments of the tracepoint
 * @point: the tracepoint; NULL before the first use
 * @users: number of users
 */
struct probe {
	const char *name;
	void *function;
	struct tracepoint *point;
	unsigned int users;
};

static struct probe probes[NR_PROBES] = {
	[EXIT] = { "sched_process_exit", probe_exit },
	[NEWTASK] = { "task_newtask", probe_newtask },
	[EXEC] = { "sched_process_exec", probe_exec },
	[RENAME] = { "task_rename", probe_rename },
	[SWITCH] = { "sched_switch", probe_switch },
	[MKDIR] = { "cgroup_mkdir", probe_mkdir },
};

/*
 * Most tracepoints are not exported. So they are found by their names, and the
 * compiler checks the types here.
 */
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
 * The kernel patches its code when a probe is registered, and programs open and close many files
 * of tasks. A probe that a TALLY_TASK_END listener has used stays until the module unloads. Each
 * bit is one such probe.
 */
static unsigned int kept_probes;

/* Guards kept_probes, and @point and @users of all probes. */
static DEFINE_MUTEX(probes_lock);

static unsigned int needs(const struct tally_task_listener *listener)
{
	unsigned int mask = 0;

	if (listener->kinds & TALLY_TASK_LIFE || listener->inherit)
		mask |= BIT(EXIT) | BIT(NEWTASK);
	if (listener->task)
		mask |= BIT(EXIT) | BIT(EXEC);
	if (listener->kinds & TALLY_TASK_COMM || listener->remove_on_exec)
		mask |= BIT(RENAME);
	if (listener->kinds & TALLY_TASK_SWITCH)
		mask |= BIT(SWITCH);
	if (listener->kinds & TALLY_TASK_CGROUP && IS_ENABLED(CONFIG_CGROUP_PERF))
		mask |= BIT(MKDIR);
	return mask;
}

static void compare(struct tracepoint *point, void *data)
{
	struct probe *probe = data;

	if (!strcmp(point->name, probe->name))
		probe->point = point;
}

static int start_probe(struct probe *probe)
{
	int err = 0;

	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		return -EOPNOTSUPP;
	/* Tracepoints of the kernel itself stay where they are, unlike those of modules. */
	if (!probe->point)
		for_each_kernel_tracepoint(compare, probe);
	if (!probe->point)
		return -EOPNOTSUPP;
	if (!probe->users)
		err = tracepoint_probe_register(probe->point, probe->function, NULL);
	probe->users += !err;
	return err;
}

/* A probe may still run when it has stopped: tracepoint_synchronize_unregister() waits for it. */
static void stop_probes(unsigned int mask)
{
	int i;

	lockdep_assert_held(&probes_lock);
	if (!IS_ENABLED(CONFIG_TRACEPOINTS))
		return;
	for (i = NR_PROBES - 1; i >= 0; i--)
		if (mask & BIT(i) && !--probes[i].users)
			tracepoint_probe_unregister(probes[i].point, probes[i].function, NULL);
}

static int start_probes(unsigned int mask)
{
	int i, err = 0;

	mutex_lock(&probes_lock);
	for (i = 0; i < NR_PROBES && !err; i++)
		err = mask & BIT(i) ? start_probe(&probes[i]) : 0;
	if (err)
		stop_probes(mask & (BIT(i - 1) - 1));
	mutex_unlock(&probes_lock);
	return err;
}

/* Stops the probes of a listener that leaves. Those of the first TALLY_TASK_END go on for good. */
static void stop_probes_of(const struct tally_task_listener *listener)
{
	unsigned int mask = needs(listener), kept = 0;

	mutex_lock(&probes_lock);
	if (listener->kinds & TALLY_TASK_END) {
		kept = mask & ~kept_probes;
		kept_probes |= mask;
	}
	stop_probes(mask & ~kept);
	mutex_unlock(&probes_lock);
}

/* ---- listeners ---- */

static struct hlist_head *list_of(const struct tally_task_listener *listener)
{
	return listener->cpu < 0 ? &on_all : per_cpu_ptr(&on_cpu, listener->cpu);
}

/**
 * tally_task_events_add - add a listener
 * @listener: the listener, with its public members set
 *
 * @listener->notify may run before this function returns.
 *
 * Context: Process context, may sleep; takes cpus_read_lock().
 * Return: 0; EOPNOTSUPP in a kernel that lacks a tracepoint, EDQUOT, ENOMEM.
 */
int tally_task_events_add(struct tally_task_listener *listener)
{
	struct task_struct *task = listener->task;
	int err;

	/* Without a task there is none to inherit from. */
	if (!task) {
		listener->inherit = false;
		listener->remove_on_exec = false;
	}
	err = start_probes(needs(listener));
	if (err)
		return err;
	if (!task) {
		raw_spin_lock(&tally_members_lock);
		hlist_add_head_rcu(&listener->node, list_of(listener));
		raw_spin_unlock(&tally_members_lock);
		return 0;
	}
	err = tally_members_add(listener);
	if (err) {
		stop_probes_of(listener);
		return err;
	}
	smp_mb(); /* Y */
	if (tally_task_has_perf(task))
		return 0;
	/* exit() also takes perf's events, after it has set PF_EXITING. */
	smp_rmb(); /* Y */
	if (!(READ_ONCE(task->flags) & PF_EXITING))
		tally_members_leave(listener->task, listener, false);
	return 0;
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
	if (listener->task) {
		tally_members_remove(listener);
	} else {
		raw_spin_lock(&tally_members_lock);
		hlist_del_rcu(&listener->node);
		raw_spin_unlock(&tally_members_lock);
	}
	stop_probes_of(listener);
}

/* Stops @kept_probes. Called before the module goes, after the last listener has left. */
void tally_task_events_exit(void)
{
	mutex_lock(&probes_lock);
	stop_probes(kept_probes);
	mutex_unlock(&probes_lock);
	tracepoint_synchronize_unregister();
	tally_members_exit();
}
