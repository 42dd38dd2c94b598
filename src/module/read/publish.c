// SPDX-License-Identifier: GPL-2.0
/*
 * Published counts: what an event, or a set, counted on a CPU, put where anybody
 * can read it without a lock and without an interrupt there.
 *
 * A timer on each CPU reads what counts there, and so does an overflow. They write
 * to a page of the CPU, or of the task. It has the counts twice: the copy that
 * readers use is never written to, and when the other one is complete the two
 * change places. A reader in an NMI that interrupts the writer is as well off as
 * any. One of two writers on a CPU, of which one interrupts the other, is enough:
 * the other's counts are as new.
 *
 * Ordering, beside local.c (I to K), window.c (L) and section.c (M):
 *
 * N. The page's number says which copy is to be read. It is stored, with release,
 *    after the copy is written, and followed by a write barrier before the next
 *    one, which is to the copy that readers have used so far. They load-acquire
 *    the number, read, and after a read barrier find the same number, or begin
 *    again: had they read any of the next one, they would see its predecessor's
 *    number.
 * O. Who exchanges @writing for true, which orders, has the page, and stores false
 *    with release. A timer, or an overflow, that finds it taken does without: what
 *    is written at this moment is as new. Others wait, with nothing held that a
 *    timer could want.
 * P. A publisher is reached by its members' pointers and its timers. The first are
 *    stored, with release, when it is complete, and what they point to is found by
 *    an address dependency. They are cleared, then the timers end; a grace period
 *    later no overflow and no reader is using it.
 */
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <uapi/linux/tally.h>
#include "base/ptr.h"
#include "compat.h"
#include "event/event.h"
#include "read/local.h"
#include "event/overflow.h"
#include "read/publish.h"
#include "read/publisher.h"
#include "read/read.h"

/* Between a timer that does nothing else, and one that nobody waits for. */
#define SHORTEST_NS	TALLY_PUBLISH_SHORTEST
#define LONGEST_NS	TALLY_PUBLISH_LONGEST

/* Guards the list, and tally_event::publisher against other writers. */
static DEFINE_MUTEX(publishers_lock);
static LIST_HEAD(publishers);

/*
 * What is known of a member that does not count here. One whose CPU goes, or which
 * perf is just taking off, may have less for a moment: then it has what it had.
 */
static void write_at_rest(struct tally_event *ev, unsigned int slot,
			  const struct publish_copy *old,
			  struct publish_copy *new, unsigned int i)
{
	enum tally_state state;
	struct tally_totals t;

	if (tally_event_peek(ev, slot, &t, &state))
		return;
	new->states[i] = state;
	if (t.value < old->totals[i].value || t.enabled < old->totals[i].enabled ||
	    t.running < old->totals[i].running)
		return;
	new->totals[i] = t;
}

/* What is new of a member; else what was known, as not counting any more. */
static int write_member(struct tally_publisher *p, unsigned int i, int cpu,
			u64 now, const struct publish_copy *old,
			struct publish_copy *new)
{
	struct tally_event *ev = p->members[i];
	struct tally_count count;
	int err;

	err = tally_local_read(ev, cpu, true, p->mapped, now, &count);
	if (err) {
		new->totals[i] = old->totals[i];
		new->states[i] = TALLY_STATE_INACTIVE;
		if (p->mapped)
			write_at_rest(ev, cpu & ev->slot_mask, old, new, i);
		return err;
	}
	new->totals[i].value = count.value;
	new->totals[i].enabled = count.enabled_ns;
	new->totals[i].running = count.running_ns;
	new->states[i] = count.state;
	return 0;
}

/* Readers change to the other copy. 0 would say that there is none yet. */
static void turn_over(struct publish_page *page)
{
	smp_store_release(&page->number, page->number + 1 ?: 2); /* N */
	smp_wmb(); /* N */
}

/*
 * A slot of a mapped publisher, from another CPU than its own, or for a task that
 * is not running; with interrupts disabled.
 */
void tally_publish_at_rest(struct tally_publisher *p, unsigned int slot)
{
	struct publish_page *page = p->pages[slot];
	struct publish_copy *old, *new;
	unsigned int i;

	/* A timer of another CPU has it for a moment. */
	while (xchg(&page->writing, true)) /* O */
		cpu_relax();
	old = &page->copies[page->number & 1];
	new = &page->copies[~page->number & 1];
	new->time_ns = ktime_get_mono_fast_ns();
	for (i = 0; i < p->nr; i++) {
		new->totals[i] = old->totals[i];
		new->states[i] = old->states[i];
		write_at_rest(p->members[i], slot, old, new, i);
	}
	turn_over(page);
	smp_store_release(&page->writing, false); /* O */
}

