// SPDX-License-Identifier: GPL-2.0
/* Tests of the queue between an overflow and its bottom halves, without concurrency. */
#include <kunit/test.h>
#include <linux/slab.h>
#include "base/queue.h"

#define NEAR_WRAP	(U32_MAX - 5)

static const struct tally_sample *peek_irq(const struct tally_queue *q)
{
	return tally_queue_peek(q, TALLY_STAGE_IRQ);
}

static const struct tally_sample *peek_work(const struct tally_queue *q)
{
	return tally_queue_peek(q, TALLY_STAGE_WORK);
}

static struct tally_queue *queue_new(struct kunit *test, unsigned int size,
				     bool irq, bool work)
{
	struct tally_queue *q = kunit_kzalloc(test, sizeof(*q), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, q);
	KUNIT_ASSERT_EQ(test,
			tally_queue_init(q, size, irq, work, NUMA_NO_NODE), 0);
	return q;
}

/* Sets all positions to @pos, as after long use. */
static void begin_at(struct tally_queue *q, unsigned int pos)
{
	q->reserved = pos;
	q->head = pos;
	q->done[TALLY_STAGE_IRQ] = pos;
	q->done[TALLY_STAGE_WORK] = pos;
}

static bool put(struct tally_queue *q, u64 sequence)
{
	struct tally_sample *s = tally_queue_reserve(q);

	if (!s)
		return false;
	s->sequence = sequence;
	tally_queue_commit(q);
	return true;
}

static void expect_next(struct kunit *test, struct tally_queue *q,
			enum tally_stage stage, u64 sequence)
{
	const struct tally_sample *s = tally_queue_peek(q, stage);

	KUNIT_EXPECT_NOT_NULL(test, s);
	if (!s)
		return;
	KUNIT_EXPECT_EQ(test, s->sequence, sequence);
	/* Peeking does not remove the sample. */
	KUNIT_EXPECT_PTR_EQ(test, tally_queue_peek(q, stage), s);
	tally_queue_pop(q, stage);
}

static void expect_missed(struct kunit *test, struct tally_queue *q, long want)
{
	KUNIT_EXPECT_EQ(test, local_read(&q->missed), want);
	KUNIT_EXPECT_EQ(test, local_read(&q->untold), want);
}

static void queue_empty(struct kunit *test)
{
	unsigned int stages;
	struct tally_queue *q;

	for (stages = 1; stages < 4; stages++) {
		q = queue_new(test, 4, stages & 1, stages & 2);
		KUNIT_EXPECT_NULL(test, tally_queue_peek(q, q->first));
		KUNIT_EXPECT_NULL(test, tally_queue_peek(q, q->last));
		put(q, 1);
		expect_next(test, q, q->first, 1);
		KUNIT_EXPECT_NULL(test, tally_queue_peek(q, q->first));
		if (stages == 3)
			expect_next(test, q, q->last, 1);
		KUNIT_EXPECT_NULL(test, tally_queue_peek(q, q->last));
		expect_missed(test, q, 0);
		tally_queue_destroy(q);
		KUNIT_EXPECT_NULL(test, q->samples);
	}
}

struct size {
	unsigned int asked;
	unsigned int places;
};

static const struct size sizes[] = {
	{ 1, 1 }, { 2, 2 }, { 3, 4 }, { 4, 4 }, { 255, 256 }, { 256, 256 },
	{ TALLY_QUEUE_MAX, TALLY_QUEUE_MAX },
};

static void size_desc(const struct size *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u", size->asked);
}

KUNIT_ARRAY_PARAM(sizes, sizes, size_desc);

static void queue_full(struct kunit *test)
{
	const struct size *size = test->param_value;
	struct tally_queue *q = queue_new(test, size->asked, false, true);
	unsigned int i;

	for (i = 0; i < size->places; i++)
		if (!put(q, i))
			break;
	KUNIT_EXPECT_EQ(test, i, size->places);
	expect_missed(test, q, 0);
	for (i = 1; i < 4; i++) {
		KUNIT_EXPECT_FALSE(test, put(q, 12345));
		expect_missed(test, q, i);
	}
	/* Exactly one place becomes free. */
	expect_next(test, q, TALLY_STAGE_WORK, 0);
	KUNIT_EXPECT_TRUE(test, put(q, size->places));
	KUNIT_EXPECT_FALSE(test, put(q, 12345));
	expect_missed(test, q, 4);
	for (i = 1; i <= size->places; i++)
		expect_next(test, q, TALLY_STAGE_WORK, i);
	KUNIT_EXPECT_NULL(test, peek_work(q));
	tally_queue_destroy(q);
}

