// SPDX-License-Identifier: GPL-2.0
/* A budget whose event of perf was on before its event of tally. */
#include <linux/time64.h>
#include <tally/tally.h>
#include "pmu.h"
#include "reads.h"
#include "tap.h"

/* The total of the event, and what it counts when perf's event is next stopped or read. */
static u64 total, to_write;

static void write_once(struct pt_regs *regs)
{
	if (!to_write)
		return;
	total += to_write;
	to_write = 0;
	core_set(0, total);
}

static unsigned int nr_exceeded;

static void count_exceeded(struct tally_event *ev, const struct tally_sample *s, void *unused)
{
	nr_exceeded++;
}

static void init_budget(struct tally_builder *b)
{
	tally_builder_parse(b, "r1");
	tally_builder_on_cpu(b, 0);
	tally_builder_budget(b, 100, 10 * NSEC_PER_SEC);
	tally_builder_on_overflow(b, count_exceeded, NULL);
	tally_builder_disabled(b);
}

/* A trial of a budget that is to stay disabled leaves perf's event in the middle of its period. */
static struct tally_event *enable_after_trial(struct tally_budget_stats *first)
{
	struct tally_event *ev;
	struct tally_builder b;

	init_budget(&b);
	tally_builder_require(&b);
	WRITE_ONCE(pmi_functions, BIT(PMU_IN_STOP));
	ev = tally_build(&b);
	WRITE_ONCE(pmi_functions, 0);
	if (!tap_ok(&tap, !IS_ERR(ev), "budget: it is built: %s", tally_builder_why(&b)))
		return NULL;
	tap_is(&tap, tally_event_enable(ev), 0, "budget: it is enabled");
	tally_event_budget(ev, 0, first);
	return ev;
}

/* Enables a set. perf's event is on before the members begin together, and counts 60 until then. */
static void enable_set(struct tally_set *set)
{
	to_write = 60;
	WRITE_ONCE(pmi_functions, BIT(PMU_IN_READ));
	tap_is(&tap, tally_set_enable(set), 0, "budget: its set is enabled");
	WRITE_ONCE(pmi_functions, 0);
}

/* Returns an enabled set of which 30 counts in this window are from an earlier time. */
static struct tally_set *build_twice_enabled(struct tally_budget_stats *first)
{
	static struct tally_builder b[2];
	struct tally_set *set;

	init_budget(&b[0]);
	tally_builder_parse(&b[1], "cycles");
	tally_builder_on_cpu(&b[1], 0);
	set = tally_set_build(b, 2);
	if (!tap_ok(&tap, !IS_ERR(set), "budget: its set is built: %s", tally_builder_why(&b[0])))
		return NULL;
	enable_set(set);
	tally_event_budget(tally_set_event(set, 0), 0, first);
	total += 30;
	core_write(0, total);
	tally_set_disable(set);
	enable_set(set);
	return set;
}

/*
 * What perf's event has counted before tally's is no part of the budget, and ends no period too
 * early or too late. Returns false if a window has ended meanwhile.
 */
static bool try_budget(bool in_set)
{
	struct tally_budget_stats first, stats, last;
	u64 used = 0, left = in_set ? 70 : 100;
	struct tally_set *set = NULL;
	struct tally_event *ev;

	core_write(0, 0);
	total = 0;
	to_write = 60;
	nr_exceeded = 0;
	WRITE_ONCE(pmi_hook, write_once);
	if (in_set)
		set = build_twice_enabled(&first);
	ev = in_set ? tally_set_event(set, 0) : enable_after_trial(&first);
	WRITE_ONCE(pmi_hook, NULL);
	if (!ev)
		return true;
	tap_is(&tap, total, in_set ? 150 : 60, "budget: perf's event has counted before");
	core_write(0, total + left);
	tap_is(&tap, tally_event_budget_used(ev, &used), 0, "budget: a read");
	tally_event_budget(ev, 0, &stats);
	tap_is(&tap, stats.exceeded, 0, "budget: no window is exceeded");
	tap_is(&tap, nr_exceeded, 0, "budget: and its handler is not called");
	core_write(0, total + left + 1);
	tally_event_budget(ev, 0, &last);
	if (last.window == first.window) {
		tap_is(&tap, used, 100, "budget: all of it is used");
		tap_is(&tap, last.exceeded, 1, "budget: the window is exceeded by one");
		tap_is(&tap, nr_exceeded, 1, "budget: and its handler is called at once");
	}
	if (in_set)
		tally_set_release(set);
	else
		tally_event_release(ev);
	return last.window == first.window;
}

void test_budget(void)
{
	tap_ok(&tap, try_budget(false) || try_budget(false),
	       "budget: after a trial, all in one window");
	tap_ok(&tap, try_budget(true) || try_budget(true), "budget: in a set, all in one window");
}
