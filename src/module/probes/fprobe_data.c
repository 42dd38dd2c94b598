// SPDX-License-Identifier: GPL-2.0
/* fprobe's handlers get memory of the call, and struct pt_regs: 6.5 to 6.13. */
#include <linux/fprobe.h>
#include "probes/try.h"

static int asked(struct fprobe *fp, unsigned long entry, unsigned long ret,
		 struct pt_regs *regs, void *data)
{
	return 0;
}

PROBE void probe(struct fprobe *fp)
{
	fp->TRY(entry_handler = asked, nmissed = 0, no_such_member = 0);
}
