// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls that take text: lines as those of debugfs, for events that outlive the program,
 * and names of events, for programs that open events themselves.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <uapi/linux/tally.h>
#include "base/copyin.h"
#include "build/lines.h"
#include "builder/builder.h"
#include "builder/name.h"
#include "builder/rights.h"
#include "device/explain.h"
#include "device/line.h"

/* Copies a text; it is stripped, and not empty. The caller frees it. */
static char *take_text(u64 address, struct tally_builder *b, char **stripped)
{
	char *text = strndup_user(u64_to_user_ptr(address), TALLY_LINE_LEN);

	if (IS_ERR(text)) {
		tally_bad_request(b, TALLY_FIELD_LINE, PTR_ERR(text),
				  PTR_ERR(text) == -EINVAL ? "the line has more than 1023 bytes" :
							     "the line cannot be read");
		return text;
	}
	*stripped = strim(text);
	if (**stripped)
		return text;
	kfree(text);
	return ERR_PTR(tally_bad_request(b, TALLY_FIELD_LINE, -EINVAL, "an empty line"));
}

/* ---- TALLY_IOC_LINE ---- */

static int take_line(u32 op, const char *line, char *why, size_t size)
{
	switch (op) {
	case TALLY_LINE_CREATE:
		return tally_line_create(line, why, size);
	case TALLY_LINE_REMOVE:
		return tally_line_remove(line, why, size);
	default:
		return tally_line_enable(line, op == TALLY_LINE_ENABLE, why, size);
	}
}

static int do_line(const struct tally_line *l, struct tally_builder *b)
{
	char why[TALLY_LINE_WHY] = "", *text, *line;
	int err;

	if (l->op > TALLY_LINE_DISABLE)
		return tally_bad_request(b, TALLY_FIELD_FLAGS, -EINVAL, "unknown op");
	if (!tally_perfmon_capable()) {
		b->stage = TALLY_STAGE_PERMISSION;
		return tally_bad(b, -EACCES,
				 "an event that outlives its program needs CAP_PERFMON");
	}
	text = take_text(l->line, b, &line);
	if (IS_ERR(text))
		return PTR_ERR(text);
	b->stage = TALLY_STAGE_NONE;
	err = take_line(l->op, line, why, sizeof(why));
	kfree(text);
	return err ? tally_bad(b, err, "%s", why) : 0;
}

int tally_ioc_line(void __user *arg)
{
	struct tally_builder b;
	struct tally_line l;
	u32 size, error_size;
	int err;

	err = tally_copyin_request(&l, sizeof(l), arg, sizeof(l), sizeof(l), &size) ?:
	      tally_explain_check(l.error, &error_size);
	if (err)
		return err;
	tally_builder_clear(&b, THIS_MODULE);
	err = do_line(&l, &b);
	if (err)
		tally_explain(l.error, error_size, &b, err);
	return err;
}

/* ---- TALLY_IOC_PARSE ---- */

/* Writes attr in the size that the program's header has. */
static int put_attr(u64 address, struct perf_event_attr *attr, struct tally_builder *b)
{
	struct perf_event_attr __user *to = u64_to_user_ptr(address);
	u32 size;

	if (get_user(size, &to->size))
		return tally_bad_request(b, TALLY_FIELD_ATTR, -EFAULT, "attr cannot be read");
	if (size < PERF_ATTR_SIZE_VER0)
		return tally_bad_request(b, TALLY_FIELD_ATTR, -EINVAL, "attr's size is too small");
	if (size < sizeof(*attr) && memchr_inv((char *)attr + size, 0, sizeof(*attr) - size))
		return tally_bad_request(b, TALLY_FIELD_ATTR, -E2BIG,
					 "the event needs members that attr's size leaves out");
	attr->size = min_t(size_t, size, sizeof(*attr));
	return copy_to_user(to, attr, attr->size) ? -EFAULT : 0;
}

static int do_parse(const struct tally_parse *p, struct tally_builder *b)
{
	struct perf_event_attr attr = { };
	char why[sizeof(b->why)] = "", *text, *name;
	size_t modifiers_at;
	int err;

	if (p->reserved)
		return tally_bad_request(b, TALLY_FIELD_RESERVED, -EINVAL, "reserved is not 0");
	text = take_text(p->name, b, &name);
	if (IS_ERR(text))
		return PTR_ERR(text);
	b->stage = TALLY_STAGE_SETTINGS;
	/* The attributes of a probe may reveal the address of a symbol. */
	if ((strstarts(name, "kprobe:") || strstarts(name, "kretprobe:")) &&
	    !tally_perfmon_capable()) {
		b->stage = TALLY_STAGE_PERMISSION;
		err = tally_bad(b, -EACCES, "a kprobe needs CAP_PERFMON");
	} else if (strpbrk(name, " \t\n")) {
		err = tally_bad(b, -EINVAL, "an event without options is expected");
	} else {
		err = tally_name_parse(&attr, name, &modifiers_at, why, sizeof(why));
		if (err)
			tally_bad(b, err, "%s", why);
	}
	kfree(text);
	return err ?: put_attr(p->attr, &attr, b);
}

int tally_ioc_parse(void __user *arg)
{
	struct tally_builder b;
	struct tally_parse p;
	u32 size, error_size;
	int err;

	err = tally_copyin_request(&p, sizeof(p), arg, sizeof(p), sizeof(p), &size) ?:
	      tally_explain_check(p.error, &error_size);
	if (err)
		return err;
	tally_builder_clear(&b, THIS_MODULE);
	err = do_parse(&p, &b);
	if (err)
		tally_explain(p.error, error_size, &b, err);
	return err;
}
