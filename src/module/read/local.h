/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LOCAL_H
#define TALLY_LOCAL_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include "event/event.h"

/*
 * All of these: on the CPU that @event, of @s, is counting on, with interrupts
 * disabled, and where tally_local_check() allows it.
 */

/*
 * The event that is being read on this CPU, innermost. One of several, nobody
 * knows which, if it points to itself.
 */
DECLARE_PER_CPU(const void *, tally_reading);

/* What the slot has counted. */
static inline u64 tally_local_value(const struct tally_slot *s,
				    struct perf_event *event)
{
	const void **reading, *outer;

	if (!s->still) {
		reading = raw_cpu_ptr(&tally_reading);
		outer = *reading;
		WRITE_ONCE(*reading, outer ? (const void *)reading : event);
		barrier(); /* J */
		s->read(event);
		barrier(); /* J */
		WRITE_ONCE(*reading, outer);
	}
	return local64_read(&event->count) + s->bank.value;
}

/* All that perf knows of the slot, as of @now of local_clock(). */
static inline void tally_local_totals(const struct tally_slot *s,
				      struct perf_event *event, u64 now,
				      struct tally_totals *t)
{
	s64 since = now + READ_ONCE(event->ctx->timeoffset) - event->tstamp;

	since = max(since, 0LL);

	t->value = tally_local_value(s, event);
	t->enabled = s->bank.enabled + event->total_time_enabled + since;
	t->running = s->bank.running + event->total_time_running + since;
}

int tally_local_check(const struct tally_event *ev, const struct tally_slot *s,
		      struct perf_event *event, int cpu, bool irqs_off);

int tally_local_read(struct tally_event *ev, int cpu, bool irqs_off, bool whole,
		     u64 now, struct tally_count *count);

#endif /* TALLY_LOCAL_H */
