// SPDX-License-Identifier: GPL-2.0
/*
 * The lines that make an event or a set again, and the targets in them.
 *
 * The line of an event makes the same event; if no line does, the read returns
 * EOPNOTSUPP. The option "require" is a condition of the moment, and not part
 * of an event. A task that the reader's PID namespace does not know, or no
 * longer knows, is "pid=?", which tally refuses in a line.
 */
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "base/cgroup.h"
#include "life/life.h"
#include "builder/builder.h"
#include "builder/name.h"
#include "compat.h"
#include "debugfs/debugfs.h"
#include "event/event.h"
#include "set/budget.h"

/* Shows the task, if there is one, as the reader's PID namespace knows it. */
void tally_debugfs_show_pid(struct seq_file *m, const struct tally_counter *c)
{
	pid_t pid = c->target.task ? tally_counter_pid(c) : 0;

	if (pid)
		seq_printf(m, "pid=%d", pid);
	else if (c->target.task)
		seq_puts(m, "pid=?");
}

/* Shows the cgroup, if there is one, with @end behind it. */
void tally_debugfs_show_cgroup(struct seq_file *m, const struct tally_target *t, char end)
{
	char *path = t->css ? tally_cgroup_path(t->css) : NULL;

	if (!t->css)
		return;
	seq_puts(m, "cgroup=");
	if (path)
		seq_escape_mem(m, path, strlen(path), TALLY_CGROUP_ESCAPES,
			       TALLY_CGROUP_ESCAPED);
	else
		seq_putc(m, '?');
	seq_putc(m, end);
	kfree(path);
}

/* Shows a budget as a line has it, in the longest unit that gives a whole number. */
static void show_budget(struct seq_file *m, const struct tally_budget *b)
{
	const struct tally_time_unit *unit = tally_time_units;
	u64 ns = b->window_ns, rest;

	for (; div64_u64_rem(ns, unit->ns, &rest), rest; unit++)
		;
	seq_printf(m, "budget=%llu/%llu%s ", b->max, div64_u64(ns, unit->ns), unit->name);
}

/*
 * Modifiers name the levels that are counted. If there is none, only the option
 * exclude= says so: it names all levels that are not counted.
 */
static void show_exclude(struct seq_file *m, const struct perf_event_attr *attr)
{
	const struct {
		bool excluded;
		const char *name;
	} levels[] = {
		{ attr->exclude_user, "user" },
		{ attr->exclude_kernel, "kernel" },
		{ attr->exclude_hv, "hv" },
		{ attr->exclude_idle, "idle" },
		{ attr->exclude_host, "host" },
		{ attr->exclude_guest, "guest" },
	};
	const char *separator = "exclude=";
	unsigned int i;

	if (!(attr->exclude_user && attr->exclude_kernel && attr->exclude_hv) &&
	    !(attr->exclude_host && attr->exclude_guest))
		return;
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		if (!levels[i].excluded)
			continue;
		seq_printf(m, "%s%s", separator, levels[i].name);
		separator = ",";
	}
	seq_putc(m, ' ');
}

/* Shows all options but exclude= and name=, with a blank behind each. */
static void show_options(struct seq_file *m, struct tally_event *ev)
{
	const struct tally_counter *c = ev->counter;

	tally_debugfs_show_pid(m, c);
	if (c->target.task)
		seq_putc(m, ' ');
	tally_debugfs_show_cgroup(m, &c->target, ' ');
	if (c->target.cpu >= 0)
		seq_printf(m, "cpu=%d ", c->target.cpu);
	else if (!c->target.task)
		seq_puts(m, "cpu=all ");
	if (c->attr.inherit)
		seq_puts(m, "inherit ");
	if (c->attr.inherit_thread)
		seq_puts(m, "inherit_thread ");
	if (ev->hz)
		seq_printf(m, "freq=%llu ", ev->hz);
	else if (ev->budget)
		show_budget(m, ev->budget);
	else if (ev->attr.sample_period)
		seq_printf(m, "%s=%llu ", ev->attr.freq ? "freq" : "period",
			   ev->attr.sample_period);
	if (ev->max_rate)
		seq_printf(m, "max_rate=%u ",
			   ev->max_rate == TALLY_RATE_UNLIMITED ? 0 :
								  ev->max_rate);
	if (c->attr.enable_on_exec)
		seq_puts(m, "enable_on_exec ");
	if (c->attr.remove_on_exec)
		seq_puts(m, "remove_on_exec ");
	if (c->attr.sigtrap)
		seq_puts(m, "sigtrap ");
	/* An event that waits for exec() was built disabled. */
	if (!READ_ONCE(ev->on) || c->attr.enable_on_exec)
		seq_puts(m, "disabled ");
}

static bool is_extended(const struct perf_event_attr *attr)
{
	return attr->config1 || attr->config2 || tally_attr_config3(attr);
}

/*
 * Returns whether a line can say all that the event was built with. Programs and modules may ask
 * for more: handlers, rings, filters, records, and settings that a line is refused.
 */
static bool has_line(const struct tally_event *ev)
{
	const struct perf_event_attr *attr = &ev->attr;

	/* The events of lines have a handler, too, which does nothing. */
	if (ev->overflow)
		return !ev->of_file && ev->owner == THIS_MODULE;
	if (!tally_attr_is_plain(attr) || READ_ONCE(ev->filter) || READ_ONCE(ev->output) ||
	    (ev->of_file && tally_levels_why(attr, "", NULL, true)))
		return false;
	if (attr->type == PERF_TYPE_BREAKPOINT)
		return !attr->config && !tally_attr_config3(attr);
	/* A line has a raw event for all kinds of cores only as rCODE, without other terms. */
	if (attr->type == PERF_TYPE_RAW && is_extended(attr) && !ev->counter->target.one_kind)
		return false;
	return !attr->bp_type;
}

/* Writes what is counted. A raw event of one kind of cores is written by number: 4/config=N/. */
static void write_what(const struct tally_event *ev, char *buf, size_t size)
{
	const struct perf_event_attr *attr = &ev->attr;
	const char *given = ev->given;
	char raw[32];

	if (attr->type == PERF_TYPE_RAW && ev->counter->target.one_kind && !*given &&
	    !is_extended(attr)) {
		snprintf(raw, sizeof(raw), "%u/config=0x%llx/", attr->type, attr->config);
		given = raw;
	}
	tally_name_format(attr, given, buf, size);
}

/**
 * tally_spec_show - show the line that makes an event again
 * @m: receives the line
 * @ev: the event
 *
 * Context: Process context, may sleep.
 * Return: 0; EOPNOTSUPP, with nothing shown, if no line makes the same event.
 */
int tally_spec_show(struct seq_file *m, struct tally_event *ev)
{
	char what[TALLY_EVENT_LEN];

	if (!has_line(ev))
		return -EOPNOTSUPP;
	write_what(ev, what, sizeof(what));
	seq_printf(m, "%s ", what);
	show_exclude(m, &ev->attr);
	show_options(m, ev);
	seq_printf(m, "name=%s\n", kbasename(ev->name));
	return 0;
}

/**
 * tally_spec_show_set - show the line that makes a set again
 * @m: receives the line
 * @ls: the set
 *
 * Context: Process context, may sleep.
 */
void tally_spec_show_set(struct seq_file *m, struct tally_line_set *ls)
{
	seq_printf(m, "%s ", ls->what);
	show_options(m, tally_set_event(ls->set, 0));
	seq_printf(m, "name=%s\n", ls->name);
}
