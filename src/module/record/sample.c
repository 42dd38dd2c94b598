// SPDX-License-Identifier: GPL-2.0
/*
 * PERF_RECORD_SAMPLE, as perf_prepare_sample() and perf_output_sample() write
 * it: modules cannot call those.
 *
 * A record is reserved in one piece in the ring, and its fields are stored
 * there one after the other. So its length has to be known first: that of an
 * event without fields of variable length is constant; of all others,
 * find_parts() finds the length, and what put_parts() is to write.
 *
 * A new field is a row in builder/sample_fields.c and a word in the function
 * here that writes its place: put_head(), put_tail() or put_last(); or, if its
 * length varies, a line in find_parts() and one in put_parts().
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/cgroup.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "arch/addr.h"
#include "arch/chain.h"
#include "arch/regs.h"
#include "base/pmu.h"
#include "compat.h"
#include "record/output.h"
#include "record/read_format.h"
#include "record/record.h"
#include "record/ring.h"

/* The default length of a call chain, that of kernel.perf_event_max_stack. */
#define CHAIN_MAX	PERF_MAX_STACK_DEPTH

/* Contexts that interrupt each other on a CPU: a task, its softirq, an interrupt, an NMI. */
#define CONTEXTS	4

/**
 * struct scratch - memory of one CPU for call chains that are being unwound
 * @depth: number of contexts that are unwinding, each on top of the one before
 * @ips: the entries of the chain of each context
 */
struct scratch {
	unsigned int depth;
	u64 ips[CONTEXTS][CHAIN_MAX + TALLY_CHAIN_MARKS];
};

static struct scratch __percpu *scratch;

/**
 * struct parts - fields of variable length, as find_parts() has found them
 * @ips: entries of the call chain
 * @nr_ips: number of @ips
 * @raw: bytes of raw data, with the padding
 * @user: registers of user space
 * @intr: registers of the code that was interrupted
 * @stack: bytes of the user stack
 * @group: members of the group whose counts are in the sample; NULL for the event alone
 */
struct parts {
	const u64 *ips;
	u32 nr_ips;
	u32 raw;
	struct tally_regs user;
	struct tally_regs intr;
	u16 stack;
	const struct tally_read_members *group;
};

/* ---- words ---- */

/* The misc word of the header: where the CPU was. */
static u16 misc_of(struct pt_regs *regs)
{
	u16 misc = user_mode(regs) ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;

	if (tally_regs_are_exact(regs))
		misc |= PERF_RECORD_MISC_EXACT_IP;
	return misc;
}

/* The time of the sample: the driver's, if it has one and the event has the default clock. */
static __always_inline u64 time_of(const struct tally_output *out,
				   const struct perf_sample_data *data)
{
	if (unlikely(data->sample_flags & PERF_SAMPLE_TIME) && !out->clock)
		return data->time;
	return tally_word_now(out);
}

/*
 * Returns whether kernel addresses must be left out: the event excludes the kernel, but the
 * overflow was delivered late, when the CPU was in the kernel already.
 */
static bool hides(const struct tally_output *out, struct pt_regs *regs)
{
	return unlikely(out->strip) && !user_mode(regs);
}

/* The words in front of the fields of variable length. */
static __always_inline u64 *put_head(const struct tally_output *out, u64 *to,
				     const struct perf_event *event,
				     const struct perf_sample_data *data,
				     struct pt_regs *regs)
{
	u64 type = out->type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		*to++ = out->id;
	if (type & PERF_SAMPLE_IP)
		*to++ = hides(out, regs) ? 0 : instruction_pointer(regs);
	if (type & PERF_SAMPLE_TID)
		*to++ = tally_word_tid(out, current);
	if (type & PERF_SAMPLE_TIME)
		*to++ = time_of(out, data);
	if (type & PERF_SAMPLE_ADDR)
		*to++ = data->sample_flags & PERF_SAMPLE_ADDR && !hides(out, regs) ?
			data->addr : 0;
	if (type & PERF_SAMPLE_ID)
		*to++ = out->id;
	if (type & PERF_SAMPLE_STREAM_ID)
		*to++ = tally_word_stream_id(out, event);
	if (type & PERF_SAMPLE_CPU)
		*to++ = raw_smp_processor_id();
	if (type & PERF_SAMPLE_PERIOD)
		*to++ = data->period;
	return to;
}

