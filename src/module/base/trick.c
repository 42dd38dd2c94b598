// SPDX-License-Identifier: GPL-2.0
/*
 * Tricks: what relies on how perf works inside, which perf promises to nobody.
 *
 * Each trick proves itself on the running kernel before its first use: on
 * events that are made for that, it has to give what perf's own functions give.
 * If it does not, it is off: a feature is refused, or perf does the work in a
 * slower way, and everything else goes on. An administrator switches tricks off
 * by the parameter without=.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "base/trick.h"

enum state { UNTRIED, WORKS, WRONG, OFF };

static const char *const states[] = { "untried", "works", "wrong", "off" };

/**
 * struct trick - a trick
 * @name: its name
 * @sentence: what does not work without it
 * @state: what is known of it; OFF, which only an administrator sets, never changes
 * @ns: duration of its proof, in nanoseconds
 */
struct trick {
	const char *name;
	const char *sentence;
	enum state state;
	u64 ns;
};

static struct trick tricks[TALLY_TRICKS] = {
	[TALLY_TRICK_TIMES] = {
		"times", "only perf reads counts, in calls that may sleep"
	},
	[TALLY_TRICK_TASK_CLOCK] = { "task-clock", "perf reads task-clocks" },
	[TALLY_TRICK_REGISTER] = { "register", "the driver of some PMU reads its counts" },
	[TALLY_TRICK_RELOAD] = {
		"reload", "a handler cannot begin a period at once, and there are no budgets"
	},
	[TALLY_TRICK_HAND_OVER] = {
		"hand-over", "an event that only counts cannot get a filter"
	},
	[TALLY_TRICK_GROUP] = { "group", "the members of a set are not on the PMU together" },
	[TALLY_TRICK_GROUP_SOFTWARE] = {
		"group-software", "the software members of a set are in no group"
	},
	[TALLY_TRICK_CGROUP] = { "cgroup", "cgroups cannot be counted on this kernel" },
	[TALLY_TRICK_CGROUP_DEPTH] = {
		"cgroup-depth", "cgroups that are deeper than perf has room for cannot be counted"
	},
	[TALLY_TRICK_CGROUP_CLOCK] = {
		"cgroup-clock", "the times of a cgroup are perf's, which may begin and end late"
	},
};

/* How often a proof is made at most, while it is wrong or something else disturbs it. */
#define TRIES	4

static int find(const char *name)
{
	int i;

	for (i = 0; i < TALLY_TRICKS; i++)
		if (!strcmp(tricks[i].name, name))
			return i;
	return -ENOENT;
}

/* Takes the parameter without=, a list of names, before any trick is tried. */
static int set_without(const char *value, const struct kernel_param *param)
{
	char *list = kstrdup(value, GFP_KERNEL), *rest = list, *name;
	int i = 0;

	if (!list)
		return -ENOMEM;
	while (i >= 0 && (name = strsep(&rest, ",\n"))) {
		if (!*name)
			continue;
		i = find(name);
		if (i >= 0)
			tricks[i].state = OFF;
		else
			pr_err("without=: there is no trick '%s'\n", name);
	}
	kfree(list);
	return i < 0 ? -EINVAL : 0;
}

static int show_without(char *buffer, const struct kernel_param *param)
{
	const char *separator = "";
	int i, len = 0;

	for (i = 0; i < TALLY_TRICKS; i++) {
		if (!tally_trick_is_forbidden(i))
			continue;
		len += sysfs_emit_at(buffer, len, "%s%s", separator, tricks[i].name);
		separator = ",";
	}
	return len + sysfs_emit_at(buffer, len, "\n");
}

static const struct kernel_param_ops without_ops = {
	.set = set_without,
	.get = show_without,
};

module_param_cb(without, &without_ops, NULL, 0444);
__MODULE_PARM_TYPE(without, "charp");
MODULE_PARM_DESC(without, "Tricks that are not used, separated by ',': the file tricks in debugfs has their names");

#ifdef TALLY_MUTANTS
int tally_mutated = -1;

static int set_mutant(const char *value, const struct kernel_param *param)
{
	tally_mutated = find(value);
	return tally_mutated < 0 ? -EINVAL : 0;
}

static const struct kernel_param_ops mutant_ops = {
	.set = set_mutant,
};

