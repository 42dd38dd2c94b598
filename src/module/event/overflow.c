// SPDX-License-Identifier: GPL-2.0
/*
 * The overflows of an event, beside its count: the state that perf's callback
 * works on, the bottom halves that the callback starts, and statistics.
 *
 * Ordering: E of life/callback.c.
 */
#include <linux/cpu.h>
#include <linux/hardirq.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/topology.h>
#include "base/payload.h"
#include "builder/builder.h"
#include "compat.h"
#include "event/event.h"
#include "event/overflow.h"
#include "event/registry.h"

/* At least every 64th call is timed, and at least every 64th overflow checks the rate. */
#define CHECK_EVERY	64

/* The window of the rate is RATE_WINDOW_NS long, or a second for rates below SMALL_RATE. */
#define RATE_WINDOW_NS	(10 * NSEC_PER_MSEC)
#define SMALL_RATE	1000

/* Samples that one interrupt hands to its handler. */
#define AT_ONCE		64

/* Default limit of overflows per second for clocks and hardware; others have none. */
#define DEFAULT_RATE	10000

/* The overflow states of all events. The registry's lock guards the list and @retired. */
static LIST_HEAD(overflows);
/* Sums of events that were released. */
static struct tally_overflow_stats retired;

static struct workqueue_struct *bottom_wq;

static void add_time(struct tally_calls *calls, u64 ns)
{
	WRITE_ONCE(calls->timed, calls->timed + 1);
	WRITE_ONCE(calls->ns, calls->ns + ns);
	if (ns > calls->max_ns)
		WRITE_ONCE(calls->max_ns, ns);
}

/* Calls a handler and adds the time that it took to the statistics. */
void tally_call_timed(struct tally_calls *calls,
		      const struct tally_handler *handler,
		      struct tally_event *ev, const struct tally_sample *s)
{
	u64 begin = ktime_get_mono_fast_ns();
	s64 took;

	handler->fn(ev, s, handler->context);
	/* The clock may go back a little if this is in NMI. */
	took = ktime_get_mono_fast_ns() - begin;
	add_time(calls, max(took, 0LL));
}

/**
 * tally_overflow_kick - start the control work of an event
 * @of: overflow state, with a member changed that the work looks at
 *
 * The irq_work is not queued again until the work has begun. An event that counts the ends of
 * interrupts overflows at the end of the irq_work itself, too: each irq_work would queue the next
 * one, and the CPU would do nothing else for ever.
 *
 * Context: Any context, NMI included.
 */
void tally_overflow_kick(struct tally_overflow *of)
{
	/* A work that is still pending here sees what the caller changed. */
	smp_mb();
	if (!delayed_work_pending(&of->control))
		irq_work_queue(&of->kick);
}

/* Returns whether the event has had all overflows of its limit. Any context. */
bool tally_overflow_at_limit(const struct tally_overflow *of)
{
	return READ_ONCE(of->special) & TALLY_SPECIAL_LIMITED &&
	       atomic64_read(&of->left) <= 0;
}

static void call(struct tally_overflow_cpu *oc, enum tally_stage stage,
		 struct tally_calls *calls, const struct tally_handler *handler,
		 const struct tally_sample *s)
{
	if (calls->calls % CHECK_EVERY)
		handler->fn(oc->of->ev, s, handler->context);
	else
		tally_call_timed(calls, handler, oc->of->ev, s);
	WRITE_ONCE(calls->calls, calls->calls + 1);
	tally_queue_pop(&oc->queue, stage);
}

static void irq_half(struct tally_overflow_cpu *oc)
{
	unsigned int room = AT_ONCE;
	const struct tally_sample *s;

	while ((s = tally_queue_peek(&oc->queue, TALLY_STAGE_IRQ))) {
		if (!room--) {
			tally_kick_again(&oc->announce);
			return;
		}
		call(oc, TALLY_STAGE_IRQ, &oc->irq, &oc->of->irq, s);
	}
}

/*
 * Runs in hard interrupt, also on PREEMPT_RT, on the CPU of @oc. If that CPU
 * went offline while its brake (base/kick.c) held @announce, this runs on
 * another CPU: then samples for the handler in interrupt stay in the queue
 * until the next overflow on their CPU, or until the event ends.
 */
static void announced(struct tally_kick *kick)
{
	struct tally_overflow_cpu *oc =
		container_of(kick, struct tally_overflow_cpu, announce);
	struct tally_overflow *of = oc->of;

	if (of->irq.fn && oc->sample.cpu == smp_processor_id())
		irq_half(oc);
	if (of->work.fn && tally_queue_peek(&oc->queue, TALLY_STAGE_WORK))
		queue_work(bottom_wq, &oc->bottom);
}

