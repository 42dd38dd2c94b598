// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains, as perf writes them for PERF_SAMPLE_CALLCHAIN. perf unwinds the same
 * registers with the same unwinders, but modules cannot call its functions.
 *
 *	struct tally_chain_want want = { .kernel = true, .user = true,
 *					 .max_stack = 127 };
 *
 *	nr = tally_chain(regs, &want, ips, 127 + TALLY_CHAIN_MARKS);
 *
 * A module cannot know three things that perf knows:
 * - Whether the CPU was in a virtual machine of this host. There perf writes
 *   marks and no addresses; here the chain has the host's part. An event with
 *   exclude_guest seldom overflows there.
 * - The sysctls kernel.perf_event_max_contexts_per_stack, which is taken to be
 *   two or more (the default is 8), and kernel.perf_event_max_stack, for which
 *   the caller has max_stack.
 * - Whether a chain is being unwound already in the same kind of context, which this
 *   overflow has interrupted. Then perf writes none; here the chain is whole.
 */
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include "arch/chain.h"
#include "compat.h"

/* Stores a mark, which max_stack does not count; false if there is no room. */
static bool mark(struct tally_chain *chain, u64 context)
{
	if (chain->nr >= chain->room)
		return false;
	chain->ips[chain->nr++] = context;
	return true;
}

/**
 * tally_chain - unwind a call chain
 * @regs: registers of the code that was interrupted, as passed to the overflow handler
 * @want: the parts that are wanted, and the number of addresses
 * @ips: receives the chain, the innermost function first, each part behind its mark
 * @max: entries that @ips has room for; max_stack + TALLY_CHAIN_MARKS for a whole chain
 *
 * Context: An overflow handler, NMI included.
 * Return: the number of entries.
 */
unsigned int tally_chain(struct pt_regs *regs,
			 const struct tally_chain_want *want, u64 *ips,
			 unsigned int max)
{
	struct tally_chain chain = {
		.ips = ips, .room = max, .left = want->max_stack,
		.at_home = user_mode(regs),
	};
	bool user = want->user && !want->crosstask &&
		    tally_chain_has_user(current);

	if (want->kernel && !user_mode(regs)) {
		if (mark(&chain, PERF_CONTEXT_KERNEL))
			tally_chain_kernel(&chain, regs);
	}
	if (user && mark(&chain, PERF_CONTEXT_USER))
		tally_chain_user(&chain, user_mode(regs) ? regs :
						task_pt_regs(current));
	return chain.nr;
}
