// SPDX-License-Identifier: GPL-2.0
/*
 * Functions to be counted, and tests of tally_func_build() and its like. What is written to the
 * parameter run is done: "short N", "long N", "nested N", "sleep N", "move N" call a function N
 * times.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
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

	if (sscanf(text, "%15s %u", word, &n) != 2)
		return -EINVAL;
	if (!strcmp(word, "short"))
		quietly(tally_func_short, n);
	else if (!strcmp(word, "long"))
		quietly(tally_func_long, n);
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
	return 0;
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
	tally_func_release(func);

	prepare(builders);
	refused(builders, 2, "no_such_function_at_all", -ENOENT, "no such function");
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
