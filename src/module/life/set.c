// SPDX-License-Identifier: GPL-2.0
/*
 * Sets: several events on one target, built all or none, and read in one window.
 *
 * A set builds its members one by one. Those on the PMU of the cores become a
 * group of perf (counter/group.c). interval.c makes all begin and end together,
 * and section.c reads them on the CPU that counts.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "base/pmu.h"
#include "base/ptr.h"
#include "life/life.h"
#include "builder/builder.h"
#include "compat.h"
#include "event/event.h"
#include "event/overflow.h"
#include "set/publish.h"
#include "event/registry.h"
#include "set/set.h"
#include "set/budget.h"

/* Guarded by the lock of the registry. */
static LIST_HEAD(sets);

/* ---- building ---- */

static int refuse(const struct tally_builder *first, struct tally_builder *b)
{
	if (b->owner != first->owner)
		return tally_bad(b, -EINVAL,
				 "not of the module that the first member is of");
	if (b->attr.inherit)
		return tally_bad(b, -EOPNOTSUPP,
				 "a member of a set cannot be inherited: children count elsewhere");
	if (b->attr.enable_on_exec)
		return tally_bad(b, -EINVAL,
				 "a set is enabled as a whole, not by exec()");
	return 0;
}

/* Builds a disabled member, without a trial: the set tries all members together. */
static struct tally_event *build_member(const struct tally_builder *first,
					struct tally_builder *b, struct tally_event *leader,
					unsigned int more)
{
	bool disabled = b->attr.disabled;
	u16 flags = b->flags;
	struct tally_event *ev;
	int err;

	/* An earlier error of the builder is reported first: by tally_build(). */
	err = b->err ? 0 : refuse(first, b);
	if (err) {
		b->err = 0;
		return ERR_PTR(err);
	}
	b->attr.disabled = true;
	b->flags &= ~TALLY_BUILDER_REQUIRE;
	b->flags |= more;
	b->leader = leader;
	ev = tally_build(b);
	b->leader = NULL;
	b->attr.disabled = disabled;
	b->flags = flags;
	return ev;
}

static int add_member(struct tally_set *set, struct tally_event *ev, struct tally_builder *b)
{
	int err;

	if (!set->nr)
		tally_group_init(set, ev, NULL);
	else if (!tally_target_is_same(&ev->counter->target, &set->members[0]->counter->target))
		return tally_refuse(b, -EINVAL, "not on the target of the first member");
	mutex_lock(&set->lock);
	err = tally_group_join(set, ev, false);
	mutex_unlock(&set->lock);
	return err;
}

/* Returns whether members are of several PMUs: no group has room for all of them. */
static bool is_of_several(const struct tally_builder *builders, unsigned int n)
{
	struct tally_target target = { .cpu = 0 };
	const struct perf_event_attr *attr;
	bool any = false, of_cores;
	int kind, seen = -1;
	unsigned int i;

	for (i = 0; i < n; i++) {
		attr = &builders[i].attr;
		of_cores = attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
			   attr->type == PERF_TYPE_RAW || tally_pmu_is_core(attr->type);
		target.one_kind = builders[i].flags & TALLY_BUILDER_ONE_KIND;
		kind = tally_group_kind(attr, &target);
		/* A member that is not on a PMU, or alone there, leaves the others their room. */
		if (of_cores ? kind < 0 : attr->type < PERF_TYPE_MAX || tally_attr_is_kprobe(attr))
			continue;
		if (any && kind != seen)
			return true;
		any = true;
		seen = kind;
	}
	return false;
}

/*
 * Returns whether the set shares counters of another set that is not equal: the groups of its
 * counters have counters of no member, too, or are cut although the set is not weak.
 */
static bool shares_with_unequal(const struct tally_set *set, bool weak)
{
	struct tally_counter *c = set->members[0]->counter;
	unsigned int own = 0, total, i, j;
	bool cut;

	tally_counter_lock(c);
	total = tally_group_total(c->first, &cut);
	for (i = 0; i < set->nr; i++) {
		c = set->members[i]->counter;
		for (j = 0; j < i && set->members[j]->counter != c; j++)
			;
		own += j == i && c->kind >= 0;
	}
	tally_counter_unlock(c);
	return total != own || (cut && !weak);
}

