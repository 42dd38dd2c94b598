// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the terms of a PMU's event, and of what the PMU says of the event, with the PMU
 * "made" of machine.c. In a guest, tests/modules/pmu does this.
 */
#include <kunit/test.h>
#include "base/alias.h"
#include "builder/name.h"

struct terms {
	const char *text;
	u64 config[3];
	const char *why;
};

static const struct terms terms[] = {
	{ "made//", { 0, 0, 0 } },
	{ "made/event=0xabc/", { 0xa000000bc, 0, 0 } },
	{ "made/event=0xfff,umask=255/", { 0xf0000ffff, 0, 0 } },
	{ "made/far=0xff/", { 0, 0, 0xf0000000000000f0 } },
	{ "made/far=0x12,config2=1/", { 0, 0, 0x1000000000000021 } },
	{ "made/config=0xffff,umask=0/", { 0xff, 0, 0 } },
	{ "made/loads/", { 0x2cd, 0, 0 } },
	{ "made/loads,umask=4/", { 0x4cd, 0, 0 } },
	{ "made/umask=4,loads/", { 0x4cd, 0, 0 } },
	{ "made/tuned,far=3/", { 1, 0, 0x30 } },
	{ "made/event=0x1000/", .why = "event=0x1000 is too large: at most 0xfff" },
	{ "made/umask/", .why = "expected 'umask=NUMBER'" },
	{ "made/two/", .why = "expected 'two=NUMBER'" },
	{ "made/two=3,config1=8/", { 0, 11, 0 } },
	{ "made/tuned/", .why = "tuned needs the term 'far=NUMBER'" },
	{ "made/loads,tuned/", .why = "loads and tuned are two events" },
	{ "made/frob/",
	  .why = "unknown term 'frob'; events: loads,tuned; terms: event,umask,far,two" },
	{ "made/frob=1/",
	  .why = "unknown term 'frob'; terms: event,umask,far,two; events: loads,tuned" },
	{ "made/loads.unit/",
	  .why = "unknown term 'loads.unit'; events: loads,tuned; terms: event,umask,far,two" },
};

static void terms_desc(const struct terms *t, char *desc)
{
	strscpy(desc, t->text, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(terms, terms, terms_desc);

static void alias_terms(struct kunit *test)
{
	const struct terms *t = test->param_value;
	char text[64], why[128] = "";
	struct perf_event_attr attr = { };
	size_t modifiers;

	strscpy(text, t->text, sizeof(text));
	KUNIT_EXPECT_EQ(test, tally_name_parse(&attr, text, &modifiers, why, sizeof(why)),
			t->why ? -EINVAL : 0);
	if (t->why) {
		KUNIT_EXPECT_STREQ(test, why, t->why);
		return;
	}
	KUNIT_EXPECT_EQ(test, (u64)attr.config, t->config[0]);
	KUNIT_EXPECT_EQ(test, (u64)attr.config1, t->config[1]);
	KUNIT_EXPECT_EQ(test, (u64)attr.config2, t->config[2]);
}

static void expect_loads(struct kunit *test, u64 config, const char *given)
{
	struct perf_event_attr attr = { .type = 9, .config = config };
	struct tally_alias alias;

	KUNIT_EXPECT_EQ(test, tally_alias_find(&attr, given, &alias), 0);
	KUNIT_EXPECT_STREQ(test, alias.scale, "6.1e-5");
	KUNIT_EXPECT_STREQ(test, alias.unit, "MiB");
	KUNIT_EXPECT_FALSE(test, alias.snapshot);
}

/* An event is found by the name in its text, or by its bits. */
static void alias_find(struct kunit *test)
{
	struct perf_event_attr attr = { .type = 9, .config = 0x2ce };
	struct tally_alias alias;

	expect_loads(test, 0x2cd, "");
	expect_loads(test, 0x4cd, "made/loads,umask=4/");
	KUNIT_EXPECT_EQ(test, tally_alias_find(&attr, "", &alias), -ENOENT);
	attr.config = 0x2cd;
	attr.config2 = 1;
	KUNIT_EXPECT_EQ(test, tally_alias_find(&attr, "", &alias), -ENOENT);
	attr.type = 7;
	KUNIT_EXPECT_EQ(test, tally_alias_find(&attr, "", &alias), -ENOENT);
}

static struct kunit_case alias_cases[] = {
	KUNIT_CASE_PARAM(alias_terms, terms_gen_params),
	KUNIT_CASE(alias_find),
	{ }
};

static struct kunit_suite alias_suite = {
	.name = "tally_alias",
	.test_cases = alias_cases,
};

kunit_test_suite(alias_suite);
