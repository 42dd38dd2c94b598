// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the writers of a ring: room, order, lost records and wake-ups; and a storm of
 * writers that interrupt each other while a reader follows them. A reader here does what a
 * program does that has mapped the ring.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include "compat.h"
#include "record/ring.h"
#include "storm.h"

/* A record: its bytes and its writer, its number, and words that follow from both. */
struct record {
	u32 size;
	u32 writer;
	u64 number;
	u64 words[];
};

#define LOST		99	/* the writer of a record of lost ones, whose number they are */
#define LOST_SIZE	sizeof(struct record)

static unsigned int size_of(u64 number)
{
	return sizeof(struct record) + number * 7 % 13 * sizeof(u64);
}

static u64 word_of(const struct record *rec, unsigned int i)
{
	return (rec->number * 0x9e3779b97f4a7c15ULL) ^ (rec->writer << 8) ^ i;
}

static bool is_good(const struct record *rec)
{
	unsigned int i;

	if (rec->writer == LOST)
		return rec->size == LOST_SIZE;
	if (rec->size != size_of(rec->number))
		return false;
	for (i = 0; i < (rec->size - sizeof(*rec)) / sizeof(u64); i++)
		if (rec->words[i] != word_of(rec, i))
			return false;
	return true;
}

static struct record *fill_head(void *to, u32 size, u32 writer, u64 number)
{
	struct record *rec = to;

	rec->size = size;
	rec->writer = writer;
	rec->number = number;
	return rec;
}

/* Fills the room in; a caller of tally_ring_reserve() does the same. */
static void fill(struct tally_room room, u32 size, u32 writer, u64 number)
{
	struct record *rec;
	unsigned int i;

	if (room.lost) {
		fill_head(room.to, LOST_SIZE, LOST, room.lost);
		room.to += LOST_SIZE;
	}
	rec = fill_head(room.to, size, writer, number);
	for (i = 0; i < (size - sizeof(*rec)) / sizeof(u64); i++)
		rec->words[i] = word_of(rec, i);
}

/* Returns whether there was room for the record. */
static bool write_one(struct tally_ring *r, u32 writer, u64 number)
{
	u32 size = size_of(number);
	struct tally_room room = tally_ring_reserve(r, size, LOST_SIZE);

	if (!room.to)
		return false;
	fill(room, size, writer, number);
	tally_ring_commit(r);
	return true;
}

/* The writers of a ring are on one CPU: the caller stays here until ring_end(). */
static struct tally_ring *ring_new(struct kunit *test, struct tally_ring_how how)
{
	struct tally_ring *r;

	how.cpu = -1;
	r = tally_ring_new(&how);
	KUNIT_ASSERT_NOT_NULL(test, r);
	migrate_disable();
	return r;
}

static void ring_end(struct tally_ring *r)
{
	migrate_enable();
	tally_ring_put(r);
}

/* Sets all positions to @head, as after long use. */
static void begin_at(struct tally_ring *r, unsigned long head)
{
	local_set(&r->head, head);
	r->first = head;
	r->woken = head;
	r->page->data_head = r->backward ? -head : head;
	r->page->data_tail = r->page->data_head;
}

static const struct record *at(const struct tally_ring *r, u64 position)
{
	return r->data + (position & (r->size - 1));
}

/* ---- one after the other ---- */

#define EACH	1024	/* bytes of each record here: 4 would fill a ring of a page */

/* A record of EACH bytes, with the room for it. */
static bool put(struct tally_ring *r, u64 number)
{
	struct tally_room room = tally_ring_reserve(r, EACH, LOST_SIZE);

	if (!room.to)
		return false;
	fill(room, EACH, 0, number);
	tally_ring_commit(r);
	return true;
}

struct how {
	const char *name;
	struct tally_ring_how how;
	unsigned long begin;
};

static const struct how hows[] = {
	{ "forward", { .nr_pages = 1 }, 0 },
	{ "forward, about to wrap", { .nr_pages = 1 }, -2UL * EACH },
	{ "forward, across the end", { .nr_pages = 1 }, 4096 - 40 },
	{ "backward", { .nr_pages = 1, .backward = true }, 0 },
	{ "backward, about to wrap", { .nr_pages = 1, .backward = true }, -2UL * EACH },
	{ "backward, across the end", { .nr_pages = 1, .backward = true }, 4096 + 40 },
};

