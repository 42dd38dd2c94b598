// SPDX-License-Identifier: GPL-2.0
/*
 * The values of a set whose members are all counting: what programs usually read of a
 * group.
 *
 * interval.c reads all other sets: with members that are disabled, multiplexed, throttled
 * or inherited. It also reads the times of each member.
 */
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "compat.h"
#include "event/event.h"
#include "set/set.h"

/* Reads the first member with its times. @t are the totals of the event. */
static bool read_first(struct tally_set *set, int cpu, struct tally_totals *t)
{
	unsigned int slot = cpu & set->slot_mask;
	struct tally_event *ev = set->members[0];
	const struct tally_view *view = &ev->views[slot];
	struct perf_event *event = smp_load_acquire(&view->event); /* I */

	if (READ_ONCE(event->oncpu) != cpu)
		return false;
	tally_local_totals(&ev->counter->slots[slot], event, local_clock(), t);
	tally_view_translate(view, t, false);
	return true;
}

static void read_here(void *arg)
{
	struct tally_set *set = arg;
	int cpu = smp_processor_id();
	unsigned int slot = cpu & set->slot_mask;
	struct tally_totals *t = &set->now[slot * set->room];
	struct tally_event **ev = set->members;
	struct tally_event **end = ev + set->nr;
	const struct tally_view *view;
	const void **reading, *outer;
	struct perf_event *event;
	tally_read_fn read;

	if (!read_first(set, cpu, t))
		return;
	reading = this_cpu_ptr(&tally_reading);
	outer = *reading;
	WRITE_ONCE(*reading, reading);
	barrier(); /* J */
	while (++ev < end) {
		view = &(*ev)->views[slot];
		event = smp_load_acquire(&view->event); /* I */
		if (READ_ONCE(event->oncpu) != cpu)
			break;
		if (!READ_ONCE(view->up_to_date)) {
			read = READ_ONCE(view->read);
			read(event);
		}
		(++t)->value = local64_read(&event->count) + READ_ONCE(view->value_offset);
	}
	barrier(); /* J */
	WRITE_ONCE(*reading, outer);
	set->rows[slot].counting = ev == end;
}

static bool is_counting(int cpu, void *arg)
{
	const struct tally_set *set = arg;
	const struct tally_event *ev = set->members[0];

	return READ_ONCE(ev->views[cpu & set->slot_mask].event)->oncpu == cpu;
}

static void read_rows(struct tally_set *set, unsigned int nr)
{
	const struct perf_event *event;
	unsigned int i;
	int cpu;

	for (i = 0; i < nr; i++)
		set->rows[i].counting = 0;
	if (nr > 1) {
		on_each_cpu_cond(is_counting, read_here, set, true);
		return;
	}
	/* RCU keeps a perf event whose CPU went offline from being freed here. */
	rcu_read_lock();
	event = READ_ONCE(set->members[0]->views[0].event);
	cpu = READ_ONCE(event->oncpu);
	rcu_read_unlock();
	if (cpu >= 0)
		smp_call_function_single(cpu, read_here, set, true);
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
bool tally_set_read_values(struct tally_set *set, struct tally_totals *first,
			   u64 *values)
{
	const struct tally_totals *t;
	unsigned int slot, i, nr;

	lockdep_assert_held(&set->lock);
	if (!set->only_counts || set->inherited || set->on != tally_set_all(set))
		return false;
	nr = tally_set_slots(set);
	read_rows(set, nr);
	memset(first, 0, sizeof(*first));
	memset(values, 0, set->nr * sizeof(*values));
	for (slot = 0; slot < nr; slot++) {
		t = &set->now[slot * set->room];
		if (!set->rows[slot].counting) {
			if (set->nr_slots > 1 && tally_set_is_blank(set, slot))
				continue;
			return false;
		}
		first->enabled += t->enabled;
		first->running += t->running;
		for (i = 0; i < set->nr; i++)
			values[i] += t[i].value;
	}
	first->value = values[0];
	return true;
}
