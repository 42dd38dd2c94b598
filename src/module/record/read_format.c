// SPDX-License-Identifier: GPL-2.0
/*
 * PERF_SAMPLE_READ: what an event, or its group, has counted, inside of each sample,
 * as perf_output_read() has it.
 *
 * It tells what read() of the file would, of the CPU or the task that overflowed: of
 * an event on all CPUs, this CPU's part. The event itself is up to date: perf saw to
 * that before it called. Other members are brought up to date if that is possible
 * here; in an NMI inside of perf itself, say, they are as old as their last update.
 *
 * Ordering, beside local.c (I to K):
 *
 * V. tally_output::set is stored, with release, after the event has become a member,
 *    and load-acquired. It is NULL before the event leaves. Who samples a group
 *    copies its members with tally_set::changes around, which no callback waits for:
 *    it may have interrupted the change. Callbacks hold off preemption; so the set
 *    and its members stay for a grace period after one of them has left: that of
 *    tally_events_destroy(), which each set's leader and each member comes to, and
 *    which tally_event::sampled asks for.
 */
#include <linux/bitops.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/sched/clock.h>
#include <linux/seqlock.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "event/event.h"
#include "read/local.h"
#include "record/output.h"
#include "record/read_format.h"
#include "read/window.h"

/* ---- whose ---- */

/**
 * tally_read_format_size - how much there is to be told
 * @format: perf_event_attr's read_format
 * @nr: of how many events
 *
 * Return: bytes.
 */
unsigned int tally_read_format_size(u64 format, unsigned int nr)
{
	const u64 times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	unsigned int each = 1 + hweight64(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
	unsigned int group = format & PERF_FORMAT_GROUP ? 1 : 0;

	return sizeof(u64) * (group + hweight64(format & times) + nr * each);
}

static bool copy_members(const struct tally_set *set, struct tally_read_members *r)
{
	unsigned int changes = raw_seqcount_begin(&set->changes);
	unsigned int i;

	r->nr = min_t(unsigned int, READ_ONCE(set->nr), TALLY_SET_MOST);
	for (i = 0; i < r->nr; i++)
		r->members[i] = READ_ONCE(set->members[i]);
	return !read_seqcount_retry(&set->changes, changes);
}

/**
 * tally_read_format_find - the group, as it is now
 * @out: the output of the event that overflows
 * @r: receives it; the event alone, while the group is being changed
 *
 * Context: Any context, without preemption.
 */
void tally_read_format_find(const struct tally_output *out, struct tally_read_members *r)
{
	const struct tally_set *set = smp_load_acquire(&out->set); /* V */
	unsigned int tries = 4;

	while (set && tries--)
		if (copy_members(set, r) && r->nr)
			return;
	r->nr = 1;
	r->members[0] = out->ev;
}

/* ---- what ---- */

/* All that perf knows of it, as its calc_timer_values() does. */
static void totals_of(const struct perf_event *event, struct tally_totals *t)
{
	s64 since = local_clock() + READ_ONCE(event->ctx->timeoffset) - event->tstamp;
	int state = READ_ONCE(event->state);

	since = max(since, 0LL);
	t->value = local64_read(&event->count);
	t->enabled = event->total_time_enabled;
	t->running = event->total_time_running;
	if (state >= PERF_EVENT_STATE_INACTIVE)
		t->enabled += since;
	if (state >= PERF_EVENT_STATE_ACTIVE)
		t->running += since;
}

/* What of the slot's @t is the event's: nothing, before it has begun. */
static void translate(const struct tally_view *view, struct tally_totals *t)
{
	struct tally_totals offset;
	unsigned int seq;
	bool begun;

	do {
		seq = raw_read_seqcount_latch(&view->latch); /* I */
		begun = view->begun[seq & 1];
		offset = view->offset[seq & 1];
	} while (read_seqcount_latch_retry(&view->latch, seq));
	if (!begun)
		memset(t, 0, sizeof(*t));
	t->value += offset.value;
	t->enabled += offset.enabled;
	t->running += offset.running;
}

/* Of the event that overflows. */
static void totals_here(const struct tally_output *out, const struct perf_event *event,
			struct tally_totals *t)
{
	unsigned int slot = raw_smp_processor_id() & out->slot_mask;
	struct tally_event *ev = out->ev;
	const struct tally_slot *s = &ev->counter->slots[slot];

	totals_of(event, t);
	t->value += s->bank.value;
	t->enabled += s->bank.enabled;
	t->running += s->bank.running;
	translate(&ev->views[slot], t);
}

/* Of another member; its last value, if it cannot be read here. */
static u64 value_here(struct tally_event *ev, int cpu, bool irqs_off)
{
	unsigned int slot = cpu & ev->slot_mask;
	const struct tally_slot *s = &ev->counter->slots[slot];
	struct perf_event *event = smp_load_acquire(&s->event); /* K */
	struct tally_totals t = { };

	if (!event)
		t.value = s->bank.value;
	else if (!tally_local_check(ev, s, event, cpu, irqs_off))
		t.value = tally_local_value(s, event);
	else
		t.value = local64_read(&event->count) + s->bank.value;
	translate(&ev->views[slot], &t);
	return t.value;
}

/* ---- the words ---- */

static u64 *put_times(u64 *to, u64 format, const struct tally_totals *t)
{
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		*to++ = t->enabled;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		*to++ = t->running;
	return to;
}

static u64 *put_id(u64 *to, u64 format, u64 id, u64 lost)
{
	if (format & PERF_FORMAT_ID)
		*to++ = id;
	if (format & PERF_FORMAT_LOST)
		*to++ = lost;
	return to;
}

/* As perf: with interrupts disabled, nobody is taken off the PMU in between. */
static u64 *put_members(const struct tally_output *out, u64 *to, u64 value,
			const struct tally_read_members *r)
{
	int cpu = raw_smp_processor_id();
	struct tally_event *ev;
	unsigned long flags;
	unsigned int i;
	bool irqs_off;

	raw_local_irq_save(flags);
	irqs_off = raw_irqs_disabled_flags(flags);
	for (i = 0; i < r->nr; i++) {
		ev = r->members[i];
		*to++ = ev == out->ev ? value : value_here(ev, cpu, irqs_off);
		to = put_id(to, out->read_format, ev->id,
			    tally_output_lost(READ_ONCE(ev->output)));
	}
	raw_local_irq_restore(flags);
	return to;
}

/**
 * tally_read_format_put - write what a sample tells of counts
 * @out: the output of the event that overflows
 * @to: where; there is room for it
 * @event: perf's event
 * @r: the group, if the format has one
 *
 * Context: Any context, without preemption.
 * Return: what is behind it.
 */
u64 *tally_read_format_put(const struct tally_output *out, u64 *to,
		       struct perf_event *event, const struct tally_read_members *r)
{
	u64 format = out->read_format;
	struct tally_totals t;

	totals_here(out, event, &t);
	if (format & PERF_FORMAT_GROUP) {
		*to++ = r->nr;
		to = put_times(to, format, &t);
		return put_members(out, to, t.value, r);
	}
	*to++ = t.value;
	to = put_times(to, format, &t);
	return put_id(to, format, out->id, tally_output_lost(out));
}
