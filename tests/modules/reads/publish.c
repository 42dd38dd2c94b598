// SPDX-License-Identifier: GPL-2.0
/* Published counts: they are whole, never fall, and have the right age. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/hw_breakpoint.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "reads.h"

#define SHORTEST 10000

static struct tally_event *event;
static struct tally_set *set;
static unsigned long nmi_word;

/*
 * The timers of the publisher run in softirqs. Linux 6.1 leaves softirqs to ksoftirqd once
 * that is awake, so a loop on its CPU has to let it run.
 */
static bool is_published(int cpu, u64 most_ns)
{
	unsigned long end = jiffies + 10 * HZ;
	struct tally_count count;
	u64 age;

	while (time_before(jiffies, end)) {
		/* A clock that advances by ticks stays at 0 until the first one. */
		if (!tally_event_published(event, cpu, &count, &age) &&
		    count.value && age <= most_ns)
			return true;
		mdelay(1);
		cond_resched();
	}
	return false;
}

/* A timer that still published would have to be late by 100 ms. */
static bool is_left_alone(int cpu, struct tally_count *count)
{
	unsigned long end = jiffies + 10 * HZ;
	u64 age = 0;

	while (age < 100000000 && time_before(jiffies, end)) {
		msleep(20);
		if (tally_event_published(event, cpu, count, &age))
			return false;
	}
	return age >= 100000000;
}

static void test_one(int target)
{
	int cpu = target == ON_ALL ? 0 : -1;
	struct tally_count count, now;
	struct tally_builder b;
	u64 age = 0, value = 0;
	unsigned long end;
	int err, other;

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	on_target(&b, target);
	event = build(&b, target_name(target));
	if (!event)
		return;
	tap_is(&tap, tally_event_published(event, cpu, &count, &age), -ENODATA,
	       "nothing is published");
	tap_is(&tap, tally_event_publish(event, SHORTEST - 1), -ERANGE,
	       "not that often");
	tap_is(&tap, tally_event_publish(event, U64_MAX), -ERANGE,
	       "nor that seldom");
	tap_is(&tap, tally_event_publish(event, 1000000), 0, "every ms");
	tap_is(&tap, tally_event_publish(event, 1000000), -EBUSY, "not twice");
	tap_ok(&tap, is_published(cpu, 100000000), "it is published");
	err = tally_event_published(event, cpu, &count, &age);
	preempt_disable();
	tally_event_read_local(event, &value);
	preempt_enable();
	tap_ok(&tap, !err && count.value && count.value <= value &&
	       count.state == TALLY_STATE_ACTIVE && count.running_ns &&
	       count.running_ns <= count.enabled_ns,
	       "the right value: %llu before %llu", count.value, value);
	now = count;
	for (end = jiffies + 2 * HZ; time_before(jiffies, end);) {
		tally_event_published(event, cpu, &now, &age);
		if (now.value > count.value)
			break;
		cond_resched();
	}
	tap_ok(&tap, now.value > count.value, "which grows");
	for_each_online_cpu(other)
		if (target == ON_ALL && other)
			tap_ok(&tap, is_published(other, 1000000000), "on CPU %d as well", other);
	tap_is(&tap, tally_event_published(event, nr_cpu_ids, &count, &age),
	       -EINVAL, "not of a CPU that does not exist");
	if (target == ON_CPU)
		tap_is(&tap, tally_event_published(event, 1, &count, &age),
		       -EINVAL, "nor of another one");
	tally_event_disable(event);
	tally_event_published(event, cpu, &count, &age);
	tap_ok(&tap, is_left_alone(cpu, &now) && now.value == count.value,
	       "disabled, its age grows and its value stays");
	tally_event_enable(event);
	tap_ok(&tap, is_published(cpu, 5000000), "enabled, it is published again");
	tap_is(&tap, tally_event_publish(event, 0), 0, "it ends");
	tap_is(&tap, tally_event_published(event, cpu, &count, &age), -ENODATA,
	       "and nothing is published");
	tap_is(&tap, tally_event_publish(event, 0), 0, "once is enough");
	tap_is(&tap, tally_event_publish(event, SHORTEST), 0, "it begins again");
	tap_is(&tap, tally_event_release(event), 0, "and ends with the event");
}

/* ---- published by overflows ---- */

static void no_more(struct tally_event *ev, const struct tally_sample *sample,
		    void *context)
{
}

static void test_overflow(void)
{
	struct tally_count count;
	struct tally_builder b;
	u64 age;

	tally_builder_init(&b, TALLY_KPROBE(step_point()));
	tally_builder_on_cpu(&b, 0);
	tally_builder_period(&b, 10);
	tally_builder_on_overflow(&b, no_more, NULL);
	event = build(&b, "every tenth step");
	if (!event)
		return;
	tap_is(&tap, tally_event_publish(event, 3600 * NSEC_PER_SEC), 0,
	       "is published by its overflows");
	steps(35);
	tap_is(&tap, tally_event_published(event, -1, &count, &age), 0,
	       "it can be read");
	tap_is(&tap, count.value, 30, "as of the last of them");
	tally_event_release(event);
}

/* ---- a reader and a writer ---- */

