// SPDX-License-Identifier: GPL-2.0
/*
 * Where the records of an event go: to no ring, to a ring that a program has mapped from
 * the event's file, to the ring of another event, or to one that a module reads.
 *
 * An event on all CPUs has a ring for each of them. Events that are members of another
 * event's file follow that event: they write to its rings. A ring that programs map is
 * written to as long as it is mapped from any file. When the last mapping is gone, the
 * ring is detached from all outputs, and their records go nowhere.
 *
 * Callbacks find the ring under RCU with preemption off. So a ring is freed a grace period
 * after the last pointer to it is cleared.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <uapi/linux/tally.h>
#include "base/clock.h"
#include "builder/sample_fields.h"
#include "compat.h"
#include "event/event.h"
#include "record/output.h"
#include "record/ring.h"

/*
 * Guards the ring of each slot, the outputs and mappings of each ring, the followers of
 * each output, and tally_event::output once the event exists. It is taken with a
 * program's mmap lock held: nothing that may fault is called under it.
 */
static DEFINE_MUTEX(outputs_lock);

/* ---- which ring ---- */

static struct tally_ring *ring_of(const struct tally_output_slot *s)
{
	return rcu_dereference_protected(s->ring, lockdep_is_held(&outputs_lock));
}

/* Wakes those who poll the event's file. */
static void wake_slot(const struct tally_output_slot *s)
{
	wait_queue_head_t *wait = READ_ONCE(s->out->wait);

	if (wait)
		wake_up_all(wait);
}

static void detach(struct tally_output_slot *s)
{
	struct tally_ring *r = ring_of(s);

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
	detach(s);
	spin_lock_irq(&r->outputs_lock);
	list_add(&s->node, &r->outputs);
	spin_unlock_irq(&r->outputs_lock);
	s->throttled = false;
	rcu_assign_pointer(s->ring, tally_ring_get(r));
	wake_slot(s);
}

/* Attaches a ring to a slot of an output, and of its followers. */
static void attach_all(struct tally_output *out, unsigned int slot, struct tally_ring *r)
{
	struct tally_output *f;

	attach(&out->slots[slot], r);
	list_for_each_entry(f, &out->followers, follows)
		attach(&f->slots[slot], r);
}

/* Detaches whatever ring they have from the same slots. */
static void detach_all(struct tally_output *out, unsigned int slot)
{
	struct tally_output *f;

	detach(&out->slots[slot]);
	list_for_each_entry(f, &out->followers, follows)
		detach(&f->slots[slot]);
}

/**
 * tally_outputs_wake - wake those who poll a file whose event writes to a ring
 * @r: the ring
 *
 * Context: Hard interrupt.
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
 * @ev: the event
 *
 * Context: Process context, may sleep.
 * Return: the output, without a ring; NULL if there is no memory.
 */
struct tally_output *tally_output_new(const struct perf_event_attr *attr,
				      const struct tally_target *target,
				      struct tally_event *ev)
{
	unsigned int nr_slots = tally_target_slots(target);
	struct tally_output *out;
	unsigned int i;

	out = kvzalloc(struct_size(out, slots, nr_slots), GFP_KERNEL);
	if (!out)
		return NULL;
	out->ev = ev;
	out->nr_slots = nr_slots;
	out->cpu = target->cpu;
	out->on_all_cpus = nr_slots > 1 || (!target->task && target->cpu < 0);
	/* Such a ring would have several writers at a time: it cannot be mapped. */
	out->scattered = ev->attr.inherit && target->cpu < 0;
	out->slot_mask = nr_slots > 1 ? ~0U : 0;
	out->id = ev->id;
	out->ns = get_pid_ns(task_active_pid_ns(current));
	out->global = out->ns == &init_pid_ns;
	out->clock = tally_clock_of(attr);
	INIT_LIST_HEAD(&out->followers);
	INIT_LIST_HEAD(&out->follows);
	for (i = 0; i < nr_slots; i++)
		out->slots[i].out = out;
	describe(out, attr);
	return out;
}

/*
 * The output of an event. One that only counts gets it when somebody maps a ring from its
 * file, or sends the records of other events there. NULL if there is no memory.
 */
static struct tally_output *output_of(struct tally_event *ev)
{
	static const struct perf_event_attr none;

