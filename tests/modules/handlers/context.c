// SPDX-License-Identifier: GPL-2.0
/* The context of handlers, the number of their calls, and the count of missed ones. */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include "handlers.h"

#define ALL (BIT(DIRECT) | BIT(IRQ) | BIT(WORK))

static struct tally_what watch(void)
{
	return TALLY_BREAKPOINT(&word, sizeof(word), HW_BREAKPOINT_W);
}

/* Queued handlers have been called for all overflows but those that were missed. */
static void expect_deferred(struct seen *seen, unsigned int which, u64 want,
			    const char *what)
{
	if (which & BIT(IRQ))
		tap_is(&tap, atomic_read(&seen->calls[IRQ]), want, what);
	if (which & BIT(WORK))
		tap_is(&tap, atomic_read(&seen->calls[WORK]), want, what);
}

static void breakpoint(unsigned int which, unsigned int n, bool irqs_off,
		       unsigned int queue)
{
	struct tally_overflow_stats stats;
	struct seen *seen = new_seen();
	struct tally_builder b;
	struct tally_event *ev;
	unsigned long flags;
	char what[64];

	snprintf(what, sizeof(what), "%u writes, handlers %#x, irqs %s, queue %u",
		 n, which, irqs_off ? "off" : "on", queue);
	seen->addr = (unsigned long)&word;
	tally_builder_init(&b, watch());
	tally_builder_on_cpu(&b, raw_smp_processor_id());
	tally_builder_period(&b, 1);
	if (which & ~BIT(DIRECT))
		tally_builder_queue(&b, queue);
	hand_over(&b, which, seen);
	/* The task writes on the CPU that the event is on. */
	migrate_disable();
	b.cpu = smp_processor_id();
	ev = tally_build(&b);
	if (!was_built(ev, &b, what))
		goto out;
	if (irqs_off)
		local_irq_save(flags);
	write_words(n);
	if (irqs_off)
		local_irq_restore(flags);
	tally_event_disable(ev);
	tap_ok(&tap, quiet(ev, seen, which), "%s: all is handled", what);
	tally_event_overflow_stats(ev, &stats);
	tap_is(&tap, stats.overflows, n, "as many overflows as writes");
	tap_is(&tap, stats.skipped, 0, "none is skipped");
	if (which & BIT(DIRECT)) {
		tap_is(&tap, atomic_read(&seen->calls[DIRECT]), n,
		       "as many direct calls");
		tap_is(&tap, atomic_read(&seen->nmi), n, "each of them in NMI");
	}
	if (which == BIT(DIRECT))
		tap_is(&tap, stats.missed, 0, "nothing is missed");
	else if (irqs_off)
		tap_is(&tap, stats.missed, n > queue ? n - queue : 0,
		       "what found no place is missed");
	tap_is(&tap, tally_event_release(ev), 0, what);
	expect_deferred(seen, which, n - stats.missed,
			"deferred calls are as many as were not missed");
	expect_clean(seen, what);
out:
	migrate_enable();
	kvfree(seen);
}

static void write_some(void *unused)
{
	write_words(1000);
}

static void breakpoint_everywhere(void)
{
	struct tally_overflow_stats stats;
	struct seen *seen = new_seen();
	u32 n = 1000 * num_online_cpus();
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, watch());
	tally_builder_period(&b, 1);
	hand_over(&b, ALL, seen);
	ev = tally_build(&b);
	if (was_built(ev, &b, "a breakpoint on all CPUs")) {
		on_each_cpu(write_some, NULL, true);
		tally_event_disable(ev);
		tap_ok(&tap, quiet(ev, seen, ALL), "all is handled");
		tally_event_overflow_stats(ev, &stats);
		tap_is(&tap, atomic_read(&seen->calls[DIRECT]), n,
		       "all CPUs' writes are seen");
		tap_is(&tap, atomic_read(&seen->nmi), n, "in NMI");
		tally_event_release(ev);
		expect_deferred(seen, ALL, n - stats.missed, "deferred, too");
		expect_clean(seen, "on all CPUs");
	}
	kvfree(seen);
}

static void test_breakpoint(void)
{
	static const unsigned int masks[] = { BIT(DIRECT), BIT(IRQ), BIT(WORK),
					      BIT(IRQ) | BIT(WORK), ALL };
	static const unsigned int writes[] = { 1, 1000, 20000 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		for (k = 0; k < ARRAY_SIZE(writes); k++) {
			breakpoint(masks[i], writes[k], false, 256);
			breakpoint(masks[i], writes[k], true, 256);
		}
		breakpoint(masks[i], 100, true, 4);
	}
	breakpoint_everywhere();
}

/* On other machines than x86, a CPU would hit a breakpoint with a handler for ever. */
static void test_no_breakpoint(void)
{
	struct seen *seen = new_seen();
	struct tally_builder b;

	tally_builder_init(&b, watch());
	tally_builder_period(&b, 1);
	hand_over(&b, BIT(DIRECT), seen);
	tap_is(&tap, PTR_ERR(tally_build(&b)), -EOPNOTSUPP,
	       "a breakpoint does not overflow here");
	tap_ok(&tap, *tally_builder_why(&b), "and the builder says why");
	kvfree(seen);
}

static void spin(void)
{
	unsigned long end = jiffies + HZ / 2;

	while (time_before(jiffies, end))
		cpu_relax();
}

/* Overflows of an event on all CPUs, with @freq or @period; in NMI if @nmi is set. */
static void interrupts(struct tally_what what_to, u64 period, u64 freq, bool nmi,
		       const char *what)
{
	struct tally_overflow_stats stats;
	struct seen *seen = new_seen();
	struct tally_builder b;
	struct tally_event *ev;
	int calls;

	tally_builder_init(&b, what_to);
	tally_builder_period(&b, period);
	tally_builder_freq(&b, freq);
	tally_builder_max_rate(&b, TALLY_RATE_UNLIMITED);
	hand_over(&b, ALL, seen);
	ev = tally_build(&b);
	if (was_built(ev, &b, what)) {
		spin();
		tally_event_disable(ev);
		tap_ok(&tap, quiet(ev, seen, ALL), "%s: all is handled", what);
		tally_event_overflow_stats(ev, &stats);
		calls = atomic_read(&seen->calls[DIRECT]);
		tap_ok(&tap, calls > 10, "%s: %d calls", what, calls);
		tap_is(&tap, calls, stats.overflows - stats.skipped, what);
		tap_is(&tap, atomic_read(&seen->nmi), nmi ? calls : 0,
		       nmi ? "each in NMI" : "none in NMI");
		tally_event_release(ev);
		expect_deferred(seen, ALL, stats.overflows - stats.missed,
				"deferred calls are as many as were not missed");
		expect_clean(seen, what);
	}
	kvfree(seen);
}

void test_context(void)
{
	if (IS_ENABLED(CONFIG_X86))
		test_breakpoint();
	else
		test_no_breakpoint();
	interrupts(TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK), 1000000, 0, false,
		   "cpu-clock, 1 ms");
	interrupts(TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK), 0, 200, false,
		   "cpu-clock, 200 Hz");
	if (!has_pmu) {
		tap_skip(&tap, "cycles", "no PMU");
		return;
	}
	interrupts(TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES), 200000, 0, has_nmi,
		   "cycles, by period");
	interrupts(TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES), 0, 1000, has_nmi,
		   "cycles, by frequency");
}
