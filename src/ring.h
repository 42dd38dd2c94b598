/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_RING_H
#define TALLY_RING_H

#include <linux/cache.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/poll.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <asm/local.h>
#include "mlock.h"

struct page;
struct perf_event_mmap_page;
struct vm_area_struct;

/* The most pages of data: 2^TALLY_RING_ORDER. */
#define TALLY_RING_ORDER	20

/**
 * struct tally_ring - records of one CPU, or of one task, for a reader
 * @data: the data, twice in a row, so that no record is ever in two pieces
 * @size: bytes of it, a power of two
 * @backward: each record is in front of the one before
 * @overwrite: the oldest records go; else the newest do, when there is no room
 * @paused: nothing is written; set in process context
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
 * @irq_work: wakes the reader
 * @refs: everybody who may still look at it
 * @maps: how many mappings there are; guarded by the outputs' lock
 * @outputs: what writes here, and who waits for that; guarded by the outputs' lock,
 *	and read under RCU
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
	struct irq_work irq_work;
	refcount_t refs;
	unsigned int maps;
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

struct tally_ring *tally_ring_new(const struct tally_ring_how *how);
void tally_ring_put(struct tally_ring *r);
void *tally_ring_reserve(struct tally_ring *r, unsigned int size,
			 unsigned int lost_size, u64 *lost);
void tally_ring_commit(struct tally_ring *r);
void tally_ring_count(struct tally_ring *r, u32 wakeup_events);
void tally_ring_wake(struct tally_ring *r);
int tally_ring_map(const struct tally_ring *r, struct vm_area_struct *vma);

static inline struct tally_ring *tally_ring_get(struct tally_ring *r)
{
	refcount_inc(&r->refs);
	return r;
}

int tally_ring_init(void);
void tally_ring_exit(void);

#endif /* TALLY_RING_H */
