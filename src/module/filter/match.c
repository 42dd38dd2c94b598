// SPDX-License-Identifier: GPL-2.0
/*
 * The matching of records with filters.
 *
 * The callback matches in any context, so tally_filter_match() does not sleep,
 * take a lock or allocate memory. Outside of the record it reads only the name
 * of the task and strings behind pointers, and such a pointer may be wrong.
 */
#include <linux/atomic.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "compat.h"
#include "filter/filter.h"

/**
 * struct tally_filter_strings - room of one CPU for strings that are being compared
 * @text: a string for each context: process, softirq, interrupt, NMI. No two strings are in
 *	the same context at a time, because preemption is disabled while a string is there,
 *	also in the softirqs of PREEMPT_RT, which are threads.
 */
struct tally_filter_strings {
	char text[4][TALLY_FILTER_STRING];
};

static struct tally_filter_strings __percpu *strings;

struct record {
	const char *data;
	size_t size;
};

/* A part of the record; NULL if the record does not have all of it. */
static const void *part(const struct record *rec, size_t offset, size_t size)
{
	if (offset > rec->size || size > rec->size - offset)
		return NULL;
	return rec->data + offset;
}

/* ---- numbers ------------------------------------------------------------ */

/* Reads a field, extended to 64 bits. */
static bool load(const struct tally_term *t, const struct record *rec, u64 *value)
{
	const void *at = part(rec, t->offset, t->size);

	if (!at)
		return false;
	switch (t->size) {
	case 1:
		*value = t->is_signed ? *(const s8 *)at : *(const u8 *)at;
		return true;
	case 2:
		*value = get_unaligned((const u16 *)at);
		if (t->is_signed)
			*value = (s16)*value;
		return true;
	case 4:
		*value = get_unaligned((const u32 *)at);
		if (t->is_signed)
			*value = (s32)*value;
		return true;
	case 8:
		*value = get_unaligned((const u64 *)at);
		return true;
	}
	return false;
}

static int order_signed(s64 a, s64 b)
{
	return (a > b) - (a < b);
}

