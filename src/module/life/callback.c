// SPDX-License-Identifier: GPL-2.0
/*
 * perf's callback: counts and records an overflow, and calls the handlers of the event.
 *
 * The callback runs in any context, NMI included, also while it is running on
 * the same CPU for the same event. It writes the struct tally_overflow_cpu of
 * its own CPU only. Each member of that is a local_t, or is written while @busy
 * is set: a callback that interrupts another one sees @busy and does not write
 * such members. So the callback itself needs no lock, and no atomic operation
 * that involves other CPUs, except for limits on the number of overflows.
 *
 * There are three ways. An event with nothing but a direct handler takes the
 * short way in tally_overflow_callback(). An event of a file with nothing but a
 * ring takes recorded(). All other events take overflowed(), and so do
 * overflows in a guest, and all while somebody listens to the tracepoint
 * tally:overflow. The callback decides by tally_overflow::special of the event
 * and @gate of the CPU.
 *
 * Ordering:
 *
 * E. The writer of a flag of tally_overflow::special first writes what the flag
 *    refers to, then stores the flag with release. overflowed() load-acquires
 *    the flags. The other two ways use nothing that is written after the event
 *    was built, but for tally_event::file, which is stored with release.
 *
 * @busy and the members that it guards are used on one CPU only: compiler
 * barriers order them. enqueue() commits a sample before it kicks the work, and
 * tally_kick() orders both before the work runs. check_rate() sets @paused
 * before it calls tally_overflow_kick(), which orders that before the control
 * work, where @paused is read. @resume clears @paused and needs no order: an
 * overflow that still sees @paused is only counted.
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
#include "base/payload.h"
#include "base/pmu.h"
#include "base/trace.h"
#include "life/life.h"
#include "event/event.h"
#include "event/overflow.h"
#include "filter/apply.h"
#include "set/publish.h"
#include "set/budget.h"
#include "record/output.h"

/* Reads all values before it writes any, so that the compiler can pair the accesses. */
static __always_inline void fill(struct tally_sample *s,
				 const struct perf_sample_data *data,
				 struct pt_regs *regs)
{
	u64 ip = instruction_pointer(regs), addr = 0, period = data->period;
	pid_t tid = current->pid, pid = current->tgid;
	u32 flags = in_nmi() ? TALLY_SAMPLE_NMI : 0;

