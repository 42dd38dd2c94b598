// SPDX-License-Identifier: GPL-2.0
/*
 * Registers and the user stack, as perf writes them for PERF_SAMPLE_REGS_USER,
 * PERF_SAMPLE_REGS_INTR and PERF_SAMPLE_STACK_USER. Modules cannot call perf's
 * functions for that.
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
 * tally_regs_validate - check a mask of registers
 * @mask: perf_event_attr's sample_regs_user or sample_regs_intr
 *
 * PERF_REG_EXTENDED_MASK passes. On x86, an event may have these registers only if its
 * own attr has them in sample_regs_intr: perf then refuses them if the PMU has none. For
 * other events they do not lie behind the registers that the interrupt saved.
 *
 * Context: Any context.
 * Return: 0; EINVAL if @mask is 0 or has a register that does not exist.
 */
int tally_regs_validate(u64 mask)
{
	return !mask || mask & tally_regs_reserved() ? -EINVAL : 0;
}

/**
 * tally_regs_user - find the registers of user space
 * @user: receives the registers, which do not change until the handler returns
 * @regs: registers of the code that was interrupted, as passed to the overflow handler
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
 * tally_regs_intr - find the registers of the code that was interrupted
 * @intr: receives the registers
 * @regs: registers of the code that was interrupted, as passed to the overflow handler
 *
 * As in perf, the ABI is that of the current task, even if the registers are the kernel's.
 *
 * Context: An overflow handler, NMI included.
 */
void tally_regs_intr(struct tally_regs *intr, struct pt_regs *regs)
{
	intr->abi = tally_regs_abi();
	intr->regs = regs;
}

/**
 * tally_regs_put - write registers, in the order of their bits
 * @to: room for a word for each bit of @mask
 * @regs: registers of tally_regs_user() or tally_regs_intr(), not NULL
 * @mask: mask of the registers, which has passed tally_regs_validate()
 *
 * Context: Any context.
 * Return: the end of the words.
 */
u64 *tally_regs_put(u64 *to, struct pt_regs *regs, u64 mask)
{
	for (; mask; mask &= mask - 1)
		*to++ = tally_regs_value(regs, __ffs64(mask));
	return to;
}

/* Returns the bytes from the stack pointer to the end of user space. */
static u64 stack_bytes(const struct pt_regs *user)
{
	unsigned long sp = user_stack_pointer((struct pt_regs *)user);

	return sp && sp < TASK_SIZE ? TASK_SIZE - sp : 0;
}

/**
 * tally_stack_room - the room that a sample has for the user stack
 * @asked: perf_event_attr's sample_stack_user: bytes, a multiple of 8 up to 65,528
 * @so_far: bytes of the record from its header to the field of the stack
 * @user: registers of tally_regs_user(); NULL if there are none
 *
 * The field is a word with the size, that many bytes of the stack, and a word
 * with the number of bytes that were read; if the size is 0, it is the first
 * word alone. A record is smaller than 64 KiB.
 *
 * Context: Any context.
 * Return: bytes of the stack; as in perf, not always a multiple of 8 at the end
 * of user space.
 */
u16 tally_stack_room(u16 asked, u16 so_far, struct pt_regs *user)
{
	u16 size;

	if (!user || !current->mm)
		return 0;
	size = min_t(u64, asked, min_t(u64, stack_bytes(user), USHRT_MAX));
	so_far += 2 * sizeof(u64);
	/* The record would have 64 KiB or more. */
	if ((u16)(so_far + size) < so_far)
		size = round_up((u16)(USHRT_MAX - so_far - sizeof(u64)),
				sizeof(u64));
	return size;
}

/**
 * tally_stack_copy - copy the user stack
 * @to: receives the stack
 * @user: registers of tally_regs_user()
 * @size: bytes, of tally_stack_room()
 *
 * The copy ends at the first page that cannot be read without a page fault; the
 * rest of @to is zeroed.
 *
 * Context: Any context, NMI included.
 * Return: bytes that were read: the sample's dyn_size.
 */
u16 tally_stack_copy(void *to, struct pt_regs *user, u16 size)
{
	u16 rest = tally_stack_read(to, user_stack_pointer(user), size);

	memset(to + size - rest, 0, rest);
	return size - rest;
}
