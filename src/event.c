// SPDX-License-Identifier: GPL-2.0
/*
 * The event: its life, its state, enabling and reading it.
 *
 * An event is a view of a counter, which other events may look at too. Per slot
 * it remembers where the counter stood when the event was enabled, so that one
 * owner's enabling, disabling and resetting never shows in another's numbers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include "builder.h"
#include "compat.h"
#include "control.h"
#include "debugfs.h"
#include "event.h"
#include "name.h"
#include "publish.h"
#include "registry.h"

/* What is found where there is nothing to be read at once: it is on no CPU. */
static struct perf_event nowhere = { .oncpu = -1 };

/* For those who have no lock. */
static void view_publish(struct tally_event *ev, unsigned int slot)
{
	const struct tally_slot *s = &ev->counter->slots[slot];
	bool local = s->event && ev->local == TALLY_LOCAL_PLAIN;
	struct tally_view *view = &ev->views[slot];
	struct tally_totals offset = {
		.value = view->kept.value - view->start.value,
		.enabled = view->kept.enabled - view->start.enabled,
		.running = view->kept.running - view->start.running,
	};

	raw_write_seqcount_latch(&view->latch);
	view->offset[0] = offset;
	raw_write_seqcount_latch(&view->latch);
	view->offset[1] = offset;
	WRITE_ONCE(view->plain, offset.value + s->bank.value);
	if (s->event) {
		WRITE_ONCE(view->read, s->read);
		WRITE_ONCE(view->still, s->still);
	}
	smp_store_release(&view->event, local ? s->event : &nowhere); /* I */
}

void tally_users_changed(struct tally_counter *c, unsigned int slot)
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

	smp_store_release(&ev->local, local); /* I */
	for (i = 0; i < ev->counter->nr_slots; i++)
		view_publish(ev, i);
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

static void begin_views(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	unsigned int i;

	for (i = 0; i < c->nr_slots; i++)
		tally_counter_arm(c, i);
	tally_counter_look(c);
	for (i = 0; i < c->nr_slots; i++)
		tally_event_begin_at(ev, i, &c->slots[i].now);
	WRITE_ONCE(ev->on, true);
	set_local(ev, local_reads(ev));
	if (ev->overflow)
		tally_control_open(ev->overflow);
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
	ev->views[slot].start = *t;
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

	view->kept.value = view->start.value - t->value;
	view_publish(ev, slot);
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
	lockdep_assert_held(&ev->counter->lock);
	ev->closed = false;
	set_local(ev, local_reads(ev));
}

/* It counts no more; what it has counted is kept, or about to be. */
void tally_event_shut(struct tally_event *ev)
{
	lockdep_assert_held(&ev->counter->lock);
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
}

/*
 * Nothing counts for the event any more; a callback may still be running. What
 * its handlers may ask of it goes on being answered.
 */
static void stop(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;

	tally_debugfs_remove_event(ev);
	mutex_lock(&c->lock);
	if (ev->overflow)
		WRITE_ONCE(ev->overflow->closing, true);
	if (ev->on)
		tally_event_off(ev);
	ev->gone = true;
	list_del(&ev->user_node);
	mutex_unlock(&c->lock);
	tally_counter_end(c);
}

static void finish(struct tally_event *ev)
{
	tally_publisher_free(ev->retired);
	if (ev->overflow)
		tally_overflow_free(ev->overflow);
	tally_counter_put(ev->counter);
	tally_registry_unname(ev);
	kvfree(ev);
}

/**
 * tally_events_destroy - the end of events that nobody else can reach
 * @doomed: a list of them, by tally_event::node
 *
 * perf's events go first; a callback that is running meanwhile, maybe with
 * interrupts enabled, is over after a grace period, one for all. Then what it
 * started, interrupts before works, and only then the memory. A handler of one
 * may use another that goes with it, so each step is taken for all.
 */
