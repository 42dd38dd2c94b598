/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_USER_H
#define TALLY_USER_H

#include <linux/types.h>

struct tally_builder;
struct tally_info;
struct tally_user;

/**
 * struct tally_charge - what is charged to a user
 * @user: whom; NULL nobody
 * @files: how many files
 * @events: how many of perf's events
 * @bytes: how much memory
 */
struct tally_charge {
	struct tally_user *user;
	unsigned int files;
	unsigned int events;
	u64 bytes;
};

int tally_charge(struct tally_charge *charge, unsigned int files,
		 unsigned int events, u64 bytes, struct tally_builder *b);
void tally_uncharge(struct tally_charge *charge);
void tally_limits(struct tally_info *info);

#endif /* TALLY_USER_H */
