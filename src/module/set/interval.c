// SPDX-License-Identifier: GPL-2.0
/*
 * The window of a set: its beginning, its end, and the counts in it.
 *
 * A row is what one CPU reads of all members at one moment of one clock. When the set
 * is enabled, disabled or reset, the windows of its members begin or end at that moment.
 * perf's times show whether all members were on the PMU for the whole window.
 *
 * Ordering:
 *
 * L. tally_set::open is stored with release after the members have begun.
 *    tally_set_read_local(), in section.c, load-acquires it before it reads the members
 *    without the lock. Members are reset one after the other: a read that found some of
 *    them before that, and others after it, sees that tally_set::resets has changed.
 *    A section relies on the views of the members: see I of local.c.
 */
#include <linux/mutex.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include "base/ptr.h"
#include "base/trace.h"
#include "compat.h"
#include "event/event.h"
#include "event/overflow.h"
#include "set/set.h"
#include "set/budget.h"

/* The counters of all members have one lock. */
static void lock_counters(const struct tally_set *set)
{
	lockdep_assert_held(&set->lock);
	tally_counter_lock(set->members[0]->counter);
}

static void unlock_counters(const struct tally_set *set)
{
	tally_counter_unlock(set->members[0]->counter);
}

/* Returns the bits of members that are on. A limit, or its owner, may have ended a member. */
static u64 members_on(const struct tally_set *set, u64 members)
{
	u64 on = 0;
	unsigned int i;

	while (members) {
		i = tally_set_next(&members);
		if (set->members[i]->on)
			on |= BIT_ULL(i);
	}
	return on;
}

/* Returns how often perf, or tally's limit of the rate, has throttled the event. */
u64 tally_event_throttled(const struct tally_event *ev)
{
	struct tally_overflow_stats stats;

	if (!ev->overflow)
		return 0;
	memset(&stats, 0, sizeof(stats));
	tally_overflow_stats(ev->overflow, &stats);
	return stats.throttled;
}

/* Returns whether the last rows found the event throttled in any slot. */
static bool was_throttled(const struct tally_event *ev)
{
	const struct tally_counter *c = ev->counter;
	unsigned int i;

	for (i = 0; ev->overflow && i < c->nr_slots; i++)
		if (c->slots[i].was_read && c->slots[i].was_throttled)
			return true;
	return false;
}

/* ---- the window ---- */

/* Begins the windows of members, whose perf events are enabled, at one moment if possible. */
static int begin(struct tally_set *set, u64 members)
{
	bool together = !(members & set->by_perf) && members == tally_set_all(set);
	struct tally_event *ev;
	int err, first = 0;
	u64 left;

	for (left = members; left; ) {
		ev = set->members[tally_set_next(&left)];
		ev->throttled = tally_event_throttled(ev);
	}
	/* Counts that began at different moments have no valid ratio. */
	together &= tally_set_read_rows(set, members, 0, set->nr_slots - 1);
	set->staggered |= !together;
	while (members) {
		ev = set->members[tally_set_next(&members)];
		tally_event_begin(ev);
		err = tally_event_check(ev);
		first = first ?: err;
		/* perf's event was on before, and is somewhere in its period. */
		tally_budget_begun(ev->budget);
		if (ev->overflow)
			tally_silent_forget(ev);
		/* The member does not count at the beginning of the window. */
		if (was_throttled(ev) || ev->traced_state == TALLY_STATE_THROTTLED)
			ev->throttled = U64_MAX;
	}
	return first;
}

/*
 * Returns whether a member begins alone: it is on, or went off by itself, or is the only one of
 * @members. But one that overflows in a set of several does not: begin() looks if it is throttled.
 */
static bool begins_alone(const struct tally_set *set, u64 members, unsigned int i)
{
	const struct tally_event *ev = set->members[i];

	return ev->on || set->on & BIT_ULL(i) ||
	       (members == BIT_ULL(i) && (set->nr == 1 || !ev->overflow));
}

/**
 * tally_set_on - enable members of a set
 * @set: the set, locked
 * @members: a bit for each of these members
 *
 * Return: 0, or the first error of tally_event_enable() for one of them.
 */
int tally_set_on(struct tally_set *set, u64 members)
{
	u64 left = members, together = 0;
	struct tally_event *ev;
	int err, first = 0;
	unsigned int i;

	lock_counters(set);
	while (left) {
		i = tally_set_next(&left);
		ev = set->members[i];
		tally_event_drop_limit(ev);
		if (begins_alone(set, members, i)) {
			/* A member that begins at a moment of its own makes ratios invalid. */
			set->staggered |= set->nr > 1 && (!ev->on || !(set->on & BIT_ULL(i)));
			if (!(set->on & BIT_ULL(i)))
				ev->throttled = tally_event_throttled(ev);
			err = tally_event_on(ev);
		} else if (ev->gone) {
			err = -ESRCH;
		} else {
			/* begin() begins these at one moment. */
			together |= BIT_ULL(i);
			tally_counter_on(ev->counter);
			continue;
		}
		first = first ?: err;
	}
	if (together) {
		err = begin(set, together);
		first = first ?: err;
	}
	unlock_counters(set);
	set->begun = true;
	set->on |= members;
	smp_store_release(&set->open, true); /* L */
	return first;
}

