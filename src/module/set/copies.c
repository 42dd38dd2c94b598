// SPDX-License-Identifier: GPL-2.0
/*
 * Copies of published counts: a page for each CPU, or for the task.
 *
 * The page has two copies of the counts. Readers use one copy, which is not
 * written. When the other copy is complete, readers change to it. So a reader
 * in an NMI that interrupts the writer finds a whole copy, too. A writer that
 * interrupts another one on its CPU writes nothing: the other one is writing
 * counts of the same moment.
 *
 * Ordering:
 *
 * N. publish_page::number says which copy to read. A writer stores it with
 *    release after the copy is written. A write barrier follows, before the
 *    next write, which is to the copy that readers have used so far. A reader
 *    load-acquires the number, reads the copy, and reads the number again after
 *    a read barrier. If the number has changed, the reader begins again. A
 *    reader that has read anything of that next write sees the number that was
 *    stored before it.
 *
 * A writer takes the page when it exchanges publish_page::writing for true, with a full barrier. It
 * gives the page back when it stores false with release. A timer or an overflow that finds the page
 * taken writes nothing. It misses no count but that of an event that a driver has moved to its CPU,
 * and the next timer of that CPU writes it. tally_publish_at_rest() waits for the page, and holds
 * nothing that a timer needs. tally_shared::taken works alike, and is taken before the page.
 */
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include "base/trace.h"
#include "event/event.h"
#include "set/read.h"
#include "set/page.h"
#include "set/publish.h"

static void store_old(struct publish_copy *new, unsigned int i,
		      const struct publish_copy *old, enum tally_state state)
{
	const struct tally_totals *t = &old->totals[i];

	tally_publish_store(new, i, t->value, t->enabled, t->running, state);
}

static void store_count(struct publish_copy *new, unsigned int i,
			const struct tally_count *count)
{
	tally_publish_store(new, i, count->value, count->enabled_ns, count->running_ns,
			    count->state);
}

/*
 * Writes a member that is not counting in this slot. The caller has stored its
 * old totals in @new. The old totals stay if the new ones are smaller: new
 * totals may be too small for a moment, while a CPU goes offline or perf takes
 * the member off the PMU. But the value of a gauge may fall, and a reset lowers
 * any value without @whole. Returns the error of tally_event_peek().
 */
static int write_at_rest(struct tally_event *ev, unsigned int slot, bool whole,
			 const struct publish_copy *old,
			 struct publish_copy *new, unsigned int i)
{
	enum tally_state state;
	struct tally_totals t;
	int err;

	err = tally_event_peek(ev, slot, whole, -1, &t, &state);
	if (err)
		return err;
	if ((whole && !ev->gauge && t.value < old->totals[i].value) ||
	    t.enabled < old->totals[i].enabled || t.running < old->totals[i].running)
		WRITE_ONCE(new->states[i], state);
	else
		tally_publish_store(new, i, t.value, t.enabled, t.running, state);
	return 0;
}

/*
 * Writes a member: with the totals that are read on this CPU; else with its old totals, as
 * inactive, or for a mapped page and a cgroup as write_at_rest() does. Returns EXDEV, with the old
 * totals and state, if the member counts on another CPU, which writes it.
 */
static int write_member(struct tally_publisher *p, unsigned int i, unsigned int slot,
			u64 now, const struct publish_copy *old,
			struct publish_copy *new)
{
	struct tally_event *ev = p->members[i];
	struct tally_count count;
	int err, cpu;

	err = tally_local_read(ev, slot, true, p->mapping, now, &count);
	if (err) {
		cpu = READ_ONCE(p->moved) ? tally_slot_oncpu(&ev->counter->slots[slot]) : -1;
		if (cpu >= 0 && cpu != raw_smp_processor_id()) {
			store_old(new, i, old, old->states[i]);
			return -EXDEV;
		}
		store_old(new, i, old, TALLY_STATE_INACTIVE);
		/* The tasks of a cgroup may always be away when the timer runs. */
		if (p->mapping || ev->counter->target.css)
			write_at_rest(ev, slot, p->mapping, old, new, i);
		return err;
	}
	store_count(new, i, &count);
	return 0;
}

