// SPDX-License-Identifier: GPL-2.0
/*
 * Filters of tracepoints' records: text, to terms that tell where to go next.
 *
 * The language is that of PERF_EVENT_IOC_SET_FILTER, whose own parser modules
 * cannot call:
 *
 *	prev_pid == 0 && (comm ~ "sh*" || !(common_pid & 1))
 *
 * What it accepts is accepted here, and what it refuses is refused with the same
 * number, odd as those are: of a formula that does not hold together it tells -1,
 * -2 and -3, which its callers see as EPERM, ENOENT and ESRCH.
 */
#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/glob.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include "compat.h"
#include "filter/fields.h"
#include "filter/filter.h"
#include "base/pmu.h"

#define ERR_FORM	(-EPERM)	/* its -1 */
#define ERR_OPEN	(-ENOENT)	/* its -2 */
#define ERR_QUOTE	(-ESRCH)	/* its -3 */

/* Longer texts never reach perf's parser. */
#define MAX_TEXT	PAGE_SIZE

/* Two results of each, and two ends, have numbers below NOBODY. */
#define MAX_TERMS	16384

/*
 * What is still to be told where to go: results of terms, linked through the
 * places where the answer will be. A result is a term's number, twice, and one
 * more if it is the true one.
 */
#define NOBODY	0xffff

/**
 * struct level - what is known of a formula in parentheses, before its end
 * @invert: whether a '!' is in front of it
 * @and_false: the results by which the operands of && before make all false
 * @or_true: those by which the operands of || before make all true
 */
struct level {
	bool invert;
	u16 and_false;
	u16 or_true;
};

/* The operand that ended last: by which results it is true and false. */
struct operand {
	u16 is[2];
};

struct parser {
	struct trace_event_call *call;
	const char *at;
	char *why;
	size_t why_size;
	struct tally_filter *f;
	unsigned int max_terms;
	struct level *levels;
	unsigned int max_levels;
	unsigned int level;
	struct cpumask *spare_mask;	/* where the next set goes */
	char *spare_text;		/* where the next text goes */
};

static __printf(3, 4) int bad(struct parser *p, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(p->why, p->why_size, fmt, args);
	va_end(args);
	return err;
}

static void skip_blanks(struct parser *p)
{
	p->at = skip_spaces(p->at);
}

/* ---- terms -------------------------------------------------------------- */

struct field {
	struct tally_field where;
	const char *name;
	int len;
	bool function;
	bool user;
};

static bool skip_prefix(struct parser *p, const char *prefix)
{
	size_t len = str_has_prefix(p->at, prefix);

	p->at += len;
	return len;
}

static int parse_field(struct parser *p, struct field *field)
{
	int err;

	field->name = p->at;
	while (isalnum(*p->at) || *p->at == '_')
		p->at++;
	field->len = p->at - field->name;
	if (!field->len)
		return bad(p, ERR_FORM, "a field is missing before '%.16s'", p->at);
	err = tally_field_find(p->call, field->name, field->len, &field->where);
	if (err == -ENOENT)
		return bad(p, -EINVAL, "no field '%.*s'", field->len, field->name);
	if (err)
		return bad(p, err, "the fields of this event cannot be told");
	field->user = skip_prefix(p, ".ustring");
	field->function = TALLY_FILTER_HAS_FUNCTION && skip_prefix(p, ".function");
	return 0;
}

static int parse_op(struct parser *p, const struct field *field, u8 *op)
{
	static const char *const ops[TALLY_OP_NR] = {
		"~", "!=", "==", "<=", "<", ">=", ">", "&"
	};

	skip_blanks(p);
	for (*op = 0; *op < TALLY_OP_NR; (*op)++) {
		if (skip_prefix(p, ops[*op])) {
			skip_blanks(p);
			return 0;
		}
	}
	return bad(p, -EINVAL, "no operator after '%.*s'", field->len, field->name);
}

static int bad_op(struct parser *p, const struct field *field)
{
	return bad(p, -EINVAL, "'%.*s' has no such operator", field->len, field->name);
}

/* A copy of what digits may be; the longest address has 18. */
static int copy_digits(struct parser *p, char *digits, size_t size)
{
	const char *from = p->at;
	size_t len;

	if (*p->at == '-')
		p->at++;
	while (isalnum(*p->at))
		p->at++;
	len = p->at - from;
	if (len >= size)
		return bad(p, -EINVAL, "'%.*s' is too long for a number", (int)len, from);
	memcpy(digits, from, len);
	digits[len] = '\0';
	return 0;
}

