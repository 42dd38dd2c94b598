/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_MLOCK_H
#define TALLY_MLOCK_H

struct cred;
struct mm_struct;

/**
 * struct tally_mlock - charge for the pages of a ring
 * @cred: credentials, which refer to the user who is charged; NULL if there is no charge
 * @locked: pages charged to the user
 * @mm: memory of the process that is charged
 * @pinned: pages charged to the process, beyond what the user may lock
 */
struct tally_mlock {
	const struct cred *cred;
	unsigned long locked;
	struct mm_struct *mm;
	unsigned long pinned;
};

int tally_mlock(struct tally_mlock *m, unsigned long pages);
void tally_munlock(struct tally_mlock *m);

#endif /* TALLY_MLOCK_H */