void tally_events_destroy(struct list_head *doomed)
{
	struct tally_event *ev, *next;
	bool callbacks = false;

	list_for_each_entry(ev, doomed, node) {
		ev->retired = tally_publisher_end(&ev, 1);
		stop(ev);
		callbacks |= ev->overflow || ev->retired;
	}
	if (callbacks)
		synchronize_rcu();
	list_for_each_entry(ev, doomed, node)
		if (ev->overflow)
			tally_overflow_drain(ev->overflow);
	list_for_each_entry(ev, doomed, node)
		if (ev->overflow)
			tally_control_cancel(ev->overflow);
	list_for_each_entry_safe(ev, next, doomed, node)
		finish(ev);
}

static void destroy(struct tally_event *ev)
{
	LIST_HEAD(doomed);

	list_add(&ev->node, &doomed);
	tally_events_destroy(&doomed);
}

static bool slot_counts_now(const struct tally_counter *c, unsigned int slot)
{
	/* It has overflowed already. */
	if (c->slots[slot].spent)
		return true;
	switch (tally_counter_state(c, slot)) {
	case TALLY_STATE_ACTIVE:
	case TALLY_STATE_THROTTLED:
	case TALLY_STATE_OFFLINE:
		return true;
	case TALLY_STATE_INACTIVE:
		/* Another task may just not be running. */
		return c->target.task && c->target.task != current;
	default:
		return false;
	}
}

static bool all_count_now(const struct tally_counter *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_slots; i++)
		if (!slot_counts_now(c, i))
			return false;
	return true;
}

bool tally_event_counts(struct tally_event *ev)
{
	bool all;

	mutex_lock(&ev->counter->lock);
	all = all_count_now(ev->counter);
	mutex_unlock(&ev->counter->lock);
	return all;
}

/*
 * perf's system call holds exec_update_lock around its permission check and
 * the installation, so that exec() cannot change the task's rights in between.
 */
static int counter_get(struct tally_event *ev, struct tally_builder *b,
		       const struct perf_event_attr *attr,
		       const struct tally_target *target)
{
	struct rw_semaphore *lock = NULL;
	int err, cpu = -1;

	if (target->task) {
		lock = &target->task->signal->exec_update_lock;
		err = down_read_interruptible(lock);
		if (err)
			return tally_builder_failed(b, err, -1);
	}
	err = tally_builder_allow(b, target);
	if (!err) {
		ev->counter = tally_counter_get(attr, target, ev->overflow,
						&cpu);
		if (IS_ERR(ev->counter))
			err = tally_builder_failed(b, PTR_ERR(ev->counter), cpu);
	}
	if (lock)
		up_read(lock);
	return err;
}

static int overflow_new(struct tally_event *ev, const struct tally_builder *b,
			const struct tally_target *target)
{
	struct tally_overflow *of;

	if (!ev->attr.sample_period)
		return 0;
	of = tally_overflow_new(b, &ev->attr, target, ev);
	if (IS_ERR(of))
		return PTR_ERR(of);
	ev->overflow = of;
	return 0;
}

static struct tally_event *event_new(struct tally_builder *b,
				     const struct perf_event_attr *attr,
				     const struct tally_target *target)
{
	struct tally_event *ev;
	unsigned int i;
	int err;

	ev = kvzalloc(struct_size(ev, views, tally_target_slots(target)),
		      GFP_KERNEL);
	if (!ev)
		return ERR_PTR(tally_builder_failed(b, -ENOMEM, -1));
	for (i = 0; i < tally_target_slots(target); i++) {
		seqcount_latch_init(&ev->views[i].latch);
		ev->views[i].event = &nowhere;
	}
	ev->owner = b->owner;
	ev->attr = *attr;
	ev->max_rate = b->max_rate;
	if (!attr->freq && b->freq)
		ev->hz = b->freq;
	else if (!attr->freq && b->attr.freq && !b->period)
		ev->hz = b->attr.sample_freq;
	strscpy(ev->given, b->event, sizeof(ev->given));
	err = tally_registry_name(ev, b);
	if (err) {
		tally_builder_failed(b, err, -1);
		goto free_event;
	}
	err = overflow_new(ev, b, target);
	if (err) {
		tally_builder_failed(b, err, -1);
		goto unname;
	}
	err = counter_get(ev, b, attr, target);
	if (err)
		goto free_overflow;
	ev->slot_mask = ev->counter->slot_mask;
	mutex_lock(&ev->counter->lock);
	list_add(&ev->user_node, &ev->counter->users);
	mutex_unlock(&ev->counter->lock);
	if (ev->overflow)
		tally_overflow_set_rate(ev->overflow, b->max_rate,
					tally_counter_interrupts(ev->counter));
	err = tally_debugfs_add_event(ev);
	if (err) {
		tally_builder_failed(b, err, -1);
		goto end_counter;
	}
	return ev;

end_counter:
	mutex_lock(&ev->counter->lock);
	list_del(&ev->user_node);
	mutex_unlock(&ev->counter->lock);
	tally_counter_end(ev->counter);
	tally_counter_put(ev->counter);
free_overflow:
	if (ev->overflow) {
		/* Callbacks of what failed half-way: it was shut, but there. */
		synchronize_rcu();
		tally_overflow_free(ev->overflow);
	}
unname:
	tally_registry_unname(ev);
free_event:
	kvfree(ev);
	return ERR_PTR(err);
}

