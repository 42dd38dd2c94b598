// SPDX-License-Identifier: GPL-2.0
/*
 * The folder pmus: what the PMUs of this machine offer.
 *
 *	# cat pmus/list
 *	pmu number cpus abilities
 *	msr 11 all tasks
 *	armv8_pmuv3_0 9 0-3 overflow,tasks,exclude
 *	# cat pmus/power/events
 *	energy-pkg event=0x02 scale=2.3283064365386962890625e-10 unit=Joules
 *	# cat pmus/cpu/format
 *	umask config:8-15
 *
 * list: name, number, CPUs, abilities; '-' stands for none. The CPUs are those of the PMU's
 *	file cpus or cpumask, and "all" without such a file. Of the abilities, a PMU has the
 *	first three unless it denies them: overflow: it has interrupts; tasks: it counts
 *	tasks, not only CPUs; exclude: it can exclude levels; and aux: it has AUX buffers,
 *	which tally does not serve.
 * events: name of an event, its terms, and what the PMU says of the count.
 * format: name of a term, and its bits.
 *
 * The folder of a PMU goes after its device has left the bus, and before the driver frees
 * the PMU: perf_pmu_unregister() waits until nobody reads the files. So they need no lock.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "base/alias.h"
#include "base/pmu.h"
#include "base/pmu_files.h"
#include "debugfs/debugfs.h"

/**
 * struct folder - a PMU that is on the bus
 * @node: link in folders
 * @dev: its device, with a reference
 * @dir: its folder; an error if there is none
 */
struct folder {
	struct list_head node;
	struct device *dev;
	struct dentry *dir;
};

/*
 * Guards @folders, so that a PMU stays while its row is shown. The first walk over the bus holds
 * the lock throughout, and so adds no PMU whose removal was reported before.
 */
static DEFINE_MUTEX(folders_lock);
static LIST_HEAD(folders);
static struct dentry *pmus;
static bool watching;

static int show_term(struct device *dev, struct attribute *attr, void *data)
{
	struct seq_file *m = data;
	char *page = kmalloc(PAGE_SIZE, GFP_KERNEL);

	if (!page)
		return -ENOMEM;
	if (tally_pmu_read(dev, "format", attr->name, page))
		seq_printf(m, "%s %s\n", attr->name, page);
	kfree(page);
	return 0;
}

static int format_show(struct seq_file *m, void *v)
{
	return tally_pmu_walk(m->private, "format", show_term, m);
}
DEFINE_SHOW_ATTRIBUTE(format);

