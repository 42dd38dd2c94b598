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
 * @nr_read: number of counters that the CPU has read which read @slot
 */
struct reading {
	struct tally_counter *const *counters;
	unsigned int nr;
	int slot;
	unsigned int nr_read;
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

/* Reads a slot, and returns true, if it is counting on this CPU. */
static noinline bool read_if_here(struct tally_slot *s, int cpu, u64 now)
{
	struct perf_event *event = tally_slot_here(s, cpu);

	/* The event may have left this CPU since, even for another one. */
	if (!event || READ_ONCE(event->oncpu) != cpu)
		return false;
	tally_local_totals(s, event, now, &s->now);
	s->time = now;
	s->was_throttled = tally_pmu_throttled(event);
	return true;
}

static void read_slot_here(void *data)
{
	struct tally_slot *s = data;

	s->was_read = read_if_here(s, smp_processor_id(), local_clock());
}

static void read_here(void *data)
{
	struct reading *r = data;
	int cpu = smp_processor_id();
	unsigned int slot = r->slot == SLOT_OF_CPU ? cpu : r->slot;
	unsigned int i, nr_read = 0;
	u64 now = local_clock();
	struct tally_counter *c;
	struct tally_slot *s;

	for (i = 0; i < r->nr; i++) {
		c = r->counters[i];
		s = &c->slots[slot];
		s->was_read = !c->attr.inherit && read_if_here(s, cpu, now);
		nr_read += s->was_read;
	}
	if (r->slot != SLOT_OF_CPU)
		r->nr_read = nr_read;
}

/* Returns the CPU on which a counter is counting in the slot; -1 if none is. */
static int where_it_counts(const struct reading *r, unsigned int slot)
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
static bool read_rest(const struct reading *r, unsigned int slot, u64 at_rest)
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
		if (!c->attr.inherit)
			late |= tally_slot_counting_on(s) >= 0;
	}
	return !late && (row || at_rest == UNKNOWN || at_rest == running_at_rest(r, slot));
}

static void forget(const struct reading *r, unsigned int slot)
{
	unsigned int i;

	for (i = 0; i < r->nr; i++)
		r->counters[i]->slots[slot].was_read = false;
}

/* Reads one slot of a counter. */
void tally_counter_read_slot(struct tally_counter *c, unsigned int slot)
{
	struct tally_slot *s = &c->slots[slot];
	int cpu = -1;

	tally_counter_assert_locked(c);
	s->was_read = false;
	if (!c->attr.inherit)
		cpu = tally_slot_counting_on(s);
	if (cpu >= 0)
		smp_call_function_single(cpu, read_slot_here, s, true);
	if (!s->was_read)
		tally_slot_read(s, &s->now);
}

/* Reads a slot of several counters until that was at one moment, or TRIES times. */
static bool read_slot(struct reading *r, unsigned int slot)
{
	unsigned int tries = TRIES;
	u64 at_rest;
	int cpu;

	r->slot = slot;
	do {
		r->nr_read = 0;
		at_rest = 0;
		cpu = where_it_counts(r, slot);
		if (cpu < 0)
			at_rest = running_at_rest(r, slot);
		/* A CPU that has gone reads none. */
		if (cpu < 0 || smp_call_function_single(cpu, read_here, r, true))
			forget(r, slot);
		if (r->nr_read == r->nr)
			break;
	} while (!read_rest(r, slot, at_rest) && --tries);
	return tries;
}

static bool read_slots(struct reading *r, unsigned int first, unsigned int last)
{
	bool together = true;
	unsigned int slot;

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
 * tally_slot::now of each slot receives the totals. The CPUs that are counting are interrupted
 * together; one whose slot was not read at one moment, a few times more.
 *
 * Context: Process context, may sleep.
 * Return: whether all counters were read at one moment on each CPU, but for inherited ones, which
 * perf reads.
 */
bool tally_counters_read(struct tally_counter *const *counters, unsigned int nr,
			 unsigned int first, unsigned int last)
{
	struct reading r = { counters, nr };

	tally_counter_assert_locked(counters[0]);
	return first == last ? read_slot(&r, first) : read_slots(&r, first, last);
}

/* Reads all slots of a counter. */
void tally_counter_read(struct tally_counter *c)
{
	if (c->nr_slots == 1)
		tally_counter_read_slot(c, 0);
	else
		tally_counters_read(&c, 1, 0, c->nr_slots - 1);
}
