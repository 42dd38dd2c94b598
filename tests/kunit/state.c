// SPDX-License-Identifier: GPL-2.0
/* Tests of the states of an event from its creation to its end, with real counts. */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include "compat.h"
#include "event/event.h"
#include "set/read.h"

#define NR_STATES 8

/* The states from the best to the worst, written independently of the module's table. */
static const enum tally_state by_rank[NR_STATES] = {
	TALLY_STATE_OFFLINE, TALLY_STATE_EXITED, TALLY_STATE_OFF,
	TALLY_STATE_INACTIVE, TALLY_STATE_ACTIVE, TALLY_STATE_THROTTLED,
	TALLY_STATE_SILENT, TALLY_STATE_ERROR,
};

static void state_worse(struct kunit *test)
{
	enum tally_state worse;
	int a, b;

	for (a = 0; a < NR_STATES; a++) {
		for (b = 0; b < NR_STATES; b++) {
			worse = tally_state_worse(by_rank[a], by_rank[b]);
			KUNIT_EXPECT_EQ_MSG(test, worse, by_rank[max(a, b)],
					    "%s and %s",
					    tally_state_name(by_rank[a]),
					    tally_state_name(by_rank[b]));
		}
	}
}

static void state_names(struct kunit *test)
{
	/* 7 is the state of an event that was released, which only files have. */
	static const char *const words[] = {
		"off", "inactive", "active", "error", "offline", "exited",
		"throttled", "unknown", "silent"
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		KUNIT_EXPECT_STREQ(test, tally_state_name(i), words[i]);
	KUNIT_EXPECT_STREQ(test, tally_state_name(ARRAY_SIZE(words)), "unknown");
	KUNIT_EXPECT_STREQ(test, tally_state_name(-1), "unknown");
	KUNIT_EXPECT_STREQ(test, tally_state_name(INT_MAX), "unknown");
}

/* The second period has to be over, and 256 counts more; for a frequency the tenth one. */
static void state_silent(struct kunit *test)
{
	static const struct {
		u64 counted;
		u64 period;
		bool freq;
		bool passed;
	} cases[] = {
		{ 0, 1, false, false }, { 257, 1, false, false }, { 258, 1, false, true },
		{ 2255, 1000, false, false }, { 2256, 1000, false, true },
		{ 10255, 1000, true, false }, { 10256, 1000, true, true },
		{ U64_MAX, S64_MAX, false, false }, { U64_MAX, S64_MAX - 200, false, true },
		{ U64_MAX, U64_MAX / 10, true, false }, { 0, U64_MAX, true, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, cases[i].passed,
				    tally_silent_passed(cases[i].counted, cases[i].period,
							cases[i].freq),
				    "case %zu", i);
}

/* A kernel probe on this function counts its calls one by one. */
static noinline void bump(void)
{
	asm volatile("");
}

static void bumps(unsigned int n)
{
	while (n--)
		bump();
}

static void build_bumps(struct kunit *test, struct tally_event **ev,
			bool disabled)
{
	struct tally_builder b;

	tally_builder_init(&b, TALLY_KPROBE(bump));
	if (disabled)
		tally_builder_disabled(&b);
	*ev = tally_build(&b);
	if (*ev == ERR_PTR(-ENOENT))
		kunit_skip(test, "no kprobe PMU in this kernel");
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(*ev), "%s", tally_builder_why(&b));
}

static void expect_count(struct kunit *test, struct tally_event *ev, u64 value,
			 enum tally_state state)
{
	struct tally_count count;

	KUNIT_EXPECT_EQ(test, tally_event_read(ev, &count), 0);
	KUNIT_EXPECT_EQ(test, count.value, value);
	KUNIT_EXPECT_EQ(test, count.state, state);
	KUNIT_EXPECT_EQ(test, tally_event_state(ev), state);
}

static void expect_same(struct kunit *test, const struct tally_count *a,
			const struct tally_count *b)
{
	KUNIT_EXPECT_EQ(test, a->value, b->value);
	KUNIT_EXPECT_EQ(test, a->enabled_ns, b->enabled_ns);
	KUNIT_EXPECT_EQ(test, a->running_ns, b->running_ns);
}

static void state_life(struct kunit *test)
{
	struct tally_count first, second;
	struct tally_event *ev;

	build_bumps(test, &ev, true);
	bumps(3);
	expect_count(test, ev, 0, TALLY_STATE_OFF);
	KUNIT_EXPECT_EQ(test, tally_event_enable(ev), 0);
	bumps(5);
	expect_count(test, ev, 5, TALLY_STATE_ACTIVE);
	KUNIT_EXPECT_EQ(test, tally_event_enable(ev), 0);
	bumps(2);
	expect_count(test, ev, 7, TALLY_STATE_ACTIVE);
	/* Sleep longer than a tick: without a TSC, perf's clock advances at ticks. */
	msleep(20);

	tally_event_disable(ev);
	bumps(1);
	expect_count(test, ev, 7, TALLY_STATE_OFF);
	tally_event_read(ev, &first);
	msleep(20);
	tally_event_disable(ev);
	tally_event_read(ev, &second);
	expect_same(test, &first, &second);
	/* D.1 #13: a read returns the times, too. */
	KUNIT_EXPECT_GT(test, first.enabled_ns, 0ULL);
	KUNIT_EXPECT_GT(test, first.running_ns, 0ULL);
	KUNIT_EXPECT_EQ(test, tally_count_scaled(&first), 7ULL);

	tally_event_reset(ev);
	tally_event_read(ev, &second);
	first.value = 0;
	expect_same(test, &first, &second);

	KUNIT_EXPECT_EQ(test, tally_event_enable(ev), 0);
	bumps(4);
	expect_count(test, ev, 4, TALLY_STATE_ACTIVE);
	tally_event_reset(ev);
	bumps(1);
	expect_count(test, ev, 1, TALLY_STATE_ACTIVE);
	msleep(20);
	tally_event_read(ev, &second);
	KUNIT_EXPECT_GT(test, second.enabled_ns, first.enabled_ns);
	KUNIT_EXPECT_GT(test, second.running_ns, first.running_ns);
	tally_event_release(ev);
}

static void state_enabled_at_once(struct kunit *test)
{
	struct tally_event *ev;

	build_bumps(test, &ev, false);
	bumps(9);
	expect_count(test, ev, 9, TALLY_STATE_ACTIVE);
	tally_event_release(ev);
}

/* Two events that count the same share one counter, but no count and no state. */
static void state_shared(struct kunit *test)
{
	struct tally_event *one, *two, *late;

	build_bumps(test, &one, false);
	build_bumps(test, &two, false);
	bumps(3);
	tally_event_reset(one);
	bumps(2);
	expect_count(test, one, 2, TALLY_STATE_ACTIVE);
	expect_count(test, two, 5, TALLY_STATE_ACTIVE);
	tally_event_disable(one);
	bumps(1);
	expect_count(test, one, 2, TALLY_STATE_OFF);
	expect_count(test, two, 6, TALLY_STATE_ACTIVE);
	tally_event_disable(two);
	bumps(1);
	tally_event_enable(one);
	bumps(1);
	expect_count(test, one, 3, TALLY_STATE_ACTIVE);
	expect_count(test, two, 6, TALLY_STATE_OFF);
	build_bumps(test, &late, true);
	bumps(1);
	expect_count(test, late, 0, TALLY_STATE_OFF);
	tally_event_release(two);
	tally_event_enable(late);
	bumps(1);
	expect_count(test, one, 5, TALLY_STATE_ACTIVE);
	expect_count(test, late, 1, TALLY_STATE_ACTIVE);
	tally_event_release(one);
	bumps(1);
	expect_count(test, late, 2, TALLY_STATE_ACTIVE);
	tally_event_release(late);
}

/* The times of an event begin with the event, also if its counter is older. */
static void state_shared_times(struct kunit *test)
{
	struct tally_count old, young;
	struct tally_event *one, *two;

	build_bumps(test, &one, false);
	msleep(100);
	build_bumps(test, &two, false);
	tally_event_read(two, &young);
	tally_event_read(one, &old);
	KUNIT_EXPECT_GT(test, old.enabled_ns, young.enabled_ns + 50000000);
	tally_event_release(one);
	tally_event_release(two);
}

static void state_one_cpu(struct kunit *test)
{
	int cpu = cpumask_first(cpu_online_mask);
	struct tally_count whole, part;
	struct tally_builder b;
	struct tally_event *ev;
	int other, tries = 0;

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_on_cpu(&b, cpu);
	ev = tally_build(&b);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(ev), "%s", tally_builder_why(&b));
	KUNIT_EXPECT_EQ(test, tally_event_state(ev), TALLY_STATE_ACTIVE);
	/* The CPU's clock may advance by ticks, and a busy host delays those. */
	do {
		msleep(20);
		KUNIT_ASSERT_EQ(test, tally_event_read_cpu(ev, cpu, &part), 0);
	} while (part.value < 10000000 && tries++ < 500);
	KUNIT_EXPECT_GE(test, part.value, 10000000ULL);
	tally_event_disable(ev);
	KUNIT_EXPECT_EQ(test, tally_event_read(ev, &whole), 0);
	KUNIT_EXPECT_EQ(test, tally_event_read_cpu(ev, cpu, &part), 0);
	expect_same(test, &whole, &part);
	KUNIT_EXPECT_EQ(test, part.state, TALLY_STATE_OFF);

	KUNIT_EXPECT_EQ(test, tally_event_read_cpu(ev, -1, &part), -EINVAL);
	KUNIT_EXPECT_EQ(test, tally_event_read_cpu(ev, nr_cpu_ids, &part),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, tally_event_read_cpu(ev, INT_MAX, &part),
			-EINVAL);
	for_each_possible_cpu(other) {
		int err = tally_event_read_cpu(ev, other, &part);

		KUNIT_EXPECT_EQ(test, err, other == cpu ? 0 : -EINVAL);
	}
	tally_event_release(ev);
}

