// SPDX-License-Identifier: GPL-2.0
/*
 * The event: its state, and enabling, disabling and resetting it.
 *
 * An event counts with a counter, which it may share with other events. A
 * counter has a slot for each CPU, or a single one. For each slot the event has
 * a view, which keeps the totals of the slot at which the event was enabled. So
 * enabling, disabling or resetting one event never changes the count of
 * another; but when a member of a group of perf is enabled, all members of the
 * group are off the PMU for some microseconds.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "base/ptr.h"
#include "base/trace.h"
#include "compat.h"
#include "event/event.h"
#include "event/overflow.h"

/* The event of views that cannot be read locally: it is on no CPU, so readers refuse it. */
static struct perf_event nowhere = { .oncpu = -1 };
struct tally_view tally_view_nowhere = { .event = &nowhere };

/* Returns whether an event may be read without the lock, at all. */
static bool is_local(const struct tally_event *ev)
{
	return ev->on && !ev->counter->by_perf;
}

/* Publishes a view for readers without the lock. */
static void view_publish(struct tally_event *ev, unsigned int slot)
{
	const struct tally_slot *s = &ev->counter->slots[slot];
	bool plain = is_local(ev) && s->event && !s->others && !s->update_on_overflow &&
		     !ev->overflow;
	struct tally_view *view = &ev->views[slot];
	struct tally_totals offset = view->kept;

	offset.value -= view->zero;
	if (view->begins)
		tally_totals_subtract(&offset, &view->start);
	raw_write_seqcount_latch(&view->latch);
	view->offset[0] = offset;
	view->zeroed[0] = view->zero;
	view->begun[0] = view->begins;
	raw_write_seqcount_latch(&view->latch);
	view->offset[1] = offset;
	view->zeroed[1] = view->zero;
	view->begun[1] = view->begins;
	WRITE_ONCE(view->value_offset, offset.value + s->bank.value);
	if (s->event) {
		WRITE_ONCE(view->read, s->read);
		WRITE_ONCE(view->width, s->width);
	}
	smp_store_release(&view->event, plain ? s->event : &nowhere); /* I */
}

void tally_event_init_views(struct tally_event *ev, unsigned int nr)
{
	while (nr--) {
		seqcount_latch_init(&ev->views[nr].latch);
		ev->views[nr].event = &nowhere;
	}
}

/* Traces the state of the whole event, if it has changed. Under tally_counter::lock. */
void tally_event_trace_state(struct tally_event *ev, enum tally_state state)
{
	tally_counter_assert_locked(ev->counter);
	if (ev->traced_state == state)
		return;
	trace_state(ev->name, ev->counter->target.cpu, ev->traced_state, state);
	ev->traced_state = state;
}

/* Traces that a CPU came or went. */
static void trace_slot(struct tally_event *ev, unsigned int slot)
{
	enum tally_state state = tally_event_slot_state(ev, slot);
	struct tally_view *view = &ev->views[slot];
	bool offline = state == TALLY_STATE_OFFLINE;

	/* TALLY_STATE_OFF: perf's event was just made, and is enabled next. */
	if (offline == view->offline || state == TALLY_STATE_OFF)
		return;
	view->offline = offline;
	if (!tally_counter_on_all_cpus(ev->counter))
		tally_event_trace_state(ev, state);
	else if (offline)
		trace_state(ev->name, slot, ev->traced_state, state);
	else
		trace_state(ev->name, slot, TALLY_STATE_OFFLINE, state);
}

/*
 * Publishes the views of a slot whose perf event or tally_slot::bank has changed. The slot has not
 * counted for @gap_ns since its CPU came, which is added to the views of tally events that are on.
 * @missed: until now it has not counted because of an error or of hotplug, or it still does not.
 */
void tally_event_slot_changed(struct tally_counter *c, unsigned int slot, u64 gap_ns, bool missed)
{
	struct tally_event *ev;

	tally_counter_assert_locked(c);
	list_for_each_entry(ev, &c->users, user_node) {
		ev->views[slot].marked = false;
		ev->views[slot].silent = false;
		view_publish(ev, slot);
		if (!ev->on)
			continue;
		if (missed)
			WRITE_ONCE(ev->views[slot].missed, true);
		WRITE_ONCE(ev->views[slot].gap_ns, ev->views[slot].gap_ns + gap_ns);
		trace_slot(ev, slot);
	}
}

