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

/**
 * struct tally_readout_own - what an inherited event has counted in its own task
 * @start: perf's event, when the event was last enabled
 * @kept: what the event counted before that
 * @zero: what it had counted when it was last reset
 * @away: what of perf's event is not the event's; read without the lock
 */
struct tally_readout_own {
	struct tally_totals start;
	struct tally_totals kept;
	u64 zero;
	struct tally_totals away;
};

unsigned int tally_readout_size(u64 format, unsigned int nr);
void tally_readout_find(const struct tally_output *out, struct tally_readout *r);
u64 *tally_readout_put(const struct tally_output *out, u64 *to,
		       struct perf_event *event, const struct tally_readout *r);

/* Of an inherited event, under tally_counter::lock, with what a look has found. */
void tally_readout_begin(struct tally_event *ev, const struct tally_totals *all);
void tally_readout_keep(struct tally_event *ev, const struct tally_totals *all);
void tally_readout_reset(struct tally_event *ev, const struct tally_totals *all);

#endif /* TALLY_READOUT_H */
