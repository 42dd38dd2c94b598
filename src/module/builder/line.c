// SPDX-License-Identifier: GPL-2.0
/*
 * Parses a line of text into a builder. debugfs, /dev/tally, the module parameter and other
 * modules write an event by perf's name for it, followed by options:
 *
 *	cycles:k cpu=1 name=kcycles
 *	page-faults pid=4711 inherit
 *	msr/config=0x0/ cpu=all disabled
 *
 * cpu=N|all  pid=N  cgroup=PATH (\040: a blank)  name=TEXT
 * period=N  freq=HZ  max_rate=N (0: unlimited)
 * budget=N/LENGTH, with a LENGTH such as 10ms
 * exclude=user,kernel,hv,idle,host,guest  disabled  inherit  inherit_thread
 * pinned  exclusive  require  enable_on_exec  remove_on_exec  sigtrap
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/string_helpers.h>
#include <linux/time64.h>
#include "base/cgroup.h"
#include "base/ptr.h"
#include "base/terms.h"
#include "builder/builder.h"
#include "compat.h"
#include "builder/name.h"

const struct tally_time_unit tally_time_units[TALLY_TIME_UNITS] = {
	{ "s", NSEC_PER_SEC },
	{ "ms", NSEC_PER_MSEC },
	{ "us", NSEC_PER_USEC },
	{ "ns", 1 },
};

static void parse_exclude(struct tally_builder *b, char *list)
{
	static const char *const words[] = {
		"user", "kernel", "hv", "idle", "host", "guest"
	};
	char *word;
	u32 mask = 0;

	while ((word = strsep(&list, ","))) {
		int bit = match_string(words, ARRAY_SIZE(words), word);

		if (bit < 0) {
			tally_bad(b, -EINVAL, "cannot exclude '%s'", word);
			return;
		}
		mask |= BIT(bit);
	}
	tally_builder_exclude(b, mask);
}

static bool parse_number(struct tally_builder *b, const char *key,
			 const char *text, u64 max, u64 *value)
{
	if (!kstrtou64(text, 0, value) && *value <= max)
		return true;
	tally_bad(b, -EINVAL, "%s=%s: expected a number up to %llu", key, text,
		  max);
	return false;
}

/* Parses N/LENGTH. The length has a unit of tally_time_units. */
static void parse_budget(struct tally_builder *b, char *text)
{
	char *length = strchrnul(text, '/'), *unit;
	u64 max, number, ns = 0;
	size_t i;

	if (*length)
		*length++ = '\0';
	unit = length + strspn(length, "0123456789");
	for (i = 0; i < TALLY_TIME_UNITS; i++)
		if (!strcmp(unit, tally_time_units[i].name))
			ns = tally_time_units[i].ns;
	*unit = '\0';
	if (!ns || kstrtou64(length, 10, &number) || kstrtou64(text, 0, &max))
		tally_bad(b, -EINVAL, "budget=: expected N/LENGTH with s, ms, us or ns");
	else if (check_mul_overflow(number, ns, &ns))
		tally_builder_budget(b, max, U64_MAX);
	else
		tally_builder_budget(b, max, ns);
}

static void parse_valued(struct tally_builder *b, const char *key, char *text)
{
	u64 n;

	if (!strcmp(key, "name")) {
		tally_builder_name(b, text);
	} else if (!strcmp(key, "exclude")) {
		parse_exclude(b, text);
	} else if (!strcmp(key, "cpu")) {
		if (!strcmp(text, "all"))
			tally_builder_on_all_cpus(b);
		else if (parse_number(b, key, text, INT_MAX, &n))
			tally_builder_on_cpu(b, n);
	} else if (!strcmp(key, "pid")) {
		if (parse_number(b, key, text, INT_MAX, &n))
			tally_builder_on_pid(b, n);
	} else if (!strcmp(key, "cgroup")) {
		if (tally_cgroup_unescape(text))
			tally_builder_on_cgroup(b, text);
		else
			tally_bad(b, -EINVAL, "cgroup=: a path has no NUL inside");
	} else if (!strcmp(key, "period")) {
		if (parse_number(b, key, text, U64_MAX, &n))
			tally_builder_period(b, n);
	} else if (!strcmp(key, "freq")) {
		if (parse_number(b, key, text, U64_MAX, &n))
			tally_builder_freq(b, n);
	} else if (!strcmp(key, "budget")) {
		parse_budget(b, text);
	} else if (!strcmp(key, "max_rate")) {
		if (parse_number(b, key, text, U32_MAX - 1, &n))
			tally_builder_max_rate(b, n ?: TALLY_RATE_UNLIMITED);
	} else {
		tally_bad(b, -EINVAL, "unknown option '%s='", key);
	}
}

static void set_sigtrap(struct tally_builder *b)
{
	tally_builder_sigtrap(b, 0);
}

