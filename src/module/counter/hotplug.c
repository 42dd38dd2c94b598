// SPDX-License-Identifier: GPL-2.0
/*
 * Counters through CPU hotplug.
 *
 * perf detaches the events of a CPU that goes offline, and never attaches them
 * again. An event that is enabled after its CPU has come back looks alive and
 * counts nothing. A hotplug callback can neither create nor release events:
 * both may take cpu_hotplug_lock, which the caller of the callback holds.
 *
 * So the two callbacks only queue a work. The work waits until the hotplug
 * operation is over, and then visits every counter. It reads each event that
 * perf detached for the last time, banks the totals, and has the event
 * released. It creates an event for each CPU that is online and has none. Until
 * then readers see the final count of the detached event. So nothing is lost,
 * and no total ever falls.
 *
 * A CPU that came may run tasks before its events count. To keep that gap
 * small, a real-time thread does the work, and visits the counters once before
 * the operation is over, too. It does that on the CPU that comes, which runs no
 * other tasks yet. perf creates software events only after the operation:
 * perf_swevent_init() takes cpu_hotplug_lock.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include "compat.h"
#include "counter/counter.h"
#include "counter/slot.h"

static enum cpuhp_state hotplug_state;
/* tally_hotplug_init()'s argument; set before there is any counter. */
static struct work_struct *repaired;

/*
 * Returns whether perf has detached the slot's event for good, and another one
 * can have its place. While no CPU comes or goes, no driver moves an event, so
 * a detached event stays detached. That of a PMU which has gone keeps its slot:
 * another PMU may have the number by now.
 */
static bool is_lost(const struct tally_slot *s)
{
	bool lost;

	/* A CPU that goes offline after this queues the work again. */
	if (!s->event || !tally_slot_detached(s->event) || tally_slot_revoked(s->event))
		return false;
	cpus_read_lock();
	lost = tally_slot_detached(s->event);
	cpus_read_unlock();
	return lost;
}

/* CPUs that have come or gone since the last repair; the time at which each came, else 0. */
static struct cpumask changed_cpus;
static DEFINE_PER_CPU(u64, came_ns);

/* Gives the slots of a counter new events. Those of a leader stay off: see repair_group(). */
static void repair(struct tally_counter *c, const struct cpumask *changed)
{
	struct tally_slot *s;
	bool has_changed;
	int cpu;

	for (s = c->slots; s < c->slots + c->nr_slots; s++) {
		cpu = tally_slot_cpu(c, s);
		if (!cpu_possible(cpu))
			continue;
		/* The CPU may have come since this work began. */
		has_changed = cpumask_test_cpu(cpu, changed) ||
			      test_bit_acquire(cpu, cpumask_bits(&changed_cpus));
		if (has_changed)
			s->absent = false;
		tally_slot_repair(c, s, has_changed ? READ_ONCE(per_cpu(came_ns, cpu)) : 0);
	}
}

static void bank_lost(struct tally_counter *c)
{
	struct tally_slot *s;

	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		if (is_lost(s))
			tally_slot_bank(c, s);
}

/* Counters are being repaired while a CPU comes. They are repaired again when it is there. */
static bool early;

/*
 * Returns whether to repair a group only when the CPU is online: it has software events, and perf
 * lets their creation wait until then. The counters behind this one would have to wait, too.
 */
static bool is_for_later(const struct tally_counter *leader)
{
	const struct tally_counter *c;

	list_for_each_entry(c, &leader->siblings, group_node)
		if (early && tally_attr_is_software(&c->attr) && !tally_attr_is_clock(&c->attr))
			return true;
	return false;
}

/* Repairs a counter, and with it those that it leads: their new events begin together. */
static void repair_group(struct tally_counter *c, const struct cpumask *changed)
{
	struct tally_counter *sibling;
	struct tally_slot *s;

	/* Bank all slots first: the PMU may count on another of its CPUs from now on. */
	bank_lost(c);
	list_for_each_entry(sibling, &c->siblings, group_node)
		bank_lost(sibling);
	c->waits = !list_empty(&c->siblings);
	repair(c, changed);
	list_for_each_entry(sibling, &c->siblings, group_node)
		repair(sibling, changed);
	for (s = c->slots; c->waits && c->users_on && s < c->slots + c->nr_slots; s++)
		if (tally_slot_lives(c, s) && !s->paused && !s->disarmed &&
		    READ_ONCE(s->event->state) == PERF_EVENT_STATE_OFF)
			tally_slot_enable(c, s);
	c->waits = false;
	/* A driver that moves an event enables the event, too. */
	if (c->moves)
		tally_counter_disable_if_off(c);
}

