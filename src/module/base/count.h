/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_COUNT_H
#define TALLY_COUNT_H

#include <tally/tally.h>

/* Room for the longest product: 20 digits, or 17 digits, a point and two more. */
#define TALLY_DECIMAL_LEN 24

enum tally_state tally_state_worse(enum tally_state a, enum tally_state b);
int tally_count_decimal(u64 value, const char *scale, char *buf, size_t size);

#endif /* TALLY_COUNT_H */
