// SPDX-License-Identifier: GPL-2.0
/*
 * tally_event_read_local() in all contexts: its count is between those of two
 * tally_event_read() around it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/hrtimer.h>
#include <linux/hw_breakpoint.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>
#include "reads.h"
#include "kernels.h"

/* The event that a context reads, and the results. */
static struct tally_event *subject;
static struct tally_count got_count;
static u64 got;
static int got_err, got_count_err;
static bool got_nmi, got_hardirq;
static DECLARE_COMPLETION(done);

static void read_now(void)
{
	got_err = tally_event_read_local(subject, &got);
	got_count_err = tally_event_read_local_count(subject, &got_count);
	got_nmi = in_nmi();
	got_hardirq = in_hardirq();
}

/* ---- the contexts ---- */

static bool in_task_context(void)
{
	preempt_disable();
	read_now();
	preempt_enable();
	return !got_nmi && !got_hardirq;
}

static bool with_irqs_off(void)
{
	unsigned long flags;

	local_irq_save(flags);
	read_now();
	local_irq_restore(flags);
	return !got_nmi && !got_hardirq;
}

/* The task that reads. An interrupt may come while another task runs. */
static struct task_struct *reader;

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	if (current != reader) {
		hrtimer_forward_now(timer, ms_to_ktime(1));
		return HRTIMER_RESTART;
	}
	read_now();
	complete(&done);
	return HRTIMER_NORESTART;
}

/* Waits without sleeping: a task's events only count while the task runs. */
static bool spin_for_completion(void)
{
	unsigned long end = jiffies + 10 * HZ;

	while (!try_wait_for_completion(&done)) {
		/* The task may have waited for a CPU since it looked. */
		if (time_after(jiffies, end))
			return try_wait_for_completion(&done);
		mdelay(1);
	}
	return true;
}

static bool in_hrtimer(void)
{
	struct hrtimer timer;
	bool fired;

	hrtimer_setup_on_stack(&timer, timer_fired, CLOCK_MONOTONIC,
			       HRTIMER_MODE_REL_PINNED_HARD);
	reader = current;
	hrtimer_start(&timer, ms_to_ktime(2), HRTIMER_MODE_REL_PINNED_HARD);
	fired = spin_for_completion();
	hrtimer_cancel(&timer);
	destroy_hrtimer_on_stack(&timer);
	return fired && got_hardirq;
}

static void work_ran(struct irq_work *work)
{
	read_now();
	complete(&done);
}

static bool in_irq_work(void)
{
	static struct irq_work work = IRQ_WORK_INIT_HARD(work_ran);

	irq_work_queue(&work);
	if (!spin_for_completion())
		return false;
	irq_work_sync(&work);
	return got_hardirq;
}

static int probe_hit(struct kprobe *kp, struct pt_regs *regs)
{
	read_now();
	return 0;
}

static struct kprobe probe = { .pre_handler = probe_hit };

static bool in_kprobe(void)
{
	got_err = -EINPROGRESS;
	step();
	return got_err != -EINPROGRESS;
}

/* Another event, which overflows in NMI if this machine can. */
static struct tally_event *other;
static unsigned long trap_word;
/* The task that waits for an overflow in itself; NULL when it has come. */
static struct task_struct *wanted;

static void other_overflowed(struct tally_event *ev,
			     const struct tally_sample *sample, void *context)
{
	if (READ_ONCE(wanted) != current)
		return;
	WRITE_ONCE(wanted, NULL);
	read_now();
}

/*
 * Waits until the other event overflows. The interrupt of an emulated PMU may come late
 * on a busy machine, which is no failure.
 */
static bool trap(bool nmi)
{
	unsigned long end = jiffies + 20 * HZ;
	unsigned long again = jiffies + HZ;

	WRITE_ONCE(wanted, current);
	while (READ_ONCE(wanted) && time_before(jiffies, end)) {
		WRITE_ONCE(trap_word, trap_word + 1);
		if (time_before(jiffies, again))
			continue;
		tap_line(&tap, "# no overflow for a second");
		tally_event_disable(other);
		tally_event_enable(other);
		again = jiffies + HZ;
	}
	return !READ_ONCE(wanted) && got_nmi == nmi;
}

static bool in_another_handler(void)
{
	return trap(IS_ENABLED(CONFIG_X86) || has_nmi);
}

