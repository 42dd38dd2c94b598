/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_CHAIN_H
#define TALLY_CHAIN_H

#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>
#include <uapi/linux/perf_event.h>

struct pt_regs;

/* As many marks as one chain has: that of the kernel and that of user space. */
#define TALLY_CHAIN_MARKS	2

/**
 * struct tally_chain_want - which call chain
 * @kernel: not exclude_callchain_kernel
 * @user: not exclude_callchain_user
 * @crosstask: the event is of another task than the current one; then user
 *	space is left out
 * @max_stack: sample_max_stack; not counted are the marks
 */
struct tally_chain_want {
	bool kernel;
	bool user;
	bool crosstask;
	u16 max_stack;
};

/*
 * A chain in the making.
 * @ips: where it goes
 * @nr: how many entries there are, marks included
 * @room: how many @ips has
 * @left: how many addresses may still come
 * @at_home: the program itself was interrupted: the page tables are its own
 */
struct tally_chain {
	u64 *ips;
	unsigned int nr;
	unsigned int room;
	unsigned int left;
	bool at_home;
};

/* Whether there was room; if not, the walk is over. */
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
/* More functions than that are not looked through that a probe waits for the end of. */
#define TALLY_CHAIN_URETPROBES	64

/* The task may just be freeing it, with us on top. */
static inline bool tally_chain_uretprobe(struct return_instance *to,
					 const struct return_instance *from)
{
	return from && !copy_from_kernel_nofault(to, from, sizeof(*to));
}
#endif

/* Of the architecture. */
void tally_chain_kernel(struct tally_chain *chain, struct pt_regs *regs);
void tally_chain_user(struct tally_chain *chain, struct pt_regs *regs);

#endif /* TALLY_CHAIN_H */