static void parse_option(struct tally_builder *b, char *option)
{
	static const struct {
		const char *word;
		void (*set)(struct tally_builder *b);
	} flags[] = {
		{ "disabled", tally_builder_disabled },
		{ "inherit", tally_builder_inherit },
		{ "inherit_thread", tally_builder_inherit_thread },
		{ "pinned", tally_builder_pinned },
		{ "exclusive", tally_builder_exclusive },
		{ "require", tally_builder_require },
		{ "enable_on_exec", tally_builder_enable_on_exec },
		{ "remove_on_exec", tally_builder_remove_on_exec },
		{ "sigtrap", set_sigtrap },
	};
	char *value = option;
	char *key = strsep(&value, "=");
	size_t i;

	if (value) {
		parse_valued(b, key, value);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		if (!strcmp(key, flags[i].word)) {
			flags[i].set(b);
			return;
		}
	}
	tally_bad(b, -EINVAL, "unknown option '%s'", key);
}

/*
 * Names an event by its text, with a ':' for each '/', which the name of a
 * folder cannot have. If the text is too long, the event gets no name here:
 * tally_registry_name() makes one.
 */
static void name_after(struct tally_builder *b, char *event)
{
	size_t len;

	strreplace(event, '/', ':');
	for (len = strlen(event); len && event[len - 1] == ':'; len--)
		event[len - 1] = '\0';
	if (len < TALLY_NAME_LEN) {
		tally_builder_name(b, event);
		b->given |= TALLY_GIVEN_EVENT;
	}
}

/* Keeps the event's text without its modifiers, which options may change. */
static void keep_event(struct tally_builder *b, const char *event, size_t len)
{
	if (len && event[len - 1] == ':')
		len--;
	if (len < sizeof(b->event))
		strscpy(b->event, event, len + 1);
}

/* Parses all modifiers of a member again, with those of its set: levels add up. */
static int add_modifiers(struct tally_builder *b, const char *own, const char *more, char *why,
			 size_t size)
{
	char *all = kasprintf(GFP_KERNEL, "%s%s", own, more);
	int err;

	if (!all)
		return tally_say(why, size, -ENOMEM, "out of memory");
	b->attr.precise_ip = 0;
	err = tally_name_modify(&b->attr, all, why, size);
	kfree(all);
	return err;
}

/* @more: modifiers beside those of the text; NULL without any. */
static void parse_event(struct tally_builder *b, char *event, const char *more)
{
	char why[sizeof(b->why)];
	size_t modifiers_at;
	char *copy;
	int err;

	copy = kstrdup(event, GFP_KERNEL);
	if (!copy) {
		tally_bad(b, -ENOMEM, "out of memory");
		return;
	}
	err = tally_name_parse(&b->attr, copy, &modifiers_at, why, sizeof(why));
	if (!err)
		keep_event(b, event, modifiers_at);
	if (!err && more)
		err = add_modifiers(b, event + modifiers_at, more, why, sizeof(why));
	if (err)
		tally_bad(b, err, "%s", why);
	else if (strchr(event + modifiers_at, 'P') || (more && strchr(more, 'P')))
		tally_builder_precise(b, TALLY_PRECISE_MAX);
	/* A PMU's name stands for that PMU, even if it has the number of raw events. */
	if (b->attr.type == PERF_TYPE_RAW && strchr(event, '/'))
		b->flags |= TALLY_BUILDER_ONE_KIND;
	kfree(copy);
}

static void parse_line(struct tally_builder *b, char *line, const char *more)
{
	char *event = strsep(&line, " \t");
	char *option;

	parse_event(b, event, more);
	while ((option = strsep(&line, " \t")))
		if (*option)
			parse_option(b, option);
	if (!(b->given & TALLY_GIVEN_NAME))
		name_after(b, event);
}

/**
 * tally_builder_parse_member - begin from a line of text, for a member of a set
 * @b: the builder
 * @line: the line
 * @more: modifiers of the set; NULL without any. Options of the line may change them.
 * @owner: the module that will own the event
 *
 * Context: Process context, may sleep.
 * Return: as tally_builder_parse().
 */
int tally_builder_parse_member(struct tally_builder *b, const char *line, const char *more,
			       struct module *owner)
{
	char *copy, *text;

	if (tally_bad_ptr(b))
		return -EINVAL;
	tally_builder_clear(b, owner);
	if (tally_bad_ptr(line))
		return tally_bad(b, -EINVAL, "no line");
	copy = kstrdup(line, GFP_KERNEL);
	if (!copy)
		return tally_bad(b, -ENOMEM, "out of memory");
	text = tally_name_trim(copy);
	/* A number may end in a line break, and the file spec in debugfs has one line. */
	if (strchr(text, '\n'))
		tally_bad(b, -EINVAL, "a line break in the line");
	else
		parse_line(b, text, more);
	kfree(copy);
	return b->err;
}

int __tally_builder_parse(struct tally_builder *b, const char *line, struct module *owner)
{
	return tally_builder_parse_member(b, line, NULL, owner);
}
EXPORT_SYMBOL_TALLY(__tally_builder_parse);
