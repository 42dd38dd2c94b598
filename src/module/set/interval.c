// SPDX-License-Identifier: GPL-2.0
/*
 * The window of a set: its beginning, its end, and the counts in it.
 *
 * A row is what one CPU reads of all members at one moment of one clock (row.c). When the set
 * is enabled, disabled or reset, the windows of its members begin or end at that moment.
 * perf's times show whether all members were on the PMU for the whole window.
 *
 * Ordering:
 *
 * L. tally_set::open is stored with release after the members have begun.
 *    tally_set_read_local(), in section.c, load-acquires it before it reads the members
 *    without the lock. A section relies on the views of the members: I.
 */
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/sched/clock.h>
#include "base/ptr.h"
#include "base/trace.h"
#include "compat.h"
#include "event/event.h"
#include "event/overflow.h"
#include "set/read.h"
#include "set/set.h"
#include "set/budget.h"

/* ---- what the rows have ---- */

/* Returns whether the member was throttled in a row. */
static bool was_throttled(const struct tally_set *set, unsigned int i)
{
	unsigned int slot;

	for (slot = 0; slot < set->nr_slots; slot++)
		if (set->rows[slot].throttled & BIT_ULL(i))
			return true;
	return false;
}

/*
 * Returns the totals of a slot of a member, from the last row or, if the member was not counting
 * in that, read now. Called under the lock of the member's counter.
 */
static const struct tally_totals *totals_of(struct tally_set *set,
					    unsigned int i, unsigned int slot)
{
	struct tally_counter *c = set->members[i]->counter;

	if (set->rows[slot].counting & BIT_ULL(i))
		return &set->now[slot * set->room + i];
	tally_counter_read_slot(c, slot);
	return &c->slots[slot].now;
}

static void at_each_slot(struct tally_set *set, unsigned int i,
			 void (*what)(struct tally_event *ev, unsigned int slot,
				      const struct tally_totals *t))
{
	unsigned int slot;

	for (slot = 0; slot < set->nr_slots; slot++)
		what(set->members[i], slot, totals_of(set, i, slot));
}

/*
 * Keeps the counts of a member that is being disabled, as of the last rows. Somebody may have read
 * the member since, under the lock. Neither a count nor a time goes back: then the member keeps the
 * later totals, and the window has no valid ratio.
 */
static void keep_member(struct tally_set *set, unsigned int i)
{
	struct tally_event *ev = set->members[i];
	const struct tally_totals *t, *seen;
	unsigned int slot;

	for (slot = 0; slot < set->nr_slots; slot++) {
		t = totals_of(set, i, slot);
		seen = &ev->views[slot].last_read;
		if (seen->enabled > t->enabled || (!ev->gauge && seen->value > t->value)) {
			t = &ev->counter->slots[slot].now;
			set->staggered = true;
		}
		tally_event_keep_at(ev, slot, t);
	}
}

/* ---- the window ---- */

/*
 * How often a window is begun, or read, until that was at one moment for all members.
 * Nobody can read a window before it is open.
 */
#define TRIES	4

/* Begins the windows of members. Returns whether all began at one moment. */
static bool begin(struct tally_set *set, u64 members)
{
	u64 left = members;
	struct tally_event *ev;
	unsigned int i;

	tally_set_read_rows(set, members);
	while (left) {
		i = tally_set_next(&left);
		ev = set->members[i];
		mutex_lock(&ev->counter->lock);
		if (ev->on)
			at_each_slot(set, i, tally_event_begin_at);
		mutex_unlock(&ev->counter->lock);
	}
	tally_set_remember(set);
	return !(members & set->inherited) &&
	       tally_set_of_one_moment(set, 0, set->nr_slots - 1);
}

