// SPDX-License-Identifier: GPL-2.0
/*
 * Building an event: tally_build() checks the builder, gives the event its
 * name, its overflow state, its counter and its folder, and enables it.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "base/alias.h"
#include "base/cgroup.h"
#include "base/kprobe.h"
#include "base/ptr.h"
#include "base/trick.h"
#include "life/life.h"
#include "builder/builder.h"
#include "compat.h"
#include "counter/counter.h"
#include "event/overflow.h"
#include "event/event.h"
#include "record/output.h"
#include "record/recorder.h"
#include "event/registry.h"
#include "filter/apply.h"
#include "set/budget.h"

/*
 * Returns whether perf may enable its events when it creates them. It may not
 * if they overflow: then the event has to be complete before it is enabled.
 */
static bool at_once(const struct tally_builder *b, const struct perf_event_attr *attr)
{
	return !attr->sample_period && !attr->enable_on_exec &&
	       !(b->flags & TALLY_BUILDER_REQUIRE) &&
	       (!b->attr.disabled || b->flags & TALLY_BUILDER_AT_ONCE);
}

/* A program may set the filter of a file's event at any time. */
static bool may_be_filtered(const struct tally_builder *b)
{
	return b->flags & TALLY_BUILDER_FILE && tally_filter_can(&b->attr);
}

/*
 * Gets a counter, and locks it. If the PMU may choose the precision, it is asked for the highest
 * level first. Drivers have different errors for a level that they do not know.
 */
static struct tally_counter *counter_at_best(struct tally_event *ev,
					     const struct tally_builder *b,
					     const struct perf_event_attr *attr,
					     const struct tally_target *target, void *context,
					     int *cpu)
{
	perf_overflow_handler_t handler = ev->overflow ? tally_overflow_callback : NULL;
	struct perf_event_attr tried = *attr;
	struct tally_counter *c, *first = NULL;
	unsigned int flags = at_once(b, attr) ? TALLY_COUNTER_AT_ONCE : 0;

	if (b->flags & TALLY_BUILDER_WEAK)
		flags |= TALLY_COUNTER_WEAK;
	if (b->flags & TALLY_BUILDER_MEMBER)
		flags |= TALLY_COUNTER_MEMBER;
	if (b->flags & TALLY_BUILDER_ALONE)
		flags |= TALLY_COUNTER_ALONE;
	/* The counters of all members of a set have one lock. */
	if (b->leader && tally_target_is_same(&b->leader->counter->target, target))
		first = b->leader->counter->first;
	for (;; tried.precise_ip--) {
		c = tally_counter_get(&tried, target, first, handler, context, flags, cpu);
		if (!IS_ERR(c))
			ev->attr.precise_ip = tried.precise_ip;
		else if (tried.precise_ip && b->flags & TALLY_BUILDER_PRECISE_MAX &&
			 (c == ERR_PTR(-EOPNOTSUPP) || tally_slot_refused(PTR_ERR(c))))
			continue;
		return c;
	}
}

/*
 * Finds out whether the count is a level, such as a temperature. The first read of perf's event
 * counts from 0 to the level. A second event that shared perf's would count only later changes.
 * Returns 0 or ENOMEM.
 */
static int find_gauge(struct tally_event *ev)
{
	struct tally_alias alias;
	int err;

	if (ev->attr.type < PERF_TYPE_MAX || tally_attr_is_kprobe(&ev->attr))
		return 0;
	err = tally_alias_find(&ev->attr, ev->given, &alias);
	ev->gauge = !err && alias.snapshot;
	return err == -ENOMEM ? err : 0;
}

/* Records that a trick (base/trick.h) is off. Returns the error; 0 if that is not why it came. */
static int without_trick(struct tally_builder *b, int err, enum tally_trick trick)
{
	if (err != -EOPNOTSUPP || !tally_trick_is_off(trick))
		return 0;
	return tally_bad(b, err, "%s", tally_trick_sentence(trick));
}

