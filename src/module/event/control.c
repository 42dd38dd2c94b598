// SPDX-License-Identifier: GPL-2.0
/*
 * Control of an event that overflows: its period, its limits, and pauses.
 *
 * perf's functions sleep, and the callback often is where an event has to go
 * off. So the callback stops calling the handlers, which takes effect at once,
 * and queues an irq_work. That starts the control work, which calls perf.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hardirq.h>
#include <linux/hw_breakpoint.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/time64.h>
#include "base/ptr.h"
#include "base/trace.h"
#include "builder/builder.h"
#include "counter/counter.h"
#include "compat.h"
#include "event/overflow.h"
#include "event/event.h"
#include "base/pmu.h"

/* Unbound: the CPU of an overflow may have no time left. Works of handlers have another queue. */
static struct workqueue_struct *control_wq;

/*
 * A work must not sleep for the lock of a counter: its holder may wait in perf
 * for a task, for as long as the task's user likes, and the works of all users
 * share the queue's limit of running works. A work that finds the lock taken
 * queues itself again, at most this many jiffies later.
 */
#define AGAIN_MAX	(HZ / 10)

/*
 * Switches the slots of CPUs off where the event overflowed too often. @resume is queued also if
 * the event has been disabled since: only @resume clears tally_overflow_cpu::paused, which would
 * stay set when the event is enabled again.
 */
static void pause_slots(struct tally_overflow *of, struct tally_counter *c)
{
	bool any = false;
	int cpu;

	for_each_possible_cpu(cpu) {
		if (!READ_ONCE(per_cpu_ptr(of->cpus, cpu)->paused))
			continue;
		any = true;
		/* perf would not stop the children, and those forked meanwhile would stay off. */
		if (!c->attr.inherit && of->ev->on) {
			tally_counter_pause(c, cpu & c->slot_mask, false);
			trace_state(of->ev->name, cpu, TALLY_STATE_ACTIVE, TALLY_STATE_THROTTLED);
		}
	}
	if (any)
		queue_delayed_work(control_wq, &of->resume,
				   max(nsecs_to_jiffies(of->rate_window_ns), 1UL));
}

static void resume(struct work_struct *work)
{
	struct tally_overflow *of = container_of(to_delayed_work(work),
						 struct tally_overflow, resume);
	struct tally_counter *c = of->ev->counter;
	struct tally_overflow_cpu *oc;
	int cpu;

	if (!tally_counter_trylock(c)) {
		queue_delayed_work(control_wq, &of->resume, AGAIN_MAX);
		return;
	}
	for_each_possible_cpu(cpu) {
		oc = per_cpu_ptr(of->cpus, cpu);
		if (!READ_ONCE(oc->paused))
			continue;
		WRITE_ONCE(oc->paused, 0);
		if (of->closing)
			continue;
		tally_counter_go_on(c, cpu & c->slot_mask, false);
		if (!c->attr.inherit && of->ev->on)
			trace_state(of->ev->name, cpu, TALLY_STATE_THROTTLED, TALLY_STATE_ACTIVE);
	}
	tally_counter_unlock(c);
}

/*
 * Rearms a one-shot event, or switches it off after its overflow. Of two calls
 * of tally_event_rearm() before this runs, the later one takes effect. A call
 * while this runs starts the work again.
 */
static void arm_or_stop(struct tally_overflow *of, struct tally_counter *c)
{
	bool rearm = atomic_xchg(&of->rearm, 0);

	if (!rearm && atomic_read(&of->armed))
		return;
	tally_counter_pause(c, 0, true);
	if (rearm) {
		tally_event_apply_period(of->ev);
		atomic_set(&of->armed, 1);
	}
	/* tally_event_rearm() may take effect meanwhile, where the event counted. */
	if (rearm || atomic_read(&of->armed))
		tally_counter_go_on(c, 0, true);
}

static void control(struct work_struct *work)
{
	struct tally_overflow *of = container_of(to_delayed_work(work), struct tally_overflow,
						 control);
	struct tally_event *ev = of->ev;
	struct tally_counter *c = ev->counter;

	if (!tally_counter_trylock(c)) {
		of->again = clamp(2 * of->again, 1U, (unsigned int)AGAIN_MAX);
		queue_delayed_work(control_wq, &of->control, of->again);
		return;
	}
	of->again = 0;
	if (of->closing)
		goto unlock;
	if (ev->on && tally_overflow_at_limit(of))
		tally_event_off(ev);
	if (!ev->on)
		tally_counter_disable_if_off(c);
	else if (READ_ONCE(of->special) & TALLY_SPECIAL_ONE_SHOT)
		arm_or_stop(of, c);
	else if (atomic_xchg(&of->rearm, 0))
		tally_event_apply_period(ev);
	pause_slots(of, c);
unlock:
	tally_counter_unlock(c);
}

/* Runs in hard interrupt, also on PREEMPT_RT: queueing a work takes raw locks only. */
static void kicked(struct irq_work *work)
{
	struct tally_overflow *of = container_of(work, struct tally_overflow,
						 kick);

	queue_delayed_work(control_wq, &of->control, 0);
}