/* Builds an event that overflows often on CPU 0. */
static void build_other(void)
{
	struct tally_builder b;

	if (IS_ENABLED(CONFIG_X86))
		tally_builder_init(&b, TALLY_BREAKPOINT(&trap_word,
							sizeof(trap_word),
							HW_BREAKPOINT_W));
	else if (has_pmu)
		tally_builder_init(&b, TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES));
	else
		tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_period(&b, IS_ENABLED(CONFIG_X86) ? 1 : 1000000);
	tally_builder_on_cpu(&b, 0);
	tally_builder_on_overflow(&b, other_overflowed, NULL);
	other = build(&b, "the other event");
}

static const struct context {
	const char *name;
	bool (*run)(void);
} contexts[] = {
	{ "with preemption off", in_task_context },
	{ "with interrupts off", with_irqs_off },
	{ "in an hrtimer", in_hrtimer },
	{ "in an irq_work", in_irq_work },
	{ "in a kprobe", in_kprobe },
	{ "in another event's handler", in_another_handler },
};

/* ---- the events that are read ---- */

static unsigned long counted_word;

static struct kind {
	const char *name;
	struct tally_what what;
	bool pmu;
	bool optional;
	void (*cause)(void);
} kinds[7];

static void cause_steps(void)
{
	int i;

	for (i = 0; i < 10; i++)
		step();
}

static void cause_writes(void)
{
	int i;

	for (i = 0; i < 10; i++)
		WRITE_ONCE(counted_word, i);
}

static void cause_time(void)
{
	mdelay(1);
}

static void fill_kinds(void)
{
	struct kind *kind = kinds;

	*kind++ = (struct kind){ "page-faults",
		TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS), false, false, cause_time };
	*kind++ = (struct kind){ "cpu-clock",
		TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK), false, false, cause_time };
	*kind++ = (struct kind){ "task-clock",
		TALLY_SOFTWARE(PERF_COUNT_SW_TASK_CLOCK), false, false, cause_time };
	*kind++ = (struct kind){ "kprobe", TALLY_KPROBE(step_point()),
		false, false, cause_steps };
	*kind++ = (struct kind){ "breakpoint",
		TALLY_BREAKPOINT(&counted_word, sizeof(counted_word),
				 HW_BREAKPOINT_W), false, true, cause_writes };
	*kind++ = (struct kind){ "cycles",
		TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES), true, false, cause_time };
	*kind++ = (struct kind){ "instructions",
		TALLY_HARDWARE(PERF_COUNT_HW_INSTRUCTIONS), true, true, cause_time };
}

/* Returns the count of CPU 0, or of the task, by a read that may sleep. */
static u64 read_slowly(struct tally_event *ev, int target,
		       struct tally_count *count)
{
	if (target == ON_TASK)
		tally_event_read(ev, count);
	else
		tally_event_read_cpu(ev, 0, count);
	return count->value;
}

static void expect_between(const struct tally_count *before,
			   const struct tally_count *after, const char *what)
{
	tap_is(&tap, got_err, 0, what);
	if (got < before->value || got > after->value)
		tap_line(&tap, "# %llu, not between %llu and %llu", got,
			 before->value, after->value);
	tap_ok(&tap, got >= before->value && got <= after->value,
	       "%s: the right value", what);
	tap_is(&tap, got_count_err, 0, "and with its times");
	tap_ok(&tap, got_count.value >= got && got_count.value <= after->value &&
	       got_count.enabled_ns >= before->enabled_ns &&
	       got_count.enabled_ns <= after->enabled_ns &&
	       got_count.running_ns >= before->running_ns &&
	       got_count.running_ns <= after->running_ns &&
	       got_count.state == TALLY_STATE_ACTIVE,
	       "%s: %llu and %llu ns", what, got_count.enabled_ns,
	       got_count.running_ns);
}

static void test_contexts(const struct kind *kind, int target)
{
	struct tally_count before, after;
	struct tally_builder b;
	char what[80];
	int i;

	snprintf(what, sizeof(what), "%s on %s", kind->name, target_name(target));
	tally_builder_init(&b, kind->what);
	on_target(&b, target);
	subject = tally_build(&b);
	if (kind->optional && IS_ERR(subject)) {
		tap_skip(&tap, what, "not on this machine");
		return;
	}
	if (!tap_ok(&tap, !IS_ERR(subject), "%s: %s", what, tally_builder_why(&b)))
		return;
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		snprintf(what, sizeof(what), "%s on %s %s", kind->name,
			 target_name(target), contexts[i].name);
		reinit_completion(&done);
		kind->cause();
		read_slowly(subject, target, &before);
		kind->cause();
		tap_ok(&tap, contexts[i].run(), "%s", what);
		kind->cause();
		read_slowly(subject, target, &after);
		expect_between(&before, &after, what);
	}
	tally_event_release(subject);
}

