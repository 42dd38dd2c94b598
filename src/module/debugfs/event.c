// SPDX-License-Identifier: GPL-2.0
/*
 * The files of an event in debugfs: a folder named after the event.
 *
 * value: the count as perf stat prints it, with scale and unit; of a gauge, the last value. The
 *	file exists if the PMU names a scale or a unit, or a gauge.
 * per_cpu: CPU, state, count, nanoseconds enabled and running, and nanoseconds that were not
 *	counted after the CPU came online.
 *
 * An event with a period also has these files:
 *
 * period: CPU, and the period in effect, which changes if the event has a frequency.
 * precise: the precision that the PMU accepted, 0 to 3.
 * overflows, guest: numbers of overflows, and of those in a guest of KVM.
 * skipped, missed: numbers of overflows without a call of the direct handler, and of the others.
 * lost, throttled: number of lost records; how often the event was throttled.
 * handler_ns, handler_max_ns: nanoseconds in all calls of handlers, and in the longest one.
 * budget: CPU, number of its current window, counts in that (- for an event in error), number of
 *	windows that have ended, number of windows that were exceeded, the current one included,
 *	and the numbers of the latest exceeded ones (- if there is none).
 */
#include <linux/debugfs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "base/alias.h"
#include "base/count.h"
#include "counter/counter.h"
#include "debugfs/debugfs.h"
#include "event/event.h"
#include "event/overflow.h"
#include "set/read.h"
#include "set/budget.h"

