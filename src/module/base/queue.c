// SPDX-License-Identifier: GPL-2.0
/*
 * Samples on their way from an overflow to the bottom halves of its event.
 *
 * One queue for each event and CPU. Writers run on that CPU only, in any
 * context: one may interrupt another and is done before that one goes on. So
 * they need neither locks nor anything another CPU sees, but they must publish
 * in order: whoever interrupted nobody publishes for all.
 *
 *	sample = tally_queue_reserve(q);
 *	if (sample) {
 *		*sample = ...;
 *		tally_queue_commit(q);
 *	}
 *
 * There is one reader for each stage at a time: the interrupt's is on the same
 * CPU, the work's on any.
 *
 *	while ((sample = tally_queue_peek(q, stage))) {
 *		handle(sample);
 *		tally_queue_pop(q, stage);
 *	}
 *
 * What is ordered against what:
 *
 * A. A writer fills a place, then moves @head by a store-release; the first
 *    stage load-acquires @head before it reads the place.
 * B. The first stage is done with a place, then moves its @done by a
 *    store-release; the second load-acquires that before it reads the place.
 *    What it reads was filled before A, which B carries on.
 * C. The last stage has read a place, then moves its @done by a store-release; a
 *    writer load-acquires that before it fills the place again.
 * D. Between writers of one CPU there are compiler barriers alone: the one that
 *    interrupts has ended, with all it wrote, when the other goes on.
 */
#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "compat.h"
#include "base/queue.h"

/**
 * tally_queue_init - an empty queue
 * @q: the queue, all zero
 * @size: how many samples it is to hold at least
 * @irq: the interrupt's stage reads it
 * @work: the work's stage reads it
 * @node: NUMA node of its CPU
 *
 * Context: Process context, may sleep.
 * Return: 0 or ENOMEM.
 */
int tally_queue_init(struct tally_queue *q, unsigned int size, bool irq,
		     bool work, int node)
{
	size = roundup_pow_of_two(size);
	q->samples = kvmalloc_node(array_size(size, sizeof(*q->samples)),
				   GFP_KERNEL | __GFP_ZERO, node);
	if (!q->samples)
		return -ENOMEM;
	q->mask = size - 1;
	q->first = irq ? TALLY_STAGE_IRQ : TALLY_STAGE_WORK;
	q->last = work ? TALLY_STAGE_WORK : TALLY_STAGE_IRQ;
	return 0;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_queue_init);

void tally_queue_destroy(struct tally_queue *q)
{
	kvfree(q->samples);
	q->samples = NULL;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_queue_destroy);

/*
 * The end of a writer. One that interrupted another leaves publishing to it:
 * the places below its own may not be filled yet. After the outermost published
 * what it saw, one more may have come and left it to us.
 */
static void leave(struct tally_queue *q)
{
	unsigned int nest = q->nest;
	unsigned int head;

	if (nest > 1) {
		barrier(); /* D */
		WRITE_ONCE(q->nest, nest - 1);
		return;
	}
	for (;;) {
		head = READ_ONCE(q->reserved);
		smp_store_release(&q->head, head); /* A */
		barrier(); /* D: what comes now publishes for itself */
		WRITE_ONCE(q->nest, 0);
		barrier(); /* D */
		if (READ_ONCE(q->reserved) == head)
			return;
		WRITE_ONCE(q->nest, 1);
		barrier(); /* D */
	}
}

/**
 * tally_queue_reserve - take a place
 * @q: the queue
 *
 * Context: Any context, on the queue's CPU, which must not change until the
 * place is committed.
 * Return: the place, to be filled and committed; NULL if there is none, which
 * is counted.
 */
struct tally_sample *tally_queue_reserve(struct tally_queue *q)
{
	unsigned int pos, old;

	WRITE_ONCE(q->nest, q->nest + 1);
	barrier(); /* D */
	old = READ_ONCE(q->reserved);
	do {
		pos = old;
		if (pos - smp_load_acquire(&q->done[q->last]) > q->mask) { /* C */
			local_inc(&q->missed);
			local_inc(&q->untold);
			leave(q);
			return NULL;
		}
		old = cmpxchg_local(&q->reserved, pos, pos + 1);
	} while (old != pos);
	return &q->samples[pos & q->mask];
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_queue_reserve);

/**
 * tally_queue_commit - the place that was reserved is filled
 * @q: the queue
 *
 * Context: As tally_queue_reserve().
 */
void tally_queue_commit(struct tally_queue *q)
{
	leave(q);
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_queue_commit);

/**
 * tally_queue_peek - the next sample for a stage
 * @q: the queue
 * @stage: the caller, one at a time
 *
 * Context: Any context.
 * Return: the sample, valid until tally_queue_pop(); NULL if there is none.
 */
const struct tally_sample *tally_queue_peek(const struct tally_queue *q,
					    enum tally_stage stage)
{
	unsigned int pos = READ_ONCE(q->done[stage]);
	unsigned int end;

	if (stage == q->first)
		end = smp_load_acquire(&q->head); /* A */
	else
		end = smp_load_acquire(&q->done[q->first]); /* B */
	return pos == end ? NULL : &q->samples[pos & q->mask];
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_queue_peek);

/**
 * tally_queue_pop - a stage is done with the sample it peeked at
 * @q: the queue
 * @stage: the caller
 *
 * Context: Any context.
 */
void tally_queue_pop(struct tally_queue *q, enum tally_stage stage)
{
	smp_store_release(&q->done[stage], q->done[stage] + 1); /* B, C */
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_queue_pop);