/* With interrupts disabled. Nothing is published where nothing counts. */
void tally_publish_here(struct tally_publisher *p, int cpu)
{
	const struct tally_counter *c = p->members[0]->counter;
	struct publish_page *page = p->pages[cpu & c->slot_mask];
	struct publish_copy *old, *new;
	u64 now = local_clock();
	bool any = false, all = true;
	unsigned int i;
	int err;

	/* The page is of the CPU that the task is on, or, while it rests, of anyone. */
	if (c->target.task && c->target.task != current) {
		if (p->mapped && cpu == READ_ONCE(p->mapped->cpu)) {
			tally_publish_at_rest(p, 0);
			tally_publish_mapped(p);
		}
		return;
	}
	if (xchg(&page->writing, true)) /* O */
		return;
	old = &page->copies[page->number & 1];
	new = &page->copies[~page->number & 1];
	new->time_ns = ktime_get_mono_fast_ns();
	for (i = 0; i < p->nr; i++) {
		err = write_member(p, i, cpu, now, old, new);
		any |= !err;
		all &= err != -EOPNOTSUPP;
	}
	/* One that counts, but may not be read in NMI, waits for the timer. */
	if ((any || p->mapped) && all)
		turn_over(page);
	smp_store_release(&page->writing, false); /* O */
	if (p->mapped && (p->nr_slots == 1 || READ_ONCE(p->mapped->cpu) == cpu))
		tally_publish_mapped(p);
}

static enum hrtimer_restart fired(struct hrtimer *timer)
{
	struct publish_cpu *pc = container_of(timer, struct publish_cpu, timer);

	/* Its CPU went offline, and this one took its timers. */
	if (pc->cpu != smp_processor_id())
		return HRTIMER_NORESTART;
	tally_publish_here(pc->publisher, pc->cpu);
	hrtimer_forward_now(timer, ns_to_ktime(pc->publisher->interval));
	return HRTIMER_RESTART;
}

/**
 * tally_publish_overflow - publish what counts here
 * @ev: an event that overflowed, in its callback
 */
void tally_publish_overflow(struct tally_event *ev)
{
	struct tally_publisher *p = READ_ONCE(ev->publisher); /* P */
	unsigned long flags;

	if (!p)
		return;
	/* Software events overflow with interrupts enabled. */
	raw_local_irq_save(flags);
	tally_publish_here(p, raw_smp_processor_id());
	raw_local_irq_restore(flags);
}

void tally_publisher_start_here(void *arg)
{
	struct tally_publisher *p = arg;
	struct publish_cpu *pc = this_cpu_ptr(p->cpus);

	tally_publish_here(p, pc->cpu);
	/* Not our own: one that has not yet left the CPU that had taken it. */
	hrtimer_cancel(&pc->timer);
	hrtimer_start(&pc->timer, ns_to_ktime(p->interval),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/*
 * Where an event counts that was asked for on one CPU: a PMU that serves several
 * may have it on another one.
 */
static int only_cpu(const struct tally_publisher *p)
{
	const struct tally_counter *c = p->members[0]->counter;
	const struct perf_event *event;
	int cpu = c->target.cpu;

	rcu_read_lock();
	event = READ_ONCE(c->slots[0].event);
	if (event && !c->target.task)
		cpu = READ_ONCE(event->cpu);
	rcu_read_unlock();
	return cpu;
}

bool tally_publishes_on(const struct tally_publisher *p, int cpu)
{
	return p->members[0]->counter->target.cpu < 0 || only_cpu(p) == cpu;
}

/* Those that are running begin anew: one may still be on its way elsewhere. */
static void start_timers(struct tally_publisher *p)
{
	int cpu;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		if (tally_publishes_on(p, cpu))
			smp_call_function_single(cpu, tally_publisher_start_here, p, true);
	cpus_read_unlock();
}

void tally_publisher_stop(struct tally_publisher *p)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(p->cpus, cpu)->timer);
}

/* Of its own, unlike a task's. */
static bool has_page(const struct tally_publisher *p, int cpu)
{
	return p->nr_slots > 1 ||
	       (!p->members[0]->counter->target.task && only_cpu(p) == cpu);
}

/* Of a CPU that is offline; its page is taken. */
static void write_slot(struct tally_publisher *p, unsigned int slot,
		       struct publish_page *page)
{
	struct publish_copy *new = &page->copies[~page->number & 1];
	struct tally_count count;
	unsigned int i;