/* As @size bytes hold it, and as it is compared: extended again. */
static u64 as_in_field(u64 value, const struct tally_field *field)
{
	switch (field->size) {
	case 1:
		return field->is_signed ? (u64)(s8)value : (u8)value;
	case 2:
		return field->is_signed ? (u64)(s16)value : (u16)value;
	case 4:
		return field->is_signed ? (u64)(s32)value : (u32)value;
	}
	return value;
}

static void set_number(struct tally_term *t, const struct tally_field *field, u64 value)
{
	bool known = field->size == 1 || field->size == 2 || field->size == 4 ||
		     field->size == 8;

	t->kind = known ? TALLY_TERM_NUMBER : TALLY_TERM_NEVER;
	t->is_signed = field->is_signed;
	t->value = as_in_field(value, field);
}

static int parse_number(struct parser *p, const struct field *field,
			struct tally_term *t)
{
	char digits[24];
	u64 value;
	int err;

	if (tally_field_is_string(&field->where))
		return bad(p, -EINVAL, "'%.*s' is compared with a string in quotes",
			   field->len, field->name);
	if (t->op == TALLY_OP_GLOB)
		return bad_op(p, field);
	err = copy_digits(p, digits, sizeof(digits));
	if (err)
		return err;
	if (field->where.is_signed)
		err = kstrtos64(digits, 0, (s64 *)&value);
	else
		err = kstrtou64(digits, 0, &value);
	if (err)
		return bad(p, -EINVAL, "'%s' is no number for '%.*s'", digits,
			   field->len, field->name);
	set_number(t, &field->where, value);
	if (field->where.kind == FILTER_CPU) {
		t->kind = TALLY_TERM_CPU;
		t->value = value;
	}
	return 0;
}

/* Which function an address is in; what finds that is not for modules. */
static noinline_for_stack bool find_function(unsigned long addr, struct tally_term *t)
{
	unsigned long offset, size;
	char name[KSYM_SYMBOL_LEN];
	const char *plus;

	sprint_symbol(name, addr);
	plus = strrchr(name, '+');
	if (!plus || sscanf(plus, "+%lx/%lx", &offset, &size) != 2)
		return false;
	t->value = addr - offset;
	t->end = t->value + size;
	return true;
}

static int named_function(struct parser *p, u64 *addr)
{
	const char *from = p->at;
	char *name;
	int len, err;

	while (*p->at && !isspace(*p->at))
		p->at++;
	len = p->at - from;
	name = kmemdup_nul(from, len, GFP_KERNEL);
	if (!name)
		return bad(p, -ENOMEM, "no memory");
	err = tally_symbol_address(name, 0, addr);
	kfree(name);
	switch (err) {
	case 0:
		return 0;
	case -ENOMEM:
		return bad(p, err, "no memory");
	case -ENOENT:
		return bad(p, -EINVAL, "no function '%.*s'", len, from);
	}
	return bad(p, -EOPNOTSUPP, "'%.*s' cannot be probed, so tally cannot find it",
		   len, from);
}

static int parse_function(struct parser *p, const struct field *field,
			  struct tally_term *t)
{
	char digits[24];
	unsigned long ip;
	u64 addr;
	int err;

	if (field->where.size != sizeof(long))
		return bad(p, -EINVAL, "'%.*s' has no addresses", field->len, field->name);
	if (t->op != TALLY_OP_EQ && t->op != TALLY_OP_NE)
		return bad_op(p, field);
	if (isdigit(*p->at)) {
		err = copy_digits(p, digits, sizeof(digits));
		if (!err && kstrtoul(digits, 0, &ip))
			err = bad(p, -EINVAL, "'%s' is no address", digits);
		addr = ip;
	} else {
		err = named_function(p, &addr);
	}
	if (err)
		return err;
	t->kind = TALLY_TERM_FUNCTION;
	if (!find_function(addr, t))
		return bad(p, -EINVAL, "no function is at %#llx", addr);
	return 0;
}

/* What a set is compared with; of one CPU it is as good as that CPU's number. */
static void set_cpus(struct tally_term *t, struct tally_field *field,
		     const struct cpumask *cpus)
{
	bool one = cpumask_weight(cpus) == 1;
	unsigned int cpu = cpumask_first(cpus);

	t->cpus = cpus;
	if (one)
		t->value = cpu;
	if (field->kind == TALLY_FILTER_CPUMASK) {
		t->kind = one ? TALLY_TERM_MASK_CPU : TALLY_TERM_MASK_CPUS;
		return;
	}
	if (one && t->op == TALLY_OP_AND)
		t->op = TALLY_OP_EQ;
	field->is_signed = false;
	if (field->kind == FILTER_CPU) {
		t->kind = one ? TALLY_TERM_CPU : TALLY_TERM_CPU_CPUS;
		return;
	}
	if (one)
		set_number(t, field, cpu);
	else
		t->kind = TALLY_TERM_NUMBER_CPUS;
}