/* The words between the user stack and the registers of the interrupted code. */
static u64 *put_tail(const struct tally_output *out, u64 *to,
		     const struct perf_sample_data *data)
{
	u64 type = out->type, had = data->sample_flags;

	if (type & PERF_SAMPLE_WEIGHT_TYPE)
		*to++ = had & PERF_SAMPLE_WEIGHT_TYPE ? data->weight.full : 0;
	if (type & PERF_SAMPLE_DATA_SRC)
		*to++ = had & PERF_SAMPLE_DATA_SRC ? data->data_src.val : PERF_MEM_NA;
	if (type & PERF_SAMPLE_TRANSACTION)
		*to++ = had & PERF_SAMPLE_TRANSACTION ? data->txn : 0;
	return to;
}

/* The id of the current task's cgroup; 0 if the kernel has no cgroup events. */
static u64 cgroup_here(void)
{
#ifdef CONFIG_CGROUP_PERF
	return cgroup_id(task_css_check(current, perf_event_cgrp_id, 1)->cgroup);
#else
	return 0;
#endif
}

/* The words behind the registers of the interrupted code. */
static u64 *put_last(const struct tally_output *out, u64 *to,
		     const struct perf_sample_data *data, struct pt_regs *regs)
{
	u64 type = out->type, had = data->sample_flags;
	bool hidden = hides(out, regs);
	u64 addr = had & PERF_SAMPLE_ADDR && !hidden ? data->addr : 0;

	if (type & PERF_SAMPLE_PHYS_ADDR)
		*to++ = had & PERF_SAMPLE_PHYS_ADDR && !hidden ? data->phys_addr :
								 tally_addr_phys(addr);
	if (type & PERF_SAMPLE_CGROUP)
		*to++ = cgroup_here();
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		*to++ = tally_addr_page_size(addr);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		*to++ = hidden ? 0 : tally_addr_page_size(instruction_pointer(regs));
	return to;
}

/* ---- fields of variable length ---- */

/* Memory for a call chain; NULL if CONTEXTS chains are being unwound on this CPU. */
static u64 *enter_scratch(void)
{
	struct scratch *s = this_cpu_ptr(scratch);
	unsigned int depth = s->depth;

	WRITE_ONCE(s->depth, depth + 1);
	/* An interrupt from here on takes the next entry of @ips. */
	barrier();
	return depth < CONTEXTS ? s->ips[depth] : NULL;
}

static void leave_scratch(void)
{
	struct scratch *s = this_cpu_ptr(scratch);

	/* All uses of the entry are before this: an interrupt may take it from here on. */
	barrier();
	WRITE_ONCE(s->depth, s->depth - 1);
}

/*
 * Returns whether the driver has unwound the call chain. Drivers of precise events unwind from the
 * registers of the interrupt, before they write the address of the sample to them: that address
 * does not belong to the stack of the interrupt.
 */
static bool has_chain(const struct perf_sample_data *data)
{
	return data->sample_flags & PERF_SAMPLE_CALLCHAIN;
}

/*
 * Takes the driver's call chain. The interrupt may have come in the kernel, although the
 * event excludes the kernel: the kernel's part of the chain lies in front of PERF_CONTEXT_USER.
 */
static void take_chain(const struct tally_output *out,
		       const struct perf_callchain_entry *chain, struct parts *p)
{
	u32 first = 0;

	if (out->strip)
		while (first < chain->nr && chain->ip[first] != PERF_CONTEXT_USER)
			first++;
	p->ips = chain->ip + first;
	p->nr_ips = chain->nr - first;
}

/* Unwinds the call chain into @ips. A chain without memory is empty. */
static void find_chain(const struct tally_output *out, const struct perf_event *event,
		       struct pt_regs *regs, u64 *ips, struct parts *p)
{
	const struct tally_chain_want want = {
		.kernel = out->callchain_kernel && !hides(out, regs),
		.user = out->callchain_user,
		.crosstask = event->ctx->task && event->ctx->task != current,
		.max_stack = out->max_stack ?: CHAIN_MAX,
	};

	p->ips = ips;
	p->nr_ips = ips ? tally_chain(regs, &want, ips, CHAIN_MAX + TALLY_CHAIN_MARKS) : 0;
}

static const struct perf_raw_frag *next_frag(const struct perf_raw_frag *frag)
{
	return perf_raw_frag_last(frag) ? NULL : frag->next;
}

/* Bytes of raw data, padded: with the length word in front, they are a multiple of 8. */
static u32 raw_size(const struct perf_sample_data *data)
{
	const struct perf_raw_frag *frag;
	u32 sum = sizeof(u32);

	if (!(data->sample_flags & PERF_SAMPLE_RAW) || !data->raw)
		return sizeof(u32);
	for (frag = &data->raw->frag; frag; frag = next_frag(frag))
		sum += frag->size;
	return ALIGN(sum, sizeof(u64)) - sizeof(u32);
}

