// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of reads of other CPUs, and the number of CPUs that they interrupt.
 *
 *	insmod tally_scale.ko events=8
 *	cat /sys/kernel/debug/tally_scale/results
 *	cat /sys/kernel/debug/tally_scale/tally		# 100 reads
 *	cat /sys/kernel/debug/tally_scale/perf		# 100 reads
 *
 * The reader of the files counts the interrupts, from /proc/interrupts.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "bench.h"
#include "kernels.h"

#define MOST	64
#define READS	100
#define BATCH	20

struct tap tap;
static unsigned int nr = 8;
static u64 sink;

/* Events on all CPUs: tally's set, and perf's events by CPU. */
static struct tally_set *set;
static struct perf_event **events;

/* Events on CPU 1. */
static struct tally_set *far_set;
static struct perf_event *far[8];

static const struct tally_what what = TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS);

static void perf_far(void)
{
	u64 enabled, running;

	sink = perf_event_read_value(far[0], &enabled, &running);
}

static void perf_far_eight(void)
{
	u64 enabled, running;
	int i;

	for (i = 0; i < ARRAY_SIZE(far); i++)
		sink = perf_event_read_value(far[i], &enabled, &running);
}

static void tally_far(void)
{
	struct tally_count count;

	tally_event_read(tally_set_event(far_set, 0), &count);
}

static void tally_far_eight(void)
{
	static struct tally_set_window window;
	static struct tally_count counts[8];

	tally_set_read_cpu(far_set, 1, &window, counts);
}

static struct tally_set *new_set(unsigned int members, int cpu)
{
	struct tally_builder *b;
	struct tally_set *new;
	unsigned int i;

	b = kvcalloc(members, sizeof(*b), GFP_KERNEL);
	if (!b)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < members; i++) {
		tally_builder_init(&b[i], what);
		if (cpu < 0)
			tally_builder_on_all_cpus(&b[i]);
		else
			tally_builder_on_cpu(&b[i], cpu);
	}
	new = tally_set_build(b, members);
	kvfree(b);
	return new;
}

static void measure_far(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(far); i++) {
		far[i] = new_bare(&what, 1, 0, NULL);
		if (IS_ERR(far[i]))
			far[i] = NULL;
	}
	far_set = new_set(ARRAY_SIZE(far), 1);
	if (tap_ok(&tap, far[7] && !IS_ERR(far_set), "events on another CPU")) {
		/* The first reads wake the idle CPU, and are thrown away. */
		measure(perf_far_eight, true);
		measure(tally_far_eight, true);
		figure(&tap, "far", "perf_read", measure(perf_far, true));
		figure(&tap, "far", "event_read", measure(tally_far, true));
		figure(&tap, "far", "perf_read_8", measure(perf_far_eight, true));
		figure(&tap, "far", "set_read_8", measure(tally_far_eight, true));
	}
	tally_set_release(far_set);
	for (i = 0; i < ARRAY_SIZE(far); i++)
		if (far[i])
			perf_event_release_kernel(far[i]);
}

static void perf_all(void)
{
	u64 enabled, running;
	unsigned int i;
	int cpu;

	for_each_online_cpu(cpu)
		for (i = 0; i < nr; i++)
			sink += perf_event_read_value(events[cpu * MOST + i],
						      &enabled, &running);
}

static void tally_all(void)
{
	static struct tally_set_window window;
	static struct tally_count counts[MOST];

	tally_set_read(set, &window, counts);
}

static int make(void)
{
	struct perf_event *event;
	unsigned int i;
	int cpu;

	if (!nr || nr > MOST)
		return -EINVAL;
	events = kvcalloc(nr_cpu_ids * MOST, sizeof(*events), GFP_KERNEL);
	if (!events)
		return -ENOMEM;
	for_each_online_cpu(cpu) {
		for (i = 0; i < nr; i++) {
			event = new_bare(&what, cpu, 0, NULL);
			if (IS_ERR(event))
				return PTR_ERR(event);
			events[cpu * MOST + i] = event;
		}
	}
	set = new_set(nr, -1);
	return PTR_ERR_OR_ZERO(set);
}

static void unmake(void)
{
	unsigned int i;

	tally_set_release(set);
	for (i = 0; events && i < nr_cpu_ids * MOST; i++)
		if (events[i])
			perf_event_release_kernel(events[i]);
	kvfree(events);
}

/* Returns the cost of a call in tenths. A batch in which another task ran costs more. */
static u64 reads(void (*op)(void))
{
	u64 least = U64_MAX, begin;
	int i, batch;

	for (batch = 0; batch < READS / BATCH; batch++) {
		begin = ktime_get_ns();
		for (i = 0; i < BATCH; i++)
			op();
		least = min(least, ktime_get_ns() - begin);
	}
	return div_u64(least * 10, BATCH);
}

static int tally_get(void *data, u64 *value)
{
	*value = reads(tally_all);
	return 0;
}

static int perf_get(void *data, u64 *value)
{
	*value = reads(perf_all);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(tally_fops, tally_get, NULL, "%llu\n");
DEFINE_DEBUGFS_ATTRIBUTE(perf_fops, perf_get, NULL, "%llu\n");

static int __init scale_init(void)
{
	int err;

	err = tap_start(&tap);
	if (err)
		return err;
	/* No CPU goes offline or comes online while this module is loaded. */
	tap_is(&tap, make(), 0, "events on all CPUs");
	if (num_online_cpus() > 1)
		measure_far();
	tap_plan(&tap);
	tap_show(&tap, "tally_scale");
	if (!tap.failed) {
		debugfs_create_file("tally", 0400, tap.dir, NULL, &tally_fops);
		debugfs_create_file("perf", 0400, tap.dir, NULL, &perf_fops);
	}
	return 0;
}

static void __exit scale_exit(void)
{
	tap_end(&tap);
	unmake();
}

module_param_named(events, nr, uint, 0444);
MODULE_PARM_DESC(events, "How many events: 1 to 64");
module_init(scale_init);
module_exit(scale_exit);
IMPORT_TALLY();
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("What reading other CPUs costs");
MODULE_LICENSE("GPL");