static int parse_cpus(struct parser *p, struct field *field, struct tally_term *t)
{
	struct cpumask *cpus = p->spare_mask;
	const char *end;
	size_t len;

	if (field->where.kind != TALLY_FILTER_CPUMASK && field->where.kind != FILTER_CPU &&
	    field->where.kind != FILTER_OTHER)
		return bad(p, -EINVAL, "'%.*s' has no cpus", field->len, field->name);
	if (t->op != TALLY_OP_EQ && t->op != TALLY_OP_NE && t->op != TALLY_OP_AND)
		return bad_op(p, field);
	if (!skip_prefix(p, "CPUS{"))
		return bad(p, -EINVAL, "no '{' after CPUS");
	end = strchr(p->at, '}');
	if (!end)
		return bad(p, -EINVAL, "no '}' after CPUS{");
	len = end - p->at;
	memcpy(p->spare_text, p->at, len);
	p->spare_text[len] = '\0';
	if (!len || cpulist_parse(p->spare_text, cpus))
		return bad(p, -EINVAL, "'%s' is no list of cpus", p->spare_text);
	p->spare_mask = (void *)cpus + cpumask_size();
	p->at = end + 1;
	set_cpus(t, &field->where, cpus);
	return 0;
}

/*
 * Up to Linux 6.1.192 at least "[!a]" matches a string's end, and what is behind
 * it is looked at next; not so in 6.12.117. This kernel is asked, with a string
 * behind which is another end.
 */
static bool class_takes_end(void)
{
	return IS_ENABLED(CONFIG_GLOB) && glob_match("[!a]", "\0");
}

/* Which strings a pattern means; the common ones need no glob. */
static void set_pattern(struct tally_term *t, char *text)
{
	static const char special[] = "*?[\\";
	bool front, end;
	size_t len;

	if (*text == '!') {
		t->invert = true;
		text++;
	}
	t->text = text;
	len = strlen(text);
	t->text_len = len;
	t->text_kind = TALLY_TEXT_FULL;
	if (isdigit(*text))
		return;
	front = *text == '*';
	end = len > 1 && text[len - 1] == '*';
	len -= front + end;
	if (strcspn(text + front, special) < len) {
		t->text_kind = TALLY_TEXT_GLOB;
		t->end_in_class = class_takes_end();
		return;
	}
	if (front)
		t->text_kind = end ? TALLY_TEXT_MIDDLE : TALLY_TEXT_END;
	else if (end)
		t->text_kind = TALLY_TEXT_FRONT;
	text[front + len] = '\0';
	t->text = text + front;
	t->text_len = len;
}

static int make_room(struct parser *p)
{
	if (!p->f->strings)
		p->f->strings = alloc_percpu(struct tally_filter_strings);
	return p->f->strings ? 0 : bad(p, -ENOMEM, "no memory");
}

static int set_string(struct parser *p, const struct field *field,
		      struct tally_term *t)
{
	switch (field->where.kind) {
	case FILTER_COMM:
		t->kind = TALLY_TERM_COMM;
		return 0;
	case FILTER_STATIC_STRING:
		t->kind = TALLY_TERM_ARRAY;
		return 0;
	case FILTER_DYN_STRING:
		t->kind = TALLY_TERM_DATA_LOC;
		return 0;
	case FILTER_RDYN_STRING:
		t->kind = TALLY_TERM_REL_LOC;
		return 0;
	}
	t->kind = field->user ? TALLY_TERM_USER_POINTER : TALLY_TERM_POINTER;
	return make_room(p);
}

static int parse_string(struct parser *p, const struct field *field,
			struct tally_term *t)
{
	char *text = p->spare_text;
	const char *end;
	size_t len;

	if (t->op != TALLY_OP_EQ && t->op != TALLY_OP_NE && t->op != TALLY_OP_GLOB)
		return bad_op(p, field);
	if (!tally_field_is_string(&field->where))
		return bad(p, -EINVAL, "'%.*s' is compared with a number, without quotes",
			   field->len, field->name);
	end = strchr(p->at + 1, *p->at);
	if (!end)
		return bad(p, -EINVAL, "a quote that does not end");
	len = end - p->at - 1;
	if (len >= MAX_FILTER_STR_VAL)
		return bad(p, -EINVAL, "a string of %zu or more characters",
			   (size_t)MAX_FILTER_STR_VAL);
	memcpy(text, p->at + 1, len);
	text[len] = '\0';
	p->spare_text += len + 1;
	p->at = end + 1;
	t->invert = t->op == TALLY_OP_NE;
	if (t->op == TALLY_OP_GLOB) {
		set_pattern(t, text);
	} else {
		t->text = text;
		t->text_len = len;
		t->text_kind = TALLY_TEXT_FULL;
	}
	return set_string(p, field, t);
}

