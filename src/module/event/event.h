/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_EVENT_H
#define TALLY_EVENT_H

#include <linux/list.h>
#include <linux/seqlock.h>
#include <linux/types.h>
#include "counter/counter.h"
#include "event/overflow.h"
#include "base/count.h"
#include "base/pmu.h"

struct dentry;
struct tally_file;
struct tally_filter;
struct tally_output;
struct tally_publisher;

/**
 * struct tally_view - what of a slot's totals belongs to one event
 * @event: perf's event, if nothing but its not being on the PMU keeps it from
 *	being read at once; else one that never is
 * @read: what brings its count up to date
 * @still: nothing needs to
 * @plain: what makes its count the event's value
 * @latch: which of @offset, @zeroed and @begun is whole
 * @offset: twice, what makes the slot's totals the event's; if it has not begun, all
 *	that it has counted
 * @begun: twice, that of @begins
 * @zeroed: twice, that of @zero
 * @begins: the slot counts for it
 * @zero: what the event had counted when it was last reset
 * @start: the slot's totals when the event was last enabled
 * @kept: what the event counted before that
 *
 * Written under tally_counter::lock; the first seven are read without.
 */
struct tally_view {
	struct perf_event *event;
	tally_read_fn read;
	u64 plain;
	bool still;
	seqcount_latch_t latch;
	struct tally_totals offset[2];
	u64 zeroed[2];
	bool begun[2];
	bool begins;
	u64 zero;
	struct tally_totals start;
	struct tally_totals kept;
} __aligned(64);

/* A view of nothing that could be read at once. */
extern struct tally_view tally_view_nowhere;

/*
 * What the slot's totals @t mean to the event; any context. Whole, to those whom a
 * reset of it does not concern.
 */
static inline void tally_view_translate(const struct tally_view *view,
					struct tally_totals *t, bool whole)
{
	const struct tally_totals *offset;
	struct tally_totals sum;
	unsigned int seq;

	do {
		seq = raw_read_seqcount_latch(&view->latch); /* I */
		offset = &view->offset[seq & 1];
		sum.value = t->value + offset->value +
			    (whole ? view->zeroed[seq & 1] : 0);
		sum.enabled = t->enabled + offset->enabled;
		sum.running = t->running + offset->running;
	} while (read_seqcount_latch_retry(&view->latch, seq));
	*t = sum;
}

/* Whether an event is to be read without the lock, in tally_event::local. */
enum {
	TALLY_LOCAL_NONE,	/* not at all */
	TALLY_LOCAL_PLAIN,	/* wherever it is on the PMU */
	TALLY_LOCAL_THROTTLES,	/* there, when it is not throttled */
};

/**
 * struct tally_event - one event as its owner sees it
 * @slot_mask: as tally_counter::slot_mask
 * @counter: what it looks at; may be shared
 * @overflow: what becomes of its overflows; NULL if it only counts
 * @output: where its records go, of a file's event; NULL so far of one that only
 *	counts. Written under the outputs' lock once the event is there.
 * @filter: filter of the records of a tracepoint; NULL if there is none. Guarded by
 *	tally_counter::lock; the callback reads it after TALLY_SPECIAL_FILTER.
 * @publisher: what publishes its counts, or those of its set; or NULL
 * @retired: what did, while the event is being released
 * @owner: the module that built it; what is left is released when that unloads
 * @dir: its folder in debugfs; NULL where there is no debugfs
 * @node: in the list of events, or of those that are being released
 * @user_node: in the list of those that use @counter
 * @name_node: in the table of names
 * @id: unique while the module is loaded
 * @attr: what it counts
 * @given: what that was called, without modifiers; empty for the usual name
 * @max_rate: as the builder was given it
 * @hz: the frequency that was asked for, where @attr has a period instead: of a
 *	clock; else 0
 * @named: its name is none that was made from what it counts
 * @starting: it is on, but does not count for itself yet: its set is about to begin;
 *	guarded by tally_counter::lock
 * @of_file: a user program made it, and it ends with a file of that
 * @on: enabled; guarded by tally_counter::lock
 * @gone: it is being released; guarded by tally_counter::lock
 * @unpublished: for good; guarded by the publishers' lock
 * @closed: it is not to be read without the lock; guarded by that
 * @sampled: the samples of members of its group may tell of it, or did; written under
 *	tally_set::lock
 * @local: TALLY_LOCAL_*; written under tally_counter::lock
 * @listed: complete and not being released; guarded by the list's lock
 * @name: unique among the events that exist
 * @file: what it belongs to, if that is one of several files of a group; written
 *	under tally_set::lock
 * @attachments: who else reads it; guarded by their lock
 * @views: one per slot of @counter
 */
struct tally_event {
	unsigned int slot_mask;
	u8 local;
	bool on;
	bool closed;
	bool gone;
	bool of_file;
	bool starting;
	bool named;
	bool unpublished;
	bool sampled;
	struct tally_counter *counter;
	struct tally_overflow *overflow;
	struct tally_output *output;
	struct tally_filter *filter;
	struct tally_publisher *publisher;
	struct tally_publisher *retired;
	struct module *owner;
	struct dentry *dir;
	struct list_head node;
	struct list_head user_node;
	struct hlist_node name_node;
	u64 id;
	struct perf_event_attr attr;
	char given[TALLY_EVENT_NAME_LEN];
	u64 hz;
	u32 max_rate;
	bool listed;
	char name[TALLY_NAME_LEN];
	struct tally_file *file;
	struct list_head attachments;
	struct tally_view views[];
};

/* Nothing has been counted there so far. */
static inline bool tally_event_is_blank(const struct tally_event *ev, unsigned int slot)
{
	return tally_slot_is_blank(&ev->counter->slots[slot]) &&
	       !ev->views[slot].kept.enabled;
}

void tally_event_what(const struct tally_event *ev, char *buf, size_t size);
void tally_event_take_period(struct tally_event *ev);
int tally_event_on(struct tally_event *ev);
void tally_event_off(struct tally_event *ev);
void tally_event_abandon(struct tally_event *ev);
void tally_event_begin_at(struct tally_event *ev, unsigned int slot,
			  const struct tally_totals *t);
void tally_event_keep_at(struct tally_event *ev, unsigned int slot,
			 const struct tally_totals *t);
void tally_event_rebase_at(struct tally_event *ev, unsigned int slot,
			   const struct tally_totals *t);
void tally_event_settle(struct tally_event *ev);
int tally_event_start(struct tally_event *ev);
int tally_event_begin(struct tally_event *ev);
int tally_event_retry(struct tally_event *ev, bool *began);
u64 tally_event_zero(const struct tally_event *ev);
void tally_event_close(struct tally_event *ev);
void tally_event_open(struct tally_event *ev);
void tally_event_shut(struct tally_event *ev);
bool tally_event_ended(struct tally_event *ev);
bool tally_event_waits(struct tally_event *ev);
bool tally_event_counts(struct tally_event *ev);
enum tally_state tally_event_state_now(const struct tally_event *ev);
enum tally_state tally_event_slot_state(const struct tally_event *ev,
					unsigned int slot);
void tally_event_slot_changed(struct tally_counter *c, unsigned int slot);
void tally_event_init_views(struct tally_event *ev, unsigned int nr);
void tally_event_wait_for_exec(struct tally_event *ev);

#endif /* TALLY_EVENT_H */
