// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the queue of overflows, with writers that interrupt each other and a reader on
 * another CPU.
 *
 * On x86, a breakpoint on a word of the queue interrupts a writer right after each store
 * to the word. So the tests interrupt the writer at each place between two stores. On all
 * machines, timers interrupt the writer at random places.
 */
#include <kunit/test.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include "compat.h"
#include "base/queue.h"
#include "storm.h"

#define UNFILLED	(~0ULL)

/* ---- after each single store ---- */

/**
 * struct at_store - a writer that interrupts another writer right after a store
 * @q: the queue
 * @countdown: stores of the other writer until this one writes
 * @writes: number of samples to write then
 * @next: next sequence number of both writers
 * @refused: number of writes that found no place
 * @head: last head that was seen; readers may have read up to it
 * @early: number of samples that were published before they were filled, or unpublished
 * @came: this writer has written
 */
struct at_store {
	struct tally_queue *q;
	unsigned int countdown;
	unsigned int writes;
	u64 next;
	unsigned int refused;
	unsigned int head;
	unsigned int early;
	bool came;
};

static void look_for_early(struct at_store *at)
{
	const struct tally_queue *q = at->q;
	unsigned int pos = q->done[q->first];
	unsigned int head = READ_ONCE(q->head);
	unsigned int seen = head - pos;
	bool back = (int)(head - at->head) < 0;

	at->head = head;
	if (back || seen > q->mask + 1) {
		at->early++;
		return;
	}
	for (; seen--; pos++)
		if (q->samples[pos & q->mask].sequence == UNFILLED)
			at->early++;
}

static void write_one(struct at_store *at)
{
	struct tally_sample *s = tally_queue_reserve(at->q);

	if (!s) {
		at->refused++;
		return;
	}
	s->sequence = at->next++;
	tally_queue_commit(at->q);
}

static void stored(struct perf_event *event, struct perf_sample_data *data,
		   struct pt_regs *regs)
{
	struct at_store *at = event->overflow_handler_context;
	unsigned int i;

	look_for_early(at);
	if (!at->countdown || --at->countdown)
		return;
	at->came = true;
	for (i = 0; i < at->writes; i++)
		write_one(at);
	look_for_early(at);
}

static struct perf_event *watch(struct at_store *at, void *word)
{
	struct perf_event_attr attr;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)word;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_type = HW_BREAKPOINT_W;
	attr.sample_period = 1;
	return perf_event_create_kernel_counter(&attr, -1, current, stored, at);
}

/* Checks that each sample that was written is in the queue once, and filled. */
static void expect_written(struct kunit *test, struct at_store *at,
			   const char *what)
{
	const struct tally_sample *s;
	u64 seen = 0, sum = 0;

	while (seen <= at->next &&
	       (s = tally_queue_peek(at->q, TALLY_STAGE_WORK))) {
		KUNIT_EXPECT_LT_MSG(test, s->sequence, at->next, "%s", what);
		sum += s->sequence;
		seen++;
		tally_queue_pop(at->q, TALLY_STAGE_WORK);
	}
	KUNIT_EXPECT_EQ_MSG(test, seen, at->next, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, sum, at->next * (at->next - 1) / 2, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, local_read(&at->q->missed), (long)at->refused,
			    "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, at->early, 0, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, at->q->nest, 0, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, at->q->head, at->q->reserved, "%s", what);
}

/* Interrupts a writer after its @nth store to @word. Returns whether there was one. */
static bool interrupted(struct kunit *test, struct tally_queue *q, void *word,
			unsigned int nth, unsigned int writes, const char *what)
{
	struct at_store at = {
		.q = q, .head = q->head, .countdown = nth, .writes = writes,
	};
	struct perf_event *event;
	struct tally_sample *s;
	unsigned int i;

	local_set(&q->missed, 0);
	for (i = 0; i <= q->mask; i++)
		q->samples[i].sequence = UNFILLED;
	event = watch(&at, word);
	if (IS_ERR(event)) {
		KUNIT_FAIL(test, "no breakpoint: %ld", PTR_ERR(event));
		return false;
	}
	s = tally_queue_reserve(q);
	if (s) {
		/* Fill the sample late: if it is published too early, that is seen. */
		s->sequence = UNFILLED;
		barrier();
		s->sequence = at.next++;
		tally_queue_commit(q);
	} else {
		at.refused++;
	}
	perf_event_release_kernel(event);
	expect_written(test, &at, what);
	return at.came;
}

/* Interrupts a writer after each of its stores to the queue. */
static void interrupt_each_store(struct kunit *test, unsigned int size,
				 unsigned int writes)
{
	struct tally_queue *q = kunit_kzalloc(test, sizeof(*q), GFP_KERNEL);
	const struct {
		const char *name;
		void *word;
		unsigned int stores;
	} words[] = {
		{ "nest", &q->nest, 2 },
		{ "reserved", &q->reserved, 1 },
		{ "head", &q->head, 1 },
	};
	unsigned int i, nth;
	char what[64];

	KUNIT_ASSERT_NOT_NULL(test, q);
	KUNIT_ASSERT_EQ(test, tally_queue_init(q, size, false, true,
					       NUMA_NO_NODE), 0);
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		nth = 0;
		do {
			nth++;
			snprintf(what, sizeof(what), "size %u, %u after store %u to %s",
				 size, writes, nth, words[i].name);
		} while (interrupted(test, q, words[i].word, nth, writes, what));
		KUNIT_EXPECT_GE(test, nth - 1, words[i].stores);
	}
	tally_queue_destroy(q);
}

