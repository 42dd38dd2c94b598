// SPDX-License-Identifier: GPL-2.0
/*
 * tally_reads: reads its events in all contexts. The process that loads it stays on
 * CPU 0.
 *
 *	insmod tally_reads.ko [pmu=1] [nmi=1] [register=1] [reads=N]
 *	cat /sys/kernel/debug/tally_reads/results	TAP
 *	insmod tally_reads.ko mode=hotplug		reads until it is unloaded
 *	insmod tally_reads.ko mode=refused		asks for a set that cannot be
 *	insmod tally_reads.ko mode=once		has a set, or fails
 *	exec 3<.../tally_reads/chunk; read failed <&3	1,000 reads
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#ifdef CONFIG_X86
#include <asm/ibt.h>
#endif
#include "reads.h"
#include "kernels.h"

struct tap tap;

bool has_pmu;
module_param_named(pmu, has_pmu, bool, 0444);
MODULE_PARM_DESC(pmu, "There is a PMU, with cycles and instructions");

bool has_nmi;
module_param_named(nmi, has_nmi, bool, 0444);
MODULE_PARM_DESC(nmi, "The PMU interrupts by NMI");

static bool has_register;
module_param_named(register, has_register, bool, 0444);
MODULE_PARM_DESC(register, "The registers of the PMU can be read");

static char *mode = "";
module_param(mode, charp, 0444);
MODULE_PARM_DESC(mode, "hotplug: read until unloaded, and tell the log; refused; once");

static unsigned long reads = 1000000;
module_param(reads, ulong, 0444);
MODULE_PARM_DESC(reads, "How often to read what is published (1000000)");

/*
 * The probe is behind the function's beginning. A probe at the beginning would use
 * ftrace, which writes an int3 for a moment when it patches the code. An emulated CPU
 * may run that int3 after it is gone, which kprobes on ftrace do not survive.
 */
#if defined(CONFIG_X86) && defined(CONFIG_DYNAMIC_FTRACE)
#define BEGINNING	(ENDBR_INSN_SIZE + MCOUNT_INSN_SIZE)
#else
#define BEGINNING	0
#endif

noinline void step(void)
{
	asm volatile("nop");
}

void steps(unsigned int n)
{
	while (n--)
		step();
}

void *step_point(void)
{
	char *function = (char *)step;

	/* Without this, objtool takes the sum for the address of a function. */
	OPTIMIZER_HIDE_VAR(function);
	return function + BEGINNING;
}

const char *target_name(int target)
{
	static const char *const names[] = { "a CPU", "all CPUs", "a task" };

	return names[target];
}

void on_target(struct tally_builder *b, int target)
{
	if (target == ON_CPU)
		tally_builder_on_cpu(b, 0);
	else if (target == ON_ALL)
		tally_builder_on_all_cpus(b);
	else
		tally_builder_on_task(b, current);
}

struct tally_event *build(struct tally_builder *b, const char *what)
{
	struct tally_event *ev = tally_build(b);

	if (!tap_ok(&tap, !IS_ERR(ev), "%s: is built", what)) {
		tap_line(&tap, "# %ld: %s", PTR_ERR(ev), tally_builder_why(b));
		return NULL;
	}
	return ev;
}

#define CHUNK 1000

/* Makes the events, so that a read of the file does nothing but read them. */
static int chunk_open(struct inode *inode, struct file *file)
{
	file->private_data = many_open();
	return PTR_ERR_OR_ZERO(file->private_data);
}

/* Reads a chunk when a line begins. The file has a line for each chunk, without end. */
static ssize_t chunk_read(struct file *file, char __user *buf, size_t size,
			  loff_t *pos)
{
	char text[16];
	loff_t at;
	int len;

	if (!*pos)
		many_read(file->private_data, CHUNK);
	len = snprintf(text, sizeof(text), "%u\n",
		       many_failed(file->private_data));
	at = *pos;
	size = simple_read_from_buffer(buf, size, &at, text, len);
	*pos = at < len ? at : 0;
	return size;
}

static int chunk_release(struct inode *inode, struct file *file)
{
	many_close(file->private_data);
	return 0;
}

static const struct file_operations chunk_fops = {
	.owner = THIS_MODULE,
	.open = chunk_open,
	.read = chunk_read,
	.release = chunk_release,
};

static int __init reads_init(void)
{
	int err;

	if (!strcmp(mode, "once"))
		return once_begin();
	err = tap_start(&tap);
	if (err)
		return err;
	if (!strcmp(mode, "hotplug")) {
		err = hotplug_start();
		if (err)
			tap_end(&tap);
		return err;
	}
	if (!strcmp(mode, "refused")) {
		test_bad_sets();
		tap_plan(&tap);
		tap_show(&tap, "tally_reads");
		return 0;
	}
	test_local();
	test_sets();
	test_publish(reads);
	if (has_pmu)
		test_register(has_register, has_nmi);
	tap_plan(&tap);
	tap_show(&tap, "tally_reads");
	debugfs_create_file("chunk", 0444, tap.dir, NULL, &chunk_fops);
	return 0;
}

static void __exit reads_exit(void)
{
	if (!strcmp(mode, "once")) {
		once_end();
		return;
	}
	if (!strcmp(mode, "hotplug"))
		hotplug_stop();
	tap_end(&tap);
}

module_init(reads_init);
module_exit(reads_exit);
IMPORT_TALLY();
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Reads its events from all contexts");
MODULE_LICENSE("GPL");
