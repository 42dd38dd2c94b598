// SPDX-License-Identifier: GPL-2.0
/*
 * An overflow, from perf's callback to the handlers of its event.
 *
 * The callback comes in any context, NMI included, also while it is running on
 * the same CPU for the same event. What it writes is of its own CPU, and is
 * either local_t or written while @busy is set, which the one that interrupts
 * sees and keeps away from. So it needs no lock and no atomic operation that
 * another CPU takes part in, but for a limit on the number of overflows.
 *
 * An event without bottom halves, limits and the like takes the short way; see
 * tally_overflow_callback(). So does one that has nothing of the sort, and whose
 * records go to a ring. All others are told by one word.
 *
 * Ordering, beside what queue.c says of the queue (A to D):
 *
 * E. What a flag of tally_overflow::special stands for is written before the
 *    flag, which is a store-release; whoever acts upon a flag load-acquires it.
 *    The short way acts upon none, and needs no order.
 * F. @busy and what it guards are seen by one CPU alone: compiler barriers.
 * G. A sample is committed before @held is read, and @held is cleared before
 *    the irq_work is queued that looks for samples. Both are on this CPU, so a
 *    sample that was not announced, because @held was seen, is found. If @hold
 *    runs elsewhere, because this CPU went offline, those for the interrupt wait
 *    for the next overflow on this CPU, or for the end of the event.
 * H. @paused is set here and read by the work that tally_control_kick() leads to,
 *    which orders the two; it is cleared by that work with nothing to order:
 *    an overflow that still sees it is only counted.
 */
#include <linux/cpu.h>
#include <linux/hardirq.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/topology.h>
#include "builder/builder.h"
#include "compat.h"
#include "event/control.h"
#include "event/event.h"
#include "record/output.h"
#include "event/overflow.h"
#include "read/publish.h"
#include "filter/filter.h"
#include "record/record.h"
#include "filter/apply.h"

/* Calls between two that are timed, and looks at the rate. */
#define LOOK_EVERY	64

/* The rate is looked at over this; a small one over a second. */
#define WINDOW_NS	(10 * NSEC_PER_MSEC)
#define SMALL_RATE	1000

/*
 * Interrupts for bottom halves with no gap between them, for so long or for so
 * many samples, are held back for a while. One handles so many at once.
 */
#define GAP_NS		(100ULL * NSEC_PER_USEC)
#define STRETCH_NS	(2ULL * NSEC_PER_MSEC)
#define STRETCH		1000
#define HOLD_NS		(1ULL * NSEC_PER_MSEC)
#define AT_ONCE		64

/* Of clocks and hardware; what code does by itself has no limit. */
#define DEFAULT_RATE	10000

/* Guards the list and what is kept of events that are gone. */
static DEFINE_MUTEX(overflows_lock);
static LIST_HEAD(overflows);
static struct tally_overflow_stats retired;
static struct workqueue_struct *bottom_wq;

/* An attribute that other kinds of perf's samples lack: x86 has the flag. */
static bool is_exact(const struct pt_regs *regs)
{
#ifdef PERF_EFLAGS_EXACT
	return regs->flags & PERF_EFLAGS_EXACT;
#else
	return false;
#endif
}

/* All is read before any is written, which lets the compiler pair both. */
static __always_inline void fill(struct tally_sample *s,
				 const struct perf_sample_data *data,
				 struct pt_regs *regs)
{
	u64 ip = instruction_pointer(regs), addr = 0, period = data->period;
	pid_t tid = current->pid, pid = current->tgid;
	u32 flags = 0;

	if (in_nmi())
		flags |= TALLY_SAMPLE_NMI;
	if (user_mode(regs))
		flags |= TALLY_SAMPLE_USER;
	if (data->sample_flags & PERF_SAMPLE_ADDR) {
		addr = data->addr;
		flags |= TALLY_SAMPLE_ADDR;
	}
	s->ip = ip;
	s->addr = addr;
	s->period = period;
	s->flags = flags;
	s->tid = tid;
	s->pid = pid;
	s->regs = regs;
}

