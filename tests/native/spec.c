// SPDX-License-Identifier: GPL-2.0
/*
 * Whether the spec of an event makes the same event again, or the event has none and says so.
 *
 * Lines and builders are made by chance, many at a time. Those that tally accepts are built, their
 * specs are built, too, and all that makes an event what it is must be the same in both: not who
 * owns it, and not the option "require", a condition of the moment. TALLY_SEED=2 makes others.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include "life/life.h"
#include "builder/builder.h"
#include "counter/counter.h"
#include "debugfs/debugfs.h"
#include "event/event.h"
#include "set/budget.h"
#include "native.h"

/* Differences after which a case ends */
#define PRINTED	5

/* A module that is not tally */
#define OTHER	((struct module *)8)

static struct rnd_state rnd;

/**
 * struct run - what a case has tried
 * @tried: lines or builders
 * @made: those that made an event
 * @none: events that have no spec
 * @wrong: specs that make another event, or none
 */
struct run {
	unsigned int tried;
	unsigned int made;
	unsigned int none;
	unsigned int wrong;
};

static u32 below(u32 n)
{
	return prandom_u32_state(&rnd) % n;
}

/* Returns one of the texts, which NULL ends. */
static const char *one_of(const char *const *texts)
{
	u32 n;

	for (n = 0; texts[n]; n++)
		;
	return texts[below(n)];
}

__printf(3, 4)
static void wrong(struct run *r, const char *from, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	r->wrong++;
	shim_note("%s\n  %s", from, text);
}

static void finish(struct kunit *test, const struct run *r, unsigned int tried, unsigned int made,
		   unsigned int none)
{
	kunit_info(test, "%u tried, %u made, %u without a spec, %u wrong", r->tried, r->made,
		   r->none, r->wrong);
	KUNIT_EXPECT_EQ(test, r->wrong, 0);
	KUNIT_EXPECT_GE(test, r->tried, tried);
	KUNIT_EXPECT_GE(test, r->made - r->none, made);
	KUNIT_EXPECT_LE(test, r->none, none);
}

/* ---- comparing ---- */

/* Each of these returns the name of the first thing that differs; NULL if none does. */
static const char *attr_differs(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	size_t bits = offsetofend(struct perf_event_attr, read_format);

	return a->type != b->type ? "type" : a->config != b->config ? "config" :
	       a->config1 != b->config1 ? "config1" : a->config2 != b->config2 ? "config2" :
	       a->sample_period != b->sample_period ? "sample_period" :
	       memcmp((char *)a + bits, (char *)b + bits, sizeof(u64)) ? "bit of attr" :
	       memcmp(a, b, sizeof(*a)) ? "member of attr" : NULL;
}

static const char *target_differs(const struct tally_target *a, const struct tally_target *b)
{
	return a->task != b->task ? "task" : a->css != b->css ? "cgroup" :
	       a->cpu != b->cpu ? "cpu" : a->one_kind != b->one_kind ? "one_kind" : NULL;
}

static const char *overflow_differs(const struct tally_overflow *a,
				    const struct tally_overflow *b)
{
	if (!a || !b)
		return a == b ? NULL : "overflow";
	return memcmp(&a->direct, &b->direct, sizeof(a->direct)) ? "direct handler" :
	       memcmp(&a->irq, &b->irq, sizeof(a->irq)) ? "handler in interrupt" :
	       memcmp(&a->work, &b->work, sizeof(a->work)) ? "handler in process context" :
	       a->batch != b->batch ? "queue" : a->reload != b->reload ? "limit" :
	       a->special != b->special ? "one_shot or sample_time" : NULL;
}

static const char *budget_differs(const struct tally_budget *a, const struct tally_budget *b)
{
	if (!a || !b)
		return a == b ? NULL : "budget";
	if (a->max != b->max)
		return "budget";
	return a->window_ns != b->window_ns ? "length of the budget's windows" : NULL;
}

static const char *event_differs(const struct tally_event *a, const struct tally_event *b)
{
	return attr_differs(&a->attr, &b->attr) ?:
	       attr_differs(&a->counter->attr, &b->counter->attr) ?:
	       target_differs(&a->counter->target, &b->counter->target) ?:
	       overflow_differs(a->overflow, b->overflow) ?:
	       budget_differs(a->budget, b->budget) ?:
	       a->on != b->on || a->traced_state != b->traced_state ? "state" :
	       a->gauge != b->gauge ? "gauge" : a->hz != b->hz ? "frequency" :
	       a->max_rate != b->max_rate ? "max_rate" : !a->output != !b->output ? "output" : NULL;
}

