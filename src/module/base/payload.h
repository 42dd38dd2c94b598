/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PAYLOAD_H
#define TALLY_PAYLOAD_H

#include <linux/perf_event.h>
#include <tally/tally.h>

/* Fields of a sample_type that stand in struct tally_payload. */
#define TALLY_PAYLOAD_FIELDS	(PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC | \
				 PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_RAW)

void *tally_payloads_new(struct tally_sample *samples, unsigned int n, u64 fields, int node);
void tally_payload_fill(struct tally_sample *s, u64 fields,
			const struct perf_sample_data *data, bool hide);
void tally_payload_keep_branches(struct tally_sample *s);

#endif /* TALLY_PAYLOAD_H */