/*
 * Builds the events of all members. Those of software come last: perf has them
 * in a group only if another event leads it. @own: the first one shares no
 * counter, so the set shares none with others.
 */
static int build_events(struct tally_builder *builders, unsigned int n, bool weak, bool own,
			struct tally_event **events)
{
	unsigned int more = own ? TALLY_BUILDER_OWN : 0;
	struct tally_event *ev, *leader = NULL;
	unsigned int i;
	int software;

	for (i = 0; i < n; i++)
		if (builders[i].err)
			return PTR_ERR(build_member(builders, &builders[i], NULL, 0));
	if (n > 1)
		more |= TALLY_BUILDER_MEMBER;
	if (weak)
		more |= TALLY_BUILDER_WEAK;
	for (software = 0; software <= 1; software++) {
		for (i = 0; i < n; i++) {
			if (tally_attr_is_software(&builders[i].attr) != software)
				continue;
			ev = build_member(builders, &builders[i], leader, more);
			if (IS_ERR(ev))
				return PTR_ERR(ev);
			events[i] = ev;
			leader = leader ?: ev;
			more &= ~TALLY_BUILDER_OWN;
		}
	}
	return 0;
}

static int build_members(struct tally_set *set, struct tally_builder *builders,
			 unsigned int n, bool weak, bool own)
{
	struct tally_event *events[TALLY_SET_MOST] = { };
	unsigned int i;
	int err;

	err = build_events(builders, n, weak, own, events);
	for (i = 0; i < n; i++) {
		err = err ?: add_member(set, events[i], &builders[i]);
		if (!err || !events[i])
			continue;
		tally_registry_del(events[i]);
		tally_event_destroy(events[i]);
	}
	return err;
}

/* Returns whether any member was counting when a slot was read. */
static bool any_counted(const struct tally_set *set, unsigned int slot)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		if (set->members[i]->counter->slots[slot].was_read)
			return true;
	return false;
}

/*
 * Returns whether a member counts, and was counting at the last read wherever
 * any member was. A member that is multiplexed with the others does not pass.
 */
static bool counts_with_others(const struct tally_set *set, const struct tally_counter *c)
{
	const struct tally_slot *s;
	unsigned int slot;

	for (slot = 0; slot < set->nr_slots; slot++) {
		s = &c->slots[slot];
		if (s->event && !tally_slot_rests(c, slot) && !s->was_read &&
		    any_counted(set, slot))
			return false;
	}
	return tally_counter_counts(c);
}

static int find_missing(struct tally_set *set)
{
	struct tally_counter *c = set->members[0]->counter;
	unsigned int i;

	tally_counter_lock(c);
	tally_set_read_rows(set, tally_set_all(set), 0, set->nr_slots - 1);
	for (i = 0; i < set->nr; i++)
		if (!counts_with_others(set, set->members[i]->counter))
			break;
	tally_counter_unlock(c);
	return i < set->nr ? i : -1;
}

/*
 * Checks that all members, which are enabled, count together. A CPU that comes
 * online or goes offline may be missing once, so the members are read again.
 */
static int all_counted(struct tally_set *set, struct tally_builder *builders)
{
	int missing = find_missing(set);

	if (missing >= 0)
		missing = find_missing(set);
	if (missing < 0)
		return 0;
	tally_build_busy(&builders[missing], set->members[missing]);
	builders[missing].err = 0;
	return -EBUSY;
}

/*
 * As in build.c: members have no count of the trial, and no handler is called.
 * But perf itself would send the signals of sigtrap.
 */
static int try_only(struct tally_set *set, struct tally_builder *builders)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < set->nr; i++)
		if (builders[i].attr.sigtrap)
			return tally_refuse(&builders[i], -EOPNOTSUPP,
					    "sigtrap: to try the set would send it");
	for (i = 0; i < set->nr; i++)
		err = tally_trial_begin(set->members[i]) ?: err;
	err = err ?: all_counted(set, builders);
	for (i = 0; i < set->nr; i++)
		tally_trial_end(set->members[i]);
	return err;
}

