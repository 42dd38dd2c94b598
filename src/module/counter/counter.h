/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_COUNTER_H
#define TALLY_COUNTER_H

#include <tally/tally.h>
#include "counter/slot.h"

void tally_counter_on(struct tally_counter *c);
void tally_counter_on_exec(struct tally_counter *c);
void tally_counter_retry(struct tally_counter *c);
void tally_counter_off(struct tally_counter *c);
void tally_counter_leave(struct tally_counter *c);
void tally_counter_quieten(struct tally_counter *c);
void tally_counter_pause(struct tally_counter *c, unsigned int slot, bool spent);
void tally_counter_unpause(struct tally_counter *c, unsigned int slot);
void tally_counter_arm(struct tally_counter *c, unsigned int slot);
int tally_counter_set_period(struct tally_counter *c, u64 period);
int tally_counter_modify(struct tally_counter *c, const struct perf_event_attr *attr);
const struct perf_event *tally_counter_any(const struct tally_counter *c);
bool tally_counter_interrupts(struct tally_counter *c);
bool tally_counter_same_context(struct tally_counter *a, struct tally_counter *b);
void tally_counter_look(struct tally_counter *c);
void tally_counter_look_slot(struct tally_counter *c, unsigned int slot);
bool tally_counter_counts(const struct tally_counter *c);
bool tally_counter_ended(const struct tally_counter *c);
pid_t tally_counter_pid(const struct tally_counter *c);
enum tally_state tally_counter_state(const struct tally_counter *c, unsigned int slot);
u64 tally_counter_missed(const struct tally_counter *c);
unsigned int tally_counter_served(struct tally_counter *c, unsigned int *online);
bool tally_counter_serves(const struct tally_counter *c, unsigned int slot);

#endif /* TALLY_COUNTER_H */
