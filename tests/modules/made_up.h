/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sample as the driver of a precise event hands it over, with made-up values. Any PMU can
 * deliver it, so that records with such fields are tested without the hardware.
 *
 *	struct made_up made;
 *	struct perf_sample_data data;
 *	struct pt_regs regs = *interrupted;
 *
 *	made_up_sample(&made, &data, event, ~0ULL);
 *	made_up_regs(&regs);
 *	perf_event_overflow(event, &data, &regs);
 */
#ifndef MADE_UP_H
#define MADE_UP_H

#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/string.h>
#include "probes.h"

#define MADE_UP_PERIOD		0x1111
#define MADE_UP_TIME		0x2222222222ULL
#define MADE_UP_ADDR		0xffff888000001238ULL
#define MADE_UP_PHYS		0x123456789000ULL
#define MADE_UP_WEIGHT		0x0123456789abcdefULL
#define MADE_UP_TXN		(PERF_TXN_TRANSACTION | PERF_TXN_CONFLICT | 0x99ULL << 32)
#define MADE_UP_SRC		(PERF_MEM_S(OP, LOAD) | PERF_MEM_S(LVL, HIT) | \
				 PERF_MEM_S(LVL, L1) | PERF_MEM_S(TLB, HIT))
#define MADE_UP_IP		0xffffffff81234567ULL
#define MADE_UP_HW_IDX		5
#define MADE_UP_BRANCHES	3
/* Bytes of the raw data: no multiple of 8. */
#define MADE_UP_RAW		13

/* No unwinder would find this call chain: it is the driver's. */
static const u64 made_up_kernel_ips[] = {
	PERF_CONTEXT_KERNEL, 0xffffffff81111111ULL, 0xffffffff82222222ULL
};

static const u64 made_up_user_ips[] = {
	PERF_CONTEXT_USER, 0x401111, 0x402222, 0x403333
};

#define MADE_UP_IPS	(ARRAY_SIZE(made_up_kernel_ips) + ARRAY_SIZE(made_up_user_ips))

/**
 * struct made_up - what the pointers of the made-up perf_sample_data refer to
 * @chain: a struct perf_callchain_entry
 * @branches: a struct perf_branch_stack
 * @counters: a word of event counts for each branch
 * @bytes: raw data
 * @raw: describes @bytes
 */
struct made_up {
	u64 chain[1 + MADE_UP_IPS];
	u64 branches[2 + MADE_UP_BRANCHES * sizeof(struct perf_branch_entry) / sizeof(u64)];
	u64 counters[MADE_UP_BRANCHES];
	u8 bytes[MADE_UP_RAW];
	struct perf_raw_record raw;
};

/*
 * At most sample_max_stack branches, as perf_sample_save_brstack() of later kernels. The last one
 * leads to the branch_sample_type that the driver has seen.
 */
static inline void made_up_branches(struct made_up *m, const struct perf_event_attr *attr)
{
	struct perf_branch_stack *br = (void *)m->branches;
	unsigned int i;

	br->nr = min_t(u16, attr->sample_max_stack, MADE_UP_BRANCHES);
	br->hw_idx = MADE_UP_HW_IDX;
	for (i = 0; i < MADE_UP_BRANCHES; i++) {
		br->entries[i].from = MADE_UP_IP + 16 * i;
		br->entries[i].to = 0x400000 + 16 * i;
		br->entries[i].mispred = i & 1;
		br->entries[i].predicted = !(i & 1);
		br->entries[i].in_tx = i != 0;
		br->entries[i].abort = i == 2;
		br->entries[i].cycles = 100 + i;
		br->entries[i].type = i == 2 ? PERF_BR_EXTEND_ABI : PERF_BR_COND_CALL + i;
		br->entries[i].new_type = i == 2 ? PERF_BR_NEW_FAULT_DATA : 0;
		br->entries[i].spec = PERF_BR_SPEC_WRONG_PATH + i;
		br->entries[i].priv = PERF_BR_PRIV_USER + i;
		m->counters[i] = 0x1000 + i;
	}
	br->entries[MADE_UP_BRANCHES - 1].to = attr->branch_sample_type;
}

