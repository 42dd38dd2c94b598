// SPDX-License-Identifier: GPL-2.0
/*
 * Rings that programs map from the files of their events.
 *
 * The first mapping of a struct tally_output_slot makes its ring, unless the slot has the ring of
 * another event, by PERF_EVENT_IOC_SET_OUTPUT. Each mapping counts twice: for the slot of the file
 * that it was made from, and for the ring. When the last mapping of a slot goes, its output and
 * the followers lose the ring; when the last mapping of a ring goes, all other outputs do, too.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <uapi/linux/tally.h>
#include "base/mlock.h"
#include "compat.h"
#include "record/output.h"
#include "record/ring.h"

static void mapping_opened(struct vm_area_struct *vma)
{
	struct tally_output_slot *s = vma->vm_private_data;

	mutex_lock(&tally_outputs_lock);
	s->maps++;
	tally_output_ring(s)->maps++;
	mutex_unlock(&tally_outputs_lock);
}

/* Detaches a ring that no program has mapped any more from all outputs, and ends its charge. */
static void detach_unmapped(struct tally_ring *r)
{
	struct tally_output_slot *s, *next;

	list_for_each_entry_safe(s, next, &r->outputs, node)
		tally_output_detach_slot(s);
	tally_munlock(&r->mlock);
}

/*
 * Takes one mapping off the counts of a slot and its ring. With the last one,
 * the slot loses the ring, unless @keep. Called under the outputs' lock.
 */
static void unmap(struct tally_output_slot *s, bool keep)
{
	struct tally_ring *r = tally_ring_get(tally_output_ring(s));

	if (!--s->maps && !keep)
		tally_output_detach(s->out, s - s->out->slots);
	if (!--r->maps)
		detach_unmapped(r);
	tally_ring_put(r);
}

static void mapping_closed(struct vm_area_struct *vma)
{
	mutex_lock(&tally_outputs_lock);
	unmap(vma->vm_private_data, false);
	mutex_unlock(&tally_outputs_lock);
}

/* As in perf, a program unmaps and protects a mapping as a whole. */
static int mapping_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

/* Programs may write to the header page alone. */
static vm_fault_t mapping_pfn_mkwrite(struct vm_fault *vmf)
{
	return vmf->pgoff & (TALLY_RING_PAGES - 1) ? VM_FAULT_SIGBUS : 0;
}

static const struct vm_operations_struct mapping_ops = {
	.open = mapping_opened,
	.close = mapping_closed,
	.may_split = mapping_may_split,
	.pfn_mkwrite = mapping_pfn_mkwrite,
};

/* The ring of a slot; NULL if there is none, ERR_PTR(-EINVAL) if it has not @nr_pages pages. */
static struct tally_ring *existing(struct tally_output_slot *s, unsigned int nr_pages)
{
	struct tally_ring *r = tally_output_ring(s);

	if (r && r->nr_pages != nr_pages)
		return ERR_PTR(-EINVAL);
	return r;
}

/*
 * Counts one more mapping of a ring, and attaches the ring to the slot if that
 * has none. Returns whether the slot had it.
 */
static bool use_ring(struct tally_output *out, unsigned int slot, struct tally_ring *r)
{
	struct tally_output_slot *s = &out->slots[slot];
	bool had = tally_output_ring(s) == r;

	lockdep_assert_held(&tally_outputs_lock);
	if (!had)
		tally_output_attach(out, slot, r);
	s->maps++;
	r->maps++;
	return had;
}

/*
 * Maps the ring for which use_ring() has counted a mapping, and returned @had. The outputs' lock is
 * not held: page tables are charged to the program's cgroup, where an allocation may take long.
 */
static int map_ring(struct tally_output_slot *s, struct tally_ring *r, bool had,
		    struct vm_area_struct *vma)
{
	int err = tally_ring_map(r, vma);

	if (err) {
		mutex_lock(&tally_outputs_lock);
		unmap(s, had);
		mutex_unlock(&tally_outputs_lock);
		return err;
	}
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
	bool had = false;
	int slot, err = 0;

	slot = check_mapping(out, vma);
	if (slot < 0)
		return slot;
	tally_vm_flags(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
		       vma->vm_flags & VM_WRITE ? 0 : VM_MAYWRITE);
	mutex_lock(&tally_outputs_lock);
	r = existing(&out->slots[slot], vma_pages(vma) - 1);
	if (!r) {
		/* The lock is dropped, so that other programs can map rings meanwhile. */
		mutex_unlock(&tally_outputs_lock);
		fresh = make(out, out->nr_slots > 1 ? slot : out->cpu, vma);
		mutex_lock(&tally_outputs_lock);
		r = IS_ERR(fresh) ? fresh : existing(&out->slots[slot], vma_pages(vma) - 1);
		r = r ?: fresh;
	}
	if (IS_ERR(r)) {
		err = PTR_ERR(r);
	} else {
		WRITE_ONCE(out->wait, wait);
		had = use_ring(out, slot, r);
	}
	mutex_unlock(&tally_outputs_lock);
	err = err ?: map_ring(&out->slots[slot], r, had, vma);
	if (!IS_ERR_OR_NULL(fresh)) {
		if (r != fresh)
			tally_munlock(&fresh->mlock);
		tally_ring_put(fresh);
	}
	return err;
}

/**
 * tally_output_mmap - a program maps a ring of an event that it has made
 * @ev: the event, which may have no output yet
 * @wait: queue of those who poll the file
 * @vma: the mapping. If it is writable, a new ring keeps records until the
 *	program has read them; else new records overwrite the oldest.
 *
 * Context: Process context, with the program's mmap lock.
 * Return: 0; EINVAL for a size that is not 1 + 2^n pages, or is too large for
 * the distance of two rings, or is not that of the slot's ring; for an offset
 * that is no CPU's, a private mapping, and an inherited event that is not on
 * one CPU; EPERM for more memory than may be locked; ENOMEM; or the error of
 * remap_pfn_range().
 */
int tally_output_mmap(struct tally_event *ev, wait_queue_head_t *wait,
		      struct vm_area_struct *vma)
{
	struct tally_output *out;

	mutex_lock(&tally_outputs_lock);
	out = tally_output_of(ev);
	mutex_unlock(&tally_outputs_lock);
	return out ? map_output(out, wait, vma) : -ENOMEM;
}
