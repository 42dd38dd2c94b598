// SPDX-License-Identifier: GPL-2.0
/*
 * Rings whose reader is a module: made with the event, and gone with it. A program may
 * map one, read-only, if the module allows it; so what they hold is what our writers
 * put there.
 *
 * A forward ring is read as a program would read it. A backward one, the flight
 * recorder, is written over all the time, and has to be frozen first: nothing is
 * written while tally_ring::paused is set. Who freezes may be in an NMI, on top of a
 * writer; so it only sets that, and it is the reader that waits, for a grace period,
 * until all who may not have seen it are through.
 *
 * Ordering, beside ring.c (R to U):
 *
 * V. tally_event_snapshot() writes @frozen, then @paused of each ring, then looks at
 *    @frozen again, and begins anew if it was cleared; tally_event_resume() clears
 *    @frozen, then @paused, then looks at @frozen again: full barriers in between, so
 *    that at the end of both what is frozen is paused, and nothing else. A reader that
 *    sees @frozen sets @paused once more: who freezes may not be through with it.
 *    Writers hold off preemption, and are gone a grace period later.
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
#include "builder/builder.h"
#include "compat.h"
#include "event/event.h"
#include "record/output.h"
#include "record/recorder.h"
#include "record/ring.h"

/*
 * NULL where no CPU can be, and of an event that is being released. To be called under
 * RCU, or with the recorder's lock while it has not ended.
 */
static struct tally_ring *ring_at(const struct tally_recorder *rec, unsigned int slot)
{
	return rcu_dereference_raw(rec->out->slots[slot].ring);
}

static struct tally_recorder *recorder_of(const struct tally_event *ev, bool backward)
{
	const struct tally_output *out = ev->output;

	return out && out->recorder && out->backward == backward ? out->recorder : NULL;
}

