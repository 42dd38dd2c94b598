/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_SAMPLE_FIELDS_H
#define TALLY_SAMPLE_FIELDS_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/perf_event.h>
#include <linux/types.h>

/*
 * Where a field stands, and who may have it.
 *
 * A record has the fields of the head, then those of variable length up to the user
 * stack, the tail, the registers of the interrupted code, and the last fields. Fields of
 * head, tail and last are one word each; record/record.c writes them in the order that
 * perf has, which is not that of the bits.
 */
#define TALLY_IN_HEAD		BIT(0)
#define TALLY_IN_VARIABLE	BIT(1)	/* has a length of its own */
#define TALLY_IN_TAIL		BIT(2)
#define TALLY_IN_LAST		BIT(3)
#define TALLY_IN_TRAILER	BIT(4)	/* also at the end of all other records: sample_id_all */
#define TALLY_IN_HANDLER	BIT(5)	/* struct tally_sample has it, or perf fills it in */
#define TALLY_IN_SHARED		BIT(6)	/* in rings that programs may map: TALLY_RING_SHARED */

/*
 * All bits of perf_event_attr's sample_type. A field without a place is in no record: an
 * AUX area is perf's alone. What is in shared rings needs no more than its bit to be
 * understood, and tells nothing of a program but where it was.
 */
#define TALLY_SAMPLE_FIELDS(row, arg)							\
	row(arg, IP, TALLY_IN_HEAD | TALLY_IN_HANDLER | TALLY_IN_SHARED)		\
	row(arg, TID, TALLY_IN_HEAD | TALLY_IN_TRAILER | TALLY_IN_HANDLER |		\
		      TALLY_IN_SHARED)							\
	row(arg, TIME, TALLY_IN_HEAD | TALLY_IN_TRAILER | TALLY_IN_HANDLER |		\
		       TALLY_IN_SHARED)							\
	row(arg, ADDR, TALLY_IN_HEAD | TALLY_IN_HANDLER | TALLY_IN_SHARED)		\
	row(arg, READ, TALLY_IN_VARIABLE)						\
	row(arg, CALLCHAIN, TALLY_IN_VARIABLE | TALLY_IN_SHARED)			\
	row(arg, ID, TALLY_IN_HEAD | TALLY_IN_TRAILER | TALLY_IN_SHARED)		\
	row(arg, CPU, TALLY_IN_HEAD | TALLY_IN_TRAILER | TALLY_IN_HANDLER |		\
		      TALLY_IN_SHARED)							\
	row(arg, PERIOD, TALLY_IN_HEAD | TALLY_IN_HANDLER | TALLY_IN_SHARED)		\
	row(arg, STREAM_ID, TALLY_IN_HEAD | TALLY_IN_TRAILER | TALLY_IN_SHARED)		\
	row(arg, RAW, TALLY_IN_VARIABLE | TALLY_IN_SHARED)				\
	row(arg, BRANCH_STACK, TALLY_IN_VARIABLE | TALLY_IN_HANDLER)			\
	row(arg, REGS_USER, TALLY_IN_VARIABLE)						\
	row(arg, STACK_USER, TALLY_IN_VARIABLE)						\
	row(arg, WEIGHT, TALLY_IN_TAIL | TALLY_IN_SHARED)				\
	row(arg, DATA_SRC, TALLY_IN_TAIL | TALLY_IN_SHARED)				\
	row(arg, IDENTIFIER, TALLY_IN_HEAD | TALLY_IN_TRAILER | TALLY_IN_SHARED)	\
	row(arg, TRANSACTION, TALLY_IN_TAIL | TALLY_IN_SHARED)				\
	row(arg, REGS_INTR, TALLY_IN_VARIABLE)						\
	row(arg, PHYS_ADDR, TALLY_IN_LAST | TALLY_IN_SHARED)				\
	row(arg, AUX, 0)								\
	row(arg, CGROUP, TALLY_IN_LAST | TALLY_IN_SHARED)				\
	row(arg, DATA_PAGE_SIZE, TALLY_IN_LAST | TALLY_IN_SHARED)			\
	row(arg, CODE_PAGE_SIZE, TALLY_IN_LAST | TALLY_IN_SHARED)			\
	row(arg, WEIGHT_STRUCT, TALLY_IN_TAIL | TALLY_IN_SHARED)

#define TALLY_SAMPLE_ALL_ROW(arg, name, in)	| (u64)PERF_SAMPLE_##name
#define TALLY_SAMPLE_IN_ROW(arg, name, in)	| ((in) & (arg) ? (u64)PERF_SAMPLE_##name : 0)

/* The fields with one of these flags, as a sample_type; a constant. */
#define TALLY_SAMPLE_IN(flags)	(0ULL TALLY_SAMPLE_FIELDS(TALLY_SAMPLE_IN_ROW, flags))

#define TALLY_IN_RECORDS	(TALLY_IN_HEAD | TALLY_IN_VARIABLE | TALLY_IN_TAIL | TALLY_IN_LAST)

/* A kernel that has more of them has a row to be added, and a word to be written. */
static_assert((0ULL TALLY_SAMPLE_FIELDS(TALLY_SAMPLE_ALL_ROW, 0)) == PERF_SAMPLE_MAX - 1);

#endif /* TALLY_SAMPLE_FIELDS_H */
