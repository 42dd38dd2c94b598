/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_OUTPUT_H
#define TALLY_OUTPUT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <uapi/linux/tally.h>
#include "base/clock.h"
#include "record/read_format.h"
#include "record/task_events.h"

struct pid_namespace;
struct pt_regs;
struct tally_account;
struct tally_event;
struct tally_output;
struct tally_recorder;
struct tally_ring;
struct tally_ring_how;
struct tally_set;
struct tally_target;
struct vm_area_struct;

/**
 * struct tally_output_slot - the destination of an event's records from one CPU, or task
 * @ring: the ring; NULL if records go nowhere. Read under RCU.
 * @node: link in tally_ring::outputs
 * @out: the output that the slot is part of
 * @maps: number of mappings of @ring that were made from this event's file
 * @throttled: the last of PERF_RECORD_THROTTLE and PERF_RECORD_UNTHROTTLE that
 *	was due in @ring, written or lost, was PERF_RECORD_THROTTLE
 */
struct tally_output_slot {
	struct tally_ring __rcu *ring;
	struct list_head node;
	struct tally_output *out;
	unsigned int maps;
	bool throttled;
};

/**
 * struct tally_output - an event's records: what they contain, and where they go
 * @type: perf_event_attr's sample_type
 * @fixed: bytes of a sample without the fields in @variable
 * @trailer: bytes at the end of records other than samples, for sample_id_all
 * @wakeup_events: samples that wake the reader; 0 if bytes do
 * @variable: fields of @type whose length varies
 * @slot_mask: mask that turns the number of a CPU into that of its slot
 * @behind: a sample has words behind the fields of variable length
 * @global: @ns is the initial one
 * @strip: no address of the kernel is written
 * @backward: perf_event_attr's write_backward
 * @callchain_kernel: call chains include the kernel
 * @callchain_user: call chains include user space
 * @branch_hw_index: branches come with the hardware index of the newest one
 * @max_stack: entries of a call chain; 0 for the default
 * @stack_user: perf_event_attr's sample_stack_user, in bytes
 * @id: id of the event
 * @ns: PID namespace of the event's maker
 * @clock: clock of the records, in nanoseconds; NULL for local_clock(), which
 *	some kernels have inline: its address is another one in each file
 * @read_format: perf_event_attr's read_format
 * @regs_user: perf_event_attr's sample_regs_user
 * @regs_intr: perf_event_attr's sample_regs_intr
 * @watermark: bytes that wake the reader; 0 if samples do
 * @lost: records that found no room
 * @ev: the event
 * @set: set of the event, if samples have the counts of a group; read under RCU
 * @tasks: listener for what tasks do; without kinds if nothing was asked for
 * @wait: queue of those who poll; NULL for none
 * @signal: kicked when a record of @tasks wakes the reader; NULL for none. It
 *	belongs to the event's file, and ends after the event.
 * @recorder: reader that is a module; NULL for rings that programs map
 * @cpu: CPU that the event counts on; -1 for all, or for a task
 * @on_all_cpus: the event counts on all CPUs
 * @scattered: children on several CPUs would write to the ring at the same time
 * @followers: outputs that go where this one goes; guarded by the outputs' lock
 * @follows: link in the @followers of another output
 * @nr_slots: number of @slots
 * @slots: one slot for each possible CPU, or one
 */
struct tally_output {
	u64 type;
	u16 fixed;
	u16 trailer;
	u32 wakeup_events;
	u64 variable;
	unsigned int slot_mask;
	bool behind;
	bool global;
	bool strip;
	bool backward;
	bool callchain_kernel;
	bool callchain_user;
	bool branch_hw_index;
	u16 max_stack;
	u16 stack_user;
	u64 id;
	struct pid_namespace *ns;
	u64 (*clock)(void);
	u64 read_format;
	u64 regs_user;
	u64 regs_intr;
	u32 watermark;
	atomic64_t lost;
	struct tally_event *ev;
	struct tally_set *set;
	struct tally_task_listener tasks;
	wait_queue_head_t *wait;
	struct tally_kick *signal;
	struct tally_recorder *recorder;
	int cpu;
	bool on_all_cpus;
	bool scattered;
	struct list_head followers;
	struct list_head follows;
	unsigned int nr_slots;
	struct tally_output_slot slots[];
};

/* The distance of two rings in the offset of a mapping, in pages. */
#define TALLY_RING_PAGES	(TALLY_RING_AT(1) >> PAGE_SHIFT)

struct tally_output *tally_output_new(const struct perf_event_attr *attr,
				      const struct tally_target *target,
				      struct tally_event *ev, gfp_t gfp);
int tally_output_fill(struct tally_output *out, struct tally_ring_how *how);
void tally_output_end(struct tally_output *out);
void tally_output_free(struct tally_output *out);
int tally_output_mmap(struct tally_event *ev, wait_queue_head_t *wait,
		      struct vm_area_struct *vma);
/*
 * The functions up to tally_output_of() are for the files of this folder, and are called with the
 * lock held. Those that take the number of a slot act on the followers of the output, too.
 */
extern struct mutex tally_outputs_lock;

struct tally_ring *tally_output_ring(const struct tally_output_slot *s);
void tally_output_attach(struct tally_output *out, unsigned int slot, struct tally_ring *r);
void tally_output_detach(struct tally_output *out, unsigned int slot);
void tally_output_detach_slot(struct tally_output_slot *s);
struct tally_output *tally_output_of(struct tally_event *ev);
int tally_output_slot_at(const struct tally_output *out, unsigned long pgoff);
tally_clock_fn tally_output_clock(const struct tally_event *ev);
int tally_output_set(struct tally_event *ev, wait_queue_head_t *wait,
		     struct tally_event *to);
int tally_output_follow(struct tally_event *ev, struct tally_event *leader);
int tally_output_pause(struct tally_output *out, bool pause);
__poll_t tally_output_poll(struct tally_output *out);
void tally_outputs_wake(struct tally_ring *r);

/* sample.c and task_records.c */
void tally_record_sample(struct tally_output *out, struct perf_event *event,
			 struct perf_sample_data *data, struct pt_regs *regs);
int tally_chains_alloc(const struct perf_event_attr *attr);
void tally_chains_free(void);
unsigned int tally_task_records_kinds(const struct perf_event_attr *attr);
int tally_task_records_add(struct tally_output *out, const struct perf_event_attr *attr,
			   struct tally_account *account);

/* Number of records that found no room. */
static inline u64 tally_output_lost(const struct tally_output *out)
{
	return out ? atomic64_read(&out->lost) : 0;
}

#endif /* TALLY_OUTPUT_H */