static void queue_interrupted_at_stores(struct kunit *test)
{
	unsigned int size, writes;

	if (!IS_ENABLED(CONFIG_X86))
		kunit_skip(test, "breakpoints of other machines stop before the store");
	for (size = 1; size <= 8; size *= 2)
		for (writes = 1; writes <= 3; writes++)
			interrupt_each_store(test, size, writes);
}

/* ---- timers, and a reader on another CPU ---- */

/**
 * struct queue_storm - writers that interrupt each other, and a reader of the queue
 * @storm: the threads and timers
 * @q: the queue
 * @both: the timers' interrupts read the first stage
 * @sent: number of writes of each writer, successful or not
 * @last: sequence number that the reader last read of each writer
 * @in_order: number of samples that the interrupt's stage read
 * @received: number of samples that the reader read
 * @told: number of missed samples that were reported in samples
 * @bad: number of samples with other contents than were written
 * @disorder: number of samples that came after a newer one of the same writer
 */
struct queue_storm {
	struct storm storm;
	struct tally_queue *q;
	bool both;
	u64 sent[STORM_WRITERS];
	u64 last[STORM_WRITERS];
	u64 in_order;
	u64 received;
	u64 told;
	unsigned int bad;
	unsigned int disorder;
};

static struct queue_storm *of(struct storm *storm)
{
	return container_of(storm, struct queue_storm, storm);
}

static u64 checksum(const struct tally_sample *s)
{
	return (s->sequence * 0x9e3779b97f4a7c15ULL) ^ (s->ip << 7) ^
	       (u64)s->tid << 40 ^ s->time;
}

static void fill(struct tally_queue *q, struct tally_sample *s,
		 unsigned int writer, u64 sequence)
{
	s->tid = writer;
	s->sequence = sequence;
	s->ip = sequence * 3 + writer;
	s->time = ~sequence;
	s->missed = local_read(&q->untold) ? local_xchg(&q->untold, 0) : 0;
	s->addr = checksum(s);
}

static void send(struct queue_storm *qs, unsigned int writer)
{
	u64 sequence = qs->sent[writer] + 1;
	struct tally_sample *s;

	WRITE_ONCE(qs->sent[writer], sequence);
	s = tally_queue_reserve(qs->q);
	if (!s)
		return;
	fill(qs->q, s, writer, sequence);
	tally_queue_commit(qs->q);
}

static u64 all_sent(const struct queue_storm *qs)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < STORM_WRITERS; i++)
		sum += READ_ONCE(qs->sent[i]);
	return sum;
}

/* A queue with broken positions would never be empty: reading stops after all samples. */
static bool too_many(const struct queue_storm *qs, u64 received)
{
	return received > all_sent(qs);
}

