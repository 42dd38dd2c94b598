// SPDX-License-Identifier: GPL-2.0
/* Every exported function does as its description says. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "consumer.h"

static const struct tally_what faults =
	TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS);
static const struct tally_what wall = TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK);

static void expect_refused(struct tally_builder *b, int err, const char *what)
{
	struct tally_event *ev = tally_build(b);

	tap_is(&tap, PTR_ERR_OR_ZERO(ev), err, what);
	tap_ok(&tap, *tally_builder_why(b), "%s: there is a sentence", what);
	tally_event_release(ev);
}

static void names(void)
{
	struct tally_event *one, *two;
	struct tally_builder b;

	tally_builder_init(&b, faults);
	tally_builder_name(&b, "consumer_one");
	one = build_ok(&b, "a named event");
	if (IS_ERR(one))
		return;
	tap_ok(&tap, !strcmp(tally_event_name(one), "consumer_one"),
	       "tally_event_name tells the name");
	expect_refused(&b, -EEXIST, "a second event of this name");
	tally_event_release(one);
	two = build_ok(&b, "the name is free again");
	tally_event_release(two);

	tally_builder_init(&b, faults);
	one = build_ok(&b, "an event without a name");
	if (IS_ERR(one))
		return;
	tap_ok(&tap, strstarts(tally_event_name(one),
			       "tally_consumer.page-faults."),
	       "is called after the module and what it counts");
	tally_event_release(one);

	tally_builder_parse(&b, "page-faults cpu=0 name=by_line");
	one = build_ok(&b, "a line of text");
	if (IS_ERR(one))
		return;
	tap_ok(&tap, !strcmp(tally_event_name(one), "by_line"),
	       "the name of a line");
	tally_event_release(one);

	tally_builder_parse(&b, "page-faults cpu=0");
	one = build_ok(&b, "a line without a name");
	two = build_ok(&b, "and the same line again");
	tap_ok(&tap, !IS_ERR(two) && strstarts(tally_event_name(two), "tally_consumer."),
	       "each has a name of its own");
	tally_event_release(two);
	tally_event_release(one);
}

static void refusals(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_type = PERF_SAMPLE_IP,
	};
	struct tally_builder b;

	tally_builder_init(&b, faults);
	tally_builder_period(&b, 1000);
	expect_refused(&b, -EINVAL, "period without a receiver");
	tally_builder_init(&b, faults);
	tally_builder_freq(&b, 1000);
	expect_refused(&b, -EINVAL, "freq without a receiver");
	tally_builder_init(&b, faults);
	tally_builder_on_cpu(&b, nr_cpu_ids);
	expect_refused(&b, -EINVAL, "a cpu that cannot exist");
	tally_builder_init(&b, faults);
	tally_builder_on_task(&b, NULL);
	expect_refused(&b, -ESRCH, "no task");
	tally_builder_init(&b, faults);
	tally_builder_on_pid(&b, INT_MAX);
	expect_refused(&b, -ESRCH, "no such pid");
	tally_builder_init(&b, faults);
	tally_builder_inherit(&b);
	expect_refused(&b, -EINVAL, "inherit without a task");
	tally_builder_init(&b, faults);
	tally_builder_on_task(&b, current);
	tally_builder_inherit_thread(&b);
	expect_refused(&b, -EINVAL, "inherit_thread without inherit");
	tally_builder_init(&b, faults);
	tally_builder_precise(&b, 2);
	expect_refused(&b, -EINVAL, "precise without samples");
	tally_builder_init_attr(&b, &attr);
	expect_refused(&b, -EINVAL, "an attr that counts, with samples");
	tap_is(&tap, tally_builder_parse(&b, "no-such-event"), -ENOENT,
	       "tally_builder_parse of an unknown event");
	expect_refused(&b, -ENOENT, "a line with an unknown event");
	tally_builder_init(&b, TALLY_PMU_NAMED("no_such_pmu", 0));
	expect_refused(&b, -ENOENT, "an unknown PMU");
	tally_builder_init(&b, TALLY_PMU(4000000000U, 0));
	expect_refused(&b, -ENOENT, "a number of no PMU");
	tally_builder_init(&b, TALLY_KPROBE_SYMBOL("no_such_symbol_at_all", 0));
	tap_ok(&tap, IS_ERR(tally_build(&b)), "an unknown symbol");
}

/* Builds without CAP_PERFMON. Only the rights of this thread change. */
static void rights(void)
{
	struct cred *plain = prepare_creds();
	const struct cred *before;
	struct tally_builder b;

	if (!plain) {
		tap_ok(&tap, false, "credentials without CAP_PERFMON");
		return;
	}
	cap_clear(plain->cap_effective);
	before = override_creds(plain);

	tally_builder_init(&b, faults);
	expect_refused(&b, -EACCES, "all cpus without CAP_PERFMON");
	tally_builder_init(&b, faults);
	tally_builder_on_cpu(&b, 0);
	tally_builder_exclude(&b, TALLY_EXCLUDE_KERNEL);
	expect_refused(&b, -EACCES, "one cpu without CAP_PERFMON");
	tally_builder_init(&b, faults);
	tally_builder_on_pid(&b, 1);
	tally_builder_exclude(&b, TALLY_EXCLUDE_KERNEL);
	expect_refused(&b, -EACCES, "another task without CAP_PERFMON");
	tally_builder_init(&b, faults);
	tally_builder_on_task(&b, current);
	expect_refused(&b, -EACCES, "the kernel without CAP_PERFMON");
	/* The level of kernel.perf_event_paranoid is 2 or 3: tally does not know which. */
	tally_builder_exclude(&b, TALLY_EXCLUDE_KERNEL);
	expect_refused(&b, -EACCES, "oneself in user space without CAP_PERFMON");

	revert_creds(before);
	put_cred(plain);
}

