// SPDX-License-Identifier: GPL-2.0
/*
 * PMUs with one peculiarity each. All count events on CPUs.
 *
 * tally_gauge: its event "level" is a gauge: its count is a value that a test writes, and may
 * fall. "energy" is the same value as a difference, which has a scale and a unit. So are
 * "tuned" and "needy", which have a term that a caller can set, or has to set.
 * tally_locking: its read takes a lock, and asks lockdep whether interrupts are disabled.
 * tally_empty: its read does nothing; it counts only at overflows, so it refuses events
 * without a period. Its file "held" can be held while it is read, and its event "going" tells
 * the log if it is read while the module goes.
 * tally_aux: it has AUX buffers.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/spinlock.h>
#include "pmu.h"

static u64 level;
static DEFINE_RAW_SPINLOCK(lock);

static struct pmu gauge_pmu, locking_pmu, empty_pmu, aux_pmu;

#define GAUGE_LEVEL	1

static bool is_level(const struct perf_event *event)
{
	return event->pmu == &gauge_pmu && event->attr.config == GAUGE_LEVEL;
}

static void odd_update(struct perf_event *event)
{
	u64 now = event->pmu == &gauge_pmu ? READ_ONCE(level) : local_clock();
	u64 before;

	if (is_level(event)) {
		local64_set(&event->count, now);
		return;
	}
	before = local64_xchg(&event->hw.prev_count, now);
	local64_add(now - before, &event->count);
}

static void locking_read(struct perf_event *event)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	odd_update(event);
	raw_spin_unlock_irqrestore(&lock, flags);
}

/* As arm_dsu's: the read function relies on interrupts being disabled. */
static void locking_read_plain(struct perf_event *event)
{
	/* lockdep believes what it is told; interrupts are disabled in any case. */
	lockdep_assert_irqs_disabled();
	raw_spin_lock(&lock);
	odd_update(event);
	raw_spin_unlock(&lock);
}

static void empty_read(struct perf_event *event)
{
}

static void odd_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	if (event->pmu == &locking_pmu)
		locking_read(event);
	local64_set(&event->hw.prev_count,
		    event->pmu == &gauge_pmu ? READ_ONCE(level) : local_clock());
}

static void odd_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	odd_update(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int odd_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		odd_start(event, 0);
	return 0;
}

static void odd_del(struct perf_event *event, int flags)
{
	odd_stop(event, PERF_EF_UPDATE);
}

static int odd_event_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->pmu == &empty_pmu)
		return event->hw.sample_period ? 0 : -EINVAL;
	if (event->cpu < 0 || is_sampling_event(event))
		return -EINVAL;
	return 0;
}

static void *setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	return pages;
}

static void free_aux(void *aux)
{
}

static ssize_t text_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n",
			  container_of(attr, struct perf_pmu_events_attr, attr)->event_str);
}

#define EVENT_TEXT(_var, _name, _text)						\
	static struct perf_pmu_events_attr _var = {				\
		.attr = __ATTR(_name, 0444, text_show, NULL),			\
		.event_str = _text,						\
	}

EVENT_TEXT(level_event, level, "event=0x01");
EVENT_TEXT(level_snapshot, level.snapshot, "1");
EVENT_TEXT(level_unit, level.unit, "C");
EVENT_TEXT(level_scale, level.scale, "0.5");
EVENT_TEXT(energy_event, energy, "event=0x02,domain=1");
EVENT_TEXT(energy_unit, energy.unit, "Joules");
EVENT_TEXT(energy_scale, energy.scale, "2.3283064365386962890625e-10");
EVENT_TEXT(plain_event, plain, "event=0x3");
EVENT_TEXT(tuned_event, tuned, "event=0x4,ldlat=3");
EVENT_TEXT(tuned_unit, tuned.unit, "Bytes");
EVENT_TEXT(tuned_scale, tuned.scale, "64");
EVENT_TEXT(needy_event, needy, "event=0x5,ldlat=?");
EVENT_TEXT(late_event, late, "event=0x6,flag");
EVENT_TEXT(hidden_event, hidden, "event=0x7");

static struct attribute *gauge_events[] = {
	&level_event.attr.attr, &level_snapshot.attr.attr, &level_unit.attr.attr,
	&level_scale.attr.attr, &energy_event.attr.attr, &energy_unit.attr.attr,
	&energy_scale.attr.attr, &plain_event.attr.attr, &tuned_event.attr.attr,
	&tuned_unit.attr.attr, &tuned_scale.attr.attr, &needy_event.attr.attr, NULL
};

