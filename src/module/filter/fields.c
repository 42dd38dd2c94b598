// SPDX-License-Identifier: GPL-2.0
/*
 * The fields of a tracepoint's records, as the kernel's own filters see them. A
 * name is looked for first among the fields of the event, and then among those
 * that every event has.
 *
 * An ordinary tracepoint describes its fields in a table, whose type is in the
 * kernel's headers. The fields of system calls, probes and other events that
 * are made at run time are in a list, whose entries have a type that no header
 * has. struct entry is a guess of that type, and list_is_known() checks it with
 * an event that has both.
 */
#include <linux/align.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/uaccess.h>
#include "compat.h"
#include "filter/fields.h"

/* An entry of the kernel's list of fields, as far as it is used here. */
struct entry {
	struct list_head link;
	const char *name;
	const char *type;
	int kind;
	int offset;
	int size;
	/* The whole int up to Linux 6.8; its first bit from 6.9 on, where more bits follow. */
	unsigned int is_signed;
};

#define SIGNED_BIT	1

/* A field whose kind is below 0 is one that this kernel does not have: the search skips it. */
static const struct {
	const char *name;
	struct tally_field field;
} every_event[] = {
	{ "CPU", { .kind = FILTER_CPU, .is_signed = true } },
	{ "cpu", { .kind = FILTER_CPU, .is_signed = true } },
	{ "common_cpu", { .kind = FILTER_CPU, .is_signed = true } },
	{ "COMM", { .kind = FILTER_COMM } },
	{ "comm", { .kind = FILTER_COMM } },
	{ "stacktrace", { .kind = TALLY_FILTER_STACKTRACE } },
	{ "STACKTRACE", { .kind = TALLY_FILTER_STACKTRACE } },
	{ "common_type", { .offset = offsetof(struct trace_entry, type),
			   .size = sizeof_field(struct trace_entry, type) } },
	{ "common_flags", { .offset = offsetof(struct trace_entry, flags),
			    .size = sizeof_field(struct trace_entry, flags) } },
	{ "common_preempt_count",
	  { .offset = offsetof(struct trace_entry, preempt_count),
	    .size = sizeof_field(struct trace_entry, preempt_count) } },
	{ "common_pid", { .offset = offsetof(struct trace_entry, pid),
			  .size = sizeof_field(struct trace_entry, pid),
			  .is_signed = true } },
};

static bool same_name(const char *a, const char *name, size_t len)
{
	return !strncmp(a, name, len) && !a[len];
}

/* The kind of a field whose event gives none, by the rules of the kernel's filters. */
static int kind_of_type(const char *type)
{
	bool text = strstr(type, "char");

	if (strstr(type, "__data_loc")) {
		if (text)
			return FILTER_DYN_STRING;
		if (TALLY_FILTER_CPUMASK >= 0 && strstr(type, "cpumask_t"))
			return TALLY_FILTER_CPUMASK;
	}
	if (text && strstr(type, "__rel_loc"))
		return FILTER_RDYN_STRING;
	if (text && strchr(type, '['))
		return FILTER_STATIC_STRING;
	if (!strcmp(type, "char *") || !strcmp(type, "const char *"))
		return FILTER_PTR_STRING;
	return FILTER_OTHER;
}

/* Describes a field of the table. @end is the end of the field before, and then of this one. */
static void describe(const struct trace_event_fields *from, unsigned int *end,
		     struct tally_field *field)
{
	field->kind = from->filter_type;
	if (field->kind == FILTER_OTHER)
		field->kind = kind_of_type(from->type);
	field->offset = ALIGN(*end, from->align);
	field->size = from->size;
	field->is_signed = from->is_signed;
	*end = field->offset + field->size;
}

/* If two fields have one name, the kernel finds the later one. */
static bool find_in_table(const struct trace_event_fields *from, const char *name,
			  size_t len, struct tally_field *field)
{
	unsigned int end = sizeof(struct trace_entry);
	struct tally_field here;
	bool found = false;

	for (; from->type; from++) {
		describe(from, &end, &here);
		if (same_name(from->name, name, len)) {
			*field = here;
			found = true;
		}
	}
	return found;
}

