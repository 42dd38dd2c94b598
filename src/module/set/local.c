// SPDX-License-Identifier: GPL-2.0
/*
 * Local reads: on the CPU that counts, in any context, without a lock.
 *
 * While interrupts are disabled, perf's event stays on this CPU: perf needs an
 * interrupt here to take the event off, or a hotplug operation, which stops
 * this CPU first. But an NMI, a kprobe or a tracepoint may interrupt perf
 * itself, or another local read, while that updates the count, puts the event
 * on the PMU, or takes it off. A read in that place recognises this, and
 * returns an error.
 *
 * Ordering:
 *
 * I. tally_view::event is stored with release after its read function, width
 *    and offset, and tally_event::local after all views. A read load-acquires
 *    one of both before it reads a view: the view of an event that is found
 *    enabled has the start of that enabling. The times of a view are in a
 *    latch. One copy of the latch is always whole, also for an NMI that
 *    interrupts the writer. The value of a view is one word. A writer reads the
 *    slot before it publishes the view, by an interrupt on the slot's CPU. That
 *    interrupt waits for a local read that is running there. So no read sees a
 *    start that is later than the count it has read.
 * J. @tally_reading (counter/slot.h) is used by its own CPU only, so compiler barriers order it. A
 *    read of the register needs none: it changes nothing, and sees that an NMI changed the count.
 * K. tally_slot::event is stored with release after the slot's read function,
 *    width and bank, and is load-acquired. The bank is written again only after
 *    the pointer was cleared, and a write barrier, when the CPU had gone
 *    offline or the owner released the event. So a bank that is read between
 *    two loads of the same pointer belongs to it: perf frees no event, and no
 *    CPU goes offline, while a read has interrupts disabled.
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
#include "set/read.h"
#include "event/overflow.h"

/*
 * Returns whether the event's context is locked, by the code that this read interrupted or, for
 * a moment, by another CPU. In a kernel without SMP, locks have no state to look at: there any NMI
 * is taken for one that has interrupted the holder of the lock.
 */
static bool is_locked(const struct perf_event *event)
{
	return IS_ENABLED(CONFIG_SMP) ? raw_spin_is_locked(&event->ctx->lock) :
					in_nmi();
}

/*
 * Returns whether this read may have interrupted perf, or another read, that works on the count.
 * This is asked only if interrupts were disabled before: perf and reads disable them. The other
 * read may be of any event of the group: when Intel's driver reads a topdown event, it updates
 * those beside it, too, and clears their registers.
 *
 * perf reads events and moves them with their context locked, or with the PMU disabled.
 * It stops an event before it gives the event another hardware counter.
 */
static bool is_being_counted(const struct perf_event *event)
{
	const void **reading = raw_cpu_ptr(&tally_reading);
	const struct perf_event *other = *reading;

	return *reading == reading ||
	       (other && READ_ONCE(other->group_leader) == READ_ONCE(event->group_leader)) ||
	       is_locked(event) ||
	       tally_pmu_disabled_here(event->pmu) ||
	       READ_ONCE(event->state) != PERF_EVENT_STATE_ACTIVE ||
	       READ_ONCE(event->hw.state) & PERF_HES_STOPPED;
}

static bool is_in_its_handler(const struct tally_overflow *of)
{
	return READ_ONCE(this_cpu_ptr(of->cpus)->busy);
}

/*
 * Returns whether the event cannot be read in NMI, because the driver does more
 * than read a hardware counter. For a PMU that serves several CPUs the driver
 * takes a lock, which the interrupted code may hold. For a precise event it
 * empties the buffer, which the PMU's interrupt may be doing at this moment.
 */
static bool is_unreadable_in_nmi(const struct perf_event *event)
{
	return event->pmu->task_ctx_nr == perf_invalid_context ||
	       event->attr.precise_ip;
}

