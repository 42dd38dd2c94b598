/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_READ_H
#define TALLY_READ_H

#include <linux/types.h>

struct tally_count;
struct tally_event;

int tally_event_add_slot(struct tally_event *ev, unsigned int slot, struct tally_count *count);
int tally_event_read_slot(struct tally_event *ev, unsigned int slot, bool whole,
			  struct tally_count *count);
u64 tally_event_read_gauge(struct tally_event *ev);
void tally_event_read_all(struct tally_event *ev, struct tally_count *count);
int tally_event_try_read(struct tally_event *ev, bool whole, struct tally_count *count,
			 u64 *estimate);
void tally_event_read_each(struct tally_event *ev, struct tally_count *counts);

#endif /* TALLY_READ_H */
