// SPDX-License-Identifier: GPL-2.0
/*
 * The event: its state, and enabling, disabling and resetting it.
 *
 * An event is a view of a counter, which other events may look at too. Per slot
 * it remembers where the counter stood when the event was enabled, so that one
 * owner's enabling, disabling and resetting never shows in another's numbers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "base/ptr.h"
#include "builder/builder.h"
#include "compat.h"
#include "event/event.h"
#include "event/overflow.h"
#include "builder/name.h"

/* What is found where there is nothing to be read at once: it is on no CPU. */
static struct perf_event nowhere = { .oncpu = -1 };
struct tally_view tally_view_nowhere = { .event = &nowhere };

/* For those who have no lock; of an event that is, or will be, @local. */
static void publish_as(struct tally_event *ev, unsigned int slot, u8 local)
{
	const struct tally_slot *s = &ev->counter->slots[slot];
	bool plain = s->event && local == TALLY_LOCAL_PLAIN;
	struct tally_view *view = &ev->views[slot];
	struct tally_totals offset = view->kept;

	offset.value -= view->zero;
	if (view->begins) {
		offset.value -= view->start.value;
		offset.enabled -= view->start.enabled;
		offset.running -= view->start.running;
	}
	raw_write_seqcount_latch(&view->latch);
	view->offset[0] = offset;
	view->zeroed[0] = view->zero;
	view->begun[0] = view->begins;
	raw_write_seqcount_latch(&view->latch);
	view->offset[1] = offset;
	view->zeroed[1] = view->zero;
	view->begun[1] = view->begins;
	WRITE_ONCE(view->plain, offset.value + s->bank.value);
	if (s->event) {
		WRITE_ONCE(view->read, s->read);
		WRITE_ONCE(view->still, s->still);
	}
	smp_store_release(&view->event, plain ? s->event : &nowhere); /* I */
}

static void view_publish(struct tally_event *ev, unsigned int slot)
{
	publish_as(ev, slot, ev->local);
}

void tally_event_init_views(struct tally_event *ev, unsigned int nr)
{
	while (nr--) {
		seqcount_latch_init(&ev->views[nr].latch);
		ev->views[nr].event = &nowhere;
	}
}

/* A slot has another event, or none, or another bank. */
void tally_event_slot_changed(struct tally_counter *c, unsigned int slot)
{
	struct tally_event *ev;

	lockdep_assert_held(&c->lock);
	list_for_each_entry(ev, &c->users, user_node)
		view_publish(ev, slot);
}

/* What was begun may be read from now on, or no more. */
static void set_local(struct tally_event *ev, u8 local)
{
	unsigned int i;

	for (i = 0; i < ev->counter->nr_slots; i++)
		publish_as(ev, i, local);
	smp_store_release(&ev->local, local); /* I */
}

static u8 local_reads(const struct tally_event *ev)
{
	if (ev->attr.inherit || ev->closed)
		return TALLY_LOCAL_NONE;
	return ev->overflow ? TALLY_LOCAL_THROTTLES : TALLY_LOCAL_PLAIN;
}

enum tally_state tally_event_slot_state(const struct tally_event *ev,
					unsigned int slot)
{
	enum tally_state state = tally_counter_state(ev->counter, slot);

	if (ev->on || state == TALLY_STATE_OFFLINE ||
	    state == TALLY_STATE_EXITED)
		return state;
	return TALLY_STATE_OFF;
}

enum tally_state tally_event_state_now(const struct tally_event *ev)
{
	enum tally_state state = TALLY_STATE_OFFLINE;
	unsigned int i;

	if (!tally_counter_on_all_cpus(ev->counter))
		return tally_event_slot_state(ev, 0);
	for (i = 0; i < ev->counter->nr_slots; i++)
		if (tally_counter_serves(ev->counter, i))
			state = tally_state_worse(state, tally_event_slot_state(ev, i));
	return state;
}

static void begin_at(struct tally_event *ev, unsigned int slot,
		     const struct tally_totals *t)
{
	ev->views[slot].start = *t;
	ev->views[slot].begins = !ev->starting;
}

/* What tally_event_rearm() was told; perf begins anew also with the same one. */
void tally_event_take_period(struct tally_event *ev)
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
}

/* The event is being enabled: its overflows are let through. */
static void open_overflow(struct tally_overflow *of)
{
	/* Of a call while the event was off, the period is left. */
	if (atomic_xchg(&of->rearm, 0))
		tally_event_take_period(of->ev);
	atomic_set(&of->armed, 1);
	tally_overflow_special(of, 0, TALLY_SPECIAL_SHUT);
}

