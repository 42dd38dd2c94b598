// SPDX-License-Identifier: GPL-2.0
/*
 * A PMU says of its events which unit and scale a count has, and whether the
 * count is a gauge.
 *
 * A PMU describes its events in /sys/bus/event_source/devices/PMU/events: the
 * file NAME has the terms of an event, NAME.scale and NAME.unit how perf stat
 * prints its count, and NAME.snapshot says that the count is a gauge.
 */
#include <linux/device.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "base/alias.h"
#include "base/pmu.h"
#include "base/pmu_files.h"
#include "base/terms.h"
#include "compat.h"

/* Reads "EVENT.@what" into @to, which stays empty if there is no such file. */
static void read_about(struct device *dev, const char *event, const char *what, char *to,
		       size_t size, char *page)
{
	char name[96];

	if (snprintf(name, sizeof(name), "%s.%s", event, what) < sizeof(name) &&
	    tally_pmu_read(dev, "events", name, page))
		strscpy(to, page, size);
}

/**
 * tally_alias_read - read what a PMU says of an event
 * @dev: device of the PMU, which stays until the function returns
 * @event: name of the event
 * @alias: receives it
 * @page: scratch, as tally_pmu_read() needs it
 *
 * Context: Process context, may sleep.
 */
void tally_alias_read(struct device *dev, const char *event, struct tally_alias *alias,
		      char *page)
{
	char snapshot[4] = "";

	memset(alias, 0, sizeof(*alias));
	read_about(dev, event, "scale", alias->scale, sizeof(alias->scale), page);
	read_about(dev, event, "unit", alias->unit, sizeof(alias->unit), page);
	read_about(dev, event, "snapshot", snapshot, sizeof(snapshot), page);
	alias->snapshot = snapshot[0] == '1';
}

/**
 * struct search - a search for the name of an event
 * @files: the PMU
 * @attr: attributes of the event
 * @terms: the parsed terms, and the name, of the event that the search looks at
 */
struct search {
	const struct tally_pmu_files *files;
	const struct perf_event_attr *attr;
	struct tally_terms terms;
};

/* Parses terms. Returns 1 if they are some, and else 0 or ENOMEM. */
static int are_terms(struct search *search, const char *text)
{
	int err = tally_terms_parse(search->files, text, &search->terms, NULL, 0);

	return err == -ENOMEM ? err : !err;
}

/* Returns 1 if the file is that of the event that is looked for, and else 0 or ENOMEM. */
static int is_event(struct device *dev, struct attribute *attr, void *data)
{
	struct search *search = data;
	const u64 *config = search->terms.config;
	int ret = strchr(attr->name, '.') ? 0 : are_terms(search, attr->name);

	if (ret <= 0)
		return ret;
	return config[0] == search->attr->config && config[1] == search->attr->config1 &&
	       config[2] == search->attr->config2 &&
	       config[3] == tally_attr_config3(search->attr);
}

/*
 * Returns 1 if the text names an event of the PMU, which is then in search->terms,
 * and else 0 or ENOMEM. Its bits are not compared: other terms may have changed them.
 */
static int names_event(struct search *search, const char *given)
{
	const char *terms = strchr(given, '/');
	char text[128];
	int ret;

	if (!terms || strscpy(text, terms + 1, sizeof(text)) < 0)
		return 0;
	strreplace(text, '/', '\0');
	ret = are_terms(search, text);
	return ret > 0 ? !!search->terms.event[0] : ret;
}

/**
 * tally_alias_find - find what a PMU says of an event
 * @attr: attributes of the event
 * @given: text that the event was parsed from; empty if it was not parsed
 * @alias: receives it
 *
 * Context: Process context, may sleep.
 * Return: 0, also if the PMU says nothing of its event: @alias is then empty;
 * ENOENT if there is no such PMU, or it names no such event; ENOMEM.
 */
int tally_alias_find(const struct perf_event_attr *attr, const char *given,
		     struct tally_alias *alias)
{
	struct tally_pmu_files files;
	struct search search = { .files = &files, .attr = attr };
	int err;

	/* perf stat prints milliseconds. No PMU has a file that says so. */
	if (tally_attr_is_clock(attr)) {
		*alias = (struct tally_alias){ .scale = "1e-6", .unit = "msec" };
		return 0;
	}
	err = tally_pmu_files_open(&files, attr->type);
	if (!err)
		err = names_event(&search, given) ?:
		      tally_pmu_walk(files.dev, "events", is_event, &search) ?: -ENOENT;
	if (err > 0)
		tally_alias_read(files.dev, search.terms.event, alias, files.page);
	tally_pmu_files_close(&files);
	return min(err, 0);
}
