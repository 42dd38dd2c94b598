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
 *	cpu state count enabled_ns running_ns late_ns
 *	0 active 3000 1500123456 1500123456 0
 *	1 active 1711 1500123456 1500123456 0
 *	# echo faults > remove
 *
 * event.c has the files of an event, set.c those of a set, pmus.c those of a PMU.
 *
 * events: name, target, state, count, scaled count, share of the time on the PMU; on all
 *	CPUs also how many CPUs count, of those that are online. A PMU may serve some CPUs
 *	only, or count on one of them for others.
 * A '-' stands for a number that means nothing: the count of an event in error,
 * the scaled count of an event that never ran, and all numbers of an event that
 * cannot be read within some milliseconds: a program can keep perf from the
 * events of its own tasks for any time.
 *
 * Files that are read have mode 0444, no ioctl and no mmap: under lockdown,
 * only such files can be opened. Lockdown refuses create and remove.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "base/trick.h"
#include "life/life.h"
#include "counter/counter.h"
#include "debugfs/debugfs.h"
#include "event/event.h"
#include "builder/builder.h"
#include "builder/name.h"
#include "event/overflow.h"
#include "event/registry.h"
#include "set/read.h"

static struct dentry *root;

static void show_target(struct seq_file *m, const struct tally_counter *c)
{
	const struct tally_target *t = &c->target;

	tally_debugfs_show_pid(m, c);
	if (t->task && t->cpu >= 0)
		seq_putc(m, ',');
	tally_debugfs_show_cgroup(m, t, ',');
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
	u64 estimate;
	bool read = !tally_event_try_read(ev, false, &count, &estimate);

	seq_printf(m, "%s ", ev->name);
	show_target(m, ev->counter);
	seq_printf(m, " %s ", tally_state_name(count.state));
	if (!read) {
		seq_puts(m, "- - -\n");
		return;
	}
	if (count.state == TALLY_STATE_ERROR)
		seq_puts(m, "- ");
	else
		seq_printf(m, "%llu ", count.value);
	if (count.state == TALLY_STATE_ERROR || !count.running_ns)
		seq_puts(m, "- ");
	else
		seq_printf(m, "%llu ", estimate);
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

/* The position is the id of an event, which is held. */
static void *events_start(struct seq_file *m, loff_t *pos)
{
	struct tally_event *ev = tally_registry_hold(*pos);

	if (ev)
		*pos = ev->id;
	return ev;
}

static void *events_next(struct seq_file *m, void *v, loff_t *pos)
{
	tally_registry_put(v);
	++*pos;
	return events_start(m, pos);
}

static void events_stop(struct seq_file *m, void *v)
{
	if (v)
		tally_registry_put(v);
}

static int events_show(struct seq_file *m, void *v)
{
	show_event(m, v);
	return 0;
}

static const struct seq_operations events_sops = {
	.start = events_start,
	.next = events_next,
	.stop = events_stop,
	.show = events_show,
};
DEFINE_SEQ_ATTRIBUTE(events);

static int stats_show(struct seq_file *m, void *v)
{
	struct tally_overflow_stats overflows;
	struct tally_counter_stats stats;

	tally_counter_stats(&stats);
	tally_overflow_stats_all(&overflows);
	seq_printf(m, "events %lu\n", tally_registry_count());
	seq_printf(m, "counters %lu\n", stats.counters);
	seq_printf(m, "perf_events %lu\n", stats.perf_events);
	seq_printf(m, "hotplug_repairs %lu\n", stats.repairs);
	seq_printf(m, "hotplug_errors %lu\n", stats.repair_errors);
	seq_printf(m, "overflows %llu\n", overflows.overflows);
	seq_printf(m, "skipped %llu\n", overflows.skipped);
	seq_printf(m, "missed %llu\n", overflows.missed);
	seq_printf(m, "lost %llu\n", overflows.lost);
	seq_printf(m, "throttled %llu\n", overflows.throttled);
	seq_printf(m, "handler_ns %llu\n", overflows.handler_ns);
	seq_printf(m, "handler_max_ns %llu\n", overflows.handler_max_ns);
	seq_printf(m, "guest %llu\n", overflows.guest);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int tricks_show(struct seq_file *m, void *v)
{
	tally_tricks_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(tricks);

/*
 * Takes one line of what was written, so that each line has its own result. The
 * write returns the length of that line, and the writer writes the rest again.
 */
static ssize_t parse_line(const char __user *from, size_t size,
			  int (*take)(const char *line, char *why, size_t size))
{
	size_t len = min_t(size_t, size, TALLY_LINE_LEN);
	char *text, *line, *end;
	ssize_t ret;

	text = memdup_user_nul(from, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	end = memchr(text, '\n', len);
	if (end) {
		*end = '\0';
		len = end - text + 1;
	} else if (size >= TALLY_LINE_LEN) {
		pr_err("a line has at most %d characters\n", TALLY_LINE_LEN - 1);
		ret = -E2BIG;
		goto out;
	}
	if (strlen(text) < len - !!end) {
		pr_err("a line has no NUL inside\n");
		ret = -EINVAL;
		goto out;
	}
	line = tally_name_trim(text);
	if (!*line)
		pr_err("an empty line\n");
	ret = *line ? tally_line_logged(line, take) : -EINVAL;
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

/* The private data of the file is the function that takes its lines. */
static ssize_t lines_write(struct file *file, const char __user *from,
			   size_t size, loff_t *pos)
{
	int err = may_write(file);

	return err ?: parse_line(from, size, file->private_data);
}

static const struct file_operations lines_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = lines_write,
	.llseek = noop_llseek,
};

static int add_event(struct tally_event *ev)
{
	const char *slash = strchr(ev->name, '/');
	char set[TALLY_NAME_LEN];
	struct dentry *parent;
	int err;

	if (!slash)
		return tally_debugfs_add_event(ev, root);
	strscpy(set, ev->name, slash - ev->name + 1);
	parent = debugfs_lookup(set, root);
	if (!parent)
		return -ENOENT;
	err = tally_debugfs_add_event(ev, parent);
	dput(parent);
	return err;
}

static int add_set(struct tally_line_set *set)
{
	set->dir = debugfs_create_dir(set->name, root);
	return PTR_ERR_OR_ZERO(set->dir);
}

static const struct tally_folder_ops folder_ops = {
	.add = add_event,
	.add_set = add_set,
	.fill_set = tally_debugfs_fill_set,
};

/* Makes the folder, if it is @wanted. Returns whether it is there. */
bool tally_debugfs_init(bool wanted)
{
	if (!wanted) {
		root = ERR_PTR(-ENODEV);
		return false;
	}
	root = debugfs_create_dir("tally", NULL);
	if (IS_ERR(root)) {
		pr_info("no folder in debugfs (%pe): /dev/tally and modules still have events\n",
			root);
		return false;
	}
	/* This comes before the file create, by which events are made. */
	tally_folders_init(&folder_ops);
	debugfs_create_file("events", 0444, root, NULL, &events_fops);
	debugfs_create_file("stats", 0444, root, NULL, &stats_fops);
	debugfs_create_file("tricks", 0444, root, NULL, &tricks_fops);
	debugfs_create_file("create", 0200, root, tally_line_create, &lines_fops);
	debugfs_create_file("remove", 0200, root, tally_line_remove, &lines_fops);
	tally_debugfs_add_pmus(root);
	return true;
}

void tally_debugfs_exit(void)
{
	tally_debugfs_remove_pmus();
	debugfs_remove(root);
}
