// SPDX-License-Identifier: GPL-2.0
/*
 * The timers that publish counts.
 *
 * Each CPU has two timers. One is deferrable: it runs from ticks of a busy CPU,
 * wakes no CPU, and interrupts none. It starts the other one, a hard timer that
 * keeps the interval. The hard timer ends when it finds its CPU idle. So an
 * idle CPU is left alone until a tick finds it busy. CPUs of nohz_full= have no
 * timers: a tick there is what they avoid. Nor have CPUs that the PMU does not
 * serve. When the driver of a PMU that serves several CPUs has moved an event
 * to another CPU, that CPU publishes the event, in the page of the event's
 * slot.
 *
 * A task is published where it runs. All CPUs look for it at their ticks, and
 * the one that finds it starts its hard timer and becomes the keeper. While
 * there is a keeper, the deferrable timers of other CPUs end. When the hard
 * timer finds that the task sleeps, or is elsewhere, or that the CPU is idle,
 * there is no keeper, and all CPUs look again.
 *
 * An unprivileged publisher has the deferrable timers only.
 */
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/tick.h>
#include <linux/time64.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "event/event.h"
#include "set/publish.h"

/*
 * Finds the CPUs to which drivers have moved events. They do that during
 * hotplug only, after which tally_pages_repair() starts the timers.
 */
static void find_moved(struct tally_publisher *p)
{
	bool all_cpus = tally_counter_on_all_cpus(p->members[0]->counter), any = false;
	const struct perf_event *event;
	unsigned int slot, i;
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu_ptr(p->cpus, cpu)->moved, false);
	rcu_read_lock();
	for (i = 0; all_cpus && i < p->nr; i++) {
		for (slot = 0; slot < p->nr_slots; slot++) {
			event = READ_ONCE(p->members[i]->counter->slots[slot].event);
			cpu = event ? READ_ONCE(event->cpu) : slot;
			if (cpu == slot)
				continue;
			WRITE_ONCE(per_cpu_ptr(p->cpus, cpu)->moved, true);
			any = true;
		}
	}
	rcu_read_unlock();
	WRITE_ONCE(p->moved, any);
}

static bool counts_on(int cpu, void *publisher)
{
	const struct tally_publisher *p = publisher;
	const struct perf_event *event;
	const struct tally_counter *c;
	unsigned int i;

	for (i = 0; i < p->nr; i++) {
		c = p->members[i]->counter;
		event = tally_slot_here(&c->slots[cpu & c->slot_mask], cpu);
		if (event && READ_ONCE(event->oncpu) == cpu)
			return true;
	}
	return READ_ONCE(per_cpu_ptr(p->cpus, cpu)->moved);
}

static void publish_here(void *publisher)
{
	tally_publish_here(publisher, smp_processor_id());
}

/*
 * Publishes the events that are counting, by an interrupt on each CPU that
 * counts; those of an unprivileged publisher on this CPU alone.
 */
void tally_publish_counting(struct tally_publisher *p)
{
	if (!p->unprivileged) {
		on_each_cpu_cond(counts_on, publish_here, p, true);
		return;
	}
	local_irq_disable();
	if (counts_on(smp_processor_id(), p))
		publish_here(p);
	local_irq_enable();
}

static struct task_struct *task_of(const struct tally_publisher *p)
{
	return p->members[0]->counter->target.task;
}

/*
 * Returns the CPU on which an event for one CPU counts. A PMU that serves
 * several CPUs may count on another one than was asked for.
 */
int tally_publisher_cpu(const struct tally_publisher *p)
{
	const struct tally_counter *c = p->members[0]->counter;
	const struct perf_event *event;
	int cpu = c->target.cpu;

	rcu_read_lock();
	event = READ_ONCE(c->slots[0].event);
	if (event && !c->target.task)
		cpu = READ_ONCE(event->cpu);
	rcu_read_unlock();
	return cpu;
}

/* Returns whether the deferrable timer of the CPU has anything to do. */
static bool publishes_on(const struct tally_publisher *p, int cpu)
{
	const struct tally_counter *c = p->members[0]->counter;
	int keeper = READ_ONCE(p->keeper);
	unsigned int i;

	if (tick_nohz_full_cpu(cpu) || (keeper >= 0 && keeper != cpu))
		return false;
	if (!tally_counter_on_all_cpus(c))
		return c->target.cpu < 0 || tally_publisher_cpu(p) == cpu;
	/* A slot that has no event, but is not @absent, may get one when its member is enabled. */
	for (i = 0; i < p->nr; i++)
		if (!READ_ONCE(p->members[i]->counter->slots[cpu].absent))
			return true;
	return READ_ONCE(per_cpu_ptr(p->cpus, cpu)->moved);
}

/* Returns whether the hard timer is to run on this CPU, which is not one of nohz_full=. */
static bool wants_hard_timer(const struct tally_publisher *p, int cpu)
{
	struct task_struct *task = task_of(p);

	if (p->unprivileged || is_idle_task(current))
		return false;
	return !task || (task_cpu(task) == cpu && tally_task_runnable(task));
}

/*
 * Starts the deferrable timer of a CPU, unless it is pending or has nothing to
 * do. The timer calls this to go on, and start_work() when a keeper has ended:
 * under the lock, either the timer sees that there is no keeper any more, or
 * start_work() sees that the timer is not pending.
 */
