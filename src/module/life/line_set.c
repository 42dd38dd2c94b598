// SPDX-License-Identifier: GPL-2.0
/*
 * Sets that are made from lines of text:
 *
 *	{cycles,instructions,cs}:u cpu=0 name=ipc
 *
 * The members stand between the braces, each with modifiers of its own if it has any. The
 * modifiers and options behind the braces are for all members. A member is an event with the
 * name SET/MEMBER. The set is removed as a whole, by its name.
 *
 *	func:vfs_read{cycles,instructions} name=reads
 *
 * Counts of a function (func.c) are those of a set on all CPUs.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <tally/tally.h>
#include "base/terms.h"
#include "life/life.h"
#include "builder/builder.h"
#include "builder/name.h"
#include "event/event.h"
#include "event/registry.h"

/**
 * struct making - a line while its set is made
 * @set: the set
 * @text: copy of the line, in which @symbol, @members, @modifiers and @options are
 * @symbol: name of the function whose counts are asked for; NULL for a set alone
 * @members: the members, separated by ','
 * @modifiers: modifiers of all members; NULL without any
 * @weak: the set has the modifier W
 * @options: options of all members
 * @builders: one for each member so far
 * @nr: number of @builders
 * @at: text of the member that is being parsed, for errors; NULL if the set is at fault
 * @why: what is wrong
 */
struct making {
	struct tally_line_set *set;
	char *text;
	const char *symbol;
	char *members;
	char *modifiers;
	bool weak;
	char *options;
	struct tally_builder *builders;
	unsigned int nr;
	const char *at;
	char why[sizeof_field(struct tally_builder, why)];
};

#define refuse(m, err, ...) tally_say((m)->why, sizeof((m)->why), err, __VA_ARGS__)

/* Cuts the line into members, modifiers and options. */
static int cut(struct making *m)
{
	char *begin = strchr(m->text, '{'), *rest, *weak;
	struct perf_event_attr none = { };

	if (strchr(m->text, '\n'))
		return refuse(m, -EINVAL, "a line break in the line");
	if (!begin)
		return refuse(m, -EINVAL, "expected 'func:FUNCTION{EVENT,...}'");
	if (begin > m->text)
		m->symbol = m->text + strlen(TALLY_LINE_FUNC);
	*begin++ = '\0';
	if (m->symbol && !*m->symbol)
		return refuse(m, -EINVAL, "no function");
	/* perf checks lockdown for its kprobes, and tally for its own probes. */
	if (m->symbol && security_locked_down(LOCKDOWN_KPROBES))
		return refuse(m, -EPERM, "a function: the kernel is locked down");
	rest = tally_name_members(begin, &m->members, m->why, sizeof(m->why));
	if (IS_ERR(rest))
		return PTR_ERR(rest);
	m->options = rest + strcspn(rest, " \t");
	if (*m->options)
		*m->options++ = '\0';
	if (*rest && *rest != ':')
		return refuse(m, -EINVAL, "expected ':' or a blank behind the '}'");
	m->modifiers = *rest ? rest + 1 : NULL;
	/* W is a modifier of the set, not of its members. */
	while (m->modifiers && (weak = strchr(m->modifiers, 'W'))) {
		memmove(weak, weak + 1, strlen(weak));
		m->weak = true;
	}
	/* A mistake in the modifiers is the set's, not a member's: it is found here. */
	return m->modifiers ? tally_name_modify(&none, m->modifiers, m->why, sizeof(m->why)) : 0;
}

/* Parses a member with the set's options. The builder's name is then that of the set, name=. */
static int parse_member(struct making *m, char *member)
{
	struct tally_builder *b = &m->builders[m->nr];
	char *line;
	int err;

	line = kasprintf(GFP_KERNEL, "%s %s", member, m->options);
	if (!line)
		return refuse(m, -ENOMEM, "out of memory");
	m->at = member;
	err = tally_builder_parse_member(b, line, m->modifiers, THIS_MODULE);
	kfree(line);
	if (err)
		strscpy(m->why, b->why, sizeof(m->why));
	if (!err && m->symbol && (b->cpu >= 0 || b->given & TALLY_GIVEN_NOT_CPUS))
		err = refuse(m, -EOPNOTSUPP, "counts of a function are on all CPUs");
	if (m->weak)
		tally_builder_weak(b);
	if (!err && (b->period || b->freq || b->window_ns))
		err = refuse(m, -EOPNOTSUPP, "a set in a line only counts: it has no period");
	return err;
}

