/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_QUEUE_H
#define TALLY_QUEUE_H

#include <asm/local.h>
#include <tally/tally.h>

/* Readers of a queue. If a queue has both, the interrupt's reads each sample first. */
enum tally_stage {
	TALLY_STAGE_IRQ,
	TALLY_STAGE_WORK,
	TALLY_STAGES,
};

/**
 * struct tally_queue - queue of samples, of one event on one CPU
 * @samples: places for samples; their number is a power of two
 * @payloads: memory of the payloads of @samples; NULL if they have none
 * @mask: number of places, less 1
 * @first: stage that reads a sample first
 * @last: stage that reads a sample last, and frees its place
 * @nest: depth of writers that interrupted each other; written on this CPU only
 * @reserved: number of places ever taken by writers; written on this CPU only
 * @head: number of places ever published; written on this CPU only
 * @done: number of places that each stage has ever read; written by the stage only
 * @missed: number of overflows that found no place, or whose samples are
 *	dropped; written on this CPU only, until the event ends
 * @untold: number of those without a place that tally_sample::missed does not contain yet
 */
struct tally_queue {
	struct tally_sample *samples;
	void *payloads;
	unsigned int mask;
	enum tally_stage first;
	enum tally_stage last;
	unsigned int nest;
	unsigned int reserved;
	unsigned int head;
	unsigned int done[TALLY_STAGES];
	local_t missed;
	local_t untold;
};

/* Places of a queue, before they are rounded up to a power of two. */
#define TALLY_QUEUE_DEFAULT	256
#define TALLY_QUEUE_MAX		65536

int tally_queue_init(struct tally_queue *q, unsigned int size, bool irq,
		     bool work, int node);
void tally_queue_destroy(struct tally_queue *q);
struct tally_sample *tally_queue_reserve(struct tally_queue *q);
void tally_queue_commit(struct tally_queue *q);
const struct tally_sample *tally_queue_peek(const struct tally_queue *q,
					    enum tally_stage stage);
void tally_queue_pop(struct tally_queue *q, enum tally_stage stage);

#endif /* TALLY_QUEUE_H */
