// SPDX-License-Identifier: GPL-2.0
/*
 * Producers for rings. On each CPU a task, a timer in softirq and one in hard interrupt
 * pass a tracepoint as often as they can, and write to a word that may have a breakpoint.
 * Traps of probes interrupt the producers on x86: these are NMIs between any two
 * instructions. Elsewhere the PMU's interrupts do, which are NMIs if the machine has
 * those. The handlers of both pass the tracepoint, too.
 *
 * The tracepoint has the number of the pass, of those of its CPU and level. In debugfs:
 *
 *	on	microseconds that each task sleeps after BURST passes, 0 to stop
 *	word	address of the word
 *	made	for each CPU: passes of tasks, softirqs, interrupts and NMIs
 *	pass	a write passes the tracepoint once on each CPU
 *	stab	ADDRESS LENGTH: probes each instruction there, some at a time, so that
 *		NMIs come before it; the write returns when all were probed
 *	stale	number of traps of probes that were gone, see stepped_on()
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/hrtimer.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#ifdef CONFIG_X86
#include <asm/text-patching.h>
#endif

#define CREATE_TRACE_POINTS
#include "trace.h"
#include "kernels.h"

#define BURST		64
#define LEVELS		4
#define IRQ_NS		(2 * NSEC_PER_MSEC)
#define SOFTIRQ_NS	(3 * NSEC_PER_MSEC)
/* Number of instructions that are probed at a time, and the time in microseconds. */
#define STABS		20
#define STAB_US		1000
#define MAX_STABS	13
#define PMU_PERIOD	30000

/**
 * struct producer - the producers of a CPU
 * @task: task that passes
 * @irq: timer in hard interrupt
 * @softirq: timer in softirq
 * @pmu: event whose overflows pass; NULL without a PMU, and on x86
 * @made: number of passes on each level
 * @stabs_left: number of times that probes may pass until the next pass of another kind;
 *	without this limit, a writer that is interrupted in each turn of a loop would
 *	never leave the loop
 */
struct producer {
	struct task_struct *task;
	struct hrtimer irq;
	struct hrtimer softirq;
	struct perf_event *pmu;
	u64 made[LEVELS];
	unsigned int stabs_left;
};

static DEFINE_PER_CPU(struct producer, producers);
static DEFINE_MUTEX(lock); /* guards sleep_us, and the start and stop of producers */
static DEFINE_MUTEX(stab_lock);
static unsigned int sleep_us;
static atomic_long_t stale;
static u64 word;
static struct dentry *dir;

/* The levels are perf's, which drops a pass that comes on a level that it is in. */
static unsigned int level_now(void)
{
	return in_nmi() ? 3 : in_hardirq() ? 2 : in_serving_softirq() ? 1 : 0;
}

static void pass(void)
{
	unsigned int level = level_now();
	struct producer *p;

	preempt_disable_notrace();
	p = this_cpu_ptr(&producers);
	trace_tally_hammer_hit(++p->made[level], level, raw_smp_processor_id());
	if (level < 3) {
		p->stabs_left = p->made[level] % MAX_STABS;
		WRITE_ONCE(word, p->made[level]);
	}
	preempt_enable_notrace();
}

static void pass_times(unsigned int n)
{
	while (n--)
		pass();
}

static int produce(void *unused)
{
	unsigned int us;

	while (!kthread_should_stop()) {
		pass_times(BURST);
		us = READ_ONCE(sleep_us);
		if (us > 1)
			usleep_range(us, us + us / 8);
		else
			cond_resched();
	}
	return 0;
}

static enum hrtimer_restart irq_timer(struct hrtimer *timer)
{
	pass_times(2);
	hrtimer_forward_now(timer, ns_to_ktime(IRQ_NS));
	return HRTIMER_RESTART;
}

static enum hrtimer_restart softirq_timer(struct hrtimer *timer)
{
	pass_times(4);
	hrtimer_forward_now(timer, ns_to_ktime(SOFTIRQ_NS));
	return HRTIMER_RESTART;
}

