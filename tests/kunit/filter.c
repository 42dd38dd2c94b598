// SPDX-License-Identifier: GPL-2.0
/*
 * tally's filters against the kernel's own filters: both accept the same texts, refuse
 * the same texts with the same errno, and match the same of many random records.
 */
#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/trace_events.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "filter/fields.h"
#include "filter/filter.h"
#include "filter_texts.h"

#define CREATE_TRACE_POINTS
#include "filter_event.h"

#define RECORDS		300
#define RECORD_SIZE	512
/* Offsets of the parts of a record that have no fixed place. */
#define DYN		256
#define REL		320
#define MASK		384

/* Functions of the kernel that are not exported; a kernel probe finds their addresses. */
static int (*create_filter)(struct trace_array *tr, struct trace_event_call *call,
			    char *text, bool set_str, struct event_filter **filter);
static void (*free_filter)(struct event_filter *filter);
static int (*match_preds)(struct event_filter *filter, void *record);

static struct rnd_state rnd;

/* ---- records ------------------------------------------------------------ */

struct any_record {
	union {
		struct trace_event_raw_tally_filter_kinds event;
		u8 bytes[RECORD_SIZE];
	};
};

#define END_OF(field)	offsetofend(struct trace_event_raw_tally_filter_kinds, field)

static u32 below(u32 n)
{
	return prandom_u32_state(&rnd) % n;
}

static const char *const strings[] = {
	"", "a", "b", "sh", "shell", "bash", "a.out", "kworker/0:1", "ab*",
	"[x]", "aXb", "abcabcabcab", "0123", "12", "x\\y",
};

static const char *any_string(void)
{
	return strings[below(ARRAY_SIZE(strings))];
}

/* There are few numbers, so that comparisons are often true. */
static u64 any_number(void)
{
	static const u64 numbers[] = {
		0, 1, 2, 3, 5, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000001, S64_MAX, S64_MIN,
		-1ULL, -2ULL, -100ULL,
	};

	return numbers[below(ARRAY_SIZE(numbers))];
}

static u32 place_string(struct any_record *rec, unsigned int at, unsigned int from)
{
	const char *str = any_string();
	u32 len = strlen(str) + 1;

	memcpy(rec->bytes + at, str, len);
	switch (below(8)) {
	case 0:
		len = 0;
		break;
	case 1:
		/* The length leaves out the terminating NUL. */
		len -= len > 1;
		break;
	case 2:
		len += 5;
		break;
	}
	return len << 16 | (at - from);
}

static void fill_record(struct any_record *rec)
{
	struct trace_event_raw_tally_filter_kinds *e = &rec->event;
	const char *str;

	memset(rec, 0, sizeof(*rec));
	e->ent.type = any_number();
	e->ent.flags = any_number();
	e->ent.preempt_count = any_number();
	e->ent.pid = any_number();
	e->s8 = any_number();
	e->u8 = any_number();
	e->s16 = any_number();
	e->u16 = any_number();
	e->s32 = any_number();
	e->u32 = any_number();
	e->s64 = any_number();
	e->u64 = any_number();
	memcpy(e->pair, &e->u64, sizeof(e->pair));
	str = any_string();
	memcpy(e->name, str, min(strlen(str), sizeof(e->name)));
	if (!below(4))
		memset(e->name, 'a', sizeof(e->name));
	e->__data_loc_dyn = place_string(rec, DYN, 0);
	e->__rel_loc_rel = place_string(rec, REL, END_OF(__rel_loc_rel));
	e->__data_loc_numbers = any_number();
	e->__data_loc_mask = 64 << 16 | MASK;
	rec->bytes[MASK] = below(8);
	e->ptr = below(8) ? any_string() : (void *)(unsigned long)any_number();
	e->user = (void *)(unsigned long)any_number();
	e->ip = (unsigned long)fill_record + below(4) * 0x100;
}

/* ---- both filters ------------------------------------------------------- */

struct both {
	struct event_filter *theirs;
	struct tally_filter *ours;
	int their_err;
	int our_err;
};

