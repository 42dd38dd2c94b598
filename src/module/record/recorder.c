// SPDX-License-Identifier: GPL-2.0
/*
 * Rings whose reader is a module. They are made with the event, and are detached when it ends. A
 * program may map a ring, read-only, if the module allows it. So only the kernel writes to these
 * rings, and the reader trusts what they hold.
 *
 * A forward ring is read as a program would read it. A backward ring, the
 * flight recorder, is overwritten all the time, and has to be frozen before it
 * is read: nothing is written while tally_ring::paused is set. The freezing
 * context may be an NMI that has interrupted a writer; so it sets @paused and
 * waits for nothing. The reader waits for a grace period instead: then all
 * writers that have not seen @paused are through.
 *
 * Ordering: tally_event_snapshot() sets @frozen, then @paused of each ring, then reads @frozen
 * again, and starts over if it was cleared. tally_event_resume() clears @frozen, then @paused of
 * each ring, then reads @frozen again, and sets @paused if it was set. Full barriers stand in
 * between: when both are through, the rings are paused if the recorder is frozen, and only then. A
 * reader that sees @frozen sets @paused once more, because the freezing context may not have come
 * to it yet. Writers have preemption off, and are gone a grace period later.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/panic_notifier.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <uapi/linux/tally.h>
#include "base/ptr.h"
#include "builder/builder.h"
#include "compat.h"
#include "event/event.h"
#include "record/output.h"
#include "record/recorder.h"
#include "record/ring.h"

/*
 * The ring of a slot; NULL for a CPU that is not possible, and for an event
 * that is being released. The caller is in an RCU read-side section, or holds
 * the recorder's lock and has seen that it has not ended.
 */
static struct tally_ring *ring_at(const struct tally_recorder *rec, unsigned int slot)
{
	return rcu_dereference_raw(rec->out->slots[slot].ring);
}

/* Returns the recorder of an event whose rings are written @backward or not; else NULL. */
static struct tally_recorder *recorder_of(const struct tally_event *ev, bool backward)
{
	const struct tally_output *out = tally_bad_ptr(ev) ? NULL : ev->output;

	return out && out->recorder && out->backward == backward ? out->recorder : NULL;
}

/* The length of a record; 0 if not all of it is in the @left bytes from @at on. */
static unsigned int record_size(const void *at, unsigned long left)
{
	const struct perf_event_header *h = at;
	unsigned int size;

	if (left < sizeof(*h))
		return 0;
	size = READ_ONCE(h->size);
	return size >= sizeof(*h) && size <= left ? size : 0;
}

/* ---- forward ---- */

static bool has_records(const struct tally_recorder *rec)
{
	const struct tally_ring *r;
	bool any = false;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < rec->out->nr_slots && !any; i++) {
		r = ring_at(rec, i);
		any = r && READ_ONCE(r->page->data_head) != READ_ONCE(r->page->data_tail);
	}
	rcu_read_unlock();
	return any;
}

/*
 * Copies those of @left bytes of records that fit in @buf, and returns their
 * bytes; EMSGSIZE if not one record fits.
 */
static ssize_t copy_records(const void *data, unsigned long left, void *buf, size_t size)
{
	unsigned int one;
	size_t n = 0;

	while ((one = record_size(data + n, left - n)) && one <= size - n)
		n += one;
	memcpy(buf, data, n);
	return !n && one ? -EMSGSIZE : n;
}

/* Moves whole records to @buf, and returns their bytes; EMSGSIZE if not one fits. */
static ssize_t dequeue(struct tally_ring *r, void *buf, size_t size)
{
	unsigned long head = smp_load_acquire(&r->page->data_head); /* S */
	unsigned long tail = r->page->data_tail;
	ssize_t n = copy_records(r->data + (tail & (r->size - 1)), head - tail, buf, size);

	if (WARN_ON_ONCE(!n && head != tail))
		return -EIO;
	if (n > 0)
		smp_store_release(&r->page->data_tail, tail + n); /* R */
	return n;
}