/* perf updates a clock that overflows in the clock's hrtimer, without a lock. */
static bool is_in_its_timer(struct perf_event *event)
{
	return is_sampling_event(event) && event->hw.hrtimer.base &&
	       hrtimer_callback_running(&event->hw.hrtimer);
}

/* Checks a read for which interrupts were disabled before, also by an interrupt. */
static int check_irqs_off(const struct tally_event *ev,
			  const struct tally_slot *s, struct perf_event *event)
{
	/* The count is always up to date. */
	if (s->up_to_date)
		return 0;
	if (in_nmi() && is_unreadable_in_nmi(event))
		return -EOPNOTSUPP;
	if (is_being_counted(event))
		return -EAGAIN;
	if (ev->overflow && tally_attr_is_clock(&ev->attr) &&
	    is_in_its_timer(event) && !is_in_its_handler(ev->overflow))
		return -EAGAIN;
	return 0;
}

/**
 * tally_local_check - check whether an event can be read on this CPU
 * @ev: the event
 * @s: slot of the event on this CPU
 * @event: perf's event that was found in the slot, or NULL
 * @cpu: this CPU
 * @irqs_off: interrupts were disabled before the local read disabled them
 *
 * Return: 0, or the error for tally_event_read_local() to return.
 */
noinline int tally_local_check(const struct tally_event *ev,
			       const struct tally_slot *s,
			       struct perf_event *event, int cpu, bool irqs_off)
{
	const struct tally_counter *c = ev->counter;
	const struct tally_target *t = &c->target;
	int err;