/*
 * Hides the names of the members if one of them may have an address. They all begin with the name
 * of the set, which is the text of the line.
 */
static void hide_names(struct making *m)
{
	bool public = true;
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		public &= tally_attr_is_public(&m->builders[i].attr);
	for (i = 0; i < m->nr && !public; i++)
		m->builders[i].flags |= TALLY_BUILDER_HIDE_NAME;
}

/* Names the set as the line says, or after its text. */
static int name_set(struct making *m, const char *line)
{
	const struct tally_builder *b = m->builders;
	char *name = m->set->name;
	size_t len = strcspn(line, " \t");

	if (!(b->given & TALLY_GIVEN_NAME) || b->given & TALLY_GIVEN_EVENT) {
		if (len >= TALLY_NAME_LEN)
			return refuse(m, -ENAMETOOLONG,
				      "the text is too long for a name: give name=");
		strscpy(name, line, len + 1);
		strreplace(name, '/', ':');
		hide_names(m);
	} else {
		strscpy(name, b->name, TALLY_NAME_LEN);
	}
	if (tally_registry_name_set(&m->set->entry))
		return refuse(m, -EEXIST, "the name is taken");
	return 0;
}

/* Names a member after its text, within the set. */
static int name_member(struct making *m, struct tally_builder *b, char *member)
{
	size_t len;

	m->at = member;
	strreplace(member, '/', ':');
	for (len = strlen(member); len && member[len - 1] == ':'; len--)
		member[len - 1] = '\0';
	if (snprintf(b->name, sizeof(b->name), "%s/%s", m->set->name, member) >=
	    sizeof(b->name))
		return refuse(m, -ENAMETOOLONG,
			      "the names of set and member are too long together");
	b->given |= TALLY_GIVEN_NAME | TALLY_GIVEN_EVENT;
	return 0;
}

/* Keeps the text of the members, and the options exclude=, pinned and exclusive of all. */
static int keep_what(struct making *m, const char *line)
{
	size_t len = strcspn(line, " \t"), size = strlen(line) + 2;
	char *option;

	m->set->what = kzalloc(size, GFP_KERNEL);
	if (!m->set->what)
		return refuse(m, -ENOMEM, "out of memory");
	strscpy(m->set->what, line, len + 1);
	while ((option = strsep(&m->options, " \t"))) {
		if (!strstarts(option, "exclude=") && strcmp(option, "pinned") &&
		    strcmp(option, "exclusive"))
			continue;
		strlcat(m->set->what, " ", size);
		strlcat(m->set->what, option, size);
	}
	return 0;
}

static int parse(struct making *m, const char *line)
{
	char *members[TALLY_SET_MOST], *member;
	unsigned int i;
	int err;

	err = cut(m);
	while (!err && (member = tally_name_next(&m->members, ','))) {
		if (m->nr == (m->symbol ? TALLY_FUNC_MEMBERS : TALLY_SET_MOST)) {
			m->at = NULL;
			return refuse(m, -E2BIG, "a set has at most %u members", m->nr);
		}
		members[m->nr] = member;
		err = parse_member(m, member);
		m->nr += !err;
	}
	if (err)
		return err;
	m->at = NULL;
	err = name_set(m, line);
	for (i = 0; !err && i < m->nr; i++)
		err = name_member(m, &m->builders[i], members[i]);
	return err ?: keep_what(m, line);
}

/* Ends what build() has made. */
static void end(struct tally_line_set *ls)
{
	unsigned int i;

	/* The folders of the members go with that of the set. This waits for all readers. */
	for (i = 0; i < tally_set_size(ls->set); i++)
		tally_set_event(ls->set, i)->dir = NULL;
	debugfs_remove(ls->dir);
	tally_func_release(ls->func);
	tally_set_release(ls->set);
}

