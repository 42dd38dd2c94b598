// SPDX-License-Identifier: GPL-2.0
/*
 * Where the records of an event go: to no ring, to a ring that a program has mapped from
 * the event's file, to the ring of another event, or to one that a module reads.
 *
 * An event on all CPUs has a ring for each of them. Events that are members of
 * another event's file follow that event: they write to its rings. A ring that
 * programs map is written to as long as it is mapped from any file. When the
 * last mapping is gone, the ring is detached from all outputs, and their
 * records go nowhere.
 *
 * Callbacks find the ring under RCU with preemption off. So a ring is freed a
 * grace period after the last pointer to it is cleared.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <uapi/linux/tally.h>
#include "builder/sample_fields.h"
#include "event/event.h"
#include "record/output.h"
#include "record/ring.h"

/*
 * Guards the ring of each slot, the outputs and mappings of each ring, the
 * followers of each output, tally_event::output once the event exists, and the
 * list of recorders that a panic freezes. It is taken with a program's mmap
 * lock held: nothing that may fault is called under it.
 */
DEFINE_MUTEX(tally_outputs_lock);

/* ---- which ring ---- */

/* The ring of a slot; NULL if there is none. */
struct tally_ring *tally_output_ring(const struct tally_output_slot *s)
{
	return rcu_dereference_protected(s->ring, lockdep_is_held(&tally_outputs_lock));
}

/* Wakes those who poll the event's file. */
static void wake_slot(const struct tally_output_slot *s)
{
	wait_queue_head_t *wait = READ_ONCE(s->out->wait);

	if (wait)
		wake_up_all(wait);
}

/* Detaches a slot from its ring, if it has one. */
void tally_output_detach_slot(struct tally_output_slot *s)
{
	struct tally_ring *r = tally_output_ring(s);

	if (!r)
		return;
	RCU_INIT_POINTER(s->ring, NULL);
	spin_lock_irq(&r->outputs_lock);
	list_del(&s->node);
	spin_unlock_irq(&r->outputs_lock);
	tally_ring_put(r);
}

static void attach(struct tally_output_slot *s, struct tally_ring *r)
{
	tally_output_detach_slot(s);
	spin_lock_irq(&r->outputs_lock);
	list_add(&s->node, &r->outputs);
	spin_unlock_irq(&r->outputs_lock);
	s->throttled = false;
	rcu_assign_pointer(s->ring, tally_ring_get(r));
	wake_slot(s);
}

/*
 * Attaches a ring to a slot of an output and of its followers, in place of the
 * one they have. Each takes a reference. Called under the outputs' lock.
 */
void tally_output_attach(struct tally_output *out, unsigned int slot, struct tally_ring *r)
{
	struct tally_output *f;

	attach(&out->slots[slot], r);
	list_for_each_entry(f, &out->followers, follows)
		attach(&f->slots[slot], r);
}

/* Detaches one slot of an output and of its followers. Called under the outputs' lock. */
void tally_output_detach(struct tally_output *out, unsigned int slot)
{
	struct tally_output *f;

	tally_output_detach_slot(&out->slots[slot]);
	list_for_each_entry(f, &out->followers, follows)
		tally_output_detach_slot(&f->slots[slot]);
}

/**
 * tally_outputs_wake - wake those who poll a file whose event writes to a ring
 * @r: the ring
 *
 * Context: irq_work: hard interrupt, or on PREEMPT_RT a thread.
 */
void tally_outputs_wake(struct tally_ring *r)
{
	const struct tally_output_slot *s;
	unsigned long flags;

	spin_lock_irqsave(&r->outputs_lock, flags);
	list_for_each_entry(s, &r->outputs, node)
		wake_slot(s);
	spin_unlock_irqrestore(&r->outputs_lock, flags);
}

/* ---- an event's output ---- */

/* Takes from the attr what the records of a new event contain. */
static void describe(struct tally_output *out, const struct perf_event_attr *attr)
{
	u64 type = attr->sample_type;
	u64 behind = tally_sample_fields(type, TALLY_IN_TAIL | TALLY_IN_LAST);

	out->type = type;
	out->variable = tally_sample_fields(type, TALLY_IN_VARIABLE);
	out->behind = behind;
	out->fixed = sizeof(struct perf_event_header) +
		     sizeof(u64) * hweight64(behind | tally_sample_fields(type, TALLY_IN_HEAD));
	if (attr->sample_id_all)
		out->trailer = sizeof(u64) *
			       hweight64(tally_sample_fields(type, TALLY_IN_TRAILER));
	if (attr->watermark)
		out->watermark = attr->wakeup_watermark;
	else
		out->wakeup_events = attr->wakeup_events;
	out->backward = attr->write_backward;
	out->strip = attr->exclude_kernel;
	out->callchain_kernel = !attr->exclude_callchain_kernel;
	out->callchain_user = !attr->exclude_callchain_user;
	out->max_stack = attr->sample_max_stack;
	out->stack_user = attr->sample_stack_user;
	out->regs_user = attr->sample_regs_user;
	out->regs_intr = attr->sample_regs_intr;
	out->read_format = attr->read_format;
	out->branch_hw_index = attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX;
}

