// SPDX-License-Identifier: GPL-2.0
/*
 * New periods that begin at once in hard interrupt, and budgets, as modules use them. The
 * events are probes of a function, so each call of it is one count on any architecture.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/time64.h>
#include <tally/tally.h>
#include "kernels.h"
#include "tap.h"

static struct tap tap;

/* Overflows, by the direct handler; and calls of the handler in interrupt. */
static atomic_t overflows = ATOMIC_INIT(0);
static atomic_t interrupts = ATOMIC_INIT(0);
/* What the handler in interrupt saw: written there, read when @interrupts is 1. */
static int answer, before, after;
static u64 used_there;

static noinline void hit(void)
{
	asm volatile("");
}

/* No interrupt comes within a probe, in which the probes of its handler would be missed. */
static void hits(unsigned int n)
{
	unsigned long flags;

	local_irq_save(flags);
	while (n--)
		hit();
	local_irq_restore(flags);
}

static void overflowed(struct tally_event *ev, const struct tally_sample *sample, void *context)
{
	atomic_inc(&overflows);
}

/* The function is called here, before any work can have run on this CPU. */
static void call_in_interrupt(unsigned int n)
{
	hits(n - 1);
	before = atomic_read(&overflows);
	hit();
	after = atomic_read(&overflows);
}

static void reload(struct tally_event *ev, const struct tally_sample *sample, void *context)
{
	if (atomic_read(&interrupts))
		return;
	answer = tally_event_reload(ev, 3);
	call_in_interrupt(3);
	atomic_inc(&interrupts);
}

static void rearm(struct tally_event *ev, const struct tally_sample *sample, void *context)
{
	if (atomic_read(&interrupts))
		return;
	answer = tally_event_rearm(ev, 2);
	call_in_interrupt(2);
	atomic_inc(&interrupts);
}

static void look(struct tally_event *ev, const struct tally_sample *sample, void *context)
{
	answer = tally_event_budget_used(ev, &used_there);
	atomic_inc(&interrupts);
}

static void prepare(struct tally_builder *b, tally_overflow_fn fn)
{
	atomic_set(&overflows, 0);
	atomic_set(&interrupts, 0);
	tally_builder_init(b, TALLY_KPROBE((unsigned long)hit));
	tally_builder_on_cpu(b, raw_smp_processor_id());
	tally_builder_on_overflow(b, overflowed, NULL);
	tally_builder_on_overflow_irq(b, fn, NULL);
}

