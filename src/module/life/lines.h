/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LINES_H
#define TALLY_LINES_H

#include <linux/types.h>

/* Bytes of the longest line: an event, a name and all options. */
#define TALLY_LINE_LEN 1024

/* Bytes of the longest sentence about a line: struct tally_error has as many. */
#define TALLY_LINE_WHY 112

int tally_line_create(const char *line, char *why, size_t size);
int tally_line_remove(const char *name, char *why, size_t size);
int tally_line_enable(const char *name, bool on, char *why, size_t size);
int tally_line_logged(const char *line, int (*take)(const char *line, char *why, size_t size));

#endif /* TALLY_LINES_H */
