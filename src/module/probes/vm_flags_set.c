// SPDX-License-Identifier: GPL-2.0
/* vm_flags_set(): 6.3 (bc292ab00f6c). Since then, vm_area_struct::vm_flags is constant. */
#include <linux/mm.h>
#include "probes/try.h"

PROBE_NAME(vm_flags_set, vm_get_page_prot, no_such_function);
