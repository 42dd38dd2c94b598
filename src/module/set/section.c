// SPDX-License-Identifier: GPL-2.0
/*
 * Local reads of a set, in any context: of the set's window, and of sections.
 *
 * A section is a window on one CPU. tally_section_begin() writes the counts of
 * the members to the caller's section, and tally_section_end() subtracts them.
 * Neither function interrupts another CPU. The set keeps no trace of its
 * sections: an abandoned section costs nothing, and a section is as private to
 * its caller as any other variable.
 *
 * The fast path reads sets with tally_set::fast, whose members only count,
 * while interrupts are enabled. All else takes the careful path: other sets
 * (tally_set::views has nothing to read for them), reads with interrupts
 * disabled, members that perf has changed, and errors.
 *
 * Ordering: I to K of local.c, L of interval.c.
 */
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "compat.h"
#include "base/ptr.h"
#include "set/read.h"
#include "event/overflow.h"
#include "set/set.h"

/* Reads a member on this CPU. If that fails, @count is TALLY_NOT_COUNTED. */
static int read_here(struct tally_event *ev, int cpu, bool irqs_off, u64 now,
		     struct tally_count *count)
{
	int err = tally_local_check_stale(ev, cpu) ?:
		  tally_local_read(ev, cpu & ev->slot_mask, irqs_off, false, now, count);

	if (err) {
		memset(count, 0, sizeof(*count));
		count->value = TALLY_NOT_COUNTED;
		count->state = TALLY_STATE_INACTIVE;
	}
	return err;
}

int tally_set_read_local(struct tally_set *set, struct tally_set_window *window,
			 struct tally_count *counts)
{
	const struct tally_view *view;
	int err, first = 0, cpu;
	unsigned long flags;
	bool any = false, throughout = true, equal = true;
	unsigned int i, resets;

	if (tally_bad_ptr(set) || tally_bad_ptr(window) || tally_bad_ptr(counts))
		return -EINVAL;
	/* A member that counts here cannot be disabled, and enabled again, until this has ended. */
	local_irq_save(flags);
	if (!smp_load_acquire(&set->open)) { /* L */
		local_irq_restore(flags);
		return -EAGAIN;
	}
	cpu = raw_smp_processor_id();
	window->time_ns = local_clock();
	resets = raw_seqcount_begin(&set->resets); /* L */
	window->ratio_valid = tally_set_began_together(set);
	for (i = 0; i < set->nr; i++) {
		err = read_here(set->members[i], cpu,
				raw_irqs_disabled_flags(flags), window->time_ns,
				&counts[i]);
		any |= !err;
		if (!i)
			first = err;
		view = &set->members[i]->views[cpu & set->slot_mask];
		throughout &= counts[i].running_ns == counts[i].enabled_ns &&
			      !READ_ONCE(view->missed);
		equal &= counts[i].running_ns == counts[0].running_ns;
		window->ratio_valid &= !err &&
			(set->only_counts ||
			 tally_event_throttled(set->members[i]) ==
			 READ_ONCE(set->members[i]->throttled));
	}
	if (!throughout)
		window->ratio_valid &= equal && tally_set_is_group(set, cpu & set->slot_mask,
								   cpu & set->slot_mask);
	window->ratio_valid &= !read_seqcount_retry(&set->resets, resets); /* L */
	local_irq_restore(flags);
	return any ? 0 : first;
}
EXPORT_SYMBOL_TALLY(tally_set_read_local);

/*
 * Reads perf's count of a member: with @single by the member's register, if that can be read, else
 * by the driver. Returns false if only the careful path can read the member.
 */
static __always_inline bool read_view(const struct tally_view *view, int cpu, bool single,
				      struct perf_event **event, u64 *count)
{
	tally_read_fn read;

	*event = smp_load_acquire(&view->event); /* I */
	if (unlikely(READ_ONCE((*event)->oncpu) != cpu))
		return false;
	if (single && READ_ONCE(view->width)) {
		*count = tally_register_count(*event, &view->width);
		return true;
	}
	read = READ_ONCE(view->read);
	read(*event);
	*count = local64_read(&(*event)->count);
	return true;
}

/* As read_view(), for what the member has counted since @mark. */
static __always_inline bool end_member(const struct tally_view *view, int cpu, bool single,
				       const struct tally_mark *mark, u64 *out,
				       struct perf_event **event)
{
	if (!read_view(view, cpu, single, event, out))
		return false;
	*out -= mark->value;
	return true;
}

