// SPDX-License-Identifier: GPL-2.0
/*
 * The window of a set: where it begins and ends, and what was counted in it.
 *
 * All members of a CPU are read by one look, at one moment of one clock: look.c.
 * Where the set is enabled, disabled or reset, this moment is where each
 * member begins or ends. Whether all of them were on the PMU for the whole of it,
 * perf's times tell.
 *
 * Ordering, beside local.c (I to K):
 *
 * L. tally_set::open is stored, with release, after the members have begun, and
 *    load-acquired before they are read without the lock, in section.c.
 */
#include <linux/bitops.h>
#include <linux/mutex.h>
#include <linux/sched/clock.h>
#include "base/ptr.h"
#include "compat.h"
#include "event/event.h"
#include "read/local.h"
#include "event/overflow.h"
#include "read/read.h"
#include "read/window.h"

/* ---- what was found ---- */

/* In the last look. */
static bool was_throttled(const struct tally_set *set, unsigned int i)
{
	unsigned int slot;

	for (slot = 0; slot < set->nr_slots; slot++)
		if (set->looks[slot].throttled & BIT_ULL(i))
			return true;
	return false;
}

/* Under the lock of the member's counter. */
static const struct tally_totals *totals_of(struct tally_set *set,
					    unsigned int i, unsigned int slot)
{
	struct tally_counter *c = set->members[i]->counter;

	if (set->looks[slot].looked & BIT_ULL(i))
		return &set->now[slot * set->room + i];
	tally_counter_look_slot(c, slot);
	return &c->slots[slot].now;
}

static void tell_member(struct tally_set *set, unsigned int i,
			void (*what)(struct tally_event *ev, unsigned int slot,
				     const struct tally_totals *t))
{
	unsigned int slot;

	for (slot = 0; slot < set->nr_slots; slot++)
		what(set->members[i], slot, totals_of(set, i, slot));
}

/* ---- its window ---- */

/* It begins anew if its members did not begin together: nobody has read it. */
#define TRIES	4

/* Whether they began at one moment. */
static bool begin(struct tally_set *set, u64 members)
{
	u64 left = members;
	struct tally_event *ev;
	unsigned int i;

	tally_set_look(set, members);
	while (left) {
		i = tally_set_next(&left);
		ev = set->members[i];
		mutex_lock(&ev->counter->lock);
		if (ev->on)
			tell_member(set, i, tally_event_begin_at);
		mutex_unlock(&ev->counter->lock);
	}
	tally_set_remember(set);
	return !(members & set->apart) &&
	       tally_set_of_one_moment(set, 0, set->nr_slots - 1);
}

/* There is no moment to find at which it begins with others. */
static int begin_alone(struct tally_set *set)
{
	struct tally_event *ev = set->members[0];
	int err;

	if (ev->overflow)
		set->throttled[0] = tally_event_throttled(ev);
	err = tally_event_begin(ev);
	set->begun = true;
	set->on = 1;
	smp_store_release(&set->open, true); /* L */
	return err;
}

/**
 * tally_set_on - let members count
 * @set: the set, under its lock
 * @members: a bit for each
 *
 * Return: 0, or the first of what tally_event_enable() says of them.
 */
int tally_set_on(struct tally_set *set, u64 members)
{
	bool together = false;
	struct tally_event *ev;
	u64 left = members;
	int err, first = 0;
	unsigned int i;

	lockdep_assert_held(&set->lock);
	if (set->nr == 1 && !set->on)
		return begin_alone(set);
	while (left) {
		i = tally_set_next(&left);
		/* One that has ended by itself begins alone. */
		err = set->on & BIT_ULL(i) ?
		      tally_event_retry(set->members[i], &set->ragged) :
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
	/* What others have counted before does not count for the ratio. */
	if (!together || members != tally_set_all(set))
		set->ragged = true;
	set->begun = true;
	for (left = members; left; ) {
		i = tally_set_next(&left);
		ev = set->members[i];
		mutex_lock(&ev->counter->lock);
		if (ev->on)
			tally_event_open(ev);
		mutex_unlock(&ev->counter->lock);
		/* It is off at the beginning of the window. */
		if (was_throttled(set, i))
			set->throttled[i] = U64_MAX;
	}
	set->on |= members;
	smp_store_release(&set->open, true); /* L */
	return first;
}

/**
 * tally_set_off - let members count no more
 * @set: the set, under its lock
 * @members: a bit for each
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
	set->ragged |= members != tally_set_all(set);
	WRITE_ONCE(set->open, false);
	set->on &= ~members;
	/* Nobody has read, or reads, more than what they have at the end. */
	for (left = members; left; )
		tally_event_close(set->members[tally_set_next(&left)]);
	tally_set_look(set, members);
	tally_set_remember(set);
	for (left = members; left; ) {
		i = tally_set_next(&left);
		ev = set->members[i];
		mutex_lock(&ev->counter->lock);
		if (ev->on) {
			tell_member(set, i, tally_event_keep_at);
			tally_event_shut(ev);
			tally_event_settle(ev);
		}
		mutex_unlock(&ev->counter->lock);
	}
	set->ragged |= members & set->apart ||
		       !tally_set_of_one_moment(set, 0, set->nr_slots - 1);
}

/**
 * tally_set_zero - let the values of members begin at 0 again
 * @set: the set, under its lock
 * @members: a bit for each
 */
