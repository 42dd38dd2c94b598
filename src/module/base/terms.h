/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TERMS_H
#define TALLY_TERMS_H

#include <linux/types.h>

struct perf_event_attr;
struct tally_pmu_files;

/**
 * struct tally_terms - result of parsing the terms of an event, such as "mem-loads,ldlat=30"
 * @config: members of perf_event_attr: config to config3
 * @event: the term that is a name in the PMU's folder events; empty if none is
 */
struct tally_terms {
	u64 config[4];
	char event[64];
};

__printf(4, 5)
int tally_say(char *why, size_t size, int err, const char *fmt, ...);
int tally_terms_parse(const struct tally_pmu_files *files, const char *text,
		      struct tally_terms *terms, char *why, size_t size);
int tally_terms_apply(struct perf_event_attr *attr, const char *text, char *why, size_t size);

#endif /* TALLY_TERMS_H */