/*
 * Makes the call chain what perf_callchain() would have made of it: drivers call that
 * before they write the address of the sample to the registers.
 */
static inline void made_up_limit(struct perf_callchain_entry *chain,
				 const struct perf_event_attr *attr)
{
	u64 *to = chain->ip, *from = to, *end = to + chain->nr;
	unsigned int left = attr->sample_max_stack;
	bool left_out = false;

	for (; from < end; from++) {
		bool mark = *from >= (u64)PERF_CONTEXT_MAX;

		if (mark)
			left_out = *from == PERF_CONTEXT_USER ? attr->exclude_callchain_user :
								attr->exclude_callchain_kernel;
		if (left_out || (!mark && !left))
			continue;
		left -= !mark;
		*to++ = *from;
	}
	chain->nr = to - chain->ip;
}

/* The fields that have a length, if the event has them; later kernels have to know all lengths. */
static inline void made_up_long(struct made_up *m, struct perf_sample_data *data,
				struct perf_event *event, u64 fields)
{
	if (fields & PERF_SAMPLE_CALLCHAIN) {
		made_up_limit((void *)m->chain, &event->attr);
		data->callchain = (void *)m->chain;
		data->sample_flags |= PERF_SAMPLE_CALLCHAIN;
	}
#ifdef TALLY_HAVE_BR_STACK_CNTR
	if (fields & PERF_SAMPLE_CALLCHAIN)
		data->dyn_size += sizeof(u64) * (1 + data->callchain->nr);
	if (fields & PERF_SAMPLE_RAW)
		perf_sample_save_raw_data(data, event, &m->raw);
	if (fields & PERF_SAMPLE_BRANCH_STACK)
		perf_sample_save_brstack(data, event, (void *)m->branches,
					 event->attr.branch_sample_type &
					 PERF_SAMPLE_BRANCH_COUNTERS ? m->counters : NULL);
#else
	data->raw = &m->raw;
	data->br_stack = (void *)m->branches;
	data->sample_flags |= fields & (PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK);
#endif
}

/**
 * made_up_sample - make a sample up
 * @m: memory that lives as long as the sample
 * @data: receives the sample
 * @event: perf's event
 * @fields: fields of its sample_type that the driver hands over; perf has defaults for
 *	the others
 */
static inline void made_up_sample(struct made_up *m, struct perf_sample_data *data,
				  struct perf_event *event, u64 fields)
{
	unsigned int i;

	memset(m, 0, sizeof(*m));
	m->chain[0] = MADE_UP_IPS;
	memcpy(&m->chain[1], made_up_kernel_ips, sizeof(made_up_kernel_ips));
	memcpy(&m->chain[1 + ARRAY_SIZE(made_up_kernel_ips)], made_up_user_ips,
	       sizeof(made_up_user_ips));
	for (i = 0; i < MADE_UP_RAW; i++)
		m->bytes[i] = 0x80 + i;
	m->raw.frag.size = MADE_UP_RAW;
	m->raw.frag.data = m->bytes;
	made_up_branches(m, &event->attr);

	fields &= event->attr.sample_type;
	perf_sample_data_init(data, 0, MADE_UP_PERIOD);
	data->time = MADE_UP_TIME;
	data->addr = MADE_UP_ADDR;
	data->weight.full = MADE_UP_WEIGHT;
	data->data_src.val = MADE_UP_SRC;
	data->txn = MADE_UP_TXN;
	data->phys_addr = MADE_UP_PHYS;
	data->sample_flags |= fields & (PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
					PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC |
					PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR);
	made_up_long(m, data, event, fields);
}

/* Writes the address of the sample to the registers, as a driver does. */
static inline void made_up_regs(struct pt_regs *regs)
{
	instruction_pointer_set(regs, MADE_UP_IP);
#ifdef PERF_EFLAGS_EXACT
	regs->flags |= PERF_EFLAGS_EXACT;
#endif
}

#endif /* MADE_UP_H */