/* As fill(), with what only some events want. */
static void fill_special(struct tally_sample *s, u32 special,
			 const struct perf_event *event,
			 const struct perf_sample_data *data,
			 struct pt_regs *regs)
{
	fill(s, data, regs);
	if (tally_overflow_throttled(event))
		s->flags |= TALLY_SAMPLE_THROTTLED;
	if (special & TALLY_SPECIAL_INHERIT && event->parent)
		s->flags |= TALLY_SAMPLE_CHILD;
	if (special & TALLY_SPECIAL_PRECISE && is_exact(regs))
		s->flags |= TALLY_SAMPLE_EXACT_IP;
	if (special & TALLY_SPECIAL_TIME) {
		s->time = local_clock();
		s->flags |= TALLY_SAMPLE_TIME;
	}
	s->branches = NULL;
	if (special & TALLY_SPECIAL_BRANCHES &&
	    data->sample_flags & PERF_SAMPLE_BRANCH_STACK)
		s->branches = data->br_stack;
	/* It came late, when the CPU was where it must not be looked at. */
	if (special & TALLY_SPECIAL_STRIP && !user_mode(regs)) {
		s->ip = 0;
		s->addr = 0;
		s->flags &= ~(TALLY_SAMPLE_ADDR | TALLY_SAMPLE_EXACT_IP);
		s->regs = NULL;
		s->branches = NULL;
	}
}

static void account(struct tally_calls *calls, u64 ns)
{
	WRITE_ONCE(calls->timed, calls->timed + 1);
	WRITE_ONCE(calls->ns, calls->ns + ns);
	if (ns > calls->max_ns)
		WRITE_ONCE(calls->max_ns, ns);
}

