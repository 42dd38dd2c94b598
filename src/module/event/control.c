// SPDX-License-Identifier: GPL-2.0
/*
 * Control of an event that overflows: its period, its limits, and pauses.
 *
 * perf's functions sleep, and the callback often is where an event has to go off. So the
 * callback stops calling the handlers, which takes effect at once, and queues an
 * irq_work. That starts the control work, which calls perf.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hw_breakpoint.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/time64.h>
#include "base/ptr.h"
#include "builder/builder.h"
#include "compat.h"
#include "event/control.h"
#include "event/event.h"
#include "event/overflow.h"
#include "base/pmu.h"

/* Works run on any CPU, as theirs may have no time left, and not behind any handlers. */
static struct workqueue_struct *control_wq;

static unsigned int slot_of(const struct tally_counter *c, int cpu)
{
	return tally_counter_on_all_cpus(c) ? cpu : 0;
}

/*
 * Switches the slots of CPUs off where the event overflowed too often. @resume is queued
 * also if the event has been disabled since: it clears @paused before the event is
 * enabled again.
 */
static void pause_slots(struct tally_overflow *of, struct tally_counter *c)
{
	bool any = false;
	int cpu;

	for_each_possible_cpu(cpu) {
		if (!READ_ONCE(per_cpu_ptr(of->cpus, cpu)->paused))
			continue;
		any = true;
		/* perf could not enable the children again. */
		if (!c->attr.inherit && of->ev->on)
			tally_counter_pause(c, slot_of(c, cpu), false);
	}
	if (any)
		queue_delayed_work(control_wq, &of->resume,
				   max(nsecs_to_jiffies(of->window_ns), 1UL));
}

static void resume(struct work_struct *work)
{
	struct tally_overflow *of = container_of(to_delayed_work(work),
						 struct tally_overflow, resume);
	struct tally_counter *c = of->ev->counter;
	struct tally_overflow_cpu *oc;
	int cpu;

	mutex_lock(&c->lock);
	for_each_possible_cpu(cpu) {
		oc = per_cpu_ptr(of->cpus, cpu);
		if (!READ_ONCE(oc->paused))
			continue;
		WRITE_ONCE(oc->paused, 0);
		if (!of->closing)
			tally_counter_unpause(c, slot_of(c, cpu));
	}
	mutex_unlock(&c->lock);
}

/*
 * Rearms a one-shot event, or switches it off after its overflow. Of two calls of
 * tally_event_rearm() before this runs, the later one takes effect. A call while this
 * runs starts the work again.
 */
static void arm_or_stop(struct tally_overflow *of, struct tally_counter *c)
{
	if (atomic_xchg(&of->rearm, 0)) {
		tally_counter_pause(c, 0, true);
		tally_event_take_period(of->ev);
		atomic_set(&of->armed, 1);
		tally_counter_arm(c, 0);
	} else if (!atomic_read(&of->armed)) {
		tally_counter_pause(c, 0, true);
	}
}

static void control(struct work_struct *work)
{
	struct tally_overflow *of = container_of(work, struct tally_overflow,
						 control);
	struct tally_event *ev = of->ev;
	struct tally_counter *c = ev->counter;

	mutex_lock(&c->lock);
	if (of->closing)
		goto unlock;
	if (ev->on && of->special & TALLY_SPECIAL_LIMITED &&
	    atomic64_read(&of->left) <= 0)
		tally_event_off(ev);
	if (!ev->on)
		tally_counter_quieten(c);
	else if (of->special & TALLY_SPECIAL_ONE_SHOT)
		arm_or_stop(of, c);
	pause_slots(of, c);
unlock:
	mutex_unlock(&c->lock);
}

static void kicked(struct irq_work *work)
{
	struct tally_overflow *of = container_of(work, struct tally_overflow,
						 kick);

	queue_work(control_wq, &of->control);
}

void tally_control_setup(struct tally_overflow *of)
{
	of->kick = IRQ_WORK_INIT_HARD(kicked);
	INIT_WORK(&of->control, control);
	INIT_DELAYED_WORK(&of->resume, resume);
}

/* Nothing that starts the work runs any more. */
void tally_control_cancel(struct tally_overflow *of)
{
	irq_work_sync(&of->kick);
	cancel_work_sync(&of->control);
	cancel_delayed_work_sync(&of->resume);
}

/* The period for perf: a frequency of a clock is a period for perf. */
static int period_of(const struct tally_event *ev, u64 value, u64 *period)
{
	int err;

	if (!value || value >> 63)
		return -EINVAL;
	*period = value;
	if (!ev->attr.freq && !ev->hz)
		return 0;
	err = tally_pmu_check_freq(value);
	if (err)
		return err;
	if (!ev->hz)
		return 0;
	if (value > NSEC_PER_SEC)
		return -EINVAL;
	*period = div64_u64(NSEC_PER_SEC, value);
	return 0;
}

/**
 * tally_event_set_period - change the period or the frequency of an event
 * @ev: the event, which has a period or a frequency
 * @value: the period in counts, or the frequency in Hz, whichever the builder was given
 *
 * The next overflow comes a whole new period after this call, on each CPU. perf
 * takes 10 microseconds for a period of a clock below that.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0; EINVAL for an event that only counts, 0, bit 63, and a frequency
 * above kernel.perf_event_max_sample_rate; EOPNOTSUPP for an inherited event,
 * whose children perf would not change. On an error nothing has changed.
 */
