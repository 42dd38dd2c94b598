// SPDX-License-Identifier: GPL-2.0
/* Forward rings: each record is read, or is reported as lost. */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include "recorder.h"

static struct tally_event *record(struct tally_builder *b, size_t bytes, const char *what)
{
	tally_builder_period(b, 1);
	tally_builder_sample_type(b, TYPE);
	tally_builder_ring(b, bytes, 0);
	return build(b, what);
}

/* Reads at most @size bytes at a time until there are no records. */
static ssize_t drain(struct tally_event *ev, int cpu, size_t size, struct found *f)
{
	ssize_t n;

	while ((n = tally_ring_read(ev, cpu, buf, size)) > 0)
		walk(f, buf, n, cpu, false);
	return n;
}

/* A ring of a task that has room for all records; the sizes of reads cut records. */
static void test_all(void)
{
	struct found f = { };
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, probe());
	tally_builder_on_pid(&b, 0);
	ev = record(&b, 60000, "a forward ring of a task");
	if (!ev)
		return;
	tap_is(&tap, tally_ring_read(ev, -1, buf, BUF_SIZE), 0, "it is empty");
	call_probed(1000);
	tap_is(&tap, tally_ring_read(ev, -1, buf, sizeof(struct sample) - 1), -EMSGSIZE,
	       "too small for a record");
	tap_is(&tap, tally_ring_read(ev, -1, buf, 0), -EMSGSIZE, "and nothing is");
	tap_is(&tap, tally_ring_read(ev, -1, buf, 5 * sizeof(struct sample) - 1),
	       4 * sizeof(struct sample), "whole records only");
	walk(&f, buf, 4 * sizeof(struct sample), -1, false);
	tap_is(&tap, f.first.tid, current->pid, "of this task");
	tap_is(&tap, drain(ev, -1, 1000, &f), 0, "until it is empty");
	tap_is(&tap, f.samples, 1000, "all were recorded");
	tap_is(&tap, f.wrong + f.others + f.lost_records, 0, "and nothing else");
	tap_is(&tap, lost_of(ev), 0, "none is lost");
	tap_is(&tap, tally_ring_read(ev, raw_smp_processor_id(), buf, BUF_SIZE), -EINVAL,
	       "a task is on no CPU");
	/* More records than the ring has room for. */
	memset(&f, 0, sizeof(f));
	while (f.samples < 20000) {
		call_probed(500);
		drain(ev, -1, BUF_SIZE, &f);
	}
	tap_is(&tap, f.samples, 20000, "20,000 in a ring for 1,600");
	tap_is(&tap, f.wrong + f.others + f.lost_records, 0, "one after the other");
	tally_event_release(ev);
}

static void test_full(void)
{
	struct found f = { }, after = { };
	struct tally_builder b;
	struct tally_event *ev;
	u64 lost;

	tally_builder_init(&b, probe());
	tally_builder_on_pid(&b, 0);
	ev = record(&b, 1, "a ring of one page");
	if (!ev)
		return;
	call_probed(1000);
	lost = lost_of(ev);
	drain(ev, -1, BUF_SIZE, &f);
	tap_ok(&tap, f.samples && f.samples * sizeof(struct sample) < PAGE_SIZE,
	       "it has %llu records", f.samples);
	tap_is(&tap, f.samples + lost, 1000, "all others are lost");
	tap_is(&tap, f.wrong + f.others + f.lost_records, 0, "no record tells of them yet");
	call_probed(1);
	drain(ev, -1, BUF_SIZE, &after);
	tap_is(&tap, after.lost_records, 1, "the next one is behind one that does");
	tap_is(&tap, after.lost, lost, "of all of them");
	tap_is(&tap, after.samples, 1, "and is there");
	tap_is(&tap, lost_of(ev), lost, "nothing is lost twice");
	tally_event_release(ev);
}