/* The ring that a CPU's number means; EINVAL if there is none. */
static int slot_of(const struct tally_event *ev, int cpu)
{
	const struct tally_counter *c = ev->counter;

	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;
	if (tally_counter_on_all_cpus(c))
		return c->nr_slots > 1 ? cpu : 0;
	return c->target.cpu == cpu ? 0 : -EINVAL;
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

/* As many whole records as there is room for; EMSGSIZE if there is for none. */
static ssize_t take(struct tally_ring *r, void *buf, size_t size)
{
	unsigned long head = smp_load_acquire(&r->page->data_head); /* S */
	unsigned long tail = r->page->data_tail;
	const void *data = r->data + (tail & (r->size - 1));
	size_t n = 0;
	unsigned int one;

	while (tail + n != head) {
		one = record_size(data + n, head - tail - n);
		if (WARN_ON_ONCE(!one))
			return -EIO;
		if (one > size - n)
			break;
		n += one;
	}
	if (!n)
		return tail == head ? 0 : -EMSGSIZE;
	memcpy(buf, data, n);
	smp_store_release(&r->page->data_tail, tail + n); /* R */
	return n;
}

/* Where it ends for want of room, the next time begins. */
static ssize_t take_all(struct tally_recorder *rec, void *buf, size_t size)
{
	unsigned int i, slot, nr = rec->out->nr_slots, first = rec->next;
	struct tally_ring *r;
	size_t all = 0;
	ssize_t n;

	for (i = 0; i < nr; i++) {
		slot = (first + i) % nr;
		r = ring_at(rec, slot);
		n = r ? take(r, buf + all, size - all) : 0;
		if (n < 0) {
			rec->next = slot;
			return all ?: n;
		}
		all += n;
	}
	return all;
}

/**
 * tally_ring_read - records out of a forward ring
 * @ev: the event, built with tally_builder_ring() and without TALLY_RING_BACKWARD
 * @cpu: whose; -1 for those of all rings, each CPU's in one piece
 * @buf: receives them, one behind the other, each with its perf_event_header
 * @size: of @buf; 65536 is enough for any record
 *
 * The oldest ones, and only whole ones; they make room in the ring. Those of one CPU
 * are in the order in which they came. Readers wait for each other.
 *
 * Context: Process context, may sleep.
 * Return: how many bytes, 0 if there are no records; EINVAL for an event without
 * such a ring and for a CPU that does not exist or that the event is not on,
 * EMSGSIZE if @size is too small for the next record; ESRCH in a handler of an event
 * that is being released.
 */
ssize_t tally_ring_read(struct tally_event *ev, int cpu, void *buf, size_t size)
{
	struct tally_recorder *rec = recorder_of(ev, false);
	int slot = cpu == -1 ? 0 : slot_of(ev, cpu);
	ssize_t n;

	might_sleep();
	if (!rec)
		return -EINVAL;
	if (slot < 0)
		return slot;
	mutex_lock(&rec->lock);
	if (rec->ended)
		n = -ESRCH;
	else if (cpu == -1)
		n = take_all(rec, buf, size);
	else
		n = take(ring_at(rec, slot), buf, size);
	mutex_unlock(&rec->lock);
	return n;
}
EXPORT_SYMBOL_TALLY(tally_ring_read);

/**
 * tally_ring_wait - until there is something for tally_ring_read()
 * @ev: the event, as for that; not to be released meanwhile
 * @timeout: in jiffies
 *
 * At once if there is any record. Else until the ring of a CPU is half full, or as
 * full as perf_event_attr's wakeup_watermark or wakeup_events said; or for @timeout,
 * if no record at all has come by then.
 *
 * Context: Process context, may sleep.
 * Return: 0; ETIMEDOUT, EINTR for a signal, EINVAL for an event without such a ring.
 */
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

/* In any context. */
static void freeze(struct tally_recorder *rec)
{
	rcu_read_lock();
	do {
		WRITE_ONCE(rec->frozen, true);
		smp_mb(); /* V */
		pause(rec, true);
		smp_mb(); /* V */
		/* Else it was resumed in between: this is after that. */
	} while (!READ_ONCE(rec->frozen));
	rcu_read_unlock();
}

/**
 * tally_event_snapshot - keep what the flight recorder has
 * @ev: the event, built with tally_builder_ring() and TALLY_RING_BACKWARD
 *
 * From now on, on all CPUs, nothing is written over; what comes is lost, and
 * counted, until tally_event_resume(). A handler of @ev that calls this has the
 * record of its own overflow in the ring. To freeze what is frozen changes nothing.
 *
 * Context: Any context, NMI included, handlers of this event and of others.
 * Return: 0; EINVAL for an event without such a ring.
 */
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
	unsigned long told = -(unsigned long)smp_load_acquire(&r->page->data_head); /* S */
	unsigned long open = local_read(&r->head) - told;

	*left = open < r->size ? min(told, r->size - open) : 0;
	return r->data + (-told & (r->size - 1));
}

static ssize_t copy_newest(const struct tally_ring *r, void *buf, size_t size)
{
	unsigned long left;
	const void *data = newest(r, &left);
	unsigned int one;
	size_t n = 0;

	while ((one = record_size(data + n, left - n)) && one <= size - n)
		n += one;
	memcpy(buf, data, n);
	return !n && one ? -EMSGSIZE : n;
}

/* Until nobody is in the middle of a record. */
static void settle(struct tally_recorder *rec)
{
	lockdep_assert_held(&rec->lock);
	if (rec->settled)
		return;
	pause(rec, true); /* V */
	synchronize_rcu();
	rec->settled = true;
}

/**
 * tally_snapshot_read - the newest records of what is frozen
 * @ev: the event, after tally_event_snapshot()
 * @cpu: whose; -1 if the event is of one CPU or one task
 * @buf: receives them, the newest first, each with its perf_event_header
 * @size: of @buf; that of the ring is enough for all
 *
 * They stay, and can be read again.
 *
 * Context: Process context, may sleep: the first time for an RCU grace period.
 * Return: how many bytes, 0 if there are no records; EBUSY if it is not frozen,
 * EINVAL for an event without such a ring and for a CPU that does not exist or that
 * the event is not on, EMSGSIZE if @size is too small for the newest record, ESRCH as
 * tally_ring_read().
 */
