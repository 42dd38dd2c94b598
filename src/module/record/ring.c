// SPDX-License-Identifier: GPL-2.0
/*
 * A ring of records, in the layout and with the protocol of perf's rings.
 *
 * One CPU writes at a time. With writers on two CPUs, @nest could stay above 0, and no
 * record would be published again. So there are two kinds of rings, as in perf:
 * - The ring of a CPU has the records that are made on this CPU: those of an
 *   event on all CPUs, on one CPU, or of a task on one CPU.
 * - The ring of a task has the records that are made on the CPU where the task runs.
 * No event writes to a ring from elsewhere:
 * - Events of another CPU or task cannot share the ring: may_share() in
 *   output.c. Children run anywhere: an inherited event has a ring only if it
 *   is on one CPU (mapping.c, set_output() in output.c, builder/check.c, and
 *   check_leader() in device/open.c).
 * - perf delivers sched_waking, sched_wakeup and sched_stat_* to events of the woken task,
 *   too, on the CPU of the waker. perf_tp_event() selects events that are bound to this
 *   CPU: their rings are of the first kind. perf's own rings depend on it.
 *
 * On that CPU, an interrupt or an NMI may come at any instruction of a writer,
 * and be a writer itself. Each writer reserves its bytes by moving the head,
 * fills them in, and commits. The writer that came last ends first; so when the
 * outermost one commits, all that was reserved is filled in, and it publishes
 * all of it to the reader. tests/model/ring.pml is a model of this protocol for
 * spin. The comments of ring.c and ring.h name the labels of the model in
 * brackets.
 *
 * The reader is another CPU, or a user program that may write anything to the header page.
 * Writers read nothing of that page but data_tail, of which only the place in the ring
 * counts, as in perf. A wrong data_tail costs the program its own records only.
 *
 * In overwrite mode writers wait for no reader. But a writer that goes all
 * around the ring must not overtake one that it has interrupted: both would
 * write to the same bytes. So the ring has room only up to where the outermost
 * writer began; a record that finds no room there is lost, and counted.
 *
 * Ordering:
 *
 * R. A writer reads the reader's data_tail before it writes to the bytes that
 *    the reader has freed: a control dependency. It pairs with the reader's
 *    barrier between reading the bytes and writing data_tail.
 * S. A writer writes the bytes before it stores data_head, with a store-release
 *    that pairs with the reader's load-acquire of data_head.
 * U. A writer stores the head before it stores @poll_events, with release, and wakes the
 *    reader. The reader is in the wait queue before it clears @poll_events. The queue's lock
 *    orders a wake-up and a poll that comes after it.
 *
 * Writers of a ring are on one CPU: compiler barriers order them. When the task of a ring moves to
 * another CPU, the scheduler orders the writers before and after.
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
#include "compat.h"
#include "record/ring.h"

/* ---- writing ---- */

/* Counts the record as lost, and again the @unreported ones that it was to report. */
static struct tally_room no_room(struct tally_ring *r, u64 unreported)
{
	local_add(unreported + 1, &r->lost);
	tally_ring_commit(r);
	return (struct tally_room){ };
}

/* tally_ring_reserve() for all cases but the common one. */
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
		if (unlikely(!tally_ring_has_room(r, end, size)))
			return no_room(r, room.lost);
	} while (unlikely(local_cmpxchg(&r->head, head, end) != head)); /* [reserve] */
	room.to = tally_ring_reserved(r, end, size);
	return room;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_ring_reserve_rest);

/*
 * The outermost writer calls this if the head has moved since it read the head:
 * a writer that interrupted it has committed a record, and has left publishing
 * to it. This function publishes until the head stands still.
 */
void tally_ring_publish_again(struct tally_ring *r)
{
	unsigned long head;

	do {
		WRITE_ONCE(r->nest, 1);
		head = tally_ring_publish(r);
	} while (unlikely(head != local_read(&r->head))); /* [again] */
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_ring_publish_again);

/**
 * tally_ring_count - count a sample towards the reader's wake-up
 * @r: the ring, in which the sample is reserved
 * @wakeup_events: number of samples that wake the reader
 *
 * Context: As for tally_ring_commit(), which is to follow.
 */
