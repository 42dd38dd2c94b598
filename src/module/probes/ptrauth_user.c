// SPDX-License-Identifier: GPL-2.0
/*
 * ptrauth_strip_user_insn_pac(), which was ptrauth_strip_insn_pac(): 6.6
 * (ca708599ca42) and older stable kernels.
 */
#include <linux/types.h>
#include <asm/pointer_auth.h>
#include "probes/try.h"

PROBE u64 probe(u64 lr)
{
	return TRY(ptrauth_strip_user_insn_pac(lr), lr, no_such_function(lr));
}
