// SPDX-License-Identifier: GPL-2.0
/*
 * The lines that make an event or a set again, and the targets in them.
 */
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "base/cgroup.h"
#include "build/line_set.h"
#include "builder/builder.h"
#include "builder/name.h"
#include "debugfs/spec.h"
#include "event/event.h"
#include "read/windows.h"

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
static void show_budget(struct seq_file *m, const struct tally_windows *w)
{
	const struct tally_time_unit *unit = tally_time_units;
	u64 ns = tally_windows_length(w), rest;

	for (; div64_u64_rem(ns, unit->ns, &rest), rest; unit++)
		;
	seq_printf(m, "budget=%llu/%llu%s ", w->most, div64_u64(ns, unit->ns), unit->name);
}

/*
 * Modifiers name what is left. If that is nothing, only this option says so, which stands for all
 * of them.
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

/* Shows the other options of the line, with a blank behind each. */
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
	else if (ev->windows)
		show_budget(m, ev->windows);
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
	/* An event with enable_on_exec was built disabled, or it would not wait. */
	if (!READ_ONCE(ev->on) || c->attr.enable_on_exec)
		seq_puts(m, "disabled ");
}

/**
 * tally_spec_show - show the line that makes an event again
 * @m: receives the line
 * @ev: the event
 *
 * Context: Process context, may sleep.
 * Return: 0.
 */
int tally_spec_show(struct seq_file *m, struct tally_event *ev)
{
	char what[TALLY_EVENT_LEN];

	tally_event_what(ev, what, sizeof(what));
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
 * @set: its members
 *
 * Context: Process context, may sleep.
 */
void tally_spec_show_set(struct seq_file *m, struct tally_line_set *ls, struct tally_set *set)
{
	seq_printf(m, "%s ", ls->what);
	show_options(m, tally_set_event(set, 0));
	seq_printf(m, "name=%s\n", ls->folder.name);
}
