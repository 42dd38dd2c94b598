// SPDX-License-Identifier: GPL-2.0
/*
 * Budgets: how much an event may count on a CPU in a window of time.
 *
 * perf's event has a period of one more than the budget, which begins with the window. So its
 * first overflow says that the budget is used up. The next period is so long that it does not end
 * in the window: else an event far above its budget would overflow on and on, until perf throttles
 * it. When the window ends, a timer of the CPU begins a new period of perf's event on the spot, in
 * hard interrupt. No thread has a part in that, so a real-time task cannot hold it up.
 * Each CPU has one timer for all budgets with windows of the same length.
 *
 * Windows of all CPUs begin at multiples of their length on CLOCK_MONOTONIC,
 * and have the quotient, plus 1, for a number. So the number grows also while a
 * CPU is offline, or if the timer is late.
 */
#include <linux/bits.h>
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include "base/ptr.h"
#include "compat.h"
#include "counter/counter.h"
#include "event/event.h"
#include "set/read.h"
#include "set/budget.h"

/**
 * struct window_timer - timer of one CPU
 * @timer: fires at the end of each window; ends if hotplug has moved it to another CPU
 * @length: the length
 * @cpu: the CPU
 */
struct window_timer {
	struct hrtimer timer;
	struct window_length *length;
	int cpu;
};

/**
 * struct window_length - timers of all budgets with windows of one length
 * @node: link in @lengths
 * @ns: the length, in nanoseconds
 * @users: budgets; the timers go through the list under RCU
 * @timers: timer of each CPU
 */
struct window_length {
	struct list_head node;
	u64 ns;
	struct list_head users;
	struct window_timer __percpu *timers;
};

/* Guards @lengths and the lists of users. Taken outside cpu_hotplug_lock. */
static DEFINE_MUTEX(lengths_lock);
static LIST_HEAD(lengths);

/* Programs that poll wait here for any budget. */
DECLARE_WAIT_QUEUE_HEAD(tally_budget_wait);

/* Returns the number of the window that includes @time. The first one since boot has 1. */
static u64 number_at(u64 time, u64 ns)
{
	return div64_u64(time, ns) + 1;
}

/* Reads what the event has counted on this CPU so far. Resets are ignored. */
static bool read_here(struct tally_event *ev, int cpu, u64 *value)
{
	unsigned int slot = cpu & ev->slot_mask;
	struct tally_count count;
	enum tally_state state;
	struct tally_totals t;

	if (!tally_local_read(ev, slot, true, true, local_clock(), &count))
		*value = count.value;
	else if (tally_slot_oncpu(&ev->counter->slots[slot]) != cpu &&
		 !tally_event_peek(ev, slot, true, cpu, &t, &state))
		*value = t.value;
	else
		return false;
	return true;
}

/*
 * Reads what the event has counted on this CPU, also where read_here() cannot,
 * as perf's lock is taken. The caller has not interrupted perf at work on the
 * event: it is a hard interrupt, with @update true, or perf's callback, before
 * which perf has brought the count up to date. Returns false while hotplug
 * takes the event out of its slot, or while the event is being disabled.
 */
static bool count_here(struct tally_event *ev, int cpu, bool update, u64 *value)
{
	unsigned int slot = cpu & ev->slot_mask;
	struct tally_slot *s = &ev->counter->slots[slot];
	struct perf_event *event = tally_slot_here(s, cpu);
	enum tally_state state;
	struct tally_totals t;

	if (update && event && READ_ONCE(event->oncpu) == cpu)
		tally_local_value(s, event);
	if (tally_event_peek(ev, slot, true, cpu, &t, &state))
		return false;
	*value = t.value;
	return true;
}

/*
 * Returns whether the count @value is above the budget of the window
 * @wc->number. Window @end is the first one of which the count has no part. If
 * the timer is late, nobody knows what was counted in which window: then at
 * least one was exceeded if the budgets of all of them are used up together.
 */
