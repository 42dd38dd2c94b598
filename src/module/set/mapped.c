// SPDX-License-Identifier: GPL-2.0
/*
 * Published counts in a page that programs have mapped. The page has the sum of all
 * CPUs: of the first member in the layout of perf's page, and of all members after that.
 *
 * Whichever CPU publishes adds up the counts that all CPUs have published, and
 * writes the page, but not more often than twice in an interval if there are
 * several slots. page.c does the same at once when the events have changed.
 * Programs read the page without a system call.
 *
 * Ordering: perf_event_mmap_page::lock is odd while tally_mapped_write() or
 * tally_mapped_zero() writes the page. Write barriers separate the two writes
 * of the lock from the writes of the counts. tally_mapped_read() has read
 * barriers, as programs have. There is one writer at a time, with interrupts
 * disabled. A timer that finds another writer leaves the page to that one;
 * page.c waits for it.
 */
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <uapi/linux/tally.h>
#include "event/event.h"
#include "set/page.h"
#include "set/publish.h"

/* The values follow struct tally_page. Programs find them by its size. */
struct page_counts {
	struct tally_page head;
	struct tally_page_value values[TALLY_SET_MOST];
};

static_assert(sizeof(struct perf_event_mmap_page) <= TALLY_PAGE_AT);
static_assert(sizeof(struct page_counts) <= 4096 - TALLY_PAGE_AT);
/* Programs are built with this layout. It never changes. */
static_assert(sizeof(struct tally_page) == 24);
static_assert(sizeof(struct tally_page_value) == 40);
static_assert(offsetof(struct tally_page, nr) == 8);
static_assert(offsetof(struct tally_page, time_ns) == 16);
static_assert(offsetof(struct tally_page_value, id) == 24);
static_assert(offsetof(struct tally_page_value, state) == 32);

static struct page_counts *counts_of(struct perf_event_mmap_page *page)
{
	return (void *)page + TALLY_PAGE_AT;
}

/* Copies the counts that were last published of a slot. Returns false if none were. */
static bool copy_slot(const struct publish_page *page, unsigned int nr,
		      struct publish_copy *to)
{
	const struct publish_copy *from;
	unsigned int i;
	u32 number;

	if (!READ_ONCE(page->number))
		return false;
	do {
		number = smp_load_acquire(&page->number); /* N */
		from = &page->copies[number & 1];
		to->time_ns = READ_ONCE(from->time_ns);
		for (i = 0; i < nr; i++)
			tally_publish_load(from, i, &to->totals[i], &to->states[i]);
		smp_rmb(); /* N */
	} while (READ_ONCE(page->number) != number);
	return true;
}

/* Subtracts, down to 0: the published count may be older than the base. */
static void subtract(u64 *from, u64 what)
{
	*from -= min(*from, what);
}

/* Subtracts from a value, as subtract(), but the value of a gauge may fall below 0. */
static void subtract_value(const struct tally_event *ev, u64 *from, u64 what)
{
	if (ev->gauge)
		*from -= what;
	else
		subtract(from, what);
}

/* Adds up all slots into @p->sums[0]. The caller has set tally_mapping::writing. */
void tally_mapped_add_up(struct tally_publisher *p)
{
	struct publish_copy *sum = &p->sums[0], *one = &p->sums[1];
	struct tally_mapping *m = p->mapping;
	const struct tally_totals *base;
	unsigned int slot, i;

	memset(sum, 0, sizeof(*sum));
	memset(sum->states, TALLY_STATE_OFFLINE, sizeof(sum->states));
	for (slot = 0; slot < p->nr_slots; slot++) {
		if (!p->pages[slot] || !copy_slot(p->pages[slot], p->nr, one))
			continue;
		base = &p->pages[slot]->base;
		sum->time_ns = max(sum->time_ns, one->time_ns);
		for (i = 0; i < p->nr; i++) {
			sum->totals[i].value += one->totals[i].value - base->value;
			sum->totals[i].enabled += one->totals[i].enabled - base->enabled;
			sum->totals[i].running += one->totals[i].running - base->running;
			sum->states[i] = p->nr_slots == 1 ? one->states[i] :
				tally_state_worse(sum->states[i], one->states[i]);
		}
	}
	if (!sum->time_ns)
		memset(sum->states, TALLY_STATE_INACTIVE, sizeof(sum->states));
	if (m->attached) {
		subtract_value(p->members[0], &sum->totals[0].value, m->base.value);
		subtract(&sum->totals[0].enabled, m->base.enabled);
		subtract(&sum->totals[0].running, m->base.running);
		return;
	}
	for (i = 0; i < p->nr; i++)
		subtract_value(p->members[i], &sum->totals[i].value,
			       tally_event_reset_total(p->members[i]));
}

