// SPDX-License-Identifier: GPL-2.0
/*
 * A filter of an event: only records of the tracepoint that pass it are
 * counted, and overflow.
 *
 * perf looks at its own filters before it counts an event, but it does not know
 * those of tally. So perf's event overflows at each record, and the callback
 * takes one off perf's count for a record that does not pass. The callback runs
 * on the CPU that has just added it. For that moment the record is counted: a
 * reader may see it, and if the event is reset or enabled then, its count
 * begins at -1. perf's event has a period of 1; tally_filter_passes() counts
 * the period that the user asked for.
 *
 * The perf events of an event that only counts have no callback. When it gets a
 * filter, tally_counter_replace() replaces them by events that have one.
 */
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include "base/kprobe.h"
#include "counter/counter.h"
#include "counter/slot.h"
#include "event/event.h"
#include "event/overflow.h"
#include "filter/apply.h"
#include "filter/filter.h"

/*
 * Returns whether events of this kind have records that a filter can test. perf filters the same.
 */
bool tally_filter_can(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_TRACEPOINT || tally_attr_is_kprobe(attr);
}

/* perf has the record of a tracepoint in one piece. */
static bool passes(const struct tally_filter *f, const struct perf_sample_data *data)
{
	const struct perf_raw_record *raw = data->raw;

	return data->sample_flags & PERF_SAMPLE_RAW && raw &&
	       tally_filter_match(f, raw->frag.data, raw->frag.size);
}

/* perf's callback for an event that only counts; its context is the filter. */
static void count_passing(struct perf_event *event, struct perf_sample_data *data,
			  struct pt_regs *regs)
{
	if (!passes(event->overflow_handler_context, data))
		local64_dec(&event->count);
}

/**
 * tally_filter_passes - whether a record passes the filter and ends a period
 * @of: overflow state of the event, with TALLY_SPECIAL_FILTER
 * @oc: the part of @of on this CPU
 * @event: perf's event, or that of a child
 * @data: the record; receives the period
 *
 * Context: Any context, with preemption disabled.
 */
bool tally_filter_passes(struct tally_overflow *of, struct tally_overflow_cpu *oc,
			 struct perf_event *event, struct perf_sample_data *data)
{
	s64 period = READ_ONCE(of->filter_period);
	local_t *passed = of->filter_one ? &of->passed : &oc->passed;

	if (!passes(of->ev->filter, data)) {
		local64_dec(&event->count);
		return false;
	}
	if (period <= 1)
		return true;
	if (local_add_return(1, passed) < period)
		return false;
	local_sub(period, passed);
	data->period = period;
	return true;
}

/* Returns whether one record counts as nanoseconds, for each of which perf overflows once. */
static bool counts_by_itself(struct trace_event_call *call)
{
	return str_has_prefix(trace_event_name(call), "sched_stat_");
}

/*
 * perf counts the wake-ups of a task that is not running for an event that is
 * on the task and one CPU, but calls back only while the task runs.
 */
static bool counts_unseen(const struct tally_counter *c, struct trace_event_call *call)
{
	return c->target.task && c->target.cpu >= 0 &&
	       str_has_prefix(trace_event_name(call), "sched_wak");
}

/* Makes perf call back at each record of an event that only counts. */
static int filter_counting(struct tally_event *ev)
{
	struct perf_event_attr attr = ev->counter->attr;
	int err;

	attr.sample_type |= PERF_SAMPLE_RAW;
	attr.sample_period = 1;
	err = tally_counter_replace(ev->counter, &attr, count_passing, ev->filter);
	/* perf lets nobody sample this tracepoint. */
	return err == -EPERM || err == -EINVAL ? -EOPNOTSUPP : err;
}

static int filter_overflows(struct tally_event *ev)
{
	struct tally_overflow *of = ev->overflow;
	struct tally_counter *c = ev->counter;
	int err = 0;

	/* With PERF_SAMPLE_PERIOD, perf overflows at each record anyway. */
	WRITE_ONCE(of->filter_period, ev->attr.sample_type & PERF_SAMPLE_PERIOD ?
				      1 : ev->attr.sample_period);
	of->filter_one = !tally_counter_on_all_cpus(c);
	tally_overflow_special(of, TALLY_SPECIAL_FILTER, 0);
	if (c->attr.sample_period != 1)
		err = tally_counter_set_period(c, 1);
	if (err) {
		tally_overflow_special(of, 0, TALLY_SPECIAL_FILTER);
		synchronize_rcu();
	}
	return err;
}

static int set_filter(struct tally_event *ev, const char *text)
{
	struct tally_counter *c = ev->counter;
	const struct perf_event *event;
	struct trace_event_call *call;
	struct tally_filter *f;
	int err;

	if (ev->filter)
		return -EEXIST;
	/* The events of children can be neither replaced nor given another period. */
	if (c->attr.inherit && c->attr.sample_period != 1)
		return -EOPNOTSUPP;
	/* perf counts a hit for a frequency, and queues sigtrap, before it calls back. */
	if (ev->attr.freq || ev->attr.sigtrap)
		return -EOPNOTSUPP;
	/* Any event of perf's knows the tracepoint. */
	event = tally_counter_any_event(c);
	call = event ? tally_trace_event(event) : NULL;
	if (!call)
		return -ENODEV;
	if (counts_by_itself(call) || counts_unseen(c, call))
		return -EOPNOTSUPP;
	f = tally_filter_parse(call, text);
	if (IS_ERR(f))
		return PTR_ERR(f);
	ev->filter = f;
	err = ev->overflow ? filter_overflows(ev) : filter_counting(ev);
	if (err) {
		ev->filter = NULL;
		tally_filter_free(f);
	}
	return err;
}

/**
 * tally_event_set_filter - count only records that pass a filter, from now on
 * @ev: an event of a tracepoint or kernel probe, which a file has
 * @text: the filter, in the language of perf's
 *
 * The count goes on from what it is. The filter ends with the event.
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL for another kind of event and for a text that is no filter
 * of its fields; EEXIST if the event has a filter; EOPNOTSUPP for a frequency,
 * sigtrap, an inherited event whose period is not 1, the sched_stat_*
 * tracepoints, sched_wak* of a task on one CPU, a tracepoint that perf lets
 * nobody sample, an event whose fields are not known, and one without a period
 * if TALLY_TRICK_HAND_OVER is off; ENODEV while its CPU is offline; ENOMEM;
 * EINTR for a signal while the task is in exec(); E2BIG for too many
 * comparisons; EPERM, ENOENT and ESRCH as the kernel's parser returns for a
 * formula that is not well formed; or another error of tally_hand_over_works(),
 * tally_counter_replace() or tally_counter_set_period().
 */
int tally_event_set_filter(struct tally_event *ev, const char *text)
{
	const struct tally_target *target = &ev->counter->target;
	int err;

	if (!tally_filter_can(&ev->attr))
		return -EINVAL;
	if (!ev->overflow) {
		err = tally_hand_over_works();
		if (err)
			return err;
	}
	/* exec() removes perf's events before the first of them is replaced, or after the last. */
	err = tally_target_lock(target);
	if (err)
		return err;
	tally_counter_lock(ev->counter);
	err = set_filter(ev, text);
	tally_counter_unlock(ev->counter);
	tally_target_unlock(target);
	return err;
}