static int order_unsigned(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

static bool is_order(u8 op, int order)
{
	switch (op) {
	case TALLY_OP_EQ:
		return !order;
	case TALLY_OP_NE:
		return order;
	case TALLY_OP_LT:
		return order < 0;
	case TALLY_OP_LE:
		return order <= 0;
	case TALLY_OP_GT:
		return order > 0;
	case TALLY_OP_GE:
		return order >= 0;
	}
	return false;
}

static bool number(const struct tally_term *t, const struct record *rec)
{
	u64 value;

	if (!load(t, rec, &value))
		return false;
	if (t->op == TALLY_OP_AND)
		return value & t->value;
	return is_order(t->op, t->is_signed ? order_signed(value, t->value) :
					      order_unsigned(value, t->value));
}

/* ---- globs -------------------------------------------------------------- */

/*
 * Matches a character with the class whose '[' is in front of @p. Returns the end of the
 * class; NULL if no ']' ends it, which makes the '[' an ordinary character.
 */
static const char *class(const char *p, unsigned char c, bool *hit)
{
	bool negated = *p == '!', in = false;
	unsigned char from, to;

	p += negated;
	from = *p++;
	do {
		if (!from)
			return NULL;
		to = from;
		if (p[0] == '-' && p[1] != ']') {
			to = p[1];
			if (!to)
				return NULL;
			p += 2;
		}
		in |= from <= c && c <= to;
		from = *p++;
	} while (from != ']');
	*hit = in != negated;
	return p;
}

/* Returns whether a character matches the first element of a pattern, which is moved on. */
static bool element(const char **pattern, unsigned char c)
{
	const char *p = *pattern, *end;
	unsigned char want = *p++;
	bool hit;

	if (want == '[') {
		end = class(p, c, &hit);
		*pattern = end ?: p;
		return end ? hit : c == want;
	}
	if (want == '\\')
		want = *p++;
	else if (want == '?')
		want = c;
	*pattern = p;
	return c == want;
}

static bool at_end(const char *pattern)
{
	return !pattern[0] || (pattern[0] == '\\' && !pattern[1]);
}

/*
 * As the kernel's glob_match_len(), which kernels before the point releases of
 * 2026 do not have. After a mismatch the last '*' takes one character more.
 */
static bool glob(const struct tally_term *t, const char *str, size_t len)
{
	const char *pattern = t->text, *back = NULL;
	size_t i = 0, back_i = 0;
	char c;

	for (;;) {
		if (*pattern == '*') {
			if (!*++pattern)
				return true;
			back = pattern;
			back_i = i;
			continue;
		}
		c = i < len ? str[i] : '\0';
		if (at_end(pattern)) {
			if (!c)
				return true;
		} else if (c && element(&pattern, c)) {
			i++;
			continue;
		}
		if (!c || !back)
			return false;
		pattern = back;
		i = ++back_i;
	}
}

/* ---- strings ------------------------------------------------------------ */

/* @len is the size of the memory: the string may end before, or may have no end. */
static bool text_is(const struct tally_term *t, const char *str, size_t len)
{
	size_t n = t->text_len;

	switch (t->text_kind) {
	case TALLY_TEXT_FULL:
		return len >= n && !strncmp(str, t->text, len);
	case TALLY_TEXT_FRONT:
		return len >= n && !strncmp(str, t->text, n);
	case TALLY_TEXT_MIDDLE:
		return strnstr(str, t->text, len);
	case TALLY_TEXT_END:
		/* As in the kernel, the end is that of the memory, not of the string. */
		return len > n && !memcmp(str + len - 1 - n, t->text, n);
	}
	return glob(t, str, len);
}

static bool text(const struct tally_term *t, const char *str, size_t len)
{
	return text_is(t, str, len) != t->invert;
}

static bool array(const struct tally_term *t, const struct record *rec)
{
	const char *str = part(rec, t->offset, t->size);

	return str && text(t, str, t->size);
}

/* Matches a string in the record, whose offset and length are in the field. */
static bool located(const struct tally_term *t, const struct record *rec)
{
	const void *item = part(rec, t->offset, sizeof(u32));
	size_t at, len, left;
	const char *str;

	if (!item)
		return false;
	at = get_unaligned((const u32 *)item);
	len = at >> 16;
	at &= 0xffff;
	if (t->kind == TALLY_TERM_REL_LOC)
		at += t->offset + sizeof(u32);
	str = part(rec, at, len);
	if (!str)
		return false;
	/* As in the kernel, length 0 means up to the NUL, but not for these two kinds. */
	if (!len && t->text_kind != TALLY_TEXT_END && t->text_kind != TALLY_TEXT_GLOB) {
		left = rec->size - at;
		len = strnlen(str, left) + 1;
		if (len > left)
			return false;
	}
	return text(t, str, len);
}

#define CHUNK	64

static bool copy_chunk(char *to, unsigned long from, size_t n, bool user)
{
	if (user)
		return !copy_from_user_nofault(to, (const void __user *)from, n);
	return !copy_from_kernel_nofault(to, (const void *)from, n);
}

/*
 * Copies a string in chunks, none of which crosses a page: the page behind the
 * string may not be there. Returns the length with the NUL, or 0.
 */
static size_t copy_string(char *to, unsigned long from, bool user)
{
	size_t have = 0, n, len;

	while (have < TALLY_FILTER_STRING) {
		n = min_t(size_t, CHUNK - from % CHUNK, TALLY_FILTER_STRING - have);
		if (!copy_chunk(to + have, from, n, user))
			return 0;
		len = strnlen(to + have, n);
		if (len < n)
			return have + len + 1;
		have += n;
		from += n;
	}
	to[TALLY_FILTER_STRING - 1] = '\0';
	return TALLY_FILTER_STRING;
}

/* A string in memory whose address is in the field. */
static bool pointer(const struct tally_filter *f, const struct tally_term *t,
		    const struct record *rec)
{
	const void *at = part(rec, t->offset, sizeof(long));
	bool hit = false;
	size_t len;
	char *str;

	if (!at)
		return false;
	preempt_disable();
	str = this_cpu_ptr(f->strings)->text[interrupt_context_level()];
	len = copy_string(str, get_unaligned((const unsigned long *)at),
			  t->kind == TALLY_TERM_USER_POINTER);
	if (len)
		hit = text(t, str, len);
	preempt_enable();
	return hit;
}

/* ---- terms -------------------------------------------------------------- */

static bool is_true(const struct tally_filter *f, const struct tally_term *t,
		    const struct record *rec)
{
	switch (t->kind) {
	case TALLY_TERM_NUMBER:
		return number(t, rec);
	case TALLY_TERM_CPU:
		return is_order(t->op, order_signed(raw_smp_processor_id(),
						    (int)t->value));
	case TALLY_TERM_COMM:
		return text(t, current->comm, TASK_COMM_LEN);
	case TALLY_TERM_ARRAY:
		return array(t, rec);
	case TALLY_TERM_DATA_LOC:
	case TALLY_TERM_REL_LOC:
		return located(t, rec);
	case TALLY_TERM_POINTER:
	case TALLY_TERM_USER_POINTER:
		return pointer(f, t, rec);
	}
	return false;
}

/**
 * tally_filter_match - match a record with a filter
 * @f: the filter
 * @record: the record of a tracepoint
 * @size: size of the record, in bytes; a comparison of a field that is not
 *	wholly in the record is false
 *
 * Context: Any context, NMI included.
 * Return: true if the record passes.
 */
bool tally_filter_match(const struct tally_filter *f, const void *record, size_t size)
{
	const struct record rec = { .data = record, .size = size };
	unsigned int i = 0;

	while (i < f->nr)
		i = f->terms[i].next[is_true(f, &f->terms[i], &rec)];
	return i == f->nr;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_filter_match);

/* ---- memory for strings ------------------------------------------------- */

/**
 * tally_filter_strings - allocate what filters need that look at strings behind pointers
 *
 * All filters share the memory. It is freed with the module.
 *
 * Context: Process context, may sleep.
 * Return: the memory, or NULL.
 */
struct tally_filter_strings __percpu *tally_filter_strings(void)
{
	struct tally_filter_strings __percpu *new;

	if (!READ_ONCE(strings)) {
		new = alloc_percpu(struct tally_filter_strings);
		if (new && cmpxchg(&strings, NULL, new))
			free_percpu(new);
	}
	return READ_ONCE(strings);
}

/* Frees what tally_filter_strings() allocated; no filter is left. */
void tally_filter_exit(void)
{
	free_percpu(strings);
}
