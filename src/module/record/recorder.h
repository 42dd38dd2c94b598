/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_RECORDER_H
#define TALLY_RECORDER_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/wait.h>

struct tally_builder;
struct tally_event;
struct tally_output;
struct tally_ring;
struct tally_ring_info;
struct tally_target;
struct vm_area_struct;

/**
 * struct tally_recorder - the reader of rings that belong to a module
 * @lock: serialises readers and tally_event_resume(), and guards @next, @ended, @settled
 * @wait: queue of those who wait for records
 * @out: the output of the event, which has the rings
 * @nr_pages: data pages of each ring
 * @next: slot at which the next read of all rings begins
 * @ended: the event is being released, and its rings are going
 * @settled: settle() has waited, after the last freeze, for writers in the middle of a record
 * @frozen: tally_event_snapshot() was called; written in any context
 * @shared: programs may map the rings
 * @node: link in tally_flight_recorders
 */
struct tally_recorder {
	struct mutex lock; /* see above */
	wait_queue_head_t wait;
	struct tally_output *out;
	unsigned int nr_pages;
	unsigned int next;
	bool ended;
	bool settled;
	bool frozen;
	bool shared;
	struct list_head node;
};

/*
 * The recorders with TALLY_RING_PANIC, linked by tally_recorder::node. A
 * reader of a crash dump finds them by this symbol: see "Rings" in <tally/tally.h>.
 */
extern struct list_head tally_flight_recorders;

int tally_recorder_new(struct tally_event *ev, const struct tally_builder *b,
		       const struct tally_target *target);
void tally_recorder_end(struct tally_recorder *rec);
bool tally_recorder_is_shared(const struct tally_event *ev);
int tally_recorder_info(struct tally_event *const *at, struct tally_ring_info *info);
int tally_recorder_mmap(struct tally_event *const *at, struct vm_area_struct *vma);
void tally_recorder_init(void);
void tally_recorder_exit(void);

#endif /* TALLY_RECORDER_H */
