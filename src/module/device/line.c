// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls that take text: lines as those of debugfs, for events that outlive the program,
 * and names of events, for programs that open events themselves.
 */
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/perf_event.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <uapi/linux/tally.h>
#include "base/alias.h"
#include "base/copyin.h"
#include "life/life.h"
#include "builder/name.h"
#include "builder/builder.h"
#include "device/device.h"

/* Keeps the cause of a failure. Returns @err. */
static int bad(struct tally_error *e, u32 stage, u32 field, int err, const char *why)
{
	e->stage = stage;
	e->field = field;
	strscpy(e->text, why, sizeof(e->text));
	return err;
}

static int bad_request(struct tally_error *e, u32 field, int err, const char *why)
{
	return bad(e, TALLY_STAGE_REQUEST, field, err, why);
}

/* Copies a text; @stripped is not empty, and has one line. The caller frees the text. */
static char *copy_text(u64 address, struct tally_error *e, char **stripped)
{
	char *text = strndup_user(u64_to_user_ptr(address), TALLY_LINE_LEN);
	const char *why = NULL;

	if (IS_ERR(text)) {
		bad_request(e, TALLY_FIELD_LINE, 0, PTR_ERR(text) == -EINVAL ?
			    "the text has more than 1023 bytes" : "the text cannot be read");
		return text;
	}
	*stripped = strim(text);
	if (!**stripped)
		why = "an empty text";
	else if (strchr(*stripped, '\n'))
		why = "a text has one line";
	if (!why)
		return text;
	kfree(text);
	return ERR_PTR(bad_request(e, TALLY_FIELD_LINE, -EINVAL, why));
}

/* Calls @take with an ioctl's struct. If that fails, writes the cause to the address @error. */
static int answer(void *request, u64 error, int (*take)(void *request, struct tally_error *e))
{
	struct tally_error e = { .cpu = -1 };
	u32 size;
	int err;

	err = tally_explain_check(error, &size);
	if (err)
		return err;
	err = take(request, &e);
	e.error = -err;
	if (err)
		tally_explain_as(error, size, &e);
	return err;
}

/* ---- TALLY_IOC_LINE ---- */

static int do_op(u32 op, const char *line, char *why, size_t size)
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

static int do_line(void *request, struct tally_error *e)
{
	const struct tally_line *l = request;
	char *text, *line;
	int err;

	BUILD_BUG_ON(sizeof(e->text) < TALLY_LINE_WHY);
	if (l->op > TALLY_LINE_DISABLE)
		return bad_request(e, TALLY_FIELD_FLAGS, -EINVAL, "unknown op");
	if (!tally_perfmon_capable())
		return bad(e, TALLY_STAGE_PERMISSION, TALLY_FIELD_NONE, -EACCES,
			   "an event that outlives its program needs CAP_PERFMON");
	text = copy_text(l->line, e, &line);
	if (IS_ERR(text))
		return PTR_ERR(text);
	err = do_op(l->op, line, e->text, TALLY_LINE_WHY);
	kfree(text);
	return err;
}

int tally_ioc_line(void __user *arg)
{
	struct tally_line l;
	u32 size;
	int err;

	err = tally_copyin_request(&l, sizeof(l), arg, sizeof(l), sizeof(l), &size);
	return err ?: answer(&l, l.error, do_line);
}

/* ---- TALLY_IOC_PARSE ---- */

/* Size of the struct in the first header that had it, the least that the ioctl takes. */
#define PARSE_SIZE_1	offsetofend(struct tally_parse, error)

static_assert(sizeof_field(struct tally_parse, scale) == sizeof_field(struct tally_alias, scale));
static_assert(sizeof_field(struct tally_parse, unit) == sizeof_field(struct tally_alias, unit));