/* Traces the counts that readers find now. */
static void trace(const struct tally_publisher *p, const struct publish_page *page,
		  unsigned int slot)
{
	const struct tally_counter *c = p->members[0]->counter;
	int cpu = tally_counter_on_all_cpus(c) ? slot : c->target.cpu;
	const struct publish_copy *copy = &page->copies[page->number & 1];
	struct tally_totals t;
	unsigned int i;
	u8 state;

	for (i = 0; i < p->nr; i++) {
		tally_publish_load(copy, i, &t, &state);
		trace_count(p->members[i]->name, cpu, t.value, t.enabled, t.running);
	}
}

/*
 * Has readers use the copy that was written. The number 0 stands for a page without a copy, and
 * does not come again: so publish_page::base is written with the first copy only.
 */
static void switch_copies(const struct tally_publisher *p, struct publish_page *page,
			  unsigned int slot)
{
	if (p->unprivileged && !page->number)
		page->base = page->copies[1].totals[0];
	smp_store_release(&page->number, page->number + 1 ?: 2); /* N */
	smp_wmb(); /* N */
	if (trace_count_enabled())
		trace(p, page, slot);
}

/* Returns whether it is too early for another copy. */
static bool is_too_early(const struct tally_publisher *p, const struct publish_page *page)
{
	u32 number = READ_ONCE(page->number);

	return p->unprivileged && number &&
	       ktime_get_mono_fast_ns() - READ_ONCE(page->copies[number & 1].time_ns) < p->interval;
}

/**
 * tally_publish_share - make room for the counts that unprivileged publishers share
 * @ev: the event, which is not freed meanwhile
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOMEM.
 */