/* Publishes all views, and then whether they can be read locally. */
static void set_local(struct tally_event *ev)
{
	unsigned int i;

	for (i = 0; i < ev->counter->nr_slots; i++)
		view_publish(ev, i);
	smp_store_release(&ev->local, is_local(ev)); /* I */
}

enum tally_state tally_event_slot_state(const struct tally_event *ev, unsigned int slot)
{
	enum tally_state state = tally_counter_state(ev->counter, slot);

	if (unlikely(ev->overflow) && READ_ONCE(ev->on) && state == TALLY_STATE_ACTIVE &&
	    READ_ONCE(ev->views[slot].silent))
		return TALLY_STATE_SILENT;
	if (READ_ONCE(ev->on) || state == TALLY_STATE_OFFLINE ||
	    state == TALLY_STATE_EXITED)
		return state;
	return TALLY_STATE_OFF;
}

/*
 * Returns the state of an event as a whole; silent slots are those that the last
 * tally_silent_check() found. Called with the counter locked, or under RCU.
 */
enum tally_state tally_event_state_now(const struct tally_event *ev)
{
	enum tally_state state = TALLY_STATE_OFFLINE;
	const struct tally_counter *c = ev->counter;
	bool failed = false;
	unsigned int i;
	int err;

	if (!tally_counter_on_all_cpus(c))
		return tally_event_slot_state(ev, 0);
	for (i = 0; i < c->nr_slots; i++) {
		/* A CPU that got no event when it came does not hide the others' counts. */
		err = READ_ONCE(c->slots[i].err);
		if (err && err != -ENODEV)
			failed = true;
		else if (tally_counter_serves(c, i))
			state = tally_state_worse(state, tally_event_slot_state(ev, i));
	}
	return failed && state == TALLY_STATE_OFFLINE ? TALLY_STATE_ERROR : state;
}

/* Begins the period that tally_event_rearm() or tally_event_reload() asked for, or the old one. */
void tally_event_apply_period(struct tally_event *ev)
{
	struct tally_overflow *of = ev->overflow;
	struct tally_counter *c = ev->counter;
	u64 period = READ_ONCE(of->rearm_period) ?: c->attr.sample_period;
	int err;

	err = tally_counter_set_period(c, period);
	if (err)
		pr_warn_ratelimited("%s: cannot rearm with period %llu: error %d\n",
				    ev->name, period, err);
	ev->attr.sample_period = c->attr.sample_period;
	tally_silent_forget(ev);
}

/* Lets overflows through, of an event that is being enabled. */
static void open_overflow(struct tally_overflow *of)
{
	/* The event was off at tally_event_rearm() or _reload(): its period is not set yet. */
	if (atomic_xchg(&of->rearm, 0))
		tally_event_apply_period(of->ev);
	atomic_set(&of->armed, 1);
	tally_overflow_special(of, 0, TALLY_SPECIAL_DISABLED);
}

/*
 * Begins to count for an event, at the totals that its slots had when they were
 * last read. Under tally_counter::lock.
 */
void tally_event_begin(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	unsigned int i;

	tally_counter_assert_locked(c);
	c->unused = false;
	for (i = 0; i < c->nr_slots; i++) {
		ev->views[i].start = c->slots[i].now;
		ev->views[i].begins = true;
		ev->views[i].offline = !c->slots[i].event;
		if (unlikely(c->slots[i].err))
			WRITE_ONCE(ev->views[i].missed, true);
		if (ev->overflow)
			tally_silent_begin(ev, i);
	}
	WRITE_ONCE(ev->on, true);
	set_local(ev);
	if (ev->overflow)
		open_overflow(ev->overflow);
}

/* Begins an event before perf's events are enabled. */
static void begin_alone(struct tally_event *ev)
{
	/* All that an unused counter has counted is this event's, for which it was made. */
	if (!ev->counter->unused)
		tally_counter_read(ev->counter);
	tally_event_begin(ev);
}

/*
 * Traces the state of an event that is enabled. Under tally_counter::lock.
 * Returns 0; ENODATA in TALLY_STATE_ERROR; ESRCH in TALLY_STATE_EXITED.
 */
