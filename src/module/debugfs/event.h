/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_DEBUGFS_EVENT_H
#define TALLY_DEBUGFS_EVENT_H

struct dentry;
struct seq_file;
struct tally_counter;
struct tally_event;
struct tally_target;

void tally_debugfs_show_pid(struct seq_file *m, const struct tally_counter *c);
void tally_debugfs_show_cgroup(struct seq_file *m, const struct tally_target *t, char end);
void tally_debugfs_show_options(struct seq_file *m, struct tally_event *ev);
int tally_debugfs_add_event(struct tally_event *ev, struct dentry *parent);

#endif /* TALLY_DEBUGFS_EVENT_H */
