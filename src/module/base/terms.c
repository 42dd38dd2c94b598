// SPDX-License-Identifier: GPL-2.0
/*
 * Parses the terms of a PMU's event, as "mem-loads,ldlat=30" or "event=0x3c,umask=0x1".
 *
 * A term is the name of an event, which stands for terms of the PMU's own; or a
 * term of the PMU's format with a value, which the format spreads over bits of
 * the attributes; or one of the members config to config3. In any order of the
 * text, these members are set first, then the event's terms, and the other
 * terms last. A term replaces the bits that it has. perf's tool adds them to
 * those that the event has: there, ldlat=30 becomes 31 if the event has
 * ldlat=3.
 */
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "base/pmu_files.h"
#include "base/terms.h"
#include "compat.h"

/**
 * struct parse - terms that are being parsed
 * @files: the PMU
 * @text: the terms
 * @terms: what they say
 * @why: receives a sentence on failure
 * @size: bytes of room in @why
 */
struct parse {
	const struct tally_pmu_files *files;
	const char *text;
	struct tally_terms *terms;
	char *why;
	size_t size;
};

/* Writes a sentence that says why a text is refused. Returns @err. */
int tally_say(char *why, size_t size, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, size, fmt, args);
	va_end(args);
	return err;
}

/* Returns the number of a member config to config3; -1 for other names. */
static int member_of(const char *name)
{
	size_t len = str_has_prefix(name, "config");

	if (!len || (name[len] && name[len + 1]))
		return -1;
	if (!name[len])
		return 0;
	return name[len] >= '1' && name[len] <= '3' ? name[len] - '0' : -1;
}

