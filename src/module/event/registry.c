// SPDX-License-Identifier: GPL-2.0
/*
 * The registry: all events by their ids and by their names.
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
 * This lock guards the events, their names, the folders, and listed and busy of both. Nothing
 * that waits for perf is done under it: a program can hold perf's locks of its own tasks for any
 * time. So it is never held while tally_counter::lock is taken: who works on an event that may
 * go holds the event, see tally_registry_hold().
 */
static DEFINE_MUTEX(events_lock);
/* By their ids. */
static struct rb_root events = RB_ROOT;
static DEFINE_HASHTABLE(names, 10);
static LIST_HEAD(folders);
static unsigned long nr_events;

/* Counts how often an event or a folder stopped to be busy, and wakes who waits for that. */
static atomic_t changes;
static DECLARE_WAIT_QUEUE_HEAD(waits);

/*
 * perf's ids count from 1, and a program may read records of both from one ring. Bit 63 is
 * for the stream ids of children: record/words.h.
 */
#define IDS_BEGIN	BIT_ULL(62)
static u64 last_number;

static u32 name_key(const char *name)
{
	return full_name_hash(NULL, name, strlen(name));
}

static struct tally_event *find_keyed(const char *name, u32 key)
{
	struct tally_event *ev;

	hash_for_each_possible(names, ev, name_node, key)
		if (!strcmp(ev->name, name))
			return ev;
	return NULL;
}

static struct tally_event *name_find(const char *name)
{
	return find_keyed(name, name_key(name));
}

static struct tally_folder_name *find_folder(const char *name)
{
	struct tally_folder_name *folder;

	list_for_each_entry(folder, &folders, node)
		if (!strcmp(folder->name, name))
			return folder;
	return NULL;
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

/* Names an event by its module and what it counts; by its module only if that is long. */
static noinline void name_after(struct tally_event *ev, u64 number)
{
	char what[TALLY_EVENT_LEN];

	tally_event_what(ev, what, sizeof(what));
	strreplace(what, '/', ':');
	if (snprintf(ev->name, sizeof(ev->name), "%s.%s.%llu",
		     module_name(ev->owner), what, number) >= sizeof(ev->name))
		snprintf(ev->name, sizeof(ev->name), "%.40s.%llu",
			 module_name(ev->owner), number);
}

/* Names an event that nobody else can see yet. Returns 0 or EEXIST. */
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
	mutex_lock(&events_lock);
	do {
		ev->id = IDS_BEGIN + ++last_number;
		if (!given && ev->of_file)
			name_file(ev->name, last_number);
		else if (!given)
			name_after(ev, last_number);
		key = name_key(ev->name);
		err = find_keyed(ev->name, key) || find_folder(ev->name) ? -EEXIST : 0;
	} while (!given && err);
	if (!err)
		hash_add(names, &ev->name_node, key);
	mutex_unlock(&events_lock);
	return err;
}

void tally_registry_unname(struct tally_event *ev)
{
	mutex_lock(&events_lock);
	hash_del(&ev->name_node);
	mutex_unlock(&events_lock);
}

/**
 * tally_registry_name_folder - give a folder its name
 * @folder: the folder, with the name that it is to have
 *
 * Context: Process context, may sleep.
 * Return: 0; EEXIST if an event or a folder has the name.
 */
int tally_registry_name_folder(struct tally_folder_name *folder)
{
	int err = -EEXIST;

	mutex_lock(&events_lock);
	if (!name_find(folder->name) && !find_folder(folder->name)) {
		folder->listed = false;
		list_add_tail(&folder->node, &folders);
		err = 0;
	}
	mutex_unlock(&events_lock);
	return err;
}

/* From here on, tally_registry_take_folder() finds the folder. */
void tally_registry_list_folder(struct tally_folder_name *folder)
{
	mutex_lock(&events_lock);
	folder->listed = true;
	mutex_unlock(&events_lock);
}

/*
 * Waits until an event or a set of a line is not busy any more, after @seen was read from
 * changes. Returns 0, or an error if the caller is being killed.
 */
