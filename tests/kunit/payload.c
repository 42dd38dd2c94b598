// SPDX-License-Identifier: GPL-2.0
/* Tests of payloads: fields of samples that are absent, in fragments, or too long. */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include "base/payload.h"

#define FIELDS	(TALLY_PAYLOAD_FIELDS | PERF_SAMPLE_ADDR | PERF_SAMPLE_BRANCH_STACK)
#define SAMPLES	3

/* The samples of a case, and bytes for their raw data. */
static struct tally_sample samples[SAMPLES];
static u8 bytes[TALLY_RAW_MOST + 8];

static int payload_init(struct kunit *test)
{
	unsigned int i;
	void *all;

	memset(samples, 0, sizeof(samples));
	all = tally_payloads_new(samples, SAMPLES, FIELDS, NUMA_NO_NODE);
	KUNIT_ASSERT_NOT_NULL(test, all);
	test->priv = all;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = i % 251 + 1;
	return 0;
}

static void payload_exit(struct kunit *test)
{
	kvfree(test->priv);
}

/* A fragment that stands elsewhere: its bytes are one more. */
static unsigned long copy_more(void *to, const void *from, unsigned long at, unsigned long n)
{
	const u8 *source = from;
	u8 *target = to;

	while (n--)
		*target++ = source[at++] + 1;
	return 0;
}

/* Fills the second sample; its neighbours must stay as they are. */
static struct tally_payload *fill(struct kunit *test, struct perf_sample_data *data, bool hide)
{
	struct tally_sample *s = &samples[1];
	u8 before[16], behind[16];

	memset(samples[0].payload->raw, 0x55, TALLY_RAW_MOST);
	memset(samples[2].payload, 0x55, sizeof(*samples[2].payload));
	memset(before, 0x55, sizeof(before));
	memset(behind, 0x55, sizeof(behind));
	s->flags = 0;
	tally_payload_fill(s, FIELDS & ~PERF_SAMPLE_WEIGHT_STRUCT, data, hide);
	KUNIT_EXPECT_EQ(test, memcmp(samples[0].payload->raw + TALLY_RAW_MOST - sizeof(before),
				     before, sizeof(before)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(samples[2].payload, behind, sizeof(behind)), 0);
	return s->payload;
}

static void fragments(struct kunit *test)
{
	struct perf_raw_record raw = {
		.frag = {
			.next = &(struct perf_raw_frag) {
				.next = &(struct perf_raw_frag) {
					.data = bytes + 20, .size = 3,
				},
				.data = bytes + 10, .size = 10, .copy = copy_more,
			},
			.data = bytes, .size = 10,
		},
	};
	struct perf_sample_data data = { .raw = &raw, .sample_flags = PERF_SAMPLE_RAW };
	struct tally_payload *p = fill(test, &data, false);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, p->present, PERF_SAMPLE_RAW);
	KUNIT_EXPECT_EQ(test, p->raw_size, 23);
	KUNIT_EXPECT_EQ(test, p->raw_full, 23);
	KUNIT_EXPECT_EQ(test, samples[1].flags, 0);
	for (i = 0; i < 23; i++)
		KUNIT_EXPECT_EQ(test, ((u8 *)p->raw)[i], bytes[i] + (i >= 10 && i < 20));
}

/* The second fragment has more bytes than there is room for, and the third one has no room. */
static void too_long(struct kunit *test)
{
	struct perf_raw_record raw = {
		.frag = {
			.next = &(struct perf_raw_frag) {
				.next = &(struct perf_raw_frag) {
					.data = bytes, .size = 5, .copy = copy_more,
				},
				.data = bytes + 500, .size = 20,
			},
			.data = bytes, .size = 500,
		},
	};
	struct perf_sample_data data = { .raw = &raw, .sample_flags = PERF_SAMPLE_RAW };
	struct tally_payload *p = fill(test, &data, false);

	KUNIT_EXPECT_EQ(test, p->raw_size, TALLY_RAW_MOST);
	KUNIT_EXPECT_EQ(test, p->raw_full, 525);
	KUNIT_EXPECT_EQ(test, samples[1].flags, TALLY_SAMPLE_TRUNCATED);
	KUNIT_EXPECT_EQ(test, memcmp(p->raw, bytes, TALLY_RAW_MOST), 0);
}