static void how_desc(const struct how *how, char *desc)
{
	strscpy(desc, how->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(hows, hows, how_desc);

static u64 position_of(const struct tally_ring *r, unsigned long end, u32 size)
{
	return r->backward ? -(u64)end : (u64)end - size;
}

/* A ring never becomes quite full; what finds no room is lost, and the next record says so. */
static void ring_full(struct kunit *test)
{
	const struct how *how = test->param_value;
	struct tally_ring *r = ring_new(test, how->how);
	unsigned long end = how->begin;
	unsigned int i;

	begin_at(r, how->begin);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, put(r, i));
		end += EACH;
		KUNIT_EXPECT_EQ(test, r->page->data_head, (u64)(r->backward ? -end : end));
		KUNIT_EXPECT_EQ(test, at(r, position_of(r, end, EACH))->number, i);
	}
	KUNIT_EXPECT_FALSE(test, put(r, 3));
	KUNIT_EXPECT_FALSE(test, put(r, 4));
	KUNIT_EXPECT_EQ(test, local_read(&r->lost), 2);
	KUNIT_EXPECT_EQ(test, r->page->data_head, (u64)(r->backward ? -end : end));
	/* 1024 bytes more are enough for the record, but not for the news as well. */
	r->page->data_tail += r->backward ? -EACH : EACH;
	KUNIT_EXPECT_TRUE(test, put(r, 5));
	end += EACH + LOST_SIZE;
	KUNIT_EXPECT_EQ(test, local_read(&r->lost), 0);
	KUNIT_EXPECT_EQ(test, at(r, position_of(r, end, EACH + LOST_SIZE))->writer, LOST);
	KUNIT_EXPECT_EQ(test, at(r, position_of(r, end, EACH + LOST_SIZE))->number, 2);
	KUNIT_EXPECT_EQ(test, r->nest, 0);
	ring_end(r);
}

/* The byte before the tail is never written, and the last byte that is free is. */
static void ring_room(struct kunit *test)
{
	const struct how *how = test->param_value;
	struct tally_ring *r = ring_new(test, how->how);
	struct tally_room room;

	begin_at(r, how->begin);
	room = tally_ring_reserve(r, r->size, LOST_SIZE);
	KUNIT_EXPECT_NULL(test, room.to);
	KUNIT_EXPECT_EQ(test, local_read(&r->lost), 1);
	local_set(&r->lost, 0);
	room = tally_ring_reserve(r, r->size - 8, LOST_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, room.to);
	memset(room.to, 0x55, r->size - 8);
	tally_ring_commit(r);
	room = tally_ring_reserve(r, 8, LOST_SIZE);
	KUNIT_EXPECT_NULL(test, room.to);
	KUNIT_EXPECT_EQ(test, r->nest, 0);
	/* Only the place in the ring counts of a tail. */
	r->page->data_tail += (r->backward ? -8 : 8) + 5 * r->size;
	local_set(&r->lost, 0);
	room = tally_ring_reserve(r, 8, LOST_SIZE);
	KUNIT_EXPECT_NOT_NULL(test, room.to);
	if (room.to)
		tally_ring_commit(r);
	ring_end(r);
}

/* A writer that interrupts another one publishes nothing, and its record stands behind. */
static void ring_nested(struct kunit *test)
{
	const struct how *how = test->param_value;
	struct tally_ring *r = ring_new(test, how->how);
	struct tally_room outer, inner;
	unsigned long end;

	begin_at(r, how->begin);
	outer = tally_ring_reserve(r, EACH, LOST_SIZE);
	inner = tally_ring_reserve(r, EACH, LOST_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, outer.to);
	KUNIT_ASSERT_NOT_NULL(test, inner.to);
	fill(inner, EACH, 1, 1);
	tally_ring_commit(r);
	/* This one finds no room. */
	KUNIT_EXPECT_NULL(test, tally_ring_reserve(r, 3 * EACH, LOST_SIZE).to);
	KUNIT_EXPECT_EQ(test, r->page->data_head, r->page->data_tail);
	fill(outer, EACH, 0, 2);
	tally_ring_commit(r);
	end = how->begin + 2 * EACH;
	KUNIT_EXPECT_EQ(test, r->page->data_head, (u64)(r->backward ? -end : end));
	KUNIT_EXPECT_EQ(test, at(r, position_of(r, end, EACH))->writer, 1);
	KUNIT_EXPECT_EQ(test, at(r, position_of(r, end - EACH, EACH))->writer, 0);
	KUNIT_EXPECT_EQ(test, local_read(&r->lost), 1);
	KUNIT_EXPECT_EQ(test, r->nest, 0);
	ring_end(r);
}