int tally_event_check(struct tally_event *ev)
{
	enum tally_state state = tally_event_state_now(ev);

	tally_event_trace_state(ev, state);
	if (state == TALLY_STATE_ERROR)
		return -ENODATA;
	return state == TALLY_STATE_EXITED ? -ESRCH : 0;
}

/*
 * Enables an event. Under tally_counter::lock. Returns the error of
 * tally_event_check(); ESRCH if the event is being released.
 */
int tally_event_on(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;

	tally_counter_assert_locked(c);
	/* The caller is a handler that still runs. */
	if (ev->gone)
		return -ESRCH;
	if (!ev->on) {
		begin_alone(ev);
		tally_counter_on(c);
	} else {
		tally_counter_enable_slots(c);
	}
	return tally_event_check(ev);
}

/* Resets an event, as of the last read of its slots. Under tally_counter::lock. */
void tally_event_rebase(struct tally_event *ev)
{
	struct tally_view *view = ev->views;
	unsigned int i;
	u64 zero;

	tally_counter_assert_locked(ev->counter);
	for (i = 0; i < ev->counter->nr_slots; i++, view++) {
		zero = view->kept.value;
		if (ev->on)
			zero += ev->counter->slots[i].now.value - view->start.value;
		WRITE_ONCE(view->zero, zero);
		WRITE_ONCE(view->missed, tally_event_slot_state(ev, i) == TALLY_STATE_ERROR);
		view_publish(ev, i);
	}
}

/* Returns what resets have taken off the count, summed over slots. Also without the lock. */
u64 tally_event_reset_total(const struct tally_event *ev)
{
	unsigned int i;
	u64 zero = 0;

	for (i = 0; i < ev->counter->nr_slots; i++)
		zero += READ_ONCE(ev->views[i].zero);
	return zero;
}

/*
 * Begins to disable an event. Reads without the lock fail from here on, until tally_event_keep()
 * keeps the count: no read returns more than what is kept. Under tally_counter::lock.
 */
void tally_event_close(struct tally_event *ev)
{
	const struct tally_counter *c = ev->counter;
	unsigned int i;

	tally_counter_assert_locked(c);
	for (i = 0; ev->on && i < c->nr_slots; i++)
		if (tally_slot_in_error(c, &c->slots[i]))
			WRITE_ONCE(ev->views[i].missed, true);
	WRITE_ONCE(ev->on, false);
	set_local(ev);
}

static void trace_off(struct tally_event *ev)
{
	if (ev->traced_state != TALLY_STATE_EXITED && ev->traced_state != TALLY_STATE_OFFLINE)
		tally_event_trace_state(ev, TALLY_STATE_OFF);
}

/* Stops overflows after tally_event_close(), and perf's events unless other events use them. */
void tally_event_stop(struct tally_event *ev)
{
	tally_counter_assert_locked(ev->counter);
	tally_counter_off(ev->counter);
	trace_off(ev);
	if (ev->overflow)
		tally_overflow_special(ev->overflow, TALLY_SPECIAL_DISABLED, 0);
}

/* Keeps the count of an event after tally_event_close(), as of the last read of its slots. */
void tally_event_keep(struct tally_event *ev)
{
	struct tally_view *view = ev->views;
	unsigned int i;

	tally_counter_assert_locked(ev->counter);
	for (i = 0; i < ev->counter->nr_slots; i++, view++) {
		tally_totals_add(&view->kept, &ev->counter->slots[i].now);
		tally_totals_subtract(&view->kept, &view->start);
		view->counted |= ev->counter->slots[i].was_read;
		view->begins = false;
		view_publish(ev, i);
	}
}

/* Disables an event and keeps its count. The counter stops first: no count is lost. */
void tally_event_off(struct tally_event *ev)
{
	tally_event_close(ev);
	tally_event_stop(ev);
	tally_counter_read(ev->counter);
	tally_event_keep(ev);
}

/* Disables an event that is released and has no readers, without a read of its slots. */
void tally_event_abandon(struct tally_event *ev)
{
	/* A handler of another event that is released may still read this event's last count. */
	tally_event_close(ev);
	tally_event_keep(ev);
	tally_counter_leave(ev->counter);
	trace_off(ev);
}

