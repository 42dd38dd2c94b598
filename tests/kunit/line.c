// SPDX-License-Identifier: GPL-2.0
/* Tests of tally_builder_parse(), which turns a line of text into a builder. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/string.h>
#include "builder/builder.h"
#include "builder/name.h"
#include "compat.h"

struct line {
	const char *text;
	int err;
	const char *word;
	struct tally_builder want;
};

#define ANY_CPU(...) { .cpu = -1, __VA_ARGS__ }
#define ONE_CPU(n, ...) \
	{ .cpu = (n), .given = TALLY_GIVEN_CPU, __VA_ARGS__ }

static const struct line lines[] = {
	{ "page-faults", 0, "page-faults", ANY_CPU() },
	{ "  page-faults \t\n", 0, "page-faults", ANY_CPU() },
	{ "page-faults cpu=0", 0, "page-faults", ONE_CPU(0) },
	{ "page-faults\tcpu=0x0", 0, "page-faults", ONE_CPU(0) },
	{ "page-faults cpu=all", 0, "page-faults",
	  ANY_CPU(.given = TALLY_GIVEN_ALL_CPUS) },
	{ "page-faults pid=1", 0, "page-faults",
	  ANY_CPU(.given = TALLY_GIVEN_PID, .pid = 1) },
	{ "page-faults pid=0   cpu=0", 0, "page-faults",
	  { .given = TALLY_GIVEN_PID | TALLY_GIVEN_CPU } },
	{ "page-faults name=f", 0, "f", ANY_CPU() },
	{ "page-faults name=a=b", 0, "a=b", ANY_CPU() },
	{ "page-faults name=one name=two", 0, "two", ANY_CPU() },
	{ "page-faults disabled", 0, "page-faults",
	  ANY_CPU(.attr = { .disabled = 1 }) },
	{ "page-faults pid=1 inherit", 0, "page-faults",
	  ANY_CPU(.given = TALLY_GIVEN_PID, .pid = 1,
		  .attr = { .inherit = 1 }) },
	{ "page-faults pid=1 inherit inherit_thread", 0, "page-faults",
	  ANY_CPU(.given = TALLY_GIVEN_PID, .pid = 1,
		  .attr = { .inherit = 1, .inherit_thread = 1 }) },
	{ "page-faults pinned", 0, "page-faults",
	  ANY_CPU(.attr = { .pinned = 1 }) },
	{ "page-faults exclusive", 0, "page-faults",
	  ANY_CPU(.attr = { .exclusive = 1 }) },
	{ "page-faults require", 0, "page-faults",
	  ANY_CPU(.flags = TALLY_BUILDER_REQUIRE) },
	{ "page-faults exclude=user", 0, "page-faults",
	  ANY_CPU(.attr = { .exclude_user = 1 }) },
	{ "page-faults exclude=kernel,hv", 0, "page-faults",
	  ANY_CPU(.attr = { .exclude_kernel = 1, .exclude_hv = 1 }) },
	{ "page-faults exclude=idle,guest", 0, "page-faults",
	  ANY_CPU(.attr = { .exclude_idle = 1, .exclude_guest = 1 }) },
	{ "page-faults period=0 freq=0", 0, "page-faults", ANY_CPU() },
	{ "page-faults pid=1 enable_on_exec", 0, "page-faults",
	  ANY_CPU(.pid = 1, .given = TALLY_GIVEN_PID,
		  .attr = { .enable_on_exec = 1 }) },
	{ "page-faults pid=1 remove_on_exec", 0, "page-faults",
	  ANY_CPU(.pid = 1, .given = TALLY_GIVEN_PID,
		  .attr = { .remove_on_exec = 1 }) },
	{ "page-faults:u", 0, "page-faults:u",
	  ANY_CPU(.attr = { .exclude_kernel = 1, .exclude_hv = 1 }) },
	/* The name of an event's folder has no slash, and no colon at its end. */
	{ "1/config=2/", 0, "1:config=2", ANY_CPU() },
	{ "1/config=2/u", 0, "1:config=2:u",
	  ANY_CPU(.attr = { .exclude_kernel = 1, .exclude_hv = 1 }) },
	{ "1/config=2,config1=7/ name=x", 0, "x",
	  ANY_CPU(.attr = { .config1 = 7 }) },

	{ "", -EINVAL, "no event", },
	{ "   ", -EINVAL, "no event", },
	{ "cpu=0", -ENOENT, "unknown event 'cpu=0'" },
	{ "page-faults frob", -EINVAL, "unknown option 'frob'" },
	{ "page-faults frob=1", -EINVAL, "unknown option 'frob='" },
	{ "page-faults =", -EINVAL, "unknown option '='" },
	{ "page-faults Disabled", -EINVAL, "unknown option" },
	{ "page-faults disabled=1", -EINVAL, "unknown option 'disabled='" },
	{ "page-faults cpu", -EINVAL, "unknown option 'cpu'" },
	{ "page-faults cpu=", -EINVAL, "expected a number" },
	{ "page-faults cpu=x", -EINVAL, "expected a number" },
	{ "page-faults cpu=-1", -EINVAL, "expected a number" },
	{ "page-faults cpu=0,1", -EINVAL, "expected a number" },
	{ "page-faults cpu=99999", -EINVAL, "cpu 99999 does not exist" },
	{ "page-faults cpu=2147483648", -EINVAL, "expected a number" },
	{ "page-faults cpu=18446744073709551616", -EINVAL,
	  "expected a number" },
	{ "page-faults pid=x", -EINVAL, "expected a number" },
	{ "page-faults pid=-1", -EINVAL, "expected a number" },
	{ "page-faults pid=4294967297", -EINVAL, "expected a number" },
	{ "page-faults period=x", -EINVAL, "expected a number" },
	{ "page-faults period=0x8000000000000000", -EINVAL, "2^63" },
	{ "page-faults period=18446744073709551616", -EINVAL,
	  "expected a number" },
	{ "page-faults freq=", -EINVAL, "expected a number" },
	{ "page-faults freq=1.5", -EINVAL, "expected a number" },
	{ "page-faults name=", -EINVAL, "no name" },
	{ "page-faults name=a/b", -EINVAL, "no '/'" },
	{ "page-faults name=stats", -EEXIST, "tally's own" },
	{ "page-faults exclude=", -EINVAL, "cannot exclude ''" },
	{ "page-faults exclude=host", -EINVAL, "only in the host" },
	{ "page-faults exclude=user,kernel", -EINVAL, "only in user space and the kernel" },
	{ "page-faults exclude=User", -EINVAL, "cannot exclude 'User'" },
	{ "page-faults exclude=user,", -EINVAL, "cannot exclude ''" },
	{ "page-faults exclude=user kernel", -EINVAL,
	  "unknown option 'kernel'" },
	{ "frob cpu=x", -ENOENT, "unknown event" },
	{ "page-faults cpu=x frob", -EINVAL, "cpu=x" },
	/* These errors are only found after the whole line is parsed. */
	/* max_rate=0 is no limit; an event that counts cannot have that either. */
	{ "page-faults max_rate=0", -EINVAL, "for sampled events" },
	{ "page-faults max_rate=4294967294", -EINVAL, "for sampled events" },
	{ "page-faults max_rate=4294967295", -EINVAL, "max_rate=" },
	{ "page-faults max_rate=", -EINVAL, "max_rate=" },
	{ "page-faults sigtrap=1", -EINVAL, "unknown option 'sigtrap='" },
	{ "page-faults period=5", -EINVAL, "nothing receives" },
	{ "page-faults period=5 freq=5", -EINVAL, "both a period" },
	{ "page-faults freq=2000000000", -EINVAL, "max_sample_rate" },
	{ "page-faults cpu=0 cpu=all", -EINVAL, "both one cpu" },
	{ "page-faults pid=1 cpu=all", -EINVAL, "not on all cpus" },
	{ "page-faults inherit", -EINVAL, "inherit without" },
	{ "page-faults pid=1 inherit_thread", -EINVAL,
	  "inherit_thread without" },
	{ "page-faults:p", -EINVAL, "precise" },
	{ "mem:0x1001/4:w", -EINVAL, "no multiple" },
	{ "mem:0x1000:rwx", -EINVAL, "r, w, rw or x" },
	{ "tracepoint:1", -EOPNOTSUPP, "every function" },
};

