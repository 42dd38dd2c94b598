/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_RECORD_H
#define TALLY_RECORD_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include "record/output.h"
#include "record/ring.h"

u64 *tally_record_lost(const struct tally_output *out, u64 *to,
		       const struct perf_event *event, u64 lost);
void tally_record_throttle(struct tally_output *out, struct tally_output_slot *s,
			   struct tally_ring *r, const struct perf_event *event);
void tally_record_task_event(struct tally_output *out, u32 type, u16 misc,
			     struct task_struct *task, const void *body, size_t size);
u32 tally_output_pid(const struct tally_output *out, struct task_struct *p);
u32 tally_output_tid(const struct tally_output *out, struct task_struct *p);

/* The words that samples and all other records are made of. */

static inline u64 tally_word_header(u32 type, u16 misc, u16 size)
{
	union {
		struct perf_event_header h;
		u64 word;
	} u = { .h = { .type = type, .misc = misc, .size = size } };

	static_assert(sizeof(u.h) == sizeof(u.word));
	return u.word;
}

static inline u64 tally_word_two(u32 first, u32 second)
{
	union {
		u32 half[2];
		u64 word;
	} u = { .half = { first, second } };

	return u.word;
}

static __always_inline u64 tally_word_tid(const struct tally_output *out, struct task_struct *p)
{
	if (likely(out->global && pid_alive(p)))
		return tally_word_two(p->tgid, p->pid);
	return tally_word_two(tally_output_pid(out, p), tally_output_tid(out, p));
}

/* Most events have the default clock: comparing is cheaper than an indirect call. */
static __always_inline u64 tally_word_now(const struct tally_output *out)
{
	return likely(!out->clock) ? local_clock() : out->clock();
}

/* A child's stream id is its own; only stream ids have bit 63. */
static inline u64 tally_word_stream_id(const struct tally_output *out,
				       const struct perf_event *event)
{
	return event && event->parent ? BIT_ULL(63) | event->id : out->id;
}

/* Bytes of a PERF_RECORD_LOST. */
static inline unsigned int tally_record_lost_size(const struct tally_output *out)
{
	return sizeof(struct perf_event_header) + 2 * sizeof(u64) + out->trailer;
}

/*
 * Reserves room for a record of @size bytes, which the caller fills in before tally_ring_commit().
 * Returns NULL if there is none: then the record is counted as lost. Records that were lost before
 * are reported in front of the record, by a PERF_RECORD_LOST.
 */
static __always_inline u64 *tally_record_reserve(struct tally_output *out,
						 struct tally_ring *r,
						 const struct perf_event *event,
						 unsigned int size)
{
	struct tally_room room = tally_ring_reserve(r, size, tally_record_lost_size(out));

	if (unlikely(!room.to)) {
		atomic64_inc(&out->lost);
		return NULL;
	}
	if (unlikely(room.lost))
		return tally_record_lost(out, room.to, event, room.lost);
	return room.to;
}

/* The ring of this CPU, or of the task; NULL if there is none. Preemption is off. */
static inline struct tally_ring *
tally_output_here(struct tally_output *out, struct tally_output_slot **slot)
{
	*slot = &out->slots[raw_smp_processor_id() & out->slot_mask];
	return rcu_dereference_sched((*slot)->ring);
}

#endif /* TALLY_RECORD_H */
