// SPDX-License-Identifier: GPL-2.0
/*
 * Reads on the spot: on the CPU that counts, in any context, without a lock.
 *
 * With interrupts disabled nobody takes perf's event from this CPU: that needs an
 * interrupt here, or is a hotplug operation that stops this CPU first. What is
 * left to care for is an NMI, a kprobe or a tracepoint inside of perf itself, or
 * of another such read: the count is then being brought up to date, or its event
 * being put on the PMU or taken off. That is recognised, and refused.
 *
 * Ordering, beside queue.c (A to D) and callback.c (E to H):
 *
 * I. tally_view::event is stored, with release, after the rest of the view, and
 *    tally_event::local after all views; both are load-acquired before a view is
 *    read: what is found on has its own start. The view's times are in a latch, of which one
 *    copy is always whole, also for an NMI that interrupts its writer; its value
 *    is one word. A writer publishes after it has read the slot, by an interrupt
 *    on its CPU, which waits for a read that goes on there; so a read never sees
 *    a start that is later than what it counts from.
 * J. @tally_reading (counter/slot.h) is seen by this CPU alone: compiler barriers.
 * K. tally_slot::event is stored, with release, after what reads it and after the
 *    bank, and load-acquired. The bank is written again only after it was NULL and
 *    its CPU had gone offline, or its owner released the event.
 */
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/seqlock.h>
#include <linux/smp.h>
#include "base/ptr.h"
#include "base/pmu.h"
#include "compat.h"
#include "counter/slot.h"
#include "event/event.h"
#include "read/local.h"
#include "event/overflow.h"

/*
 * By this CPU beneath us, or by another one, for a moment. A kernel for one CPU
 * has locks that nobody can ask; but only an NMI is inside of them.
 */
static bool is_locked(const struct perf_event *event)
{
	return IS_ENABLED(CONFIG_SMP) ? raw_spin_is_locked(&event->ctx->lock) :
					in_nmi();
}

/*
 * perf, or a read, may be at work on the count beneath us. Only to be asked where
 * interrupts were disabled before: nothing else can be inside of that.
 *
 * perf reads events and moves them with their context locked, or the PMU disabled;
 * and stops one before it is given another counter.
 */
static bool is_being_counted(const struct perf_event *event)
{
	const void **reading = raw_cpu_ptr(&tally_reading);

	return *reading == event || *reading == reading || is_locked(event) ||
	       tally_pmu_disabled_here(event->pmu) ||
	       READ_ONCE(event->state) != PERF_EVENT_STATE_ACTIVE ||
	       READ_ONCE(event->hw.state) & PERF_HES_STOPPED;
}

static bool is_in_its_handler(const struct tally_overflow *of)
{
	return READ_ONCE(this_cpu_ptr(of->cpus)->busy);
}

/*
 * Reading it is more than reading a counter: of a PMU that is no CPU's own, it
 * takes the driver's lock, which may be held beneath us; of a precise one it
 * empties the buffer, which its interrupt is just doing.
 */
static bool is_no_matter_for_nmi(const struct perf_event *event)
{
	return event->pmu->task_ctx_nr == perf_invalid_context ||
	       event->attr.precise_ip;
}

/* perf reads a clock that overflows in its timer, without any lock. */
static bool is_in_its_timer(struct perf_event *event)
{
	return is_sampling_event(event) && event->hw.hrtimer.base &&
	       hrtimer_callback_running(&event->hw.hrtimer);
}

/* In interrupts, and where they are disabled. */
static int check_irqs_off(const struct tally_event *ev,
			  const struct tally_slot *s, struct perf_event *event)
{
	/* Nobody has to bring it up to date. */
	if (s->still)
		return 0;
	if (in_nmi() && is_no_matter_for_nmi(event))
		return -EOPNOTSUPP;
	if (is_being_counted(event))
		return -EAGAIN;
	if (ev->overflow && tally_attr_is_clock(&ev->attr) &&
	    is_in_its_timer(event) && !is_in_its_handler(ev->overflow))
		return -EAGAIN;
	return 0;
}

