// SPDX-License-Identifier: GPL-2.0
/*
 * The folder of a set in debugfs, in which each member has a folder like that of any event:
 *
 *	# echo '{cycles,instructions} cpu=0 name=ipc' > create
 *	# cat ipc/values
 *	180986403127 4711000 9422000 1
 *	# cat ipc/cycles/count
 *	4711042
 *	# cat ipc/spec
 *	{cycles,instructions} cpu=0 name=ipc
 *
 * values: time of the read in nanoseconds, the value of each member, and whether these can be
 *	divided by each other: 1 if all members were on the PMU for the whole window, else 0.
 *	All members are read in one window. A '-' stands for the value of a member that
 *	was not counted.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <tally/tally.h>
#include "build/line_set.h"
#include "builder/name.h"
#include "debugfs/event.h"
#include "debugfs/set.h"
#include "event/event.h"

/* Returns the set; NULL while it is being built. */
static struct tally_set *set_of(struct tally_line_set *ls)
{
	/* Pairs with build() in build/line_set.c. */
	return smp_load_acquire(&ls->set);
}

static int values_show(struct seq_file *m, void *v)
{
	struct tally_set *set = set_of(m->private);
	struct tally_set_window window;
	struct tally_count *counts;
	unsigned int i;

	if (!set)
		return -ENODATA;
	counts = kcalloc(tally_set_size(set), sizeof(*counts), GFP_KERNEL);
	if (!counts)
		return -ENOMEM;
	tally_set_read(set, &window, counts);
	seq_printf(m, "%llu", window.time_ns);
	for (i = 0; i < tally_set_size(set); i++) {
		if (counts[i].value == TALLY_NOT_COUNTED)
			seq_puts(m, " -");
		else
			seq_printf(m, " %llu", counts[i].value);
	}
	seq_printf(m, " %d\n", window.ratio_valid);
	kfree(counts);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(values);

static int spec_show(struct seq_file *m, void *v)
{
	struct tally_line_set *ls = m->private;
	struct tally_set *set = set_of(ls);
	char what[TALLY_EVENT_LEN];
	unsigned int i;

	if (!set)
		return -ENODATA;
	for (i = 0; i < tally_set_size(set); i++) {
		tally_event_what(tally_set_event(set, i), what, sizeof(what));
		seq_printf(m, "%c%s", i ? ',' : '{', what);
	}
	seq_puts(m, "} ");
	tally_debugfs_show_options(m, tally_set_event(set, 0));
	seq_printf(m, "name=%s\n", ls->folder.name);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(spec);

/* Gives a set its folder. Returns 0; or an error, with no part of the folder left. */
int tally_debugfs_add_set(struct tally_line_set *ls, struct dentry *root)
{
	ls->dir = debugfs_create_dir(ls->folder.name, root);
	if (IS_ERR(ls->dir))
		return PTR_ERR(ls->dir);
	ls->values = debugfs_create_file("values", 0444, ls->dir, ls, &values_fops);
	ls->spec = debugfs_create_file("spec", 0444, ls->dir, ls, &spec_fops);
	if (!IS_ERR(ls->values) && !IS_ERR(ls->spec))
		return 0;
	debugfs_remove(ls->dir);
	return -ENOMEM;
}

/* Removes the files that read the set, and waits until nobody does. */
void tally_debugfs_end_set(struct tally_line_set *ls)
{
	debugfs_remove(ls->values);
	debugfs_remove(ls->spec);
}

/* Removes the folder. Those of the members are gone. */
void tally_debugfs_remove_set(struct tally_line_set *ls)
{
	debugfs_remove(ls->dir);
}
