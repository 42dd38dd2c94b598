// SPDX-License-Identifier: GPL-2.0
/*
 * tally_pmu_seen: a module that samples with the core PMU of tally_pmu.ko: overflows in a
 * guest, periods, precisions, and events that are not silent although they overflow no more.
 * The process that loads it stays on CPU 0.
 *
 *	insmod tally_pmu.ko
 *	insmod tally_pmu_seen.ko core=cpu
 *	cat /sys/kernel/debug/tally_pmu_seen/results	TAP
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <tally/tally.h>
#include "kernels.h"
#include "pmu.h"
#include "tap.h"

static char *core = "cpu";
module_param(core, charp, 0444);
MODULE_PARM_DESC(core, "name of the core PMU");

static bool hold;
module_param(hold, bool, 0444);
MODULE_PARM_DESC(hold, "hold CPUs 0 and 1 by pinned events that are not of tally");

enum { DIRECT, IRQ, WORK, NR_HANDLERS };

static struct tap tap;
static unsigned int calls[NR_HANDLERS];
static u32 flags[NR_HANDLERS];

static void handle(struct tally_event *ev, const struct tally_sample *s, void *which)
{
	flags[(long)which] = s->flags;
	/* After the flags, for called(). */
	smp_store_release(&calls[(long)which], calls[(long)which] + 1);
}

static void parse(struct tally_builder *b, unsigned int code, bool all_cpus)
{
	char line[64];

	snprintf(line, sizeof(line), "%s/event=%#x/", core, code);
	tally_builder_parse(b, line);
	if (!all_cpus)
		tally_builder_on_cpu(b, 0);
}

static struct tally_event *build(struct tally_builder *b, const char *what)
{
	struct tally_event *ev = tally_build(b);

	if (tap_ok(&tap, !IS_ERR(ev), "%s: it is built", what))
		return ev;
	tap_line(&tap, "# %ld: %s", PTR_ERR(ev), tally_builder_why(b));
	return NULL;
}

/* Whether the handler is called for the @nr-th time within a minute. */
static bool called(unsigned int which, unsigned int nr)
{
	unsigned long end = jiffies + 60 * HZ;

	/* The flags are read after this. */
	while (smp_load_acquire(&calls[which]) < nr && time_before(jiffies, end)) {
		cpu_relax();
		if (preemptible())
			cond_resched();
	}
	return calls[which] == nr;
}

static void nested(struct irq_work *work)
{
	pmi();
}

static struct irq_work nested_work = IRQ_WORK_INIT_HARD(nested);

/* Makes an interrupt of the PMU, in code of a task that runs a guest or in an interrupt. */
static void interrupt(bool vcpu, bool in_interrupt)
{
	unsigned int nr = calls[DIRECT] + 1;
	u64 now = local_clock();

	/* The clock that is counted may advance by ticks. */
	while (local_clock() == now)
		cpu_relax();
	preempt_disable();
	if (vcpu)
		current->flags |= PF_VCPU;
	if (in_interrupt)
		irq_work_queue(&nested_work);
	else
		pmi();
	tap_ok(&tap, called(DIRECT, nr), "guest: an overflow");
	current->flags &= ~PF_VCPU;
	preempt_enable();
}

/* The event counts nanoseconds: each interrupt is an overflow. */
static void test_guest(void)
{
	struct tally_overflow_stats stats;
	struct tally_builder b;
	struct tally_event *ev;

	parse(&b, PMU_EVENT_CYCLES, false);
	tally_builder_period(&b, 1);
	tally_builder_on_overflow(&b, handle, (void *)DIRECT);
	tally_builder_on_overflow_irq(&b, handle, (void *)IRQ);
	tally_builder_on_overflow_work(&b, handle, (void *)WORK);
	ev = build(&b, "guest");
	if (!ev)
		return;
	interrupt(false, false);
	tap_is(&tap, flags[DIRECT] & TALLY_SAMPLE_GUEST, 0, "guest: not in one");
	interrupt(true, false);
	tap_is(&tap, flags[DIRECT] & TALLY_SAMPLE_GUEST, TALLY_SAMPLE_GUEST,
	       "guest: the direct handler sees it");
	tap_ok(&tap, called(IRQ, 2) && flags[IRQ] & TALLY_SAMPLE_GUEST,
	       "guest: the handler in interrupt, too");
	tap_ok(&tap, called(WORK, 2) && flags[WORK] & TALLY_SAMPLE_GUEST,
	       "guest: and the one in a work");
	tally_event_overflow_stats(ev, &stats);
	tap_is(&tap, stats.guest, 1, "guest: it is counted once");
	/* Elsewhere the PMU's interrupts do not interrupt each other. */
	if (IS_ENABLED(CONFIG_X86)) {
		interrupt(true, true);
		tap_is(&tap, flags[DIRECT] & TALLY_SAMPLE_GUEST, 0,
		       "guest: an interrupt that ends its turn is not in it");
	}
	tally_event_release(ev);
}

static bool comes_to(struct tally_event *ev, enum tally_state state)
{
	unsigned long end = jiffies + 60 * HZ;

	while (tally_event_state(ev) != state && time_before(jiffies, end))
		msleep(20);
	return tally_event_state(ev) == state;
}

