// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains, registers and the user's stack on x86-64.
 *
 * Modules may call the kernel's unwinder. Through user space, call chains
 * follow the frame pointers, which are read without page faults.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compat.h>
#include <linux/init.h>
#include <linux/mmu_context.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>
#include <asm/desc.h>
#include <asm/perf_regs.h>
#include <asm/stacktrace.h>
#include <asm/unwind.h>
#include "arch/chain.h"
#include "arch/regs.h"
#include "compat.h"

/* ---- call chains ---- */

void __init tally_chain_init(void)
{
}

/*
 * Returns whether an interrupt saved the registers. Those of a software event or a tracepoint are
 * filled in by perf: they have no flags, and the unwinder begins at their stack pointer.
 */
static bool from_hardware(const struct pt_regs *regs)
{
	return regs->flags & X86_EFLAGS_FIXED;
}

void tally_chain_kernel(struct tally_chain *chain, struct pt_regs *regs)
{
	struct unwind_state state;
	unsigned long ip;

	if (from_hardware(regs)) {
		if (!tally_chain_store(chain, regs->ip))
			return;
		unwind_start(&state, current, regs, NULL);
	} else {
		unwind_start(&state, current, NULL, (void *)regs->sp);
	}
	for (; !unwind_done(&state); unwind_next_frame(&state)) {
		ip = unwind_get_return_address(&state);
		if (!ip || !tally_chain_store(chain, ip))
			return;
	}
}

/*
 * Reads memory of the task without a page fault. Returns false if that fails,
 * or if the page tables that are loaded are those of another task.
 */
static bool read_user(void *to, unsigned long from, size_t size)
{
	return !copy_from_user_nmi(to, (const void __user *)from, size);
}

#ifdef CONFIG_UPROBES
/*
 * Replaces each address of the uretprobe trampoline in a call chain by the return address that a
 * uretprobe has replaced on the stack. @word is the size of an address on the stack.
 */
static void restore_returns(struct tally_chain *chain, unsigned int first,
			    size_t word)
{
	const struct return_instance *first_ri = tally_uretprobes(current);
	struct return_instance ri, outermost;
	unsigned long trampoline = 0;
	unsigned int i, nr = 0;

	if (!tally_chain_uretprobe(&ri, first_ri))
		return;
	outermost = ri;
	/*
	 * Modules cannot ask where the trampoline is. But its address is on the stack in the
	 * place of each return address, except perhaps that of the innermost function, where
	 * the trampoline itself may have overwritten it.
	 */
	while (nr++ < TALLY_CHAIN_URETPROBES &&
	       tally_chain_uretprobe(&outermost, outermost.next))
		;
	if (!read_user(&trampoline, outermost.stack, word))
		return;
	for (i = first; i < chain->nr; i++) {
		if (chain->ips[i] != trampoline)
			continue;
		chain->ips[i] = ri.orig_ret_vaddr;
		if (!tally_chain_uretprobe(&ri, ri.next))
			return;
	}
}

#else
static void restore_returns(struct tally_chain *chain, unsigned int first,
			    size_t word)
{
}
#endif

#ifdef CONFIG_IA32_EMULATION
/* The base address of a segment; 0 if there is no such segment. */
static unsigned long descriptor_base(unsigned int segment)
{
	unsigned int i = segment >> 3;
#ifdef CONFIG_MODIFY_LDT_SYSCALL
	const struct ldt_struct *ldt;
	unsigned long flags, base = 0;

	if ((segment & SEGMENT_TI_MASK) == SEGMENT_LDT) {
		/* Freeing the LDT takes an interrupt on this CPU first. */
		local_irq_save(flags);
		ldt = READ_ONCE(current->active_mm->context.ldt);
		if (ldt && i < ldt->nr_entries)
			base = get_desc_base(&ldt->entries[i]);
		local_irq_restore(flags);
		return base;
	}
#else
	if ((segment & SEGMENT_TI_MASK) == SEGMENT_LDT)
		return 0;
#endif
	if (i >= GDT_ENTRIES)
		return 0;
	return get_desc_base(raw_cpu_ptr(gdt_page.gdt) + i);
}

static void walk32(struct tally_chain *chain, struct pt_regs *regs)
{
	unsigned long code = descriptor_base(regs->cs);
	unsigned long stack = descriptor_base(regs->ss);
	u32 fp = stack + regs->bp, ip;
	struct stack_frame_ia32 frame;

	if (tally_uprobe_at_entry(regs) && read_user(&ip, regs->sp, sizeof(ip)))
		tally_chain_store(chain, ip);
	while (chain->left && read_user(&frame, fp, sizeof(frame))) {
		tally_chain_store(chain, code + frame.return_address);
		fp = stack + frame.next_frame;
	}
}
#else
static void walk32(struct tally_chain *chain, struct pt_regs *regs)
{
}
#endif

/*
 * Reads a frame. If the task's own page tables are loaded, the words are read inline: one
 * call less for each, and at most one exception at the end of the chain.
 */
static bool read_frame(const struct tally_chain *chain, struct stack_frame *frame,
		       unsigned long from)
{
	const struct stack_frame __user *user = (const void __user *)from;
	bool good;

	if (!chain->at_home)
		return read_user(frame, from, sizeof(*frame));
	if (!__access_ok(user, sizeof(*user)))
		return false;
	pagefault_disable();
	good = !__get_user(frame->next_frame, &user->next_frame) &&
	       !__get_user(frame->return_address, &user->return_address);
	pagefault_enable();
	return good;
}

static void walk64(struct tally_chain *chain, struct pt_regs *regs)
{
	struct stack_frame frame;
	unsigned long fp = regs->bp, ip;

	/* At its entry, a function has not set up its frame: its caller would be missing. */
	if (tally_uprobe_at_entry(regs) && read_user(&ip, regs->sp, sizeof(ip)))
		tally_chain_store(chain, ip);
	while (chain->left && read_frame(chain, &frame, fp)) {
		tally_chain_store(chain, frame.return_address);
		fp = (unsigned long)frame.next_frame;
	}
}

void tally_chain_user(struct tally_chain *chain, struct pt_regs *regs)
{
	bool is64 = user_64bit_mode(regs) || !IS_ENABLED(CONFIG_IA32_EMULATION);
	unsigned int first = chain->nr;

	/* Stacks of virtual 8086 mode have no frame pointers. */
	if (regs->flags & (X86_VM_MASK | PERF_EFLAGS_VM))
		return;
	tally_chain_store(chain, regs->ip);
	if (is64)
		walk64(chain, regs);
	else
		walk32(chain, regs);
	restore_returns(chain, first, is64 ? sizeof(u64) : sizeof(u32));
}

/* ---- registers and the stack ---- */

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

/* tally_regs_validate() has refused all registers that have no offset and are not XMM. */
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

/* A copy for a handler in NMI; NMIs do not nest. */
static DEFINE_PER_CPU(struct pt_regs, nmi_regs);

/*
 * An NMI may have interrupted the kernel's entry code. There, the registers
 * that every system call saves are valid, and the others are written as -1;
 * before even those are saved, there are no registers of user space.
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