static void parse_both(struct both *b, struct trace_event_call *call, const char *text)
{
	b->theirs = NULL;
	b->their_err = create_filter(NULL, call, (char *)text, false, &b->theirs);
	b->ours = tally_filter_parse(call, text);
	b->our_err = PTR_ERR_OR_ZERO(b->ours);
}

static void free_both(struct both *b)
{
	if (b->theirs)
		free_filter(b->theirs);
	if (!b->our_err)
		tally_filter_free(b->ours);
}

/* Both run on one CPU: a filter may compare it, and the kernel's buffers are per CPU. */
static bool same_match(struct both *b, struct any_record *rec, bool *hit)
{
	bool their;

	preempt_disable();
	their = match_preds(b->theirs, rec);
	*hit = tally_filter_match(b->ours, rec, sizeof(*rec));
	preempt_enable();
	return their == *hit;
}

/* Returns how often both filters matched; -1 if they did not agree. */
static int compare_records(struct both *b, unsigned int n)
{
	struct any_record *rec = kmalloc(sizeof(*rec), GFP_KERNEL);
	int hits = 0;
	bool hit;

	if (!rec)
		return -1;
	while (n--) {
		fill_record(rec);
		if (!same_match(b, rec, &hit)) {
			hits = -1;
			break;
		}
		hits += hit;
	}
	kfree(rec);
	return hits;
}

static int compare_text(struct kunit *test, struct trace_event_call *call,
			const char *text, unsigned int records)
{
	struct both b;
	int hits = 0;

	parse_both(&b, call, text);
	KUNIT_EXPECT_EQ_MSG(test, b.our_err, b.their_err, "%s", text);
	if (!b.our_err && !b.their_err) {
		hits = compare_records(&b, records);
		KUNIT_EXPECT_GE_MSG(test, hits, 0, "%s", text);
	}
	free_both(&b);
	return hits;
}

/* ---- texts that are accepted -------------------------------------------- */

static void filter_good(struct kunit *test)
{
	unsigned int mixed = 0;
	int i, hits;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		hits = compare_text(test, &event_tally_filter_kinds, good[i].text, RECORDS);
		mixed += hits > 0 && hits < RECORDS;
	}
	/* A filter that matches all records or none proves little. */
	KUNIT_EXPECT_GT(test, mixed, (unsigned int)ARRAY_SIZE(good) / 2);
}

/* ---- texts that are refused --------------------------------------------- */

static void filter_refused(struct kunit *test)
{
	const struct refused *r;
	struct both b;

	for (r = refused; r < refused + ARRAY_SIZE(refused); r++) {
		parse_both(&b, &event_tally_filter_kinds, r->text);
		KUNIT_EXPECT_EQ_MSG(test, b.their_err, r->err, "%s", r->text);
		KUNIT_EXPECT_EQ_MSG(test, b.our_err, r->err, "%s", r->text);
		free_both(&b);
	}
}

/* Texts that the kernel accepts, and tally does not. */
static void filter_left_out(struct kunit *test)
{
	struct both b;
	int i;

	for (i = 0; i < ARRAY_SIZE(left_out); i++) {
		parse_both(&b, &event_tally_filter_kinds, left_out[i]);
		KUNIT_EXPECT_EQ_MSG(test, b.their_err, 0, "%s", left_out[i]);
		KUNIT_EXPECT_EQ_MSG(test, b.our_err, -EINVAL, "%s", left_out[i]);
		free_both(&b);
	}
}

/* ---- limits ------------------------------------------------------------- */

static char *repeat(struct kunit *test, const char *head, const char *part, int n,
		    const char *tail)
{
	size_t size = strlen(head) + n * strlen(part) + strlen(tail) + 1;
	char *text = kunit_kzalloc(test, size, GFP_KERNEL), *at;

	KUNIT_ASSERT_NOT_NULL(test, text);
	at = text + sprintf(text, "%s", head);
	while (n--)
		at += sprintf(at, "%s", part);
	sprintf(at, "%s", tail);
	return text;
}

