/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_SAMPLE_FIELDS_H
#define TALLY_SAMPLE_FIELDS_H

#include <linux/bits.h>
#include <linux/types.h>
#include <uapi/linux/perf_event.h>

/*
 * The bits of sample_type and read_format that tally knows. A newer kernel may
 * have more: these are refused like bits that no kernel knows.
 */
#define TALLY_SAMPLE_KNOWN	((u64)PERF_SAMPLE_WEIGHT_STRUCT * 2 - 1)
#define TALLY_FORMAT_KNOWN	((u64)PERF_FORMAT_LOST * 2 - 1)

/*
 * Where a field stands in a record, and who may have it.
 *
 * A record has the fields of the head, then those of variable length up to the
 * user stack, the tail, the registers of the interrupted code, and the last
 * fields. Fields of head, tail and last are one word each; record/sample.c
 * writes them in the order that perf has, which is not that of the bits.
 */
#define TALLY_IN_HEAD		BIT(0)
#define TALLY_IN_VARIABLE	BIT(1)	/* has a length of its own */
#define TALLY_IN_TAIL		BIT(2)
#define TALLY_IN_LAST		BIT(3)
#define TALLY_IN_TRAILER	BIT(4)	/* also at the end of other records: sample_id_all */
#define TALLY_IN_HANDLER	BIT(5)	/* struct tally_sample has it, or perf fills it in */
#define TALLY_IN_SHARED		BIT(6)	/* in rings that programs may map: TALLY_RING_SHARED */

#define TALLY_IN_RECORDS	(TALLY_IN_HEAD | TALLY_IN_VARIABLE | TALLY_IN_TAIL | TALLY_IN_LAST)

u64 tally_sample_fields(u64 sample_type, unsigned int in);
const char *tally_sample_field_name(u64 sample_type);

#endif /* TALLY_SAMPLE_FIELDS_H */
