// SPDX-License-Identifier: GPL-2.0
/*
 * The event: its life, its state, enabling and reading it.
 *
 * An event is a view of a counter, which other events may look at too. Per slot
 * it remembers where the counter stood when the event was enabled, so that one
 * owner's enabling, disabling and resetting never shows in another's numbers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include "builder.h"
#include "compat.h"
#include "debugfs.h"
#include "event.h"
#include "name.h"
#include "registry.h"

/* What is no longer listed: nobody else can reach it. */
void tally_event_destroy(struct tally_event *ev)
{
	tally_debugfs_remove_event(ev);
	mutex_lock(&ev->counter->lock);
	if (ev->on)
		tally_counter_off(ev->counter);
	mutex_unlock(&ev->counter->lock);
	tally_counter_put(ev->counter);
	tally_registry_unname(ev);
	kvfree(ev);
}

static bool slot_counts_now(const struct tally_counter *c, unsigned int slot)
{
	switch (tally_counter_state(c, slot)) {
	case TALLY_STATE_ACTIVE:
	case TALLY_STATE_OFFLINE:
		return true;
	case TALLY_STATE_INACTIVE:
		/* Another task may just not be running. */
		return c->target.task && c->target.task != current;
	default:
		return false;
	}
}

static bool counts_now(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	bool all = true;
	unsigned int i;

	mutex_lock(&c->lock);
	for (i = 0; i < c->nr_slots; i++)
		all = all && slot_counts_now(c, i);
	mutex_unlock(&c->lock);
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
	err = tally_builder_allow(b);
	if (!err) {
		ev->counter = tally_counter_get(attr, target, &cpu);
		if (IS_ERR(ev->counter))
			err = tally_builder_failed(b, PTR_ERR(ev->counter), cpu);
	}
	if (lock)
		up_read(lock);
	return err;
}

static struct tally_event *event_new(struct tally_builder *b,
				     const struct perf_event_attr *attr,
				     const struct tally_target *target)
{
	struct tally_event *ev;
	int err;

	ev = kvzalloc(struct_size(ev, views, tally_target_slots(target)),
		      GFP_KERNEL);
	if (!ev)
		return ERR_PTR(tally_builder_failed(b, -ENOMEM, -1));
	ev->owner = b->owner;
	ev->attr = *attr;
	strscpy(ev->given, b->event, sizeof(ev->given));
	err = tally_registry_name(ev, b);
	if (err) {
		tally_builder_failed(b, err, -1);
		goto free_event;
	}
	err = counter_get(ev, b, attr, target);
	if (err)
		goto give_back_name;
	err = tally_debugfs_add_event(ev);
	if (err) {
		tally_builder_failed(b, err, -1);
		goto put_counter;
	}
	return ev;

put_counter:
	tally_counter_put(ev->counter);
give_back_name:
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
	return err || !counts_now(ev) ? -EBUSY : 0;
}

