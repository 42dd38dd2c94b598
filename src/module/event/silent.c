// SPDX-License-Identifier: GPL-2.0
/*
 * Events whose overflow interrupt never comes: firmware, a hypervisor or a
 * driver keeps it, while the PMU counts on.
 *
 * The callback does nothing for this. A read that sleeps compares: each view
 * has a mark, which is the number of overflows at one moment and a count of a
 * later moment. If the slot has counted more than two periods since the mark,
 * and the number of overflows is the same, the event is silent there. If the
 * number is another one, the read keeps it, and the next read adds the count.
 * The first read after two periods finds an event that never overflowed. For
 * one that has stopped overflowing, two reads make a new mark, and the first
 * read two periods later finds it.
 *
 * perf changes the period of an event with a frequency at each tick. Such an event is silent only
 * as long as it has not overflowed at all since it was enabled.
 *
 * Software events overflow where they are counted, clocks by the kernel's timers: none is silent.
 */
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include "compat.h"
#include "event/event.h"
#include "event/overflow.h"

/* Some CPUs round short periods up, to 128 counts at most. */
#define SLACK		256

/*
 * Periods without an overflow after which an event is silent. For a frequency,
 * perf lowers the period by an eighth at a tick, and lets the PMU go on with a
 * period that is up to 8 times as long as the one that is in effect.
 */
#define PERIODS		2
#define PERIODS_OF_FREQ	10

/* The shortest period of perf's timers for clocks, in nanoseconds. */
#define CLOCK_PERIOD_MIN	10000ULL

/* Returns the period in effect on a slot; 0 if there is none. Under tally_counter::lock. */
u64 tally_event_slot_period(const struct tally_event *ev, unsigned int slot)
{
	const struct tally_slot *s = &ev->counter->slots[slot];
	u64 period;

	if (!ev->overflow || !tally_slot_lives(ev->counter, s))
		return 0;
	/* perf's event overflows at each record. */
	if (ev->filter)
		return READ_ONCE(ev->overflow->filter_period);
	/* perf's event has a period without an end once the budget of a window is used up. */
	if (ev->budget)
		return ev->attr.sample_period;
	period = READ_ONCE(tally_slot_here(s, tally_slot_oncpu(s))->hw.sample_period);
	return tally_attr_is_clock(&ev->attr) ? max(period, CLOCK_PERIOD_MIN) : period;
}

/* Returns whether an event that counted @counted since an overflow should have overflowed again. */
bool tally_silent_passed(u64 counted, u64 period, bool freq)
{
	return counted > SLACK &&
	       (counted - SLACK) / (freq ? PERIODS_OF_FREQ : PERIODS) >= period;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_silent_passed);

/*
 * Returns whether each overflow of the slot is counted. Those in the idle task, those above a
 * limit, and later ones in the window of a budget are not. The children of an inherited event,
 * and the events for each kind of core, have periods of their own.
 */
static bool is_watched(const struct tally_event *ev, const struct tally_slot *s)
{
	struct tally_overflow *of = ev->overflow;
	u32 special = READ_ONCE(of->special);

	if (s->software || s->others)
		return false;
	if (special & (TALLY_SPECIAL_DISABLED | TALLY_SPECIAL_NO_IDLE | TALLY_SPECIAL_INHERIT |
		       TALLY_SPECIAL_BUDGET))
		return false;
	if (special & TALLY_SPECIAL_ONE_SHOT && !atomic_read(&of->armed))
		return false;
	return !tally_overflow_at_limit(of);
}

static u64 overflows_on(const struct tally_overflow *of, int cpu)
{
	const struct tally_overflow_cpu *oc = per_cpu_ptr(of->cpus, cpu);

	return READ_ONCE(oc->sample.sequence) + local_read(&oc->skipped);
}

/* Returns the number of overflows of a slot. */
static u64 overflows_of(const struct tally_event *ev, unsigned int slot)
{
	u64 sum = 0;
	int cpu;

	if (tally_counter_on_all_cpus(ev->counter))
		return overflows_on(ev->overflow, slot);
	for_each_possible_cpu(cpu)
		sum += overflows_on(ev->overflow, cpu);
	return sum;
}

