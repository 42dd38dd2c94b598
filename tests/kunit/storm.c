// SPDX-License-Identifier: GPL-2.0
/* Threads and timers of the tests of races. */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include "compat.h"
#include "storm.h"

#define INTERVAL_NS	(200 * NSEC_PER_USEC)
#define LONGEST		(20 * HZ)

static enum hrtimer_restart timer_writes(struct hrtimer *timer)
{
	struct storm_timer *t = container_of(timer, struct storm_timer, timer);

	if (READ_ONCE(t->storm->inside))
		t->storm->nested++;
	t->storm->write(t->storm, t->writer);
	hrtimer_forward_now(timer, ns_to_ktime(INTERVAL_NS));
	return HRTIMER_RESTART;
}

static int reader(void *data)
{
	struct storm *storm = data;
	bool stop;

	do {
		/* Read @stop before the last look. */
		stop = smp_load_acquire(&storm->stop);
		storm->read(storm);
		cond_resched();
	} while (!stop);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

/* Called in process context, on the CPU of the timers. */
static void write_and_be_interrupted(struct storm *storm)
{
	unsigned long end = jiffies + LONGEST;
	unsigned int i;

	while (storm->nested < STORM_NESTED && time_before(jiffies, end)) {
		preempt_disable();
		for (i = 0; i < 100; i++) {
			WRITE_ONCE(storm->inside, true);
			barrier();
			storm->write(storm, 0);
			barrier();
			WRITE_ONCE(storm->inside, false);
		}
		preempt_enable();
		cond_resched();
	}
}

static int writer(void *data)
{
	struct storm *storm = data;
	int i;

	for (i = 0; i < STORM_TIMERS; i++)
		hrtimer_start(&storm->timers[i].timer, ns_to_ktime(INTERVAL_NS),
			      HRTIMER_MODE_REL_PINNED_HARD);
	write_and_be_interrupted(storm);
	for (i = 0; i < STORM_TIMERS; i++)
		hrtimer_cancel(&storm->timers[i].timer);
	if (storm->end)
		storm->end(storm);
	/* A reader that has seen @stop finds all at its last look. */
	smp_store_release(&storm->stop, true);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static void prepare_timers(struct storm *storm)
{
	int i;

	for (i = 0; i < STORM_TIMERS; i++) {
		storm->timers[i].storm = storm;
		storm->timers[i].writer = i + 1;
		tally_hrtimer_setup(&storm->timers[i].timer, timer_writes, CLOCK_MONOTONIC,
				    HRTIMER_MODE_REL_PINNED_HARD);
	}
}

/**
 * storm_run - run a storm until its thread was interrupted often enough
 * @test: the test
 * @storm: the storm, with its three functions
 *
 * Context: Process context, may sleep. On return, nothing of the storm runs any more.
 */
void storm_run(struct kunit *test, struct storm *storm)
{
	int cpu = cpumask_first(cpu_online_mask);
	struct task_struct *reads, *writes;
	unsigned long end;

	prepare_timers(storm);
	reads = kthread_create(reader, storm, "tally_reader");
	KUNIT_ASSERT_FALSE(test, IS_ERR(reads));
	writes = kthread_create(writer, storm, "tally_writer");
	if (IS_ERR(writes)) {
		kthread_stop(reads);
		KUNIT_FAIL(test, "no thread: %ld", PTR_ERR(writes));
		return;
	}
	kthread_bind(writes, cpu);
	/* The reader is on another CPU, if there is one. */
	kthread_bind(reads, cpumask_last(cpu_online_mask));
	wake_up_process(reads);
	wake_up_process(writes);
	end = jiffies + 2 * LONGEST;
	while (!READ_ONCE(storm->stop) && time_before(jiffies, end))
		msleep(20);
	kthread_stop(writes);
	kthread_stop(reads);
	KUNIT_EXPECT_GE(test, storm->nested, STORM_NESTED);
}
