/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_QUEUE_H
#define TALLY_QUEUE_H

#include <asm/local.h>
#include <tally/tally.h>

/* Who reads a queue. With both, a sample goes to the interrupt's first. */
enum tally_stage {
	TALLY_STAGE_IRQ,
	TALLY_STAGE_WORK,
	TALLY_STAGES,
};

/**
 * struct tally_queue - samples of one event on one CPU, on their way
 * @samples: 2^n of them
 * @mask: 2^n - 1
 * @first: the stage that reads what writers publish
 * @last: the stage after which a place is free again
 * @nest: writers that interrupted each other, on this CPU
 * @reserved: places that writers took, ever; written on this CPU only
 * @head: places that readers may read, ever; written on this CPU only
 * @done: places that each stage is done with, ever; written by that stage only
 * @missed: overflows that found no place; written on this CPU only
 * @untold: how many of those no sample has told of yet
 */
struct tally_queue {
	struct tally_sample *samples;
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

/* The number of samples in a queue: what was asked for, rounded up. */
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