static void call_timed(struct tally_calls *calls,
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

/*
 * Are these too many? Then nothing more is delivered here, and the event is
 * switched off as soon as that is possible.
 */
static void look(struct tally_overflow *of, struct tally_overflow_cpu *oc)
{
	u64 now;

	oc->look_at = oc->sample.sequence + of->reload;
	if (!of->batch)
		return;
	now = ktime_get_mono_fast_ns();
	if (now - oc->window_start >= of->window_ns) {
		oc->window_start = now;
		oc->in_window = 0;
		return;
	}
	oc->in_window += of->reload;
	if (oc->in_window < of->batch)
		return;
	WRITE_ONCE(oc->paused, 1); /* H */
	local_inc(&oc->throttled);
	tally_control_kick(of);
}

static noinline void look_and_call(struct tally_overflow *of,
				   struct tally_overflow_cpu *oc)
{
	if (of->direct.fn)
		call_timed(&oc->direct, &of->direct, of->ev, &oc->sample);
	look(of, oc);
}

static void enqueue(struct tally_overflow *of, struct tally_overflow_cpu *oc,
		    u32 special, const struct perf_event *event,
		    const struct perf_sample_data *data, struct pt_regs *regs)
{
	struct tally_queue *q = &oc->queue;
	struct tally_sample *s;

	s = tally_queue_reserve(q);
	if (!s)
		return;
	fill_special(s, special | TALLY_SPECIAL_TIME, event, data, regs);
	s->regs = NULL;
	s->branches = NULL;
	s->cpu = oc->sample.cpu;
	s->sequence = oc->sample.sequence;
	s->missed = local_read(&q->untold) ? local_xchg(&q->untold, 0) : 0;
	tally_queue_commit(q);
	if (!READ_ONCE(oc->held)) /* G */
		irq_work_queue(&oc->irq_work);
}

/* Whether the limits let it through; the last one has the event switched off. */
static bool take(struct tally_overflow *of, u32 special)
{
	bool armed;
	s64 left;

	if (special & TALLY_SPECIAL_ONE_SHOT) {
		armed = atomic_xchg(&of->armed, 0);
		tally_control_kick(of);
		if (!armed)
			return false;
	}
	if (special & TALLY_SPECIAL_LIMITED) {
		left = atomic64_dec_if_positive(&of->left);
		if (left < 0)
			return false;
		if (!left)
			tally_control_kick(of);
	}
	return true;
}

/* Whether all that were allowed have been. In any context. */
bool tally_overflow_is_spent(const struct tally_overflow *of)
{
	return READ_ONCE(of->special) & TALLY_SPECIAL_LIMITED &&
	       atomic64_read(&of->left) <= 0;
}

/* This one is counted and nothing else. */
static void count_lost(struct tally_overflow_cpu *oc, u32 special)
{
	local_inc(&oc->skipped);
	if (special & TALLY_SPECIAL_DEFER)
		local_inc(&oc->queue.missed);
}

/* Each attached file has its own fields, and its own rings. */
static void record_for_others(struct tally_overflow *of, struct perf_event *event,
			      struct perf_sample_data *data, struct pt_regs *regs)
{
	struct tally_output *out;

	rcu_read_lock();
	list_for_each_entry_rcu(out, &of->shares, share)
		tally_record_sample(out, event, data, regs);
	rcu_read_unlock();
}

static noinline void overflowed(struct tally_overflow *of,
				struct tally_overflow_cpu *oc,
				struct perf_event *event,
				struct perf_sample_data *data,
				struct pt_regs *regs)
{
	u32 special = smp_load_acquire(&of->special); /* E */
	u64 sequence;

	if (special & TALLY_SPECIAL_FILTER && !tally_sift(of, oc, event, data))
		return;
	if (special & TALLY_SPECIAL_SHUT) {
		/* perf has the children always on; all others should be off. */
		if (!(special & TALLY_SPECIAL_INHERIT))
			tally_control_kick(of);
		return;
	}
	if (tally_overflow_throttled(event))
		local_inc(&oc->throttled);
	if (special & TALLY_SPECIAL_NO_IDLE && is_idle_task(current))
		return;
	/* One that is not handed to all is not one of those that are allowed. */
	if (READ_ONCE(oc->paused) ||
	    (READ_ONCE(oc->busy) && special & TALLY_SPECIAL_LIMITS)) {
		count_lost(oc, special);
		return;
	}
	if (!take(of, special))
		return;
	/* Also one that came while another one of this event is being handled. */
	if (special & TALLY_SPECIAL_RECORD)
		tally_record_sample(of->output, event, data, regs);
	if (special & TALLY_SPECIAL_SHARED)
		record_for_others(of, event, data, regs);
	if (READ_ONCE(oc->busy)) {
		local_inc(&oc->skipped);
		if (special & TALLY_SPECIAL_DEFER)
			enqueue(of, oc, special, event, data, regs);
		return;
	}

	WRITE_ONCE(oc->busy, 1);
	barrier(); /* F */
	sequence = ++oc->sample.sequence;
	/* First, so that the queue has them in the order in which they came. */
	if (special & TALLY_SPECIAL_DEFER)
		enqueue(of, oc, special, event, data, regs);
	if (!(special & TALLY_SPECIAL_QUIET))
		fill_special(&oc->sample, special, event, data, regs);
	if (sequence == oc->look_at)
		look_and_call(of, oc);
	else if (!(special & TALLY_SPECIAL_QUIET))
		of->direct.fn(of->ev, &oc->sample, of->direct.context);
	if (special & TALLY_SPECIAL_PUBLISH)
		tally_publish_overflow(of->ev);
	barrier(); /* F */
	WRITE_ONCE(oc->busy, 0);
}

/* What a handler finds in its sample. That of files, which have rings, looks at none. */
#define OF_SAMPLES (TALLY_SPECIAL_STRIP | TALLY_SPECIAL_TIME | TALLY_SPECIAL_INHERIT |	\
		    TALLY_SPECIAL_PRECISE | TALLY_SPECIAL_BRANCHES)

