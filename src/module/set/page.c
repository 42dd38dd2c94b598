// SPDX-License-Identifier: GPL-2.0
/*
 * The page that a program maps from the file of an event.
 *
 * A page has a publisher while it is mapped; an unprivileged page (page.h),
 * always. mapped.c writes the counts.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <uapi/linux/tally.h>
#include "base/account.h"
#include "compat.h"
#include "event/event.h"
#include "set/page.h"
#include "set/publish.h"

/* Returns the size of a mapped page's publisher in bytes, without that page and those of CPUs. */
size_t tally_publisher_memory(void)
{
	return 2 * sizeof(struct publish_copy) + TALLY_SET_MOST * sizeof(void *) +
	       sizeof(struct tally_publisher) +
	       num_possible_cpus() * sizeof(struct publish_cpu);
}

/* Sets the interval that was asked for, or a longer one for many members and CPUs. */
static void set_interval(struct tally_publisher *p)
{
	unsigned int work = max(DIV_ROUND_UP(p->nr, 8),
				DIV_ROUND_UP(p->nr * p->nr_slots, 64));

	p->interval = max(p->mapping->interval, TALLY_PUBLISH_SHORTEST * work);
	if (p->account)
		atomic_add(work - p->work, &p->account->published);
	p->work = work;
}

/* Called with the publishers' lock. */
static void stop_publisher(struct tally_publisher *p)
{
	list_del(&p->node);
	tally_publisher_stop(p);
	if (p->account)
		atomic_sub(p->work, &p->account->published);
}

static void begin_write(struct tally_mapping *m)
{
	lockdep_assert_held(&tally_publishers_lock);
	while (xchg(&m->writing, 1))
		cpu_relax();
}

static void end_write(struct tally_mapping *m)
{
	/* Pairs with the exchange by the next writer. */
	smp_store_release(&m->writing, 0);
}

/*
 * Publishes all counts and writes the page. This CPU reads the events that are
 * not counting; each other one is read by the CPU on which it counts, and for
 * an unprivileged publisher not at all if that is another CPU. @writing is set
 * throughout, so no timer adds up a part of this.
 */
static void publish_now(struct tally_publisher *p)
{
	struct tally_mapping *m = p->mapping;
	unsigned int slot;

	begin_write(m);
	WRITE_ONCE(m->refreshed, ktime_get_mono_fast_ns());
	for (slot = 0; slot < p->nr_slots; slot++) {
		local_irq_disable();
		if (p->pages[slot])
			tally_publish_at_rest(p, slot);
		local_irq_enable();
	}
	tally_publish_counting(p);
	local_irq_disable();
	tally_mapped_add_up(p);
	tally_mapped_write(p);
	local_irq_enable();
	end_write(m);
}

/* Writes the current counts to the page, if that is published. */
static void refresh(struct tally_mapping *m)
{
	lockdep_assert_held(&m->lock);
	if (!m->publisher)
		return;
	mutex_lock(&tally_publishers_lock);
	publish_now(m->publisher);
	mutex_unlock(&tally_publishers_lock);
}

/*
 * Publishes the last counts of CPUs that are offline. The counts of a task are of no CPU. Returns
 * whether all counts were read: they are not while an event is being disabled, nor if the driver of
 * a PMU that serves several CPUs has moved the event to another CPU.
 */
static bool publish_offline(struct tally_publisher *p)
{
	unsigned int slot;
	bool all = true;
	int cpu;

	if (p->members[0]->counter->target.task)
		return true;
	for (slot = 0; slot < p->nr_slots; slot++) {
		cpu = p->nr_slots > 1 ? slot : tally_publisher_cpu(p);
		if (!p->pages[slot] || cpu_online(cpu))
			continue;
		local_irq_disable();
		all &= tally_publish_at_rest(p, slot);
		local_irq_enable();
	}
	return all;
}

/* Publishes again after CPUs came or went, in mapped pages and elsewhere. May sleep. */
void tally_pages_repair(void)
{
	struct tally_publisher *p;
	bool all = true;

	mutex_lock(&tally_publishers_lock);
	list_for_each_entry(p, &tally_publishers, node) {
		tally_publisher_start(p);
		if (p->mapping) {
			publish_now(p);
		} else {
			all &= publish_offline(p);
			tally_publish_counting(p);
		}
	}
	mutex_unlock(&tally_publishers_lock);
	if (all)
		return;
	/* Tries once more, when an event that was being disabled is off. */
	msleep(20);
	mutex_lock(&tally_publishers_lock);
	list_for_each_entry(p, &tally_publishers, node)
		if (!p->mapping)
			publish_offline(p);
	mutex_unlock(&tally_publishers_lock);
}