static void line_desc(const struct line *line, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%*pE'",
		 (int)strlen(line->text), line->text);
}

KUNIT_ARRAY_PARAM(lines, lines, line_desc);

static void expect_good(struct kunit *test, const struct line *line,
			struct tally_builder *b)
{
	const struct tally_builder *want = &line->want;
	struct perf_event_attr attr = want->attr;

	KUNIT_EXPECT_STREQ(test, b->name, line->word);
	KUNIT_EXPECT_EQ(test, b->cpu, want->cpu);
	KUNIT_EXPECT_EQ(test, b->pid, want->pid);
	KUNIT_EXPECT_EQ(test, (int)b->given,
			(int)(want->given | TALLY_GIVEN_NAME |
			      (strstr(line->text, "name=") ? 0 : TALLY_GIVEN_EVENT)));
	KUNIT_EXPECT_EQ(test, (int)b->flags, (int)want->flags);
	KUNIT_EXPECT_EQ(test, b->period, 0ULL);
	KUNIT_EXPECT_EQ(test, b->freq, 0ULL);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.size = sizeof(attr);
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	KUNIT_EXPECT_EQ(test, memcmp(&b->attr, &attr, sizeof(attr)), 0);
}

static void expect_error(struct kunit *test, const struct line *line,
			 struct tally_builder *b)
{
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(tally_builder_why(b),
					       line->word),
				  "the sentence is '%s'", tally_builder_why(b));
	KUNIT_EXPECT_PTR_EQ(test, tally_build(b),
			    (struct tally_event *)ERR_PTR(line->err));
}

