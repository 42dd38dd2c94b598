/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_LINE_SET_H
#define TALLY_LINE_SET_H

#include "event/registry.h"

struct dentry;
struct tally_set;

/**
 * struct tally_line_set - a set that a line made
 * @folder: name of the set
 * @set: the set; NULL while it is being built
 * @dir: folder in debugfs; NULL without debugfs
 * @values: file in @dir
 * @spec: file in @dir
 */
struct tally_line_set {
	struct tally_folder_name folder;
	struct tally_set *set;
	struct dentry *dir;
	struct dentry *values;
	struct dentry *spec;
};

int tally_line_set_create(const char *line);
bool tally_line_set_remove(const char *name);
void tally_line_sets_release(void);

#endif /* TALLY_LINE_SET_H */
