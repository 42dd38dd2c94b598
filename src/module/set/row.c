// SPDX-License-Identifier: GPL-2.0
/*
 * The rows of a set: what one CPU reads of its members at one moment.
 *
 * Programs usually read the values and the times of the first member, of a set
 * whose members are all counting. A shorter way reads these.
 *
 * Ordering:
 *
 * Z. tally_slot_changes is incremented, with release, after a slot has changed,
 *    and is load-acquired before slots are found blank. So a reader that misses
 *    a change finds another number at its next read, and then reads all slots
 *    again. When an event goes, tally_slot::err is set before the event is
 *    cleared, with release, and is cleared with release after its counts are in
 *    the bank.
 */
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "compat.h"
#include "event/event.h"
#include "set/set.h"

/**
 * tally_set_read_rows - read slots of members
 * @set: the set; the counters of its members are locked
 * @members: a bit for each of these members
 * @first: the first slot
 * @last: the last slot
 *
 * Return: as tally_counters_read().
 */
bool tally_set_read_rows(const struct tally_set *set, u64 members, unsigned int first,
			 unsigned int last)
{
	struct tally_counter *counters[TALLY_SET_MOST];
	unsigned int nr = 0;

	if (members == tally_set_all(set)) {
		for (; nr < set->nr; nr++)
			counters[nr] = set->members[nr]->counter;
	} else {
		while (members)
			counters[nr++] = set->members[tally_set_next(&members)]->counter;
	}
	return !nr || tally_counters_read(counters, nr, first, last);
}

/*
 * Returns whether all members are one group of perf in each of the slots that has their events.
 * Called with the counters locked, or for the slot of this CPU with interrupts disabled.
 */
bool tally_set_is_group(const struct tally_set *set, unsigned int first, unsigned int last)
{
	const struct perf_event *leader, *event;
	unsigned int slot, i;

	for (slot = first; slot <= last; slot++) {
		for (i = 0; i < set->nr; i++) {
			event = READ_ONCE(set->members[i]->counter->slots[slot].event);
			if (!i)
				leader = event ? READ_ONCE(event->group_leader) : NULL;
			else if (leader != (event ? READ_ONCE(event->group_leader) : NULL))
				return false;
		}
	}
	return true;
}

/* Returns whether no member has counted in the slot: its CPU was never there, or not served. */
bool tally_set_is_blank(const struct tally_set *set, unsigned int slot)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		if (!tally_event_is_blank(set->members[i], slot))
			return false;
	return true;
}

/*
 * Returns the number of slots up to the last one that is not blank, at least 1.
 * The number never falls. Most slots are blank in a kernel that has room for
 * more CPUs than there are. Called under the set's lock.
 */
unsigned int tally_set_slots(struct tally_set *set)
{
	unsigned long changes = atomic_long_read_acquire(&tally_slot_changes); /* Z */
	unsigned int nr = set->nr_slots;

	if (set->used_at == changes)
		return set->used;
	while (nr > 1 && nr > set->used && tally_set_is_blank(set, nr - 1))
		nr--;
	set->used = nr;
	set->used_at = changes;
	return nr;
}

/* ---- values ---- */

static struct tally_slot *first_slot(const struct tally_set *set, unsigned int slot)
{
	return &set->members[0]->counter->slots[slot];
}

static bool is_counting(int cpu, void *data)
{
	const struct tally_set *set = data;
	const struct tally_event *ev = set->members[0];

	return READ_ONCE(READ_ONCE(ev->views[cpu & set->slot_mask].event)->oncpu) == cpu;
}

/* Reads all members' values, and the first one's times. Sets its @was_read if all count here. */
static void read_values_here(void *data)
{
	const struct tally_set *set = data;
	int cpu = smp_processor_id();
	unsigned int slot = cpu & set->slot_mask;
	struct tally_event **ev = set->members;
	struct tally_event **end = ev + set->nr;
	struct tally_slot *s = first_slot(set, slot);
	struct perf_event *event = READ_ONCE((*ev)->views[slot].event);
	const void **reading, *outer;

	if (READ_ONCE(event->oncpu) != cpu)
		return;
	tally_local_totals(s, event, local_clock(), &s->now);
	reading = this_cpu_ptr(&tally_reading);
	outer = *reading;
	WRITE_ONCE(*reading, reading);
	barrier(); /* J */
	while (++ev < end) {
		event = READ_ONCE((*ev)->views[slot].event);
		if (READ_ONCE(event->oncpu) != cpu)
			break;
		s = &(*ev)->counter->slots[slot];
		if (!s->up_to_date)
			s->read(event);
		s->now.value = local64_read(&event->count) + s->bank.value;
	}
	barrier(); /* J */
	WRITE_ONCE(*reading, outer);
	first_slot(set, slot)->was_read = ev == end;
}

/*
 * Adds a slot of all members. Their counters are locked: both copies of a
 * tally_view::latch are the same.
 */
static void add_slot(const struct tally_set *set, unsigned int slot, struct tally_totals *first,
		     u64 *values)
{
	struct tally_event **ev = set->members;
	struct tally_event **end = ev + set->nr;

	tally_totals_add(first, &first_slot(set, slot)->now);
	tally_totals_add(first, &(*ev)->views[slot].offset[0]);
	for (; ev < end; ev++)
		*values++ += (*ev)->counter->slots[slot].now.value +
			     (*ev)->views[slot].offset[0].value;
}

static bool add_slots(struct tally_set *set, struct tally_totals *first, u64 *values)
{
	unsigned int slot, nr = tally_set_slots(set);
	int cpu;

	for (slot = 0; slot < nr; slot++)
		first_slot(set, slot)->was_read = false;
	cpu = nr == 1 ? tally_slot_oncpu(first_slot(set, 0)) : -1;
	if (cpu >= 0)
		smp_call_function_single(cpu, read_values_here, set, true);
	else if (nr > 1)
		on_each_cpu_cond(is_counting, read_values_here, set, true);
	for (slot = 0; slot < nr; slot++) {
		if (first_slot(set, slot)->was_read)
			add_slot(set, slot, first, values);
		else if (set->nr_slots == 1 || !tally_set_is_blank(set, slot))
			return false;
	}
	first->value = values[0];
	return true;
}

/**
 * tally_set_read_values - read the values of a set whose members are all counting
 * @set: the set, locked
 * @first: receives the value and the times of the first member
 * @values: receives the values of all members
 *
 * Each other CPU that is counting gets one interrupt.
 *
 * Context: Process context, may sleep.
 * Return: whether the values were read; if not, tally_set_read_slots() reads them.
 */
bool tally_set_read_values(struct tally_set *set, struct tally_totals *first, u64 *values)
{
	bool counting;

	lockdep_assert_held(&set->lock);
	if (!set->only_counts || set->by_perf || set->on != tally_set_all(set))
		return false;
	memset(first, 0, sizeof(*first));
	memset(values, 0, set->nr * sizeof(*values));
	tally_counter_lock(set->members[0]->counter);
	counting = add_slots(set, first, values);
	tally_counter_unlock(set->members[0]->counter);
	return counting;
}
