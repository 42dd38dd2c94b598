// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the file of an event: by read(2) in perf's layouts, and by TALLY_IOC_READ
 * with states. Counts are read under locks and copied to the program without.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <uapi/linux/tally.h>
#include "base/copyin.h"
#include "event/event.h"
#include "life/life.h"
#include "device/file.h"
#include "set/page.h"
#include "set/read.h"
#include "record/output.h"
#include "record/read_format.h"

/* ---- read ---- */

/* As in perf, an event that never counted reads as 0, with a time of 0. */
static u64 value_of(const struct tally_count *count)
{
	return count->value == TALLY_NOT_COUNTED && !count->running_ns ?
	       0 : count->value;
}

static u64 lost_by(const struct tally_event *ev)
{
	return tally_output_lost(READ_ONCE(ev->output));
}

static ssize_t read_one(struct tally_file *f, char __user *buf, size_t size)
{
	struct tally_count count;
	u64 values[5], *v = values;
	u64 id = f->at.id, lost = 0, time_ns;
	bool there;
	int err;

	if (f->ev) {
		tally_event_read_all(f->ev, &count);
		id = f->ev->id;
		lost = lost_by(f->ev);
	} else if (f->at.unprivileged) {
		tally_mapping_read(&f->mapping, &count, &time_ns);
	} else {
		err = tally_attachment_read(&f->at, &count, &there);
		if (err)
			return err;
	}
	/* As in perf, an event in the error state reads as the end of the file. */
	if (count.state == TALLY_STATE_ERROR)
		return 0;
	if (size < tally_read_format_size(f->read_format, 1))
		return -ENOSPC;
	*v++ = count.value;
	v = tally_read_format_times(v, f->read_format, count.enabled_ns, count.running_ns);
	v = tally_read_format_id(v, f->read_format, id, lost);
	size = (v - values) * sizeof(*v);
	return copy_to_user(buf, values, size) ? -EFAULT : size;
}

/* Groups of up to so many members are read without an allocation. */
#define FEW 8

struct group_counts {
	unsigned int nr;
	struct tally_count *counts;
	u64 *ids;
	struct tally_set_window window;
	struct tally_count few_counts[FEW];
	u64 few_ids[FEW];
	void *memory;
};

/* Reads the slots from @first to @last of all members. The caller frees @g->memory by kvfree(). */
static int read_group_counts(struct tally_set *set, unsigned int first,
			     unsigned int last, struct group_counts *g)
{
	unsigned int i;

	lockdep_assert_held(&set->lock);
	g->nr = set->nr;
	g->counts = g->few_counts;
	g->ids = g->few_ids;
	g->memory = NULL;
	if (g->nr > FEW) {
		g->memory = kvmalloc_array(g->nr, sizeof(*g->counts) + sizeof(*g->ids),
					   GFP_KERNEL);
		if (!g->memory)
			return -ENOMEM;
		g->counts = g->memory;
		g->ids = g->memory + g->nr * sizeof(*g->counts);
	}
	tally_set_read_slots(set, first, last, &g->window, g->counts);
	for (i = 0; i < g->nr; i++)
		g->ids[i] = set->members[i]->id;
	return 0;
}

/*
 * Writes the answer to @to, and returns its bytes. @values may lie at the end of @to: an entry of
 * the answer never reaches the values of the entries behind it.
 */
static ssize_t put_group(const struct tally_set *set, u64 format, u64 *to, const u64 *values,
			 u64 enabled, u64 running)
{
	u64 *v = to;
	unsigned int i;

	*v++ = set->nr;
	v = tally_read_format_times(v, format, enabled, running);
	for (i = 0; i < set->nr; i++) {
		*v++ = values[i];
		v = tally_read_format_id(v, format, set->members[i]->id,
					 lost_by(set->members[i]));
	}
	return (v - to) * sizeof(*v);
}

/* Reads a group in any state. The answer is empty if the file's own event is in error. */
static ssize_t read_any_group(struct tally_file *f, struct tally_set *set, u64 *to, u64 *values)
{
	unsigned int i, own = __ffs64(tally_group_bit(set, f->ev));
	struct group_counts g;
	ssize_t ret;

	ret = read_group_counts(set, 0, tally_set_slots(set) - 1, &g);
	if (ret)
		return ret;
	for (i = 0; i < g.nr; i++)
		values[i] = value_of(&g.counts[i]);
	if (g.counts[own].state != TALLY_STATE_ERROR)
		ret = put_group(set, f->read_format, to, values, g.counts[0].enabled_ns,
				g.counts[0].running_ns);
	kvfree(g.memory);
	return ret;
}

/*
 * In the usual case, all members are on the PMU, so their values and the times
 * of the first suffice.
 */
static ssize_t read_group(struct tally_file *f, char __user *buf, size_t size)
{
	struct tally_set *set = tally_file_lock(f);
	size_t room = tally_read_format_size(f->read_format, set->nr);
	u64 few[3 + 3 * FEW], *memory = few, *values;
	struct tally_totals first;
	ssize_t ret = -ENOMEM;

	if (set->nr > FEW)
		memory = kmalloc(room, GFP_KERNEL);
	if (memory) {
		values = memory + room / sizeof(*memory) - set->nr;
		if (tally_set_read_values(set, &first, values))
			ret = put_group(set, f->read_format, memory, values, first.enabled,
					first.running);
		else
			ret = read_any_group(f, set, memory, values);
	}
	mutex_unlock(&set->lock);
	if (ret > 0 && size < ret)
		ret = -ENOSPC;
	else if (ret > 0 && copy_to_user(buf, memory, ret))
		ret = -EFAULT;
	if (memory != few)
		kfree(memory);
	return ret;
}

