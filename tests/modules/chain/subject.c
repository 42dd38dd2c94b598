// SPDX-License-Identifier: GPL-2.0
/* What is tested is of tally and not exported; it is built into the test, too. */
#include "../../../src/module/arch/chain.c"
#include "../../../src/module/arch/regs.c"
#ifdef CONFIG_X86_64
#include "../../../src/module/arch/x86.c"
#else
#include "../../../src/module/arch/arm64.c"
#endif
