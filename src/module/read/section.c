// SPDX-License-Identifier: GPL-2.0
/*
 * Sets on the spot: read where they count, in any context, and sections.
 *
 * Sections are windows on one CPU that nobody needs to be told of: begin puts the
 * members' values on a stack of the CPU, end takes them off and subtracts. What
 * interrupts a section ends its own ones before it returns.
 *
 * Ordering, beside local.c (I to K) and set.c (L):
 *
 * M. The top of a CPU's stack is raised before what is below is written, and
 *    lowered after that was read, so that an NMI in between uses what is above;
 *    it is this CPU's alone: compiler barriers.
 */
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include "compat.h"
#include "read/local.h"
#include "event/overflow.h"
#include "read/window.h"

/* A member on this CPU. 0, or why it cannot be read: it is not counted, then. */
static int read_here(struct tally_event *ev, int cpu, bool irqs_off, u64 now,
		     struct tally_count *count)
{
	int err = tally_local_read(ev, cpu, irqs_off, false, now, count);

	if (err) {
		memset(count, 0, sizeof(*count));
		count->value = TALLY_NOT_COUNTED;
		count->state = TALLY_STATE_INACTIVE;
	}
	return err;
}

/**
 * tally_set_read_local - the counts of all members on this CPU, at one moment
 * @set: the set, or that of this task
 * @window: as for tally_set_read()
 * @counts: as for tally_set_read(); a member that is not counting at this moment
 *	has the value TALLY_NOT_COUNTED and the state TALLY_STATE_INACTIVE
 *
 * Context: Any context, NMI and the members' handlers included. Takes no lock,
 * interrupts no CPU, does not sleep.
 * Return: 0 if a member could be read; else what tally_event_read_local() returns
 * for the first: EAGAIN for a set that is disabled.
 */
int tally_set_read_local(struct tally_set *set, struct tally_set_window *window,
			 struct tally_count *counts)
{
	int err, first = 0, cpu;
	unsigned long flags;
	bool any = false;
	unsigned int i;

	if (!smp_load_acquire(&set->open)) /* L */
		return -EAGAIN;
	raw_local_irq_save(flags);
	cpu = raw_smp_processor_id();
	window->time_ns = local_clock();
	window->ratio_valid = !set->ragged;
	for (i = 0; i < set->nr; i++) {
		err = read_here(set->members[i], cpu,
				raw_irqs_disabled_flags(flags), window->time_ns,
				&counts[i]);
		any |= !err;
		if (!i)
			first = err;
		window->ratio_valid &= !err &&
			counts[i].running_ns == counts[i].enabled_ns &&
			(set->plain ||
			 tally_event_throttled(set->members[i]) == set->throttled[i]);
	}
	raw_local_irq_restore(flags);
	return any ? 0 : first;
}
EXPORT_SYMBOL_TALLY(tally_set_read_local);

/* What a member's mark has to say in a set of this kind. */
static __always_inline void mark_time(struct tally_set_mark *mark,
				      const struct perf_event *event,
				      const u8 kind)
{
	if (kind == TALLY_SET_ROTATES)
		mark->tstamp = event->tstamp;
}

/*
 * Where a member stands; its event. NULL if it cannot be read at once, which it
 * can be wherever it counts, but in interrupts.
 */
static __always_inline struct perf_event *
begin_member(struct tally_set_mark *mark, int cpu, const u8 kind)
{
	const struct tally_view *view = mark->view;
	struct perf_event *event = smp_load_acquire(&view->event); /* I */
	tally_read_fn read;

	if (unlikely(READ_ONCE(event->oncpu) != cpu))
		return NULL;
	if (kind != TALLY_SET_STILL) {
		read = READ_ONCE(view->read);
		read(event);
	}
	mark->value = local64_read(&event->count);
	mark_time(mark, event, kind);
	return event;
}

/*
 * How far it has come. What needs no place on the PMU has never left it; any
 * other, if perf has changed nothing about it: or, @time, about its context.
 */
static __always_inline bool end_member(const struct tally_set_mark *mark,
				       u64 *out, int cpu, const u8 kind,
				       const u64 *time)
{
	const struct tally_view *view = mark->view;
	struct perf_event *event = smp_load_acquire(&view->event); /* I */
	tally_read_fn read;

	if (unlikely(READ_ONCE(event->oncpu) != cpu))
		return false;
	if (kind == TALLY_SET_ROTATES && unlikely(event->tstamp != mark->tstamp))
		return false;
	if (time && unlikely(event->ctx->time != *time))
		return false;
	if (kind != TALLY_SET_STILL) {
		read = READ_ONCE(view->read);
		read(event);
	}
	*out = local64_read(&event->count) - mark->value;
	return true;
}

static __always_inline bool
begin_one_by_one(const struct tally_set_sections *open,
		 struct tally_section *this, const void *end, const u8 kind)
{
	struct tally_set_mark *mark = this->marks;
	int cpu = open->cpu;

