/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_DEBUGFS_H
#define TALLY_DEBUGFS_H

#include <linux/types.h>

bool tally_debugfs_init(bool wanted);
void tally_debugfs_exit(void);

#endif /* TALLY_DEBUGFS_H */
