// SPDX-License-Identifier: GPL-2.0
/*
 * The limit of the memory that a user's files take. device/quota.c has an account for each user.
 * All of that memory is charged here, also in contexts that cannot sleep.
 */
#include <linux/cpumask.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include "base/account.h"

static unsigned int kbytes_per_user = UINT_MAX;
module_param(kbytes_per_user, uint, 0644);
MODULE_PARM_DESC(kbytes_per_user, "Memory that the files of one user may take, in KiB (default 65536, or 1024 for each CPU if that is more; 0: any amount)");

/* Sets the limit if none was given. It grows with the CPUs: an event takes some KiB for each. */
void __init tally_account_init(void)
{
	if (kbytes_per_user == UINT_MAX)
		kbytes_per_user = max(65536U, 1024 * num_possible_cpus());
}

/* Returns the limit in bytes; 0 for none. */
u64 tally_account_limit(void)
{
	return (u64)READ_ONCE(kbytes_per_user) * 1024;
}

/**
 * tally_account_charge - charge a user for memory
 * @account: the user's account; NULL if nobody is charged
 * @bytes: number of bytes; tally_account_uncharge() gives them back
 *
 * Context: Any context.
 * Return: false if that would exceed the limit; then nothing is charged.
 */
bool tally_account_charge(struct tally_account *account, u64 bytes)
{
	u64 limit = tally_account_limit();
	s64 taken;

	if (!account)
		return true;
	/* Another caller never sees bytes that are refused here. */
	taken = atomic64_read(&account->bytes);
	do {
		if (limit && taken + bytes > limit)
			return false;
	} while (!atomic64_try_cmpxchg(&account->bytes, &taken, taken + bytes));
	return true;
}
