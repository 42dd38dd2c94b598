/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the kernels that tally builds for, and nothing else.
 * An entry tests what a probe has found: src/module/probes/NAME.c, whose
 * comment says since which kernel the difference exists, decides about
 * TALLY_HAVE_NAME. When the floor, the oldest kernel, rises above that, the
 * probe goes with one side of its entry here.
 */
#ifndef TALLY_COMPAT_H
#define TALLY_COMPAT_H

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/timer.h>
#include <linux/topology.h>
#include <linux/uprobes.h>
#include <linux/workqueue.h>
#ifdef CONFIG_X86
#include <asm/ibt.h>
#endif
#ifdef CONFIG_ARM64
#include <asm/pointer_auth.h>
#endif
#include "probes.h"
#ifdef CONFIG_FPROBE
#include <linux/fprobe.h>
#endif
#ifdef TALLY_HAVE_HRTIMER_BASES
#include <linux/hrtimer_bases.h>
#endif
#ifdef TALLY_HAVE_LINUX_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#ifdef TALLY_HAVE_IMPORT_TOKEN
#define EXPORT_SYMBOL_TALLY(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, TALLY)
#define TALLY_IMPORT_NS()	MODULE_IMPORT_NS(TALLY)
#else
#define EXPORT_SYMBOL_TALLY(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, "TALLY")
#define TALLY_IMPORT_NS()	MODULE_IMPORT_NS("TALLY")
#endif

/* Exports a function that only tests/kunit calls from outside. */
#if IS_ENABLED(CONFIG_KUNIT)
#define EXPORT_SYMBOL_TALLY_KUNIT(symbol)	EXPORT_SYMBOL_TALLY(symbol)
#else
#define EXPORT_SYMBOL_TALLY_KUNIT(symbol)
#endif

/*
 * Returns whether the events of two PMUs are in the same context of a CPU or a
 * task. Where there is more than one context, PMUs with the same task_ctx_nr
 * share one, as all software PMUs do.
 */
static inline bool tally_pmus_share_context(const struct pmu *a, const struct pmu *b)
{
#ifdef TALLY_HAVE_ONE_CONTEXT
	return true;
#else
	return a == b || (a->task_ctx_nr == b->task_ctx_nr &&
			  a->task_ctx_nr != perf_invalid_context);
#endif
}

#ifdef CONFIG_CGROUP_PERF
/* Each cgroup has a clock on each CPU, which goes on while its tasks run there. */
static inline const struct perf_cgroup_info *tally_cgroup_clock(const struct perf_event *event)
{
	const struct perf_cgroup *cgroup = READ_ONCE(event->cgrp);

	return unlikely(cgroup) ? per_cpu_ptr(cgroup->info, event->cpu) : NULL;
}
#endif

/*
 * tally_clock_time(), _stamp() and _offset() are members of @c, perf's clock of a context or of a
 * cgroup. tally_left_out() is the time for which guests had the PMU: perf does not count it for an
 * event that excludes guests. Kernels before 7.2 do not know that time.
 */
#ifdef TALLY_HAVE_CTX_TIMEOFFSET
#define tally_clock_time(c)		((c)->time)
#define tally_clock_stamp(c)		((c)->timestamp)
#define tally_clock_offset(c)		((c)->timeoffset)
#define tally_left_out(event, c)	0ULL
#else
#define tally_clock_time(c)		((c)->time.time)
#define tally_clock_stamp(c)		((c)->time.stamp)
#define tally_clock_offset(c)		((c)->time.offset)
#define tally_left_out(event, c)						\
	((event)->attr.exclude_guest ? READ_ONCE((c)->timeguest.time) : 0ULL)
#endif

/* The time of the event's context is local_clock() plus this. A task-clock counts that time. */
static inline u64 tally_ctx_offset(const struct perf_event *event)
{
	return READ_ONCE(tally_clock_offset(event->ctx));
}

#ifdef CONFIG_CGROUP_PERF
/* The time of a cgroup, which stands while none of its tasks runs. */
static inline u64 tally_cgroup_time(const struct perf_event *event,
				    const struct perf_cgroup_info *clock, u64 now)
{
	bool active = smp_load_acquire(&clock->active); /* perf's release */

	return (active ? now + READ_ONCE(tally_clock_offset(clock)) :
			 READ_ONCE(tally_clock_time(clock))) - tally_left_out(event, clock);
}

/*
 * Has the clock of a cgroup go on from now, or stand if the cgroup does not run. @shift is 0, but
 * for tests: see tally_mutant(). Called on the clock's CPU, with interrupts disabled.
 */