	lockdep_assert_held(&outputs_lock);
	if (!ev->output) {
		/* Pollers, readers and samples of the group look at it without the lock. */
		smp_store_release(&ev->output,
				  tally_output_new(&none, &ev->counter->target, ev));
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
		mutex_lock(&outputs_lock);
		attach(&out->slots[i], r);
		mutex_unlock(&outputs_lock);
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

	mutex_lock(&outputs_lock);
	for (i = 0; i < out->nr_slots; i++)
		detach(&out->slots[i]);
	list_del_init(&out->follows);
	list_for_each_entry_safe(f, next, &out->followers, follows)
		list_del_init(&f->follows);
	mutex_unlock(&outputs_lock);
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

/* ---- mappings ---- */

static void mapping_opened(struct vm_area_struct *vma)
{
	struct tally_output_slot *s = vma->vm_private_data;

	mutex_lock(&outputs_lock);
	s->maps++;
	ring_of(s)->maps++;
	mutex_unlock(&outputs_lock);
}

/* No program has the ring mapped any more: no output writes to it from here on. */
static void detach_rest(struct tally_ring *r)
{
	while (!list_empty(&r->outputs))
		detach(list_first_entry(&r->outputs, struct tally_output_slot, node));
	tally_munlock(&r->mlock);
}

/* One mapping less of a slot's ring. */
static void unmap(struct tally_output_slot *s)
{
	struct tally_ring *r = tally_ring_get(ring_of(s));

	if (!--s->maps)
		detach_all(s->out, s - s->out->slots);
	if (!--r->maps)
		detach_rest(r);
	tally_ring_put(r);
}

static void mapping_closed(struct vm_area_struct *vma)
{
	mutex_lock(&outputs_lock);
	unmap(vma->vm_private_data);
	mutex_unlock(&outputs_lock);
}

/* Programs may write to the header page alone, also when they split the mapping. */
static vm_fault_t mapping_pfn_mkwrite(struct vm_fault *vmf)
{
	return vmf->pgoff & (TALLY_RING_PAGES - 1) ? VM_FAULT_SIGBUS : 0;
}

static const struct vm_operations_struct mapping_ops = {
	.open = mapping_opened,
	.close = mapping_closed,
	.pfn_mkwrite = mapping_pfn_mkwrite,
};

/* The ring of a slot; NULL if there is none, EINVAL if it has another size. */
static struct tally_ring *existing(struct tally_output_slot *s, unsigned int nr_pages)
{
	struct tally_ring *r = ring_of(s);

	if (r && r->nr_pages != nr_pages)
		return ERR_PTR(-EINVAL);
	return r;
}

static int map_ring(struct tally_output *out, unsigned int slot, struct tally_ring *r,
		    struct vm_area_struct *vma)
{
	struct tally_output_slot *s = &out->slots[slot];
	int err;

	lockdep_assert_held(&outputs_lock);
	err = tally_ring_map(r, vma);
	if (err)
		return err;
	if (ring_of(s) != r)
		attach_all(out, slot, r);
	s->maps++;
	r->maps++;
	vma->vm_private_data = s;
	vma->vm_ops = &mapping_ops;
	return 0;
}

/* A new ring, charged to the caller, or an ERR_PTR. */
static struct tally_ring *make(const struct tally_output *out, int cpu,
			       struct vm_area_struct *vma)
{
	struct tally_ring_how how = {
		.nr_pages = vma_pages(vma) - 1,
		.watermark = out->watermark,
		.backward = out->backward,
		.overwrite = !(vma->vm_flags & VM_WRITE),
		.cpu = cpu,
	};
	struct tally_mlock mlock;
	struct tally_ring *r;
	int err;

	err = tally_mlock(&mlock, vma_pages(vma));
	if (err)
		return ERR_PTR(err);
	r = tally_ring_new(&how);
	if (!r) {
		tally_munlock(&mlock);
		return ERR_PTR(-ENOMEM);
	}
	r->mlock = mlock;
	return r;
}

/* The slot whose ring is at an offset of a mapping, in pages; EINVAL if there is none. */
int tally_output_slot_at(const struct tally_output *out, unsigned long pgoff)
{
	unsigned long cpu = pgoff / TALLY_RING_PAGES;

	if (pgoff % TALLY_RING_PAGES || cpu >= out->nr_slots ||
	    (out->on_all_cpus && !cpu_possible(cpu)))
		return -EINVAL;
	return cpu;
}

/* The slot that a program wants to map; EINVAL as for tally_output_mmap(). */
static int check_mapping(const struct tally_output *out, struct vm_area_struct *vma)
{
	unsigned long pages = vma_pages(vma) - 1;

	if (out->scattered || !(vma->vm_flags & VM_SHARED) || !is_power_of_2(pages) ||
	    pages > TALLY_RING_PAGES / 2)
		return -EINVAL;
	return tally_output_slot_at(out, vma->vm_pgoff);
}

static int map_output(struct tally_output *out, wait_queue_head_t *wait,
		      struct vm_area_struct *vma)
{
	struct tally_ring *r, *fresh = NULL;
	int slot, err;

	slot = check_mapping(out, vma);
	if (slot < 0)
		return slot;
	tally_vm_flags(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
		       vma->vm_flags & VM_WRITE ? 0 : VM_MAYWRITE);
	mutex_lock(&outputs_lock);
	r = existing(&out->slots[slot], vma_pages(vma) - 1);
	if (!r) {
		/* Without the lock: other programs map theirs meanwhile. */
		mutex_unlock(&outputs_lock);
		fresh = make(out, out->nr_slots > 1 ? slot : out->cpu, vma);
		mutex_lock(&outputs_lock);
		r = IS_ERR(fresh) ? fresh : existing(&out->slots[slot], vma_pages(vma) - 1);
		r = r ?: fresh;
	}
	if (IS_ERR(r)) {
		err = PTR_ERR(r);
	} else {
		WRITE_ONCE(out->wait, wait);
		err = map_ring(out, slot, r, vma);
	}
	mutex_unlock(&outputs_lock);
	if (!IS_ERR_OR_NULL(fresh)) {
		if (err || r != fresh)
			tally_munlock(&fresh->mlock);
		tally_ring_put(fresh);
	}
	return err;
}

/**
 * tally_output_mmap - a program maps a ring of an event that it has made
 * @ev: the event, which may have no output yet
 * @wait: queue of those who poll the file
 * @vma: the mapping. If it is writable, a new ring keeps records until the program has
 *	read them; else new records overwrite the oldest.
 *
 * Context: Process context, with the program's mmap lock.
 * Return: 0; EINVAL for a size that is not 1 + 2^n pages, a size that the ring does not
 * have, an offset that is no CPU's, a private mapping, and an inherited event that is not
 * on one CPU; EPERM for more memory than may be locked, ENOMEM.
 */
int tally_output_mmap(struct tally_event *ev, wait_queue_head_t *wait,
		      struct vm_area_struct *vma)
{
	struct tally_output *out;

	mutex_lock(&outputs_lock);
	out = output_of(ev);
	mutex_unlock(&outputs_lock);
	return out ? map_output(out, wait, vma) : -ENOMEM;
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
		if (ring_of(&out->slots[i]))
			return true;
	return false;
}

static bool same_target(const struct tally_target *a, const struct tally_target *b)
{
	return a->task == b->task && a->cpu == b->cpu;
}

/* Whether a reader can read both from one ring. */
static bool alike(const struct tally_output *a, const struct tally_output *b)
{
	return a->clock == b->clock && a->backward == b->backward;
}

/* As perf: EINVAL for events on other CPUs, with another clock or direction. */
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

	lockdep_assert_held(&outputs_lock);
	if (!output_of(ev) || (to && !output_of(to)))
		return -ENOMEM;
	if (is_mapped(ev->output) ||
	    (to && (!may_share(ev, to) || !has_ring(to->output))))
		return -EINVAL;
	/* Children on several CPUs would write to the ring at the same time. */
	if (to && ev->attr.inherit && ev->counter->target.cpu < 0)
		return -EINVAL;
	WRITE_ONCE(ev->output->wait, wait);
	for (i = 0; i < ev->output->nr_slots; i++) {
		if (to && ring_of(&to->output->slots[i]))
			attach_all(ev->output, i, ring_of(&to->output->slots[i]));
		else
			detach_all(ev->output, i);
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
 * Return: 0; EINVAL where perf has it: a ring of @ev is mapped, @to has none, or one
 * reader could not read both; ENOMEM.
 */
int tally_output_set(struct tally_event *ev, wait_queue_head_t *wait,
		     struct tally_event *to)
{
	int err;

	mutex_lock(&outputs_lock);
	err = set_output(ev, wait, to);
	mutex_unlock(&outputs_lock);
	return err;
}

/**
 * tally_output_follow - write where a leader writes, now and later
 * @ev: an event that has no file
 * @leader: the event whose file it is in
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL if the records have another clock or direction; ENOMEM.
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
	mutex_lock(&outputs_lock);
	out = output_of(leader);
	if (!out)
		err = -ENOMEM;
	else if (!alike(ev->output, out))
		err = -EINVAL;
	if (err)
		goto unlock;
	list_add(&ev->output->follows, &out->followers);
	for (i = 0; i < out->nr_slots; i++)
		if (ring_of(&out->slots[i]))
			attach(&ev->output->slots[i], ring_of(&out->slots[i]));
unlock:
	mutex_unlock(&outputs_lock);
	return err;
}

/**
 * tally_output_pause - pause the rings of an event: PERF_EVENT_IOC_PAUSE_OUTPUT
 * @out: the output; NULL for an event that never had a ring
 * @pause: true to pause, false to go on
 *
 * Records that come during a pause are lost, and counted. When a pause has begun, this
 * returns after all records that were being written are complete.
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL if there is no ring.
 */
int tally_output_pause(struct tally_output *out, bool pause)
{
	struct tally_ring *r;
	int err = -EINVAL;
	unsigned int i;

	mutex_lock(&outputs_lock);
	for (i = 0; out && i < out->nr_slots; i++) {
		r = ring_of(&out->slots[i]);
		if (!r)
			continue;
		WRITE_ONCE(r->paused, pause);
		err = 0;
	}
	mutex_unlock(&outputs_lock);
	if (pause && !err)
		synchronize_rcu();
	return err;
}

/* The poll events of all rings, each reported once; the caller is in the queue already. */
__poll_t tally_output_poll(struct tally_output *out)
{
	struct tally_ring *r;
	__poll_t told = 0;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < out->nr_slots; i++) {
		r = rcu_dereference(out->slots[i].ring);
		if (r && READ_ONCE(r->told))
			told |= (__force __poll_t)xchg(&r->told, 0); /* U */
	}
	rcu_read_unlock();
	return told;
}
