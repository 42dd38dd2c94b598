/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads of user memory without page faults, and the return addresses that uretprobes have
 * replaced, for architectures whose user memory is read by raw_copy_from_user().
 */
#ifndef TALLY_USER_H
#define TALLY_USER_H

#include <linux/compiler.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>
#include "arch/chain.h"
#include "compat.h"

/*
 * Returns the number of bytes that could not be read. raw_copy_from_user()
 * copies larger pieces, and stops in front of the piece that faults; the bytes
 * of that piece in front of the fault are read one by one.
 * __copy_from_user_inatomic() would check @to, which takes a lock in older
 * kernels.
 */
static inline unsigned long tally_user_read_start(void *to, const void __user *from,
						  size_t size)
{
	unsigned long rest;

	if (!access_ok(from, size))
		return size;
	pagefault_disable();
	rest = raw_copy_from_user(to, from, size);
	while (rest && !raw_copy_from_user(to + size - rest, from + size - rest, 1))
		rest--;
	pagefault_enable();
	return rest;
}

static inline bool tally_user_read(void *to, const void __user *from, size_t size)
{
	return !tally_user_read_start(to, from, size);
}

#ifdef CONFIG_UPROBES
/*
 * Guesses whether @ip is the trampoline of uretprobes: modules cannot ask for its address. It is
 * the start of a page: the last one of user space, unless another mapping was there first. In any
 * other page, it is known by the breakpoint that the page begins with.
 */
static inline bool tally_user_trampoline(u64 ip)
{
	const uprobe_opcode_t breakpoint = UPROBE_SWBP_INSN;
	uprobe_opcode_t instruction;

	if (ip == TASK_SIZE - PAGE_SIZE)
		return true;
	return ip && !(ip & ~PAGE_MASK) &&
	       tally_user_read(&instruction, (const void __user *)ip,
			       UPROBE_SWBP_INSN_SIZE) &&
	       !memcmp(&instruction, &breakpoint, UPROBE_SWBP_INSN_SIZE);
}

/*
 * Replaces each address of the uretprobe trampoline in a call chain by the
 * return address that a uretprobe has replaced on the stack. As in perf, this
 * includes the interrupted address, at @first. That address may be a breakpoint
 * of another kind at the start of a page. So the trampoline is looked for from
 * the outermost return address inwards.
 */
static inline void tally_user_restore_returns(struct tally_chain *chain, unsigned int first)
{
	unsigned int at = chain->nr;
	struct return_instance ri;
	u64 trampoline;

	if (!tally_chain_uretprobe(&ri, tally_uretprobes(current)))
		return;
	do {
		if (at-- == first)
			return;
		trampoline = chain->ips[at];
	} while (!tally_user_trampoline(trampoline));
	for (; first < chain->nr; first++) {
		if (chain->ips[first] != trampoline)
			continue;
		chain->ips[first] = ri.orig_ret_vaddr;
		if (!tally_chain_uretprobe(&ri, ri.next))
			return;
	}
}
#else
static inline void tally_user_restore_returns(struct tally_chain *chain, unsigned int first)
{
}
#endif

#endif /* TALLY_USER_H */