bool tally_event_counts(struct tally_event *ev)
{
	bool all;

	tally_counter_lock(ev->counter);
	all = tally_counter_counts(ev->counter);
	tally_counter_unlock(ev->counter);
	return all;
}

/*
 * Prepares to enable an event: one that is off, or at its limit of overflows,
 * loses the limit, unless tally_event_limit() has set it for this time. The
 * caller may have seen the last overflow of a limit, and be here before the
 * control work (control.c). Under tally_counter::lock.
 */
void tally_event_drop_limit(struct tally_event *ev)
{
	struct tally_overflow *of = ev->overflow;

	if (!of)
		return;
	if (ev->on && tally_overflow_at_limit(of))
		tally_event_off(ev);
	if (!ev->on && !of->limits_next)
		tally_overflow_special(of, 0, TALLY_SPECIAL_LIMITED);
	of->limits_next = false;
}

/* Begins an event that perf enables when its task calls exec(). */
void tally_event_wait_for_exec(struct tally_event *ev)
{
	tally_counter_lock(ev->counter);
	begin_alone(ev);
	tally_counter_on_exec(ev->counter);
	tally_counter_unlock(ev->counter);
}

int tally_event_enable(struct tally_event *ev)
{
	int err;

	if (tally_bad_ptr(ev))
		return -EINVAL;
	might_sleep();
	tally_counter_lock(ev->counter);
	tally_event_drop_limit(ev);
	err = tally_event_on(ev);
	tally_counter_unlock(ev->counter);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_enable);

void tally_event_disable(struct tally_event *ev)
{
	if (tally_bad_ptr(ev))
		return;
	might_sleep();
	tally_counter_lock(ev->counter);
	if (ev->on)
		tally_event_off(ev);
	tally_counter_unlock(ev->counter);
}
EXPORT_SYMBOL_TALLY(tally_event_disable);

void tally_event_reset(struct tally_event *ev)
{
	struct tally_counter *c;

	if (tally_bad_ptr(ev))
		return;
	c = ev->counter;
	might_sleep();
	tally_counter_lock(c);
	tally_counter_read(c);
	tally_event_rebase(ev);
	tally_counter_unlock(c);
}
EXPORT_SYMBOL_TALLY(tally_event_reset);

enum tally_state tally_event_state(struct tally_event *ev)
{
	enum tally_state state;

	if (tally_bad_ptr(ev))
		return TALLY_STATE_ERROR;
	might_sleep();
	tally_counter_lock(ev->counter);
	if (ev->overflow)
		tally_silent_read(ev);
	state = tally_event_state_now(ev);
	tally_event_trace_state(ev, state);
	tally_counter_unlock(ev->counter);
	return state;
}
EXPORT_SYMBOL_TALLY(tally_event_state);

/* Returns whether the event still waits for exec() to enable it. */
bool tally_event_waits(struct tally_event *ev)
{
	bool waits;

	if (!ev->attr.enable_on_exec)
		return false;
	tally_counter_lock(ev->counter);
	/* The event is on, and its state is that of perf's event, which is off until exec(). */
	waits = ev->on && tally_event_state_now(ev) == TALLY_STATE_OFF;
	tally_counter_unlock(ev->counter);
	return waits;
}

/* Returns how many hits the event's kernel probe has missed since the event was made. */
u64 tally_event_missed(const struct tally_event *ev)
{
	u64 missed = tally_counter_missed(ev->counter);

	return missed > ev->missed ? missed - ev->missed : 0;
}

/*
 * Returns whether the count of a task's event is final: the event is in TALLY_STATE_EXITED, and no
 * child counts any more. Takes no lock, as one task may wait for the events of many.
 */
bool tally_event_ended(struct tally_event *ev)
{
	bool ended;

	rcu_read_lock();
	ended = tally_counter_ended(ev->counter);
	rcu_read_unlock();
	return ended;
}

unsigned int tally_event_precise(const struct tally_event *ev)
{
	return tally_bad_ptr(ev) ? 0 : ev->attr.precise_ip;
}
EXPORT_SYMBOL_TALLY(tally_event_precise);

const char *tally_event_name(const struct tally_event *ev)
{
	if (tally_bad_ptr(ev))
		return "";
	return ev->name;
}
EXPORT_SYMBOL_TALLY(tally_event_name);