/**
 * tally_local_check - may it be read here, and if not, why
 * @ev: the event
 * @s: its slot on this CPU
 * @event: what was found in that
 * @cpu: this CPU
 * @irqs_off: the caller's caller had interrupts disabled
 *
 * Return: 0, or what tally_event_read_local() returns.
 */
noinline int tally_local_check(const struct tally_event *ev,
			       const struct tally_slot *s,
			       struct perf_event *event, int cpu, bool irqs_off)
{
	const struct tally_counter *c = ev->counter;
	const struct tally_target *t = &c->target;
	int err;

	if (c->attr.inherit)
		return -EOPNOTSUPP;
	if (t->task && t->task != current)
		return -EINVAL;
	/* That of a PMU that serves several CPUs may not be where it was asked. */
	if (t->cpu >= 0 &&
	    cpu != (event && !t->task ? READ_ONCE(event->cpu) : t->cpu))
		return -EINVAL;
	if (!smp_load_acquire(&ev->local)) /* I */
		return -EAGAIN;
	if (!event && READ_ONCE(s->absent))
		return -ENODEV;
	if (!event || READ_ONCE(event->oncpu) != cpu)
		return -EAGAIN;
	err = irqs_off ? check_irqs_off(ev, s, event) : 0;
	if (err)
		return err;
	if (ev->overflow && tally_pmu_throttled(event) &&
	    !is_in_its_handler(ev->overflow))
		return -EAGAIN;
	return 0;
}

/* Of those that overflow, in interrupts, and wherever it fails. */
static noinline int read_carefully(struct tally_event *ev, int cpu,
				   unsigned long flags, u64 *value)
{
	bool irqs_off = raw_irqs_disabled_flags(flags);
	unsigned int slot = cpu & ev->slot_mask;
	struct tally_slot *s = &ev->counter->slots[slot];
	struct perf_event *event = smp_load_acquire(&s->event); /* K */
	struct tally_totals t = { };
	int err;

	err = tally_local_check(ev, s, event, cpu, irqs_off);
	if (err)
		return err;
	t.value = tally_local_value(s, event);
	tally_view_translate(&ev->views[slot], &t, false);
	*value = t.value;
	return 0;
}

notrace int tally_event_read_local(struct tally_event *ev, u64 *value)
{
	const struct tally_view *view;
	struct perf_event *event;
	const void **reading;
	unsigned long flags;
	tally_read_fn read;
	int cpu, err = 0;

	if (tally_bad_ptr(ev) || tally_bad_ptr(value))
		return -EINVAL;
	raw_local_irq_save(flags);
	cpu = raw_smp_processor_id();
	view = &ev->views[cpu & ev->slot_mask];
	/* Else its address is computed again after each use. */
	OPTIMIZER_HIDE_VAR(view);
	event = smp_load_acquire(&view->event); /* I */
	if (unlikely(READ_ONCE(event->oncpu) != cpu) ||
	    unlikely(raw_irqs_disabled_flags(flags))) {
		err = read_carefully(ev, cpu, flags, value);
		goto out;
	}
	read = READ_ONCE(view->read);
	reading = raw_cpu_ptr(&tally_reading);
	WRITE_ONCE(*reading, event);
	barrier(); /* J */
	read(event);
	barrier(); /* J */
	WRITE_ONCE(*reading, NULL);
	*value = local64_read(&event->count) + READ_ONCE(view->plain);
out:
	raw_local_irq_restore(flags);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_read_local);

/**
 * tally_local_read - the event's count with its times
 * @ev: the event
 * @cpu: this CPU; interrupts are disabled
 * @irqs_off: and had been
 * @whole: whatever it was reset to
 * @now: local_clock()
 * @count: receives it; unchanged if an error is returned
 *
 * Return: as tally_event_read_local().
 */
