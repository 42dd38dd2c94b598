/* SPDX-License-Identifier: GPL-2.0 */
/* Events that only one model of CPU has, by libpfm4. */
#ifndef TALLY_TOOL_PFM_H
#define TALLY_TOOL_PFM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Encodes an event by its name. attr is a zeroed struct perf_event_attr of size bytes. Its header
 * is not included here: libpfm4 has one of its own, and a file cannot include both. Returns NULL,
 * or why there is no such event.
 */
const char *pfm_encode(const char *name, void *attr, size_t size);

/* Calls a function for each event of the PMUs that this machine has. */
void pfm_each(void (*call)(void *data, const char *name, const char *what), void *data);

#endif /* TALLY_TOOL_PFM_H */
