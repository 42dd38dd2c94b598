/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_REGISTRY_H
#define TALLY_REGISTRY_H

#include <linux/list.h>
#include <linux/types.h>
#include <tally/tally.h>

struct module;
struct mutex;
struct tally_builder;
struct tally_event;

/**
 * struct tally_entry - an event, or a set that a line made, in the table of names
 * @node: link in the table
 * @name: the name, which no other entry has. Members of a set that a line made
 *	have names that begin with that of the set and a slash.
 * @is_set: the entry is a part of a struct tally_line_set, and not of an event
 * @listed: the event or the set is complete, and can be found by its name
 * @busy: a line is enabling or disabling the event or the set, which is not removed meanwhile
 *
 * Guarded by the lock of the registry.
 */
struct tally_entry {
	struct hlist_node node;
	const char *name;
	bool is_set;
	bool listed;
	bool busy;
};

extern struct mutex tally_events_lock;

int tally_registry_name(struct tally_event *ev, const struct tally_builder *b);
void tally_registry_unname(struct tally_entry *entry);
void tally_registry_add(struct tally_event *ev);
void tally_registry_del(struct tally_event *ev);
struct tally_event *tally_registry_hold(u64 id);
void tally_registry_put(struct tally_event *ev);
void tally_registry_wait(struct tally_event *ev);
unsigned long tally_registry_count(void);
void tally_registry_remove_owned(struct module *owner, struct list_head *doomed);
int tally_registry_find(u64 id, const char *name,
			int (*may)(const struct tally_event *ev),
			void (*what)(struct tally_event *ev, void *data), void *data);
int tally_registry_name_set(struct tally_entry *entry);
void tally_registry_list_set(struct tally_entry *entry);
struct tally_entry *tally_registry_hold_line(const char *name, const char **why);
void tally_registry_release_line(struct tally_entry *entry);
struct tally_entry *tally_registry_remove_line(const char *name, const char **why);

#endif /* TALLY_REGISTRY_H */
