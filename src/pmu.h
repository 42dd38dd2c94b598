/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PMU_H
#define TALLY_PMU_H

#include <linux/types.h>

int tally_pmu_type(const char *name);
int tally_pmu_check_freq(u64 hz);
int tally_tracepoint_id(const char *system, const char *event);
int tally_symbol_address(const char *symbol, u64 offset, u64 *addr);

#endif /* TALLY_PMU_H */