/* Writes attr in the size that the program's header has. */
static int put_attr(u64 address, struct perf_event_attr *attr, struct tally_error *e)
{
	struct perf_event_attr __user *to = u64_to_user_ptr(address);
	u32 size;

	if (get_user(size, &to->size))
		return bad_request(e, TALLY_FIELD_ATTR, -EFAULT, "attr cannot be read");
	if (size < PERF_ATTR_SIZE_VER0)
		return bad_request(e, TALLY_FIELD_ATTR, -EINVAL, "attr's size is too small");
	if (size < sizeof(*attr) && memchr_inv((char *)attr + size, 0, sizeof(*attr) - size))
		return bad_request(e, TALLY_FIELD_ATTR, -E2BIG,
				   "the event needs members that attr's size leaves out");
	attr->size = min_t(size_t, size, sizeof(*attr));
	if (copy_to_user(to, attr, attr->size))
		return bad_request(e, TALLY_FIELD_ATTR, -EFAULT, "attr cannot be written");
	return 0;
}

/* The attributes of a probe reveal the address of a symbol. perf checks the same for a probe. */
static int allow_probe(const char *name, struct tally_error *e)
{
	int err;

	if (!strstarts(name, "kprobe:") && !strstarts(name, "kretprobe:"))
		return 0;
	if (!tally_perfmon_capable())
		return bad(e, TALLY_STAGE_PERMISSION, TALLY_FIELD_NONE, -EACCES,
			   "a kprobe needs CAP_PERFMON");
	err = security_locked_down(LOCKDOWN_KPROBES);
	return err ? bad(e, TALLY_STAGE_PERMISSION, TALLY_FIELD_NONE, err,
			 "a kprobe: the kernel is locked down") : 0;
}

/* Writes the unit and the scale from the PMU's files, or those of perf stat for a clock. */
static void put_unit(struct tally_parse *p, const struct perf_event_attr *attr, const char *name)
{
	struct tally_alias alias;

	if (tally_alias_find(attr, name, &alias))
		return;
	strscpy(p->scale, alias.scale, sizeof(p->scale));
	strscpy(p->unit, alias.unit, sizeof(p->unit));
	p->flags = alias.snapshot ? TALLY_PARSE_GAUGE : 0;
}

static int parse(const char *name, struct perf_event_attr *attr, struct tally_error *e)
{
	size_t modifiers_at;
	char *copy;
	int err;

	if (strpbrk(name, " \t"))
		return bad(e, TALLY_STAGE_SETTINGS, TALLY_FIELD_NONE, -EINVAL,
			   "an event without options is expected");
	copy = kstrdup(name, GFP_KERNEL);
	if (!copy)
		return bad(e, TALLY_STAGE_NONE, TALLY_FIELD_NONE, -ENOMEM, "out of memory");
	err = tally_name_parse(attr, copy, &modifiers_at, e->text, sizeof(e->text));
	kfree(copy);
	return err;
}

static int do_parse(void *request, struct tally_error *e)
{
	struct tally_parse *p = request;
	struct perf_event_attr attr = { };
	char *text, *name;
	int err;

	if (p->reserved)
		return bad_request(e, TALLY_FIELD_RESERVED, -EINVAL, "reserved is not 0");
	text = copy_text(p->name, e, &name);
	if (IS_ERR(text))
		return PTR_ERR(text);
	err = allow_probe(name, e) ?: parse(name, &attr, e);
	if (!err && p->size > PARSE_SIZE_1)
		put_unit(p, &attr, name);
	if (err && !e->stage)
		e->stage = TALLY_STAGE_SETTINGS;
	kfree(text);
	return err ?: put_attr(p->attr, &attr, e);
}

int tally_ioc_parse(void __user *arg)
{
	struct tally_parse p;
	u32 size;
	int err;

	err = tally_copyin_request(&p, sizeof(p), arg, sizeof(p), PARSE_SIZE_1, &size);
	if (err)
		return err;
	memset_startat(&p, 0, scale);
	return answer(&p, p.error, do_parse) ?: tally_copyin_answer(arg, &p, sizeof(p), size);
}