/* ---- the event's own handler ---- */

static u64 own_first, own_last;
static unsigned int own_calls, own_wrong, own_errors, own_nmi;

static void own_overflowed(struct tally_event *ev,
			   const struct tally_sample *sample, void *context)
{
	u64 value;
	int err;

	err = tally_event_read_local(ev, &value);
	own_calls++;
	own_nmi += !!in_nmi();
	if (err) {
		own_errors++;
		return;
	}
	if (value < own_last)
		own_wrong++;
	own_last = value;
	if (!own_first)
		own_first = value;
}

static void test_own_handler(struct tally_what what, u64 period, bool nmi,
			     void (*cause)(void), const char *name)
{
	struct tally_overflow_stats stats;
	struct tally_builder b;
	struct tally_count count;
	struct tally_event *ev;
	unsigned int i;

	own_first = 0;
	own_last = 0;
	own_calls = 0;
	own_wrong = 0;
	own_errors = 0;
	own_nmi = 0;
	tally_builder_init(&b, what);
	tally_builder_on_cpu(&b, 0);
	tally_builder_period(&b, period);
	tally_builder_on_overflow(&b, own_overflowed, NULL);
	ev = build(&b, name);
	if (!ev)
		return;
	/* mdelay() ends early if the machine was busy while the kernel calibrated it. */
	for (i = 0; i < 100 || (READ_ONCE(own_calls) < 3 && i < 10000); i++)
		cause();
	tally_event_disable(ev);
	tally_event_read(ev, &count);
	tally_event_overflow_stats(ev, &stats);
	tap_ok(&tap, own_calls > 2, "%s: its own handler, %u times", name,
	       own_calls);
	/* The first overflows may interrupt perf, which is still enabling the event. */
	tap_ok(&tap, own_errors <= own_calls / 4 + 2,
	       "it can read its event, but for %u times", own_errors);
	tap_is(&tap, own_wrong, 0, "which only grows");
	tap_is(&tap, own_nmi, nmi ? own_calls : 0, "in NMI or not");
	tap_ok(&tap, own_first >= period && own_last <= count.value &&
	       own_last >= period * own_calls,
	       "%s: from %llu to %llu, with a period of %llu", name, own_first,
	       own_last, period);
	tally_event_release(ev);
}

/* ---- events that cannot be read ---- */

struct elsewhere {
	struct tally_event *ev;
	u64 value;
	int err;
};

static void read_elsewhere(void *arg)
{
	struct elsewhere *e = arg;

	e->err = tally_event_read_local(e->ev, &e->value);
}

static long read_in_a_worker(void *arg)
{
	read_elsewhere(arg);
	return 0;
}

static int read_local(struct tally_event *ev, u64 *value)
{
	int err;

	preempt_disable();
	err = tally_event_read_local(ev, value);
	preempt_enable();
	return err;
}

static void test_elsewhere(void)
{
	struct tally_builder b;
	struct elsewhere e = { .value = 4711 };

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_on_cpu(&b, 0);
	e.ev = build(&b, "a clock on CPU 0");
	if (!e.ev)
		return;
	if (num_online_cpus() > 1) {
		smp_call_function_single(1, read_elsewhere, &e, true);
		tap_is(&tap, e.err, -EINVAL, "on CPU 1: EINVAL");
		tap_is(&tap, e.value, 4711, "and the value is left alone");
	}
	tally_event_release(e.ev);

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	e.ev = build(&b, "a clock on all CPUs");
	if (!e.ev)
		return;
	if (num_online_cpus() > 1) {
		smp_call_function_single(1, read_elsewhere, &e, true);
		tap_is(&tap, e.err, 0, "on CPU 1: its part");
	}
	tally_event_release(e.ev);

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_TASK_CLOCK));
	tally_builder_on_task(&b, current);
	e.ev = build(&b, "a task's clock");
	if (!e.ev)
		return;
	work_on_cpu(0, read_in_a_worker, &e);
	tap_is(&tap, e.err, -EINVAL, "in another task: EINVAL");
	tally_event_release(e.ev);

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_TASK_CLOCK));
	tally_builder_on_task(&b, current);
	tally_builder_inherit(&b);
	e.ev = build(&b, "an inherited one");
	if (!e.ev)
		return;
	tap_is(&tap, read_local(e.ev, &e.value), -EOPNOTSUPP, "is not supported");
	tally_event_release(e.ev);
}

