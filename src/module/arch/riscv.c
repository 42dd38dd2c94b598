// SPDX-License-Identifier: GPL-2.0
/*
 * Call chains, registers and the user's stack on riscv64.
 *
 * Modules cannot call the kernel's unwinder from the registers that were
 * interrupted. So this file follows the frame pointers as the unwinder of Linux
 * 6.12 does, and reads each frame without faults. It differs in two points:
 * - The unwinder stops at an address that is no code. Here every address between the first
 *   function and the end of the kernel, and every one where modules may be, is code.
 * - The function graph tracer replaces return addresses. Here its trampoline stays in their place.
 */
#include <linux/align.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/csr.h>
#include <asm/page.h>
#include <asm/perf_regs.h>
#include <asm/stacktrace.h>
#include <asm/thread_info.h>
#include "arch/chain.h"
#include "arch/regs.h"
#include "arch/user.h"
#include "compat.h"

/* ---- where code is ---- */

/*
 * Code lies between the lowest address of a module and the end of the kernel.
 * The code from boot_start to boot_end is left out: it runs once at boot, and
 * the stack of an idle task begins with return addresses in it.
 */
static unsigned long lowest, boot_start, boot_end, highest;

/* The kernel's entry from all exceptions, and the exit that follows it. */
static unsigned long entry_start, entry_end;

static bool is_code(unsigned long pc)
{
	return pc >= lowest && pc < highest && !(pc >= boot_start && pc < boot_end);
}

static bool is_entry(unsigned long pc)
{
	return pc >= entry_start && pc < entry_end;
}

/* The most pages of code in front of the first function that has a symbol. */
#define BOOT_PAGES	64

/* The end of the function that begins at @start; @start if it has another name. */
static unsigned long __init end_of(unsigned long start, const char *name, char *symbol)
{
	size_t length = strlen(name);
	unsigned long offset, size;

	sprint_symbol(symbol, start);
	if (strncmp(symbol, name, length) ||
	    sscanf(symbol + length, "+%lx/%lx", &offset, &size) != 2 || offset)
		return start;
	return start + size;
}

/*
 * perf's chains end at an address below _stext, where the boot code ends.
 * Modules do not see _stext, but no symbol lies below it: so this looks for the
 * first page that has a symbol. In a kernel without a symbol table no page has
 * one. There chains go on into the boot code, and end at exceptions.
 */
void __init tally_chain_init(void)
{
	char *symbol = kmalloc(KSYM_SYMBOL_LEN, GFP_KERNEL);
	unsigned int page;

	highest = kernel_map.virt_addr + kernel_map.size;
	lowest = highest - SZ_2G;
	if (!symbol)
		return;
	boot_start = kernel_map.virt_addr;
	boot_end = boot_start;
	for (page = 0; page < BOOT_PAGES; page++) {
		sprint_symbol(symbol, boot_start + page * PAGE_SIZE);
		if (strncmp(symbol, "0x", 2)) {
			boot_end = boot_start + page * PAGE_SIZE;
			break;
		}
	}
	/* The low bits are the mode. */
	entry_start = csr_read(CSR_TVEC) & ~3UL;
	entry_end = end_of(entry_start, "handle_exception", symbol);
	entry_end = end_of(entry_end, "ret_from_exception", symbol);
	kfree(symbol);
}

/* ---- call chains ---- */

/* Returns whether a frame that ends at @fp may lie on the stack of @sp, at or above @sp. */
static bool is_frame(unsigned long fp, unsigned long sp)
{
	return fp >= sp + sizeof(struct stackframe) && fp <= ALIGN(sp, THREAD_SIZE) &&
	       !(fp & 7);
}

static bool read_stack(void *to, unsigned long from, size_t size)
{
	return !copy_from_kernel_nofault(to, (const void *)from, size);
}

#define SAVED(name)	offsetof(struct pt_regs, name)

void tally_chain_kernel(struct tally_chain *chain, struct pt_regs *regs)
{
	unsigned long fp = regs->s0, sp = regs->sp, pc = regs->epc;
	struct stackframe frame;

	while (is_code(pc) && tally_chain_store(chain, pc) && is_frame(fp, sp) &&
	       read_stack(&frame, fp - sizeof(frame), sizeof(frame))) {
		sp = fp;
		/* A function that calls no other one saves only the frame pointer. */
		if (pc == regs->epc && is_frame(frame.ra, sp)) {
			fp = frame.ra;
			pc = regs->ra;
			continue;
		}
		fp = frame.fp;
		pc = frame.ra;
		if (!is_entry(pc))
			continue;
		/* The registers that the exception has saved lie behind the frame. */
		if (!tally_chain_store(chain, pc) ||
		    !read_stack(&pc, sp + SAVED(epc), sizeof(pc)) ||
		    !read_stack(&fp, sp + SAVED(s0), sizeof(fp)))
			return;
	}
}

/*
 * Reads the frame of user space that ends at *@fp. Stores @ra in the chain or, if that is
 * 0, the return address of the frame. Returns false if the chain ends.
 */
static bool user_frame(struct tally_chain *chain, unsigned long *fp, unsigned long ra)
{
	struct stackframe frame;

	if (!tally_user_read(&frame, (const void __user *)*fp - sizeof(frame),
			     sizeof(frame)))
		return false;
	*fp = frame.fp;
	ra = ra ?: frame.ra;
	return ra && tally_chain_store(chain, ra);
}

/* As in perf, the innermost function's return address comes from ra, not from its frame. */
void tally_chain_user(struct tally_chain *chain, struct pt_regs *regs)
{
	unsigned int first = chain->nr;
	unsigned long fp = regs->s0;

	if (!tally_chain_store(chain, regs->epc))
		return;
	if (user_frame(chain, &fp, regs->ra))
		while (fp && !(fp & 7) && user_frame(chain, &fp, 0))
			;
	tally_user_restore_returns(chain, first);
}

/* ---- registers and the stack ---- */

/* The registers lie in the order of their numbers. */
static_assert(SAVED(epc) == PERF_REG_RISCV_PC * sizeof(long));
static_assert(SAVED(s0) == PERF_REG_RISCV_S0 * sizeof(long));
static_assert(SAVED(t6) == PERF_REG_RISCV_T6 * sizeof(long));

u64 tally_regs_reserved(void)
{
	return ~GENMASK_ULL(PERF_REG_RISCV_MAX - 1, 0);
}

u64 tally_regs_value(struct pt_regs *regs, unsigned int idx)
{
	return idx < PERF_REG_RISCV_MAX ? ((unsigned long *)regs)[idx] : 0;
}

/* As in perf, a 32-bit task has the 64-bit ABI, too. */
u64 tally_regs_abi(void)
{
	return PERF_SAMPLE_REGS_ABI_64;
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
