/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_REGS_H
#define TALLY_REGS_H

#include <linux/limits.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/types.h>

/**
 * struct tally_regs - registers of a sample
 * @abi: PERF_SAMPLE_REGS_ABI_*
 * @regs: registers; NULL if there are none, and then the sample has only @abi
 */
struct tally_regs {
	u64 abi;
	struct pt_regs *regs;
};

int tally_regs_validate(u64 mask);
void tally_regs_user(struct tally_regs *user, struct pt_regs *regs);
void tally_regs_intr(struct tally_regs *intr, struct pt_regs *regs);
u64 tally_regs_value(struct pt_regs *regs, unsigned int idx);
u64 *tally_regs_put(u64 *to, struct pt_regs *regs, u64 mask);

u16 tally_stack_room(u16 asked, u16 so_far, struct pt_regs *user);
u16 tally_stack_copy(void *to, struct pt_regs *user, u16 size);

/* Returns whether a precise event says that the ip is exact: x86 alone has a flag for it. */
static inline bool tally_regs_are_exact(const struct pt_regs *regs)
{
#ifdef PERF_EFLAGS_EXACT
	return regs->flags & PERF_EFLAGS_EXACT;
#else
	return false;
#endif
}

/* In the file of the architecture. */
u64 tally_regs_abi(void);
u64 tally_regs_reserved(void);

/* Returns whether the architecture has a file of its own, which finds stacks and registers. */
static inline bool tally_regs_exist(void)
{
	return tally_regs_reserved() != U64_MAX;
}

void tally_regs_of_user(struct tally_regs *user, struct pt_regs *regs);
unsigned long tally_stack_read(void *to, unsigned long from, size_t size);

#endif /* TALLY_REGS_H */
