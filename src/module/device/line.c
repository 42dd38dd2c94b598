// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls that take text: lines as those of debugfs, for events that outlive
 * the program, and names of events, for programs that open events themselves.
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

static int bad(struct tally_builder *b, u32 stage, int err, const char *why)
{
	b->stage = stage;
	return tally_bad(b, err, "%s", why);
}

/* Copies a text; @stripped is not empty, and has one line. The caller frees the text. */
static char *copy_text(u64 address, struct tally_builder *b, char **stripped)
{
	char *text = strndup_user(u64_to_user_ptr(address), TALLY_LINE_LEN);
	const char *why = NULL;

	if (IS_ERR(text)) {
		tally_bad_request(b, TALLY_FIELD_LINE, 0, PTR_ERR(text) == -EINVAL ?
				  "the text has more than 1023 bytes" : "the text cannot be read");
		return text;
	}
	*stripped = tally_name_trim(text);
	if (!**stripped)
		why = "an empty text";
	else if (strchr(*stripped, '\n'))
		why = "a text has one line";
	if (!why)
		return text;
	kfree(text);
	return ERR_PTR(tally_bad_request(b, TALLY_FIELD_LINE, -EINVAL, why));
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

static int do_line(void *request, struct tally_builder *b)
{
	const struct tally_line *l = request;
	char *text, *line;
	int err;

	BUILD_BUG_ON(sizeof(b->why) < TALLY_LINE_WHY);
	if (l->op > TALLY_LINE_DISABLE)
		return tally_bad_request(b, TALLY_FIELD_FLAGS, -EINVAL, "unknown op");
	if (!tally_perfmon_capable())
		return bad(b, TALLY_STAGE_PERMISSION, -EACCES,
			   "an event that outlives its program needs CAP_PERFMON");
	text = copy_text(l->line, b, &line);
	if (IS_ERR(text))
		return PTR_ERR(text);
	err = do_op(l->op, line, b->why, sizeof(b->why));
	kfree(text);
	return err;
}

int tally_ioc_line(void __user *arg)
{
	struct tally_line l;
	u32 size;
	int err;

	err = tally_copyin_request(&l, sizeof(l), arg, sizeof(l), sizeof(l), &size);
	return err ?: tally_explained(&l, l.error, do_line);
}

/* ---- TALLY_IOC_PARSE ---- */

/* Size of the struct in the first header that had it, the least that the ioctl takes. */
#define PARSE_SIZE_1	offsetofend(struct tally_parse, error)

static_assert(sizeof_field(struct tally_parse, scale) == sizeof_field(struct tally_alias, scale));
static_assert(sizeof_field(struct tally_parse, unit) == sizeof_field(struct tally_alias, unit));

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
	if (copy_to_user(to, attr, attr->size))
		return tally_bad_request(b, TALLY_FIELD_ATTR, -EFAULT, "attr cannot be written");
	return 0;
}

/* The attributes of a probe reveal the address of a symbol. perf checks the same for a probe. */
static int allow_probe(const char *name, struct tally_builder *b)
{
	int err;

	if (!strstarts(name, "kprobe:") && !strstarts(name, "kretprobe:"))
		return 0;
	if (!tally_perfmon_capable())
		return bad(b, TALLY_STAGE_PERMISSION, -EACCES,
			   "a kprobe needs CAP_PERFMON");
	err = security_locked_down(LOCKDOWN_KPROBES);
	return err ? bad(b, TALLY_STAGE_PERMISSION, err,
			 "a kprobe: the kernel is locked down") : 0;
}

/*
 * Writes the unit and the scale from the PMU's files, or those of perf stat for a clock. Returns 0
 * or ENOMEM.
 */
static int put_unit(struct tally_parse *p, const struct perf_event_attr *attr, const char *name)
{
	struct tally_alias alias;
	int err = tally_alias_find(attr, name, &alias);

	if (err)
		return err == -ENOMEM ? err : 0;
	strscpy(p->scale, alias.scale, sizeof(p->scale));
	strscpy(p->unit, alias.unit, sizeof(p->unit));
	p->flags = alias.snapshot ? TALLY_PARSE_GAUGE : 0;
	return 0;
}

static int parse(const char *name, struct perf_event_attr *attr, struct tally_builder *b)
{
	size_t modifiers_at;
	char *copy;
	int err;

	if (strpbrk(name, " \t"))
		return bad(b, TALLY_STAGE_SETTINGS, -EINVAL,
			   "an event without options is expected");
	copy = kstrdup(name, GFP_KERNEL);
	if (!copy)
		return bad(b, TALLY_STAGE_NONE, -ENOMEM, "out of memory");
	err = tally_name_parse(attr, copy, &modifiers_at, b->why, sizeof(b->why));
	kfree(copy);
	return err;
}

static int do_parse(void *request, struct tally_builder *b)
{
	struct tally_parse *p = request;
	struct perf_event_attr attr = { };
	char *text, *name;
	int err;

	if (p->reserved)
		return tally_bad_request(b, TALLY_FIELD_RESERVED, -EINVAL, "reserved is not 0");
	text = copy_text(p->name, b, &name);
	if (IS_ERR(text))
		return PTR_ERR(text);
	err = allow_probe(name, b) ?: parse(name, &attr, b);
	if (!err && p->size > PARSE_SIZE_1 && put_unit(p, &attr, name))
		err = bad(b, TALLY_STAGE_NONE, -ENOMEM, "out of memory");
	if (err && !b->stage)
		b->stage = TALLY_STAGE_SETTINGS;
	kfree(text);
	return err ?: put_attr(p->attr, &attr, b);
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
	return tally_explained(&p, p.error, do_parse) ?:
	       tally_copyin_answer(arg, &p, sizeof(p), size);
}
