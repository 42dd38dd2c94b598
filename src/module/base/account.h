/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_ACCOUNT_H
#define TALLY_ACCOUNT_H

#include <linux/atomic.h>
#include <linux/types.h>

/**
 * struct tally_account - what a user's files take
 * @bytes: memory in bytes; any context may change it
 * @published: work of publishing the user's pages of counts: see struct tally_publisher
 */
struct tally_account {
	atomic64_t bytes;
	atomic_t published;
};

void tally_account_init(void);
u64 tally_account_limit(void);
bool tally_account_charge(struct tally_account *account, u64 bytes);

/* Gives bytes back. */
static inline void tally_account_uncharge(struct tally_account *account, u64 bytes)
{
	if (account)
		atomic64_sub(bytes, &account->bytes);
}

#endif /* TALLY_ACCOUNT_H */