static void start_tick(struct publish_cpu *pc)
{
	struct tally_publisher *p = pc->publisher;
	u64 interval = tally_publisher_interval(p);
	unsigned long flags;

	raw_spin_lock_irqsave(&pc->lock, flags);
	/* No CPU goes offline while interrupts are disabled here. */
	if (!pc->stopped && cpu_online(pc->cpu) && publishes_on(p, pc->cpu) &&
	    !timer_pending(&pc->tick)) {
		pc->tick.expires = jiffies + usecs_to_jiffies(div_u64(interval, NSEC_PER_USEC));
		add_timer_on(&pc->tick, pc->cpu);
	}
	raw_spin_unlock_irqrestore(&pc->lock, flags);
}

static void start_ticks(struct tally_publisher *p)
{
	int cpu;

	for_each_online_cpu(cpu)
		start_tick(per_cpu_ptr(p->cpus, cpu));
}

static void start_work(struct work_struct *work)
{
	start_ticks(container_of(work, struct tally_publisher, start));
}

/*
 * Runs in hard interrupt, also on PREEMPT_RT. So it does not start the timers
 * of all CPUs itself: there may be many, and a task may sleep often.
 */
static enum hrtimer_restart fired(struct hrtimer *timer)
{
	struct publish_cpu *pc = container_of(timer, struct publish_cpu, timer);
	struct tally_publisher *p = pc->publisher;

	/* The timer of a CPU that went offline was moved to another CPU, and ends there. */
	if (pc->cpu == smp_processor_id()) {
		tally_publish_here(p, pc->cpu);
		if (wants_hard_timer(p, pc->cpu)) {
			hrtimer_forward_now(timer, ns_to_ktime(tally_publisher_interval(p)));
			return HRTIMER_RESTART;
		}
	}
	if (task_of(p)) {
		WRITE_ONCE(p->keeper, -1);
		queue_work(tally_unbound_wq, &p->start);
	}
	return HRTIMER_NORESTART;
}

/* Starts the hard timer of this CPU if it is to run. Called with interrupts disabled. */
static void start_hard_timer(struct publish_cpu *pc)
{
	struct tally_publisher *p = pc->publisher;

	if (!wants_hard_timer(p, pc->cpu) ||
	    (task_of(p) && cmpxchg(&p->keeper, -1, pc->cpu) != -1))
		return;
	hrtimer_start(&pc->timer, ns_to_ktime(tally_publisher_interval(p)),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/* Runs in softirq after a tick; on PREEMPT_RT, in a thread of the CPU. */
static void ticked(struct timer_list *timer)
{
	struct publish_cpu *pc = container_of(timer, struct publish_cpu, tick);
	struct tally_publisher *p = pc->publisher;
	struct task_struct *task;
	unsigned long flags;
	bool exited;

	local_irq_save(flags);
	if (pc->cpu == smp_processor_id()) {
		/* exit_state is read first: what is published of a task after its exit is final. */
		task = task_of(p);
		exited = task && READ_ONCE(task->exit_state);
		if (publishes_on(p, pc->cpu) && !hrtimer_active(&pc->timer)) {
			tally_publish_here(p, pc->cpu);
			start_hard_timer(pc);
		}
		if (!exited)
			start_tick(pc);
	}
	local_irq_restore(flags);
}

static void set_stopped(struct tally_publisher *p, bool stopped)
{
	struct publish_cpu *pc;
	int cpu;

	for_each_possible_cpu(cpu) {
		pc = per_cpu_ptr(p->cpus, cpu);
		raw_spin_lock_irq(&pc->lock);
		pc->stopped = stopped;
		raw_spin_unlock_irq(&pc->lock);
	}
}

/*
 * Starts the timers, or starts them again after CPUs came or went. Interrupts
 * no CPU. May sleep.
 */
void tally_publisher_start(struct tally_publisher *p)
{
	int cpu;

	find_moved(p);
	/* A timer may be on the CPU that took it while its own one was offline. */
	for_each_possible_cpu(cpu)
		tally_timer_delete_sync(&per_cpu_ptr(p->cpus, cpu)->tick);
	set_stopped(p, false);
	start_ticks(p);
}

/* Timers start each other. So first no deferrable timer starts any more. May sleep. */
void tally_publisher_stop(struct tally_publisher *p)
{
	struct publish_cpu *pc;
	int cpu;

	set_stopped(p, true);
	for_each_possible_cpu(cpu) {
		pc = per_cpu_ptr(p->cpus, cpu);
		tally_timer_delete_sync(&pc->tick);
		hrtimer_cancel(&pc->timer);
	}
	cancel_work_sync(&p->start);
	p->keeper = -1;
}

/* Sets up the timers of a new publisher. */
void tally_publisher_init(struct tally_publisher *p)
{
	struct publish_cpu *pc;
	int cpu;

	p->keeper = -1;
	INIT_WORK(&p->start, start_work);
	for_each_possible_cpu(cpu) {
		pc = per_cpu_ptr(p->cpus, cpu);
		pc->publisher = p;
		pc->cpu = cpu;
		raw_spin_lock_init(&pc->lock);
		timer_setup(&pc->tick, ticked, TIMER_PINNED | TIMER_DEFERRABLE);
		tally_hrtimer_setup(&pc->timer, fired, CLOCK_MONOTONIC,
				    HRTIMER_MODE_REL_PINNED_HARD);
	}
}
