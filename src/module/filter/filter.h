/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Filters of the records of tracepoints.
 */
#ifndef TALLY_FILTER_H
#define TALLY_FILTER_H

#include <linux/percpu.h>
#include <linux/types.h>

struct tally_filter_strings;
struct trace_event_call;

/* The operators, in the order in which the parser tries them: "<=" before "<". */
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
	TALLY_TERM_NEVER,	/* false: a field of a size that no number has */
	TALLY_TERM_NUMBER,
	TALLY_TERM_CPU,		/* the number of this CPU */
	/* From here on, strings. */
	TALLY_TERM_COMM,
	TALLY_TERM_ARRAY,
	TALLY_TERM_DATA_LOC,	/* in the record, at an offset from the record's start */
	TALLY_TERM_REL_LOC,	/* in the record, at an offset from the field's end */
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
 * struct tally_term - one comparison of a filter
 * @next: number of the next term, if the comparison is false and if it is true
 * @kind: enum tally_term_kind: the left side
 * @op: enum tally_filter_op
 * @invert: the result of a comparison of strings is inverted
 * @is_signed: numbers in the field are signed
 * @text_kind: enum tally_text_kind: the place of @text in a string
 * @text_len: length of @text
 * @size: size of the field, in bytes
 * @offset: offset of the field in the record, in bytes
 * @value: right side, a number, extended to 64 bits as the field's value is
 * @text: right side, a string
 */
struct tally_term {
	u16 next[2];
	u8 kind;
	u8 op;
	bool invert;
	bool is_signed;
	u8 text_kind;
	u16 text_len;
	unsigned int size;
	unsigned int offset;
	union {
		u64 value;
		const char *text;
	};
};

/* Bytes of a string behind a pointer that the kernel's filters look at. */
#define TALLY_FILTER_STRING	1024

/**
 * struct tally_filter - a filter
 * @nr: number of terms. A record that leads to the term @nr matches, and one
 *	that leads to @nr + 1 does not.
 * @strings: room for copies of strings behind pointers; NULL if no term looks at such
 * @terms: the terms; a term leads to later ones only
 */
struct tally_filter {
	unsigned int nr;
	struct tally_filter_strings __percpu *strings;
	struct tally_term terms[];
};

size_t tally_filter_size(const char *text);
struct tally_filter *tally_filter_parse(struct trace_event_call *call, const char *text);
bool tally_filter_match(const struct tally_filter *f, const void *record, size_t size);
void tally_filter_free(struct tally_filter *f);
struct tally_filter_strings __percpu *tally_filter_strings(void);
void tally_filter_exit(void);

#endif /* TALLY_FILTER_H */
