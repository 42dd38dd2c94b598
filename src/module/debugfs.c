// SPDX-License-Identifier: GPL-2.0
/*
 * The files in debugfs:
 *
 *	# cd /sys/kernel/debug/tally
 *	# echo 'page-faults:u cpu=all name=faults' > create
 *	# cat events
 *	faults cpu=all active 4711 4711 100.00% 2 of 2
 *	# cat faults/count
 *	4711
 *	# cat faults/per_cpu
 *	0 active 3000 1500123456 1500123456
 *	1 active 1711 1500123456 1500123456
 *	# echo faults > remove
 *
 * Where the PMU says so, the file value has the count as perf stat prints it: with the PMU's
 * scale and unit, or the last value of a gauge.
 *
 * The folder of an event with a period also has files for the number of overflows, those
 * that its handlers skipped or missed, lost records, the times that it was throttled, and
 * the nanoseconds in its handlers: of all calls, and of the longest one.
 *
 * events: name, target, state, count, scaled count, share of the time on the PMU; on all
 *	CPUs also how many CPUs count, of those that are online. A PMU may serve some CPUs
 *	only, or count on one of them for others.
 * per_cpu: CPU, state, count, nanoseconds enabled and running.
 * A '-' stands for a number that means nothing: the count of an event in error, and the
 * scaled count of an event that never ran.
 *
 * Files that are read have mode 0444, no ioctl and no mmap: under lockdown, only such
 * files can be opened. Lockdown refuses create and remove.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "base/alias.h"
#include "base/count.h"
#include "build/end.h"
#include "build/lines.h"
#include "counter/cpus.h"
#include "debugfs.h"
#include "event/event.h"
#include "builder/name.h"
#include "builder/rights.h"
#include "event/overflow.h"
#include "event/registry.h"
#include "read/read.h"

/* Bytes of the longest line that can be written: an event, a name and all options. */
#define LINE_LEN 1024

static struct dentry *root;

static void show_target(struct seq_file *m, const struct tally_counter *c)
{
	const struct tally_target *t = &c->target;

	if (t->task)
		seq_printf(m, "pid=%d", task_pid_nr(t->task));
	if (t->task && t->cpu >= 0)
		seq_putc(m, ',');
	if (t->cpu >= 0)
		seq_printf(m, "cpu=%d", t->cpu);
	if (!t->task && t->cpu < 0)
		seq_puts(m, "cpu=all");
}

static void show_event(struct seq_file *m, struct tally_event *ev)
{
	struct tally_count count;
	unsigned int served, online;
	u32 ratio = 0;	/* hundredths of a per cent */

	tally_event_read_all(ev, &count);
	seq_printf(m, "%s ", ev->name);
	show_target(m, ev->counter);
	seq_printf(m, " %s ", tally_state_name(count.state));
	if (count.state == TALLY_STATE_ERROR)
		seq_puts(m, "- ");
	else
		seq_printf(m, "%llu ", count.value);
	if (count.state == TALLY_STATE_ERROR || !count.running_ns)
		seq_puts(m, "- ");
	else
		seq_printf(m, "%llu ", tally_count_scaled(&count));
	if (count.running_ns >= count.enabled_ns && count.running_ns)
		ratio = 10000;
	else if (count.enabled_ns)
		ratio = mul_u64_u64_div_u64(count.running_ns, 10000,
					    count.enabled_ns);
	seq_printf(m, "%u.%02u%%", ratio / 100, ratio % 100);
	if (tally_counter_on_all_cpus(ev->counter)) {
		served = tally_counter_served(ev->counter, &online);
		seq_printf(m, " %u of %u", served, online);
	}
	seq_putc(m, '\n');
}

static int events_show(struct seq_file *m, void *v)
{
	show_event(m, tally_registry_entry(v));
	return 0;
}

static const struct seq_operations events_sops = {
	.start = tally_registry_start,
	.next = tally_registry_next,
	.stop = tally_registry_stop,
	.show = events_show,
};
DEFINE_SEQ_ATTRIBUTE(events);

