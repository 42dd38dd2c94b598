// SPDX-License-Identifier: GPL-2.0
/*
 * The number of calls of handlers: periods, tally_event_refresh(), one-shot events and
 * tally_builder_max_rate(). A probe on a function of this module overflows exactly when
 * the test calls the function.
 */
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include "handlers.h"

static struct tally_event *probe_event(struct tally_builder *b, u64 period,
				       struct seen *seen, unsigned int which,
				       const char *what)
{
	struct tally_event *ev;

	tally_builder_init(b, probe());
	tally_builder_period(b, period);
	hand_over(b, which, seen);
	ev = tally_build(b);
	return was_built(ev, b, what) ? ev : NULL;
}

static bool wait_state(struct tally_event *ev, enum tally_state want)
{
	unsigned long end = jiffies + 60 * HZ;

	while (tally_event_state(ev) != want && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return tally_event_state(ev) == want;
}

static void expect_calls(struct seen *seen, int want, const char *what)
{
	tap_is(&tap, atomic_read(&seen->calls[DIRECT]), want, what);
	atomic_set(&seen->calls[DIRECT], 0);
}

static void test_refresh(void)
{
	struct seen *seen = new_seen();
	struct tally_builder b;
	struct tally_event *ev;

	ev = probe_event(&b, 1, seen, BIT(DIRECT), "refresh");
	if (ev) {
		tap_is(&tap, tally_event_refresh(ev, 0), -EINVAL, "not for 0");
		tap_is(&tap, tally_event_refresh(ev, 3), 0, "for 3");
		call_probed(100);
		expect_calls(seen, 3, "3 calls of 100");
		tap_ok(&tap, wait_state(ev, TALLY_STATE_OFF), "then it is off");
		tap_is(&tap, tally_event_refresh(ev, 2), 0, "for 2 more");
		tap_is(&tap, tally_event_refresh(ev, 2), 0, "and 2");
		call_probed(100);
		expect_calls(seen, 4, "4 calls of 100");
		tap_ok(&tap, wait_state(ev, TALLY_STATE_OFF), "then it is off");
		tap_is(&tap, tally_event_enable(ev), 0, "enabled");
		call_probed(100);
		expect_calls(seen, 100, "without a limit");
		tally_event_release(ev);
	}
	kvfree(seen);
}

static void rearm(struct tally_event *ev, struct seen *seen)
{
	seen->act_result = tally_event_rearm(ev, 0);
}

/* Calls the probed function until a handler was called @want times; returns the calls. */
static unsigned int calls_until(struct seen *seen, int which, int want)
{
	unsigned long end = jiffies + 60 * HZ;
	unsigned int n = 0;

	while (atomic_read(&seen->calls[which]) < want &&
	       time_before(jiffies, end)) {
		probed();
		n++;
		/* tally_event_rearm() takes effect some time after its return. */
		if (n % 16 == 0)
			usleep_range(100, 200);
	}
	return n;
}

/* A handler may have armed the event once more: then the next overflow switches it off. */
static bool off_by_calls(struct tally_event *ev)
{
	unsigned long end = jiffies + 60 * HZ;

	while (tally_event_state(ev) != TALLY_STATE_OFF && time_before(jiffies, end)) {
		probed();
		usleep_range(1000, 2000);
	}
	return tally_event_state(ev) == TALLY_STATE_OFF;
}

/* What a handler has read of the leader of its set. */
static struct {
	struct tally_event *leader;
	struct tally_count last;
	atomic_t reads;
	bool fell;
} reader;

/* Reads the leader until that is released, and once more. */
static void read_leader(struct tally_event *ev, struct seen *seen)
{
	unsigned long end = jiffies + 60 * HZ;
	struct tally_count count;

	do {
		tally_event_read(reader.leader, &count);
		reader.fell |= count.value < reader.last.value ||
			       count.enabled_ns < reader.last.enabled_ns ||
			       count.running_ns < reader.last.running_ns ||
			       count.value >> 63 || count.enabled_ns >> 63;
		reader.last = count;
		atomic_inc(&reader.reads);
		usleep_range(1000, 2000);
	} while (count.state == TALLY_STATE_ACTIVE && time_before(jiffies, end));
}

static void test_release_of_leader(void)
{
	struct seen *seen = new_seen();
	struct tally_builder *b = kvcalloc(2, sizeof(*b), GFP_KERNEL);
	struct tally_set *set;

	tally_builder_init(&b[0], TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_init(&b[1], probe());
	tally_builder_period(&b[1], 1);
	hand_over(&b[1], BIT(WORK), seen);
	seen->act = read_leader;
	seen->act_in = WORK;
	set = tally_set_build(b, 2);
	if (!tap_is(&tap, PTR_ERR_OR_ZERO(set), 0, "a set with a handler"))
		goto out;
	reader.leader = tally_set_event(set, 0);
	tally_set_enable(set);
	call_probed(1);
	wait_until(&reader.reads, 1);
	tap_ok(&tap, atomic_read(&reader.reads), "the handler reads the leader");
	tap_is(&tap, tally_set_release(set), 0, "the set is released meanwhile");
	tap_ok(&tap, !reader.fell && reader.last.value,
	       "no count of the leader fell: %llu at last", reader.last.value);
	tap_ok(&tap, reader.last.state != TALLY_STATE_ACTIVE, "it was read until it had gone");
out:
	kvfree(b);
	kvfree(seen);
}

static void test_one_shot(void)
{
	struct seen *seen = new_seen();
	struct tally_builder b;
	struct tally_event *ev;
	int i;

	tally_builder_init(&b, probe());
	tally_builder_period(&b, 5);
	tally_builder_on_pid(&b, 0);
	tally_builder_one_shot(&b);
	hand_over(&b, BIT(DIRECT) | BIT(IRQ) | BIT(WORK), seen);
	ev = tally_build(&b);
	if (!was_built(ev, &b, "one shot"))
		goto out;
	call_probed(4);
	expect_calls(seen, 0, "not before its period");
	call_probed(100);
	expect_calls(seen, 1, "one call");
	tap_ok(&tap, wait_state(ev, TALLY_STATE_OFF), "then it is off");
	for (i = 0; i < 10; i++) {
		tap_is(&tap, tally_event_rearm(ev, i == 5 ? 7 : 0), 0, "rearmed");
		tap_ok(&tap, wait_state(ev, TALLY_STATE_ACTIVE), "it is on again");
		call_probed(i < 5 ? 4 : 6);
		expect_calls(seen, 0, "not before its period");
		call_probed(50);
		expect_calls(seen, 1, "one call for one rearm");
		wait_state(ev, TALLY_STATE_OFF);
	}
	for (i = DIRECT; i <= WORK; i++) {
		seen->act_in = i;
		atomic_set(&seen->calls[DIRECT], 0);
		WRITE_ONCE(seen->act, rearm);
		tally_event_rearm(ev, 3);
		calls_until(seen, DIRECT, 10);
		WRITE_ONCE(seen->act, NULL);
		tap_ok(&tap, atomic_read(&seen->calls[DIRECT]) >= 10,
		       "rearmed by handler %d, again and again", i);
		tap_is(&tap, seen->act_result, 0, "which may");
		tap_ok(&tap, off_by_calls(ev), "and off after the last call");
	}
	tap_is(&tap, tally_event_rearm(ev, 1ULL << 63), -EINVAL, "bit 63");
	tap_is(&tap, tally_event_refresh(ev, 1), -EINVAL, "no refresh");
	tally_event_disable(ev);
	tally_event_enable(ev);
	atomic_set(&seen->calls[DIRECT], 0);
	call_probed(50);
	expect_calls(seen, 1, "enabling arms it");
	tally_event_release(ev);
	expect_clean(seen, "one shot");
out:
	kvfree(seen);
}

static void test_period(void)
{
	static const unsigned int periods[] = { 3, 10, 1, 7, 100 };
	struct seen *seen = new_seen();
	struct tally_builder b;
	struct tally_event *ev;
	unsigned int i;

	ev = probe_event(&b, 10, seen, BIT(DIRECT), "set_period");
	if (!ev)
		goto out;
	call_probed(9);
	expect_calls(seen, 0, "not before the period");
	call_probed(1);
	expect_calls(seen, 1, "with the period");
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		if (i == 2)
			tally_event_disable(ev);
		tap_is(&tap, tally_event_set_period(ev, periods[i]), 0,
		       "another period");
		if (i == 2)
			tally_event_enable(ev);
		call_probed(periods[i] - 1);
		expect_calls(seen, 0, "the next overflow is not before it");
		call_probed(1);
		expect_calls(seen, 1, "but with it");
		call_probed(periods[i] * 5);
		expect_calls(seen, 5, "and so on");
	}
	tap_is(&tap, tally_event_set_period(ev, 0), -EINVAL, "not 0");
	tap_is(&tap, tally_event_set_period(ev, 1ULL << 63), -EINVAL, "bit 63");
	tally_event_release(ev);
out:
	kvfree(seen);
}

static void test_clock_freq(void)
{
	struct seen *seen = new_seen();
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_freq(&b, 100);
	hand_over(&b, BIT(DIRECT), seen);
	ev = tally_build(&b);
	if (was_built(ev, &b, "a clock with a frequency")) {
		/*
		 * A period of 50 ns, which perf takes for 10 us, would make 20,000 calls
		 * on each CPU.
		 */
		tap_is(&tap, tally_event_set_period(ev, 50), 0, "50 Hz");
		atomic_set(&seen->calls[DIRECT], 0);
		msleep(200);
		tap_ok(&tap, atomic_read(&seen->calls[DIRECT]) <
			     1000 * num_online_cpus(), "Hz stay Hz");
		tap_is(&tap, tally_event_set_period(ev, 2000000000), -EINVAL,
		       "above the limit");
		tally_event_release(ev);
	}
	kvfree(seen);
}

static void test_rate(u32 rate)
{
	unsigned long end = jiffies + 60 * HZ;
	struct tally_overflow_stats stats;
	struct seen *seen = new_seen();
	bool was_throttled = false;
	struct tally_builder b;
	struct tally_event *ev;
	u64 called = 0;

	tally_builder_init(&b, probe());
	tally_builder_period(&b, 1);
	tally_builder_max_rate(&b, rate);
	hand_over(&b, BIT(DIRECT), seen);
	ev = tally_build(&b);
	if (!was_built(ev, &b, "max_rate"))
		goto out;
	do {
		call_probed(1000);
		called += 1000;
		was_throttled |= tally_event_state(ev) == TALLY_STATE_THROTTLED;
		tally_event_overflow_stats(ev, &stats);
	} while (time_before(jiffies, end) &&
		 !(was_throttled && stats.overflows < called));
	tap_ok(&tap, stats.throttled > 0, "%u a second: throttled %llu times",
	       rate, stats.throttled);
	tap_ok(&tap, was_throttled, "which was seen in its state");
	tap_ok(&tap, stats.overflows < called, "%llu overflows of %llu calls",
	       stats.overflows, called);
	tap_is(&tap, atomic_read(&seen->calls[DIRECT]),
	       stats.overflows - stats.skipped, "all told");
	tap_ok(&tap, wait_state(ev, TALLY_STATE_ACTIVE), "it is active again");
	tally_event_release(ev);
out:
	kvfree(seen);
}

/*
 * An event that is disabled while throttled, and then enabled, overflows again:
 * tally_overflow_cpu::paused must not stay set.
 */
static void test_rate_off_on(void)
{
	struct seen *seen = new_seen();
	struct tally_builder b;
	struct tally_event *ev;
	int i, before;

	tally_builder_init(&b, probe());
	tally_builder_period(&b, 1);
	tally_builder_max_rate(&b, 2000);
	hand_over(&b, BIT(DIRECT), seen);
	ev = tally_build(&b);
	if (was_built(ev, &b, "max_rate, off and on")) {
		for (i = 0; i < 50; i++) {
			call_probed(200);
			tally_event_disable(ev);
			tally_event_enable(ev);
		}
		msleep(100);
		before = atomic_read(&seen->calls[DIRECT]);
		call_probed(10);
		tap_is(&tap, atomic_read(&seen->calls[DIRECT]) - before, 10,
		       "it comes back");
		tally_event_release(ev);
	}
	kvfree(seen);
}

static void expect_watched(struct tally_event *ev, struct seen *seen,
			   unsigned long *watched, const char *what)
{
	unsigned long *words[] = { &word, &other_word };
	struct tally_count before, after;
	int i, k;

	for (i = 0; i < 2; i++) {
		tally_event_read(ev, &before);
		/* On arm64 an interrupt can make a write hit the breakpoint twice. */
		local_irq_disable();
		for (k = 0; k < 10; k++)
			WRITE_ONCE(*words[i], k);
		local_irq_enable();
		tally_event_read(ev, &after);
		tap_is(&tap, after.value - before.value,
		       words[i] == watched ? 10 : 0, what);
		if (seen)
			expect_calls(seen, words[i] == watched ? 10 : 0, what);
	}
}

static void test_modify(struct seen *seen)
{
	unsigned long addr = (unsigned long)&other_word;
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, TALLY_BREAKPOINT(&word, sizeof(word),
						HW_BREAKPOINT_W));
	tally_builder_disabled(&b);
	if (seen) {
		tally_builder_period(&b, 1);
		hand_over(&b, BIT(DIRECT), seen);
	}
	ev = tally_build(&b);
	if (!was_built(ev, &b, "a breakpoint"))
		return;
	tally_event_enable(ev);
	expect_watched(ev, seen, &word, "as it was built");
	tap_is(&tap, tally_event_modify(ev, addr, 8, HW_BREAKPOINT_W), 0,
	       "another word, while enabled");
	expect_watched(ev, seen, &other_word, "it counts on");
	tap_is(&tap, tally_event_modify(ev, addr, 9, HW_BREAKPOINT_W), -EINVAL,
	       "not 9 bytes");
	tap_is(&tap, tally_event_modify(ev, addr + 1, 8, HW_BREAKPOINT_W),
	       -EINVAL, "not beside");
	tap_is(&tap, tally_event_modify(ev, addr, 8, 99), -EINVAL, "not 99");
	/* perf refuses this length on x86; arm64 has it. */
	if (IS_ENABLED(CONFIG_X86))
		tap_is(&tap, tally_event_modify(ev, addr, 3, HW_BREAKPOINT_W),
		       -EINVAL, "not 3 bytes");
	expect_watched(ev, seen, &other_word, "nothing has changed");
	tally_event_disable(ev);
	tap_is(&tap, tally_event_modify(ev, (unsigned long)&word, 8,
					HW_BREAKPOINT_W), 0, "while disabled");
	expect_watched(ev, seen, NULL, "stays off");
	tally_event_enable(ev);
	expect_watched(ev, seen, &word, "on again");
	tally_event_release(ev);
}

