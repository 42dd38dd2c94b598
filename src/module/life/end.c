// SPDX-License-Identifier: GPL-2.0
/*
 * Ending events: counting stops, handlers end, and memory is freed.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "life/life.h"
#include "compat.h"
#include "counter/counter.h"
#include "event/overflow.h"
#include "event/event.h"
#include "event/registry.h"
#include "filter/filter.h"
#include "set/attach.h"
#include "set/publish.h"
#include "set/budget.h"
#include "record/output.h"
#include "record/recorder.h"

/* tally's functions that show events in debugfs; NULL before debugfs is set up, or without it. */
static const struct tally_folder_ops *folders;

/**
 * tally_folders_init - give new events and sets folders
 * @ops: functions that make folders, and their files
 */
void tally_folders_init(const struct tally_folder_ops *ops)
{
	/* Pairs with tally_folders(): what @ops use was written before. */
	smp_store_release(&folders, ops);
}

/* Returns tally's functions that show events in debugfs, or NULL. */
const struct tally_folder_ops *tally_folders(void)
{
	/* Pairs with tally_folders_init(). */
	return smp_load_acquire(&folders);
}

/* Gives an event its folder, if there is a debugfs. Returns 0 or the error. */
int tally_folder_add(struct tally_event *ev)
{
	const struct tally_folder_ops *ops = tally_folders();

	return ops ? ops->add(ev) : 0;
}

/* Returns whether anybody may still read the last count. No new reader can come. */
static bool has_readers(const struct tally_event *ev)
{
	return ev->overflow || ev->retired || !list_empty_careful(&ev->attachments);
}

/*
 * Ends the counting of an event. A callback may still be running: its handlers
 * can go on reading the event.
 */
static void stop(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;

	debugfs_remove(ev->dir);
	/* NULL if building the event failed earlier. */
	if (!c)
		return;
	tally_counter_lock(c);
	if (ev->overflow) {
		WRITE_ONCE(ev->overflow->closing, true);
		/* perf's events of a leader stay on until they are released, so siblings go on. */
		if (ev->on && !list_empty(&c->siblings))
			c->users_on++;
	}
	if (ev->on && has_readers(ev))
		tally_event_off(ev);
	else if (ev->on)
		tally_event_abandon(ev);
	ev->gone = true;
	list_del(&ev->user_node);
	tally_counter_unlock(c);
	tally_counter_end(c);
}

static void finish(struct tally_event *ev)
{
	tally_publisher_free(ev->retired);
	tally_budget_free(ev->budget);
	if (ev->overflow)
		tally_overflow_free(ev->overflow);
	tally_filter_free(ev->filter);
	tally_output_free(ev->output);
	if (ev->counter)
		tally_counter_put(ev->counter);
	tally_registry_unname(&ev->entry);
	kvfree(ev->shared);
	kvfree(ev);
}

/* Ends the records of an event. Callbacks may use its output for a grace period more. */
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
 * tally_events_destroy - end events that nobody else can reach
 * @doomed: list of the events, by tally_event::node. An event whose building
 *	failed is incomplete; perf may have called back for that, too.
 *
 * perf's events are released first. A callback may still be running, maybe with
 * interrupts enabled: one grace period waits for the callbacks of all events. Then the
 * interrupts that callbacks have started end, then works, and then memory is freed.
 *
 * A handler of one event may use another event of the list, so each step is
 * taken for all events. The group of the events is freed after this function
 * returns: samples of its members may look at the group until then.
 *
 * Context: Process context, may sleep.
 */
void tally_events_destroy(struct list_head *doomed)
{
	struct tally_event *ev, *next;
	bool callbacks = false;

	list_for_each_entry(ev, doomed, node) {
		tally_registry_wait(ev);
		ev->retired = tally_publisher_end(&ev, 1);
		tally_budget_end(ev->budget);
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
 * @owner: the module, which is being unloaded and releases nothing itself any more
 *
 * Context: Process context, may sleep.
 */
void tally_events_release_owned(struct module *owner)
{
	LIST_HEAD(doomed);

	tally_registry_remove_owned(owner, &doomed);
	tally_events_destroy(&doomed);
}
