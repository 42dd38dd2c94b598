// SPDX-License-Identifier: GPL-2.0
/*
 * Events and sets that are made from lines of text, by debugfs, the device and
 * the module's parameter, and enabled, disabled and removed by their names.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <tally/tally.h>
#include "life/life.h"
#include "event/event.h"
#include "event/registry.h"

/* The handler of an event that a line made: its overflows are only counted. */
static void count_only(struct tally_event *ev,
		       const struct tally_sample *sample, void *context)
{
}

/**
 * tally_line_create - make an event or a set from a line of text
 * @line: the line; see tally_builder_parse(), and line_set.c for a set
 * @why: receives a sentence on failure
 * @size: bytes of room in @why
 *
 * The event belongs to tally itself, and is removed by its name.
 *
 * Context: Process context, may sleep.
 * Return: 0, or the error of tally_build() or tally_line_set_create().
 */
int tally_line_create(const char *line, char *why, size_t size)
{
	struct tally_builder b;
	struct tally_event *ev;

	if (*line == '{' || strstarts(line, TALLY_LINE_FUNC))
		return tally_line_set_create(line, why, size);
	tally_builder_parse(&b, line);
	if (b.period || b.freq || b.window_ns)
		tally_builder_on_overflow(&b, count_only, NULL);
	ev = tally_build(&b);
	if (!IS_ERR(ev))
		return 0;
	strscpy(why, b.why, size);
	return PTR_ERR(ev);
}

/**
 * tally_line_remove - remove an event or a set that was made from a line
 * @name: its name
 * @why: receives a sentence on failure
 * @size: bytes of room in @why
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOENT if there is no such event; EPERM if the event is a member of a set, or
 * belongs to an open file, or to another module, which holds a pointer to it; EINTR.
 */
int tally_line_remove(const char *name, char *why, size_t size)
{
	struct tally_entry *entry;
	const char *text;

	entry = tally_registry_remove_line(name, &text);
	strscpy(why, text ?: "", size);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	if (entry->is_set)
		tally_line_set_release(container_of(entry, struct tally_line_set, entry));
	else
		tally_event_destroy(container_of(entry, struct tally_event, entry));
	return 0;
}

static int enable(struct tally_entry *entry, bool on)
{
	struct tally_event *ev = container_of(entry, struct tally_event, entry);
	struct tally_line_set *ls = container_of(entry, struct tally_line_set, entry);

	if (on)
		return entry->is_set ? tally_set_enable(ls->set) : tally_event_enable(ev);
	if (entry->is_set)
		tally_set_disable(ls->set);
	else
		tally_event_disable(ev);
	return 0;
}

/**
 * tally_line_enable - enable or disable an event or a set that was made from a line
 * @name: its name
 * @on: enable it
 * @why: receives a sentence on failure
 * @size: bytes of room in @why
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOENT, EPERM and EINTR as tally_line_remove(); ESRCH and ENODATA
 * as tally_event_enable().
 */
int tally_line_enable(const char *name, bool on, char *why, size_t size)
{
	struct tally_entry *entry;
	const char *text;
	int err;

	entry = tally_registry_hold_line(name, &text);
	err = PTR_ERR_OR_ZERO(entry);
	if (!err) {
		err = enable(entry, on);
		tally_registry_release_line(entry);
	}
	if (err == -ESRCH)
		text = "the task has exited, or the cgroup is removed";
	else if (err == -ENODATA)
		text = "other events have the PMU: a pinned event has no room";
	strscpy(why, text ?: "", size);
	return err;
}

/**
 * tally_line_logged - take a line whose writer has no room for a sentence
 * @line: the line
 * @take: function that takes it
 *
 * If the line is refused, the line, the reason and the errno are written to the log.
 *
 * Context: Process context, may sleep.
 * Return: the result of @take.
 */
int tally_line_logged(const char *line, int (*take)(const char *line, char *why, size_t size))
{
	char why[TALLY_LINE_WHY];
	int err = take(line, why, sizeof(why));

	/* The line and the sentence may have bytes of the writer's choice: they are escaped. */
	if (err)
		pr_err("%s%*pE: %*pE (%pe)\n", take == tally_line_remove ? "remove " : "",
		       (int)min_t(size_t, strlen(line), 128), line, (int)strlen(why), why,
		       ERR_PTR(err));
	return err;
}
