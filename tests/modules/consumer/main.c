// SPDX-License-Identifier: GPL-2.0
/*
 * A module that counts with tally. It uses the public header only.
 *
 *	insmod tally_consumer.ko
 *	cat /sys/kernel/debug/tally_consumer/results
 *
 * mode=all: every exported function and every kind of event. mode=leave: the module does
 * not release two events when it is unloaded. mode=failinit: it builds two events and
 * then fails to load. tally has to release the events of the last two modes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include "consumer.h"
#include "kernels.h"

static char *mode = "all";
module_param(mode, charp, 0444);
MODULE_PARM_DESC(mode, "all, leave or failinit");

struct tap tap;

noinline void bump(void)
{
	/* Without this, the compiler drops the calls of a function that does nothing. */
	asm volatile("");
}

void bumps(unsigned int n)
{
	while (n--)
		bump();
}

/* Waits by perf's clock. In a guest, each CPU's may only advance by the ticks of that CPU. */
void be_busy(unsigned long ticks)
{
	u64 end = local_clock() + ticks * TICK_NSEC;

	while (local_clock() < end)
		cpu_relax();
}

struct tally_event *build_ok(struct tally_builder *b, const char *what)
{
	struct tally_event *ev = tally_build(b);

	if (!tap_ok(&tap, !IS_ERR(ev), "%s: is built", what))
		tap_line(&tap, "# %ld: %s", PTR_ERR(ev), tally_builder_why(b));
	return ev;
}

void expect_value(struct tally_event *ev, u64 want, const char *what)
{
	struct tally_count count;

	if (IS_ERR_OR_NULL(ev)) {
		tap_ok(&tap, false, "%s: no event", what);
		return;
	}
	if (tap_is(&tap, tally_event_read(ev, &count), 0, what))
		tap_is(&tap, count.value, want, what);
}

static int leave_two(void)
{
	struct tally_event *one, *two;
	struct tally_builder b;

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
	tally_builder_name(&b, "left_one");
	one = tally_build(&b);
	if (IS_ERR(one))
		return PTR_ERR(one);
	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_name(&b, "left_two");
	tally_builder_disabled(&b);
	two = tally_build(&b);
	if (IS_ERR(two))
		tally_event_release(one);
	return PTR_ERR_OR_ZERO(two);
}

static int __init consumer_init(void)
{
	int err;

	if (!strcmp(mode, "leave"))
		return leave_two();
	if (!strcmp(mode, "failinit")) {
		err = leave_two();
		return err ?: -EINVAL;
	}
	if (strcmp(mode, "all"))
		return -EINVAL;

	err = tap_start(&tap);
	if (err)
		return err;
	test_calls();
	test_kinds();
	test_probes();
	test_targets();
	test_nulls();
	tap_plan(&tap);
	tap_show(&tap, "tally_consumer");
	return 0;
}

static void __exit consumer_exit(void)
{
	tap_end(&tap);
}

module_init(consumer_init);
module_exit(consumer_exit);
IMPORT_TALLY();
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Counts with tally, as any other module may");
MODULE_LICENSE("GPL");
