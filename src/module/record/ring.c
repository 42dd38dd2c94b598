// SPDX-License-Identifier: GPL-2.0
/*
 * A ring of records, in the layout and with the protocol of perf's.
 *
 * One CPU writes at a time; on it, a writer may be interrupted by another one, in
 * an interrupt or an NMI, at any instruction. Each reserves its bytes by moving the
 * head, fills them in, and commits. Who interrupts ends first; so when the
 * outermost writer commits, all that was reserved is filled in, and it alone tells
 * the reader how far that is. tests/model/ring.pml is this file, for spin: its
 * labels are named here in brackets.
 *
 * The reader is another CPU, or a user program that may write what it wants to the
 * header page. Of that only data_tail is read, and all that it can do is to lose
 * records that the reader would have got.
 *
 * In overwrite mode nobody waits for a reader. But a writer that was interrupted is
 * not to be overtaken, all around the ring: then two would write to the same bytes.
 * So those that interrupt it keep behind where it began; what finds no room there
 * is lost, and counted.
 *
 * Ordering:
 *
 * R. The reader's data_tail is read before the bytes that it frees are written:
 *    a control dependency. It pairs with the reader's barrier between reading the
 *    bytes and writing data_tail.
 * S. The bytes are written before data_head says so, by a store-release that pairs
 *    with the reader's load-acquire of data_head.
 * T. What is between writers is on one CPU: compiler barriers.
 * U. The head is published before @told is set and the reader is woken; it waits in
 *    its queue before it takes @told. Both are ordered by the queue's lock.
 */
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include "record/ring.h"

/* ---- writing ---- */

static struct tally_room no_room(struct tally_ring *r, u64 told)
{
	/* This one, and those that it was to tell of. */
	local_add(told + 1, &r->lost);
	tally_ring_commit(r);
	return (struct tally_room){ };
}

/* The rest of tally_ring_reserve(), when it is not as it mostly is. */
struct tally_room tally_ring_reserve_rest(struct tally_ring *r, unsigned int nest,
					  unsigned int size, unsigned int lost_size)
{
	struct tally_room room = { };
	unsigned long head, end;

	if (unlikely(local_read(&r->lost)) && !READ_ONCE(r->paused)) {
		room.lost = local_xchg(&r->lost, 0);
		if (room.lost)
			size += lost_size;
	}
	if (!nest)
		WRITE_ONCE(r->first, local_read(&r->head)); /* [first] */
	if (unlikely(READ_ONCE(r->paused)))
		return no_room(r, room.lost);
	do {
		head = local_read(&r->head);
		end = head + size;
		if (unlikely(!tally_ring_has_room(r, end) || size > r->size))
			return no_room(r, room.lost);
	} while (unlikely(local_cmpxchg(&r->head, head, end) != head)); /* [reserve] */
	room.to = tally_ring_reserved(r, end, size);
	return room;
}

/* Somebody came after the head was read, and left it to us. */
void tally_ring_publish_again(struct tally_ring *r)
{
	unsigned long head;

	do {
		WRITE_ONCE(r->nest, 1);
		head = tally_ring_publish(r);
	} while (unlikely(head != local_read(&r->head))); /* [again] */
}

/**
 * tally_ring_count - one more sample, of which so many wake the reader
 * @r: the ring, with a record reserved
 * @wakeup_events: how many
 *
 * Context: As tally_ring_commit(), before that.
 */
void tally_ring_count(struct tally_ring *r, u32 wakeup_events)
{
	if (local_add_return(1, &r->events) < wakeup_events)
		return;
	/* The outermost writer tells of all that were counted: none is left. */
	local_set(&r->events, 0);
	WRITE_ONCE(r->wake, true);
}

/* The reader may look; any context. */
void tally_ring_wake(struct tally_ring *r)
{
	WRITE_ONCE(r->wake, false);
	WRITE_ONCE(r->told, (__force int)(EPOLLIN | EPOLLRDNORM)); /* U */
	tally_kick(&r->kick);
}

/* What finds those who wait for records of a ring. */
static void (*wake_outputs)(struct tally_ring *r);

static void wake(struct tally_kick *kick)
{
	wake_outputs(container_of(kick, struct tally_ring, kick));
}

/* ---- its life ---- */

static struct workqueue_struct *ring_wq;

static void free_ring(struct tally_ring *r)
{
	unsigned int i;

	if (r->data)
		vunmap(r->data);
	for (i = 0; r->pages && i <= r->nr_pages && r->pages[i]; i++)
		__free_page(r->pages[i]);
	kvfree(r->pages);
	kfree(r);
}

static void end_ring(struct work_struct *work)
{
	struct tally_ring *r = container_of(to_rcu_work(work), struct tally_ring, free);

	tally_kick_sync(&r->kick);
	free_ring(r);
}

