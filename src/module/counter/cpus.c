// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: their references, and their perf events through CPU hotplug.
 *
 * perf detaches the events of a CPU that goes offline, and never attaches them again. An
 * event that is enabled after its CPU has come back looks alive and counts nothing. A
 * hotplug callback can neither create nor release events: both may take cpu_hotplug_lock,
 * which the caller of the callback holds.
 *
 * So the two callbacks only queue a work. The work waits until the hotplug operation is
 * over, and then visits every counter. It reads each event that perf detached for the
 * last time, banks the totals, and has the event released. It creates an event for each
 * CPU that is online and has none. Until then readers see the final count of the detached
 * event. So nothing is lost, and no total ever falls.
 *
 * A CPU that came may run tasks before its events count. To keep that gap small, a real-time
 * thread does the work, and visits the counters once before the operation is over, too. It
 * does that on the CPU that comes, which runs no other tasks yet. perf creates software events
 * only after the operation: perf_swevent_init() takes cpu_hotplug_lock.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/kthread.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include "base/cgroup.h"
#include "compat.h"
#include "counter/cgroup.h"
#include "counter/counter.h"
#include "counter/cpus.h"

/*
 * Guards @counters, @cpu_counters and tally_counter::refs. perf's events are neither created
 * nor released inside: either may wait for grace periods, and for a task. A new counter is
 * filled under its own lock, and those who found it in the table wait for that.
 */
static DEFINE_MUTEX(counters_lock);
static DEFINE_HASHTABLE(counters, 10);
static LIST_HEAD(cpu_counters);
static atomic_long_t nr_counters;
static enum cpuhp_state hotplug_state;
/* tally_cpus_init()'s argument; set before there is any counter. */
static struct work_struct *repaired;

/*
 * Whether perf has detached the slot's event for good, and another one can have its place. While no
 * CPU comes or goes, no driver moves an event, so a detached event stays detached. That of a PMU
 * which has gone keeps its slot: another PMU may have the number by now.
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

static void counter_repair(struct tally_counter *c, const struct cpumask *changed)
{
	struct tally_slot *s;
	bool has_changed;
	int cpu;

	mutex_lock(&c->lock);
	if (c->dead)
		goto unlock;
	/* Bank all slots first: the PMU may count on another of its CPUs from now on. */
	for (s = c->slots; s < c->slots + c->nr_slots; s++)
		if (is_lost(s))
			tally_slot_bank(c, s);
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
unlock:
	mutex_unlock(&c->lock);
}

/*
 * Visits every counter. One that is added meanwhile needs no visit for the CPUs that came or
 * went before: it finds those as they are now.
 */
static void visit_all(const struct cpumask *changed)
{
	struct tally_counter *c;
	LIST_HEAD(left);

	mutex_lock(&counters_lock);
	list_splice_init(&cpu_counters, &left);
	while (!list_empty(&left)) {
		c = list_first_entry(&left, struct tally_counter, cpu_node);
		list_move_tail(&c->cpu_node, &cpu_counters);
		refcount_inc(&c->holds);
		mutex_unlock(&counters_lock);
		counter_repair(c, changed);
		tally_counter_put(c);
		mutex_lock(&counters_lock);
	}
	mutex_unlock(&counters_lock);
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
	if (came)
		visit_all(&changed);
	/* At the end of the operation perf has detached events, and drivers serve other CPUs. */
	cpus_read_lock();
	cpus_read_unlock();
	visit_all(&changed);
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
	cond_resched();
	return 0;
}

/* Called on the CPU. The thread runs there at once, and before tasks of users do. */
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

static u32 counter_key(const struct perf_event_attr *attr, const struct tally_target *target)
{
	/* These differ for most counters. */
	u64 cpu = target->cpu;

	return hash_64(attr->config ^ (u64)attr->type << 32 ^ cpu << 44, 32) ^
	       hash_ptr(target->task, 32) ^ hash_ptr(target->css, 32);
}

/*
 * Whether several events may share the counter. Not shared are counters that overflow;
 * inherited ones, as their children are not known apart; exclusive ones; pinned ones, as
 * enabling clears their error for all users; those that exec() enables or removes; and
 * breakpoints, as perf asks for more than CAP_PERFMON for them.
 */
