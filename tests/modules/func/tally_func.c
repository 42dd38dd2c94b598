// SPDX-License-Identifier: GPL-2.0
/*
 * Functions to be counted, and tests of tally_func_build() and its like. What is written to the
 * parameter run is done: "short N", "long N", "copy N", "nested N", "sleep N", "move N" call a
 * function N times; "inner N" calls tally_func_long() N times in the handler of a probe;
 * "crowd N" lets N threads be in tally_func_wait() at the same time.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <tally/tally.h>
#include "kernels.h"
#include "tap.h"

/* Instructions of a turn of the loop, on the architectures that the loop is written for. */
#define LOOP_TURNS	1000

static struct tap tap;

static __always_inline void loop(unsigned long turns)
{
#ifdef CONFIG_ARM64
	asm volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r" (turns) : : "cc");
#else
	while (turns--)
		barrier();
#endif
}

static noinline void tally_func_short(void)
{
	loop(LOOP_TURNS);
}

static noinline void tally_func_long(void)
{
	loop(2 * LOOP_TURNS);
}

/* Its name is one that a compiler gives to a copy with fewer arguments. */
static void tally_func_copy(void)
	asm("tally_func_copy.isra.0");

static noinline void tally_func_copy(void)
{
	barrier();
}

/* The innermost call waits until the clock goes on, which may go by ticks. */
static bool clock_goes_on;

static void wait_for_clock(void)
{
	u64 begin = local_clock();

	while (local_clock() == begin)
		cpu_relax();
}

static noinline void tally_func_nested(unsigned int depth)
{
	if (depth > 1)
		tally_func_nested(depth - 1);
	else if (clock_goes_on)
		wait_for_clock();
	barrier();
}

static noinline void tally_func_sleep(void)
{
	usleep_range(50, 100);
}

static noinline void tally_func_move(void)
{
	int next = cpumask_next(raw_smp_processor_id(), cpu_online_mask);

	if (next >= nr_cpu_ids)
		next = cpumask_first(cpu_online_mask);
	set_cpus_allowed_ptr(current, cpumask_of(next));
}

/* Calls of tally_func_long() in the handler of a probe, which the probes of that miss. */
static int call_long(struct kprobe *kp, struct pt_regs *regs)
{
	tally_func_long();
	return 0;
}

static int run_inner(unsigned int n)
{
	struct kprobe kp = { .symbol_name = "tally_func:tally_func_short",
			     .pre_handler = call_long };
	int err = register_kprobe(&kp);

	if (err)
		return err;
	while (n--)
		tally_func_short();
	unregister_kprobe(&kp);
	return 0;
}

static atomic_t nr_waiting;
static DECLARE_COMPLETION(all_wait);

static noinline void tally_func_wait(void)
{
	atomic_inc(&nr_waiting);
	wait_for_completion(&all_wait);
	atomic_dec(&nr_waiting);
}

static int wait_thread(void *data)
{
	tally_func_wait();
	return 0;
}

/* Returns how many of the threads were started. */
static unsigned int start_threads(struct task_struct **tasks, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		tasks[i] = kthread_run(wait_thread, NULL, "tally_crowd");
		if (IS_ERR(tasks[i]))
			break;
		get_task_struct(tasks[i]);
	}
	return i;
}

static int run_crowd(unsigned int n)
{
	struct task_struct **tasks = kcalloc(n, sizeof(*tasks), GFP_KERNEL);
	unsigned int started, i;

	if (!tasks)
		return -ENOMEM;
	reinit_completion(&all_wait);
	started = start_threads(tasks, n);
	while (atomic_read(&nr_waiting) < started)
		usleep_range(100, 1000);
	complete_all(&all_wait);
	for (i = 0; i < started; i++) {
		kthread_stop(tasks[i]);
		put_task_struct(tasks[i]);
	}
	kfree(tasks);
	return started == n ? 0 : -ENOMEM;
}

/* No interrupt comes within a call. Between the calls, some may. */
static void quietly(void (*fn)(void), unsigned int n)
{
	unsigned long flags;

	while (n--) {
		local_irq_save(flags);
		fn();
		local_irq_restore(flags);
		if (n % 1000 == 0)
			cond_resched();
	}
}

static int run_set(const char *text, const struct kernel_param *kp)
{
	char word[16];
	unsigned int n;
	int err = 0;

	if (sscanf(text, "%15s %u", word, &n) != 2)
		return -EINVAL;
	if (!strcmp(word, "short"))
		quietly(tally_func_short, n);
	else if (!strcmp(word, "long"))
		quietly(tally_func_long, n);
	else if (!strcmp(word, "copy"))
		quietly(tally_func_copy, n);
	else if (!strcmp(word, "inner"))
		err = run_inner(n);
	else if (!strcmp(word, "crowd"))
		err = run_crowd(n);
	else
		for (; n; n--) {
			if (!strcmp(word, "nested"))
				tally_func_nested(5);
			else if (!strcmp(word, "sleep"))
				tally_func_sleep();
			else if (!strcmp(word, "move"))
				tally_func_move();
			else
				return -EINVAL;
		}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	return err;
}