/* The queue is never full, and each place is used many times. */
static void queue_wraps_places(struct kunit *test)
{
	struct tally_queue *q = queue_new(test, 4, true, false);
	u64 in = 0, out = 0;

	while (in < 40) {
		while (in < out + 3)
			KUNIT_EXPECT_TRUE(test, put(q, in++));
		expect_next(test, q, TALLY_STAGE_IRQ, out++);
		expect_next(test, q, TALLY_STAGE_IRQ, out++);
	}
	expect_missed(test, q, 0);
	tally_queue_destroy(q);
}

static void wrap_positions(struct kunit *test, unsigned int size)
{
	struct tally_queue *q = queue_new(test, size, true, true);
	u64 in = 0, out = 0;

	begin_at(q, NEAR_WRAP);
	while (in < 12 + size) {
		while (put(q, in))
			in++;
		KUNIT_EXPECT_EQ(test, in - out, (u64)size);
		KUNIT_EXPECT_NULL(test, peek_work(q));
		expect_next(test, q, TALLY_STAGE_IRQ, out);
		expect_next(test, q, TALLY_STAGE_WORK, out++);
		while (peek_irq(q))
			tally_queue_pop(q, TALLY_STAGE_IRQ);
		while (out < in)
			expect_next(test, q, TALLY_STAGE_WORK, out++);
	}
	KUNIT_EXPECT_LT(test, q->reserved, NEAR_WRAP);
	KUNIT_EXPECT_EQ(test, q->head, q->reserved);
	tally_queue_destroy(q);
}

/* Positions have 32 bits, and wrap after long use. */
static void queue_wraps_positions(struct kunit *test)
{
	unsigned int size;

	for (size = 1; size <= 16; size *= 2)
		wrap_positions(test, size);
}

/* A queue with one stage only does not wait for the other stage. */
static void queue_one_stage(struct kunit *test)
{
	enum tally_stage stage;
	struct tally_queue *q;
	u64 i;

	for (stage = TALLY_STAGE_IRQ; stage < TALLY_STAGES; stage++) {
		q = queue_new(test, 2, stage == TALLY_STAGE_IRQ,
			      stage == TALLY_STAGE_WORK);
		for (i = 0; i < 10; i++) {
			KUNIT_EXPECT_TRUE(test, put(q, i));
			expect_next(test, q, stage, i);
			KUNIT_EXPECT_NULL(test, tally_queue_peek(q, stage));
		}
		expect_missed(test, q, 0);
		tally_queue_destroy(q);
	}
}

static void queue_both_stages(struct kunit *test)
{
	struct tally_queue *q = queue_new(test, 4, true, true);
	u64 i;

	for (i = 0; i < 4; i++)
		put(q, i);
	/* The work stage sees a sample only after the interrupt stage has popped it. */
	KUNIT_EXPECT_NULL(test, peek_work(q));
	expect_next(test, q, TALLY_STAGE_IRQ, 0);
	expect_next(test, q, TALLY_STAGE_IRQ, 1);
	expect_next(test, q, TALLY_STAGE_WORK, 0);
	/* A place is free after both stages: this is true for one place by now. */
	KUNIT_EXPECT_TRUE(test, put(q, 4));
	KUNIT_EXPECT_FALSE(test, put(q, 12345));
	expect_next(test, q, TALLY_STAGE_WORK, 1);
	KUNIT_EXPECT_NULL(test, peek_work(q));
	for (i = 2; i < 5; i++)
		expect_next(test, q, TALLY_STAGE_IRQ, i);
	KUNIT_EXPECT_NULL(test, peek_irq(q));
	KUNIT_EXPECT_TRUE(test, put(q, 5));
	KUNIT_EXPECT_FALSE(test, put(q, 12345));
	for (i = 2; i < 5; i++)
		expect_next(test, q, TALLY_STAGE_WORK, i);
	KUNIT_EXPECT_NULL(test, peek_work(q));
	expect_next(test, q, TALLY_STAGE_IRQ, 5);
	expect_next(test, q, TALLY_STAGE_WORK, 5);
	expect_missed(test, q, 2);
	tally_queue_destroy(q);
}

