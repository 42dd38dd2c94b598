// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of tally_count_scaled(), against slow and simple arithmetic, and of
 * tally_count_decimal().
 */
#include <kunit/test.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <tally/tally.h>
#include "base/count.h"

struct u128 {
	u64 high;
	u64 low;
};

/* Long multiplication, bit by bit of @b. */
static struct u128 slow_multiply(u64 a, u64 b)
{
	struct u128 sum = { };
	int bit;

	for (bit = 63; bit >= 0; bit--) {
		sum.high = sum.high << 1 | sum.low >> 63;
		sum.low <<= 1;
		if (b >> bit & 1) {
			sum.low += a;
			sum.high += sum.low < a;
		}
	}
	return sum;
}

/* Long division; returns U64_MAX if the quotient does not fit. */
static u64 slow_divide(struct u128 n, u64 d)
{
	u64 quotient = 0, rest = 0;
	int bit;

	if (n.high >= d)
		return U64_MAX;
	rest = n.high;
	for (bit = 63; bit >= 0; bit--) {
		bool carry = rest >> 63;

		rest = rest << 1 | (n.low >> bit & 1);
		quotient <<= 1;
		if (carry || rest >= d) {
			rest -= d;
			quotient |= 1;
		}
	}
	return quotient;
}

static u64 slow_scaled(u64 value, u64 enabled, u64 running)
{
	if (!running)
		return 0;
	if (running >= enabled)
		return value;
	return slow_divide(slow_multiply(value, enabled), running);
}

static u64 scaled(u64 value, u64 enabled, u64 running)
{
	struct tally_count count = {
		.value = value,
		.enabled_ns = enabled,
		.running_ns = running,
	};

	return tally_count_scaled(&count);
}

struct triple {
	const char *desc;
	u64 value;
	u64 enabled;
	u64 running;
	u64 want;
};

static const struct triple triples[] = {
	{ "all zero", 0, 0, 0, 0 },
	{ "never enabled, a value", 5, 0, 0, 0 },
	{ "never ran", 5, 1000, 0, 0 },
	{ "ran all the time", 5, 1000, 1000, 5 },
	{ "ran longer than enabled", 5, 1000, 1001, 5 },
	{ "ran, enabled for no time", 5, 0, 7, 5 },
	{ "half", 5, 1000, 500, 10 },
	{ "a third, rounded down", 10, 1000, 300, 33 },
	{ "nothing counted", 0, 1000, 1, 0 },
	{ "2^63, all the time", 1ULL << 63, 9, 9, 1ULL << 63 },
	{ "2^63, half: just too large", 1ULL << 63, 2, 1, U64_MAX },
	{ "2^62, half", 1ULL << 62, 2, 1, 1ULL << 63 },
	{ "largest value, all the time", U64_MAX, U64_MAX, U64_MAX, U64_MAX },
	{ "largest value, nearly all the time", U64_MAX, U64_MAX, U64_MAX - 1,
	  U64_MAX },
	{ "largest product, smallest divisor", U64_MAX, U64_MAX, 1, U64_MAX },
	{ "largest times, half", 3, U64_MAX, 1ULL << 63, 5 },
	{ "exact above 2^64 in between", 1ULL << 40, 3ULL << 40, 1ULL << 40,
	  3ULL << 40 },
	{ "largest that fits", 0x7fffffffffffffffULL, 2, 1,
	  0xfffffffffffffffeULL },
	{ "the sum of both parts is too large", 0xffffffffffffffffULL / 3 + 1,
	  6, 2, U64_MAX },
};