	for (i = 0; i < p->nr; i++) {
		if (tally_event_read_slot(p->members[i], slot, &count))
			return;
		new->totals[i].value = count.value;
		new->totals[i].enabled = count.enabled_ns;
		new->totals[i].running = count.running_ns;
		new->states[i] = count.state;
	}
	new->time_ns = ktime_get_mono_fast_ns();
	turn_over(page);
}

/*
 * What a CPU that has gone offline had counted at last. It may come back in the
 * middle of this, and finds its page taken.
 */
static void publish_offline(struct tally_publisher *p, int cpu)
{
	unsigned int slot = cpu & p->members[0]->counter->slot_mask;
	struct publish_page *page = p->pages[slot];
	bool offline;

	cpus_read_lock();
	offline = !cpu_online(cpu);
	if (offline)
		WRITE_ONCE(page->writing, true);
	cpus_read_unlock();
	if (!offline)
		return;
	write_slot(p, slot, page);
	smp_store_release(&page->writing, false); /* O */
}

/**
 * tally_publish_repair - after CPUs came or went
 *
 * Context: Process context, may sleep; no lock of a counter is held.
 */
void tally_publish_repair(void)
{
	struct tally_publisher *p;
	int cpu;

	mutex_lock(&publishers_lock);
	list_for_each_entry(p, &publishers, node) {
		for_each_possible_cpu(cpu)
			if (has_page(p, cpu))
				publish_offline(p, cpu);
		start_timers(p);
	}
	mutex_unlock(&publishers_lock);
}

/**
 * tally_publisher_free - the end of what published
 * @p: from tally_publisher_end(), a grace period ago; NULL is ignored
 */
void tally_publisher_free(struct tally_publisher *p)
{
	unsigned int i;

	if (!p)
		return;
	for (i = 0; p->pages && i < p->nr_slots; i++)
		free_page((unsigned long)p->pages[i]);
	kvfree(p->pages);
	kfree(p->mapped);
	free_percpu(p->cpus);
	kfree(p);
}

struct tally_publisher *tally_publisher_new(struct tally_event **members,
					    unsigned int nr, unsigned int room,
					    u64 interval)
{
	struct tally_publisher *p;
	struct publish_cpu *pc;
	unsigned int i;
	int cpu;

	p = kzalloc(struct_size(p, members, room), GFP_KERNEL);
	if (!p)
		return NULL;
	p->interval = interval;
	p->asked = interval;
	p->nr = nr;
	memcpy(p->members, members, nr * sizeof(*members));
	p->nr_slots = members[0]->counter->nr_slots;
	p->cpus = alloc_percpu(struct publish_cpu);
	p->pages = kvcalloc(p->nr_slots, sizeof(*p->pages), GFP_KERNEL);
	if (!p->cpus || !p->pages)
		goto free;
	for_each_possible_cpu(cpu) {
		pc = per_cpu_ptr(p->cpus, cpu);
		pc->publisher = p;
		pc->cpu = cpu;
		tally_hrtimer_setup(&pc->timer, fired, CLOCK_MONOTONIC,
				    HRTIMER_MODE_REL_PINNED_HARD);
	}
	for (i = 0; i < p->nr_slots; i++) {
		if (p->nr_slots > 1 && !cpu_possible(i))
			continue;
		p->pages[i] = (void *)get_zeroed_page(GFP_KERNEL);
		if (!p->pages[i])
			goto free;
	}
	return p;

free:
	tally_publisher_free(p);
	return NULL;
}

/* A special overflow looks for a publisher. */
static void tell_member(struct tally_event *ev, struct tally_publisher *p)
{
	smp_store_release(&ev->publisher, p); /* P */
	if (!ev->overflow)
		return;
	mutex_lock(&ev->counter->lock);
	tally_overflow_special(ev->overflow, p ? TALLY_SPECIAL_PUBLISH : 0,
			       p ? 0 : TALLY_SPECIAL_PUBLISH);
	mutex_unlock(&ev->counter->lock);
}

/**
 * publisher_start - publish from now on
 * @members: one event, or a set's
 * @nr: how many
 * @interval: between two times, in nanoseconds
 *
 * Return: 0; ERANGE for an interval that is too short or too long, EOPNOTSUPP for
 * an inherited event, EBUSY if one of them is published, ESRCH if it is being
 * released, ENOMEM.
 */