void tally_control_setup(struct tally_overflow *of)
{
	of->kick = IRQ_WORK_INIT_HARD(kicked);
	INIT_DELAYED_WORK(&of->control, control);
	INIT_DELAYED_WORK(&of->resume, resume);
}

/* Called when nothing starts the control work any more. May sleep. */
void tally_control_cancel(struct tally_overflow *of)
{
	irq_work_sync(&of->kick);
	cancel_delayed_work_sync(&of->control);
	cancel_delayed_work_sync(&of->resume);
}

/*
 * Finds the period or frequency for perf. A clock with a frequency has a period
 * in perf: a module gives @value in Hz for it, and a program, as in perf, in
 * nanoseconds. Returns 0; EINVAL; or the error of tally_pmu_check_freq().
 */
static int period_of(const struct tally_event *ev, u64 value, u64 *period)
{
	bool hz = ev->hz && !ev->of_file;
	int err;

	if (!value || value >> 63)
		return -EINVAL;
	*period = value;
	if (!ev->attr.freq && !hz)
		return 0;
	err = tally_pmu_check_freq(value);
	if (err)
		return err;
	if (!hz)
		return 0;
	if (value > NSEC_PER_SEC)
		return -EINVAL;
	*period = div64_u64(NSEC_PER_SEC, value);
	return 0;
}

int tally_event_set_period(struct tally_event *ev, u64 value)
{
	struct tally_counter *c;
	u64 period;
	int err;

	if (tally_bad_ptr(ev))
		return -EINVAL;
	c = ev->counter;
	might_sleep();
	/* The period of a budget is the budget. */
	if (!ev->attr.sample_period || ev->budget)
		return -EINVAL;
	if (c->attr.inherit)
		return -EOPNOTSUPP;
	err = period_of(ev, value, &period);
	if (err)
		return err;
	tally_counter_lock(c);
	if (ev->filter) {
		err = 0;
		if (!(ev->attr.sample_type & PERF_SAMPLE_PERIOD))
			WRITE_ONCE(ev->overflow->filter_period, period);
	} else {
		err = tally_counter_set_period(c, period);
	}
	if (!err) {
		tally_silent_forget(ev);
		ev->attr.sample_period = period;
		if (ev->hz)
			ev->hz = ev->of_file ? 0 : value;
	}
	tally_counter_unlock(c);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_set_period);

u64 tally_event_period(struct tally_event *ev, int cpu)
{
	struct tally_counter *c;
	u64 period = 0;

	if (tally_bad_ptr(ev))
		return 0;
	c = ev->counter;
	might_sleep();
	if (!tally_counter_on_all_cpus(c))
		cpu = 0;
	if (cpu < 0 || cpu >= c->nr_slots)
		return 0;
	tally_counter_lock(c);
	period = tally_event_slot_period(ev, cpu);
	tally_counter_unlock(c);
	return period;
}
EXPORT_SYMBOL_TALLY(tally_event_period);

int tally_event_refresh(struct tally_event *ev, unsigned int overflows)
{
	struct tally_overflow *of;
	int err;

	if (tally_bad_ptr(ev))
		return -EINVAL;
	of = ev->overflow;
	might_sleep();
	if (!ev->attr.sample_period || !overflows || ev->attr.sigtrap ||
	    READ_ONCE(of->special) & TALLY_SPECIAL_ONE_SHOT)
		return -EINVAL;
	tally_counter_lock(ev->counter);
	if (READ_ONCE(of->special) & TALLY_SPECIAL_LIMITED && ev->on) {
		atomic64_add(overflows, &of->left);
	} else {
		atomic64_set(&of->left, overflows);
		tally_overflow_special(of, TALLY_SPECIAL_LIMITED, 0);
	}
	err = tally_event_on(ev);
	tally_counter_unlock(ev->counter);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_refresh);

/**
 * tally_event_limit - as tally_event_refresh(), but without enabling the event
 * @ev: the event
 * @overflows: number of overflows to add; 0 leaves the limit as it is. As in perf, there is
 *	no limit if the sum is 0 or negative, and the next call adds to a negative sum.
 *	Overflows lower a negative sum in perf, but not here.
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL as tally_event_refresh(), and for an inherited event.
 */
int tally_event_limit(struct tally_event *ev, int overflows)
{
	struct tally_overflow *of = ev->overflow;
	bool adds;
	s64 sum;

	if (!ev->attr.sample_period || ev->attr.sigtrap || ev->attr.inherit ||
	    READ_ONCE(of->special) & TALLY_SPECIAL_ONE_SHOT)
		return -EINVAL;
	if (!overflows)
		return 0;
	tally_counter_lock(ev->counter);
	if (READ_ONCE(of->special) & TALLY_SPECIAL_LIMITED)
		adds = ev->on || of->limits_next;
	else
		adds = atomic64_read(&of->left) < 0;
	sum = overflows;
	if (adds)
		sum = atomic64_add_return(overflows, &of->left);
	else
		atomic64_set(&of->left, sum);
	if (sum > 0)
		tally_overflow_special(of, TALLY_SPECIAL_LIMITED, 0);
	else
		tally_overflow_special(of, 0, TALLY_SPECIAL_LIMITED);
	of->limits_next = true;
	tally_counter_unlock(ev->counter);
	return 0;
}