static bool is_exceeded(const struct tally_budget *b, const struct tally_budget_cpu *wc,
			u64 end, u64 value)
{
	s64 used = value - wc->base, passed = end - wc->number;

	if (passed > 1)
		used = div64_s64(used + passed - 1, passed);
	return used > (s64)b->max;
}

/* The period of perf's event in the rest of a window whose budget is used up */
#define NEVER	BIT_ULL(62)

static struct perf_event *event_here(const struct tally_budget *b, int cpu)
{
	return tally_slot_here(&b->ev->counter->slots[cpu & b->ev->slot_mask], cpu);
}

/*
 * Keeps perf's event from overflowing until the next window. If the driver
 * begins the next period before it calls the callback, there is one more
 * overflow. Precise events are left alone, and go on overflowing: their drivers
 * add hw.sample_period to the count, which would then be wrong.
 */
static void put_off(const struct tally_budget *b, int cpu)
{
	struct perf_event *event = event_here(b, cpu);

	if (!event || event->attr.precise_ip)
		return;
	WRITE_ONCE(event->hw.sample_period, NEVER);
	/* perf's software events, but for clocks, have their next period here. */
	if (b->ev->counter->slots[cpu & b->ev->slot_mask].software && !b->inexact)
		event->hw.last_period = NEVER;
}

/*
 * Begins a period of perf's event on its CPU: @rest, which is all of a budget or what is left of
 * it. For less than all, precise events are left alone, as in put_off().
 */
static void begin_period(const struct tally_budget *b, struct tally_budget_cpu *wc, int cpu,
			 u64 rest)
{
	struct perf_event *event = event_here(b, cpu);
	u64 whole = b->max + 1;

	if (event && READ_ONCE(event->hw.sample_period) == NEVER)
		WRITE_ONCE(event->hw.sample_period, whole);
	if (rest == whole)
		rest = 0;
	else if (event && event->attr.precise_ip)
		return;
	WRITE_ONCE(wc->whole, tally_reload_here(b->ev->counter, cpu, 0, rest) >= 0);
}

static void exceed(struct tally_budget *b, struct tally_budget_cpu *wc)
{
	u64 n = wc->exceeded;

	WRITE_ONCE(wc->latest[n % ARRAY_SIZE(wc->latest)], wc->number);
	smp_store_release(&wc->exceeded, n + 1); /* tally_event_budget() */
	smp_mb__before_atomic(); /* tally_budget_nr_exceeded(); and the next number comes later */
	atomic64_inc(&b->exceeded);
	irq_work_queue(&b->wake);
}

/* How often a count is read at most, to find a read during which no window has ended. */
#define TRIES	8

/*
 * Ends the previous window of this CPU, and begins that of the present time. If the event was
 * enabled within it, perf's event has what is left of the budget for a period. Interrupts are
 * disabled.
 */
static void begin(struct tally_budget *b, int cpu)
{
	struct tally_budget_cpu *wc = this_cpu_ptr(b->cpus);
	/* An overflow in NMI is ignored from here on: the end of either window shows its counts. */
	bool over = xchg(&wc->over, true);
	unsigned int tries = TRIES;
	u64 value, number;
	s64 rest = 0;

	WRITE_ONCE(wc->whole, false);
	/*
	 * The count is read in window @number, even if a hypervisor stops the CPU meanwhile. If
	 * each read takes longer than a window, the old window goes on until the timer comes again.
	 */
	do {
		number = number_at(ktime_get_ns(), b->window_ns);
		if (!tries-- || !count_here(b->ev, cpu, true, &value))
			goto out;
	} while (number != number_at(ktime_get_ns(), b->window_ns));
	/* The CPU may have gone and come back in one window, or the event may have begun in it. */
	if (number != wc->number) {
		/* The interrupt of the overflow did not come before that of the timer. */
		if (wc->first && !over && is_exceeded(b, wc, number, value))
			exceed(b, wc);
		WRITE_ONCE(wc->base, value);
		WRITE_ONCE(wc->number, number);
		if (!wc->first)
			smp_store_release(&wc->first, number); /* tally_event_budget() */
		over = false;
	}
	if (!over)
		rest = max_t(s64, wc->base + b->max + 1 - value, 1);
out:
	barrier();
	WRITE_ONCE(wc->over, over);
	/* An overflow that comes meanwhile is compared with the count. */
	if (rest)
		begin_period(b, wc, cpu, rest);
}

