/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_SHARE_H
#define TALLY_SHARE_H

#include <linux/types.h>

struct perf_event_attr;
struct tally_builder;
struct tally_event;
struct tally_output;
struct tally_overflow;

int tally_share_check(struct tally_builder *b, u64 sample_type);
struct tally_output *tally_share_begin(struct tally_event *ev,
				       const struct perf_event_attr *attr);
void tally_share_end(struct tally_output *out);
void tally_shares_end(struct tally_event *ev);

#endif /* TALLY_SHARE_H */
