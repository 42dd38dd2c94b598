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
 * G. A sample is committed before its work is kicked: M, in kick.c, carries that to
 *    the work, also where a brake holds it.
 * H. @paused is set here and read by the work that tally_overflow_kick() leads to,
 *    which orders the two; it is cleared by that work with nothing to order:
 *    an overflow that still sees it is only counted.
 */
#include <linux/hardirq.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/timekeeping.h>
#include "arch/regs.h"
#include "base/pmu.h"
#include "build/callback.h"
#include "event/event.h"
#include "event/overflow.h"
#include "filter/apply.h"
#include "read/publish.h"
#include "record/output.h"
#include "record/record.h"

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
	if (tally_pmu_throttled(event))
		s->flags |= TALLY_SAMPLE_THROTTLED;
	if (special & TALLY_SPECIAL_INHERIT && event->parent)
		s->flags |= TALLY_SAMPLE_CHILD;
	if (special & TALLY_SPECIAL_PRECISE && tally_regs_are_exact(regs))
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
	tally_overflow_kick(of);
}

static noinline void look_and_call(struct tally_overflow *of,
				   struct tally_overflow_cpu *oc)
{
	if (of->direct.fn)
		tally_call_timed(&oc->direct, &of->direct, of->ev, &oc->sample);
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
	tally_kick(&oc->announce); /* G */
}

/* Whether the limits let it through; the last one has the event switched off. */
static bool take(struct tally_overflow *of, u32 special)
{
	bool armed;
	s64 left;

	if (special & TALLY_SPECIAL_ONE_SHOT) {
		armed = atomic_xchg(&of->armed, 0);
		tally_overflow_kick(of);
		if (!armed)
			return false;
	}
	if (special & TALLY_SPECIAL_LIMITED) {
		left = atomic64_dec_if_positive(&of->left);
		if (left < 0)
			return false;
		if (!left)
			tally_overflow_kick(of);
	}
	return true;
}

/* This one is counted and nothing else. */
static void count_lost(struct tally_overflow_cpu *oc, u32 special)
{
	local_inc(&oc->skipped);
	if (special & TALLY_SPECIAL_DEFER)
		local_inc(&oc->queue.missed);
}

static noinline void overflowed(struct tally_overflow *of,
				struct tally_overflow_cpu *oc,
				struct perf_event *event,
				struct perf_sample_data *data,
				struct pt_regs *regs)
{
	u32 special = smp_load_acquire(&of->special); /* E */
	u64 sequence;

	if (special & TALLY_SPECIAL_FILTER && !tally_filter_take(of, oc, event, data))
		return;
	if (special & TALLY_SPECIAL_SHUT) {
		/* perf has the children always on; all others should be off. */
		if (!(special & TALLY_SPECIAL_INHERIT))
			tally_overflow_kick(of);
		return;
	}
	if (tally_pmu_throttled(event))
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
	    unlikely(tally_pmu_throttled(event))) {
		if ((special & ~OF_SAMPLES) == TALLY_SPECIAL_RECORD &&
		    !READ_ONCE(oc->gate) && !tally_pmu_throttled(event))
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