int tally_local_read(struct tally_event *ev, int cpu, bool irqs_off, bool whole,
		     u64 now, struct tally_count *count)
{
	unsigned int slot = cpu & ev->counter->slot_mask;
	struct tally_slot *s = &ev->counter->slots[slot];
	struct perf_event *event = smp_load_acquire(&s->event); /* K */
	struct tally_totals t;
	int err;

	err = tally_local_check(ev, s, event, cpu, irqs_off);
	if (err)
		return err;
	/* perf changes several times, one after the other. */
	if (irqs_off && is_locked(event))
		return -EAGAIN;
	tally_local_totals(s, event, now, &t);
	tally_view_translate(&ev->views[slot], &t, whole);
	count->value = t.value;
	count->enabled_ns = t.enabled;
	count->running_ns = t.running;
	count->state = tally_pmu_throttled(event) ?
		TALLY_STATE_THROTTLED : TALLY_STATE_ACTIVE;
	return 0;
}

static enum tally_state state_at_rest(const struct tally_counter *c,
				      const struct perf_event *event)
{
	int state = event ? READ_ONCE(event->state) : PERF_EVENT_STATE_DEAD;

	if (!event)
		return TALLY_STATE_OFFLINE;
	if (c->target.task && state <= PERF_EVENT_STATE_EXIT)
		return TALLY_STATE_EXITED;
	return state == PERF_EVENT_STATE_ERROR ? TALLY_STATE_ERROR :
						 TALLY_STATE_INACTIVE;
}

/* A CPU's event is enabled while others have its place; its times are of before. */
static u64 waited(const struct tally_event *ev, const struct perf_event *event)
{
	s64 since;

	if (ev->counter->target.task ||
	    READ_ONCE(event->state) != PERF_EVENT_STATE_INACTIVE)
		return 0;
	since = local_clock() + READ_ONCE(event->ctx->timeoffset) -
		READ_ONCE(event->tstamp);
	return max(since, 0LL);
}

/**
 * tally_event_peek - what an event had counted where it is not counting now,
 *	whatever it was reset to
 * @ev: the event, which is not inherited
 * @slot: where
 * @t: receives it
 * @state: receives what it is doing
 *
 * Perf, and a CPU that comes or goes, may be at work on it: then it is of before,
 * or, of a CPU that is going, may lack what has not been banked yet.
 *
 * Context: Any context with interrupts disabled. Takes no lock.
 * Return: 0; EAGAIN if it is counting.
 */
int tally_event_peek(struct tally_event *ev, unsigned int slot,
		     struct tally_totals *t, enum tally_state *state)
{
	const struct tally_slot *s = &ev->counter->slots[slot];
	const struct tally_view *view = &ev->views[slot];
	struct perf_event *event;
	unsigned int seq;
	bool begun;

	do {
		seq = raw_read_seqcount_latch(&view->latch); /* I */
		begun = view->begun[seq & 1];
		*t = view->offset[seq & 1];
		t->value += view->zeroed[seq & 1];
	} while (read_seqcount_latch_retry(&view->latch, seq));
	*state = TALLY_STATE_OFF;
	if (!begun)
		return 0;
	event = smp_load_acquire(&s->event); /* K */
	if (event && READ_ONCE(event->oncpu) >= 0)
		return -EAGAIN;
	t->value += s->bank.value;
	t->enabled += s->bank.enabled;
	t->running += s->bank.running;
	*state = state_at_rest(ev->counter, event);
	if (!event)
		return 0;
	/* perf adds what the PMU has before it says that the event is not on it. */
	smp_rmb();
	t->value += local64_read(&event->count);
	t->enabled += READ_ONCE(event->total_time_enabled) + waited(ev, event);
	t->running += READ_ONCE(event->total_time_running);
	return 0;
}

int tally_event_read_local_count(struct tally_event *ev,
				 struct tally_count *count)
{
	unsigned long flags;
	int err;

	if (tally_bad_ptr(ev) || tally_bad_ptr(count))
		return -EINVAL;
	raw_local_irq_save(flags);
	err = tally_local_read(ev, raw_smp_processor_id(),
			       raw_irqs_disabled_flags(flags), false,
			       local_clock(), count);
	raw_local_irq_restore(flags);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_read_local_count);
