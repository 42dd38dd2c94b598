// SPDX-License-Identifier: GPL-2.0
/*
 * Published counts in a page that programs have mapped: the sum of all CPUs, in the
 * layout of perf's page and, below that, of all members.
 *
 * The timer of one CPU adds up what all of them have published, and writes it; so
 * does whoever changes what the events do. The program reads without a system call.
 *
 * Ordering, beside publish.c (N to P):
 *
 * Q. The page's lock is odd while it is written: each write of the lock is on its
 *    side of a write barrier. One writes at a time, with interrupts disabled; who
 *    finds another one at it leaves it to him, unless it has to be done now.
 */
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <uapi/linux/tally.h>
#include "compat.h"
#include "event/event.h"
#include "read/publish.h"
#include "read/publisher.h"

/*
 * Guards the list of publishers, their members and timers. It is taken inside the
 * lock of a program's mappings, and so is nothing in which perf's locks are taken:
 * inside those, perf gives programs what they read.
 */
static DEFINE_MUTEX(mapped_lock);
static LIST_HEAD(mapped);

/* The last copy of a slot; false if there has been none. */
static bool copy_slot(const struct publish_page *page, unsigned int nr,
		      struct publish_copy *to)
{
	const struct publish_copy *from;
	u32 number;

	if (!READ_ONCE(page->number))
		return false;
	do {
		number = smp_load_acquire(&page->number); /* N */
		from = &page->copies[number & 1];
		to->time_ns = from->time_ns;
		memcpy(to->totals, from->totals, nr * sizeof(*to->totals));
		memcpy(to->states, from->states, nr * sizeof(*to->states));
		smp_rmb(); /* N */
	} while (READ_ONCE(page->number) != number);
	return true;
}

/* What is published may be older than what it begins from. */
static void take_off(u64 *from, u64 what)
{
	*from -= min(*from, what);
}

static void add_up(struct tally_publisher *p)
{
	struct publish_copy *sum = &p->mapped->sum, *one = &p->mapped->one;
	unsigned int slot, i;

	memset(sum, 0, sizeof(*sum));
	memset(sum->states, TALLY_STATE_OFFLINE, sizeof(sum->states));
	for (slot = 0; slot < p->nr_slots; slot++) {
		if (!p->pages[slot] || !copy_slot(p->pages[slot], p->nr, one))
			continue;
		sum->time_ns = max(sum->time_ns, one->time_ns);
		for (i = 0; i < p->nr; i++) {
			sum->totals[i].value += one->totals[i].value;
			sum->totals[i].enabled += one->totals[i].enabled;
			sum->totals[i].running += one->totals[i].running;
			sum->states[i] = p->nr_slots == 1 ? one->states[i] :
				tally_state_worse(sum->states[i], one->states[i]);
		}
	}
	if (p->mapped->attached) {
		take_off(&sum->totals[0].value, p->mapped->base.value);
		take_off(&sum->totals[0].enabled, p->mapped->base.enabled);
		take_off(&sum->totals[0].running, p->mapped->base.running);
		return;
	}
	for (i = 0; i < p->nr; i++)
		take_off(&sum->totals[i].value, tally_event_zero(p->members[i]));
}

/*
 * A program reads it under the page's lock, as the manual page says. It may do so
 * on any CPU, unlike perf's.
 */
static void write_mapped(const struct publish_mapped *m, unsigned int nr)
{
	struct tally_page *more = (void *)m->page + TALLY_PAGE_AT;
	struct perf_event_mmap_page *page = m->page;
	const struct publish_copy *sum = &m->sum;
	unsigned int i;

	WRITE_ONCE(page->lock, page->lock + 1);
	smp_wmb(); /* Q */
	page->offset = sum->totals[0].value;
	page->time_enabled = sum->totals[0].enabled;
	page->time_running = sum->totals[0].running;
	more->time_ns = sum->time_ns;
	more->nr = nr;
	more->state = sum->states[0];
	for (i = 0; i < nr; i++) {
		more->values[i].value = sum->totals[i].value;
		more->values[i].enabled_ns = sum->totals[i].enabled;
		more->values[i].running_ns = sum->totals[i].running;
	}
	smp_wmb(); /* Q */
	WRITE_ONCE(page->lock, page->lock + 1);
}

