// SPDX-License-Identifier: GPL-2.0
/*
 * Every kind of event. For an event that this machine does not have, tally_build() has to
 * return the error that perf_event_create_kernel_counter() returns for the same
 * attributes in the same boot.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/trace_events.h>
#include "consumer.h"

static int one_cpu;

/* Returns perf's error for an event without tally. */
static int ask_perf(const struct tally_what *what)
{
	struct perf_event_attr attr = {
		.type = what->type,
		.size = sizeof(attr),
		.config = what->config,
		.disabled = 1,
	};
	struct perf_event *event;

	attr.exclude_guest = attr.type == PERF_TYPE_HARDWARE ||
			     attr.type == PERF_TYPE_HW_CACHE ||
			     attr.type == PERF_TYPE_RAW;
	event = perf_event_create_kernel_counter(&attr, one_cpu, NULL, NULL,
						 NULL);
	if (IS_ERR(event))
		return PTR_ERR(event);
	perf_event_release_kernel(event);
	return 0;
}

/* An event that was built is active. If @counts is set, its value is not 0. */
static void count_some(struct tally_event *ev, const char *what, bool counts)
{
	unsigned long end = jiffies + 10 * HZ;
	struct tally_count count;
	int err;

	do {
		/* Work that a PMU counts. The clock of a guest's CPU may advance by ticks. */
		bumps(10000);
		err = tally_event_read(ev, &count);
	} while (!err && counts && !count.value && time_before(jiffies, end));
	tap_ok(&tap, !err && count.state == TALLY_STATE_ACTIVE &&
	       (!counts || count.value), "%s: counts", what);
	tap_line(&tap, "# %d %s %llu %llu %llu", err,
		 tally_state_name(count.state), count.value, count.enabled_ns,
		 count.running_ns);
}

static void one_kind(const struct tally_what what, const char *name,
		     bool counts)
{
	struct tally_builder b;
	struct tally_event *ev;
	int want = ask_perf(&what);

	tally_builder_init(&b, what);
	tally_builder_on_cpu(&b, one_cpu);
	ev = tally_build(&b);
	if (tap_ok(&tap, PTR_ERR_OR_ZERO(ev) == want, "%s: as perf says, %d",
		   name, want)) {
		if (IS_ERR(ev))
			tap_ok(&tap, *tally_builder_why(&b), "%s: says why (%s)",
			       name, tally_builder_why(&b));
		else
			count_some(ev, name, counts);
	} else {
		tap_line(&tap, "# got %d: %s", (int)PTR_ERR_OR_ZERO(ev),
			 tally_builder_why(&b));
	}
	tally_event_release(ev);
}

static void each_software(void)
{
	char name[32];
	int id;

	for (id = 0; id < PERF_COUNT_SW_MAX; id++) {
		snprintf(name, sizeof(name), "software %d", id);
		one_kind(TALLY_SOFTWARE(id), name,
			 id == PERF_COUNT_SW_CPU_CLOCK ||
			 id == PERF_COUNT_SW_TASK_CLOCK);
	}
	one_kind(TALLY_SOFTWARE(PERF_COUNT_SW_MAX), "software, no such", false);
}

static void each_hardware(void)
{
	char name[32];
	int id;

	for (id = 0; id < PERF_COUNT_HW_MAX; id++) {
		snprintf(name, sizeof(name), "hardware %d", id);
		one_kind(TALLY_HARDWARE(id), name,
			 id == PERF_COUNT_HW_CPU_CYCLES);
	}
	one_kind(TALLY_HARDWARE(PERF_COUNT_HW_MAX), "hardware, no such", false);
}

static void each_cache(void)
{
	int id, op, result;
	char name[32];

	for (id = 0; id < PERF_COUNT_HW_CACHE_MAX; id++)
		for (op = 0; op < PERF_COUNT_HW_CACHE_OP_MAX; op++)
			for (result = 0; result < PERF_COUNT_HW_CACHE_RESULT_MAX;
			     result++) {
				snprintf(name, sizeof(name), "cache %d %d %d",
					 id, op, result);
				one_kind(TALLY_CACHE(id, op, result), name,
					 false);
			}
	one_kind(TALLY_CACHE(PERF_COUNT_HW_CACHE_MAX, 0, 0), "cache, no such",
		 false);
}

static void numbers(void)
{
	/* riscv64 takes any code, and finds out later whether its firmware counts that. */
	if (!IS_ENABLED(CONFIG_RISCV)) {
		one_kind(TALLY_RAW(0x11), "raw 0x11", false);
		one_kind(TALLY_RAW(0x08), "raw 0x08", false);
	}
	one_kind(TALLY_PMU(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK),
		 "PMU by number", true);
	one_kind(TALLY_PMU(4000000000U, 0), "PMU, no such", false);
}

static void named_pmu(const char *pmu, u64 config, const char *what)
{
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, TALLY_PMU_NAMED(pmu, config));
	tally_builder_on_cpu(&b, one_cpu);
	ev = tally_build(&b);
	if (ev == ERR_PTR(-ENOENT)) {
		tap_skip(&tap, what, "this machine has no such PMU");
		return;
	}
	if (tap_ok(&tap, !IS_ERR(ev), "%s: is built", what))
		count_some(ev, what, true);
	else
		tap_line(&tap, "# %s", tally_builder_why(&b));
	tally_event_release(ev);
}

static void expect_switches(struct tally_builder *b, const char *what)
{
	struct tally_event *ev = build_ok(b, what);
	struct tally_count count = { };

	if (IS_ERR(ev))
		return;
	msleep(20);
	tap_is(&tap, tally_event_read(ev, &count), 0, what);
	tap_ok(&tap, count.value >= 2, "%s: counted %llu", what, count.value);
	tally_event_release(ev);
}

static void tracepoints(void)
{
#ifdef CONFIG_EVENT_TRACING
	struct trace_event_file *file;
	struct tally_builder b;

	tally_builder_parse(&b, "sched:sched_switch");
	expect_switches(&b, "tracepoint by name");
	file = trace_get_event_file(NULL, "sched", "sched_switch");
	if (!tap_ok(&tap, !IS_ERR(file), "sched_switch has a number"))
		return;
	tally_builder_init(&b, TALLY_TRACEPOINT(file->event_call->event.type));
	trace_put_event_file(file);
	expect_switches(&b, "tracepoint by number");
	tally_builder_init(&b, TALLY_TRACEPOINT(1));
	tap_ok(&tap, tally_build(&b) == ERR_PTR(-EOPNOTSUPP),
	       "ftrace:function is refused");
#else
	tap_skip(&tap, "tracepoints", "this kernel has none");
#endif
}

static void count_switches(void)
{
	struct tally_builder b;

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_CONTEXT_SWITCHES));
	expect_switches(&b, "context switches on all cpus");
}

void test_kinds(void)
{
	cpumask_t *before = kmalloc(sizeof(*before), GFP_KERNEL);

	if (!before) {
		tap_ok(&tap, false, "memory");
		return;
	}
	/* The task stays on the CPU that it counts. */
	*before = current->cpus_mask;
	one_cpu = cpumask_first(cpu_online_mask);
	set_cpus_allowed_ptr(current, cpumask_of(one_cpu));
	each_software();
	each_hardware();
	each_cache();
	numbers();
	named_pmu("software", PERF_COUNT_SW_CPU_CLOCK, "software by name");
	named_pmu("msr", 0, "msr by name");
	set_cpus_allowed_ptr(current, before);
	kfree(before);
	tracepoints();
	count_switches();
}