/* Reads members one at a time; the last one tells the time. Returns as read_view(). */
static noinline notrace bool begin_singles(struct tally_section *section,
					   struct tally_view *const *view, unsigned int nr, int cpu)
{
	struct tally_mark *mark = section->marks;
	struct perf_event *event;

	do {
		if (!read_view(*view++, cpu, true, &event, &mark->value))
			return false;
		mark++;
	} while (--nr);
	section->time = tally_ctx_time(event);
	return true;
}

/* As begin_singles(). Returns false also if perf may have changed a member since the beginning. */
static noinline notrace bool end_singles(const struct tally_section *section,
					 struct tally_view *const *view, unsigned int nr, int cpu,
					 u64 *out)
{
	const struct tally_mark *mark = section->marks;
	struct perf_event *event;

	do {
		if (!end_member(*view++, cpu, true, mark++, out++, &event))
			return false;
	} while (--nr);
	return tally_ctx_time(event) == section->time;
}

/*
 * A loop over single members would be a fifth of their cost, so members are
 * read four at a time, but for tally_set::singles. perf updates the time of a
 * context before it changes a member there: if the time is the same at the end,
 * perf has changed no member, or its clock stood still (see
 * tally_section_end()).
 */
static __always_inline bool begin_all(struct tally_section *section,
				      struct tally_view *const *view, unsigned int nr,
				      unsigned int singles, int cpu)
{
	struct tally_mark *mark = section->marks;
	struct perf_event *event;

	if (unlikely(singles)) {
		if (!begin_singles(section, view, singles, cpu))
			return false;
		nr -= singles;
		if (!nr)
			return true;
		view += singles;
		mark += singles;
	}
	for (;; nr -= 4, view += 4, mark += 4) {
		if (!read_view(view[0], cpu, false, &event, &mark[0].value) ||
		    !read_view(view[1], cpu, false, &event, &mark[1].value) ||
		    !read_view(view[2], cpu, false, &event, &mark[2].value) ||
		    !read_view(view[3], cpu, false, &event, &mark[3].value))
			return false;
		if (likely(nr == 4))
			break;
	}
	section->time = tally_ctx_time(event);
	return true;
}

static __always_inline bool end_all(const struct tally_section *section,
				    struct tally_view *const *view, unsigned int nr,
				    unsigned int singles, int cpu, u64 *out)
{
	const struct tally_mark *mark = section->marks;
	struct perf_event *event;

	if (unlikely(singles)) {
		if (!end_singles(section, view, singles, cpu, out))
			return false;
		nr -= singles;
		if (!nr)
			return true;
		view += singles;
		mark += singles;
		out += singles;
	}
	for (;; nr -= 4, view += 4, mark += 4, out += 4) {
		if (!end_member(view[0], cpu, false, &mark[0], &out[0], &event) ||
		    !end_member(view[1], cpu, false, &mark[1], &out[1], &event) ||
		    !end_member(view[2], cpu, false, &mark[2], &out[2], &event) ||
		    !end_member(view[3], cpu, false, &mark[3], &out[3], &event))
			return false;
		if (likely(nr == 4))
			break;
	}
	return likely(tally_ctx_time(event) == section->time);
}

/* The number of times that a member was throttled on this CPU. */
static u64 throttled_here(const struct tally_event *ev)
{
	if (!ev->overflow)
		return 0;
	return local_read(&this_cpu_ptr(ev->overflow->cpus)->throttled);
}

static int mark_carefully(struct tally_event *ev, int cpu, bool irqs_off,
			  struct tally_mark *mark, u64 *time)
{
	struct tally_slot *s = tally_slot_on(ev, cpu);
	struct perf_event *event = tally_slot_here(s, cpu);
	int err;

	err = tally_local_check(ev, s, event, cpu, irqs_off) ?: tally_local_check_stale(ev, cpu);
	if (err)
		return err;
	mark->value = tally_local_count(s, event) - s->bank.value;
	/* Both parts only grow: the sum is the same only if both are. */
	mark->stamp = event->tstamp + throttled_here(ev);
	*time = tally_ctx_time(event);
	return 0;
}

/* Returns whether perf has not changed a member since the section began. */
static bool was_left_alone(const struct tally_section *section,
			   const struct tally_mark *then, const struct tally_mark *now)
{
	if (section->set->fast)
		return now->stamp <= section->time;
	return now->stamp == then->stamp;
}

