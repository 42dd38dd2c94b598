// SPDX-License-Identifier: GPL-2.0
/*
 * The parser of filters: from the text of a filter to a list of comparisons,
 * each of which leads to the next one to be made.
 *
 * The language is that of PERF_EVENT_IOC_SET_FILTER, whose parser modules cannot call:
 *
 *	prev_pid == 0 && (comm ~ "sh*" || !(common_pid & 1))
 *
 * Two operands of the kernel's parser are missing here, and are EINVAL: sets of
 * CPUs ("CPUS{0-3}") and functions ("ip.function == schedule"). All other texts
 * are accepted or refused as by the kernel, with the same error numbers. Those
 * of a formula that is not well formed are odd: the kernel's parser returns -1,
 * -2 and -3, which its callers take for EPERM, ENOENT and ESRCH.
 */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include "compat.h"
#include "filter/fields.h"
#include "filter/filter.h"

#define ERR_FORM	(-EPERM)	/* the kernel's -1 */
#define ERR_OPEN	(-ENOENT)	/* the kernel's -2 */
#define ERR_QUOTE	(-ESRCH)	/* the kernel's -3 */

/* perf refuses longer texts before it parses them. */
#define MAX_TEXT	PAGE_SIZE

/* Each term has two results, whose numbers must be below NOBODY. */
#define MAX_TERMS	16384

/*
 * A result is a term with one of its two outcomes, as a number: twice the number of the
 * term, and one more for true. While it is not known yet where results lead, they form a
 * list: tally_term::next of each has the next result, and NOBODY at the end.
 */
#define NOBODY	0xffff

/**
 * struct level - the state of one level of parentheses, up to the current operand
 * @invert: a '!' is in front of the parenthesis
 * @and_false: list of the results by which an operand of the current && is false
 * @or_true: list of the results by which an operand of the current || is true
 */
struct level {
	bool invert;
	u16 and_false;
	u16 or_true;
};

/**
 * struct operand - the operand that ended last
 * @is: lists of the results by which the operand is false, and is true
 */
struct operand {
	u16 is[2];
};

/**
 * struct parser - a text that is being parsed
 * @call: the event whose fields the text names
 * @at: the rest of the text
 * @f: the filter that is being made
 * @max_terms: number of terms that there is room for
 * @levels: the levels of parentheses; the first one is outside of all
 * @max_levels: number of levels that there is room for
 * @level: number of the current level
 * @spare_text: room for the next string
 */
struct parser {
	struct trace_event_call *call;
	const char *at;
	struct tally_filter *f;
	unsigned int max_terms;
	struct level *levels;
	unsigned int max_levels;
	unsigned int level;
	char *spare_text;
};

static void skip_blanks(struct parser *p)
{
	p->at = skip_spaces(p->at);
}

/* ---- terms -------------------------------------------------------------- */

/**
 * struct field - the left side of a comparison
 * @where: the field of the record
 * @user: a pointer to a string leads to user memory
 */
struct field {
	struct tally_field where;
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
	const char *name = p->at;
	int err;

	while (isalnum(*p->at) || *p->at == '_')
		p->at++;
	if (p->at == name)
		return ERR_FORM;
	err = tally_field_find(p->call, name, p->at - name, &field->where);
	if (err)
		return err == -ENOENT ? -EINVAL : err;
	field->user = skip_prefix(p, ".ustring");
	return 0;
}

static int parse_op(struct parser *p, u8 *op)
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
	return -EINVAL;
}

/* Copies what may be a number. The kernel's parser has room for as many digits. */
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
		return -EINVAL;
	memcpy(digits, from, len);
	digits[len] = '\0';
	return 0;
}

/* The value that a comparison sees when the field holds @value, cut to its size. */
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

	if (tally_field_is_string(&field->where) || t->op == TALLY_OP_GLOB)
		return -EINVAL;
	err = copy_digits(p, digits, sizeof(digits));
	if (err)
		return err;
	if (field->where.is_signed)
		err = kstrtos64(digits, 0, (s64 *)&value);
	else
		err = kstrtou64(digits, 0, &value);
	if (err)
		return -EINVAL;
	set_number(t, &field->where, value);
	if (field->where.kind == FILTER_CPU) {
		t->kind = TALLY_TERM_CPU;
		t->value = value;
	}
	return 0;
}

/*
 * Sorts a pattern by its first and last character, as the kernel's parser does.
 * Only one that has special characters elsewhere is matched as a glob.
 */
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
	p->f->strings = tally_filter_strings();
	return p->f->strings ? 0 : -ENOMEM;
}

static int parse_string(struct parser *p, const struct field *field,
			struct tally_term *t)
{
	char *text = p->spare_text;
	const char *end;
	size_t len;

