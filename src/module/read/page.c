// SPDX-License-Identifier: GPL-2.0
/*
 * The page that a program maps from the file of an event.
 *
 * Counts are published in the page while a program has it mapped. mapped.c writes it.
 */
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
#include "base/budget.h"
#include "compat.h"
#include "event/event.h"
#include "read/page.h"
#include "read/publish.h"
#include "read/publisher.h"

/*
 * Guards the list of publishers with a mapped page, their members and their timers.
 * Taken inside the mmap lock of a program, so perf's locks must not be taken inside it:
 * perf copies to user memory, which may take the mmap lock, while it holds them.
 */
static DEFINE_MUTEX(mapped_lock);
static LIST_HEAD(mapped);

/* Size of the memory for a mapped page in bytes, without one page for each CPU. */
size_t tally_publisher_memory(void)
{
	return sizeof(struct publish_mapped) + TALLY_SET_MOST * sizeof(void *) +
	       sizeof(struct tally_publisher) +
	       num_possible_cpus() * sizeof(struct publish_cpu);
}

/* Sets the interval that was asked for, or a longer one for many members and CPUs. */
static void set_interval(struct tally_publisher *p)
{
	unsigned int work = max(DIV_ROUND_UP(p->nr, 8),
				DIV_ROUND_UP(p->nr * p->nr_slots, 64));

	p->interval = max(p->asked, TALLY_PUBLISH_SHORTEST * work);
	if (p->budget)
		atomic_add(work - p->work, &p->budget->published);
	p->work = work;
}

/* Called with mapped_lock. */
static void stop_publisher(struct tally_publisher *p)
{
	list_del(&p->node);
	tally_publisher_stop(p);
	if (p->budget)
		atomic_sub(p->work, &p->budget->published);
}

/*
 * Publishes all counts and writes the page. This CPU reads the events that are not
 * counting; each other one is read by the CPU on which it counts, and for a quiet publisher
 * not at all if that is another CPU. @writing is set throughout, so no timer adds up a part
 * of this.
 */
static void publish_now(struct tally_publisher *p, const struct tally_totals *base)
{
	struct publish_mapped *m = p->mapped;
	unsigned int slot;

	lockdep_assert_held(&mapped_lock);
	while (xchg(&m->writing, 1))
		cpu_relax();
	if (base)
		m->base = *base;
	m->refreshed = ktime_get_mono_fast_ns();
	local_irq_disable();
	for (slot = 0; slot < p->nr_slots; slot++)
		if (p->pages[slot])
			tally_publish_at_rest(p, slot);
	local_irq_enable();
	tally_publish_counting(p);
	local_irq_disable();
	tally_mapped_add_up(p);
	tally_mapped_write(p);
	local_irq_enable();
	/* Pairs with the exchange by the next writer. */
	smp_store_release(&m->writing, 0);
}

/**
 * publisher_refresh - write the current counts to a mapped page
 * @p: publisher from publisher_map(); NULL is ignored
 * @base: totals from before the program attached, or from before its last reset, which it
 *	does not see; NULL to keep those given before
 *
 * Context: Process context, may sleep.
 */
static void publisher_refresh(struct tally_publisher *p,
			      const struct tally_totals *base)
{
	if (!p)
		return;
	mutex_lock(&mapped_lock);
	publish_now(p, base);
	mutex_unlock(&mapped_lock);
}

/* Sets the value that the program sees to 0. Publishes nothing. */
static void publisher_zero(struct tally_publisher *p)
{
	struct publish_mapped *m = p->mapped;

	mutex_lock(&mapped_lock);
	while (xchg(&m->writing, 1))
		cpu_relax();
	local_irq_disable();
	tally_mapped_add_up(p);
	m->base.value += m->sum.totals[0].value;
	m->sum.totals[0].value = 0;
	tally_mapped_write(p);
	local_irq_enable();
	/* Pairs with the exchange by the next writer. */
	smp_store_release(&m->writing, 0);
	mutex_unlock(&mapped_lock);
}

/* Publishes again after CPUs came or went, in mapped pages and elsewhere. */
void tally_pages_repair(void)
{
	struct tally_publisher *p;

	tally_publish_repair();
	mutex_lock(&mapped_lock);
	list_for_each_entry(p, &mapped, node) {
		tally_publisher_start(p);
		publish_now(p, NULL);
	}
	mutex_unlock(&mapped_lock);
}

