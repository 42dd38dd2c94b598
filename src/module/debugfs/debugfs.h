/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_DEBUGFS_H
#define TALLY_DEBUGFS_H

#include <linux/types.h>

struct dentry;
struct seq_file;
struct tally_counter;
struct tally_event;
struct tally_line_set;
struct tally_target;

bool tally_debugfs_init(bool wanted);
void tally_debugfs_exit(void);

/* event.c */
int tally_debugfs_add_event(struct tally_event *ev, struct dentry *parent);

/* pmus.c */
void tally_debugfs_add_pmus(struct dentry *root);
void tally_debugfs_remove_pmus(void);

/* set.c */
int tally_debugfs_fill_set(struct tally_line_set *ls);

/* spec.c */
void tally_debugfs_show_pid(struct seq_file *m, const struct tally_counter *c);
void tally_debugfs_show_cgroup(struct seq_file *m, const struct tally_target *t, char end);
int tally_spec_show(struct seq_file *m, struct tally_event *ev);
void tally_spec_show_set(struct seq_file *m, struct tally_line_set *ls);

#endif /* TALLY_DEBUGFS_H */
