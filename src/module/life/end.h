/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_END_H
#define TALLY_END_H

struct list_head;
struct module;
struct tally_event;
struct tally_line_set;

/**
 * struct tally_folder_ops - functions that show events in debugfs
 * @add: gives an event its folder; returns 0 or an error. Process context.
 * @remove: removes the folder, and waits until nobody reads its files. Process context.
 * @add_set: gives a set its folder, in which @add makes those of the members; returns 0 or an
 *	error. Process context.
 * @end_set: removes the files that read the set, and waits until nobody does. Process context.
 * @remove_set: removes the folder, after those of the members. Process context.
 */
struct tally_folder_ops {
	int (*add)(struct tally_event *ev);
	void (*remove)(struct tally_event *ev);
	int (*add_set)(struct tally_line_set *set);
	void (*end_set)(struct tally_line_set *set);
	void (*remove_set)(struct tally_line_set *set);
};

void tally_folders_init(const struct tally_folder_ops *ops);
int tally_folder_add(struct tally_event *ev);
const struct tally_folder_ops *tally_folders(void);
void tally_event_destroy(struct tally_event *ev);
void tally_events_destroy(struct list_head *doomed);
void tally_events_release_owned(struct module *owner);

#endif /* TALLY_END_H */
