// SPDX-License-Identifier: GPL-2.0
/*
 * The core PMU: each CPU has some counters, of which each counts any event. More events than
 * counters take turns, as perf rotates them. With raw=1 it has the number of the CPU's own
 * PMU, so that perf has cycles and instructions where the machine has no PMU. With hybrid=1
 * there are two core PMUs: one serves CPUs with even numbers, the other one the rest.
 *
 * Cycles and instructions are time, by the CPU's clock, whatever an event excludes. All other
 * generic events and those of caches count what a test writes, each another multiple of it.
 *
 * As x86's driver does for precise events and fixed counters, stop() acts at once, but start()
 * only changes a shadow of the registers, which pmu_enable() writes out. Who starts an event
 * without that has one that counts nothing and never overflows.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <asm/local.h>
#include "probes.h"
#include "pmu.h"

static unsigned int counters = 4;
module_param(counters, uint, 0444);
MODULE_PARM_DESC(counters, "counters of the core PMU on each CPU, up to 8");

static bool raw = IS_ENABLED(CONFIG_X86);
module_param(raw, bool, 0444);
MODULE_PARM_DESC(raw, "register the core PMU with the number of the CPU's own PMU");

static bool hybrid;
module_param(hybrid, bool, 0444);
MODULE_PARM_DESC(hybrid, "two core PMUs: one for even CPUs, one for the others");

static unsigned int max_precise = 3;
module_param(max_precise, uint, 0644);
MODULE_PARM_DESC(max_precise, "highest precise_ip that the core PMU accepts");

/* The PMU's interrupts never come, as where firmware or a hypervisor keeps them. */
static bool mute;

/* The levels that the last new event leaves out: a bit for each of exclude=. */
static u32 excluded;

/* A task that writes the total of its own CPU runs a guest. */
static bool vcpu;

/**
 * struct core_pmu - a core PMU
 * @pmu: perf's part
 * @cpus: CPUs that it serves
 */
struct core_pmu {
	struct pmu pmu;
	struct cpumask cpus;
};

/**
 * struct core_cpu - the core PMU on one CPU
 * @used: counters that have an event
 * @events: event that counts on each counter; NULL for a counter that is stopped. Written
 *	by the CPU with interrupts disabled, read by its NMIs.
 * @shadow: what pmu_enable() makes of @events
 * @disabled: the PMU is disabled, and makes no interrupt
 * @written: total of the event PMU_EVENT_WRITTEN, which a test sets
 * @reads: calls of the read function
 */
struct core_cpu {
	DECLARE_BITMAP(used, PMU_COUNTERS);
	struct perf_event *events[PMU_COUNTERS];
	struct perf_event *shadow[PMU_COUNTERS];
	bool disabled;
	atomic64_t written;
	local_t reads;
};

static DEFINE_PER_CPU(struct core_cpu, core_cpus);
static struct core_pmu cores[2];
static unsigned int nr_cores;

static const struct core_pmu *core_of(const struct pmu *pmu)
{
	return container_of(pmu, struct core_pmu, pmu);
}

/* Another one for each generic event, and for each event of a cache. */
static u64 multiple_of(u64 config)
{
	return config >= PMU_EVENT_GENERIC ? 1 + (config & 0xff) : 1;
}

static u64 core_now(const struct perf_event *event)
{
	switch (event->hw.config) {
	case PMU_EVENT_CYCLES:
		return local_clock();
	case PMU_EVENT_INSTRUCTIONS:
		return local_clock() / 2;
	default:
		return atomic64_read(&this_cpu_ptr(&core_cpus)->written) *
		       multiple_of(event->hw.config);
	}
}

/* An NMI may come between any two steps: the sum of all differences is right all the same. */
static void core_update(struct perf_event *event)
{
	u64 before, now;

	do {
		before = local64_read(&event->hw.prev_count);
		now = core_now(event);
	} while (local64_cmpxchg(&event->hw.prev_count, before, now) != before);
	local64_add(now - before, &event->count);
	local64_sub(now - before, &event->hw.period_left);
}

/* Begins the next period if this one is over. perf may have set another period. */
static bool core_next_period(struct perf_event *event)
{
	struct hw_perf_event *hw = &event->hw;
	s64 left = local64_read(&hw->period_left);

	if (left > 0)
		return false;
	hw->last_period = hw->sample_period;
	left += hw->sample_period;
	/* Overflows that came without an interrupt are one. */
	local64_set(&hw->period_left, left > 0 ? left : (s64)hw->sample_period);
	return true;
}

