// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains, registers and the user's stack on x86-64.
 *
 * The kernel's unwinder is there for modules; through user space it goes by frame
 * pointers, which are read without faults.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compat.h>
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

/*
 * Registers that perf made up where no interrupt was (a software event, a
 * tracepoint) have no flags, and only the stack pointer says where to begin.
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

/* Reads nothing when the page tables are not those of the task. */
static bool read_user(void *to, unsigned long from, size_t size)
{
	return !copy_from_user_nmi(to, (const void __user *)from, size);
}

#ifdef CONFIG_UPROBES
/* Return addresses that wait for a uretprobe are put right. */
static void put_right(struct tally_chain *chain, unsigned int first,
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
	 * Where the trampoline is, the kernel does not tell modules. But it is
	 * what the probe put where the return address was; of the innermost, the
	 * trampoline itself may have written over that.
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
static void put_right(struct tally_chain *chain, unsigned int first,
		      size_t word)
{
}
#endif

#ifdef CONFIG_IA32_EMULATION
static unsigned long descriptor_base(unsigned int segment)
{
	unsigned int i = segment >> 3;
#ifdef CONFIG_MODIFY_LDT_SYSCALL
	const struct ldt_struct *ldt;
	unsigned long flags, base = 0;

	if ((segment & SEGMENT_TI_MASK) == SEGMENT_LDT) {
		/* The one who frees it waits for an interrupt here. */
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

/* Without a call for each word; and what is not there faults but once. */
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

	/* Its frame pointer is not set up yet: the caller would be missed. */
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

	/* Nothing is known of stacks of the virtual 8086. */
	if (regs->flags & (X86_VM_MASK | PERF_EFLAGS_VM))
		return;
	tally_chain_store(chain, regs->ip);
	if (is64)
		walk64(chain, regs);
	else
		walk32(chain, regs);
	put_right(chain, first, is64 ? sizeof(u64) : sizeof(u32));
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