struct reader {
	struct task_struct *task;
	unsigned long reads;
	unsigned long torn;
	unsigned long back;
	unsigned long failed;
	unsigned long changed;
	u64 oldest;
	bool done;
};

/* Whether all members were counting; a member that was not has its counts from before. */
static bool all_active(const struct tally_count *counts)
{
	return counts[0].state == TALLY_STATE_ACTIVE &&
	       counts[1].state == TALLY_STATE_ACTIVE &&
	       counts[2].state == TALLY_STATE_ACTIVE;
}

/* Reads a published set of three members, of which the first two count the same. */
static int read_on(void *arg)
{
	struct tally_count counts[3], last[3] = { };
	struct reader *r = arg;
	unsigned long i;
	u64 age;
	int m;

	for (i = 0; i < r->reads; i++) {
		if (tally_set_published(set, -1, counts, &age)) {
			r->failed++;
			continue;
		}
		if (counts[0].value != counts[1].value ||
		    (all_active(counts) &&
		     counts[0].enabled_ns != counts[2].enabled_ns))
			r->torn++;
		for (m = 0; m < 3; m++)
			if (counts[m].value < last[m].value ||
			    counts[m].enabled_ns < last[m].enabled_ns)
				r->back++;
		r->changed += memcmp(counts, last, sizeof(last)) != 0;
		r->oldest = max(r->oldest, age);
		memcpy(last, counts, sizeof(last));
		if (!(i % 10000))
			cond_resched_tasks_rcu_qs();
	}
	smp_store_release(&r->done, true); /* after the results */
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static void nmi_reads(struct tally_event *ev, const struct tally_sample *sample,
		      void *context)
{
	struct tally_count counts[3];
	u64 age;

	if (tally_set_published(set, -1, counts, &age) ||
	    counts[0].value != counts[1].value)
		(*(unsigned long *)context)++;
}

static void test_race(unsigned long reads)
{
	static struct tally_count counts[3];
	struct tally_event *nmi = NULL;
	unsigned long wrong = 0;
	struct tally_builder *b;
	struct reader r = { .reads = reads };
	u64 age;
	int i;

	b = kvcalloc(4, sizeof(*b), GFP_KERNEL);
	if (!b)
		return;
	for (i = 0; i < 2; i++)
		tally_builder_init(&b[i], TALLY_KPROBE(step_point()));
	tally_builder_init(&b[2], TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_period(&b[2], 50000);
	tally_builder_max_rate(&b[2], TALLY_RATE_UNLIMITED);
	tally_builder_on_overflow(&b[2], no_more, NULL);
	for (i = 0; i < 3; i++)
		tally_builder_on_cpu(&b[i], 0);
	set = tally_set_build(b, 3);
	if (!tap_ok(&tap, !IS_ERR(set), "a set to be published"))
		goto free;
	tap_is(&tap, tally_set_publish(set, SHORTEST), 0, "as often as can be");
	tap_is(&tap, tally_event_publish(tally_set_event(set, 1), SHORTEST),
	       -EBUSY, "a member is not, by itself");
	if (IS_ENABLED(CONFIG_X86)) {
		tally_builder_init(&b[3], TALLY_BREAKPOINT(&nmi_word,
							   sizeof(nmi_word),
							   HW_BREAKPOINT_W));
		tally_builder_on_cpu(&b[3], 0);
		tally_builder_period(&b[3], 1);
		tally_builder_on_overflow(&b[3], nmi_reads, &wrong);
		nmi = build(&b[3], "a reader in NMI");
	}
	r.task = kthread_create(read_on, &r, "tally_reader");
	if (!tap_ok(&tap, !IS_ERR(r.task), "a reader"))
		goto release;
	kthread_bind(r.task, num_online_cpus() > 1 ? 1 : 0);
	wake_up_process(r.task);
	/* Makes steps, and NMIs at any instruction, until the reader has ended. */
	while (!smp_load_acquire(&r.done)) {
		steps(20);
		WRITE_ONCE(nmi_word, nmi_word + 1);
		cond_resched();
	}
	kthread_stop(r.task);
	tap_is(&tap, r.torn, 0, "none of what it read was torn");
	tap_is(&tap, r.back, 0, "none went back");
	tap_is(&tap, r.failed, 0, "and none failed");
	tap_ok(&tap, r.changed > 10, "%lu reads of %lu counts, at most %llu ns old",
	       reads, r.changed, r.oldest);
	tap_is(&tap, wrong, 0, "nor in NMI");
	tap_is(&tap, tally_set_published(set, -1, counts, &age), 0,
	       "they are still published");
release:
	if (nmi)
		tally_event_release(nmi);
	tap_is(&tap, tally_set_release(set), 0, "and end with the set");
free:
	kvfree(b);
}

void test_publish(unsigned long reads)
{
	struct tally_builder b;
	int target;

	for (target = 0; target < NR_TARGETS; target++)
		test_one(target);
	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_on_task(&b, current);
	tally_builder_inherit(&b);
	event = build(&b, "an inherited event");
	if (event) {
		tap_is(&tap, tally_event_publish(event, SHORTEST), -EOPNOTSUPP,
		       "is not published");
		tally_event_release(event);
	}
	test_overflow();
	test_race(reads);
}