/* It is published once, with what makes it readable. */
static void begin_views(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	unsigned int i;

	for (i = 0; i < c->nr_slots; i++)
		tally_counter_arm(c, i);
	/* All that a new one has counted is of who had it made. */
	if (!c->fresh)
		tally_counter_look(c);
	c->fresh = false;
	for (i = 0; i < c->nr_slots; i++)
		begin_at(ev, i, &c->slots[i].now);
	WRITE_ONCE(ev->on, true);
	set_local(ev, local_reads(ev));
	if (ev->overflow)
		open_overflow(ev->overflow);
}

/* Under tally_counter::lock. 0, or why it does not count. */
int tally_event_on(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	enum tally_state state;

	lockdep_assert_held(&c->lock);
	/* Who asks is a handler that still runs. */
	if (ev->gone)
		return -ESRCH;
	if (!ev->on) {
		begin_views(ev);
		tally_counter_on(c);
	} else {
		tally_counter_retry(c);
	}
	state = tally_event_state_now(ev);
	if (state == TALLY_STATE_ERROR)
		return -ENODATA;
	return state == TALLY_STATE_EXITED ? -ESRCH : 0;
}

/*
 * What follows is under tally_counter::lock, of an event that is on: a slot begins
 * to count for it, has counted for it, or begins at 0, when its totals are @t.
 */
void tally_event_begin_at(struct tally_event *ev, unsigned int slot,
			  const struct tally_totals *t)
{
	begin_at(ev, slot, t);
	view_publish(ev, slot);
}

void tally_event_keep_at(struct tally_event *ev, unsigned int slot,
			 const struct tally_totals *t)
{
	struct tally_view *view = &ev->views[slot];

	view->kept.value += t->value - view->start.value;
	view->kept.enabled += t->enabled - view->start.enabled;
	view->kept.running += t->running - view->start.running;
	view->start = *t;
}

void tally_event_rebase_at(struct tally_event *ev, unsigned int slot,
			   const struct tally_totals *t)
{
	struct tally_view *view = &ev->views[slot];

	view->zero = view->kept.value + t->value - view->start.value;
	view_publish(ev, slot);
}

/* What a reset has left out, of all slots. */
u64 tally_event_zero(const struct tally_event *ev)
{
	unsigned int i;
	u64 zero = 0;

	for (i = 0; i < ev->counter->nr_slots; i++)
		zero += READ_ONCE(ev->views[i].zero);
	return zero;
}

/* Of an event that is off: all that it has counted is kept. */
void tally_event_settle(struct tally_event *ev)
{
	unsigned int i;

	lockdep_assert_held(&ev->counter->lock);
	for (i = 0; i < ev->counter->nr_slots; i++) {
		ev->views[i].begins = false;
		view_publish(ev, i);
	}
}

/* A set's member is not to be read before, or after, its window. */
void tally_event_close(struct tally_event *ev)
{
	mutex_lock(&ev->counter->lock);
	ev->closed = true;
	if (ev->on)
		set_local(ev, TALLY_LOCAL_NONE);
	mutex_unlock(&ev->counter->lock);
}

void tally_event_open(struct tally_event *ev)
{
	unsigned int i;

	lockdep_assert_held(&ev->counter->lock);
	ev->closed = false;
	ev->starting = false;
	for (i = 0; i < ev->counter->nr_slots; i++)
		ev->views[i].begins = true;
	set_local(ev, local_reads(ev));
}

/* It counts no more; what it has counted is kept, or about to be. */
void tally_event_shut(struct tally_event *ev)
{
	lockdep_assert_held(&ev->counter->lock);
	ev->starting = false;
	set_local(ev, TALLY_LOCAL_NONE);
	tally_counter_off(ev->counter);
	WRITE_ONCE(ev->on, false);
	if (ev->overflow)
		tally_overflow_special(ev->overflow, TALLY_SPECIAL_SHUT, 0);
}

/* Alone on the counter: stop first, so that nothing is lost. */
void tally_event_off(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	unsigned int i;

	tally_event_shut(ev);
	tally_counter_look(c);
	for (i = 0; i < c->nr_slots; i++)
		tally_event_keep_at(ev, i, &c->slots[i].now);
	tally_event_settle(ev);
}

/* As tally_event_off(), of an event that ends and that nobody reads any more. */
void tally_event_abandon(struct tally_event *ev)
{
	lockdep_assert_held(&ev->counter->lock);
	/* The handler of one that goes with it may read it still. */
	set_local(ev, TALLY_LOCAL_NONE);
	tally_counter_leave(ev->counter);
	WRITE_ONCE(ev->on, false);
}

bool tally_event_counts(struct tally_event *ev)
{
	bool all;

	mutex_lock(&ev->counter->lock);
	all = tally_counter_counts(ev->counter);
	mutex_unlock(&ev->counter->lock);
	return all;
}

