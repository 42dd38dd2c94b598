// SPDX-License-Identifier: GPL-2.0
/* <linux/unaligned.h>, which was <asm/unaligned.h>: 6.12 (5f60d5f6bbc1). */
#include "probes/try.h"
#include TRY("linux/unaligned.h", "linux/types.h", "linux/no_such_header.h")
