// SPDX-License-Identifier: GPL-2.0
/* The handlers of the storm: they check their context and call functions on events. */
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include "soak.h"

static const enum soak_tally tallies[SOAK_STAGES] = {
	[SOAK_DIRECT] = SOAK_DIRECT_CALLS,
	[SOAK_IN_IRQ] = SOAK_IRQ_CALLS,
	[SOAK_IN_WORK] = SOAK_WORK_CALLS,
};

static bool right_place(const struct tally_sample *s, enum soak_stage stage)
{
	switch (stage) {
	case SOAK_DIRECT:
		return !!(s->flags & TALLY_SAMPLE_NMI) == !!in_nmi();
	case SOAK_IN_IRQ:
		return irqs_disabled() && !in_nmi() && !s->regs;
	default:
		return in_task() && !irqs_disabled() && !s->regs;
	}
}

/*
 * Samples of one CPU come in order. An overflow that came while the direct handler ran
 * has the same number as the overflow before it.
 */
static void check_order(struct soak_context *ctx, const struct tally_sample *s,
			enum soak_stage stage)
{
	u64 *last;

	atomic_long_add(s->missed, &ctx->told[stage]);
	if (s->cpu >= SOAK_CPUS)
		return;
	last = &ctx->last[stage][s->cpu];
	if (s->sequence < *last)
		soak_fault(SOAK_FAULT_ORDER, ctx->kind, s->sequence, *last);
	*last = s->sequence;
}

/* Checks a call. Returns the number of calls including this one; 0 if it is refused. */
static long enter(struct tally_event *ev, const struct tally_sample *s,
		  struct soak_context *ctx, enum soak_stage stage)
{
	u64 magic = READ_ONCE(ctx->magic);
	struct tally_event *first;

	if (magic != SOAK_LIVE) {
		soak_fault(SOAK_FAULT_DEAD, 0, magic, SOAK_LIVE);
		return 0;
	}
	first = cmpxchg(&ctx->ev, NULL, ev);
	if (first && first != ev)
		soak_fault(SOAK_FAULT_EVENT, ctx->kind, stage, 0);
	if (!right_place(s, stage))
		soak_fault(SOAK_FAULT_CONTEXT, ctx->kind, preempt_count(), stage);
	if (stage != SOAK_IN_WORK && s->cpu != raw_smp_processor_id())
		soak_fault(SOAK_FAULT_CPU, ctx->kind, s->cpu,
			   raw_smp_processor_id());
	if (stage != SOAK_DIRECT)
		check_order(ctx, s, stage);
	soak_count(tallies[stage]);
	return atomic_long_inc_return(&ctx->calls[stage]);
}

static void rearm(struct soak_context *ctx, struct tally_event *ev,
		  enum soak_stage stage, long n)
{
	int err;

	if (ctx->rearm != stage)
		return;
	err = tally_event_rearm(ev, n % 2 ? soak_kind_period(ctx, n) : 0);
	if (err)
		soak_fault(SOAK_FAULT_ERROR, ctx->kind, err, 0);
	soak_count(SOAK_REARMED);
}

static void try_to_release(struct soak_context *ctx, struct tally_event *ev)
{
	int err = tally_event_release(ev);

	if (err != -EDEADLK)
		soak_fault(SOAK_FAULT_RELEASE, ctx->kind, err, -EDEADLK);
	soak_count(SOAK_REFUSED_RELEASES);
}

void soak_direct(struct tally_event *ev, const struct tally_sample *sample,
		 void *context)
{
	long n = enter(ev, sample, context, SOAK_DIRECT);

	if (!n)
		return;
	if (in_nmi())
		soak_count(SOAK_NMI_CALLS);
	rearm(context, ev, SOAK_DIRECT, n);
	if (n % 16 == 3)
		try_to_release(context, ev);
}

void soak_irq(struct tally_event *ev, const struct tally_sample *sample,
	      void *context)
{
	long n = enter(ev, sample, context, SOAK_IN_IRQ);

	if (!n)
		return;
	rearm(context, ev, SOAK_IN_IRQ, n);
	if (n % 16 == 3)
		try_to_release(context, ev);
}

/* @lock keeps this from enabling the event after its owner has disabled it for good. */
static void switch_it(struct soak_context *ctx, struct tally_event *ev, long n)
{
	int err = 0;

	mutex_lock(&ctx->lock);
	if (!ctx->ending) {
		tally_event_disable(ev);
		if (ctx->rearm == SOAK_STAGES && n % 2)
			err = tally_event_refresh(ev, 1 + n % 50);
		else
			err = tally_event_enable(ev);
	}
	mutex_unlock(&ctx->lock);
	if (err && err != -ESRCH && err != -ENODATA)
		soak_fault(SOAK_FAULT_ERROR, ctx->kind, err, 0);
}

static void retime(struct soak_context *ctx, struct tally_event *ev, long n)
{
	int err = tally_event_set_period(ev, soak_kind_period(ctx, n));

	if (err != (ctx->inherit ? -EOPNOTSUPP : 0))
		soak_fault(SOAK_FAULT_ERROR, ctx->kind, err, 0);
}

static void look(struct soak_context *ctx, struct tally_event *ev, long calls)
{
	struct tally_overflow_stats stats;
	struct tally_count count;
	int err = tally_event_read(ev, &count);

	if (err && err != -ENODATA)
		soak_fault(SOAK_FAULT_ERROR, ctx->kind, err, 0);
	err = tally_event_overflow_stats(ev, &stats);
	if (err)
		soak_fault(SOAK_FAULT_ERROR, ctx->kind, err, 0);
	/* An overflow is counted before a handler is called for it. */
	if (stats.overflows < calls)
		soak_fault(SOAK_FAULT_MISSED, ctx->kind, stats.overflows, calls);
}

void soak_work(struct tally_event *ev, const struct tally_sample *sample,
	       void *context)
{
	long n = enter(ev, sample, context, SOAK_IN_WORK);

	if (!n)
		return;
	might_sleep();
	if (((struct soak_context *)context)->sluggish)
		usleep_range(500, 2000);
	rearm(context, ev, SOAK_IN_WORK, n);
	switch (n % 32) {
	case 3:
		try_to_release(context, ev);
		break;
	case 5:
		look(context, ev, n);
		break;
	case 8:
		usleep_range(50, 500);
		break;
	case 13:
		switch_it(context, ev, n / 32);
		break;
	case 21:
		retime(context, ev, n / 32);
		break;
	case 27:
		kfree(kmalloc(512, GFP_KERNEL));
		break;
	}
}
