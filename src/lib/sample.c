// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/* Parsing of PERF_RECORD_SAMPLE, which the kernel's perf_output_sample() writes. */
#include "cursor.h"

/*
 * The attr does not say for sure what stands before and behind the entries of a branch
 * stack. The kernel writes hw_idx for an empty branch stack, and omits it if there is no
 * branch stack at all; a PMU may have no counters. Only the record's size decides.
 */
struct guess {
	int hw_idx_if_empty;
	int counters;
};

static int take_branches(struct cursor *c, struct libtally_sample *s,
			 const struct libtally_format *format, const struct guess *guess)
{
	if (take_u64(c, &s->nr_branches))
		return LIBTALLY_RECORD_TRUNCATED;
	if (format->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX &&
	    (s->nr_branches || guess->hw_idx_if_empty)) {
		if (take_u64(c, &s->hw_idx))
			return LIBTALLY_RECORD_TRUNCATED;
		s->has_hw_idx = 1;
	}
	s->branches = take_array(c, s->nr_branches, sizeof(*s->branches));
	if (!s->branches)
		return LIBTALLY_RECORD_BAD_LENGTH;
	if (guess->counters && s->nr_branches) {
		s->branch_counters = take_array(c, s->nr_branches, sizeof(__u64));
		if (!s->branch_counters)
			return LIBTALLY_RECORD_BAD_LENGTH;
	}
	return 0;
}

static unsigned int bits_in(__u64 mask)
{
	return __builtin_popcountll(mask);
}