/* Disables perf's events: those of groups were created enabled. */
static void disable_unused(struct tally_set *set)
{
	struct tally_counter *c = set->members[0]->counter;
	unsigned int i;

	tally_counter_lock(c);
	for (i = 0; i < set->nr; i++) {
		c = set->members[i]->counter;
		c->unused = false;
		tally_counter_disable_if_off(c);
	}
	tally_counter_unlock(c);
}

static int start(struct tally_set *set, struct tally_builder *builders)
{
	bool require = false;
	int err = 0;
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		require |= builders[i].flags & TALLY_BUILDER_REQUIRE;
	if (builders[0].attr.disabled) {
		err = require ? try_only(set, builders) : 0;
		disable_unused(set);
	} else {
		err = tally_set_on(set, tally_set_all(set));
		if (!require)
			return 0;
		if (err != -ESRCH)
			err = all_counted(set, builders);
	}
	if (err == -ESRCH) {
		tally_builder_failed(&builders[0], err, -1);
		builders[0].err = 0;
	}
	return err;
}

static void destroy(struct tally_set *set)
{
	struct tally_publisher *p = NULL;
	LIST_HEAD(doomed);
	unsigned int i;

	if (set->nr)
		p = tally_publisher_end(set->members, set->nr);
	if (p)
		synchronize_rcu();
	tally_publisher_free(p);
	for (i = 0; i < set->nr; i++) {
		tally_registry_del(set->members[i]);
		list_add_tail(&set->members[i]->node, &doomed);
	}
	tally_events_destroy(&doomed);
	/* Without any member, the set was not set up. */
	if (set->members)
		tally_group_put(set);
	kvfree(set->views);
	kfree(set);
}

/* Returns whether perf has the events of all members, which are on one target, in one context. */
static bool has_one_context(const struct tally_set *set)
{
	struct tally_counter *c = set->members[0]->counter;
	const struct perf_event *first, *event;
	bool same = true;
	unsigned int i;

	tally_counter_lock(c);
	first = tally_counter_any_event(c);
	for (i = 0; i < set->nr; i++) {
		event = tally_counter_any_event(set->members[i]->counter);
		same &= first && event && tally_pmus_share_context(first->pmu, event->pmu);
	}
	tally_counter_unlock(c);
	return same;
}

/* Returns whether the register of a member is read in place of its driver. */
static bool has_register(const struct tally_set *set)
{
	unsigned int slot, i;

	for (i = 0; i < set->nr; i++)
		for (slot = 0; slot < set->nr_slots; slot++)
			if (READ_ONCE(set->members[i]->counter->slots[slot].width))
				return true;
	return false;
}

/*
 * Sets what sections read of a set that has its members: whether the fast path
 * may be taken, whether registers are read, and tally_set::views, where a
 * section finds all members' views of a CPU side by side. Returns 0 or ENOMEM.
 */
static int set_fill(struct tally_set *set)
{
	unsigned int slot, i;

	/* The fast path compares times of the context, and a cgroup has a clock of its own. */
	set->fast = set->only_counts && !set->members[0]->counter->target.css &&
		    has_one_context(set);
	set->views = kvcalloc(array_size(set->nr_slots, set->nr), sizeof(*set->views),
			      GFP_KERNEL_ACCOUNT);
	if (!set->views)
		return -ENOMEM;
	for (slot = 0; slot < set->nr_slots; slot++)
		for (i = 0; i < set->nr; i++)
			set->views[slot * set->nr + i] =
				set->fast ? &set->members[i]->views[slot] :
					    &tally_view_nowhere;
	set->views_size = set->nr_slots > 1 ? set->nr * sizeof(*set->views) : 0;
	set->singles = has_register(set) ? set->nr : set->nr & 3;
	return 0;
}

static struct tally_set *build(struct tally_builder *builders, unsigned int n, bool own)
{
	bool weak = is_of_several(builders, n), any_weak = weak;
	struct tally_set *set;
	unsigned int i;
	int err;

	for (i = 0; i < n; i++) {
		any_weak |= builders[i].flags & TALLY_BUILDER_WEAK;
		if (!builders[i].err)
			builders[i].why[0] = '\0';
	}
	set = kzalloc(struct_size(set, few, TALLY_SET_FEW), GFP_KERNEL_ACCOUNT);
	if (!set)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&set->node);
	err = build_members(set, builders, n, weak, own);
	if (!err && shares_with_unequal(set, any_weak))
		err = -EUSERS;
	if (!err)
		err = set_fill(set);
	if (!err) {
		mutex_lock(&set->lock);
		err = start(set, builders);
		mutex_unlock(&set->lock);
	}
	if (!err)
		return set;
	destroy(set);
	return ERR_PTR(err);
}

