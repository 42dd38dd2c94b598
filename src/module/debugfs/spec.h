/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_DEBUGFS_SPEC_H
#define TALLY_DEBUGFS_SPEC_H

struct seq_file;
struct tally_counter;
struct tally_event;
struct tally_line_set;
struct tally_set;
struct tally_target;

void tally_debugfs_show_pid(struct seq_file *m, const struct tally_counter *c);
void tally_debugfs_show_cgroup(struct seq_file *m, const struct tally_target *t, char end);
int tally_spec_show(struct seq_file *m, struct tally_event *ev);
void tally_spec_show_set(struct seq_file *m, struct tally_line_set *ls, struct tally_set *set);

#endif /* TALLY_DEBUGFS_SPEC_H */