static int show_event(struct device *dev, struct attribute *attr, void *data)
{
	struct tally_alias alias;
	struct seq_file *m = data;
	char *page;

	/* A file with a dot in its name belongs to the event that is named before the dot. */
	if (strchr(attr->name, '.'))
		return 0;
	page = kmalloc(PAGE_SIZE, GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	if (tally_pmu_read(dev, "events", attr->name, page)) {
		seq_printf(m, "%s %s", attr->name, page);
		tally_alias_read(dev, attr->name, &alias, page);
		if (alias.scale[0])
			seq_printf(m, " scale=%s", alias.scale);
		if (alias.unit[0])
			seq_printf(m, " unit=%s", alias.unit);
		seq_puts(m, alias.snapshot ? " snapshot\n" : "\n");
	}
	kfree(page);
	return 0;
}

static int events_show(struct seq_file *m, void *v)
{
	return tally_pmu_walk(m->private, "events", show_event, m);
}
DEFINE_SHOW_ATTRIBUTE(events);

static const char *cpus_of(struct device *dev, char *page)
{
	if (!tally_pmu_read(dev, NULL, "cpus", page) &&
	    !tally_pmu_read(dev, NULL, "cpumask", page))
		return "all";
	return *page ? page : "-";
}

static void show_abilities(struct seq_file *m, const struct pmu *pmu)
{
	const struct {
		const char *name;
		bool has;
	} abilities[] = {
		{ "overflow", !(pmu->capabilities & PERF_PMU_CAP_NO_INTERRUPT) },
		{ "tasks", pmu->task_ctx_nr != perf_invalid_context },
		{ "exclude", !(pmu->capabilities & PERF_PMU_CAP_NO_EXCLUDE) },
		{ "aux", pmu->setup_aux },
	};
	char separator = ' ';
	size_t i;

	for (i = 0; i < ARRAY_SIZE(abilities); i++) {
		if (!abilities[i].has)
			continue;
		seq_printf(m, "%c%s", separator, abilities[i].name);
		separator = ',';
	}
	seq_puts(m, separator == ' ' ? " -\n" : "\n");
}

static int list_show(struct seq_file *m, void *v)
{
	char *page = kmalloc(PAGE_SIZE, GFP_KERNEL);
	const struct folder *folder;
	const struct pmu *pmu;

	if (!page)
		return -ENOMEM;
	seq_puts(m, "pmu number cpus abilities\n");
	mutex_lock(&folders_lock);
	list_for_each_entry(folder, &folders, node) {
		pmu = dev_get_drvdata(folder->dev);
		seq_printf(m, "%s %d %s", dev_name(folder->dev), pmu->type,
			   cpus_of(folder->dev, page));
		show_abilities(m, pmu);
	}
	mutex_unlock(&folders_lock);
	kfree(page);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(list);

static struct folder *find(const struct device *dev)
{
	struct folder *folder;

	list_for_each_entry(folder, &folders, node)
		if (folder->dev == dev)
			return folder;
	return NULL;
}

/* Makes the folder of a PMU with its files. Returns the folder, or an ERR_PTR with nothing left. */
static struct dentry *make_folder(struct device *dev)
{
	struct dentry *dir = debugfs_create_dir(dev_name(dev), pmus);
	struct dentry *file;

	file = debugfs_create_file("events", 0444, dir, dev, &events_fops);
	if (!IS_ERR(file))
		file = debugfs_create_file("format", 0444, dir, dev, &format_fops);
	if (!IS_ERR(file))
		return dir;
	debugfs_remove(dir);
	return file;
}

static int add(struct device *dev, void *unused)
{
	struct folder *folder;

	if (find(dev))
		return 0;
	folder = kmalloc(sizeof(*folder), GFP_KERNEL);
	if (!folder) {
		pr_err("no folder for the PMU %s: out of memory\n", dev_name(dev));
		return 0;
	}
	folder->dev = get_device(dev);
	folder->dir = make_folder(dev);
	if (IS_ERR(folder->dir))
		pr_err("no folder for the PMU %s (%pe)\n", dev_name(dev), folder->dir);
	list_add_tail(&folder->node, &folders);
	return 0;
}

static void remove(struct folder *folder)
{
	debugfs_remove(folder->dir);
	list_del(&folder->node);
	put_device(folder->dev);
	kfree(folder);
}

static int pmu_changed(struct notifier_block *nb, unsigned long action, void *dev)
{
	struct folder *folder;

	mutex_lock(&folders_lock);
	if (action == BUS_NOTIFY_ADD_DEVICE)
		add(dev, NULL);
	folder = action == BUS_NOTIFY_REMOVED_DEVICE ? find(dev) : NULL;
	if (folder)
		remove(folder);
	mutex_unlock(&folders_lock);
	return NOTIFY_OK;
}

static struct notifier_block pmu_notifier = {
	.notifier_call = pmu_changed,
};

/* Makes the folder pmus, with a folder for each PMU. */
void tally_debugfs_add_pmus(struct dentry *root)
{
	pmus = debugfs_create_dir("pmus", root);
	debugfs_create_file("list", 0444, pmus, NULL, &list_fops);
	watching = !tally_pmus_watch(&pmu_notifier);
	mutex_lock(&folders_lock);
	tally_pmus_walk(add, NULL);
	mutex_unlock(&folders_lock);
}

/* Called when no file of debugfs is open. */
void tally_debugfs_remove_pmus(void)
{
	struct folder *folder, *next;

	if (watching)
		tally_pmus_unwatch(&pmu_notifier);
	list_for_each_entry_safe(folder, next, &folders, node)
		remove(folder);
}
