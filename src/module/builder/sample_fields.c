// SPDX-License-Identifier: GPL-2.0
/*
 * The fields of samples: the bits of perf_event_attr's sample_type, in one table.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include "builder/sample_fields.h"

#define ALL	(TALLY_IN_HANDLER | TALLY_IN_SHARED)

/*
 * A field without a place is in no record: only perf has AUX areas. The fields
 * in shared rings can be parsed by a program that knows only sample_type, and
 * hold no registers and no copy of the user stack of other programs.
 */
static const struct {
	u64 bit;
	const char *name;
	unsigned int in;
} fields[] = {
	{ PERF_SAMPLE_IP, "IP", TALLY_IN_HEAD | ALL },
	{ PERF_SAMPLE_TID, "TID", TALLY_IN_HEAD | TALLY_IN_TRAILER | ALL },
	{ PERF_SAMPLE_TIME, "TIME", TALLY_IN_HEAD | TALLY_IN_TRAILER | ALL },
	{ PERF_SAMPLE_ADDR, "ADDR", TALLY_IN_HEAD | ALL },
	{ PERF_SAMPLE_READ, "READ", TALLY_IN_VARIABLE },
	{ PERF_SAMPLE_CALLCHAIN, "CALLCHAIN", TALLY_IN_VARIABLE | TALLY_IN_SHARED },
	{ PERF_SAMPLE_ID, "ID", TALLY_IN_HEAD | TALLY_IN_TRAILER | TALLY_IN_SHARED },
	{ PERF_SAMPLE_CPU, "CPU", TALLY_IN_HEAD | TALLY_IN_TRAILER | ALL },
	{ PERF_SAMPLE_PERIOD, "PERIOD", TALLY_IN_HEAD | ALL },
	{ PERF_SAMPLE_STREAM_ID, "STREAM_ID",
	  TALLY_IN_HEAD | TALLY_IN_TRAILER | TALLY_IN_SHARED },
	{ PERF_SAMPLE_RAW, "RAW", TALLY_IN_VARIABLE | ALL },
	{ PERF_SAMPLE_BRANCH_STACK, "BRANCH_STACK", TALLY_IN_VARIABLE | TALLY_IN_HANDLER },
	{ PERF_SAMPLE_REGS_USER, "REGS_USER", TALLY_IN_VARIABLE },
	{ PERF_SAMPLE_STACK_USER, "STACK_USER", TALLY_IN_VARIABLE },
	{ PERF_SAMPLE_WEIGHT, "WEIGHT", TALLY_IN_TAIL | ALL },
	{ PERF_SAMPLE_DATA_SRC, "DATA_SRC", TALLY_IN_TAIL | ALL },
	{ PERF_SAMPLE_IDENTIFIER, "IDENTIFIER",
	  TALLY_IN_HEAD | TALLY_IN_TRAILER | TALLY_IN_SHARED },
	{ PERF_SAMPLE_TRANSACTION, "TRANSACTION", TALLY_IN_TAIL | TALLY_IN_SHARED },
	{ PERF_SAMPLE_REGS_INTR, "REGS_INTR", TALLY_IN_VARIABLE },
	{ PERF_SAMPLE_PHYS_ADDR, "PHYS_ADDR", TALLY_IN_LAST | ALL },
	{ PERF_SAMPLE_AUX, "AUX", 0 },
	{ PERF_SAMPLE_CGROUP, "CGROUP", TALLY_IN_LAST | TALLY_IN_SHARED },
	{ PERF_SAMPLE_DATA_PAGE_SIZE, "DATA_PAGE_SIZE", TALLY_IN_LAST | TALLY_IN_SHARED },
	{ PERF_SAMPLE_CODE_PAGE_SIZE, "CODE_PAGE_SIZE", TALLY_IN_LAST | TALLY_IN_SHARED },
	{ PERF_SAMPLE_WEIGHT_STRUCT, "WEIGHT_STRUCT", TALLY_IN_TAIL | ALL },
};

/* Another field that tally knows needs a row here, and code that writes it. */
static_assert(BIT_ULL(ARRAY_SIZE(fields)) - 1 == TALLY_SAMPLE_KNOWN);

/**
 * tally_sample_fields - select the fields of a sample_type by place and user
 * @sample_type: perf_event_attr's sample_type
 * @in: TALLY_IN_*: a field is selected if it has at least one of these
 *
 * Context: Any context.
 * Return: those fields, as a sample_type.
 */
u64 tally_sample_fields(u64 sample_type, unsigned int in)
{
	u64 found = 0;
	unsigned int i;

	for (i = 0; sample_type && i < ARRAY_SIZE(fields); i++)
		if (fields[i].in & in)
			found |= fields[i].bit;
	return found & sample_type;
}

/* Returns the name of the first field in a sample_type, without PERF_SAMPLE_. */
const char *tally_sample_field_name(u64 sample_type)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields) - 1; i++)
		if (fields[i].bit & sample_type)
			break;
	return fields[i].name;
}
