// SPDX-License-Identifier: GPL-2.0
/* A thread that makes events, calls all functions on them and releases them. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hw_breakpoint.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "soak.h"

u32 soak_below(struct soak_thread *t, u32 limit)
{
	return prandom_u32_state(&t->rnd) % limit;
}

/* ---- building ---- */

static struct soak_context *context_new(enum soak_kind kind)
{
	struct soak_context *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL);

	if (!ctx)
		return NULL;
	ctx->kind = kind;
	ctx->rearm = SOAK_STAGES;
	mutex_init(&ctx->lock);
	WRITE_ONCE(ctx->magic, SOAK_LIVE);
	return ctx;
}

/* Returns whether the event is on one CPU or one task. */
static bool choose_target(struct soak_thread *t, struct soak_context *ctx,
			  struct tally_builder *b)
{
	if (ctx->kind == SOAK_INHERITED) {
		ctx->inherit = true;
		tally_builder_on_pid(b, soak_pid);
		tally_builder_inherit(b);
		return true;
	}
	switch (soak_below(t, 4)) {
	case 0:
		tally_builder_on_cpu(b, soak_below(t, num_possible_cpus()));
		return true;
	case 1:
		tally_builder_on_task(b, current);
		ctx->inherit = !soak_below(t, 4);
		if (ctx->inherit)
			tally_builder_inherit(b);
		return true;
	default:
		tally_builder_on_all_cpus(b);
		return false;
	}
}

static void choose_handlers(struct soak_thread *t, struct soak_context *ctx,
			    struct tally_builder *b)
{
	unsigned int mask = 1 + soak_below(t, 7);
	enum soak_stage stage;

	for (stage = 0; stage < SOAK_STAGES; stage++)
		ctx->given[stage] = mask & BIT(stage);
	if (ctx->given[SOAK_DIRECT])
		tally_builder_on_overflow(b, soak_direct, ctx);
	if (ctx->given[SOAK_IN_IRQ])
		tally_builder_on_overflow_irq(b, soak_irq, ctx);
	if (ctx->given[SOAK_IN_WORK])
		tally_builder_on_overflow_work(b, soak_work, ctx);
	ctx->sluggish = !soak_below(t, 3);
	if (mask == BIT(SOAK_DIRECT))
		return;
	if (ctx->sluggish)
		tally_builder_queue(b, 1 << soak_below(t, 8));
	else if (soak_below(t, 2))
		tally_builder_queue(b, 1 << soak_below(t, 12));
}

static void choose_limits(struct soak_thread *t, struct soak_context *ctx,
			  struct tally_builder *b, bool single)
{
	static const u32 rates[] = { 0, 0, 100, 20000, TALLY_RATE_UNLIMITED };
	u32 rate = rates[soak_below(t, ARRAY_SIZE(rates))];
	enum soak_stage stage = soak_below(t, SOAK_STAGES);

	ctx->slow = rate == TALLY_RATE_UNLIMITED;
	tally_builder_max_rate(b, rate);
	tally_builder_period(b, soak_kind_period(ctx, soak_below(t, 4)));
	if (single && !ctx->inherit && ctx->given[stage] && !soak_below(t, 2)) {
		ctx->rearm = stage;
		tally_builder_one_shot(b);
	}
	if (!soak_below(t, 4))
		tally_builder_sample_time(b);
	if (!soak_below(t, 4))
		tally_builder_disabled(b);
	if (!soak_below(t, 8))
		tally_builder_require(b);
}

/* Whether tally_build() may return this error on a machine that is short of resources. */
static bool may_be_refused(int err)
{
	switch (err) {
	case -ENOSPC:
	case -EBUSY:
	case -ENODEV:
	case -EINVAL:
	case -ENOENT:
	case -EOPNOTSUPP:
		return true;
	default:
		return false;
	}
}

static struct tally_event *build(struct soak_thread *t,
				 struct soak_context *ctx)
{
	static atomic_t serial = ATOMIC_INIT(0);
	struct tally_event *ev;
	struct tally_builder b;
	char name[32];

	soak_kind_begin(&b, ctx->kind, t);
	snprintf(name, sizeof(name), "soak%d", atomic_inc_return(&serial));
	tally_builder_name(&b, name);
	choose_handlers(t, ctx, &b);
	choose_limits(t, ctx, &b, choose_target(t, ctx, &b));
	ev = tally_build(&b);
	if (!IS_ERR(ev)) {
		atomic_long_inc(&soak_made[ctx->kind]);
		return ev;
	}
	atomic_long_inc(&soak_refused[ctx->kind]);
	if (!may_be_refused(PTR_ERR(ev))) {
		pr_warn("%s: %s\n", soak_kind_name(ctx->kind),
			tally_builder_why(&b));
		soak_fault(SOAK_FAULT_ERROR, ctx->kind, PTR_ERR(ev), 0);
	}
	return ev;
}