static int no_room(struct tally_builder *b, const struct perf_event_attr *attr,
		   const struct tally_target *target)
{
	return tally_bad(b, -E2BIG, "the PMU has room for %u of these events at once",
			 tally_group_room(b->leader->counter->first,
					  tally_group_kind(attr, target)));
}

static int counter_failed(struct tally_builder *b, const struct perf_event_attr *attr,
			  const struct tally_target *target, int err, int cpu)
{
	int told = tally_breakpoint_failed(b, err);

	if (err == -E2BIG && b->leader)
		return no_room(b, attr, target);
	if (target->css)
		told = told ?: without_trick(b, err, TALLY_TRICK_CGROUP) ?:
			       without_trick(b, err, TALLY_TRICK_CGROUP_DEPTH);
	return told ?: tally_builder_failed(b, err, cpu);
}

/*
 * As in perf's system call, exec_update_lock is held from the permission check to the
 * installation, so that exec() cannot change the task's rights in between.
 */
static int counter_get(struct tally_event *ev, struct tally_builder *b,
		       const struct perf_event_attr *attr,
		       const struct tally_target *target)
{
	/*
	 * A filter changes the counter, so a counter that may get a filter is
	 * not shared. perf checks the caller only when it creates an event, so
	 * a caller without CAP_PERFMON shares no counter.
	 */
	void *alone = may_be_filtered(b) || !perfmon_capable() || ev->gauge ||
		      b->flags & TALLY_BUILDER_OWN ? ev : NULL;
	struct tally_counter *c;
	int err, cpu = -1;

	err = tally_target_lock(target);
	if (err)
		return err;
	b->stage = TALLY_STAGE_PERMISSION;
	err = tally_builder_allow_task(b, target->task);
	if (!err) {
		b->stage = TALLY_STAGE_PERF;
		c = counter_at_best(ev, b, attr, target, ev->overflow ?: alone, &cpu);
		if (IS_ERR(c))
			err = counter_failed(b, attr, target, PTR_ERR(c), cpu);
	}
	if (!err) {
		ev->counter = c;
		c->gauge = ev->gauge;
		ev->slot_mask = c->slot_mask;
		ev->view_step = c->slot_mask ? sizeof(*ev->views) : 0;
		ev->missed = tally_counter_missed(c);
		list_add(&ev->user_node, &c->users);
		tally_counter_unlock(c);
	}
	tally_target_unlock(target);
	return err;
}

/*
 * Returns whether the attributes describe records. If so, a counting event
 * needs its output from the start: a ring that is mapped from its file receives
 * records of tasks and of other events. If not, tally_output_of() makes the
 * output when it is needed.
 */
static bool has_records(const struct perf_event_attr *attr)
{
	return attr->sample_type || attr->wakeup_events ||
	       attr->use_clockid || attr->write_backward || tally_task_records_kinds(attr);
}

/* On failure, the caller frees what was made so far: it destroys the event. */
static int overflow_new(struct tally_event *ev, struct tally_builder *b,
			const struct tally_target *target)
{
	struct tally_overflow *of;

	b->stage = TALLY_STAGE_PERF;
	if (b->flags & TALLY_BUILDER_RECORDS &&
	    (ev->attr.sample_period || has_records(&b->attr))) {
		if (tally_chains_alloc(&b->attr))
			return -ENOMEM;
		ev->output = tally_output_new(&b->attr, target, ev, GFP_KERNEL_ACCOUNT);
		if (!ev->output)
			return -ENOMEM;
	}
	if (!ev->attr.sample_period)
		return 0;
	of = tally_overflow_new(b, &ev->attr, target, ev,
				ev->output ? &ev->output->lost : NULL);
	if (IS_ERR(of))
		return PTR_ERR(of);
	tally_control_setup(of);
	ev->overflow = of;
	return b->ring_pages ? tally_recorder_new(ev, b, target) : 0;
}

