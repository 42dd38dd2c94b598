// SPDX-License-Identifier: GPL-2.0
/* Events on one CPU, all CPUs, a task, and a task on one CPU count only there. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include "consumer.h"

/* Another thread, which calls bump() 40 times for each @go. */
struct helper {
	struct task_struct *task;
	struct completion go;
	struct completion done;
	unsigned long busy;	/* in jiffies, after the calls */
	bool end;
};

static int helper_run(void *data)
{
	struct helper *h = data;

	for (;;) {
		wait_for_completion(&h->go);
		if (h->end)
			return 0;
		bumps(40);
		be_busy(h->busy);
		complete(&h->done);
	}
}

static bool helper_start(struct helper *h, int cpu)
{
	init_completion(&h->go);
	init_completion(&h->done);
	h->busy = 0;
	h->end = false;
	h->task = kthread_create(helper_run, h, "tally_helper");
	if (!tap_ok(&tap, !IS_ERR(h->task), "a thread to count"))
		return false;
	kthread_bind(h->task, cpu);
	get_task_struct(h->task);
	wake_up_process(h->task);
	return true;
}

static void helper_bump(struct helper *h)
{
	complete(&h->go);
	wait_for_completion(&h->done);
}

static struct tally_event *probe(struct task_struct *task, int cpu,
				 const char *what)
{
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, TALLY_KPROBE(bump));
	if (task)
		tally_builder_on_task(&b, task);
	if (cpu >= 0)
		tally_builder_on_cpu(&b, cpu);
	ev = tally_build(&b);
	if (ev == ERR_PTR(-ENOENT)) {
		tap_skip(&tap, what, "this kernel has no kprobe PMU");
		return NULL;
	}
	if (bump_is_refused(ev)) {
		tap_skip(&tap, what, "this kernel has no kprobe at a function's entry");
		return NULL;
	}
	if (!tap_ok(&tap, !IS_ERR(ev), "%s: is built", what))
		tap_line(&tap, "# %ld: %s", PTR_ERR(ev), tally_builder_why(&b));
	return ev;
}

static void all_cpus(struct helper *h)
{
	struct tally_event *ev = probe(NULL, -1, "all cpus");
	struct tally_count count;
	u64 sum = 0;
	int cpu;

	if (IS_ERR_OR_NULL(ev))
		return;
	bumps(5);
	helper_bump(h);
	expect_value(ev, 45, "5 here and 40 elsewhere");
	for_each_possible_cpu(cpu)
		if (!tally_event_read_cpu(ev, cpu, &count))
			sum += count.value;
	tap_is(&tap, sum, 45, "the CPUs add up");
	tally_event_release(ev);
}

static void one_cpu(struct helper *h, int own, int other)
{
	struct tally_event *mine = probe(NULL, own, "one cpu");
	struct tally_event *theirs = probe(NULL, other, "another cpu");
	struct tally_count count;

	if (IS_ERR_OR_NULL(mine) || IS_ERR_OR_NULL(theirs))
		goto out;
	bumps(6);
	helper_bump(h);
	expect_value(mine, own == other ? 46 : 6, "what ran on this cpu");
	expect_value(theirs, own == other ? 46 : 40, "what ran on that cpu");
	if (own != other)
		tap_is(&tap, tally_event_read_cpu(mine, other, &count), -EINVAL,
		       "read_cpu of a cpu that it is not on");
out:
	tally_event_release(mine);
	tally_event_release(theirs);
}

static void one_task(struct helper *h, int own, int other)
{
	struct tally_event *task = probe(h->task, -1, "a task");
	struct tally_event *here = probe(h->task, other, "a task on its cpu");
	struct tally_event *there = probe(h->task, own, "a task on a cpu");

	if (IS_ERR_OR_NULL(task) || IS_ERR_OR_NULL(here) ||
	    IS_ERR_OR_NULL(there))
		goto out;
	bumps(7);
	helper_bump(h);
	expect_value(task, 40, "what the task did");
	expect_value(here, 40, "what the task did there");
	if (own != other)
		expect_value(there, 0, "what the task did elsewhere");
out:
	tally_event_release(task);
	tally_event_release(here);
	tally_event_release(there);
}

/* Returns after 20 s if the event does not have the state by then. */
static void wait_for_state(struct tally_event *ev, enum tally_state state)
{
	unsigned int tries = 0;

	while (tally_event_state(ev) != state && tries++ < 1000)
		msleep(20);
}

static void task_clock(struct helper *h)
{
	struct tally_builder b;
	struct tally_event *ev;
	struct tally_count count, later;
	unsigned int tries = 0;

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_TASK_CLOCK));
	tally_builder_on_task(&b, h->task);
	ev = build_ok(&b, "a task's clock");
	if (IS_ERR(ev))
		return;
	h->busy = 3;
	helper_bump(h);
	h->busy = 0;
	/*
	 * The helper sleeps some time after it completed @done. If another task preempts
	 * it before, the event is inactive, too, and the clock goes on afterwards.
	 */
	do {
		wait_for_state(ev, TALLY_STATE_INACTIVE);
		tally_event_read(ev, &count);
		msleep(20);
		tally_event_read(ev, &later);
	} while (later.value != count.value && tries++ < 1000);
	tap_is(&tap, count.state, TALLY_STATE_INACTIVE, "the task sleeps");
	tap_ok(&tap, count.value && count.running_ns, "it ran for %llu ns",
	       count.value);
	tap_is(&tap, later.value, count.value, "asleep, its clock stands");
	tally_event_release(ev);
}

/* The last count can be read after the task has exited. */
static void task_exits(struct helper *h)
{
	struct tally_event *ev;
	struct tally_builder b;
	struct tally_count count;
	unsigned int tries = 0;

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CONTEXT_SWITCHES));
	tally_builder_on_task(&b, h->task);
	ev = build_ok(&b, "a task that exits");
	helper_bump(h);
	/* The helper sleeps, which is a switch, some time after it completed @done. */
	while (!IS_ERR(ev) && !tally_event_read(ev, &count) && !count.value &&
	       tries++ < 1000)
		msleep(20);
	h->end = true;
	complete(&h->go);
	kthread_stop(h->task);
	if (IS_ERR(ev))
		return;
	wait_for_state(ev, TALLY_STATE_EXITED);
	tap_is(&tap, tally_event_read(ev, &count), 0, "its count is there");
	tap_is(&tap, count.state, TALLY_STATE_EXITED, "state exited");
	tap_ok(&tap, count.value, "it had switched %llu times", count.value);
	tap_is(&tap, tally_event_enable(ev), -ESRCH, "enable says ESRCH");
	tap_ok(&tap, tally_build(&b) == ERR_PTR(-ESRCH), "so does building");
	tally_event_release(ev);
}

void test_targets(void)
{
	cpumask_t *before = kmalloc(sizeof(*before), GFP_KERNEL);
	int own = cpumask_first(cpu_online_mask);
	int other = cpumask_last(cpu_online_mask);
	struct helper h;

	if (!before) {
		tap_ok(&tap, false, "memory");
		return;
	}
	*before = current->cpus_mask;
	set_cpus_allowed_ptr(current, cpumask_of(own));
	if (helper_start(&h, other)) {
		all_cpus(&h);
		one_cpu(&h, own, other);
		one_task(&h, own, other);
		task_clock(&h);
		task_exits(&h);
		put_task_struct(h.task);
	}
	set_cpus_allowed_ptr(current, before);
	kfree(before);
}
