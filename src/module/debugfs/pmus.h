/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_DEBUGFS_PMUS_H
#define TALLY_DEBUGFS_PMUS_H

struct dentry;

void tally_debugfs_add_pmus(struct dentry *root);
void tally_debugfs_remove_pmus(void);

#endif /* TALLY_DEBUGFS_PMUS_H */
