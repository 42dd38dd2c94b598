/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_READOUT_H
#define TALLY_READOUT_H

#include <linux/perf_event.h>
#include <linux/types.h>
#include <tally/tally.h>
#include "builder/builder.h"
#include "counter/slot.h"

struct tally_event;
struct tally_output;

/**
 * struct tally_readout - whose counts a sample tells
 * @nr: how many
 * @members: of the group, its leader first; those that were there at one moment
 */
struct tally_readout {
	unsigned int nr;
	struct tally_event *members[TALLY_SET_MOST];
};


unsigned int tally_readout_size(u64 format, unsigned int nr);
void tally_readout_find(const struct tally_output *out, struct tally_readout *r);
u64 *tally_readout_put(const struct tally_output *out, u64 *to,
		       struct perf_event *event, const struct tally_readout *r);

#endif /* TALLY_READOUT_H */
