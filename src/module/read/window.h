/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_WINDOW_H
#define TALLY_WINDOW_H

#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/seqlock.h>
#include <linux/string.h>
#include <tally/tally.h>
#include "event/event.h"
#include "event/overflow.h"
#include "read/page.h"

/**
 * struct tally_set_look - the last look at one slot of the members
 * @time: when it was, by local_clock() of its CPU
 * @looked: a bit for each member that was counting there
 * @throttled: the same for each that was throttled
 * @rest: of a set with one slot, what had been counted if none was counting
 * @seen: as @looked, for all looks at what the set counts
 */
struct tally_set_look {
	u64 time;
	u64 looked;
	u64 throttled;
	u64 rest;
	u64 seen;
};

/**
 * struct tally_set - several events on one target
 * @lock: guards all but what is read locally. Outside tally_counter::lock.
 * @node: in the list of sets
 * @refs: of a set that files share: those that may still look at it
 * @owner: the module that built it
 * @nr: how many members
 * @room: how many there is room for in @now
 * @nr_slots: of each member's counter
 * @slot_mask: as each member's
 * @stays: no member overflows, and perf takes none off the PMU while it is enabled
 * @fast: sections may take the fast path
 * @on: a bit for each member that is enabled
 * @wanted: the same for those of files that are to be, when the first one is
 * @looking: the same for those to be looked at
 * @apart: the same for those that count elsewhere, too: in children
 * @open: its members are enabled, and have begun; read without the lock
 * @begun: it has been enabled
 * @ragged: its members did not begin at the same moment
 * @plain: no member overflows, so that none of them can be throttled
 * @sampled: a member's samples tell of all, or did: each waits for them as it goes
 * @changes: then, around those of @nr and @members
 * @looks: one for each slot
 * @look: that of a group with one slot
 * @one_now: the room of that, while it has one member
 * @one_throttled: the same for @throttled
 * @now: what they found: @room for each slot
 * @throttled: how often each member had been throttled when the window began
 * @row: bytes from the views of one CPU to those of the next; 0 if there is one slot
 * @views: the members' views, by slot; those of nothing unless @fast
 * @mapping: of a set that files share: of the first member's file
 * @members: the events
 */
struct tally_set {
	struct mutex lock; /* looks, members' windows */
	struct list_head node;
	refcount_t refs;
	struct module *owner;
	unsigned int nr;
	unsigned int room;
	unsigned int nr_slots;
	unsigned int slot_mask;
	bool stays;
	bool fast;
	bool open;
	bool begun;
	bool ragged;
	bool plain;
	bool sampled;
	seqcount_t changes;
	u64 on;
	u64 wanted;
	u64 looking;
	u64 apart;
	struct tally_set_look *looks;
	struct tally_set_look look;
	struct tally_totals one_now;
	u64 one_throttled;
	struct tally_totals *now;
	u64 *throttled;
	u32 row;
	struct tally_view **views;
	struct tally_mapping mapping;
	struct tally_event *members[];
};

/* The part of a member that a CPU is to read. */
static inline struct tally_slot *tally_slot_on(const struct tally_event *ev, int cpu)
{
	return &ev->counter->slots[cpu & ev->slot_mask];
}

static inline u64 tally_event_throttled(const struct tally_event *ev)
{
	struct tally_overflow_stats stats;

	if (!ev->overflow)
		return 0;
	memset(&stats, 0, sizeof(stats));
	tally_overflow_stats(ev->overflow, &stats);
	return stats.throttled;
}

/* All members. */
static inline u64 tally_set_all(const struct tally_set *set)
{
	return GENMASK_ULL(set->nr - 1, 0);
}

/* The next of @members, which it is taken out of. */
static inline unsigned int tally_set_next(u64 *members)
{
	unsigned int i = __ffs64(*members);

	*members &= *members - 1;
	return i;
}

/* Under tally_set::lock: look at members; begin and end their windows. */
void tally_set_look_at_slot(struct tally_set *set, u64 members, unsigned int slot);
bool tally_set_of_one_moment(const struct tally_set *set, unsigned int first,
			     unsigned int last);
void tally_set_remember(struct tally_set *set);
void tally_set_look(struct tally_set *set, u64 members);
int tally_set_on(struct tally_set *set, u64 members);
void tally_set_off(struct tally_set *set, u64 members);
void tally_set_zero(struct tally_set *set, u64 members);

void tally_set_look_and_read(struct tally_set *set, unsigned int first,
			     unsigned int last, struct tally_set_window *window,
			     struct tally_count *counts);

bool tally_set_read_values(struct tally_set *set, struct tally_totals *first,
			   u64 *values);

#endif /* TALLY_WINDOW_H */
