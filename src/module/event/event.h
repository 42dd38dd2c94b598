/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_EVENT_H
#define TALLY_EVENT_H

#include <linux/list.h>
#include <linux/rbtree_types.h>
#include <linux/seqlock.h>
#include <linux/types.h>
#include "base/count.h"
#include "base/pmu.h"
#include "counter/counter.h"
#include "event/overflow.h"
#include "event/registry.h"

struct dentry;
struct tally_file;
struct tally_filter;
struct tally_output;
struct tally_publisher;
struct tally_budget;

/**
 * struct tally_view - the part of a slot's totals that belongs to one event
 * @event: perf's event, if it can be read locally whenever it is on the PMU;
 *	else a stand-in that is never on any CPU
 * @read: function that brings the count of @event up to date
 * @width: as tally_slot::width
 * @value_offset: value of the event minus the count of @event
 * @latch: sequence of @offset, @zeroed and @begun: one copy of each is always whole
 * @offset: totals of the event minus those of the slot; totals of the event if
 *	@begun is false. Two copies.
 * @begun: two copies of @begins
 * @zeroed: two copies of @zero
 * @begins: the slot counts for the event
 * @offline: the slot was offline when its state was last traced
 * @zero: count of the event when it was last reset
 * @start: totals of the slot when the event was last enabled
 * @kept: totals of the event; if @begins, those from before @start
 * @mark_overflows: number of overflows before @mark_value was read; see silent.c
 * @mark_value: value of the slot when the mark was made
 * @mark_period: period that was in effect when the mark was made
 * @marked: @mark_value and @mark_period are valid
 * @silent: an overflow is overdue: the slot is in TALLY_STATE_SILENT
 * @missed: while the event was on, and since its last reset, the slot did not count for some time
 *	for which the slots of other events may have counted: it was in error, or began to count
 *	when its CPU came
 * @counted: the slot was counting at a read of the event's set, or at tally_event_keep()
 * @gap_ns: sum of the nanoseconds from when the CPU came online until the slot counted again,
 *	the most that the event can have missed; without times at which the slot was in error
 *
 * Written under tally_counter::lock. Members above @begins are read without it,
 * and so are @silent, @zero, @gap_ns and a part of @kept.
 */
struct tally_view {
	struct perf_event *event;
	tally_read_fn read;
	u64 value_offset;
	u32 width;
	seqcount_latch_t latch;
	struct tally_totals offset[2];
	u64 zeroed[2];
	bool begun[2];
	bool begins;
	bool marked;
	bool silent;
	bool missed;
	bool counted;
	bool offline;
	u64 zero;
	struct tally_totals start;
	struct tally_totals kept;
	u64 mark_overflows;
	u64 mark_value;
	u64 mark_period;
	u64 gap_ns;
} __aligned(64);

/* A view that can never be read locally. */
extern struct tally_view tally_view_nowhere;

/*
 * Copies to @offset what turns totals of the slot into those of the event, and returns true. If
 * the slot does not count for the event, @offset receives the totals of the event, and the function
 * returns false. With @whole, resets of the event are ignored. Any context.
 */
static inline bool tally_view_offset(const struct tally_view *view, bool whole,
				     struct tally_totals *offset)
{
	unsigned int seq;
	bool begun;

	do {
		seq = raw_read_seqcount_latch(&view->latch); /* I */
		begun = view->begun[seq & 1];
		*offset = view->offset[seq & 1];
		if (whole)
			offset->value += view->zeroed[seq & 1];
	} while (read_seqcount_latch_retry(&view->latch, seq));
	return begun;
}

/* Turns the totals @t of a slot that counts for the event into those of the event. Any context. */
static inline void tally_view_translate(const struct tally_view *view,
					struct tally_totals *t, bool whole)
{
	struct tally_totals offset;

	tally_view_offset(view, whole, &offset);
	tally_totals_add(t, &offset);
}

/**
 * struct tally_event - one event as its owner sees it
 * @slot_mask: as tally_counter::slot_mask
 * @view_step: bytes from a CPU's view to the next CPU's: 0 if there is one view
 * @counter: counter of the event; may be shared
 * @overflow: overflow state; NULL for a counting event
 * @output: destination of records; NULL for an event without records that has
 *	had no ring. Written under the outputs' lock once the event is built.
 * @filter: filter of the records of a tracepoint; NULL if there is none. Guarded by
 *	tally_counter::lock; the callback reads it after TALLY_SPECIAL_FILTER.
 * @publisher: publisher of the counts of the event or of its set; NULL if there is none
 * @retired: former @publisher, while the event is being released
 * @budget: budget of the event; NULL if it has none. Set while the event is built.
 * @owner: module that built the event; when it is unloaded, the event is released
 * @dir: folder in debugfs; NULL or an ERR_PTR if there is none
 * @node: link in a list of events that are being released
 * @user_node: link in tally_counter::users
 * @missed: hits that the counter's kernel probe had missed when the event was made
 * @entry: the event in the table of names; listed from when the event is complete to its release
 * @id_node: link in the tree of ids
 * @id: number that no other event has while the module is loaded, and none of perf's
 * @attr: attributes that the event was built with; period, precision and breakpoint are current
 * @given: text of what the event counts, without modifiers; empty if only @attr says it
 * @max_rate: limit of overflows per second, as the builder was given it
 * @hz: frequency that was asked for, in Hz, if @attr has a period instead, as
 *	for clocks; else 0
 * @named: @name was given, and not made from what the event counts
 * @name_hidden: @name begins with the text of a set, one of whose members is not public
 * @of_file: the event was made by a user program, and is released with a file of the program
 * @awaits: the event waits for exec() only because its leader does
 * @gauge: the count is a level, as the PMU says
 * @traced_state: state of the whole event that was last traced; guarded by tally_counter::lock
 * @on: the event is enabled; written under tally_counter::lock. It is cleared before
 *	tally_event_keep() is called, so that reads without the lock fail in between.
 * @gone: the event is being released; guarded by tally_counter::lock
 * @unpublished: the event is never published again; guarded by the publishers' lock
 * @throttled: number of times that the event had been throttled when the window of its set began;
 *	U64_MAX if it was throttled then. Written under tally_set::lock, and read without it.
 * @sampled: samples of members of the event's group may have its count, or had
 *	it; written under tally_set::lock
 * @local: the event can be read without the lock where it is on the PMU and not
 *	throttled; written under tally_counter::lock
 * @holders: number of users that keep the event from being freed; guarded by
 *	the registry's lock, see tally_registry_hold()
 * @name: name that is unique among existing events
 * @file: the event's own file; NULL if the event has none. Written once, before
 *	the event joins a set.
 * @attachments: attachments that read the event; guarded by the registry's lock
 * @shared: for each slot the count that unprivileged publishers have; NULL
 *	before the first of these, and never changed after that
 * @views: one view for each slot of @counter
 */