/* What was counted while it was tried is not the owner's. */
static void stop_trying(struct tally_event *ev)
{
	tally_event_disable(ev);
	mutex_lock(&ev->counter->lock);
	memset(ev->views, 0, ev->counter->nr_slots * sizeof(*ev->views));
	mutex_unlock(&ev->counter->lock);
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
	if (b->flags & TALLY_BUILDER_REQUIRE) {
		err = try_enable(ev);
		if (err) {
			tally_event_destroy(ev);
			return ERR_PTR(tally_builder_failed(b, err, -1));
		}
		if (b->attr.disabled)
			stop_trying(ev);
	} else if (!b->attr.disabled) {
		tally_event_enable(ev);
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

static void view_read(const struct tally_event *ev, unsigned int slot,
		      struct tally_totals *t)
{
	const struct tally_view *view = &ev->views[slot];
	struct tally_totals now;

	*t = view->kept;
	if (!ev->on)
		return;
	tally_counter_read(ev->counter, slot, &now);
	t->value += now.value - view->start.value;
	t->enabled += now.enabled - view->start.enabled;
	t->running += now.running - view->start.running;
}

static enum tally_state slot_state(const struct tally_event *ev,
				   unsigned int slot)
{
	enum tally_state state = tally_counter_state(ev->counter, slot);

	if (ev->on || state == TALLY_STATE_OFFLINE ||
	    state == TALLY_STATE_EXITED)
		return state;
	return TALLY_STATE_OFF;
}

/* The state of a whole, of which @a and @b are parts. */
enum tally_state tally_state_worse(enum tally_state a, enum tally_state b)
{
	static const u8 rank[] = {
		[TALLY_STATE_OFFLINE] = 0,
		[TALLY_STATE_EXITED] = 1,
		[TALLY_STATE_OFF] = 2,
		[TALLY_STATE_INACTIVE] = 3,
		[TALLY_STATE_ACTIVE] = 4,
		[TALLY_STATE_ERROR] = 5,
	};

	return rank[a] > rank[b] ? a : b;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_state_worse);

static enum tally_state event_state(const struct tally_event *ev)
{
	enum tally_state state = TALLY_STATE_OFFLINE;
	unsigned int i;

	if (!tally_counter_on_all_cpus(ev->counter))
		return slot_state(ev, 0);
	for (i = 0; i < ev->counter->nr_slots; i++)
		if (tally_counter_serves(ev->counter, i))
			state = tally_state_worse(state, slot_state(ev, i));
	return state;
}

static void add_slot(const struct tally_event *ev, unsigned int slot,
		     struct tally_count *count)
{
	struct tally_totals t;

	view_read(ev, slot, &t);
	count->value += t.value - ev->views[slot].base;
	count->enabled_ns += t.enabled;
	count->running_ns += t.running;
}

/*
 * One slot's part; for debugfs, which shows error states as words. ENODEV if
 * the slot stands for no CPU that is served.
 */
int tally_event_read_slot(struct tally_event *ev, unsigned int slot,
			  struct tally_count *count)
{
	bool serves;

	memset(count, 0, sizeof(*count));
	mutex_lock(&ev->counter->lock);
	serves = tally_counter_serves(ev->counter, slot);
	if (serves) {
		add_slot(ev, slot, count);
		count->state = slot_state(ev, slot);
	}
	mutex_unlock(&ev->counter->lock);
	return serves ? 0 : -ENODEV;
}

/* The sum of all slots; for debugfs, which shows error states as words. */
void tally_event_read_all(struct tally_event *ev, struct tally_count *count)
{
	unsigned int i;

	memset(count, 0, sizeof(*count));
	mutex_lock(&ev->counter->lock);
	for (i = 0; i < ev->counter->nr_slots; i++)
		add_slot(ev, i, count);
	count->state = event_state(ev);
	mutex_unlock(&ev->counter->lock);
}

/**
 * tally_event_enable - start counting, or try again after an error
 * @ev: the event; enabling an enabled event changes nothing
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0, also while the CPU is offline: counting starts when it comes;
 * ENODATA if the event is in the error state, ESRCH if its task has exited.
 */
int tally_event_enable(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	enum tally_state state;
	unsigned int i;

	might_sleep();
	mutex_lock(&c->lock);
	if (!ev->on) {
		for (i = 0; i < c->nr_slots; i++)
			tally_counter_read(c, i, &ev->views[i].start);
		WRITE_ONCE(ev->on, true);
		tally_counter_on(c);
	} else {
		tally_counter_retry(c);
	}
	state = event_state(ev);
	mutex_unlock(&c->lock);

	if (state == TALLY_STATE_ERROR)
		return -ENODATA;
	return state == TALLY_STATE_EXITED ? -ESRCH : 0;
}
EXPORT_SYMBOL_TALLY(tally_event_enable);

/**
 * tally_event_disable - stop counting; the count stays
 * @ev: the event; disabling a disabled event changes nothing
 *
 * Children of an inherited event stop with it.
 *
 * Context: Process context, may sleep.
 */
void tally_event_disable(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	unsigned int i;

	might_sleep();
	mutex_lock(&c->lock);
	if (ev->on) {
		/* Alone on the counter: stop first, so that nothing is lost. */
		tally_counter_off(c);
		for (i = 0; i < c->nr_slots; i++)
			view_read(ev, i, &ev->views[i].kept);
		WRITE_ONCE(ev->on, false);
	}
	mutex_unlock(&c->lock);
}
EXPORT_SYMBOL_TALLY(tally_event_disable);

/**
 * tally_event_reset - let the value begin at 0 again
 * @ev: the event; its times go on, as they do for PERF_EVENT_IOC_RESET
 *
 * Context: Process context, may sleep.
 */
void tally_event_reset(struct tally_event *ev)
{
	struct tally_totals t;
	unsigned int i;

	might_sleep();
	mutex_lock(&ev->counter->lock);
	for (i = 0; i < ev->counter->nr_slots; i++) {
		view_read(ev, i, &t);
		ev->views[i].base = t.value;
	}
	mutex_unlock(&ev->counter->lock);
}
EXPORT_SYMBOL_TALLY(tally_event_reset);

static int count_error(const struct tally_count *count)
{
	return count->state == TALLY_STATE_ERROR ? -ENODATA : 0;
}

/**
 * tally_event_read - the count so far
 * @ev: the event
 * @count: receives it; the sum over all CPUs for an event on all CPUs
 *
 * Context: Process context, may sleep; interrupts the CPUs that are counting.
 * Return: 0; ENODATA if the event is in the error state, @count then has the
 * last value before it.
 */
int tally_event_read(struct tally_event *ev, struct tally_count *count)
{
	might_sleep();
	tally_event_read_all(ev, count);
	return count_error(count);
}
EXPORT_SYMBOL_TALLY(tally_event_read);

/**
 * tally_event_read_cpu - the count of one CPU so far
 * @ev: the event
 * @cpu: the CPU
 * @count: receives it; the state is that of this CPU
 *
 * Context: Process context, may sleep; interrupts the CPU if it is counting.
 * Return: 0, also for a CPU that is offline; EINVAL for a CPU that does not
 * exist or that the event is not on, ENODEV for one that its PMU does not
 * serve, ENODATA as tally_event_read().
 */
int tally_event_read_cpu(struct tally_event *ev, int cpu,
			 struct tally_count *count)
{
	struct tally_counter *c = ev->counter;
	unsigned int slot = 0;
	int err;

	might_sleep();
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;
	if (tally_counter_on_all_cpus(c))
		slot = cpu;
	else if (c->target.cpu != cpu)
		return -EINVAL;
	err = tally_event_read_slot(ev, slot, count);
	return err ?: count_error(count);
}
EXPORT_SYMBOL_TALLY(tally_event_read_cpu);

/**
 * tally_event_state - what the event is doing now
 * @ev: the event
 *
 * Context: Process context, may sleep.
 * Return: its state; see enum tally_state for an event on all CPUs.
 */
enum tally_state tally_event_state(struct tally_event *ev)
{
	enum tally_state state;

	might_sleep();
	mutex_lock(&ev->counter->lock);
	state = event_state(ev);
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
 * On return its files are gone, nothing counts for it, and its memory is free.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback, nor
 * under a lock that an open file of the event's folder may wait for.
 */
void tally_event_release(struct tally_event *ev)
{
	might_sleep();
	if (IS_ERR_OR_NULL(ev))
		return;
	tally_registry_del(ev);
	tally_event_destroy(ev);
}
EXPORT_SYMBOL_TALLY(tally_event_release);

/**
 * tally_count_scaled - what the value would be, had the event always counted
 * @count: from tally_event_read()
 *
 * value * enabled_ns / running_ns, rounded down, in 128 bits. Of two clocks that
 * are read one after the other, running_ns may be the larger; nothing is scaled
 * then.
 *
 * Context: Any context.
 * Return: the estimate, U64_MAX if it is larger; 0 if the event never counted,
 * which running_ns tells.
 */
u64 tally_count_scaled(const struct tally_count *count)
{
	u64 value = count->value, enabled = count->enabled_ns;
	u64 running = count->running_ns;
	u64 whole, part, rest;

	if (!running)
		return 0;
	if (running >= enabled)
		return value;
	/* The quotient of the second term fits: it is below enabled_ns. */
	whole = div64_u64_rem(value, running, &rest);
	if (check_mul_overflow(whole, enabled, &whole))
		return U64_MAX;
	part = mul_u64_u64_div_u64(rest, enabled, running);
	if (check_add_overflow(whole, part, &whole))
		return U64_MAX;
	return whole;
}
EXPORT_SYMBOL_TALLY(tally_count_scaled);

/**
 * tally_state_name - the word for a state
 * @state: the state
 *
 * Context: Any context.
 * Return: "off", "inactive", "active", "error", "offline" or "exited".
 */
const char *tally_state_name(enum tally_state state)
{
	static const char *const words[] = {
		[TALLY_STATE_OFF] = "off",
		[TALLY_STATE_INACTIVE] = "inactive",
		[TALLY_STATE_ACTIVE] = "active",
		[TALLY_STATE_ERROR] = "error",
		[TALLY_STATE_OFFLINE] = "offline",
		[TALLY_STATE_EXITED] = "exited",
	};

	return state < ARRAY_SIZE(words) ? words[state] : "unknown";
}
EXPORT_SYMBOL_TALLY(tally_state_name);

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