	do {
		if (!begin_member(mark, cpu, kind))
			return false;
		mark++;
	} while ((const void *)mark != end);
	return true;
}

/* The loop is a fifth of what a member costs: four at a time, where that fits. */
static __always_inline bool
begin_by_fours(const struct tally_set_sections *open,
	       struct tally_section *this, const void *end, const u8 kind)
{
	struct tally_set_mark *mark = this->marks;
	struct perf_event *event;
	int cpu = open->cpu;

	do {
		event = begin_member(mark, cpu, kind);
		if (!event)
			return false;
		if (kind == TALLY_SET_ROTATES_BY_FOURS)
			this->time = event->ctx->time;
		if (!begin_member(mark + 1, cpu, kind) ||
		    !begin_member(mark + 2, cpu, kind) ||
		    !begin_member(mark + 3, cpu, kind))
			return false;
		mark += 4;
	} while (mark != end);
	return true;
}

static __always_inline bool
end_one_by_one(const struct tally_set_sections *open,
	       const struct tally_section *this, const void *end, u64 *out,
	       const u8 kind)
{
	const struct tally_set_mark *mark = this->marks;
	int cpu = open->cpu;

	do {
		if (!end_member(mark, out, cpu, kind, NULL))
			return false;
		out++;
		mark++;
	} while ((const void *)mark != end);
	return true;
}

static __always_inline bool
end_by_fours(const struct tally_set_sections *open,
	     const struct tally_section *this, const void *end, u64 *out,
	     const u8 kind)
{
	const u64 *time = kind == TALLY_SET_ROTATES_BY_FOURS ? &this->time : NULL;
	const struct tally_set_mark *mark = this->marks;
	int cpu = open->cpu;

	do {
		if (!end_member(mark, out, cpu, kind, time) ||
		    !end_member(mark + 1, out + 1, cpu, kind, NULL) ||
		    !end_member(mark + 2, out + 2, cpu, kind, NULL) ||
		    !end_member(mark + 3, out + 3, cpu, kind, NULL))
			return false;
		mark += 4;
		out += 4;
	} while (mark != end);
	return true;
}

/* How often it has been throttled on this CPU. */
static u64 throttled_here(const struct tally_event *ev)
{
	if (!ev->overflow)
		return 0;
	return local_read(&this_cpu_ptr(ev->overflow->cpus)->throttled);
}

static int mark_carefully(struct tally_event *ev, int cpu, bool irqs_off,
			  struct tally_set_mark *mark)
{
	struct tally_slot *s = tally_slot_on(ev, cpu);
	struct perf_event *event = smp_load_acquire(&s->event); /* K */
	int err;

	err = tally_local_check(ev, s, event, cpu, irqs_off);
	if (err)
		return err;
	mark->value = tally_local_value(s, event) - s->bank.value;
	mark->tstamp = event->tstamp;
	mark->time = event->ctx->time;
	mark->throttled = throttled_here(ev);
	return 0;
}

/* Whether perf has left it alone from @then until @now. */
static bool was_left_alone(const struct tally_section *this,
			   const struct tally_set_mark *then,
			   const struct tally_set_mark *now)
{
	switch (this->set->kind) {
	case TALLY_SET_ROTATES:
		return now->tstamp == then->tstamp;
	case TALLY_SET_ROTATES_BY_FOURS:
		return now->tstamp <= this->time;
	case TALLY_SET_OVERFLOWS:
		return now->tstamp == then->tstamp &&
		       now->throttled == then->throttled;
	default:
		return true;
	}
}

/* Interrupts are let in again, unless they had been disabled. */
static int leave(int err, bool irqs_off)
{
	if (!irqs_off)
		raw_local_irq_enable();
	return err;
}

/* In interrupts, and where there is an error. */
static noinline int begin_carefully(struct tally_set_sections *open,
				    struct tally_section *this, bool irqs_off)
{
	const struct tally_set *set = this->set;
	int cpu = raw_smp_processor_id();
	unsigned int i;
	int err = 0;

	if (!this->inner)
		err = -ENOSPC;
	else if (IS_ENABLED(CONFIG_PREEMPT_COUNT) && !irqs_off &&
		 !preempt_count())
		err = -EINVAL;
	for (i = 0; i < set->nr && !err; i++)
		err = mark_carefully(set->members[i], cpu, irqs_off,
				     &this->marks[i]);
	if (!err)
		this->time = this->marks[0].time;
	else
		WRITE_ONCE(open->top, this);
	return leave(err, irqs_off);
}

static noinline int end_carefully(struct tally_set_sections *open,
				  bool irqs_off)
{
	struct tally_section *this = open->top->outer;
	const struct tally_set *set = this->set;
	int cpu = raw_smp_processor_id();
	struct tally_set_mark now;
	unsigned int i;
	int err = 0;

	for (i = 0; i < set->nr && !err; i++) {
		err = mark_carefully(set->members[i], cpu, irqs_off, &now);
		if (!err && !was_left_alone(this, &this->marks[i], &now))
			err = -EAGAIN;
		if (!err)
			this->out[i] = now.value - this->marks[i].value;
	}
	barrier(); /* M */
	WRITE_ONCE(open->top, this);
	return leave(err, irqs_off);
}