static inline void tally_cgroup_clock_set(struct perf_cgroup_info *clock, bool runs, u64 shift)
{
	u64 now = local_clock();

	tally_clock_time(clock) += runs ? now - tally_clock_stamp(clock) : 0;
	tally_clock_stamp(clock) = now;
	WRITE_ONCE(tally_clock_offset(clock), tally_clock_time(clock) - now + shift);
	smp_store_release(&clock->active, runs); /* perf's acquire */
}
#endif

/* The time of an event, as in perf_event::tstamp and perf_event_time_now(); @now: local_clock() */
static inline u64 tally_event_time(const struct perf_event *event, u64 now)
{
#ifdef CONFIG_CGROUP_PERF
	const struct perf_cgroup_info *clock = tally_cgroup_clock(event);

	if (unlikely(clock))
		return tally_cgroup_time(event, clock, now);
#endif
	return now + tally_ctx_offset(event) - tally_left_out(event, event->ctx);
}

/* The time of an event without a cgroup, when perf last updated the time of its context. */
static inline u64 tally_event_time_then(const struct perf_event *event)
{
	return READ_ONCE(tally_clock_time(event->ctx)) - tally_left_out(event, event->ctx);
}

/* The time of the event's context when perf last updated it. */
static inline u64 tally_ctx_time(const struct perf_event *event)
{
	return tally_clock_time(event->ctx);
}

/* 1 if kernel.perf_event_paranoid has a level at which perf_event_open() needs CAP_SYS_ADMIN. */
#if defined(TALLY_HAVE_PARANOID_ANY) || defined(CONFIG_SECURITY_PERF_EVENTS_RESTRICT)
#define TALLY_PARANOID_ANY	1
#else
#define TALLY_PARANOID_ANY	0
#endif

/* perf_allow_kernel(). If not exported: its check at level 2, which asks no security module. */
static inline int tally_allow_kernel(struct perf_event_attr *attr)
{
#if defined(TALLY_HAVE_ALLOW_KERNEL)
	return perf_allow_kernel();
#elif defined(TALLY_HAVE_ALLOW_KERNEL_ATTR)
	return perf_allow_kernel(attr);
#else
	return perfmon_capable() ? 0 : -EACCES;
#endif
}

/* Pages of rings that are charged to a user. */
static inline atomic_long_t *tally_user_mlock(struct user_struct *user)
{
#ifdef TALLY_HAVE_PERF_MLOCK
	return &user->perf_mlock;
#else
	return &user->locked_vm;
#endif
}

/* Returns whether the kernel knows perf_event_attr::aux_action. */
static inline bool tally_attr_has_aux_action(void)
{
#ifdef TALLY_HAVE_ATTR_AUX_ACTION
	return true;
#else
	return false;
#endif
}

static inline bool tally_attr_set_config3(struct perf_event_attr *attr, u64 v)
{
#ifdef TALLY_HAVE_ATTR_CONFIG3
	attr->config3 = v;
	return true;
#else
	return !v;
#endif
}

static inline u64 tally_attr_config3(const struct perf_event_attr *attr)
{
#ifdef TALLY_HAVE_ATTR_CONFIG3
	return attr->config3;
#else
	return 0;
#endif
}

/* CPUs that one of them counts for. Without pmu::scope just @cpu: the driver moves the events. */
static inline const struct cpumask *tally_pmu_scope(const struct pmu *pmu, int cpu)
{
#ifdef TALLY_HAVE_PMU_SCOPE
	switch (pmu->scope) {
	case PERF_PMU_SCOPE_CORE:
		return topology_sibling_cpumask(cpu);
	case PERF_PMU_SCOPE_DIE:
		return topology_die_cpumask(cpu);
	case PERF_PMU_SCOPE_CLUSTER:
		return topology_cluster_cpumask(cpu);
	case PERF_PMU_SCOPE_PKG:
		return topology_core_cpumask(cpu);
	case PERF_PMU_SCOPE_SYS_WIDE:
		return cpu_online_mask;
	}
#endif
	return cpumask_of(cpu);
}

