/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_RING_H
#define TALLY_RING_H

#include <linux/cache.h>
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
 * @data: the data, twice in a row, so that no record is ever in two pieces
 * @size: bytes of it, a power of two
 * @backward: each record is in front of the one before
 * @overwrite: the oldest records go; else the newest do, when there is no room
 * @paused: nothing is written; set in any context
 * @watermark: how many bytes wake the reader
 * @nest: how many writers there are, one having interrupted the other
 * @wake: the reader is to be woken
 * @head: how many bytes have been given out
 * @first: where @head was when the outermost writer came
 * @woken: where @head is taken to have been when the reader was last woken
 * @lost: records that found no room, and that no record told of yet
 * @events: samples since the reader was last woken for those
 * @page: the header page, which user programs may write to: nothing is read from
 *	it but how far they have read
 * @told: what poll() is to answer; taken away by that
 * @kick: wakes the reader
 * @refs: everybody who may still look at it
 * @maps: how many mappings there are; guarded by the outputs' lock
 * @outputs_lock: taken in interrupt
 * @outputs: what writes here, and who waits for that; changed under both the outputs'
 *	lock and @outputs_lock
 * @pages: the header's, and those of the data
 * @nr_pages: how many of data
 * @mlock: who is charged for the pages, while they are mapped
 * @free: the end of it, a grace period after @refs
 *
 * Those from @nest to @events are written by the CPU that the ring is of, or that the
 * task is running on: one at a time, and what interrupts it.
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
	int told;
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
 * struct tally_ring_how - what a ring is to be like
 * @nr_pages: of data; a power of two
 * @watermark: bytes that wake the reader; 0 for half of the data
 * @backward: as in the ring
 * @overwrite: as in the ring
 * @cpu: whose memory is the nearest; -1 for any
 */
struct tally_ring_how {
	unsigned int nr_pages;
	u32 watermark;
	bool backward;
	bool overwrite;
	int cpu;
};

/**
 * struct tally_room - room for a record; small enough for a function to return
 * @to: where; NULL if there is none: it is counted, and all is done
 * @lost: how many were lost; if there are any, their record is to be written first, in
 *	front of the other one
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

/* Of one that is found under RCU; false if it is about to be freed. */
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

/* Whether the bytes up to @end may be written over. */
static __always_inline bool tally_ring_has_room(const struct tally_ring *r, unsigned long end)
{
	unsigned long tail;

	if (r->overwrite)
		return end - READ_ONCE(r->first) <= r->size;
	tail = READ_ONCE(r->page->data_tail); /* R */
	/* As perf, which never has a ring quite full. */
	return end - (r->backward ? -tail : tail) < r->size;
}

/* Where the record is that was given room, whose end has the number @end. */
static __always_inline void *tally_ring_reserved(struct tally_ring *r, unsigned long end,
						 unsigned int size)
{
	unsigned long at = r->backward ? -end : end - size;
	unsigned long woken = READ_ONCE(r->woken);

	/* Looked at once: who interrupts us may move it, but never past the head. */
	if (unlikely((long)(end - woken) > (long)r->watermark)) {
		WRITE_ONCE(r->woken, woken + r->watermark);
		WRITE_ONCE(r->wake, true);
	}
	return r->data + (at & (r->size - 1));
}

/**
 * tally_ring_reserve - room for a record
 * @r: the ring
 * @size: of the record, a multiple of 8
 * @lost_size: of the record that tells of those that were lost
 *
 * Context: Any context, NMI included, on the CPU that writes to it, which stays the
 * same until tally_ring_commit().
 * Return: where, if there is room.
 */
static __always_inline struct tally_room tally_ring_reserve(struct tally_ring *r,
							    unsigned int size,
							    unsigned int lost_size)
{
	unsigned int nest = r->nest;
	unsigned long head, end;

	WRITE_ONCE(r->nest, nest + 1); /* [enter] */
	barrier(); /* T */
	if (unlikely(local_read(&r->lost) || READ_ONCE(r->paused)))
		goto rest;
	head = local_read(&r->head);
	if (!nest)
		WRITE_ONCE(r->first, head); /* [first] */
	end = head + size;
	/* What has no room, or was interrupted here, begins again. */
	if (unlikely(!tally_ring_has_room(r, end) || size > r->size) ||
	    unlikely(local_cmpxchg(&r->head, head, end) != head)) /* [reserve] */
		goto rest;
	return (struct tally_room){ .to = tally_ring_reserved(r, end, size) };
rest:
	return tally_ring_reserve_rest(r, nest, size, lost_size);
}

/* As far as all is filled in; returns how far that is. */
static __always_inline unsigned long tally_ring_publish(struct tally_ring *r)
{
	unsigned long head;

	barrier(); /* T */
	head = local_read(&r->head);
	smp_store_release(&r->page->data_head, /* S [publish] */
			  (u64)(r->backward ? -head : head));
	barrier(); /* T */
	WRITE_ONCE(r->nest, 0); /* [last] */
	barrier(); /* T */
	return head;
}

/**
 * tally_ring_commit - the record is filled in
 * @r: the ring
 *
 * Context: As the tally_ring_reserve() before.
 */
static __always_inline void tally_ring_commit(struct tally_ring *r)
{
	unsigned int nest;

	barrier(); /* T */
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
