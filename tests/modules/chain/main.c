// SPDX-License-Identifier: GPL-2.0
/*
 * tally_chain: compares tally's call chains, registers and stacks with those that
 * perf makes at the same overflow, for events of all kinds of context.
 *
 *	insmod tally_chain.ko prepare=ADDRESS reg_value=ADDRESS reg_validate=ADDRESS
 *	echo KIND >/sys/kernel/debug/tally_chain/start	see kinds[]; more than one may run
 *	echo 1 >.../poke			writes to the word of "poke"
 *	echo ADDRESS >.../watch			watches a variable of a program
 *	printf 'uprobe PATH\0' >.../start		probes a function of that program
 *	cat .../report				results, a line per kind
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/hw_breakpoint.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "chain_test.h"

/* Numbers and addresses that only the running kernel has. */
static u32 kprobe_type;
module_param(kprobe_type, uint, 0444);
MODULE_PARM_DESC(kprobe_type, "type of the PMU of kprobes");

static unsigned long kprobe_at;
module_param(kprobe_at, ulong, 0444);
MODULE_PARM_DESC(kprobe_at, "address of a function that read(2) calls");

static unsigned long tracepoint;
module_param(tracepoint, ulong, 0444);
MODULE_PARM_DESC(tracepoint, "number of a tracepoint that all tasks come by");

static u32 uprobe_type;
module_param(uprobe_type, uint, 0444);
MODULE_PARM_DESC(uprobe_type, "type of the PMU of uprobes");

static unsigned long uprobe_at;
module_param(uprobe_at, ulong, 0444);
MODULE_PARM_DESC(uprobe_at, "offset of a function in that program's file");

static u64 poked;

#define SOFTWARE(id, count) .type = PERF_TYPE_SOFTWARE, \
			    .config = PERF_COUNT_SW_##id, .sample_period = count

static struct kind kinds[] = {
	{ "clock", { SOFTWARE(CPU_CLOCK, 200000) } },
	{ "clock-short", { SOFTWARE(CPU_CLOCK, 300000), .sample_max_stack = 5,
			   .sample_stack_user = 65528 } },
	{ "clock-kernel", { SOFTWARE(CPU_CLOCK, 300000),
			    .exclude_callchain_user = 1 } },
	{ "clock-user", { SOFTWARE(CPU_CLOCK, 300000),
			  .exclude_callchain_kernel = 1 } },
	{ "faults", { SOFTWARE(PAGE_FAULTS, 1) } },
	{ "switches", { SOFTWARE(CONTEXT_SWITCHES, 1) } },
	{ "poke", { .type = PERF_TYPE_BREAKPOINT, .sample_period = 1,
		    .bp_type = HW_BREAKPOINT_W, .bp_len = HW_BREAKPOINT_LEN_8 } },
	{ "watch", { .type = PERF_TYPE_BREAKPOINT, .sample_period = 1,
		     .bp_type = HW_BREAKPOINT_W,
		     .bp_len = HW_BREAKPOINT_LEN_4 } },
	{ "tracepoint", { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 } },
	{ "kprobe", { .sample_period = 1 } },
	{ "kretprobe", { .sample_period = 1, .config = 1 } },
	{ "uprobe", { .sample_period = 1 } },
	{ "uretprobe", { .sample_period = 1, .config = 1 } },
	{ "cycles", { .type = PERF_TYPE_HARDWARE, .sample_period = 1000000,
		      .config = PERF_COUNT_HW_CPU_CYCLES } },
};

static void late_attributes(void)
{
	struct kind *kind;

	for (kind = kinds; kind < kinds + ARRAY_SIZE(kinds); kind++) {
		if (!strcmp(kind->name, "poke"))
			kind->attr.bp_addr = (unsigned long)&poked;
		if (!strcmp(kind->name, "tracepoint"))
			kind->attr.config = tracepoint;
		if (strstr(kind->name, "kprobe") || strstr(kind->name, "kretprobe")) {
			kind->attr.type = kprobe_type;
			kind->attr.kprobe_addr = kprobe_at;
		}
		if (strstr(kind->name, "uprobe") || strstr(kind->name, "uretprobe")) {
			kind->attr.type = uprobe_type;
			kind->attr.probe_offset = uprobe_at;
		}
	}
}

static struct kind *find(const char *name)
{
	struct kind *kind;

	for (kind = kinds; kind < kinds + ARRAY_SIZE(kinds); kind++)
		if (!strcmp(kind->name, name))
			return kind;
	return NULL;
}

static ssize_t word(char *text, size_t room, const char __user *buf, size_t size)
{
	if (size >= room)
		return -EINVAL;
	if (copy_from_user(text, buf, size))
		return -EFAULT;
	text[size] = '\0';
	strim(text);
	return size;
}

static ssize_t start_write(struct file *file, const char __user *buf,
			   size_t size, loff_t *pos)
{
	char text[64];
	ssize_t got = word(text, sizeof(text), buf, size);
	struct kind *kind;
	size_t path;
	int err;

	if (got < 0)
		return got;
	path = strcspn(text, " ") + 1;
	text[path - 1] = '\0';
	kind = find(text);
	if (!kind || kind->events)
		return -EINVAL;
	/* perf reads the path from user memory, up to a zero byte. */
	if (kind->attr.type == uprobe_type)
		kind->attr.uprobe_path = (unsigned long)buf + path;
	err = kind_start(kind);
	return err ?: got;
}

static ssize_t watch_write(struct file *file, const char __user *buf,
			   size_t size, loff_t *pos)
{
	struct kind *kind = find("watch");
	char text[32];
	ssize_t got = word(text, sizeof(text), buf, size);
	int err;

	if (got < 0 || kstrtou64(text, 0, &kind->attr.bp_addr))
		return -EINVAL;
	if (kind->events)
		return got;
	err = kind_start(kind);
	return err ?: got;
}

static noinline void poke_inner(void)
{
	WRITE_ONCE(poked, poked + 1);
	barrier();
}

static noinline void poke_outer(void)
{
	poke_inner();
	barrier();
}

static ssize_t poke_write(struct file *file, const char __user *buf, size_t size,
			  loff_t *pos)
{
	poke_outer();
	tally_chain_leaf(2000000);
	return size;
}

static int report_show(struct seq_file *m, void *unused)
{
	unsigned int i;

	seq_printf(m, "masks %s\n", masks_agree() ? "agree" : "differ");
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		kind_show(m, &kinds[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(report);

#define WRITER(name)						\
static const struct file_operations name##_fops = {		\
	.owner = THIS_MODULE, .open = simple_open, .write = name##_write, \
}

WRITER(start);
WRITER(watch);
WRITER(poke);

static struct dentry *dir;

static int __init chain_init(void)
{
	tally_chain_init();
	late_attributes();
	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("start", 0200, dir, NULL, &start_fops);
	debugfs_create_file("watch", 0200, dir, NULL, &watch_fops);
	debugfs_create_file("poke", 0200, dir, NULL, &poke_fops);
	debugfs_create_file("report", 0400, dir, NULL, &report_fops);
	return 0;
}
module_init(chain_init);

static void __exit chain_exit(void)
{
	unsigned int i;

	debugfs_remove_recursive(dir);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].events)
			kind_stop(&kinds[i]);
}
module_exit(chain_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test of tally's call chains and registers against perf's");