/**
 * publisher_map - publish in a page that a user program maps
 * @m: the mapping, with its page, which is zeroed or from an earlier publisher
 *
 * Many members lengthen the interval, and so do many pages of one user, unless the interval is
 * below the default, which takes CAP_PERFMON.
 *
 * The owners of the members may publish them by tally_publish() all the same.
 *
 * Context: Process context, may sleep.
 * Return: the publisher; NULL if there is no memory.
 */
static struct tally_publisher *publisher_map(const struct tally_mapping *m)
{
	struct tally_publisher *p;

	p = tally_publisher_new(m->members, m->nr, TALLY_SET_MOST, m->interval);
	if (!p)
		return NULL;
	p->quiet = m->quiet;
	p->mapped = kzalloc(sizeof(*p->mapped), GFP_KERNEL_ACCOUNT);
	if (!p->mapped) {
		tally_publisher_free(p);
		return NULL;
	}
	p->mapped->page = page_address(m->page);
	if (m->attached) {
		p->mapped->attached = true;
		p->mapped->base = m->base;
	}
	tally_mapped_init(p->mapped->page);
	if (m->interval >= TALLY_PUBLISH_DEFAULT)
		p->budget = m->budget;
	mutex_lock(&mapped_lock);
	set_interval(p);
	list_add(&p->node, &mapped);
	tally_publisher_start(p);
	publish_now(p, NULL);
	mutex_unlock(&mapped_lock);
	return p;
}

/**
 * publisher_change - publish other events in the same page
 * @p: publisher from publisher_map(); NULL is ignored
 * @members: the events, on the same target; they are not freed before the publisher
 * @nr: number of @members
 *
 * Context: Process context, may sleep.
 */
static void publisher_change(struct tally_publisher *p,
			     struct tally_event **members, unsigned int nr)
{
	unsigned int slot;

	if (!p)
		return;
	mutex_lock(&mapped_lock);
	tally_publisher_stop(p);
	/* The counts of the previous members go. */
	for (slot = 0; slot < p->nr_slots; slot++)
		if (p->pages[slot])
			clear_page(p->pages[slot]);
	memcpy(p->members, members, nr * sizeof(*members));
	p->nr = nr;
	set_interval(p);
	tally_publisher_start(p);
	publish_now(p, NULL);
	mutex_unlock(&mapped_lock);
}

/**
 * publisher_last - write the last count to a mapped page
 * @p: publisher from publisher_map(), of one event; freed. NULL is ignored.
 * @count: last count that the program sees; NULL for a quiet publisher, which has it
 *
 * Context: Process context, may sleep.
 */
static void publisher_last(struct tally_publisher *p,
			   const struct tally_count *count)
{
	struct publish_mapped *m;

	if (!p)
		return;
	m = p->mapped;
	mutex_lock(&mapped_lock);
	stop_publisher(p);
	if (count) {
		m->sum.totals[0].value = count->value;
		m->sum.totals[0].enabled = count->enabled_ns;
		m->sum.totals[0].running = count->running_ns;
	} else {
		/* No copy is too new. The event is counting nowhere. */
		p->interval = 0;
		publish_now(p, NULL);
	}
	m->sum.states[0] = TALLY_IS_RELEASED;
	local_irq_disable();
	tally_mapped_write(p);
	local_irq_enable();
	mutex_unlock(&mapped_lock);
	tally_publisher_free(p);
}

/**
 * publisher_unmap - stop writing a mapped page
 * @p: publisher from publisher_map(); freed. NULL is ignored.
 *
 * Context: Process context, may sleep.
 */
static void publisher_unmap(struct tally_publisher *p)
{
	if (!p)
		return;
	mutex_lock(&mapped_lock);
	stop_publisher(p);
	mutex_unlock(&mapped_lock);
	tally_publisher_free(p);
}

void tally_mapping_init(struct tally_mapping *m, u64 interval, struct tally_budget *budget)
{
	mutex_init(&m->lock);
	m->budget = budget;
	m->interval = interval ?: TALLY_PUBLISH_DEFAULT;
}

