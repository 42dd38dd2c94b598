/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_RELOAD_H
#define TALLY_RELOAD_H

#include <linux/types.h>

struct perf_event;

bool tally_reload_here(struct perf_event *event, u64 period);

#endif /* TALLY_RELOAD_H */
