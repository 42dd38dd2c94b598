/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TEST_PMU_READS_H
#define TALLY_TEST_PMU_READS_H

struct tap;

extern struct tap tap;

void test_budget(void);

#endif /* TALLY_TEST_PMU_READS_H */
