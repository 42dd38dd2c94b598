// SPDX-License-Identifier: GPL-2.0
/*
 * Gives each CPU a budget of an event, as memguard does for memory: a CPU that has used its
 * budget up runs nothing but a real-time thread that waits for the next window. The kernel takes
 * real-time threads 5 % of the time by sched_rt_runtime_us and, since 6.12, by its fair server.
 *
 *	insmod tally_regulator.ko event=LLC-load-misses budget=10000 window_us=1000
 *	cat /sys/kernel/debug/tally/regulator/budget
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <tally/tally.h>
#include "kernels.h"

static char *event = "LLC-load-misses";
module_param(event, charp, 0444);
MODULE_PARM_DESC(event, "event that is regulated, as a line of tally's");
static ulong budget = 10000;
module_param(budget, ulong, 0444);
MODULE_PARM_DESC(budget, "counts of the event on each CPU in a window");
static uint window_us = 1000;
module_param(window_us, uint, 0444);
MODULE_PARM_DESC(window_us, "length of a window in microseconds");

static struct tally_event *regulated;

/* The thread that holds the CPU, and whether it is to do that in this window. */
struct brake {
	struct task_struct *thread;
	bool over;
};

static DEFINE_PER_CPU(struct brake, brakes);

/* Runs in hard interrupt on the CPU that has used its budget up. */
static void over_budget(struct tally_event *ev, const struct tally_sample *sample, void *context)
{
	struct brake *brake = this_cpu_ptr(&brakes);
	struct task_struct *thread = READ_ONCE(brake->thread);

	WRITE_ONCE(brake->over, true);
	if (thread)
		wake_up_process(thread);
}

/* The number of the window changes when tally's timer has made the budget whole again. */
static u64 window_of(int cpu)
{
	struct tally_budget_stats stats = {};

	tally_event_budget(regulated, cpu, &stats);
	return stats.window;
}

static void hold(int cpu)
{
	u64 held = window_of(cpu);

	while (window_of(cpu) == held && !kthread_should_stop())
		cpu_relax();
}

static int run(void *data)
{
	struct brake *brake = data;

	sched_set_fifo(current);
	while (!kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		if (!READ_ONCE(brake->over) && !kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
		if (xchg(&brake->over, false))
			hold(smp_processor_id());
	}
	return 0;
}

/* After the grace period, no handler uses the thread. */
static void stop_threads(void)
{
	struct task_struct *thread;
	int cpu;

	for_each_possible_cpu(cpu) {
		thread = xchg(&per_cpu(brakes, cpu).thread, NULL);
		synchronize_rcu();
		if (thread)
			kthread_stop(thread);
	}
}

static int start_threads(void)
{
	struct task_struct *thread;
	int cpu;

	for_each_online_cpu(cpu) {
		thread = kthread_create_on_cpu(run, &per_cpu(brakes, cpu), cpu, "regulator/%u");
		if (IS_ERR(thread))
			return PTR_ERR(thread);
		per_cpu(brakes, cpu).thread = thread;
		wake_up_process(thread);
	}
	return 0;
}

static int __init regulator_init(void)
{
	struct tally_builder b;
	int err;

	err = start_threads();
	if (err)
		goto stop;
	tally_builder_parse(&b, event);
	tally_builder_name(&b, "regulator");
	tally_builder_disabled(&b);
	tally_builder_budget(&b, budget, window_us * NSEC_PER_USEC);
	tally_builder_on_overflow_irq(&b, over_budget, NULL);
	regulated = tally_build(&b);
	err = PTR_ERR_OR_ZERO(regulated) ?: tally_event_enable(regulated);
	if (!err)
		return 0;
	pr_err("regulator: %s (%d)\n", tally_builder_why(&b), err);
	tally_event_release(regulated);
stop:
	stop_threads();
	return err;
}

static void __exit regulator_exit(void)
{
	stop_threads();
	tally_event_release(regulated);
}

module_init(regulator_init);
module_exit(regulator_exit);
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Keeps each CPU within a budget of an event");
MODULE_LICENSE("GPL");
IMPORT_TALLY();
