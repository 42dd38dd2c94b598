/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_FILTER_APPLY_H
#define TALLY_FILTER_APPLY_H

#include <linux/types.h>

struct perf_event;
struct perf_event_attr;
struct perf_sample_data;
struct tally_event;
struct tally_overflow;
struct tally_overflow_cpu;

bool tally_filter_passes(struct tally_overflow *of, struct tally_overflow_cpu *oc,
			 struct perf_event *event, struct perf_sample_data *data);
bool tally_filter_can(const struct perf_event_attr *attr);
int tally_event_set_filter(struct tally_event *ev, const char *text);

#endif /* TALLY_FILTER_APPLY_H */