struct tally_set *tally_set_build(struct tally_builder *builders,
				  unsigned int n)
{
	struct tally_set *set;

	if (tally_bad_ptr(builders))
		return ERR_PTR(-EINVAL);
	might_sleep();
	if (!n || n > TALLY_SET_MOST)
		return ERR_PTR(-EINVAL);
	set = build(builders, n, false);
	/*
	 * A set shares all of its counters, or none: with EUSERS it would share
	 * some. With E2BIG its group is full, perhaps of an equal set that is
	 * ending. It gets counters of its own then.
	 */
	if (set == ERR_PTR(-EUSERS) || set == ERR_PTR(-E2BIG))
		set = build(builders, n, true);
	if (set == ERR_PTR(-E2BIG))
		return ERR_PTR(-EINVAL);
	if (IS_ERR(set))
		return set;
	mutex_lock(&tally_events_lock);
	list_add(&set->node, &sets);
	mutex_unlock(&tally_events_lock);
	return set;
}
EXPORT_SYMBOL_TALLY(tally_set_build);

int tally_set_failed(const struct tally_builder *builders, unsigned int n)
{
	unsigned int i;

	if (tally_bad_ptr(builders))
		return -1;
	for (i = 0; i < n; i++)
		if (builders[i].why[0])
			return i;
	return -1;
}
EXPORT_SYMBOL_TALLY(tally_set_failed);

int tally_set_publish(struct tally_set *set, u64 interval_ns)
{
	if (tally_bad_ptr(set))
		return -EINVAL;
	might_sleep();
	return tally_publish(set->members, set->nr, interval_ns);
}
EXPORT_SYMBOL_TALLY(tally_set_publish);

int tally_set_published(struct tally_set *set, int cpu,
			struct tally_count *counts, u64 *age_ns)
{
	if (tally_bad_ptr(set) || tally_bad_ptr(counts) || tally_bad_ptr(age_ns))
		return -EINVAL;
	return tally_published(set->members[0], cpu, set->nr, counts, age_ns);
}
EXPORT_SYMBOL_TALLY(tally_set_published);

/* ---- a set that was built ---- */

unsigned int tally_set_size(const struct tally_set *set)
{
	if (tally_bad_ptr(set))
		return 0;
	return set->nr;
}
EXPORT_SYMBOL_TALLY(tally_set_size);

struct tally_event *tally_set_event(struct tally_set *set, unsigned int index)
{
	return !tally_bad_ptr(set) && index < set->nr ? set->members[index] : NULL;
}
EXPORT_SYMBOL_TALLY(tally_set_event);

/* As tally_overflow_inside(), of all members. */
bool tally_set_inside(const struct tally_set *set)
{
	unsigned int i;

	for (i = 0; i < set->nr; i++)
		if (tally_overflow_inside(set->members[i]->overflow))
			return true;
	return false;
}

int tally_set_release(struct tally_set *set)
{
	if (IS_ERR_OR_NULL(set))
		return 0;
	if (tally_set_inside(set))
		return -EDEADLK;
	might_sleep();
	mutex_lock(&tally_events_lock);
	list_del(&set->node);
	mutex_unlock(&tally_events_lock);
	destroy(set);
	return 0;
}
EXPORT_SYMBOL_TALLY(tally_set_release);

/* Releases the sets that @owner, which is being unloaded, has left behind. */
void tally_sets_forget(struct module *owner)
{
	struct tally_set *set, *next;
	LIST_HEAD(left);

	mutex_lock(&tally_events_lock);
	list_for_each_entry_safe(set, next, &sets, node)
		if (set->owner == owner)
			list_move(&set->node, &left);
	mutex_unlock(&tally_events_lock);
	list_for_each_entry_safe(set, next, &left, node) {
		pr_warn("%s left a set of %u behind: released\n",
			module_name(owner), set->nr);
		destroy(set);
	}
}