/* New records overwrite old ones, but not the one that is being written. */
static void ring_overwrites(struct kunit *test)
{
	struct tally_ring_how how = { .nr_pages = 1, .overwrite = true, .backward = true };
	struct tally_ring *r = ring_new(test, how);
	struct tally_room outer;
	unsigned int i;

	begin_at(r, -3UL * EACH);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_TRUE(test, put(r, i));
		KUNIT_EXPECT_EQ(test, at(r, r->page->data_head)->number, i);
	}
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, at(r, r->page->data_head + i * EACH)->number, 9 - i);
	outer = tally_ring_reserve(r, EACH, LOST_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, outer.to);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, put(r, 20 + i));
	KUNIT_EXPECT_FALSE(test, put(r, 23));
	KUNIT_EXPECT_EQ(test, local_read(&r->lost), 1);
	fill(outer, EACH, 0, 19);
	tally_ring_commit(r);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, at(r, r->page->data_head + i * EACH)->number, 22 - i);
	/* The next record has all the ring again, and reports the lost one. */
	KUNIT_EXPECT_TRUE(test, put(r, 24));
	KUNIT_EXPECT_EQ(test, at(r, r->page->data_head)->writer, LOST);
	KUNIT_EXPECT_EQ(test, at(r, r->page->data_head + LOST_SIZE)->number, 24);
	ring_end(r);
}

/* All is lost while the ring is paused, and is reported when it goes on. */
static void ring_paused(struct kunit *test)
{
	struct tally_ring *r = ring_new(test, (struct tally_ring_how){ .nr_pages = 1 });
	u64 head = r->page->data_head;

	r->paused = true;
	KUNIT_EXPECT_FALSE(test, put(r, 0));
	KUNIT_EXPECT_FALSE(test, put(r, 1));
	KUNIT_EXPECT_EQ(test, r->page->data_head, head);
	r->paused = false;
	KUNIT_EXPECT_TRUE(test, put(r, 2));
	KUNIT_EXPECT_EQ(test, at(r, head)->writer, LOST);
	KUNIT_EXPECT_EQ(test, at(r, head)->number, 2);
	KUNIT_EXPECT_EQ(test, at(r, head + LOST_SIZE)->number, 2);
	ring_end(r);
}

/* Returns whether the reader is to be woken, and forgets it. */
static bool woken(struct tally_ring *r)
{
	return xchg(&r->poll_events, 0);
}

static void ring_wakes(struct kunit *test)
{
	struct tally_ring_how how = { .nr_pages = 1, .watermark = 2 * EACH };
	struct tally_ring *r = ring_new(test, how);
	struct tally_room room;
	unsigned int i;

	/* More than two records wake; the next wake-up is due two records later. */
	for (i = 0; i < 12; i++) {
		KUNIT_EXPECT_TRUE(test, put(r, i));
		KUNIT_EXPECT_EQ(test, woken(r), i && i % 2 == 0);
		r->page->data_tail = r->page->data_head;
	}
	/* Three samples wake, whatever their size. */
	begin_at(r, local_read(&r->head));
	for (i = 0; i < 9; i++) {
		room = tally_ring_reserve(r, LOST_SIZE, LOST_SIZE);
		KUNIT_ASSERT_NOT_NULL(test, room.to);
		fill(room, LOST_SIZE, 0, 0);
		tally_ring_count(r, 3);
		tally_ring_commit(r);
		KUNIT_EXPECT_EQ(test, woken(r), i % 3 == 2);
	}
	ring_end(r);
}

/* ---- timers, and a reader on another CPU ---- */

/**
 * struct ring_storm - writers that interrupt each other, and a reader of the ring
 * @storm: the threads and timers
 * @r: the ring
 * @sent: number of records of each writer, lost or not
 * @last: number of the record that was last read of each writer
 * @received: number of records that were read
 * @told: number of lost records that were reported
 * @bad: number of records with other contents than were written
 * @disorder: number of records that came after a newer one of the same writer
 * @late: number of writes of the thread that left something unpublished
 */
struct ring_storm {
	struct storm storm;
	struct tally_ring *r;
	u64 sent[STORM_WRITERS];
	u64 last[STORM_WRITERS];
	u64 received;
	u64 told;
	unsigned int bad;
	unsigned int disorder;
	unsigned int late;
};

static struct ring_storm *of(struct storm *storm)
{
	return container_of(storm, struct ring_storm, storm);
}

static void ring_write(struct storm *storm, unsigned int writer)
{
	struct ring_storm *rs = of(storm);
	struct tally_ring *r = rs->r;
	unsigned long head, published;

	write_one(r, writer, ++rs->sent[writer]);
	if (writer) {
		write_one(r, writer, ++rs->sent[writer]);
		return;
	}
	/* The thread interrupts nobody: all that has been reserved by now is published. */
	head = local_read(&r->head);
	published = READ_ONCE(r->page->data_head);
	rs->late += (long)((r->backward ? -published : published) - head) < 0;
}

