/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_QUOTA_H
#define TALLY_QUOTA_H

#include <linux/types.h>

struct tally_builder;
struct tally_info;
struct tally_quota;

/**
 * struct tally_charge - what is charged to a user
 * @quota: whom; NULL nobody
 * @files: how many files
 * @events: how many of perf's events
 * @bytes: how much memory
 */
struct tally_charge {
	struct tally_quota *quota;
	unsigned int files;
	unsigned int events;
	u64 bytes;
};

int tally_quota_charge(struct tally_charge *charge, unsigned int files,
		       unsigned int events, u64 bytes, struct tally_builder *b);
void tally_quota_uncharge(struct tally_charge *charge);
void tally_quota_limits(struct tally_info *info);

#endif /* TALLY_QUOTA_H */