/* Allocates an event and fills in the settings of its builder. */
static struct tally_event *event_alloc(const struct tally_builder *b,
				       const struct perf_event_attr *attr,
				       const struct tally_target *target)
{
	unsigned int nr = tally_target_slots(target);
	struct tally_event *ev;

	ev = kvzalloc(struct_size(ev, views, nr), GFP_KERNEL_ACCOUNT);
	if (!ev)
		return NULL;
	tally_event_init_views(ev, nr);
	INIT_LIST_HEAD(&ev->attachments);
	ev->owner = b->owner;
	ev->of_file = b->flags & TALLY_BUILDER_FILE;
	ev->named = (b->given & (TALLY_GIVEN_NAME | TALLY_GIVEN_EVENT)) ==
		    TALLY_GIVEN_NAME;
	ev->name_hidden = b->flags & TALLY_BUILDER_HIDE_NAME;
	ev->attr = *attr;
	ev->max_rate = b->max_rate;
	/* @attr has a period in the place of a clock's frequency. */
	if (!attr->freq && b->freq)
		ev->hz = b->freq;
	else if (!attr->freq && b->attr.freq && !b->period)
		ev->hz = b->attr.sample_freq;
	strscpy(ev->given, b->event, sizeof(ev->given));
	return ev;
}

static int give_name(struct tally_event *ev, struct tally_builder *b)
{
	int err = tally_registry_name(ev, b);

	if (!err)
		return 0;
	b->stage = TALLY_STAGE_SETTINGS;
	return tally_bad_in(b, TALLY_FIELD_NAME, err, "the name is taken");
}

/* Windows limit the overflows of an event with a budget. */
static u32 without_rate(const struct tally_builder *b)
{
	return b->window_ns ? TALLY_RATE_UNLIMITED : 0;
}

/* Returns whether samples have what a local read finds: times, or counts of other events. */
static bool samples_row(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_READ &&
	       attr->read_format & (PERF_FORMAT_TOTAL_TIME_ENABLED |
				    PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_GROUP);
}

static int give_counter(struct tally_event *ev, struct tally_builder *b,
			const struct tally_target *target)
{
	struct perf_event_attr counted = ev->attr;
	int err;

	/* A filter reads the tracepoint's record. */
	if (ev->overflow && may_be_filtered(b))
		counted.sample_type |= PERF_SAMPLE_RAW;
	err = find_gauge(ev) ?: counter_get(ev, b, &counted, target);
	if (!err && ev->counter->by_perf && samples_row(&b->attr))
		err = without_trick(b, -EOPNOTSUPP, TALLY_TRICK_TIMES) ?: -EOPNOTSUPP;
	if (!err && ev->overflow)
		tally_overflow_set_rate(ev->overflow, b->max_rate ?: without_rate(b),
					tally_counter_interrupts(ev->counter));
	return err;
}

static int give_budget(struct tally_event *ev, struct tally_builder *b)
{
	int err = b->window_ns ? tally_budget_new(ev, b->budget, b->window_ns) : 0;

	return without_trick(b, err, TALLY_TRICK_RELOAD) ?:
	       without_trick(b, err, TALLY_TRICK_TIMES) ?: err;
}

static int give_task_records(struct tally_event *ev, struct tally_builder *b)
{
	return ev->output ? tally_task_records_add(ev->output, &b->attr, b->account) : 0;
}

/* Files are many and short-lived: a folder is for those with a given name. */
static int give_folder(struct tally_event *ev, const struct tally_builder *b)
{
	return ev->of_file && !(b->given & TALLY_GIVEN_NAME) ? 0 : tally_folder_add(ev);
}

/* Enables the event. Returns 0 if it counts, EBUSY if not; ESRCH as tally_event_enable(). */
static int try_enable(struct tally_event *ev, struct tally_builder *b)
{
	int err = tally_event_enable(ev);

	if (err == -ESRCH)
		return err;
	return err || !tally_event_counts(ev) ? tally_build_busy(b, ev) : 0;
}