static const char *set_differs(struct tally_line_set *a, struct tally_line_set *b)
{
	const struct tally_event *x, *y;
	const char *field = NULL;
	unsigned int i;

	if (tally_set_size(a->set) != tally_set_size(b->set))
		return "number of members";
	if (strcmp(a->name, b->name))
		return "name of the set";
	if (!a->func != !b->func)
		return "function";
	for (i = 0; !field && i < tally_set_size(a->set); i++) {
		x = tally_set_event(a->set, i);
		y = tally_set_event(b->set, i);
		field = event_differs(x, y) ?: strcmp(x->name, y->name) ? "name of a member" : NULL;
	}
	return field;
}

/* ---- making again ---- */

/* Makes an event of a line; NULL without one. */
static struct tally_event *make(const char *line, char *why)
{
	native_made = (struct native_made){ };
	return tally_line_create(line, why, TALLY_LINE_WHY) ? NULL : native_made.ev;
}

/* Cuts the end of the line off a spec. Returns whether it is one line. */
static bool cut_line(struct seq_file *spec)
{
	if (!spec->len || strchr(spec->text, '\n') != spec->text + spec->len - 1)
		return false;
	spec->text[spec->len - 1] = '\0';
	return true;
}

/* Makes an event by its spec, and compares both. */
static void remake(struct run *r, struct tally_event *ev, const char *from, bool may_lack)
{
	struct seq_file spec = { };
	char why[TALLY_LINE_WHY];
	struct tally_event *next;
	const char *field;
	int err;

	err = tally_spec_show(&spec, ev);
	if (err == -EOPNOTSUPP && may_lack && !spec.len) {
		r->none++;
		return;
	}
	if (err || !cut_line(&spec)) {
		wrong(r, from, "error %d, spec '%s'", err, spec.text);
		return;
	}
	next = make(spec.text, why);
	if (!next) {
		wrong(r, from, "spec '%s': %s", spec.text, why);
		return;
	}
	field = event_differs(ev, next) ?:
		strcmp(kbasename(ev->name), next->name) ? "name" : NULL;
	if (field)
		wrong(r, from, "spec '%s': another %s", spec.text, field);
	tally_event_destroy(next);
}

static void remake_set(struct run *r, struct tally_line_set *ls, const char *from)
{
	struct seq_file spec = { };
	char why[TALLY_LINE_WHY];
	const char *field;
	unsigned int i;

	for (i = 0; i < tally_set_size(ls->set); i++)
		remake(r, tally_set_event(ls->set, i), from, false);
	tally_spec_show_set(&spec, ls);
	if (!cut_line(&spec)) {
		wrong(r, from, "spec '%s'", spec.text);
	} else if (!make(spec.text, why)) {
		wrong(r, from, "spec '%s': %s", spec.text, why);
	} else {
		field = set_differs(ls, native_made.ls);
		if (field)
			wrong(r, from, "spec '%s': another %s", spec.text, field);
		tally_line_sets_release();
	}
}

static void try_line(struct run *r, const char *line)
{
	char why[TALLY_LINE_WHY];
	struct tally_line_set *ls;
	struct tally_event *ev;

	/* The case has failed: a mutant need not be tried any more. */
	if (r->wrong >= PRINTED)
		return;
	r->tried++;
	ev = make(line, why);
	if (!ev)
		return;
	ls = native_made.ls;
	r->made++;
	if (ls) {
		remake_set(r, ls, line);
		native_made.ls = ls;
		tally_line_sets_release();
	} else {
		remake(r, ev, line, false);
		tally_event_destroy(ev);
	}
}

/* ---- lines ---- */

