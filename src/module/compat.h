/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every difference between the kernels that tally builds for, and nothing else. An entry
 * tests for a feature if it can, else for a version. It says since which kernel the
 * difference exists, and which side goes when the floor, the oldest kernel, rises.
 */
#ifndef TALLY_COMPAT_H
#define TALLY_COMPAT_H

#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/topology.h>
#include <linux/uprobes.h>
#include <linux/version.h>
#ifdef CONFIG_X86
#include <asm/ibt.h>
#endif
#ifdef CONFIG_ARM64
#include <asm/pointer_auth.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "tally needs Linux 6.1 or newer"
#endif

/*
 * The namespace of an export is a token up to 6.12 and a string from 6.13 on
 * (cdd30ebb1b9f). With the floor at 6.13 the token spelling goes.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define EXPORT_SYMBOL_TALLY(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, "TALLY")
#define TALLY_IMPORT_NS()	MODULE_IMPORT_NS("TALLY")
#else
#define EXPORT_SYMBOL_TALLY(symbol)	EXPORT_SYMBOL_NS_GPL(symbol, TALLY)
#define TALLY_IMPORT_NS()	MODULE_IMPORT_NS(TALLY)
#endif

/* Exports a function that only tests/kunit calls from outside. */
#if IS_ENABLED(CONFIG_KUNIT)
#define EXPORT_SYMBOL_TALLY_KUNIT(symbol)	EXPORT_SYMBOL_TALLY(symbol)
#else
#define EXPORT_SYMBOL_TALLY_KUNIT(symbol)
#endif

/*
 * A CPU, or a task, has one context for the events of all PMUs since 6.2
 * (bd27568117664). Before, PMUs with the same task_ctx_nr shared one, as all software PMUs
 * did. With the floor at 6.2 this goes.
 */
static inline bool tally_pmus_share_context(const struct pmu *a, const struct pmu *b)
{
	return LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0) || a == b ||
	       (a->task_ctx_nr == b->task_ctx_nr && a->task_ctx_nr != perf_invalid_context);
}

/*
 * perf_event_attr::config3 came with 6.3 (09519ec3b19e), as did PERF_ATTR_SIZE_VER8. With
 * the floor at 6.3 the second side goes.
 */
#ifdef PERF_ATTR_SIZE_VER8
static inline bool tally_attr_set_config3(struct perf_event_attr *attr, u64 v)
{
	attr->config3 = v;
	return true;
}

static inline u64 tally_attr_config3(const struct perf_event_attr *attr)
{
	return attr->config3;
}
#else
static inline bool tally_attr_set_config3(struct perf_event_attr *attr, u64 v)
{
	return !v;
}

static inline u64 tally_attr_config3(const struct perf_event_attr *attr)
{
	return 0;
}
#endif

/*
 * pmu::scope came with 6.12 (4ba4f1afb6a9), without a macro. Before, a PMU moved an event
 * to the CPU that serves the others. With the floor at 6.12 the second side goes.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
static inline const struct cpumask *tally_pmu_scope(const struct pmu *pmu,
						    int cpu)
{
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
	default:
		return cpumask_of(cpu);
	}
}
#else
static inline const struct cpumask *tally_pmu_scope(const struct pmu *pmu,
						    int cpu)
{
	return cpumask_of(cpu);
}
#endif

/*
 * hrtimer_setup() came with 6.13 (908a1d775422), and 6.15 removed hrtimer_init(). With
 * the floor at 6.13 the second side goes.
 */
static inline void
tally_hrtimer_setup(struct hrtimer *timer,
		    enum hrtimer_restart (*function)(struct hrtimer *),
		    clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

/*
 * pmu::pmu_disable_count moved into pmu::cpu_pmu_context with 6.15
 * (4eabf533fb18). With the floor at 6.15 the second side goes.
 */
static inline bool tally_pmu_disabled_here(const struct pmu *pmu)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	return this_cpu_ptr(pmu->cpu_pmu_context)[0]->pmu_disable_count;
#else
	return *this_cpu_ptr(pmu->pmu_disable_count);
#endif
}

