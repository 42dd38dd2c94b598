/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LEVELS_H
#define TALLY_LEVELS_H

#include <linux/types.h>

struct perf_event_attr;

const char *tally_levels_why(const struct perf_event_attr *attr, const char *system,
			     const char *event, bool counts);

#endif /* TALLY_LEVELS_H */