/* ---- calls on an event ---- */

static void expect(const struct soak_context *ctx, int err, int want)
{
	if (err != want)
		soak_fault(SOAK_FAULT_ERROR, ctx->kind, err, want);
}

/* ESRCH if the task has exited; ENODATA if a CPU that came had no breakpoint free. */
static void expect_on(const struct soak_context *ctx, int err)
{
	if (err && err != -ESRCH && err != -ENODATA)
		soak_fault(SOAK_FAULT_ERROR, ctx->kind, err, 0);
}

static void modify(struct soak_thread *t, struct soak_context *ctx,
		   struct tally_event *ev)
{
	int err = tally_event_modify(ev, (unsigned long)&t->words[soak_below(t, 2)],
				     1 << soak_below(t, 4), HW_BREAKPOINT_W);

	if (ctx->kind != SOAK_BREAKPOINT || ctx->inherit)
		expect(ctx, err, -EOPNOTSUPP);
	else if (err != -ENOSPC)
		expect(ctx, err, 0);
	if (!err)
		soak_count(SOAK_MODIFIED);
}

static void read_it(struct soak_thread *t, struct soak_context *ctx,
		    struct tally_event *ev)
{
	struct tally_overflow_stats stats;
	struct tally_count count;

	expect_on(ctx, tally_event_read(ev, &count));
	/* The call may fail: EINVAL for another CPU than the event's. */
	tally_event_read_cpu(ev, soak_below(t, num_possible_cpus()), &count);
	expect(ctx, tally_event_overflow_stats(ev, &stats), 0);
	tally_event_state(ev);
}

static void refresh(struct soak_thread *t, struct soak_context *ctx,
		    struct tally_event *ev)
{
	int err = tally_event_refresh(ev, 1 + soak_below(t, 100));

	if (ctx->rearm != SOAK_STAGES)
		expect(ctx, err, -EINVAL);
	else
		expect_on(ctx, err);
}

static void rearm(struct soak_thread *t, struct soak_context *ctx,
		  struct tally_event *ev)
{
	u64 period = soak_kind_period(ctx, soak_below(t, 4));

	expect(ctx, tally_event_rearm(ev, soak_below(t, 2) ? period : 0),
	       ctx->rearm == SOAK_STAGES ? -EINVAL : 0);
}

static void treat(struct soak_thread *t, struct soak_context *ctx,
		  struct tally_event *ev)
{
	switch (soak_below(t, 8)) {
	case 0:
		read_it(t, ctx, ev);
		break;
	case 1:
		expect(ctx, tally_event_set_period(ev,
						   soak_kind_period(ctx, soak_below(t, 4))),
		       ctx->inherit ? -EOPNOTSUPP : 0);
		break;
	case 2:
		refresh(t, ctx, ev);
		break;
	case 3:
		rearm(t, ctx, ev);
		break;
	case 4:
		modify(t, ctx, ev);
		break;
	case 5:
		tally_event_disable(ev);
		break;
	case 6:
		tally_event_reset(ev);
		fallthrough;
	default:
		expect_on(ctx, tally_event_enable(ev));
		break;
	}
}

/* ---- the end of an event ---- */

static long calls_of(const struct soak_context *ctx, enum soak_stage stage)
{
	return atomic_long_read(&ctx->calls[stage]);
}

static void check_sum(const struct soak_context *ctx, enum soak_stage stage,
		      u64 want, enum soak_fault fault, enum soak_tally checked)
{
	if (!ctx->given[stage])
		return;
	if (calls_of(ctx, stage) != want)
		soak_fault(fault, ctx->kind, calls_of(ctx, stage), want);
	if (want)
		soak_count(checked);
}

/*
 * A disabled event does not overflow, and a grace period later none of its direct
 * handlers runs. So the statistics are final. The calls of the other two handlers are
 * not: tally_event_release() waits for them.
 */
static void disable_and_look(struct soak_context *ctx, struct tally_event *ev,
			     struct tally_overflow_stats *stats)
{
	mutex_lock(&ctx->lock);
	ctx->ending = true;
	tally_event_disable(ev);
	mutex_unlock(&ctx->lock);
	synchronize_rcu();
	tally_event_overflow_stats(ev, stats);
	check_sum(ctx, SOAK_DIRECT, stats->overflows - stats->skipped,
		  SOAK_FAULT_DIRECT_SUM, SOAK_CHECKED_DIRECT);
}

/* Overflows that came while throttled are missed, but no sample's @missed has them. */
static void check_told(const struct soak_context *ctx, enum soak_stage stage,
		       u64 missed)
{
	u64 told = atomic_long_read(&ctx->told[stage]);

	if (told > missed)
		soak_fault(SOAK_FAULT_MISSED, ctx->kind, told, missed);
}

