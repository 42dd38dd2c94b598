// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of an overflow without tally: an event of perf on the calling task, whose
 * handler does nothing. tests/guest/bench/bench_ring.c compares it with events that make
 * records. In debugfs:
 *
 *	bare	a write of a struct perf_event_attr makes the event, which ends when the
 *		file is closed; a read returns its count, 8 bytes
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/uaccess.h>
#include "bench.h"

static void nothing_at_all(struct perf_event *event, struct perf_sample_data *data,
			   struct pt_regs *regs)
{
}

static ssize_t bare_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	struct perf_event_attr attr = { };
	struct perf_event *event;

	/* The program's struct may be longer than the kernel's, or shorter. */
	if (file->private_data || count < PERF_ATTR_SIZE_VER0 || count > PAGE_SIZE)
		return -EINVAL;
	if (copy_from_user(&attr, from, min(count, sizeof(attr))))
		return -EFAULT;
	attr.size = sizeof(attr);
	event = perf_event_create_kernel_counter(&attr, -1, current, nothing_at_all, NULL);
	if (IS_ERR(event))
		return PTR_ERR(event);
	file->private_data = event;
	return count;
}

static ssize_t bare_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	u64 count, enabled, running;

	if (!file->private_data || size < sizeof(count))
		return -EINVAL;
	count = perf_event_read_value(file->private_data, &enabled, &running);
	return copy_to_user(to, &count, sizeof(count)) ? -EFAULT : sizeof(count);
}

static int bare_release(struct inode *inode, struct file *file)
{
	if (file->private_data)
		perf_event_release_kernel(file->private_data);
	return 0;
}

static const struct file_operations bare_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.read = bare_read,
	.write = bare_write,
	.release = bare_release,
};

void bare_begin(struct dentry *dir)
{
	debugfs_create_file("bare", 0600, dir, NULL, &bare_fops);
}