static bool wait_for(const atomic_t *n, int value)
{
	unsigned long end = jiffies + 60 * HZ;

	while (atomic_read(n) < value && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return atomic_read(n) >= value;
}

static void tell(const char *what)
{
	tap_ok(&tap, wait_for(&interrupts, 1), "%s: the handler in interrupt was called", what);
	tap_is(&tap, answer, 0, "there it begins a new period");
	tap_is(&tap, before, 1, "which is not over one count earlier");
	tap_is(&tap, after, 2, "but after so many counts, at once");
}

static struct tally_event *build(struct tally_builder *b, const char *what)
{
	struct tally_event *ev = tally_build(b);

	tap_ok(&tap, !IS_ERR(ev), "%s: %s", what, tally_builder_why(b));
	return IS_ERR(ev) ? NULL : ev;
}

static void reloads(void)
{
	struct tally_builder b;
	struct tally_event *ev;

	prepare(&b, reload);
	tally_builder_period(&b, 10);
	ev = build(&b, "an event with period 10");
	if (!ev)
		return;
	hits(10);
	tell("tally_event_reload()");
	hits(2);
	tap_is(&tap, atomic_read(&overflows), 2, "the period stays: no overflow after 2 more");
	hits(1);
	tap_is(&tap, atomic_read(&overflows), 3, "but after 3");
	tap_is(&tap, tally_event_reload(ev, 0), -EINVAL, "no period");
	tap_is(&tap, tally_event_reload(ev, 1ULL << 63), -EINVAL, "a period of 2^63");
	tap_is(&tap, tally_event_reload(NULL, 1), -EINVAL, "no event");
	tap_is(&tap, tally_event_rearm(ev, 1), -EINVAL, "tally_event_rearm() of it");
	tap_is(&tap, tally_event_budget_used(ev, &used_there), -EINVAL, "it has no budget");
	tally_event_release(ev);
}

static void rearms(void)
{
	struct tally_builder b;
	struct tally_event *ev;

	prepare(&b, rearm);
	tally_builder_period(&b, 5);
	tally_builder_one_shot(&b);
	ev = build(&b, "a one-shot event");
	if (!ev)
		return;
	hits(5);
	tell("tally_event_rearm()");
	tap_is(&tap, tally_event_reload(ev, 1), -EINVAL, "tally_event_reload() of it");
	while (tally_event_state(ev) != TALLY_STATE_OFF)
		usleep_range(1000, 2000);
	hits(20);
	tap_is(&tap, atomic_read(&overflows), 2, "without another call it goes off");
	tap_is(&tap, tally_event_rearm(ev, 3), 0, "a call in process context");
	while (tally_event_state(ev) != TALLY_STATE_ACTIVE)
		usleep_range(1000, 2000);
	hits(3);
	tap_is(&tap, atomic_read(&overflows), 3, "switches it on again");
	tally_event_release(ev);
}

/* Returns whether all was in one window. */
static bool budget_in_one_window(struct tally_event *ev, u64 *used, int *calls)
{
	struct tally_budget_stats first, last;
	int cpu = raw_smp_processor_id();
	int begin = atomic_read(&overflows);

	tally_event_budget(ev, cpu, &first);
	tally_event_budget_used(ev, &used[0]);
	hits(3);
	tally_event_budget_used(ev, &used[1]);
	hits(1);
	calls[0] = atomic_read(&overflows) - begin;
	hits(1);
	calls[1] = atomic_read(&overflows) - begin;
	hits(20);
	calls[2] = atomic_read(&overflows) - begin;
	tally_event_budget_used(ev, &used[2]);
	tally_event_budget(ev, cpu, &last);
	tap_line(&tap, "# windows %llu to %llu", first.window, last.window);
	return first.window == last.window && !used[0] && last.exceeded == first.exceeded + 1 &&
	       last.latest[0] == last.window;
}

static void budgets(void)
{
	struct tally_budget_stats stats;
	struct tally_builder b;
	struct tally_event *ev;
	u64 used[3] = {};
	int calls[3] = {};
	bool whole = false;
	int i;

	prepare(&b, look);
	tally_builder_budget(&b, 4, NSEC_PER_SEC / 5);
	ev = build(&b, "a budget of 4 in 200 ms");
	if (!ev)
		return;
	/* A window may end meanwhile. The next try begins in a window without counts. */
	for (i = 0; i < 20 && !whole; i++) {
		whole = budget_in_one_window(ev, used, calls);
		msleep(210);
	}
	tap_ok(&tap, whole, "one window has 25 counts, and is exceeded once");
	tap_is(&tap, (long)used[1], 3, "3 of them are used after 3");
	tap_is(&tap, calls[0], 0, "4 call no handler");
	tap_is(&tap, calls[1], 1, "5 call it");
	tap_is(&tap, calls[2], 1, "25 call it once");
	tap_is(&tap, (long)used[2], 25, "all are used");
	tap_ok(&tap, wait_for(&interrupts, 1), "the handler in interrupt was called");
	tap_is(&tap, answer, 0, "it can ask what was used");
	tap_ok(&tap, used_there >= 5 && used_there <= 25, "which was %llu", used_there);
	tap_is(&tap, tally_event_reload(ev, 1), -EINVAL, "tally_event_reload() of it");
	tap_is(&tap, tally_event_budget(ev, nr_cpu_ids, &stats), -EINVAL, "no such CPU");
	tap_is(&tap, tally_event_budget(ev, !raw_smp_processor_id(), &stats), -EINVAL,
	       "a CPU that it does not count on");
	tap_is(&tap, tally_event_budget(ev, 0, NULL), -EINVAL, "nowhere to write to");
	tally_event_release(ev);
}

static void refused(struct tally_builder *b, int err, const char *what)
{
	tap_is(&tap, PTR_ERR_OR_ZERO(tally_build(b)), err, what);
	tap_ok(&tap, *tally_builder_why(b), "its sentence: %s", tally_builder_why(b));
}

static void refusals(void)
{
	struct tally_builder b;

	prepare(&b, look);
	tally_builder_budget(&b, 0, NSEC_PER_SEC);
	refused(&b, -EINVAL, "a budget of nothing");
	prepare(&b, look);
	tally_builder_budget(&b, 1, NSEC_PER_USEC);
	refused(&b, -ERANGE, "a short window");
	prepare(&b, look);
	tally_builder_budget(&b, 1, NSEC_PER_SEC);
	tally_builder_one_shot(&b);
	refused(&b, -EINVAL, "a one-shot event with a budget");
}

static int __init budget_init(void)
{
	int err = tap_start(&tap);

	if (err)
		return err;
	/* The events are of this CPU. */
	migrate_disable();
	reloads();
	rearms();
	budgets();
	refusals();
	migrate_enable();
	tap_plan(&tap);
	tap_show(&tap, "tally_budget");
	return 0;
}

static void __exit budget_exit(void)
{
	tap_end(&tap);
}

module_init(budget_init);
module_exit(budget_exit);
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Tests of tally's budgets");
MODULE_LICENSE("GPL");
IMPORT_TALLY();