/* D.1 #6: perf has one event for each CPU, and tally returns their sum. */
static void state_all_cpus(struct kunit *test)
{
	struct tally_count whole, part;
	struct tally_event *ev;
	u64 sum = 0, ns = 0;
	int cpu;

	build_bumps(test, &ev, false);
	bumps(50);
	msleep(20);
	bumps(50);
	tally_event_disable(ev);
	KUNIT_EXPECT_EQ(test, tally_event_read(ev, &whole), 0);
	for_each_possible_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, tally_event_read_cpu(ev, cpu, &part), 0);
		sum += part.value;
		ns += part.enabled_ns;
	}
	KUNIT_EXPECT_EQ(test, whole.value, 100ULL);
	KUNIT_EXPECT_EQ(test, sum, 100ULL);
	KUNIT_EXPECT_EQ(test, ns, whole.enabled_ns);
	tally_event_release(ev);
}

static int worker(void *unused)
{
	while (!kthread_should_stop()) {
		bumps(1);
		msleep(20);
	}
	return 0;
}

static bool ends_up(struct tally_event *ev, enum tally_state state)
{
	unsigned long end = jiffies + 10 * HZ;

	while (tally_event_state(ev) != state && time_before(jiffies, end))
		msleep(20);
	return tally_event_state(ev) == state;
}