/* With interrupts disabled; unless somebody else is at it. */
void tally_publish_mapped(struct tally_publisher *p)
{
	struct publish_mapped *m = p->mapped;

	if (xchg(&m->writing, 1))
		return;
	add_up(p);
	write_mapped(m, p->nr);
	/* Pairs with the exchange by whoever writes next. */
	smp_store_release(&m->writing, 0);
}

static void init_mapped(struct perf_event_mmap_page *page)
{
	page->cap_bit0_is_deprecated = 1;
	page->size = offsetof(struct perf_event_mmap_page, __reserved);
	page->data_offset = PAGE_SIZE;
}

/* What one takes, besides a page for each CPU. */
size_t tally_publisher_memory(void)
{
	return sizeof(struct publish_mapped) + TALLY_SET_MOST * sizeof(void *) +
	       sizeof(struct tally_publisher) +
	       num_possible_cpus() * sizeof(struct publish_cpu);
}

/* As it was asked for, but not too often for so many. */
static void set_interval(struct tally_publisher *p)
{
	u64 shortest = TALLY_PUBLISH_SHORTEST *
		       max(DIV_ROUND_UP(p->nr, 8),
			   DIV_ROUND_UP(p->nr * p->nr_slots, 64));

	p->interval = max(p->asked, shortest);
}

static bool can_start(int cpu, void *publisher)
{
	return tally_publishes_on(publisher, cpu);
}

/*
 * A CPU that goes meanwhile has its timer elsewhere, where it ends; one that comes
 * is seen by the work that this queues.
 */
static void start(struct tally_publisher *p)
{
	WRITE_ONCE(p->mapped->cpu, cpumask_first(cpu_online_mask));
	on_each_cpu_cond(can_start, tally_publisher_start_here, p, true);
}

static bool counts_on(int cpu, void *publisher)
{
	const struct tally_publisher *p = publisher;
	const struct perf_event *event;
	const struct tally_counter *c;
	unsigned int i;

	for (i = 0; i < p->nr; i++) {
		c = p->members[i]->counter;
		event = READ_ONCE(c->slots[cpu & c->slot_mask].event);
		if (event && READ_ONCE(event->oncpu) == cpu)
			return true;
	}
	return false;
}

static void publish_here(void *publisher)
{
	tally_publish_here(publisher, smp_processor_id());
}

/*
 * What rests is read from here, and what counts by its CPU. Until all is there, no
 * timer adds it up.
 */
static void refresh(struct tally_publisher *p, const struct tally_totals *base)
{
	struct publish_mapped *m = p->mapped;
	unsigned int slot;

	lockdep_assert_held(&mapped_lock);
	while (xchg(&m->writing, 1))
		cpu_relax();
	if (base)
		m->base = *base;
	local_irq_disable();
	for (slot = 0; slot < p->nr_slots; slot++)
		if (p->pages[slot])
			tally_publish_at_rest(p, slot);
	local_irq_enable();
	on_each_cpu_cond(counts_on, publish_here, p, true);
	local_irq_disable();
	add_up(p);
	write_mapped(m, p->nr);
	local_irq_enable();
	/* Pairs with the exchange by whoever writes next. */
	smp_store_release(&m->writing, 0);
}

/**
 * tally_publisher_refresh - have all counts in a mapped page that there are now
 * @p: from tally_publisher_map(); NULL is ignored
 * @base: what is not the program's; NULL as before
 *
 * Context: Process context, may sleep.
 */
void tally_publisher_refresh(struct tally_publisher *p,
			     const struct tally_totals *base)
{
	if (!p)
		return;
	mutex_lock(&mapped_lock);
	refresh(p, base);
	mutex_unlock(&mapped_lock);
}