static void filter_limits(struct kunit *test)
{
	struct trace_event_call *call = &event_tally_filter_kinds;
	struct tally_filter *f;
	char *text;

	/* A string of 255 characters, and of one more. */
	compare_text(test, call, repeat(test, "name == '", "a", 255, "'"), RECORDS);
	compare_text(test, call, repeat(test, "name ~ '", "a", 255, "'"), RECORDS);
	compare_text(test, call, repeat(test, "dyn ~ '", "*a", 127, "*'"), RECORDS);
	text = repeat(test, "name == '", "a", 256, "'");
	KUNIT_EXPECT_PTR_EQ(test, (void *)tally_filter_parse(call, text),
			    ERR_PTR(-EINVAL));
	compare_text(test, call, text, 1);
	/* As many comparisons and levels as a text of one page has room for. */
	compare_text(test, call, repeat(test, "u8>5", "&&u8>1", 600, ""), RECORDS);
	compare_text(test, call, repeat(test, "u8>5", "||u8>9", 600, ""), RECORDS);
	compare_text(test, call, repeat(test, "u8>5", "||u8&1&&s8<1", 300, ""), RECORDS);
	compare_text(test, call, repeat(test, repeat(test, "", "!(", 1300, "u8>5"), ")",
					1300, ""), RECORDS);
	compare_text(test, call, repeat(test, repeat(test, "", "(u8&1||", 400, "s8>5"),
					")", 400, ""), RECORDS);
	text = repeat(test, "u8>5", " ", PAGE_SIZE - 5, "");
	compare_text(test, call, text, RECORDS);
	text = repeat(test, "u8>5", " ", PAGE_SIZE - 4, "");
	f = tally_filter_parse(call, text);
	KUNIT_EXPECT_PTR_EQ(test, (void *)f, ERR_PTR(-EINVAL));
}

/* ---- short records ------------------------------------------------------ */

/* Records are in memory of exactly their size: KASAN reports a read behind the end. */
static void filter_short(struct kunit *test)
{
	struct any_record *rec = kunit_kzalloc(test, sizeof(*rec), GFP_KERNEL);
	struct tally_filter *f;
	unsigned int size;
	u8 *part;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, rec);
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		f = tally_filter_parse(&event_tally_filter_kinds, good[i].text);
		if (IS_ERR(f))
			continue;
		for (size = 0; size < sizeof(*rec); size += 1 + below(16)) {
			fill_record(rec);
			part = kmemdup(rec, size, GFP_KERNEL);
			if (part)
				tally_filter_match(f, part, size);
			kfree(part);
		}
		tally_filter_free(f);
	}
}

struct end {
	unsigned int end;
	const char *text;
};

static const struct end ends[] = {
	{ END_OF(s8), "s8 >= -128" }, { END_OF(u8), "u8 != 7" },
	{ END_OF(s16), "s16 != 7" }, { END_OF(u32), "u32 >= 0" },
	{ END_OF(s64), "s64 != 7" }, { END_OF(u64), "u64 >= 0" },
	{ END_OF(name), "name ~ '*'" }, { END_OF(name), "name != 'x'" },
	{ DYN + 4, "dyn != 'x'" }, { REL + 4, "rel != 'x'" },
	{ END_OF(__data_loc_mask), "mask != 7" }, { END_OF(ptr), "ptr != 'x'" },
	{ END_OF(ip), "ip != 7" },
};