	if (c->by_perf)
		return -EOPNOTSUPP;
	if (t->task && t->task != current)
		return -EINVAL;
	/* A PMU that serves several CPUs may count on another one than asked for. */
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

/**
 * tally_local_check_stale - check that the count is not that of an overflow long ago
 * @ev: the event
 * @cpu: this CPU
 *
 * Return: 0; EOPNOTSUPP outside the event's direct handler if only overflows
 * bring the count up to date.
 */
int tally_local_check_stale(const struct tally_event *ev, int cpu)
{
	if (likely(!READ_ONCE(ev->counter->slots[cpu & ev->slot_mask].update_on_overflow)) ||
	    (ev->overflow && is_in_its_handler(ev->overflow)))
		return 0;
	return -EOPNOTSUPP;
}

/*
 * The slow path: for callers with interrupts disabled, for events whose views have no event of
 * perf, such as those that overflow, and for errors. Enables interrupts again, unless @irqs_off.
 */
static noinline int read_carefully(struct tally_event *ev, u64 *value, bool irqs_off)
{
	int cpu = raw_smp_processor_id();
	unsigned int slot = cpu & ev->slot_mask;
	struct tally_slot *s = &ev->counter->slots[slot];
	struct perf_event *event = tally_slot_here(s, cpu);
	struct tally_totals t = { };
	int err;

	err = tally_local_check(ev, s, event, cpu, irqs_off) ?: tally_local_check_stale(ev, cpu);
	if (!err) {
		t.value = tally_local_count(s, event);
		tally_view_translate(&ev->views[slot], &t, false);
		*value = t.value;
	}
	if (!irqs_off)
		local_irq_enable();
	return err;
}

notrace int tally_event_read_local(struct tally_event *ev, u64 *value)
{
	const struct tally_view *view;
	struct perf_event *event;
	const void **reading;
	unsigned long flags;
	tally_read_fn read;
	unsigned int cpu;

	if (tally_bad_ptr(ev) || tally_bad_ptr(value))
		return -EINVAL;
	local_irq_save(flags);
	if (unlikely(raw_irqs_disabled_flags(flags)))
		return read_carefully(ev, value, true);
	cpu = raw_smp_processor_id();
	view = (void *)ev->views + cpu * ev->view_step;
	/* Keeps the compiler from computing the addresses again for each use. */
	OPTIMIZER_HIDE_VAR(view);
	event = smp_load_acquire(&view->event); /* I */
	if (unlikely(READ_ONCE(event->oncpu) != cpu))
		return read_carefully(ev, value, false);
	if (unlikely(READ_ONCE(view->width))) {
		*value = tally_register_count(event, &view->width) + READ_ONCE(view->value_offset);
		local_irq_enable();
		return 0;
	}
	read = READ_ONCE(view->read);
	reading = raw_cpu_ptr(&tally_reading);
	OPTIMIZER_HIDE_VAR(reading);
	WRITE_ONCE(*reading, event);
	barrier(); /* J */
	read(event);
	barrier(); /* J */
	WRITE_ONCE(*reading, NULL);
	*value = local64_read(&event->count) + READ_ONCE(view->value_offset);
	local_irq_enable();
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_event_read_local);

/**
 * tally_local_read - read the count of an event with its times on this CPU
 * @ev: the event
 * @slot: slot of the event; interrupts are disabled
 * @irqs_off: interrupts were disabled before the caller disabled them
 * @whole: resets of the event are ignored
 * @now: local_clock()
 * @count: receives the count; unchanged on error
 *
 * Return: 0, or an error of tally_event_read_local(). The caller calls tally_local_check_stale().
 */
int tally_local_read(struct tally_event *ev, unsigned int slot, bool irqs_off, bool whole,
		     u64 now, struct tally_count *count)
{
	int cpu = raw_smp_processor_id();
	struct tally_slot *s = &ev->counter->slots[slot];
	struct perf_event *event = tally_slot_here(s, cpu);
	struct tally_totals t;
	int err;

	err = tally_local_check(ev, s, event, cpu, irqs_off);
	if (err)
		return err;
	/* perf changes the times of an event one after the other, with its context locked. */
	if (irqs_off && is_locked(event))
		return -EAGAIN;
	t.value = tally_local_count(s, event);
	tally_local_times(s, event, now, &t);
	tally_view_translate(&ev->views[slot], &t, whole);
	count->value = t.value;
	count->enabled_ns = t.enabled;
	count->running_ns = t.running;
	count->state = tally_pmu_throttled(event) ?
		TALLY_STATE_THROTTLED : TALLY_STATE_ACTIVE;
	return 0;
}

/*
 * Nanoseconds that the slot's first event was enabled since perf last updated
 * its times; none while no task of the event's cgroup runs there. An event that
 * is multiplexed stays enabled while it is off the PMU, and so does a task's
 * event while the task runs on another kind of core: when the task leaves, perf
 * updates the times of the event for that kind. The time of a task's context is
 * the one when perf last updated it: it stands while the task does not run, and
 * is a tick old while the task does.
 */
static u64 enabled_since_update(const struct tally_event *ev, const struct tally_slot *s,
				const struct perf_event *event)
{
	const struct perf_event *other;
	unsigned int i;
	s64 since;

	/* While a driver moves an event, the stamp is not yet of the new context's clock. */
	if (tally_perf_state(event) != PERF_EVENT_STATE_INACTIVE ||
	    (!ev->counter->target.task && tally_slot_detached(event)))
		return 0;
	since = ev->counter->target.task ? tally_event_time_then(event) :
					   tally_event_time(event, local_clock());
	since -= READ_ONCE(event->tstamp);
	for (i = 1; (other = tally_slot_nth(s, i)); i++)
		since = max_t(s64, since, READ_ONCE(other->tstamp) - READ_ONCE(event->tstamp));
	return max(since, 0LL);
}

/*
 * Returns for how long the slot's first event was enabled, in nanoseconds. perf
 * changes the times of an event one after the other, with the context locked,
 * which takes a moment. It may do so on another CPU, also for an event of this CPU
 * that is off the PMU, if somebody reads that. @moves receives whether perf may
 * still be doing that.
 */
static u64 enabled_of(const struct tally_event *ev, const struct tally_slot *s,
		      const struct perf_event *event, bool *moves)
{
	unsigned int tries = in_nmi() ? 1 : 100;
	u64 stamp, enabled;

	for (; tries; tries--, cpu_relax()) {
		stamp = READ_ONCE(event->tstamp);
		smp_rmb(); /* perf stores it before it unlocks the context */
		*moves = is_locked(event);
		smp_rmb(); /* perf locks the context before it stores the times */
		enabled = READ_ONCE(event->total_time_enabled) + enabled_since_update(ev, s, event);
		smp_rmb(); /* perf stores the times before it unlocks the context */
		*moves |= is_locked(event);
		smp_rmb(); /* perf locks the context before it stores the stamp */
		*moves |= READ_ONCE(event->tstamp) != stamp;
		if (!*moves)
			break;
	}
	return enabled;
}

/**
 * tally_event_peek - read a slot of an event that is not counting there now, or was just read
 * @ev: the event, which is not inherited
 * @slot: the slot
 * @whole: resets of the event are ignored
 * @here: this CPU, if an event that is counting on it has an up-to-date count; then the caller
 *	does not get the time for which the event was enabled. Else -1.
 * @t: receives the totals; for an event that is counting, the times as of perf's last update
 * @state: receives the state; for an event that is counting, INACTIVE
 *
 * perf may be changing the event. Then the totals may be older ones.
 *
 * Context: Any context with interrupts disabled. Takes no lock.
 * Return: 0; EAGAIN if the event is counting on another CPU than @here, if hotplug is taking perf's
 * event out of the slot, if the event is being disabled, or, without @here, if perf may be changing
 * the times of the event.
 */
int tally_event_peek(struct tally_event *ev, unsigned int slot, bool whole, int here,
		     struct tally_totals *t, enum tally_state *state)
{
	const struct tally_slot *s = &ev->counter->slots[slot];
	struct tally_totals bank;
	struct perf_event *event;
	bool moves = false;
	unsigned int i;
	int oncpu;