/* Returns whether the target of the event includes @cpu, whether or not the PMU serves it. */
static bool counts_on(int cpu, void *budget)
{
	const struct tally_budget *b = budget;
	int only = b->ev->counter->target.cpu;

	return only < 0 || only == cpu;
}

static void begin_all(struct window_length *l, int cpu)
{
	struct tally_budget *b;

	rcu_read_lock();
	list_for_each_entry_rcu(b, &l->users, node)
		if (counts_on(cpu, b))
			begin(b, cpu);
	rcu_read_unlock();
}

/* Runs in hard interrupt, also on PREEMPT_RT. */
static enum hrtimer_restart window_ends(struct hrtimer *timer)
{
	struct window_timer *wt = container_of(timer, struct window_timer, timer);
	struct window_length *l = wt->length;

	/* The timer of a CPU that went offline was moved to another CPU, and ends there. */
	if (wt->cpu != smp_processor_id())
		return HRTIMER_NORESTART;
	begin_all(l, wt->cpu);
	hrtimer_set_expires(timer, ns_to_ktime(number_at(ktime_get_ns(), l->ns) * l->ns));
	return HRTIMER_RESTART;
}

/* Starts the timer of this CPU, unless it is active here. Interrupts are disabled. */
static void start_timer(void *length)
{
	struct window_length *l = length;
	struct window_timer *wt = this_cpu_ptr(l->timers);

	if (hrtimer_active(&wt->timer) && READ_ONCE(wt->timer.base)->cpu_base->cpu == wt->cpu)
		return;
	/* The timer may be about to end on the CPU that took it while this one was offline. */
	while (hrtimer_try_to_cancel(&wt->timer) < 0)
		cpu_relax();
	/* No window has begun while the CPU was offline. */
	begin_all(l, wt->cpu);
	hrtimer_start(&wt->timer, ns_to_ktime(number_at(ktime_get_ns(), l->ns) * l->ns),
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

static void begin_here(void *budget)
{
	begin(budget, smp_processor_id());
}

static struct window_length *length_new(u64 ns)
{
	struct window_length *l = kzalloc(sizeof(*l), GFP_KERNEL);
	struct window_timer *wt;
	int cpu;

	if (!l)
		return NULL;
	l->timers = alloc_percpu(struct window_timer);
	if (!l->timers) {
		kfree(l);
		return NULL;
	}
	l->ns = ns;
	INIT_LIST_HEAD(&l->users);
	for_each_possible_cpu(cpu) {
		wt = per_cpu_ptr(l->timers, cpu);
		wt->length = l;
		wt->cpu = cpu;
		tally_hrtimer_setup(&wt->timer, window_ends, CLOCK_MONOTONIC,
				    HRTIMER_MODE_ABS_PINNED_HARD);
	}
	list_add(&l->node, &lengths);
	return l;
}

static struct window_length *length_get(u64 ns)
{
	struct window_length *l;

	list_for_each_entry(l, &lengths, node)
		if (l->ns == ns)
			return l;
	return length_new(ns);
}

/* Ends and frees the timers if there is no budget with windows of this length any more. */
static void length_put(struct window_length *l)
{
	int cpu;

	if (!list_empty(&l->users))
		return;
	list_del(&l->node);
	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(l->timers, cpu)->timer);
	free_percpu(l->timers);
	kfree(l);
}

/* Runs in interrupt, on PREEMPT_RT in a thread. */
static void wake(struct irq_work *work)
{
	wake_up_all(&tally_budget_wait);
}

/**
 * tally_budget_new - give an event its budget
 * @ev: the event, which is on CPUs, has a counter and is disabled
 * @max: counts that are allowed in one window
 * @window_ns: length of a window, in nanoseconds
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOMEM; EOPNOTSUPP without TALLY_TRICK_RELOAD or TALLY_TRICK_TIMES, and for an event
 * whose count only overflows bring up to date; or as tally_trick_try().
 */
int tally_budget_new(struct tally_event *ev, u64 max, u64 window_ns)
{
	const struct tally_counter *c = ev->counter;
	struct tally_budget *b;
	unsigned int i;
	int err = c->by_perf ? -EOPNOTSUPP : tally_reload_works();

	/* The count shows what came after an overflow only in the next window. */
	for (i = 0; i < c->nr_slots; i++)
		if (c->slots[i].update_on_overflow)
			err = -EOPNOTSUPP;
	if (err)
		return err;
	b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	if (!b)
		return -ENOMEM;
	b->cpus = alloc_percpu_gfp(struct tally_budget_cpu, GFP_KERNEL_ACCOUNT);
	if (!b->cpus)
		goto free;
	b->ev = ev;
	b->max = max;
	b->window_ns = window_ns;
	b->inexact = tally_attr_is_clock(&ev->attr) || ev->attr.precise_ip;
	init_irq_work(&b->wake, wake);
	mutex_lock(&lengths_lock);
	b->length = length_get(window_ns);
	if (b->length) {
		ev->budget = b;
		on_each_cpu_cond(counts_on, begin_here, b, true);
		list_add_rcu(&b->node, &b->length->users);
		on_each_cpu(start_timer, b->length, true);
	}
	mutex_unlock(&lengths_lock);
	if (b->length)
		return 0;
free:
	free_percpu(b->cpus);
	kfree(b);
	return -ENOMEM;
}

/* Ends a budget: a grace period later no timer uses it. May sleep. NULL is ignored. */
void tally_budget_end(struct tally_budget *b)
{
	if (!b)
		return;
	mutex_lock(&lengths_lock);
	list_del_rcu(&b->node);
	length_put(b->length);
	mutex_unlock(&lengths_lock);
}

/* Frees a budget. A grace period has passed since tally_budget_end(). NULL is ignored. */
void tally_budget_free(struct tally_budget *b)
{
	if (!b)
		return;
	irq_work_sync(&b->wake);
	free_percpu(b->cpus);
	kfree(b);
}

/* Starts the timers of CPUs that came back. May sleep; no lock of a counter is held. */
void tally_budget_repair(void)
{
	struct window_length *l;

	mutex_lock(&lengths_lock);
	list_for_each_entry(l, &lengths, node)
		on_each_cpu(start_timer, l, true);
	mutex_unlock(&lengths_lock);
}

/**
 * tally_budget_exceed - find whether the budget of this CPU's window is used up, and note it
 * @b: the budget
 *
 * perf may not have begun the period with the window: while it throttles the event, if the timer
 * is late, or if the event was off before. Then the overflow proves nothing. The count does, which
 * perf has brought up to date. A clock may overflow when its count is a little below the period, as
 * perf's timer has another clock, and some drivers update the count of a precise event only later.
 * For both kinds, the overflow suffices if the period began with the window.
 *
 * Context: Any context; called by perf's callback.
 * Return: whether the budget is used up, and was not at the last call in this window.
 */
bool tally_budget_exceed(struct tally_budget *b)
{
	struct tally_budget_cpu *wc;
	unsigned long flags;
	bool exceeded;
	u64 number, value;

	/* perf's software events overflow with interrupts enabled. */
	local_irq_save(flags);
	wc = this_cpu_ptr(b->cpus);
	number = number_at(ktime_get_mono_fast_ns(), b->window_ns);
	exceeded = !READ_ONCE(wc->over) && wc->first;
	if (exceeded && (!b->inexact || !READ_ONCE(wc->whole) || number != wc->number))
		exceeded = count_here(b->ev, raw_smp_processor_id(), false, &value) &&
			   is_exceeded(b, wc, number + 1, value);
	/* Another overflow may interrupt this one. */
	exceeded = exceeded && !xchg(&wc->over, true);
	if (exceeded) {
		exceed(b, wc);
		put_off(b, raw_smp_processor_id());
	}
	local_irq_restore(flags);
	return exceeded;
}

/**
 * tally_budget_begun - mend the period of perf's event, which was on while tally's was off
 * @b: the budget; NULL is ignored
 *
 * perf's event has then counted a part of its period that tally's event has not. It would overflow
 * before the budget of this window is used up, and then only after another period.
 *
 * Context: Process context. Interrupts the CPUs of the event.
 */
void tally_budget_begun(struct tally_budget *b)
{
	if (b)
		on_each_cpu_cond(counts_on, begin_here, b, true);
}

/*
 * Finds what an event with a budget counted in the current window of any CPU; 0
 * if the CPU is offline. May sleep. Returns ENODEV for a CPU that the PMU does
 * not serve, ENODATA if the event counts nothing there because of an error.
 */
int tally_budget_used(struct tally_event *ev, int cpu, u64 *used)
{
	struct tally_budget_cpu *wc = per_cpu_ptr(ev->budget->cpus, cpu);
	struct tally_count count;
	u64 base;
	int err;

	err = tally_event_read_slot(ev, cpu & ev->slot_mask, true, &count);
	*used = 0;
	if (err)
		return err;
	if (count.state == TALLY_STATE_ERROR)
		return -ENODATA;
	if (count.state == TALLY_STATE_OFFLINE)
		return 0;
	/* If the window has ended since the read, nothing is known of the next one. */
	base = READ_ONCE(wc->base);
	*used = count.value > base ? count.value - base : 0;
	return 0;
}

static bool has_cpu(const struct tally_event *ev, int cpu)
{
	return cpu >= 0 && cpu < nr_cpu_ids && cpu_possible(cpu) && counts_on(cpu, ev->budget) &&
	       tally_counter_serves(ev->counter, cpu & ev->slot_mask);
}

/* Returns how many windows were exceeded on all CPUs. A later tally_event_budget() counts them. */
u64 tally_budget_nr_exceeded(const struct tally_budget *b)
{
	u64 exceeded = atomic64_read(&b->exceeded);

	smp_rmb(); /* exceed() */
	return exceeded;
}

int tally_event_budget(struct tally_event *ev, int cpu, struct tally_budget_stats *stats)
{
	const struct tally_budget_cpu *wc;
	unsigned int i;
	u64 n, first;

	if (tally_bad_ptr(ev) || tally_bad_ptr(stats) || !ev->budget || !has_cpu(ev, cpu))
		return -EINVAL;
	wc = per_cpu_ptr(ev->budget->cpus, cpu);
	memset(stats, 0, sizeof(*stats));
	do {
		n = smp_load_acquire(&wc->exceeded); /* exceed() */
		for (i = 0; i < min_t(u64, n, TALLY_BUDGET_LATEST); i++)
			stats->latest[i] = READ_ONCE(wc->latest[(n - 1 - i) %
								ARRAY_SIZE(wc->latest)]);
		smp_rmb(); /* exceed() */
	} while (READ_ONCE(wc->exceeded) != n);
	stats->exceeded = n;
	first = smp_load_acquire(&wc->first); /* begin() */
	stats->window = READ_ONCE(wc->number);
	stats->windows = first ? stats->window - first : 0;
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_event_budget);

int tally_event_budget_used(struct tally_event *ev, u64 *used)
{
	const struct tally_budget_cpu *wc;
	unsigned long flags;
	u64 value;
	int err = -EAGAIN;

	if (tally_bad_ptr(ev) || tally_bad_ptr(used) || !ev->budget)
		return -EINVAL;
	local_irq_save(flags);
	wc = this_cpu_ptr(ev->budget->cpus);
	if (!counts_on(raw_smp_processor_id(), ev->budget))
		err = -EINVAL;
	else if (read_here(ev, raw_smp_processor_id(), &value))
		err = 0;
	if (!err)
		*used = value - READ_ONCE(wc->base);
	local_irq_restore(flags);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_budget_used);