static void bottom_half(struct work_struct *work)
{
	struct tally_overflow_cpu *oc =
		container_of(work, struct tally_overflow_cpu, bottom);
	const struct tally_sample *s;

	while ((s = tally_queue_peek(&oc->queue, TALLY_STAGE_WORK))) {
		call(oc, TALLY_STAGE_WORK, &oc->work, &oc->of->work, s);
		cond_resched();
	}
}

/**
 * tally_overflow_inside - whether an event cannot be released here
 * @of: overflow state of the event; NULL if it only counts
 *
 * Direct handlers of software events may run with interrupts enabled in older
 * kernels; @busy shows those.
 *
 * Context: Any context.
 * Return: true in interrupt, with interrupts or bottom halves disabled, and in a handler: the
 * release would wait for the end of its caller. Disabled preemption alone, as in the direct handler
 * of another software event, is noticed if the kernel counts it.
 */
bool tally_overflow_inside(const struct tally_overflow *of)
{
	const struct work_struct *work;
	bool busy;

	if (in_interrupt() || irqs_disabled() ||
	    (IS_ENABLED(CONFIG_PREEMPT_COUNT) && !preemptible()))
		return true;
	work = current_work();
	if (work && work->func == bottom_half)
		return true;
	if (!of)
		return false;
	/* A direct handler that is running on this CPU is the caller. */
	preempt_disable();
	busy = READ_ONCE(this_cpu_ptr(of->cpus)->busy);
	preempt_enable();
	return busy;
}

/*
 * Sets the flags @set of tally_overflow::special, and clears @clear. The caller writes what a flag
 * refers to before this. Several callers may change different flags at a time. Any context.
 */
void tally_overflow_special(struct tally_overflow *of, u32 set, u32 clear)
{
	unsigned long old = READ_ONCE(of->special), gone = clear;

	while (!try_cmpxchg_release(&of->special, &old, (old | set) & ~gone)) /* E */
		;
}

/* The flags that an event has from the beginning. */
static u32 special_of(const struct tally_builder *b,
		      const struct perf_event_attr *attr,
		      const struct tally_event *ev)
{
	u32 special = TALLY_SPECIAL_DISABLED;

	if (b->flags & TALLY_BUILDER_ONE_SHOT)
		special |= TALLY_SPECIAL_ONE_SHOT;
	if (b->flags & TALLY_BUILDER_TIME || (b->attr.sample_type & PERF_SAMPLE_TIME &&
					      !(b->flags & TALLY_BUILDER_RECORDS)))
		special |= TALLY_SPECIAL_TIME;
	if (attr->exclude_kernel)
		special |= TALLY_SPECIAL_STRIP;
	if (attr->exclude_idle)
		special |= TALLY_SPECIAL_NO_IDLE;
	if (attr->inherit)
		special |= TALLY_SPECIAL_INHERIT;
	if (attr->precise_ip)
		special |= TALLY_SPECIAL_PRECISE;
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		special |= TALLY_SPECIAL_BRANCHES;
	if (b->irq.fn || b->work.fn)
		special |= TALLY_SPECIAL_DEFER;
	if (!b->direct.fn)
		special |= TALLY_SPECIAL_NO_DIRECT;
	if (ev->output)
		special |= TALLY_SPECIAL_RECORD;
	if (b->window_ns)
		special |= TALLY_SPECIAL_BUDGET;
	/* The handler of files does not look at its sample. */
	if (ev->output && !(b->flags & TALLY_BUILDER_FILE))
		special |= TALLY_SPECIAL_FILL;
	if (attr->sample_type & TALLY_PAYLOAD_FIELDS && !(b->flags & TALLY_BUILDER_FILE) &&
	    (b->direct.fn || b->irq.fn || b->work.fn))
		special |= TALLY_SPECIAL_PAYLOAD;
	return special;
}

/**
 * tally_overflow_set_rate - limit the overflows of an event
 * @of: overflow state of an event that is disabled
 * @rate: overflows per second on one CPU; 0 for the default
 * @interrupts: the event interrupts the CPU, as those of clocks and hardware
 *	do: their overflows alone can take a CPU. All other events overflow in
 *	code that runs anyway, and have no limit by default.
 */