static bool shareable(const struct perf_event_attr *attr)
{
	return !attr->sample_period && !attr->inherit && !attr->exclusive &&
	       !attr->pinned && !attr->enable_on_exec &&
	       !attr->remove_on_exec && attr->type != PERF_TYPE_BREAKPOINT;
}

/*
 * A new event of a task that has exited fails; it does not share an old counter. Nor does that of a
 * function whose module has gone, or of a PMU that has: another one may have the address, or the
 * number.
 */
static bool usable(const struct tally_counter *c)
{
	const struct perf_event *event = tally_counter_any(c);

	return !c->dead && (!c->kprobe || tally_kprobe_stays(c->kprobe)) &&
	       (!event || !tally_slot_revoked(event)) &&
	       (!c->target.task || tally_counter_state(c, 0) != TALLY_STATE_EXITED);
}

static struct tally_counter *counter_find(const struct perf_event_attr *attr,
					  const struct tally_target *target, u32 key)
{
	struct tally_counter *c;

	hash_for_each_possible(counters, c, node, key)
		if (!c->context && !memcmp(&c->attr, attr, sizeof(*attr)) &&
		    tally_target_is_same(&c->target, target) &&
		    c->target.one_kind == target->one_kind)
			return c;
	return NULL;
}

/*
 * Releases perf's events, without the lock: perf may wait for the task, which may wait for
 * the lock. Handlers that still run read the last totals from the bank. The events are
 * disabled, so no local read adds such an event to the bank.
 */
static void release_slots(struct tally_counter *c)
{
	struct perf_event *event;
	struct tally_totals t;
	struct tally_slot *s;

	for (s = c->slots; s < c->slots + c->nr_slots; s++) {
		mutex_lock(&c->lock);
		if (c->handler)
			tally_slot_read(s, &t);
		event = tally_slot_take(c, s);
		if (c->handler)
			s->bank = t;
		/* The slot gets no other event, whatever such a handler calls. */
		s->absent = true;
		s->err = 0;
		mutex_unlock(&c->lock);
		tally_slot_free(s, event);
	}
}

static void counter_free(struct tally_counter *c)
{
	if (c->target.task)
		put_task_struct(c->target.task);
	tally_cgroup_put(c->target.css);
	/* Only the single slot of a task has some. */
	kfree(c->slots[0].others);
	mutex_destroy(&c->lock);
	kvfree(c);
}

/* Makes the trace event of a counter of a kernel probe. */
static int counter_probe(struct tally_counter *c)
{
	struct tally_kprobe *kp;

	if (!tally_attr_is_kprobe(&c->attr))
		return 0;
	kp = tally_kprobe_create(&c->attr);
	if (IS_ERR(kp))
		return PTR_ERR(kp);
	c->kprobe = kp;
	return 0;
}

/*
 * Creates an event for each slot, or fails. Slots of CPUs that are offline or that the
 * PMU does not serve stay empty; it has to serve one. If a CPU comes online meanwhile, the
 * work that it queues finds the counter in the list, waits for its lock, and creates its
 * event.
 */
static int counter_fill(struct tally_counter *c, int *err_cpu)
{
	bool all = tally_counter_on_all_cpus(c);
	int first = 0, filled = 0, err;
	struct tally_slot *s;

	err = counter_probe(c);
	if (err)
		return err;
	for (s = c->slots; s < c->slots + c->nr_slots; s++) {
		*err_cpu = tally_slot_cpu(c, s);
		if (all && !cpu_online(*err_cpu))
			continue;
		err = tally_slot_create(c, s);
		if (!err) {
			filled++;
			continue;
		}
		if (!all || !tally_slot_refused(err))
			return err;
		s->absent = true;
		/* If all refuse, this error says most. */
		if (!first || err == -EINVAL)
			first = err;
	}
	if (filled)
		return 0;
	*err_cpu = -1;
	return first ?: -ENODEV;
}