/**
 * tally_output_new - make the output of an event
 * @attr: the attr that the maker gave, with the members that perf's event does not get
 * @target: the task and CPU that the event counts
 * @ev: the event, which has its attr and its id
 * @gfp: flags of the allocation
 *
 * Context: Process context, may sleep.
 * Return: the output, without a ring, for tally_output_free(); NULL if there is no memory.
 */
struct tally_output *tally_output_new(const struct perf_event_attr *attr,
				      const struct tally_target *target,
				      struct tally_event *ev, gfp_t gfp)
{
	unsigned int nr_slots = tally_target_slots(target);
	struct tally_output *out;
	unsigned int i;

	out = kvzalloc(struct_size(out, slots, nr_slots), gfp);
	if (!out)
		return NULL;
	out->ev = ev;
	out->nr_slots = nr_slots;
	out->cpu = target->cpu;
	out->on_all_cpus = nr_slots > 1 || (!target->task && target->cpu < 0);
	/* Children on several CPUs would write to a ring at the same time: it is not mapped. */
	out->scattered = ev->attr.inherit && target->cpu < 0;
	out->slot_mask = nr_slots > 1 ? ~0U : 0;
	out->id = ev->id;
	out->ns = get_pid_ns(task_active_pid_ns(current));
	out->global = out->ns == &init_pid_ns;
	out->clock = attr->use_clockid ? tally_clock_of(attr) : NULL;
	INIT_LIST_HEAD(&out->followers);
	INIT_LIST_HEAD(&out->follows);
	for (i = 0; i < nr_slots; i++)
		out->slots[i].out = out;
	describe(out, attr);
	return out;
}

/*
 * Returns the output of an event; NULL if there is no memory. An event without records gets an
 * output when a program maps a ring from its file, uses the file in PERF_EVENT_IOC_SET_OUTPUT, or
 * adds a member that has records to the file.
 */
struct tally_output *tally_output_of(struct tally_event *ev)
{
	static const struct perf_event_attr none;

	lockdep_assert_held(&tally_outputs_lock);
	if (!ev->output) {
		/*
		 * Unaccounted: a cgroup at its limit would hold up all who wait for the lock.
		 * Pollers, readers and samples of the group load the pointer without the lock.
		 */
		smp_store_release(&ev->output,
				  tally_output_new(&none, &ev->counter->target, ev,
						   GFP_KERNEL));
	}
	return ev->output;
}

/**
 * tally_output_fill - make a ring for each slot, for a module to read
 * @out: the output of a new event, which has no ring yet
 * @how: what the rings are like; @how->cpu is used if there is one slot
 *
 * Context: Process context, may sleep.
 * Return: 0, or ENOMEM; tally_output_end() puts the rings that were made.
 */
int tally_output_fill(struct tally_output *out, struct tally_ring_how *how)
{
	struct tally_ring *r;
	unsigned int i;

	for (i = 0; i < out->nr_slots; i++) {
		if (out->nr_slots > 1 && !cpu_possible(i))
			continue;
		if (out->nr_slots > 1)
			how->cpu = i;
		r = tally_ring_new(how);
		if (!r)
			return -ENOMEM;
		mutex_lock(&tally_outputs_lock);
		attach(&out->slots[i], r);
		mutex_unlock(&tally_outputs_lock);
		tally_ring_put(r);
	}
	return 0;
}

/**
 * tally_output_end - detach an output from all rings and all other outputs
 * @out: the output; the caller waits for a grace period before tally_output_free()
 *
 * Context: Process context, may sleep.
 */
void tally_output_end(struct tally_output *out)
{
	struct tally_output *f, *next;
	unsigned int i;

	mutex_lock(&tally_outputs_lock);
	for (i = 0; i < out->nr_slots; i++)
		tally_output_detach_slot(&out->slots[i]);
	list_del_init(&out->follows);
	list_for_each_entry_safe(f, next, &out->followers, follows)
		list_del_init(&f->follows);
	mutex_unlock(&tally_outputs_lock);
}

/* Frees an output; NULL is allowed. */
void tally_output_free(struct tally_output *out)
{
	if (!out)
		return;
	put_pid_ns(out->ns);
	kfree(out->recorder);
	kvfree(out);
}

/* ---- calls of programs ---- */

static bool is_mapped(const struct tally_output *out)
{
	unsigned int i;

	for (i = 0; i < out->nr_slots; i++)
		if (out->slots[i].maps)
			return true;
	return false;
}

static bool has_ring(const struct tally_output *out)
{
	unsigned int i;

	for (i = 0; out && i < out->nr_slots; i++)
		if (tally_output_ring(&out->slots[i]))
			return true;
	return false;
}

static bool same_target(const struct tally_target *a, const struct tally_target *b)
{
	return a->task == b->task && a->cpu == b->cpu;
}

/* Returns the clock of an event's records, as tally_output::clock; NULL if it has no output. */
tally_clock_fn tally_output_clock(const struct tally_event *ev)
{
	const struct tally_output *out = READ_ONCE(ev->output);

	return out ? out->clock : NULL;
}