static void line_parse(struct kunit *test)
{
	const struct line *line = test->param_value;
	struct perf_event_attr attr;
	struct tally_builder b;
	int err;

	err = tally_builder_parse(&b, line->text);
	if (!err)
		err = tally_builder_check(&b, &attr);
	KUNIT_EXPECT_EQ_MSG(test, err, line->err, "%s", tally_builder_why(&b));
	if (line->err)
		expect_error(test, line, &b);
	else
		expect_good(test, line, &b);
}

static void line_long_name(struct kunit *test)
{
	struct tally_builder b;
	char text[96];

	snprintf(text, sizeof(text), "page-faults name=%0*d", 63, 0);
	KUNIT_EXPECT_EQ(test, tally_builder_parse(&b, text), 0);
	snprintf(text, sizeof(text), "page-faults name=%0*d", 64, 0);
	KUNIT_EXPECT_EQ(test, tally_builder_parse(&b, text), -ENAMETOOLONG);
	/* An event names itself if it is short enough; its last slash does not count. */
	snprintf(text, sizeof(text), "1/config=0x%0*x/", 52, 2);
	KUNIT_EXPECT_EQ(test, tally_builder_parse(&b, text), 0);
	KUNIT_EXPECT_EQ(test, strlen(b.name), 63);
	snprintf(text, sizeof(text), "1/config=0x%0*x/", 53, 2);
	KUNIT_EXPECT_EQ(test, tally_builder_parse(&b, text), 0);
	KUNIT_EXPECT_EQ(test, strlen(b.name), 0);
}

/* A long event gets a name from the module, or has the name of the line. */
static void line_long_event(struct kunit *test)
{
	static const char text[] =
		"1/config=0x0000000000000002,config1=0x0000000000000000,config2=0/";
	struct tally_builder b;
	char named[128];

	struct tally_event *ev;

	/* The event is too long for the name of a folder: the module's name is used. */
	KUNIT_EXPECT_EQ(test, tally_builder_parse(&b, text), 0);
	ev = tally_build(&b);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ev));
	KUNIT_EXPECT_TRUE(test, strstarts(tally_event_name(ev), "tally_kunit_pure."));
	tally_event_release(ev);
	snprintf(named, sizeof(named), "%s name=short", text);
	KUNIT_EXPECT_EQ(test, tally_builder_parse(&b, named), 0);
}