/* The last count remains after the task has exited (D.1 #19). */
static void state_exited(struct kunit *test)
{
	struct tally_count first, second;
	struct tally_event *ev, *other;
	struct task_struct *task;
	struct tally_builder b;
	int tries = 0;

	task = kthread_run(worker, NULL, "tally_worker");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CONTEXT_SWITCHES));
	tally_builder_on_task(&b, task);
	ev = tally_build(&b);
	tally_builder_disabled(&b);
	other = tally_build(&b);
	if (IS_ERR(ev) || IS_ERR(other))
		KUNIT_FAIL(test, "%s", tally_builder_why(&b));
	while (!IS_ERR(ev) && !tally_event_read(ev, &first) && !first.value && tries++ < 500)
		msleep(20);
	kthread_stop(task);
	if (IS_ERR(ev) || IS_ERR(other))
		goto out;

	KUNIT_EXPECT_TRUE(test, ends_up(ev, TALLY_STATE_EXITED));
	KUNIT_EXPECT_TRUE(test, ends_up(other, TALLY_STATE_EXITED));
	KUNIT_EXPECT_EQ(test, tally_event_read(ev, &first), 0);
	KUNIT_EXPECT_EQ(test, first.state, TALLY_STATE_EXITED);
	KUNIT_EXPECT_GT(test, first.value, 0ULL);
	KUNIT_EXPECT_EQ(test, tally_event_enable(ev), -ESRCH);
	KUNIT_EXPECT_EQ(test, tally_event_enable(other), -ESRCH);
	msleep(20);
	tally_event_read(ev, &second);
	expect_same(test, &first, &second);
	expect_count(test, other, 0, TALLY_STATE_EXITED);
	tally_event_disable(ev);
	tally_event_read(ev, &second);
	expect_same(test, &first, &second);
	KUNIT_EXPECT_PTR_EQ(test, tally_build(&b),
			    (struct tally_event *)ERR_PTR(-ESRCH));
