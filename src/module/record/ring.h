/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_RING_H
#define TALLY_RING_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <asm/local.h>
#include "base/kick.h"
#include "base/mlock.h"

struct page;
struct vm_area_struct;

/**
 * struct tally_ring - records of one CPU, or of one task, for a reader
 * @data: the data pages, mapped twice in a row, so that no record is in two pieces
 * @size: bytes of data, a power of two
 * @backward: each record lies in front of the one before
 * @overwrite: new records overwrite the oldest; else they are lost when there is no room
 * @paused: nothing is written, and what comes is lost; set in any context
 * @wake: the outermost writer is to wake the reader
 * @nest: number of writers, each on top of the one that it has interrupted
 * @watermark: bytes that wake the reader
 * @page: the header page, which programs may map writable: data_tail is the
 *	only word that writers read from it
 * @head: bytes that have been reserved, ever
 * @first: @head when the outermost writer began
 * @woken: value of @head at which the reader was last due to be woken
 * @lost: records that found no room, and that no PERF_RECORD_LOST has reported yet
 * @events: samples since tally_output::wakeup_events of them last woke the reader
 * @poll_events: events that the next poll() reports, and clears
 * @kick: wakes the reader, in irq_work
 * @refs: number of references: of slots whose outputs write here, of mappings
 *	of shared rings, and of functions that use the ring for a moment
 * @maps: number of mappings by files whose events write here; guarded by the
 *	outputs' lock
 * @outputs_lock: guards @outputs in interrupts
 * @outputs: slots whose outputs write here; changed under both the outputs'
 *	lock and @outputs_lock
 * @pages: the header page, and behind it those of the data
 * @nr_pages: number of data pages
 * @mlock: the user who is charged for @pages while they are mapped
 * @free: frees the ring a grace period after the last reference
 *
 * @wake, @nest, @first, @woken, @events and data_head in @page are written by
 * the CPU that the ring belongs to, or that the task runs on, and by nobody
 * else: by one writer, and by those that interrupt it. The same CPU writes
 * @head and @lost, by local operations. The comment at the top of ring.c says
 * why there is one such CPU. Any CPU writes @paused. Writers set @poll_events,
 * and poll() clears it. A reader writes data_tail in @page.
 */
struct tally_ring {
	void *data;
	unsigned long size;
	bool backward;
	bool overwrite;
	bool paused;
	bool wake;
	unsigned int nest;
	unsigned long watermark;
	struct perf_event_mmap_page *page;
	local_t head;
	unsigned long first;
	unsigned long woken;
	local_t lost;
	local_t events;
	int poll_events;
	struct tally_kick kick;
	refcount_t refs;
	unsigned int maps;
	spinlock_t outputs_lock; /* see above */
	struct list_head outputs;
	struct page **pages;
	unsigned int nr_pages;
	struct tally_mlock mlock;
	struct rcu_work free;
};

/**
 * struct tally_ring_how - what a new ring is like
 * @nr_pages: number of data pages, a power of two
 * @watermark: bytes that wake the reader; 0 for half of the data
 * @backward: as in struct tally_ring
 * @overwrite: as in struct tally_ring
 * @cpu: CPU whose memory the pages come from; -1 for any
 */
struct tally_ring_how {
	unsigned int nr_pages;
	u32 watermark;
	bool backward;
	bool overwrite;
	int cpu;
};

/**
 * struct tally_room - room for a record
 * @to: where the room begins; NULL if there is none, and then the record is
 *	counted as lost, and the caller does nothing more
 * @lost: number of records that a PERF_RECORD_LOST is to report, for which
 *	there is room in front of the record; 0 for none
 *
 * It is small enough to be returned in registers.
 */
struct tally_room {
	void *to;
	u64 lost;
};

struct tally_ring *tally_ring_new(const struct tally_ring_how *how);
void tally_ring_put(struct tally_ring *r);
struct tally_room tally_ring_reserve_rest(struct tally_ring *r, unsigned int nest,
					  unsigned int size, unsigned int lost_size);
void tally_ring_publish_again(struct tally_ring *r);
void tally_ring_count(struct tally_ring *r, u32 wakeup_events);
void tally_ring_wake(struct tally_ring *r);
int tally_ring_map(const struct tally_ring *r, struct vm_area_struct *vma);

/* Takes a reference to a ring that was found under RCU; false if it is being freed. */
static inline bool tally_ring_get_found(struct tally_ring *r)
{
	return refcount_inc_not_zero(&r->refs);
}