/* Enables the event and sees whether it counts; 0, or why it does not. */
static int try_enable(struct tally_event *ev)
{
	int err = tally_event_enable(ev);

	if (err == -ESRCH)
		return err;
	return err || !tally_event_counts(ev) ? -EBUSY : 0;
}

/*
 * For an event that is to be disabled: what was counted while it was tried is
 * not the owner's, and no handler was called for it.
 */
static int try_only(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	int err = 0;

	mutex_lock(&c->lock);
	tally_counter_on(c);
	if (tally_counter_state(c, 0) == TALLY_STATE_EXITED)
		err = -ESRCH;
	else if (!all_count_now(c))
		err = -EBUSY;
	tally_counter_off(c);
	mutex_unlock(&c->lock);
	return err;
}

static void wait_for_exec(struct tally_event *ev)
{
	mutex_lock(&ev->counter->lock);
	begin_views(ev);
	tally_counter_on_exec(ev->counter);
	mutex_unlock(&ev->counter->lock);
}

static int start(struct tally_event *ev, const struct tally_builder *b)
{
	if (b->flags & TALLY_BUILDER_REQUIRE)
		return b->attr.disabled ? try_only(ev) : try_enable(ev);
	if (!b->attr.disabled)
		tally_event_enable(ev);
	else if (b->attr.enable_on_exec)
		wait_for_exec(ev);
	return 0;
}

static struct tally_event *build_on(struct tally_builder *b,
				    const struct perf_event_attr *attr,
				    const struct tally_target *target)
{
	struct tally_event *ev;
	int err;

	ev = event_new(b, attr, target);
	if (IS_ERR(ev))
		return ev;
	/* From here on handlers may run: all of it is there. */
	err = start(ev, b);
	if (err) {
		destroy(ev);
		return ERR_PTR(tally_builder_failed(b, err, -1));
	}
	tally_registry_add(ev);
	return ev;
}

/**
 * tally_build - make the event that the builder describes
 * @b: the builder; it stays as it is, and may be built again
 *
 * All checks of perf's system call are made here, for the caller's rights. The
 * event is complete, with its folder in debugfs, before it is enabled. Events
 * that count the same thing on the same target share one counter.
 *
 * Handlers may be called before this returns. They may use the event, but nobody
 * may release it before.
 *
 * Context: Process context, may sleep. Not from a CPU hotplug callback, and not
 * with cpu_hotplug_lock held: perf takes it for software events.
 * Return: the event, or an ERR_PTR with the reason; tally_builder_why() has the
 * sentence. EINVAL, ENAMETOOLONG and EOPNOTSUPP for settings, EACCES without
 * CAP_PERFMON, EEXIST for a name that is taken, ESRCH for a task that is gone,
 * EINTR for a signal while the task is in exec(); and from perf, ENOENT no such
 * event on this machine, ENODEV CPU offline, ENOSPC no breakpoint free, EPERM
 * kernel breakpoints without CAP_SYS_ADMIN, EBUSY no room on the PMU, ENOMEM.
 */
struct tally_event *tally_build(struct tally_builder *b)
{
	struct tally_event *ev;
	struct tally_target target;
	struct perf_event_attr attr;
	int err;

