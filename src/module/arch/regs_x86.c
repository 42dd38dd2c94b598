// SPDX-License-Identifier: GPL-2.0
/* Registers and the user's stack on x86-64. */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/perf_regs.h>
#include "arch/regs.h"

#define AT(name)	offsetof(struct pt_regs, name)

static const u8 offsets[] = {
	[PERF_REG_X86_AX] = AT(ax),
	[PERF_REG_X86_BX] = AT(bx),
	[PERF_REG_X86_CX] = AT(cx),
	[PERF_REG_X86_DX] = AT(dx),
	[PERF_REG_X86_SI] = AT(si),
	[PERF_REG_X86_DI] = AT(di),
	[PERF_REG_X86_BP] = AT(bp),
	[PERF_REG_X86_SP] = AT(sp),
	[PERF_REG_X86_IP] = AT(ip),
	[PERF_REG_X86_FLAGS] = AT(flags),
	[PERF_REG_X86_CS] = AT(cs),
	[PERF_REG_X86_SS] = AT(ss),
	[PERF_REG_X86_R8] = AT(r8),
	[PERF_REG_X86_R9] = AT(r9),
	[PERF_REG_X86_R10] = AT(r10),
	[PERF_REG_X86_R11] = AT(r11),
	[PERF_REG_X86_R12] = AT(r12),
	[PERF_REG_X86_R13] = AT(r13),
	[PERF_REG_X86_R14] = AT(r14),
	[PERF_REG_X86_R15] = AT(r15),
};

static_assert(ARRAY_SIZE(offsets) == PERF_REG_X86_64_MAX);
static_assert(sizeof(struct pt_regs) <= U8_MAX);

/* 64-bit kernels do not save the selectors of data segments. */
#define NOT_SAVED	(BIT_ULL(PERF_REG_X86_DS) | BIT_ULL(PERF_REG_X86_ES) | \
			 BIT_ULL(PERF_REG_X86_FS) | BIT_ULL(PERF_REG_X86_GS))
#define NO_REGISTER	GENMASK_ULL(PERF_REG_X86_XMM0 - 1, PERF_REG_X86_64_MAX)

u64 tally_regs_reserved(void)
{
	return NOT_SAVED | NO_REGISTER;
}

/* The mask has been validated: none without an offset gets here. */
u64 tally_regs_value(struct pt_regs *regs, unsigned int idx)
{
	const struct x86_perf_regs *extended;

	if (idx >= PERF_REG_X86_XMM0) {
		extended = container_of(regs, struct x86_perf_regs, regs);
		if (!extended->xmm_regs)
			return 0;
		return extended->xmm_regs[idx - PERF_REG_X86_XMM0];
	}
	if (idx >= ARRAY_SIZE(offsets))
		return 0;
	return *(unsigned long *)((char *)regs + offsets[idx]);
}

static u64 abi_of(struct pt_regs *regs)
{
	return user_64bit_mode(regs) ? PERF_SAMPLE_REGS_ABI_64 :
				       PERF_SAMPLE_REGS_ABI_32;
}

u64 tally_regs_abi(void)
{
	return abi_of(task_pt_regs(current));
}

/* NMIs do not nest, nor do the handlers of one CPU in them. */
static DEFINE_PER_CPU(struct pt_regs, nmi_regs);

/*
 * The entry may have been interrupted where it has saved only what every system
 * call does: the rest reads as -1, and if not even that is there, nothing.
 */
void tally_regs_of_user(struct tally_regs *user, struct pt_regs *regs)
{
	struct pt_regs *saved = task_pt_regs(current);
	struct pt_regs *copy;

	user->abi = abi_of(saved);
	user->regs = saved;
	if (!in_nmi())
		return;
	if (regs->sp > (unsigned long)&saved->r11 &&
	    regs->sp <= (unsigned long)(saved + 1)) {
		user->abi = PERF_SAMPLE_REGS_ABI_NONE;
		user->regs = NULL;
		return;
	}
	copy = this_cpu_ptr(&nmi_regs);
	*copy = *saved;
	copy->bx = -1;
	copy->r12 = -1;
	copy->r13 = -1;
	copy->r14 = -1;
	copy->r15 = -1;
	user->regs = copy;
}

unsigned long tally_stack_read(void *to, unsigned long from, size_t size)
{
	return copy_from_user_nmi(to, (const void __user *)from, size);
}
