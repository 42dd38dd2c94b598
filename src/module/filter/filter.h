/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filters of tracepoints' records, in the language of perf's own.
 */
#ifndef TALLY_FILTER_H
#define TALLY_FILTER_H

#include <linux/percpu.h>
#include <linux/types.h>

struct trace_event_call;

/* In the order in which they are looked for: "<=" before "<". */
enum tally_filter_op {
	TALLY_OP_GLOB,
	TALLY_OP_NE,
	TALLY_OP_EQ,
	TALLY_OP_LE,
	TALLY_OP_LT,
	TALLY_OP_GE,
	TALLY_OP_GT,
	TALLY_OP_AND,
	TALLY_OP_NR
};

enum tally_term_kind {
	TALLY_TERM_NEVER,	/* a field of a size that no number has */
	TALLY_TERM_NUMBER,
	TALLY_TERM_NUMBER_CPUS,	/* a number, and a set of at least two, or none */
	TALLY_TERM_CPU,		/* this CPU, and a number */
	TALLY_TERM_CPU_CPUS,
	TALLY_TERM_MASK_CPU,	/* a set in the record, and a number */
	TALLY_TERM_MASK_CPUS,
	TALLY_TERM_FUNCTION,
	/* What follows is text. */
	TALLY_TERM_COMM,
	TALLY_TERM_ARRAY,
	TALLY_TERM_DATA_LOC,	/* its place counts from the record's start */
	TALLY_TERM_REL_LOC,	/* its place counts from the field's end */
	TALLY_TERM_POINTER,
	TALLY_TERM_USER_POINTER,
};

enum tally_text_kind {
	TALLY_TEXT_FULL,
	TALLY_TEXT_FRONT,
	TALLY_TEXT_MIDDLE,
	TALLY_TEXT_END,
	TALLY_TEXT_GLOB,
};

/**
 * struct tally_term - one comparison, and where to go from it
 * @next: the next term, if it is false and if it is true
 * @kind: what is compared
 * @op: an operator
 * @invert: whether it is true when the comparison is not
 * @is_signed: TALLY_TERM_NUMBER: of the field
 * @text_kind: where in a string @text is looked for
 * @end_in_class: whether "[!a]" in a glob takes a string's end, too
 * @size: of the field
 * @offset: of the field
 * @text_len: of @text
 * @value: the number, extended to 64 bits as the field's is
 * @end: TALLY_TERM_FUNCTION: the first address behind
 * @text: what strings are compared with
 * @cpus: a set of CPUs
 */
struct tally_term {
	u16 next[2];
	u8 kind;
	u8 op;
	bool invert;
	bool is_signed;
	u8 text_kind;
	bool end_in_class;
	u16 text_len;
	unsigned int size;
	unsigned int offset;
	union {
		u64 value;
		const char *text;
		const struct cpumask *cpus;
	};
	u64 end;
};

/* As much of a string behind a pointer as perf's filters look at. */
#define TALLY_FILTER_STRING	1024

/* One for each context that may interrupt the others. */
struct tally_filter_strings {
	char text[4][TALLY_FILTER_STRING];
};

/**
 * struct tally_filter - a filter
 * @nr: how many terms; going to it is a match, and to the next number none
 * @strings: room for strings behind pointers, if there are any
 * @terms: the first is the first to be asked; all lead forward
 *
 * In the same piece of memory the terms' sets and texts follow.
 */
struct tally_filter {
	unsigned int nr;
	struct tally_filter_strings __percpu *strings;
	struct tally_term terms[];
};

struct tally_filter *tally_filter_parse(struct trace_event_call *call, const char *text,
					char *why, size_t why_size);
bool tally_filter_match(const struct tally_filter *f, const void *record, size_t size);
void tally_filter_free(struct tally_filter *f);

#endif /* TALLY_FILTER_H */