/* Frees the page. No program has it mapped, and none can map it any more. */
void tally_mapping_strip(struct tally_mapping *m)
{
	if (m->page)
		put_page(m->page);
	m->page = NULL;
}

/* As tally_mapping_strip(), before the mapping's memory is freed. */
void tally_mapping_end(struct tally_mapping *m)
{
	publisher_unmap(m->publisher);
	tally_mapping_strip(m);
	mutex_destroy(&m->lock);
}

/* Stops publishing if no program has the page mapped, and read(2) does not need it. */
static void stop_unmapped(struct tally_mapping *m)
{
	lockdep_assert_held(&m->lock);
	if (m->maps || m->quiet)
		return;
	publisher_unmap(m->publisher);
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

/* Called with @m locked. The page shows other events from now on. */
void tally_mapping_show(struct tally_mapping *m, struct tally_event **members,
			unsigned int nr)
{
	lockdep_assert_held(&m->lock);
	m->members = members;
	m->nr = nr;
	publisher_change(m->publisher, members, nr);
}

/* Sets the part of the only event's totals that the program does not see. */
void tally_mapping_rebase(struct tally_mapping *m, const struct tally_totals *base)
{
	mutex_lock(&m->lock);
	m->attached = true;
	m->base = *base;
	publisher_refresh(m->publisher, base);
	mutex_unlock(&m->lock);
}

void tally_mapping_refresh(struct tally_mapping *m)
{
	mutex_lock(&m->lock);
	publisher_refresh(m->publisher, NULL);
	mutex_unlock(&m->lock);
}

/* The only event is being released. The page keeps its last count; see publisher_last(). */
void tally_mapping_last(struct tally_mapping *m, const struct tally_count *count)
{
	mutex_lock(&m->lock);
	m->nr = 0;
	publisher_last(m->publisher, count);
	m->publisher = NULL;
	mutex_unlock(&m->lock);
}

/* perf, too, refuses a page for an inherited event. */
static int start(struct tally_mapping *m)
{
	if (m->publisher)
		return 0;
	if (!m->nr)
		return -ENODEV;
	if (m->members[0]->attr.inherit)
		return -EINVAL;
	m->publisher = publisher_map(m);
	return m->publisher ? 0 : -ENOMEM;
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
 * @m: state of the page, new; it is quiet from now on
 * @member: the event, which has another owner and is not inherited
 *
 * Return: 0; ENOMEM.
 */
int tally_mapping_publish(struct tally_mapping *m, struct tally_event **member)
{
	int err = tally_publish_share(*member);

	if (err)
		return err;
	mutex_lock(&m->lock);
	m->quiet = true;
	m->attached = true;
	m->members = member;
	m->nr = 1;
	err = start_page(m);
	mutex_unlock(&m->lock);
	return err;
}

/**
 * tally_mapping_read - read the count of a quiet page
 * @m: state of the page
 * @count: receives the count; its state is TALLY_IS_RELEASED after tally_mapping_last()
 * @time_ns: receives the time of publishing, as the page shows it
 *
 * The count is one that programs see in the page. If the page was not refreshed for an
 * interval, this publishes what can be read here, without interrupting a CPU.
 */
void tally_mapping_read(struct tally_mapping *m, struct tally_count *count, u64 *time_ns)
{
	struct tally_publisher *p;

	memset(count, 0, sizeof(*count));
	count->state = TALLY_IS_RELEASED;
	*time_ns = 0;
	mutex_lock(&m->lock);
	p = m->publisher;
	if (p && ktime_get_mono_fast_ns() - p->mapped->refreshed >= p->interval)
		publisher_refresh(p, NULL);
	if (m->page)
		tally_mapped_read(page_address(m->page), count, time_ns);
	mutex_unlock(&m->lock);
}

/* The value of a quiet page begins again at 0, from what is published. */
void tally_mapping_reset(struct tally_mapping *m)
{
	mutex_lock(&m->lock);
	if (m->publisher)
		publisher_zero(m->publisher);
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
 * Return: 0; EINVAL for another size or offset, a private mapping, and an inherited
 * event; EACCES for a writable mapping; ENODEV if the events are gone; ENOMEM.
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