static const struct attribute_group gauge_events_group = {
	.name = "events", .attrs = gauge_events,
};

PMU_FORMAT_ATTR(event, "config:0-7");
PMU_FORMAT_ATTR(domain, "config1:4-5,8");
PMU_FORMAT_ATTR(ldlat, "config1:12-13,16-17,62");
PMU_FORMAT_ATTR(flag, "config2:63");
PMU_FORMAT_ATTR(strange, "config9:0-7");

static struct attribute *gauge_format[] = {
	&format_attr_event.attr, &format_attr_domain.attr, &format_attr_ldlat.attr,
	&format_attr_flag.attr, &format_attr_strange.attr, NULL
};

static const struct attribute_group gauge_format_group = {
	.name = "format", .attrs = gauge_format,
};

static const struct attribute_group *gauge_groups[] = {
	&gauge_events_group, &gauge_format_group, NULL
};

/* As drivers have them: events that perf adds when the device is there, some not at all. */
static struct attribute *gauge_late_events[] = {
	&late_event.attr.attr, &hidden_event.attr.attr, NULL
};

static umode_t late_is_visible(struct kobject *kobj, struct attribute *attr, int i)
{
	return attr == &hidden_event.attr.attr ? 0 : attr->mode;
}

static const struct attribute_group gauge_late_group = {
	.name = "events", .attrs = gauge_late_events, .is_visible = late_is_visible,
};

static const struct attribute_group *gauge_late_groups[] = { &gauge_late_group, NULL };

static bool hold_reads;
module_param(hold_reads, bool, 0644);
MODULE_PARM_DESC(hold_reads, "Y: reads of tally_empty's file held wait until it is N");

/* The PMU's device is not removed while somebody reads a file of it. */
static ssize_t held_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	/* A test that has ended early leaves no guest that hangs. */
	unsigned long end = jiffies + 90 * HZ;

	while (READ_ONCE(hold_reads) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return sysfs_emit(buf, "1\n");
}
static DEVICE_ATTR_RO(held);

static struct attribute *empty_attrs[] = { &dev_attr_held.attr, NULL };

static const struct attribute_group empty_group = { .attrs = empty_attrs };

static ssize_t going_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	if (!module_is_live(THIS_MODULE))
		pr_info("the driver is called although its module goes\n");
	return sysfs_emit(buf, "config=0x1\n");
}
static DEVICE_ATTR_RO(going);

static struct attribute *empty_events[] = { &dev_attr_going.attr, NULL };

static const struct attribute_group empty_events_group = {
	.name = "events", .attrs = empty_events,
};

static const struct attribute_group *empty_groups[] = {
	&empty_group, &empty_events_group, NULL
};

static const struct pmu pmu_template = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_invalid_context,
	.capabilities = PERF_PMU_CAP_NO_EXCLUDE,
	.event_init = odd_event_init,
	.add = odd_add,
	.del = odd_del,
	.start = odd_start,
	.stop = odd_stop,
	.read = odd_update,
};

static struct odd {
	struct pmu *pmu;
	const char *name;
} odds[] = {
	{ &gauge_pmu, "tally_gauge" },
	{ &locking_pmu, "tally_locking" },
	{ &empty_pmu, "tally_empty" },
	{ &aux_pmu, "tally_aux" },
};

static void unregister(unsigned int nr)
{
	while (nr--)
		perf_pmu_unregister(odds[nr].pmu);
}

int odd_init(struct dentry *dir)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(odds); i++)
		*odds[i].pmu = pmu_template;
	gauge_pmu.attr_groups = gauge_groups;
	gauge_pmu.attr_update = gauge_late_groups;
	locking_pmu.read = locking_read_plain;
	empty_pmu.read = empty_read;
	empty_pmu.attr_groups = empty_groups;
	aux_pmu.setup_aux = setup_aux;
	aux_pmu.free_aux = free_aux;
	aux_pmu.task_ctx_nr = perf_sw_context;
	aux_pmu.capabilities |= PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE;
	for (i = 0; i < ARRAY_SIZE(odds); i++) {
		err = perf_pmu_register(odds[i].pmu, odds[i].name, -1);
		if (err) {
			unregister(i);
			return err;
		}
	}
	debugfs_create_u64("level", 0600, dir, &level);
	return 0;
}

void odd_exit(void)
{
	unregister(ARRAY_SIZE(odds));
}
