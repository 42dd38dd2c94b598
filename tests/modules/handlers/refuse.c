// SPDX-License-Identifier: GPL-2.0
/* Settings and calls that are refused for events with handlers. */
#include <linux/kernel.h>
#include <linux/slab.h>
#include "handlers.h"

static const struct tally_what faults =
	TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS);
static struct seen *seen;

static void handler(struct tally_builder *b)
{
	hand_over(b, BIT(DIRECT), seen);
}

static void deferred(struct tally_builder *b)
{
	hand_over(b, BIT(IRQ), seen);
}

static void period(struct tally_builder *b)
{
	tally_builder_period(b, 1000);
}

static void freq(struct tally_builder *b)
{
	tally_builder_freq(b, 100);
}

static void sign(struct tally_builder *b)
{
	tally_builder_period(b, 1ULL << 63);
}

static void too_often(struct tally_builder *b)
{
	tally_builder_freq(b, 2000000000);
}

static void queue(struct tally_builder *b)
{
	tally_builder_queue(b, 8);
}

static void large_queue(struct tally_builder *b)
{
	tally_builder_queue(b, 65537);
}

static void rate(struct tally_builder *b)
{
	tally_builder_max_rate(b, 10);
}

static void me(struct tally_builder *b)
{
	tally_builder_on_pid(b, 0);
}

static void sigtrap(struct tally_builder *b)
{
	tally_builder_sigtrap(b, 1);
}

static void branches(struct tally_builder *b)
{
	tally_builder_branches(b, PERF_SAMPLE_BRANCH_ANY);
}

/* A function that is not of this module. */
static void foreign(struct tally_builder *b)
{
	tally_builder_on_overflow(b, (tally_overflow_fn)(void *)kvfree, NULL);
}

typedef void (*setter)(struct tally_builder *b);

struct refusal {
	const char *what;
	int err;
	setter set[5];
};

static const struct refusal refusals[] = {
	{ "a handler without a period", -EINVAL, { handler } },
	{ "a period without a handler", -EINVAL, { period } },
	{ "a period and a frequency", -EINVAL, { handler, period, freq } },
	{ "bit 63", -EINVAL, { handler, sign } },
	{ "a frequency above the limit", -EINVAL, { handler, too_often } },
	{ "a queue of 65,537", -EINVAL, { deferred, period, large_queue } },
	{ "a queue that nobody reads", -EINVAL, { handler, period, queue } },
	{ "a rate of nothing", -EINVAL, { rate } },
	{ "a queue of nothing", -EINVAL, { queue } },
	{ "one shot of nothing", -EINVAL, { me, tally_builder_one_shot } },
	{ "one shot on all CPUs", -EINVAL,
	  { handler, period, tally_builder_one_shot } },
	{ "one shot with a frequency", -EINVAL,
	  { handler, freq, me, tally_builder_one_shot } },
	{ "one shot, inherited", -EINVAL,
	  { handler, period, me, tally_builder_one_shot, tally_builder_inherit } },
	{ "time of nothing", -EINVAL, { tally_builder_sample_time } },
	{ "sigtrap alone", -EINVAL, { period, me, sigtrap } },
	{ "sigtrap without a task", -EINVAL,
	  { period, sigtrap, tally_builder_remove_on_exec } },
	{ "sigtrap without a period", -EINVAL,
	  { me, sigtrap, tally_builder_remove_on_exec } },
	{ "sigtrap, inherited", -EOPNOTSUPP,
	  { period, me, sigtrap, tally_builder_remove_on_exec,
	    tally_builder_inherit } },
	{ "both on exec", -EINVAL,
	  { me, tally_builder_enable_on_exec, tally_builder_remove_on_exec } },
	{ "on exec without a task", -EINVAL, { tally_builder_enable_on_exec } },
	{ "branches of software", -EOPNOTSUPP, { handler, period, branches } },
	{ "a handler elsewhere", -EINVAL, { foreign, period } },
};

static void expect_refused(const struct refusal *r)
{
	struct tally_builder b;
	struct tally_event *ev;
	size_t i;

	tally_builder_init(&b, faults);
	for (i = 0; i < ARRAY_SIZE(r->set) && r->set[i]; i++)
		r->set[i](&b);
	ev = tally_build(&b);
	tap_is(&tap, PTR_ERR_OR_ZERO(ev), r->err, r->what);
	tap_ok(&tap, *tally_builder_why(&b), "%s: the builder says why", r->what);
	tally_event_release(ev);
}

/* Calls that an event refuses because it only counts, or is of another kind. */
static void refused_calls(void)
{
	struct tally_overflow_stats stats;
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_init(&b, faults);
	ev = tally_build(&b);
	if (!was_built(ev, &b, "an event that counts"))
		return;
	tap_is(&tap, tally_event_set_period(ev, 1), -EINVAL, "has no period");
	tap_is(&tap, tally_event_refresh(ev, 1), -EINVAL, "no overflows");
	tap_is(&tap, tally_event_rearm(ev, 1), -EINVAL, "is not one-shot");
	tap_is(&tap, tally_event_overflow_stats(ev, &stats), -EINVAL, "tells none");
	tap_is(&tap, tally_event_modify(ev, 0, 8, HW_BREAKPOINT_W), -EOPNOTSUPP,
	       "is no breakpoint");
	tally_event_release(ev);

	tally_builder_init(&b, faults);
	tally_builder_period(&b, 10);
	tally_builder_on_pid(&b, 0);
	tally_builder_inherit(&b);
	handler(&b);
	ev = tally_build(&b);
	if (!was_built(ev, &b, "an inherited event"))
		return;
	tap_is(&tap, tally_event_set_period(ev, 1), -EOPNOTSUPP,
	       "keeps its period");
	tap_is(&tap, tally_event_rearm(ev, 1), -EINVAL, "is not one-shot");
	tally_event_release(ev);
}

/* A set that is tried although it begins disabled, with a member that would send signals. */
static void refused_trial(void)
{
	struct tally_builder b;
	struct tally_set *set;

	tally_builder_init(&b, faults);
	period(&b);
	me(&b);
	sigtrap(&b);
	tally_builder_remove_on_exec(&b);
	tally_builder_disabled(&b);
	tally_builder_require(&b);
	set = tally_set_build(&b, 1);
	tap_is(&tap, PTR_ERR_OR_ZERO(set), -EOPNOTSUPP, "the trial of a signal");
	tap_is(&tap, tally_set_failed(&b, 1), 0, "because of the first member");
	tally_set_release(set);
}

void test_refusals(void)
{
	size_t i;

	seen = new_seen();
	for (i = 0; i < ARRAY_SIZE(refusals); i++)
		expect_refused(&refusals[i]);
	refused_calls();
	refused_trial();
	kvfree(seen);
}
