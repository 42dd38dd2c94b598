// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the kernel print a warning, or panic, so that a test can check that scripts/vm
 * reports it:
 *
 *	insmod tally_splat.ko what=warn
 *
 * warn: a WARN. panic: a panic. leak: memory without a pointer to it. lockdep: two locks
 * taken in both orders. sleep: a sleep in atomic context. race: a data race of two threads.
 */
#include <linux/bug.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/panic.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/string.h>

static char *what = "";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "warn, panic, leak, lockdep, sleep or race");

static void splat_leak(void)
{
	int i;

	/* An old pointer on a stack may hide one leak, so there are several. */
	for (i = 0; i < 16; i++) {
		void *leaked = kmalloc(512, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(leaked);
	}
}

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static void splat_lockdep(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);

	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void splat_sleep(void)
{
	preempt_disable();
	might_sleep();
	preempt_enable();
}

static unsigned long raced;

static int count_up(void *unused)
{
	while (!kthread_should_stop()) {
		raced++;
		barrier();
		cond_resched();
	}
	return 0;
}

static int splat_race(void)
{
	struct task_struct *other = kthread_run(count_up, NULL, "tally_splat");
	unsigned long end = jiffies + 5 * HZ;

	if (IS_ERR(other))
		return PTR_ERR(other);
	while (time_before(jiffies, end)) {
		raced++;
		barrier();
		cond_resched();
	}
	return kthread_stop(other);
}

static int __init splat_init(void)
{
	if (!strcmp(what, "warn"))
		WARN(1, "tally_splat: a warning that was asked for\n");
	else if (!strcmp(what, "panic"))
		panic("tally_splat: a panic that was asked for");
	else if (!strcmp(what, "leak"))
		splat_leak();
	else if (!strcmp(what, "lockdep"))
		splat_lockdep();
	else if (!strcmp(what, "sleep"))
		splat_sleep();
	else if (!strcmp(what, "race"))
		return splat_race();
	else
		return -EINVAL;
	return 0;
}

static void __exit splat_exit(void)
{
}

module_init(splat_init);
module_exit(splat_exit);
MODULE_DESCRIPTION("Makes the kernel complain, to test the test runner");
MODULE_LICENSE("GPL");