void tally_overflow_set_rate(struct tally_overflow *of, u32 rate, bool interrupts)
{
	if (!rate)
		rate = interrupts ? DEFAULT_RATE : TALLY_RATE_UNLIMITED;
	of->reload = CHECK_EVERY;
	if (rate == TALLY_RATE_UNLIMITED)
		return;
	of->rate_window_ns = rate < SMALL_RATE ? NSEC_PER_SEC : RATE_WINDOW_NS;
	of->batch = div_u64(rate * of->rate_window_ns, NSEC_PER_SEC);
	of->reload = of->batch / DIV_ROUND_UP(of->batch, CHECK_EVERY);
}

/* Allocates payloads for the direct handler's sample, and for the copies in the queue. */
static int add_payloads(struct tally_overflow *of, struct tally_overflow_cpu *oc, u64 fields,
			int node)
{
	/* A direct handler gets perf's own branches. */
	if (of->special & TALLY_SPECIAL_PAYLOAD && of->direct.fn &&
	    !tally_payloads_new(&oc->sample, 1, fields & TALLY_PAYLOAD_FIELDS, node))
		return -ENOMEM;
	if (!(of->special & TALLY_SPECIAL_DEFER))
		return 0;
	if (!(of->special & (TALLY_SPECIAL_PAYLOAD | TALLY_SPECIAL_BRANCHES)))
		return 0;
	oc->queue.payloads = tally_payloads_new(oc->queue.samples, oc->queue.mask + 1, fields,
						node);
	return oc->queue.payloads ? 0 : -ENOMEM;
}

static int init_cpu(struct tally_overflow *of, int cpu, const struct tally_builder *b,
		    u64 fields, bool counted)
{
	struct tally_overflow_cpu *oc = per_cpu_ptr(of->cpus, cpu);
	int node = cpu_to_node(cpu), err = 0;

	oc->of = of;
	oc->sample.cpu = cpu;
	oc->check_in = 1;
	tally_kick_init(&oc->announce, announced, true);
	INIT_WORK(&oc->bottom, bottom_half);
	/* The event cannot overflow on a CPU that is not counted: one place is enough. */
	if (of->special & TALLY_SPECIAL_DEFER)
		err = tally_queue_init(&oc->queue,
				       !counted ? 1 : b->queue ?: TALLY_QUEUE_DEFAULT,
				       of->irq.fn, of->work.fn, node);
	return err ?: add_payloads(of, oc, fields, node);
}

/**
 * tally_overflow_new - make the overflow state of an event
 * @b: builder with the handlers
 * @attr: attributes of perf's events
 * @target: target of the event
 * @ev: the event
 * @lost: number of records of its output that found no room; NULL without an output
 *
 * Context: Process context, may sleep.
 * Return: the state of an event that is disabled; or ENOMEM as an ERR_PTR.
 */
struct tally_overflow *tally_overflow_new(const struct tally_builder *b,
					  const struct perf_event_attr *attr,
					  const struct tally_target *target,
					  struct tally_event *ev,
					  const atomic64_t *lost)
{
	struct tally_overflow *of;
	bool counted;
	int cpu;

	of = kzalloc(sizeof(*of), GFP_KERNEL_ACCOUNT);
	if (!of)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&of->node);
	of->ev = ev;
	of->output = ev->output;
	of->lost = lost;
	of->direct = b->direct;
	of->irq = b->irq;
	of->work = b->work;
	of->special = special_of(b, attr, ev);
	atomic_set(&of->armed, 1);
	of->cpus = alloc_percpu_gfp(struct tally_overflow_cpu, GFP_KERNEL_ACCOUNT);
	if (!of->cpus)
		goto free;
	for_each_possible_cpu(cpu) {
		counted = target->task || target->cpu < 0 || target->cpu == cpu;
		if (init_cpu(of, cpu, b, attr->sample_type, counted))
			goto free;
	}
	mutex_lock(&tally_events_lock);
	list_add(&of->node, &overflows);
	mutex_unlock(&tally_events_lock);
	return of;

free:
	tally_overflow_free(of);
	return ERR_PTR(-ENOMEM);
}

/* Runs on the CPU of @oc, in interrupt. */
static void announce(void *oc)
{
	tally_kick(&((struct tally_overflow_cpu *)oc)->announce);
}

/* Samples for the handler in interrupt of a CPU that is offline are missed. */
static void give_up(struct tally_overflow_cpu *oc)
{
	while (tally_queue_peek(&oc->queue, TALLY_STAGE_IRQ)) {
		tally_queue_pop(&oc->queue, TALLY_STAGE_IRQ);
		local_inc(&oc->queue.missed);
	}
}

/*
 * Waits until the interrupt has ended and its handler has had all samples. The
 * caller holds cpu_hotplug_lock.
 */
static void drain_interrupt(struct tally_overflow *of,
			    struct tally_overflow_cpu *oc)
{
	int cpu = oc->sample.cpu;