/* dequeue() for all rings; the ring whose records did not fit is the first one next time. */
static ssize_t dequeue_all(struct tally_recorder *rec, void *buf, size_t size)
{
	unsigned int i, slot, nr = rec->out->nr_slots, first = rec->next;
	struct tally_ring *r;
	size_t all = 0;
	ssize_t n;

	for (i = 0; i < nr; i++) {
		slot = (first + i) % nr;
		r = ring_at(rec, slot);
		n = r ? dequeue(r, buf + all, size - all) : 0;
		if (n < 0) {
			rec->next = slot;
			return all ?: n;
		}
		all += n;
	}
	return all;
}

ssize_t tally_ring_read(struct tally_event *ev, int cpu, void *buf, size_t size)
{
	struct tally_recorder *rec = recorder_of(ev, false);
	ssize_t n;
	int slot;

	might_sleep();
	if (!rec || tally_bad_ptr(buf))
		return -EINVAL;
	slot = cpu == -1 ? 0 : tally_counter_slot_of(ev->counter, cpu);
	if (slot < 0)
		return slot;
	mutex_lock(&rec->lock);
	if (rec->ended)
		n = -ESRCH;
	else if (cpu == -1)
		n = dequeue_all(rec, buf, size);
	else
		n = dequeue(ring_at(rec, slot), buf, size);
	mutex_unlock(&rec->lock);
	return n;
}
EXPORT_SYMBOL_TALLY(tally_ring_read);

int tally_ring_wait(struct tally_event *ev, unsigned long timeout)
{
	struct tally_recorder *rec = recorder_of(ev, false);
	long left;

	might_sleep();
	if (!rec)
		return -EINVAL;
	left = wait_event_interruptible_timeout(rec->wait, has_records(rec),
						min_t(unsigned long, timeout,
						      MAX_SCHEDULE_TIMEOUT));
	if (left < 0)
		return -EINTR;
	return left ? 0 : -ETIMEDOUT;
}
EXPORT_SYMBOL_TALLY(tally_ring_wait);

/* ---- backward ---- */

/* Pauses all rings, or lets them go on. */
static void pause(const struct tally_recorder *rec, bool paused)
{
	struct tally_ring *r;
	unsigned int i;

	for (i = 0; i < rec->out->nr_slots; i++) {
		r = ring_at(rec, i);
		if (r)
			WRITE_ONCE(r->paused, paused);
	}
}

/* Freezes all rings. Any context. */
static void freeze(struct tally_recorder *rec)
{
	rcu_read_lock();
	do {
		WRITE_ONCE(rec->frozen, true);
		smp_mb(); /* tally_event_resume() */
		pause(rec, true);
		smp_mb(); /* tally_event_resume() */
		/* Begins again if tally_event_resume() came in between: this call is later. */
	} while (!READ_ONCE(rec->frozen));
	rcu_read_unlock();
}

int tally_event_snapshot(struct tally_event *ev)
{
	struct tally_recorder *rec = recorder_of(ev, true);

	if (!rec)
		return -EINVAL;
	freeze(rec);
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_event_snapshot);

/*
 * The newest record of a ring that is frozen; @left receives the bytes of records from
 * there on. What was reserved and is not filled in has taken the place of the oldest.
 */
static const void *newest(const struct tally_ring *r, unsigned long *left)
{
	unsigned long published = -(unsigned long)smp_load_acquire(&r->page->data_head); /* S */
	unsigned long open = local_read(&r->head) - published;

	*left = open < r->size ? min(published, r->size - open) : 0;
	return r->data + (-published & (r->size - 1));
}

/* Waits, once after each freeze, until no writer is in the middle of a record. */
static void settle(struct tally_recorder *rec)
{
	lockdep_assert_held(&rec->lock);
	if (rec->settled)
		return;
	pause(rec, true);
	synchronize_rcu();
	rec->settled = true;
}