/* Each setter, in an event that every machine can build. */
static void settings(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.disabled = 1,
	};
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, faults);
	tally_builder_on_all_cpus(&b);
	tally_builder_period(&b, 0);
	tally_builder_freq(&b, 0);
	tally_builder_precise(&b, 0);
	tally_builder_config(&b, 0, 0, 0);
	tally_builder_pinned(&b);
	tally_builder_exclusive(&b);
	tally_builder_require(&b);
	ev = build_ok(&b, "pinned, exclusive and required");
	if (!IS_ERR(ev))
		tap_is(&tap, tally_event_state(ev), TALLY_STATE_ACTIVE,
		       "it counts");
	tally_event_release(ev);

	tally_builder_init_attr(&b, &attr);
	ev = build_ok(&b, "from a ready attr");
	if (!IS_ERR(ev))
		tap_is(&tap, tally_event_state(ev), TALLY_STATE_OFF,
		       "its disabled bit is kept");
	tally_event_release(ev);

	tally_builder_init(&b, faults);
	tally_builder_on_pid(&b, 0);
	tally_builder_inherit(&b);
	tally_builder_inherit_thread(&b);
	ev = build_ok(&b, "oneself by pid, with future threads");
	tally_event_release(ev);
}

/* Reads when the value is above @value, or after 10 s. A busy host delays the clock. */
static int read_later(struct tally_event *ev, u64 value, struct tally_count *count)
{
	int err, tries = 0;

	do {
		msleep(20);
		err = tally_event_read(ev, count);
	} while (!err && count->value <= value && tries++ < 500);
	return err;
}

static void life(void)
{
	struct tally_count a, c;
	struct tally_builder b;
	struct tally_event *ev;
	int cpu = cpumask_first(cpu_online_mask);

	tally_builder_init(&b, wall);
	tally_builder_on_cpu(&b, cpu);
	tally_builder_disabled(&b);
	ev = build_ok(&b, "a clock that is off");
	if (IS_ERR(ev))
		return;
	tap_is(&tap, tally_event_state(ev), TALLY_STATE_OFF, "state off");
	expect_value(ev, 0, "counts nothing yet");
	tap_is(&tap, tally_event_enable(ev), 0, "enable");
	tap_is(&tap, tally_event_enable(ev), 0, "enable again");
	tap_is(&tap, tally_event_state(ev), TALLY_STATE_ACTIVE, "state active");
	tap_is(&tap, read_later(ev, 10000000, &a), 0, "read");
	tap_ok(&tap, a.value > 10000000 && a.enabled_ns > 10000000 &&
	       a.running_ns > 10000000, "10 ms have passed");
	tap_is(&tap, a.state, TALLY_STATE_ACTIVE, "read tells the state");
	tally_event_disable(ev);
	tally_event_disable(ev);
	tally_event_read(ev, &a);
	msleep(20);
	tally_event_read(ev, &c);
	tap_ok(&tap, a.value == c.value && a.enabled_ns == c.enabled_ns &&
	       a.running_ns == c.running_ns, "disable freezes all three");
	tap_is(&tap, c.state, TALLY_STATE_OFF, "state off again");
	tap_is(&tap, tally_event_read_cpu(ev, cpu, &c), 0, "read_cpu");
	tap_is(&tap, c.value, a.value, "read_cpu tells the same");
	tap_is(&tap, tally_event_read_cpu(ev, -1, &c), -EINVAL,
	       "read_cpu of cpu -1");
	tap_is(&tap, tally_event_read_cpu(ev, nr_cpu_ids, &c), -EINVAL,
	       "read_cpu of a cpu that cannot exist");
	tally_event_reset(ev);
	tally_event_read(ev, &c);
	tap_ok(&tap, !c.value && c.enabled_ns == a.enabled_ns &&
	       c.running_ns == a.running_ns, "reset takes the value alone");
	tap_is(&tap, tally_event_enable(ev), 0, "enable once more");
	read_later(ev, 1000000, &c);
	tap_ok(&tap, c.value > 1000000 && c.enabled_ns > a.enabled_ns,
	       "counting goes on");
	tally_event_release(ev);
}

static void small_calls(void)
{
	struct tally_count count = {
		.value = 10, .enabled_ns = 300, .running_ns = 100,
	};
	struct tally_builder b;

	tap_is(&tap, tally_count_scaled(&count), 30, "tally_count_scaled");
	tap_ok(&tap, !strcmp(tally_state_name(TALLY_STATE_EXITED), "exited"),
	       "tally_state_name");
	tap_ok(&tap, !strcmp(tally_state_name(99), "unknown"),
	       "tally_state_name of nothing");
	tally_builder_init(&b, faults);
	tap_ok(&tap, !*tally_builder_why(&b), "no sentence without an error");
	tally_event_release(NULL);
	tally_event_release(ERR_PTR(-ENOENT));
	tap_ok(&tap, true, "release ignores NULL and ERR_PTRs");
}

void test_calls(void)
{
	names();
	refusals();
	rights();
	settings();
	life();
	small_calls();
}
