// SPDX-License-Identifier: GPL-2.0
/*
 * A second filter, in the place of the kernel's own: it walks through the whole formula for
 * each record, and combines the results. So it checks where tally's comparisons lead. It
 * makes the comparisons of numbers, and of strings in arrays, by simpler means. The others
 * are tally's, and so are the errors.
 */
#include <fnmatch.h>
#include "filter/filter.h"

#define RECORD_SIZE	512	/* of the records of tests/kunit/filter.c */

/**
 * struct event_filter - a formula
 * @call: its event
 * @text: the formula
 * @n: number of comparisons
 * @terms: a filter for each comparison; ERR_PTR for one that is refused
 */
struct event_filter {
	struct trace_event_call *call;
	char *text;
	unsigned int n;
	struct tally_filter *terms[2048];
};

/**
 * struct walk - a walk through a formula
 * @f: the formula
 * @at: the rest of the text
 * @n: number of the next comparison
 * @record: what it compares; NULL to make the filters of the comparisons
 */
struct walk {
	struct event_filter *f;
	const char *at;
	unsigned int n;
	const void *record;
};

static bool is_next(struct walk *w, const char *word)
{
	w->at = skip_spaces(w->at);
	if (!strstarts(w->at, word))
		return false;
	w->at += strlen(word);
	return true;
}

/* All numbers have room in 128 bits, whatever their sign. */
static bool compare(const struct tally_term *t, const char *record)
{
	unsigned int unused = 64 - 8 * t->size;
	__int128_t a, b;
	u64 n = 0;

	memcpy(&n, record + t->offset, t->size);
	a = t->is_signed ? (s64)(n << unused) >> unused : (__int128_t)n;
	b = t->is_signed ? (s64)t->value : (__int128_t)t->value;
	switch (t->op) {
	case TALLY_OP_EQ:
		return a == b;
	case TALLY_OP_NE:
		return a != b;
	case TALLY_OP_LE:
		return a <= b;
	case TALLY_OP_LT:
		return a < b;
	case TALLY_OP_GE:
		return a >= b;
	case TALLY_OP_GT:
		return a > b;
	}
	return n & t->value;
}

static bool compare_text(const struct tally_term *t, const char *record)
{
	char *text = strndup(record + t->offset, t->size);
	bool same;

	if (t->text_kind == TALLY_TEXT_FULL)
		same = !strcmp(text, t->text);
	else if (t->text_kind == TALLY_TEXT_GLOB)
		same = !fnmatch(t->text, text, 0);
	else
		same = t->text_kind == TALLY_TEXT_FRONT ? strstarts(text, t->text) :
							  !!strstr(text, t->text);
	free(text);
	return same != t->invert;
}

static bool match(const struct tally_filter *f, const void *record)
{
	const struct tally_term *t = f->terms;

	if (t->kind == TALLY_TERM_NUMBER)
		return compare(t, record);
	if (t->kind == TALLY_TERM_ARRAY && t->text_kind != TALLY_TEXT_END)
		return compare_text(t, record);
	return tally_filter_match(f, record, RECORD_SIZE);
}

static bool term(struct walk *w)
{
	const char *from = w->at;
	char *text, quote = '\0';

	for (; *w->at; w->at++) {
		if (quote)
			quote = *w->at == quote ? '\0' : quote;
		else if (*w->at == '\'' || *w->at == '"')
			quote = *w->at;
		else if (*w->at == ')' || strstarts(w->at, "&&") || strstarts(w->at, "||"))
			break;
	}
	if (w->record)
		return match(w->f->terms[w->n++], w->record);
	text = strndup(from, w->at - from);
	w->f->terms[w->f->n++] = tally_filter_parse(w->f->call, text);
	free(text);
	return false;
}

static bool any(struct walk *w);

static bool operand(struct walk *w)
{
	bool result;

	if (is_next(w, "!"))
		return !operand(w);
	if (!is_next(w, "("))
		return term(w);
	result = any(w);
	is_next(w, ")");
	return result;
}

static bool all(struct walk *w)
{
	bool result = operand(w);

	while (is_next(w, "&&"))
		result &= operand(w);
	return result;
}

static bool any(struct walk *w)
{
	bool result = all(w);

	while (is_next(w, "||"))
		result |= all(w);
	return result;
}

static void free_filter(struct event_filter *f)
{
	unsigned int i;

	for (i = 0; i < f->n; i++)
		if (!IS_ERR(f->terms[i]))
			tally_filter_free(f->terms[i]);
	free(f->text);
	free(f);
}

static int create_filter(struct trace_array *tr, struct trace_event_call *call, char *text,
			 bool set_str, struct event_filter **filter)
{
	struct tally_filter *whole = tally_filter_parse(call, text);
	struct event_filter *f;
	unsigned int i;

	if (IS_ERR(whole))
		return PTR_ERR(whole);
	tally_filter_free(whole);
	f = calloc(1, sizeof(*f));
	f->call = call;
	f->text = strdup(text);
	any(&(struct walk){ .f = f, .at = f->text });
	*filter = f;
	for (i = 0; i < f->n; i++)
		if (IS_ERR(f->terms[i]))
			return -EIO;
	return 0;
}

static int match_preds(struct event_filter *f, void *record)
{
	return any(&(struct walk){ .f = f, .at = f->text, .record = record });
}

int register_kprobe(struct kprobe *kp)
{
	if (!strcmp(kp->symbol_name, "create_event_filter"))
		kp->addr = create_filter;
	else if (!strcmp(kp->symbol_name, "free_event_filter"))
		kp->addr = free_filter;
	else
		kp->addr = match_preds;
	return 0;
}
