/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_CONTROL_H
#define TALLY_CONTROL_H

struct tally_event;
struct tally_overflow;

void tally_control_setup(struct tally_overflow *of);
int tally_event_limit(struct tally_event *ev, int overflows);
void tally_control_cancel(struct tally_overflow *of);
int tally_control_init(void);
void tally_control_exit(void);

#endif /* TALLY_CONTROL_H */
