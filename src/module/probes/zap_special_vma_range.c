// SPDX-License-Identifier: GPL-2.0
/* zap_special_vma_range(), which was zap_vma_ptes(): 7.1. */
#include <linux/mm.h>
#include "probes/try.h"

PROBE_NAME(zap_special_vma_range, remap_pfn_range, no_such_function);