static void test_each_cpu(void)
{
	struct found f, all = { };
	struct tally_builder b;
	struct tally_event *ev;
	int cpu, other, err, seen = 0;

	tally_builder_init(&b, probe());
	ev = record(&b, PAGE_SIZE * 4, "rings of all CPUs");
	if (!ev)
		return;
	for_each_online_cpu(cpu) {
		call_probed_on(cpu, 10 + cpu);
		for_each_online_cpu(other) {
			if (other == cpu)
				continue;
			tap_is(&tap, tally_ring_read(ev, other, buf, BUF_SIZE), 0,
			       "nothing is in another one's");
		}
		memset(&f, 0, sizeof(f));
		drain(ev, cpu, BUF_SIZE, &f);
		tap_is(&tap, f.samples, 10 + cpu, "each CPU has its own");
		tap_is(&tap, f.wrong, 0, "which are of it");
	}
	for_each_online_cpu(cpu)
		call_probed_on(cpu, 50);
	/* The buffer is full before all rings are empty; the next read goes on there. */
	for_each_online_cpu(cpu)
		walk(&all, buf, tally_ring_read(ev, -1, buf, 7 * sizeof(struct sample)),
		     -1, false);
	for_each_online_cpu(cpu)
		seen += !!all.time[cpu];
	tap_is(&tap, seen, num_online_cpus(), "no CPU is kept waiting by another one");
	drain(ev, -1, 7 * sizeof(struct sample), &all);
	tap_is(&tap, all.samples, 50 * num_online_cpus(), "all of them in one go");
	tap_is(&tap, all.wrong + all.others + all.lost, 0, "in order");
	tap_is(&tap, tally_ring_read(ev, -2, buf, BUF_SIZE), -EINVAL, "no CPU -2");
	tap_is(&tap, tally_ring_read(ev, nr_cpu_ids, buf, BUF_SIZE), -EINVAL,
	       "nor one too many");

	/* The records of a CPU stay when it goes offline. */
	cpu = cpumask_last(cpu_online_mask);
	call_probed_on(cpu, 7);
	err = cpu ? remove_cpu(cpu) : -ENODEV;
	if (err) {
		tap_skip(&tap, "a CPU goes", "it cannot");
	} else {
		memset(&f, 0, sizeof(f));
		drain(ev, cpu, BUF_SIZE, &f);
		tap_is(&tap, f.samples, 7, "a CPU went: its records are there");
		tap_is(&tap, tally_ring_read(ev, cpu, buf, BUF_SIZE), 0, "and no more");
		tap_is(&tap, add_cpu(cpu), 0, "it comes back");
		/* The event counts on this CPU again some time after it is online. */
		for (err = 0; err < 1000 && !tally_ring_read(ev, cpu, buf, BUF_SIZE); err++) {
			call_probed_on(cpu, 1);
			usleep_range(1000, 2000);
		}
		memset(&f, 0, sizeof(f));
		call_probed_on(cpu, 5);
		drain(ev, cpu, BUF_SIZE, &f);
		tap_is(&tap, f.samples, 5, "and records again");
		tap_is(&tap, f.wrong + f.others, 0, "as before");
	}
	tally_event_release(ev);
}

/* Producers write as fast as they can, to rings that are full at times. */
static void test_producers(size_t bytes)
{
	struct found f = { };
	struct tally_builder b;
	struct tally_event *ev;
	unsigned int waits = 0;

	tally_builder_init(&b, probe());
	ev = record(&b, bytes, "producers on all CPUs");
	if (!ev)
		return;
	if (tap_is(&tap, producers_start(20000), 0, "which run")) {
		while (!producers_are_done()) {
			tally_ring_wait(ev, HZ / 10);
			waits++;
			walk(&f, buf, tally_ring_read(ev, -1, buf, BUF_SIZE), -1, false);
		}
		drain(ev, -1, BUF_SIZE, &f);
		producers_stop();
		tap_line(&tap, "# %zu bytes: %llu seen, %llu lost, of which %llu told, %u waits",
			 bytes, f.samples, lost_of(ev), f.lost, waits);
		tap_is(&tap, overflows_of(ev), 20000 * num_online_cpus(),
		       "each call overflows");
		tap_is(&tap, f.samples + lost_of(ev), overflows_of(ev),
		       "seen and lost are all");
		tap_ok(&tap, f.lost <= lost_of(ev), "what is told is no more than that");
		tap_ok(&tap, f.samples > 0, "some were seen");
		tap_is(&tap, f.wrong + f.others, 0, "whole, and in order");
	}
	tally_event_release(ev);
}

