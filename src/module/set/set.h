/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_SET_H
#define TALLY_SET_H

#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/seqlock.h>
#include <tally/tally.h>
#include "event/event.h"

struct tally_mapping;

/**
 * struct tally_set - several events on one target
 * @lock: lock of the members, and of their window; taken outside
 *	tally_counter::lock, which all members have in common
 * @node: link in the list of sets
 * @refs: number of references to a set that files share
 * @owner: module that built the set
 * @nr: number of members
 * @singles: number of members that sections read one at a time: all if a register is read, else
 *	as many as are left over when the others are read four at a time
 * @nr_slots: number of slots of each member's counter
 * @used: number of slots up to the last one that was not blank; see tally_set_slots()
 * @used_at: tally_slot_changes when @used was found
 * @slot_mask: tally_counter::slot_mask of each member's counter
 * @fast: sections may take the fast path of section.c
 * @open: the members are enabled, and have begun; read without @lock
 * @begun: a member is enabled, or has been
 * @staggered: the members did not begin, or not end, at one moment; read without @lock
 * @only_counts: the set has never had a member that overflows, so none can be throttled
 * @sampled: samples of a member contain the counts of all members, or did: the
 *	release of a member waits for samples that are being written
 * @resets: sequence of resets
 * @changes: sequence of changes of @nr and @members, with @sampled
 * @on: a bit for each member that the set has enabled; a limit may have ended the member since
 * @wanted: a bit for each member of a group that counts while the leader is enabled
 * @by_perf: a bit for each member that only perf reads; see tally_counter::by_perf
 * @views_size: size of the part of @views for one CPU, in bytes; 0 if there is one slot
 * @views: views of the members, by slot; tally_view_nowhere unless @fast
 * @mapping: page of the leader's file, for a set that files share; else NULL
 * @members: the events
 * @few: memory of @members, unless the set has had more than TALLY_SET_FEW
 */
struct tally_set {
	struct mutex lock; /* members, windows */
	struct list_head node;
	refcount_t refs;
	struct module *owner;
	unsigned int nr;
	unsigned int singles;
	unsigned int nr_slots;
	unsigned int used;
	unsigned long used_at;
	unsigned int slot_mask;
	bool fast;
	bool open;
	bool begun;
	bool staggered;
	bool only_counts;
	bool sampled;
	seqcount_t resets;
	seqcount_t changes;
	u64 on;
	u64 wanted;
	u64 by_perf;
	u32 views_size;
	struct tally_view **views;
	struct tally_mapping *mapping;
	struct tally_event **members;
	struct tally_event *few[];
};

/* Number of members in tally_set::few; a set with more members allocates an array for them. */
#define TALLY_SET_FEW	6

/* Returns the slot in which an event counts on @cpu. */
static inline struct tally_slot *tally_slot_on(const struct tally_event *ev, int cpu)
{
	return &ev->counter->slots[cpu & ev->slot_mask];
}

/* Returns whether the windows of all members began, and ended, at one moment. Needs no lock. */
static inline bool tally_set_began_together(const struct tally_set *set)
{
	return !READ_ONCE(set->staggered) || set->nr == 1;
}

/* Returns the bits of all members. */
static inline u64 tally_set_all(const struct tally_set *set)
{
	return GENMASK_ULL(set->nr - 1, 0);
}

/* Removes the lowest bit from @members, which must have one, and returns the bit's number. */
static inline unsigned int tally_set_next(u64 *members)
{
	unsigned int i = __ffs64(*members);

	*members &= *members - 1;
	return i;
}

u64 tally_event_throttled(const struct tally_event *ev);

/* Called under tally_set::lock; tally_set_is_group() also without it: see there. */
bool tally_set_read_rows(const struct tally_set *set, u64 members, unsigned int first,
			 unsigned int last);
int tally_set_on(struct tally_set *set, u64 members);
void tally_set_off(struct tally_set *set, u64 members);
void tally_set_zero(struct tally_set *set, u64 members);
void tally_set_read_slots(struct tally_set *set, unsigned int first, unsigned int last,
			  struct tally_set_window *window, struct tally_count *counts);
bool tally_set_is_group(const struct tally_set *set, unsigned int first, unsigned int last);
bool tally_set_is_blank(const struct tally_set *set, unsigned int slot);
unsigned int tally_set_slots(struct tally_set *set);
bool tally_set_read_values(struct tally_set *set, struct tally_totals *first, u64 *values);

#endif /* TALLY_SET_H */