/*
 * Begins to try an event that is to stay disabled. Only the counter is switched
 * on: the event counts nothing in the trial, and no handler is called. Returns
 * 0, or ESRCH if the task has exited or the cgroup or the PMU is removed.
 * tally_trial_end() must follow, also after an error.
 */
int tally_trial_begin(struct tally_event *ev)
{
	struct tally_counter *c = ev->counter;
	bool exited;

	tally_counter_lock(c);
	tally_counter_on(c);
	exited = tally_counter_state(c, 0) == TALLY_STATE_EXITED;
	tally_counter_unlock(c);
	return exited ? -ESRCH : 0;
}

void tally_trial_end(struct tally_event *ev)
{
	tally_counter_lock(ev->counter);
	tally_counter_off(ev->counter);
	tally_counter_unlock(ev->counter);
	tally_budget_begun(ev->budget);
}

static int try_only(struct tally_event *ev, struct tally_builder *b)
{
	struct tally_counter *leader;
	int err;

	tally_counter_lock(ev->counter);
	leader = tally_group_idle_leader(ev->counter);
	if (leader)
		tally_counter_on(leader);
	tally_counter_unlock(ev->counter);
	err = tally_trial_begin(ev);
	if (!err && !tally_event_counts(ev))
		err = tally_build_busy(b, ev);
	tally_trial_end(ev);
	if (!leader)
		return err;
	tally_counter_lock(leader);
	tally_counter_off(leader);
	tally_counter_unlock(leader);
	return err;
}

static int start(struct tally_event *ev, struct tally_builder *b)
{
	if (b->flags & TALLY_BUILDER_REQUIRE)
		return b->attr.disabled ? try_only(ev, b) : try_enable(ev, b);
	if (!b->attr.disabled)
		tally_event_enable(ev);
	else if (b->attr.enable_on_exec)
		tally_event_wait_for_exec(ev);
	return 0;
}

static struct tally_event *build_on(struct tally_builder *b,
				    const struct perf_event_attr *attr,
				    const struct tally_target *target)
{
	struct tally_event *ev = event_alloc(b, attr, target);
	int err;

	if (!ev)
		return ERR_PTR(tally_builder_failed(b, -ENOMEM, -1));
	err = give_name(ev, b) ?: overflow_new(ev, b, target) ?: give_counter(ev, b, target) ?:
	      give_budget(ev, b) ?: give_task_records(ev, b) ?: give_folder(ev, b);
	/* Handlers may run from here on: the event is complete. */
	err = err ?: start(ev, b);
	if (err) {
		tally_event_destroy(ev);
		return ERR_PTR(tally_builder_failed(b, err, -1));
	}
	tally_registry_add(ev);
	return ev;
}

struct tally_event *tally_build(struct tally_builder *b)
{
	struct tally_event *ev;
	struct tally_target target;
	struct perf_event_attr attr;
	int err;

	if (tally_bad_ptr(b))
		return ERR_PTR(-EINVAL);
	might_sleep();
	b->stage = TALLY_STAGE_SETTINGS;
	err = tally_builder_check(b, &attr);
	if (err)
		return ERR_PTR(err);
	b->why[0] = '\0';
	b->stage = TALLY_STAGE_PERMISSION;
	err = tally_builder_allow(b, &attr);
	if (!err) {
		b->stage = TALLY_STAGE_TARGET;
		err = tally_builder_target(b, &target);
	}
	if (err) {
		ev = ERR_PTR(err);
	} else {
		ev = build_on(b, &attr, &target);
		if (target.task)
			put_task_struct(target.task);
		tally_cgroup_put(target.css);
	}
	/* The settings are valid: a second call with the same builder may succeed. */
	b->err = 0;
	return ev;
}
EXPORT_SYMBOL_TALLY(tally_build);