/* Returns whether one reader can read the records of both outputs from one ring. */
static bool alike(const struct tally_output *a, const struct tally_output *b)
{
	return a->clock == b->clock && a->backward == b->backward;
}

/* As perf: the CPU, or the task, of both events is the same; so are clock and direction. */
static bool may_share(const struct tally_event *ev, const struct tally_event *to)
{
	const struct tally_target *a = &ev->counter->target, *b = &to->counter->target;

	return ev != to && a->cpu == b->cpu &&
	       tally_counter_on_all_cpus(ev->counter) == tally_counter_on_all_cpus(to->counter) &&
	       (a->cpu >= 0 || a->task == b->task) && alike(ev->output, to->output);
}

static int set_output(struct tally_event *ev, wait_queue_head_t *wait,
		      struct tally_event *to)
{
	unsigned int i;

	lockdep_assert_held(&tally_outputs_lock);
	if (!tally_output_of(ev) || (to && !tally_output_of(to)))
		return -ENOMEM;
	if (is_mapped(ev->output) ||
	    (to && (!may_share(ev, to) || !has_ring(to->output))))
		return -EINVAL;
	/* Children on several CPUs would write to the ring at the same time. */
	if (to && ev->attr.inherit && ev->counter->target.cpu < 0)
		return -EINVAL;
	WRITE_ONCE(ev->output->wait, wait);
	for (i = 0; i < ev->output->nr_slots; i++) {
		if (to && tally_output_ring(&to->output->slots[i]))
			tally_output_attach(ev->output, i,
					    tally_output_ring(&to->output->slots[i]));
		else
			tally_output_detach(ev->output, i);
	}
	return 0;
}

/**
 * tally_output_set - write to the rings of another event: PERF_EVENT_IOC_SET_OUTPUT
 * @ev: the event
 * @wait: queue of those who poll its file
 * @to: the other event, which has a ring; NULL to write nowhere
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL if a ring of @ev is mapped, if @to is @ev, has no ring, or has another CPU,
 * task, clock or direction, or if @ev is inherited and not on one CPU; ENOMEM.
 */
int tally_output_set(struct tally_event *ev, wait_queue_head_t *wait,
		     struct tally_event *to)
{
	int err;

	mutex_lock(&tally_outputs_lock);
	err = set_output(ev, wait, to);
	mutex_unlock(&tally_outputs_lock);
	return err;
}

/**
 * tally_output_follow - write where a leader writes, now and later
 * @ev: an event that has no file
 * @leader: the event whose file it is in
 *
 * Context: Process context, may sleep.
 * Return: 0, also if @ev has no records or another target; EINVAL if the
 * records have another clock or direction; ENOMEM.
 */
int tally_output_follow(struct tally_event *ev, struct tally_event *leader)
{
	struct tally_output *out;
	unsigned int i;
	int err = 0;

	if (!ev->output)
		return 0;
	/* join_leader() refuses another target after this; its number of slots may differ. */
	if (!same_target(&ev->counter->target, &leader->counter->target))
		return 0;
	mutex_lock(&tally_outputs_lock);
	out = tally_output_of(leader);
	if (!out)
		err = -ENOMEM;
	else if (!alike(ev->output, out))
		err = -EINVAL;
	if (err)
		goto unlock;
	list_add(&ev->output->follows, &out->followers);
	for (i = 0; i < out->nr_slots; i++)
		if (tally_output_ring(&out->slots[i]))
			attach(&ev->output->slots[i], tally_output_ring(&out->slots[i]));
unlock:
	mutex_unlock(&tally_outputs_lock);
	return err;
}

/**
 * tally_output_pause - pause the rings of an event: PERF_EVENT_IOC_PAUSE_OUTPUT
 * @out: the output; NULL for an event that never had a ring
 * @pause: true to pause, false to go on
 *
 * Records that come during a pause are lost, and counted. When a pause has
 * begun, this returns after all records that were being written are complete.
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL if there is no ring.
 */
int tally_output_pause(struct tally_output *out, bool pause)
{
	struct tally_ring *r;
	int err = -EINVAL;
	unsigned int i;

	mutex_lock(&tally_outputs_lock);
	for (i = 0; out && i < out->nr_slots; i++) {
		r = tally_output_ring(&out->slots[i]);
		if (!r)
			continue;
		WRITE_ONCE(r->paused, pause);
		err = 0;
	}
	mutex_unlock(&tally_outputs_lock);
	if (pause && !err)
		synchronize_rcu();
	return err;
}

/* The poll events of all rings, each reported once; the caller is in the queue already. */
__poll_t tally_output_poll(struct tally_output *out)
{
	struct tally_ring *r;
	__poll_t events = 0;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < out->nr_slots; i++) {
		r = rcu_dereference(out->slots[i].ring);
		if (r && READ_ONCE(r->poll_events))
			events |= (__force __poll_t)xchg(&r->poll_events, 0); /* U */
	}
	rcu_read_unlock();
	return events;
}
