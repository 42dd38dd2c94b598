// SPDX-License-Identifier: GPL-2.0
/*
 * PERF_SAMPLE_READ: the counts of an event, or of its group, in each sample, in the format
 * of perf_event_attr's read_format, as perf_output_read() writes them.
 *
 * The counts are those that read() of the file would return for the CPU, or the
 * task, that overflowed: of an event on all CPUs, this CPU's part. The event
 * that overflows is up to date, because perf updates it before it calls back.
 * The members of its group on the PMU are updated here, as perf does it. So are
 * the others if the context allows it; in an NMI that has interrupted perf
 * itself, for example, their counts are those of their last update.
 *
 * Ordering:
 *
 * V. tally_output::set is stored, with release, after the event has become a
 *    member, and is load-acquired; it is cleared before the event leaves.
 *    tally_set::members is stored, with release, before a tally_set::nr that
 *    needs more room. So a callback that load-acquires @nr sees an array with
 *    room for @nr members. It copies the members inside tally_set::changes, and
 *    never waits for the end of a change, which it may have interrupted.
 *    Callbacks have preemption off. So the set and its members have to stay for
 *    a grace period after one of them has left: that of tally_events_destroy(),
 *    through which each set's leader and each member ends, and which
 *    tally_event::sampled asks for.
 */
#include <linux/bitops.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/sched/clock.h>
#include <linux/seqlock.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "compat.h"
#include "event/event.h"
#include "set/read.h"
#include "set/set.h"
#include "record/output.h"
#include "record/read_format.h"

/* ---- members ---- */

/**
 * tally_read_format_size - the size of the counts in a sample, or in an answer of read()
 * @format: perf_event_attr's read_format
 * @nr: number of events
 *
 * Context: Any context.
 * Return: bytes.
 */
unsigned int tally_read_format_size(u64 format, unsigned int nr)
{
	const u64 times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	unsigned int each = 1 + hweight64(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
	unsigned int group = format & PERF_FORMAT_GROUP ? 1 : 0;

	return sizeof(u64) * (group + hweight64(format & times) + nr * each);
}

/* Copies the members of a group. Returns false if the group was being changed. */
static bool copy_members(const struct tally_set *set, struct tally_read_members *r)
{
	unsigned int changes = raw_seqcount_begin(&set->changes);
	struct tally_event *const *members;
	unsigned int i;

	r->nr = smp_load_acquire(&set->nr); /* V */
	members = READ_ONCE(set->members);
	for (i = 0; i < r->nr; i++)
		r->members[i] = READ_ONCE(members[i]);
	return !read_seqcount_retry(&set->changes, changes);
}

/**
 * tally_read_format_find - find the members of an event's group
 * @out: the output of the event that overflows
 * @r: receives the members; the event alone, if it is in no group or the group is being changed
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

/* ---- counts ---- */

/* The totals of perf's event at this moment, as perf's calc_timer_values() has them. */
static void totals_of(const struct perf_event *event, struct tally_totals *t)
{
	s64 since = tally_event_time(event, local_clock()) - event->tstamp;
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

/* Turns the totals of a slot into those of an event; ignores them unless the slot counts for it. */
static void translate(const struct tally_view *view, struct tally_totals *t)
{
	struct tally_totals offset;

	if (!tally_view_offset(view, false, &offset))
		memset(t, 0, sizeof(*t));
	tally_totals_add(t, &offset);
}

/* The totals of the event that overflows, on this CPU. */
static void totals_here(const struct tally_output *out, const struct perf_event *event,
			struct tally_totals *t)
{
	unsigned int slot = raw_smp_processor_id() & out->slot_mask;
	struct tally_event *ev = out->ev;
	const struct tally_slot *s = &ev->counter->slots[slot];

	totals_of(event, t);
	if (unlikely(s->others))
		tally_slot_add_others(s, event, t);
	tally_totals_add(t, &s->bank);
	translate(&ev->views[slot], t);
}

/*
 * Returns whether the event is counting on the PMU as a sibling of @leader, which overflows. perf
 * reads such siblings in each overflow, also in one that has interrupted perf itself.
 */
static bool is_beside(const struct perf_event *event, const struct perf_event *leader)
{
	return READ_ONCE(event->group_leader) == leader &&
	       READ_ONCE(event->state) == PERF_EVENT_STATE_ACTIVE &&
	       !(READ_ONCE(event->hw.state) & PERF_HES_STOPPED);
}

/* The count of another member; that of its last update, if it cannot be read here. */
static u64 value_here(struct tally_event *ev, const struct perf_event *leader, int cpu,
		      bool irqs_off)
{
	unsigned int slot = cpu & ev->slot_mask;
	const struct tally_slot *s = &ev->counter->slots[slot];
	struct perf_event *event = tally_slot_here(s, cpu);
	struct tally_totals t = { };

	if (event && (is_beside(event, leader) ||
		      !tally_local_check(ev, s, event, cpu, irqs_off))) {
		t.value = tally_local_value(s, event);
	} else {
		if (event && s->others)
			tally_slot_add_others(s, event, &t);
		t.value += s->bank.value + (event ? local64_read(&event->count) : 0);
	}
	translate(&ev->views[slot], &t);
	return t.value;
}

/* ---- the words ---- */

/* As perf: with interrupts off, no member is taken off the PMU in between. */
static u64 *put_members(const struct tally_output *out, u64 *to, const struct perf_event *event,
			u64 value, const struct tally_read_members *r)
{
	int cpu = raw_smp_processor_id();
	struct tally_event *ev;
	unsigned long flags;
	unsigned int i;
	bool irqs_off;

	local_irq_save(flags);
	irqs_off = raw_irqs_disabled_flags(flags);
	for (i = 0; i < r->nr; i++) {
		ev = r->members[i];
		*to++ = ev == out->ev ? value : value_here(ev, event, cpu, irqs_off);
		to = tally_read_format_id(to, out->read_format, ev->id,
					  tally_output_lost(READ_ONCE(ev->output)));
	}
	local_irq_restore(flags);
	return to;
}

/**
 * tally_read_format_put - write the counts of a sample
 * @out: the output of the event that overflows
 * @to: room for tally_read_format_size() bytes
 * @event: perf's event, never that of a child: tally refuses PERF_SAMPLE_READ with inherit
 * @r: the members; only used if the format has PERF_FORMAT_GROUP
 *
 * Context: Any context, without preemption.
 * Return: the end of the counts.
 */
u64 *tally_read_format_put(const struct tally_output *out, u64 *to,
			   struct perf_event *event, const struct tally_read_members *r)
{
	u64 format = out->read_format;
	struct tally_totals t;

	totals_here(out, event, &t);
	if (format & PERF_FORMAT_GROUP) {
		*to++ = r->nr;
		to = tally_read_format_times(to, format, t.enabled, t.running);
		return put_members(out, to, event, t.value, r);
	}
	*to++ = t.value;
	to = tally_read_format_times(to, format, t.enabled, t.running);
	return tally_read_format_id(to, format, out->id, tally_output_lost(out));
}
