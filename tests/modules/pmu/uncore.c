// SPDX-License-Identifier: GPL-2.0
/*
 * Two PMUs that do not belong to a CPU. Each domain of them has a total, which a test
 * advances.
 *
 * tally_uncore: domain_cpus CPUs are one domain. The last one that is online reads its
 * counters; events for the others are moved there. When the reader goes offline, or, unless they
 * are to stay, a later CPU comes online, another CPU of the domain reads, and its events migrate.
 *
 * tally_foreign: each CPU is a domain. It refuses events on CPUs that it does not serve.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpuhotplug.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "pmu.h"

static unsigned int domain_cpus = 2;
module_param(domain_cpus, uint, 0444);
MODULE_PARM_DESC(domain_cpus, "CPUs in each domain of the PMU tally_uncore");

/**
 * struct domain - a domain of the PMU tally_uncore, and of a CPU for tally_foreign
 * @reader: CPU that reads the counters; -1 if all CPUs of the domain are offline
 * @total: what has happened in the domain
 */
struct domain {
	int reader;
	atomic64_t total;
};

/* Guards readers and totals. Held while events migrate, so that no total advances then. */
static DEFINE_MUTEX(domains_lock);
static struct domain *domains, *foreign;
static struct cpumask served;
static u32 refusal = ENOENT, hold, stay, migrations;
static bool moving, migrating, block, blocked;
static int online_state;

static struct pmu uncore_pmu, foreign_pmu;

static struct domain *domain_of(const struct perf_event *event)
{
	return event->pmu == &foreign_pmu ? &foreign[event->cpu] :
					    &domains[event->cpu / domain_cpus];
}

static void uncore_update(struct perf_event *event)
{
	u64 now = atomic64_read(&domain_of(event)->total);

	local64_add(now - local64_xchg(&event->hw.prev_count, now), &event->count);
}

static void uncore_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	local64_set(&event->hw.prev_count, atomic64_read(&domain_of(event)->total));
}

static void uncore_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	uncore_update(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int uncore_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		uncore_start(event, 0);
	return 0;
}

static void uncore_del(struct perf_event *event, int flags)
{
	uncore_stop(event, PERF_EF_UPDATE);
}

static int uncore_event_init(struct perf_event *event)
{
	struct domain *d;

	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	if (event->cpu < 0 || is_sampling_event(event))
		return -EINVAL;
	if (event->pmu == &foreign_pmu) {
		while (READ_ONCE(block)) {
			blocked = true;
			usleep_range(1000, 2000);
		}
		blocked = false;
		return cpumask_test_cpu(event->cpu, &served) ? 0 : -(int)READ_ONCE(refusal);
	}
	d = &domains[event->cpu / domain_cpus];
	if (READ_ONCE(d->reader) < 0)
		return -ENODEV;
	event->cpu = READ_ONCE(d->reader);
	return 0;
}

static const struct pmu pmu_template = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_invalid_context,
	.capabilities = PERF_PMU_CAP_NO_EXCLUDE | PERF_PMU_CAP_NO_INTERRUPT,
	.event_init = uncore_event_init,
	.add = uncore_add,
	.del = uncore_del,
	.start = uncore_start,
	.stop = uncore_stop,
	.read = uncore_update,
};

/*
 * An RCU reader, for which perf waits while it has the events on no CPU. It ends soon enough
 * that RCU does not complain.
 */
static DECLARE_COMPLETION(reading);
static struct task_struct *mover;

static void read_slowly(struct work_struct *work)
{
	unsigned long end = jiffies + 15 * HZ;

	rcu_read_lock();
	complete(&reading);
	while (READ_ONCE(hold) && time_before(jiffies, end)) {
		mdelay(1);
		/* perf has the events on no CPU when it waits for this reader. */
		if (READ_ONCE(moving) && READ_ONCE(mover->__state) & TASK_UNINTERRUPTIBLE)
			WRITE_ONCE(migrating, true);
	}
	rcu_read_unlock();
}

static DECLARE_WORK(slow_reader, read_slowly);

/*
 * @hotplug is the CPU that comes or goes, whose own thread runs this. The reader runs beside it:
 * the kernel moves tasks of a CPU that goes to the first CPU.
 */
static void move(struct domain *d, int next, unsigned int hotplug)
{
	int cpu = d->reader;

	WRITE_ONCE(d->reader, next);
	if (cpu < 0 || next < 0)
		return;
	if (hold) {
		mover = current;
		reinit_completion(&reading);
		schedule_work_on(hotplug ? hotplug - 1 : 1, &slow_reader);
		wait_for_completion(&reading);
	}
	WRITE_ONCE(moving, true);
	perf_pmu_migrate_context(&uncore_pmu, cpu, next);
	WRITE_ONCE(moving, false);
	WRITE_ONCE(migrating, false);
	migrations++;
}

