/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_COUNT_H
#define TALLY_COUNT_H

#include <tally/tally.h>

enum tally_state tally_state_worse(enum tally_state a, enum tally_state b);

#endif /* TALLY_COUNT_H */