static u64 *put_raw(u64 *to, const struct perf_sample_data *data, u32 size)
{
	const struct perf_raw_frag *frag;
	void *at = (u32 *)to + 1, *end = at + size;

	*(u32 *)to = size;
	if (data->sample_flags & PERF_SAMPLE_RAW && data->raw) {
		for (frag = &data->raw->frag; frag; frag = next_frag(frag)) {
			if (frag->copy)
				frag->copy(at, frag->data, 0, frag->size);
			else
				memcpy(at, frag->data, frag->size);
			at += frag->size;
		}
	}
	memset(at, 0, end - at);
	return end;
}

/* The branches of a sample; NULL if there are none, or they may be of the kernel. */
static const struct perf_branch_stack *branches(const struct tally_output *out,
						const struct perf_sample_data *data,
						struct pt_regs *regs)
{
	return data->sample_flags & PERF_SAMPLE_BRANCH_STACK && !hides(out, regs) ?
	       data->br_stack : NULL;
}

static unsigned int branches_size(const struct tally_output *out,
				  const struct perf_sample_data *data,
				  struct pt_regs *regs)
{
	const struct perf_branch_stack *br = branches(out, data, regs);

	if (!br)
		return sizeof(u64);
	return sizeof(u64) * (1 + out->branch_hw_index) + br->nr * sizeof(br->entries[0]) +
	       (tally_branch_counters(data) ? br->nr * sizeof(u64) : 0);
}

static u64 *put_branches(const struct tally_output *out, u64 *to,
			 const struct perf_sample_data *data, struct pt_regs *regs)
{
	const struct perf_branch_stack *br = branches(out, data, regs);
	const u64 *counters = tally_branch_counters(data);
	void *at;

	*to++ = br ? br->nr : 0;
	if (!br)
		return to;
	if (out->branch_hw_index)
		*to++ = br->hw_idx;
	memcpy(to, br->entries, br->nr * sizeof(br->entries[0]));
	at = (void *)to + br->nr * sizeof(br->entries[0]);
	if (!counters)
		return at;
	memcpy(at, counters, br->nr * sizeof(u64));
	return at + br->nr * sizeof(u64);
}

static unsigned int regs_size(const struct tally_regs *regs, u64 mask)
{
	return sizeof(u64) * (1 + (regs->regs ? hweight64(mask) : 0));
}

static u64 *put_regs(u64 *to, const struct tally_regs *regs, u64 mask)
{
	*to++ = regs->abi;
	return regs->regs ? tally_regs_put(to, regs->regs, mask) : to;
}

/* As perf: @size bytes of the stack, then the number of those that could be read. */
static u64 *put_stack(u64 *to, struct pt_regs *user, u16 size)
{
	*to++ = size;
	if (!size)
		return to;
	to[size / sizeof(u64)] = tally_stack_copy(to, user, size);
	return to + size / sizeof(u64) + 1;
}

/*
 * Finds the parts, and returns the size of the record. The user stack is the
 * last one: it may take what all other fields leave of 64 KiB.
 */
static unsigned int find_parts(const struct tally_output *out, const struct perf_event *event,
			       const struct perf_sample_data *data, struct pt_regs *regs,
			       u64 *ips, struct parts *p)
{
	u64 type = out->type;
	unsigned int size = out->fixed;

	if (type & PERF_SAMPLE_READ)
		size += tally_read_format_size(out->read_format, p->group ? p->group->nr : 1);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		if (has_chain(data))
			take_chain(out, data->callchain, p);
		else
			find_chain(out, event, regs, ips, p);
		size += sizeof(u64) * (1 + p->nr_ips);
	}
	if (type & PERF_SAMPLE_RAW) {
		p->raw = raw_size(data);
		size += sizeof(u32) + p->raw;
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		size += branches_size(out, data, regs);
	if (type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER))
		tally_regs_user(&p->user, regs);
	if (type & PERF_SAMPLE_REGS_USER)
		size += regs_size(&p->user, out->regs_user);
	if (type & PERF_SAMPLE_REGS_INTR) {
		if (!hides(out, regs))
			tally_regs_intr(&p->intr, regs);
		size += regs_size(&p->intr, out->regs_intr);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		p->stack = tally_stack_room(out->stack_user, size, p->user.regs);
		p->stack = round_down(p->stack, sizeof(u64));
		size += sizeof(u64) + (p->stack ? sizeof(u64) + p->stack : 0);
	}
	return size;
}

