// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains, as perf has them in PERF_SAMPLE_CALLCHAIN: perf makes them from
 * the same registers by the same unwinders, but lets no module call for that.
 *
 *	struct tally_chain_want want = { .kernel = true, .user = true,
 *					 .max_stack = 127 };
 *
 *	nr = tally_chain(regs, &want, ips, 127 + TALLY_CHAIN_MARKS);
 *
 * Three things that perf knows are not to be had:
 * - whether the CPU was in a virtual machine of this host, where perf has marks
 *   and no addresses; here, the host's part of the chain comes instead. An event
 *   with exclude_guest seldom gets there.
 * - sysctl perf_event_max_contexts_per_stack, which is taken for two or more
 *   (it is 8 unless someone changed it), and perf_event_max_stack: the caller
 *   says how many.
 * - whether a chain is being made already in the same kind of context, from
 *   which this one was come to. Then perf has none; here, it is whole.
 */
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include "arch/chain.h"
#include "compat.h"

/* Marks are not counted as addresses. */
static bool mark(struct tally_chain *chain, u64 context)
{
	if (chain->nr >= chain->room)
		return false;
	chain->ips[chain->nr++] = context;
	return true;
}

/**
 * tally_chain - who called whom
 * @regs: where the CPU was, as the overflow handler got them
 * @want: which part, and how many addresses
 * @ips: receives the chain, innermost first, each part behind its mark
 * @max: room in @ips; max_stack and TALLY_CHAIN_MARKS for the whole of it
 *
 * Context: Any context, NMI included. In an overflow handler: @regs are of what
 * it interrupted or was called by.
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
