// SPDX-License-Identifier: GPL-2.0
/*
 * What an event that overflows has beside its count: the state that perf's callback
 * works on, the bottom halves that it starts, and statistics.
 *
 * Ordering: see queue.c (A to D) and callback.c (E to H).
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
#include "builder/builder.h"
#include "compat.h"
#include "event/event.h"
#include "event/overflow.h"

/* Calls between two that are timed, and looks at the rate. */
#define LOOK_EVERY	64

/* The rate is looked at over this; a small one over a second. */
#define WINDOW_NS	(10 * NSEC_PER_MSEC)
#define SMALL_RATE	1000

/* Samples that one interrupt hands to its handler. */
#define AT_ONCE		64

/* Of clocks and hardware; what code does by itself has no limit. */
#define DEFAULT_RATE	10000

/* Guards the list and what is kept of events that are gone. */
static DEFINE_MUTEX(overflows_lock);
static LIST_HEAD(overflows);
static struct tally_overflow_stats retired;
static struct workqueue_struct *bottom_wq;

static void account(struct tally_calls *calls, u64 ns)
{
	WRITE_ONCE(calls->timed, calls->timed + 1);
	WRITE_ONCE(calls->ns, calls->ns + ns);
	if (ns > calls->max_ns)
		WRITE_ONCE(calls->max_ns, ns);
}

/* Calls a handler, and adds the time that it took. */
void tally_call_timed(struct tally_calls *calls,
		      const struct tally_handler *handler,
		      struct tally_event *ev, const struct tally_sample *s)
{
	u64 begin = ktime_get_mono_fast_ns();
	s64 took;

	handler->fn(ev, s, handler->context);
	/* In an NMI this clock may go back a little. */
	took = ktime_get_mono_fast_ns() - begin;
	account(calls, max(took, 0LL));
}

/**
 * tally_overflow_kick - have the control work look at an event
 * @of: what it has been told of the event
 *
 * What overflows on the way out of an interrupt is asked for once only, until the work
 * has begun: each would be in the interrupt of the one before, and the CPU in those for
 * ever.
 *
 * Context: Any context, NMI included.
 */
void tally_overflow_kick(struct tally_overflow *of)
{
	/* The work sees what was said before, unless it is not waiting any more. */
	smp_mb();
	if (!work_pending(&of->control))
		irq_work_queue(&of->kick);
}

/* Whether all that were allowed have been. In any context. */
bool tally_overflow_is_spent(const struct tally_overflow *of)
{
	return READ_ONCE(of->special) & TALLY_SPECIAL_LIMITED &&
	       atomic64_read(&of->left) <= 0;
}

static void call(struct tally_overflow_cpu *oc, enum tally_stage stage,
		 struct tally_calls *calls, const struct tally_handler *handler,
		 const struct tally_sample *s)
{
	if (calls->calls % LOOK_EVERY)
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
			tally_kick(&oc->announce);
			return;
		}
		call(oc, TALLY_STAGE_IRQ, &oc->irq, &oc->of->irq, s);
	}
}

/*
 * In hard interrupt, on the CPU of @oc, one at a time. On another CPU if its own went
 * offline while the brake held the work: samples for the handler in interrupt stay for
 * the next overflow there, or for the end of the event.
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
 * tally_overflow_inside - is this where an event cannot be released?
 * @of: the event's; NULL if it only counts
 *
 * Context: Any context.
 * Return: true in a handler, which the event would wait for, and in atomic
 * context. Direct handlers and those in interrupt have interrupts disabled, but
 * for those of software events in older kernels.
 */
bool tally_overflow_inside(const struct tally_overflow *of)
{
	const struct work_struct *work;
	bool busy;

	if (in_interrupt() || irqs_disabled())
		return true;
	work = current_work();
	if (work && work->func == bottom_half)
		return true;
	if (!of)
		return false;
	/* If it is running here, it is what called us. */
	preempt_disable();
	busy = READ_ONCE(this_cpu_ptr(of->cpus)->busy);
	preempt_enable();
	return busy;
}

/* Writes what flags stand for before this, and perf's events after. */
void tally_overflow_special(struct tally_overflow *of, u32 set, u32 clear)
{
	smp_store_release(&of->special, (of->special | set) & ~clear); /* E */
}

static u32 special_of(const struct tally_builder *b,
		      const struct perf_event_attr *attr,
		      const struct tally_event *ev)
{
	u32 special = TALLY_SPECIAL_SHUT;

	if (b->flags & TALLY_BUILDER_ONE_SHOT)
		special |= TALLY_SPECIAL_ONE_SHOT;
	if (b->flags & TALLY_BUILDER_TIME)
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
		special |= TALLY_SPECIAL_QUIET;
	if (ev->output)
		special |= TALLY_SPECIAL_RECORD;
	/* That of files looks at none. */
	if (ev->output && !(b->flags & TALLY_BUILDER_FILE))
		special |= TALLY_SPECIAL_FILL;
	return special;
}

