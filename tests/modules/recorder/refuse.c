// SPDX-License-Identifier: GPL-2.0
/* Settings of rings that are refused, and calls that an event refuses. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include "recorder.h"

static const struct tally_what faults =
	TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS);

static void period(struct tally_builder *b)
{
	tally_builder_period(b, 1000);
}

static void me(struct tally_builder *b)
{
	tally_builder_on_pid(b, 0);
}

static void type(struct tally_builder *b)
{
	tally_builder_sample_type(b, TYPE & ~(u64)PERF_SAMPLE_PHYS_ADDR);
}

static void ring(struct tally_builder *b)
{
	tally_builder_ring(b, PAGE_SIZE, 0);
}

static void no_ring(struct tally_builder *b)
{
	tally_builder_ring(b, 0, 0);
}

static void huge_ring(struct tally_builder *b)
{
	tally_builder_ring(b, (PAGE_SIZE << 20) + 1, 0);
}

static void strange_ring(struct tally_builder *b)
{
	tally_builder_ring(b, PAGE_SIZE, 8);
}

static void panic_ring(struct tally_builder *b)
{
	tally_builder_ring(b, PAGE_SIZE, TALLY_RING_PANIC);
}

static void backward_ring(struct tally_builder *b)
{
	tally_builder_ring(b, PAGE_SIZE, TALLY_RING_BACKWARD);
}

static void shared_ring(struct tally_builder *b)
{
	tally_builder_ring(b, PAGE_SIZE, TALLY_RING_SHARED);
}

static void stack_type(struct tally_builder *b)
{
	b->attr.sample_stack_user = 64;
	tally_builder_sample_type(b, PERF_SAMPLE_IP | PERF_SAMPLE_STACK_USER);
}

static void unknown_type(struct tally_builder *b)
{
	tally_builder_sample_type(b, PERF_SAMPLE_MAX);
}

static void aux_type(struct tally_builder *b)
{
	tally_builder_sample_type(b, PERF_SAMPLE_AUX);
}

static void chain_type(struct tally_builder *b)
{
	tally_builder_sample_type(b, PERF_SAMPLE_CALLCHAIN);
}

static void handler(struct tally_event *ev, const struct tally_sample *s, void *context)
{
}

static void handled(struct tally_builder *b)
{
	tally_builder_on_overflow(b, handler, NULL);
}

static const struct {
	const char *what;
	int err;

	void (*set[6])(struct tally_builder *b);
} refusals[] = {
	{ "a ring of nothing", -EINVAL, { type, ring } },
	{ "a ring for nothing", -EINVAL, { period, ring } },
	{ "a ring of 0 bytes", -EINVAL, { period, type, no_ring } },
	{ "a ring of more than 2^20 pages", -EINVAL, { period, type, huge_ring } },
	{ "a flag that there is not", -EINVAL, { period, type, strange_ring } },
	{ "a forward ring for a panic", -EINVAL, { period, type, panic_ring } },
	{ "one ring for children on all CPUs", -EINVAL,
	  { me, period, type, ring, tally_builder_inherit } },
	{ "unknown bits of the type", -EINVAL, { period, unknown_type, ring } },
	{ "what no record has", -EOPNOTSUPP, { period, aux_type, ring } },
	{ "what no program may see", -EOPNOTSUPP, { period, stack_type, shared_ring } },
	{ "what no handler has", -EOPNOTSUPP, { period, chain_type, handled } },
	{ "a type, but nobody to tell", -EINVAL, { period, type } },
};

/* All functions for a kind of ring, on an event without such a ring. */
static void refused_calls(struct tally_event *ev, bool forward, bool backward, const char *what)
{
	if (!forward) {
		tap_is(&tap, tally_ring_read(ev, -1, buf, BUF_SIZE), -EINVAL, what);
		tap_is(&tap, tally_ring_wait(ev, 0), -EINVAL, what);
	}
	if (!backward) {
		tap_is(&tap, tally_event_snapshot(ev), -EINVAL, what);
		tap_is(&tap, tally_snapshot_read(ev, 0, buf, BUF_SIZE), -EINVAL, what);
		tap_is(&tap, tally_event_resume(ev), -EINVAL, what);
	}
	tally_event_release(ev);
}

static struct tally_event *with(void (*kind)(struct tally_builder *b), const char *what)
{
	struct tally_builder b;

	tally_builder_init(&b, faults);
	if (kind) {
		period(&b);
		type(&b);
		kind(&b);
	}
	return build(&b, what);
}

void test_refusals(void)
{
	struct tally_builder b;
	struct tally_event *ev;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		tally_builder_init(&b, faults);
		for (k = 0; k < ARRAY_SIZE(refusals[i].set) && refusals[i].set[k]; k++)
			refusals[i].set[k](&b);
		ev = tally_build(&b);
		tap_is(&tap, PTR_ERR_OR_ZERO(ev), refusals[i].err, refusals[i].what);
		tap_ok(&tap, *tally_builder_why(&b), "%s: %s", refusals[i].what,
		       tally_builder_why(&b));
		tally_event_release(ev);
	}
	ev = with(NULL, "one that counts");
	if (ev)
		refused_calls(ev, false, false, "it has no ring");
	ev = with(handled, "one with a handler");
	if (ev)
		refused_calls(ev, false, false, "it has none either");
	ev = with(ring, "a forward ring");
	if (ev)
		refused_calls(ev, true, false, "it cannot be frozen");
	ev = with(backward_ring, "a backward ring");
	if (ev)
		refused_calls(ev, false, true, "it cannot be emptied");
}
