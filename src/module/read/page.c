// SPDX-License-Identifier: GPL-2.0
/*
 * The page that a program maps from the file of an event.
 *
 * It is published in as long as anybody has it mapped.
 */
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <uapi/linux/tally.h>
#include "compat.h"
#include "event/event.h"
#include "read/page.h"
#include "read/publish.h"

static_assert(sizeof(struct perf_event_mmap_page) <= TALLY_PAGE_AT);
static_assert(sizeof(struct tally_page) <= 4096 - TALLY_PAGE_AT);

void tally_mapping_init(struct tally_mapping *m, u64 interval)
{
	mutex_init(&m->lock);
	m->interval = interval ?: TALLY_PUBLISH_DEFAULT;
}

/* Nobody has it mapped, nor will. */
void tally_mapping_end(struct tally_mapping *m)
{
	tally_publisher_unmap(m->publisher);
	if (m->page)
		put_page(m->page);
	mutex_destroy(&m->lock);
}

/* Nothing is published for nobody. */
static void stop_unmapped(struct tally_mapping *m)
{
	lockdep_assert_held(&m->lock);
	if (m->maps)
		return;
	tally_publisher_unmap(m->publisher);
	m->publisher = NULL;
}

static void mapping_opened(struct vm_area_struct *vma)
{
	struct tally_mapping *m = vma->vm_private_data;

	mutex_lock(&m->lock);
	m->maps++;
	mutex_unlock(&m->lock);
}

static void mapping_closed(struct vm_area_struct *vma)
{
	struct tally_mapping *m = vma->vm_private_data;

	mutex_lock(&m->lock);
	m->maps--;
	stop_unmapped(m);
	mutex_unlock(&m->lock);
}

static vm_fault_t mapping_fault(struct vm_fault *vmf)
{
	struct tally_mapping *m = vmf->vma->vm_private_data;

	if (vmf->pgoff)
		return VM_FAULT_SIGBUS;
	get_page(m->page);
	vmf->page = m->page;
	return 0;
}

static const struct vm_operations_struct mapping_ops = {
	.open = mapping_opened,
	.close = mapping_closed,
	.fault = mapping_fault,
};

/* Under the lock: other events from now on. */
void tally_mapping_show(struct tally_mapping *m, struct tally_event **members,
			unsigned int nr)
{
	lockdep_assert_held(&m->lock);
	m->members = members;
	m->nr = nr;
	tally_publisher_change(m->publisher, members, nr);
}

/* Of the only event, another part is not the program's from now on. */
void tally_mapping_rebase(struct tally_mapping *m, const struct tally_totals *base)
{
	mutex_lock(&m->lock);
	m->attached = true;
	m->base = *base;
	tally_publisher_refresh(m->publisher, base);
	mutex_unlock(&m->lock);
}

void tally_mapping_refresh(struct tally_mapping *m)
{
	mutex_lock(&m->lock);
	tally_publisher_refresh(m->publisher, NULL);
	mutex_unlock(&m->lock);
}

/* The only event goes; the page keeps what it had counted at last. */
void tally_mapping_last(struct tally_mapping *m, const struct tally_count *count)
{
	mutex_lock(&m->lock);
	m->nr = 0;
	tally_publisher_last(m->publisher, count);
	m->publisher = NULL;
	mutex_unlock(&m->lock);
}

/* perf refuses a page for an event that counts in children, too. */
static int start(struct tally_mapping *m)
{
	if (m->publisher)
		return 0;
	if (!m->nr)
		return -ENODEV;
	if (m->members[0]->attr.inherit)
		return -EINVAL;
	m->publisher = tally_publisher_map(m->members, m->nr, m->interval,
					   page_address(m->page),
					   m->attached ? &m->base : NULL);
	return m->publisher ? 0 : -ENOMEM;
}

static int map(struct tally_mapping *m, struct vm_area_struct *vma)
{
	int err;

	lockdep_assert_held(&m->lock);
	if (!m->page)
		m->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!m->page)
		return -ENOMEM;
	err = start(m);
	if (err)
		return err;
	vma->vm_private_data = m;
	vma->vm_ops = &mapping_ops;
	m->maps++;
	return 0;
}

/**
 * tally_mapping_mmap - map the page
 * @m: which
 * @vma: where
 *
 * Return: 0; EINVAL for another size or offset, for a private mapping and of an
 * inherited event, EACCES for a mapping that is to be written to, ENODEV if the
 * events are gone, ENOMEM.
 */
int tally_mapping_mmap(struct tally_mapping *m, struct vm_area_struct *vma)
{
	int err;

	if (vma->vm_pgoff || vma->vm_end - vma->vm_start != PAGE_SIZE ||
	    !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	tally_vm_flags(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
	mutex_lock(&m->lock);
	err = map(m, vma);
	mutex_unlock(&m->lock);
	return err;
}