/**
 * tally_set_off - disable members of a set
 * @set: the set, locked
 * @members: a bit for each of these members
 */
void tally_set_off(struct tally_set *set, u64 members)
{
	u64 left, on, stopped = 0;
	unsigned int i;
	bool apart;

	members &= set->on;
	if (!members)
		return;
	WRITE_ONCE(set->open, false);
	set->on &= ~members;
	lock_counters(set);
	on = members_on(set, members);
	apart = !set->only_counts && !tally_set_is_group(set, 0, set->nr_slots - 1);
	for (left = on; left; ) {
		i = tally_set_next(&left);
		tally_event_close(set->members[i]);
		/* No sample shows more than the last count. */
		if (set->members[i]->overflow) {
			tally_event_stop(set->members[i]);
			stopped |= BIT_ULL(i);
		}
	}
	set->staggered |= !tally_set_read_rows(set, on, 0, set->nr_slots - 1) ||
			  members & set->by_perf || on != tally_set_all(set) || apart;
	for (left = on; left; )
		tally_event_keep(set->members[tally_set_next(&left)]);
	for (left = on & ~stopped; left; )
		tally_event_stop(set->members[tally_set_next(&left)]);
	unlock_counters(set);
}

/**
 * tally_set_zero - reset members of a set
 * @set: the set, locked
 * @members: a bit for each of these members
 */
void tally_set_zero(struct tally_set *set, u64 members)
{
	bool together = members == tally_set_all(set);
	struct tally_event *ev;
	u64 on;

	lock_counters(set);
	on = members_on(set, members);
	/* Members begin together if all are reset and all or none are on, unless perf reads one. */
	together &= !on || (on == members && !(on & set->by_perf));
	together &= tally_set_read_rows(set, on, 0, set->nr_slots - 1);
	raw_write_seqcount_begin(&set->resets); /* L */
	while (members) {
		ev = set->members[tally_set_next(&members)];
		tally_event_rebase(ev);
		ev->throttled = was_throttled(ev) ? U64_MAX : tally_event_throttled(ev);
	}
	set->staggered = !together;
	raw_write_seqcount_end(&set->resets); /* L */
	unlock_counters(set);
}

int tally_set_enable(struct tally_set *set)
{
	int err;

	if (tally_bad_ptr(set))
		return -EINVAL;
	might_sleep();
	mutex_lock(&set->lock);
	err = tally_set_on(set, tally_set_all(set));
	mutex_unlock(&set->lock);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_set_enable);

void tally_set_disable(struct tally_set *set)
{
	if (tally_bad_ptr(set))
		return;
	might_sleep();
	mutex_lock(&set->lock);
	tally_set_off(set, tally_set_all(set));
	mutex_unlock(&set->lock);
}
EXPORT_SYMBOL_TALLY(tally_set_disable);

void tally_set_reset(struct tally_set *set)
{
	if (tally_bad_ptr(set))
		return;
	might_sleep();
	mutex_lock(&set->lock);
	tally_set_zero(set, tally_set_all(set));
	mutex_unlock(&set->lock);
}
EXPORT_SYMBOL_TALLY(tally_set_reset);

/* ---- reading ---- */

/*
 * Sums slots of a member, as of the last rows. @time becomes that of the last
 * row, if it is later; @missed becomes true if tally_view::missed is. If perf
 * could not make the event for a CPU that came, the state is that of the other
 * CPUs. Returns whether the member has counted at all. A clock may stand still
 * for a while: a member with a count of 0 has counted, too, if any row found it
 * counting.
 */
static bool sum_slots(struct tally_event *ev, unsigned int first, unsigned int last, u64 *time,
		      bool *missed, struct tally_count *count)
{
	struct tally_counter *c = ev->counter;
	const struct tally_slot *s = &c->slots[first];
	bool counted = false, failed = false;
	unsigned int slot;

	memset(count, 0, sizeof(*count));
	/* The usual case is one slot that was counting. */
	if (likely(first == last && ev->on && !ev->overflow && s->was_read)) {
		tally_event_add_slot(ev, first, count);
		ev->views[first].counted = true;
		*missed |= ev->views[first].missed;
		*time = max(*time, s->time);
		count->state = TALLY_STATE_ACTIVE;
		return true;
	}
	count->state = TALLY_STATE_OFFLINE;
	for (slot = first; slot <= last; slot++, s++) {
		*missed |= ev->views[slot].missed;
		if (!s->event && (tally_event_is_blank(ev, slot) || !tally_counter_serves(c, slot)))
			continue;
		tally_event_add_slot(ev, slot, count);
		if (ev->on && s->was_read) {
			ev->views[slot].counted = true;
			*time = max(*time, s->time);
		}
		counted |= ev->views[slot].counted;
		if (s->err && ev->on)
			failed = true;
		else if (ev->overflow || !ev->on || !s->was_read)
			count->state = tally_state_worse(count->state,
							 tally_event_slot_state(ev, slot));
		else if (count->state != TALLY_STATE_ERROR)
			count->state = TALLY_STATE_ACTIVE;
	}
	if (failed && count->state == TALLY_STATE_OFFLINE)
		count->state = TALLY_STATE_ERROR;
	return counted || count->running_ns || count->value;
}