/* A writer that interrupts another one must not publish the other one's place. */
static void queue_nested(struct kunit *test)
{
	struct tally_queue *q = queue_new(test, 4, true, false);
	struct tally_sample *outer, *inner;

	begin_at(q, NEAR_WRAP + 4);
	outer = tally_queue_reserve(q);
	inner = tally_queue_reserve(q);
	KUNIT_ASSERT_NOT_NULL(test, outer);
	KUNIT_ASSERT_NOT_NULL(test, inner);
	KUNIT_EXPECT_PTR_NE(test, outer, inner);
	inner->sequence = 2;
	tally_queue_commit(q);
	KUNIT_EXPECT_NULL(test, peek_irq(q));
	outer->sequence = 1;
	tally_queue_commit(q);
	expect_next(test, q, TALLY_STAGE_IRQ, 1);
	expect_next(test, q, TALLY_STAGE_IRQ, 2);
	KUNIT_EXPECT_NULL(test, peek_irq(q));
	tally_queue_destroy(q);
}

/* Three nested writers, and one more writer on each level on the way back. */
static void queue_nested_thrice(struct kunit *test)
{
	struct tally_queue *q = queue_new(test, 8, true, false);
	struct tally_sample *s[3];
	u64 i;

	for (i = 0; i < 3; i++) {
		s[i] = tally_queue_reserve(q);
		KUNIT_ASSERT_NOT_NULL(test, s[i]);
	}
	for (i = 3; i--;) {
		KUNIT_EXPECT_NULL(test, peek_irq(q));
		s[i]->sequence = i;
		if (i)
			put(q, 5 - i);
		KUNIT_EXPECT_NULL(test, peek_irq(q));
		tally_queue_commit(q);
	}
	/* No writer is interrupted now: this sample is published at once. */
	KUNIT_EXPECT_TRUE(test, put(q, 5));
	for (i = 0; i < 6; i++)
		expect_next(test, q, TALLY_STAGE_IRQ, i);
	KUNIT_EXPECT_NULL(test, peek_irq(q));
	KUNIT_EXPECT_EQ(test, q->nest, 0);
	tally_queue_destroy(q);
}

static void queue_nested_full(struct kunit *test)
{
	struct tally_queue *q = queue_new(test, 1, true, false);
	struct tally_sample *outer = tally_queue_reserve(q);

	KUNIT_ASSERT_NOT_NULL(test, outer);
	KUNIT_EXPECT_FALSE(test, put(q, 12345));
	expect_missed(test, q, 1);
	/* The refused writer does not publish the outer writer's place. */
	KUNIT_EXPECT_NULL(test, peek_irq(q));
	KUNIT_EXPECT_EQ(test, q->nest, 1);
	outer->sequence = 1;
	tally_queue_commit(q);
	expect_next(test, q, TALLY_STAGE_IRQ, 1);
	KUNIT_EXPECT_NULL(test, peek_irq(q));
	KUNIT_EXPECT_TRUE(test, put(q, 2));
	expect_next(test, q, TALLY_STAGE_IRQ, 2);
	tally_queue_destroy(q);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(queue_empty),
	KUNIT_CASE_PARAM(queue_full, sizes_gen_params),
	KUNIT_CASE(queue_wraps_places),
	KUNIT_CASE(queue_wraps_positions),
	KUNIT_CASE(queue_one_stage),
	KUNIT_CASE(queue_both_stages),
	KUNIT_CASE(queue_nested),
	KUNIT_CASE(queue_nested_thrice),
	KUNIT_CASE(queue_nested_full),
	{ }
};

static struct kunit_suite queue_suite = {
	.name = "tally_queue",
	.test_cases = queue_cases,
};

kunit_test_suite(queue_suite);
