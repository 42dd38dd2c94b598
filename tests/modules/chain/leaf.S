/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A function that calls no other one may save its frame pointer alone, where the return
 * address would be. Compilers before GCC 14 made such functions.
 */
#include <linux/linkage.h>

/* void tally_chain_leaf(unsigned long turns): turns a loop. */
SYM_FUNC_START(tally_chain_leaf)
	addi	sp, sp, -16
	sd	s0, 8(sp)
	addi	s0, sp, 16
1:
	addi	a0, a0, -1
	bnez	a0, 1b
	ld	s0, 8(sp)
	addi	sp, sp, 16
	ret
SYM_FUNC_END(tally_chain_leaf)
