// SPDX-License-Identifier: GPL-2.0
/*
 * A tracepoint at which events are read: by tally in a probe, by an eBPF program. In
 * debugfs:
 *
 *	kind	the event that tally reads from now on: a line, as for create
 *	probe	the probe of tally: none, empty, or read
 *	hit	the cost of passing the tracepoint, in tenths, and the number of tally's
 *		reads that failed
 *	call	the cost of a call of tally_bench_call(), in tenths
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "bench.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static DEFINE_MUTEX(lock); /* guards the variables below */
static struct tally_event *ev;
static void (*probe)(void *data, int nr);
static unsigned int failed;
static u64 last;

static void probe_empty(void *data, int nr)
{
}

static void probe_read(void *data, int nr)
{
	if (tally_event_read_local(ev, &last))
		failed++;
}

static void hit(void)
{
	trace_tally_bench_hit(0);
}

static int set_probe(void (*fn)(void *data, int nr))
{
	int err = 0;

	if (probe)
		unregister_trace_tally_bench_hit(probe, NULL);
	tracepoint_synchronize_unregister();
	probe = fn;
	if (fn)
		err = register_trace_tally_bench_hit(fn, NULL);
	if (err)
		probe = NULL;
	return err;
}

static int do_kind(const char *line)
{
	struct tally_builder b;
	int err;

	err = set_probe(NULL);
	if (err)
		return err;
	tally_event_release(ev);
	ev = NULL;
	err = tally_builder_parse(&b, line);
	if (err)
		return err;
	tally_builder_on_cpu(&b, 0);
	ev = tally_build(&b);
	if (IS_ERR(ev)) {
		err = PTR_ERR(ev);
		ev = NULL;
	}
	return err;
}

static int do_probe(const char *word)
{
	if (!strcmp(word, "none"))
		return set_probe(NULL);
	if (!strcmp(word, "empty"))
		return set_probe(probe_empty);
	if (!strcmp(word, "read") && ev)
		return set_probe(probe_read);
	return -EINVAL;
}

static ssize_t take_word(int (*fn)(const char *word), const char __user *from,
			 size_t count)
{
	char word[64];
	int err;

	if (count >= sizeof(word))
		return -E2BIG;
	if (copy_from_user(word, from, count))
		return -EFAULT;
	word[count] = '\0';
	mutex_lock(&lock);
	err = fn(strim(word));
	mutex_unlock(&lock);
	return err ?: count;
}

static ssize_t kind_write(struct file *file, const char __user *from,
			  size_t count, loff_t *pos)
{
	return take_word(do_kind, from, count);
}

static ssize_t probe_write(struct file *file, const char __user *from,
			   size_t count, loff_t *pos)
{
	return take_word(do_probe, from, count);
}

/* A function whose calls are counted. */
static noinline void tally_bench_call(void)
{
	asm volatile("");
}

static ssize_t call_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	char text[32];
	int len;

	if (*pos)
		return 0;
	len = scnprintf(text, sizeof(text), "%llu\n", measure(tally_bench_call, false));
	return simple_read_from_buffer(to, size, pos, text, len);
}

static ssize_t hit_read(struct file *file, char __user *to, size_t size,
			loff_t *pos)
{
	char text[64];
	int len;

	if (*pos)
		return 0;
	mutex_lock(&lock);
	failed = 0;
	len = scnprintf(text, sizeof(text), "%llu ", measure(hit, false));
	len += scnprintf(text + len, sizeof(text) - len, "%u\n", failed);
	mutex_unlock(&lock);
	return simple_read_from_buffer(to, size, pos, text, len);
}

static const struct file_operations kind_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kind_write,
};

static const struct file_operations probe_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = probe_write,
};

static const struct file_operations hit_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = hit_read,
};

static const struct file_operations call_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = call_read,
};

void trace_begin(struct dentry *dir)
{
	debugfs_create_file("kind", 0200, dir, NULL, &kind_fops);
	debugfs_create_file("probe", 0200, dir, NULL, &probe_fops);
	debugfs_create_file("hit", 0400, dir, NULL, &hit_fops);
	debugfs_create_file("call", 0400, dir, NULL, &call_fops);
}

void trace_end(void)
{
	mutex_lock(&lock);
	set_probe(NULL);
	tally_event_release(ev);
	ev = NULL;
	mutex_unlock(&lock);
}
