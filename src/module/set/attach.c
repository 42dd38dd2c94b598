// SPDX-License-Identifier: GPL-2.0
/*
 * Attachments: readers of an event that has another owner.
 *
 * A reader sees what the event has counted since the reader attached, or since the event was
 * made. When the owner releases the event, the attachment keeps the last counts.
 */
#include <linux/cpumask.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>
#include "set/attach.h"
#include "event/event.h"
#include "event/registry.h"
#include "set/read.h"

/* tally_detach() waits here for tally_attachments_end(). */
static DECLARE_WAIT_QUEUE_HEAD(endings);

/* Called under the lock of the registry, so the event is not released meanwhile. */
static void add(struct tally_event *ev, void *attachment)
{
	struct tally_attachment *a = attachment;

	a->ev = ev;
	a->id = ev->id;
	a->nr_slots = ev->counter->nr_slots;
	a->cpu = ev->counter->target.cpu;
	a->on_all_cpus = tally_counter_on_all_cpus(ev->counter);
	a->gauge = ev->gauge;
	list_add(&a->node, &ev->attachments);
}

/*
 * Reads each slot of the event, which has not been released. Returns EBUSY if a
 * program keeps perf from the event of its task.
 */
static int read_each(struct tally_attachment *a, struct tally_count *counts)
{
	if (a->nr_slots == 1)
		return tally_event_try_read(a->ev, true, counts, NULL);
	tally_event_read_each(a->ev, counts);
	return 0;
}

static int begin(struct tally_attachment *a)
{
	int err = 0;

	mutex_lock(&a->lock);
	if (a->ev)
		err = read_each(a, a->base);
	else
		memcpy(a->base, a->last, a->nr_slots * sizeof(*a->base));
	mutex_unlock(&a->lock);
	return err;
}

/**
 * tally_attach - attach a reader to an event
 * @a: the attachment, zeroed except for @a->gone, @a->unprivileged and @a->total
 * @id: id of the event; 0 to find the event by @name
 * @name: name of the event
 * @may: check of the caller's right to read the event; returns 0 or an error.
 *	NULL for a caller who may read all events.
 *
 * Context: Process context, may sleep.
 * Return: 0, and tally_detach() must follow; or an error, and nothing is attached: ENOENT if there
 * is no such event, EBUSY if a program keeps perf from the event, ENOMEM, or the error of @may.
 */
int tally_attach(struct tally_attachment *a, u64 id, const char *name,
		 int (*may)(const struct tally_event *ev))
{
	int err = -ENOMEM;

	mutex_init(&a->lock);
	INIT_LIST_HEAD(&a->node);
	/* The number of slots is not known before the event is found. */
	a->base = kvcalloc(nr_cpu_ids, sizeof(*a->base), GFP_KERNEL_ACCOUNT);
	a->last = kvcalloc(nr_cpu_ids, sizeof(*a->last), GFP_KERNEL_ACCOUNT);
	if (a->base && a->last)
		err = tally_registry_find(id, name, may, add, a);
	if (!err && !a->unprivileged && !a->total)
		err = begin(a);
	if (err)
		tally_detach(a);
	return err;
}

/**
 * tally_detach - detach a reader
 * @a: the attachment, which nobody uses any more, but for a call of @gone, which this waits for
 */
void tally_detach(struct tally_attachment *a)
{
	mutex_lock(&tally_events_lock);
	list_del_init(&a->node);
	mutex_unlock(&tally_events_lock);
	wait_event(endings, !smp_load_acquire(&a->ending)); /* of tally_attachments_end() */
	mutex_destroy(&a->lock);
	kvfree(a->base);
	kvfree(a->last);
}

/* Called with @a locked. @base receives the base of the attachment, summed over slots. */
void tally_attachment_base(struct tally_attachment *a, struct tally_totals *base)
{
	unsigned int i;

	lockdep_assert_held(&a->lock);
	memset(base, 0, sizeof(*base));
	for (i = 0; i < a->nr_slots; i++) {
		base->value += a->base[i].value;
		base->enabled += a->base[i].enabled_ns;
		base->running += a->base[i].running_ns;
	}
}

/*
 * Subtracts the base, down to 0: a count that is read without tally_counter::lock may be a moment
 * older than the base. A gauge may be below 0.
 */
static void subtract(const struct tally_attachment *a, struct tally_count *count, u64 value,
		     u64 enabled, u64 running)
{
	count->value -= a->gauge ? value : min(count->value, value);
	count->enabled_ns -= min(count->enabled_ns, enabled);
	count->running_ns -= min(count->running_ns, running);
}

