// SPDX-License-Identifier: GPL-2.0
/*
 * A storm: threads make events of all kinds, let them overflow as fast as they can, call
 * all functions on them, also in handlers, and release them. Each event has a context
 * that is poisoned and freed as soon as the event is released.
 *
 *	insmod tally_soak.ko
 *	sleep 60
 *	rmmod tally_soak
 *	dmesg
 *
 * The storm ends when the module is unloaded, which prints the results to the kernel log.
 * mode=leave: the module does not release its events, which overflow by themselves, when
 * it is unloaded; tally has to release them. pid=PID: a process that forks, for inherited
 * events.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/hw_breakpoint.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/string.h>
#include "soak.h"
#include "tap.h"
#include "kernels.h"

static char *mode = "storm";
module_param(mode, charp, 0444);
MODULE_PARM_DESC(mode, "storm or leave");

int soak_pid;
module_param_named(pid, soak_pid, int, 0444);
MODULE_PARM_DESC(pid, "A process that forks, for inherited events (none)");

static unsigned int seed;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "Of the random numbers (a random one)");

/* Number of faults of each kind that are reported in detail. */
#define TELL	5

static const char *const faults[SOAK_FAULTS] = {
	[SOAK_FAULT_DEAD] = "no handler was given a dead context",
	[SOAK_FAULT_TOUCHED] = "no dead context changed",
	[SOAK_FAULT_EVENT] = "handlers were given their own event",
	[SOAK_FAULT_CONTEXT] = "handlers ran where they are to run",
	[SOAK_FAULT_CPU] = "handlers ran on the sample's CPU",
	[SOAK_FAULT_ORDER] = "samples came in order",
	[SOAK_FAULT_MISSED] = "samples told of no more than there was",
	[SOAK_FAULT_RELEASE] = "no handler could release its event",
	[SOAK_FAULT_DIRECT_SUM] = "direct calls are overflows - skipped",
	[SOAK_FAULT_IRQ_SUM] = "the interrupt's calls are overflows - missed",
	[SOAK_FAULT_WORK_SUM] = "the work's calls are overflows - missed",
	[SOAK_FAULT_ERROR] = "no call failed but as it may",
};

static const char *const tallies[SOAK_TALLIES] = {
	[SOAK_DIRECT_CALLS] = "direct_calls",
	[SOAK_NMI_CALLS] = "nmi_calls",
	[SOAK_IRQ_CALLS] = "irq_calls",
	[SOAK_WORK_CALLS] = "work_calls",
	[SOAK_REFUSED_RELEASES] = "refused_releases",
	[SOAK_CHECKED_DIRECT] = "checked_direct",
	[SOAK_CHECKED_IRQ] = "checked_irq",
	[SOAK_CHECKED_WORK] = "checked_work",
	[SOAK_EXCUSED_IRQ] = "excused_irq",
	[SOAK_RELEASED_LIVE] = "released_live",
	[SOAK_REARMED] = "rearmed",
	[SOAK_MODIFIED] = "modified",
};

atomic_long_t soak_made[SOAK_KINDS];
atomic_long_t soak_refused[SOAK_KINDS];
atomic_long_t soak_tallies[SOAK_TALLIES];

/* The faults; the first ones of each kind in detail. Read at the end. */
static struct {
	atomic_t number;
	struct {
		enum soak_kind kind;
		s64 got;
		s64 want;
	} told[TELL];
} found[SOAK_FAULTS];

static struct soak_thread threads[SOAK_THREADS];
static struct cpumask leaving;
static atomic_t nr_offlines;
static enum cpuhp_state hotplug_state;
static struct tap tap;

/* Records a fault, which report() prints. Any context. */
void soak_fault(enum soak_fault fault, enum soak_kind kind, s64 got, s64 want)
{
	int n = atomic_inc_return(&found[fault].number) - 1;

	if (n >= TELL)
		return;
	found[fault].told[n].kind = kind;
	found[fault].told[n].got = got;
	found[fault].told[n].want = want;
}

static int cpu_stays(unsigned int cpu)
{
	cpumask_clear_cpu(cpu, &leaving);
	return 0;
}

static int cpu_leaves(unsigned int cpu)
{
	cpumask_set_cpu(cpu, &leaving);
	atomic_inc(&nr_offlines);
	return 0;
}

bool soak_cpus_steady(unsigned int *offlines)
{
	*offlines = atomic_read(&nr_offlines);
	return !cpumask_intersects(&leaving, cpu_online_mask);
}

