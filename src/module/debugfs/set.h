/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_DEBUGFS_SET_H
#define TALLY_DEBUGFS_SET_H

struct dentry;
struct tally_line_set;

int tally_debugfs_add_set(struct tally_line_set *ls, struct dentry *root);
void tally_debugfs_end_set(struct tally_line_set *ls);
void tally_debugfs_remove_set(struct tally_line_set *ls);

#endif /* TALLY_DEBUGFS_SET_H */
