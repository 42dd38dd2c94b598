/* SPDX-License-Identifier: GPL-2.0 */
/* Counts in the text formats of Prometheus. */
#ifndef TALLY_TOOL_OPENMETRICS_H
#define TALLY_TOOL_OPENMETRICS_H

#include <stdbool.h>
#include <stdio.h>
#include "attached.h"

/*
 * Writes all events as they were read last: with open in OpenMetrics 1.0, else in the older format
 * of Prometheus, which node_exporter's textfile collector takes.
 */
void openmetrics_write(FILE *file, const struct running_list *events, bool open);

#endif /* TALLY_TOOL_OPENMETRICS_H */
