// SPDX-License-Identifier: GPL-2.0
/* Breakpoints and probes, whose counts are exact. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/compiler.h>
#include <linux/hw_breakpoint.h>
#include <linux/irqflags.h>
#include "consumer.h"

static unsigned long watched __aligned(8);
static unsigned long beside __aligned(8);

/*
 * arm64 steps over the instruction that hit a breakpoint, and does not disable interrupts
 * for that. An interrupt ends the step, and the instruction runs, and hits, again. So
 * interrupts are disabled here.
 */
static void writes(unsigned int n)
{
	unsigned long flags;

	local_irq_save(flags);
	while (n--) {
		WRITE_ONCE(watched, n);
		WRITE_ONCE(beside, n);
	}
	local_irq_restore(flags);
}

static void reads(unsigned int n)
{
	unsigned long flags;

	local_irq_save(flags);
	while (n--) {
		(void)READ_ONCE(watched);
		(void)READ_ONCE(beside);
	}
	local_irq_restore(flags);
}

static void quiet_bumps(unsigned int n)
{
	unsigned long flags;

	local_irq_save(flags);
	bumps(n);
	local_irq_restore(flags);
}

/* Machines without breakpoints return an error; all of TCG's machines have them. */
static struct tally_event *build_or_skip(struct tally_builder *b,
					 const char *what)
{
	struct tally_event *ev = tally_build(b);

	if (ev == ERR_PTR(-ENOENT) || ev == ERR_PTR(-EOPNOTSUPP) ||
	    ev == ERR_PTR(-ENODEV) || bump_is_refused(ev)) {
		tap_skip(&tap, what, tally_builder_why(b));
		return NULL;
	}
	if (!tap_ok(&tap, !IS_ERR(ev), "%s: is built", what)) {
		tap_line(&tap, "# %ld: %s", PTR_ERR(ev), tally_builder_why(b));
		return NULL;
	}
	return ev;
}

static void write_breakpoint(void)
{
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, TALLY_BREAKPOINT(&watched, sizeof(watched),
						HW_BREAKPOINT_W));
	ev = build_or_skip(&b, "write breakpoint");
	if (!ev)
		return;
	writes(100);
	reads(50);
	expect_value(ev, 100, "100 writes are 100");
	tally_event_disable(ev);
	writes(10);
	expect_value(ev, 100, "none while it is off");
	tally_event_enable(ev);
	writes(7);
	expect_value(ev, 107, "and 7 more");
	tally_event_release(ev);
	writes(1);
}

static void access_breakpoint(void)
{
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, TALLY_BREAKPOINT(&watched, sizeof(watched),
						HW_BREAKPOINT_RW));
	ev = build_or_skip(&b, "read and write breakpoint");
	if (!ev)
		return;
	writes(30);
	reads(12);
	expect_value(ev, 42, "30 writes and 12 reads are 42");
	tally_event_release(ev);
}

static void execute_breakpoint(void)
{
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, TALLY_BREAKPOINT(bump, 0, HW_BREAKPOINT_X));
	ev = build_or_skip(&b, "execute breakpoint");
	if (!ev)
		return;
	quiet_bumps(25);
	expect_value(ev, 25, "25 calls are 25");
	tally_event_release(ev);
	bumps(1);
}

/* Each event ends before the next one begins, so the code of the probe is patched each time. */
static void expect_bumps(struct tally_what what, const char *name)
{
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, what);
	ev = build_or_skip(&b, name);
	if (!ev)
		return;
	bumps(1000);
	expect_value(ev, 1000, "1000 calls are 1000");
	tally_event_reset(ev);
	bumps(3);
	expect_value(ev, 3, "and 3 after the reset");
	tally_event_release(ev);
	bumps(1);
}

static void kprobes(void)
{
	expect_bumps(TALLY_KPROBE(bump), "kprobe by address");
	expect_bumps(TALLY_KPROBE_SYMBOL("bump", 0), "kprobe by symbol");
	expect_bumps(TALLY_KRETPROBE(bump), "kretprobe by address");
	expect_bumps(TALLY_KRETPROBE_SYMBOL("bump"), "kretprobe by symbol");
}

static void kprobe_line(void)
{
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_parse(&b, "kprobe:bump name=calls");
	ev = build_or_skip(&b, "kprobe by line");
	if (!ev)
		return;
	bumps(11);
	expect_value(ev, 11, "11 calls are 11");
	tally_event_release(ev);
}

void test_probes(void)
{
	write_breakpoint();
	access_breakpoint();
	execute_breakpoint();
	kprobes();
	kprobe_line();
}