/**
 * tally_overflow_set_rate - how many overflows are too many
 * @of: of an event that is disabled
 * @rate: on one CPU in one second; 0 for the default
 * @interrupts: the event interrupts whatever runs, as clocks and PMUs do, and
 *	may take a CPU away. All others overflow in code that goes on meanwhile.
 */
void tally_overflow_set_rate(struct tally_overflow *of, u32 rate,
			     bool interrupts)
{
	if (!rate)
		rate = interrupts ? DEFAULT_RATE : TALLY_RATE_UNLIMITED;
	of->reload = LOOK_EVERY;
	if (rate == TALLY_RATE_UNLIMITED)
		return;
	of->window_ns = rate < SMALL_RATE ? NSEC_PER_SEC : WINDOW_NS;
	of->batch = div_u64(rate * of->window_ns, NSEC_PER_SEC);
	of->reload = of->batch / DIV_ROUND_UP(of->batch, LOOK_EVERY);
}

static int init_cpu(struct tally_overflow *of, int cpu,
		    const struct tally_builder *b, bool counted)
{
	struct tally_overflow_cpu *oc = per_cpu_ptr(of->cpus, cpu);

	oc->of = of;
	oc->sample.cpu = cpu;
	oc->look_at = 1;
	tally_kick_init(&oc->announce, announced, true);
	INIT_WORK(&oc->bottom, bottom_half);
	if (!(of->special & TALLY_SPECIAL_DEFER))
		return 0;
	/* Where it cannot overflow, there is room for one all the same. */
	return tally_queue_init(&oc->queue,
				!counted ? 1 : b->queue ?: TALLY_QUEUE_DEFAULT,
				of->irq.fn, of->work.fn, cpu_to_node(cpu));
}

/**
 * tally_overflow_new - for an event that overflows
 * @b: its handlers
 * @attr: what perf is to be given
 * @target: whom it counts
 * @ev: the event
 * @lost: the records of its output that found no room; NULL without an output
 *
 * Return: it, disabled; or ENOMEM as an ERR_PTR.
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

	of = kzalloc(sizeof(*of), GFP_KERNEL);
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
	of->cpus = alloc_percpu(struct tally_overflow_cpu);
	if (!of->cpus)
		goto free;
	for_each_possible_cpu(cpu) {
		counted = target->task || target->cpu < 0 || target->cpu == cpu;
		if (init_cpu(of, cpu, b, counted))
			goto free;
	}
	mutex_lock(&overflows_lock);
	list_add(&of->node, &overflows);
	mutex_unlock(&overflows_lock);
	return of;

free:
	tally_overflow_free(of);
	return ERR_PTR(-ENOMEM);
}

/* On the CPU of @oc, in interrupt. */
static void announce(void *oc)
{
	tally_kick(&((struct tally_overflow_cpu *)oc)->announce);
}

/* Samples that wait for a CPU that is offline: nobody will be given them. */
static void give_up(struct tally_overflow_cpu *oc)
{
	while (tally_queue_peek(&oc->queue, TALLY_STAGE_IRQ)) {
		tally_queue_pop(&oc->queue, TALLY_STAGE_IRQ);
		local_inc(&oc->queue.missed);
	}
}

/*
 * Waits until the interrupt is over and its handler has had all samples. With
 * cpu_hotplug_lock held.
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
 * tally_overflow_drain - wait until no handler runs, nor will
 * @of: perf's events of it are gone, and a grace period ago
 *
 * So no callback is running: none starts anything below any more. An interrupt
 * starts the work, so it ends first; either may be what starts @control, which
 * tally_control_cancel() ends afterwards.
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
	stats->handler_ns += estimate(&oc->direct, entered) +
			     estimate(&oc->irq, READ_ONCE(oc->irq.calls)) +
			     estimate(&oc->work, READ_ONCE(oc->work.calls));
	stats->handler_max_ns = max3(stats->handler_max_ns,
				     READ_ONCE(oc->direct.max_ns),
				     max(READ_ONCE(oc->irq.max_ns),
					 READ_ONCE(oc->work.max_ns)));
}

/* Adds up what became of the overflows on all CPUs. */
void tally_overflow_stats(const struct tally_overflow *of,
			  struct tally_overflow_stats *stats)
{
	int cpu;

	for_each_possible_cpu(cpu)
		add_stats_of(of, cpu, stats);
	if (of->lost)
		stats->lost += atomic64_read(of->lost);
}

/* The same for all events, those that are gone included. */
void tally_overflow_stats_all(struct tally_overflow_stats *stats)
{
	struct tally_overflow *of;

	mutex_lock(&overflows_lock);
	*stats = retired;
	list_for_each_entry(of, &overflows, node)
		tally_overflow_stats(of, stats);
	mutex_unlock(&overflows_lock);
}

/* After tally_overflow_drain(), or before perf knew of it. */
void tally_overflow_free(struct tally_overflow *of)
{
	int cpu;

	if (of->cpus) {
		mutex_lock(&overflows_lock);
		tally_overflow_stats(of, &retired);
		list_del(&of->node);
		mutex_unlock(&overflows_lock);
		for_each_possible_cpu(cpu)
			tally_queue_destroy(&per_cpu_ptr(of->cpus, cpu)->queue);
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
