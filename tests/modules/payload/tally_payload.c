// SPDX-License-Identifier: GPL-2.0
/*
 * tally_payload: an event whose handlers, of all three kinds, show the last sample that they
 * got, in a file each.
 *
 *	insmod tally_payload.ko line=tally_precise/config=0/ type=0x4008
 *	cat /sys/kernel/debug/tally_payload/direct
 *
 * What is written to the file off switches the event off.
 *
 * With word=kmalloc or word=module the event is a breakpoint on a word of that memory, which
 * the file hit writes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <tally/tally.h>
#include "kernels.h"

static char *line = "";
module_param(line, charp, 0444);
MODULE_PARM_DESC(line, "line of the event");

static char *word;
module_param(word, charp, 0444);
MODULE_PARM_DESC(word, "instead of a line: memory of the word that is watched");

static unsigned long long type;
module_param(type, ullong, 0444);
MODULE_PARM_DESC(type, "sample_type");

static unsigned long long branches;
module_param(branches, ullong, 0444);
MODULE_PARM_DESC(branches, "branch_sample_type; 0: none are asked for");

static unsigned long long period = 1;
module_param(period, ullong, 0444);
MODULE_PARM_DESC(period, "period; 0: the event counts");

static char *handlers = "diw";
module_param(handlers, charp, 0444);
MODULE_PARM_DESC(handlers, "letters of the handlers: direct, interrupt, work");

/* Branches of a sample that are kept. */
#define BRANCHES	2

/**
 * struct seen - the last sample of a handler
 * @calls: number of calls
 * @sample: the sample
 * @payload: its payload; all 0 if it had none
 * @raw: its raw data
 * @branches: the first of its branches
 * @nr_branches: number of all branches
 * @hw_idx: hw_idx of the branches
 * @phys: whether the physical address is that of @sample.addr
 */
struct seen {
	unsigned int calls;
	struct tally_sample sample;
	struct tally_payload payload;
	u8 raw[TALLY_RAW_MOST];
	struct perf_branch_entry branches[BRANCHES];
	u64 nr_branches;
	u64 hw_idx;
	bool phys;
};

enum { DIRECT, INTERRUPT, WORK, KINDS };

static const char *const kinds[KINDS] = { "direct", "interrupt", "work" };
static struct seen seen[KINDS];
static u64 word_of_module;
static u64 *word_of_kmalloc;
static struct tally_event *event;
static struct dentry *dir;

static bool is_phys(u64 addr, u64 phys)
{
	void *at = (void *)(unsigned long)addr;

	return virt_addr_valid(at) && virt_to_phys(at) == phys;
}

static void keep_branches(struct seen *s, const struct perf_branch_stack *br)
{
	s->nr_branches = br->nr;
	s->hw_idx = br->hw_idx;
	memcpy(s->branches, br->entries,
	       min_t(u64, br->nr, BRANCHES) * sizeof(br->entries[0]));
}

static void handle(struct tally_event *ev, const struct tally_sample *sample, void *context)
{
	struct seen *s = context;

	s->sample = *sample;
	if (sample->payload) {
		s->payload = *sample->payload;
		memcpy(s->raw, s->payload.raw, s->payload.raw_size);
		s->phys = is_phys(sample->addr, s->payload.phys_addr);
	}
	if (sample->branches)
		keep_branches(s, sample->branches);
	/* After the sample, for show(). */
	smp_store_release(&s->calls, s->calls + 1);
}

static void show_field(struct seq_file *file, const char *name, bool present, u64 value)
{
	if (present)
		seq_printf(file, "%s %#llx\n", name, value);
	else
		seq_printf(file, "%s absent%s\n", name, value ? ", but not 0" : "");
}

static void show_branches(struct seq_file *file, const struct seen *s)
{
	unsigned int i;

	if (!s->sample.branches) {
		seq_puts(file, "branches absent\n");
		return;
	}
	seq_printf(file, "branches %llu %llu", s->nr_branches, s->hw_idx);
	for (i = 0; i < BRANCHES && i < s->nr_branches; i++)
		seq_printf(file, " %#llx>%#llx", s->branches[i].from, s->branches[i].to);
	seq_putc(file, '\n');
}