static void core_start(struct perf_event *event, int flags)
{
	struct hw_perf_event *hw = &event->hw;

	pmi_in(PMU_IN_START);
	WARN_ON_ONCE(!(hw->state & PERF_HES_STOPPED));
	if (hw->sample_period)
		core_next_period(event);
	local64_set(&hw->prev_count, core_now(event));
	hw->state = 0;
	this_cpu_ptr(&core_cpus)->shadow[hw->idx] = event;
	pmi_in(PMU_IN_START);
}

static void core_disable(struct pmu *pmu)
{
	WRITE_ONCE(this_cpu_ptr(&core_cpus)->disabled, true);
}

static void core_enable(struct pmu *pmu)
{
	struct core_cpu *cpu = this_cpu_ptr(&core_cpus);
	unsigned int i;

	for (i = 0; i < counters; i++)
		WRITE_ONCE(cpu->events[i], cpu->shadow[i]);
	WRITE_ONCE(cpu->disabled, false);
}

/* Whether the registers let the event count. */
static bool core_counts(const struct perf_event *event)
{
	return READ_ONCE(this_cpu_ptr(&core_cpus)->events[event->hw.idx]) == event;
}

static void core_stop(struct perf_event *event, int flags)
{
	struct hw_perf_event *hw = &event->hw;

	pmi_in(PMU_IN_STOP);
	if (hw->state & PERF_HES_STOPPED)
		return;
	hw->state = PERF_HES_STOPPED;
	if (core_counts(event))
		core_update(event);
	WRITE_ONCE(this_cpu_ptr(&core_cpus)->events[hw->idx], NULL);
	this_cpu_ptr(&core_cpus)->shadow[hw->idx] = NULL;
	hw->state |= PERF_HES_UPTODATE;
	pmi_in(PMU_IN_STOP);
}

static int core_add(struct perf_event *event, int flags)
{
	struct core_cpu *cpu = this_cpu_ptr(&core_cpus);
	unsigned int i;

	pmi_in(PMU_IN_ADD);
	i = find_first_zero_bit(cpu->used, counters);
	if (i >= counters)
		return -EAGAIN;
	__set_bit(i, cpu->used);
	event->hw.idx = i;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		core_start(event, PERF_EF_RELOAD);
	perf_event_update_userpage(event);
	pmi_in(PMU_IN_ADD);
	return 0;
}

static void core_del(struct perf_event *event, int flags)
{
	pmi_in(PMU_IN_DEL);
	core_stop(event, PERF_EF_UPDATE);
	__clear_bit(event->hw.idx, this_cpu_ptr(&core_cpus)->used);
	perf_event_update_userpage(event);
	pmi_in(PMU_IN_DEL);
}

static void core_read(struct perf_event *event)
{
	local_inc(&this_cpu_ptr(&core_cpus)->reads);
	pmi_in(PMU_IN_READ);
	if (!(event->hw.state & PERF_HES_STOPPED) && core_counts(event))
		core_update(event);
	pmi_in(PMU_IN_READ);
}

/* Numbers caches, operations and results from 0 in one row. */
static int cache_config(u64 cache, u64 *config)
{
	u64 id = cache & 0xff, op = cache >> 8 & 0xff, result = cache >> 16 & 0xff;

	if (id >= PERF_COUNT_HW_CACHE_MAX || op >= PERF_COUNT_HW_CACHE_OP_MAX ||
	    result >= PERF_COUNT_HW_CACHE_RESULT_MAX)
		return -EINVAL;
	*config = PMU_EVENT_CACHE | (id * PERF_COUNT_HW_CACHE_OP_MAX + op) *
				    PERF_COUNT_HW_CACHE_RESULT_MAX | result;
	return 0;
}

