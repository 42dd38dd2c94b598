// SPDX-License-Identifier: GPL-2.0
/*
 * Records other than samples: LOST, THROTTLE and UNTHROTTLE, and those of
 * tasks. Each may end with the fields that identify a sample.
 */
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "base/kick.h"
#include "base/pmu.h"
#include "record/output.h"
#include "record/record.h"
#include "record/ring.h"

/* A task that has been reaped has no number any more: -1, as perf has it. */
static u32 number(const struct tally_output *out, struct task_struct *p, enum pid_type type)
{
	u32 nr = __task_pid_nr_ns(p, type, out->ns);

	return nr || pid_alive(p) ? nr : -1;
}

/* The process id of a task in the PID namespace of the event's maker. */
u32 tally_output_pid(const struct tally_output *out, struct task_struct *p)
{
	return number(out, p, PIDTYPE_TGID);
}

/* The thread id of a task in the PID namespace of the event's maker. */
u32 tally_output_tid(const struct tally_output *out, struct task_struct *p)
{
	return number(out, p, PIDTYPE_PID);
}

/* The fields of the trailer, if the event has sample_id_all; returns their end. */
static u64 *put_trailer(const struct tally_output *out, u64 *to,
			const struct perf_event *event, struct task_struct *task)
{
	u64 type = out->type;

	if (!out->trailer)
		return to;
	if (type & PERF_SAMPLE_TID)
		*to++ = tally_word_tid(out, task);
	if (type & PERF_SAMPLE_TIME)
		*to++ = tally_word_now(out);
	if (type & PERF_SAMPLE_ID)
		*to++ = out->id;
	if (type & PERF_SAMPLE_STREAM_ID)
		*to++ = tally_word_stream_id(out, event);
	if (type & PERF_SAMPLE_CPU)
		*to++ = raw_smp_processor_id();
	if (type & PERF_SAMPLE_IDENTIFIER)
		*to++ = out->id;
	return to;
}

/**
 * tally_record_lost - write a PERF_RECORD_LOST
 * @out: the output of the event
 * @to: room for tally_record_lost_size() bytes
 * @event: perf's event; NULL for a record of a task
 * @lost: number of records that were lost
 *
 * Context: Any context, without preemption.
 * Return: the end of the record.
 */
u64 *tally_record_lost(const struct tally_output *out, u64 *to,
		       const struct perf_event *event, u64 lost)
{
	*to++ = tally_word_header(PERF_RECORD_LOST, 0, tally_record_lost_size(out));
	*to++ = out->id;
	*to++ = lost;
	return put_trailer(out, to, event, current);
}

/**
 * tally_record_throttle - write a PERF_RECORD_THROTTLE or PERF_RECORD_UNTHROTTLE
 * @out: the output of the event
 * @s: the slot of the output that @r is in
 * @r: the ring of this CPU
 * @event: perf's event, which overflows: for the last time before it is
 *	throttled, or for the first time after that
 *
 * Context: Any context, without preemption.
 */
void tally_record_throttle(struct tally_output *out, struct tally_output_slot *s,
			   struct tally_ring *r, const struct perf_event *event)
{
	unsigned int size = sizeof(struct perf_event_header) + 3 * sizeof(u64) + out->trailer;
	bool begins = tally_pmu_throttled(event);
	u64 *to;

	s->throttled = begins;
	to = tally_record_reserve(out, r, event, size);
	if (!to)
		return;
	*to++ = tally_word_header(begins ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0, size);
	*to++ = tally_word_now(out);
	*to++ = out->id;
	*to++ = tally_word_stream_id(out, event);
	put_trailer(out, to, event, current);
	tally_ring_commit(r);
}

/**
 * tally_record_task_event - write a record of what a task does
 * @out: the output of the event
 * @type: PERF_RECORD_*
 * @misc: the misc word of the record's header
 * @task: the task that the trailer names
 * @body: the record behind its header; the time that FORK and EXIT have in it
 *	is filled in here
 * @size: bytes of @body, a multiple of 8
 *
 * Nothing is written where there is no ring.
 *
 * Context: Any context.
 */
void tally_record_task_event(struct tally_output *out, u32 type, u16 misc,
			     struct task_struct *task, const void *body, size_t size)
{
	unsigned int whole = sizeof(struct perf_event_header) + size + out->trailer;
	struct tally_output_slot *slot;
	struct tally_kick *signal;
	struct tally_ring *r;
	u64 *to;

	preempt_disable_notrace();
	r = tally_output_here(out, &slot);
	to = r ? tally_record_reserve(out, r, NULL, whole) : NULL;
	if (to) {
		/* Each wake-up sends a signal, too; tally_file_overflow() does so for overflows. */
		signal = READ_ONCE(r->wake) ? READ_ONCE(out->signal) : NULL;
		*to++ = tally_word_header(type, misc, whole);
		memcpy(to, body, size);
		put_trailer(out, to + size / sizeof(*to), NULL, task);
		if (type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT)
			to[2] = tally_word_now(out);
		tally_ring_commit(r);
		if (signal)
			tally_kick(signal);
	}
	preempt_enable_notrace();
}
