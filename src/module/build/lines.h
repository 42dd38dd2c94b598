/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LINES_H
#define TALLY_LINES_H

int tally_line_create(const char *line);
int tally_line_remove(const char *name);

#endif /* TALLY_LINES_H */
