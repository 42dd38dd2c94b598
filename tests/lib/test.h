/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that the tests of the library share. Tests print "ok TEXT" or "bad TEXT". */
#ifndef TEST_H
#define TEST_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "libtally.h"

static int test_failures;	/* number of failures in the current test */

/* Prints the place of a failure and goes on, so that it does not hide the next one. */
#define CHECK(condition) \
	do { \
		if (!(condition) && test_failures++ < 10) \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition); \
	} while (0)

#define EQUAL(a, b) \
	do { \
		unsigned long long a_ = (a), b_ = (b); \
		if (a_ != b_ && test_failures++ < 10) \
			printf("# %s:%d: %s is %#llx, not %#llx\n", __FILE__, __LINE__, #a, \
			       a_, b_); \
	} while (0)

static inline void test_end(const char *name)
{
	printf("%s %s\n", test_failures ? "bad" : "ok", name);
	fflush(stdout);
	test_failures = 0;
}

/* Each run has the same random numbers. */
static uint64_t test_seed = 0x9e3779b97f4a7c15ULL;

static inline uint64_t any(void)
{
	test_seed ^= test_seed << 13;
	test_seed ^= test_seed >> 7;
	test_seed ^= test_seed << 17;
	return test_seed;
}

static inline uint64_t below(uint64_t n)
{
	return any() % n;
}

/*
 * The bytes of a record. The tests write them by the text of <linux/perf_event.h>, and
 * share no code with the library.
 */
struct bytes {
	union {
		unsigned char b[65536 + 64];
		uint64_t align;
	} u;
	size_t n;
};

static inline void put(struct bytes *b, const void *data, size_t n)
{
	memcpy(b->u.b + b->n, data, n);
	b->n += n;
}

static inline void put8(struct bytes *b, uint8_t v) { put(b, &v, 1); }
static inline void put16(struct bytes *b, uint16_t v) { put(b, &v, 2); }
static inline void put32(struct bytes *b, uint32_t v) { put(b, &v, 4); }
static inline void put64(struct bytes *b, uint64_t v) { put(b, &v, 8); }

static inline void put_text(struct bytes *b, const char *text)
{
	put(b, text, strlen(text) + 1);
	while (b->n % 8)
		put8(b, 0);
}

static inline void begin(struct bytes *b, uint32_t type, uint16_t misc)
{
	b->n = 0;
	put32(b, type);
	put16(b, misc);
	put16(b, 0);
}

static inline void set_size(struct bytes *b, uint16_t size)
{
	memcpy(b->u.b + 6, &size, 2);
}

static inline void end(struct bytes *b)
{
	set_size(b, b->n);
}

/* Returns a copy that ends with its memory: a sanitizer finds a read beyond it. */
static inline void *exact(const struct bytes *b, size_t n)
{
	void *copy = malloc(n ? n : 1);

	memcpy(copy, b->u.b, n);
	return copy;
}

#endif /* TEST_H */
