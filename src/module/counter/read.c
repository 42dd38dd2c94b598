// SPDX-License-Identifier: GPL-2.0
/*
 * Reads of counters: of one, or of all counters of a set together.
 *
 * One interrupt on each CPU reads the counters that are counting there: a row, all of it at one
 * moment of one clock. perf reads the others, which are not on the PMU, or are inherited.
 */
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include "base/pmu.h"
#include "counter/counter.h"
#include "counter/slot.h"

/* How often a slot of several counters is read, until that was at one moment for all of them. */
#define TRIES	4

/* For struct reading: each CPU reads its own slot. */
#define SLOT_OF_CPU	-1

/* For read_rest(): nobody knows what the running times were at first. */
#define UNKNOWN		U64_MAX

/**
 * struct reading - counters that are read together
 * @counters: the counters, locked, on one target
 * @nr: number of @counters
 * @slot: the slot to read; or SLOT_OF_CPU
 */
struct reading {
	struct tally_counter *const *counters;
	unsigned int nr;
	int slot;
};

static bool is_counting(int cpu, void *data)
{
	const struct reading *r = data;
	const struct perf_event *event;
	struct tally_counter *c;
	unsigned int i;

	for (i = 0; i < r->nr; i++) {
		c = r->counters[i];
		event = tally_slot_here(&c->slots[cpu & c->slot_mask], cpu);
		if (event && READ_ONCE(event->oncpu) == cpu)
			return true;
	}
	return false;
}

static void read_here(void *data)
{
	const struct reading *r = data;
	int cpu = smp_processor_id();
	unsigned int slot = r->slot == SLOT_OF_CPU ? cpu : r->slot;
	u64 now = local_clock();
	struct perf_event *event;
	struct tally_slot *s;
	unsigned int i;

	for (i = 0; i < r->nr; i++) {
		s = &r->counters[i]->slots[slot];
		event = tally_slot_here(s, cpu);
		/* The event may have left this CPU since, even for another one. */
		if (!event || READ_ONCE(event->oncpu) != cpu || r->counters[i]->attr.inherit)
			continue;
		tally_local_totals(s, event, now, &s->now);
		s->time = now;
		s->was_throttled = tally_pmu_throttled(event);
		s->was_read = true;
	}
}

/* Returns the CPU on which a counter is counting in the slot; -1 if none is. */
static __always_inline int where_it_counts(const struct reading *r, unsigned int slot)
{
	unsigned int i;
	int cpu = -1;

	for (i = 0; i < r->nr && cpu < 0; i++)
		if (!r->counters[i]->attr.inherit)
			cpu = tally_slot_counting_on(&r->counters[i]->slots[slot]);
	return cpu;
}

/*
 * Returns 1 plus the running times of all counters in the slot, which changes whenever they have
 * counted for a while; 0 if one is counting.
 */
static u64 running_at_rest(const struct reading *r, unsigned int slot)
{
	const struct perf_event *event;
	const struct tally_slot *s;
	unsigned int i;
	u64 sum = 1;

	for (i = 0; i < r->nr; i++) {
		if (r->counters[i]->attr.inherit)
			continue;
		s = &r->counters[i]->slots[slot];
		tally_slot_for_each(s, event)
			sum += READ_ONCE(event->total_time_running);
		if (tally_slot_oncpu(s) >= 0)
			return 0;
	}
	return sum;
}

/*
 * Lets perf read the counters that no interrupt has read in the slot. Returns false if all were not
 * read at one moment: one of those counts by now, or no interrupt has read any, and the running
 * times are not @at_rest any more.
 */
static __always_inline bool read_rest(const struct reading *r, unsigned int slot, u64 at_rest)
{
	bool row = false, late = false;
	struct tally_counter *c;
	struct tally_slot *s;
	unsigned int i;

	for (i = 0; i < r->nr; i++) {
		c = r->counters[i];
		s = &c->slots[slot];
		row |= s->was_read;
		if (s->was_read)
			continue;
		if (!c->attr.inherit)
			late |= tally_slot_counting_on(s) >= 0;
		tally_slot_read(s, &s->now);
		if (r->nr > 1 && !c->attr.inherit)
			late |= tally_slot_counting_on(s) >= 0;
	}
	if (r->nr == 1)
		return true;
	return !late && (row || at_rest == UNKNOWN || at_rest == running_at_rest(r, slot));
}

static __always_inline void forget(const struct reading *r, unsigned int slot)
{
	unsigned int i;

	for (i = 0; i < r->nr; i++)
		r->counters[i]->slots[slot].was_read = false;
}

static __always_inline bool read_slot(struct reading *r, unsigned int slot)
{
	unsigned int tries = TRIES;
	u64 at_rest;
	int cpu;

	r->slot = slot;
	do {
		forget(r, slot);
		at_rest = 0;
		cpu = where_it_counts(r, slot);
		if (cpu >= 0)
			smp_call_function_single(cpu, read_here, r, true);
		else if (r->nr > 1)
			at_rest = running_at_rest(r, slot);
	} while (!read_rest(r, slot, at_rest) && --tries);
	return tries;
}

static __always_inline bool read_slots(struct reading *r, unsigned int first, unsigned int last)
{
	bool together = true;
	unsigned int slot;

	tally_counter_assert_locked(r->counters[0]);
	if (first == last)
		return read_slot(r, first);
	for (slot = first; slot <= last; slot++)
		forget(r, slot);
	r->slot = SLOT_OF_CPU;
	on_each_cpu_cond(is_counting, read_here, r, true);
	for (slot = first; slot <= last; slot++)
		together &= read_rest(r, slot, UNKNOWN) || read_slot(r, slot);
	return together;
}

/**
 * tally_counters_read - read slots of counters together
 * @counters: the counters, locked, on one target
 * @nr: number of @counters
 * @first: the first slot
 * @last: the last slot
 *
 * tally_slot::now of each slot receives the totals. Each other CPU that is counting gets
 * one interrupt, all of them at the same time.
 *
 * Context: Process context, may sleep.
 * Return: whether all counters were read at one moment on each CPU. Inherited ones, which perf
 * reads, do not matter.
 */
bool tally_counters_read(struct tally_counter *const *counters, unsigned int nr,
			 unsigned int first, unsigned int last)
{
	struct reading r = { counters, nr };

	return read_slots(&r, first, last);
}

/* Reads all slots of a counter. */
void tally_counter_read(struct tally_counter *c)
{
	struct reading r = { &c, 1 };

	read_slots(&r, 0, c->nr_slots - 1);
}

/* Reads one slot of a counter. */
void tally_counter_read_slot(struct tally_counter *c, unsigned int slot)
{
	struct reading r = { &c, 1 };

	read_slot(&r, slot);
}