/* What the sample before had is gone. */
static void absent(struct kunit *test)
{
	struct perf_raw_record raw = { .frag = { .data = bytes, .size = 8 } };
	struct perf_sample_data full = {
		.raw = &raw,
		.sample_flags = PERF_SAMPLE_RAW | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
				PERF_SAMPLE_PHYS_ADDR,
		.weight.full = 7, .data_src.val = 8, .phys_addr = 9,
	};
	struct perf_sample_data none = full;
	struct tally_payload *p = fill(test, &full, false);

	KUNIT_EXPECT_EQ(test, p->present, full.sample_flags);
	KUNIT_EXPECT_EQ(test, p->weight, 7);
	KUNIT_EXPECT_EQ(test, p->data_src, 8);
	KUNIT_EXPECT_EQ(test, p->phys_addr, 9);
	none.sample_flags = 0;
	fill(test, &none, false);
	KUNIT_EXPECT_EQ(test, p->present, 0);
	KUNIT_EXPECT_EQ(test, p->weight | p->data_src | p->phys_addr, 0);
	KUNIT_EXPECT_EQ(test, p->raw_size + p->raw_full, 0);
	none.sample_flags = PERF_SAMPLE_RAW;
	none.raw = NULL;
	fill(test, &none, false);
	KUNIT_EXPECT_EQ(test, p->present, 0);
}

static void hidden(struct kunit *test)
{
	struct perf_sample_data data = {
		.sample_flags = PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_WEIGHT,
		.addr = (unsigned long)samples[1].payload, .phys_addr = 9, .weight.full = 7,
	};
	struct tally_payload *p = fill(test, &data, true);

	KUNIT_EXPECT_EQ(test, p->present, PERF_SAMPLE_WEIGHT);
	KUNIT_EXPECT_EQ(test, p->phys_addr, 0);
}

static void branches(struct kunit *test)
{
	struct tally_sample *s = &samples[1];
	struct perf_branch_stack *from;
	unsigned int i, nr;

	from = kunit_kzalloc(test, struct_size(from, entries, TALLY_BRANCHES_MOST + 1),
			     GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, from);
	from->hw_idx = 5;
	for (i = 0; i <= TALLY_BRANCHES_MOST; i++)
		from->entries[i].from = i + 1;
	for (nr = TALLY_BRANCHES_MOST - 1; nr <= TALLY_BRANCHES_MOST + 1; nr++) {
		from->nr = nr;
		s->flags = 0;
		s->branches = from;
		tally_payload_keep_branches(s);
		KUNIT_ASSERT_PTR_NE(test, s->branches, from);
		KUNIT_EXPECT_EQ(test, s->branches->nr, min_t(u64, nr, TALLY_BRANCHES_MOST));
		KUNIT_EXPECT_EQ(test, s->branches->hw_idx, 5);
		KUNIT_EXPECT_EQ(test, s->flags,
				nr > TALLY_BRANCHES_MOST ? TALLY_SAMPLE_TRUNCATED : 0);
		for (i = 0; i < s->branches->nr; i++)
			KUNIT_EXPECT_EQ(test, s->branches->entries[i].from, i + 1);
	}
	s->branches = NULL;
	tally_payload_keep_branches(s);
	KUNIT_EXPECT_NULL(test, s->branches);
}

static struct kunit_case payload_cases[] = {
	KUNIT_CASE(fragments),
	KUNIT_CASE(too_long),
	KUNIT_CASE(absent),
	KUNIT_CASE(hidden),
	KUNIT_CASE(branches),
	{}
};

static struct kunit_suite payload_suite = {
	.name = "tally_payload",
	.init = payload_init,
	.exit = payload_exit,
	.test_cases = payload_cases,
};

kunit_test_suite(payload_suite);
