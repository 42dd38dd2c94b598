// SPDX-License-Identifier: GPL-2.0
/*
 * The registry: all events by their ids, and all events and sets of lines by their names.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/hashtable.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/string.h>
#include <linux/stringhash.h>
#include <linux/wait.h>
#include "builder/builder.h"
#include "event/event.h"
#include "builder/name.h"
#include "event/registry.h"

/*
 * This lock guards the tree of events, the table of names with
 * tally_entry::listed and ::busy, the attachments of each event, and the lists
 * of sets and of overflow states. Nobody waits for perf under it: a program can
 * hold perf's locks of its own tasks for as long as it likes. So nobody takes
 * tally_counter::lock under it. A caller that works on an event which may be
 * released holds the event instead: see tally_registry_hold().
 */
DEFINE_MUTEX(tally_events_lock);
/* By their ids. */
static struct rb_root events = RB_ROOT;
static DEFINE_HASHTABLE(names, 10);
static unsigned long nr_events;

/* The number of holds of events and entries that have ended, and who waits for such an end. */
static atomic_t changes;
static DECLARE_WAIT_QUEUE_HEAD(waits);

/*
 * perf's ids count from 1. A program may use events of perf and of tally: no two have the same id.
 * Bit 63 is for the stream ids of children: record/record.h.
 */
#define IDS_BEGIN	BIT_ULL(62)
static u64 last_number;

static u32 name_key(const char *name)
{
	return full_name_hash(NULL, name, strlen(name));
}

static struct tally_entry *find_keyed(const char *name, u32 key)
{
	struct tally_entry *entry;

	hash_for_each_possible(names, entry, node, key)
		if (!strcmp(entry->name, name))
			return entry;
	return NULL;
}

static struct tally_entry *find(const char *name)
{
	lockdep_assert_held(&tally_events_lock);
	return find_keyed(name, name_key(name));
}

/* Returns any set that is listed. */
static struct tally_entry *find_set(void)
{
	struct tally_entry *entry;
	int bucket;

	hash_for_each(names, bucket, entry, node)
		if (entry->is_set && entry->listed)
			return entry;
	return NULL;
}

static struct tally_event *event_of(struct tally_entry *entry)
{
	return container_of(entry, struct tally_event, entry);
}

/* Writes "file.NUMBER" in a tenth of snprintf()'s time: programs open many files. */
static void name_file(char *to, u64 number)
{
	char digits[20], *digit = digits;

	do {
		*digit++ = '0' + do_div(number, 10);
	} while (number);
	memcpy(to, "file.", 5);
	for (to += 5; digit > digits; )
		*to++ = *--digit;
	*to = '\0';
}

/* Names an event MODULE.WHAT.NUMBER, or MODULE.NUMBER if that is too long for a name. */
static noinline void name_after(struct tally_event *ev, u64 number)
{
	char what[TALLY_EVENT_LEN];

	tally_name_format(&ev->attr, ev->given, what, sizeof(what));
	strreplace(what, '/', ':');
	if (snprintf(ev->name, sizeof(ev->name), "%s.%s.%llu",
		     module_name(ev->owner), what, number) >= sizeof(ev->name))
		snprintf(ev->name, sizeof(ev->name), "%.40s.%llu",
			 module_name(ev->owner), number);
}

/* Gives an event that nobody else can see yet its id and its name. Returns 0 or EEXIST. */
int tally_registry_name(struct tally_event *ev, const struct tally_builder *b)
{
	bool given = b->given & TALLY_GIVEN_NAME;
	int err = 0;
	u32 key;

	/* Modules may build several events from a line: its text is no name for them. */
	if (b->given & TALLY_GIVEN_EVENT && b->owner != THIS_MODULE)
		given = false;
	if (given)
		strscpy(ev->name, b->name, sizeof(ev->name));
	ev->entry.name = ev->name;
	mutex_lock(&tally_events_lock);
	do {
		ev->id = IDS_BEGIN + ++last_number;
		if (!given && ev->of_file)
			name_file(ev->name, last_number);
		else if (!given)
			name_after(ev, last_number);
		key = name_key(ev->name);
		err = find_keyed(ev->name, key) ? -EEXIST : 0;
	} while (!given && err);
	if (!err)
		hash_add(names, &ev->entry.node, key);
	mutex_unlock(&tally_events_lock);
	return err;
}