static inline struct tally_ring *tally_ring_get(struct tally_ring *r)
{
	refcount_inc(&r->refs);
	return r;
}

/* ---- writing; see ring.c for the letters, and for the labels ---- */

/* Returns whether the @size bytes up to @end may be overwritten. */
static __always_inline bool tally_ring_has_room(const struct tally_ring *r, unsigned long end,
						unsigned int size)
{
	unsigned long tail, next = end - size + 1;

	if (r->overwrite)
		return end - READ_ONCE(r->first) <= r->size;
	tail = READ_ONCE(r->page->data_tail); /* R */
	/*
	 * As in perf, the ring never becomes quite full, and only the tail's place
	 * in it counts: whatever the program writes there, records go on.
	 */
	return (((r->backward ? -tail : tail) - next) & (r->size - 1)) >= size;
}

/* The address of a record of @size bytes, which has moved the head to @end. */
static __always_inline void *tally_ring_reserved(struct tally_ring *r, unsigned long end,
						 unsigned int size)
{
	unsigned long at = r->backward ? -end : end - size;
	unsigned long woken = READ_ONCE(r->woken);

	/*
	 * @woken is read once: a writer that interrupts this one may move it,
	 * but never past the head.
	 */
	if (unlikely((long)(end - woken) > (long)r->watermark)) {
		WRITE_ONCE(r->woken, woken + r->watermark);
		WRITE_ONCE(r->wake, true);
	}
	return r->data + (at & (r->size - 1));
}

/**
 * tally_ring_reserve - reserve room for a record
 * @r: the ring
 * @size: bytes of the record, a multiple of 8
 * @lost_size: bytes of a PERF_RECORD_LOST, in case that one is due
 *
 * The caller fills the room in, and then calls tally_ring_commit().
 *
 * Context: Any context, NMI included, on the CPU that writes to the ring,
 * without preemption up to tally_ring_commit().
 * Return: the room, if there is any.
 */
static __always_inline struct tally_room tally_ring_reserve(struct tally_ring *r,
							    unsigned int size,
							    unsigned int lost_size)
{
	unsigned int nest = r->nest;
	unsigned long head, end;

	WRITE_ONCE(r->nest, nest + 1); /* [enter] */
	barrier(); /* a writer that comes now leaves publishing to this one */
	if (unlikely(local_read(&r->lost) || READ_ONCE(r->paused)))
		goto rest;
	head = local_read(&r->head);
	if (!nest)
		WRITE_ONCE(r->first, head); /* [first] */
	end = head + size;
	/* No room, or a writer came in between: the slow path tries again. */
	if (unlikely(!tally_ring_has_room(r, end, size)) ||
	    unlikely(local_cmpxchg(&r->head, head, end) != head)) /* [reserve] */
		goto rest;
	return (struct tally_room){ .to = tally_ring_reserved(r, end, size) };
rest:
	return tally_ring_reserve_rest(r, nest, size, lost_size);
}

/* Publishes all that is reserved, which is filled in by now; returns the head. */
static __always_inline unsigned long tally_ring_publish(struct tally_ring *r)
{
	unsigned long head;

	barrier(); /* all that is reserved is filled in */
	head = local_read(&r->head);
	smp_store_release(&r->page->data_head, /* S [publish] */
			  (u64)(r->backward ? -head : head));
	barrier(); /* writers publish before they leave */
	WRITE_ONCE(r->nest, 0); /* [last] */
	barrier(); /* a writer that comes now publishes for itself */
	return head;
}

/**
 * tally_ring_commit - the record that was reserved last is filled in
 * @r: the ring
 *
 * The outermost writer publishes its own records and those of all writers that
 * have interrupted it.
 *
 * Context: As for tally_ring_reserve().
 */
static __always_inline void tally_ring_commit(struct tally_ring *r)
{
	unsigned int nest;

	barrier(); /* the record is filled in */
	nest = r->nest;
	if (unlikely(nest > 1)) {
		WRITE_ONCE(r->nest, nest - 1); /* [leave] */
		return;
	}
	if (unlikely(tally_ring_publish(r) != local_read(&r->head))) /* [again] */
		tally_ring_publish_again(r);
	if (unlikely(READ_ONCE(r->wake)))
		tally_ring_wake(r);
}

int tally_ring_init(void (*woken)(struct tally_ring *r));
void tally_ring_exit(void);

#endif /* TALLY_RING_H */
