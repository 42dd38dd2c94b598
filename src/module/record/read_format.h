/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_READ_FORMAT_H
#define TALLY_READ_FORMAT_H

#include <linux/perf_event.h>
#include <linux/types.h>
#include <tally/tally.h>
#include "builder/builder.h"
#include "counter/slot.h"

struct tally_event;
struct tally_output;

/**
 * struct tally_read_members - the events whose counts are in a sample
 * @nr: number of @members
 * @members: the members of the group at one moment, its leader first
 */
struct tally_read_members {
	unsigned int nr;
	struct tally_event *members[TALLY_SET_MOST];
};

/* Writes those times of an event that the read_format asks for; returns the end. */
static inline u64 *tally_read_format_times(u64 *to, u64 format, u64 enabled, u64 running)
{
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		*to++ = enabled;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		*to++ = running;
	return to;
}

/* Writes what stands behind the value of an event; returns the end. */
static inline u64 *tally_read_format_id(u64 *to, u64 format, u64 id, u64 lost)
{
	if (format & PERF_FORMAT_ID)
		*to++ = id;
	if (format & PERF_FORMAT_LOST)
		*to++ = lost;
	return to;
}

unsigned int tally_read_format_size(u64 format, unsigned int nr);
void tally_read_format_find(const struct tally_output *out, struct tally_read_members *r);
u64 *tally_read_format_put(const struct tally_output *out, u64 *to,
			   struct perf_event *event, const struct tally_read_members *r);

#endif /* TALLY_READ_FORMAT_H */