static inline void
tally_hrtimer_setup(struct hrtimer *timer,
		    enum hrtimer_restart (*function)(struct hrtimer *),
		    clockid_t clock, enum hrtimer_mode mode)
{
#ifdef TALLY_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

static inline int tally_timer_delete_sync(struct timer_list *timer)
{
#ifdef TALLY_HAVE_TIMER_DELETE_SYNC
	return timer_delete_sync(timer);
#else
	return del_timer_sync(timer);
#endif
}

/* Points to the depth of perf_pmu_disable() on this CPU, which is 0 if the PMU is enabled. */
#ifdef TALLY_HAVE_PMU_DISABLE_COUNT
#define tally_pmu_disable_count(pmu)	(this_cpu_ptr((pmu)->pmu_disable_count))
#else
#define tally_pmu_disable_count(pmu)	\
	(&this_cpu_ptr((pmu)->cpu_pmu_context)[0]->pmu_disable_count)
#endif

static inline bool tally_pmu_disabled_here(const struct pmu *pmu)
{
	return *tally_pmu_disable_count(pmu);
}

/* As perf_pmu_disable() and perf_pmu_enable(), which modules cannot call. */
static inline void tally_pmu_disable_here(struct pmu *pmu)
{
	if (!(*tally_pmu_disable_count(pmu))++)
		pmu->pmu_disable(pmu);
}

static inline void tally_pmu_enable_here(struct pmu *pmu)
{
	if (!--(*tally_pmu_disable_count(pmu)))
		pmu->pmu_enable(pmu);
}

static inline const u64 *tally_branch_counters(const struct perf_sample_data *data)
{
#ifdef TALLY_HAVE_BR_STACK_CNTR
	return data->sample_flags & PERF_SAMPLE_BRANCH_STACK ? data->br_stack_cntr : NULL;
#else
	return NULL;
#endif
}

static inline void tally_vm_flags(struct vm_area_struct *vma, unsigned long set,
				  unsigned long clear)
{
#ifdef TALLY_HAVE_VM_FLAGS_SET
	vm_flags_set(vma, set);
	vm_flags_clear(vma, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/*
 * Defined if no page table is freed while a CPU that uses it has interrupts
 * off. HAVE_FAST_GUP is the name before 6.10.
 */
#if defined(CONFIG_HAVE_GUP_FAST) || defined(CONFIG_HAVE_FAST_GUP)
#define TALLY_PAGE_TABLES_STAY
#endif

/* Unmaps a part of a mapping with VM_PFNMAP, under its mmap lock. */
static inline void tally_zap_vma(struct vm_area_struct *vma, unsigned long addr,
				 unsigned long size)
{
#ifdef TALLY_HAVE_ZAP_SPECIAL_VMA_RANGE
	zap_special_vma_range(vma, addr, size);
#else
	zap_vma_ptes(vma, addr, size);
#endif
}

/* Queues of works: percpu runs a work on the CPU that queued it, unbound on any CPU. */
#ifdef TALLY_HAVE_WQ_PERCPU
#define TALLY_WQ_PERCPU		WQ_PERCPU
#define tally_percpu_wq		system_percpu_wq
#define tally_unbound_wq	system_dfl_wq
#else
#define TALLY_WQ_PERCPU		0
#define tally_percpu_wq		system_wq
#define tally_unbound_wq	system_unbound_wq
#endif

/* Returns whether a sample of perf has a call chain of the task's user space. */
static inline bool tally_chain_has_user(struct task_struct *task)
{
#ifdef TALLY_HAVE_IS_USER_TASK
	return is_user_task(task);
#else
	return task->mm;
#endif
}

/* Returns whether a sample of perf has registers of the task's user space. */
static inline bool tally_regs_has_user(struct task_struct *task)
{
#ifdef TALLY_HAVE_IS_USER_TASK
	return is_user_task(task);
#else
	return !(task->flags & PF_KTHREAD);
#endif
}

/* The return addresses that uretprobes have replaced; NULL if perf shows the trampoline. */
static inline const struct return_instance *
tally_uretprobes(const struct task_struct *task)
{
#if defined(CONFIG_UPROBES) && defined(TALLY_HAVE_UPROBE_TRAMPOLINE)
	return task->utask ? task->utask->return_instances : NULL;
#else
	return NULL;
#endif
}

#ifdef CONFIG_X86
static inline bool tally_is_endbr(u32 instruction)
{
#if defined(TALLY_HAVE_ENDBR_VALUE)
	return is_endbr(instruction);
#elif defined(CONFIG_X86_KERNEL_IBT)
	return __is_endbr(instruction);
#else
	return false;
#endif
}

/*
 * Guesses, as perf does by the probed instruction, whether a uprobe at the
 * beginning of a function is being handled.
 */
static inline bool tally_uprobe_at_entry(struct pt_regs *regs)
{
#if defined(CONFIG_UPROBES) && defined(TALLY_HAVE_AUPROBE)
	const struct arch_uprobe *auprobe;

	auprobe = current->utask ? current->utask->auprobe : NULL;
	if (!auprobe)
		return false;
	/* push %rbp, or endbr64 */
	return auprobe->insn[0] == 0x55 ||
	       (user_64bit_mode(regs) && tally_is_endbr(*(u32 *)auprobe->insn));
#else
	return false;
#endif
}
#endif

#ifdef CONFIG_ARM64
static inline u64 tally_strip_user_pac(u64 lr)
{
#ifdef TALLY_HAVE_PTRAUTH_USER
	return ptrauth_strip_user_insn_pac(lr);
#else
	return ptrauth_strip_insn_pac(lr);
#endif
}
#endif

/* Types of fields in filters of trace events; -1 where the kernel has none such. */
#ifdef TALLY_HAVE_FILTER_STACKTRACE
#define TALLY_FILTER_STACKTRACE		FILTER_STACKTRACE
#else
#define TALLY_FILTER_STACKTRACE		(-1)
#endif
#ifdef TALLY_HAVE_FILTER_CPUMASK
#define TALLY_FILTER_CPUMASK		FILTER_CPUMASK
#else
#define TALLY_FILTER_CPUMASK		(-1)
#endif

/* The trace event of a tracepoint's event; NULL in a kernel without trace events. */
static inline struct trace_event_call *tally_trace_event(const struct perf_event *event)
{
#ifdef CONFIG_EVENT_TRACING
	return event->tp_event;
#else
	return NULL;
#endif
}

/* Since kernels have task_is_runnable(), a task that sleeps may stay on the runqueue. */
static inline bool tally_task_runnable(struct task_struct *task)
{
#ifdef TALLY_HAVE_TASK_IS_RUNNABLE
	return task_is_runnable(task);
#else
	return task->on_rq;
#endif
}

/* Returns whether a task has one context for the events of all PMUs. */
static inline bool tally_task_has_one_context(void)
{
#ifdef TALLY_HAVE_ONE_CONTEXT
	return true;
#else
	return false;
#endif
}

/* Returns whether perf has, or has had, events on the task, and has not taken them from it. */
static inline bool tally_task_has_perf(const struct task_struct *task)
{
#ifdef TALLY_HAVE_ONE_CONTEXT
	return READ_ONCE(task->perf_event_ctxp);
#else
	return READ_ONCE(task->perf_event_ctxp[perf_hw_context]) ||
	       READ_ONCE(task->perf_event_ctxp[perf_sw_context]);
#endif
}

/* These arguments of tracepoints differ between kernels. */
#ifdef TALLY_HAVE_EXIT_GROUP_DEAD
#define TALLY_EXIT_ARGS		void *data, struct task_struct *task, bool group_dead
#else
#define TALLY_EXIT_ARGS		void *data, struct task_struct *task
#endif
#ifdef TALLY_HAVE_NEWTASK_U64
#define TALLY_NEWTASK_ARGS	void *data, struct task_struct *task, u64 clone_flags
#else
#define TALLY_NEWTASK_ARGS	void *data, struct task_struct *task, \
				unsigned long clone_flags
#endif

/* perf writes CGROUP records only for the hierarchy that has perf's controller. */
static inline bool tally_cgroup_has_perf(struct cgroup *cgroup)
{
#ifdef CONFIG_CGROUP_PERF
	return rcu_access_pointer(cgroup->subsys[perf_event_cgrp_id]);
#else
	return false;
#endif
}

/* task_struct::on_cpu exists only with CONFIG_SMP. */
static inline bool tally_task_is_running(const struct task_struct *task)
{
#ifdef CONFIG_SMP
	return READ_ONCE(task->on_cpu);
#else
	return task == current;
#endif
}

/*
 * tally_fprobe_regs, the type of the registers that fprobe's handlers get, is defined if the
 * handlers also get memory of the call. tally_fprobe_at_once() sets the number of calls that can
 * have such memory at a time; since Linux 6.14 there is no such limit.
 */
#if defined(TALLY_HAVE_FPROBE_REGS)
#define tally_fprobe_regs	ftrace_regs

static inline void tally_fprobe_at_once(struct fprobe *fp, unsigned int calls)
{
}
#elif defined(TALLY_HAVE_FPROBE_DATA)
#define tally_fprobe_regs	pt_regs

static inline void tally_fprobe_at_once(struct fprobe *fp, unsigned int calls)
{
	fp->nr_maxactive = calls;
}
#endif

#endif /* TALLY_COMPAT_H */