static int parse_term(struct parser *p, struct tally_term *t)
{
	struct field field;
	int err;

	err = parse_field(p, &field);
	if (!err)
		err = parse_op(p, &field, &t->op);
	if (err)
		return err;
	t->offset = field.where.offset;
	t->size = field.where.size;
	if (field.function)
		return parse_function(p, &field, t);
	if (TALLY_FILTER_HAS_CPUS && !strncmp(p->at, "CPUS", 4))
		return parse_cpus(p, &field, t);
	if (*p->at == '\'' || *p->at == '"')
		return parse_string(p, &field, t);
	if (isdigit(*p->at) || *p->at == '-')
		return parse_number(p, &field, t);
	return bad(p, -EINVAL, "neither a number nor a string in quotes after '%.*s'",
		   field.len, field.name);
}

/* ---- formulas ----------------------------------------------------------- */

static u16 *place_of(struct parser *p, u16 result)
{
	return &p->f->terms[result / 2].next[result % 2];
}

static u16 join(struct parser *p, u16 a, u16 b)
{
	u16 *at = &a;

	while (*at != NOBODY)
		at = place_of(p, *at);
	*at = b;
	return a;
}

static void go_to(struct parser *p, u16 results, u16 term)
{
	u16 *at;

	while (results != NOBODY) {
		at = place_of(p, results);
		results = *at;
		*at = term;
	}
}

static int open_level(struct parser *p, bool invert)
{
	if (++p->level >= p->max_levels)
		return bad(p, -EINVAL, "too many '('");
	p->levels[p->level] = (struct level) {
		.invert = invert,
		.and_false = NOBODY,
		.or_true = NOBODY,
	};
	return 0;
}

/* The operands of && that came before are false as @o is, and lead to it. */
static void end_and(struct parser *p, struct level *l, struct operand *o)
{
	o->is[false] = join(p, l->and_false, o->is[false]);
	l->and_false = NOBODY;
}

static void end_or(struct parser *p, struct level *l, struct operand *o)
{
	o->is[true] = join(p, l->or_true, o->is[true]);
	l->or_true = NOBODY;
}

/* An operand, and any number of '!' and '(' before it. */
static int parse_operand(struct parser *p, struct operand *o)
{
	unsigned int n = p->f->nr;
	bool invert = false;
	int err;

	for (;; p->at++) {
		skip_blanks(p);
		if (*p->at == '!' && p->at[1] != '=' && p->at[1] != '~') {
			invert = !invert;
			continue;
		}
		if (*p->at != '(')
			break;
		err = open_level(p, invert);
		if (err)
			return err;
		invert = false;
	}
	if (!*p->at)
		return bad(p, -EINVAL, "it ends where a comparison is expected");
	if (n == p->max_terms)
		return bad(p, ERR_FORM, "too many comparisons");
	err = parse_term(p, &p->f->terms[n]);
	if (err)
		return err;
	p->f->terms[n].next[0] = NOBODY;
	p->f->terms[n].next[1] = NOBODY;
	o->is[invert] = 2 * n;
	o->is[!invert] = 2 * n + 1;
	p->f->nr++;
	return 0;
}

/*
 * What is behind an operand, and what it means for those before it: the end of
 * parentheses, which makes all that was in them the operand, then an operator,
 * or the end of all, where *@more is false.
 */
static int parse_joint(struct parser *p, struct operand *o, bool *more)
{
	struct level *l;

	for (;; p->at++) {
		skip_blanks(p);
		l = &p->levels[p->level];
		*more = *p->at;
		if (*p->at && *p->at != ')' &&
		    !((*p->at == '&' || *p->at == '|') && p->at[1] == *p->at))
			return bad(p, ERR_FORM, "no && or || before '%.16s'", p->at);
		end_and(p, l, o);
		if (*p->at == '&') {
			l->and_false = o->is[false];
			go_to(p, o->is[true], p->f->nr);
			break;
		}
		end_or(p, l, o);
		if (*p->at == '|') {
			l->or_true = o->is[true];
			go_to(p, o->is[false], p->f->nr);
			break;
		}
		if (!*p->at)
			return 0;
		if (!p->level)
			return bad(p, ERR_FORM, "a ')' without its '('");
		if (l->invert)
			swap(o->is[false], o->is[true]);
		p->level--;
	}
	p->at += 2;
	return 0;
}