/* A field that is not wholly in the record matches nothing. */
static void filter_ends(struct kunit *test)
{
	struct any_record *rec = kunit_kzalloc(test, sizeof(*rec), GFP_KERNEL);
	const struct end *e;
	struct tally_filter *f;

	KUNIT_ASSERT_NOT_NULL(test, rec);
	rec->event.ptr = "abc";
	rec->event.__data_loc_dyn = 4 << 16 | DYN;
	rec->event.__rel_loc_rel = 4 << 16 | (REL - END_OF(__rel_loc_rel));
	rec->event.__data_loc_mask = sizeof(long) << 16 | MASK;
	KUNIT_ASSERT_LE(test, nr_cpu_ids, (unsigned int)BITS_PER_LONG);
	for (e = ends; e < ends + ARRAY_SIZE(ends); e++) {
		f = tally_filter_parse(&event_tally_filter_kinds, e->text);
		KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(f), "%s", e->text);
		KUNIT_EXPECT_TRUE_MSG(test, tally_filter_match(f, rec, e->end), "%s", e->text);
		KUNIT_EXPECT_FALSE_MSG(test, tally_filter_match(f, rec, e->end - 1), "%s",
				       e->text);
		KUNIT_EXPECT_FALSE_MSG(test, tally_filter_match(f, rec, 0), "%s", e->text);
		tally_filter_free(f);
	}
	/* A string with a length of 0, and without a NUL in the record. */
	memset(rec->bytes + DYN, 'a', sizeof(*rec) - DYN);
	rec->event.__data_loc_dyn = DYN;
	f = tally_filter_parse(&event_tally_filter_kinds, "dyn ~ 'a*'");
	KUNIT_ASSERT_FALSE(test, IS_ERR(f));
	KUNIT_EXPECT_FALSE(test, tally_filter_match(f, rec, sizeof(*rec)));
	rec->bytes[sizeof(*rec) - 1] = '\0';
	KUNIT_EXPECT_TRUE(test, tally_filter_match(f, rec, sizeof(*rec)));
	tally_filter_free(f);
}

/* ---- strings behind pointers -------------------------------------------- */

/* Strings that end at the end of their page, that go beyond it, and long strings. */
static void filter_pointers(struct kunit *test)
{
	struct any_record *rec = kunit_kzalloc(test, sizeof(*rec), GFP_KERNEL);
	static const char *const texts[] = {
		"ptr == 'aaa'", "ptr ~ '*a'", "ptr ~ 'a*'", "ptr ~ '*ab*'", "ptr != 'a'",
		"ptr ~ '*b'",
	};
	char *page = vmalloc(PAGE_SIZE);
	struct both b;
	int i, at;
	bool hit;

	KUNIT_ASSERT_NOT_NULL(test, rec);
	KUNIT_ASSERT_NOT_NULL(test, page);
	memset(page, 'a', PAGE_SIZE);
	page[100] = 'b';
	for (i = 0; i < ARRAY_SIZE(texts) * 2; i++) {
		page[PAGE_SIZE - 1] = i % 2 ? 'a' : '\0';
		parse_both(&b, &event_tally_filter_kinds, texts[i / 2]);
		KUNIT_ASSERT_EQ(test, b.our_err, 0);
		for (at = 0; at < PAGE_SIZE; at += at < 4000 ? 67 : 1) {
			rec->event.ptr = page + at;
			KUNIT_EXPECT_TRUE_MSG(test, same_match(&b, rec, &hit), "%s at %d",
					      texts[i / 2], at);
		}
		free_both(&b);
	}
	vfree(page);
}

/* ---- random texts ------------------------------------------------------- */

static const char *const words[] = {
	"s8", "u16", "s32", "u64", "name", "dyn", "rel", "ptr", "mask", "pair", "odd",
	"comm", "CPU", "common_pid", "frob", ".ustring", ".x",
	"==", "!=", "<", "<=", ">", ">=", "&", "~", "=", "!",
	"1", "-1", "0xff", "7x", "99999999999999999999", "\"a*\"", "'sh'", "\"*a\"",
	"'*b*'", "\"[a-s]*\"", "\"\"", "'", "\"", "CPUS", "{", "}",
	"&&", "||", "(", ")", " ", "\t", "\xa0", "|", "_", "x",
};

/* Adds a comparison that is mostly valid. */
static char *add_term(char *at)
{
	static const char *const numbers[] = { "s8", "u16", "s32", "u64", "common_pid" };
	static const char *const texts[] = { "name", "dyn", "rel", "ptr", "comm" };

	if (below(2))
		return at + sprintf(at, "%s%s%s", numbers[below(5)], words[17 + below(7)],
				    words[27 + below(3)]);
	return at + sprintf(at, "%s %s %s", texts[below(5)],
			    below(2) ? "~" : below(2) ? "==" : "!=", words[32 + below(6)]);
}