static int core_config(const struct perf_event *event, u64 *config)
{
	if (event->attr.type == event->pmu->type) {
		*config = event->attr.config;
		return 0;
	}
	if (!(raw || hybrid))
		return -ENOENT;
	if (event->attr.type == PERF_TYPE_HW_CACHE)
		return cache_config(event->attr.config & U32_MAX, config);
	if (event->attr.type != PERF_TYPE_HARDWARE)
		return -ENOENT;
	switch (event->attr.config & U32_MAX) {
	case PERF_COUNT_HW_CPU_CYCLES:
	case PERF_COUNT_HW_REF_CPU_CYCLES:
		*config = PMU_EVENT_CYCLES;
		return 0;
	case PERF_COUNT_HW_INSTRUCTIONS:
		*config = PMU_EVENT_INSTRUCTIONS;
		return 0;
	default:
		*config = PMU_EVENT_GENERIC | (event->attr.config & 0xff);
		return (event->attr.config & U32_MAX) < PERF_COUNT_HW_MAX ? 0 : -ENOENT;
	}
}

/* As drivers do: a group with more events of this PMU than counters never counts. */
static bool core_group_fits(const struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling;
	unsigned int nr = 1;

	if (leader == event)
		return true;
	nr += leader->pmu == event->pmu;
	for_each_sibling_event(sibling, leader)
		nr += sibling->pmu == event->pmu;
	return nr <= counters;
}

static int core_event_init(struct perf_event *event)
{
	u64 config;
	int err = core_config(event, &config);

	if (err)
		return err;
	if (event->cpu >= 0 && !cpumask_test_cpu(event->cpu, &core_of(event->pmu)->cpus))
		return -ENOENT;
	if (has_branch_stack(event))
		return -EOPNOTSUPP;
	if (event->attr.precise_ip > max_precise)
		return -EOPNOTSUPP;
	if (!core_group_fits(event))
		return -EINVAL;
	if (config == PMU_EVENT_METRIC && event->group_leader->attr.config != PMU_EVENT_SLOTS)
		return -EINVAL;
	event->hw.config = config;
	excluded = event->attr.exclude_user | event->attr.exclude_kernel << 1 |
		   event->attr.exclude_hv << 2 | event->attr.exclude_idle << 3 |
		   event->attr.exclude_host << 4 | event->attr.exclude_guest << 5;
	return 0;
}

#ifdef TALLY_HAVE_ONE_CONTEXT
static bool core_filter(struct pmu *pmu, int cpu)
{
	return !cpumask_test_cpu(cpu, &core_of(pmu)->cpus);
}
#else
static int core_filter_match(struct perf_event *event)
{
	return cpumask_test_cpu(smp_processor_id(), &core_of(event->pmu)->cpus);
}
#endif

static ssize_t cpus_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%*pbl\n",
			  cpumask_pr_args(&core_of(dev_get_drvdata(dev))->cpus));
}
static DEVICE_ATTR_RO(cpus);

static struct attribute *hybrid_attrs[] = { &dev_attr_cpus.attr, NULL };
static const struct attribute_group hybrid_group = { .attrs = hybrid_attrs };

PMU_FORMAT_ATTR(event, "config:0-7");
PMU_FORMAT_ATTR(umask, "config:8-15");

static struct attribute *format_attrs[] = {
	&format_attr_event.attr, &format_attr_umask.attr, NULL
};

static const struct attribute_group format_group = { .name = "format", .attrs = format_attrs };

static ssize_t text_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n",
			  container_of(attr, struct perf_pmu_events_attr, attr)->event_str);
}

static struct perf_pmu_events_attr written_event = {
	.attr = __ATTR(written, 0444, text_show, NULL), .event_str = "event=0x01",
};

static struct perf_pmu_events_attr written_scale = {
	.attr = __ATTR(written.scale, 0444, text_show, NULL), .event_str = "4",
};

static struct attribute *events_attrs[] = {
	&written_event.attr.attr, &written_scale.attr.attr, NULL
};

static const struct attribute_group events_group = { .name = "events", .attrs = events_attrs };

/* The first one is for hybrid PMUs. */
static const struct attribute_group *core_groups[] = {
	&hybrid_group, &format_group, &events_group, NULL
};

static const struct pmu core_pmu = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_hw_context,
	/* Such kernels have one PMU without this, and complain of a second one for ever. */
#ifdef PERF_PMU_CAP_HETEROGENEOUS_CPUS
	.capabilities = PERF_PMU_CAP_HETEROGENEOUS_CPUS,
#endif
	.pmu_disable = core_disable,
	.pmu_enable = core_enable,
	.event_init = core_event_init,
	.add = core_add,
	.del = core_del,
	.start = core_start,
	.stop = core_stop,
	.read = core_read,
#ifdef TALLY_HAVE_ONE_CONTEXT
	.filter = core_filter,