/* Returns whether nothing is known to have kept the event from counting while it was on the PMU. */
static bool counted_throughout(const struct tally_event *ev, const struct tally_count *count)
{
	return count->state != TALLY_STATE_ERROR && count->state != TALLY_STATE_THROTTLED &&
	       (!ev->overflow || tally_event_throttled(ev) == ev->throttled);
}

/* Returns whether all members ran at the same times: they are one group of perf, which has run. */
static bool ran_together(const struct tally_set *set, unsigned int first, unsigned int last,
			 const struct tally_count *counts)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		if (counts[i].running_ns != counts[0].running_ns)
			return false;
	return counts[0].running_ns && tally_set_is_group(set, first, last);
}

static void read_slots(struct tally_set *set, unsigned int first,
		       unsigned int last, struct tally_set_window *window,
		       struct tally_count *counts)
{
	bool began = tally_set_began_together(set), always = true, all = true, missed = false;
	u64 time = 0, ended = 0;
	struct tally_event *ev;
	unsigned int i;

	for (i = 0; i < set->nr; i++) {
		ev = set->members[i];
		if (sum_slots(ev, first, last, &time, &missed, &counts[i])) {
			all &= counted_throughout(ev, &counts[i]);
			always &= counts[i].running_ns == counts[i].enabled_ns;
		} else {
			all = false;
			counts[i].value = TALLY_NOT_COUNTED;
		}
		if (counts[i].state == TALLY_STATE_OFF || counts[i].state == TALLY_STATE_EXITED)
			ended |= BIT_ULL(i);
	}
	/* A limit or exec() may have ended some of the members that are on: no ratio is valid. */
	ended &= set->on;
	window->time_ns = time ?: local_clock();
	/* The members of a group of perf are in error, and come back with their CPU, together. */
	always = (always && !missed) || ran_together(set, first, last, counts);
	window->ratio_valid = began && all && always && (!ended || ended == set->on);
}

void tally_set_read_slots(struct tally_set *set, unsigned int first, unsigned int last,
			  struct tally_set_window *window, struct tally_count *counts)
{
	u64 members = tally_set_all(set);
	bool together = true;

	lock_counters(set);
	/* Usually all are on. One that its owner has disabled meanwhile can be read, too. */
	if (!set->only_counts || members != set->on)
		members = members_on(set, members);
	if (set->nr > 1 || first != last)
		together = tally_set_read_rows(set, members, first, last);
	else if (members)
		tally_counter_read_slot(set->members[0]->counter, first);
	if (!set->only_counts)
		tally_silent_check(set->members, set->nr, first, last);
	read_slots(set, first, last, window, counts);
	unlock_counters(set);
	window->ratio_valid &= together;
}

/* Traces the counts that are handed out, but for those that are TALLY_NOT_COUNTED. */
static void trace_counts(const struct tally_set *set, int cpu, const struct tally_count *counts)
{
	unsigned int i;

	if (!trace_count_enabled())
		return;
	for (i = 0; i < set->nr; i++)
		if (counts[i].value != TALLY_NOT_COUNTED)
			trace_count(set->members[i]->name, cpu, counts[i].value,
				    counts[i].enabled_ns, counts[i].running_ns);
}

void tally_set_read(struct tally_set *set, struct tally_set_window *window,
		    struct tally_count *counts)
{
	if (tally_bad_ptr(set) || tally_bad_ptr(window) || tally_bad_ptr(counts))
		return;
	might_sleep();
	mutex_lock(&set->lock);
	tally_set_read_slots(set, 0, tally_set_slots(set) - 1, window, counts);
	trace_counts(set, set->members[0]->counter->target.cpu, counts);
	mutex_unlock(&set->lock);
}
EXPORT_SYMBOL_TALLY(tally_set_read);

int tally_set_read_cpu(struct tally_set *set, int cpu,
		       struct tally_set_window *window,
		       struct tally_count *counts)
{
	int slot;

	if (tally_bad_ptr(set) || tally_bad_ptr(window) || tally_bad_ptr(counts))
		return -EINVAL;
	might_sleep();
	slot = tally_counter_slot_of(set->members[0]->counter, cpu);
	if (slot < 0)
		return slot;
	mutex_lock(&set->lock);
	tally_set_read_slots(set, slot, slot, window, counts);
	trace_counts(set, cpu, counts);
	mutex_unlock(&set->lock);
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_set_read_cpu);
