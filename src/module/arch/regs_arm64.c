// SPDX-License-Identifier: GPL-2.0
/* Registers and the user's stack on arm64. */
#include <linux/bits.h>
#include <linux/compat.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/cpufeature.h>
#include <asm/perf_regs.h>
#include <asm/processor.h>
#include "arch/regs.h"

u64 tally_regs_reserved(void)
{
	u64 reserved = ~GENMASK_ULL(PERF_REG_ARM64_MAX - 1, 0);

	if (system_supports_sve())
		reserved &= ~BIT_ULL(PERF_REG_ARM64_VG);
	return reserved;
}

/*
 * In a 32-bit task, those that its own kind of reader looks for, and where a
 * 64-bit one does, too: that is perf's ABI.
 */
static bool compat_value(struct pt_regs *regs, unsigned int idx, u64 *value)
{
	if (idx == PERF_REG_ARM64_SP)
		*value = regs->compat_sp;
	else if (idx == PERF_REG_ARM64_LR)
		*value = regs->compat_lr;
	else if (idx == 15)
		*value = regs->pc;
	else
		return false;
	return true;
}

u64 tally_regs_value(struct pt_regs *regs, unsigned int idx)
{
	u64 value;

	if (compat_user_mode(regs) && compat_value(regs, idx, &value))
		return value;
	if (idx == PERF_REG_ARM64_SP)
		return regs->sp;
	if (idx == PERF_REG_ARM64_PC)
		return regs->pc;
	/* In 64 bits, of the task, not of the registers. */
	if (idx == PERF_REG_ARM64_VG)
		return current->thread.vl[ARM64_VEC_SVE] * 8 / 64;
	if (idx >= ARRAY_SIZE(regs->regs))
		return 0;
	return regs->regs[idx];
}

u64 tally_regs_abi(void)
{
	return is_compat_thread(task_thread_info(current)) ?
	       PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64;
}

/* All are saved before anything else can happen. */
void tally_regs_of_user(struct tally_regs *user, struct pt_regs *regs)
{
	user->abi = tally_regs_abi();
	user->regs = task_pt_regs(current);
}

/*
 * See read_user() of chain_arm64.c. What is copied in larger pieces ends at the piece
 * in which it fails; the bytes in front of that place are had one by one.
 */
unsigned long tally_stack_read(void *to, unsigned long from, size_t size)
{
	const void __user *at = (const void __user *)from;
	unsigned long rest;

	if (!access_ok(at, size))
		return size;
	pagefault_disable();
	rest = raw_copy_from_user(to, at, size);
	while (rest && !raw_copy_from_user(to + size - rest, at + size - rest, 1))
		rest--;
	pagefault_enable();
	return rest;
}
