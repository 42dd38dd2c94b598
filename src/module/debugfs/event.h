/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_DEBUGFS_EVENT_H
#define TALLY_DEBUGFS_EVENT_H

struct dentry;
struct tally_event;

int tally_debugfs_add_event(struct tally_event *ev, struct dentry *parent);

#endif /* TALLY_DEBUGFS_EVENT_H */