static int seen_show(struct seq_file *file, void *unused)
{
	const struct seen *s = file->private;
	const struct tally_payload *p = &s->payload;
	/* The sample is read after this. */
	unsigned int calls = smp_load_acquire(&s->calls);

	seq_printf(file, "calls %u\n", calls);
	if (!calls)
		return 0;
	seq_printf(file, "payload %s\n", s->sample.payload ? "yes" : "no");
	seq_printf(file, "truncated %u\n", !!(s->sample.flags & TALLY_SAMPLE_TRUNCATED));
	show_field(file, "addr", s->sample.flags & TALLY_SAMPLE_ADDR, s->sample.addr);
	show_field(file, "weight", p->present & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT),
		   p->weight);
	show_field(file, "data_src", p->present & PERF_SAMPLE_DATA_SRC, p->data_src);
	show_field(file, "phys_addr", p->present & PERF_SAMPLE_PHYS_ADDR, p->phys_addr);
	seq_printf(file, "phys_is_addr %u\n", s->phys);
	show_field(file, "raw", p->present & PERF_SAMPLE_RAW, p->raw_size);
	seq_printf(file, "raw_full %u\n", p->raw_full);
	seq_printf(file, "bytes %*phN\n", min_t(int, p->raw_size, 64), s->raw);
	show_branches(file, s);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(seen);

/* The raw data alone. */
static ssize_t raw_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	const struct seen *s = file->private_data;

	return simple_read_from_buffer(to, size, pos, s->raw, s->payload.raw_size);
}

static const struct file_operations raw_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = raw_read,
};

static int hit(void *unused, u64 value)
{
	WRITE_ONCE(*word_of_kmalloc, value);
	WRITE_ONCE(word_of_module, value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(hit_fops, NULL, hit, "%llu\n");

static int switch_off(void *unused, u64 value)
{
	tally_event_disable(event);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(off_fops, NULL, switch_off, "%llu\n");

static void describe(struct tally_builder *b)
{
	u64 *at;

	if (!word) {
		tally_builder_parse(b, line);
		return;
	}
	at = strcmp(word, "module") ? word_of_kmalloc : &word_of_module;
	tally_builder_init(b, TALLY_BREAKPOINT((unsigned long)at, HW_BREAKPOINT_LEN_8,
					       HW_BREAKPOINT_W));
}

static void ask(struct tally_builder *b)
{
	if (period)
		tally_builder_period(b, period);
	tally_builder_sample_type(b, type);
	if (branches)
		tally_builder_branches(b, branches);
	if (strchr(handlers, 'd'))
		tally_builder_on_overflow(b, handle, &seen[DIRECT]);
	if (strchr(handlers, 'i'))
		tally_builder_on_overflow_irq(b, handle, &seen[INTERRUPT]);
	if (strchr(handlers, 'w'))
		tally_builder_on_overflow_work(b, handle, &seen[WORK]);
}

static int build(void)
{
	struct tally_builder *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return -ENOMEM;
	describe(b);
	ask(b);
	event = tally_build(b);
	if (IS_ERR(event))
		pr_err("%s (%pe)\n", tally_builder_why(b), event);
	kfree(b);
	return PTR_ERR_OR_ZERO(event);
}

static int __init payload_init(void)
{
	struct dentry *raw;
	int err, i;

	word_of_kmalloc = kzalloc(sizeof(*word_of_kmalloc), GFP_KERNEL);
	if (!word_of_kmalloc)
		return -ENOMEM;
	err = build();
	if (err) {
		kfree(word_of_kmalloc);
		return err;
	}
	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	raw = debugfs_create_dir("raw", dir);
	for (i = 0; i < KINDS; i++) {
		debugfs_create_file(kinds[i], 0400, dir, &seen[i], &seen_fops);
		debugfs_create_file(kinds[i], 0400, raw, &seen[i], &raw_fops);
	}
	debugfs_create_file_unsafe("hit", 0200, dir, NULL, &hit_fops);
	debugfs_create_file_unsafe("off", 0200, dir, NULL, &off_fops);
	return 0;
}
module_init(payload_init);

static void __exit payload_exit(void)
{
	debugfs_remove(dir);
	tally_event_release(event);
	kfree(word_of_kmalloc);
}
module_exit(payload_exit);

MODULE_DESCRIPTION("Samples with a payload for tests of tally");
MODULE_AUTHOR("The tally developers");
MODULE_LICENSE("GPL");
IMPORT_TALLY();
