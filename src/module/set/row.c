// SPDX-License-Identifier: GPL-2.0
/*
 * The rows of a set: one interrupt on each CPU reads all members that are
 * counting there, at one moment of one clock.
 *
 * Ordering:
 *
 * Z. tally_slot_changes is incremented, with release, after a slot has changed, and is
 *    load-acquired before slots are found blank. So a reader that misses a change finds
 *    another number at its next read, and then reads all slots again. When an event goes,
 *    tally_slot::err is set before the event is cleared, with release, and is cleared with
 *    release after its counts are in the bank.
 */
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include "base/pmu.h"
#include "compat.h"
#include "event/event.h"
#include "set/set.h"

static bool has_counting(int cpu, void *arg)
{
	const struct tally_set *set = arg;
	const struct perf_event *event;
	u64 left = set->reading;

	while (left) {
		event = tally_slot_here(tally_slot_on(set->members[tally_set_next(&left)], cpu),
					cpu);
		if (event && READ_ONCE(event->oncpu) == cpu)
			return true;
	}
	return false;
}

static void read_here(void *arg)
{
	struct tally_set *set = arg;
	int cpu = smp_processor_id();
	unsigned int slot = cpu & set->slot_mask;
	struct tally_set_row *row = &set->rows[slot];
	struct tally_totals *now = &set->now[slot * set->room];
	u64 time = local_clock(), left = set->reading, counting = 0, throttled = 0;
	struct perf_event *event;
	struct tally_slot *s;
	unsigned int i;

	while (left) {
		i = tally_set_next(&left);
		s = tally_slot_on(set->members[i], cpu);
		event = tally_slot_here(s, cpu);
		if (!event || READ_ONCE(event->oncpu) != cpu)
			continue;
		tally_local_totals(s, event, time, &now[i]);
		counting |= BIT_ULL(i);
		if (!set->only_counts && tally_pmu_throttled(event))
			throttled |= BIT_ULL(i);
	}
	row->time = time;
	row->counting = counting;
	row->throttled = throttled;
}

/* Returns the CPU on which a member is counting in the slot; -1 if none is. */
static int where_it_counts(const struct tally_set *set, unsigned int slot)
{
	u64 left = set->reading;
	const struct tally_slot *s;
	int cpu = -1;

	/* RCU keeps a perf event whose CPU went offline from being freed here. */
	rcu_read_lock();
	while (left && cpu < 0) {
		s = &set->members[tally_set_next(&left)]->counter->slots[slot];
		cpu = tally_slot_oncpu(s);
	}
	rcu_read_unlock();
	return cpu;
}

/*
 * Returns 1 plus the running times of all members, which changes whenever the task has
 * run for a while; 0 if a member is counting.
 */
static u64 running_at_rest(const struct tally_set *set)
{
	const struct perf_event *event;
	u64 left = set->reading;
	const struct tally_slot *s;
	u64 sum = 1;

	rcu_read_lock();
	while (left && sum) {
		s = set->members[tally_set_next(&left)]->counter->slots;
		tally_slot_for_each(s, event)
			sum += READ_ONCE(event->total_time_running);
		if (tally_slot_oncpu(s) >= 0)
			sum = 0;
	}
	rcu_read_unlock();
	return sum;
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
 * Returns the number of slots up to the last one that is not blank, at least 1. The number
 * never falls. Most slots are blank in a kernel that has room for more CPUs than there are.
 * Called under the set's lock.
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

void tally_set_read_row(struct tally_set *set, u64 members, unsigned int slot)
{
	struct tally_set_row *row = &set->rows[slot];
	int cpu;

	set->reading = members & ~set->inherited;
	cpu = where_it_counts(set, slot);
	row->counting = 0;
	row->throttled = 0;
	row->time = 0;
	row->at_rest = cpu < 0 ? running_at_rest(set) : 0;
	if (cpu >= 0)
		smp_call_function_single(cpu, read_here, set, true);
}

void tally_set_read_rows(struct tally_set *set, u64 members)
{
	unsigned int i, nr = tally_set_slots(set);

	if (nr == 1) {
		tally_set_read_row(set, members, 0);
		return;
	}
	set->reading = members & ~set->inherited;
	for (i = 0; i < nr; i++) {
		set->rows[i].counting = 0;
		set->rows[i].throttled = 0;
		set->rows[i].time = 0;
	}
	on_each_cpu_cond(has_counting, read_here, set, true);
}

/* Returns whether a member is counting in this slot that was not counting in its row. */
static bool has_come(const struct tally_set *set, unsigned int slot)
{
	u64 left = set->reading & ~set->rows[slot].counting;
	const struct tally_slot *s;
	bool come = false;

	rcu_read_lock();
	while (left && !come) {
		s = &set->members[tally_set_next(&left)]->counter->slots[slot];
		come = tally_slot_oncpu(s) >= 0;
	}
	rcu_read_unlock();
	return come;
}

/*
 * Returns whether the last rows, and the reads of single members after them, have the counts of
 * one moment. A member that was not counting in a row may be read later, unless it
 * has begun to count in between. The members of a set with one slot may be counting on
 * two CPUs, of which one has a row.
 */
bool tally_set_of_one_moment(const struct tally_set *set, unsigned int first,
			     unsigned int last)
{
	const struct tally_set_row *row = &set->rows[first];
	unsigned int slot;

	if (set->nr_slots == 1 && !row->counting)
		return row->at_rest && row->at_rest == running_at_rest(set);
	for (slot = first; slot <= last; slot++, row++)
		if (row->counting && row->counting != set->reading &&
		    has_come(set, slot))
			return false;
	return true;
}

/* Remembers the members that were counting in the last rows, while the set counts. */
void tally_set_remember(struct tally_set *set)
{
	unsigned int slot, nr = tally_set_slots(set);

	for (slot = 0; slot < nr; slot++)
		set->rows[slot].counted |= set->rows[slot].counting;
}
