// SPDX-License-Identifier: GPL-2.0
/*
 * The members of sets: they join and leave. The sets of files are groups, which
 * grow and shrink; a set of a module keeps the members that it was built with.
 *
 * As in perf, the first member is the leader. While it is disabled, no member
 * counts. When it is enabled, all members that are enabled themselves begin to
 * count, here at one moment. An event with a file of its own is in the set of
 * that file before it joins a leader, and returns there when the leader's file
 * is closed.
 */
#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "compat.h"
#include "builder/builder.h"
#include "event/event.h"
#include "life/life.h"
#include "record/output.h"
#include "set/page.h"
#include "set/set.h"

/**
 * tally_group_init - set up a set of events with the target of @ev
 * @set: the set: zeroed, followed by TALLY_SET_FEW pointers to members
 * @ev: an event, which does not join yet
 * @mapping: page of the leader's file; NULL for the set of a module
 *
 * tally_group_put() must follow.
 */
void tally_group_init(struct tally_set *set, const struct tally_event *ev,
		      struct tally_mapping *mapping)
{
	mutex_init(&set->lock);
	refcount_set(&set->refs, 1);
	seqcount_init(&set->resets);
	seqcount_init(&set->changes);
	set->mapping = mapping;
	set->owner = ev->owner;
	set->only_counts = true;
	set->nr_slots = ev->counter->nr_slots;
	set->slot_mask = ev->slot_mask;
	set->members = set->few;
}

/* Drops a reference. After the last one it returns true, and the caller frees @set. */
bool tally_group_put(struct tally_set *set)
{
	if (!refcount_dec_and_test(&set->refs))
		return false;
	if (set->members != set->few)
		kfree(set->members);
	mutex_destroy(&set->lock);
	return true;
}

/* Returns the bit of a member in the masks of the set; 0 if @ev is no member. */
u64 tally_group_bit(const struct tally_set *set, const struct tally_event *ev)
{
	unsigned int i;

	lockdep_assert_held(&set->lock);
	for (i = 0; i < set->nr; i++)
		if (set->members[i] == ev)
			return BIT_ULL(i);
	return 0;
}

/* As tally_group_update(); wanted members in @again are turned on even if they are on. */
static void update(struct tally_set *set, u64 again)
{
	u64 on = set->wanted & 1 ? set->wanted : 0;

	tally_set_off(set, set->on & ~on);
	on &= ~set->on | again;
	if (on)
		tally_set_on(set, on);
}

/* A sample may read the members, even in an NMI on this CPU: see read_format.c. */
static void begin_change(struct tally_set *set)
{
	if (set->mapping)
		mutex_lock(&set->mapping->lock);
	if (!set->sampled)
		return;
	preempt_disable();
	raw_write_seqcount_begin(&set->changes); /* V */
}

static void end_change(struct tally_set *set)
{
	if (set->sampled) {
		raw_write_seqcount_end(&set->changes); /* V */
		preempt_enable();
	}
	if (!set->mapping)
		return;
	tally_mapping_show(set->mapping, set->members, set->nr);
	mutex_unlock(&set->mapping->lock);
}

/* Gives a group memory for as many members as it may have. Samples may go on with @few. */
static int move_members(struct tally_set *set)
{
	struct tally_event **members = kcalloc(TALLY_SET_MOST, sizeof(*members),
					       GFP_KERNEL_ACCOUNT);

	if (!members)
		return -ENOMEM;
	memcpy(members, set->few, set->nr * sizeof(*members));
	smp_store_release(&set->members, members); /* V */
	return 0;
}

static bool samples_group(const struct tally_event *ev)
{
	return ev->overflow && ev->output &&
	       tally_read_format_of_group(ev->output->type, ev->output->read_format);
}

/*
 * Marks events whose counts samples may contain: all members if the samples of the new one contain
 * those of the group, or the new one if samples of another member do.
 */
