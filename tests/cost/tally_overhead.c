// SPDX-License-Identifier: GPL-2.0
/*
 * What an overflow costs with tally's handlers, beside a bare handler of perf on
 * the same event in the same boot.
 *
 *	insmod tally_overhead.ko
 *	cat /sys/kernel/debug/tally_overhead/results
 *
 * With QEMU's icount and one CPU, ktime_get_ns() counts instructions; elsewhere
 * the figures mean nothing. On x86 the event is a breakpoint on a word that is
 * written, which comes at once. Elsewhere it is cycles: they overflow with
 * interrupts disabled, and the interrupt comes when those are enabled for a
 * moment, as that of a bottom half does.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hw_breakpoint.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sort.h>
#include <tally/tally.h>
#include "tap.h"

#define HITS	640
#define PERIOD	200000

/* What a direct handler may cost above a bare one. */
#define MOST	60

static struct tap tap;
static unsigned long calls;
static u32 costs[HITS];

struct result {
	u64 median;
	u64 mean;
};

static void bare(struct perf_event *event, struct perf_sample_data *data,
		 struct pt_regs *regs)
{
	WRITE_ONCE(calls, calls + 1);
}

static void handler(struct tally_event *ev, const struct tally_sample *sample,
		    void *context)
{
	WRITE_ONCE(calls, calls + 1);
}

static void let_interrupts_in(void)
{
	local_irq_enable();
	cpu_relax();
	local_irq_disable();
}

#ifdef CONFIG_X86
static unsigned long word;

static struct tally_what what(void)
{
	return TALLY_BREAKPOINT(&word, sizeof(word), HW_BREAKPOINT_W);
}

static const u64 period = 1;

static void hit(void)
{
	WRITE_ONCE(word, 1);
	let_interrupts_in();
}
#else
static struct tally_what what(void)
{
	return TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES);
}

static const u64 period = PERIOD;

static void hit(void)
{
	let_interrupts_in();
}
#endif

/*
 * Until cycles have overflowed; and no more often than a bottom half may come.
 * The clock has steps of several instructions: begin at another place in one
 * each time, and the mean is finer than they are.
 */
static void between(unsigned int round)
{
	u64 end = ktime_get_ns() + PERIOD;

	while (ktime_get_ns() < end)
		cpu_relax();
	for (round = round * 7 % 32; round; round--)
		cpu_relax();
}

static int compare_costs(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : 1;
}

/* Other interrupts come, too: the mean is without the dearest tenth. */
static struct result summary(void)
{
	unsigned int nr = HITS * 9 / 10;
	struct result r;
	unsigned int i;
	u64 sum = 0;

	sort(costs, HITS, sizeof(*costs), compare_costs, NULL);
	for (i = 0; i < nr; i++)
		sum += costs[i];
	r.median = costs[HITS / 2];
	r.mean = sum / nr;
	return r;
}

/* One overflow for each; what is not is not taken for one. */
static bool measure(struct result *r, unsigned long each)
{
	unsigned int got = 0, tries;
	unsigned long before;
	u64 t;

	local_irq_disable();
	for (tries = 0; got < HITS && tries < 3 * HITS; tries++) {
		between(tries);
		before = calls;
		t = ktime_get_ns();
		hit();
		t = ktime_get_ns() - t;
		if (calls == before + each)
			costs[got++] = t;
	}
	local_irq_enable();
	*r = summary();
	return got == HITS;
}

static bool measure_perf(struct result *r)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = what().type,
		.config = what().config,
		.bp_type = what().bp_type,
		.sample_period = period,
	};
	struct perf_event *event;
	bool ok;

	if (attr.type == PERF_TYPE_BREAKPOINT) {
		attr.bp_addr = what().config1;
		attr.bp_len = what().config2;
	}
	event = perf_event_create_kernel_counter(&attr, 0, NULL, bare, NULL);
	if (IS_ERR(event))
		return false;
	ok = measure(r, 1);
	perf_event_release_kernel(event);
	return ok;
}

enum half { DIRECT, IRQ, WORK };

static bool measure_tally(enum half half, struct result *r)
{
	struct tally_builder b;
	struct tally_event *ev;
	bool ok;

	tally_builder_init(&b, what());
	tally_builder_on_cpu(&b, 0);
	tally_builder_period(&b, period);
	if (half != DIRECT)
		tally_builder_queue(&b, 2 * HITS);
	if (half == DIRECT)
		tally_builder_on_overflow(&b, handler, NULL);
	else if (half == IRQ)
		tally_builder_on_overflow_irq(&b, handler, NULL);
	else
		tally_builder_on_overflow_work(&b, handler, NULL);
	ev = tally_build(&b);
	if (IS_ERR(ev)) {
		tap_line(&tap, "# %s", tally_builder_why(&b));
		return false;
	}
	/* A work comes later. */
	ok = measure(r, half != WORK);
	tally_event_release(ev);
	return ok;
}

static bool measure_none(struct result *r)
{
	return measure(r, 0);
}

static void print(const char *name, const struct result *r)
{
	tap_line(&tap, "# %-28s median %5llu  mean %5llu", name, r->median,
		 r->mean);
}

static void compare(void)
{
	struct result none, perf, direct, irq, work;

	if (!tap_ok(&tap, measure_none(&none), "no event") ||
	    !tap_ok(&tap, measure_perf(&perf), "a bare handler") ||
	    !tap_ok(&tap, measure_tally(DIRECT, &direct), "a direct handler") ||
	    !tap_ok(&tap, measure_tally(IRQ, &irq), "one in interrupt") ||
	    !tap_ok(&tap, measure_tally(WORK, &work), "one in a work"))
		return;
	print("no event", &none);
	print("perf, bare handler", &perf);
	print("tally, direct handler", &direct);
	print("tally, in interrupt", &irq);
	print("tally, for a work", &work);
	tap_ok(&tap, direct.median <= perf.median + MOST,
	       "a direct handler costs %lld more than a bare one (median)",
	       direct.median - perf.median);
	tap_ok(&tap, direct.mean <= perf.mean + MOST,
	       "a direct handler costs %lld more than a bare one (mean)",
	       direct.mean - perf.mean);
	tap_line(&tap, "# above a bare handler: in interrupt %lld, for a work %lld",
		 irq.median - perf.median, work.median - perf.median);
}

static int __init overhead_init(void)
{
	int err = tap_start(&tap);

	if (err)
		return err;
	tap_line(&tap, "# instructions for one overflow, of %u", HITS);
	compare();
	tap_plan(&tap);
	tap_show(&tap, "tally_overhead");
	return 0;
}

static void __exit overhead_exit(void)
{
	tap_end(&tap);
}

module_init(overhead_init);
module_exit(overhead_exit);
MODULE_IMPORT_NS(TALLY);
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("What an overflow costs");
MODULE_LICENSE("GPL");
