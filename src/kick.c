// SPDX-License-Identifier: GPL-2.0
/*
 * Readers are woken, and signals sent, from irq_works. That may be what events are of:
 * the tracepoint of a signal, a probe in a function that wakes. If it kicked again at
 * once, the CPU would do nothing else for ever. So whatever comes on a CPU while it is
 * doing such work, an NMI's kick among it, waits for the next tick: nothing is lost, and
 * the rate has a limit.
 *
 * @kicking and @deferred are of one CPU, and written by it alone: by the work, and by
 * what interrupts that. A kick is on at most one CPU's list. All of a work is in one RCU
 * read-side critical section, so that a grace period after the last kick none is on one.
 */
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include "kick.h"

static DEFINE_PER_CPU(bool, kicking);
static DEFINE_PER_CPU(struct llist_head, deferred);

/**
 * tally_kick - have it done
 * @kick: what
 *
 * Context: Any context, NMI included, without preemption.
 */
void tally_kick(struct tally_kick *kick)
{
	if (likely(!this_cpu_read(kicking)))
		irq_work_queue(&kick->irq_work);
	else if (!test_and_set_bit(0, &kick->deferred))
		llist_add(&kick->node, this_cpu_ptr(&deferred));
}

static void run(struct irq_work *work)
{
	struct tally_kick *kick = container_of(work, struct tally_kick, irq_work);
	struct llist_node *list;
	struct tally_kick *next;

	rcu_read_lock();
	this_cpu_write(kicking, true);
	kick->run(kick);
	this_cpu_write(kicking, false);
	/* From here on kicks are not deferred, so none is left behind. */
	list = llist_del_all(this_cpu_ptr(&deferred));
	llist_for_each_entry_safe(kick, next, list, node) {
		clear_bit(0, &kick->deferred);
		/* If that kicks: it waits already then, and does not do so again. */
		queue_delayed_work(system_wq, &kick->later, 1);
	}
	rcu_read_unlock();
}

static void run_later(struct work_struct *work)
{
	struct tally_kick *kick = container_of(to_delayed_work(work), struct tally_kick, later);

	irq_work_queue(&kick->irq_work);
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
	INIT_DELAYED_WORK(&kick->later, run_later);
	kick->deferred = 0;
}

/**
 * tally_kick_sync - it is not done any more
 * @kick: what nobody kicks now; a grace period ago the last one did
 *
 * Context: Process context, may sleep.
 */
void tally_kick_sync(struct tally_kick *kick)
{
	irq_work_sync(&kick->irq_work);
	/* What was deferred queues that once more. */
	cancel_delayed_work_sync(&kick->later);
	irq_work_sync(&kick->irq_work);
}