static void show_in_samples(struct tally_set *set, struct tally_event *ev)
{
	unsigned int i;

	if (samples_group(ev)) {
		set->sampled = true;
		for (i = 0; i < set->nr; i++)
			set->members[i]->sampled = true;
		smp_store_release(&ev->output->set, set); /* V */
	} else if (set->sampled) {
		ev->sampled = true;
	}
}

/**
 * tally_group_join - add a member to a set
 * @set: the set, locked
 * @ev: the event, which is in no set; if it is on, it stays on
 * @wanted: whether it counts when the leader does, from tally_group_update() on
 *
 * Return: 0; E2BIG if the set is full, ENOMEM. The first member cannot fail.
 */
int tally_group_join(struct tally_set *set, struct tally_event *ev, bool wanted)
{
	unsigned int i = set->nr;
	int err;

	lockdep_assert_held(&set->lock);
	if (i == TALLY_SET_MOST)
		return -E2BIG;
	if (WARN_ON_ONCE(i && ev->counter->first != set->members[0]->counter->first))
		return -EINVAL;
	if (i == TALLY_SET_FEW && set->members == set->few) {
		err = move_members(set);
		if (err)
			return err;
	}
	if (ev->on)
		set->on |= BIT_ULL(i);
	if (wanted)
		set->wanted |= BIT_ULL(i);
	if (ev->counter->by_perf)
		set->by_perf |= BIT_ULL(i);
	if (ev->overflow)
		set->only_counts = false;
	ev->throttled = 0;
	/* Counts that began at different times have no ratio. */
	set->staggered |= i && (set->begun || ev->on);
	set->begun |= ev->on;
	begin_change(set);
	set->members[i] = ev;
	/* Samples that see the number see @members, too. */
	smp_store_release(&set->nr, i + 1); /* V */
	end_change(set);
	/* The member may have counted where the others have not. */
	set->used_at = 0;
	show_in_samples(set, ev);
	return 0;
}

/* Removes bit @i, and moves the bits above it down. */
static u64 without(u64 bits, unsigned int i)
{
	u64 below = BIT_ULL(i) - 1;

	return (bits & below) | (bits >> 1 & ~below);
}

/**
 * tally_group_leave - remove a member from a group
 * @set: the group, locked
 * @ev: the member; it stays on or off
 *
 * Return: whether it was wanted to count when the leader does.
 */
bool tally_group_leave(struct tally_set *set, struct tally_event *ev)
{
	unsigned int i = __ffs64(tally_group_bit(set, ev));
	bool wanted = set->wanted & BIT_ULL(i);

	set->on = without(set->on, i);
	set->wanted = without(set->wanted, i);
	set->by_perf = without(set->by_perf, i);
	if (ev->sampled && samples_group(ev))
		WRITE_ONCE(ev->output->set, NULL); /* V */
	begin_change(set);
	set->nr--;
	memmove(&set->members[i], &set->members[i + 1],
		(set->nr - i) * sizeof(*set->members));
	end_change(set);
	return wanted;
}

/* Turns wanted members on, if the leader is wanted, and all others off. The group is locked. */
void tally_group_update(struct tally_set *set)
{
	lockdep_assert_held(&set->lock);
	update(set, 0);
}

/*
 * Enables members; the group is locked. If @members includes the leader, members that are on are
 * turned on once more. Of those that wait for exec(), the ones that wait only because the leader
 * does (tally_event::awaits) begin to count; the others go on waiting.
 */
void tally_group_enable(struct tally_set *set, u64 members)
{
	u64 again = members;
	unsigned int i;

	for (i = 0; members & 1 && i < set->nr; i++)
		if (set->members[i]->awaits || !tally_event_waits(set->members[i]))
			again |= BIT_ULL(i);
	set->wanted |= members;
	update(set, again);
}

void tally_group_disable(struct tally_set *set, u64 members)
{
	unsigned int i;

	/* As in perf, disabling an event that waits for exec() changes nothing. */
	for (i = 0; i < set->nr; i++)
		if (members & BIT_ULL(i) && tally_event_waits(set->members[i]))
			members &= ~BIT_ULL(i);
	set->wanted &= ~members;
	update(set, 0);
}
