/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_RELOAD_H
#define TALLY_RELOAD_H

#include <linux/types.h>

struct tally_counter;

int tally_reload_here(struct tally_counter *c, int cpu, u64 period);

#endif /* TALLY_RELOAD_H */
