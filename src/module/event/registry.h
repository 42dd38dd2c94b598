/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_REGISTRY_H
#define TALLY_REGISTRY_H

#include <linux/types.h>

struct list_head;
struct module;
struct seq_file;
struct tally_builder;
struct tally_event;

int tally_registry_name(struct tally_event *ev, const struct tally_builder *b);
void tally_registry_unname(struct tally_event *ev);
void tally_registry_add(struct tally_event *ev);
void tally_registry_del(struct tally_event *ev);
unsigned long tally_registry_count(void);
void tally_registry_take_owned(struct module *owner, struct list_head *doomed);
int tally_registry_find(u64 id, const char *name,
			int (*may)(const struct tally_event *ev),
			void (*what)(struct tally_event *ev, void *data), void *data);
int tally_registry_after(u64 id, void (*what)(struct tally_event *ev, void *data),
			 void *data);
int tally_registry_take_line(const char *name, struct list_head *doomed);

/* Iteration over events in the order of their creation, for seq_file. */
void *tally_registry_start(struct seq_file *m, loff_t *pos);
void *tally_registry_next(struct seq_file *m, void *v, loff_t *pos);
void tally_registry_stop(struct seq_file *m, void *v);
struct tally_event *tally_registry_entry(void *v);

#endif /* TALLY_REGISTRY_H */
