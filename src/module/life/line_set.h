/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LINE_SET_H
#define TALLY_LINE_SET_H

#include "event/registry.h"

struct dentry;
struct tally_func;
struct tally_set;

/* The beginning of a line that asks for counts of a function. */
#define TALLY_LINE_FUNC	"func:"

/* Most files of a set that are not those of a member. */
#define TALLY_SET_FILES	5

/**
 * struct tally_line_set - a set that a line made
 * @entry: the set in the table of names
 * @name: name of the set, and of its folder
 * @what: the part of the line that says what the members count, for kfree()
 * @set: the set; NULL while it is being built
 * @func: counts of a function; NULL for a set alone
 * @of_func: the line asks for @func
 * @dir: folder in debugfs; NULL without debugfs
 * @files: files in @dir that read the set
 */
struct tally_line_set {
	struct tally_entry entry;
	char name[TALLY_NAME_LEN];
	char *what;
	struct tally_set *set;
	struct tally_func *func;
	bool of_func;
	struct dentry *dir;
	struct dentry *files[TALLY_SET_FILES];
};

int tally_line_set_create(const char *line, char *why, size_t size);
void tally_line_set_release(struct tally_line_set *ls);
void tally_line_sets_release(void);

#endif /* TALLY_LINE_SET_H */