static int count_show(struct seq_file *m, void *v)
{
	struct tally_count count;
	int err = tally_event_read(m->private, &count);

	if (err)
		return err;
	seq_printf(m, "%llu\n", count.value);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(count);

/* Only events that their PMU describes have this file. */
static int value_show(struct seq_file *m, void *v)
{
	struct tally_event *ev = m->private;
	char text[TALLY_DECIMAL_LEN];
	struct tally_alias alias;
	struct tally_count count;
	u64 value;
	int err;

	err = tally_alias_find(&ev->attr, ev->given, &alias) ?:
	      tally_event_read_scaled(ev, &count, &value);
	if (err)
		return err;
	if (alias.snapshot)
		value = tally_event_read_gauge(ev);
	err = tally_count_decimal(value, alias.scale[0] ? alias.scale : "1", text, sizeof(text));
	if (err)
		return err;
	seq_puts(m, text);
	if (alias.unit[0])
		seq_printf(m, " %s", alias.unit);
	seq_putc(m, '\n');
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(value);

static int state_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%s\n", tally_state_name(tally_event_state(m->private)));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

/* Shows the CPU of a slot. */
static void show_cpu(struct seq_file *m, const struct tally_counter *c, unsigned int slot)
{
	if (tally_counter_on_all_cpus(c))
		seq_printf(m, "%u ", slot);
	else if (c->target.cpu >= 0)
		seq_printf(m, "%d ", c->target.cpu);
	else
		seq_puts(m, "any ");
}

static void show_slot(struct seq_file *m, struct tally_event *ev,
		      unsigned int slot)
{
	struct tally_count count;

	if (tally_event_read_slot(ev, slot, false, &count))
		return;
	show_cpu(m, ev->counter, slot);
	seq_printf(m, "%s ", tally_state_name(count.state));
	if (count.state == TALLY_STATE_ERROR)
		seq_puts(m, "-");
	else
		seq_printf(m, "%llu", count.value);
	seq_printf(m, " %llu %llu %llu\n", count.enabled_ns, count.running_ns,
		   READ_ONCE(ev->views[slot].gap_ns));
}

static int per_cpu_show(struct seq_file *m, void *v)
{
	struct tally_event *ev = m->private;
	unsigned int i;

	seq_puts(m, "cpu state count enabled_ns running_ns late_ns\n");
	for (i = 0; i < ev->counter->nr_slots; i++)
		show_slot(m, ev, i);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(per_cpu);

static void show_period(struct seq_file *m, struct tally_event *ev, unsigned int slot)
{
	u64 period;

	if (!tally_counter_serves(ev->counter, slot))
		return;
	show_cpu(m, ev->counter, slot);
	period = tally_event_slot_period(ev, slot);
	if (period)
		seq_printf(m, "%llu\n", period);
	else
		seq_puts(m, "-\n");
}

static int period_show(struct seq_file *m, void *v)
{
	struct tally_event *ev = m->private;
	unsigned int i;

	tally_counter_lock(ev->counter);
	for (i = 0; i < ev->counter->nr_slots; i++)
		show_period(m, ev, i);
	tally_counter_unlock(ev->counter);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(period);

static int precise_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%u\n", tally_event_precise(m->private));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(precise);

static int spec_show(struct seq_file *m, void *v)
{
	return tally_spec_show(m, m->private);
}
DEFINE_SHOW_ATTRIBUTE(spec);

/* A file that shows a member of the @type that @read fills in. */
#define DEFINE_SHOW_MEMBER(member, type, read)					\
static int event_##member##_show(struct seq_file *m, void *v)			\
{										\
	type all;								\
										\
	read(m->private, &all);							\
	seq_printf(m, "%llu\n", all.member);					\
	return 0;								\
}										\
DEFINE_SHOW_ATTRIBUTE(event_##member)

DEFINE_SHOW_MEMBER(enabled_ns, struct tally_count, tally_event_read_all);
DEFINE_SHOW_MEMBER(running_ns, struct tally_count, tally_event_read_all);

#define DEFINE_SHOW_OVERFLOWS(member)						\
DEFINE_SHOW_MEMBER(member, struct tally_overflow_stats, tally_event_overflow_stats)

DEFINE_SHOW_OVERFLOWS(overflows);
DEFINE_SHOW_OVERFLOWS(skipped);
DEFINE_SHOW_OVERFLOWS(lost);
DEFINE_SHOW_OVERFLOWS(throttled);
DEFINE_SHOW_OVERFLOWS(handler_ns);
DEFINE_SHOW_OVERFLOWS(handler_max_ns);
DEFINE_SHOW_OVERFLOWS(guest);

/* Shows overflows that deferred handlers missed, plus hits that the event's kernel probe missed. */
static int missed_show(struct seq_file *m, void *v)
{
	struct tally_overflow_stats stats = { };
	struct tally_event *ev = m->private;

	tally_event_overflow_stats(ev, &stats);
	seq_printf(m, "%llu\n", stats.missed + tally_event_missed(ev));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(missed);

/* Returns 1 if the PMU says how the event's count is to be shown, and else 0 or ENOMEM. */
static int is_described(const struct tally_event *ev)
{
	/* The cpu PMU may have the type PERF_TYPE_RAW: only a '/' names that PMU itself. */
	bool of_pmu = ev->attr.type >= PERF_TYPE_MAX || strchr(ev->given, '/');
	struct tally_alias alias;
	int err = of_pmu ? tally_alias_find(&ev->attr, ev->given, &alias) : -ENOENT;

	if (err)
		return err == -ENOMEM ? err : 0;
	return alias.scale[0] || alias.unit[0] || alias.snapshot;
}

/* Shows each CPU's present window and its count, and how many windows ended and were exceeded. */
static int budget_show(struct seq_file *m, void *v)
{
	struct tally_event *ev = m->private;
	struct tally_budget_stats stats;
	unsigned int i;
	u64 used;
	int cpu;

	seq_puts(m, "cpu window used windows exceeded latest\n");
	for_each_possible_cpu(cpu) {
		if (tally_event_budget(ev, cpu, &stats) || !stats.window)
			continue;
		seq_printf(m, "%d %llu ", cpu, stats.window);
		if (tally_budget_used(ev, cpu, &used))
			seq_puts(m, "-");
		else
			seq_printf(m, "%llu", used);
		seq_printf(m, " %llu %llu", stats.windows, stats.exceeded);
		for (i = 0; i < TALLY_BUDGET_LATEST && stats.latest[i]; i++)
			seq_printf(m, "%c%llu", i ? ',' : ' ', stats.latest[i]);
		seq_puts(m, i ? "\n" : " -\n");
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(budget);

static int has_budget(const struct tally_event *ev)
{
	return !!ev->budget;
}

static int has_overflows(const struct tally_event *ev)
{
	return !!ev->overflow;
}

static int can_miss(const struct tally_event *ev)
{
	return ev->overflow || ev->counter->kprobe;
}

/*
 * Gives an event its folder in @parent. Returns 0; or an error, with no part of
 * the folder left.
 */
int tally_debugfs_add_event(struct tally_event *ev, struct dentry *parent)
{
	static const struct {
		const char *name;
		const struct file_operations *fops;
		int (*wanted)(const struct tally_event *ev);
	} files[] = {
		{ "count", &count_fops },
		{ "value", &value_fops, is_described },
		{ "enabled_ns", &event_enabled_ns_fops },
		{ "running_ns", &event_running_ns_fops },
		{ "state", &state_fops },
		{ "per_cpu", &per_cpu_fops },
		{ "spec", &spec_fops },
		{ "period", &period_fops, has_overflows },
		{ "precise", &precise_fops, has_overflows },
		{ "overflows", &event_overflows_fops, has_overflows },
		{ "skipped", &event_skipped_fops, has_overflows },
		{ "missed", &missed_fops, can_miss },
		{ "lost", &event_lost_fops, has_overflows },
		{ "throttled", &event_throttled_fops, has_overflows },
		{ "handler_ns", &event_handler_ns_fops, has_overflows },
		{ "handler_max_ns", &event_handler_max_ns_fops, has_overflows },
		{ "budget", &budget_fops, has_budget },
		{ "guest", &event_guest_fops, has_overflows },
	};
	int ret = 0;
	size_t i;

	ev->dir = debugfs_create_dir(kbasename(ev->name), parent);
	if (IS_ERR(ev->dir))
		return PTR_ERR(ev->dir);
	for (i = 0; i < ARRAY_SIZE(files) && ret >= 0; i++) {
		ret = files[i].wanted ? files[i].wanted(ev) : 1;
		if (ret > 0)
			ret = PTR_ERR_OR_ZERO(debugfs_create_file(files[i].name, 0444, ev->dir, ev,
								  files[i].fops));
	}
	if (ret >= 0)
		return 0;
	debugfs_remove(ev->dir);
	ev->dir = NULL;
	return ret;
}
