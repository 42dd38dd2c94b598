// SPDX-License-Identifier: GPL-2.0
/*
 * Rights: tally refuses each event that perf_event_open() of this kernel
 * refuses to the same caller.
 *
 * perf's entry point for modules checks the caller for some kinds of event: for
 * those of a whole CPU, for kprobes, for the records of tracepoints, and for
 * breakpoints in the kernel. When a CPU comes online later, a kernel thread
 * creates its event, and perf checks that thread. The system call checks the
 * rest; here, tally_builder_allow() does.
 *
 * The system call reads kernel.perf_event_paranoid, which modules cannot read.
 * Where the kernel exports perf_allow_kernel(), the answer to a caller without
 * capabilities says whether the level is below 2. tally takes each level from 2
 * on for the kernel's strictest: in a kernel with perf_paranoid_any(), such as
 * Debian's, that is 3, at which only CAP_SYS_ADMIN opens an event. Where
 * perf_allow_kernel() is not exported, tally takes all levels for the
 * strictest.
 *
 * perf_event_open() also asks the security modules. A module can ask them about
 * any caller only by perf_allow_kernel(). So tally calls that for each event,
 * as if the caller had CAP_PERFMON where the event does not show the kernel:
 * what a security module forbids is forbidden here, too, and a program that it
 * does not let watch the kernel has no event at all. perf's check for a whole
 * CPU is not repeated for events that share a counter.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/user_namespace.h>
#include "builder/builder.h"
#include "compat.h"

static bool perfmon;
module_param(perfmon, bool, 0644);
MODULE_PARM_DESC(perfmon, "CAP_PERFMON suffices for all events at every level of kernel.perf_event_paranoid, where perf may want CAP_SYS_ADMIN (default off)");

/* Asks perf_allow_kernel() as if the caller had CAP_PERFMON, or no capability at all. */
static int ask_perf(bool with_perfmon)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	struct cred *asked = prepare_creds();
	const struct cred *own;
	int err;

	if (!asked)
		return -ENOMEM;
	asked->cap_effective = CAP_EMPTY_SET;
	if (with_perfmon)
		cap_raise(asked->cap_effective, CAP_PERFMON);
	own = override_creds(asked);
	err = tally_allow_kernel(&attr);
	revert_creds(own);
	put_cred(asked);
	return err;
}

/* Returns false if perf_event_open() may refuse the caller every event. */
static bool level_opens(void)
{
	return !TALLY_PARANOID_ANY || capable(CAP_SYS_ADMIN) ||
	       (READ_ONCE(perfmon) && perfmon_capable()) || !ask_perf(false);
}

/**
 * tally_perfmon_capable - check that the caller may watch the kernel, CPUs and all tasks
 *
 * Context: Process context, may sleep.
 * Return: true if the caller has CAP_PERFMON, and it suffices at the present
 * level of kernel.perf_event_paranoid; true for CAP_SYS_ADMIN.
 */
bool tally_perfmon_capable(void)
{
	return perfmon_capable() && level_opens();
}

/* As tally_perfmon_capable() at the strictest level, for the program that opened @file. */
bool tally_perfmon_opened(const struct file *file)
{
	return file_ns_capable(file, &init_user_ns, CAP_SYS_ADMIN) ||
	       ((!TALLY_PARANOID_ANY || READ_ONCE(perfmon)) &&
		file_ns_capable(file, &init_user_ns, CAP_PERFMON));
}

/* Branches without a level have those that the event does not exclude. */
static bool shows_branches(const struct perf_event_attr *attr)
{
	u64 levels = attr->branch_sample_type & PERF_SAMPLE_BRANCH_PLM_ALL;

	if (!(attr->sample_type & PERF_SAMPLE_BRANCH_STACK))
		return false;
	return levels & (PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV) ||
	       (!levels && !attr->exclude_hv);
}

/* Returns whether the event counts or shows the kernel, as perf's system call sees it. */
static bool shows_kernel(const struct perf_event_attr *attr)
{
	return !attr->exclude_kernel || shows_branches(attr) ||
	       attr->sample_type & PERF_SAMPLE_PHYS_ADDR ||
	       (attr->sample_type & PERF_SAMPLE_CALLCHAIN && !attr->exclude_callchain_kernel);
}

static bool may_kill(struct task_struct *task)
{
	bool may;

	rcu_read_lock();
	may = ns_capable(__task_cred(task)->user_ns, CAP_KILL);
	rcu_read_unlock();
	return may;
}

/**
 * tally_builder_allow_task - check that the caller may have events of a task
 * @b: the builder
 * @task: the task; NULL for none
 *
 * perf asks ptrace_may_access(), which is not exported, about a caller without CAP_PERFMON.
 * That function always grants the tasks of the caller's own process.
 *
 * Context: Process context. The task's exec_update_lock is held until perf has installed the event.
 * Return: 0; EACCES.
 */
int tally_builder_allow_task(struct tally_builder *b, struct task_struct *task)
{
	if (!task || same_thread_group(task, current))
		return 0;
	if (!perfmon_capable())
		return tally_bad_in(b, TALLY_FIELD_PID, -EACCES,
				    "the task of another process needs CAP_PERFMON");
	if (b->attr.sigtrap && !may_kill(task))
		return tally_bad_bit(b, TALLY_BIT_SIGTRAP, -EACCES,
				     "sigtrap needs CAP_KILL");
	return 0;
}

/**
 * tally_builder_allow - check that the caller may have an event with these attributes
 * @b: the builder
 * @attr: attributes for perf's events
 *
 * As perf's system call, this asks before anybody looks for the target.
 *
 * Context: Process context, may sleep.
 * Return: 0; EACCES, or the error of a security module; EPERM under lockdown; ENOMEM.
 */
int tally_builder_allow(struct tally_builder *b, const struct perf_event_attr *attr)
{
	/* Records have what the builder asks for; perf's event may have less. */
	bool kernel = shows_kernel(attr) || shows_kernel(&b->attr);
	int err;

	if (b->attr.sample_type & PERF_SAMPLE_REGS_INTR) {
		err = security_locked_down(LOCKDOWN_PERF);
		if (err)
			return tally_bad_attr(b, sample_type, err,
					      "PERF_SAMPLE_REGS_INTR: the kernel is locked down");
	}
	if (!level_opens())
		return tally_bad(b, -EACCES, perfmon_capable() ?
				 "needs CAP_SYS_ADMIN, or kernel.perf_event_paranoid below 2" :
				 "needs CAP_PERFMON");
	err = kernel || perfmon_capable() ? tally_allow_kernel(&b->attr) : ask_perf(true);
	if (err)
		return tally_bad(b, err, err == -ENOMEM ? "out of memory" :
				 kernel && !perfmon_capable() ? "the kernel: needs CAP_PERFMON" :
				 "a security module refuses");
	return 0;
}