/*
 * Publishes in the page of a mapping, which is zeroed or from an earlier publisher. Many members
 * lengthen the interval, and so do many pages of one user. The owners of the members may publish
 * them by tally_publish() all the same. Returns 0 or ENOMEM.
 */
static int start_publisher(struct tally_mapping *m)
{
	struct tally_publisher *p;

	p = tally_publisher_new(m->members, m->nr, TALLY_SET_MOST, m->interval);
	if (!p)
		return -ENOMEM;
	p->sums = kcalloc(2, sizeof(*p->sums), GFP_KERNEL_ACCOUNT);
	if (!p->sums) {
		tally_publisher_free(p);
		return -ENOMEM;
	}
	p->unprivileged = m->unprivileged;
	p->mapping = m;
	p->account = m->account;
	tally_mapped_init(page_address(m->page));
	mutex_lock(&tally_publishers_lock);
	set_interval(p);
	list_add(&p->node, &tally_publishers);
	tally_publisher_start(p);
	publish_now(p);
	mutex_unlock(&tally_publishers_lock);
	m->publisher = p;
	return 0;
}

/* Stops writing the page. */
static void unpublish(struct tally_mapping *m)
{
	struct tally_publisher *p = m->publisher;

	if (!p)
		return;
	m->publisher = NULL;
	mutex_lock(&tally_publishers_lock);
	stop_publisher(p);
	mutex_unlock(&tally_publishers_lock);
	tally_publisher_free(p);
}

void tally_mapping_init(struct tally_mapping *m, u64 interval, struct tally_account *account)
{
	mutex_init(&m->lock);
	m->interval = interval ?: TALLY_PUBLISH_DEFAULT;
	m->account = m->interval >= TALLY_PUBLISH_DEFAULT ? account : NULL;
}

/* Frees the page. No program has it mapped, and none can map it any more. */
void tally_mapping_free_page(struct tally_mapping *m)
{
	if (m->page)
		put_page(m->page);
	m->page = NULL;
}

/* Stops publishing, and frees the page. No program has it mapped. May sleep. */
void tally_mapping_end(struct tally_mapping *m)
{
	unpublish(m);
	tally_mapping_free_page(m);
	mutex_destroy(&m->lock);
}