struct tally_event {
	unsigned int slot_mask;
	bool local;
	u8 traced_state;
	bool on;
	bool gone;
	bool of_file;
	bool awaits;
	bool gauge;
	bool named;
	bool name_hidden;
	bool unpublished;
	bool sampled;
	u16 view_step;
	struct tally_counter *counter;
	struct tally_overflow *overflow;
	struct tally_output *output;
	struct tally_filter *filter;
	struct tally_publisher *publisher;
	struct tally_publisher *retired;
	struct tally_budget *budget;
	struct module *owner;
	struct dentry *dir;
	struct list_head node;
	struct list_head user_node;
	u64 missed;
	u64 throttled;
	struct tally_entry entry;
	struct rb_node id_node;
	u64 id;
	struct perf_event_attr attr;
	char given[TALLY_EVENT_NAME_LEN];
	u64 hz;
	u32 max_rate;
	unsigned int holders;
	char name[TALLY_NAME_LEN];
	struct tally_file *file;
	struct list_head attachments;
	struct tally_shared *shared;
	struct tally_view views[];
};

/* Returns whether the slot has no perf event, no error and no count, and the event kept none. */
static inline bool tally_event_is_blank(const struct tally_event *ev, unsigned int slot)
{
	return !data_race(ev->views[slot].kept.enabled) && /* without the lock */
	       tally_slot_is_blank(&ev->counter->slots[slot]);
}

/*
 * Adds the event's part of a slot to @count, as of the slot's last read. Called under
 * tally_counter::lock, where both copies of tally_view::offset are the same.
 */
static inline void tally_event_add_slot(const struct tally_event *ev, unsigned int slot,
					struct tally_count *count)
{
	const struct tally_slot *s = &ev->counter->slots[slot];
	const struct tally_view *view = &ev->views[slot];

	tally_counter_assert_locked(ev->counter);
	count->value += view->offset[0].value;
	count->enabled_ns += view->offset[0].enabled;
	count->running_ns += view->offset[0].running;
	if (!view->begins)
		return;
	count->value += s->now.value;
	count->enabled_ns += s->now.enabled;
	count->running_ns += s->now.running;
}

void tally_event_trace_state(struct tally_event *ev, enum tally_state state);
void tally_event_apply_period(struct tally_event *ev);
u64 tally_event_slot_period(const struct tally_event *ev, unsigned int slot);
int tally_event_on(struct tally_event *ev);
void tally_event_off(struct tally_event *ev);
void tally_event_abandon(struct tally_event *ev);
void tally_event_begin(struct tally_event *ev);
void tally_event_close(struct tally_event *ev);
void tally_event_stop(struct tally_event *ev);
void tally_event_keep(struct tally_event *ev);
void tally_event_rebase(struct tally_event *ev);
void tally_event_drop_limit(struct tally_event *ev);
int tally_event_check(struct tally_event *ev);
u64 tally_event_reset_total(const struct tally_event *ev);
u64 tally_event_missed(const struct tally_event *ev);
bool tally_event_ended(struct tally_event *ev);
bool tally_event_waits(struct tally_event *ev);
bool tally_event_counts(struct tally_event *ev);
enum tally_state tally_event_state_now(const struct tally_event *ev);
enum tally_state tally_event_slot_state(const struct tally_event *ev, unsigned int slot);
void tally_event_slot_changed(struct tally_counter *c, unsigned int slot, u64 gap_ns, bool missed);
void tally_event_init_views(struct tally_event *ev, unsigned int nr);
void tally_event_wait_for_exec(struct tally_event *ev);

/* silent.c */
/* Called under tally_counter::lock; all but tally_silent_check() only for events that overflow. */
void tally_silent_begin(struct tally_event *ev, unsigned int slot);
void tally_silent_forget(struct tally_event *ev);
void tally_silent_check(struct tally_event *const *events, unsigned int nr, unsigned int first,
			unsigned int last);
void tally_silent_read(struct tally_event *ev);

bool tally_silent_passed(u64 counted, u64 period, bool freq);

#endif /* TALLY_EVENT_H */