/*
 * perf_sample_data::br_stack_cntr came with 6.8 (571d91dcadfa), without a macro. With the
 * floor at 6.8 the second side goes.
 */
static inline const u64 *tally_branch_counters(const struct perf_sample_data *data)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	return data->sample_flags & PERF_SAMPLE_BRANCH_STACK ? data->br_stack_cntr : NULL;
#else
	return NULL;
#endif
}

/*
 * vm_flags_set() and vm_flags_clear() came with 6.3 (bc292ab00f6c). Since then, only they
 * can change the flags. With the floor at 6.3 the second side goes.
 */
static inline void tally_vm_flags(struct vm_area_struct *vma, unsigned long set,
				  unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, set);
	vm_flags_clear(vma, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/*
 * Whether perf records the user space of a task: its call chain, and its registers. Late
 * 6.12 brought is_user_task(), an inline function, which leaves out threads that the
 * kernel runs for a process. With the floor at 6.12 the second sides go.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
static inline bool tally_chain_has_user(const struct task_struct *task)
{
	return task->mm && !(task->flags & (PF_KTHREAD | PF_USER_WORKER));
}

static inline bool tally_regs_has_user(const struct task_struct *task)
{
	return tally_chain_has_user(task);
}
#else
static inline bool tally_chain_has_user(const struct task_struct *task)
{
	return task->mm;
}

static inline bool tally_regs_has_user(const struct task_struct *task)
{
	return !(task->flags & PF_KTHREAD);
}
#endif

/*
 * Since 6.11 (4a365eb8a6d9) perf's call chains have the true return address where a
 * uretprobe has replaced it. With the floor at 6.11 the second side goes.
 */
static inline const struct return_instance *
tally_uretprobes(const struct task_struct *task)
{
#if defined(CONFIG_UPROBES) && LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	return task->utask ? task->utask->return_instances : NULL;
#else
	return NULL;
#endif
}

#ifdef CONFIG_X86
/*
 * Whether a uprobe at the beginning of a function is being handled: the probed
 * instruction shows it. uprobe_task::auprobe came with 6.12 (cfa7f3d2c526) and was
 * backported to older stable kernels, so Kbuild looks for it. With the floor at 6.12 the
 * second side goes.
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
	       (user_64bit_mode(regs) && is_endbr(*(u32 *)auprobe->insn));
#else
	return false;
#endif
}
#endif

#ifdef CONFIG_ARM64
/*
 * 6.6 (ca708599ca42) split ptrauth_strip_insn_pac() into two macros, which were
 * backported to some stable kernels. With the floor at 6.6 the second side goes.
 */
static inline u64 tally_strip_user_pac(u64 lr)
{
#ifdef ptrauth_strip_user_insn_pac
	return ptrauth_strip_user_insn_pac(lr);
#else
	return ptrauth_strip_insn_pac(lr);
#endif
}
#endif

/*
 * Types of fields in filters of trace events: stack traces came with 6.3, sets of CPUs
 * with 6.6, both without a macro. With the floor at 6.6 the second sides go.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define TALLY_FILTER_STACKTRACE		FILTER_STACKTRACE
#else
#define TALLY_FILTER_STACKTRACE		(-1)
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define TALLY_FILTER_CPUMASK		FILTER_CPUMASK
#else
#define TALLY_FILTER_CPUMASK		(-1)
#endif

/*
 * <asm/unaligned.h> became <linux/unaligned.h> with 6.12 (5f60d5f6bbc1). With the
 * floor at 6.12 the second side goes.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/*
 * Since 6.12 (152e11f6df29) a task that sleeps may stay on the runqueue;
 * task_is_runnable() returns false for such a task (cd9626e9ebc7). With the floor at 6.12
 * the second side goes.
 */
static inline bool tally_task_runnable(struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return task_is_runnable(task);
#else
	return task->on_rq;
#endif
}

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

#endif /* TALLY_COMPAT_H */