static bool waited;

static int wait_in_thread(void *ev)
{
	int err;

	allow_signal(SIGUSR1);
	err = tally_ring_wait(ev, 60 * HZ);
	WRITE_ONCE(waited, true);
	while (!kthread_should_stop()) {
		flush_signals(current);
		usleep_range(500, 1000);
	}
	return err;
}

/* Returns the result of a waiter that @wake wakes; ETIME if it woke early or never. */
static int woken_by(struct tally_event *ev, void (*wake)(struct task_struct *t))
{
	struct task_struct *t;
	bool early, woken;
	int err, i;

	WRITE_ONCE(waited, false);
	t = kthread_run(wait_in_thread, ev, "tally_waiter");
	if (IS_ERR(t))
		return PTR_ERR(t);
	for (i = 0; i < 3000 && READ_ONCE(t->__state) != TASK_INTERRUPTIBLE; i++)
		msleep(20);
	msleep(100);
	early = READ_ONCE(waited);
	wake(t);
	/* Waits before kthread_stop(), which would wake the waiter, too. */
	for (i = 0; i < 3000 && !READ_ONCE(waited); i++)
		msleep(20);
	woken = READ_ONCE(waited);
	err = kthread_stop(t);
	return early || !woken ? -ETIME : err;
}

static void wake_by_signal(struct task_struct *t)
{
	send_sig(SIGUSR1, t, 1);
}

static void wake_by_record(struct task_struct *t)
{
	call_probed(3);
}

static void test_wait(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .sample_period = 1, .sample_type = TYPE,
		.wakeup_events = 3,
	};
	struct tally_builder b, plain;
	struct tally_event *ev;
	struct found f = { };

	tally_builder_init(&plain, probe());
	attr.type = plain.attr.type;
	attr.config = plain.attr.config;
	attr.config2 = plain.attr.config2;
	tally_builder_init_attr(&b, &attr);
	tally_builder_ring(&b, PAGE_SIZE, 0);
	ev = build(&b, "a ring by an attr that wakes each third");
	if (!ev)
		return;
	tap_is(&tap, tally_ring_wait(ev, 0), -ETIMEDOUT, "nothing yet");
	tap_is(&tap, tally_ring_wait(ev, HZ / 10), -ETIMEDOUT, "nor later");
	tap_is(&tap, woken_by(ev, wake_by_signal), -EINTR, "woken by a signal");
	tap_is(&tap, woken_by(ev, wake_by_record), 0, "woken by the third record");
	tap_is(&tap, tally_ring_wait(ev, 0), 0, "they are still there");
	drain(ev, -1, BUF_SIZE, &f);
	tap_is(&tap, f.samples, 3, "three of them");
	tally_event_release(ev);
}

/* Fields of variable length are at their place in the record. */
static void test_chain(void)
{
	struct tally_builder b;
	struct tally_event *ev;
	u64 *at = buf;

	tally_builder_init(&b, probe());
	tally_builder_on_pid(&b, 0);
	tally_builder_period(&b, 1);
	tally_builder_sample_type(&b, PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN);
	tally_builder_ring(&b, 65536, 0);
	ev = build(&b, "a ring with call chains");
	if (!ev)
		return;
	call_probed(1);
	tap_ok(&tap, tally_ring_read(ev, -1, buf, BUF_SIZE) > 5 * sizeof(u64),
	       "there is one");
	tap_ok(&tap, at[2] >= 2, "of %llu entries", at[2]);
	tap_is(&tap, at[3], PERF_CONTEXT_KERNEL, "of the kernel");
	tap_is(&tap, at[4], at[1], "from the ip on");
	tally_event_release(ev);
}

void test_forward(void)
{
	test_all();
	test_full();
	test_each_cpu();
	test_producers(PAGE_SIZE);
	test_producers(128 * 1024);
	test_wait();
	test_chain();
}
