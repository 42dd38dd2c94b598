/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_ALIAS_H
#define TALLY_ALIAS_H

#include <linux/types.h>

struct device;
struct perf_event_attr;

/**
 * struct tally_alias - what a PMU says of an event
 * @scale: factor of the count, as text; empty for 1
 * @unit: unit of the product; may be empty
 * @snapshot: the count is a gauge: only its last value has a meaning
 */
struct tally_alias {
	char scale[48];
	char unit[32];
	bool snapshot;
};

int tally_alias_find(const struct perf_event_attr *attr, const char *given,
		     struct tally_alias *alias);
void tally_alias_read(struct device *dev, const char *event, struct tally_alias *alias,
		      char *page);

#endif /* TALLY_ALIAS_H */
