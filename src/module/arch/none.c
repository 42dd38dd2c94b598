// SPDX-License-Identifier: GPL-2.0
/*
 * Architectures without a file of their own. Their events count and sample, but
 * a sample has no call chain, no registers and no user stack. builder/attr.c
 * refuses these, because tally_regs_exist() is false.
 */
#include <linux/init.h>
#include "arch/chain.h"
#include "arch/regs.h"

void __init tally_chain_init(void)
{
}

void tally_chain_kernel(struct tally_chain *chain, struct pt_regs *regs)
{
}

void tally_chain_user(struct tally_chain *chain, struct pt_regs *regs)
{
}

u64 tally_regs_reserved(void)
{
	return U64_MAX;
}

u64 tally_regs_abi(void)
{
	return PERF_SAMPLE_REGS_ABI_NONE;
}

u64 tally_regs_value(struct pt_regs *regs, unsigned int idx)
{
	return 0;
}

void tally_regs_of_user(struct tally_regs *user, struct pt_regs *regs)
{
	user->abi = PERF_SAMPLE_REGS_ABI_NONE;
	user->regs = NULL;
}

unsigned long tally_stack_read(void *to, unsigned long from, size_t size)
{
	return size;
}
