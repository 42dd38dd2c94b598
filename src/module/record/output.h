/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_OUTPUT_H
#define TALLY_OUTPUT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/poll.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <uapi/linux/tally.h>
#include "record/read_format.h"
#include "record/task_events.h"

struct pid_namespace;
struct tally_event;
struct tally_output;
struct tally_recorder;
struct tally_ring;
struct tally_ring_how;
struct tally_set;
struct tally_target;
struct vm_area_struct;

/**
 * struct tally_output_slot - where an event's records of one CPU, or its task, go
 * @ring: the ring; NULL if nobody has one. Read under RCU.
 * @node: in the ring's list
 * @out: the event's
 * @maps: how often a program has mapped the ring from this event's file
 * @throttled: a record said so, and none that it is over. Written where the ring is.
 */
struct tally_output_slot {
	struct tally_ring __rcu *ring;
	struct list_head node;
	struct tally_output *out;
	unsigned int maps;
	bool throttled;
};

/**
 * struct tally_output - an event's records, and where they go
 * @type: perf_event_attr's sample_type
 * @fixed: bytes of a sample, but for what differs from one to the next
 * @trailer: bytes of what is behind all other records
 * @wakeup_events: how many samples wake the reader; 0 if bytes do
 * @variable: fields of @type that are made in a way of their own
 * @slot_mask: takes the number of a CPU to that of its slot
 * @id: of the event
 * @ns: the PID namespace of who made it
 * @global: that is the first one
 * @clock: what time it is
 * @max_stack: entries of a call chain, 0 the default
 * @callchain_kernel: they have those of the kernel
 * @callchain_user: they have those of the program
 * @strip: nothing of the kernel is told
 * @backward: perf_event_attr's write_backward
 * @read_format: perf_event_attr's
 * @regs_user: perf_event_attr's
 * @regs_intr: perf_event_attr's
 * @stack_user: perf_event_attr's
 * @branch_hw_index: samples have the index of the newest branch
 * @watermark: bytes that wake the reader; 0 if samples do
 * @lost: records that found no room
 * @ev: the event
 * @set: the set that it is in, if samples tell of that; read under RCU
 * @tasks: what it is told of tasks, if it asked
 * @wait: who is woken; NULL nobody
 * @signal: kicked when a record of @tasks wakes; NULL for none. The file's, which takes
 *	it away with the event
 * @recorder: for rings that a module reads; else NULL
 * @cpu: the CPU that the event counts on; -1 for all, or any
 * @on_all_cpus: it counts on all
 * @scattered: it is written to by children on several CPUs at once
 * @followers: those that write where this one does; guarded by the outputs' lock
 * @follows: in the list of those
 * @nr_slots: how many slots
 * @slots: one for each CPU, or one
 */
struct tally_output {
	u64 type;
	u16 fixed;
	u16 trailer;
	u32 wakeup_events;
	u64 variable;
	unsigned int slot_mask;
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

/* Pages between two CPUs' rings of one file, as offsets of mappings go. */
#define TALLY_RING_PAGES	(TALLY_RING_AT(1) >> PAGE_SHIFT)

struct tally_output *tally_output_new(const struct perf_event_attr *attr,
				      const struct tally_target *target,
				      struct tally_event *ev);
int tally_output_listen(struct tally_output *out, const struct perf_event_attr *attr);
int tally_output_fill(struct tally_output *out, struct tally_ring_how *how);
void tally_output_end(struct tally_output *out);
void tally_output_free(struct tally_output *out);
int tally_output_mmap(struct tally_event *ev, wait_queue_head_t *wait,
		      struct vm_area_struct *vma);
int tally_output_slot_at(const struct tally_output *out, unsigned long pgoff);
int tally_output_set(struct tally_event *ev, wait_queue_head_t *wait,
		     struct tally_event *to);
int tally_output_follow(struct tally_event *ev, struct tally_event *leader);
int tally_output_pause(struct tally_output *out, bool pause);
__poll_t tally_output_poll(struct tally_output *out);
void tally_outputs_wake(struct tally_ring *r);

/* How many records found no room. */
static inline u64 tally_output_lost(const struct tally_output *out)
{
	return out ? atomic64_read(&out->lost) : 0;
}

#endif /* TALLY_OUTPUT_H */