ssize_t tally_snapshot_read(struct tally_event *ev, int cpu, void *buf, size_t size)
{
	struct tally_recorder *rec = recorder_of(ev, true);
	ssize_t n = -EBUSY;
	int slot;

	might_sleep();
	if (!rec)
		return -EINVAL;
	slot = cpu == -1 && !tally_counter_on_all_cpus(ev->counter) ? 0 : slot_of(ev, cpu);
	if (slot < 0)
		return slot;
	mutex_lock(&rec->lock);
	if (rec->ended) {
		n = -ESRCH;
	} else if (READ_ONCE(rec->frozen)) {
		settle(rec);
		n = copy_newest(ring_at(rec, slot), buf, size);
	}
	mutex_unlock(&rec->lock);
	return n;
}
EXPORT_SYMBOL_TALLY(tally_snapshot_read);

static void resume(struct tally_recorder *rec)
{
	rec->settled = false;
	WRITE_ONCE(rec->frozen, false);
	smp_mb(); /* V */
	pause(rec, false);
	smp_mb(); /* V */
	if (READ_ONCE(rec->frozen))
		pause(rec, true);
}

/**
 * tally_event_resume - the flight recorder goes on
 * @ev: the event
 *
 * What is in its rings stays there until it is written over. A
 * tally_event_snapshot() that comes at the same time is before it or behind it.
 *
 * Context: Process context, may sleep.
 * Return: 0, also if it was not frozen; EINVAL for an event without such a ring.
 */
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

bool tally_recorder_is_shared(const struct tally_event *ev)
{
	return ev->output && ev->output->recorder && ev->output->recorder->shared;
}

/**
 * tally_recorder_info - what a program has to know of rings to read them
 * @at: where the pointer to an event stands whose rings are shared, which becomes NULL
 *	a grace period before the event is freed
 * @info: receives it
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
 * tally_recorder_mmap - a program maps a ring, to read it
 * @at: as for tally_recorder_info()
 * @vma: where; its offset says which CPU's ring
 *
 * The mapping has a reference to the ring, which outlives the event by that.
 *
 * Context: In the lock of the program's mappings; no lock is taken.
 * Return: 0; EACCES if it is to be written to, EINVAL for a private mapping, another
 * size than the ring's and an offset that is no CPU's, ENODEV if the event is gone.
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

/* Guards the list, but for a panic, which only looks. */
static DEFINE_MUTEX(panic_lock);
LIST_HEAD(tally_flight_recorders);

/* All other CPUs have stopped, maybe with a lock held: none is taken here. */
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

static void add_to_freeze(struct tally_recorder *rec)
{
	mutex_lock(&panic_lock);
	rec->panics = true;
	list_add_tail_rcu(&rec->node, &tally_flight_recorders);
	mutex_unlock(&panic_lock);
}

static void del_to_freeze(struct tally_recorder *rec)
{
	mutex_lock(&panic_lock);
	list_del_rcu(&rec->node);
	mutex_unlock(&panic_lock);
}

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
 * tally_recorder_new - the rings that a builder asked for
 * @ev: the event, which has an output and cannot overflow yet
 * @b: its builder
 * @target: whom it counts
 *
 * Return: 0, or ENOMEM: what is there by then goes with the output.
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
	struct tally_recorder *rec = kzalloc(sizeof(*rec), GFP_KERNEL);
	int err;

	if (!rec)
		return -ENOMEM;
	mutex_init(&rec->lock);
	init_waitqueue_head(&rec->wait);
	rec->out = out;
	rec->nr_pages = b->ring_pages;
	rec->shared = b->flags & TALLY_BUILDER_SHARED;
	out->recorder = rec;
	out->wait = &rec->wait;
	err = tally_output_fill(out, &how);
	if (!err && b->flags & TALLY_BUILDER_PANIC)
		add_to_freeze(rec);
	return err;
}

/* Before the rings go; handlers may still ask for them until it is freed. */
void tally_recorder_end(struct tally_recorder *rec)
{
	if (rec->panics)
		del_to_freeze(rec);
	mutex_lock(&rec->lock);
	rec->ended = true;
	mutex_unlock(&rec->lock);
}
