// SPDX-License-Identifier: GPL-2.0
/*
 * Reads of counters: of one, or of all counters of a set together.
 *
 * One interrupt on each CPU reads the counters that are counting there: a row,
 * all of it at one moment of one clock. perf reads the others, which are not on
 * the PMU, or which only perf reads (tally_counter::by_perf).
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

/**
 * struct reading - counters that are read together
 * @counters: the counters, locked, on one target
 * @nr: number of @counters
 * @slot: the slot to read; or SLOT_OF_CPU
 * @nr_read: number of @counters that the last interrupt has read; unused with SLOT_OF_CPU
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

/* Returns for how long the events of a slot have been on the PMU, if none of them is now. */
static u64 running_at_rest(const struct tally_slot *s)
{
	const struct perf_event *event;
	u64 sum = 0;

	tally_slot_for_each(s, event)
		sum += READ_ONCE(event->total_time_running);
	return sum;
}

/* Marks a slot that is not counting, so that read_by_perf() finds whether it has counted since. */
static void mark_at_rest(struct tally_slot *s)
{
	s->was_read = false;
	s->at_rest = running_at_rest(s);
}

/* Reads a slot, and returns true, if it is counting on this CPU. */
static noinline bool read_if_here(struct tally_slot *s, int cpu, u64 now)
{
	struct perf_event *event = tally_slot_here(s, cpu);

	/* The event may have left this CPU since, even for another one. */
	if (!event || READ_ONCE(event->oncpu) != cpu) {
		mark_at_rest(s);
		return false;
	}
	tally_local_totals(s, event, now, &s->now);
	s->time = now;
	s->was_throttled = tally_pmu_throttled(event);
	s->was_read = true;
	return true;
}

static void read_slot_here(void *slot)
{
	read_if_here(slot, smp_processor_id(), local_clock());
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
		if (!c->by_perf)
			nr_read += read_if_here(s, cpu, now);
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
		if (!r->counters[i]->by_perf)
			cpu = tally_slot_counting_on(&r->counters[i]->slots[slot]);
	return cpu;
}

/*
 * Lets perf read the counters that no interrupt has read in the slot. Returns whether all, but for
 * those with by_perf, were of one moment: those read here did not count since mark_at_rest().
 */
static bool read_by_perf(const struct reading *r, unsigned int slot)
{
	struct tally_counter *c;
	struct tally_slot *s;
	bool late = false;
	unsigned int i;

	for (i = 0; i < r->nr; i++) {
		c = r->counters[i];
		s = &c->slots[slot];
		if (s->was_read)
			continue;
		if (!c->by_perf)
			late |= tally_slot_counting_on(s) >= 0;
		tally_slot_read(s, &s->now);
		if (!c->by_perf)
			late |= tally_slot_counting_on(s) >= 0 || running_at_rest(s) != s->at_rest;
	}
	/* One counter is always of one moment. */
	return !late || r->nr == 1;
}

static void mark_all_at_rest(const struct reading *r, unsigned int slot)
{
	unsigned int i;

	for (i = 0; i < r->nr; i++)
		mark_at_rest(&r->counters[i]->slots[slot]);
}

/* Reads one slot of a counter. */
void tally_counter_read_slot(struct tally_counter *c, unsigned int slot)
{
	struct tally_slot *s = &c->slots[slot];
	int cpu = -1;

	tally_counter_assert_locked(c);
	s->was_read = false;
	if (!c->by_perf)
		cpu = tally_slot_counting_on(s);
	if (cpu >= 0)
		smp_call_function_single(cpu, read_slot_here, s, true);
	if (s->was_read)
		return;
	/* The event has left that CPU: this waits until perf has updated its times. */
	if (cpu >= 0)
		tally_slot_counting_on(s);
	tally_slot_read(s, &s->now);
}

/* Reads a slot of the counters until that was at one moment, or TRIES times. */
static bool read_slot(struct reading *r, unsigned int slot)
{
	unsigned int tries = TRIES;
	int cpu;

	r->slot = slot;
	do {
		r->nr_read = 0;
		cpu = where_it_counts(r, slot);
		/* A CPU that has gone reads none. */
		if (cpu < 0 || smp_call_function_single(cpu, read_here, r, true))
			mark_all_at_rest(r, slot);
	} while (r->nr_read != r->nr && !read_by_perf(r, slot) && --tries);
	return tries;
}

static bool read_slots(struct reading *r, unsigned int first, unsigned int last)
{
	bool together = true;
	unsigned int slot;

	for (slot = first; slot <= last; slot++)
		mark_all_at_rest(r, slot);
	r->slot = SLOT_OF_CPU;
	on_each_cpu_cond(is_counting, read_here, r, true);
	for (slot = first; slot <= last; slot++)
		together &= read_by_perf(r, slot) || read_slot(r, slot);
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
 * Return: whether all counters were read at one moment on each CPU, but for
 * those that only perf reads.
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
