// SPDX-License-Identifier: GPL-2.0
/*
 * Published counts: the counts of an event or a set on each CPU, in memory that all
 * contexts can read without a lock and without an interrupt on that CPU.
 *
 * A timer on each CPU reads the events that are counting there, and so does an overflow.
 * Both write to a page of the CPU, or of the task. The page has two copies of the counts.
 * Readers use one copy, which is not written. When the other copy is complete, readers
 * change to it. So a reader in an NMI that interrupts the writer finds a whole copy, too.
 * A writer that interrupts another one on its CPU writes nothing: the counts of the other
 * one are as new.
 *
 * Ordering, beside local.c (I to K) and window.c (L):
 *
 * N. publish_page::number says which copy to read. A writer stores it with release after
 *    the copy is written. A write barrier follows, before the next write, which is to the
 *    copy that readers have used so far. A reader load-acquires the number, reads the
 *    copy, and reads the number again after a read barrier. If the number has changed,
 *    the reader begins again. A reader that has read anything of that next write sees
 *    the number that was stored before it.
 * O. A writer takes the page when it exchanges @writing for true, with a full barrier,
 *    and stores false with release. A timer or an overflow that finds the page taken
 *    writes nothing: the counts that are being written are as new. Other writers wait,
 *    and hold nothing that a timer needs.
 * P. A publisher is used by its timers, and through its members' pointers. The pointers
 *    are stored with release when the publisher is complete, and are followed by an
 *    address dependency. At the end the pointers are cleared, and then the timers are
 *    cancelled. A grace period later no overflow and no reader uses the publisher.
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

/* A shorter interval takes a CPU for the timer alone; nobody waits for a longer one. */
#define SHORTEST_NS	TALLY_PUBLISH_SHORTEST
#define LONGEST_NS	TALLY_PUBLISH_LONGEST

/* Guards @publishers, and writes of tally_event::publisher and ::unpublished. */
static DEFINE_MUTEX(publishers_lock);
static LIST_HEAD(publishers);

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
 * Writes a member that is not counting in this slot. The caller has stored its old totals
 * in @new. They stay if the totals that are read are smaller: while a CPU goes offline, or
 * perf takes the member off the PMU, they may be too small for a moment.
 */
static void write_at_rest(struct tally_event *ev, unsigned int slot,
			  const struct publish_copy *old,
			  struct publish_copy *new, unsigned int i)
{
	enum tally_state state;
	struct tally_totals t;

	if (tally_event_peek(ev, slot, &t, &state))
		return;
	if (t.value < old->totals[i].value || t.enabled < old->totals[i].enabled ||
	    t.running < old->totals[i].running)
		WRITE_ONCE(new->states[i], state);
	else
		tally_publish_store(new, i, t.value, t.enabled, t.running, state);
}

/* Writes a member. If it cannot be read here, the old totals stay, as inactive. */
static int write_member(struct tally_publisher *p, unsigned int i, int cpu,
			u64 now, const struct publish_copy *old,
			struct publish_copy *new)
{
	struct tally_event *ev = p->members[i];
	struct tally_count count;
	int err;

	err = tally_local_read(ev, cpu, true, p->mapped, now, &count);
	if (err) {
		store_old(new, i, old, TALLY_STATE_INACTIVE);
		if (p->mapped)
			write_at_rest(ev, cpu & ev->slot_mask, old, new, i);
		return err;
	}
	store_count(new, i, &count);
	return 0;
}

/* Readers change to the new copy. The number 0 stands for a page without a copy. */
static void turn_over(struct publish_page *page)
{
	smp_store_release(&page->number, page->number + 1 ?: 2); /* N */
	smp_wmb(); /* N */
}

/*
 * Publishes a slot of a publisher with a mapped page, from another CPU than the slot's,
 * or for a task that is not running. Called with interrupts disabled.
 */
void tally_publish_at_rest(struct tally_publisher *p, unsigned int slot)
{
	struct publish_page *page = p->pages[slot];
	struct publish_copy *old, *new;
	unsigned int i;

	/* A timer of another CPU takes the page for a moment only. */
	while (xchg(&page->writing, true)) /* O */
		cpu_relax();
	old = &page->copies[page->number & 1];
	new = &page->copies[~page->number & 1];
	WRITE_ONCE(new->time_ns, ktime_get_mono_fast_ns());
	for (i = 0; i < p->nr; i++) {
		store_old(new, i, old, old->states[i]);
		write_at_rest(p->members[i], slot, old, new, i);
	}
	turn_over(page);
	smp_store_release(&page->writing, false); /* O */
}

/*
 * Publishes the events that are counting on this CPU. Without a mapped page, nothing is
 * published if none is. Called with interrupts disabled.
 */