ssize_t tally_snapshot_read(struct tally_event *ev, int cpu, void *buf, size_t size)
{
	struct tally_recorder *rec = recorder_of(ev, true);
	unsigned long left;
	ssize_t n = -EBUSY;
	const void *data;
	int slot;

	might_sleep();
	if (!rec || tally_bad_ptr(buf))
		return -EINVAL;
	slot = cpu == -1 && !tally_counter_on_all_cpus(ev->counter) ? 0 :
	       tally_counter_slot_of(ev->counter, cpu);
	if (slot < 0)
		return slot;
	mutex_lock(&rec->lock);
	if (rec->ended) {
		n = -ESRCH;
	} else if (READ_ONCE(rec->frozen)) {
		settle(rec);
		data = newest(ring_at(rec, slot), &left);
		n = copy_records(data, left, buf, size);
	}
	mutex_unlock(&rec->lock);
	return n;
}
EXPORT_SYMBOL_TALLY(tally_snapshot_read);

/* Ends a freeze, under the recorder's lock. The next freeze may come at any moment. */
static void resume(struct tally_recorder *rec)
{
	rec->settled = false;
	WRITE_ONCE(rec->frozen, false);
	smp_mb(); /* tally_event_snapshot() */
	pause(rec, false);
	smp_mb(); /* tally_event_snapshot() */
	if (READ_ONCE(rec->frozen))
		pause(rec, true);
}

int tally_event_resume(struct tally_event *ev)
{
	struct tally_recorder *rec = recorder_of(ev, true);

	might_sleep();
	if (!rec)
		return -EINVAL;
	mutex_lock(&rec->lock);
	if (!rec->ended)
		resume(rec);
	mutex_unlock(&rec->lock);
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_event_resume);

/* ---- programs that look into the rings ---- */

/* Returns whether programs may map the rings of an event. */
bool tally_recorder_is_shared(const struct tally_event *ev)
{
	/* Another program's file may be giving the event its output. */
	const struct tally_output *out = smp_load_acquire(&ev->output);

	return out && out->recorder && out->recorder->shared;
}

/**
 * tally_recorder_info - describe the rings of an event to a program
 * @at: address of a pointer to an event with shared rings; the pointer becomes
 *	NULL a grace period before the event is freed
 * @info: receives the description; its size is not written
 *
 * Context: Process context.
 * Return: 0; ENODEV if the event is gone.
 */
int tally_recorder_info(struct tally_event *const *at, struct tally_ring_info *info)
{
	const struct tally_event *ev;
	const struct tally_output *out;

	rcu_read_lock();
	ev = READ_ONCE(*at);
	if (ev) {
		out = ev->output;
		info->sample_type = out->type;
		info->rings = out->nr_slots;
		info->pages = out->recorder->nr_pages;
		info->flags = (out->backward ? TALLY_RING_INFO_BACKWARD : 0) |
			      (out->trailer ? TALLY_RING_INFO_SAMPLE_ID : 0);
	}
	rcu_read_unlock();
	return ev ? 0 : -ENODEV;
}

/* The ring at an offset of a mapping, with a reference; or an ERR_PTR. */
static struct tally_ring *find_ring(struct tally_event *const *at, unsigned long pgoff)
{
	struct tally_ring *r = ERR_PTR(-ENODEV);
	const struct tally_event *ev;
	int slot;

	rcu_read_lock();
	ev = READ_ONCE(*at);
	if (ev) {
		slot = tally_output_slot_at(ev->output, pgoff);
		r = slot < 0 ? ERR_PTR(slot) : ring_at(ev->output->recorder, slot);
		if (!r || (!IS_ERR(r) && !tally_ring_get_found(r)))
			r = ERR_PTR(-ENODEV);
	}
	rcu_read_unlock();
	return r;
}

static void mapping_opened(struct vm_area_struct *vma)
{
	tally_ring_get(vma->vm_private_data);
}

static void mapping_closed(struct vm_area_struct *vma)
{
	tally_ring_put(vma->vm_private_data);
}

static const struct vm_operations_struct mapping_ops = {
	.open = mapping_opened,
	.close = mapping_closed,
};