static void mark(struct tally_event *ev, unsigned int slot)
{
	struct tally_view *view = &ev->views[slot];

	view->marked = true;
	view->mark_value = ev->counter->slots[slot].now.value;
	view->mark_period = tally_event_slot_period(ev, slot);
}

/* Begins to watch a slot of an event that is being enabled. */
void tally_silent_begin(struct tally_event *ev, unsigned int slot)
{
	ev->views[slot].silent = false;
	ev->views[slot].mark_overflows = overflows_of(ev, slot);
	mark(ev, slot);
}

/* Drops the marks of all slots: the period begins anew. */
void tally_silent_forget(struct tally_event *ev)
{
	unsigned int i;

	tally_counter_assert_locked(ev->counter);
	for (i = 0; i < ev->counter->nr_slots; i++) {
		ev->views[i].marked = false;
		ev->views[i].silent = false;
	}
}

/* Returns whether an overflow of the slot is overdue. Makes or drops the slot's mark if need be. */
static bool is_overdue(struct tally_event *ev, unsigned int slot)
{
	const struct tally_slot *s = &ev->counter->slots[slot];
	struct tally_view *view = &ev->views[slot];
	u64 overflows, period;

	if (!ev->on || tally_counter_state(ev->counter, slot) != TALLY_STATE_ACTIVE)
		return false;
	if (!is_watched(ev, s)) {
		view->marked = false;
		view->silent = false;
		return false;
	}
	if (!view->marked)
		mark(ev, slot);
	period = view->mark_period;
	/* tally_event_reload() may have made the period longer. A frequency's follows the count. */
	if (!ev->attr.freq)
		period = max(period, tally_event_slot_period(ev, slot));
	if (!tally_silent_passed(s->now.value - view->mark_value, period, ev->attr.freq))
		return false;
	overflows = overflows_of(ev, slot);
	if (overflows == view->mark_overflows)
		return true;
	view->silent = false;
	if (ev->attr.freq)
		return false;
	view->mark_overflows = overflows;
	view->marked = false;
	return false;
}

/* Returns whether an overflow is overdue in a slot that was not known to be silent. */
static bool is_newly_overdue(struct tally_event *ev, unsigned int first, unsigned int last)
{
	bool overdue = false;
	unsigned int i;

	for (i = first; ev->overflow && i <= last; i++)
		overdue |= is_overdue(ev, i) && !ev->views[i].silent;
	return overdue;
}

/**
 * tally_silent_check - find out which slots of events are silent
 * @events: the events, of one set; tally_slot::now of the slots has just been read
 * @nr: number of @events
 * @first: the first slot
 * @last: the last slot
 *
 * An interrupt can be late, as long as its CPU has interrupts disabled. In a grace period
 * each CPU that was in such code comes out of it, and takes its interrupts.
 *
 * Context: Process context, may sleep; under tally_counter::lock.
 */
void tally_silent_check(struct tally_event *const *events, unsigned int nr, unsigned int first,
			unsigned int last)
{
	bool overdue = false;
	unsigned int i, slot;

	for (i = 0; i < nr; i++)
		overdue |= is_newly_overdue(events[i], first, last);
	if (!overdue)
		return;
	synchronize_rcu();
	for (i = 0; i < nr; i++)
		for (slot = first; events[i]->overflow && slot <= last; slot++)
			events[i]->views[slot].silent = is_overdue(events[i], slot);
}

/* As tally_silent_check(), for a caller that has not read the slots. */
void tally_silent_read(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	unsigned int i;

	if (!ev->on)
		return;
	for (i = 0; i < c->nr_slots; i++)
		if (c->slots[i].event && is_watched(ev, &c->slots[i]))
			tally_counter_read_slot(c, i);
	tally_silent_check(&ev, 1, 0, c->nr_slots - 1);
}