/* A record, and whoever asked for signals: no more than that. */
static noinline void recorded(struct tally_overflow *of,
			      struct tally_overflow_cpu *oc,
			      struct perf_event *event,
			      struct perf_sample_data *data,
			      struct pt_regs *regs)
{
	/* Also one that comes while another one is being recorded. */
	tally_record_sample(of->output, event, data, regs);
	WRITE_ONCE(oc->busy, 1);
	barrier(); /* F */
	if (unlikely(++oc->sample.sequence == oc->look_at))
		look_and_call(of, oc);
	else
		of->direct.fn(of->ev, &oc->sample, of->direct.context);
	barrier(); /* F */
	WRITE_ONCE(oc->busy, 0);
}

/**
 * tally_overflow_callback - perf's callback
 * @event: perf's event, maybe a child's
 * @data: of the overflow, as far as its sample_flags say
 * @regs: of what was interrupted
 *
 * Context: Any context, NMI included; perf holds off preemption.
 */
void tally_overflow_callback(struct perf_event *event,
			     struct perf_sample_data *data,
			     struct pt_regs *regs)
{
	struct tally_overflow *of = event->overflow_handler_context;
	struct tally_overflow_cpu *oc = this_cpu_ptr(of->cpus);
	unsigned long special = READ_ONCE(of->special);
	u64 sequence;

	if (unlikely(special | READ_ONCE(oc->gate)) ||
	    unlikely(tally_overflow_throttled(event))) {
		if ((special & ~OF_SAMPLES) == TALLY_SPECIAL_RECORD &&
		    !READ_ONCE(oc->gate) && !tally_overflow_throttled(event))
			recorded(of, oc, event, data, regs);
		else
			overflowed(of, oc, event, data, regs);
		return;
	}
	WRITE_ONCE(oc->busy, 1);
	barrier(); /* F */
	sequence = ++oc->sample.sequence;
	fill(&oc->sample, data, regs);
	if (unlikely(sequence == oc->look_at))
		look_and_call(of, oc);
	else
		of->direct.fn(of->ev, &oc->sample, of->direct.context);
	barrier(); /* F */
	WRITE_ONCE(oc->busy, 0);
}

static void call(struct tally_overflow_cpu *oc, enum tally_stage stage,
		 struct tally_calls *calls, const struct tally_handler *handler,
		 const struct tally_sample *s)
{
	if (calls->calls % LOOK_EVERY)
		handler->fn(oc->of->ev, s, handler->context);
	else
		call_timed(calls, handler, oc->of->ev, s);
	WRITE_ONCE(calls->calls, calls->calls + 1);
	tally_queue_pop(&oc->queue, stage);
}

/*
 * An event may be what its own bottom half does: the tracepoint of an irq_work,
 * say. It would be interrupted again at once, and for ever. So interrupts that
 * follow each other closely for too long wait for a while, and for no less than
 * the last one took. Their number counts as well: a clock that goes by ticks
 * stands still while no tick is let in.
 */
