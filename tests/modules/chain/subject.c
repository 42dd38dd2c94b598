// SPDX-License-Identifier: GPL-2.0
/* The tested functions of tally are not exported, so they are built into the test. */
#include "../../../src/module/arch/chain.c"
#include "../../../src/module/arch/regs.c"
#ifdef CONFIG_X86_64
#include "../../../src/module/arch/x86.c"
#elif defined(CONFIG_ARM64)
#include "../../../src/module/arch/arm64.c"
#else
#include "../../../src/module/arch/riscv.c"
#endif