static const char *const events[] = {
	"cycles", "cpu-cycles", "instructions", "ref-cycles", "page-faults", "faults", "cs",
	"cpu-clock", "task-clock", "dummy", "bpf-output", "cgroup-switches", "major-faults",
	"L1-dcache-loads", "LLC-stores", "l1d", "branch-misses", "node-prefetch-misses", "dTLB",
	"r0", "r3c", "rffffffffffffffff", "r500000003c", "tracepoint:0", "tracepoint:314",
	"sched:sched_switch", "mem:0x1000", "mem:0x1000/8:w", "mem:0x1001/1:rw", "mem:4096:x",
	"mem:0xfffffffffffffff8/3:x", "0/config=1/", "0/config=0x500000001/", "1/config=2/",
	"1/config=99/", "2/config=314/", "2/config=314,config1=1/", "3/config=0x10002/",
	"3/config=0xff/", "4/config=0x3c/", "4/config=1,config1=7/", "5/config=1/",
	"9/config=0x2cd/", "made//", "made/config=1,config1=2,config2=3/", "made/event=0x3c/",
	"made/event=0xfff,umask=255,far=0xff,two=3/", "made/loads/", "made/tuned,far=3/",
	"made/event=0x00000000000000000000000000000000000000000000000000000000000003c/",
	"made/umask=000000000000000000000000000000000000000000000000000000000000000000000000001/",
	"core/event=0x3c/", "core/config=1,config1=2/", "kprobe:vfs_read",
	"kprobe:vfs_read+0x10", "kretprobe:vfs_read", "kprobe:0xffffffff81000010", NULL
};

static const char *const options[] = {
	"cpu=0", "cpu=3", "cpu=all", "pid=0", "pid=1", "pid=9", "cgroup=/", "cgroup=/a",
	"cgroup=a/b", "cgroup=/a\\040b", "cgroup=/a\\x2db\\073c", "cgroup=/\\303\\251\\012",
	"name=x", "name=a=b;", "name={x}", "name=cycles:u",
	"name=123456789012345678901234567890123456789012345678901234567890123",
	"period=0", "period=1", "period=0x7fffffffffffffff", "freq=1", "freq=333", "freq=100000",
	"budget=1/100us", "budget=4/1s", "budget=0x4000000000000000/100001ns", "budget=7/1500us",
	"max_rate=0", "max_rate=1", "max_rate=4294967294", "exclude=user", "exclude=kernel",
	"exclude=hv", "exclude=idle", "exclude=host", "exclude=guest", "exclude=user,kernel",
	"exclude=user,kernel,hv", "exclude=host,guest", "exclude=user,hv,guest",
	"exclude=user,kernel,hv,idle,host,guest", "inherit", "inherit_thread", "pinned",
	"exclusive", "require", "disabled", "enable_on_exec", "remove_on_exec", "sigtrap",
	NULL
};

/* What other options need */
static const char *const before[] = {
	"", " period=5", " pid=1", " pid=1 inherit", " pid=1 period=5 remove_on_exec",
	" pid=1 disabled period=100000", " cpu=1 disabled", NULL
};

static void add_event(char *line, const char *event, const char *modifiers)
{
	strcat(line, event);
	if (!*modifiers)
		return;
	if (line[strlen(line) - 1] != '/')
		strcat(line, ":");
	strcat(line, modifiers);
}

/* Writes the modifiers of the bits of @set in any order. */
static void write_modifiers(char *to, unsigned int set, const char *precise)
{
	size_t len = 0, i;
	char c;

	for (i = 0; i < 8; i++) {
		if (!(set & BIT(i)))
			continue;
		to[len++] = "ukhGHIDe"[i];
	}
	memcpy(to + len, precise, strlen(precise) + 1);
	for (; len > 1; len--) {
		i = below(len);
		c = to[i];
		to[i] = to[len - 1];
		to[len - 1] = c;
	}
}

static const char *const precise[] = { "", "p", "pp", "ppp", "P", NULL };

/* All modifiers of all events, that count and that overflow. */
static void spec_modifiers(struct kunit *test)
{
	static const char *const how[] = { "", " period=5", " freq=333 max_rate=7", NULL };
	char line[512], modifiers[16];
	struct run r = { };
	size_t e, p, set;

	for (e = 0; events[e]; e++) {
		for (set = 0; set < 256; set++) {
			for (p = 0; precise[p]; p++) {
				write_modifiers(modifiers, set, precise[p]);
				*line = '\0';
				add_event(line, events[e], modifiers);
				strcat(strcat(line, p ? how[1 + below(2)] : one_of(how)),
				       " name=x");
				try_line(&r, line);
			}
		}
	}
	finish(test, &r, 72000, 45000, 0);
}

static void add_any_event(char *line)
{
	char modifiers[16];

	write_modifiers(modifiers, below(2) ? 0 : below(256), below(8) ? "" : one_of(precise));
	add_event(line, one_of(events), modifiers);
}

/* Puts a line break somewhere into some lines. */
static void break_line(char *line)
{
	size_t at = 1 + below(strlen(line) - 1);

	if (below(8))
		return;
	memmove(line + at + 1, line + at, strlen(line + at) + 1);
	line[at] = '\n';
}

