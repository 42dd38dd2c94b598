/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_CLOCK_H
#define TALLY_CLOCK_H

#include <linux/types.h>

struct perf_event_attr;

typedef u64 (*tally_clock_fn)(void);

tally_clock_fn tally_clock_of(const struct perf_event_attr *attr);

#endif /* TALLY_CLOCK_H */