/* Without a limit, unless one was set for this time. */
static int enable(struct tally_event *ev)
{
	if (ev->overflow && !ev->on && !ev->overflow->limits_next)
		tally_overflow_special(ev->overflow, 0, TALLY_SPECIAL_LIMITED);
	if (ev->overflow)
		ev->overflow->limits_next = false;
	return tally_event_on(ev);
}

/* perf enables it when its task calls exec(). */
void tally_event_wait_for_exec(struct tally_event *ev)
{
	mutex_lock(&ev->counter->lock);
	begin_views(ev);
	tally_counter_on_exec(ev->counter);
	mutex_unlock(&ev->counter->lock);
}

/* As tally_event_enable(), but it has not begun until tally_event_open(). */
int tally_event_start(struct tally_event *ev)
{
	int err;

	mutex_lock(&ev->counter->lock);
	if (!ev->on)
		ev->starting = true;
	err = enable(ev);
	mutex_unlock(&ev->counter->lock);
	return err;
}

/* Of one that should be on; @began becomes true if it was not. */
int tally_event_retry(struct tally_event *ev, bool *began)
{
	int err;

	mutex_lock(&ev->counter->lock);
	*began |= !ev->on;
	err = enable(ev);
	mutex_unlock(&ev->counter->lock);
	return err;
}

/* Of the only member of a set: it begins, and may be read, from here on. */
int tally_event_begin(struct tally_event *ev)
{
	int err;

	mutex_lock(&ev->counter->lock);
	ev->closed = false;
	err = enable(ev);
	mutex_unlock(&ev->counter->lock);
	return err;
}

int tally_event_enable(struct tally_event *ev)
{
	int err;

	if (tally_bad_ptr(ev))
		return -EINVAL;
	might_sleep();
	mutex_lock(&ev->counter->lock);
	err = enable(ev);
	mutex_unlock(&ev->counter->lock);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_enable);

void tally_event_disable(struct tally_event *ev)
{
	if (tally_bad_ptr(ev))
		return;
	might_sleep();
	mutex_lock(&ev->counter->lock);
	if (ev->on)
		tally_event_off(ev);
	mutex_unlock(&ev->counter->lock);
}
EXPORT_SYMBOL_TALLY(tally_event_disable);

void tally_event_reset(struct tally_event *ev)
{
	struct tally_counter *c;
	unsigned int i;

	if (tally_bad_ptr(ev))
		return;
	c = ev->counter;
	might_sleep();
	mutex_lock(&c->lock);
	tally_counter_look(c);
	for (i = 0; i < c->nr_slots; i++) {
		if (ev->on)
			tally_event_rebase_at(ev, i, &c->slots[i].now);
		else
			ev->views[i].zero = ev->views[i].kept.value;
	}
	if (!ev->on)
		tally_event_settle(ev);
	mutex_unlock(&c->lock);
}
EXPORT_SYMBOL_TALLY(tally_event_reset);

enum tally_state tally_event_state(struct tally_event *ev)
{
	enum tally_state state;

	if (tally_bad_ptr(ev))
		return TALLY_STATE_ERROR;
	might_sleep();
	mutex_lock(&ev->counter->lock);
	state = tally_event_state_now(ev);
	mutex_unlock(&ev->counter->lock);
	return state;
}
EXPORT_SYMBOL_TALLY(tally_event_state);

/* Whether exec() is still to enable it. */
bool tally_event_waits(struct tally_event *ev)
{
	bool waits;

	if (!ev->attr.enable_on_exec)
		return false;
	mutex_lock(&ev->counter->lock);
	waits = ev->on && tally_event_state_now(ev) == TALLY_STATE_OFF;
	mutex_unlock(&ev->counter->lock);
	return waits;
}

/* Whether nothing will ever be added to its count: the task, and its children. */
bool tally_event_ended(struct tally_event *ev)
{
	bool ended;

	mutex_lock(&ev->counter->lock);
	ended = tally_counter_ended(ev->counter);
	mutex_unlock(&ev->counter->lock);
	return ended;
}

const char *tally_event_name(const struct tally_event *ev)
{
	if (tally_bad_ptr(ev))
		return "";
	return ev->name;
}
EXPORT_SYMBOL_TALLY(tally_event_name);

/**
 * tally_event_what - what an event counts, as lines of text have it
 * @ev: the event
 * @buf: receives it
 * @size: room in @buf; TALLY_EVENT_LEN is enough
 */
void tally_event_what(const struct tally_event *ev, char *buf, size_t size)
{
	tally_name_format(&ev->attr, ev->given, buf, size);
}