struct term {
	const char *text;
	const char *word;
	u64 config;
};

/* Of the PMU kprobe, which has a term of its format on each machine. */
static const struct term terms[] = {
	{ "kprobe/retprobe/", "", 1 },
	{ "kprobe/config=1,retprobe=0/", "", 0 },
	/* The members of the attributes are set first. */
	{ "kprobe/retprobe=1,config=6/", "", 7 },
	{ "kprobe/retprobe,retprobe=0,,config=0x10/", "", 16 },
	{ "kprobe/retprobe=2/", "retprobe=2 is too large: at most 0x1" },
	{ "kprobe/retprobe=/", "expected 'retprobe=NUMBER'" },
	{ "kprobe/retprobes/", "unknown term 'retprobes'; terms: retprobe" },
	{ "kprobe/config/", "expected 'config=NUMBER'" },
};

static void line_terms(struct kunit *test)
{
	const struct term *term;
	struct tally_builder b;

	if (tally_builder_parse(&b, "kprobe//") == -ENOENT)
		kunit_skip(test, "no kprobe PMU in this kernel");
	for (term = terms; term < terms + ARRAY_SIZE(terms); term++) {
		KUNIT_EXPECT_EQ(test, tally_builder_parse(&b, term->text),
				*term->word ? -EINVAL : 0);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(tally_builder_why(&b), term->word),
					  "the sentence is '%s'", tally_builder_why(&b));
		if (!*term->word)
			KUNIT_EXPECT_EQ(test, (u64)b.attr.config, term->config);
	}
}

struct members {
	const char *text;
	const char *members;
	const char *rest;
	const char *word;
};

/* Texts behind the '{' of a set. */
static const struct members members[] = {
	{ "a,b}", "a,b", "", "" },
	{ "a}:u cpu=0", "a", ":u cpu=0", "" },
	{ "}", "", "", "" },
	{ "a", NULL, NULL, "without a '}'" },
	{ "", NULL, NULL, "without a '}'" },
	{ "a,{b}}", NULL, NULL, "no set inside" },
	{ "a,b cpu=0}", NULL, NULL, "behind its '}'" },
	{ "a,\tb}", NULL, NULL, "behind its '}'" },
};

static void line_members(struct kunit *test)
{
	char text[32], why[64], *list, *rest;
	const struct members *m;

	for (m = members; m < members + ARRAY_SIZE(members); m++) {
		strscpy(text, m->text, sizeof(text));
		*why = '\0';
		rest = tally_name_members(text, &list, why, sizeof(why));
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(why, m->word), "the sentence is '%s'", why);
		KUNIT_EXPECT_EQ(test, !*why, !*m->word);
		if (*m->word) {
			KUNIT_EXPECT_PTR_EQ(test, rest, (char *)ERR_PTR(-EINVAL));
			continue;
		}
		KUNIT_EXPECT_STREQ(test, rest, m->rest);
		KUNIT_EXPECT_STREQ(test, list, m->members);
	}
}

static void line_builds(struct kunit *test)
{
	struct tally_builder b;
	struct tally_event *ev;

	KUNIT_EXPECT_EQ(test, tally_builder_parse(&b, "1/config=2/ disabled"),
			0);
	ev = tally_build(&b);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ev));
	KUNIT_EXPECT_TRUE(test, strstarts(tally_event_name(ev), "tally_kunit_pure."));
	KUNIT_EXPECT_EQ(test, tally_event_state(ev), TALLY_STATE_OFF);
	tally_event_release(ev);
}

static struct kunit_case line_cases[] = {
	KUNIT_CASE_PARAM(line_parse, lines_gen_params),
	KUNIT_CASE(line_long_name),
	KUNIT_CASE(line_long_event),
	KUNIT_CASE(line_terms),
	KUNIT_CASE(line_members),
	KUNIT_CASE(line_builds),
	{ }
};

static struct kunit_suite line_suite = {
	.name = "tally_line",
	.test_cases = line_cases,
};

kunit_test_suite(line_suite);