/* Builds the set in its folder, which is removed on failure. */
static int build_set(struct making *m)
{
	struct tally_line_set *ls = m->set;
	int failed;

	ls->set = tally_set_build(m->builders, m->nr);
	if (!IS_ERR(ls->set))
		return 0;
	debugfs_remove(ls->dir);
	failed = tally_set_failed(m->builders, m->nr);
	if (failed < 0)
		return refuse(m, PTR_ERR(ls->set), "the set cannot be made");
	m->at = strchr(m->builders[failed].name, '/') + 1;
	return refuse(m, PTR_ERR(ls->set), "%s", m->builders[failed].why);
}

/*
 * Makes the folder, the set and, if the line asks for them, the counts of its
 * function. Nothing of them is left on failure.
 */
static int build(struct making *m)
{
	const struct tally_folder_ops *folders = tally_folders();
	struct tally_line_set *ls = m->set;
	int err;

	/* From here on a sentence is of the set, until a member fails. */
	m->at = NULL;
	err = folders ? folders->add_set(ls) : 0;
	if (err)
		return refuse(m, err, "the folder cannot be made");
	err = build_set(m);
	if (err)
		return err;
	if (m->symbol)
		ls->func = tally_func_attach(ls->set, m->symbol, THIS_MODULE, m->why,
					     sizeof(m->why));
	err = PTR_ERR_OR_ZERO(ls->func);
	if (!err && folders) {
		err = folders->fill_set(ls);
		if (err)
			refuse(m, err, "the folder cannot be made");
	}
	if (err)
		end(ls);
	return err;
}

/* Removes a set that tally_registry_remove_line() has returned. Process context. */
void tally_line_set_release(struct tally_line_set *ls)
{
	end(ls);
	tally_registry_unname(&ls->entry);
	kfree(ls->what);
	kfree(ls);
}

static int make(struct making *m, const char *line)
{
	int err;

	if (!m->set || !m->text || !m->builders)
		return refuse(m, -ENOMEM, "out of memory");
	m->set->entry.name = m->set->name;
	err = parse(m, line) ?: build(m);
	if (err)
		tally_registry_unname(&m->set->entry);
	else
		tally_registry_list_set(&m->set->entry);
	return err;
}

/**
 * tally_line_set_create - make a set from a line of text that begins with '{' or "func:"
 * @line: the line
 * @why: receives a sentence on failure
 * @size: bytes of room in @why
 *
 * The set belongs to tally itself, and is removed by its name. If it cannot be
 * made, no member is left.
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL for a text that is no set; E2BIG; ENAMETOOLONG; EEXIST if
 * the name is taken; EOPNOTSUPP for a period, and for a function that is not
 * counted on all CPUs; EPERM for a function where lockdown forbids kprobes;
 * ENOMEM; the error of tally_builder_parse(), of tally_set_build() or of
 * tally_func_attach().
 */
int tally_line_set_create(const char *line, char *why, size_t size)
{
	struct making *m = kzalloc(sizeof(*m), GFP_KERNEL);
	int err;

	if (!m)
		return tally_say(why, size, -ENOMEM, "out of memory");
	m->set = kzalloc(sizeof(*m->set), GFP_KERNEL);
	m->text = kstrdup(line, GFP_KERNEL);
	m->builders = kvcalloc(TALLY_SET_MOST, sizeof(*m->builders), GFP_KERNEL);
	err = make(m, line);
	if (err) {
		snprintf(why, size, "%s%s%s", m->at ?: "", m->at ? ": " : "", m->why);
		if (m->set)
			kfree(m->set->what);
		kfree(m->set);
	}
	kvfree(m->builders);
	kfree(m->text);
	kfree(m);
	return err;
}

/* Removes all sets that lines made. */
void tally_line_sets_release(void)
{
	struct tally_entry *entry;
	const char *why;

	while (!IS_ERR(entry = tally_registry_remove_line(NULL, &why)))
		tally_line_set_release(container_of(entry, struct tally_line_set, entry));
}
