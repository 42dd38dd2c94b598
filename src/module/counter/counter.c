// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: their table, their references, and their ends. hotplug.c follows CPUs that come and go.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include "base/cgroup.h"
#include "compat.h"
#include "counter/counter.h"

/*
 * Guards @counters, @cpu_counters, tally_counter::refs and ::of_group. perf's events are neither
 * created nor released inside: either may wait for grace periods, and for a task. A new counter is
 * filled under its lock, and those who found it in the table wait for that.
 */
static DEFINE_MUTEX(counters_lock);
static DEFINE_HASHTABLE(counters, 10);
static LIST_HEAD(cpu_counters);
static atomic_long_t nr_counters;

static u32 counter_key(const struct perf_event_attr *attr, const struct tally_target *target)
{
	/* These differ for most counters. */
	u64 cpu = target->cpu;

	return hash_64(attr->config ^ (u64)attr->type << 32 ^ cpu << 44, 32) ^
	       hash_ptr(target->task, 32) ^ hash_ptr(target->css, 32);
}

/*
 * Returns whether several events may share the counter. Not shared are counters
 * that overflow; inherited ones, as their children are not known apart;
 * exclusive ones; pinned ones, as enabling clears their error for all users;
 * those that exec() enables or removes; and breakpoints, as perf asks for more
 * than CAP_PERFMON for them.
 */
static bool shareable(const struct perf_event_attr *attr)
{
	return !attr->sample_period && !attr->inherit && !attr->exclusive &&
	       !attr->pinned && !attr->enable_on_exec &&
	       !attr->remove_on_exec && attr->type != PERF_TYPE_BREAKPOINT;
}

/*
 * Returns whether a new event may share a counter that was found. It may not if the task has
 * exited, as the event has to fail, nor if the PMU or the module of a probed function has gone:
 * another one may have the number, or the address, by now.
 */
static bool usable(const struct tally_counter *c)
{
	const struct perf_event *event = tally_counter_any_event(c);

	return !c->dead && (!c->kprobe || tally_kprobe_stays(c->kprobe)) &&
	       (!event || !tally_slot_revoked(event)) &&
	       (!c->target.task || tally_counter_state(c, 0) != TALLY_STATE_EXITED);
}

static struct tally_counter *counter_find(const struct perf_event_attr *attr,
					  const struct tally_target *target,
					  const struct tally_counter *first,
					  enum tally_finder of_group, u32 key)
{
	struct tally_counter *c;

	hash_for_each_possible(counters, c, node, key)
		if ((!c->context || c == first) &&
		    (first ? c->first == first : c->first == c && c->of_group == of_group) &&
		    !memcmp(&c->attr, attr, sizeof(*attr)) &&
		    tally_target_is_same(&c->target, target) &&
		    c->target.one_kind == target->one_kind)
			return c;
	return NULL;
}

/*
 * Puts the siblings of an event that perf has released on the PMU again, alone. If their leader was
 * off the PMU, perf leaves them off, too, until it reschedules for another reason.
 */
static void go_on_alone(struct tally_counter *c, unsigned int slot)
{
	struct tally_counter *sibling;
	struct tally_slot *s;

	list_for_each_entry(sibling, &c->siblings, group_node) {
		s = &sibling->slots[slot];
		if (!tally_slot_lives(sibling, s) ||
		    READ_ONCE(s->event->state) != PERF_EVENT_STATE_INACTIVE)
			continue;
		tally_slot_disable(s);
		tally_slot_enable(sibling, s);
	}
}

/*
 * Releases perf's events, each without the lock: perf may wait for a task that
 * waits for the lock. Handlers that still run read the last totals from the
 * bank. So events that overflow are disabled first: no local read may add what
 * they count to a bank that has it already. Inherited ones stay on, as only
 * perf reads them: to disable them would reach no child, and would take
 * siblings off the PMU until the task is switched. Those of a leader that was on
 * stay on, too (life/end.c): its tally event is off, so no local read adds them.
 */