/* A count goes on after a disable, and a reset changes the count of one event only. */
static void test_on_off(int target)
{
	struct tally_event *ev, *twin;
	struct tally_builder b;
	u64 value, before;

	tally_builder_init(&b, TALLY_KPROBE(step_point()));
	on_target(&b, target);
	tally_builder_disabled(&b);
	ev = build(&b, "one that is off");
	if (!ev)
		return;
	tap_is(&tap, read_local(ev, &value), -EAGAIN, "is not counting");
	tally_event_enable(ev);
	tap_is(&tap, read_local(ev, &value), 0, "enabled, it is");
	tap_is(&tap, value, 0, "from 0");
	cause_steps();
	tap_is(&tap, read_local(ev, &value), 0, "it can be read");
	tap_is(&tap, value, 10, "to 10");
	tally_event_disable(ev);
	cause_steps();
	tap_is(&tap, read_local(ev, &value), -EAGAIN, "disabled, it is not");
	tally_event_enable(ev);
	cause_steps();
	tap_is(&tap, read_local(ev, &value), 0, "it goes on");
	tap_is(&tap, value, 20, "from where it was");

	/* The second event shares perf's event with the first. */
	twin = build(&b, "a second one");
	if (!twin)
		goto release;
	tally_event_enable(twin);
	cause_steps();
	tap_is(&tap, read_local(twin, &value), 0, "can be read");
	tap_is(&tap, value, 10, "has its own start");
	tally_event_reset(ev);
	cause_steps();
	tap_is(&tap, read_local(ev, &value), 0, "the first was reset");
	tap_is(&tap, value, 10, "and counts from there");
	read_local(twin, &value);
	tap_is(&tap, value, 20, "the second does not know");
	tally_event_disable(ev);
	read_local(twin, &before);
	cause_steps();
	tap_is(&tap, read_local(twin, &value), 0, "nor that it was disabled");
	tap_is(&tap, value - before, 10, "and counts on");
	tap_is(&tap, read_local(ev, &value), -EAGAIN, "the first does not");
	tally_event_release(twin);
release:
	tally_event_release(ev);
}

struct many {
	struct tally_event *evs[NR_TARGETS];
	unsigned int failed;
};

void many_close(struct many *many)
{
	int t;

	for (t = 0; t < NR_TARGETS; t++)
		tally_event_release(many->evs[t]);
	kfree(many);
}

struct many *many_open(void)
{
	struct tally_builder b;
	struct many *many;
	int t, err;

	many = kzalloc(sizeof(*many), GFP_KERNEL);
	if (!many)
		return ERR_PTR(-ENOMEM);
	for (t = 0; t < NR_TARGETS; t++) {
		tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
		on_target(&b, t);
		many->evs[t] = tally_build(&b);
		err = PTR_ERR_OR_ZERO(many->evs[t]);
		if (err) {
			many_close(many);
			return ERR_PTR(err);
		}
	}
	err = tally_event_publish(many->evs[ON_ALL], NSEC_PER_MSEC);
	if (err) {
		many_close(many);
		return ERR_PTR(err);
	}
	return many;
}

void many_read(struct many *many, unsigned int calls)
{
	struct tally_count count;
	unsigned int i;
	u64 value;

	/* Reads the count of this CPU, and one that another CPU has published. */
	for (i = 0; i < calls; i++) {
		if (tally_event_read_local(many->evs[i % NR_TARGETS], &value) ||
		    tally_event_published(many->evs[ON_ALL], 1, &count, &value))
			many->failed++;
		if (!(i % 1000))
			cond_resched();
	}
}

unsigned int many_failed(const struct many *many)
{
	return many->failed;
}

void test_local(void)
{
	const struct kind *kind;
	int err, target;

	fill_kinds();
	build_other();
	probe.addr = step_point();
	err = register_kprobe(&probe);
	tap_is(&tap, err, 0, "a probe is set");
	for (kind = kinds; kind < kinds + ARRAY_SIZE(kinds); kind++) {
		if (kind->pmu && !has_pmu) {
			tap_skip(&tap, kind->name, "no PMU");
			continue;
		}
		for (target = 0; target < NR_TARGETS; target++)
			test_contexts(kind, target);
	}
	if (!err)
		unregister_kprobe(&probe);
	tally_event_release(other);
	if (IS_ENABLED(CONFIG_X86))
		test_own_handler(kinds[4].what, 1, true, cause_writes,
				 "a breakpoint");
	test_own_handler(kinds[1].what, 100000, false, cause_time, "a clock");
	if (has_pmu)
		test_own_handler(kinds[5].what, 200000, has_nmi, cause_time,
				 "cycles");
	test_elsewhere();
	for (target = 0; target < NR_TARGETS; target++)
		test_on_off(target);
}