/* A member that begins alone needs no moment that is common to several. */
static int begin_alone(struct tally_set *set, unsigned int i)
{
	struct tally_event *ev = set->members[i];
	int err;

	set->throttled[i] = ev->overflow ? tally_event_throttled(ev) : 0;
	err = tally_event_begin(ev, NULL);
	set->staggered |= set->nr > 1;
	set->begun = true;
	set->on |= BIT_ULL(i);
	smp_store_release(&set->open, true); /* L */
	return err;
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
	bool together = false;
	struct tally_event *ev;
	u64 left = members;
	int err, first = 0;
	unsigned int i;

	lockdep_assert_held(&set->lock);
	if (is_power_of_2(members) && !(members & set->on)) {
		i = __ffs64(members);
		/* Of others, rows are needed, which also have whether they are throttled. */
		if (set->nr == 1 || !set->members[i]->overflow)
			return begin_alone(set, i);
	}
	while (left) {
		i = tally_set_next(&left);
		/* A member that has ended by itself begins alone. */
		err = set->on & BIT_ULL(i) ?
		      tally_event_begin(set->members[i], &set->staggered) :
		      tally_event_start(set->members[i]);
		first = first ?: err;
	}
	members &= ~set->on;
	if (!members)
		return first;
	for (left = members; left; ) {
		i = tally_set_next(&left);
		set->throttled[i] = tally_event_throttled(set->members[i]);
	}
	for (i = 0; i < TRIES && !together; i++)
		together = begin(set, members);
	/* Counts that began at different moments have no valid ratio. */
	if (!together || members != tally_set_all(set))
		set->staggered = true;
	set->begun = true;
	for (left = members; left; ) {
		i = tally_set_next(&left);
		ev = set->members[i];
		mutex_lock(&ev->counter->lock);
		if (ev->on)
			tally_event_open(ev);
		mutex_unlock(&ev->counter->lock);
		/* perf's event was on before the window: its period did not begin with that. */
		tally_budget_begun(ev->budget);
		/* The member does not count at the beginning of the window. */
		if (was_throttled(set, i))
			set->throttled[i] = U64_MAX;
	}
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
	struct tally_event *ev;
	unsigned int i;
	u64 left;

	lockdep_assert_held(&set->lock);
	members &= set->on;
	if (!members)
		return;
	set->staggered |= members != tally_set_all(set);
	WRITE_ONCE(set->open, false);
	set->on &= ~members;
	/* No read without the lock may return more than the count at the end. */
	for (left = members; left; )
		tally_event_close(set->members[tally_set_next(&left)]);
	tally_set_read_rows(set, members);
	tally_set_remember(set);
	for (left = members; left; ) {
		i = tally_set_next(&left);
		ev = set->members[i];
		mutex_lock(&ev->counter->lock);
		if (ev->on) {
			keep_member(set, i);
			tally_event_shut(ev);
			tally_event_settle(ev);
		}
		mutex_unlock(&ev->counter->lock);
	}
	set->staggered |= members & set->inherited ||
		       !tally_set_of_one_moment(set, 0, set->nr_slots - 1);
}

/**
 * tally_set_zero - reset members of a set
 * @set: the set, locked
 * @members: a bit for each of these members
 */
