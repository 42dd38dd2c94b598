/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The unread rest of a record. The parser reads nothing outside of it: take() and take_copy()
 * check the end, and functions that move the cursor themselves stay between its ends.
 */
#ifndef LIBTALLY_CURSOR_H
#define LIBTALLY_CURSOR_H

#include <string.h>
#include "libtally_record.h"

struct cursor {
	const unsigned char *at;
	const unsigned char *end;
};

static inline size_t left(const struct cursor *c)
{
	return c->end - c->at;
}

/* Returns the next bytes; NULL if fewer are left. */
static inline const void *take(struct cursor *c, __u64 size)
{
	const unsigned char *at = c->at;

	if (size > left(c))
		return NULL;
	c->at += size;
	return at;
}

/* Returns nr elements of size bytes each; NULL if fewer are left. nr * size may overflow. */
static inline const void *take_array(struct cursor *c, __u64 nr, size_t size)
{
	if (nr > left(c) / size)
		return NULL;
	return take(c, nr * size);
}

static inline int take_copy(struct cursor *c, void *to, size_t size)
{
	if (size > left(c))
		return LIBTALLY_RECORD_TRUNCATED;
	memcpy(to, c->at, size);
	c->at += size;
	return 0;
}

static inline int take_u64(struct cursor *c, __u64 *value)
{
	return take_copy(c, value, sizeof(*value));
}

static inline int take_u32(struct cursor *c, __u32 *value)
{
	return take_copy(c, value, sizeof(*value));
}

int libtally_counts_take(struct cursor *c, struct libtally_counts *counts, __u64 read_format);
int libtally_sample_take(struct cursor *c, struct libtally_sample *s,
			 const struct libtally_format *format);

#endif /* LIBTALLY_CURSOR_H */