int tally_event_set_period(struct tally_event *ev, u64 value)
{
	struct tally_counter *c;
	u64 period;
	int err;

	if (tally_bad_ptr(ev))
		return -EINVAL;
	c = ev->counter;
	might_sleep();
	if (!ev->attr.sample_period)
		return -EINVAL;
	if (c->attr.inherit)
		return -EOPNOTSUPP;
	err = period_of(ev, value, &period);
	if (err)
		return err;
	mutex_lock(&c->lock);
	if (ev->filter) {
		err = 0;
		if (!(ev->attr.sample_type & PERF_SAMPLE_PERIOD))
			WRITE_ONCE(ev->overflow->filter_period, period);
	} else {
		err = tally_counter_set_period(c, period);
	}
	if (!err) {
		ev->attr.sample_period = period;
		if (ev->hz)
			ev->hz = value;
	}
	mutex_unlock(&c->lock);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_set_period);

/**
 * tally_event_refresh - enable an event for a number of overflows
 * @ev: the event; it may be enabled already
 * @overflows: number of overflows, on all CPUs together. If the event is enabled, the
 *	number is added to the rest of an earlier call.
 *
 * The handlers are called exactly that often. The event goes off some time after the
 * last overflow, to the state TALLY_STATE_OFF; its count may go on until then.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0; EINVAL for 0 and for an event that only counts, is one-shot, or
 * sends signals, which perf does without asking; else as tally_event_enable().
 */
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
	mutex_lock(&ev->counter->lock);
	if (of->special & TALLY_SPECIAL_LIMITED && ev->on) {
		atomic64_add(overflows, &of->left);
	} else {
		atomic64_set(&of->left, overflows);
		tally_overflow_special(of, TALLY_SPECIAL_LIMITED, 0);
	}
	err = tally_event_on(ev);
	mutex_unlock(&ev->counter->lock);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_refresh);

/**
 * tally_event_limit - as tally_event_refresh(), but without enabling the event
 * @ev: the event
 * @overflows: number of overflows to add; 0 leaves the limit as it is
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL as tally_event_refresh(), and for an inherited event.
 */
int tally_event_limit(struct tally_event *ev, unsigned int overflows)
{
	struct tally_overflow *of = ev->overflow;

	if (!ev->attr.sample_period || ev->attr.sigtrap || ev->attr.inherit ||
	    READ_ONCE(of->special) & TALLY_SPECIAL_ONE_SHOT)
		return -EINVAL;
	if (!overflows)
		return 0;
	mutex_lock(&ev->counter->lock);
	if (of->special & TALLY_SPECIAL_LIMITED && (ev->on || of->limits_next)) {
		atomic64_add(overflows, &of->left);
	} else {
		atomic64_set(&of->left, overflows);
		tally_overflow_special(of, TALLY_SPECIAL_LIMITED, 0);
	}
	of->limits_next = true;
	mutex_unlock(&ev->counter->lock);
	return 0;
}

/**
 * tally_event_rearm - have a one-shot event overflow once more
 * @ev: the event, see tally_builder_one_shot()
 * @period: counts until the overflow, from when the call takes effect; 0 for as many as
 *	before
 *
 * The call takes effect shortly after its return, from a work of high priority. An
 * event that is armed and has not overflowed begins a new period. Of two calls before
 * the work runs, the later one takes effect. If the PMU refuses the period then, there is
 * a line in the log and the period stays as it was. A disabled event stays disabled, and
 * has the period when it is enabled.
 *
 * Context: Any context, NMI and the event's own handlers included.
 * Return: 0; EINVAL for bit 63 and for an event that is not one-shot.
 */
int tally_event_rearm(struct tally_event *ev, u64 period)
{
	struct tally_overflow *of;

	if (tally_bad_ptr(ev))
		return -EINVAL;
	of = ev->overflow;
	if (!of || !(READ_ONCE(of->special) & TALLY_SPECIAL_ONE_SHOT) ||
	    period >> 63)
		return -EINVAL;
	WRITE_ONCE(of->rearm_period, period);
	/* Orders the period before @rearm, and both before the work. */
	atomic_set_release(&of->rearm, 1);
	tally_overflow_kick(of);
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_event_rearm);

/**
 * tally_event_modify - change what a breakpoint watches
 * @ev: a breakpoint, which overflows or only counts
 * @addr: as for TALLY_BREAKPOINT()
 * @len: as for TALLY_BREAKPOINT()
 * @access: as for TALLY_BREAKPOINT()
 *
 * The event stays enabled or disabled, and its count goes on. It changes on one CPU
 * after the other.
 *
 * Context: Process context, may sleep; not from a CPU hotplug callback.
 * Return: 0; EOPNOTSUPP for an event that is no breakpoint, or is inherited; EINVAL for
 * an address, length or access that no breakpoint can have; ENODEV while its CPU is
 * offline; ENOSPC, EPERM and others as tally_build(). On an error nothing has changed.
 */
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
	err = tally_check_breakpoint(&attr);
	if (err)
		return err;
	mutex_lock(&c->lock);
	err = tally_counter_modify(c, &attr);
	if (!err) {
		ev->attr.bp_addr = attr.bp_addr;
		ev->attr.bp_len = attr.bp_len;
		ev->attr.bp_type = attr.bp_type;
		ev->given[0] = '\0';
	}
	mutex_unlock(&c->lock);
	return err;
}
EXPORT_SYMBOL_TALLY(tally_event_modify);

/**
 * tally_event_overflow_stats - read the statistics of an event's overflows
 * @ev: the event
 * @stats: receives the statistics; an overflow meanwhile may be in some of the numbers
 *	only
 *
 * Context: Process context.
 * Return: 0; EINVAL for an event that only counts.
 */
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