	*state = TALLY_STATE_OFF;
	if (!tally_view_offset(&ev->views[slot], whole, t))
		return 0;
	/* The bank is written while there is no event: this is the one that belongs to @event. */
	do {
		event = smp_load_acquire(&s->event); /* K */
		if (!event && smp_load_acquire(&s->err) == -ENODEV) /* Z */
			return -EAGAIN;
		bank = data_race(s->bank); /* K */
		smp_rmb(); /* K */
	} while (READ_ONCE(s->event) != event);
	tally_totals_add(t, &bank);
	*state = tally_counter_state(ev->counter, slot);
	/* perf sets the state a moment after it took the event off the PMU. */
	if (*state == TALLY_STATE_ACTIVE)
		*state = TALLY_STATE_INACTIVE;
	if (event && here < 0)
		t->enabled += enabled_of(ev, s, event, &moves);
	if (moves)
		return -EAGAIN;
	for (i = 0; event; event = tally_slot_nth(s, ++i)) {
		oncpu = READ_ONCE(event->oncpu);
		if (oncpu >= 0 && oncpu != here)
			return -EAGAIN;
		/* perf updates the count before it sets @oncpu to -1. */
		smp_rmb();
		t->value += local64_read(&event->count);
		t->running += READ_ONCE(event->total_time_running);
	}
	/* An event that is disabled is closed before its last counts are read. */
	smp_rmb();
	return READ_ONCE(ev->on) ? 0 : -EAGAIN;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_event_peek);

int tally_event_read_local_count(struct tally_event *ev,
				 struct tally_count *count)
{
	unsigned long flags;
	int err, cpu;

	if (tally_bad_ptr(ev) || tally_bad_ptr(count))
		return -EINVAL;
	local_irq_save(flags);
	cpu = raw_smp_processor_id();
	err = tally_local_check_stale(ev, cpu) ?:
	      tally_local_read(ev, cpu & ev->slot_mask, raw_irqs_disabled_flags(flags), false,
			       local_clock(), count);
	local_irq_restore(flags);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_read_local_count);
