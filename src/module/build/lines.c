// SPDX-License-Identifier: GPL-2.0
/*
 * Events and sets that are made from lines of text, by debugfs and the module's parameter,
 * and removed by their names.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <tally/tally.h>
#include "build/end.h"
#include "build/line_set.h"
#include "build/lines.h"
#include "event/registry.h"

/* The handler of an event that a line made: its overflows are only counted. */
static void count_only(struct tally_event *ev,
		       const struct tally_sample *sample, void *context)
{
}

/**
 * tally_line_create - make an event or a set from a line of text
 * @line: the line; see tally_builder_parse(), and line_set.c for a set
 *
 * The event belongs to tally itself, and is removed by its name. If it cannot be made,
 * the line, the reason and the errno are written to the log.
 *
 * Context: Process context, may sleep.
 * Return: 0, or the error of tally_build() or tally_line_set_create().
 */
int tally_line_create(const char *line)
{
	struct tally_builder b;
	struct tally_event *ev;

	if (*line == '{' || strstarts(line, TALLY_LINE_FUNC))
		return tally_line_set_create(line);
	tally_builder_parse(&b, line);
	if (b.period || b.freq || b.window_ns)
		tally_builder_on_overflow(&b, count_only, NULL);
	ev = tally_build(&b);
	if (!IS_ERR(ev))
		return 0;
	/* Both may have bytes of the writer's choice: they are escaped. */
	pr_err("%*pE: %*pE (%pe)\n", (int)min_t(size_t, strlen(line), 128), line,
	       (int)strlen(b.why), b.why, ev);
	return PTR_ERR(ev);
}

/**
 * tally_line_remove - remove an event or a set that was made from a line
 * @name: its name
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOENT if there is no such event; EPERM if the event is a member of a set, or
 * belongs to an open file, or to another module, which holds a pointer to it.
 */
int tally_line_remove(const char *name)
{
	LIST_HEAD(doomed);
	int err;

	if (tally_line_set_remove(name))
		return 0;
	err = tally_registry_take_line(name, &doomed);
	tally_events_destroy(&doomed);
	return err;
}