void tally_publish_here(struct tally_publisher *p, int cpu)
{
	const struct tally_counter *c = p->members[0]->counter;
	struct publish_page *page = p->pages[cpu & c->slot_mask];
	struct publish_copy *old, *new;
	u64 now = local_clock();
	bool any = false, all = true;
	unsigned int i;
	int err;

	/* A task's page is written by its CPU or, while it is not running, by any CPU. */
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
	WRITE_ONCE(new->time_ns, ktime_get_mono_fast_ns());
	for (i = 0; i < p->nr; i++) {
		err = write_member(p, i, cpu, now, old, new);
		any |= !err;
		all &= err != -EOPNOTSUPP;
	}
	/* If a member counts, but cannot be read in NMI, the timer publishes all. */
	if ((any || p->mapped) && all)
		turn_over(page);
	smp_store_release(&page->writing, false); /* O */
	if (p->mapped && (p->nr_slots == 1 || READ_ONCE(p->mapped->cpu) == cpu))
		tally_publish_mapped(p);
}

/* Runs in hard interrupt, also on PREEMPT_RT. */
static enum hrtimer_restart fired(struct hrtimer *timer)
{
	struct publish_cpu *pc = container_of(timer, struct publish_cpu, timer);

	/* The timer's CPU went offline, and its timers were moved to this CPU. */
	if (pc->cpu != smp_processor_id())
		return HRTIMER_NORESTART;
	tally_publish_here(pc->publisher, pc->cpu);
	hrtimer_forward_now(timer, ns_to_ktime(pc->publisher->interval));
	return HRTIMER_RESTART;
}

/**
 * tally_publish_overflow - publish the counts of this CPU at an overflow
 * @ev: the event that overflowed
 *
 * Context: Any context; called by perf's callback.
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
	/* The timer may still run on the CPU that took it while this one was offline. */
	hrtimer_cancel(&pc->timer);
	hrtimer_start(&pc->timer, ns_to_ktime(p->interval),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/*
 * Returns the CPU on which an event for one CPU counts. A PMU that serves several CPUs
 * may count on another one than was asked for.
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

/* Starts all timers. One that runs is started again: it may be on another CPU. */
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

/* Whether the CPU has a page of its own. A task has one page for all CPUs. */
static bool has_page(const struct tally_publisher *p, int cpu)
{
	return p->nr_slots > 1 ||
	       (!p->members[0]->counter->target.task && only_cpu(p) == cpu);
}

/* Publishes a slot of a CPU that is offline. The caller has taken the page. */
static void write_slot(struct tally_publisher *p, unsigned int slot,
		       struct publish_page *page)
{
	struct publish_copy *new = &page->copies[~page->number & 1];
	struct tally_count count;
	unsigned int i;

	for (i = 0; i < p->nr; i++) {
		if (tally_event_read_slot(p->members[i], slot, &count))
			return;
		store_count(new, i, &count);
	}
	WRITE_ONCE(new->time_ns, ktime_get_mono_fast_ns());
	turn_over(page);
}

/*
 * Publishes the last counts of a CPU that is offline. If the CPU comes back meanwhile,
 * its timer finds the page taken.
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
 * tally_publish_repair - publish again after CPUs came or went
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
 * tally_publisher_free - free a publisher
 * @p: the publisher, which nothing uses: a grace period after tally_publisher_end(). NULL
 *	is ignored.
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

/* Sets the publisher of a member. Overflows use it only with TALLY_SPECIAL_PUBLISH. */
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
 * publisher_start - publish counts from now on
 * @members: one event, or the members of a set
 * @nr: number of @members
 * @interval: time between two updates, in nanoseconds
 *
 * Return: 0; ERANGE for an interval that is too short or too long, EOPNOTSUPP for
 * an inherited event, EBUSY if a member is published, ESRCH if a member is being
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

/*
 * Called under publishers_lock. Returns the publisher of these members; NULL if they are
 * not published, or only together with others.
 */
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
 * tally_publisher_end - stop publishing for good
 * @members: one event, or the members of a set
 * @nr: number of @members
 *
 * The members cannot be published again.
 *
 * Return: the publisher, to be freed after a grace period; NULL if the members were not
 * published, or only together with others.
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
	struct tally_totals t;
	unsigned int i;
	u8 state;

	for (i = 0; i < nr; i++) {
		tally_publish_load(copy, i, &t, &state);
		counts[i].value = t.value;
		counts[i].enabled_ns = t.enabled;
		counts[i].running_ns = t.running;
		counts[i].state = state;
	}
}

/**
 * tally_published - read the counts that were published last
 * @first: the first member
 * @cpu: the CPU, for events on all CPUs
 * @nr: number of members
 * @counts: receives the counts of the members
 * @age: receives the age of the counts, in nanoseconds
 *
 * Context: Any context.
 * Return: 0; EINVAL for a CPU that does not exist or that the members do not count on;
 * ENODATA if the members are not published, or have not been so far.
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
	/* The publisher is freed after a grace period, which waits for this. */
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
		time = READ_ONCE(copy->time_ns);
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
