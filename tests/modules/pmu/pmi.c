// SPDX-License-Identifier: GPL-2.0
/*
 * The interrupts of the test PMUs. On x86-64 an interrupt is an NMI: each CPU has a
 * breakpoint on a word of the kernel, whose handler runs in NMI, right behind the write.
 * Elsewhere it is an interrupt by irq_work.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <asm/irq_regs.h>
#include "pmu.h"

unsigned long pmi_functions;
EXPORT_SYMBOL_GPL(pmi_functions);

void (*pmi_hook)(struct pt_regs *regs);
EXPORT_SYMBOL_GPL(pmi_hook);

static DEFINE_PER_CPU(unsigned long, interrupts);
static DEFINE_PER_CPU(bool, busy);

static void interrupt(struct pt_regs *regs)
{
	void (*hook)(struct pt_regs *regs) = READ_ONCE(pmi_hook);

	/* The hook may read an event of the PMU, whose read makes an interrupt. */
	if (__this_cpu_read(busy))
		return;
	__this_cpu_write(busy, true);
	__this_cpu_inc(interrupts);
	if (hook)
		hook(regs);
	core_interrupt(regs);
	precise_interrupt(regs);
	__this_cpu_write(busy, false);
}

/*
 * perf_event_overflow() is not exported. A disabled probe finds it, so that perf's own files
 * have samples of these PMUs, too.
 */
static int (*overflow)(struct perf_event *event, struct perf_sample_data *data,
		       struct pt_regs *regs);

static int find_overflow(void)
{
	struct kprobe kp = {
		.symbol_name = "perf_event_overflow",
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err = register_kprobe(&kp);

	if (err)
		return err;
	overflow = (void *)kp.addr;
	unregister_kprobe(&kp);
	return 0;
}

void pmi_overflow(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	if (overflow(event, data, regs))
		event->pmu->stop(event, 0);
}

#ifdef CONFIG_X86
static unsigned long word;
static struct perf_event * __percpu *breakpoints;

static void hit(struct perf_event *bp, struct perf_sample_data *data, struct pt_regs *regs)
{
	interrupt(regs);
}

void pmi(void)
{
	WRITE_ONCE(word, 1);
}
EXPORT_SYMBOL_GPL(pmi);

static int begin(void)
{
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&word;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_W;
	breakpoints = register_wide_hw_breakpoint(&attr, hit, NULL);
	return PTR_ERR_OR_ZERO((void *)(__force unsigned long)breakpoints);
}

static void end(void)
{
	unregister_wide_hw_breakpoint(breakpoints);
}
#else
static void run(struct irq_work *work)
{
	interrupt(get_irq_regs());
}

static DEFINE_PER_CPU(struct irq_work, works);

void pmi(void)
{
	irq_work_queue(this_cpu_ptr(&works));
}
EXPORT_SYMBOL_GPL(pmi);

/* A module's per-CPU variables cannot begin with pointers: they are not relocated. */
static int begin(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(works, cpu) = IRQ_WORK_INIT_HARD(run);
	return 0;
}

static void end(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(per_cpu_ptr(&works, cpu));
}
#endif

void pmi_in(unsigned int function)
{
	if (READ_ONCE(pmi_functions) & BIT(function))
		pmi();
}

static void pmi_here(void *unused)
{
	pmi();
}

static int make(void *data, u64 cpu)
{
	return cpu < nr_cpu_ids ? smp_call_function_single(cpu, pmi_here, NULL, true) : -ENXIO;
}

static int sum(void *data, u64 *total)
{
	u64 nr = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		nr += per_cpu(interrupts, cpu);
	*total = nr;
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(interrupt_fops, sum, make, "%llu\n");

int pmi_init(struct dentry *dir)
{
	int err = find_overflow();

	debugfs_create_file_unsafe("interrupt", 0600, dir, NULL, &interrupt_fops);
	return err ?: begin();
}

void pmi_exit(void)
{
	end();
}
