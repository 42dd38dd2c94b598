// SPDX-License-Identifier: GPL-2.0
/*
 * Readers are woken, and signals sent, from irq_works. That may be what events are of:
 * the tracepoint of a signal, a probe in a function that wakes, the end of an interrupt.
 * If each kicked again at once, the CPU would do nothing else for ever. So it waits for
 * a while, and nothing is lost, what
 * - comes on a CPU while that is doing such work, an NMI's kick among it;
 * - was kicked close behind its end too often in a row.
 *
 * Ordering:
 *
 * K. Who kicks has said why, and then looks at @waits; who ends that clears it before
 *    the work is queued. So the work sees all that was said of kicks that it is to
 *    answer for.
 *
 * @kicking and @held are of one CPU, and written by it alone: by the work, and by what
 * interrupts that. A kick is on a list only while it waits, so on one at most. All of a
 * work is in one RCU read-side critical section: a grace period after the last kick none
 * is on a list.
 */
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/time64.h>
#include "compat.h"
#include "base/kick.h"

/* Closer than this, so many times in a row, and it waits for so long. */
#define CLOSE_NS	(100ULL * NSEC_PER_USEC)
#define CLOSE_MOST	64
#define WAIT_NS		(1ULL * NSEC_PER_MSEC)

static DEFINE_PER_CPU(bool, kicking);
static DEFINE_PER_CPU(struct llist_head, held);

/**
 * tally_kick - have it done
 * @kick: what
 *
 * Context: Any context, NMI included, without preemption.
 */
void tally_kick(struct tally_kick *kick)
{
	smp_mb(); /* K */
	if (unlikely(test_bit(0, &kick->waits)))
		return;
	if (likely(!this_cpu_read(kicking)))
		irq_work_queue(&kick->irq_work);
	else if (!test_and_set_bit(0, &kick->waits))
		llist_add(&kick->node, this_cpu_ptr(&held));
}

static void start(struct tally_kick *kick)
{
	/* The last interrupt of a CPU that goes offline: its timers went. */
	if (unlikely(!cpu_online(smp_processor_id()))) {
		clear_bit_unlock(0, &kick->waits);
		kick->run(kick);
		return;
	}
	hrtimer_start(&kick->later, ns_to_ktime(WAIT_NS), HRTIMER_MODE_REL_HARD);
}

static enum hrtimer_restart wait_ended(struct hrtimer *later)
{
	struct tally_kick *kick = container_of(later, struct tally_kick, later);

	clear_bit(0, &kick->waits);
	smp_mb__after_atomic(); /* K */
	irq_work_queue(&kick->irq_work);
	return HRTIMER_NORESTART;
}

/* A clock that goes by ticks may tell of one that there was none: so it is halved. */
static bool is_too_close(struct tally_kick *kick)
{
	unsigned int close = READ_ONCE(kick->close);

	if (ktime_get_mono_fast_ns() - READ_ONCE(kick->ended) < CLOSE_NS)
		close++;
	else
		close /= 2;
	WRITE_ONCE(kick->close, close < CLOSE_MOST ? close : 0);
	return close >= CLOSE_MOST;
}

static void run(struct irq_work *work)
{
	struct tally_kick *kick = container_of(work, struct tally_kick, irq_work);
	struct llist_node *list;
	struct tally_kick *next;

	if (unlikely(is_too_close(kick) && !READ_ONCE(kick->ending))) {
		if (!test_and_set_bit(0, &kick->waits))
			start(kick);
		return;
	}
	rcu_read_lock();
	this_cpu_write(kicking, true);
	kick->run(kick);
	this_cpu_write(kicking, false);
	WRITE_ONCE(kick->ended, ktime_get_mono_fast_ns());
	/* From here on none is held, so none is left behind. */
	list = llist_del_all(this_cpu_ptr(&held));
	llist_for_each_entry_safe(kick, next, list, node)
		start(kick);
	rcu_read_unlock();
}

/**
 * tally_kick_init - before anything else
 * @kick: it
 * @run_it: what is to be done; in hard interrupt, on PREEMPT_RT in a thread
 */
void tally_kick_init(struct tally_kick *kick, void (*run_it)(struct tally_kick *kick))
{
	kick->run = run_it;
	init_irq_work(&kick->irq_work, run);
	kick->waits = 0;
	tally_hrtimer_setup(&kick->later, wait_ended, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	kick->ended = 0;
	kick->close = 0;
	kick->ending = false;
}

/**
 * tally_kick_sync - it is not done any more
 * @kick: what nobody kicks now; a grace period ago the last one did
 *
 * Context: Process context, may sleep.
 */
void tally_kick_sync(struct tally_kick *kick)
{
	WRITE_ONCE(kick->ending, true);
	smp_mb(); /* Who waits now has not seen it, and is seen below. */
	irq_work_sync(&kick->irq_work);
	/* If that is too late, the work is done once more, and does not start it again. */
	hrtimer_cancel(&kick->later);
	irq_work_sync(&kick->irq_work);
}
