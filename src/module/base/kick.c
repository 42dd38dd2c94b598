// SPDX-License-Identifier: GPL-2.0
/*
 * Work that an overflow has done in interrupt: readers are woken, signals are
 * sent, and handlers are called.
 *
 * An event may count that work itself: the tracepoint of a signal, a probe in a
 * function that wakes, the end of an interrupt. Then each work causes the next
 * one, and the CPU would do nothing else for ever. So each CPU has a brake,
 * which holds a work until a timer of HOLD_NS or longer has ended:
 *
 * - if the work is kicked while this CPU does a work: that one may be its cause;
 * - if ROW_MAX works, or works of STRETCH_NS together, have followed each other
 *   within GAP_NS. Then all works are held for as long as those ran.
 *
 * No work is lost. The brake is a CPU's and not a work's, so works that cause
 * each other by turns are held, too. On PREEMPT_RT a CPU has one brake for
 * works in interrupt and another one for works in its thread.
 *
 * The limit of overflows (tally_builder_max_rate(), see life/callback.c) is no
 * part of this. The limit switches perf's event off, because overflows cost the
 * CPU time also where no work follows them. Users set the limit, and see it as
 * the state "throttled".
 *
 * Ordering:
 *
 * - tally_kick() is called after the reason for the work was written, and reads tally_kick::held.
 *   let_go() clears KICK_WAITS before it queues the work. So a work that runs after the brake sees
 *   the reasons of all calls that found KICK_WAITS set.
 * - tally_kick() puts a work on the list of a brake before it reads again whether the brake holds
 *   works, and brake_ended() clears brake::on before it empties the list: one of the two queues a
 *   work that comes while the brake ends.
 *
 * A work is on the list of one CPU at most: whoever sets KICK_LISTED adds it,
 * and whoever takes it off the list clears KICK_LISTED last.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/time64.h>
#include "compat.h"
#include "base/kick.h"

/*
 * Works follow each other if each begins within this time after the end of the one before; a longer
 * gap halves brake::row. Taking an interrupt is shorter, even in an emulator.
 */
#define GAP_NS		(100ULL * NSEC_PER_USEC)
#define ROW_MAX	64
#define STRETCH_NS	(20ULL * NSEC_PER_MSEC)
#define HOLD_NS		(1ULL * NSEC_PER_MSEC)

#define KICK_WAITS	1U	/* the brake is going to queue the work */
#define KICK_LISTED	2U	/* the brake still uses the work */

/**
 * struct brake - what keeps works from taking a CPU
 * @inside: the CPU does a work: works that are kicked now are held
 * @on: all works are held
 * @row: number of works that followed each other within GAP_NS; halved by a longer gap
 * @ran: nanoseconds that these works ran
 * @ended: time at which the last work ended, of ktime_get_mono_fast_ns()
 * @held: works that are held, by tally_kick::node
 * @timer: lets the works go
 *
 * The brake's CPU writes it; another CPU does if that one went offline with @timer running.
 */
struct brake {
	bool inside;
	bool on;
	unsigned int row;
	u64 ran;
	u64 ended;
	struct llist_head held;
	struct hrtimer timer;
};

static DEFINE_PER_CPU(struct brake [2], brakes);

/* The brake of this CPU for a work. */
static struct brake *brake_of(const struct tally_kick *kick)
{
	return this_cpu_ptr(&brakes[IS_ENABLED(CONFIG_PREEMPT_RT) && !kick->hard]);
}

static bool holds(const struct brake *b)
{
	return READ_ONCE(b->inside) || READ_ONCE(b->on);
}

/* Queues the works that are held, or does them at once. */
static void let_go(struct brake *b, bool now)
{
	struct tally_kick *kick, *next;
	struct llist_node *list;
	unsigned long flags;

	/* A work that runs before its KICK_LISTED is cleared could not be held again. */
	raw_local_irq_save(flags);
	list = llist_del_all(&b->held);
	llist_for_each_entry_safe(kick, next, list, node) {
		WRITE_ONCE(kick->held, KICK_LISTED);
		smp_mb(); /* the reason was written before tally_kick() read @held */
		if (now)
			kick->run(kick);
		else
			irq_work_queue(&kick->irq_work);
		/* From here on tally_kick_sync() may return, and the work be freed. */
		smp_store_release(&kick->held, 0);
	}
	raw_local_irq_restore(flags);
}

/* Runs in hard interrupt, also on PREEMPT_RT. */
static enum hrtimer_restart brake_ended(struct hrtimer *timer)
{
	struct brake *b = container_of(timer, struct brake, timer);

	if (b->on) {
		b->row = 0;
		b->ran = 0;
	}
	WRITE_ONCE(b->on, false);
	smp_mb(); /* tally_kick() lists a work before it reads @on */
	let_go(b, false);
	return HRTIMER_NORESTART;
}