/* Reads a record; a backward ring has the newest one first. */
static void take(struct ring_storm *rs, const struct record *rec)
{
	u32 writer = rec->writer;
	s64 step;

	if (!is_good(rec) || (writer >= STORM_WRITERS && writer != LOST)) {
		rs->bad++;
	} else if (writer == LOST) {
		rs->told += rec->number;
	} else {
		step = rs->last[writer] ? rec->number - rs->last[writer] : 0;
		rs->disorder += rs->last[writer] && (rs->r->backward ? step >= 0 : step <= 0);
		rs->last[writer] = rec->number;
		rs->received++;
	}
}

/* Reads from @from to @to. A record without a good size would lead anywhere. */
static void take_all(struct ring_storm *rs, u64 from, u64 to)
{
	const struct record *rec;

	for (; from != to && !rs->bad; from += rec->size) {
		rec = at(rs->r, from);
		if (rec->size < sizeof(*rec) || rec->size > to - from)
			rs->bad++;
		else
			take(rs, rec);
	}
}

static void ring_read(struct storm *storm)
{
	struct ring_storm *rs = of(storm);
	struct perf_event_mmap_page *page = rs->r->page;
	u64 head = smp_load_acquire(&page->data_head); /* S */

	take_all(rs, page->data_tail, head);
	smp_store_release(&page->data_tail, head); /* R */
}

/* The reader of a ring that is overwritten waits until nobody writes any more. */
static void ring_read_nothing(struct storm *storm)
{
}

/* The records that are wholly there, from the newest on. */
static void read_overwritten(struct ring_storm *rs)
{
	u64 at_now = rs->r->page->data_head, end = at_now + rs->r->size;

	while (!rs->bad && end - at_now >= sizeof(struct record) &&
	       at(rs->r, at_now)->size <= end - at_now) {
		take_all(rs, at_now, at_now + at(rs->r, at_now)->size);
		at_now += at(rs->r, at_now)->size;
	}
}

static void expect_all(struct kunit *test, struct ring_storm *rs)
{
	struct tally_ring *r = rs->r;
	u64 sent = 0, lost = local_read(&r->lost);
	int i;

	for (i = 0; i < STORM_WRITERS; i++)
		sent += rs->sent[i];
	kunit_info(test, "%llu written, %llu interrupted, %llu read, %llu lost\n", sent,
		   (u64)rs->storm.nested, rs->received, rs->told + lost);
	KUNIT_EXPECT_EQ(test, rs->bad, 0);
	KUNIT_EXPECT_EQ(test, rs->disorder, 0);
	KUNIT_EXPECT_EQ(test, rs->late, 0);
	KUNIT_EXPECT_GT(test, rs->received, 0ULL);
	if (!r->overwrite)
		KUNIT_EXPECT_EQ(test, sent, rs->received + rs->told + lost);
	KUNIT_EXPECT_EQ(test, r->nest, 0);
	KUNIT_EXPECT_FALSE(test, r->wake);
	KUNIT_EXPECT_NE(test, r->poll_events, 0);
	KUNIT_EXPECT_EQ(test, r->page->data_head,
			(u64)(r->backward ? -local_read(&r->head) : local_read(&r->head)));
}

static void storm_on(struct kunit *test, struct tally_ring_how how)
{
	struct ring_storm *rs = kunit_kzalloc(test, sizeof(*rs), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rs);
	rs->r = ring_new(test, how);
	/* The positions wrap, in the middle of a record. */
	begin_at(rs->r, -1000UL);
	rs->storm.write = ring_write;
	rs->storm.read = how.overwrite ? ring_read_nothing : ring_read;
	storm_run(test, &rs->storm);
	if (how.overwrite)
		read_overwritten(rs);
	expect_all(test, rs);
	ring_end(rs->r);
}

static void ring_storm_forward(struct kunit *test)
{
	storm_on(test, (struct tally_ring_how){ .nr_pages = 16 });
}

/* The ring is full most of the time. */
static void ring_storm_small(struct kunit *test)
{
	storm_on(test, (struct tally_ring_how){ .nr_pages = 1 });
}

static void ring_storm_overwrite(struct kunit *test)
{
	storm_on(test, (struct tally_ring_how){
		.nr_pages = 1, .overwrite = true, .backward = true,
	});
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE_PARAM(ring_full, hows_gen_params),
	KUNIT_CASE_PARAM(ring_room, hows_gen_params),
	KUNIT_CASE_PARAM(ring_nested, hows_gen_params),
	KUNIT_CASE(ring_overwrites),
	KUNIT_CASE(ring_paused),
	KUNIT_CASE(ring_wakes),
	KUNIT_CASE(ring_storm_forward),
	KUNIT_CASE(ring_storm_small),
	KUNIT_CASE(ring_storm_overwrite),
	{ }
};

static struct kunit_suite ring_suite = {
	.name = "tally_ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