module_param_cb(mutant, &mutant_ops, NULL, 0);
__MODULE_PARM_TYPE(mutant, "charp");
MODULE_PARM_DESC(mutant, "Trick that is made wrong, for tests");
#endif

/**
 * tally_trick_note - record the result of a proof of a trick
 * @trick: the trick
 * @works: whether the trick gave what perf gives
 * @ns: duration of the proof, in nanoseconds
 *
 * The first proof decides. Only TALLY_TRICK_REGISTER is proved again, for each
 * PMU, and the first PMU that fails makes it wrong.
 *
 * Return: whether the trick works.
 */
bool tally_trick_note(enum tally_trick trick, bool works, u64 ns)
{
	struct trick *t = &tricks[trick];
	enum state before = cmpxchg(&t->state, UNTRIED, works ? WORKS : WRONG);

	if (before == UNTRIED)
		WRITE_ONCE(t->ns, ns);
	else if (before == WORKS && !works && trick == TALLY_TRICK_REGISTER)
		WRITE_ONCE(t->state, WRONG);
	if (before == UNTRIED && !works)
		pr_notice("%s: a trial on this kernel was wrong, so %s\n", t->name, t->sentence);
	return tally_trick_works(trick);
}

/**
 * tally_trick_try - prove a trick before its first use
 * @trick: the trick
 * @prove: returns 0 if the trick gives what perf gives, 1 if not, or an error
 *	if that could not be found out; EAGAIN if something else disturbed it
 * @data: argument of @prove
 *
 * A busy machine may disturb a proof. So a wrong or disturbed one is repeated,
 * up to TRIES in all, and the trick is off only if each was wrong.
 *
 * Context: Process context, may sleep.
 * Return: 0 if the trick works; EOPNOTSUPP if it is off; or the error of
 * @prove, and then the trick is tried again when it is used next.
 */
int tally_trick_try(enum tally_trick trick, int (*prove)(void *data), void *data)
{
	enum state state = READ_ONCE(tricks[trick].state);
	unsigned int tries = TRIES, wrong = 0;
	u64 begun;
	int ret;

	if (state != UNTRIED)
		return state == WORKS ? 0 : -EOPNOTSUPP;
	begun = ktime_get_ns();
	do {
		ret = prove(data);
		wrong += ret > 0;
	} while ((ret > 0 || ret == -EAGAIN) && --tries);
	if (ret < 0)
		return ret;
	if (ret && wrong < TRIES)
		return -EAGAIN;
	return tally_trick_note(trick, !ret, ktime_get_ns() - begun) ? 0 : -EOPNOTSUPP;
}

/* Returns whether a trick was tried, and works. Any context. */
bool tally_trick_works(enum tally_trick trick)
{
	return READ_ONCE(tricks[trick].state) == WORKS;
}

/* Returns whether an administrator has switched a trick off. Any context. */
bool tally_trick_is_forbidden(enum tally_trick trick)
{
	return READ_ONCE(tricks[trick].state) == OFF;
}

/* Returns whether a trick was switched off, or was wrong. Any context. */
bool tally_trick_is_off(enum tally_trick trick)
{
	return READ_ONCE(tricks[trick].state) >= WRONG;
}

/* Returns what does not work without a trick. */
const char *tally_trick_sentence(enum tally_trick trick)
{
	return tricks[trick].sentence;
}

/**
 * tally_trick_event - make an event for a proof
 * @config: PERF_COUNT_SW_*
 * @period: counts until the event overflows, which it must not; 0 for none
 * @cpu: CPU of the event; -1 for the current task
 *
 * Context: Process context, may sleep.
 * Return: the event, enabled; the error of perf_event_create_kernel_counter().
 */
struct perf_event *tally_trick_event(u64 config, u64 period, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = period,
	};

	return perf_event_create_kernel_counter(&attr, cpu, cpu < 0 ? current : NULL, NULL, NULL);
}

/* Shows each trick in a line: name, state, microseconds, and the sentence of one that is off. */
void tally_tricks_show(struct seq_file *m)
{
	const struct trick *t;
	enum state state;

	for (t = tricks; t < tricks + TALLY_TRICKS; t++) {
		state = READ_ONCE(t->state);
		seq_printf(m, "%s %s %llu", t->name, states[state],
			   div_u64(READ_ONCE(t->ns), NSEC_PER_USEC));
		if (state >= WRONG)
			seq_printf(m, " %s", t->sentence);
		seq_putc(m, '\n');
	}
}
