// SPDX-License-Identifier: GPL-2.0
/*
 * A PMU says of its events which unit and scale a count has, and whether the count is
 * a gauge.
 *
 * A PMU describes its events in /sys/bus/event_source/devices/PMU/events: the file NAME has
 * the terms of an event, NAME.scale and NAME.unit how perf stat prints its count, and
 * NAME.snapshot says that the count is a gauge. The files in format say which bits of the
 * attributes a term has. The attributes behind these files are read here, as sysfs reads them.
 */
#include <linux/bits.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "base/alias.h"
#include "base/pmu.h"
#include "compat.h"

/* The terms of an event, as members of perf_event_attr. */
struct terms {
	u64 config[4];
};

static bool is_visible(struct device *dev, const struct attribute_group *group, int i)
{
	return !group->is_visible || group->is_visible(&dev->kobj, group->attrs[i], i);
}

typedef int (*take_attr_fn)(struct device *dev, struct attribute *attr, void *data);

/*
 * Calls @take for each visible attribute in the groups of this name, until it does not return
 * 0. Returns what @take returned last.
 */
static int walk_group(struct device *dev, const struct attribute_group **groups,
		      const char *name, take_attr_fn take, void *data)
{
	const struct attribute_group *group;
	int i, ret = 0;

	for (; groups && *groups && !ret; groups++) {
		group = *groups;
		if (!group->name || strcmp(group->name, name))
			continue;
		for (i = 0; group->attrs && group->attrs[i] && !ret; i++)
			if (is_visible(dev, group, i))
				ret = take(dev, group->attrs[i], data);
	}
	return ret;
}

static int walk_files(struct device *dev, const char *folder, take_attr_fn take, void *data)
{
	const struct pmu *pmu = dev_get_drvdata(dev);

	return walk_group(dev, pmu->attr_groups, folder, take, data) ?:
	       walk_group(dev, pmu->attr_update, folder, take, data);
}

/* Reads a file without the newline at its end; @page has room for a page. */
static bool read_attr(struct device *dev, struct attribute *attr, char *page)
{
	const struct sysfs_ops *ops = dev->kobj.ktype->sysfs_ops;
	ssize_t len = ops->show(&dev->kobj, attr, page);

	if (len < 0)
		return false;
	page[min_t(size_t, len, PAGE_SIZE - 1)] = '\0';
	strim(page);
	return true;
}

struct wanted {
	const char *name;
	char *page;
};

static int read_if_wanted(struct device *dev, struct attribute *attr, void *data)
{
	const struct wanted *wanted = data;

	return !strcmp(attr->name, wanted->name) && read_attr(dev, attr, wanted->page);
}

/* Reads the file of this name; returns whether there is one. */
static bool read_file(struct device *dev, const char *folder, const char *name, char *page)
{
	struct wanted wanted = { name, page };

	return walk_files(dev, folder, read_if_wanted, &wanted);
}

/* Parses "config1:0-7,32" into the number of the member and its bits. */
static bool parse_format(char *text, unsigned int *member, u64 *bits)
{
	char *ranges = text, *range, *low;
	const char *name = strsep(&ranges, ":");
	unsigned int first, last;

	if (!str_has_prefix(name, "config") || !ranges)
		return false;
	*member = name[6] ? name[6] - '0' : 0;
	if (*member > 3 || (name[6] && name[7]))
		return false;
	*bits = 0;
	while ((range = strsep(&ranges, ","))) {
		low = strsep(&range, "-");
		if (kstrtouint(low, 10, &first) || (range && kstrtouint(range, 10, &last)))
			return false;
		if (!range)
			last = first;
		if (first > last || last > 63)
			return false;
		*bits |= GENMASK_ULL(last, first);
	}
	return true;
}

/* Puts the bits of @value, from the lowest on, where @bits has ones. */
static u64 spread(u64 value, u64 bits)
{
	u64 result = 0;

	for (; bits; bits &= bits - 1, value >>= 1)
		if (value & 1)
			result |= bits & -bits;
	return result;
}

/* Parses the terms of an event, as "event=0x2,umask=0x1". @page is scratch. */
static bool parse_terms(struct device *dev, char *text, char *page, struct terms *terms)
{
	unsigned int member;
	char *term, *key;
	u64 value, bits;

	memset(terms, 0, sizeof(*terms));
	while ((term = strsep(&text, ","))) {
		key = strsep(&term, "=");
		value = 1;
		if (term && kstrtou64(term, 0, &value))
			return false;
		if (!read_file(dev, "format", key, page)) {
			/* The members themselves are terms, too. */
			snprintf(page, PAGE_SIZE, "%s:0-63", key);
		}
		if (!parse_format(page, &member, &bits))
			return false;
		terms->config[member] |= spread(value, bits);
	}
	return true;
}

struct search {
	const struct perf_event_attr *attr;
	struct tally_alias *alias;
	char *text;
	char *page;
};

/* Returns whether the file is that of the event that is looked for. */
static int is_event(struct device *dev, struct attribute *attr, void *data)
{
	struct search *search = data;
	struct terms terms;

	if (strchr(attr->name, '.') || !read_attr(dev, attr, search->text) ||
	    !parse_terms(dev, search->text, search->page, &terms) ||
	    terms.config[0] != search->attr->config || terms.config[1] != search->attr->config1 ||
	    terms.config[2] != search->attr->config2 ||
	    terms.config[3] != tally_attr_config3(search->attr))
		return 0;
	strscpy(search->alias->name, attr->name, sizeof(search->alias->name));
	return 1;
}

/* Reads "NAME.@what" of the event into @to, which stays empty if there is no such file. */
static void read_about(struct device *dev, struct search *search, const char *what, char *to,
		       size_t size)
{
	snprintf(search->text, PAGE_SIZE, "%s.%s", search->alias->name, what);
	if (read_file(dev, "events", search->text, search->page))
		strscpy(to, search->page, size);
}

static int describe(struct device *dev, struct search *search)
{
	struct tally_alias *alias = search->alias;
	char snapshot[4] = "";

	if (!walk_files(dev, "events", is_event, search))
		return -ENOENT;
	read_about(dev, search, "scale", alias->scale, sizeof(alias->scale));
	read_about(dev, search, "unit", alias->unit, sizeof(alias->unit));
	read_about(dev, search, "snapshot", snapshot, sizeof(snapshot));
	alias->snapshot = snapshot[0] == '1';
	return 0;
}

/**
 * tally_alias_find - find what a PMU says of an event
 * @attr: attributes of the event
 * @alias: receives it
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOENT if the PMU says nothing; ENOMEM.
 */
int tally_alias_find(const struct perf_event_attr *attr, struct tally_alias *alias)
{
	struct search search = { .attr = attr, .alias = alias };
	struct device *dev = tally_pmu_get(attr->type);
	const struct pmu *pmu;
	int err = -ENOMEM;

	if (!dev)
		return -ENOENT;
	memset(alias, 0, sizeof(*alias));
	search.text = kmalloc(PAGE_SIZE, GFP_KERNEL);
	search.page = kmalloc(PAGE_SIZE, GFP_KERNEL);
	if (search.text && search.page) {
		err = -ENOENT;
		pmu = tally_pmu_lock(dev);
		/* The driver's code is called. */
		if (pmu && try_module_get(pmu->module)) {
			err = describe(dev, &search);
			module_put(pmu->module);
		}
		device_unlock(dev);
	}
	kfree(search.page);
	kfree(search.text);
	put_device(dev);
	return err;
}