static int take_regs(struct cursor *c, struct libtally_regs *r, __u64 mask)
{
	if (take_u64(c, &r->abi))
		return LIBTALLY_RECORD_TRUNCATED;
	if (r->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return 0;
	r->mask = mask;
	r->nr = bits_in(mask);
	r->regs = take_array(c, r->nr, sizeof(__u64));
	return r->regs ? 0 : LIBTALLY_RECORD_BAD_LENGTH;
}

/* Takes a size and as many bytes, which begin and end at a multiple of 8. */
static int take_bytes(struct cursor *c, const void **bytes, __u64 *size)
{
	if (take_u64(c, size))
		return LIBTALLY_RECORD_TRUNCATED;
	if (*size % sizeof(__u64))
		return LIBTALLY_RECORD_BAD_LENGTH;
	*bytes = take(c, *size);
	return *bytes ? 0 : LIBTALLY_RECORD_BAD_LENGTH;
}

static int take_stack(struct cursor *c, struct libtally_sample *s)
{
	int error = take_bytes(c, &s->stack, &s->stack_size);

	if (error || !s->stack_size)
		return error;
	if (take_u64(c, &s->stack_used))
		return LIBTALLY_RECORD_TRUNCATED;
	return s->stack_used <= s->stack_size ? 0 : LIBTALLY_RECORD_BAD_LENGTH;
}

static int take_raw(struct cursor *c, struct libtally_sample *s)
{
	if (take_u32(c, &s->raw_size))
		return LIBTALLY_RECORD_TRUNCATED;
	/* The size and the bytes together are a multiple of 8. */
	if ((s->raw_size + sizeof(__u32)) % sizeof(__u64))
		return LIBTALLY_RECORD_BAD_LENGTH;
	s->raw = take(c, s->raw_size);
	return s->raw ? 0 : LIBTALLY_RECORD_BAD_LENGTH;
}

static int take_callchain(struct cursor *c, struct libtally_sample *s)
{
	if (take_u64(c, &s->nr_ips))
		return LIBTALLY_RECORD_TRUNCATED;
	s->ips = take_array(c, s->nr_ips, sizeof(__u64));
	return s->ips ? 0 : LIBTALLY_RECORD_BAD_LENGTH;
}

/* Takes the members of a fixed size at the beginning. */
static int take_fixed(struct cursor *c, struct libtally_sample *s)
{
	int error = 0;

	if (s->has & PERF_SAMPLE_IDENTIFIER)
		error |= take_u64(c, &s->id);
	if (s->has & PERF_SAMPLE_IP)
		error |= take_u64(c, &s->ip);
	if (s->has & PERF_SAMPLE_TID) {
		error |= take_u32(c, &s->pid);
		error |= take_u32(c, &s->tid);
	}
	if (s->has & PERF_SAMPLE_TIME)
		error |= take_u64(c, &s->time);
	if (s->has & PERF_SAMPLE_ADDR)
		error |= take_u64(c, &s->addr);
	if (s->has & PERF_SAMPLE_ID)
		error |= take_u64(c, &s->id);
	if (s->has & PERF_SAMPLE_STREAM_ID)
		error |= take_u64(c, &s->stream_id);
	if (s->has & PERF_SAMPLE_CPU) {
		error |= take_u32(c, &s->cpu);
		error |= take_u32(c, &s->cpu_reserved);
	}
	if (s->has & PERF_SAMPLE_PERIOD)
		error |= take_u64(c, &s->period);
	return error ? LIBTALLY_RECORD_TRUNCATED : 0;
}

/* Takes the members of one word each at the end, in front of AUX. */
static int take_last(struct cursor *c, struct libtally_sample *s)
{
	int error = 0;

	if (s->has & PERF_SAMPLE_PHYS_ADDR)
		error |= take_u64(c, &s->phys_addr);
	if (s->has & PERF_SAMPLE_CGROUP)
		error |= take_u64(c, &s->cgroup);
	if (s->has & PERF_SAMPLE_DATA_PAGE_SIZE)
		error |= take_u64(c, &s->data_page_size);
	if (s->has & PERF_SAMPLE_CODE_PAGE_SIZE)
		error |= take_u64(c, &s->code_page_size);
	return error ? LIBTALLY_RECORD_TRUNCATED : 0;
}

static int take_words(struct cursor *c, struct libtally_sample *s)
{
	int error = 0;

	if (s->has & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		error |= take_u64(c, &s->weight);
	if (s->has & PERF_SAMPLE_DATA_SRC)
		error |= take_u64(c, &s->data_src);
	if (s->has & PERF_SAMPLE_TRANSACTION)
		error |= take_u64(c, &s->transaction);
	return error ? LIBTALLY_RECORD_TRUNCATED : 0;
}

static int take_all(struct cursor *c, struct libtally_sample *s,
		    const struct libtally_format *format, const struct guess *guess)
{
	int error;

	memset(s, 0, sizeof(*s));
	s->has = format->sample_type & LIBTALLY_SAMPLE_KNOWN;
	error = take_fixed(c, s);
	if (!error && s->has & PERF_SAMPLE_READ)
		error = libtally_counts_take(c, &s->counts, format->read_format);
	if (!error && s->has & PERF_SAMPLE_CALLCHAIN)
		error = take_callchain(c, s);
	if (!error && s->has & PERF_SAMPLE_RAW)
		error = take_raw(c, s);
	if (!error && s->has & PERF_SAMPLE_BRANCH_STACK)
		error = take_branches(c, s, format, guess);
	if (!error && s->has & PERF_SAMPLE_REGS_USER)
		error = take_regs(c, &s->regs_user, format->regs_user);
	if (!error && s->has & PERF_SAMPLE_STACK_USER)
		error = take_stack(c, s);
	if (!error)
		error = take_words(c, s);
	if (!error && s->has & PERF_SAMPLE_REGS_INTR)
		error = take_regs(c, &s->regs_intr, format->regs_intr);
	if (!error)
		error = take_last(c, s);
	if (!error && s->has & PERF_SAMPLE_AUX)
		error = take_bytes(c, &s->aux, &s->aux_size);
	if (error)
		return error;
	s->rest.data = c->at;
	s->rest.size = left(c);
	return 0;
}

/* Returns 1 if the guess leaves no byte of the record. */
static int fits(const struct cursor *c, struct libtally_sample *s,
		const struct libtally_format *format, const struct guess *guess)
{
	struct cursor copy = *c;

	return take_all(&copy, s, format, guess) == 0 && left(&copy) == 0;
}

int libtally_sample_take(struct cursor *c, struct libtally_sample *s,
			 const struct libtally_format *format)
{
	__u64 counters = format->branch_sample_type & LIBTALLY_SAMPLE_BRANCH_COUNTERS;
	struct guess guess = { 1, !!counters };
	struct cursor begin = *c;
	struct guess other;
	int error;

	error = take_all(c, s, format, &guess);
	if (!error && !left(c))
		return 0;
	if (!(format->sample_type & PERF_SAMPLE_BRANCH_STACK) ||
	    format->sample_type & ~LIBTALLY_SAMPLE_KNOWN)
		return error;

	for (other.counters = guess.counters; other.counters >= 0; other.counters--) {
		for (other.hw_idx_if_empty = 1; other.hw_idx_if_empty >= 0;
		     other.hw_idx_if_empty--) {
			if (fits(&begin, s, format, &other))
				return 0;
		}
	}
	*c = begin;
	return take_all(c, s, format, &guess);
}

/* On big-endian machines, bit-fields begin at the high end of a word. */
static __u64 bits(__u64 word, unsigned int at, unsigned int nr)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	at = 64 - at - nr;
#endif
	return word >> at & ((1ULL << nr) - 1);
}

void libtally_branch_decode(__u64 flags, struct libtally_branch_flags *result)
{
	result->mispred = bits(flags, 0, 1);
	result->predicted = bits(flags, 1, 1);
	result->in_tx = bits(flags, 2, 1);
	result->abort = bits(flags, 3, 1);
	result->cycles = bits(flags, 4, 16);
	result->type = bits(flags, 20, 4);
	result->spec = bits(flags, 24, 2);
	result->new_type = bits(flags, 26, 4);
	result->priv = bits(flags, 30, 3);
}

/* The kernel has these bit-fields at the same bits on all machines. */
void libtally_data_src_decode(__u64 data_src, struct libtally_data_src *result)
{
	result->op = data_src & 0x1f;
	result->lvl = data_src >> 5 & 0x3fff;
	result->snoop = data_src >> 19 & 0x1f;
	result->lock = data_src >> 24 & 3;
	result->dtlb = data_src >> 26 & 0x7f;
	result->lvl_num = data_src >> 33 & 0xf;
	result->remote = data_src >> 37 & 1;
	result->snoopx = data_src >> 38 & 3;
	result->blk = data_src >> 40 & 7;
	result->hops = data_src >> 43 & 7;
}

int libtally_regs_get(const struct libtally_regs *regs, unsigned int number, __u64 *value)
{
	if (!regs->regs || number >= 64 || !(regs->mask >> number & 1))
		return -1;
	*value = regs->regs[bits_in(regs->mask & ((1ULL << number) - 1))];
	return 0;
}