	if (t->op != TALLY_OP_EQ && t->op != TALLY_OP_NE && t->op != TALLY_OP_GLOB)
		return -EINVAL;
	if (!tally_field_is_string(&field->where))
		return -EINVAL;
	end = strchr(p->at + 1, *p->at);
	len = end ? end - p->at - 1 : MAX_FILTER_STR_VAL;
	if (len >= MAX_FILTER_STR_VAL)
		return -EINVAL;
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
		err = parse_op(p, &t->op);
	if (err)
		return err;
	t->offset = field.where.offset;
	t->size = field.where.size;
	if (*p->at == '\'' || *p->at == '"')
		return parse_string(p, &field, t);
	if (isdigit(*p->at) || *p->at == '-')
		return parse_number(p, &field, t);
	return -EINVAL;
}

/* ---- formulas ----------------------------------------------------------- */

/* The place in a term that says where the result leads. */
static u16 *place_of(struct parser *p, u16 result)
{
	return &p->f->terms[result / 2].next[result % 2];
}

/* Appends the list of results @b to the list @a, and returns the whole list. */
static u16 join(struct parser *p, u16 a, u16 b)
{
	u16 *at = &a;

	while (*at != NOBODY)
		at = place_of(p, *at);
	*at = b;
	return a;
}

/* All results in a list lead to a term. */
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
		return -EINVAL;
	p->levels[p->level] = (struct level) {
		.invert = invert,
		.and_false = NOBODY,
		.or_true = NOBODY,
	};
	return 0;
}

/* Makes @o stand for a whole chain of &&, whose last operand it is. */
static void end_and(struct parser *p, struct level *l, struct operand *o)
{
	o->is[false] = join(p, l->and_false, o->is[false]);
	l->and_false = NOBODY;
}

/* The last operand of || ended: @o becomes the whole of the ||. */
static void end_or(struct parser *p, struct level *l, struct operand *o)
{
	o->is[true] = join(p, l->or_true, o->is[true]);
	l->or_true = NOBODY;
}

/* Parses any number of '!' and '(', and the comparison behind them. */
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
		return -EINVAL;
	if (n == p->max_terms)
		return ERR_FORM;
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
 * Parses what follows an operand: any number of ')', then && or || or the end
 * of the text, where *@more becomes false. At a ')' the whole of its
 * parentheses becomes the operand.
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
			return ERR_FORM;
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
			return ERR_FORM;
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
		return ERR_FORM;
	go_to(p, o.is[true], p->f->nr);
	go_to(p, o.is[false], p->f->nr + 1);
	return 0;
}

/* ---- filters ------------------------------------------------------------- */

/*
 * Counts the terms and the levels of parentheses that the text may have at most. As the kernel, it
 * finds unbalanced parentheses and quotes before any other fault.
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
				return ERR_FORM;
			continue;
		}
		if (*text == '\'' || *text == '"')
			quote = *text;
		p->max_terms += !in_term;
		in_term = true;
	}
	if (quote)
		return ERR_QUOTE;
	if (depth)
		return ERR_OPEN;
	if (!p->max_terms)
		return -EINVAL;
	if (p->max_terms > MAX_TERMS)
		return -E2BIG;
	return 0;
}

/* The strings of the terms follow them, and are not longer than the text. */
static size_t memory(const struct parser *p, const char *text)
{
	return struct_size(p->f, terms, p->max_terms) + strlen(text) + 1;
}

static int allocate(struct parser *p, const char *text)
{
	p->levels = kvcalloc(p->max_levels, sizeof(*p->levels), GFP_KERNEL);
	p->f = kvzalloc(memory(p, text), GFP_KERNEL_ACCOUNT);
	if (!p->levels || !p->f)
		return -ENOMEM;
	p->spare_text = (char *)&p->f->terms[p->max_terms];
	return 0;
}

static bool is_function_event(struct trace_event_call *call)
{
	return !strcmp(call->class->system, "ftrace") &&
	       !strcmp(trace_event_name(call), "function");
}

/**
 * tally_filter_size - the memory that the filter of a text takes
 * @text: the text
 *
 * Context: Any context.
 * Return: number of bytes; 0 for a text that tally_filter_parse() refuses at first sight.
 */
size_t tally_filter_size(const char *text)
{
	struct parser p = { };

	return measure(&p, text) ? 0 : memory(&p, text);
}

/**
 * tally_filter_parse - make a filter from its text
 * @call: the event whose records are to be filtered; not used after the return
 * @text: the text
 *
 * Context: Process context, may sleep.
 * Return: the filter, or an ERR_PTR: the kernel's error number for a text that
 * the kernel refuses, EINVAL for sets of CPUs and functions, E2BIG above
 * MAX_TERMS, EOPNOTSUPP for ftrace:function and for an event whose list of
 * fields is not known, ENOMEM.
 */
struct tally_filter *tally_filter_parse(struct trace_event_call *call, const char *text)
{
	struct parser p = { .call = call, .at = text };
	int err;

	if (strlen(text) >= MAX_TEXT)
		err = -EINVAL;
	else if (is_function_event(call))
		err = -EOPNOTSUPP;
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
 * tally_filter_free - free a filter
 * @f: the filter, which no callback matches any more; NULL is ignored
 *
 * Context: Process context, may sleep.
 */
void tally_filter_free(struct tally_filter *f)
{
	kvfree(f);
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_filter_free);