static void first_stage(struct storm *storm)
{
	struct queue_storm *qs = of(storm);

	while (qs->both && !too_many(qs, qs->in_order) &&
	       tally_queue_peek(qs->q, TALLY_STAGE_IRQ)) {
		qs->in_order++;
		tally_queue_pop(qs->q, TALLY_STAGE_IRQ);
	}
}

static void queue_write(struct storm *storm, unsigned int writer)
{
	send(of(storm), writer);
	if (!writer)
		return;
	send(of(storm), writer);
	/* A stage has one reader at a time: the other timer may have interrupted this one. */
	if (writer == 1)
		first_stage(storm);
}

static void queue_read(struct storm *storm)
{
	struct queue_storm *qs = of(storm);
	const struct tally_sample *s;
	unsigned int writer;

	while (!too_many(qs, qs->received) &&
	       (s = tally_queue_peek(qs->q, TALLY_STAGE_WORK))) {
		writer = s->tid;
		if (writer >= STORM_WRITERS || s->addr != checksum(s) ||
		    s->ip != s->sequence * 3 + writer) {
			qs->bad++;
		} else {
			if (s->sequence <= qs->last[writer])
				qs->disorder++;
			qs->last[writer] = s->sequence;
		}
		qs->told += s->missed;
		qs->received++;
		tally_queue_pop(qs->q, TALLY_STAGE_WORK);
	}
}

static void expect_all(struct kunit *test, struct queue_storm *qs)
{
	struct tally_queue *q = qs->q;
	u64 missed = local_read(&q->missed);

	kunit_info(test, "%llu written, %llu interrupted, %llu read, %llu missed\n",
		   all_sent(qs), (u64)qs->storm.nested, qs->received, missed);
	KUNIT_EXPECT_EQ(test, qs->bad, 0);
	KUNIT_EXPECT_EQ(test, qs->disorder, 0);
	KUNIT_EXPECT_EQ(test, all_sent(qs), qs->received + missed);
	KUNIT_EXPECT_EQ(test, qs->told + local_read(&q->untold), missed);
	if (qs->both)
		KUNIT_EXPECT_EQ(test, qs->in_order, qs->received);
	KUNIT_EXPECT_GT(test, qs->received, 0ULL);
	KUNIT_EXPECT_NULL(test, tally_queue_peek(q, q->first));
	KUNIT_EXPECT_NULL(test, tally_queue_peek(q, q->last));
}

static void storm_on(struct kunit *test, unsigned int size, bool both)
{
	struct queue_storm *qs = kunit_kzalloc(test, sizeof(*qs), GFP_KERNEL);
	struct tally_queue *q = kunit_kzalloc(test, sizeof(*q), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qs);
	KUNIT_ASSERT_NOT_NULL(test, q);
	KUNIT_ASSERT_EQ(test, tally_queue_init(q, size, both, true,
					       NUMA_NO_NODE), 0);
	/* Begin near U32_MAX, so that the positions wrap. */
	q->reserved = U32_MAX - 100;
	q->head = q->reserved;
	q->done[TALLY_STAGE_IRQ] = q->reserved;
	q->done[TALLY_STAGE_WORK] = q->reserved;
	qs->q = q;
	qs->both = both;
	qs->storm.write = queue_write;
	qs->storm.end = first_stage;
	qs->storm.read = queue_read;
	storm_run(test, &qs->storm);
	expect_all(test, qs);
	tally_queue_destroy(q);
}

static void queue_storm_work(struct kunit *test)
{
	storm_on(test, 64, false);
}

static void queue_storm_both(struct kunit *test)
{
	storm_on(test, 4096, true);
}

/* The queue is full nearly all the time. */
static void queue_storm_small(struct kunit *test)
{
	storm_on(test, 2, false);
}

static struct kunit_case queue_race_cases[] = {
	KUNIT_CASE(queue_interrupted_at_stores),
	KUNIT_CASE(queue_storm_work),
	KUNIT_CASE(queue_storm_both),
	KUNIT_CASE(queue_storm_small),
	{ }
};

static struct kunit_suite queue_race_suite = {
	.name = "tally_queue_race",
	.test_cases = queue_race_cases,
};

kunit_test_suite(queue_race_suite);
