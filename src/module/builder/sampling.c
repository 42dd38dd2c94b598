// SPDX-License-Identifier: GPL-2.0
/*
 * What a builder says of overflows: who handles them, how many there may be, and what
 * is recorded of them.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include "base/ptr.h"
#include "base/queue.h"
#include "builder/builder.h"
#include "compat.h"

/* The most pages of a ring's data: 2^RING_ORDER. */
#define RING_ORDER	20

/**
 * tally_builder_on_overflow - call a function at each overflow
 * @b: the builder
 * @fn: called in whatever context overflowed, NMI included; see the chapter
 *	"Overflow handlers" of this header's file
 * @context: for @fn
 *
 * Context: Any context.
 */
void tally_builder_on_overflow(struct tally_builder *b, tally_overflow_fn fn,
			       void *context)
{
	if (tally_bad_ptr(b))
		return;
	b->direct.fn = fn;
	b->direct.context = context;
}
EXPORT_SYMBOL_TALLY(tally_builder_on_overflow);

/**
 * tally_builder_on_overflow_irq - call a function in hard interrupt
 * @b: the builder
 * @fn: called with a copy of each sample, on the same CPU, shortly after the
 *	overflow
 * @context: for @fn
 *
 * Context: Any context.
 */
void tally_builder_on_overflow_irq(struct tally_builder *b,
				   tally_overflow_fn fn, void *context)
{
	if (tally_bad_ptr(b))
		return;
	b->irq.fn = fn;
	b->irq.context = context;
}
EXPORT_SYMBOL_TALLY(tally_builder_on_overflow_irq);

/**
 * tally_builder_on_overflow_work - call a function in process context
 * @b: the builder
 * @fn: called with a copy of each sample, from a workqueue; may sleep
 * @context: for @fn
 *
 * Context: Any context.
 */
void tally_builder_on_overflow_work(struct tally_builder *b,
				    tally_overflow_fn fn, void *context)
{
	if (tally_bad_ptr(b))
		return;
	b->work.fn = fn;
	b->work.context = context;
}
EXPORT_SYMBOL_TALLY(tally_builder_on_overflow_work);

/**
 * tally_builder_queue - how many overflows may wait for the other two handlers
 * @b: the builder
 * @samples: on each CPU, 1 to 65536, rounded up to a power of two; 0 for the
 *	default, 256
 *
 * Context: Any context.
 */
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

/**
 * tally_builder_max_rate - how many overflows are too many
 * @b: the builder
 * @per_second: on each CPU; 0 for the default, 10,000 for clocks and hardware
 *	and any number for all others; or TALLY_RATE_UNLIMITED
 *
 * An event that overflows more often, over 10 ms or, below 1,000, over a second,
 * is switched off for as long, in the state TALLY_STATE_THROTTLED. That cannot be
 * done to the children of an inherited event: its handlers are not called.
 *
 * Context: Any context.
 */
void tally_builder_max_rate(struct tally_builder *b, u32 per_second)
{
	if (tally_bad_ptr(b))
		return;
	b->max_rate = per_second;
}
EXPORT_SYMBOL_TALLY(tally_builder_max_rate);

/**
 * tally_builder_one_shot - one overflow, then off until tally_event_rearm()
 * @b: the builder; EINVAL from tally_build() if it is not for one CPU or one
 *	task, has a frequency, is inherited or waits for exec()
 *
 * Context: Any context.
 */
void tally_builder_one_shot(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->flags |= TALLY_BUILDER_ONE_SHOT;
}
EXPORT_SYMBOL_TALLY(tally_builder_one_shot);

/**
 * tally_builder_sample_time - tell a direct handler the time, too
 * @b: the builder
 *
 * It costs as much as all the rest of a sample. Copies have it anyway.
 *
 * Context: Any context.
 */
void tally_builder_sample_time(struct tally_builder *b)
{
	if (tally_bad_ptr(b))
		return;
	b->flags |= TALLY_BUILDER_TIME;
}
EXPORT_SYMBOL_TALLY(tally_builder_sample_time);

/**
 * tally_builder_branches - tell a direct handler the last branches, too
 * @b: the builder
 * @mask: perf_event_attr::branch_sample_type, at least one kind of branch. If
 *	it has no privilege, it gets that of the event. EOPNOTSUPP from
 *	tally_build() where the PMU does not record branches.
 *
 * Context: Any context.
 */
void tally_builder_branches(struct tally_builder *b, u64 mask)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	b->attr.branch_sample_type = mask;
}
EXPORT_SYMBOL_TALLY(tally_builder_branches);

/**
 * tally_builder_ring - have the overflows recorded
 * @b: the builder; EINVAL from tally_build() without a period or frequency, without
 *	a sample_type, and with tally_builder_inherit() but no tally_builder_on_cpu()
 * @bytes: of records, for each CPU that can be there, or of the one CPU or task;
 *	rounded up to a power of two of pages. EINVAL for 0, and for more than 2^20
 *	pages. It is charged to nobody.
 * @flags: of enum tally_ring_flags; EINVAL for others
 *
 * A handler is not needed, and none is kept from being called. See the chapter
 * "Rings" of this header's file. TALLY_RING_BACKWARD is perf_event_attr's
 * write_backward, whoever sets that.
 *
 * Context: Any context.
 */
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

/**
 * tally_builder_sample_type - what a record tells
 * @b: the builder
 * @sample_type: PERF_SAMPLE_*, in the place of what perf_event_attr or
 *	tally_builder_branches() said. EINVAL from tally_build() for unknown bits,
 *	EOPNOTSUPP for what no record has, and, without tally_builder_ring(), for
 *	what struct tally_sample has no room for.
 *
 * With PERF_SAMPLE_PERIOD perf has each event of software overflow, and the period
 * is in the record.
 *
 * Context: Any context.
 */
void tally_builder_sample_type(struct tally_builder *b, u64 sample_type)
{
	if (tally_bad_ptr(b))
		return;
	b->attr.sample_type = sample_type;
}
EXPORT_SYMBOL_TALLY(tally_builder_sample_type);