/* Each pair of options in both orders, with events and options by chance. */
static void spec_options(struct kunit *test)
{
	struct run r = { };
	char line[1024];
	size_t i, j, n;

	for (i = 0; options[i]; i++) {
		for (j = 0; options[j]; j++) {
			for (n = 0; before[n / 4]; n++) {
				*line = '\0';
				add_any_event(line);
				strcat(line, before[n / 4]);
				strcat(strcat(line, " "), options[i]);
				strcat(strcat(line, " "), options[j]);
				break_line(line);
				try_line(&r, line);
			}
		}
	}
	finish(test, &r, 70000, 24000, 0);
}

static void spec_sets(struct kunit *test)
{
	char line[2048], modifiers[16];
	struct run r = { };
	unsigned int i, n;

	for (i = 0; i < 30000; i++) {
		*line = '\0';
		strcat(line, below(4) ? "{" : "func:vfs_read{");
		for (n = 1 + below(4); n; n--) {
			add_any_event(line);
			strcat(line, n > 1 ? "," : "}");
		}
		write_modifiers(modifiers, below(2) ? 0 : below(256), "");
		if (*modifiers)
			strcat(strcat(line, ":"), modifiers);
		for (n = below(5); n; n--)
			strcat(strcat(line, " "), one_of(options));
		if (below(2))
			strcat(line, " name=x");
		break_line(line);
		try_line(&r, line);
	}
	finish(test, &r, 30000, 3800, 0);
}

/* ---- builders ---- */

static void handle(struct tally_event *ev, const struct tally_sample *sample, void *context)
{
}

static u64 any_number(void)
{
	static const u64 edges[] = {
		0, 1, 2, 3, 5, 8, 0x3c, 0xff, 1000, 1ULL << 32, 5ULL << 32 | 1, 1ULL << 62, U64_MAX
	};

	if (below(4))
		return edges[below(ARRAY_SIZE(edges))];
	return (u64)prandom_u32_state(&rnd) << 32 | prandom_u32_state(&rnd);
}

static u32 any_type(void)
{
	static const u32 types[] = { 0, 1, 1, 1, 2, 3, 4, 4, 5, 8, 9, 10, 77 };

	return types[below(ARRAY_SIZE(types))];
}

/* Sets members, and bits that an event of a program may have. */
static void fill_attr(struct perf_event_attr *attr)
{
	u64 *word = (u64 *)attr, bits = 0;
	size_t i;

	memset(attr, 0, sizeof(*attr));
	for (i = 0; i < sizeof(*attr) / sizeof(u64); i++)
		word[i] = below(24) ? 0 : any_number();
	for (i = 0; i < TALLY_BIT_RESERVED; i++)
		bits |= below(20) ? 0 : BIT_ULL(i);
	memcpy(&attr->read_format + 1, &bits, sizeof(bits));
	attr->type = any_type();
	attr->config = below(2) ? below(12) : any_number();
	attr->sample_type = below(4) ? 0 : 1ULL << below(24);
	if (attr->type == PERF_TYPE_BREAKPOINT && below(4)) {
		attr->config = 0;
		attr->bp_type = HW_BREAKPOINT_W;
		attr->bp_addr = 0x1000;
		attr->bp_len = 8;
	}
}

/* As device/device.c does for a program. */
static void describe_file(struct tally_builder *b)
{
	struct perf_event_attr attr;

	fill_attr(&attr);
	attr.disabled = 1;
	__tally_builder_init_attr(b, &attr, THIS_MODULE);
	b->flags |= TALLY_BUILDER_FILE | TALLY_BUILDER_RECORDS;
	if (attr.sample_period)
		tally_builder_on_overflow(b, handle, NULL);
	tally_builder_name(b, "file");
}

/* Returns whether the event is that of a line. */
static bool init(struct tally_builder *b, char *line)
{
	const struct tally_what what[] = {
		TALLY_HARDWARE(below(10)), TALLY_SOFTWARE(below(12)), TALLY_RAW(any_number()),
		TALLY_CACHE(below(8), below(4), below(3)), TALLY_TRACEPOINT(below(3)),
		TALLY_BREAKPOINT(below(3) * 4, below(10), 1 << below(3)),
		TALLY_PMU(any_type(), any_number()), TALLY_PMU_NAMED("core", any_number()),
		TALLY_KPROBE(0xffffffff81000010), TALLY_KPROBE_SYMBOL("vfs_read", 4),
		TALLY_KRETPROBE_SYMBOL("vfs_read"),
	};
	struct perf_event_attr attr;

	switch (below(4)) {
	case 0:
		fill_attr(&attr);
		__tally_builder_init_attr(b, &attr, OTHER);
		break;
	case 1:
		add_any_event(line);
		strcat(strcat(line, one_of(before)), " name=x");
		__tally_builder_parse(b, line, OTHER);
		return true;
	case 2:
		describe_file(b);
		break;
	default:
		__tally_builder_init(b, what[below(ARRAY_SIZE(what))], OTHER);
	}
	return false;
}

