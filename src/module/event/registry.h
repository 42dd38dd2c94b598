/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_REGISTRY_H
#define TALLY_REGISTRY_H

#include <linux/list.h>
#include <linux/types.h>
#include <tally/tally.h>

struct module;
struct tally_builder;
struct tally_event;

/**
 * struct tally_folder_name - name of a folder that has events
 * @node: link in the list of these
 * @listed: the folder is complete, and can be taken by its name
 * @busy: the set is being enabled or disabled, and is not to be taken
 * @name: the name, which no event and no other folder has. Its events have names that begin
 *	with it and a slash.
 *
 * Guarded by the lock of the list.
 */
struct tally_folder_name {
	struct list_head node;
	bool listed;
	bool busy;
	char name[TALLY_NAME_LEN];
};

int tally_registry_name(struct tally_event *ev, const struct tally_builder *b);
void tally_registry_unname(struct tally_event *ev);
void tally_registry_add(struct tally_event *ev);
void tally_registry_del(struct tally_event *ev);
struct tally_event *tally_registry_hold(u64 id);
void tally_registry_let(struct tally_event *ev);
void tally_registry_wait(struct tally_event *ev);
unsigned long tally_registry_count(void);
void tally_registry_take_owned(struct module *owner, struct list_head *doomed);
int tally_registry_find(u64 id, const char *name,
			int (*may)(const struct tally_event *ev),
			void (*what)(struct tally_event *ev, void *data), void *data);
int tally_registry_after(u64 id, void (*what)(struct tally_event *ev, void *data), void *data);
int tally_registry_name_folder(struct tally_folder_name *folder);
void tally_registry_list_folder(struct tally_folder_name *folder);
struct tally_folder_name *tally_registry_take_folder(const char *name);
struct tally_folder_name *tally_registry_hold_folder(const char *name);
void tally_registry_let_folder(struct tally_folder_name *folder);
void tally_registry_unname_folder(struct tally_folder_name *folder);
int tally_registry_hold_line(const char *name, struct tally_event **found, const char **why);
void tally_registry_let_line(struct tally_event *ev);
int tally_registry_take_line(const char *name, struct list_head *doomed, const char **why);

#endif /* TALLY_REGISTRY_H */