/**
 * tally_kick - have a work done on this CPU soon
 * @kick: the work; it is done once for all calls since it last began
 *
 * Context: Any context, NMI included, with preemption disabled.
 */
void tally_kick(struct tally_kick *kick)
{
	struct brake *b = brake_of(kick);

	smp_mb(); /* let_go() clears KICK_WAITS before it queues the work */
	if (unlikely(READ_ONCE(kick->held) & KICK_WAITS))
		return;
	if (likely(!holds(b)) ||
	    cmpxchg(&kick->held, 0, KICK_WAITS | KICK_LISTED)) {
		irq_work_queue(&kick->irq_work);
		return;
	}
	llist_add(&kick->node, &b->held);
	smp_mb(); /* brake_ended() clears @on before it reads the list */
	if (unlikely(!holds(b)))
		let_go(b, false);
}

/**
 * tally_kick_again - have a work that runs done once more
 * @kick: the work, which has more to do than it may at once
 *
 * The brake holds the work only if its CPU has done too many.
 *
 * Context: In the work.
 */
void tally_kick_again(struct tally_kick *kick)
{
	irq_work_queue(&kick->irq_work);
}

static void hold(struct brake *b, u64 ns)
{
	/*
	 * The last interrupt of a CPU that goes offline: its timers are gone,
	 * and what is queued now waits until the CPU is back.
	 */
	if (unlikely(!cpu_online(smp_processor_id()))) {
		WRITE_ONCE(b->on, false);
		let_go(b, true);
		return;
	}
	hrtimer_start(&b->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
}

static void run(struct irq_work *irq_work)
{
	struct tally_kick *kick = container_of(irq_work, struct tally_kick, irq_work);
	struct brake *b = brake_of(kick);
	s64 took;
	u64 begin;

	/* The work was queued before the brake was on. */
	if (unlikely(READ_ONCE(b->on))) {
		tally_kick(kick);
		return;
	}
	begin = ktime_get_mono_fast_ns();
	/* A clock that goes by ticks may show a gap where there was none: so half is left. */
	if (begin - b->ended >= GAP_NS) {
		b->row /= 2;
		b->ran /= 2;
	}
	WRITE_ONCE(b->inside, true);
	kick->run(kick);
	WRITE_ONCE(b->inside, false);
	b->ended = ktime_get_mono_fast_ns();
	/* The clock may go back a little, and a virtual CPU may stand still. */
	took = b->ended - begin;
	b->ran += clamp(took, 0LL, (s64)STRETCH_NS);
	if (unlikely(++b->row >= ROW_MAX || b->ran >= STRETCH_NS)) {
		WRITE_ONCE(b->on, true);
		hold(b, max(HOLD_NS, b->ran));
	} else if (unlikely(!llist_empty(&b->held)) &&
		   !hrtimer_is_queued(&b->timer)) {
		hold(b, HOLD_NS);
	}
}

/**
 * tally_kick_init - make a work ready
 * @kick: the work
 * @run_it: does the work, in hard interrupt, with interrupts disabled
 * @hard: on PREEMPT_RT, call @run_it in hard interrupt as well. If false, the CPU's thread
 *	for irq_works calls it there, with interrupts enabled, and it may take a spinlock_t.
 */
void tally_kick_init(struct tally_kick *kick, void (*run_it)(struct tally_kick *kick),
		     bool hard)
{
	kick->run = run_it;
	kick->hard = hard;
	kick->irq_work = hard ? IRQ_WORK_INIT_HARD(run) : IRQ_WORK_INIT(run);
	kick->held = 0;
}

/**
 * tally_kick_sync - wait until a work is neither held, nor queued, nor running
 * @kick: the work; nothing but the work itself kicks it any more
 *
 * Context: Process context, may sleep.
 */
void tally_kick_sync(struct tally_kick *kick)
{
	do {
		while (smp_load_acquire(&kick->held)) /* let_go() has used the work */
			schedule_timeout_uninterruptible(1);
		irq_work_sync(&kick->irq_work);
		/* run() has put the work on a list before the work became idle. */
		smp_rmb();
	} while (smp_load_acquire(&kick->held) || /* let_go() queues the work before that */
		 irq_work_is_busy(&kick->irq_work));
}

void tally_brakes_init(void)
{
	int cpu, i;

	for_each_possible_cpu(cpu) {
		for (i = 0; i < 2; i++)
			tally_hrtimer_setup(&per_cpu(brakes, cpu)[i].timer, brake_ended,
					    CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	}
}

/* Called when no work is left. */
void tally_brakes_exit(void)
{
	int cpu, i;

	for_each_possible_cpu(cpu) {
		for (i = 0; i < 2; i++)
			hrtimer_cancel(&per_cpu(brakes, cpu)[i].timer);
	}
}
