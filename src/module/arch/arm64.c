// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains, registers and the user's stack on arm64.
 *
 * Modules may call the kernel's unwinder for their own call chain only. The
 * code that was interrupted is further out on the same chain of frame records.
 * own_frames() counts the records of the handler, which are skipped. The
 * kernel's unwinder does all else: it knows all stacks, and the return
 * addresses that probes and tracers have replaced.
 */
#include <linux/bits.h>
#include <linux/compat.h>
#include <linux/init.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>
#include <asm/cpufeature.h>
#include <asm/perf_regs.h>
#include <asm/processor.h>
#include "arch/chain.h"
#include "arch/regs.h"
#include "arch/user.h"
#include "compat.h"

/* ---- call chains ---- */

void __init tally_chain_init(void)
{
}

/* The most frames between the overflow and here; there are far fewer. */
#define OWN_FRAMES	64

/*
 * The number of frame records from the one at @fp to where @regs begin; 0 if
 * @regs do not begin on this chain. The registers that an exception has saved
 * contain a frame record of their own. Registers that perf has filled in have
 * only the frame pointer of a function that is running; @made_up is set for
 * them.
 */
static unsigned int own_frames(unsigned long fp, const struct pt_regs *regs,
			       bool *made_up)
{
	unsigned int nr;

	for (nr = 1; nr <= OWN_FRAMES; nr++) {
		*made_up = fp != (unsigned long)&regs->stackframe;
		if (!*made_up || fp == regs->regs[29])
			return nr;
		if (copy_from_kernel_nofault(&fp, (void *)fp, sizeof(fp)))
			break;
	}
	*made_up = true;
	return 0;
}

/* noinline: own_frames() begins to count at the frame record of this function. */
noinline void tally_chain_kernel(struct tally_chain *chain,
				 struct pt_regs *regs)
{
	unsigned long fp = (unsigned long)__builtin_frame_address(0);
	unsigned int skip, room;
	bool made_up;

	skip = own_frames(fp, regs, &made_up);
	if (made_up && !tally_chain_store(chain, regs->pc))
		return;
	room = min(chain->left, chain->room - chain->nr);
	if (!skip || !room)
		return;
	BUILD_BUG_ON(sizeof(unsigned long) != sizeof(*chain->ips));
	/* No tail call: the frame record of this function has to be on the chain. */
	room = stack_trace_save((unsigned long *)chain->ips + chain->nr, room,
				skip);
	chain->nr += room;
	chain->left -= room;
}

struct record {
	u64 fp;
	u64 lr;
};

/* Each frame record lies above the one before. The chain ends at one that does not. */
static void walk64(struct tally_chain *chain, const struct pt_regs *regs)
{
	u64 fp = regs->regs[29];
	struct record record;

	while (fp && !(fp & 7) &&
	       tally_user_read(&record, (const void __user *)fp, sizeof(record))) {
		if (!tally_chain_store(chain, tally_strip_user_pac(record.lr)))
			return;
		if (fp >= record.fp)
			return;
		fp = record.fp;
	}
}

#ifdef CONFIG_COMPAT
/* The frame record of the APCS; the frame pointer points behind it. */
struct record32 {
	compat_uptr_t fp;
	u32 sp;
	u32 lr;
};

static void walk32(struct tally_chain *chain, const struct pt_regs *regs)
{
	struct record32 __user *at, *next;
	struct record32 record;

	at = (struct record32 __user *)regs->compat_fp - 1;
	while (at && !((unsigned long)at & 3) &&
	       tally_user_read(&record, at, sizeof(record))) {
		if (!tally_chain_store(chain, record.lr))
			return;
		next = compat_ptr(record.fp);
		if (at + 1 >= next)
			return;
		at = next - 1;
	}
}
#else
static void walk32(struct tally_chain *chain, const struct pt_regs *regs)
{
}
#endif

void tally_chain_user(struct tally_chain *chain, struct pt_regs *regs)
{
	unsigned int first = chain->nr;

	if (!tally_chain_store(chain, regs->pc))
		return;
	if (compat_user_mode(regs))
		walk32(chain, regs);
	else
		walk64(chain, regs);
	tally_user_restore_returns(chain, first);
}

/* ---- registers and the stack ---- */

u64 tally_regs_reserved(void)
{
	u64 reserved = ~GENMASK_ULL(PERF_REG_ARM64_MAX - 1, 0);

	if (system_supports_sve())
		reserved &= ~BIT_ULL(PERF_REG_ARM64_VG);
	return reserved;
}

/*
 * perf's ABI shows SP, LR and PC of a 32-bit task twice: as registers 13, 14
 * and 15, and as a 64-bit task's. This function finds the second SP and LR and
 * the first PC. Its caller finds the others, as for a 64-bit task.
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
	/* The vector length in units of 64 bits; of the current task, not of @regs. */
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

/* The kernel's entry saves all registers before an event can overflow. */
void tally_regs_of_user(struct tally_regs *user, struct pt_regs *regs)
{
	user->abi = tally_regs_abi();
	user->regs = task_pt_regs(current);
}

unsigned long tally_stack_read(void *to, unsigned long from, size_t size)
{
	return tally_user_read_start(to, (const void __user *)from, size);
}
