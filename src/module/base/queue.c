// SPDX-License-Identifier: GPL-2.0
/*
 * A queue of samples, from the callback to the bottom halves of an event.
 *
 * Each event has one queue for each CPU. Writers run on that CPU only, in any
 * context. A writer may interrupt another one, and ends before the other one
 * goes on. So writers need no locks and no atomic operations across CPUs, but
 * the samples must become visible in order: only the outermost writer
 * publishes, for all that interrupted it.
 *
 *	sample = tally_queue_reserve(q);
 *	if (sample) {
 *		*sample = ...;
 *		tally_queue_commit(q);
 *	}
 *
 * Each stage has one reader at a time. The reader of the interrupt's stage runs
 * on the queue's CPU, that of the work's stage on any CPU.
 *
 *	while ((sample = tally_queue_peek(q, stage))) {
 *		handle(sample);
 *		tally_queue_pop(q, stage);
 *	}
 *
 * Ordering:
 *
 * - leave() stores @head with release when places are filled. tally_queue_peek() of the first
 *   stage load-acquires it before it returns a place.
 * - tally_queue_pop() stores @done of its stage with release when a place was
 *   read. The second stage's tally_queue_peek() load-acquires the first stage's
 *   @done, and so sees what the writer filled in. tally_queue_reserve()
 *   load-acquires the last stage's before a place is filled again.
 * - Writers are on one CPU, and one that interrupts another has ended when the other goes on.
 *   Compiler barriers are enough between them: those of tally_queue_reserve() and leave().
 *
 * tests/model/queue.pml is a model of this file for spin, which names its
 * labels: those in brackets in the comments.
 */
#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "compat.h"
#include "base/payload.h"
#include "base/queue.h"

/**
 * tally_queue_init - make a queue ready
 * @q: the queue, all zero
 * @size: least number of samples that the queue has room for
 * @irq: the interrupt's stage reads the queue
 * @work: the work's stage reads the queue
 * @node: NUMA node of the queue's CPU
 *
 * Context: Process context, may sleep.
 * Return: 0 or ENOMEM.
 */
int tally_queue_init(struct tally_queue *q, unsigned int size, bool irq,
		     bool work, int node)
{
	size = roundup_pow_of_two(size);
	q->samples = kvmalloc_node(array_size(size, sizeof(*q->samples)),
				   GFP_KERNEL_ACCOUNT | __GFP_ZERO, node);
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
	kvfree(q->payloads);
	q->payloads = NULL;
	kvfree(q->samples);
	q->samples = NULL;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_queue_destroy);

/*
 * The end of a writer. A writer that interrupted another one publishes nothing:
 * places in front of its own may not be filled yet. After the outermost writer
 * has published, it looks again: a writer that interrupted it before it cleared
 * @nest has not published.
 */
static void leave(struct tally_queue *q)
{
	unsigned int nest = q->nest;
	unsigned int head;

	if (nest > 1) {
		barrier(); /* the place is filled */
		WRITE_ONCE(q->nest, nest - 1); /* [leave] */
		return;
	}
	for (;;) {
		head = READ_ONCE(q->reserved); /* [again] */
		smp_store_release(&q->head, head); /* tally_queue_peek() */
		barrier(); /* writers publish before they leave */
		WRITE_ONCE(q->nest, 0); /* [last] */
		barrier(); /* a writer that comes now publishes for itself */
		if (READ_ONCE(q->reserved) == head)
			return;
		WRITE_ONCE(q->nest, 1);
		barrier(); /* a writer that comes now leaves publishing to this one */
	}
}

/**
 * tally_queue_reserve - take a place for a sample
 * @q: the queue
 *
 * Context: Any context, on the queue's CPU, with preemption disabled until the
 * place is committed.
 * Return: the place, for the caller to fill and commit; NULL if the queue is
 * full, which counts as missed.
 */
struct tally_sample *tally_queue_reserve(struct tally_queue *q)
{
	unsigned int pos, old;

	WRITE_ONCE(q->nest, q->nest + 1); /* [enter] */
	barrier(); /* a writer that comes now leaves publishing to this one */
	old = READ_ONCE(q->reserved);
	do {
		pos = old;
		if (pos - smp_load_acquire(&q->done[q->last]) > q->mask) { /* tally_queue_pop() */
			local_inc(&q->missed);
			local_inc(&q->untold);
			leave(q);
			return NULL;
		}
		old = cmpxchg_local(&q->reserved, pos, pos + 1); /* [reserve] */
	} while (old != pos);
	return &q->samples[pos & q->mask];
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_queue_reserve);

/**
 * tally_queue_commit - hand a filled place to the readers
 * @q: the queue, with a place that the caller has reserved
 *
 * Context: As tally_queue_reserve().
 */
void tally_queue_commit(struct tally_queue *q)
{
	leave(q);
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_queue_commit);

/**
 * tally_queue_peek - find the next sample for a stage
 * @q: the queue
 * @stage: the stage of the caller, which is its only reader
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
		end = smp_load_acquire(&q->head); /* leave() */
	else
		end = smp_load_acquire(&q->done[q->first]); /* tally_queue_pop() */
	return pos == end ? NULL : &q->samples[pos & q->mask];
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_queue_peek);

/**
 * tally_queue_pop - end the use of the sample that tally_queue_peek() returned
 * @q: the queue
 * @stage: the stage of the caller
 *
 * Context: Any context.
 */
void tally_queue_pop(struct tally_queue *q, enum tally_stage stage)
{
	smp_store_release(&q->done[stage], q->done[stage] + 1); /* peek, reserve */
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_queue_pop);
