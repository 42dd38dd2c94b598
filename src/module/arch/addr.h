/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_ADDR_H
#define TALLY_ADDR_H

#include <linux/types.h>

u64 tally_addr_phys(u64 addr);
u64 tally_addr_page_size(u64 addr);

#endif /* TALLY_ADDR_H */
