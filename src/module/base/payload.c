// SPDX-License-Identifier: GPL-2.0
/*
 * What only some samples have: weight, data source, physical address, raw data and branches.
 *
 * Their memory is allocated with the event, one payload for each sample, because an NMI
 * cannot allocate. So raw data and copies of branches have bounds.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "arch/addr.h"
#include "base/payload.h"
#include "compat.h"

/**
 * tally_payloads_new - give each sample a payload
 * @samples: the samples
 * @n: number of samples
 * @fields: sample_type of the event; payloads have room for its raw data, and
 *	with PERF_SAMPLE_BRANCH_STACK for a copy of the branches
 * @node: NUMA node of the CPU that fills them
 *
 * Context: Process context, may sleep.
 * Return: the memory of all payloads, for kvfree(); NULL if there is none.
 */
void *tally_payloads_new(struct tally_sample *samples, unsigned int n, u64 fields, int node)
{
	struct perf_branch_stack *br;
	struct tally_payload *p;
	size_t branches = fields & PERF_SAMPLE_BRANCH_STACK ?
			  struct_size(br, entries, TALLY_BRANCHES_MOST) : 0;
	size_t size = sizeof(*p) + branches + (fields & PERF_SAMPLE_RAW ? TALLY_RAW_MOST : 0);
	void *all = kvmalloc_node(array_size(n, size), GFP_KERNEL_ACCOUNT | __GFP_ZERO, node);
	unsigned int i;

	if (!all)
		return NULL;
	for (i = 0; i < n; i++) {
		p = all + i * size;
		if (branches)
			p->room = (void *)(p + 1);
		if (fields & PERF_SAMPLE_RAW)
			p->raw = (void *)(p + 1) + branches;
		samples[i].payload = p;
	}
	return all;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_payloads_new);

/* Joins the fragments, up to TALLY_RAW_MOST bytes of them. */
static void copy_raw(struct tally_payload *p, const struct perf_raw_frag *frag)
{
	u32 full = 0, size = 0, n;

	for (;; frag = frag->next) {
		n = min_t(u32, frag->size, TALLY_RAW_MOST - size);
		if (n && frag->copy)
			frag->copy(p->raw + size, frag->data, 0, n);
		else
			memcpy(p->raw + size, frag->data, n);
		size += n;
		full += frag->size;
		if (perf_raw_frag_last(frag))
			break;
	}
	p->raw_size = size;
	p->raw_full = full;
}

/* Returns the driver's physical address or, as perf, calculates that of the data; else 0. */
static u64 phys_of(const struct perf_sample_data *data)
{
	if (data->sample_flags & PERF_SAMPLE_PHYS_ADDR)
		return data->phys_addr;
	return data->sample_flags & PERF_SAMPLE_ADDR ? tally_addr_phys(data->addr) : 0;
}

/**
 * tally_payload_fill - fill the payload of a sample
 * @s: the sample, which has a payload
 * @fields: sample_type of the event
 * @data: perf's data of the overflow
 * @hide: the sample must not show the kernel
 *
 * Context: Any context, NMI included.
 */
void tally_payload_fill(struct tally_sample *s, u64 fields,
			const struct perf_sample_data *data, bool hide)
{
	u64 had = data->sample_flags & fields;
	struct tally_payload *p = s->payload;

	p->present = had & (PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC);
	p->weight = had & PERF_SAMPLE_WEIGHT_TYPE ? data->weight.full : 0;
	p->data_src = had & PERF_SAMPLE_DATA_SRC ? data->data_src.val : 0;
	p->phys_addr = fields & PERF_SAMPLE_PHYS_ADDR && !hide ? phys_of(data) : 0;
	if (p->phys_addr)
		p->present |= PERF_SAMPLE_PHYS_ADDR;
	p->raw_size = 0;
	p->raw_full = 0;
	if (!(had & PERF_SAMPLE_RAW) || !data->raw)
		return;
	copy_raw(p, &data->raw->frag);
	p->present |= PERF_SAMPLE_RAW;
	if (p->raw_size < p->raw_full)
		s->flags |= TALLY_SAMPLE_TRUNCATED;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_payload_fill);

/**
 * tally_payload_keep_branches - copy the branches of a sample to its own memory
 * @s: the sample, whose branches are perf's, and whose payload has room for branches
 *
 * Context: Any context, NMI included.
 */
void tally_payload_keep_branches(struct tally_sample *s)
{
	const struct perf_branch_stack *from = s->branches;
	struct perf_branch_stack *to = s->payload->room;

	if (!from)
		return;
	to->nr = min_t(u64, from->nr, TALLY_BRANCHES_MOST);
	to->hw_idx = from->hw_idx;
	memcpy(to->entries, from->entries, to->nr * sizeof(to->entries[0]));
	if (to->nr < from->nr)
		s->flags |= TALLY_SAMPLE_TRUNCATED;
	s->branches = to;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_payload_keep_branches);