/* An event that overflows once, and one with a limit: neither is silent afterwards. */
static void test_spent(void)
{
	struct tally_builder b;
	struct tally_event *ev;
	u64 total = 0;
	int i;

	core_write(0, total);
	parse(&b, PMU_EVENT_WRITTEN, false);
	tally_builder_period(&b, 1000);
	tally_builder_on_overflow(&b, handle, (void *)DIRECT);
	tally_builder_one_shot(&b);
	ev = build(&b, "one-shot");
	if (!ev)
		return;
	for (i = 0; i < 5; i++) {
		total += 1000;
		core_write(0, total);
		/* The event may not be off yet. */
		total += 10000;
		core_write(0, total);
		tap_ok(&tap, tally_event_state(ev) != TALLY_STATE_SILENT, "one-shot: after it");
		tap_ok(&tap, comes_to(ev, TALLY_STATE_OFF), "one-shot: it is off");
		tally_event_rearm(ev, 1000);
		tap_ok(&tap, comes_to(ev, TALLY_STATE_ACTIVE), "one-shot: it is rearmed");
	}
	tally_event_release(ev);

	parse(&b, PMU_EVENT_WRITTEN, false);
	tally_builder_period(&b, 1000);
	tally_builder_on_overflow(&b, handle, (void *)DIRECT);
	tally_builder_disabled(&b);
	ev = build(&b, "limit");
	if (!ev)
		return;
	tally_event_refresh(ev, 1);
	core_write(0, total + 1000);
	core_write(0, total + 100000);
	tap_ok(&tap, tally_event_state(ev) != TALLY_STATE_SILENT, "limit: after it");
	tap_ok(&tap, comes_to(ev, TALLY_STATE_OFF), "limit: it is off");
	tally_event_release(ev);
}

/* A period that is set anew is not measured by the one before. */
static void test_period(void)
{
	struct tally_builder b;
	struct tally_event *ev;

	core_write(0, 1000000);
	parse(&b, PMU_EVENT_WRITTEN, true);
	tally_builder_period(&b, 1000);
	tally_builder_on_overflow(&b, handle, (void *)DIRECT);
	tally_builder_precise(&b, TALLY_PRECISE_MAX);
	ev = build(&b, "period");
	if (!ev)
		return;
	tap_is(&tap, tally_event_period(ev, 0), 1000, "period: of CPU 0");
	tap_is(&tap, tally_event_period(ev, -1), 0, "period: of no CPU");
	tap_is(&tap, tally_event_period(ev, nr_cpu_ids), 0, "period: of a CPU that cannot be");
	tap_is(&tap, tally_event_set_period(ev, 77), 0, "period: another one");
	tap_is(&tap, tally_event_period(ev, 0), 77, "period: is in effect");
	tap_is(&tap, tally_event_set_period(ev, 1000000), 0, "period: a long one");
	core_write(0, 1005000);
	tap_is(&tap, tally_event_state(ev), TALLY_STATE_ACTIVE, "period: is not over");
	tap_is(&tap, tally_event_precise(ev), 3, "precise: the PMU accepts each");
	tally_event_release(ev);
	parse(&b, PMU_EVENT_WRITTEN, false);
	ev = build(&b, "period: none");
	if (!ev)
		return;
	tap_is(&tap, tally_event_period(ev, 0), 0, "period: none of an event that counts");
	tally_event_release(ev);
}

static struct perf_event *held[2];

static void hold_it(struct perf_event *event, struct perf_sample_data *data,
		    struct pt_regs *regs)
{
}

/* The name of the function that the kernel's NMI watchdog has. */
static void watchdog_overflow_callback(struct perf_event *event, struct perf_sample_data *data,
				       struct pt_regs *regs)
{
}

/* The PMU has the number of raw events. */
static int hold_cpus(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = PMU_EVENT_WRITTEN,
		.sample_period = 1000000,
		.pinned = 1,
	};

	held[0] = perf_event_create_kernel_counter(&attr, 0, NULL, hold_it, NULL);
	if (IS_ERR(held[0]))
		return PTR_ERR(held[0]);
	held[1] = perf_event_create_kernel_counter(&attr, 1, NULL, watchdog_overflow_callback,
						   NULL);
	if (!IS_ERR(held[1]))
		return 0;
	perf_event_release_kernel(held[0]);
	return PTR_ERR(held[1]);
}

static int __init seen_init(void)
{
	int err = hold ? hold_cpus() : tap_start(&tap);

	if (err || hold)
		return err;
	test_guest();
	test_spent();
	test_period();
	tap_plan(&tap);
	tap_show(&tap, "tally_pmu_seen");
	return 0;
}
module_init(seen_init);

static void __exit seen_exit(void)
{
	if (hold) {
		perf_event_release_kernel(held[0]);
		perf_event_release_kernel(held[1]);
		return;
	}
	tap_end(&tap);
}
module_exit(seen_exit);

MODULE_DESCRIPTION("Samples of events of PMUs for tests of tally");
MODULE_AUTHOR("The tally developers");
MODULE_LICENSE("GPL");
IMPORT_TALLY();
