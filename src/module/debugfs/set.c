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
 * Counts of a function have other files than values:
 *
 *	# echo 'func:vfs_read{cycles,instructions} name=reads' > create
 *	# cat reads/calls | head -n 2
 *	calls 120
 *	counted 118
 *	# cat reads/sums
 *	cycles 480000
 *	instructions 300000
 *	# cat reads/hist
 *	cycles 2048 4095 100
 *	cycles 4096 8191 18
 *
 * calls: calls that began; of those that returned: calls counted, calls that moved to another
 *	CPU, that were switched away, and at which a member was not counting; and calls missed.
 * sums: what each member counted in the calls that were counted. hist: least
 * and greatest value of a bucket, and how many calls have a value between them.
 * state: active; offline while the module with the function is not loaded.
 *
 * values: time of the read in nanoseconds, the value of each member, and whether these can be
 *	divided by each other: 1 if all members were on the PMU whenever the set was enabled, or
 *	are one group of perf, else 0. All members are read together. A '-' stands for the value
 *	of a member that was not counted.
 */
#include <linux/bits.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <tally/tally.h>
#include "life/life.h"
#include "debugfs/debugfs.h"
#include "event/event.h"

static int values_show(struct seq_file *m, void *v)
{
	struct tally_line_set *ls = m->private;
	struct tally_set *set = ls->set;
	struct tally_set_window window;
	struct tally_count *counts;
	unsigned int i;

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
	tally_spec_show_set(m, m->private);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(spec);

static int calls_show(struct seq_file *m, void *v)
{
	struct tally_line_set *ls = m->private;
	struct tally_func_stats stats;
	u64 sums[TALLY_FUNC_MEMBERS];

	tally_func_read(ls->func, &stats, sums);
	seq_printf(m, "calls %llu\ncounted %llu\nmoved %llu\nswitched %llu\nuncounted %llu\nmissed %llu\n",
		   stats.calls, stats.counted, stats.moved, stats.switched, stats.uncounted,
		   stats.missed);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(calls);

static int state_show(struct seq_file *m, void *v)
{
	struct tally_line_set *ls = m->private;
	struct tally_func_stats stats;
	u64 sums[TALLY_FUNC_MEMBERS];

	tally_func_read(ls->func, &stats, sums);
	seq_printf(m, "%s\n", tally_state_name(stats.state));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static const char *member_name(struct tally_set *set, unsigned int i)
{
	return kbasename(tally_set_event(set, i)->name);
}

static int sums_show(struct seq_file *m, void *v)
{
	struct tally_line_set *ls = m->private;
	struct tally_func_stats stats;
	u64 sums[TALLY_FUNC_MEMBERS];
	unsigned int i;

	tally_func_read(ls->func, &stats, sums);
	for (i = 0; i < tally_set_size(ls->set); i++)
		seq_printf(m, "%s %llu\n", member_name(ls->set, i), sums[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sums);

static int hist_show(struct seq_file *m, void *v)
{
	struct tally_line_set *ls = m->private;
	unsigned int i, bucket;
	u64 calls;

	for (i = 0; i < tally_set_size(ls->set); i++) {
		for (bucket = 0; bucket < TALLY_FUNC_BUCKETS; bucket++) {
			calls = tally_func_bucket(ls->func, i, bucket);
			if (calls)
				seq_printf(m, "%s %llu %llu %llu\n", member_name(ls->set, i),
					   bucket ? 1ULL << (bucket - 1) : 0,
					   bucket ? GENMASK_ULL(bucket - 1, 0) : 0, calls);
		}
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(hist);

/* Gives the folder of a set its files. Returns 0; or an error, with a part of the files there. */
int tally_debugfs_fill_set(struct tally_line_set *ls)
{
	static const struct {
		const char *name;
		const struct file_operations *fops;
		bool of_func, of_set;
	} files[] = {
		{ "spec", &spec_fops, true, true },
		{ "values", &values_fops, false, true },
		{ "calls", &calls_fops, true, false },
		{ "sums", &sums_fops, true, false },
		{ "hist", &hist_fops, true, false },
		{ "state", &state_fops, true, false },
	};
	struct dentry *file;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		if (!(ls->func ? files[i].of_func : files[i].of_set))
			continue;
		file = debugfs_create_file(files[i].name, 0444, ls->dir, ls, files[i].fops);
		if (IS_ERR(file))
			return PTR_ERR(file);
	}
	return 0;
}
