// SPDX-License-Identifier: GPL-2.0
/*
 * Published counts: the counts of an event or a set on each CPU, in memory that
 * all contexts can read without a lock and without an interrupt on that CPU.
 *
 * Timers on each CPU read the events that are counting there (timers.c), and so
 * does an overflow. Both write to a page of the CPU, or of the task (copies.c).
 *
 * A publisher is used by its timers, and through its members' pointers. set_publisher() stores the
 * pointers with release when the publisher is complete; tally_publish_overflow() and
 * tally_published() follow them by an address dependency. At the end the pointers are cleared, and
 * then the timers are cancelled. A grace period later no overflow and no reader uses the publisher.
 */
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <uapi/linux/tally.h>
#include "base/ptr.h"
#include "compat.h"
#include "event/event.h"
#include "event/overflow.h"
#include "set/publish.h"

/* See publish.h. */
DEFINE_MUTEX(tally_publishers_lock);
LIST_HEAD(tally_publishers);

/**
 * tally_publish_overflow - publish the counts of this CPU at an overflow
 * @ev: the event that overflowed
 *
 * Context: Any context; called by perf's callback.
 */
void tally_publish_overflow(struct tally_event *ev)
{
	struct tally_publisher *p = READ_ONCE(ev->publisher);
	unsigned long flags;

	if (!p)
		return;
	/* Software events overflow with interrupts enabled. */
	local_irq_save(flags);
	tally_publish_here(p, raw_smp_processor_id());
	local_irq_restore(flags);
}

/**
 * tally_publisher_free - free a publisher
 * @p: the publisher, which nothing uses: a grace period after
 *	tally_publisher_end(). NULL is ignored.
 */
void tally_publisher_free(struct tally_publisher *p)
{
	unsigned int i;

	if (!p)
		return;
	for (i = 0; p->pages && i < p->nr_slots; i++)
		free_page((unsigned long)p->pages[i]);
	kvfree(p->pages);
	kfree(p->sums);
	free_percpu(p->cpus);
	kfree(p);
}

struct tally_publisher *tally_publisher_new(struct tally_event **members,
					    unsigned int nr, unsigned int room,
					    u64 interval)
{
	struct tally_publisher *p;
	unsigned int i;

	p = kzalloc(struct_size(p, members, room), GFP_KERNEL_ACCOUNT);
	if (!p)
		return NULL;
	p->interval = interval;
	p->nr = nr;
	memcpy(p->members, members, nr * sizeof(*members));
	p->nr_slots = members[0]->counter->nr_slots;
	p->cpus = alloc_percpu_gfp(struct publish_cpu, GFP_KERNEL_ACCOUNT);
	p->pages = kvcalloc(p->nr_slots, sizeof(*p->pages), GFP_KERNEL_ACCOUNT);
	if (!p->cpus || !p->pages)
		goto free;
	tally_publisher_init(p);
	for (i = 0; i < p->nr_slots; i++) {
		if (p->nr_slots > 1 && !cpu_possible(i))
			continue;
		p->pages[i] = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
		if (!p->pages[i])
			goto free;
	}
	return p;

free:
	tally_publisher_free(p);
	return NULL;
}

/* Sets the publisher of a member. Overflows use it only with TALLY_SPECIAL_PUBLISH. */
static void set_publisher(struct tally_event *ev, struct tally_publisher *p)
{
	smp_store_release(&ev->publisher, p); /* tally_published() */
	if (ev->overflow)
		tally_overflow_special(ev->overflow, p ? TALLY_SPECIAL_PUBLISH : 0,
				       p ? 0 : TALLY_SPECIAL_PUBLISH);
}

/**
 * publisher_start - publish counts from now on
 * @members: one event, or the members of a set
 * @nr: number of @members
 * @interval: time between two updates, in nanoseconds
 *
 * Return: 0; ERANGE for an interval that is too short or too long, EOPNOTSUPP
 * for an event that only perf reads, EBUSY if a member is published, ESRCH if a
 * member is being released, ENOMEM.
 */
static int publisher_start(struct tally_event **members, unsigned int nr,
			   u64 interval)
{
	struct tally_publisher *p;
	unsigned int i;
	int err = 0;

	if (interval < TALLY_PUBLISH_SHORTEST * DIV_ROUND_UP(nr, 8) ||
	    interval > TALLY_PUBLISH_LONGEST)
		return -ERANGE;
	for (i = 0; i < nr; i++)
		if (members[i]->counter->by_perf)
			return -EOPNOTSUPP;
	p = tally_publisher_new(members, nr, nr, interval);
	if (!p)
		return -ENOMEM;
	mutex_lock(&tally_publishers_lock);
	for (i = 0; i < nr; i++) {
		if (members[i]->unpublished)
			err = -ESRCH;
		else if (members[i]->publisher)
			err = -EBUSY;
	}
	if (!err) {
		for (i = 0; i < nr; i++)
			set_publisher(members[i], p);
		list_add(&p->node, &tally_publishers);
		tally_publisher_start(p);
		tally_publish_counting(p);
	}
	mutex_unlock(&tally_publishers_lock);
	if (err)
		tally_publisher_free(p);
	return err;
}

/*
 * Stops the publisher of these members, under tally_publishers_lock, and returns it, to be freed
 * after a grace period; NULL if they are not published, or only together with others.
 */
static struct tally_publisher *publisher_stop(struct tally_event **members,
					      unsigned int nr)
{
	struct tally_publisher *p = members[0]->publisher;
	unsigned int i;

	if (!p || p->nr != nr)
		return NULL;
	for (i = 0; i < nr; i++)
		set_publisher(members[i], NULL);
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
 * Return: the publisher, to be freed after a grace period; NULL if the members
 * were not published, or only together with others.
 */
struct tally_publisher *tally_publisher_end(struct tally_event **members,
					    unsigned int nr)
{
	struct tally_publisher *p;
	unsigned int i;

	mutex_lock(&tally_publishers_lock);
	for (i = 0; i < nr; i++)
		members[i]->unpublished = true;
	p = publisher_stop(members, nr);
	mutex_unlock(&tally_publishers_lock);
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
 * Return: 0; EINVAL for a CPU that does not exist or that the members do not
 * count on; ENODATA if the members are not published, or have not been so far.
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
	/* The publisher is freed after a grace period, which waits until preemption is enabled. */
	preempt_disable_notrace();
	p = READ_ONCE(first->publisher);
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
	mutex_lock(&tally_publishers_lock);
	p = publisher_stop(members, nr);
	mutex_unlock(&tally_publishers_lock);
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
