/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_BUDGET_H
#define TALLY_BUDGET_H

#include <linux/atomic.h>
#include <linux/types.h>

/**
 * struct tally_budget - what a user's files take
 * @bytes: memory in bytes; any context may change it
 * @published: work of publishing the user's pages of counts: see struct tally_publisher
 */
struct tally_budget {
	atomic64_t bytes;
	atomic_t published;
};

void tally_budget_init(void);
u64 tally_budget_limit(void);
bool tally_budget_take(struct tally_budget *budget, u64 bytes);

/* Gives bytes back. */
static inline void tally_budget_give(struct tally_budget *budget, u64 bytes)
{
	if (budget)
		atomic64_sub(bytes, &budget->bytes);
}

#endif /* TALLY_BUDGET_H */