static void change_event(struct tally_builder *b)
{
	switch (below(12)) {
	case 0:
		tally_builder_config(b, any_number(), any_number(), below(2) ? any_number() : 0);
		break;
	case 1:
		tally_builder_exclude(b, below(64));
		break;
	case 2:
		tally_builder_precise(b, below(4) ?: TALLY_PRECISE_MAX);
		break;
	case 3:
		tally_builder_pinned(b);
		break;
	case 4:
		tally_builder_exclusive(b);
		break;
	case 5:
		tally_builder_disabled(b);
		break;
	case 6:
		tally_builder_on_cpu(b, below(4));
		break;
	case 7:
		tally_builder_on_task(b, shim_task(1 + below(9)));
		break;
	case 8:
		tally_builder_on_pid(b, below(10));
		break;
	case 9:
		tally_builder_on_cgroup(b, "/a b");
		break;
	case 10:
		tally_builder_on_all_cpus(b);
		break;
	default:
		tally_builder_name(b, "named");
	}
}

static void change_samples(struct tally_builder *b)
{
	switch (below(16)) {
	case 0:
		tally_builder_period(b, any_number());
		break;
	case 1:
		tally_builder_freq(b, 1 + below(2000));
		break;
	case 2:
		tally_builder_budget(b, any_number(), NSEC_PER_MSEC * below(4));
		break;
	case 3:
		tally_builder_max_rate(b, any_number());
		break;
	case 4:
		tally_builder_on_overflow(b, handle, NULL);
		break;
	case 5:
		tally_builder_on_overflow_irq(b, handle, b);
		break;
	case 6:
		tally_builder_on_overflow_work(b, handle, b);
		break;
	case 7:
		tally_builder_queue(b, below(100));
		break;
	case 8:
		tally_builder_one_shot(b);
		break;
	case 9:
		tally_builder_sample_type(b, 1ULL << below(24));
		tally_builder_ring(b, 1 + below(9000), below(8));
		break;
	case 10:
		tally_builder_branches(b, any_number());
		break;
	case 11:
		tally_builder_inherit(b);
		break;
	case 12:
		tally_builder_inherit_thread(b);
		break;
	case 13:
		tally_builder_enable_on_exec(b);
		break;
	case 14:
		tally_builder_remove_on_exec(b);
		break;
	default:
		tally_builder_sigtrap(b, any_number());
	}
}

static void spec_builders(struct kunit *test)
{
	struct tally_builder b;
	struct tally_event *ev;
	struct run r = { };
	char line[1024];
	unsigned int n;
	bool has_line;

	for (r.tried = 0; r.tried < 150000 && r.wrong < PRINTED; r.tried++) {
		*line = '\0';
		has_line = init(&b, line);
		for (n = below(3); n; n--, has_line = false)
			change_event(&b);
		/* The device gives its events nothing of these. */
		n = b.flags & TALLY_BUILDER_FILE || below(3) ? 0 : below(4);
		for (; n; n--, has_line = false)
			change_samples(&b);
		ev = tally_build(&b);
		if (IS_ERR(ev))
			continue;
		snprintf(line, sizeof(line), "builder %u: type %u, config %#llx, event '%s'",
			 r.tried, b.attr.type, (u64)b.attr.config, b.event);
		r.made++;
		remake(&r, ev, line, !has_line);
		tally_event_destroy(ev);
	}
	finish(test, &r, 150000, 36000, 10000);
}

static int begin(struct kunit *test)
{
	const char *seed = getenv("TALLY_SEED");

	prandom_seed_state(&rnd, seed ? strtoull(seed, NULL, 0) : 1);
	return 0;
}

static struct kunit_case spec_cases[] = {
	KUNIT_CASE(spec_modifiers),
	KUNIT_CASE(spec_options),
	KUNIT_CASE(spec_sets),
	KUNIT_CASE(spec_builders),
	{ }
};

static struct kunit_suite spec_suite = {
	.name = "tally_spec",
	.init = begin,
	.test_cases = spec_cases,
};

kunit_test_suite(spec_suite);