static void start_timers(void *unused)
{
	struct producer *p = this_cpu_ptr(&producers);

	hrtimer_start(&p->irq, ns_to_ktime(IRQ_NS), HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&p->softirq, ns_to_ktime(SOFTIRQ_NS), HRTIMER_MODE_REL_PINNED_SOFT);
}

static void pmu_handler(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs)
{
	pass();
}

static void start_pmu(unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = PMU_PERIOD, .pinned = 1,
	};
	struct perf_event *event;

	if (IS_ENABLED(CONFIG_X86))
		return;
	event = perf_event_create_kernel_counter(&attr, cpu, NULL, pmu_handler, NULL);
	per_cpu(producers, cpu).pmu = IS_ERR(event) ? NULL : event;
}

static int start(void)
{
	struct task_struct *task;
	unsigned int cpu;

	cpus_read_lock();
	for_each_online_cpu(cpu) {
		task = kthread_create_on_cpu(produce, NULL, cpu, "tally_hammer/%u");
		if (IS_ERR(task))
			break;
		per_cpu(producers, cpu).task = task;
	}
	cpus_read_unlock();
	if (IS_ERR(task))
		return PTR_ERR(task);
	for_each_online_cpu(cpu) {
		start_pmu(cpu);
		smp_call_function_single(cpu, start_timers, NULL, true);
		wake_up_process(per_cpu(producers, cpu).task);
	}
	return 0;
}

static void stop(void)
{
	struct producer *p;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		p = per_cpu_ptr(&producers, cpu);
		if (p->task)
			kthread_stop(p->task);
		p->task = NULL;
		hrtimer_cancel(&p->irq);
		hrtimer_cancel(&p->softirq);
		if (p->pmu)
			perf_event_release_kernel(p->pmu);
		p->pmu = NULL;
	}
}

static int set_on(void *unused, u64 us)
{
	bool was;
	int err = 0;

	mutex_lock(&lock);
	was = sleep_us;
	WRITE_ONCE(sleep_us, us);
	if (us && !was)
		err = start();
	if (err || (!us && was))
		stop();
	if (err)
		sleep_us = 0;
	mutex_unlock(&lock);
	return err;
}
DEFINE_DEBUGFS_ATTRIBUTE(on_fops, NULL, set_on, "%llu\n");

