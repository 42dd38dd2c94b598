/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_GENERIC_H
#define TALLY_GENERIC_H

#include <linux/types.h>

struct perf_event_attr;

bool tally_generic_parse(struct perf_event_attr *attr, const char *text);
bool tally_generic_format(const struct perf_event_attr *attr, char *buf, size_t size);

#endif /* TALLY_GENERIC_H */
