/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers of fuzz.c: random numbers, files, and accesses to memory that may fault. */
#ifndef FUZZ_H
#define FUZZ_H

#include <setjmp.h>
#include <signal.h>
#include "either.h"

#define FILES	24

static int files[FILES];
static int nr_cpus;
static uint64_t state;
static volatile int word;

/* Things that happen besides calls; @seen counts them, for all processes. */
enum { SIGNALS, WAKEUPS, RECORDS, SHARES, FAULTS, SEEN, WRITTEN = SEEN };

static unsigned long *seen;

static inline void see(int what)
{
	__atomic_add_fetch(&seen[what], 1, __ATOMIC_RELAXED);
}

static inline uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545F4914F6CDD1DULL;
}

static inline unsigned int below(unsigned int n)
{
	return (rnd() >> 32) % n;
}

static inline int one_in(unsigned int n)
{
	return !below(n);
}

/* A number that is often a limit of some type or range, or a small one. */
static inline uint64_t odd_number(void)
{
	static const uint64_t edges[] = {
		0, 1, 2, 3, 7, 8, 63, 64, 65, 127, 255, 4095, 4096, 65535, 10000, 1000000,
		INT32_MAX, UINT32_MAX, 1ULL << 32, INT64_MAX, 1ULL << 63, UINT64_MAX
	};

	switch (below(4)) {
	case 0:
		return rnd();
	case 1:
		return 1ULL << below(64);
	case 2:
		return below(100);
	default:
		return edges[below(sizeof(edges) / sizeof(*edges))];
	}
}

/* Overwrites 1 to 8 bytes of a struct in one of four calls. */
static inline void spoil(void *what, size_t size)
{
	uint64_t n = odd_number();
	size_t width = 1U << below(4), at;

	if (!one_in(4) || size < 8)
		return;
	at = below(size / width) * width;
	memcpy((char *)what + at, &n, width);
}

static inline int any_slot(void)
{
	return below(FILES);
}

/* Most of the time a file of tally that is open. */
static inline int any_file(void)
{
	int i, at = any_slot();

	if (one_in(50))
		return (int)odd_number();
	if (one_in(50))
		return device;
	for (i = 0; i < FILES; i++)
		if (files[(at + i) % FILES] >= 0)
			return files[(at + i) % FILES];
	return -1;
}

/* The attributes that each of @files was made with; zeroes if they are not known. */
static struct perf_event_attr attrs[FILES];

static inline void keep(int fd, const struct perf_event_attr *attr)
{
	int i = any_slot();

	if (files[i] >= 0)
		close(files[i]);
	files[i] = fd;
	if (attr)
		attrs[i] = *attr;
	else
		memset(&attrs[i], 0, sizeof(attrs[i]));
}

/* ---- memory that may fault ---- */

static sigjmp_buf guard;
static volatile sig_atomic_t guarded;

static inline void faulted(int sig)
{
	if (guarded)
		siglongjmp(guard, 1);
	/* A fault of this program itself: return, fault again and die of it. */
	signal(sig, SIG_DFL);
}

/* Whether an access to @at faults. */
static inline int faults(void (*access)(volatile char *at, uint64_t n), volatile char *at,
			 uint64_t n)
{
	if (sigsetjmp(guard, 1)) {
		guarded = 0;
		see(FAULTS);
		return 1;
	}
	guarded = 1;
	access(at, n);
	guarded = 0;
	return 0;
}

#endif /* FUZZ_H */
