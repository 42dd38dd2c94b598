// SPDX-License-Identifier: GPL-2.0
/*
 * Reads of an event that may sleep. They take the lock of the counter and interrupt each CPU that
 * is counting. perf returns the counts of all other slots. tally_event_try_read() reads an event
 * of a task without the lock if it can.
 */
#include <linux/delay.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include "base/ptr.h"
#include "base/trace.h"
#include "compat.h"
#include "counter/counter.h"
#include "event/event.h"
#include "set/read.h"

/* Traces a count that is handed out. @cpu is -1 for all CPUs, and for a task on any CPU. */
static noinline void trace(struct tally_event *ev, int cpu, const struct tally_count *count)
{
	trace_count(ev->name, cpu, count->value, count->enabled_ns, count->running_ns);
}

/*
 * Reads one slot. With @whole, resets of the event are ignored. An error state
 * is no error here: debugfs shows it as a word. Returns ENODEV for the slot of
 * a CPU that cannot exist, or that the PMU does not serve.
 */
int tally_event_read_slot(struct tally_event *ev, unsigned int slot, bool whole,
			  struct tally_count *count)
{
	int err = -ENODEV;

	memset(count, 0, sizeof(*count));
	count->state = TALLY_STATE_OFFLINE;
	tally_counter_lock(ev->counter);
	if (tally_counter_serves(ev->counter, slot)) {
		err = 0;
		tally_counter_read_slot(ev->counter, slot);
		if (ev->overflow)
			tally_silent_check(&ev, 1, slot, slot);
		tally_event_add_slot(ev, slot, count);
		if (whole)
			count->value += ev->views[slot].zero;
		count->state = tally_event_slot_state(ev, slot);
	}
	tally_counter_unlock(ev->counter);
	if (trace_count_enabled() && !err)
		trace(ev, tally_counter_on_all_cpus(ev->counter) ? slot : ev->counter->target.cpu,
		      count);
	return err;
}

/*
 * Returns the count as of the last read, estimated for all the time enabled.
 * Each CPU has a share of its PMU of its own, so each slot is estimated by its
 * own times. A read without an estimate does not pay for @part.
 */
static noinline u64 scaled(struct tally_event *ev)
{
	struct tally_count part;
	u64 estimate, sum = 0;
	unsigned int i;

	for (i = 0; i < ev->counter->nr_slots; i++) {
		memset(&part, 0, sizeof(part));
		tally_event_add_slot(ev, i, &part);
		estimate = tally_count_scaled(&part);
		if (estimate == U64_MAX && part.running_ns < part.enabled_ns)
			return U64_MAX;
		/* The value of a gauge may fall, so a part may be less than 0. */
		if (!ev->gauge && sum + estimate < sum)
			return U64_MAX;
		sum += estimate;
	}
	return sum;
}

/* Called under tally_counter::lock, which it releases. @estimate may be NULL. */
static __always_inline void read_locked(struct tally_event *ev, bool whole,
					struct tally_count *count, u64 *estimate)
{
	unsigned int i;

	memset(count, 0, sizeof(*count));
	tally_counter_read(ev->counter);
	if (unlikely(ev->overflow))
		tally_silent_check(&ev, 1, 0, ev->counter->nr_slots - 1);
	for (i = 0; i < ev->counter->nr_slots; i++)
		tally_event_add_slot(ev, i, count);
	if (estimate)
		*estimate = scaled(ev);
	if (whole)
		count->value += tally_event_reset_total(ev);
	count->state = tally_event_state_now(ev);
	if (trace_state_enabled())
		tally_event_trace_state(ev, count->state);
	tally_counter_unlock(ev->counter);
	if (trace_count_enabled())
		trace(ev, ev->counter->target.cpu, count);
}

static __always_inline void read_all(struct tally_event *ev, bool whole,
				     struct tally_count *count, u64 *estimate)
{
	tally_counter_lock(ev->counter);
	read_locked(ev, whole, count, estimate);
}

/**
 * struct attempt - a read without a lock
 * @ev: the event
 * @whole: resets of the event are ignored
 * @count: receives the count
 * @err: error of the read, or 0
 */
struct attempt {
	struct tally_event *ev;
	bool whole;
	struct tally_count *count;
	int err;
};

/* Runs in interrupt on the CPU where the event is counting, and its task is running. */
static void read_there(void *data)
{
	struct attempt *a = data;

	a->err = tally_local_read(a->ev, 0, false, a->whole, local_clock(), a->count);
}

/* Returns a number that is another one when perf has changed the times of the slot's events. */
static u64 stamps(const struct tally_slot *s)
{
	const struct perf_event *event;
	u64 sum = 0;

	tally_slot_for_each(s, event)
		sum += READ_ONCE(event->tstamp);
	return sum;
}

/* Reads an event that is not counting. Returns EAGAIN if it counts, or has counted meanwhile. */
static int read_inactive(struct attempt *a)
{
	const struct tally_slot *s = &a->ev->counter->slots[0];
	struct tally_count *count = a->count;
	enum tally_state state;
	struct tally_totals t;
	u64 before;
	int err;

	local_irq_disable();
	before = stamps(s);
	smp_rmb(); /* before the times, as below */
	err = tally_slot_counting_on(s) >= 0 ? -EAGAIN :
	      tally_event_peek(a->ev, 0, a->whole, -1, &t, &state);
	smp_rmb(); /* after the times */
	if (!err && (tally_slot_counting_on(s) >= 0 || stamps(s) != before))
		err = -EAGAIN;
	count->state = tally_event_state_now(a->ev);
	local_irq_enable();
	if (err)
		return err;
	count->value = t.value;
	count->enabled_ns = t.enabled;
	count->running_ns = t.running;
	return 0;
}

