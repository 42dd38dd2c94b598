// SPDX-License-Identifier: GPL-2.0
/*
 * Work that an overflow has done in interrupt: readers are woken, signals are sent, and
 * handlers are called.
 *
 * An event may count that work itself: the tracepoint of a signal, a probe in a function
 * that wakes, the end of an interrupt. Then each work causes the next one, and the CPU
 * would do nothing else for ever. So each CPU has a brake. Works that follow each other
 * within GAP_NS are a stretch. When the works of a stretch have run for STRETCH_NS, the
 * brake holds all works that are kicked on this CPU, for as long as the stretch ran.
 * So such works have half of a CPU at most. No work is lost.
 *
 * The brake is a CPU's and not a work's: works that cause each other are held, too.
 *
 * The limit of overflows (tally_builder_max_rate(), see build/callback.c) is no part of
 * this. It switches perf's event off, which costs the CPU its time also where no work
 * follows an overflow; users set it, and see it as the state "throttled".
 *
 * Ordering:
 *
 * M. tally_kick() is called after the reason for the work was written, and then reads
 *    @held. The brake clears KICK_WAITS before it queues the work. So a work that runs
 *    after the brake sees the reasons of all calls that found KICK_WAITS set.
 * W. tally_kick() puts a work on the list of a brake before it reads @on again, and the
 *    brake clears @on before it empties the list: a work that comes while the brake
 *    ends is queued by one of both.
 *
 * A work is on the list of one CPU at most: whoever sets KICK_LISTED adds it, and
 * whoever takes it off the list clears KICK_LISTED last.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/time64.h>
#include "compat.h"
#include "base/kick.h"

/* Between two works of one stretch; more than an interrupt costs in an emulator. */
#define GAP_NS		(100ULL * NSEC_PER_USEC)
#define STRETCH_NS	(1ULL * NSEC_PER_MSEC)
/*
 * What a work counts for while the clock stands still: a clock that goes by ticks does
 * so while works leave no time for the tick.
 */
#define STILL_NS	(10ULL * NSEC_PER_USEC)

#define KICK_WAITS	1U	/* the brake is going to queue the work */
#define KICK_LISTED	2U	/* the brake still uses the work */

/**
 * struct brake - what keeps works from taking a CPU
 * @on: works are held
 * @ran: nanoseconds that the works of this stretch have run
 * @ended: when the last work ended, by ktime_get_mono_fast_ns()
 * @held: works that are held, by tally_kick::node
 * @timer: lets the works go
 *
 * Written by its CPU; by another one if the CPU went offline with @timer running.
 */
struct brake {
	bool on;
	u64 ran;
	u64 ended;
	struct llist_head held;
	struct hrtimer timer;
};

static DEFINE_PER_CPU(struct brake, brakes);

static void let_go(struct brake *b)
{
	struct tally_kick *kick, *next;
	struct llist_node *list;

	list = llist_del_all(&b->held);
	llist_for_each_entry_safe(kick, next, list, node) {
		WRITE_ONCE(kick->held, KICK_LISTED);
		smp_mb(); /* M */
		irq_work_queue(&kick->irq_work);
		/* From here on tally_kick_sync() may return, and the work be freed. */
		smp_store_release(&kick->held, 0);
	}
}

static enum hrtimer_restart brake_ended(struct hrtimer *timer)
{
	struct brake *b = container_of(timer, struct brake, timer);

	b->ran = 0;
	WRITE_ONCE(b->on, false);
	smp_mb(); /* W */
	let_go(b);
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
	struct brake *b = this_cpu_ptr(&brakes);

	smp_mb(); /* M */
	if (unlikely(READ_ONCE(kick->held) & KICK_WAITS))
		return;
	if (likely(!READ_ONCE(b->on)) ||
	    cmpxchg(&kick->held, 0, KICK_WAITS | KICK_LISTED)) {
		irq_work_queue(&kick->irq_work);
		return;
	}
	llist_add(&kick->node, &b->held);
	smp_mb(); /* W */
	if (unlikely(!READ_ONCE(b->on)))
		let_go(b);
}

static void run(struct irq_work *irq_work)
{
	struct tally_kick *kick = container_of(irq_work, struct tally_kick, irq_work);
	struct brake *b = this_cpu_ptr(&brakes);
	u64 begin = ktime_get_mono_fast_ns();

	if (begin - b->ended >= GAP_NS)
		b->ran = 0;
	kick->run(kick);
	b->ended = ktime_get_mono_fast_ns();
	b->ran += b->ended - begin ?: STILL_NS;
	if (likely(b->ran < STRETCH_NS) || b->on)
		return;
	/* The last interrupt of a CPU that goes offline: its timers are gone. */
	if (!cpu_online(smp_processor_id()))
		return;
	WRITE_ONCE(b->on, true);
	hrtimer_start(&b->timer, ns_to_ktime(b->ran), HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * tally_kick_init - make a work ready
 * @kick: the work
 * @run_it: does the work, in hard interrupt
 * @hard: on PREEMPT_RT, too; else @run_it is called in a thread there
 */
void tally_kick_init(struct tally_kick *kick, void (*run_it)(struct tally_kick *kick),
		     bool hard)
{
	kick->run = run_it;
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
	} while (READ_ONCE(kick->held) || irq_work_is_busy(&kick->irq_work));
}

void tally_brakes_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tally_hrtimer_setup(&per_cpu_ptr(&brakes, cpu)->timer, brake_ended,
				    CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
}

/* No work is left. */
void tally_brakes_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(&brakes, cpu)->timer);
}