/* Begins a section whose members may not all be read here: each of them is checked. */
static int begin_carefully(struct tally_section *section, bool irqs_off)
{
	struct tally_set *set = section->set;
	int cpu = raw_smp_processor_id();
	unsigned int i;
	int err = 0;

	if (IS_ENABLED(CONFIG_PREEMPT_COUNT) && !irqs_off && !preempt_count())
		err = -EINVAL;
	for (i = 0; i < set->nr && !err; i++)
		err = mark_carefully(set->members[i], cpu, irqs_off, &section->marks[i],
				     &section->time);
	return err;
}

static int end_carefully(const struct tally_section *section, u64 *out, bool irqs_off)
{
	const struct tally_mark *then = section->marks;
	struct tally_set *set = section->set;
	int cpu = raw_smp_processor_id();
	struct tally_mark now;
	unsigned int i;
	int err = 0;
	u64 time;

	for (i = 0; i < set->nr && !err; i++, then++) {
		err = mark_carefully(set->members[i], cpu, irqs_off, &now, &time);
		if (!err && !was_left_alone(section, then, &now))
			err = -EAGAIN;
		if (!err)
			out[i] = now.value - then->value;
	}
	return err;
}

/* The task and the CPU in one word: pointers to two tasks differ below bit 48. */
static __always_inline u64 here(unsigned int cpu)
{
	return (unsigned long)current ^ (u64)cpu << 48;
}

static noinline int begin_slow(struct tally_section *section, bool irqs_off)
{
	int err;

	if (!irqs_off)
		WRITE_ONCE(*section->reading, NULL);
	err = begin_carefully(section, irqs_off);
	if (err)
		section->where = 0;
	if (!irqs_off)
		local_irq_enable();
	return err;
}

static noinline int end_slow(struct tally_section *section, u64 *out, bool irqs_off)
{
	int err;

	if (!irqs_off)
		WRITE_ONCE(*section->reading, NULL);
	err = end_carefully(section, out, irqs_off);
	if (!irqs_off)
		local_irq_enable();
	return err;
}

notrace int __tally_section_begin(struct tally_set *set, struct tally_section *section,
				  unsigned int room)
{
	struct tally_view **views;
	const void **reading;
	unsigned long flags;
	unsigned int nr, cpu;

	if (tally_bad_ptr(set))
		goto bad;
	nr = set->nr;
	if (unlikely(room < nr))
		goto bad;
	local_irq_save(flags);
	cpu = raw_smp_processor_id();
	views = (void *)set->views + (u64)cpu * set->views_size;
	reading = raw_cpu_ptr(&tally_reading);
	/* Keeps the compiler from computing the address again for each use. */
	OPTIMIZER_HIDE_VAR(reading);
	section->set = set;
	section->where = here(cpu);
	section->views = views;
	section->reading = reading;
	if (unlikely(raw_irqs_disabled_flags(flags)))
		return begin_slow(section, true);
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT) && unlikely(!preempt_count()))
		return begin_slow(section, false);
	WRITE_ONCE(*reading, reading);
	barrier(); /* J */
	if (unlikely(!begin_all(section, views, nr, set->singles, cpu)))
		return begin_slow(section, false);
	barrier(); /* J */
	WRITE_ONCE(*section->reading, NULL);
	local_irq_enable();
	return 0;
bad:
	section->where = 0;
	return -EINVAL;
}
EXPORT_SYMBOL_TALLY(__tally_section_begin);

notrace int __tally_section_end(struct tally_set *set, struct tally_section *section, u64 *out)
{
	u64 where = section->where;
	const void **reading;
	unsigned long flags;
	unsigned int cpu;

	if (unlikely(section->set != set))
		return -EINVAL;
	section->where = 0;
	local_irq_save(flags);
	cpu = raw_smp_processor_id();
	if (unlikely(where != here(cpu))) {
		local_irq_restore(flags);
		return -EINVAL;
	}
	if (unlikely(raw_irqs_disabled_flags(flags)))
		return end_slow(section, out, true);
	reading = section->reading;
	WRITE_ONCE(*reading, reading);
	barrier(); /* J */
	if (unlikely(!end_all(section, section->views, set->nr, set->singles, cpu, out)))
		return end_slow(section, out, false);
	barrier(); /* J */
	WRITE_ONCE(*section->reading, NULL);
	local_irq_enable();
	return 0;
}
EXPORT_SYMBOL_TALLY(__tally_section_end);