static int get_word(void *unused, u64 *address)
{
	*address = (unsigned long)&word;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(word_fops, get_word, NULL, "%#llx\n");

static void pass_here(void *unused)
{
	pass();
}

static int set_pass(void *unused, u64 value)
{
	on_each_cpu(pass_here, NULL, true);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(pass_fops, NULL, set_pass, "%llu\n");

static int made_show(struct seq_file *m, void *v)
{
	const struct producer *p;
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		p = per_cpu_ptr(&producers, cpu);
		seq_printf(m, "%u %llu %llu %llu %llu\n", cpu, READ_ONCE(p->made[0]),
			   READ_ONCE(p->made[1]), READ_ONCE(p->made[2]), READ_ONCE(p->made[3]));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(made);

/* A probe with a post_handler is not optimized to a jump: it stays a trap. */
static void stabbed(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static int stab_now(struct kprobe *probe, struct pt_regs *regs)
{
	struct producer *p = this_cpu_ptr(&producers);

	if (in_nmi() && p->stabs_left) {
		p->stabs_left--;
		pass();
	}
	return 0;
}

/*
 * Probes an address; returns whether there is a probe. There is none if no instruction
 * begins at the address, or if the probe would use ftrace, which is a call and no trap.
 */
static bool put_stab(struct kprobe *probe, unsigned long address)
{
	memset(probe, 0, sizeof(*probe));
	probe->addr = (kprobe_opcode_t *)address;
	probe->pre_handler = stab_now;
	probe->post_handler = stabbed;
	probe->flags = KPROBE_FLAG_DISABLED;
	if (register_kprobe(probe))
		return false;
	if (!kprobe_ftrace(probe) && !enable_kprobe(probe))
		return true;
	unregister_kprobe(probe);
	return false;
}

/* An instruction may begin at each byte. */
static int stab(unsigned long from, unsigned long len)
{
	static struct kprobe probes[STABS];
	struct kprobe *set[STABS];
	unsigned long end = from + len;
	unsigned int nr;
	int all = 0;

	while (from < end) {
		for (nr = 0; nr < STABS && from < end; from++) {
			set[nr] = &probes[nr];
			nr += put_stab(set[nr], from);
		}
		usleep_range(STAB_US, STAB_US + STAB_US / 4);
		unregister_kprobes(set, nr);
		all += nr;
	}
	return all ? 0 : -ENOENT;
}

static ssize_t stab_write(struct file *file, const char __user *from, size_t count,
			  loff_t *pos)
{
	unsigned long address, len;
	char text[64];
	int err;

	if (count >= sizeof(text))
		return -E2BIG;
	if (copy_from_user(text, from, count))
		return -EFAULT;
	text[count] = '\0';
	if (!IS_ENABLED(CONFIG_X86))
		return -EOPNOTSUPP;
	if (sscanf(text, "%li %li", &address, &len) != 2)
		return -EINVAL;
	mutex_lock(&stab_lock);
	err = stab(address, len);
	mutex_unlock(&stab_lock);
	return err ?: count;
}

static const struct file_operations stab_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = stab_write,
};

#ifdef CONFIG_X86
/*
 * QEMU 7.2 may keep an int3 in its translation after the probe is gone: one was run
 * 500,000 times in two minutes, on two CPUs, while the byte in memory was another one. No
 * real CPU does that. The kprobes of Linux 6.12 do not handle such a trap, as they did in
 * earlier versions, and the kernel dies. This notifier runs the instruction again with RF
 * set, for which QEMU makes a new translation.
 */
static int stepped_on(struct notifier_block *self, unsigned long what, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;

	if (what != DIE_INT3 || user_mode(regs) ||
	    *(u8 *)(regs->ip - INT3_INSN_SIZE) == INT3_INSN_OPCODE)
		return NOTIFY_DONE;
	atomic_long_inc(&stale);
	regs->ip -= INT3_INSN_SIZE;
	regs->flags |= X86_EFLAGS_RF;
	return NOTIFY_STOP;
}

static struct notifier_block stepped_on_nb = { .notifier_call = stepped_on };

static int heed_stale(void)
{
	return register_die_notifier(&stepped_on_nb);
}

static void unheed_stale(void)
{
	unregister_die_notifier(&stepped_on_nb);
}
#else
static int heed_stale(void)
{
	return 0;
}

static void unheed_stale(void)
{
}
#endif

static int get_stale(void *unused, u64 *value)
{
	*value = atomic_long_read(&stale);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(stale_fops, get_stale, NULL, "%llu\n");

static int __init hammer_init(void)
{
	struct producer *p;
	unsigned int cpu;
	int err;

	err = heed_stale();
	if (err)
		return err;
	for_each_possible_cpu(cpu) {
		p = per_cpu_ptr(&producers, cpu);
		hrtimer_setup(&p->irq, irq_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
		hrtimer_setup(&p->softirq, softirq_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_SOFT);
	}
	dir = debugfs_create_dir("tally_hammer", NULL);
	debugfs_create_file_unsafe("on", 0200, dir, NULL, &on_fops);
	debugfs_create_file_unsafe("word", 0400, dir, NULL, &word_fops);
	debugfs_create_file_unsafe("pass", 0200, dir, NULL, &pass_fops);
	debugfs_create_file("made", 0400, dir, NULL, &made_fops);
	debugfs_create_file("stab", 0200, dir, NULL, &stab_fops);
	debugfs_create_file_unsafe("stale", 0400, dir, NULL, &stale_fops);
	return 0;
}

static void __exit hammer_exit(void)
{
	debugfs_remove(dir);
	mutex_lock(&lock);
	stop();
	mutex_unlock(&lock);
	tracepoint_synchronize_unregister();
	unheed_stale();
}

module_init(hammer_init);
module_exit(hammer_exit);
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Producers of records, in all contexts");
MODULE_LICENSE("GPL");
