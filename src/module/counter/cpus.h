/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_CPUS_H
#define TALLY_CPUS_H

#include <linux/perf_event.h>
#include "counter/slot.h"

/**
 * struct tally_cpus_stats - numbers of all counters
 * @counters: number of counters
 * @slots: numbers of all their slots
 */
struct tally_cpus_stats {
	unsigned long counters;
	struct tally_slot_stats slots;
};

struct tally_counter *tally_counter_get(const struct perf_event_attr *attr,
					const struct tally_target *target,
					perf_overflow_handler_t handler,
					void *context, bool at_once, int *err_cpu);
void tally_counter_end(struct tally_counter *c);
void tally_counter_put(struct tally_counter *c);
bool tally_counter_trylock(struct tally_counter *c);

void tally_cpus_stats(struct tally_cpus_stats *stats);
int tally_cpus_init(struct work_struct *after_repair);
void tally_cpus_exit(void);

#endif /* TALLY_CPUS_H */