static const struct kernel_param_ops run_ops = { .set = run_set };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "function to be called, and how often");

static void prepare(struct tally_builder *b)
{
	tally_builder_init(&b[0], TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_init(&b[1], TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
}

static void refused(struct tally_builder *b, unsigned int nr, const char *symbol, int err,
		    const char *what)
{
	struct tally_func *func = tally_func_build(b, nr, symbol);

	tap_is(&tap, PTR_ERR_OR_ZERO(func), err, what);
	tap_ok(&tap, *tally_builder_why(b), "its sentence: %s", tally_builder_why(b));
	tally_func_release(func);
}

static struct tally_builder builders[9];

static DECLARE_COMPLETION(handled);
static int in_handler, build_in_handler;

static void handler(struct tally_event *ev, const struct tally_sample *sample, void *func)
{
	static struct tally_builder b[2];

	if (completion_done(&handled))
		return;
	in_handler = tally_func_release(func);
	prepare(b);
	build_in_handler = PTR_ERR_OR_ZERO(tally_func_build(b, 2, "tally_func_nested"));
	complete(&handled);
}

/* A handler cannot end the counts: they go on. */
static void release_in_handler(struct tally_func *func)
{
	struct tally_func_stats stats = {};
	struct tally_builder *b = &builders[8];
	struct tally_event *ev;
	u64 sums[2];

	tally_builder_init(b, TALLY_SOFTWARE(PERF_COUNT_SW_CONTEXT_SWITCHES));
	tally_builder_period(b, 1);
	tally_builder_on_overflow_work(b, handler, func);
	ev = tally_build(b);
	tap_ok(&tap, !IS_ERR(ev), "an event with a handler: %s", tally_builder_why(b));
	if (IS_ERR(ev))
		return;
	wait_for_completion(&handled);
	tap_is(&tap, in_handler, -EDEADLK, "the handler cannot end the counts");
	tap_is(&tap, build_in_handler, -EDEADLK, "nor begin others");
	tap_is(&tap, tally_event_release(ev), 0, "the event goes");
	tally_func_nested(1);
	tally_func_read(func, &stats, sums);
	tap_is(&tap, stats.calls, 8, "they go on");
}

static void use_it(void)
{
	struct tally_func_stats stats;
	struct tally_func *func;
	u64 sums[2] = {};

	prepare(builders);
	func = tally_func_build(builders, 2, "tally_func_nested");
	tap_ok(&tap, !IS_ERR(func), "counts of a function: %s", tally_builder_why(builders));
	if (IS_ERR(func))
		return;
	clock_goes_on = true;
	preempt_disable();
	tally_func_nested(7);
	preempt_enable();
	clock_goes_on = false;
	tap_is(&tap, tally_func_read(func, &stats, sums), 0, "they can be read");
	tap_is(&tap, stats.calls, 7, "7 nested calls are 7 calls");
	tap_is(&tap, stats.counted + stats.uncounted, 7, "that returned here");
	tap_ok(&tap, sums[0] >= stats.counted, "which took %llu ns", sums[0]);
	tap_is(&tap, sums[1], 0, "and faulted nowhere");
	tap_is(&tap, tally_func_read(func, NULL, sums), -EINVAL, "nowhere for the numbers");
	tap_is(&tap, tally_func_read(func, &stats, NULL), -EINVAL, "nowhere for the sums");
	release_in_handler(func);
	tap_is(&tap, tally_func_release(func), 0, "they end");

	prepare(builders);
	refused(builders, 2, "no_such_function_at_all", -ENOENT, "no such function");
	func = tally_func_build(builders, 2, "tally_func_nested");
	tap_ok(&tap, !IS_ERR(func), "the same builders, and a function that there is");
	tally_func_release(func);
	prepare(builders);
	tally_builder_disabled(&builders[0]);
	refused(builders, 2, "tally_func_nested", -EINVAL, "a set that is not enabled");
	prepare(builders);
	tally_builder_on_cpu(&builders[0], 0);
	tally_builder_on_cpu(&builders[1], 0);
	refused(builders, 2, "tally_func_nested", -EINVAL, "a set on one CPU");
	prepare(builders);
	refused(builders, 9, "tally_func_nested", -E2BIG, "nine members");
}

static int __init func_init(void)
{
	int err = tap_start(&tap);

	if (err)
		return err;
	use_it();
	tap_plan(&tap);
	tap_show(&tap, "tally_func");
	return 0;
}

static void __exit func_exit(void)
{
	tap_end(&tap);
}

module_init(func_init);
module_exit(func_exit);
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Functions to be counted, for tests");
MODULE_LICENSE("GPL");
IMPORT_TALLY();