/* The last one takes the memory, after a grace period: a writer may be at it. */
void tally_ring_put(struct tally_ring *r)
{
	if (refcount_dec_and_test(&r->refs))
		queue_rcu_work(ring_wq, &r->free);
}

static bool alloc_pages_of(struct tally_ring *r, int node)
{
	unsigned int i;

	r->pages = kvcalloc(r->nr_pages + 1, sizeof(*r->pages), GFP_KERNEL | __GFP_NOWARN);
	for (i = 0; r->pages && i <= r->nr_pages; i++) {
		r->pages[i] = alloc_pages_node(node, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN, 0);
		if (!r->pages[i])
			return false;
		cond_resched();
	}
	return r->pages;
}

/* Twice in a row: what would wrap at the end goes on in the second one. */
static void *map_twice(struct tally_ring *r)
{
	struct page **twice;
	void *data;

	twice = kvcalloc(2 * r->nr_pages, sizeof(*twice), GFP_KERNEL | __GFP_NOWARN);
	if (!twice)
		return NULL;
	memcpy(twice, r->pages + 1, r->nr_pages * sizeof(*twice));
	memcpy(twice + r->nr_pages, r->pages + 1, r->nr_pages * sizeof(*twice));
	data = vmap(twice, 2 * r->nr_pages, VM_MAP, PAGE_KERNEL);
	kvfree(twice);
	return data;
}

static void init_page(const struct tally_ring *r)
{
	struct perf_event_mmap_page *page = r->page;

	page->cap_bit0_is_deprecated = 1;
	page->size = offsetof(struct perf_event_mmap_page, __reserved);
	page->data_offset = PAGE_SIZE;
	page->data_size = r->size;
}

/**
 * tally_ring_new - a ring
 * @how: what it is to be like
 *
 * Context: Process context, may sleep.
 * Return: the ring, with one reference; NULL for want of memory.
 */
struct tally_ring *tally_ring_new(const struct tally_ring_how *how)
{
	int node = how->cpu < 0 ? NUMA_NO_NODE : cpu_to_node(how->cpu);
	struct tally_ring *r = kzalloc_node(sizeof(*r), GFP_KERNEL, node);

	if (!r)
		return NULL;
	r->nr_pages = how->nr_pages;
	r->size = (unsigned long)how->nr_pages << PAGE_SHIFT;
	r->backward = how->backward;
	r->overwrite = how->overwrite;
	r->watermark = min_t(unsigned long, how->watermark ?: r->size / 2, r->size);
	refcount_set(&r->refs, 1);
	spin_lock_init(&r->outputs_lock);
	INIT_LIST_HEAD(&r->outputs);
	tally_kick_init(&r->kick, wake, false);
	INIT_RCU_WORK(&r->free, end_ring);
	if (alloc_pages_of(r, node))
		r->data = map_twice(r);
	if (!r->data) {
		free_ring(r);
		return NULL;
	}
	r->page = page_address(r->pages[0]);
	init_page(r);
	return r;
}

/**
 * tally_ring_map - show it to a program
 * @r: the ring, which lives longer than the mapping
 * @vma: where, of just the right size
 *
 * Only the header page can be written to, if anything: see tally_output_mmap().
 *
 * Return: 0, or what remap_pfn_range() says.
 */
int tally_ring_map(const struct tally_ring *r, struct vm_area_struct *vma)
{
	vm_flags_t flags = vma->vm_flags & ~VM_WRITE;
	pgprot_t prot = vma->vm_page_prot, data;
	unsigned long addr = vma->vm_start;
	unsigned int i;
	int err = 0;

	/* What can be written to can be read: else each look would fault, for ever. */
	if (vma->vm_flags & VM_WRITE)
		flags |= VM_READ;
	data = vm_get_page_prot(flags);

	for (i = 0; i <= r->nr_pages && !err; i++, addr += PAGE_SIZE) {
		err = remap_pfn_range(vma, addr, page_to_pfn(r->pages[i]), PAGE_SIZE, prot);
		/* All others are told by the first write to them: it fails. */
		prot = data;
		cond_resched();
	}
	/* The pages may go before the kernel takes the rest of a mapping that failed. */
	if (err)
		zap_vma_ptes(vma, vma->vm_start, addr - vma->vm_start);
	return err;
}

/**
 * tally_ring_init - before there are rings
 * @woken: wakes those who wait for records of a ring; called in hard interrupt
 *
 * Return: 0, or ENOMEM.
 */
int tally_ring_init(void (*woken)(struct tally_ring *r))
{
	wake_outputs = woken;
	ring_wq = alloc_workqueue("tally_ring", 0, 0);
	return ring_wq ? 0 : -ENOMEM;
}

/* Nobody has a ring any more, but some may not be gone yet. */
void tally_ring_exit(void)
{
	rcu_barrier();
	destroy_workqueue(ring_wq);
}