static void make_formula(char *text)
{
	static const char *const glue[] = { "&&", "||", " && ", " || " };
	int n = 1 + below(8), depth = 0;
	char *at = text;

	while (n--) {
		while (!below(3))
			at += sprintf(at, "!");
		while (!below(3) && depth < 8) {
			depth++;
			at += sprintf(at, below(3) ? "(" : "!(");
		}
		at = add_term(at);
		while (depth && !below(2)) {
			depth--;
			at += sprintf(at, ")");
		}
		if (n)
			at += sprintf(at, "%s", glue[below(4)]);
	}
	while (depth--)
		at += sprintf(at, ")");
	/* Now and then, one character is replaced, and the formula may become invalid. */
	if (!below(4))
		text[below(at - text)] = words[below(ARRAY_SIZE(words))][0];
}

static void make_words(char *text)
{
	int n = 1 + below(8);

	while (n--)
		text += sprintf(text, "%s", words[below(ARRAY_SIZE(words))]);
}

static void filter_random(struct kunit *test)
{
	unsigned int taken = 0, i;
	char text[600];
	struct both b;
	bool same;

	for (i = 0; i < 20000; i++) {
		if (i % 2)
			make_formula(text);
		else
			make_words(text);
		parse_both(&b, &event_tally_filter_kinds, text);
		same = b.our_err == b.their_err;
		if (same && !b.our_err) {
			same = compare_records(&b, 8) >= 0;
			taken++;
		}
		KUNIT_EXPECT_TRUE_MSG(test, same, "%s: %d, the kernel says %d", text,
				      b.our_err, b.their_err);
		free_both(&b);
		if (!same)
			break;
		cond_resched();
	}
	KUNIT_EXPECT_GT(test, taken, 5000u);
	KUNIT_EXPECT_LT(test, taken, 15000u);
}

/* ---- other events ------------------------------------------------------- */

static const char *const events[][2] = {
	{ "sched", "sched_switch" }, { "sched", "sched_wakeup" },
	{ "sched", "sched_process_exec" }, { "sched", "sched_process_fork" },
	{ "task", "task_newtask" }, { "task", "task_rename" }, { "irq", "softirq_entry" },
	{ "irq", "irq_handler_entry" }, { "timer", "timer_start" },
	{ "timer", "hrtimer_expire_entry" }, { "workqueue", "workqueue_queue_work" },
	{ "kmem", "kmalloc" }, { "signal", "signal_generate" },
	{ "raw_syscalls", "sys_enter" }, { "raw_syscalls", "sys_exit" },
	{ "syscalls", "sys_enter_write" }, { "syscalls", "sys_exit_write" },
	{ "syscalls", "sys_enter_openat" }, { "kprobes", "tally_filter_probe" },
};

static const char *const names[] = {
	"prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid",
	"comm", "pid", "prio", "target_cpu", "filename", "old_pid", "parent_comm",
	"child_comm", "parent_pid", "clone_flags", "oom_score_adj", "oldcomm", "newcomm",
	"vec", "irq", "name", "timer", "function", "expires", "flags", "hrtimer", "now",
	"work", "workqueue", "req_cpu", "cpu", "call_site", "ptr", "bytes_req", "sig",
	"errno", "code", "group", "result", "id", "args", "ret", "nr", "__syscall_nr",
	"fd", "buf", "count", "dfd", "mode", "a", "b", "c", "d", "__probe_ip",
	"common_type", "common_pid", "success", "common_stacktrace",
};

/* Comparisons that depend on the offset, the size, the sign and the kind of a field. */
static void compare_fields(struct kunit *test, struct trace_event_call *call)
{
	static const char *const ends[] = {
		"== 1", "< -1", "> 127", "& 0x80000000",
	};
	struct tally_field field;
	char text[80];
	int i, j;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		for (j = 0; j < ARRAY_SIZE(ends); j++) {
			snprintf(text, sizeof(text), "%s%s", names[i], ends[j]);
			compare_text(test, call, text, 30);
		}
		/* Random records have no strings at random places. */
		snprintf(text, sizeof(text), "%s ~ \"*a*\"", names[i]);
		if (tally_field_find(call, names[i], strlen(names[i]), &field) ||
		    field.kind != FILTER_STATIC_STRING)
			compare_text(test, call, text, 0);
		else
			compare_text(test, call, text, 30);
	}
}