static void nothing(struct irq_work *work)
{
}

static void no_work(struct work_struct *work)
{
}

static struct irq_work spark = IRQ_WORK_INIT_HARD(nothing);
static DECLARE_WORK(spark_work, no_work);

static void allocate(struct tally_event *ev, struct seen *seen)
{
	kfree(kmalloc(16, GFP_KERNEL));
}

static void probe_again(struct tally_event *ev, struct seen *seen)
{
	call_probed(1);
}

/*
 * Events that their own handlers cause. The test passes if it comes to an end: a CPU that
 * is interrupted for ever does not.
 */
static void test_feed(const char *line, int half,
		      void (*feed)(struct tally_event *ev, struct seen *seen))
{
	struct seen *seen = new_seen();
	struct tally_overflow_stats stats;
	struct tally_builder b;
	struct tally_event *ev;
	int i;

	if (tally_builder_parse(&b, line) == -ENOENT) {
		tap_skip(&tap, line, "no such tracepoint here");
		goto out;
	}
	seen->act = feed;
	seen->act_in = half;
	hand_over(&b, BIT(half), seen);
	ev = tally_build(&b);
	if (!was_built(ev, &b, line))
		goto out;
	/* These cause the first overflow. */
	for (i = 0; i < 25; i++) {
		allocate(ev, seen);
		call_probed(1);
		irq_work_queue(&spark);
		schedule_work(&spark_work);
		msleep(20);
	}
	tally_event_overflow_stats(ev, &stats);
	tap_ok(&tap, stats.overflows > 0, "%s: %llu overflows, %llu missed",
	       line, stats.overflows, stats.missed);
	tap_is(&tap, tally_event_release(ev), 0, "it comes to an end");
	irq_work_sync(&spark);
	flush_work(&spark_work);
out:
	kvfree(seen);
}

