// SPDX-License-Identifier: GPL-2.0
/*
 * A second filter, in the place of the kernel's own: it walks through the whole formula for
 * each record, and combines the results. So it checks where tally's comparisons lead. The
 * comparisons themselves are tally's, and so are the errors.
 */
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
		return tally_filter_match(w->f->terms[w->n++], w->record, RECORD_SIZE);
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