/*
 * Writes @p->sums[0] to the page. Called with interrupts disabled. A program reads the page under
 * the page's lock, as perf_event_open(2) says, and, unlike a page of perf, on any CPU.
 */
void tally_mapped_write(struct tally_publisher *p)
{
	struct perf_event_mmap_page *page = page_address(p->mapping->page);
	struct page_counts *counts = counts_of(page);
	const struct publish_copy *sum = &p->sums[0];
	unsigned int i;

	WRITE_ONCE(page->lock, page->lock + 1);
	smp_wmb(); /* tally_mapped_read() */
	page->offset = sum->totals[0].value;
	page->time_enabled = sum->totals[0].enabled;
	page->time_running = sum->totals[0].running;
	counts->head.time_ns = sum->time_ns;
	counts->head.nr = p->nr;
	for (i = 0; i < p->nr; i++) {
		counts->values[i].value = sum->totals[i].value;
		counts->values[i].enabled_ns = sum->totals[i].enabled;
		counts->values[i].running_ns = sum->totals[i].running;
		counts->values[i].id = p->members[i]->id;
		counts->values[i].state = sum->states[i];
	}
	smp_wmb(); /* tally_mapped_read() */
	WRITE_ONCE(page->lock, page->lock + 1);
	WRITE_ONCE(p->mapping->written, ktime_get_mono_fast_ns());
}

/* Reads the first count of the page as a program does. */
void tally_mapped_read(struct perf_event_mmap_page *page, struct tally_count *count,
		       u64 *time_ns)
{
	const struct page_counts *counts = counts_of(page);
	u32 seq;

	do {
		seq = READ_ONCE(page->lock);
		smp_rmb(); /* tally_mapped_write() */
		count->value = READ_ONCE(counts->values[0].value);
		count->enabled_ns = READ_ONCE(counts->values[0].enabled_ns);
		count->running_ns = READ_ONCE(counts->values[0].running_ns);
		count->state = READ_ONCE(counts->values[0].state);
		*time_ns = READ_ONCE(counts->head.time_ns);
		smp_rmb(); /* tally_mapped_write() */
	} while (seq & 1 || READ_ONCE(page->lock) != seq);
}

/* Sets the value of the first count to 0, in a page that nobody else writes. */
void tally_mapped_zero(struct perf_event_mmap_page *page)
{
	local_irq_disable();
	WRITE_ONCE(page->lock, page->lock + 1);
	smp_wmb(); /* tally_mapped_read() */
	page->offset = 0;
	counts_of(page)->values[0].value = 0;
	smp_wmb(); /* tally_mapped_read() */
	WRITE_ONCE(page->lock, page->lock + 1);
	local_irq_enable();
}

/* Adding up takes time for each CPU, so not every CPU does it in every interval. */
static bool is_due(const struct tally_publisher *p)
{
	return p->nr_slots == 1 ||
	       ktime_get_mono_fast_ns() - READ_ONCE(p->mapping->written) >=
	       tally_publisher_interval(p) / 2;
}

/*
 * Adds up all slots and writes the page, unless it is too early for that or
 * another writer does it. Called with interrupts disabled.
 */
void tally_publish_mapped(struct tally_publisher *p)
{
	struct tally_mapping *m = p->mapping;

	if (!is_due(p) || xchg(&m->writing, 1))
		return;
	tally_mapped_add_up(p);
	tally_mapped_write(p);
	/* Pairs with the exchange by the next writer. */
	smp_store_release(&m->writing, 0);
}

void tally_mapped_init(struct perf_event_mmap_page *page)
{
	struct tally_page *head = &counts_of(page)->head;

	head->size = sizeof(*head);
	head->value_size = sizeof(struct tally_page_value);
	page->cap_bit0_is_deprecated = 1;
	page->size = offsetof(struct perf_event_mmap_page, __reserved);
	page->data_offset = PAGE_SIZE;
}
