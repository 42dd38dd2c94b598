/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_EVENT_H
#define TALLY_EVENT_H

#include <linux/list.h>
#include <linux/types.h>
#include "cpus.h"
#include "overflow.h"

struct dentry;

/**
 * struct tally_view - what of a slot's totals belongs to one event
 * @start: the slot's totals when the event was last enabled
 * @kept: what the event counted before that
 * @base: the value when the event was last reset
 *
 * Guarded by tally_counter::lock.
 */
struct tally_view {
	struct tally_totals start;
	struct tally_totals kept;
	u64 base;
};

/**
 * struct tally_event - one event as its owner sees it
 * @counter: what it looks at; may be shared
 * @overflow: what becomes of its overflows; NULL if it only counts
 * @owner: the module that built it; what is left is released when that unloads
 * @dir: its folder in debugfs; NULL where there is no debugfs
 * @node: in the list of events, or of those that are being released
 * @name_node: in the table of names
 * @id: unique while the module is loaded
 * @attr: what it counts
 * @given: what that was called, without modifiers; empty for the usual name
 * @max_rate: as the builder was given it
 * @hz: the frequency that was asked for, where @attr has a period instead: of a
 *	clock; else 0
 * @on: enabled; guarded by tally_counter::lock
 * @listed: complete and not being released; guarded by the list's lock
 * @name: unique among the events that exist
 * @views: one per slot of @counter
 */
struct tally_event {
	struct tally_counter *counter;
	struct tally_overflow *overflow;
	struct module *owner;
	struct dentry *dir;
	struct list_head node;
	struct hlist_node name_node;
	u64 id;
	struct perf_event_attr attr;
	char given[TALLY_EVENT_NAME_LEN];
	u64 hz;
	u32 max_rate;
	bool on;
	bool listed;
	char name[TALLY_NAME_LEN];
	struct tally_view views[];
};

int tally_event_read_slot(struct tally_event *ev, unsigned int slot,
			  struct tally_count *count);
void tally_event_read_all(struct tally_event *ev, struct tally_count *count);
void tally_event_what(const struct tally_event *ev, char *buf, size_t size);
int tally_event_on(struct tally_event *ev);
void tally_event_off(struct tally_event *ev);
void tally_events_destroy(struct list_head *doomed);
enum tally_state tally_state_worse(enum tally_state a, enum tally_state b);

#endif /* TALLY_EVENT_H */