ssize_t tally_file_read(struct tally_file *f, char __user *buf, size_t size)
{
	if (f->read_format & PERF_FORMAT_GROUP)
		return read_group(f, buf, size);
	return read_one(f, buf, size);
}

/* ---- TALLY_IOC_READ ---- */

#define READ_SIZE_1	offsetofend(struct tally_read, reserved)
#define VALUE_SIZE_1	offsetofend(struct tally_value, reserved)

/* Programs are built with these layouts: a struct may grow at its end, but no member moves. */
static_assert(sizeof(struct tally_value) == 40);
static_assert(sizeof(struct tally_read) == 40);
static_assert(offsetof(struct tally_value, state) == 32);
static_assert(offsetof(struct tally_read, values) == 16);
static_assert(offsetof(struct tally_read, value_size) == 32);

/* States are copied as they are. */
static_assert(TALLY_IS_OFF == (int)TALLY_STATE_OFF);
static_assert(TALLY_IS_INACTIVE == (int)TALLY_STATE_INACTIVE);
static_assert(TALLY_IS_ACTIVE == (int)TALLY_STATE_ACTIVE);
static_assert(TALLY_IS_ERROR == (int)TALLY_STATE_ERROR);
static_assert(TALLY_IS_OFFLINE == (int)TALLY_STATE_OFFLINE);
static_assert(TALLY_IS_EXITED == (int)TALLY_STATE_EXITED);
static_assert(TALLY_IS_THROTTLED == (int)TALLY_STATE_THROTTLED);
static_assert(TALLY_IS_SILENT == (int)TALLY_STATE_SILENT);

/* Writes an element of the program's array, which may be shorter or longer than the kernel's. */
static int put_value(const struct tally_read *r, unsigned int i,
		     const struct tally_count *from, u64 id)
{
	char __user *to = u64_to_user_ptr(r->values) + (size_t)i * r->value_size;
	struct tally_value value = {
		.value = value_of(from),
		.enabled_ns = from->enabled_ns,
		.running_ns = from->running_ns,
		.id = id,
		.state = from->state,
	};
	size_t size = min_t(size_t, r->value_size, sizeof(value));

	if (copy_to_user(to, &value, size) || clear_user(to + size, r->value_size - size))
		return -EFAULT;
	return 0;
}

static int read_attached(struct tally_file *f, struct tally_read *r)
{
	struct tally_count count;
	unsigned int room = r->nr;
	bool there = true;
	int err = 0;

	if (f->at.unprivileged && r->cpu >= 0)
		err = -EACCES;
	else if (f->at.unprivileged)
		tally_mapping_read(&f->mapping, &count, &r->time_ns);
	else if (r->cpu >= 0)
		err = tally_attachment_read_cpu(&f->at, r->cpu, &count, &there);
	else
		err = tally_attachment_read(&f->at, &count, &there);
	if (err)
		return err;
	r->nr = 1;
	r->flags = 0;
	if (!there)
		count.state = TALLY_IS_RELEASED;
	if (!f->at.unprivileged)
		r->time_ns = local_clock();
	if (!room)
		return -ENOSPC;
	return put_value(r, 0, &count, f->at.id);
}

/* Finds the slots of a CPU; ENODEV if no PMU of @members counts there. */
static int find_slots(struct tally_set *set, u64 members, int cpu, unsigned int *first,
		      unsigned int *last)
{
	unsigned int i;
	int slot;

	*first = 0;
	*last = tally_set_slots(set) - 1;
	if (cpu < 0)
		return 0;
	slot = tally_counter_slot_of(set->members[0]->counter, cpu);
	if (slot < 0)
		return slot;
	*first = slot;
	*last = slot;
	for (i = 0; i < set->nr; i++)
		if (members & BIT_ULL(i) && tally_counter_serves(set->members[i]->counter, slot))
			return 0;
	return -ENODEV;
}

static int put_values_from(const struct tally_read *r, const struct group_counts *g,
			   unsigned int first)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < r->nr && !err; i++)
		err = put_value(r, i, &g->counts[first + i], g->ids[first + i]);
	return err;
}

static int read_members(struct tally_file *f, struct tally_read *r)
{
	struct tally_set *set = tally_file_lock(f);
	unsigned int first, last, room = r->nr, own = __ffs64(tally_group_bit(set, f->ev));
	struct group_counts g;
	int err;

	err = find_slots(set, own ? BIT_ULL(own) : tally_set_all(set), r->cpu, &first, &last);
	if (!err)
		err = read_group_counts(set, first, last, &g);
	mutex_unlock(&set->lock);
	if (err)
		return err;
	/* The leader's file reads all members, another file only its own. */
	r->nr = own ? 1 : g.nr;
	r->flags = g.window.ratio_valid ? TALLY_READ_RATIO : 0;
	r->time_ns = g.window.time_ns;
	if (room < r->nr)
		err = -ENOSPC;
	else
		err = put_values_from(r, &g, own);
	kvfree(g.memory);
	return err;
}

long tally_file_ioc_read(struct tally_file *f, void __user *arg)
{
	struct tally_read r;
	u32 size;
	int err;

	err = tally_copyin_request(&r, sizeof(r), arg, sizeof(r), READ_SIZE_1, &size);
	if (err)
		return err;
	/* A program may pass the flags of the last answer. */
	if (r.flags & ~TALLY_READ_RATIO || r.cpu < -1 || r.reserved ||
	    r.value_size < VALUE_SIZE_1 || r.value_size > SZ_4K)
		return -EINVAL;
	err = f->ev ? read_members(f, &r) : read_attached(f, &r);
	if ((!err || err == -ENOSPC) && tally_copyin_answer(arg, &r, sizeof(r), size))
		return -EFAULT;
	return err;
}