static struct tally_counter *counter_alloc(const struct perf_event_attr *attr,
					   const struct tally_target *target,
					   perf_overflow_handler_t handler, void *context)
{
	unsigned int nr = tally_target_slots(target);
	struct tally_counter *c;

	/* Not accounted: a cgroup at its limit would hold up all who wait for counters_lock. */
	c = kvzalloc(struct_size(c, slots, nr), GFP_KERNEL);
	if (!c)
		return NULL;
	mutex_init(&c->lock);
	refcount_set(&c->holds, 1);
	INIT_LIST_HEAD(&c->users);
	INIT_LIST_HEAD(&c->cpu_node);
	c->target = *target;
	if (target->task)
		get_task_struct(target->task);
	tally_cgroup_get(target->css);
	c->attr = *attr;
	c->handler = handler;
	c->context = context;
	c->nr_slots = nr;
	c->slot_mask = tally_counter_on_all_cpus(c) ? ~0U : 0;
	return c;
}

/* Finds a counter, or adds an empty one, locked. */
static struct tally_counter *find_or_add(const struct perf_event_attr *attr,
					 const struct tally_target *target,
					 perf_overflow_handler_t handler, void *context,
					 bool *found)
{
	u32 key = counter_key(attr, target);
	struct tally_counter *c = NULL;

	mutex_lock(&counters_lock);
	if (!context && shareable(attr))
		c = counter_find(attr, target, key);
	*found = c;
	if (c) {
		refcount_inc(&c->holds);
	} else {
		c = counter_alloc(attr, target, handler, context);
		if (!c)
			goto unlock;
		/* Nobody else knows the counter yet, so this does not wait. */
		mutex_lock(&c->lock);
		hash_add(counters, &c->node, key);
		/* perf moves the events of a task between CPUs by itself. */
		if (!target->task && attr->type == PERF_TYPE_SOFTWARE)
			list_add_tail(&c->cpu_node, &cpu_counters); /* its events may wait */
		else if (!target->task)
			list_add(&c->cpu_node, &cpu_counters);
		atomic_long_inc(&nr_counters);
	}
	c->refs++;
unlock:
	mutex_unlock(&counters_lock);
	return c;
}

/* Gives up a counter that is of no use: no other event finds it any more. */
static void counter_drop(struct tally_counter *c)
{
	mutex_lock(&counters_lock);
	hash_del(&c->node);
	mutex_unlock(&counters_lock);
	tally_counter_end(c);
	tally_counter_put(c);
}

/**
 * tally_counter_get - get a counter, new or shared
 * @attr: attributes, checked and complete, with the disabled bit set
 * @target: target to count on
 * @handler: perf's callback for overflows; NULL for a counter that does not overflow
 * @context: argument for @handler in perf's event; a counter that has one is not shared
 * @at_once: the caller enables the counter next
 * @err_cpu: receives, on failure, the CPU that failed; -1 if no single one did
 *
 * Context: Process context, may sleep. Not called by hotplug callbacks, nor with
 * cpu_hotplug_lock held.
 * Return: the counter, locked; ENOMEM; ENODEV if the CPU is offline; or the error of
 * perf_event_create_kernel_counter() or tally_kprobe_create().
 */
struct tally_counter *tally_counter_get(const struct perf_event_attr *attr,
					const struct tally_target *target,
					perf_overflow_handler_t handler,
					void *context, bool at_once, int *err_cpu)
{
	struct tally_counter *c;
	bool found;
	int err;

	*err_cpu = -1;
	/* perf returns this error for a new counter only, not for a shared one. */
	if (!target->task && target->cpu >= 0 && !cpu_online(target->cpu)) {
		*err_cpu = target->cpu;
		return ERR_PTR(-ENODEV);
	}
	while ((c = find_or_add(attr, target, handler, context, &found)) && found) {
		/* The counter may still be created: its lock waits for that. */
		mutex_lock(&c->lock);
		if (usable(c)) {
			/* Not all counts so far are of the event that is enabled first. */
			c->fresh = false;
			return c;
		}
		mutex_unlock(&c->lock);
		counter_drop(c);
	}
	if (!c)
		return ERR_PTR(-ENOMEM);
	c->at_once = at_once;
	err = counter_fill(c, err_cpu);
	c->at_once = false;
	c->fresh = at_once;
	/* This additional user keeps perf's event enabled until it is released. */
	if (!err && attr->inherit)
		c->users_on++;
	if (!err)
		return c;
	c->dead = true;
	mutex_unlock(&c->lock);
	counter_drop(c);
	return ERR_PTR(err);
}