/* Stops publishing if no program has the page mapped, and read(2) does not need it. */
static void stop_unmapped(struct tally_mapping *m)
{
	lockdep_assert_held(&m->lock);
	if (!m->maps && !m->unprivileged)
		unpublish(m);
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

/* Called with @m locked. The page shows other events from now on. */
void tally_mapping_show(struct tally_mapping *m, struct tally_event **members,
			unsigned int nr)
{
	struct tally_publisher *p = m->publisher;
	unsigned int slot;

	lockdep_assert_held(&m->lock);
	m->members = members;
	m->nr = nr;
	if (!p)
		return;
	mutex_lock(&tally_publishers_lock);
	tally_publisher_stop(p);
	/* The counts of the previous members go. */
	for (slot = 0; slot < p->nr_slots; slot++)
		if (p->pages[slot])
			clear_page(p->pages[slot]);
	memcpy(p->members, members, nr * sizeof(*members));
	p->nr = nr;
	set_interval(p);
	tally_publisher_start(p);
	publish_now(p);
	mutex_unlock(&tally_publishers_lock);
}

/*
 * Sets the part of the only event's totals that the program does not see: that
 * from before it attached, or from before its last reset.
 */
void tally_mapping_rebase(struct tally_mapping *m, const struct tally_totals *base)
{
	mutex_lock(&m->lock);
	mutex_lock(&tally_publishers_lock);
	begin_write(m);
	m->attached = true;
	m->base = *base;
	end_write(m);
	if (m->publisher)
		publish_now(m->publisher);
	/* The owner has released the event. */
	else if (m->page && !m->nr)
		tally_mapped_zero(page_address(m->page));
	mutex_unlock(&tally_publishers_lock);
	mutex_unlock(&m->lock);
}

void tally_mapping_refresh(struct tally_mapping *m)
{
	mutex_lock(&m->lock);
	refresh(m);
	mutex_unlock(&m->lock);
}

/* Frees the publisher. The page keeps @count, or if that is NULL, a count that is read now. */
static void publish_last(struct tally_mapping *m, const struct tally_count *count)
{
	struct tally_publisher *p = m->publisher;
	struct publish_copy *sum = p->sums;

	mutex_lock(&tally_publishers_lock);
	stop_publisher(p);
	if (count) {
		sum->totals[0].value = count->value;
		sum->totals[0].enabled = count->enabled_ns;
		sum->totals[0].running = count->running_ns;
	} else {
		/* With an interval of 0, each copy is old enough to be replaced. */
		p->interval = 0;
		publish_now(p);
	}
	sum->states[0] = TALLY_IS_RELEASED;
	local_irq_disable();
	tally_mapped_write(p);
	local_irq_enable();
	mutex_unlock(&tally_publishers_lock);
	tally_publisher_free(p);
	m->publisher = NULL;
}

/*
 * Ends publishing: the only event is being released, or the file. The page keeps the last count:
 * @count, or if that is NULL, as for an unprivileged page whose event is being released, one that
 * is read now.
 */
void tally_mapping_finish(struct tally_mapping *m, const struct tally_count *count)
{
	mutex_lock(&m->lock);
	m->nr = 0;
	if (m->publisher)
		publish_last(m, count);
	mutex_unlock(&m->lock);
}

/* perf, too, refuses a page for an inherited event. */
static int start(struct tally_mapping *m)
{
	if (m->publisher)
		return 0;
	if (!m->nr)
		return -ENODEV;
	if (m->members[0]->counter->by_perf)
		return m->members[0]->attr.inherit ? -EINVAL : -EOPNOTSUPP;
	return start_publisher(m);
}

static int start_page(struct tally_mapping *m)
{
	lockdep_assert_held(&m->lock);
	if (!m->page)
		m->page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	return m->page ? start(m) : -ENOMEM;
}

/**
 * tally_mapping_publish - publish an event without interrupts on any CPU
 * @m: state of the page, new; it is unprivileged from now on
 * @member: pointer to the event's pointer, which stays as long as @m; the event
 *	has another owner and is not inherited
 *
 * Return: 0; ENOMEM; EOPNOTSUPP for an event that only perf reads.
 */
int tally_mapping_publish(struct tally_mapping *m, struct tally_event **member)
{
	int err = tally_publish_share(*member);

	if (err)
		return err;
	mutex_lock(&m->lock);
	m->unprivileged = true;
	m->attached = true;
	m->members = member;
	m->nr = 1;
	err = start_page(m);
	mutex_unlock(&m->lock);
	return err;
}

/**
 * tally_mapping_read - read the count of an unprivileged page
 * @m: state of the page
 * @count: receives the count; its state is TALLY_IS_RELEASED after tally_mapping_finish()
 * @time_ns: receives the time of publishing, as the page shows it
 *
 * The count is one that programs see in the page. If the page was not refreshed for an
 * interval, this publishes what can be read here, without interrupting a CPU.
 */
void tally_mapping_read(struct tally_mapping *m, struct tally_count *count, u64 *time_ns)
{
	memset(count, 0, sizeof(*count));
	count->state = TALLY_IS_RELEASED;
	*time_ns = 0;
	mutex_lock(&m->lock);
	if (m->publisher &&
	    ktime_get_mono_fast_ns() - READ_ONCE(m->refreshed) >= m->publisher->interval)
		refresh(m);
	if (m->page)
		tally_mapped_read(page_address(m->page), count, time_ns);
	mutex_unlock(&m->lock);
}

/* Sets the value that the program sees to 0, from what was published last. Reads no event. */
static void zero(struct tally_mapping *m)
{
	struct tally_publisher *p = m->publisher;

	mutex_lock(&tally_publishers_lock);
	begin_write(m);
	local_irq_disable();
	tally_mapped_add_up(p);
	m->base.value += p->sums->totals[0].value;
	p->sums->totals[0].value = 0;
	tally_mapped_write(p);
	local_irq_enable();
	end_write(m);
	mutex_unlock(&tally_publishers_lock);
}

/* Sets the value of an unprivileged page to 0. */
void tally_mapping_reset(struct tally_mapping *m)
{
	mutex_lock(&m->lock);
	if (m->publisher)
		zero(m);
	else if (m->page)
		tally_mapped_zero(page_address(m->page));
	mutex_unlock(&m->lock);
}

static int map(struct tally_mapping *m, struct vm_area_struct *vma)
{
	int err = start_page(m);

	if (err)
		return err;
	vma->vm_private_data = m;
	vma->vm_ops = &mapping_ops;
	m->maps++;
	return 0;
}

/**
 * tally_mapping_mmap - map the page into a program
 * @m: state of the page
 * @vma: the mapping
 *
 * Return: 0; EINVAL for another size or offset, a private mapping, and an
 * inherited event; EACCES for a writable mapping; ENODEV if the events are
 * gone; EOPNOTSUPP for an event that only perf reads; ENOMEM.
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