void tally_ring_count(struct tally_ring *r, u32 wakeup_events)
{
	if (local_add_return(1, &r->events) < wakeup_events)
		return;
	/* One wake-up is for all samples that were counted up to here. */
	local_set(&r->events, 0);
	WRITE_ONCE(r->wake, true);
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_ring_count);

/* Wakes the reader, in irq_work. Any context. */
void tally_ring_wake(struct tally_ring *r)
{
	WRITE_ONCE(r->wake, false);
	smp_store_release(&r->poll_events, (__force int)(EPOLLIN | EPOLLRDNORM)); /* U */
	tally_kick(&r->kick);
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_ring_wake);

/* tally_ring_init()'s argument; not changed later. */
static void (*wake_outputs)(struct tally_ring *r);

/* Runs in hard interrupt, on PREEMPT_RT in a thread: a wait queue has a spinlock_t. */
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

/* Drops a reference. The ring is freed a grace period after the last one: writers use it. */
void tally_ring_put(struct tally_ring *r)
{
	if (refcount_dec_and_test(&r->refs))
		queue_rcu_work(ring_wq, &r->free);
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_ring_put);

static bool alloc_pages_of(struct tally_ring *r, int node)
{
	unsigned int i;

	r->pages = kvcalloc(r->nr_pages + 1, sizeof(*r->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	for (i = 0; r->pages && i <= r->nr_pages; i++) {
		r->pages[i] = alloc_pages_node(node, GFP_KERNEL_ACCOUNT | __GFP_ZERO |
					       __GFP_NOWARN, 0);
		if (!r->pages[i])
			return false;
		cond_resched();
	}
	return r->pages;
}

/* Maps the data twice in a row: a record that wraps goes on in the second mapping. */
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
 * tally_ring_new - make a ring
 * @how: what the ring is like
 *
 * Context: Process context, may sleep.
 * Return: the ring, with one reference; NULL if there is no memory.
 */
struct tally_ring *tally_ring_new(const struct tally_ring_how *how)
{
	int node = how->cpu < 0 ? NUMA_NO_NODE : cpu_to_node(how->cpu);
	struct tally_ring *r = kzalloc_node(sizeof(*r), GFP_KERNEL_ACCOUNT, node);

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
EXPORT_SYMBOL_TALLY_KUNIT(tally_ring_new);

/**
 * tally_ring_map - map a ring into a program
 * @r: the ring, which lives longer than the mapping
 * @vma: the mapping, of 1 + tally_ring::nr_pages pages
 *
 * The data pages are read-only, also in a writable mapping.
 *
 * Context: Process context, with the program's mmap lock.
 * Return: 0, or the error of remap_pfn_range().
 */
int tally_ring_map(const struct tally_ring *r, struct vm_area_struct *vma)
{
	vm_flags_t flags = vma->vm_flags & ~VM_WRITE;
	pgprot_t prot = vma->vm_page_prot, data;
	unsigned long addr = vma->vm_start;
	unsigned int i;
	int err = 0;

	/* Without VM_READ, data of a write-only mapping would fault at each read, for ever. */
	if (vma->vm_flags & VM_WRITE)
		flags |= VM_READ;
	data = vm_get_page_prot(flags);

	for (i = 0; i <= r->nr_pages && !err; i++, addr += PAGE_SIZE) {
		err = remap_pfn_range(vma, addr, page_to_pfn(r->pages[i]), PAGE_SIZE, prot);
		/* Data pages are read-only: a write faults, and is refused. */
		prot = data;
		cond_resched();
	}
	/* The kernel unmaps a failed mapping later than the pages may be freed. */
	if (err)
		tally_zap_vma(vma, vma->vm_start, addr - vma->vm_start);
	return err;
}

/**
 * tally_ring_init - set up what all rings need
 * @woken: wakes those who poll a ring's files; called in irq_work: in hard
 *	interrupt, or on PREEMPT_RT in a thread
 *
 * Context: Process context, before there is any ring.
 * Return: 0, or ENOMEM.
 */
int tally_ring_init(void (*woken)(struct tally_ring *r))
{
	wake_outputs = woken;
	ring_wq = alloc_workqueue("tally_ring", TALLY_WQ_PERCPU, 0);
	return ring_wq ? 0 : -ENOMEM;
}

/* No ring is referenced any more; those that wait for their grace period are freed. */
void tally_ring_exit(void)
{
	rcu_barrier();
	destroy_workqueue(ring_wq);
}