static int wait_for_line(int seen)
{
	return wait_event_killable(waits, atomic_read(&changes) != seen);
}

static void tell(void)
{
	atomic_inc(&changes);
	wake_up_all(&waits);
}

/* Finds a folder, and waits while its set is busy. Returns with events_lock held. */
static struct tally_folder_name *wait_folder(const char *name)
{
	struct tally_folder_name *folder, *found;
	int seen;

	for (;;) {
		seen = atomic_read(&changes);
		found = NULL;
		mutex_lock(&events_lock);
		list_for_each_entry(folder, &folders, node)
			if (folder->listed && (!name || !strcmp(folder->name, name)))
				found = folder;
		if (!found || !found->busy)
			return found;
		mutex_unlock(&events_lock);
		if (wait_for_line(seen)) {
			mutex_lock(&events_lock);
			return NULL;
		}
	}
}

/**
 * tally_registry_take_folder - take a folder that is to be removed
 * @name: name of the folder; NULL for any
 *
 * The name stays taken until tally_registry_unname_folder().
 *
 * Context: Process context, may sleep.
 * Return: the folder, which nobody else takes; NULL if there is none, or the caller is being
 * killed.
 */
struct tally_folder_name *tally_registry_take_folder(const char *name)
{
	struct tally_folder_name *folder = wait_folder(name);

	if (folder)
		folder->listed = false;
	mutex_unlock(&events_lock);
	return folder;
}

/**
 * tally_registry_hold_folder - keep a folder from being taken
 * @name: name of the folder
 *
 * tally_registry_let_folder() must follow.
 *
 * Context: Process context, may sleep.
 * Return: the folder; NULL if there is none, or the caller is being killed.
 */
struct tally_folder_name *tally_registry_hold_folder(const char *name)
{
	struct tally_folder_name *folder = wait_folder(name);

	if (folder)
		folder->busy = true;
	mutex_unlock(&events_lock);
	return folder;
}

void tally_registry_let_folder(struct tally_folder_name *folder)
{
	mutex_lock(&events_lock);
	folder->busy = false;
	mutex_unlock(&events_lock);
	tell();
}

void tally_registry_unname_folder(struct tally_folder_name *folder)
{
	mutex_lock(&events_lock);
	list_del_init(&folder->node);
	mutex_unlock(&events_lock);
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

	lockdep_assert_held(&events_lock);
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
	mutex_lock(&events_lock);
	rb_add(&ev->id_node, &events, is_before);
	ev->listed = true;
	nr_events++;
	mutex_unlock(&events_lock);
}

/* Nobody finds the event from here on. */
static void unlist(struct tally_event *ev)
{
	lockdep_assert_held(&events_lock);
	rb_erase(&ev->id_node, &events);
	ev->listed = false;
	nr_events--;
}

void tally_registry_del(struct tally_event *ev)
{
	mutex_lock(&events_lock);
	unlist(ev);
	mutex_unlock(&events_lock);
}

unsigned long tally_registry_count(void)
{
	return READ_ONCE(nr_events);
}

/**
 * tally_registry_hold - find the event with the next id, and keep it from being freed
 * @id: the least id that the event may have
 *
 * Ids grow in the order in which events are made. tally_registry_let() must follow, and the
 * release of the event waits for it.
 *
 * Context: Process context, may sleep.
 * Return: the event; NULL if no event has such an id.
 */
struct tally_event *tally_registry_hold(u64 id)
{
	struct tally_event *ev;

	mutex_lock(&events_lock);
	ev = find_from(id);
	if (ev)
		ev->holders++;
	mutex_unlock(&events_lock);
	return ev;
}

void tally_registry_let(struct tally_event *ev)
{
	mutex_lock(&events_lock);
	/* Pairs with tally_registry_wait(): nothing here uses the event after this. */
	smp_store_release(&ev->holders, ev->holders - 1);
	mutex_unlock(&events_lock);
	tell();
}

/* Waits until nobody holds an event, which nobody finds any more. */
void tally_registry_wait(struct tally_event *ev)
{
	wait_event(waits, !smp_load_acquire(&ev->holders)); /* of tally_registry_let() */
}

