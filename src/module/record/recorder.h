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
 * struct tally_recorder - rings that a module reads, and no program
 * @lock: one reader at a time, and no tally_event_resume() meanwhile
 * @wait: who waits for records
 * @out: the event's output, which has the rings
 * @nr_pages: of data, of each ring
 * @next: where the next look at all rings begins; guarded by @lock
 * @ended: the rings go, or are gone; guarded by @lock
 * @settled: who was writing when the rings were frozen is through; guarded by @lock
 * @frozen: tally_event_snapshot() was called; written in any context
 * @shared: programs may map the rings
 * @panics: in the list of those that a panic freezes
 * @node: in tally_flight_recorders
 */
struct tally_recorder {
	struct mutex lock; /* readers */
	wait_queue_head_t wait;
	struct tally_output *out;
	unsigned int nr_pages;
	unsigned int next;
	bool ended;
	bool settled;
	bool frozen;
	bool shared;
	bool panics;
	struct list_head node;
};

/*
 * The recorders with TALLY_RING_PANIC, by tally_recorder::node. A crash dump finds them by
 * this symbol: see "Rings" in <tally/tally.h>.
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