static void release_it(struct tally_event *ev, struct seen *seen)
{
	seen->act_result = tally_event_release(ev);
}

static void test_release_inside(void)
{
	struct seen *seen = new_seen();
	struct tally_builder b;
	struct tally_event *ev;
	int i;

	ev = probe_event(&b, 1, seen, BIT(DIRECT) | BIT(IRQ) | BIT(WORK),
			 "released by its handlers");
	if (ev) {
		for (i = DIRECT; i <= WORK; i++) {
			seen->act_in = i;
			seen->act_result = 1;
			WRITE_ONCE(seen->act, release_it);
			atomic_set(&seen->calls[i], 0);
			probed();
			wait_until(&seen->calls[i], 1);
			msleep(20);
			WRITE_ONCE(seen->act, NULL);
			tap_is(&tap, seen->act_result, -EDEADLK, "refused");
		}
		atomic_set(&seen->calls[DIRECT], 0);
		probed();
		expect_calls(seen, 1, "it goes on");
		tap_is(&tap, tally_event_release(ev), 0, "released outside");
	}
	kvfree(seen);
}

void test_limits(void)
{
	struct seen *seen = new_seen();

	test_refresh();
	test_one_shot();
	test_period();
	test_clock_freq();
	test_rate(2000);
	test_rate(100);
	test_rate_off_on();
	test_modify(NULL);
	if (IS_ENABLED(CONFIG_X86))
		test_modify(seen);
	test_feed("irq_vectors:irq_work_entry period=1", IRQ, NULL);
	test_feed("kprobe:probed period=1", IRQ, probe_again);
	test_feed("kmem:kmalloc period=1", WORK, allocate);
	test_feed("sched:sched_waking period=1", WORK, NULL);
	test_feed("workqueue:workqueue_queue_work period=1", WORK, NULL);
	test_release_inside();
	test_release_of_leader();
	kvfree(seen);
}