/* Writes what is behind the head and the counts. */
static u64 *put_parts(const struct tally_output *out, u64 *to,
		      const struct perf_sample_data *data, struct pt_regs *regs,
		      const struct parts *p)
{
	u64 type = out->type;

	if (type & PERF_SAMPLE_CALLCHAIN) {
		*to++ = p->nr_ips;
		memcpy(to, p->ips, p->nr_ips * sizeof(u64));
		to += p->nr_ips;
	}
	if (type & PERF_SAMPLE_RAW)
		to = put_raw(to, data, p->raw);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		to = put_branches(out, to, data, regs);
	if (type & PERF_SAMPLE_REGS_USER)
		to = put_regs(to, &p->user, out->regs_user);
	if (type & PERF_SAMPLE_STACK_USER)
		to = put_stack(to, p->user.regs, p->stack);
	to = put_tail(out, to, data);
	if (type & PERF_SAMPLE_REGS_INTR)
		to = put_regs(to, &p->intr, out->regs_intr);
	return put_last(out, to, data, regs);
}

static noinline void sample_variable(struct tally_output *out, struct tally_ring *r,
				     struct perf_event *event,
				     const struct perf_sample_data *data,
				     struct pt_regs *regs,
				     const struct tally_read_members *group)
{
	bool chain = out->type & PERF_SAMPLE_CALLCHAIN && !has_chain(data);
	struct parts p = { .group = group };
	unsigned int size;
	u64 *to;

	size = find_parts(out, event, data, regs, chain ? enter_scratch() : NULL, &p);
	to = tally_record_reserve(out, r, event, size);
	if (to) {
		*to++ = tally_word_header(PERF_RECORD_SAMPLE, misc_of(regs), size);
		to = put_head(out, to, event, data, regs);
		if (out->type & PERF_SAMPLE_READ)
			to = tally_read_format_put(out, to, event, group);
		put_parts(out, to, data, regs, &p);
		if (out->wakeup_events)
			tally_ring_count(r, out->wakeup_events);
		tally_ring_commit(r);
	}
	if (chain)
		leave_scratch();
}

/* This is not part of sample_variable(), so that only groups take the stack that @group needs. */
static noinline void sample_group(struct tally_output *out, struct tally_ring *r,
				  struct perf_event *event,
				  const struct perf_sample_data *data, struct pt_regs *regs)
{
	struct tally_read_members group;

	tally_read_format_find(out, &group);
	sample_variable(out, r, event, data, regs, &group);
}

/* ---- a sample ---- */

/**
 * tally_record_sample - write a sample to the ring of this CPU, if there is one
 * @out: the output of the event
 * @event: perf's event, which may be a child's
 * @data: perf's data of the overflow
 * @regs: registers of the code that was interrupted
 *
 * Context: Any context, NMI included, without preemption.
 */
void tally_record_sample(struct tally_output *out, struct perf_event *event,
			 struct perf_sample_data *data, struct pt_regs *regs)
{
	struct tally_output_slot *slot;
	struct tally_ring *r = tally_output_here(out, &slot);
	u64 *to;

	if (!r)
		return;
	if (unlikely(tally_pmu_throttled(event) != slot->throttled))
		tally_record_throttle(out, slot, r, event);
	if (out->variable) {
		if (tally_read_format_of_group(out->type, out->read_format))
			sample_group(out, r, event, data, regs);
		else
			sample_variable(out, r, event, data, regs, NULL);
		return;
	}
	to = tally_record_reserve(out, r, event, out->fixed);
	if (!to)
		return;
	*to++ = tally_word_header(PERF_RECORD_SAMPLE, misc_of(regs), out->fixed);
	to = put_head(out, to, event, data, regs);
	if (unlikely(out->behind))
		put_last(out, put_tail(out, to, data), data, regs);
	if (out->wakeup_events)
		tally_ring_count(r, out->wakeup_events);
	tally_ring_commit(r);
}

/* ---- memory for call chains ---- */

/**
 * tally_chains_alloc - allocate what the samples of an event need
 * @attr: the event's
 *
 * The memory is shared by all events, and is freed with the module.
 *
 * Context: Process context, may sleep.
 * Return: 0, or ENOMEM.
 */
int tally_chains_alloc(const struct perf_event_attr *attr)
{
	struct scratch __percpu *new;

	if (!(attr->sample_type & PERF_SAMPLE_CALLCHAIN) || READ_ONCE(scratch))
		return 0;
	new = alloc_percpu(struct scratch);
	if (!new)
		return -ENOMEM;
	if (cmpxchg(&scratch, NULL, new))
		free_percpu(new);
	return 0;
}

/* Frees what tally_chains_alloc() has allocated. Called when no event is left. */
void tally_chains_free(void)
{
	free_percpu(scratch);
}