	/* unlikely: samples of the kernel, which are most, then need no jump. */
	if (unlikely(user_mode(regs)))
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

/* KVM sets PF_VCPU while the task runs a guest. perf's own way to ask is not exported. */
static __always_inline bool runs_guest(void)
{
	return current->flags & PF_VCPU;
}

/*
 * Returns whether the overflow interrupted the guest that the task runs. PF_VCPU stays set in the
 * handler of the interrupt that ended the guest's turn: an overflow there is not the guest's.
 */
static bool in_guest(struct pt_regs *regs)
{
	return runs_guest() && !user_mode(regs) && hardirq_count() == HARDIRQ_OFFSET &&
	       !in_serving_softirq();
}

/* fill(), and the fields that only some samples have. */
static void fill_special(struct tally_sample *s, u32 special,
			 const struct perf_event *event,
			 const struct perf_sample_data *data,
			 struct pt_regs *regs)
{
	fill(s, data, regs);
	if (in_guest(regs))
		s->flags |= TALLY_SAMPLE_GUEST;
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
	if (special & TALLY_SPECIAL_PAYLOAD)
		tally_payload_fill(s, event->attr.sample_type, data,
				   special & TALLY_SPECIAL_STRIP && !user_mode(regs));
	s->branches = NULL;
	if (special & TALLY_SPECIAL_BRANCHES &&
	    data->sample_flags & PERF_SAMPLE_BRANCH_STACK)
		s->branches = data->br_stack;
	/* The overflow came late, in the kernel, which the sample must not show. */
	if (special & TALLY_SPECIAL_STRIP && !user_mode(regs)) {
		s->ip = 0;
		s->addr = 0;
		s->flags &= ~(TALLY_SAMPLE_ADDR | TALLY_SAMPLE_EXACT_IP);
		s->regs = NULL;
		s->branches = NULL;
	}
}

/*
 * Compares the rate of overflows on this CPU with its limit. If the rate is too high,
 * overflows on this CPU are only counted, and the control work switches the event off.
 */
static void check_rate(struct tally_overflow *of, struct tally_overflow_cpu *oc)
{
	u64 now;

	oc->check_in = of->reload;
	if (!of->batch)
		return;
	now = ktime_get_mono_fast_ns();
	if (now - oc->rate_window_start >= of->rate_window_ns) {
		oc->rate_window_start = now;
		oc->in_rate_window = 0;
		return;
	}
	oc->in_rate_window += of->reload;
	if (oc->in_rate_window < of->batch)
		return;
	WRITE_ONCE(oc->paused, 1);
	local_inc(&oc->throttled);
	tally_overflow_kick(of);
}

static noinline void check_and_call(struct tally_overflow *of,
				    struct tally_overflow_cpu *oc)
{
	if (of->direct.fn)
		tally_call_timed(&oc->direct, &of->direct, of->ev, &oc->sample);
	check_rate(of, oc);
}

static noinline void trace(const struct tally_overflow *of, const struct tally_overflow_cpu *oc,
			   const struct perf_sample_data *data, struct pt_regs *regs)
{
	bool hidden = READ_ONCE(of->special) & TALLY_SPECIAL_STRIP && !user_mode(regs);

	trace_overflow(of->ev->name, oc->sample.cpu, hidden ? 0 : instruction_pointer(regs),
		       data->period, local_read(of->direct.fn ? &oc->skipped : &oc->queue.missed));
}

/*
 * Calls the tracepoint tally:overflow, if somebody listens to it. An event may count that
 * tracepoint, and overflow in it. The callback for that overflow calls the tracepoint once more,
 * and perf drops this second hit, because its recursion context is taken.
 */
static __always_inline void trace_if_on(const struct tally_overflow *of,
					const struct tally_overflow_cpu *oc,
					const struct perf_sample_data *data, struct pt_regs *regs)
{
	if (trace_overflow_enabled())
		trace(of, oc, data, regs);
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
	if (special & TALLY_SPECIAL_BRANCHES)
		tally_payload_keep_branches(s);
	s->cpu = oc->sample.cpu;
	s->sequence = oc->sample.sequence;
	s->missed = local_read(&q->untold) ? local_xchg(&q->untold, 0) : 0;
	tally_queue_commit(q);
	tally_kick(&oc->announce);
}

/*
 * Counts an overflow against the event's limits: disarms a one-shot event, and decrements @left.
 * Kicks the control work, which switches the event off: at each overflow of a one-shot event, and
 * at the last one that @left allows. Returns whether the overflow is delivered.
 */
static bool count_against_limits(struct tally_overflow *of, u32 special)
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

/* Counts an overflow that is delivered to no handler. */
static void count_lost(struct tally_overflow_cpu *oc, u32 special)
{
	local_inc(&oc->skipped);
	if (special & TALLY_SPECIAL_DEFER)
		local_inc(&oc->queue.missed);
}

/* The first arguments are those of tally_overflow_callback(), which then moves no register. */
static noinline void overflowed(struct perf_event *event, struct perf_sample_data *data,
				struct pt_regs *regs, struct tally_overflow *of,
				struct tally_overflow_cpu *oc)
{
	u32 special = smp_load_acquire(&of->special); /* E */

	if (special & TALLY_SPECIAL_FILTER && !tally_filter_passes(of, oc, event, data))
		return;
	if (special & TALLY_SPECIAL_DISABLED) {
		/* perf's inherited event stays on. Any other one is to be switched off. */
		if (!(special & TALLY_SPECIAL_INHERIT))
			tally_overflow_kick(of);
		return;
	}
	if (tally_pmu_throttled(event))
		local_inc(&oc->throttled);
	if (special & TALLY_SPECIAL_NO_IDLE && is_idle_task(current))
		return;
	if (special & TALLY_SPECIAL_BUDGET && !tally_budget_exceed(of->ev->budget))
		return;
	/* Limits count only overflows that all handlers can get. */
	if (READ_ONCE(oc->paused) ||
	    (READ_ONCE(oc->busy) && special & TALLY_SPECIAL_LIMITS)) {
		trace_if_on(of, oc, data, regs);
		count_lost(oc, special);
		return;
	}
	if (!count_against_limits(of, special))
		return;
	trace_if_on(of, oc, data, regs);
	if (in_guest(regs))
		local_inc(&oc->guest);
	/* The record is also written if the overflow interrupts a handler of the event. */
	if (special & TALLY_SPECIAL_RECORD)
		tally_record_sample(of->output, event, data, regs);
	if (READ_ONCE(oc->busy)) {
		local_inc(&oc->skipped);
		if (special & TALLY_SPECIAL_DEFER)
			enqueue(of, oc, special, event, data, regs);
		return;
	}