/**
 * tally_recorder_mmap - map a shared ring into a program, read-only
 * @at: as for tally_recorder_info()
 * @vma: the mapping; its offset is that of a CPU's ring
 *
 * The mapping holds a reference to the ring, which may outlive the event.
 *
 * Context: Process context, with the program's mmap lock; no lock is taken.
 * Return: 0; EACCES for a writable mapping, EINVAL for a private mapping, a size that is
 * not the ring's and an offset that is no CPU's, ENODEV if the event is gone.
 */
int tally_recorder_mmap(struct tally_event *const *at, struct vm_area_struct *vma)
{
	struct tally_ring *r;
	int err = -EINVAL;

	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	r = find_ring(at, vma->vm_pgoff);
	if (IS_ERR(r))
		return PTR_ERR(r);
	tally_vm_flags(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
	if (vma->vm_flags & VM_SHARED && vma_pages(vma) == 1UL + r->nr_pages)
		err = tally_ring_map(r, vma);
	if (err) {
		tally_ring_put(r);
		return err;
	}
	vma->vm_private_data = r;
	vma->vm_ops = &mapping_ops;
	return 0;
}

/* ---- a panic ---- */

/* Changed under the outputs' lock. A panic reads it under RCU. */
LIST_HEAD(tally_flight_recorders);

/* All other CPUs have stopped, perhaps with a lock held: this takes none. */
static int freeze_all(struct notifier_block *nb, unsigned long unused, void *text)
{
	struct tally_recorder *rec;

	list_for_each_entry_rcu(rec, &tally_flight_recorders, node)
		freeze(rec);
	return NOTIFY_DONE;
}

static struct notifier_block panic_notifier = {
	.notifier_call = freeze_all,
};

void tally_recorder_init(void)
{
	atomic_notifier_chain_register(&panic_notifier_list, &panic_notifier);
}

void tally_recorder_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_notifier);
}

/* ---- its life ---- */

/**
 * tally_recorder_new - make the rings that a builder asks for, and their reader
 * @ev: the event, which has an output and cannot overflow yet
 * @b: the builder of the event
 * @target: the task and CPU that the event counts
 *
 * Context: Process context, may sleep.
 * Return: 0, or ENOMEM; what was made ends with the output.
 */
int tally_recorder_new(struct tally_event *ev, const struct tally_builder *b,
		       const struct tally_target *target)
{
	struct tally_output *out = ev->output;
	struct tally_ring_how how = {
		.nr_pages = b->ring_pages,
		.watermark = out->watermark,
		.backward = out->backward,
		.overwrite = out->backward,
		.cpu = target->cpu,
	};
	struct tally_recorder *rec = kzalloc(sizeof(*rec), GFP_KERNEL_ACCOUNT);
	int err;

	if (!rec)
		return -ENOMEM;
	mutex_init(&rec->lock);
	init_waitqueue_head(&rec->wait);
	INIT_LIST_HEAD(&rec->node);
	rec->out = out;
	rec->nr_pages = b->ring_pages;
	rec->shared = b->flags & TALLY_BUILDER_SHARED;
	out->recorder = rec;
	out->wait = &rec->wait;
	err = tally_output_fill(out, &how);
	if (!err && b->flags & TALLY_BUILDER_PANIC) {
		mutex_lock(&tally_outputs_lock);
		list_add_tail_rcu(&rec->node, &tally_flight_recorders);
		mutex_unlock(&tally_outputs_lock);
	}
	return err;
}

/**
 * tally_recorder_end - keep readers from rings that are about to go
 * @rec: the recorder; handlers of the event may freeze it until it is freed
 *
 * Context: Process context, may sleep.
 */
void tally_recorder_end(struct tally_recorder *rec)
{
	mutex_lock(&tally_outputs_lock);
	list_del_rcu(&rec->node);
	mutex_unlock(&tally_outputs_lock);
	mutex_lock(&rec->lock);
	rec->ended = true;
	mutex_unlock(&rec->lock);
}