static void hold_back(struct tally_overflow_cpu *oc, u64 begin)
{
	u64 now = ktime_get_mono_fast_ns();
	u64 hold;

	if (begin - oc->last_end >= GAP_NS) {
		oc->stretch_start = begin;
		oc->stretch = 0;
	}
	oc->last_end = now;
	if (++oc->stretch < STRETCH && now - oc->stretch_start < STRETCH_NS)
		return;
	/* The last interrupt of a CPU that goes offline: its timers went. */
	if (!cpu_online(smp_processor_id()))
		return;
	hold = max(HOLD_NS, now - begin);
	if (now == oc->stretch_start)
		hold = oc->stretch * GAP_NS;
	WRITE_ONCE(oc->held, true);
	hrtimer_start(&oc->hold, ns_to_ktime(hold),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

static enum hrtimer_restart hold_ended(struct hrtimer *hold)
{
	struct tally_overflow_cpu *oc =
		container_of(hold, struct tally_overflow_cpu, hold);

	WRITE_ONCE(oc->held, false); /* G */
	if (oc->sample.cpu == smp_processor_id())
		irq_work_queue(&oc->irq_work);
	else if (!oc->of->irq.fn)
		queue_work(bottom_wq, &oc->bottom);
	return HRTIMER_NORESTART;
}

static void irq_half(struct tally_overflow_cpu *oc)
{
	unsigned int room = AT_ONCE;
	const struct tally_sample *s;

	while ((s = tally_queue_peek(&oc->queue, TALLY_STAGE_IRQ))) {
		if (!room--) {
			irq_work_queue(&oc->irq_work);
			return;
		}
		oc->stretch++;
		call(oc, TALLY_STAGE_IRQ, &oc->irq, &oc->of->irq, s);
	}
}

/* In hard interrupt, on the CPU of @oc, one at a time. */
static void announced(struct irq_work *work)
{
	struct tally_overflow_cpu *oc =
		container_of(work, struct tally_overflow_cpu, irq_work);
	struct tally_overflow *of = oc->of;
	u64 begin = ktime_get_mono_fast_ns();

	if (READ_ONCE(oc->held))
		return;
	if (of->irq.fn)
		irq_half(oc);
	if (of->work.fn && tally_queue_peek(&oc->queue, TALLY_STAGE_WORK))
		queue_work(bottom_wq, &oc->bottom);
	hold_back(oc, begin);
	/* What came meanwhile announced itself, or is found when the hold ends. */
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
	oc->irq_work = IRQ_WORK_INIT_HARD(announced);
	INIT_WORK(&oc->bottom, bottom_half);
	tally_hrtimer_setup(&oc->hold, hold_ended, CLOCK_MONOTONIC,
			    HRTIMER_MODE_REL_PINNED_HARD);
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
 *
 * Return: it, disabled; or ENOMEM as an ERR_PTR.
 */
struct tally_overflow *tally_overflow_new(const struct tally_builder *b,
					  const struct perf_event_attr *attr,
					  const struct tally_target *target,
					  struct tally_event *ev)
{
	struct tally_overflow *of;
	bool counted;
	int cpu;

	of = kzalloc(sizeof(*of), GFP_KERNEL);
	if (!of)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&of->node);
	INIT_LIST_HEAD(&of->shares);
	of->ev = ev;
	of->output = ev->output;
	of->direct = b->direct;
	of->irq = b->irq;
	of->work = b->work;
	of->special = special_of(b, attr, ev);
	atomic_set(&of->armed, 1);
	tally_control_setup(of);
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
	irq_work_queue(&((struct tally_overflow_cpu *)oc)->irq_work);
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
 * Until it is neither running nor held back, and has had all there is. One that
 * ends may be held back, and a hold that ends starts another, but there is no
 * more for them to do each time. With cpu_hotplug_lock held.
 */
static void drain_interrupt(struct tally_overflow *of,
			    struct tally_overflow_cpu *oc)
{
	int cpu = oc->sample.cpu;
	bool more;

	do {
		irq_work_sync(&oc->irq_work);
		/* One that has ended has started the timer, if it does: that is last. */
		more = hrtimer_cancel(&oc->hold) ||
		       irq_work_is_busy(&oc->irq_work) ||
		       hrtimer_active(&oc->hold);
		WRITE_ONCE(oc->held, false);
		if (of->irq.fn && cpu_online(cpu) &&
		    tally_queue_peek(&oc->queue, TALLY_STAGE_IRQ)) {
			smp_call_function_single(cpu, announce, oc, true);
			more = true;
		}
	} while (more);
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
	stats->lost += tally_output_lost(of->output);
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
	tally_filter_free(of->filter);
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