static void counter_repair(struct tally_counter *c, const struct cpumask *changed)
{
	struct tally_counter *leader;

	/* A task that creates an event of the set may hold the lock until the CPU is online. */
	if (early && !tally_counter_lock_now(c))
		return;
	if (!early)
		tally_counter_lock(c);
	leader = c->leader && !c->leader->dead ? c->leader : c;
	if (!c->dead && !is_for_later(leader))
		repair_group(leader, changed);
	tally_counter_unlock(c);
}

static void repair_all(struct kthread_work *work)
{
	/* The work never runs twice at a time. */
	static struct cpumask changed;
	bool came = false;
	int cpu;

	cpumask_clear(&changed);
	for_each_cpu(cpu, &changed_cpus) {
		if (!cpumask_test_and_clear_cpu(cpu, &changed_cpus))
			continue;
		cpumask_set_cpu(cpu, &changed);
		came |= READ_ONCE(per_cpu(came_ns, cpu));
	}
	early = true;
	if (came)
		tally_counters_visit(counter_repair, &changed);
	early = false;
	/* At the end of the operation perf has detached events, and drivers serve other CPUs. */
	cpus_read_lock();
	cpus_read_unlock();
	tally_counters_visit(counter_repair, &changed);
	set_cpus_allowed_ptr(current, housekeeping_cpumask(HK_TYPE_KTHREAD));
	queue_work(tally_unbound_wq, repaired);
}

static struct kthread_worker *repairer;
static DEFINE_KTHREAD_WORK(repair_work, repair_all);

static int queue_repair(unsigned int cpu, u64 now)
{
	WRITE_ONCE(per_cpu(came_ns, cpu), now);
	/* A work that runs may see the CPU in the mask, and then reads the time. */
	smp_mb__before_atomic();
	cpumask_set_cpu(cpu, &changed_cpus);
	kthread_queue_work(repairer, &repair_work);
	/* Lets the thread run now, if it is of this CPU. */
	cond_resched();
	return 0;
}

/*
 * The kernel calls this on the CPU that comes, before tasks of users run there. The thread repairs
 * the counters on this CPU now, unless an earlier repair still keeps it.
 */
static int cpu_came(unsigned int cpu)
{
	static struct cpumask allowed;	/* one CPU comes at a time */

	set_cpus_allowed_ptr(repairer->task, cpumask_of(cpu));
	queue_repair(cpu, ktime_get_ns());
	/* From now on the thread can move away from a user's task of higher priority. */
	cpumask_or(&allowed, cpumask_of(cpu), housekeeping_cpumask(HK_TYPE_KTHREAD));
	set_cpus_allowed_ptr(repairer->task, &allowed);
	return 0;
}

static int cpu_gone(unsigned int cpu)
{
	return queue_repair(cpu, 0);
}

/**
 * tally_hotplug_init - watch CPUs come and go
 * @after_repair: work that is queued when all counters have been repaired after
 *	a CPU came or went
 *
 * Return: 0; or the error of kthread_create_worker() or cpuhp_setup_state_nocalls().
 */
int tally_hotplug_init(struct work_struct *after_repair)
{
	int ret;

	repaired = after_repair;
	repairer = kthread_create_worker(0, "tally_hotplug");
	if (IS_ERR(repairer))
		return PTR_ERR(repairer);
	sched_set_fifo_low(repairer->task);
	/* Since Linux 6.14 the worker does not run yet. */
	wake_up_process(repairer->task);
	ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "tally:online", cpu_came, cpu_gone);
	if (ret < 0) {
		kthread_destroy_worker(repairer);
		return ret;
	}
	hotplug_state = ret;
	return 0;
}

void tally_hotplug_exit(void)
{
	struct tally_counter_stats left;

	cpuhp_remove_state_nocalls(hotplug_state);
	kthread_destroy_worker(repairer);
	cancel_work_sync(repaired);
	tally_slot_wait_released();
	tally_counter_stats(&left);
	WARN_ON_ONCE(left.counters || left.perf_events);
	tally_forward_exit();
}