static int publisher_start(struct tally_event **members, unsigned int nr,
			   u64 interval)
{
	struct tally_publisher *p;
	unsigned int i;
	int err = 0;

	if (interval < SHORTEST_NS * DIV_ROUND_UP(nr, 8) || interval > LONGEST_NS)
		return -ERANGE;
	for (i = 0; i < nr; i++)
		if (members[i]->attr.inherit)
			return -EOPNOTSUPP;
	p = tally_publisher_new(members, nr, nr, interval);
	if (!p)
		return -ENOMEM;
	mutex_lock(&publishers_lock);
	for (i = 0; i < nr; i++) {
		if (members[i]->unpublished)
			err = -ESRCH;
		else if (members[i]->publisher)
			err = -EBUSY;
	}
	if (!err) {
		for (i = 0; i < nr; i++)
			tell_member(members[i], p);
		list_add(&p->node, &publishers);
		start_timers(p);
	}
	mutex_unlock(&publishers_lock);
	if (err)
		tally_publisher_free(p);
	return err;
}

/* Under publishers_lock. What published; NULL if they were not, or with others. */
static struct tally_publisher *publisher_stop(struct tally_event **members,
					      unsigned int nr)
{
	struct tally_publisher *p = members[0]->publisher;
	unsigned int i;

	if (!p || p->nr != nr)
		return NULL;
	for (i = 0; i < nr; i++)
		tell_member(members[i], NULL);
	list_del(&p->node);
	tally_publisher_stop(p);
	return p;
}

/**
 * tally_publisher_end - nothing is published any more, whoever asks for it
 * @members: one event, or a set's
 * @nr: how many
 *
 * Return: what published, to be freed after a grace period; NULL if they were
 * not published, or with others.
 */
struct tally_publisher *tally_publisher_end(struct tally_event **members,
					    unsigned int nr)
{
	struct tally_publisher *p;
	unsigned int i;

	mutex_lock(&publishers_lock);
	for (i = 0; i < nr; i++)
		members[i]->unpublished = true;
	p = publisher_stop(members, nr);
	mutex_unlock(&publishers_lock);
	return p;
}

static void copy_out(const struct publish_copy *copy, unsigned int nr,
		     struct tally_count *counts)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		counts[i].value = copy->totals[i].value;
		counts[i].enabled_ns = copy->totals[i].enabled;
		counts[i].running_ns = copy->totals[i].running;
		counts[i].state = copy->states[i];
	}
}

/**
 * tally_published - what was published last
 * @first: the first member
 * @cpu: which CPU, for events on all CPUs
 * @nr: how many members
 * @counts: receives their counts
 * @age: receives how old they are, in nanoseconds
 *
 * Context: Any context.
 * Return: 0; EINVAL for a CPU that does not exist or that they are not on, ENODATA
 * if they are not published, or nothing has been yet.
 */
int tally_published(struct tally_event *first, int cpu, unsigned int nr,
		    struct tally_count *counts, u64 *age)
{
	const struct tally_counter *c = first->counter;
	const struct publish_page *page;
	const struct publish_copy *copy;
	struct tally_publisher *p;
	u32 number;
	int err = 0;
	u64 time;

	if (tally_counter_on_all_cpus(c) ?
	    cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu) :
	    cpu >= 0 && cpu != c->target.cpu)
		return -EINVAL;
	/* Against tally_publisher_free(). */
	preempt_disable_notrace();
	p = READ_ONCE(first->publisher); /* P */
	page = p ? p->pages[cpu & c->slot_mask] : NULL;
	if (!p || p->nr != nr || !READ_ONCE(page->number)) {
		err = -ENODATA;
		goto out;
	}
	do {
		number = smp_load_acquire(&page->number); /* N */
		copy = &page->copies[number & 1];
		time = copy->time_ns;
		copy_out(copy, nr, counts);
		smp_rmb(); /* N */
	} while (READ_ONCE(page->number) != number);
	time = ktime_get_mono_fast_ns() - time;
	*age = max_t(s64, time, 0);
out:
	preempt_enable_notrace();
	return err;
}

int tally_publish(struct tally_event **members, unsigned int nr, u64 interval)
{
	struct tally_publisher *p;

	if (interval)
		return publisher_start(members, nr, interval);
	mutex_lock(&publishers_lock);
	p = publisher_stop(members, nr);
	mutex_unlock(&publishers_lock);
	if (p)
		synchronize_rcu();
	tally_publisher_free(p);
	return 0;
}

int tally_event_publish(struct tally_event *ev, u64 interval_ns)
{
	if (tally_bad_ptr(ev))
		return -EINVAL;
	might_sleep();
	return tally_publish(&ev, 1, interval_ns);
}
EXPORT_SYMBOL_TALLY(tally_event_publish);

int tally_event_published(struct tally_event *ev, int cpu,
			  struct tally_count *count, u64 *age_ns)
{
	if (tally_bad_ptr(ev) || tally_bad_ptr(count) || tally_bad_ptr(age_ns))
		return -EINVAL;
	return tally_published(ev, cpu, 1, count, age_ns);
}
EXPORT_SYMBOL_TALLY(tally_event_published);