/**
 * tally_registry_find - find an event, and call a function before it can be released
 * @id: id of the event; 0 to find it by @name
 * @name: name of the event
 * @may: returns 0 if @what is to be called, or an error
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

	mutex_lock(&events_lock);
	found = id ? find_from(id) : name_find(name);
	if (found && found->listed && (!id || found->id == id))
		err = may(found);
	if (!err)
		what(found, data);
	mutex_unlock(&events_lock);
	return err;
}

/**
 * tally_registry_after - find the event with the next id, and call a function
 * @id: id before it
 * @what: function to call; under the lock of the registry
 * @data: argument of @what
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOENT if there is no event with a larger id.
 */
int tally_registry_after(u64 id, void (*what)(struct tally_event *ev, void *data),
			 void *data)
{
	struct tally_event *next;

	mutex_lock(&events_lock);
	next = id < U64_MAX ? find_from(id + 1) : NULL;
	if (next)
		what(next, data);
	mutex_unlock(&events_lock);
	return next ? 0 : -ENOENT;
}

/* Returns the event of a line that has this name; else the error, EBUSY if it is busy. */
static struct tally_event *find_line(const char *name, int *err, const char **why)
{
	struct tally_event *ev = name_find(name);

	lockdep_assert_held(&events_lock);
	if (!ev || !ev->listed) {
		*why = "no such event";
		*err = -ENOENT;
		return NULL;
	}
	*err = -EPERM;
	if (strchr(name, '/'))
		*why = "a member of a set, which is taken as a whole";
	else if (ev->owner != THIS_MODULE)
		*why = "another module's event";
	else if (ev->of_file)
		*why = "the event of an open file";
	else
		*err = ev->busy ? -EBUSY : 0;
	return *err ? NULL : ev;
}

/* The same, and waits while it is busy. Returns with events_lock held. */
static struct tally_event *wait_line(const char *name, int *err, const char **why)
{
	struct tally_event *ev;
	int seen;

	for (;;) {
		seen = atomic_read(&changes);
		mutex_lock(&events_lock);
		ev = find_line(name, err, why);
		if (*err != -EBUSY)
			return ev;
		mutex_unlock(&events_lock);
		if (!wait_for_line(seen))
			continue;
		*err = -EINTR;
		*why = "the caller is being killed";
		mutex_lock(&events_lock);
		return NULL;
	}
}

/**
 * tally_registry_hold_line - keep an event that was made from a line from being removed
 * @name: name of the event
 * @found: receives the event, which tally_registry_let_line() must follow
 * @why: receives a sentence on failure
 *
 * Context: Process context, may sleep.
 * Return: as tally_registry_take_line().
 */
int tally_registry_hold_line(const char *name, struct tally_event **found, const char **why)
{
	int err;

	*found = wait_line(name, &err, why);
	if (*found)
		(*found)->busy = true;
	mutex_unlock(&events_lock);
	return err;
}

void tally_registry_let_line(struct tally_event *ev)
{
	mutex_lock(&events_lock);
	ev->busy = false;
	mutex_unlock(&events_lock);
	tell();
}

/**
 * tally_registry_take_line - take an event that was made from a line off the list
 * @name: name of the event
 * @doomed: list that receives the event
 * @why: receives a sentence on failure
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOENT if there is no such event; EPERM if it is a member of a set, or belongs to
 * an open file, or to another module, which holds a pointer to it; EINTR.
 */
int tally_registry_take_line(const char *name, struct list_head *doomed, const char **why)
{
	struct tally_event *ev;
	int err;

	ev = wait_line(name, &err, why);
	if (ev) {
		unlist(ev);
		list_add(&ev->node, doomed);
	}
	mutex_unlock(&events_lock);
	return err;
}

/* Moves the events that @owner has left behind from the list to @doomed. */
void tally_registry_take_owned(struct module *owner, struct list_head *doomed)
{
	struct tally_event *ev;
	u64 id = 0;

	mutex_lock(&events_lock);
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
	mutex_unlock(&events_lock);
}