/*
 * Begins a new period at once if this is hard interrupt on a CPU that the event counts on.
 * Returns 0, or an error of tally_reload_here(); after EAGAIN reload_later() can begin the period.
 */
static int reload_here(struct tally_event *ev, u64 period)
{
	struct tally_counter *c = ev->counter;
	unsigned long flags;
	int err;

	if (!in_hardirq() || in_nmi())
		return -EAGAIN;
	local_irq_save(flags);
	err = tally_reload_here(c, smp_processor_id(), period, 0);
	local_irq_restore(flags);
	/* The event may be switched off. */
	if (err > 0)
		return -EAGAIN;
	/* Written without the lock, for CPUs that come online: the latest of several stays. */
	if (!err && period) {
		WRITE_ONCE(c->attr.sample_period, period);
		WRITE_ONCE(ev->attr.sample_period, period);
	}
	return err;
}

/* Has the control work begin a new period. */
static int reload_later(struct tally_overflow *of, u64 period)
{
	WRITE_ONCE(of->rearm_period, period);
	/* Orders the period before @rearm. tally_overflow_kick() orders both before the work. */
	atomic_set_release(&of->rearm, 1);
	tally_overflow_kick(of);
	return 0;
}

int tally_event_reload(struct tally_event *ev, u64 period)
{
	struct tally_overflow *of = tally_bad_ptr(ev) ? NULL : ev->overflow;
	int err;

	if (!of || !period || period >> 63 || ev->attr.freq || ev->hz ||
	    READ_ONCE(of->special) & (TALLY_SPECIAL_ONE_SHOT | TALLY_SPECIAL_BUDGET))
		return -EINVAL;
	if (ev->attr.inherit)
		return -EOPNOTSUPP;
	err = reload_here(ev, period);
	return err == -EAGAIN ? reload_later(of, period) : err;
}
EXPORT_SYMBOL_TALLY(tally_event_reload);

int tally_event_rearm(struct tally_event *ev, u64 period)
{
	struct tally_overflow *of = tally_bad_ptr(ev) ? NULL : ev->overflow;
	int err, was = 1;

	if (!of || !(READ_ONCE(of->special) & TALLY_SPECIAL_ONE_SHOT) ||
	    period >> 63)
		return -EINVAL;
	/* The event is armed first, as the new period may be short. */
	if (in_hardirq() && !in_nmi())
		was = atomic_xchg(&of->armed, 1);
	err = reload_here(ev, period);
	/* No new period: an overflow is of the old one. After EAGAIN the work arms the event. */
	if (err && !was)
		atomic_set(&of->armed, 0);
	return err == -EAGAIN ? reload_later(of, period) : err;
}
EXPORT_SYMBOL_TALLY(tally_event_rearm);

int tally_event_modify(struct tally_event *ev, unsigned long addr,
		       unsigned int len, u32 access)
{
	struct tally_counter *c;
	struct perf_event_attr attr;
	int err;

	if (tally_bad_ptr(ev))
		return -EINVAL;
	c = ev->counter;
	attr = ev->attr;
	might_sleep();
	if (attr.type != PERF_TYPE_BREAKPOINT || attr.inherit)
		return -EOPNOTSUPP;
	attr.bp_addr = addr;
	attr.bp_len = len;
	attr.bp_type = access;
	/* As when the event was made, perf alone checks the breakpoint of a file. */
	err = ev->of_file ? 0 : tally_check_breakpoint(&attr);
	if (err)
		return err;
	tally_counter_lock(c);
	err = tally_counter_modify(c, &attr);
	if (!err) {
		ev->attr.bp_addr = attr.bp_addr;
		ev->attr.bp_len = attr.bp_len;
		ev->attr.bp_type = attr.bp_type;
		ev->given[0] = '\0';
	}
	tally_counter_unlock(c);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_modify);

int tally_event_overflow_stats(struct tally_event *ev,
			       struct tally_overflow_stats *stats)
{
	if (tally_bad_ptr(ev) || tally_bad_ptr(stats))
		return -EINVAL;
	memset(stats, 0, sizeof(*stats));
	if (!ev->overflow)
		return -EINVAL;
	tally_overflow_stats(ev->overflow, stats);
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_event_overflow_stats);

int tally_control_init(void)
{
	control_wq = alloc_workqueue("tally_control", WQ_UNBOUND | WQ_HIGHPRI,
				     0);
	return control_wq ? 0 : -ENOMEM;
}

void tally_control_exit(void)
{
	destroy_workqueue(control_wq);
}