void tally_set_zero(struct tally_set *set, u64 members)
{
	u64 left = members & set->on & ~set->inherited;
	u64 rest = members & ~left;
	struct tally_event *ev;
	unsigned int i;

	lockdep_assert_held(&set->lock);
	if (left)
		tally_set_read_rows(set, left);
	/* If all members are reset and all or none are counting, they begin together. */
	set->staggered = members != tally_set_all(set) ||
		      (set->on && (rest || !tally_set_of_one_moment(set, 0, set->nr_slots - 1)));
	while (left) {
		i = tally_set_next(&left);
		ev = set->members[i];
		mutex_lock(&ev->counter->lock);
		if (ev->on) {
			at_each_slot(set, i, tally_event_rebase_at);
		} else {
			rest |= BIT_ULL(i);
			set->staggered = true;
		}
		mutex_unlock(&ev->counter->lock);
	}
	while (rest)
		tally_event_reset(set->members[tally_set_next(&rest)]);
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

static void add(struct tally_count *count, const struct tally_totals *t,
		enum tally_state state)
{
	count->value += t->value;
	count->enabled_ns += t->enabled;
	count->running_ns += t->running;
	if (count->state == TALLY_STATE_OFFLINE)
		count->state = state;
	else if (count->state != state)
		count->state = tally_state_worse(count->state, state);
}

/*
 * Adds slots of a member. The rows have the totals of slots that are counting. Other
 * slots are read from the event, under the counter's lock.
 */
static void add_slots(struct tally_set *set, unsigned int i, unsigned int first,
		      unsigned int last, struct tally_count *count)
{
	const struct tally_set_row *row = &set->rows[first];
	struct tally_event *ev = set->members[i];
	/* A limit of its overflows disables the event without the set's lock. */
	bool locked = ev->overflow, on = true;
	struct tally_totals t;
	unsigned int slot;

	memset(count, 0, sizeof(*count));
	count->state = TALLY_STATE_OFFLINE;
	if (locked) {
		mutex_lock(&ev->counter->lock);
		on = ev->on;
	}
	for (slot = first; slot <= last; slot++, row++) {
		if (on && set->on & row->counting & BIT_ULL(i)) {
			t = set->now[slot * set->room + i];
			tally_view_translate(&ev->views[slot], &t, false);
			add(count, &t, row->throttled & BIT_ULL(i) ?
				       TALLY_STATE_THROTTLED : TALLY_STATE_ACTIVE);
			continue;
		}
		if (!locked)
			mutex_lock(&ev->counter->lock);
		locked = true;
		if (!tally_event_is_blank(ev, slot))
			tally_event_add_slot(ev, slot, count);
	}
	if (locked)
		mutex_unlock(&ev->counter->lock);
}

/* As add_slots(), for one slot in whose row the member was counting. */
static bool read_seen(struct tally_set *set, unsigned int i, unsigned int slot,
		      struct tally_count *count)
{
	const struct tally_set_row *row = &set->rows[slot];
	struct tally_totals t;

	if (!(set->on & row->counting & ~row->throttled & BIT_ULL(i)) ||
	    set->members[i]->overflow)
		return false;
	t = set->now[slot * set->room + i];
	tally_view_translate(&set->members[i]->views[slot], &t, false);
	count->value = t.value;
	count->enabled_ns = t.enabled;
	count->running_ns = t.running;
	count->state = TALLY_STATE_ACTIVE;
	return true;
}

/*
 * Returns whether the member has counted at all. A clock may stand still for a while: a member
 * with a count of 0 has counted if it was counting in a row.
 */
static bool has_counted(const struct tally_set *set, unsigned int first,
			unsigned int last, unsigned int i,
			const struct tally_count *count)
{
	unsigned int slot;

	if (count->running_ns || count->value)
		return true;
	for (slot = first; slot <= last; slot++)
		if (set->rows[slot].counted & BIT_ULL(i))
			return true;
	return false;
}

static bool ran_throughout(const struct tally_set *set, unsigned int i,
			   const struct tally_count *count)
{
	return count->running_ns == count->enabled_ns &&
	       count->state != TALLY_STATE_ERROR &&
	       count->state != TALLY_STATE_THROTTLED &&
	       (set->only_counts ||
		tally_event_throttled(set->members[i]) == set->throttled[i]);
}

static void read_slots(struct tally_set *set, unsigned int first,
		       unsigned int last, struct tally_set_window *window,
		       struct tally_count *counts)
{
	bool valid = !set->staggered || set->nr == 1;
	struct tally_set_row *row;
	u64 time = 0, ended = 0;
	unsigned int i;

	for (row = &set->rows[first]; row <= &set->rows[last]; row++) {
		time = max(time, row->time);
		if (set->on)
			row->counted |= row->counting;
	}
	window->time_ns = time ?: local_clock();
	for (i = 0; i < set->nr; i++) {
		if (first != last || !read_seen(set, i, first, &counts[i]))
			add_slots(set, i, first, last, &counts[i]);
		if (counts[i].state == TALLY_STATE_OFF || counts[i].state == TALLY_STATE_EXITED)
			ended |= BIT_ULL(i);
		if (has_counted(set, first, last, i, &counts[i])) {
			valid &= ran_throughout(set, i, &counts[i]);
			continue;
		}
		valid = false;
		counts[i].value = TALLY_NOT_COUNTED;
	}
	/* A limit or exec() may have ended some of the members that are on: no ratio is valid. */
	ended &= set->on;
	window->ratio_valid = valid && (!ended || ended == set->on);
}

/* Reads slots of the set, and again if the members were not read at one moment. */
void tally_set_read_slots(struct tally_set *set, unsigned int first,
			  unsigned int last, struct tally_set_window *window,
			     struct tally_count *counts)
{
	bool whole = false;
	unsigned int i;

	for (i = 0; i < TRIES && !whole; i++) {
		if (first == last)
			tally_set_read_row(set, set->on, first);
		else
			tally_set_read_rows(set, set->on);
		read_slots(set, first, last, window, counts);
		whole = tally_set_of_one_moment(set, first, last);
	}
	window->ratio_valid &= whole;
}

/* Traces the counts that are handed out, of members that were counted. */
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
