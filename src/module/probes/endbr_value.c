// SPDX-License-Identifier: GPL-2.0
/* is_endbr() takes the instruction, and a pointer to it from 6.15 on (72e213a7ccf9). */
#include <linux/types.h>
#include <asm/ibt.h>
#include "probes/try.h"

PROBE bool takes_value(u32 instruction) { return false; }
PROBE bool takes_pointer(u32 *instruction) { return false; }

PROBE bool probe(u32 instruction)
{
	typeof(takes_value) *function = TRY(is_endbr, takes_value, takes_pointer);

	return function(instruction);
}