/* Ends a counter that no event counts with any more. */
static void counter_end(struct tally_counter *c)
{
	struct tally_kprobe *kp;
	struct tally_slot *s;

	mutex_lock(&c->lock);
	c->dead = true;
	for (s = c->slots; c->handler && s < c->slots + c->nr_slots; s++)
		if (tally_slot_lives(c, s))
			tally_slot_disable(s);
	mutex_unlock(&c->lock);
	release_slots(c);
	kp = c->kprobe;
	WRITE_ONCE(c->kprobe, NULL);
	if (kp)
		tally_kprobe_delete(kp);
	atomic_long_dec(&nr_counters);
}

/* Whether a program keeps perf from the events of the counter, which are those of a task. */
static bool is_held(const struct tally_counter *c)
{
	const struct perf_event *event;
	bool held = false;

	rcu_read_lock();
	tally_slot_for_each(&c->slots[0], event)
		held |= mutex_is_locked(&READ_ONCE(event->ctx)->mutex);
	rcu_read_unlock();
	return held;
}

/**
 * tally_counter_trylock - lock a counter, unless perf would keep its holder waiting
 * @c: the counter
 *
 * A program can keep perf from the events of its own tasks for any time: it lets a call for such an
 * event read memory that does not come. Who serves others, too, must not wait for that. It may
 * begin right after this has looked: then the caller waits all the same. A program has no more than
 * that moment, and each caller that it catches costs it a task.
 *
 * Context: Process context, may sleep.
 * Return: whether the counter is locked.
 */
bool tally_counter_trylock(struct tally_counter *c)
{
	if (c->target.task && is_held(c))
		return false;
	mutex_lock(&c->lock);
	if (!c->target.task || !is_held(c))
		return true;
	mutex_unlock(&c->lock);
	return false;
}

/**
 * tally_counter_end - end the use of a counter by an event
 * @c: the counter
 *
 * After the last use perf's events are released. A callback of theirs may still run, and
 * read what was counted. tally_counter_put() must follow.
 */
void tally_counter_end(struct tally_counter *c)
{
	bool last;

	mutex_lock(&counters_lock);
	last = !--c->refs;
	if (last) {
		hash_del(&c->node);
		list_del_init(&c->cpu_node);
	}
	mutex_unlock(&counters_lock);
	if (last) {
		counter_end(c);
		return;
	}
	mutex_lock(&c->lock);
	/* The event may have left perf's events enabled. */
	c->fresh = false;
	tally_counter_quieten(c);
	mutex_unlock(&c->lock);
}

/* Drops an event's reference, after tally_counter_end(). */
void tally_counter_put(struct tally_counter *c)
{
	if (refcount_dec_and_test(&c->holds))
		counter_free(c);
}

void tally_cpus_stats(struct tally_cpus_stats *out)
{
	out->counters = atomic_long_read(&nr_counters);
	tally_slot_stats(&out->slots);
}

/**
 * tally_cpus_init - watch CPUs come and go
 * @after_repair: work that is queued when all counters have been repaired after a CPU came
 *	or went
 *
 * Return: 0; or the error of kthread_create_worker() or cpuhp_setup_state_nocalls().
 */
int tally_cpus_init(struct work_struct *after_repair)
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

void tally_cpus_exit(void)
{
	struct tally_cpus_stats left;

	cpuhp_remove_state_nocalls(hotplug_state);
	kthread_destroy_worker(repairer);
	cancel_work_sync(repaired);
	tally_slot_wait_released();
	tally_cpus_stats(&left);
	WARN_ON_ONCE(left.counters || left.slots.perf_events);
	tally_cgroup_exit();
}
