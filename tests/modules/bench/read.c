// SPDX-License-Identifier: GPL-2.0
/*
 * Reads on the CPU that counts: of one event, of a set, and around a section.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/irqflags.h>
#include <linux/time64.h>
#include "bench.h"

static u64 sink;

/* A read without tally, such as that of LTTng's contexts. */
static noinline u64 bare_one(struct perf_event *event)
{
	unsigned long flags;
	u64 value;

	local_irq_save(flags);
	event->pmu->read(event);
	value = local64_read(&event->count);
	local_irq_restore(flags);
	return value;
}

/* The smallest possible cost: a read of one register. */
static void reg(void)
{
#if defined(CONFIG_X86)
	unsigned int low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high));
#elif defined(CONFIG_ARM64)
	u64 value;

	asm volatile("mrs %0, cntvct_el0" : "=r" (value));
#endif
}

static void bare_read(void)
{
	sink = bare_one(bench.bare[0]);
}

static void bare_four(void)
{
	int i;

	for (i = 0; i < 4; i++)
		sink = bare_one(bench.bare[i % ARRAY_SIZE(bench.bare)]);
}

static void perf_read(void)
{
	u64 enabled, running;

	sink = perf_event_read_value(bench.bare[0], &enabled, &running);
}

static void perf_four(void)
{
	u64 enabled, running;
	int i;

	for (i = 0; i < 4; i++)
		sink = perf_event_read_value(bench.bare[i % ARRAY_SIZE(bench.bare)], &enabled,
					     &running);
}

static void perf_eight(void)
{
	u64 enabled, running;
	int i;

	for (i = 0; i < 8; i++)
		sink = perf_event_read_value(bench.bare[i % ARRAY_SIZE(bench.bare)], &enabled,
					     &running);
}

static void read_local(void)
{
	tally_event_read_local(bench.ev, &sink);
}

static void read_local_count(void)
{
	struct tally_count count;

	tally_event_read_local_count(bench.ev, &count);
}

static void event_read(void)
{
	struct tally_count count;

	tally_event_read(bench.ev, &count);
}

static void section(void)
{
	tally_section_begin(bench.set, &bench.section);
	tally_section_end(bench.set, &bench.section, bench.out);
}

static void set_read_local(void)
{
	struct tally_set_window window;
	struct tally_count counts[4];

	tally_set_read_local(bench.set, &window, counts);
}

static void set_read(void)
{
	struct tally_set_window window;
	struct tally_count counts[8];

	tally_set_read(bench.set_of_8, &window, counts);
}

static void published(void)
{
	struct tally_count count;
	u64 age;

	tally_event_published(bench.ev, -1, &count, &age);
}

static void fig(const char *name, u64 tenths)
{
	figure(&tap, bench.kind, name, tenths);
}

/* A call that fails is cheap, as it returns early: all measured calls must succeed. */
static void expect_success(void)
{
	struct tally_set_window window;
	struct tally_count counts[4];
	int err;

	preempt_disable();
	err = tally_event_read_local(bench.ev, &sink) ?:
	      tally_event_read_local_count(bench.ev, counts) ?:
	      tally_set_read_local(bench.set, &window, counts) ?:
	      tally_section_begin(bench.set, &bench.section) ?:
	      tally_section_end(bench.set, &bench.section, bench.out);
	preempt_enable();
	tap_is(&tap, err ?: tally_event_read(bench.ev, counts), 0,
	       "all reads succeed");
}

void measure_reads(void)
{
	expect_success();
	fig("register", measure(reg, false));
	fig("bare", measure(bare_read, false));
	fig("bare_4", measure(bare_four, false));
	fig("perf_read", measure(perf_read, true));
	fig("perf_read_4", measure(perf_four, true));
	fig("perf_read_8", measure(perf_eight, true));
	fig("read_local", measure(read_local, false));
	fig("read_local_count", measure(read_local_count, false));
	fig("event_read", measure(event_read, true));
	fig("section_4", measure(section, false));
	fig("set_read_local_4", measure(set_read_local, false));
	fig("set_read_8", measure(set_read, true));
	if (tap_is(&tap, tally_event_publish(bench.ev, NSEC_PER_SEC), 0,
		   "it is published")) {
		fig("published", measure(published, false));
		tally_event_publish(bench.ev, 0);
	}
	expect_success();
}