/* After CPUs came or went. */
void tally_mapped_repair(void)
{
	struct tally_publisher *p;

	mutex_lock(&mapped_lock);
	list_for_each_entry(p, &mapped, node) {
		start(p);
		refresh(p, NULL);
	}
	mutex_unlock(&mapped_lock);
}

/**
 * tally_publisher_map - publish in a page of a user program
 * @members: one event, or a set's; they live longer
 * @nr: how many
 * @interval: between two times, in nanoseconds; longer if there are many
 * @page: zeroed, or from an earlier publisher
 * @base: what is not the program's, of an event that is attached to; else NULL
 *
 * It has nothing to do with what the members' owners publish.
 *
 * Context: Process context, may sleep.
 * Return: what publishes; NULL for want of memory.
 */
struct tally_publisher *tally_publisher_map(struct tally_event **members,
					    unsigned int nr, u64 interval,
					    void *page,
					    const struct tally_totals *base)
{
	struct tally_publisher *p;

	p = tally_publisher_new(members, nr, TALLY_SET_MOST, interval);
	if (!p)
		return NULL;
	set_interval(p);
	p->mapped = kzalloc(sizeof(*p->mapped), GFP_KERNEL);
	if (!p->mapped) {
		tally_publisher_free(p);
		return NULL;
	}
	p->mapped->page = page;
	if (base) {
		p->mapped->attached = true;
		p->mapped->base = *base;
	}
	init_mapped(page);
	mutex_lock(&mapped_lock);
	list_add(&p->node, &mapped);
	start(p);
	refresh(p, NULL);
	mutex_unlock(&mapped_lock);
	return p;
}

/**
 * tally_publisher_change - publish others in the same page
 * @p: from tally_publisher_map(); NULL is ignored
 * @members: on the same target; they live longer
 * @nr: how many
 *
 * Context: Process context, may sleep.
 */
void tally_publisher_change(struct tally_publisher *p,
			    struct tally_event **members, unsigned int nr)
{
	unsigned int slot;

	if (!p)
		return;
	mutex_lock(&mapped_lock);
	tally_publisher_stop(p);
	/* What was published of others. */
	for (slot = 0; slot < p->nr_slots; slot++)
		if (p->pages[slot])
			clear_page(p->pages[slot]);
	memcpy(p->members, members, nr * sizeof(*members));
	p->nr = nr;
	set_interval(p);
	start(p);
	refresh(p, NULL);
	mutex_unlock(&mapped_lock);
}

/**
 * tally_publisher_last - write what is the end of it
 * @p: from tally_publisher_map(), for one event; NULL is ignored. It is gone.
 * @count: what the program's count is in the end
 *
 * Context: Process context, may sleep.
 */
void tally_publisher_last(struct tally_publisher *p,
			  const struct tally_count *count)
{
	struct publish_mapped *m;

	if (!p)
		return;
	m = p->mapped;
	mutex_lock(&mapped_lock);
	list_del(&p->node);
	tally_publisher_stop(p);
	m->sum.totals[0].value = count->value;
	m->sum.totals[0].enabled = count->enabled_ns;
	m->sum.totals[0].running = count->running_ns;
	m->sum.states[0] = count->state;
	local_irq_disable();
	write_mapped(m, 1);
	local_irq_enable();
	mutex_unlock(&mapped_lock);
	tally_publisher_free(p);
}

/**
 * tally_publisher_unmap - write a mapped page no more
 * @p: from tally_publisher_map(); NULL is ignored. It is gone.
 *
 * Context: Process context, may sleep.
 */
void tally_publisher_unmap(struct tally_publisher *p)
{
	if (!p)
		return;
	mutex_lock(&mapped_lock);
	list_del(&p->node);
	tally_publisher_stop(p);
	mutex_unlock(&mapped_lock);
	tally_publisher_free(p);
}