static int stats_show(struct seq_file *m, void *v)
{
	struct tally_overflow_stats overflows;
	struct tally_cpus_stats stats;

	tally_cpus_stats(&stats);
	tally_overflow_stats_all(&overflows);
	seq_printf(m, "events %lu\n", tally_registry_count());
	seq_printf(m, "counters %lu\n", stats.counters);
	seq_printf(m, "perf_events %lu\n", stats.slots.perf_events);
	seq_printf(m, "hotplug_repairs %lu\n", stats.slots.repairs);
	seq_printf(m, "hotplug_errors %lu\n", stats.slots.repair_errors);
	seq_printf(m, "overflows %llu\n", overflows.overflows);
	seq_printf(m, "skipped %llu\n", overflows.skipped);
	seq_printf(m, "missed %llu\n", overflows.missed);
	seq_printf(m, "lost %llu\n", overflows.lost);
	seq_printf(m, "throttled %llu\n", overflows.throttled);
	seq_printf(m, "handler_ns %llu\n", overflows.handler_ns);
	seq_printf(m, "handler_max_ns %llu\n", overflows.handler_max_ns);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

/*
 * Takes one line of what was written, so that each line has its own result. The write
 * returns the length of that line, and the writer writes the rest again.
 */
static ssize_t take_line(const char __user *from, size_t size,
			 int (*take)(const char *line))
{
	size_t len = min_t(size_t, size, LINE_LEN);
	char *text, *line, *end;
	ssize_t ret;

	text = memdup_user_nul(from, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	end = memchr(text, '\n', len);
	if (end) {
		*end = '\0';
		len = end - text + 1;
	} else if (size > LINE_LEN) {
		pr_err("a line has at most %d characters\n", LINE_LEN);
		ret = -E2BIG;
		goto out;
	}
	if (strlen(text) < len - !!end) {
		pr_err("a line has no NUL inside\n");
		ret = -EINVAL;
		goto out;
	}
	line = strim(text);
	if (!*line)
		pr_err("an empty line\n");
	ret = *line ? take(line) : -EINVAL;
out:
	kfree(text);
	return ret ?: len;
}

/*
 * Checks the writer, and who opened the file: a descriptor may be handed to a program
 * with more rights. The file may also have been opened before the kernel was locked down.
 */
static int may_write(struct file *file)
{
	if (!tally_perfmon_capable() || !tally_perfmon_opened(file))
		return -EACCES;
	return security_locked_down(LOCKDOWN_DEBUGFS);
}

static ssize_t create_write(struct file *file, const char __user *from,
			    size_t size, loff_t *pos)
{
	int err = may_write(file);

	return err ?: take_line(from, size, tally_line_create);
}

static ssize_t remove_write(struct file *file, const char __user *from,
			    size_t size, loff_t *pos)
{
	int err = may_write(file);

	return err ?: take_line(from, size, tally_line_remove);
}

static const struct file_operations create_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = create_write,
	.llseek = noop_llseek,
};

static const struct file_operations remove_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = remove_write,
	.llseek = noop_llseek,
};