/* Takes a set or an event out of the table of names. */
void tally_registry_unname(struct tally_entry *entry)
{
	mutex_lock(&tally_events_lock);
	hash_del(&entry->node);
	mutex_unlock(&tally_events_lock);
}

/**
 * tally_registry_name_set - give a set of a line its name
 * @entry: entry of the set, with the name that it is to have
 *
 * Context: Process context, may sleep.
 * Return: 0; EEXIST if an event or a set has the name.
 */
int tally_registry_name_set(struct tally_entry *entry)
{
	u32 key = name_key(entry->name);
	int err = 0;

	entry->is_set = true;
	mutex_lock(&tally_events_lock);
	if (find_keyed(entry->name, key))
		err = -EEXIST;
	else
		hash_add(names, &entry->node, key);
	mutex_unlock(&tally_events_lock);
	return err;
}

/* From here on, tally_registry_remove_line() finds the set. */
void tally_registry_list_set(struct tally_entry *entry)
{
	mutex_lock(&tally_events_lock);
	entry->listed = true;
	mutex_unlock(&tally_events_lock);
}

static void wake_waiters(void)
{
	atomic_inc(&changes);
	wake_up_all(&waits);
}

static bool is_before(struct rb_node *node, const struct rb_node *of)
{
	return rb_entry(node, struct tally_event, id_node)->id <
	       rb_entry(of, struct tally_event, id_node)->id;
}

/* Returns the event with the least id that is @id or more; NULL if there is none. */
static struct tally_event *find_from(u64 id)
{
	struct rb_node *node = events.rb_node;
	struct tally_event *ev, *found = NULL;

	lockdep_assert_held(&tally_events_lock);
	while (node) {
		ev = rb_entry(node, struct tally_event, id_node);
		if (ev->id >= id)
			found = ev;
		node = ev->id < id ? node->rb_right : node->rb_left;
	}
	return found;
}

void tally_registry_add(struct tally_event *ev)
{
	mutex_lock(&tally_events_lock);
	rb_add(&ev->id_node, &events, is_before);
	ev->entry.listed = true;
	nr_events++;
	mutex_unlock(&tally_events_lock);
}

/* Nobody finds the event from here on. */
static void unlist(struct tally_event *ev)
{
	lockdep_assert_held(&tally_events_lock);
	rb_erase(&ev->id_node, &events);
	ev->entry.listed = false;
	nr_events--;
}

void tally_registry_del(struct tally_event *ev)
{
	mutex_lock(&tally_events_lock);
	unlist(ev);
	mutex_unlock(&tally_events_lock);
}

unsigned long tally_registry_count(void)
{
	return READ_ONCE(nr_events);
}

/**
 * tally_registry_hold - find the event with the next id, and keep it from being freed
 * @id: the least id that the event may have
 *
 * Ids grow in the order in which events are made. tally_registry_put() must
 * follow, and the release of the event waits for it.
 *
 * Context: Process context, may sleep.
 * Return: the event; NULL if no event has such an id.
 */
struct tally_event *tally_registry_hold(u64 id)
{
	struct tally_event *ev;

	mutex_lock(&tally_events_lock);
	ev = find_from(id);
	if (ev)
		ev->holders++;
	mutex_unlock(&tally_events_lock);
	return ev;
}

void tally_registry_put(struct tally_event *ev)
{
	mutex_lock(&tally_events_lock);
	/* Pairs with tally_registry_wait(): nothing here uses the event after this. */
	smp_store_release(&ev->holders, ev->holders - 1);
	mutex_unlock(&tally_events_lock);
	wake_waiters();
}

/* Waits until nobody holds an event, which nobody finds any more. */
void tally_registry_wait(struct tally_event *ev)
{
	wait_event(waits, !smp_load_acquire(&ev->holders)); /* of tally_registry_put() */
}

static struct tally_event *find_event(const char *name)
{
	struct tally_entry *entry = find(name);

	return entry && !entry->is_set ? event_of(entry) : NULL;
}

/**
 * tally_registry_find - find an event, and call a function before it can be released
 * @id: id of the event; 0 to find it by @name
 * @name: name of the event
 * @may: returns 0 if @what is to be called, or an error; NULL if @what is called for any event
 * @what: function to call; under the lock of the registry
 * @data: argument of @what
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOENT if there is no such event; the error of @may.
 */