/* Reads the sum of all slots. Resets by the owner have no effect on it. */
static int read_all(struct tally_attachment *a, struct tally_count *count)
{
	struct tally_totals base;
	unsigned int i;
	int err;

	if (a->ev) {
		err = tally_event_try_read(a->ev, true, count, NULL);
		if (err)
			return err;
	} else {
		memset(count, 0, sizeof(*count));
		count->state = a->state;
		for (i = 0; i < a->nr_slots; i++) {
			count->value += a->last[i].value;
			count->enabled_ns += a->last[i].enabled_ns;
			count->running_ns += a->last[i].running_ns;
		}
	}
	tally_attachment_base(a, &base);
	subtract(a, count, base.value, base.enabled, base.running);
	if (a->gauge)
		return 0;
	a->reported = max(a->reported, count->value);
	count->value = a->reported;
	return 0;
}

/**
 * tally_attachment_read - read the event
 * @a: the attachment
 * @count: receives the count; after an error only the state
 * @there: receives whether the event is there; if not, the count is its last one
 *
 * Context: Process context, may sleep.
 * Return: 0; EBUSY if a program keeps perf from the events of its task.
 */
int tally_attachment_read(struct tally_attachment *a, struct tally_count *count, bool *there)
{
	int err;

	mutex_lock(&a->lock);
	err = read_all(a, count);
	*there = a->ev;
	mutex_unlock(&a->lock);
	return err;
}

/* Reads one CPU, as tally_event_read_cpu(), but also in the error state. */
int tally_attachment_read_cpu(struct tally_attachment *a, int cpu,
			      struct tally_count *count, bool *there)
{
	unsigned int slot = a->nr_slots > 1 ? cpu : 0;
	int err = 0;

	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu) ||
	    (!a->on_all_cpus && a->cpu != cpu))
		return -EINVAL;
	mutex_lock(&a->lock);
	if (!a->ev)
		*count = a->last[slot];
	else if (a->nr_slots == 1)
		err = tally_event_try_read(a->ev, true, count, NULL);
	else
		err = tally_event_read_slot(a->ev, slot, true, count);
	if (!err)
		subtract(a, count, a->base[slot].value, a->base[slot].enabled_ns,
			 a->base[slot].running_ns);
	*there = a->ev;
	mutex_unlock(&a->lock);
	return err;
}

/*
 * Called with @a locked. Sets the value to 0 for this reader; the times go on. @base
 * receives the new base, summed over slots. Returns EBUSY if the event cannot be read now.
 */
int tally_attachment_reset(struct tally_attachment *a, struct tally_totals *base)
{
	unsigned int i;
	int err;

	lockdep_assert_held(&a->lock);
	err = a->ev ? read_each(a, a->last) : 0;
	if (err)
		return err;
	for (i = 0; i < a->nr_slots; i++)
		a->base[i].value = a->last[i].value;
	a->reported = 0;
	tally_attachment_base(a, base);
	return 0;
}

static struct tally_attachment *detach_first(struct tally_event *ev)
{
	struct tally_attachment *a;

	mutex_lock(&tally_events_lock);
	a = list_first_entry_or_null(&ev->attachments, struct tally_attachment, node);
	if (a) {
		list_del_init(&a->node);
		a->ending = true;
	}
	mutex_unlock(&tally_events_lock);
	return a;
}

/*
 * Keeps the last counts of an event that is off. No lock is taken: its holder
 * may wait for perf for any time, and poll(2) for the attachment's lock.
 */
static void keep_last(struct tally_attachment *a, const struct tally_event *ev)
{
	struct tally_totals t;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < a->nr_slots; i++) {
		tally_view_offset(&ev->views[i], true, &t);
		a->last[i].value = t.value;
		a->last[i].enabled_ns = t.enabled;
		a->last[i].running_ns = t.running;
		a->last[i].state = tally_event_slot_state(ev, i);
	}
	a->state = tally_event_state_now(ev);
	rcu_read_unlock();
}

/**
 * tally_attachments_end - detach all readers of an event that is being released
 * @ev: the event, which is not in the registry, and does not count any more
 */
void tally_attachments_end(struct tally_event *ev)
{
	struct tally_attachment *a;

	/* Nobody finds the event any more, so no attachment is added. */
	if (list_empty_careful(&ev->attachments))
		return;
	while ((a = detach_first(ev))) {
		mutex_lock(&a->lock);
		keep_last(a, ev);
		WRITE_ONCE(a->ev, NULL);
		mutex_unlock(&a->lock);
		a->gone(a);
		/* Pairs with tally_detach(), after which the attachment is freed. */
		smp_store_release(&a->ending, false);
		wake_up_all(&endings);
	}
}