	might_sleep();
	err = tally_builder_check(b, &attr);
	if (err)
		return ERR_PTR(err);
	b->why[0] = '\0';
	err = tally_builder_target(b, &target);
	if (err) {
		ev = ERR_PTR(err);
	} else {
		ev = build_on(b, &attr, &target);
		if (target.task)
			put_task_struct(target.task);
	}
	/* Nothing is wrong with the settings; it may go better next time. */
	b->err = 0;
	return ev;
}
EXPORT_SYMBOL_TALLY(tally_build);

/**
 * tally_event_enable - start counting, or try again after an error
 * @ev: the event; enabling an enabled event changes nothing
 *
 * An event that is off after tally_event_refresh() goes on without a limit.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0, also while the CPU is offline: counting starts when it comes;
 * ENODATA if the event is in the error state, ESRCH if its task has exited.
 */
int tally_event_enable(struct tally_event *ev)
{
	int err;

	might_sleep();
	mutex_lock(&ev->counter->lock);
	if (ev->overflow && !ev->on)
		tally_overflow_special(ev->overflow, 0, TALLY_SPECIAL_LIMITED);
	err = tally_event_on(ev);
	mutex_unlock(&ev->counter->lock);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_enable);

/**
 * tally_event_disable - stop counting; the count stays
 * @ev: the event; disabling a disabled event changes nothing
 *
 * Children of an inherited event stop with it. On return no direct handler
 * starts until the event is enabled, but for one on another CPU that an inherited
 * event was about to call; bottom halves may still be called for what overflowed
 * before.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 */
void tally_event_disable(struct tally_event *ev)
{
	might_sleep();
	mutex_lock(&ev->counter->lock);
	if (ev->on)
		tally_event_off(ev);
	mutex_unlock(&ev->counter->lock);
}
EXPORT_SYMBOL_TALLY(tally_event_disable);

/**
 * tally_event_reset - let the value begin at 0 again
 * @ev: the event; its times go on, as they do for PERF_EVENT_IOC_RESET
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 */
void tally_event_reset(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	unsigned int i;

	might_sleep();
	mutex_lock(&c->lock);
	tally_counter_look(c);
	for (i = 0; i < c->nr_slots; i++) {
		if (ev->on)
			tally_event_rebase_at(ev, i, &c->slots[i].now);
		else
			ev->views[i].kept.value = 0;
	}
	mutex_unlock(&c->lock);
}
EXPORT_SYMBOL_TALLY(tally_event_reset);

/**
 * tally_event_state - what the event is doing now
 * @ev: the event
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: its state; see enum tally_state for an event on all CPUs.
 */
enum tally_state tally_event_state(struct tally_event *ev)
{
	enum tally_state state;

	might_sleep();
	mutex_lock(&ev->counter->lock);
	state = tally_event_state_now(ev);
	mutex_unlock(&ev->counter->lock);
	return state;
}
EXPORT_SYMBOL_TALLY(tally_event_state);

/**
 * tally_event_name - what the event is called
 * @ev: the event
 *
 * Context: Any context.
 * Return: its name, valid until it is released.
 */
const char *tally_event_name(const struct tally_event *ev)
{
	return ev->name;
}
EXPORT_SYMBOL_TALLY(tally_event_name);

/**
 * tally_event_release - the end of an event
 * @ev: the event; NULL and ERR_PTRs are ignored
 *
 * On return its files are gone, nothing counts for it, no handler of it is
 * running or will be, on any CPU, and its memory is free. What was queued for
 * its bottom halves has been handed to them; what an interrupt was to be given on
 * a CPU that went offline has not, and was missed.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback, nor
 * under a lock that an open file of the event's folder may wait for, or one of
 * its handlers.
 * Return: 0; EDEADLK in any event's handler or in atomic context: the event
 * would wait for the caller, and goes on as it was.
 */
int tally_event_release(struct tally_event *ev)
{
	if (IS_ERR_OR_NULL(ev))
		return 0;
	if (tally_overflow_inside(ev->overflow))
		return -EDEADLK;
	might_sleep();
	tally_registry_del(ev);
	destroy(ev);
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_event_release);

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