out:
	tally_event_release(ev);
	tally_event_release(other);
	put_task_struct(task);
}

/* An event of a task that does not run is enabled, and does not count at the moment. */
static void state_inactive(struct kunit *test)
{
	struct task_struct *task;
	struct tally_builder b;
	struct tally_event *ev;

	/* The task is created, but not woken; kthread_bind() waits until it is off its CPU. */
	task = kthread_create(worker, NULL, "tally_worker");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpumask_first(cpu_online_mask));
	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_TASK_CLOCK));
	tally_builder_on_task(&b, task);
	tally_builder_require(&b);
	ev = tally_build(&b);
	if (IS_ERR(ev))
		KUNIT_FAIL(test, "%s", tally_builder_why(&b));
	else
		expect_count(test, ev, 0, TALLY_STATE_INACTIVE);
	tally_event_release(ev);
	kthread_stop(task);
}

static DECLARE_COMPLETION(off);

/* Takes an event off its CPU, as far as reads of tally can see, and takes long for it. */
static int take_off(void *event)
{
	struct perf_event *pe = event;

	msleep(50);
	pe->total_time_enabled += 1000;
	pe->total_time_running += 1000;
	/* After the times, as perf does it. */
	smp_store_release(&pe->state, PERF_EVENT_STATE_INACTIVE);
	complete(&off);
	return 0;
}

/* A read while perf takes the event off waits for the times, which perf updates last. */
static void state_leaving(struct kunit *test)
{
	struct task_struct *task, *thread;
	struct tally_count count;
	struct tally_builder b;
	struct tally_event *ev;
	struct perf_event *pe;

	/* The task is created, but not woken, and off its CPU: perf leaves its event alone. */
	task = kthread_create(worker, NULL, "tally_worker");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpumask_first(cpu_online_mask));
	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
	tally_builder_on_task(&b, task);
	ev = tally_build(&b);
	if (IS_ERR(ev)) {
		KUNIT_FAIL(test, "%s", tally_builder_why(&b));
		goto out;
	}
	pe = ev->counter->slots[0].event;
	KUNIT_EXPECT_EQ(test, pe->oncpu, -1);
	WRITE_ONCE(pe->state, PERF_EVENT_STATE_ACTIVE);
	thread = kthread_run(take_off, pe, "tally_off");
	if (IS_ERR(thread)) {
		KUNIT_FAIL(test, "no thread");
		WRITE_ONCE(pe->state, PERF_EVENT_STATE_INACTIVE);
		goto out;
	}
	KUNIT_EXPECT_EQ(test, tally_event_read(ev, &count), 0);
	KUNIT_EXPECT_EQ(test, count.enabled_ns, 1000ULL);
	KUNIT_EXPECT_EQ(test, count.running_ns, 1000ULL);
	wait_for_completion(&off);
out:
	tally_event_release(ev);
	kthread_stop(task);
}

/* Reads without perf, of an event that is off the PMU: with its context locked, and without. */
struct peeks {
	struct tally_event *ev;
	int locked, alone;
};

/* Runs on the event's CPU with interrupts disabled. As far as reads can see, the event is off. */
static void peek_at_rest(void *data)
{
	struct peeks *p = data;
	struct perf_event *pe = p->ev->counter->slots[0].event;
	int cpu = pe->oncpu, was = pe->state;
	struct tally_totals t;
	enum tally_state state;

	WRITE_ONCE(pe->oncpu, -1);
	WRITE_ONCE(pe->state, PERF_EVENT_STATE_INACTIVE);
	raw_spin_lock(&pe->ctx->lock);
	p->locked = tally_event_peek(p->ev, 0, false, -1, &t, &state);
	raw_spin_unlock(&pe->ctx->lock);
	p->alone = tally_event_peek(p->ev, 0, false, -1, &t, &state);
	WRITE_ONCE(pe->state, was);
	WRITE_ONCE(pe->oncpu, cpu);
}