static void report(void)
{
	unsigned int i;
	int n;

	for (i = 0; i < SOAK_FAULTS; i++) {
		n = atomic_read(&found[i].number);
		tap_is(&tap, n, 0, faults[i]);
		while (n--)
			if (n < TELL)
				tap_line(&tap, "# %s: got %lld, not %lld",
					 soak_kind_name(found[i].told[n].kind),
					 found[i].told[n].got,
					 found[i].told[n].want);
	}
	for (i = 0; i < SOAK_KINDS; i++)
		tap_line(&tap, "# made_%s %ld refused %ld", soak_kind_name(i),
			 atomic_long_read(&soak_made[i]),
			 atomic_long_read(&soak_refused[i]));
	for (i = 0; i < SOAK_TALLIES; i++)
		tap_line(&tap, "# %s %ld", tallies[i],
			 atomic_long_read(&soak_tallies[i]));
	tap_plan(&tap);
}

static void stop_threads(void)
{
	unsigned int i;

	for (i = 0; i < SOAK_THREADS; i++)
		if (threads[i].task)
			kthread_stop(threads[i].task);
}

static int start_threads(void)
{
	struct task_struct *task;
	unsigned int i;

	for (i = 0; i < SOAK_THREADS; i++) {
		prandom_seed_state(&threads[i].rnd, (u64)seed << 8 | i);
		task = kthread_run(soak_thread, &threads[i], "tally_soak/%u", i);
		if (IS_ERR(task))
			return PTR_ERR(task);
		threads[i].task = task;
	}
	return 0;
}

/* ---- events that are left behind ---- */

static struct soak_context left[5];

static void leave_one(struct soak_context *ctx, struct tally_builder *b,
		      u64 period)
{
	struct tally_event *ev;
	char name[32];

	snprintf(name, sizeof(name), "left%td", ctx - left);
	tally_builder_name(b, name);
	ctx->magic = SOAK_LIVE;
	ctx->rearm = SOAK_STAGES;
	mutex_init(&ctx->lock);
	/* With @ending set, no handler disables the event: it overflows until it ends. */
	ctx->ending = true;
	tally_builder_period(b, period);
	tally_builder_on_overflow(b, soak_direct, ctx);
	tally_builder_on_overflow_irq(b, soak_irq, ctx);
	tally_builder_on_overflow_work(b, soak_work, ctx);
	ev = tally_build(b);
	if (IS_ERR(ev))
		pr_info("%s: %pe: %s\n", name, ev, tally_builder_why(b));
	else
		atomic_long_inc(&soak_made[ctx->kind]);
}

/* All but the probe overflow without the module's threads. */
static void leave_some(void)
{
	struct tally_builder b;

	left[0].kind = SOAK_CLOCK;
	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	leave_one(&left[0], &b, 100000);
	left[1].kind = SOAK_SCHED;
	tally_builder_parse(&b, "sched:sched_switch");
	leave_one(&left[1], &b, 1);
	left[2].kind = SOAK_BREAKPOINT;
	tally_builder_init(&b, TALLY_BREAKPOINT(&jiffies, sizeof(jiffies),
						HW_BREAKPOINT_W));
	leave_one(&left[2], &b, 1);
	left[3].kind = SOAK_KPROBE;
	tally_builder_init(&b, TALLY_KPROBE(soak_probe_point()));
	leave_one(&left[3], &b, 1);
	left[4].kind = SOAK_CYCLES;
	tally_builder_init(&b, TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES));
	leave_one(&left[4], &b, 20000);
}

static int __init soak_init(void)
{
	int err;

	err = tap_start(&tap);
	if (err)
		return err;
	err = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "tally:soak",
					cpu_stays, cpu_leaves);
	if (err < 0)
		goto end_tap;
	hotplug_state = err;
	if (!seed)
		seed = get_random_u32();
	pr_info("# seed=%u\n", seed);
	if (!strcmp(mode, "leave"))
		leave_some();
	err = start_threads();
	if (err)
		goto stop;
	return 0;

stop:
	stop_threads();
	cpuhp_remove_state_nocalls(hotplug_state);
end_tap:
	tap_end(&tap);
	return err;
}

static void __exit soak_exit(void)
{
	stop_threads();
	cpuhp_remove_state_nocalls(hotplug_state);
	report();
	tap_end(&tap);
}

module_init(soak_init);
module_exit(soak_exit);
IMPORT_TALLY();
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("A storm of events that overflow and end");
MODULE_LICENSE("GPL");