/*
 * Reads an event of a task without a lock, where it is counting or at rest. Returns EOPNOTSUPP for
 * tally_counter::by_perf; EAGAIN, or another error of tally_local_read(), if the event moves.
 */
static int read_unlocked(struct attempt *a)
{
	struct tally_event *ev = a->ev;
	int cpu;

	if (ev->counter->by_perf)
		return -EOPNOTSUPP;
	a->err = read_inactive(a);
	if (a->err) {
		rcu_read_lock();
		cpu = tally_slot_counting_on(&ev->counter->slots[0]);
		rcu_read_unlock();
		/* A CPU that has gone has let the task go, too. */
		if (cpu < 0 || smp_call_function_single(cpu, read_there, a, true))
			return -EAGAIN;
	}
	if (!a->err && trace_count_enabled())
		trace(ev, ev->counter->target.cpu, a->count);
	return a->err;
}

/* Nanoseconds for which a read is tried: not long, as a list may have many events that fail. */
#define READ_TRY	(10 * NSEC_PER_MSEC)

/**
 * tally_event_try_read - read the sum of all slots of an event that may be anybody's
 * @ev: the event
 * @whole: resets of the event are ignored
 * @count: receives the count, or after an error only the state
 * @estimate: receives the count as tally_event_read_scaled() returns it; may be NULL
 *
 * A program can keep perf from the events of its own tasks for any time, and a
 * read by perf would wait for that. So the event of a task is read without perf
 * if possible. perf reads an inherited event, and one of hardware that
 * overflows, whose overflows may be missing (event/silent.c), but only while
 * nobody has the task's events locked. The read is tried for 10 milliseconds.
 *
 * Context: Process context, may sleep.
 * Return: 0; EBUSY if the event cannot be read now.
 */
int tally_event_try_read(struct tally_event *ev, bool whole, struct tally_count *count,
			 u64 *estimate)
{
	struct attempt a = { .ev = ev, .whole = whole, .count = count };
	struct tally_counter *c = ev->counter;
	bool by_perf = c->by_perf || (ev->overflow && !c->slots[0].software);
	u64 end = ktime_get_ns() + READ_TRY;

	if (!c->target.task) {
		read_all(ev, whole, count, estimate);
		return 0;
	}
	do {
		if (by_perf && tally_counter_trylock(c)) {
			read_locked(ev, whole, count, estimate);
			return 0;
		}
		if (!read_unlocked(&a)) {
			if (estimate)
				*estimate = tally_count_scaled(count);
			return 0;
		}
		/* The next tries let perf read the event, if no program keeps perf from it. */
		by_perf = true;
		usleep_range(500, 1000);
	} while (ktime_get_ns() < end && !fatal_signal_pending(current));
	memset(count, 0, sizeof(*count));
	rcu_read_lock();
	count->state = tally_event_state_now(ev);
	rcu_read_unlock();
	return -EBUSY;
}

/* Reads the sum of all slots. An error state is no error: debugfs shows it as a word. */
void tally_event_read_all(struct tally_event *ev, struct tally_count *count)
{
	read_all(ev, false, count, NULL);
}

/*
 * Reads a gauge: the sum of what the PMU shows now, on the CPUs that are served. What was
 * shown when the event was enabled, or by a CPU that has gone, does not matter.
 */
u64 tally_event_read_gauge(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	struct tally_slot *s;
	u64 sum = 0;

	tally_counter_lock(c);
	tally_counter_read(c);
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		if (s->event)
			sum += s->now.value - s->bank.value;
	tally_counter_unlock(c);
	return sum;
}

/* Reads each slot, all by one interrupt on each CPU. Resets of the event are ignored. */
void tally_event_read_each(struct tally_event *ev, struct tally_count *counts)
{
	unsigned int i;

	tally_counter_lock(ev->counter);
	tally_counter_read(ev->counter);
	if (ev->overflow)
		tally_silent_check(&ev, 1, 0, ev->counter->nr_slots - 1);
	for (i = 0; i < ev->counter->nr_slots; i++) {
		memset(&counts[i], 0, sizeof(counts[i]));
		tally_event_add_slot(ev, i, &counts[i]);
		counts[i].value += ev->views[i].zero;
		counts[i].state = tally_event_slot_state(ev, i);
	}
	tally_counter_unlock(ev->counter);
}

static int count_error(const struct tally_count *count)
{
	return count->state == TALLY_STATE_ERROR ? -ENODATA : 0;
}

int tally_event_read(struct tally_event *ev, struct tally_count *count)
{
	if (tally_bad_ptr(ev) || tally_bad_ptr(count))
		return -EINVAL;
	might_sleep();
	tally_event_read_all(ev, count);
	return count_error(count);
}
EXPORT_SYMBOL_TALLY(tally_event_read);

int tally_event_read_scaled(struct tally_event *ev, struct tally_count *count, u64 *estimate)
{
	if (tally_bad_ptr(ev) || tally_bad_ptr(count) || tally_bad_ptr(estimate))
		return -EINVAL;
	might_sleep();
	read_all(ev, false, count, estimate);
	return count_error(count);
}
EXPORT_SYMBOL_TALLY(tally_event_read_scaled);

int tally_event_read_cpu(struct tally_event *ev, int cpu,
			 struct tally_count *count)
{
	int slot, err;

	if (tally_bad_ptr(ev) || tally_bad_ptr(count))
		return -EINVAL;
	might_sleep();
	slot = tally_counter_slot_of(ev->counter, cpu);
	if (slot < 0)
		return slot;
	err = tally_event_read_slot(ev, slot, false, count);
	return err ?: count_error(count);
}
EXPORT_SYMBOL_TALLY(tally_event_read_cpu);