int tally_publish_share(struct tally_event *ev)
{
	struct tally_shared *new;

	if (READ_ONCE(ev->shared))
		return 0;
	new = kvcalloc(ev->counter->nr_slots, sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	if (cmpxchg(&ev->shared, NULL, new))
		kvfree(new);
	return 0;
}

/* Raises each total to that in @from, unless it is larger: @from may be the older one. */
static void raise_totals(struct tally_totals *to, const struct tally_totals *from)
{
	to->value = max(to->value, from->value);
	to->enabled = max(to->enabled, from->enabled);
	to->running = max(to->running, from->running);
}

/* Returns the count that unprivileged publishers share in a slot; NULL for another publisher. */
static struct tally_shared *shared_of(const struct tally_publisher *p, unsigned int slot)
{
	return p->unprivileged ? &p->members[0]->shared[slot] : NULL;
}

/* Locks the shared count for a moment. Returns false if another writer has it. */
static bool lock_shared(struct tally_shared *shared)
{
	return !shared || !xchg(&shared->taken, true);
}

static void unlock_shared(struct tally_shared *shared)
{
	if (shared)
		smp_store_release(&shared->taken, false); /* lock_shared() */
}

/*
 * Writes the shared count to the new copy. Returns false if there is no shared count or it is too
 * old, as any count is for a publisher that ends, whose interval is 0.
 */
static bool write_shared(const struct tally_publisher *p, const struct tally_shared *shared,
			 const struct publish_copy *old, struct publish_copy *new)
{
	struct tally_totals t;

	if (!shared || !shared->time_ns ||
	    ktime_get_mono_fast_ns() - shared->time_ns >= min(p->interval, TALLY_PUBLISH_DEFAULT))
		return false;
	t = shared->totals;
	raise_totals(&t, &old->totals[0]);
	tally_publish_store(new, 0, t.value, t.enabled, t.running, shared->state);
	WRITE_ONCE(new->time_ns, shared->time_ns);
	return true;
}

/* Shares a new copy, unless nothing was read for it and its totals are those of the old one. */
static void share(struct tally_shared *shared, const struct publish_copy *old,
		  const struct publish_copy *new, bool was_read)
{
	if (!shared || !(was_read || memcmp(&old->totals[0], &new->totals[0],
					    sizeof(new->totals[0]))))
		return;
	raise_totals(&shared->totals, &new->totals[0]);
	shared->state = new->states[0];
	shared->time_ns = new->time_ns;
}

/*
 * Publishes the members that are not counting in a slot, from any CPU. If all
 * members are counting, only a shared count is published. Returns false if a
 * member could not be read. Called with interrupts disabled.
 */
bool tally_publish_at_rest(struct tally_publisher *p, unsigned int slot)
{
	struct publish_page *page = p->pages[slot];
	struct tally_shared *shared = shared_of(p, slot);
	struct publish_copy *old, *new;
	bool any = false, all = true;
	unsigned int i;
	int err;

	if (is_too_early(p, page))
		return true;
	/* Another CPU has the count or the page for a moment only, with interrupts disabled. */
	while (!lock_shared(shared))
		cpu_relax();
	while (xchg(&page->writing, true))
		cpu_relax();
	old = &page->copies[page->number & 1];
	new = &page->copies[~page->number & 1];
	if (write_shared(p, shared, old, new)) {
		switch_copies(p, page, slot);
		goto out;
	}
	WRITE_ONCE(new->time_ns, ktime_get_mono_fast_ns());
	for (i = 0; i < p->nr; i++) {
		store_old(new, i, old, old->states[i]);
		err = write_at_rest(p->members[i], slot, p->mapping, old, new, i);
		any |= !err;
		all &= !err;
	}
	if (any) {
		share(shared, old, new, true);
		switch_copies(p, page, slot);
	}
out:
	smp_store_release(&page->writing, false); /* the next xchg() */
	unlock_shared(shared);
	return all;
}

/* Publishes a slot from the CPU that counts in it. Returns whether its page may have changed. */
static bool publish_slot(struct tally_publisher *p, unsigned int slot)
{
	const struct tally_counter *c = p->members[0]->counter;
	struct publish_page *page = p->pages[slot];
	struct tally_shared *shared = shared_of(p, slot);
	struct publish_copy *old, *new;
	bool any = false, all = true, mapped = false;
	u64 now = local_clock();
	unsigned int i;
	int err;

	/* A task's page is written by its CPU or, while it is not running, by any CPU. */
	if (c->target.task && c->target.task != current) {
		if (p->mapping)
			tally_publish_at_rest(p, 0);
		return p->mapping;
	}
	if (is_too_early(p, page) || !lock_shared(shared))
		return false;
	if (xchg(&page->writing, true)) {
		unlock_shared(shared);
		return false;
	}
	old = &page->copies[page->number & 1];
	new = &page->copies[~page->number & 1];
	if (write_shared(p, shared, old, new)) {
		switch_copies(p, page, slot);
		goto out;
	}
	WRITE_ONCE(new->time_ns, ktime_get_mono_fast_ns());
	for (i = 0; i < p->nr; i++) {
		err = write_member(p, i, slot, now, old, new);
		any |= !err;
		all &= err != -EOPNOTSUPP;
		mapped |= p->mapping && err != -EXDEV;
	}
	/*
	 * If a member counts, but cannot be read in NMI, nothing is published until the timer runs.
	 * The first copy of an unprivileged publisher, its base, needs a count that was read.
	 */
	any |= !!c->target.css && !p->unprivileged;
	if (all && (any || (mapped && (!p->unprivileged || page->number)))) {
		share(shared, old, new, any);
		switch_copies(p, page, slot);
	}
out:
	smp_store_release(&page->writing, false); /* the next xchg() */
	unlock_shared(shared);
	return true;
}

/* Returns whether the driver of a PMU has moved an event of another slot to this CPU. */
static bool has_moved(const struct tally_publisher *p, unsigned int slot, int cpu)
{
	const struct perf_event *event;
	unsigned int i;

	for (i = 0; slot != cpu && i < p->nr; i++) {
		event = READ_ONCE(p->members[i]->counter->slots[slot].event);
		if (event && READ_ONCE(event->cpu) == cpu)
			return true;
	}
	return false;
}

/*
 * Publishes the events that are counting on this CPU. If none of them counts here, nothing is
 * published, but for a page with sums and for a cgroup. Called with interrupts disabled.
 */
void tally_publish_here(struct tally_publisher *p, int cpu)
{
	bool any = publish_slot(p, cpu & p->members[0]->counter->slot_mask);
	bool moved = READ_ONCE(per_cpu_ptr(p->cpus, cpu)->moved);
	unsigned int slot;

	for (slot = 0; moved && slot < p->nr_slots; slot++)
		if (has_moved(p, slot, cpu))
			any |= publish_slot(p, slot);
	if (any && p->mapping)
		tally_publish_mapped(p);
}