/* Parses "config1:0-7,32" into the number of the member and its bits. */
static bool parse_format(char *text, unsigned int *member, u64 *bits)
{
	char *ranges = text, *range, *low;
	int nr = member_of(strsep(&ranges, ":"));
	unsigned int first, last;

	if (nr < 0 || !ranges)
		return false;
	*member = nr;
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

/**
 * struct list - a list of names at the end of a sentence
 * @p: the sentence
 * @title: what comes before the next name: at first the title of the list, then ","
 */
struct list {
	const struct parse *p;
	const char *title;
};

/* Adds a name to the sentence, or "..." in the place of the first one without room. */
static int add_name(struct device *dev, struct attribute *attr, void *data)
{
	struct list *list = data;
	const struct parse *p = list->p;
	size_t len = strlen(p->why);
	size_t needed = strlen(list->title) + strlen(attr->name) + sizeof(",...");

	if (strchr(attr->name, '.'))
		return 0;
	if (len + needed > p->size) {
		snprintf(p->why + len, p->size - len, "%c...", *list->title);
		return 1;
	}
	snprintf(p->why + len, p->size - len, "%s%s", list->title, attr->name);
	list->title = ",";
	return 0;
}

/* A word without a value is more likely to be an event. */
static int no_such_term(const struct parse *p, const char *key, const char *text)
{
	struct list events = { p, "; events: " }, terms = { p, "; terms: " };
	struct device *dev = p->files->dev;

	tally_say(p->why, p->size, -EINVAL, "unknown term '%.40s'", key);
	if (!p->size)
		return -EINVAL;
	if (dev && ((!text && tally_pmu_walk(dev, "events", add_name, &events)) ||
		    tally_pmu_walk(dev, "format", add_name, &terms) ||
		    (text && tally_pmu_walk(dev, "events", add_name, &events))))
		return -EINVAL;
	if (*terms.title != ',' && *events.title != ',')
		tally_say(p->why, p->size, -EINVAL,
			  "unknown term '%.40s': only config, config1 to config3", key);
	return -EINVAL;
}

/* Reads the PMU's file format/@key to p->files->page. Returns whether there is such a file. */
static bool read_format(const struct parse *p, const char *key)
{
	return p->files->dev && tally_pmu_read(p->files->dev, "format", key, p->files->page);
}

/* Sets the bits of a term. @text is its value; NULL for a term without one. */
static int apply_term(const struct parse *p, const char *key, const char *text)
{
	unsigned int member, width;
	u64 bits = U64_MAX, value = 1;

	if (member_of(key) >= 0)
		member = member_of(key);
	else if (!read_format(p, key))
		return no_such_term(p, key, text);
	else if (!parse_format(p->files->page, &member, &bits))
		return tally_say(p->why, p->size, -EINVAL,
				 "tally does not know the format of '%s'", key);
	width = hweight64(bits);
	if (text ? kstrtou64(text, 0, &value) : width > 1)
		return tally_say(p->why, p->size, -EINVAL, "expected '%s=NUMBER'", key);
	if (width < 64 && value >> width)
		return tally_say(p->why, p->size, -EINVAL,
				 "%s=%s is too large: at most 0x%llx", key, text,
				 BIT_ULL(width) - 1);
	p->terms->config[member] = (p->terms->config[member] & ~bits) | spread(value, bits);
	return 0;
}

/* Returns whether the caller's terms have this one with a value. */
static bool is_given(const char *terms, const char *key)
{
	size_t len = strlen(key);

	while (strncmp(terms, key, len) || terms[len] != '=') {
		terms = strchr(terms, ',');
		if (!terms)
			return false;
		terms++;
	}
	return true;
}

/* Sets the terms that the PMU has for an event. */
static int expand(const struct parse *p, const char *event)
{
	char *rest = p->files->text, *text, *key;
	int err = 0;

	if (!tally_pmu_read(p->files->dev, "events", event, rest))
		return tally_say(p->why, p->size, -EINVAL, "the event '%s' cannot be read", event);
	while (!err && (text = strsep(&rest, ","))) {
		key = strsep(&text, "=");
		if (!text || strcmp(text, "?"))
			err = apply_term(p, key, text);
		else if (!is_given(p->text, key))
			err = tally_say(p->why, p->size, -EINVAL,
					"%s needs the term '%s=NUMBER'", event, key);
	}
	return err;
}

enum kind { KIND_MEMBER, KIND_EVENT, KIND_TERM };

static enum kind kind_of(const struct parse *p, const char *key, const char *text)
{
	if (member_of(key) >= 0)
		return KIND_MEMBER;
	if (!text && p->files->dev && !read_format(p, key) &&
	    tally_pmu_has_event(p->files->dev, key))
		return KIND_EVENT;
	return KIND_TERM;
}

static int apply_event(const struct parse *p, const char *event)
{
	char *name = p->terms->event;

	if (*name)
		return tally_say(p->why, p->size, -EINVAL, "%s and %s are two events", name, event);
	strscpy(name, event, sizeof(p->terms->event));
	return expand(p, event);
}

/* Applies the terms of one kind. */
static int apply_kind(const struct parse *p, char *text, enum kind kind)
{
	char *term, *key;
	int err = 0;

	while (!err && (term = strsep(&text, ","))) {
		key = strsep(&term, "=");
		if ((!*key && !term) || kind_of(p, key, term) != kind)
			continue;
		err = kind == KIND_EVENT ? apply_event(p, key) : apply_term(p, key, term);
	}
	return err;
}

/**
 * tally_terms_parse - parse the terms of an event
 * @files: the PMU, from tally_pmu_files_open(); without a device, there are
 *	only config to config3
 * @text: the terms, up to the PMU's last slash
 * @terms: receives what they say
 * @why: receives a sentence on failure
 * @size: bytes of room in @why; may be 0
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL; ENOMEM.
 */
int tally_terms_parse(const struct tally_pmu_files *files, const char *text,
		      struct tally_terms *terms, char *why, size_t size)
{
	const struct parse p = { files, text, terms, why, size };
	enum kind kind;
	char *copy;
	int err = 0;

	memset(terms, 0, sizeof(*terms));
	for (kind = KIND_MEMBER; kind <= KIND_TERM && !err; kind++) {
		copy = kstrdup(text, GFP_KERNEL);
		if (!copy)
			return tally_say(why, size, -ENOMEM, "out of memory");
		err = apply_kind(&p, copy, kind);
		kfree(copy);
	}
	return err;
}

/**
 * tally_terms_apply - set attributes by the terms of an event
 * @attr: attributes whose type is set; receives config to config3
 * @text: the terms, up to the PMU's last slash
 * @why: receives a sentence on failure
 * @size: bytes of room in @why
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL; EOPNOTSUPP for a config3 in a kernel that has no such member; ENOMEM.
 */
int tally_terms_apply(struct perf_event_attr *attr, const char *text, char *why, size_t size)
{
	struct tally_pmu_files files;
	struct tally_terms terms;
	int err;

	err = tally_pmu_files_open(&files, attr->type);
	/* A type without a device has config to config3 only. perf may refuse the type later. */
	if (!err || err == -ENOENT)
		err = tally_terms_parse(&files, text, &terms, why, size);
	else
		snprintf(why, size, "out of memory");
	tally_pmu_files_close(&files);
	if (err)
		return err;
	attr->config = terms.config[0];
	attr->config1 = terms.config[1];
	attr->config2 = terms.config[2];
	if (!tally_attr_set_config3(attr, terms.config[3]))
		return tally_say(why, size, -EOPNOTSUPP, "this kernel has no config3");
	return 0;
}