static int uncore_online(unsigned int cpu)
{
	struct domain *d = &domains[cpu / domain_cpus];

	mutex_lock(&domains_lock);
	if (d->reader < 0 || (!stay && d->reader < (int)cpu))
		move(d, cpu, cpu);
	mutex_unlock(&domains_lock);
	return 0;
}

static int uncore_offline(unsigned int cpu)
{
	struct domain *d = &domains[cpu / domain_cpus];
	unsigned int other;
	int next = -1;

	mutex_lock(&domains_lock);
	for_each_online_cpu(other)
		if (other != cpu && other / domain_cpus == cpu / domain_cpus)
			next = other;
	if (d->reader == cpu)
		move(d, next, cpu);
	mutex_unlock(&domains_lock);
	return 0;
}

static int advance(void *data, u64 by)
{
	unsigned int cpu;

	mutex_lock(&domains_lock);
	for_each_possible_cpu(cpu) {
		if (cpu % domain_cpus == 0 && domains[cpu / domain_cpus].reader >= 0)
			atomic64_add(by, &domains[cpu / domain_cpus].total);
		if (cpumask_test_cpu(cpu, &served))
			atomic64_add(by, &foreign[cpu].total);
	}
	mutex_unlock(&domains_lock);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(advance_fops, NULL, advance, "%llu\n");

static int total(void *data, u64 *sum)
{
	unsigned int cpu;

	*sum = 0;
	for_each_possible_cpu(cpu)
		if (cpu % domain_cpus == 0)
			*sum += atomic64_read(&domains[cpu / domain_cpus].total);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(total_fops, total, NULL, "%llu\n");

static int total_of_domain(void *data, u64 *sum)
{
	struct domain *d = data;

	*sum = atomic64_read(&d->total);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(domain_fops, total_of_domain, NULL, "%llu\n");

static ssize_t served_write(struct file *file, const char __user *from, size_t size,
			    loff_t *pos)
{
	return cpumask_parselist_user(from, size, &served) ?: size;
}

static const struct file_operations served_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = served_write,
};

static void make_files(struct dentry *dir)
{
	char name[24];
	int cpu;

	debugfs_create_file_unsafe("advance", 0200, dir, NULL, &advance_fops);
	debugfs_create_file_unsafe("total", 0400, dir, NULL, &total_fops);
	for_each_possible_cpu(cpu) {
		snprintf(name, sizeof(name), "total%d", cpu);
		debugfs_create_file_unsafe(name, 0400, dir, &domains[cpu / domain_cpus],
					   &domain_fops);
	}
	debugfs_create_file("served", 0200, dir, NULL, &served_fops);
	debugfs_create_u32("refusal", 0600, dir, &refusal);
	debugfs_create_bool("block", 0600, dir, &block);
	debugfs_create_bool("blocked", 0400, dir, &blocked);
	debugfs_create_u32("hold", 0600, dir, &hold);
	debugfs_create_u32("stay", 0600, dir, &stay);
	debugfs_create_bool("migrating", 0400, dir, &migrating);
	debugfs_create_u32("migrations", 0400, dir, &migrations);
}

int uncore_init(struct dentry *dir)
{
	unsigned int i;
	int err = -ENOMEM;

	if (!domain_cpus)
		return -EINVAL;
	domains = kcalloc(nr_cpu_ids, sizeof(*domains), GFP_KERNEL);
	foreign = kcalloc(nr_cpu_ids, sizeof(*foreign), GFP_KERNEL);
	if (!domains || !foreign)
		goto free;
	for (i = 0; i < nr_cpu_ids; i++)
		domains[i].reader = -1;
	cpumask_set_cpu(0, &served);
	uncore_pmu = pmu_template;
	foreign_pmu = pmu_template;
	err = perf_pmu_register(&uncore_pmu, "tally_uncore", -1);
	if (err)
		goto free;
	err = perf_pmu_register(&foreign_pmu, "tally_foreign", -1);
	if (err)
		goto unregister_one;
	/* Without a reader, a domain has had no events so far. */
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "tally_pmu:online", uncore_online,
				uncore_offline);
	if (err < 0)
		goto unregister;
	online_state = err;
	make_files(dir);
	return 0;

unregister:
	perf_pmu_unregister(&foreign_pmu);
unregister_one:
	perf_pmu_unregister(&uncore_pmu);
free:
	kfree(domains);
	kfree(foreign);
	return err;
}

void uncore_exit(void)
{
	cpuhp_remove_state_nocalls(online_state);
	perf_pmu_unregister(&foreign_pmu);
	perf_pmu_unregister(&uncore_pmu);
	flush_work(&slow_reader);
	kfree(domains);
	kfree(foreign);
}
