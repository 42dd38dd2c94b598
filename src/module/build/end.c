// SPDX-License-Identifier: GPL-2.0
/*
 * The end of an event.
 */
#include <linux/err.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "build/end.h"
#include "compat.h"
#include "counter/cpus.h"
#include "event/control.h"
#include "event/event.h"
#include "event/overflow.h"
#include "event/registry.h"
#include "filter/filter.h"
#include "read/attach.h"
#include "read/publish.h"
#include "record/output.h"
#include "record/recorder.h"

/* What shows events to people; NULL while, or where, there is nothing that does. */
static const struct tally_folder_ops *folders;

/**
 * tally_folders_init - show events from now on
 * @ops: how
 */
void tally_folders_init(const struct tally_folder_ops *ops)
{
	/* Pairs with tally_folder_add(): what the ops use is there before them. */
	smp_store_release(&folders, ops);
}

/* 0, or why the event cannot be shown. */
int tally_folder_add(struct tally_event *ev)
{
	/* Pairs with tally_folders_init(). */
	const struct tally_folder_ops *ops = smp_load_acquire(&folders);

	return ops ? ops->add(ev) : 0;
}

/* Whether anybody is to know what it has counted at last; nobody comes any more. */
static bool is_looked_at(const struct tally_event *ev)
{
	return ev->overflow || ev->retired || !list_empty_careful(&ev->attachments);
}

/*
 * Nothing counts for the event any more; a callback may still be running. What
 * its handlers may ask of it goes on being answered.
 */
static void stop(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;

	if (ev->dir)
		folders->remove(ev);
	/* The making of the event failed before that. */
	if (!c)
		return;
	mutex_lock(&c->lock);
	if (ev->overflow)
		WRITE_ONCE(ev->overflow->closing, true);
	if (ev->on && is_looked_at(ev))
		tally_event_off(ev);
	else if (ev->on)
		tally_event_abandon(ev);
	ev->gone = true;
	list_del(&ev->user_node);
	mutex_unlock(&c->lock);
	tally_counter_end(c);
}

static void finish(struct tally_event *ev)
{
	tally_publisher_free(ev->retired);
	if (ev->overflow)
		tally_overflow_free(ev->overflow);
	tally_filter_free(ev->filter);
	tally_output_free(ev->output);
	if (ev->counter)
		tally_counter_put(ev->counter);
	tally_registry_unname(ev);
	kvfree(ev);
}

/* Nothing goes to any ring any more; a grace period is to follow. */
static void end_records(struct tally_output *out)
{
	if (!out)
		return;
	if (out->tasks.kinds)
		tally_task_events_leave(&out->tasks);
	if (out->recorder)
		tally_recorder_end(out->recorder);
	tally_output_end(out);
}

/**
 * tally_events_destroy - the end of events that nobody else can reach
 * @doomed: a list of them, by tally_event::node; each whole, or made half-way: perf
 *	may have had callbacks of that, too
 *
 * perf's events go first; a callback that is running meanwhile, maybe with
 * interrupts enabled, is over after a grace period, one for all. Then what it
 * started, interrupts before works, and only then the memory. A handler of one
 * may use another that goes with it, so each step is taken for all. Nor does a
 * group that these were in go before this, which its members' samples may look at.
 */
void tally_events_destroy(struct list_head *doomed)
{
	struct tally_event *ev, *next;
	bool callbacks = false;

	list_for_each_entry(ev, doomed, node) {
		ev->retired = tally_publisher_end(&ev, 1);
		stop(ev);
		tally_attachments_end(ev);
		end_records(ev->output);
		callbacks |= ev->overflow || ev->retired || ev->output || ev->filter ||
			     ev->sampled;
	}
	if (callbacks)
		synchronize_rcu();
	list_for_each_entry(ev, doomed, node)
		if (ev->overflow)
			tally_overflow_drain(ev->overflow);
	list_for_each_entry(ev, doomed, node)
		if (ev->overflow)
			tally_control_cancel(ev->overflow);
	list_for_each_entry_safe(ev, next, doomed, node)
		finish(ev);
}

void tally_event_destroy(struct tally_event *ev)
{
	LIST_HEAD(doomed);

	list_add(&ev->node, &doomed);
	tally_events_destroy(&doomed);
}

int tally_event_release(struct tally_event *ev)
{
	if (IS_ERR_OR_NULL(ev))
		return 0;
	if (tally_overflow_inside(ev->overflow))
		return -EDEADLK;
	might_sleep();
	tally_registry_del(ev);
	tally_event_destroy(ev);
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_event_release);

/**
 * tally_events_release_owned - end the events that a module has left behind
 * @owner: the module; it is unloading and releases nothing itself any more
 *
 * Context: Process context, may sleep.
 */
void tally_events_release_owned(struct module *owner)
{
	LIST_HEAD(doomed);

	tally_registry_take_owned(owner, &doomed);
	tally_events_destroy(&doomed);
}