	tally_kick_sync(&oc->announce);
	while (of->irq.fn && cpu_online(cpu) &&
	       tally_queue_peek(&oc->queue, TALLY_STAGE_IRQ)) {
		smp_call_function_single(cpu, announce, oc, true);
		tally_kick_sync(&oc->announce);
	}
	if (of->irq.fn)
		give_up(oc);
}

/**
 * tally_overflow_drain - wait until no handler runs any more
 * @of: overflow state; perf's events have been released, and a grace period has passed
 *
 * No callback runs any more, so none starts an interrupt. Interrupts start
 * works, so the interrupts end first. The handlers of both may start the
 * control work: tally_control_cancel() ends that afterwards.
 *
 * Context: Process context, may sleep.
 */
void tally_overflow_drain(struct tally_overflow *of)
{
	struct tally_overflow_cpu *oc;
	int cpu;

	cpus_read_lock();
	for_each_possible_cpu(cpu)
		drain_interrupt(of, per_cpu_ptr(of->cpus, cpu));
	cpus_read_unlock();
	for_each_possible_cpu(cpu) {
		oc = per_cpu_ptr(of->cpus, cpu);
		if (of->work.fn &&
		    tally_queue_peek(&oc->queue, TALLY_STAGE_WORK))
			queue_work(bottom_wq, &oc->bottom);
	}
	for_each_possible_cpu(cpu)
		flush_work(&per_cpu_ptr(of->cpus, cpu)->bottom);
}

/* The time of all calls, of which some were timed, in nanoseconds. */
static u64 estimate(const struct tally_calls *calls, u64 nr)
{
	u64 timed = READ_ONCE(calls->timed);

	return timed ? mul_u64_u64_div_u64(READ_ONCE(calls->ns), nr, timed) : 0;
}

static void add_stats_of(const struct tally_overflow *of, int cpu,
			 struct tally_overflow_stats *stats)
{
	struct tally_overflow_cpu *oc = per_cpu_ptr(of->cpus, cpu);
	u64 entered = READ_ONCE(oc->sample.sequence);
	u64 skipped = local_read(&oc->skipped);

	stats->overflows += entered + skipped;
	stats->skipped += of->direct.fn ? skipped : 0;
	stats->missed += local_read(&oc->queue.missed);
	stats->throttled += local_read(&oc->throttled);
	stats->guest += local_read(&oc->guest);
	stats->handler_ns += estimate(&oc->direct, entered) +
			     estimate(&oc->irq, READ_ONCE(oc->irq.calls)) +
			     estimate(&oc->work, READ_ONCE(oc->work.calls));
	stats->handler_max_ns = max3(stats->handler_max_ns,
				     READ_ONCE(oc->direct.max_ns),
				     max(READ_ONCE(oc->irq.max_ns),
					 READ_ONCE(oc->work.max_ns)));
}

/* Adds the statistics of an event on all CPUs. */
void tally_overflow_stats(const struct tally_overflow *of, struct tally_overflow_stats *stats)
{
	int cpu;

	for_each_possible_cpu(cpu)
		add_stats_of(of, cpu, stats);
	if (of->lost)
		stats->lost += atomic64_read(of->lost);
}

/* The statistics of all events together, including those that were released. */
void tally_overflow_stats_all(struct tally_overflow_stats *stats)
{
	struct tally_overflow *of;

	mutex_lock(&tally_events_lock);
	*stats = retired;
	list_for_each_entry(of, &overflows, node)
		tally_overflow_stats(of, stats);
	mutex_unlock(&tally_events_lock);
}

/*
 * Frees the state of an event's overflows, and keeps its statistics in @retired. The caller has
 * called tally_overflow_drain(), unless no event of perf ever had this state.
 */
void tally_overflow_free(struct tally_overflow *of)
{
	int cpu;

	if (of->cpus) {
		mutex_lock(&tally_events_lock);
		tally_overflow_stats(of, &retired);
		list_del(&of->node);
		mutex_unlock(&tally_events_lock);
		for_each_possible_cpu(cpu) {
			tally_queue_destroy(&per_cpu_ptr(of->cpus, cpu)->queue);
			kvfree(per_cpu_ptr(of->cpus, cpu)->sample.payload);
		}
		free_percpu(of->cpus);
	}
	kfree(of);
}

int tally_overflow_init(void)
{
	bottom_wq = alloc_workqueue("tally", WQ_UNBOUND, 0);
	return bottom_wq ? 0 : -ENOMEM;
}

void tally_overflow_exit(void)
{
	destroy_workqueue(bottom_wq);
}