/**
 * tally_section_begin - begin to measure what this CPU does
 * @set: the set, on this CPU or all CPUs, or this task's
 *
 * Sections may be inside each other, up to eight of a set on one CPU; one that
 * interrupts another is inside of it.
 *
 * Context: Any context in which the CPU cannot change until tally_section_end():
 * preemption disabled, interrupts, NMI.
 * Return: 0; EINVAL with preemption enabled or on a CPU or in a task that the set
 * is not on, EAGAIN if a member is not counting at this moment, ENOSPC for one
 * section too many.
 */
int tally_section_begin(struct tally_set *set)
{
	struct tally_section *this, *inner;
	struct tally_set_sections *open;
	u8 kind = set->kind;
	unsigned long flags;
	bool done;

	raw_local_irq_save(flags);
	open = this_cpu_ptr(set->sections);
	/* Else its address is computed again after each use. */
	OPTIMIZER_HIDE_VAR(open);
	this = open->top;
	inner = this->inner;
	if (unlikely(!inner))
		return begin_carefully(open, this, raw_irqs_disabled_flags(flags));
	WRITE_ONCE(open->top, inner); /* M */
	if (unlikely(raw_irqs_disabled_flags(flags)) ||
	    (IS_ENABLED(CONFIG_PREEMPT_COUNT) && unlikely(!preempt_count())))
		return begin_carefully(open, this, raw_irqs_disabled_flags(flags));
	WRITE_ONCE(*open->reading, open->reading);
	barrier(); /* J */
	if (kind == TALLY_SET_ROTATES_BY_FOURS)
		done = begin_by_fours(open, this, inner, TALLY_SET_ROTATES_BY_FOURS);
	else if (kind == TALLY_SET_STAYS_BY_FOURS)
		done = begin_by_fours(open, this, inner, TALLY_SET_STAYS);
	else if (kind == TALLY_SET_STILL)
		done = begin_one_by_one(open, this, inner, TALLY_SET_STILL);
	else if (kind == TALLY_SET_STAYS)
		done = begin_one_by_one(open, this, inner, TALLY_SET_STAYS);
	else if (kind == TALLY_SET_ROTATES)
		done = begin_one_by_one(open, this, inner, TALLY_SET_ROTATES);
	else
		done = false;
	barrier(); /* J */
	WRITE_ONCE(*open->reading, NULL);
	if (unlikely(!done))
		return begin_carefully(open, this, false);
	raw_local_irq_enable();
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_section_begin);

/**
 * tally_section_end - what was counted since tally_section_begin()
 * @set: the set
 * @out: receives a number for each member, in the order of the builders
 *
 * The section that began last on this CPU ends, also if an error is returned.
 * What the two calls themselves do is counted in part, the same each time.
 *
 * Context: As tally_section_begin().
 * Return: 0: all members counted throughout, and their ratios are valid; EAGAIN
 * if one of them did not, or may not have, as perf has had to do with it; then
 * @out means nothing. EINVAL if none is open.
 */
int tally_section_end(struct tally_set *set, u64 *out)
{
	struct tally_section *this, *top;
	struct tally_set_sections *open;
	u8 kind = set->kind;
	unsigned long flags;
	bool done;

	raw_local_irq_save(flags);
	open = this_cpu_ptr(set->sections);
	/* Else its address is computed again after each use. */
	OPTIMIZER_HIDE_VAR(open);
	top = open->top;
	this = top->outer;
	if (unlikely(!this)) {
		raw_local_irq_restore(flags);
		return -EINVAL;
	}
	this->out = out;
	if (unlikely(raw_irqs_disabled_flags(flags)))
		return end_carefully(open, true);
	WRITE_ONCE(*open->reading, open->reading);
	barrier(); /* J */
	if (kind == TALLY_SET_ROTATES_BY_FOURS)
		done = end_by_fours(open, this, top, out, TALLY_SET_ROTATES_BY_FOURS);
	else if (kind == TALLY_SET_STAYS_BY_FOURS)
		done = end_by_fours(open, this, top, out, TALLY_SET_STAYS);
	else if (kind == TALLY_SET_STILL)
		done = end_one_by_one(open, this, top, out, TALLY_SET_STILL);
	else if (kind == TALLY_SET_STAYS)
		done = end_one_by_one(open, this, top, out, TALLY_SET_STAYS);
	else if (kind == TALLY_SET_ROTATES)
		done = end_one_by_one(open, this, top, out, TALLY_SET_ROTATES);
	else
		done = false;
	barrier(); /* J */
	WRITE_ONCE(*open->reading, NULL);
	if (unlikely(!done))
		return end_carefully(open, false);
	barrier(); /* M */
	WRITE_ONCE(open->top, top->outer);
	raw_local_irq_enable();
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_section_end);
