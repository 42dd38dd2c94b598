// SPDX-License-Identifier: GPL-2.0
/*
 * Registers and the user's stack, as perf has them in PERF_SAMPLE_REGS_USER,
 * PERF_SAMPLE_REGS_INTR and PERF_SAMPLE_STACK_USER. None of perf's own functions
 * for that is there for modules.
 *
 *	tally_regs_user(&user, regs);
 *	*to++ = user.abi;
 *	if (user.regs)
 *		to = tally_regs_put(to, user.regs, attr->sample_regs_user);
 *	...
 *	room = tally_stack_room(attr->sample_stack_user, so_far, user.regs);
 *	*to++ = room;
 *	if (room) {
 *		dyn_size = tally_stack_copy(to, user.regs, room);
 *		to += room / sizeof(u64);
 *		*to++ = dyn_size;
 *	}
 */
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include "compat.h"
#include "arch/regs.h"

/**
 * tally_regs_validate - whether a sample may have these registers
 * @mask: attr's sample_regs_user or sample_regs_intr
 *
 * PERF_REG_EXTENDED_MASK passes, but on x86 is only for events whose own attr
 * has it in sample_regs_intr. perf refuses it where the PMU has no such
 * registers; where it was not asked, they are not behind those of the interrupt.
 *
 * Context: Any context.
 * Return: 0 or EINVAL.
 */
int tally_regs_validate(u64 mask)
{
	return !mask || mask & tally_regs_reserved() ? -EINVAL : 0;
}

/**
 * tally_regs_user - the registers of user space
 * @user: receives them; they stay as they are until the handler returns
 * @regs: where the CPU was, as the overflow handler got them
 *
 * Context: An overflow handler, NMI included.
 */
void tally_regs_user(struct tally_regs *user, struct pt_regs *regs)
{
	if (user_mode(regs)) {
		user->abi = tally_regs_abi();
		user->regs = regs;
	} else if (tally_regs_has_user(current)) {
		tally_regs_of_user(user, regs);
	} else {
		user->abi = PERF_SAMPLE_REGS_ABI_NONE;
		user->regs = NULL;
	}
}

/**
 * tally_regs_intr - the registers where the event overflowed
 * @intr: receives them
 * @regs: where the CPU was, as the overflow handler got them
 *
 * The ABI is the current task's, even if these are of the kernel: so has perf.
 *
 * Context: An overflow handler, NMI included.
 */
void tally_regs_intr(struct tally_regs *intr, struct pt_regs *regs)
{
	intr->abi = tally_regs_abi();
	intr->regs = regs;
}

/**
 * tally_regs_put - writes registers, the lowest bit's first
 * @to: as many words as @mask has bits
 * @regs: of tally_regs_user() or tally_regs_intr(), not NULL
 * @mask: which; has passed tally_regs_validate()
 *
 * Context: Any context.
 * Return: behind the last one.
 */
u64 *tally_regs_put(u64 *to, struct pt_regs *regs, u64 mask)
{
	for (; mask; mask &= mask - 1)
		*to++ = tally_regs_value(regs, __ffs64(mask));
	return to;
}

/* What there can be above the stack pointer. */
static u64 above(const struct pt_regs *user)
{
	unsigned long sp = user_stack_pointer((struct pt_regs *)user);

	return sp && sp < TASK_SIZE ? TASK_SIZE - sp : 0;
}

/**
 * tally_stack_room - how much of the stack a sample has room for
 * @asked: attr's sample_stack_user, a multiple of 8 below 65,528
 * @so_far: bytes of the record from its header to where the stack begins
 * @user: of tally_regs_user(); may be NULL
 *
 * Of so much, bytes are behind the first word; if it is 0, that word is all, and
 * otherwise another word comes behind them. A record has less than 64 KiB.
 *
 * Context: Any context.
 * Return: bytes; like perf's, not always a multiple of 8 at the top of memory.
 */
u16 tally_stack_room(u16 asked, u16 so_far, struct pt_regs *user)
{
	u16 size;

	if (!user || !current->mm)
		return 0;
	size = min_t(u64, asked, min_t(u64, above(user), USHRT_MAX));
	so_far += 2 * sizeof(u64);
	if ((u16)(so_far + size) < so_far)
		size = round_up((u16)(USHRT_MAX - so_far - sizeof(u64)),
				sizeof(u64));
	return size;
}

/**
 * tally_stack_copy - the user's stack
 * @to: receives it
 * @user: of tally_regs_user()
 * @size: of tally_stack_room()
 *
 * What cannot be read without a fault is left out, and so is what follows; @to is
 * zero there.
 *
 * Context: Any context, NMI included.
 * Return: how much was read: the sample's dyn_size.
 */
u16 tally_stack_copy(void *to, struct pt_regs *user, u16 size)
{
	u16 rest = tally_stack_read(to, user_stack_pointer(user), size);

	memset(to + size - rest, 0, rest);
	return size - rest;
}