static void release_slots(struct tally_counter *c)
{
	bool inherited = c->attr.inherit;
	struct perf_event *event;
	struct tally_totals t;
	struct tally_slot *s;

	for (s = c->slots; s < c->slots + c->nr_slots; s++) {
		if (c->handler && !c->users_on && tally_slot_lives(c, s))
			tally_slot_disable(s);
		if (c->handler)
			tally_slot_read(s, &t);
		event = tally_slot_detach(c, s);
		smp_wmb(); /* K */
		if (c->handler)
			s->bank = t;
		/* The slot gets no other event, whatever a handler that still runs calls. */
		s->absent = true;
		s->err = 0;
		if (!event)
			continue;
		tally_counter_unlock(c);
		tally_slot_free(s, event);
		tally_counter_lock(c);
		if (!inherited)
			go_on_alone(c, s - c->slots);
	}
}

static void counter_free(struct tally_counter *c)
{
	if (c->target.task)
		put_task_struct(c->target.task);
	tally_cgroup_put(c->target.css);
	/* Only the single slot of a task has others. */
	kfree(c->slots[0].others);
	mutex_destroy(&c->lock);
	if (c->leader)
		tally_counter_put(c->leader);
	if (c->first != c)
		tally_counter_put(c->first);
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
 * Creates an event for each slot, or fails. Slots of CPUs that are offline or
 * that the PMU does not serve stay empty; it has to serve one. If a CPU comes
 * online meanwhile, the work that it queues finds the counter in the list,
 * waits for its lock, and creates its event.
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
		/* If all refuse, EINVAL says more than other errors. */
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
					   struct tally_counter *first,
					   perf_overflow_handler_t handler, void *context)
{
	unsigned int nr = tally_target_slots(target);
	struct tally_counter *c;

	/* Not accounted: a cgroup at its limit would hold up all who wait for counters_lock. */
	c = kvzalloc(struct_size(c, slots, nr), GFP_KERNEL);
	if (!c)
		return NULL;
	mutex_init(&c->lock);
	c->first = first ?: c;
	if (first)
		refcount_inc(&first->holds);
	refcount_set(&c->holds, 1);
	INIT_LIST_HEAD(&c->users);
	INIT_LIST_HEAD(&c->cpu_node);
	INIT_LIST_HEAD(&c->leads);
	INIT_LIST_HEAD(&c->siblings);
	INIT_LIST_HEAD(&c->group_node);
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

/*
 * Finds a counter that may be shared, or adds an empty one; takes a use and a
 * reference. The caller holds the lock of @first, which is that of the result,
 * too. Without @first, a new counter is returned locked, and one that is found
 * is not. Fails with EUSERS if a new counter could be in a group, but other
 * events share @first, or none uses it any more; and with ENOMEM.
 */
static struct tally_counter *find_or_add(const struct perf_event_attr *attr,
					 const struct tally_target *target,
					 struct tally_counter *first,
					 perf_overflow_handler_t handler, void *context,
					 int kind, enum tally_finder of_group, bool *found)
{
	/* Before counters_lock is taken: this may sleep, to look for the PMU of kernel probes. */
	bool software = !target->task && tally_attr_is_software(attr);
	u32 key = counter_key(attr, target);
	struct tally_counter *c = NULL;

	mutex_lock(&counters_lock);
	if (!context && shareable(attr))
		c = counter_find(attr, target, first, of_group, key);
	*found = c;
	if (c) {
		refcount_inc(&c->holds);
	} else if (first && kind >= 0 && (!first->refs || (first->refs > 1 && !first->context))) {
		c = ERR_PTR(-EUSERS);
		goto unlock;
	} else {
		c = counter_alloc(attr, target, first, handler, context);
		if (!c) {
			c = ERR_PTR(-ENOMEM);
			goto unlock;
		}
		c->kind = kind;
		if (!first)
			c->of_group = of_group;
		else if (kind >= 0)
			first->of_group = of_group ?: TALLY_OF_FILES;
		/* Nobody else knows the counter yet, so this does not fail. */
		if (!first)
			tally_counter_lock_now(c);
		hash_add(counters, &c->node, key);
		/* perf moves the events of a task between CPUs by itself. */
		if (software)
			list_add_tail(&c->cpu_node, &cpu_counters); /* creation may wait */
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

/* Finds a counter that can be used, or adds an empty one; both are locked. Fails as above. */
static struct tally_counter *find_usable(const struct perf_event_attr *attr,
					 const struct tally_target *target,
					 struct tally_counter *first,
					 perf_overflow_handler_t handler, void *context,
					 int kind, enum tally_finder of_group, bool *found)
{
	struct tally_counter *c;

	for (;;) {
		if (first)
			tally_counter_lock(first);
		c = find_or_add(attr, target, first, handler, context, kind, of_group, found);
		if (IS_ERR(c) && first)
			tally_counter_unlock(first);
		if (IS_ERR(c) || !*found)
			return c;
		/* The counter may be in creation still: its lock waits for that. */
		if (!first)
			tally_counter_lock(c);
		if (usable(c))
			return c;
		tally_counter_unlock(c);
		counter_drop(c);
	}
}

/* Lets a new counter enter its group, and gives it its events. */
static int fill(struct tally_counter *c, unsigned int flags, int *err_cpu)
{
	bool member = flags & TALLY_COUNTER_MEMBER && c->kind >= 0 && !c->handler;
	int err;

	if (c->kind >= 0)
		tally_group_enter(c, flags & TALLY_COUNTER_WEAK);
	c->unused = flags & TALLY_COUNTER_AT_ONCE;
	c->at_once = c->unused || member;
	err = counter_fill(c, err_cpu);
	c->at_once = false;
	c->filled = !err;
	if (!err)
		tally_group_settle(c, tally_counter_any_event(c));
	return err;
}

/* Finds tally_counter::kind for a new counter. Returns 0, or ENOMEM. */
static int find_kind(const struct perf_event_attr *attr, const struct tally_target *target,
		     struct tally_counter *first, int *kind)
{
	int err;

	/* An event that overflows leads only if it is the first: its siblings stop with it. */
	*kind = (first ? attr->sample_period : tally_attr_is_software(attr)) ?
		-1 : tally_group_kind(attr, target);
	if (*kind < 0 || !first)
		return 0;
	err = tally_group_check(first, attr, *kind);
	if (err)
		*kind = -1;
	return err == -ENOMEM ? err : 0;
}

/**
 * tally_counter_get - get a counter, new or shared
 * @attr: attributes, checked and complete, with the disabled bit set
 * @target: target to count on
 * @first: tally_counter::first of the set's first member; NULL for that one, and without a set
 * @handler: perf's callback for overflows; NULL for a counter that does not overflow
 * @context: argument for @handler in perf's event; a counter that has one is not shared
 * @flags: TALLY_COUNTER_*
 * @err_cpu: receives, on failure, the CPU that failed; -1 if no single one did
 *
 * Context: Process context, may sleep. Not called by hotplug callbacks, nor
 * with cpu_hotplug_lock held.
 * Return: the counter, locked; ENOMEM; ENODEV if the CPU is offline; EOPNOTSUPP for a cgroup that
 * needs a trick (base/trick.h) which is off; E2BIG if the group of its set has no room for it, and
 * it is not weak; EUSERS if the counter of the set's first member is shared, so that it leads no
 * group of the set; or the error of perf_event_create_kernel_counter() or tally_kprobe_create().
 */
struct tally_counter *tally_counter_get(const struct perf_event_attr *attr,
					const struct tally_target *target,
					struct tally_counter *first,
					perf_overflow_handler_t handler,
					void *context, unsigned int flags, int *err_cpu)
{
	struct tally_counter *c;
	bool found, again;
	int err, kind = -1;

	*err_cpu = -1;
	/* perf returns this error for a new counter only, not for a shared one. */
	if (!target->task && target->cpu >= 0 && !cpu_online(target->cpu)) {
		*err_cpu = target->cpu;
		return ERR_PTR(-ENODEV);
	}
	/* Proofs need no lock. Without the tricks that are proved here, perf does the work. */
	err = attr->inherit ? 0 : tally_times_work();
	if (err == -ENOMEM)
		return ERR_PTR(err);
	if (attr->sample_period)
		tally_reload_works();
	if (tally_attr_is_task_clock(attr))
		tally_task_clock_works();
	/* Without the times, only perf reads the event: no row of a group is read at one moment. */
	if (!err && !(flags & TALLY_COUNTER_ALONE) && find_kind(attr, target, first, &kind))
		return ERR_PTR(-ENOMEM);
	c = find_usable(attr, target, first, handler, context, kind,
			flags & TALLY_COUNTER_MEMBER ? TALLY_OF_SET : TALLY_OF_ONE, &found);
	if (IS_ERR(c))
		return c;
	if (found) {
		/* Not all counts so far are of the event that is enabled first. */
		c->unused = false;
		return c;
	}
	c->by_perf = attr->inherit || err;
	err = fill(c, flags, err_cpu);
	/* This additional user keeps perf's event enabled until it is released. */
	if (!err && attr->inherit)
		c->users_on++;
	if (!err)
		return c;
	c->dead = true;
	/* Tried again, the counter leads the next group of its set. */
	again = err == -E2BIG && flags & TALLY_COUNTER_WEAK && c->leader && !c->leader->full;
	if (again)
		c->leader->full = true;
	tally_group_exit(c);
	tally_counter_unlock(c);
	counter_drop(c);
	return again ? tally_counter_get(attr, target, first, handler, context, flags, err_cpu) :
		       ERR_PTR(err);
}

/* Ends a counter that no event counts with any more. */
static void counter_end(struct tally_counter *c)
{
	struct tally_kprobe *kp;

	tally_counter_lock(c);
	c->dead = true;
	tally_group_exit(c);
	release_slots(c);
	tally_counter_unlock(c);
	kp = c->kprobe;
	WRITE_ONCE(c->kprobe, NULL);
	if (kp)
		tally_kprobe_delete(kp);
	atomic_long_dec(&nr_counters);
}

/*
 * Returns whether perf's context of an event, that of a task, is locked: a program may keep it so.
 */
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

/*
 * Locks a counter of a task. Where a task has two contexts, the holder of the
 * lock may wait for the one that is_held() does not look at, for any time:
 * there, this gives up after a while. Returns whether the counter is locked.
 */
static bool lock_soon(struct tally_counter *c)
{
	unsigned int tries = 20;

	if (tally_task_has_one_context()) {
		tally_counter_lock(c);
		return true;
	}
	while (!tally_counter_lock_now(c)) {
		if (!--tries)
			return false;
		usleep_range(100, 200);
	}
	return true;
}

/**
 * tally_counter_trylock - lock a counter, unless perf would keep its holder waiting
 * @c: the counter
 *
 * A program can keep perf's events of its own tasks locked for any time: it has
 * a call for such an event read memory that does not come. A caller that serves
 * others, too, must not wait for that. If the program begins just after the last
 * check here, the caller waits nevertheless. The program has that moment only,
 * and needs one more task for each caller that it stops so.
 *
 * Context: Process context, may sleep.
 * Return: whether the counter is locked.
 */
bool tally_counter_trylock(struct tally_counter *c)
{
	if (!c->target.task) {
		tally_counter_lock(c);
		return true;
	}
	if (is_held(c) || !lock_soon(c))
		return false;
	if (!is_held(c))
		return true;
	tally_counter_unlock(c);
	return false;
}

/**
 * tally_counter_end - end the use of a counter by an event
 * @c: the counter
 *
 * After the last use perf's events are released. A callback of theirs may still run, and read what
 * was counted. Called without the counter's lock. tally_counter_put() must follow.
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
	tally_counter_lock(c);
	/* perf's events may be on since their creation, for an event that was never enabled. */
	c->unused = false;
	tally_counter_disable_if_off(c);
	tally_counter_unlock(c);
}

/* Drops a reference to a counter. An event drops its own after tally_counter_end(). */
void tally_counter_put(struct tally_counter *c)
{
	if (refcount_dec_and_test(&c->holds))
		counter_free(c);
}

/**
 * tally_counters_visit - call a function for every counter that counts on CPUs
 * @fn: the function; the counter is not freed meanwhile
 * @changed: given to @fn
 *
 * A counter that is added meanwhile needs no visit for the CPUs that came or
 * went before: it finds those as they are now.
 *
 * Context: Process context, may sleep; one caller at a time.
 */
void tally_counters_visit(void (*fn)(struct tally_counter *c, const struct cpumask *changed),
			  const struct cpumask *changed)
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
		fn(c, changed);
		tally_counter_put(c);
		mutex_lock(&counters_lock);
	}
	mutex_unlock(&counters_lock);
}

void tally_counter_stats(struct tally_counter_stats *out)
{
	out->counters = atomic_long_read(&nr_counters);
	tally_slot_stats(out);
}