static int count_show(struct seq_file *m, void *v)
{
	struct tally_count count;
	int err = tally_event_read(m->private, &count);

	if (err)
		return err;
	seq_printf(m, "%llu\n", count.value);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(count);

/* Only events that their PMU describes have this file. */
static int value_show(struct seq_file *m, void *v)
{
	struct tally_event *ev = m->private;
	char text[TALLY_DECIMAL_LEN];
	struct tally_alias alias;
	struct tally_count count;
	u64 value;
	int err;

	err = tally_alias_find(&ev->attr, &alias) ?: tally_event_read(ev, &count);
	if (err)
		return err;
	value = alias.snapshot ? tally_event_read_gauge(ev) : tally_count_scaled(&count);
	err = tally_count_decimal(value, alias.scale[0] ? alias.scale : "1", text, sizeof(text));
	if (err)
		return err;
	seq_puts(m, text);
	if (alias.unit[0])
		seq_printf(m, " %s", alias.unit);
	seq_putc(m, '\n');
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(value);

static int enabled_ns_show(struct seq_file *m, void *v)
{
	struct tally_count count;

	tally_event_read_all(m->private, &count);
	seq_printf(m, "%llu\n", count.enabled_ns);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(enabled_ns);

static int running_ns_show(struct seq_file *m, void *v)
{
	struct tally_count count;

	tally_event_read_all(m->private, &count);
	seq_printf(m, "%llu\n", count.running_ns);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(running_ns);

static int state_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%s\n", tally_state_name(tally_event_state(m->private)));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static void show_slot(struct seq_file *m, struct tally_event *ev,
		      unsigned int slot)
{
	const struct tally_counter *c = ev->counter;
	struct tally_count count;

	if (tally_event_read_slot(ev, slot, &count))
		return;
	if (tally_counter_on_all_cpus(c))
		seq_printf(m, "%u ", slot);
	else if (c->target.cpu >= 0)
		seq_printf(m, "%d ", c->target.cpu);
	else
		seq_puts(m, "any ");
	seq_printf(m, "%s ", tally_state_name(count.state));
	if (count.state == TALLY_STATE_ERROR)
		seq_puts(m, "-");
	else
		seq_printf(m, "%llu", count.value);
	seq_printf(m, " %llu %llu\n", count.enabled_ns, count.running_ns);
}

static int per_cpu_show(struct seq_file *m, void *v)
{
	struct tally_event *ev = m->private;
	unsigned int i;

	for (i = 0; i < ev->counter->nr_slots; i++)
		show_slot(m, ev, i);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(per_cpu);

static int spec_show(struct seq_file *m, void *v)
{
	struct tally_event *ev = m->private;
	const struct tally_counter *c = ev->counter;
	char what[TALLY_EVENT_LEN];

	tally_event_what(ev, what, sizeof(what));
	seq_printf(m, "%s ", what);
	if (c->target.task)
		seq_printf(m, "pid=%d ", task_pid_nr(c->target.task));
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
	seq_printf(m, "name=%s\n", ev->name);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(spec);

/* Shows the member at @offset of an event's overflow statistics. */
static int show_overflows(struct seq_file *m, size_t offset)
{
	struct tally_overflow_stats stats;

	tally_event_overflow_stats(m->private, &stats);
	seq_printf(m, "%llu\n", *(u64 *)((char *)&stats + offset));
	return 0;
}

static int overflows_show(struct seq_file *m, void *v)
{
	return show_overflows(m, offsetof(struct tally_overflow_stats, overflows));
}
DEFINE_SHOW_ATTRIBUTE(overflows);

static int skipped_show(struct seq_file *m, void *v)
{
	return show_overflows(m, offsetof(struct tally_overflow_stats, skipped));
}
DEFINE_SHOW_ATTRIBUTE(skipped);

static int missed_show(struct seq_file *m, void *v)
{
	return show_overflows(m, offsetof(struct tally_overflow_stats, missed));
}
DEFINE_SHOW_ATTRIBUTE(missed);

static int lost_show(struct seq_file *m, void *v)
{
	return show_overflows(m, offsetof(struct tally_overflow_stats, lost));
}
DEFINE_SHOW_ATTRIBUTE(lost);

static int throttled_show(struct seq_file *m, void *v)
{
	return show_overflows(m, offsetof(struct tally_overflow_stats, throttled));
}
DEFINE_SHOW_ATTRIBUTE(throttled);

static int handler_ns_show(struct seq_file *m, void *v)
{
	return show_overflows(m, offsetof(struct tally_overflow_stats, handler_ns));
}
DEFINE_SHOW_ATTRIBUTE(handler_ns);

static int handler_max_ns_show(struct seq_file *m, void *v)
{
	return show_overflows(m, offsetof(struct tally_overflow_stats, handler_max_ns));
}
DEFINE_SHOW_ATTRIBUTE(handler_max_ns);

/* Whether the PMU says how the event's count is to be shown. */
static bool is_described(const struct tally_event *ev)
{
	struct tally_alias alias;

	return ev->attr.type >= PERF_TYPE_MAX && !tally_alias_find(&ev->attr, &alias) &&
	       (alias.scale[0] || alias.unit[0] || alias.snapshot);
}

static bool has_overflows(const struct tally_event *ev)
{
	return ev->overflow;
}

/* Gives an event its folder. Returns 0; or an error, with no part of the folder left. */
static int add_event(struct tally_event *ev)
{
	static const struct {
		const char *name;
		const struct file_operations *fops;
		bool (*wanted)(const struct tally_event *ev);
	} files[] = {
		{ "count", &count_fops },
		{ "value", &value_fops, is_described },
		{ "enabled_ns", &enabled_ns_fops },
		{ "running_ns", &running_ns_fops },
		{ "state", &state_fops },
		{ "per_cpu", &per_cpu_fops },
		{ "spec", &spec_fops },
		{ "overflows", &overflows_fops, has_overflows },
		{ "skipped", &skipped_fops, has_overflows },
		{ "missed", &missed_fops, has_overflows },
		{ "lost", &lost_fops, has_overflows },
		{ "throttled", &throttled_fops, has_overflows },
		{ "handler_ns", &handler_ns_fops, has_overflows },
		{ "handler_max_ns", &handler_max_ns_fops, has_overflows },
	};
	struct dentry *file;
	size_t i;

	ev->dir = debugfs_create_dir(ev->name, root);
	if (IS_ERR(ev->dir))
		return PTR_ERR(ev->dir);
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		if (files[i].wanted && !files[i].wanted(ev))
			continue;
		file = debugfs_create_file(files[i].name, 0444, ev->dir, ev,
					   files[i].fops);
		if (IS_ERR(file)) {
			debugfs_remove(ev->dir);
			ev->dir = NULL;
			return PTR_ERR(file);
		}
	}
	return 0;
}

/* Removes the folder of an event, and waits until nobody reads its files. */
static void remove_event(struct tally_event *ev)
{
	debugfs_remove(ev->dir);
}

static const struct tally_folder_ops folder_ops = {
	.add = add_event,
	.remove = remove_event,
};

bool tally_debugfs_init(bool wanted)
{
	if (!wanted) {
		root = ERR_PTR(-ENODEV);
		return false;
	}
	root = debugfs_create_dir("tally", NULL);
	if (IS_ERR(root)) {
		pr_info("no debugfs (%pe): events are read by other modules only\n",
			root);
		return false;
	}
	/* Before the file by which events are made. */
	tally_folders_init(&folder_ops);
	debugfs_create_file("events", 0444, root, NULL, &events_fops);
	debugfs_create_file("stats", 0444, root, NULL, &stats_fops);
	debugfs_create_file("create", 0200, root, NULL, &create_fops);
	debugfs_create_file("remove", 0200, root, NULL, &remove_fops);
	return true;
}

void tally_debugfs_exit(void)
{
	debugfs_remove(root);
}