static int make_probe(struct kunit *test)
{
	char *buf = kunit_kzalloc(test, MAX_DYNEVENT_CMD_LEN, GFP_KERNEL);
	struct dynevent_cmd cmd;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	kprobe_event_cmd_init(&cmd, buf, MAX_DYNEVENT_CMD_LEN);
	err = kprobe_event_gen_cmd_start(&cmd, "tally_filter_probe", "vfs_read",
					 "a=$stack0:u16", "b=$stack1:s8",
					 "c=$comm", "d=$stack2:x64");
	return err ?: kprobe_event_gen_cmd_end(&cmd);
}

static void filter_events(struct kunit *test)
{
	struct trace_event_file *file;
	int i, found = 0;

	KUNIT_EXPECT_EQ(test, make_probe(test), 0);
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		file = trace_get_event_file(NULL, events[i][0], events[i][1]);
		if (IS_ERR(file)) {
			kunit_info(test, "no event %s:%s", events[i][0], events[i][1]);
			continue;
		}
		compare_fields(test, file->event_call);
		trace_put_event_file(file);
		found++;
	}
	KUNIT_EXPECT_GE(test, found, 14);
	KUNIT_EXPECT_EQ(test, kprobe_event_delete("tally_filter_probe"), 0);
}

/* ---- memory ------------------------------------------------------------- */

/*
 * Lets the n-th allocation of a parse fail, for each n. The first allocation is that of
 * the levels, and the second that of the filter; both must be seen to fail. Between them,
 * the kernel's checkers (kmemleak, KASAN) allocate memory of their own, and go on without
 * it. Memory per CPU only fails if the kernel has to get pages for it.
 */
static void filter_no_memory(struct kunit *test)
{
	static const char text[] = "ptr == 'a' || (name ~ 'a*b' && u8 & 3)";
	int n, left = 0, refused = 0;
	struct tally_filter *f;

	for (n = 1; !left && n < 200; n++) {
		current->fail_nth = n;
		f = tally_filter_parse(&event_tally_filter_kinds, text);
		left = current->fail_nth;
		current->fail_nth = 0;
		if (IS_ERR(f)) {
			KUNIT_EXPECT_PTR_EQ_MSG(test, (void *)f, ERR_PTR(-ENOMEM), "%d", n);
			KUNIT_EXPECT_EQ_MSG(test, left, 0, "%d", n);
			refused++;
		} else {
			tally_filter_free(f);
		}
	}
	KUNIT_EXPECT_NE(test, left, 0);
	KUNIT_EXPECT_GE(test, refused, 2);
	tally_filter_free(NULL);
}

/* ---- the suite ---------------------------------------------------------- */

static void *find(const char *name)
{
	struct kprobe kp = { .symbol_name = name, .flags = KPROBE_FLAG_DISABLED };
	void *addr;

	if (register_kprobe(&kp))
		return NULL;
	addr = kp.addr;
	unregister_kprobe(&kp);
	return addr;
}

static int filter_init(struct kunit *test)
{
	if (!create_filter) {
		create_filter = find("create_event_filter");
		free_filter = find("free_event_filter");
		match_preds = find("filter_match_preds");
	}
	KUNIT_ASSERT_NOT_NULL(test, create_filter);
	KUNIT_ASSERT_NOT_NULL(test, free_filter);
	KUNIT_ASSERT_NOT_NULL(test, match_preds);
	prandom_seed_state(&rnd, 1);
	return 0;
}

static struct kunit_case filter_cases[] = {
	KUNIT_CASE(filter_good),
	KUNIT_CASE(filter_refused),
	KUNIT_CASE(filter_left_out),
	KUNIT_CASE(filter_limits),
	KUNIT_CASE(filter_short),
	KUNIT_CASE(filter_ends),
	KUNIT_CASE(filter_pointers),
	KUNIT_CASE(filter_random),
	KUNIT_CASE(filter_events),
	KUNIT_CASE(filter_no_memory),
	{}
};

static struct kunit_suite filter_suite = {
	.name = "tally_filter",
	.init = filter_init,
	.test_cases = filter_cases,
};

kunit_test_suites(&filter_suite);