int tally_registry_find(u64 id, const char *name,
			int (*may)(const struct tally_event *ev),
			void (*what)(struct tally_event *ev, void *data), void *data)
{
	struct tally_event *found;
	int err = -ENOENT;

	mutex_lock(&tally_events_lock);
	if (id)
		found = find_from(id);
	else
		found = find_event(name);
	if (found && found->entry.listed && (!id || found->id == id))
		err = may ? may(found) : 0;
	if (!err)
		what(found, data);
	mutex_unlock(&tally_events_lock);
	return err;
}

/* Returns why a line may not start, stop or remove an event; NULL if it may. */
static const char *not_of_line(const struct tally_event *ev)
{
	if (strchr(ev->name, '/'))
		return "a member of a set, which is taken as a whole";
	if (ev->owner != THIS_MODULE)
		return "another module's event";
	return ev->of_file ? "the event of an open file" : NULL;
}

/*
 * Finds the event or set that a line made by its name, or any set if @name is NULL, and waits while
 * it is busy. Returns with tally_events_lock held, also on failure, when @why receives a sentence.
 */
static struct tally_entry *wait_line(const char *name, const char **why)
{
	struct tally_entry *entry;
	int seen;

	for (;;) {
		seen = atomic_read(&changes);
		mutex_lock(&tally_events_lock);
		entry = name ? find(name) : find_set();
		if (!entry || !entry->listed) {
			*why = "no such event";
			return ERR_PTR(-ENOENT);
		}
		*why = entry->is_set ? NULL : not_of_line(event_of(entry));
		if (*why)
			return ERR_PTR(-EPERM);
		if (!entry->busy)
			return entry;
		mutex_unlock(&tally_events_lock);
		if (!wait_event_killable(waits, atomic_read(&changes) != seen))
			continue;
		*why = "the caller is being killed";
		mutex_lock(&tally_events_lock);
		return ERR_PTR(-EINTR);
	}
}

/**
 * tally_registry_hold_line - keep an event or a set that a line made from being removed
 * @name: name of the event or the set
 * @why: receives a sentence on failure
 *
 * tally_registry_release_line() must follow.
 *
 * Context: Process context, may sleep.
 * Return: as tally_registry_remove_line().
 */
struct tally_entry *tally_registry_hold_line(const char *name, const char **why)
{
	struct tally_entry *entry = wait_line(name, why);

	if (!IS_ERR(entry))
		entry->busy = true;
	mutex_unlock(&tally_events_lock);
	return entry;
}

/* Ends tally_registry_hold_line(): the entry may be removed. */
void tally_registry_release_line(struct tally_entry *entry)
{
	mutex_lock(&tally_events_lock);
	entry->busy = false;
	mutex_unlock(&tally_events_lock);
	wake_waiters();
}

/**
 * tally_registry_remove_line - unlist an event or a set that a line made, to remove it
 * @name: its name; NULL for any set
 * @why: receives a sentence on failure
 *
 * The name stays taken until tally_registry_unname().
 *
 * Context: Process context, may sleep.
 * Return: the entry, which nobody finds any more; or an ERR_PTR: ENOENT if there is no such event;
 * EPERM if it is a member of a set, or belongs to an open file, or to another module, which holds a
 * pointer to it; EINTR if the caller is being killed.
 */
struct tally_entry *tally_registry_remove_line(const char *name, const char **why)
{
	struct tally_entry *entry = wait_line(name, why);

	if (!IS_ERR(entry) && entry->is_set)
		entry->listed = false;
	else if (!IS_ERR(entry))
		unlist(event_of(entry));
	mutex_unlock(&tally_events_lock);
	return entry;
}

/* Moves the events that @owner has left behind from the tree of ids to @doomed. */
void tally_registry_remove_owned(struct module *owner, struct list_head *doomed)
{
	struct tally_event *ev;
	u64 id = 0;

	mutex_lock(&tally_events_lock);
	while ((ev = find_from(id))) {
		id = ev->id + 1;
		if (ev->owner != owner)
			continue;
		unlist(ev);
		list_add_tail(&ev->node, doomed);
		if (owner != THIS_MODULE)
			pr_warn("%s left event %s behind: released\n",
				module_name(owner), ev->name);
	}
	mutex_unlock(&tally_events_lock);
}