void tally_set_zero(struct tally_set *set, u64 members)
{
	u64 left = members & set->on & ~set->apart;
	u64 rest = members & ~left;
	struct tally_event *ev;
	unsigned int i;

	lockdep_assert_held(&set->lock);
	if (left)
		tally_set_look(set, left);
	/* From here on all are of the same time, if all or none are counting. */
	set->ragged = members != tally_set_all(set) ||
		      (set->on && (rest || !tally_set_of_one_moment(set, 0, set->nr_slots - 1)));
	while (left) {
		i = tally_set_next(&left);
		ev = set->members[i];
		mutex_lock(&ev->counter->lock);
		if (ev->on) {
			tell_member(set, i, tally_event_rebase_at);
		} else {
			rest |= BIT_ULL(i);
			set->ragged = true;
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

/* What was seen counting needs no lock; all else is the event's to tell. */
static void add_slots(struct tally_set *set, unsigned int i, unsigned int first,
		      unsigned int last, struct tally_count *count)
{
	const struct tally_set_look *look = &set->looks[first];
	struct tally_event *ev = set->members[i];
	/* A limit on its overflows ends it without the set's lock. */
	bool locked = ev->overflow, on = true;
	struct tally_totals t;
	unsigned int slot;

	memset(count, 0, sizeof(*count));
	count->state = TALLY_STATE_OFFLINE;
	if (locked) {
		mutex_lock(&ev->counter->lock);
		on = ev->on;
	}
	for (slot = first; slot <= last; slot++, look++) {
		if (on && set->on & look->looked & BIT_ULL(i)) {
			t = set->now[slot * set->room + i];
			tally_view_translate(&ev->views[slot], &t, false);
			add(count, &t, look->throttled & BIT_ULL(i) ?
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

/* The same for a slot in which it was seen counting: the usual one. */
static bool read_seen(struct tally_set *set, unsigned int i, unsigned int slot,
		      struct tally_count *count)
{
	const struct tally_set_look *look = &set->looks[slot];
	struct tally_totals t;

	if (!(set->on & look->looked & ~look->throttled & BIT_ULL(i)) ||
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

/* A clock may stand still for a while: one that was seen counting has begun. */
static bool has_counted(const struct tally_set *set, unsigned int first,
			unsigned int last, unsigned int i,
			const struct tally_count *count)
{
	unsigned int slot;

	if (count->running_ns || count->value)
		return true;
	for (slot = first; slot <= last; slot++)
		if (set->looks[slot].seen & BIT_ULL(i))
			return true;
	return false;
}

static bool ran_throughout(const struct tally_set *set, unsigned int i,
			   const struct tally_count *count)
{
	return count->running_ns == count->enabled_ns &&
	       count->state != TALLY_STATE_ERROR &&
	       count->state != TALLY_STATE_THROTTLED &&
	       (set->plain ||
		tally_event_throttled(set->members[i]) == set->throttled[i]);
}

/* Whether some have ended by themselves, by a limit or by exec(), and others not. */
static bool some_have_ended(const struct tally_set *set, const struct tally_count *counts)
{
	u64 left = set->on, ended = 0;
	unsigned int i;

	while (left) {
		i = tally_set_next(&left);
		if (counts[i].state == TALLY_STATE_OFF ||
		    counts[i].state == TALLY_STATE_EXITED)
			ended |= BIT_ULL(i);
	}
	return ended && ended != set->on;
}

static void read_slots(struct tally_set *set, unsigned int first,
		       unsigned int last, struct tally_set_window *window,
		       struct tally_count *counts)
{
	unsigned int i, slot;

	if (set->on)
		tally_set_remember(set);
	window->time_ns = 0;
	window->ratio_valid = !set->ragged || set->nr == 1;
	for (slot = first; slot <= last; slot++)
		window->time_ns = max(window->time_ns, set->looks[slot].time);
	if (!window->time_ns)
		window->time_ns = local_clock();
	for (i = 0; i < set->nr; i++) {
		if (first != last || !read_seen(set, i, first, &counts[i]))
			add_slots(set, i, first, last, &counts[i]);
		if (has_counted(set, first, last, i, &counts[i])) {
			window->ratio_valid &= ran_throughout(set, i, &counts[i]);
			continue;
		}
		window->ratio_valid = false;
		counts[i].value = TALLY_NOT_COUNTED;
	}
	window->ratio_valid &= !some_have_ended(set, counts);
}

/* The slots, again if their members were not read at one moment. */
void tally_set_look_and_read(struct tally_set *set, unsigned int first,
			     unsigned int last, struct tally_set_window *window,
			     struct tally_count *counts)
{
	bool whole = false;
	unsigned int i;

	for (i = 0; i < TRIES && !whole; i++) {
		if (first == last)
			tally_set_look_at_slot(set, set->on, first);
		else
			tally_set_look(set, set->on);
		read_slots(set, first, last, window, counts);
		whole = tally_set_of_one_moment(set, first, last);
	}
	window->ratio_valid &= whole;
}

void tally_set_read(struct tally_set *set, struct tally_set_window *window,
		    struct tally_count *counts)
{
	if (tally_bad_ptr(set) || tally_bad_ptr(window) || tally_bad_ptr(counts))
		return;
	might_sleep();
	mutex_lock(&set->lock);
	tally_set_look_and_read(set, 0, set->nr_slots - 1, window, counts);
	mutex_unlock(&set->lock);
}
EXPORT_SYMBOL_TALLY(tally_set_read);

int tally_set_read_cpu(struct tally_set *set, int cpu,
		       struct tally_set_window *window,
		       struct tally_count *counts)
{
	const struct tally_counter *c;
	unsigned int slot;

	if (tally_bad_ptr(set) || tally_bad_ptr(window) || tally_bad_ptr(counts))
		return -EINVAL;
	c = set->members[0]->counter;
	slot = cpu & c->slot_mask;
	might_sleep();
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;
	if (!tally_counter_on_all_cpus(c) && c->target.cpu != cpu)
		return -EINVAL;
	mutex_lock(&set->lock);
	tally_set_look_and_read(set, slot, slot, window, counts);
	mutex_unlock(&set->lock);
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_set_read_cpu);
