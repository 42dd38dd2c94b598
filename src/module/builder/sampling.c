// SPDX-License-Identifier: GPL-2.0
/*
 * A builder's settings for overflows: their handlers, their limits, and their records.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/time64.h>
#include "base/ptr.h"
#include "base/queue.h"
#include "builder/builder.h"
#include "compat.h"

/* A shorter window takes a CPU for the timer alone. */
#define SHORTEST_WINDOW	(100 * NSEC_PER_USEC)
#define LONGEST_WINDOW	(10 * NSEC_PER_SEC)

/* A ring has at most 2^RING_ORDER pages of data. */
#define RING_ORDER	20

void tally_builder_on_overflow(struct tally_builder *b, tally_overflow_fn fn, void *context)
{
	if (tally_bad_ptr(b))
		return;
	b->direct.fn = fn;
	b->direct.context = context;
}
EXPORT_SYMBOL_TALLY(tally_builder_on_overflow);

void tally_builder_on_overflow_irq(struct tally_builder *b, tally_overflow_fn fn, void *context)
{
	if (tally_bad_ptr(b))
		return;
	b->irq.fn = fn;
	b->irq.context = context;
}
EXPORT_SYMBOL_TALLY(tally_builder_on_overflow_irq);

void tally_builder_on_overflow_work(struct tally_builder *b, tally_overflow_fn fn, void *context)
{
	if (tally_bad_ptr(b))
		return;
	b->work.fn = fn;
	b->work.context = context;
}
EXPORT_SYMBOL_TALLY(tally_builder_on_overflow_work);

void tally_builder_queue(struct tally_builder *b, unsigned int samples)
{
	if (tally_bad_ptr(b))
		return;
	if (samples > TALLY_QUEUE_MAX) {
		tally_bad(b, -EINVAL, "a queue has at most %u samples",
			  TALLY_QUEUE_MAX);
		return;
	}
	b->queue = samples;
}
EXPORT_SYMBOL_TALLY(tally_builder_queue);

void tally_builder_max_rate(struct tally_builder *b, u32 per_second)
{
	if (tally_bad_ptr(b))
		return;
	b->max_rate = per_second;
}
EXPORT_SYMBOL_TALLY(tally_builder_max_rate);

void tally_builder_budget(struct tally_builder *b, u64 max, u64 window_ns)
{
	if (tally_bad_ptr(b))
		return;
	if (!max || max > 1ULL << 62) {
		tally_bad(b, -EINVAL, "a budget is 1 to 2^62 counts");
		return;
	}
	if (window_ns < SHORTEST_WINDOW || window_ns > LONGEST_WINDOW) {
		tally_bad(b, -ERANGE, "a window has 100 us to 10 s");
		return;
	}
	b->budget = max;
	b->window_ns = window_ns;
}
EXPORT_SYMBOL_TALLY(tally_builder_budget);

void tally_builder_one_shot(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->flags |= TALLY_BUILDER_ONE_SHOT;
}
EXPORT_SYMBOL_TALLY(tally_builder_one_shot);

void tally_builder_sample_time(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->flags |= TALLY_BUILDER_TIME;
}
EXPORT_SYMBOL_TALLY(tally_builder_sample_time);

void tally_builder_branches(struct tally_builder *b, u64 mask)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	b->attr.branch_sample_type = mask;
}
EXPORT_SYMBOL_TALLY(tally_builder_branches);

void tally_builder_ring(struct tally_builder *b, size_t bytes, u32 flags)
{
	if (tally_bad_ptr(b))
		return;
	if (flags & ~(TALLY_RING_BACKWARD | TALLY_RING_PANIC | TALLY_RING_SHARED)) {
		tally_bad(b, -EINVAL, "unknown flags of a ring: %#x", flags);
		return;
	}
	if (!bytes || bytes > PAGE_SIZE << RING_ORDER) {
		tally_bad(b, -EINVAL, "a ring has 1 to 2^%u pages", RING_ORDER);
		return;
	}
	b->ring_pages = roundup_pow_of_two(DIV_ROUND_UP(bytes, PAGE_SIZE));
	b->flags |= TALLY_BUILDER_RECORDS;
	if (flags & TALLY_RING_BACKWARD)
		b->attr.write_backward = 1;
	if (flags & TALLY_RING_PANIC)
		b->flags |= TALLY_BUILDER_PANIC;
	if (flags & TALLY_RING_SHARED)
		b->flags |= TALLY_BUILDER_SHARED;
}
EXPORT_SYMBOL_TALLY(tally_builder_ring);

void tally_builder_sample_type(struct tally_builder *b, u64 sample_type)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.sample_type = sample_type;
}
EXPORT_SYMBOL_TALLY(tally_builder_sample_type);
