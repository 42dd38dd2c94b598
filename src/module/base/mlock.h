/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_MLOCK_H
#define TALLY_MLOCK_H

struct mm_struct;
struct tally_builder;
struct user_struct;

/**
 * struct tally_mlock - who is charged for a ring's pages
 * @user: the user; NULL nobody
 * @locked: how many of the user's own allowance
 * @mm: whose pinned memory has the rest
 * @pinned: how many those are
 */
struct tally_mlock {
	struct user_struct *user;
	unsigned long locked;
	struct mm_struct *mm;
	unsigned long pinned;
};

int tally_mlock(struct tally_mlock *m, unsigned long pages);
void tally_munlock(struct tally_mlock *m);

#endif /* TALLY_MLOCK_H */
