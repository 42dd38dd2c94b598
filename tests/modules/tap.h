/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TAP from a module: each line is printed to the kernel log at once. When the module is
 * loaded, a file of debugfs has all lines and the plan.
 */
#ifndef TAP_H
#define TAP_H

#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/kernel.h>
#include <linux/types.h>

#define TAP_SIZE (128 * 1024)

struct tap {
	struct debugfs_blob_wrapper text;
	struct dentry *dir;
	unsigned int number;
	unsigned int failed;
};

static inline int tap_start(struct tap *tap)
{
	tap->text.data = kvzalloc(TAP_SIZE, GFP_KERNEL);
	return tap->text.data ? 0 : -ENOMEM;
}

/* Prints a line. A line that is neither a result nor a plan begins with a '#'. */
__printf(2, 3)
static inline void tap_line(struct tap *tap, const char *fmt, ...)
{
	char *text = tap->text.data;
	char *line = text + tap->text.size;
	va_list args;

	va_start(args, fmt);
	tap->text.size += vscnprintf(line, TAP_SIZE - tap->text.size, fmt,
				     args);
	va_end(args);
	pr_info("%s\n", line);
	tap->text.size += scnprintf(text + tap->text.size,
				    TAP_SIZE - tap->text.size, "\n");
}

__printf(3, 4)
static inline bool tap_ok(struct tap *tap, bool ok, const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	tap_line(tap, "%s %u - %pV", ok ? "ok" : "not ok", ++tap->number, &vaf);
	va_end(args);
	if (!ok)
		tap->failed++;
	return ok;
}

static inline bool tap_is(struct tap *tap, s64 got, s64 want, const char *what)
{
	if (!tap_ok(tap, got == want, "%s", what))
		tap_line(tap, "# got %lld, want %lld", got, want);
	return got == want;
}

static inline void tap_skip(struct tap *tap, const char *what, const char *why)
{
	tap_line(tap, "ok %u - %s # SKIP %s", ++tap->number, what, why);
}

static inline void tap_skip_all(struct tap *tap, const char *why)
{
	tap_line(tap, "1..0 # SKIP %s", why);
}

/* Prints the plan. A full log may lack results, so it is a failure. */
static inline void tap_plan(struct tap *tap)
{
	if (tap->text.size >= TAP_SIZE - 256)
		tap_ok(tap, false, "there is room for all results");
	tap_line(tap, "1..%u", tap->number);
}

static inline void tap_show(struct tap *tap, const char *folder)
{
	tap->dir = debugfs_create_dir(folder, NULL);
	debugfs_create_blob("results", 0444, tap->dir, &tap->text);
}

static inline void tap_end(struct tap *tap)
{
	debugfs_remove(tap->dir);
	kvfree(tap->text.data);
}

#endif /* TAP_H */