	WRITE_ONCE(oc->busy, 1);
	barrier(); /* an overflow that interrupts this sees @busy */
	oc->sample.sequence++;
	/* Before the handler: overflows that interrupt it are queued behind this one. */
	if (special & TALLY_SPECIAL_DEFER)
		enqueue(of, oc, special, event, data, regs);
	if (!(special & TALLY_SPECIAL_NO_DIRECT))
		fill_special(&oc->sample, special, event, data, regs);
	if (!--oc->check_in)
		check_and_call(of, oc);
	else if (!(special & TALLY_SPECIAL_NO_DIRECT))
		of->direct.fn(of->ev, &oc->sample, of->direct.context);
	if (special & TALLY_SPECIAL_PUBLISH)
		tally_publish_overflow(of->ev);
	barrier(); /* what @busy guards is written before */
	WRITE_ONCE(oc->busy, 0);
}

/* Flags for fields of the handler's sample. The handler of files reads no sample. */
#define OF_SAMPLES (TALLY_SPECIAL_STRIP | TALLY_SPECIAL_TIME | TALLY_SPECIAL_INHERIT |	\
		    TALLY_SPECIAL_PRECISE | TALLY_SPECIAL_BRANCHES)

/* The way of a file's event: the record is written, and the handler kicks signals. */
static noinline void recorded(struct perf_event *event, struct perf_sample_data *data,
			      struct pt_regs *regs, struct tally_overflow *of,
			      struct tally_overflow_cpu *oc)
{
	/* Before @busy is set: an overflow that interrupts the writing takes this way, too. */
	tally_record_sample(of->output, event, data, regs);
	WRITE_ONCE(oc->busy, 1);
	barrier(); /* an overflow that interrupts this sees @busy */
	oc->sample.sequence++;
	if (unlikely(!--oc->check_in))
		check_and_call(of, oc);
	else
		of->direct.fn(of->ev, &oc->sample, of->direct.context);
	barrier(); /* what @busy guards is written before */
	WRITE_ONCE(oc->busy, 0);
}

/* Returns whether the overflow is traced, or may have interrupted a guest. */
static __always_inline bool is_seen(void)
{
	return unlikely(runs_guest()) || trace_overflow_enabled();
}

/**
 * tally_overflow_callback - deliver an overflow; perf's callback
 * @event: perf's event, or that of a child
 * @data: perf's data of the overflow; sample_flags says which members are valid
 * @regs: registers of the interrupted code
 *
 * Context: Any context, NMI included, with preemption disabled.
 */
void tally_overflow_callback(struct perf_event *event, struct perf_sample_data *data,
			     struct pt_regs *regs)
{
	struct tally_overflow *of = event->overflow_handler_context;
	struct tally_overflow_cpu *oc = this_cpu_ptr(of->cpus);
	unsigned long special = READ_ONCE(of->special);

	/* Other CPUs only clear bits of @gate. Interrupts of this CPU that set some have ended. */
	if (unlikely(special | data_race(oc->gate)) ||
	    unlikely(tally_pmu_throttled(event)) || is_seen()) {
		if ((special & ~OF_SAMPLES) == TALLY_SPECIAL_RECORD &&
		    !READ_ONCE(oc->gate) && !tally_pmu_throttled(event) && !is_seen())
			recorded(event, data, regs, of, oc);
		else
			overflowed(event, data, regs, of, oc);
		return;
	}
	WRITE_ONCE(oc->busy, 1);
	barrier(); /* an overflow that interrupts this sees @busy */
	oc->sample.sequence++;
	fill(&oc->sample, data, regs);
	if (unlikely(!--oc->check_in))
		check_and_call(of, oc);
	else
		of->direct.fn(of->ev, &oc->sample, of->direct.context);
	barrier(); /* what @busy guards is written before */
	WRITE_ONCE(oc->busy, 0);
}
