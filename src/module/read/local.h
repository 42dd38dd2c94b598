/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LOCAL_H
#define TALLY_LOCAL_H

#include <linux/types.h>
#include <tally/tally.h>

struct perf_event;
struct tally_event;
struct tally_slot;
struct tally_totals;

int tally_local_check(const struct tally_event *ev, const struct tally_slot *s,
		      struct perf_event *event, int cpu, bool irqs_off);

int tally_local_read(struct tally_event *ev, int cpu, bool irqs_off, bool whole,
		     u64 now, struct tally_count *count);

int tally_local_late(const struct tally_event *ev, int cpu);
int tally_event_peek(struct tally_event *ev, unsigned int slot, bool whole, int here,
		     struct tally_totals *t, enum tally_state *state);

#endif /* TALLY_LOCAL_H */
