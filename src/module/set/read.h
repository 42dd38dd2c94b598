/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_READ_H
#define TALLY_READ_H

#include <linux/types.h>
#include <tally/tally.h>

struct perf_event;
struct tally_event;
struct tally_slot;
struct tally_totals;

int tally_event_read_slot(struct tally_event *ev, unsigned int slot, bool whole,
			  struct tally_count *count);
u64 tally_event_read_gauge(struct tally_event *ev);
void tally_event_read_all(struct tally_event *ev, struct tally_count *count);
int tally_event_try_read(struct tally_event *ev, bool whole, struct tally_count *count,
			 u64 *estimate);
void tally_event_read_each(struct tally_event *ev, struct tally_count *counts);

/* local.c */
int tally_local_check(const struct tally_event *ev, const struct tally_slot *s,
		      struct perf_event *event, int cpu, bool irqs_off);

int tally_local_read(struct tally_event *ev, unsigned int slot, bool irqs_off, bool whole,
		     u64 now, struct tally_count *count);

int tally_local_check_stale(const struct tally_event *ev, int cpu);
int tally_event_peek(struct tally_event *ev, unsigned int slot, bool whole, int here,
		     struct tally_totals *t, enum tally_state *state);

#endif /* TALLY_READ_H */