static int parse_formula(struct parser *p)
{
	struct operand o;
	bool more;
	int err;

	p->level = 0;
	p->levels[0] = (struct level) { .and_false = NOBODY, .or_true = NOBODY };
	do {
		err = parse_operand(p, &o);
		if (!err)
			err = parse_joint(p, &o, &more);
		if (err)
			return err;
	} while (more);
	if (p->level)
		return bad(p, ERR_FORM, "a '(' without its ')'");
	go_to(p, o.is[true], p->f->nr);
	go_to(p, o.is[false], p->f->nr + 1);
	return 0;
}

/* ---- all of it ---------------------------------------------------------- */

/*
 * Counts what there may be at most, terms and parentheses. Their errors come
 * before all others, wherever in the text they are.
 */
static int measure(struct parser *p, const char *text)
{
	unsigned int depth = 0;
	bool in_term = false;
	char quote = '\0';

	p->max_levels = 1;
	for (; *text; text++) {
		if (isspace(*text))
			continue;
		if (quote) {
			if (*text == quote)
				quote = '\0';
			continue;
		}
		if (*text == '(' || *text == ')' ||
		    ((*text == '&' || *text == '|') && text[1] == *text)) {
			in_term = false;
			if (*text == '(')
				p->max_levels = max(p->max_levels, ++depth + 1);
			else if (*text == ')' && !depth--)
				return bad(p, ERR_FORM, "a ')' without its '('");
			continue;
		}
		if (*text == '\'' || *text == '"')
			quote = *text;
		p->max_terms += !in_term;
		in_term = true;
	}
	if (quote)
		return bad(p, ERR_QUOTE, "a quote that does not end");
	if (depth)
		return bad(p, ERR_OPEN, "a '(' without its ')'");
	if (!p->max_terms)
		return bad(p, -EINVAL, "no comparison");
	if (p->max_terms > MAX_TERMS)
		return bad(p, -E2BIG, "more than %d comparisons", MAX_TERMS);
	return 0;
}

static size_t count_cpus(const char *text)
{
	size_t n = 0;

	while (TALLY_FILTER_HAS_CPUS && (text = strstr(text, "CPUS{"))) {
		text++;
		n++;
	}
	return n;
}

/* One piece: the terms, the sets, and no more of texts than there is of text. */
static int allocate(struct parser *p, const char *text)
{
	size_t sets = struct_size(p->f, terms, p->max_terms);
	size_t texts = sets + count_cpus(text) * cpumask_size();

	p->levels = kvcalloc(p->max_levels, sizeof(*p->levels), GFP_KERNEL);
	p->f = kvzalloc(texts + strlen(text) + 1, GFP_KERNEL_ACCOUNT);
	if (!p->levels || !p->f)
		return bad(p, -ENOMEM, "no memory");
	p->spare_mask = (void *)p->f + sets;
	p->spare_text = (void *)p->f + texts;
	return 0;
}

static bool is_function_event(struct trace_event_call *call)
{
	return !strcmp(call->class->system, "ftrace") &&
	       !strcmp(trace_event_name(call), "function");
}

/**
 * tally_filter_parse - a filter, from its text
 * @call: the event whose records it is for; only looked at now
 * @text: the text
 * @why: receives a sentence if it is refused
 * @why_size: the size of @why
 *
 * Context: Process context, may sleep.
 * Return: the filter; what perf answers to a text that it does not take;
 * EOPNOTSUPP for one that perf might take, but tally cannot.
 */
struct tally_filter *tally_filter_parse(struct trace_event_call *call, const char *text,
					char *why, size_t why_size)
{
	struct parser p = { .call = call, .at = text, .why = why, .why_size = why_size };
	int err;

	if (strlen(text) >= MAX_TEXT)
		err = bad(&p, -EINVAL, "longer than %lu characters", MAX_TEXT - 1);
	else if (is_function_event(call))
		err = bad(&p, -EOPNOTSUPP, "the event of every function has no filter here");
	else
		err = measure(&p, text);
	if (err)
		return ERR_PTR(err);
	err = allocate(&p, text);
	if (!err)
		err = parse_formula(&p);
	kvfree(p.levels);
	if (!err)
		return p.f;
	tally_filter_free(p.f);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_filter_parse);

/**
 * tally_filter_free - the end of a filter
 * @f: the filter, which nothing asks any more; or NULL
 *
 * Context: Process context, may sleep.
 */
void tally_filter_free(struct tally_filter *f)
{
	if (!f)
		return;
	free_percpu(f->strings);
	kvfree(f);
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_filter_free);
