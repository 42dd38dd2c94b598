// SPDX-License-Identifier: GPL-2.0
/*
 * Events that are made from lines of text, by debugfs and the module's parameter,
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
#include "build/lines.h"
#include "event/registry.h"

/* Who writes a line has no function to call: the overflows are counted. */
static void count_only(struct tally_event *ev,
		       const struct tally_sample *sample, void *context)
{
}

/**
 * tally_line_create - an event for whoever wrote a line of text
 * @line: see tally_builder_parse()
 *
 * It belongs to tally itself, and is removed by its name. A failure is told in
 * the log, by the line and the errno.
 *
 * Return: 0, or the error.
 */
int tally_line_create(const char *line)
{
	struct tally_builder b;
	struct tally_event *ev;

	tally_builder_parse(&b, line);
	if (b.period || b.freq)
		tally_builder_on_overflow(&b, count_only, NULL);
	ev = tally_build(&b);
	if (!IS_ERR(ev))
		return 0;
	/* Both may hold what the writer wrote. */
	pr_err("%*pE: %*pE (%pe)\n", (int)min_t(size_t, strlen(line), 128), line,
	       (int)strlen(b.why), b.why, ev);
	return PTR_ERR(ev);
}

/**
 * tally_line_remove - remove an event that was made from a line
 * @name: its name
 *
 * Return: 0; ENOENT if there is none, EPERM if it belongs to another module,
 * which holds a pointer to it, or to an open file.
 */
int tally_line_remove(const char *name)
{
	LIST_HEAD(doomed);
	int err = tally_registry_take_line(name, &doomed);

	tally_events_destroy(&doomed);
	return err;
}