#else
	.filter_match = core_filter_match,
#endif
};

/* Called in NMI, or with interrupts disabled where there are none. */
void core_interrupt(struct pt_regs *regs)
{
	struct core_cpu *cpu = this_cpu_ptr(&core_cpus);
	struct perf_sample_data data;
	struct perf_event *event;
	unsigned int i;

	if (READ_ONCE(mute) || READ_ONCE(cpu->disabled))
		return;
	for (i = 0; i < counters; i++) {
		event = READ_ONCE(cpu->events[i]);
		if (!event || !event->hw.sample_period)
			continue;
		core_update(event);
		if (!core_next_period(event))
			continue;
		perf_sample_data_init(&data, 0, event->hw.last_period);
		pmi_overflow(event, &data, regs);
	}
}

static void here(void *unused)
{
	pmi();
}

void core_set(int cpu, u64 total)
{
	atomic64_set(&per_cpu(core_cpus, cpu).written, total);
}
EXPORT_SYMBOL_GPL(core_set);

/*
 * The CPU is interrupted, so that its events overflow. The events of a caller that runs there
 * stay on the PMU in between.
 */
int core_write(int cpu, u64 total)
{
	int err;

	preempt_disable();
	core_set(cpu, total);
	err = smp_call_function_single(cpu, here, NULL, true);
	preempt_enable();
	return err;
}
EXPORT_SYMBOL_GPL(core_write);

/* The task that writes may look like one that runs a guest of KVM. */
static int written_set(void *data, u64 total)
{
	int err;

	if (READ_ONCE(vcpu))
		current->flags |= PF_VCPU;
	err = core_write((long)data, total);
	current->flags &= ~PF_VCPU;
	return err;
}

static int written_get(void *data, u64 *total)
{
	*total = atomic64_read(&per_cpu(core_cpus, (long)data).written);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(written_fops, written_get, written_set, "%llu\n");

static int reads_get(void *data, u64 *sum)
{
	u64 nr = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		nr += local_read(&per_cpu(core_cpus, cpu).reads);
	*sum = nr;
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(reads_fops, reads_get, NULL, "%llu\n");

static int replace_set(void *data, u64 value);

DEFINE_DEBUGFS_ATTRIBUTE(replace_fops, NULL, replace_set, "%llu\n");

static int core_register(const char *name, int type, unsigned int odd)
{
	struct core_pmu *core = &cores[nr_cores];
	int cpu, err;

	core->pmu = core_pmu;
	core->pmu.attr_groups = hybrid ? core_groups : core_groups + 1;
	for_each_possible_cpu(cpu)
		if (!hybrid || cpu % 2 == odd)
			cpumask_set_cpu(cpu, &core->cpus);
	if (hybrid)
		core->pmu.capabilities |= PERF_PMU_CAP_EXTENDED_HW_TYPE;
	err = perf_pmu_register(&core->pmu, name, type);
	if (!err)
		nr_cores++;
	return err;
}

int core_init(struct dentry *dir)
{
	int type = raw ? PERF_TYPE_RAW : -1;
	char name[24];
	int cpu, err;

	if (!counters || counters > PMU_COUNTERS)
		return -EINVAL;
	for_each_possible_cpu(cpu) {
		snprintf(name, sizeof(name), "written%d", cpu);
		debugfs_create_file_unsafe(name, 0600, dir, (void *)(long)cpu, &written_fops);
	}
	debugfs_create_file_unsafe("reads", 0400, dir, NULL, &reads_fops);
	debugfs_create_file_unsafe("replace", 0200, dir, NULL, &replace_fops);
	debugfs_create_bool("mute", 0600, dir, &mute);
	debugfs_create_bool("vcpu", 0600, dir, &vcpu);
	debugfs_create_u32("excluded", 0400, dir, &excluded);
	if (!hybrid)
		return core_register(raw ? "cpu" : "tally_core", type, 0);
	err = core_register("tally_big", type, 0) ?: core_register("tally_little", -1, 1);
	if (err)
		core_exit();
	return err;
}

/* The PMU goes, and another one gets its number. */
static int replace_set(void *data, u64 value)
{
	core_exit();
	return core_register("tally_other", raw ? PERF_TYPE_RAW : -1, 0);
}

void core_exit(void)
{
	while (nr_cores)
		perf_pmu_unregister(&cores[--nr_cores].pmu);
}
