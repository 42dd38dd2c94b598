// SPDX-License-Identifier: GPL-2.0
/*
 * The physical address and the page size of an address, as perf writes them for
 * PERF_SAMPLE_PHYS_ADDR, PERF_SAMPLE_DATA_PAGE_SIZE and PERF_SAMPLE_CODE_PAGE_SIZE.
 *
 * Page tables are walked with interrupts off. Some architectures may free a
 * page table even then: on these all sizes are 0, as in perf.
 */
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include "arch/addr.h"
#include "compat.h"

static u64 phys_of_user(u64 addr)
{
	struct page *page;
	u64 phys = 0;

	if (!tally_chain_has_user(current))
		return 0;
	pagefault_disable();
	if (get_user_page_fast_only(addr, 0, &page)) {
		phys = page_to_phys(page) + addr % PAGE_SIZE;
		put_page(page);
	}
	pagefault_enable();
	return phys;
}

/**
 * tally_addr_phys - the physical address of an address
 * @addr: an address of the current task, or of the kernel
 *
 * Context: An overflow handler, NMI included.
 * Return: the physical address; 0 if it cannot be found without a page fault,
 * and for memory of vmalloc().
 */
u64 tally_addr_phys(u64 addr)
{
	if (!addr)
		return 0;
	if (addr < TASK_SIZE)
		return phys_of_user(addr);
	if (!virt_addr_valid((void *)(uintptr_t)addr) ||
	    (addr >= VMALLOC_START && addr < VMALLOC_END))
		return 0;
	return virt_to_phys((void *)(uintptr_t)addr);
}

#ifdef TALLY_PAGE_TABLES_STAY
#ifdef CONFIG_RISCV
/*
 * riscv64 finds out at boot how many levels its page tables have. The kernel exports the two
 * variables that say so, and neither p4d_offset() nor pud_offset(), which read them.
 */
static p4d_t *p4d_of(pgd_t *pgdp, pgd_t pgd, unsigned long addr)
{
	return pgtable_l5_enabled ? pgd_pgtable(pgd) + p4d_index(addr) : (p4d_t *)pgdp;
}

static pud_t *pud_of(p4d_t *p4dp, p4d_t p4d, unsigned long addr)
{
	return pgtable_l4_enabled ? p4d_pgtable(p4d) + pud_index(addr) : (pud_t *)p4dp;
}
#else
#define p4d_of(pgdp, pgd, addr) p4d_offset_lockless(pgdp, pgd, addr)
#define pud_of(p4dp, p4d, addr) pud_offset_lockless(p4dp, p4d, addr)
#endif

/* The size of the page that maps an address; 0 if none does. */
static u64 leaf_size(struct mm_struct *mm, unsigned long addr)
{
	pgd_t *pgdp = pgd_offset(mm, addr), pgd = READ_ONCE(*pgdp);
	p4d_t *p4dp, p4d;
	pud_t *pudp, pud;
	pmd_t *pmdp, pmd;
	pte_t pte;

	if (pgd_none(pgd))
		return 0;
	if (pgd_leaf(pgd))
		return pgd_leaf_size(pgd);
	p4dp = p4d_of(pgdp, pgd, addr);
	p4d = READ_ONCE(*p4dp);
	if (!p4d_present(p4d))
		return 0;
	if (p4d_leaf(p4d))
		return p4d_leaf_size(p4d);
	pudp = pud_of(p4dp, p4d, addr);
	pud = READ_ONCE(*pudp);
	if (!pud_present(pud))
		return 0;
	if (pud_leaf(pud))
		return pud_leaf_size(pud);
	pmdp = pmd_offset_lockless(pudp, pud, addr);
	pmd = READ_ONCE(*pmdp);
	if (!pmd_present(pmd))
		return 0;
	if (pmd_leaf(pmd))
		return pmd_leaf_size(pmd);
	pte = READ_ONCE(*pte_offset_kernel(&pmd, addr));
	return pte_present(pte) ? pte_leaf_size(pte) : 0;
}
#else
static u64 leaf_size(struct mm_struct *mm, unsigned long addr)
{
	return 0;
}
#endif

/**
 * tally_addr_page_size - the size of the page that an address is in
 * @addr: an address of the current task, or of the kernel
 *
 * For a kernel thread, perf looks into the kernel's own page tables, which a
 * module cannot find. This function looks into those that the thread borrows
 * from a task, which on x86 and riscv64 map the whole kernel. While a kernel
 * thread is being switched out, it has no page tables.
 *
 * Context: An overflow handler, NMI included.
 * Return: bytes; 0 if no page maps the address, or nothing is known.
 */
u64 tally_addr_page_size(u64 addr)
{
	struct mm_struct *mm = current->mm ?: current->active_mm;
	unsigned long flags;
	u64 size;

	if (!addr || !mm ||
	    !(current->mm || IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_RISCV)))
		return 0;
	local_irq_save(flags);
	size = leaf_size(mm, addr);
	local_irq_restore(flags);
	return size;
}