static void triple_desc(const struct triple *t, char *desc)
{
	strscpy(desc, t->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(triples, triples, triple_desc);

static void count_scaled(struct kunit *test)
{
	const struct triple *t = test->param_value;

	KUNIT_EXPECT_EQ(test, scaled(t->value, t->enabled, t->running),
			t->want);
	KUNIT_EXPECT_EQ(test, slow_scaled(t->value, t->enabled, t->running),
			t->want);
}

static u64 random(struct rnd_state *rnd)
{
	u64 n = (u64)prandom_u32_state(rnd) << 32 | prandom_u32_state(rnd);

	/* Small numbers are as frequent as large ones. */
	return n >> prandom_u32_state(rnd) % 64;
}

static void expect_scaled(struct kunit *test, u64 value, u64 enabled,
			  u64 running)
{
	KUNIT_ASSERT_EQ_MSG(test, scaled(value, enabled, running),
			    slow_scaled(value, enabled, running),
			    "%llu * %llu / %llu", value, enabled, running);
}

static void count_scaled_random(struct kunit *test)
{
	u64 value, enabled, running;
	struct rnd_state rnd;
	unsigned int i, smaller = 0;

	prandom_seed_state(&rnd, 8061);
	for (i = 0; i < 20000; i++) {
		value = random(&rnd);
		enabled = random(&rnd);
		running = random(&rnd);
		if (running > enabled && i % 4)
			swap(running, enabled);
		smaller += running && running < enabled;
		expect_scaled(test, value, enabled, running);
	}
	/* Most counts were really scaled. */
	KUNIT_EXPECT_GT(test, smaller, 15000U);
}

/* Results just below and above the largest number of 64 bits. */
static void count_scaled_edge(struct kunit *test)
{
	u64 value, enabled, running, d;
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 4);
	for (i = 0; i < 5000; i++) {
		enabled = random(&rnd) | 2;
		running = 1 + random(&rnd) % (enabled - 1);
		value = slow_divide(slow_multiply(U64_MAX, running), enabled);
		for (d = 0; d < 3; d++)
			expect_scaled(test, value + d, enabled, running);
	}
}

static const struct product {
	u64 value;
	const char *scale;
	const char *text;
	int err;
} products[] = {
	{ 0, "1", "0" },
	{ 7, "1", "7" },
	{ U64_MAX, "1", "18446744073709551615" },
	{ U64_MAX, "10", NULL, -ERANGE },
	{ U64_MAX / 10, "10", "18446744073709551610" },
	{ 3, "1e3", "3000" },
	{ 3, "1E+3", "3000" },
	{ 21, "0.5", "10.50" },
	{ 50, "0.5", "25" },
	{ 199, "0.01", "1.99" },
	{ 12345, "1e-1", "1234.50" },
	{ 1999, "0.001", "2.00" },
	{ 1994, "0.001", "1.99" },
	{ 1995, "0.001", "2.00" },
	{ 2000, "0.001", "2" },
	{ 1, "6.103515625e-5", "0.00" },
	{ 164, "6.103515625e-5", "0.01" },
	{ 123456789000ULL, "2.3283064365386962890625e-10", "28.74" },
	{ U64_MAX, "2.3283064365386962890625e-10", "4294967296.00" },
	{ 5, "123456789012345678901234567890", NULL, -ERANGE },
	{ U64_MAX, "0.5", NULL, -ERANGE },
	{ U64_MAX, "0.001", NULL, -ERANGE },
	{ U64_MAX - 5, "0.001", "18446744073709551.61" },
	{ 1ULL << 53, "1.5", "13510798882111488" },
	{ 1, "123456789012345678.5", NULL, -ERANGE },
	{ 1, "1e-99", "0.00" },
	{ 0, "1e99", "0" },
	{ 0, "1e100", NULL, -EINVAL },
	{ 1, "", NULL, -EINVAL },
	{ 1, ".5", NULL, -EINVAL },
	{ 1, "-1", NULL, -EINVAL },
	{ 1, "1x", NULL, -EINVAL },
	{ 1, "1e", NULL, -EINVAL },
	{ 1, "1e-100", NULL, -EINVAL },
	{ 1, "1.5.5", NULL, -EINVAL },
};

static void describe_product(const struct product *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%llu times '%s'", p->value, p->scale);
}

KUNIT_ARRAY_PARAM(products, products, describe_product);

static void count_decimal(struct kunit *test)
{
	const struct product *p = test->param_value;
	char text[TALLY_DECIMAL_LEN];
	int err = tally_count_decimal(p->value, p->scale, text, sizeof(text));

	KUNIT_EXPECT_EQ(test, err, p->err);
	if (p->text && !err)
		KUNIT_EXPECT_STREQ(test, text, p->text);
}

static struct kunit_case count_cases[] = {
	KUNIT_CASE_PARAM(count_decimal, products_gen_params),
	KUNIT_CASE_PARAM(count_scaled, triples_gen_params),
	KUNIT_CASE(count_scaled_random),
	KUNIT_CASE(count_scaled_edge),
	{ }
};

static struct kunit_suite count_suite = {
	.name = "tally_count",
	.test_cases = count_cases,
};

kunit_test_suite(count_suite);
