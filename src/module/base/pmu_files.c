// SPDX-License-Identifier: GPL-2.0
/*
 * The files of a PMU in /sys/bus/event_source/devices/PMU.
 *
 * The folder events has a file for each event that the PMU names, and the folder format one
 * for each term. The attributes behind these files are read here, as sysfs reads them. A
 * driver keeps them until its PMU's device has gone.
 */
#include <linux/device.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "base/pmu.h"
#include "base/pmu_files.h"

/* A file that nobody may read is none. */
static bool is_visible(struct device *dev, const struct attribute_group *group, int i)
{
	return !group->is_visible || group->is_visible(&dev->kobj, group->attrs[i], i) & 0444;
}

static bool is_folder(const struct attribute_group *group, const char *folder)
{
	return folder ? group->name && !strcmp(group->name, folder) : !group->name;
}

/**
 * struct walk - a walk through the files of a folder
 * @folder: its name; NULL for the PMU's own folder
 * @name: name of the only file that is wanted; NULL for all files
 * @take: called for each file
 * @data: given to @take
 */
struct walk {
	const char *folder;
	const char *name;
	tally_pmu_file_fn take;
	void *data;
};

static int walk_groups(struct device *dev, const struct attribute_group *const *groups,
		       const struct walk *walk)
{
	struct attribute *attr;
	int i, ret;

	for (; groups && *groups; groups++) {
		if (!is_folder(*groups, walk->folder))
			continue;
		for (i = 0; (*groups)->attrs && (*groups)->attrs[i]; i++) {
			attr = (*groups)->attrs[i];
			if ((walk->name && strcmp(attr->name, walk->name)) ||
			    !is_visible(dev, *groups, i))
				continue;
			ret = walk->take(dev, attr, walk->data);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static int walk_all(struct device *dev, const struct walk *walk)
{
	const struct pmu *pmu = dev_get_drvdata(dev);

	return walk_groups(dev, pmu->attr_groups, walk) ?:
	       walk_groups(dev, pmu->attr_update, walk) ?:
	       walk_groups(dev, dev->bus->dev_groups, walk);
}

/**
 * tally_pmu_walk - call a function for each file of a PMU
 * @dev: device of the PMU, which stays until the function returns
 * @folder: folder of the files
 * @take: the function; if it does not return 0, the walk ends
 * @data: given to @take
 *
 * Context: Process context, may sleep.
 * Return: what @take returned last; 0 without files.
 */
int tally_pmu_walk(struct device *dev, const char *folder, tally_pmu_file_fn take, void *data)
{
	const struct walk walk = { .folder = folder, .take = take, .data = data };

	return walk_all(dev, &walk);
}

/* Reads a file without the blanks at its end. */
static int read_attr(struct device *dev, struct attribute *attr, void *data)
{
	const struct sysfs_ops *ops = dev->kobj.ktype->sysfs_ops;
	char *page = data;
	ssize_t len = ops->show(&dev->kobj, attr, page);

	if (len < 0)
		return len;
	page[min_t(size_t, len, PAGE_SIZE - 1)] = '\0';
	strim(page);
	return 1;
}

/**
 * tally_pmu_read - read a file of a PMU
 * @dev: device of the PMU, which stays until the function returns
 * @folder: folder of the file; NULL for the PMU's own
 * @name: name of the file
 * @page: receives the text; PAGE_SIZE bytes at an address that is a multiple of that
 *
 * Context: Process context, may sleep.
 * Return: whether there is such a file, and it could be read.
 */
bool tally_pmu_read(struct device *dev, const char *folder, const char *name, char *page)
{
	const struct walk walk = { folder, name, read_attr, page };

	return walk_all(dev, &walk) > 0;
}

static int is_there(struct device *dev, struct attribute *attr, void *data)
{
	return 1;
}

/* Returns whether a PMU has an event of the name. A file with a dot in its name is no event. */
bool tally_pmu_has_event(struct device *dev, const char *name)
{
	const struct walk walk = { "events", name, is_there };

	return !strchr(name, '.') && walk_all(dev, &walk);
}

/**
 * tally_pmu_files_open - find a PMU, and keep it while its files are read
 * @files: receives the PMU, and memory
 * @type: number of the PMU
 *
 * Context: Process context, may sleep. The PMU's device is locked until tally_pmu_files_close(),
 * which follows also after an error: nothing in between may look for a PMU.
 * Return: 0; ENOENT if there is no such PMU; ENOMEM.
 */
int tally_pmu_files_open(struct tally_pmu_files *files, u32 type)
{
	struct device *dev = tally_pmu_get(type);
	const struct pmu *pmu;

	memset(files, 0, sizeof(*files));
	if (!dev)
		return -ENOENT;
	files->text = kmalloc(PAGE_SIZE, GFP_KERNEL);
	files->page = kmalloc(PAGE_SIZE, GFP_KERNEL);
	if (!files->text || !files->page) {
		put_device(dev);
		return -ENOMEM;
	}
	pmu = tally_pmu_lock(dev);
	/* Reads call the driver's code, which must not be unloaded. */
	if (pmu && try_module_get(pmu->module)) {
		files->dev = dev;
		return 0;
	}
	device_unlock(dev);
	put_device(dev);
	return -ENOENT;
}

void tally_pmu_files_close(struct tally_pmu_files *files)
{
	const struct pmu *pmu;

	if (files->dev) {
		pmu = dev_get_drvdata(files->dev);
		module_put(pmu->module);
		device_unlock(files->dev);
		put_device(files->dev);
	}
	kfree(files->page);
	kfree(files->text);
}
