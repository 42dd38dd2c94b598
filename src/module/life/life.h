/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LIFE_H
#define TALLY_LIFE_H

#include <linux/types.h>
#include "event/registry.h"

struct dentry;
struct list_head;
struct module;
struct perf_event;
struct perf_sample_data;
struct pt_regs;
struct tally_builder;
struct tally_event;
struct tally_func;
struct tally_line_set;
struct tally_mapping;
struct tally_set;

/**
 * struct tally_folder_ops - functions that show events in debugfs
 * @add: gives an event its folder; returns 0 or an error. Process context.
 * @add_set: gives a set its folder, in which @add makes those of the members;
 *	returns 0 or an error. Process context.
 * @fill_set: gives the folder its files, when the set is complete; returns 0 or
 *	an error, after which the caller removes the folder. Process context.
 *
 * Folders are removed by debugfs_remove(), which waits until nobody reads their files.
 */
struct tally_folder_ops {
	int (*add)(struct tally_event *ev);
	int (*add_set)(struct tally_line_set *set);
	int (*fill_set)(struct tally_line_set *set);
};

void tally_folders_init(const struct tally_folder_ops *ops);
int tally_folder_add(struct tally_event *ev);
const struct tally_folder_ops *tally_folders(void);
void tally_event_destroy(struct tally_event *ev);
void tally_events_destroy(struct list_head *doomed);
void tally_events_release_owned(struct module *owner);

/* build.c */
int tally_trial_begin(struct tally_event *ev);
void tally_trial_end(struct tally_event *ev);

/* holder.c */
int tally_build_busy(struct tally_builder *b, struct tally_event *ev);

/* callback.c */
/* perf's callback. overflow_handler_context is the struct tally_overflow. */
void tally_overflow_callback(struct perf_event *event,
			     struct perf_sample_data *data,
			     struct pt_regs *regs);

/* group.c */
void tally_group_init(struct tally_set *set, const struct tally_event *ev,
		      struct tally_mapping *mapping);
bool tally_group_put(struct tally_set *set);
int tally_group_join(struct tally_set *set, struct tally_event *ev, bool wanted);
bool tally_group_leave(struct tally_set *set, struct tally_event *ev);
u64 tally_group_bit(const struct tally_set *set, const struct tally_event *ev);
void tally_group_update(struct tally_set *set);
void tally_group_enable(struct tally_set *set, u64 members);
void tally_group_disable(struct tally_set *set, u64 members);

/* set.c */
bool tally_set_inside(const struct tally_set *set);
void tally_sets_forget(struct module *owner);

/* func.c */
/* Buckets of a histogram: of 0, and of each power of two. */
#define TALLY_FUNC_BUCKETS	65

struct tally_func *tally_func_attach(struct tally_set *set, const char *symbol,
				     struct module *owner, char *why, size_t size);
u64 tally_func_bucket(const struct tally_func *func, unsigned int member, unsigned int bucket);
void tally_funcs_module_came(const struct module *mod);
void tally_funcs_release_owned(struct module *owner);

/* lines.c */
/* Bytes of the longest line (an event, a name and all options), its line feed or NUL included. */
#define TALLY_LINE_LEN 1024

/* Bytes of the longest sentence about a line, with its NUL; as many as tally_error::text has. */
#define TALLY_LINE_WHY 112

int tally_line_create(const char *line, char *why, size_t size);
int tally_line_remove(const char *name, char *why, size_t size);
int tally_line_enable(const char *name, bool on, char *why, size_t size);
int tally_line_logged(const char *line, int (*take)(const char *line, char *why, size_t size));

/* line_set.c */
/* The beginning of a line that asks for counts of a function. */
#define TALLY_LINE_FUNC	"func:"

/**
 * struct tally_line_set - a set that a line made
 * @entry: the set in the table of names
 * @name: name of the set, and of its folder
 * @what: the part of the line that says what the members count, for kfree()
 * @set: the set
 * @func: counts of a function; NULL for a set alone
 * @dir: folder in debugfs; NULL without debugfs
 */
struct tally_line_set {
	struct tally_entry entry;
	char name[TALLY_NAME_LEN];
	char *what;
	struct tally_set *set;
	struct tally_func *func;
	struct dentry *dir;
};

int tally_line_set_create(const char *line, char *why, size_t size);
void tally_line_set_release(struct tally_line_set *ls);
void tally_line_sets_release(void);

#endif /* TALLY_LIFE_H */
