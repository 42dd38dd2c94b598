/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_SILENT_H
#define TALLY_SILENT_H

#include <linux/types.h>

struct tally_event;

/* Called under tally_counter::lock, of events that overflow. */
void tally_silent_begin(struct tally_event *ev, unsigned int slot);
void tally_silent_forget(struct tally_event *ev);
void tally_silent_look(struct tally_event *ev, unsigned int first, unsigned int nr);
void tally_silent_read(struct tally_event *ev);

bool tally_silent_passed(u64 counted, u64 period, bool freq);

#endif /* TALLY_SILENT_H */
