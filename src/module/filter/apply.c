// SPDX-License-Identifier: GPL-2.0
/*
 * A tracepoint's event with a filter: it counts, and overflows for, what passes.
 *
 * perf looks at its own filters before it counts; of ours it knows nothing. So it is
 * told to overflow each time, and what does not pass is taken off its count in the
 * callback, on the CPU where it was just added. A reader on another CPU may see it
 * for that moment. The event's own period is counted here.
 *
 * An event of a file may be given a filter when it is there already, and one that
 * only counts has no callback. So those of tracepoints have one from the beginning,
 * with a period that does not end.
 */
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include "event/event.h"
#include "filter/filter.h"
#include "event/overflow.h"
#include "base/pmu.h"
#include "filter/apply.h"

/* What an event's filter can be asked about: what perf calls tracing. */
bool tally_filter_can(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_TRACEPOINT ||
	       (attr->type >= PERF_TYPE_MAX &&
		(int)attr->type == tally_pmu_type("kprobe"));
}

/* perf has the data in one piece. */
static bool passes(const struct tally_overflow *of, const struct perf_sample_data *data)
{
	const struct perf_raw_record *raw = data->raw;

	return data->sample_flags & PERF_SAMPLE_RAW && raw &&
	       tally_filter_match(of->filter, raw->frag.data, raw->frag.size);
}

/**
 * tally_filter_take - whether it passes, and is the last of a period
 * @of: the event's, with TALLY_SPECIAL_FILTER
 * @oc: its part on this CPU
 * @event: perf's event, maybe a child's
 * @data: receives the period
 *
 * Context: Any context, without preemption.
 */
bool tally_filter_take(struct tally_overflow *of, struct tally_overflow_cpu *oc,
		struct perf_event *event, struct perf_sample_data *data)
{
	s64 period = READ_ONCE(of->filter_period);
	local_t *passed = of->filter_one ? &of->passed : &oc->passed;

	if (!passes(of, data)) {
		local64_dec(&event->count);
		return false;
	}
	if (period <= 1)
		return period;
	if (local_add_return(1, passed) < period)
		return false;
	local_sub(period, passed);
	data->period = period;
	return true;
}

static struct trace_event_call *call_of(const struct tally_counter *c)
{
	const struct tally_slot *s;

	lockdep_assert_held(&c->lock);
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		if (s->event)
			return s->event->tp_event;
	return NULL;
}

/* Each time it overflows, unless perf does so anyway. */
static s64 own_period(const struct tally_event *ev)
{
	if (ev->attr.sample_type & PERF_SAMPLE_PERIOD)
		return !!ev->attr.sample_period;
	return ev->attr.sample_period;
}

/* Each of these counts nanoseconds, of which perf makes so many overflows. */
static bool counts_by_itself(struct trace_event_call *call)
{
	return !strncmp(trace_event_name(call), "sched_stat_", strlen("sched_stat_"));
}

static int set_filter(struct tally_event *ev, const char *text)
{
	struct tally_overflow *of = ev->overflow;
	struct tally_counter *c = ev->counter;
	struct trace_event_call *call;
	struct tally_filter *f;
	int err;

	if (of->filter)
		return -EEXIST;
	/* The children's periods are out of reach. */
	if (ev->attr.freq || (c->attr.inherit && c->attr.sample_period != 1))
		return -EOPNOTSUPP;
	/* perf sends the signal before it asks us, and one that can only count never asks. */
	if (ev->attr.sigtrap || !c->attr.sample_period)
		return -EOPNOTSUPP;
	call = call_of(c);
	if (!call)
		return -ENODEV;
	if (counts_by_itself(call))
		return -EOPNOTSUPP;
	f = tally_filter_parse(call, text);
	if (IS_ERR(f))
		return PTR_ERR(f);
	WRITE_ONCE(of->filter_period, own_period(ev));
	of->filter_one = !tally_counter_on_all_cpus(c);
	of->filter = f;
	tally_overflow_special(of, TALLY_SPECIAL_FILTER, 0);
	err = c->attr.sample_period == 1 ? 0 : tally_counter_set_period(c, 1);
	if (!err)
		return 0;
	tally_overflow_special(of, 0, TALLY_SPECIAL_FILTER);
	synchronize_rcu();
	of->filter = NULL;
	tally_filter_free(f);
	return err;
}

/**
 * tally_event_set_filter - count what passes a filter, from now on
 * @ev: an event of a tracepoint or kernel probe that a file has
 * @text: as perf's filters are written
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL for another kind of event and for a text that is no filter of
 * its fields, EEXIST if it has one, EOPNOTSUPP for a frequency, sigtrap, an inherited
 * event whose period is not 1, the sched_stat_* tracepoints, one that perf lets nobody
 * sample, and for what only perf can look at, ENODEV while its CPU is
 * offline, ENOMEM; EPERM, ENOENT and ESRCH as perf's parser tells of parentheses,
 * operands and quotes.
 */
int tally_event_set_filter(struct tally_event *ev, const char *text)
{
	int err;

	if (!ev->overflow || !tally_filter_can(&ev->attr))
		return -EINVAL;
	mutex_lock(&ev->counter->lock);
	err = set_filter(ev, text);
	mutex_unlock(&ev->counter->lock);
	return err;
}