static bool has_table(const struct trace_event_call *call)
{
	const struct trace_event_fields *from = call->class->fields_array;

	if (call->class->get_fields || !from || call->flags & TRACE_EVENT_FL_DYNAMIC)
		return false;
	for (; from->type; from++)
		if (from->type == TRACE_FUNCTION_TYPE)
			return false;
	return true;
}

static struct list_head *list_of(struct trace_event_call *call)
{
	struct trace_event_class *class = call->class;

	return class->get_fields ? class->get_fields(call) : &class->fields;
}

static bool entry_is(const struct entry *e, const struct trace_event_fields *from,
		     unsigned int *end)
{
	struct tally_field field;

	describe(from, end, &field);
	return e->name == from->name && e->kind == field.kind &&
	       e->offset == field.offset && e->size == field.size &&
	       (e->is_signed & SIGNED_BIT) == field.is_signed;
}

/*
 * Compares the list, newest first, with the table that it was made from. The pointers of
 * the list are not trusted yet, so its entries are read by a copy that cannot fault.
 */
static bool list_is_table(struct trace_event_call *call)
{
	const struct trace_event_fields *table = call->class->fields_array, *from;
	const struct list_head *head = list_of(call), *at = head;
	unsigned int end = sizeof(struct trace_entry);
	struct entry e;

	for (from = table; from->type; from++) {
		at = at->prev;
		if (at == head ||
		    copy_from_kernel_nofault(&e, at, sizeof(e)) ||
		    !entry_is(&e, from, &end))
			return false;
	}
	return at->prev == head;
}

/*
 * Every kernel has task_newtask, with signed and unsigned numbers, a string, and at least
 * three sizes of fields. A wrong guess does not fit all of its fields by accident.
 */
static bool list_is_known(void)
{
	struct trace_event_file *file;
	bool known;

	if (!IS_ENABLED(CONFIG_EVENT_TRACING))
		return false;
	file = trace_get_event_file(NULL, "task", "task_newtask");
	if (IS_ERR(file))
		return false;
	known = has_table(file->event_call) && list_is_table(file->event_call);
	trace_put_event_file(file);
	return known;
}

static int find_in_list(struct trace_event_call *call, const char *name, size_t len,
			struct tally_field *field)
{
	const struct list_head *head = list_of(call);
	const struct entry *e;

	if (list_empty(head))
		return -ENOENT;
	if (!list_is_known())
		return -EOPNOTSUPP;
	list_for_each_entry(e, head, link) {
		if (!same_name(e->name, name, len))
			continue;
		field->kind = e->kind;
		field->offset = e->offset;
		field->size = e->size;
		field->is_signed = e->is_signed & SIGNED_BIT;
		return 0;
	}
	return -ENOENT;
}

static int find_in_every(const char *name, size_t len, struct tally_field *field)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(every_event); i++) {
		if (every_event[i].field.kind >= 0 &&
		    same_name(every_event[i].name, name, len)) {
			*field = every_event[i].field;
			return 0;
		}
	}
	return -ENOENT;
}

/**
 * tally_field_find - find a field by its name
 * @call: the event; perf's event holds it meanwhile
 * @name: the name, which need not end with NUL
 * @len: length of the name
 * @field: receives the place and the kind of the field
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOENT if there is no such field; EOPNOTSUPP for an event that was
 * made at run time, if struct entry does not fit this kernel's list of fields.
 */
int tally_field_find(struct trace_event_call *call, const char *name, size_t len,
		     struct tally_field *field)
{
	int err = -ENOENT;

	if (!has_table(call))
		err = find_in_list(call, name, len, field);
	else if (find_in_table(call->class->fields_array, name, len, field))
		return 0;
	if (err != -ENOENT)
		return err;
	return find_in_every(name, len, field);
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_field_find);

/**
 * tally_field_is_string - whether a field is compared with strings
 * @field: the field
 *
 * Context: Any context.
 * Return: true for a string, false for a number.
 */
bool tally_field_is_string(const struct tally_field *field)
{
	switch (field->kind) {
	case FILTER_STATIC_STRING:
	case FILTER_DYN_STRING:
	case FILTER_RDYN_STRING:
	case FILTER_PTR_STRING:
	case FILTER_COMM:
		return true;
	}
	return false;
}
