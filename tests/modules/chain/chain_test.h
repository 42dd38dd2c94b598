/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CHAIN_TEST_H
#define CHAIN_TEST_H

#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/types.h>
#include "arch/chain.h"
#include "arch/regs.h"

#define MAX_STACK	127
#define ENTRIES		(MAX_STACK + TALLY_CHAIN_MARKS)
#define STACK_BYTES	2048

/* The parts of a sample that are compared with perf's. */
enum part {
	CHAIN, USER_ABI, USER_REGS, INTR_ABI, INTR_REGS, STACK_SIZE,
	STACK_BYTES_READ, PARTS
};

/* Results of one kind on one CPU. A handler of a kind never interrupts itself. */
struct seen {
	u64 overflows;
	u64 nmi;
	u64 kernel;
	u64 user;
	u64 compat;
	u64 stacks;
	u64 differ[PARTS];
	unsigned int deepest;
	/* The first chain that differed. */
	unsigned int nr;
	unsigned int perf_nr;
	u64 ips[ENTRIES];
	u64 perf_ips[ENTRIES];
	/* Work space. */
	u64 now[ENTRIES];
	u8 stack[STACK_BYTES];
	u8 again[STACK_BYTES];
};

/* The events with one perf_event_attr, one for each CPU. */
struct kind {
	const char *name;
	struct perf_event_attr attr;
	struct perf_event **events;
	struct seen *seen;
};

int kind_start(struct kind *kind);
void kind_stop(struct kind *kind);
void kind_show(struct seq_file *m, const struct kind *kind);
bool masks_agree(void);

#ifdef CONFIG_RISCV
void tally_chain_leaf(unsigned long turns);
#else
static inline void tally_chain_leaf(unsigned long turns)
{
}
#endif

#endif /* CHAIN_TEST_H */