/*
 * Samples that wait for the handler in interrupt of a CPU that went offline reach only
 * the handler in process context.
 */
static void check_deferred(const struct soak_context *ctx, bool steady,
			   const struct tally_overflow_stats *stats)
{
	u64 want = stats->overflows - stats->missed;

	if (steady)
		check_sum(ctx, SOAK_IN_IRQ, want, SOAK_FAULT_IRQ_SUM,
			  SOAK_CHECKED_IRQ);
	else if (calls_of(ctx, SOAK_IN_IRQ) > want)
		soak_fault(SOAK_FAULT_IRQ_SUM, ctx->kind,
			   calls_of(ctx, SOAK_IN_IRQ), want);
	else if (ctx->given[SOAK_IN_IRQ])
		soak_count(SOAK_EXCUSED_IRQ);
	check_sum(ctx, SOAK_IN_WORK, want, SOAK_FAULT_WORK_SUM,
		  SOAK_CHECKED_WORK);
	check_told(ctx, SOAK_IN_IRQ, stats->missed);
	check_told(ctx, SOAK_IN_WORK, stats->missed);
}

/* An event released while it overflowed: both queued handlers have seen all samples. */
static void check_live(const struct soak_context *ctx, bool steady)
{
	long irq = calls_of(ctx, SOAK_IN_IRQ), work = calls_of(ctx, SOAK_IN_WORK);

	if (!ctx->given[SOAK_IN_IRQ] || !ctx->given[SOAK_IN_WORK])
		return;
	if (steady ? irq != work : irq > work)
		soak_fault(SOAK_FAULT_IRQ_SUM, ctx->kind, irq, work);
}

static void dig_up(struct soak_grave *grave)
{
	struct soak_context *ctx = grave->ctx;
	enum soak_stage stage;

	if (!ctx)
		return;
	for (stage = 0; stage < SOAK_STAGES; stage++)
		if (calls_of(ctx, stage) != grave->calls[stage])
			soak_fault(SOAK_FAULT_TOUCHED, ctx->kind,
				   calls_of(ctx, stage), grave->calls[stage]);
	if (ctx->magic != SOAK_DEAD)
		soak_fault(SOAK_FAULT_TOUCHED, ctx->kind, ctx->magic, SOAK_DEAD);
	grave->ctx = NULL;
	kfree(ctx);
}

/* Frees half of the contexts at once. dig_up() checks the others before it frees them. */
static void bury(struct soak_thread *t, struct soak_context *ctx)
{
	struct soak_grave *grave;
	enum soak_stage stage;

	WRITE_ONCE(ctx->magic, SOAK_DEAD);
	if (soak_below(t, 2)) {
		kfree(ctx);
		return;
	}
	grave = &t->graves[t->buried++ % SOAK_GRAVES];
	dig_up(grave);
	for (stage = 0; stage < SOAK_STAGES; stage++)
		grave->calls[stage] = calls_of(ctx, stage);
	grave->ctx = ctx;
}

static void end(struct soak_thread *t, struct soak_context *ctx,
		struct tally_event *ev, unsigned int offlines_before, bool steady)
{
	bool look = soak_below(t, 3);
	struct tally_overflow_stats stats = { };
	unsigned int offlines;

	if (look)
		disable_and_look(ctx, ev, &stats);
	expect(ctx, tally_event_release(ev), 0);
	soak_cpus_steady(&offlines);
	steady &= offlines == offlines_before;
	if (look) {
		check_deferred(ctx, steady, &stats);
	} else {
		check_live(ctx, steady);
		soak_count(SOAK_RELEASED_LIVE);
	}
}

static void one_event(struct soak_thread *t, enum soak_kind kind)
{
	struct soak_context *ctx = context_new(kind);
	struct tally_event *ev;
	unsigned int offlines, n;
	bool steady;

	if (!ctx)
		return;
	steady = soak_cpus_steady(&offlines);
	ev = build(t, ctx);
	if (!IS_ERR(ev)) {
		for (n = soak_below(t, 8); n; n--) {
			soak_stir(t);
			treat(t, ctx, ev);
		}
		soak_stir(t);
		end(t, ctx, ev, offlines, steady);
	}
	bury(t, ctx);
}

int soak_thread(void *data)
{
	struct soak_thread *t = data;
	enum soak_kind kind;
	unsigned int i;

	while (!kthread_should_stop()) {
		kind = soak_below(t, SOAK_KINDS);
		if ((kind == SOAK_INHERITED && !soak_pid) ||
		    !soak_kind_take(kind))
			continue;
		one_event(t, kind);
		soak_kind_give(kind);
		cond_resched();
	}
	for (i = 0; i < SOAK_GRAVES; i++)
		dig_up(&t->graves[i]);
	return 0;
}