/* While perf may be changing the times of a CPU's event, one after the other, they are not read. */
static void state_torn(struct kunit *test)
{
	struct peeks p = { .locked = 1, .alone = 1 };
	int cpu = cpumask_first(cpu_online_mask);
	struct tally_builder b;

	if (!IS_ENABLED(CONFIG_SMP))
		kunit_skip(test, "locks have no state");
	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
	tally_builder_on_cpu(&b, cpu);
	p.ev = tally_build(&b);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(p.ev), "%s", tally_builder_why(&b));
	smp_call_function_single(cpu, peek_at_rest, &p, true);
	KUNIT_EXPECT_EQ(test, p.locked, -EAGAIN);
	KUNIT_EXPECT_EQ(test, p.alone, 0);
	tally_event_release(p.ev);
}

static void ignore(struct tally_event *ev, const struct tally_sample *s, void *context)
{
}

/* Lets the event look as if it had counted 4 periods without an overflow, and returns its state. */
static enum tally_state overdue(struct tally_event *ev)
{
	struct tally_view *view = &ev->views[0];

	tally_event_state(ev);
	view->marked = true;
	view->mark_period = ev->attr.sample_period;
	view->mark_value = ev->counter->slots[0].now.value - 4 * ev->attr.sample_period;
	return tally_event_state(ev);
}

/* Between the last overflow of a limit and its end, an event is not silent. */
static void state_spent(struct kunit *test)
{
	struct tally_overflow *of;
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES));
	tally_builder_on_cpu(&b, cpumask_first(cpu_online_mask));
	tally_builder_period(&b, BIT_ULL(50));
	tally_builder_on_overflow(&b, ignore, NULL);
	ev = tally_build(&b);
	if (ev == ERR_PTR(-ENOENT))
		kunit_skip(test, "no PMU");
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(ev), "%s", tally_builder_why(&b));
	of = ev->overflow;
	of->special |= TALLY_SPECIAL_LIMITED;
	KUNIT_EXPECT_EQ(test, overdue(ev), TALLY_STATE_ACTIVE);
	of->special ^= TALLY_SPECIAL_LIMITED | TALLY_SPECIAL_ONE_SHOT;
	atomic_set(&of->armed, 0);
	KUNIT_EXPECT_EQ(test, overdue(ev), TALLY_STATE_ACTIVE);
	of->special ^= TALLY_SPECIAL_ONE_SHOT;
	KUNIT_EXPECT_EQ(test, overdue(ev), TALLY_STATE_SILENT);
	KUNIT_EXPECT_EQ(test, tally_event_set_period(ev, BIT_ULL(51)), 0);
	KUNIT_EXPECT_EQ(test, overdue(ev), TALLY_STATE_SILENT);
	tally_event_release(ev);
}

static void state_release_nothing(struct kunit *test)
{
	tally_event_release(NULL);
	tally_event_release(ERR_PTR(-ENOENT));
}

static struct kunit_case state_cases[] = {
	KUNIT_CASE(state_worse),
	KUNIT_CASE(state_names),
	KUNIT_CASE(state_silent),
	KUNIT_CASE(state_life),
	KUNIT_CASE(state_enabled_at_once),
	KUNIT_CASE(state_shared),
	KUNIT_CASE(state_shared_times),
	KUNIT_CASE(state_one_cpu),
	KUNIT_CASE(state_all_cpus),
	KUNIT_CASE(state_exited),
	KUNIT_CASE(state_inactive),
	KUNIT_CASE(state_leaving),
	KUNIT_CASE(state_torn),
	KUNIT_CASE(state_spent),
	KUNIT_CASE(state_release_nothing),
	{ }
};

static struct kunit_suite state_suite = {
	.name = "tally_state",
	.test_cases = state_cases,
};

kunit_test_suite(state_suite);
