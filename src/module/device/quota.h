/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_QUOTA_H
#define TALLY_QUOTA_H

#include <linux/types.h>

struct tally_account;
struct tally_builder;
struct tally_info;
struct tally_quota;

/**
 * struct tally_charge - a charge to a user's quota, which may grow: quotas_lock guards it
 * @quota: the quota; NULL if nothing is charged
 * @files: number of files
 * @events: number of perf events
 * @bytes: memory in bytes
 */
struct tally_charge {
	struct tally_quota *quota;
	unsigned int files;
	unsigned int events;
	u64 bytes;
};

int tally_quota_charge(struct tally_charge *charge, unsigned int files,
		       unsigned int events, u64 bytes, struct tally_builder *b);
int tally_quota_add(struct tally_charge *charge, unsigned int events, u64 bytes,
		    struct tally_builder *b);
void tally_quota_sub(struct tally_charge *charge, unsigned int events, u64 bytes);
void tally_quota_uncharge(struct tally_charge *charge);
struct tally_account *tally_quota_account(const struct tally_charge *charge);
void tally_quota_limits(struct tally_info *info);

#endif /* TALLY_QUOTA_H */
