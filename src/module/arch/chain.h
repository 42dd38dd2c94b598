/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_CHAIN_H
#define TALLY_CHAIN_H

#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

struct pt_regs;

/* The most marks in a call chain: PERF_CONTEXT_KERNEL and PERF_CONTEXT_USER. */
#define TALLY_CHAIN_MARKS	2

/**
 * struct tally_chain_want - the call chain that is wanted
 * @kernel: include the kernel: no exclude_callchain_kernel
 * @user: include user space: no exclude_callchain_user
 * @crosstask: the event is of another task than the current one; user space is left out
 * @max_stack: perf_event_attr's sample_max_stack: the most entries, without the marks
 */
struct tally_chain_want {
	bool kernel;
	bool user;
	bool crosstask;
	u16 max_stack;
};

/**
 * struct tally_chain - a call chain that is being unwound
 * @ips: entries, marks included
 * @nr: number of @ips that are stored
 * @room: number of @ips that there is room for
 * @left: addresses that may still be stored
 * @at_home: user space was interrupted, so that the task's own page tables are loaded
 */
struct tally_chain {
	u64 *ips;
	unsigned int nr;
	unsigned int room;
	unsigned int left;
	bool at_home;
};

/* Stores an address; false if there is no room, and the chain ends. */
static inline bool tally_chain_store(struct tally_chain *chain, u64 ip)
{
	if (!chain->left || chain->nr >= chain->room)
		return false;
	chain->left--;
	chain->ips[chain->nr++] = ip;
	return true;
}

unsigned int tally_chain(struct pt_regs *regs,
			 const struct tally_chain_want *want, u64 *ips,
			 unsigned int max);

#ifdef CONFIG_UPROBES
/* The most nested functions with a uretprobe that are looked at. */
#define TALLY_CHAIN_URETPROBES	64

/* Copies a return_instance, which the task may be freeing now. Returns false if there is none. */
static inline bool tally_chain_uretprobe(struct return_instance *to,
					 const struct return_instance *from)
{
	return from && !copy_from_kernel_nofault(to, from, sizeof(*to));
}
#endif

/* In the file of the architecture. */
void tally_chain_init(void);
void tally_chain_kernel(struct tally_chain *chain, struct pt_regs *regs);
void tally_chain_user(struct tally_chain *chain, struct pt_regs *regs);

#endif /* TALLY_CHAIN_H */
