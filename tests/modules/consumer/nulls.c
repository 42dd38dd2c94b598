// SPDX-License-Identifier: GPL-2.0
/*
 * Each exported function is called with NULL and with an ERR_PTR for each of its
 * pointers: in process context and, if it may be called there, in hard interrupt.
 * scripts/check looks for each exported function in null_rows.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/hw_breakpoint.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "kernels.h"
#include "consumer.h"

struct part {
	TALLY_SECTION(section, 1);
};

static struct tally_builder *b;
static struct tally_event *ev;
static struct tally_set *set;
static struct part part;
static struct tally_set_window window;
static struct tally_overflow_stats stats;
static struct tally_count count;
static u64 value;
static struct tally_budget_stats budget;
static struct tally_func_stats func_stats;
static char buf[64];

/* Whether the builder has kept the error. */
static bool is_kept(void)
{
	struct tally_event *built = tally_build(b);

	tally_event_release(built);
	return PTR_ERR(built) == -EINVAL && *tally_builder_why(b);
}

/* A handler of NULL is no error; a handler that is an ERR_PTR is. */
static bool handler_is_kept(void *bad)
{
	tally_builder_period(b, 1000);
	return !bad || is_kept();
}

static void init(void)
{
	tally_builder_init(b, TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
}

#define EINVAL_FROM(call) ((call) == -EINVAL)
#define NOTHING(call) ({ call; true; })

enum where { ASLEEP, ANYWHERE };

struct row {
	const char *name;
	enum where where;
	unsigned int asleep, in_irq, wrong;
	struct row *next;
};

static struct row *rows, **last = &rows;

/* Whether a row is for this context. The first call, in process context, lists it. */
static bool begins(struct row *row, bool in_irq)
{
	if (in_irq) {
		row->in_irq += row->where == ANYWHERE;
		return row->where == ANYWHERE;
	}
	if (!row->asleep++) {
		*last = row;
		last = &row->next;
	}
	init();
	return true;
}

#define ANSWERS(function, context, is_so)						\
	do {									\
		static struct row row = { .name = #function, .where = (context) };	\
										\
		if (begins(&row, in_irq) && !(is_so))				\
			row.wrong++;						\
	} while (0)

static noinline void try(void *bad, bool in_irq)
{
#include "null_rows.h"
}

static void try_both(bool in_irq)
{
	try(NULL, in_irq);
	try(ERR_PTR(-EINVAL), in_irq);
}

static enum hrtimer_restart interrupt(struct hrtimer *timer)
{
	try_both(true);
	return HRTIMER_NORESTART;
}

static void try_all(void)
{
	struct hrtimer timer;
	struct row *row;

	try_both(false);
	hrtimer_setup_on_stack(&timer, interrupt, CLOCK_MONOTONIC,
			       HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&timer, ms_to_ktime(1), HRTIMER_MODE_REL_PINNED_HARD);
	while (hrtimer_active(&timer))
		msleep(20);
	destroy_hrtimer_on_stack(&timer);
	for (row = rows; row; row = row->next)
		tap_ok(&tap, !row->wrong && row->asleep == 2 &&
		       row->in_irq == 2 * (row->where == ANYWHERE),
		       "%s with NULL and ERR_PTR%s", row->name,
		       row->where == ANYWHERE ? ", also in an interrupt" : "");
}

void test_nulls(void)
{
	b = kzalloc(sizeof(*b), GFP_KERNEL);
	if (!tap_ok(&tap, b, "a builder"))
		return;
	init();
	ev = build_ok(b, "an event");
	init();
	set = tally_set_build(b, 1);
	if (tap_ok(&tap, !IS_ERR(set), "and a set") && !IS_ERR(ev))
		try_all();
	tally_set_release(set);
	tally_event_release(ev);
	kfree(b);
}
