// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of reads, overflows, making and releasing, of tally and of its peers in the
 * same boot.
 *
 *	insmod tally_bench.ko
 *	cat /sys/kernel/debug/tally_bench/results
 *
 * The folder also has files for tests/guest/bench/bench_bpf.c, see trace.c, and for
 * tests/guest/bench/bench_ring.c, see bare.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <tally/tally.h>
#include "bench.h"
#include "kernels.h"

static bool has_pmu, lives;

struct tap tap;
struct bench bench;

static struct tally_set *new_set(struct tally_builder *b, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		tally_builder_init(&b[i], bench.what);
		tally_builder_on_cpu(&b[i], 0);
	}
	return tally_set_build(b, nr);
}

static int make(struct tally_builder *b)
{
	int i;

	/* First, because it needs a second counter for a moment: see base/register.c. */
	tally_builder_init(&b[0], bench.what);
	tally_builder_on_cpu(&b[0], 0);
	bench.ev = tally_build(&b[0]);
	if (IS_ERR(bench.ev))
		return PTR_ERR(bench.ev);
	for (i = 0; i < ARRAY_SIZE(bench.bare); i++) {
		bench.bare[i] = new_bare(&bench.what, 0, 0, NULL);
		if (IS_ERR(bench.bare[i]))
			return PTR_ERR(bench.bare[i]);
	}
	bench.set = new_set(b, 4);
	if (IS_ERR(bench.set))
		return PTR_ERR(bench.set);
	bench.set_of_8 = new_set(b, 8);
	return PTR_ERR_OR_ZERO(bench.set_of_8);
}

static void unmake(void)
{
	int i;

	tally_set_release(bench.set_of_8);
	tally_set_release(bench.set);
	tally_event_release(bench.ev);
	for (i = 0; i < ARRAY_SIZE(bench.bare); i++)
		if (!IS_ERR_OR_NULL(bench.bare[i]))
			perf_event_release_kernel(bench.bare[i]);
}

static void measure_kind(const char *kind, struct tally_what what)
{
	struct tally_builder *b;

	bench = (struct bench){ .kind = kind, .what = what };
	b = kvcalloc(8, sizeof(*b), GFP_KERNEL);
	if (tap_ok(&tap, b && !make(b), "%s: can be had", kind))
		measure_reads();
	unmake();
	kvfree(b);
}

static int __init bench_init(void)
{
	int err = tap_start(&tap);

	if (err)
		return err;
	if (lives) {
		measure_lives_alone();
		tap_plan(&tap);
		tap_show(&tap, "tally_bench");
		return 0;
	}
	measure_kind("page-faults", TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
	measure_kind("cpu-clock", TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	if (has_pmu)
		measure_kind("instructions", TALLY_HARDWARE(PERF_COUNT_HW_INSTRUCTIONS));
	measure_overflows(has_pmu);
	measure_lives();
	tap_plan(&tap);
	tap_show(&tap, "tally_bench");
	trace_begin(tap.dir);
	bare_begin(tap.dir);
	return 0;
}

static void __exit bench_exit(void)
{
	tap_end(&tap);
	if (!lives)
		trace_end();
}

module_param_named(pmu, has_pmu, bool, 0444);
MODULE_PARM_DESC(pmu, "There is a PMU");
module_param(lives, bool, 0444);
MODULE_PARM_DESC(lives, "Only what making and releasing events costs; tally has no debugfs");
module_init(bench_init);
module_exit(bench_exit);
IMPORT_TALLY();
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Measures what tally costs, beside its peers");
MODULE_LICENSE("GPL");
