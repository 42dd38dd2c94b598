// SPDX-License-Identifier: GPL-2.0
/*
 * A look at the members of a set: one interrupt for all members of a CPU, which reads
 * them at one moment of one clock.
 */
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include "base/pmu.h"
#include "compat.h"
#include "counter/counter.h"
#include "event/event.h"
#include "read/window.h"

static bool can_look(int cpu, void *arg)
{
	const struct tally_set *set = arg;
	const struct perf_event *event;
	u64 left = set->looking;

	while (left) {
		event = READ_ONCE(tally_slot_on(set->members[tally_set_next(&left)],
						cpu)->event); /* K */
		if (event && READ_ONCE(event->oncpu) == cpu)
			return true;
	}
	return false;
}

static void look_here(void *arg)
{
	struct tally_set *set = arg;
	int cpu = smp_processor_id();
	unsigned int slot = cpu & set->slot_mask;
	struct tally_set_look *look = &set->looks[slot];
	struct tally_totals *now = &set->now[slot * set->room];
	u64 left = set->looking;
	struct perf_event *event;
	struct tally_slot *s;
	unsigned int i;

	look->time = local_clock();
	while (left) {
		i = tally_set_next(&left);
		s = tally_slot_on(set->members[i], cpu);
		event = smp_load_acquire(&s->event); /* K */
		if (!event || READ_ONCE(event->oncpu) != cpu)
			continue;
		tally_local_totals(s, event, look->time, &now[i]);
		look->looked |= BIT_ULL(i);
		if (!set->plain && tally_pmu_throttled(event))
			look->throttled |= BIT_ULL(i);
	}
}

/* Where the members of a set with one slot are counting; -1 nowhere. */
static int where_it_counts(const struct tally_set *set)
{
	const struct perf_event *event;
	u64 left = set->looking;
	int cpu = -1;

	/* Against the end of a perf event whose CPU has gone. */
	rcu_read_lock();
	while (left && cpu < 0) {
		event = READ_ONCE(set->members[tally_set_next(&left)]->counter->slots[0].event);
		if (event)
			cpu = READ_ONCE(event->oncpu);
	}
	rcu_read_unlock();
	return cpu;
}

/*
 * What changes when a task's event has been on a CPU for a while, of all members;
 * 0 if one is.
 */
static u64 rest(const struct tally_set *set)
{
	const struct perf_event *event;
	u64 left = set->looking;
	u64 sum = 1;

	rcu_read_lock();
	while (left && sum) {
		event = READ_ONCE(set->members[tally_set_next(&left)]->counter->slots[0].event);
		if (event && READ_ONCE(event->oncpu) >= 0)
			sum = 0;
		else if (event)
			sum += READ_ONCE(event->total_time_running);
	}
	rcu_read_unlock();
	return sum;
}

void tally_set_look_at_slot(struct tally_set *set, u64 members, unsigned int slot)
{
	struct tally_set_look *look = &set->looks[slot];
	int cpu;

	set->looking = members & ~set->apart;
	cpu = set->nr_slots > 1 ? slot : where_it_counts(set);
	look->looked = 0;
	look->throttled = 0;
	look->time = 0;
	look->rest = cpu < 0 ? rest(set) : 0;
	if (cpu >= 0)
		smp_call_function_single(cpu, look_here, set, true);
}

void tally_set_look(struct tally_set *set, u64 members)
{
	unsigned int i;

	if (set->nr_slots == 1) {
		tally_set_look_at_slot(set, members, 0);
		return;
	}
	set->looking = members & ~set->apart;
	for (i = 0; i < set->nr_slots; i++) {
		set->looks[i].looked = 0;
		set->looks[i].throttled = 0;
		set->looks[i].time = 0;
	}
	on_each_cpu_cond(can_look, look_here, set, true);
}

/* Whether a member that was not counting at the last look is now, in this slot. */
static bool has_come(const struct tally_set *set, unsigned int slot)
{
	u64 left = set->looking & ~set->looks[slot].looked;
	const struct perf_event *event;
	bool come = false;

	rcu_read_lock();
	while (left && !come) {
		event = READ_ONCE(set->members[tally_set_next(&left)]->counter->slots[slot].event);
		come = event && READ_ONCE(event->oncpu) >= 0;
	}
	rcu_read_unlock();
	return come;
}

/*
 * Whether what was looked at, and what was read one by one after that, is of one
 * moment. What is not counting may be read later; but it may have begun to count
 * in between; and the members of a set with one slot may count on two CPUs.
 */
bool tally_set_of_one_moment(const struct tally_set *set, unsigned int first,
			     unsigned int last)
{
	const struct tally_set_look *look = &set->looks[first];
	unsigned int slot;

	if (set->nr_slots == 1 && !look->looked)
		return look->rest && look->rest == rest(set);
	for (slot = first; slot <= last; slot++, look++)
		if (look->looked && look->looked != set->looking &&
		    has_come(set, slot))
			return false;
	return true;
}

/* Members that were found counting, in a look at what the set counts. */
void tally_set_remember(struct tally_set *set)
{
	unsigned int slot;

	for (slot = 0; slot < set->nr_slots; slot++)
		set->looks[slot].seen |= set->looks[slot].looked;
}
