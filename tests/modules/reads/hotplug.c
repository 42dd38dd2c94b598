// SPDX-License-Identifier: GPL-2.0
/*
 * All kinds of reads, until the module is unloaded, while CPUs go offline and come
 * online: no count ever falls.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "reads.h"

#define MOST_CPUS 64

static struct tally_event *clock;
static struct tally_set *set;
static struct tally_builder builders[3];
static struct task_struct *threads[4];
static atomic_t done[4], back[4], bad[4];

static void note(int which, u64 value, u64 *last)
{
	atomic_inc(&done[which]);
	if (value == TALLY_NOT_COUNTED)
		return;
	if (value < *last)
		atomic_inc(&back[which]);
	*last = value;
}

/* Reads the sums over all CPUs. */
static int read_sums(void *unused)
{
	struct tally_count count, counts[3];
	struct tally_set_window window;
	u64 last[4] = { };
	int i;

	while (!kthread_should_stop()) {
		if (tally_event_read(clock, &count))
			atomic_inc(&bad[0]);
		note(0, count.value, &last[3]);
		tally_set_read(set, &window, counts);
		for (i = 0; i < 3; i++)
			note(0, counts[i].value, &last[i]);
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* Reads the published counts of each CPU. */
static int read_published(void *unused)
{
	static u64 last[MOST_CPUS][3];
	struct tally_count counts[3];
	int cpu, i, err;
	u64 age;

	while (!kthread_should_stop()) {
		for_each_possible_cpu(cpu) {
			err = tally_set_published(set, cpu, counts, &age);
			if (err && err != -ENODATA)
				atomic_inc(&bad[1]);
			for (i = 0; i < 3 && !err; i++)
				note(1, counts[i].value, &last[cpu][i]);
		}
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* Reads the count of this CPU. */
static int read_here(void *unused)
{
	static u64 last[MOST_CPUS];
	u64 value;
	int err;

	while (!kthread_should_stop()) {
		preempt_disable();
		err = tally_event_read_local(clock, &value);
		if (!err)
			note(2, value, &last[smp_processor_id()]);
		preempt_enable();
		if (err && err != -EAGAIN)
			atomic_inc(&bad[2]);
		usleep_range(10, 200);
	}
	return 0;
}

/*
 * While this module is unloaded, the kernel refuses new probes in it. So a CPU that comes
 * online then gets no event, and a section there returns ENODEV.
 */
static int measure_sections(void *unused)
{
	TALLY_SECTION(section, 3);
	bool refused;
	u64 out[3];
	int err, cpu;

	while (!kthread_should_stop()) {
		preempt_disable();
		cpu = smp_processor_id();
		err = tally_section_begin(set, &section);
		if (!err) {
			steps(3);
			err = tally_section_end(set, &section, out);
		}
		preempt_enable();
		atomic_add(!err, &done[3]);
		refused = err == -ENODEV && !module_is_live(THIS_MODULE);
		if (err ? err != -EAGAIN && !refused : out[0] != 3) {
			if (!atomic_fetch_inc(&bad[3]))
				tap_line(&tap, "# a section on CPU %d: error %d, %llu steps",
					 cpu, err, err ? 0 : out[0]);
		}
		usleep_range(10, 200);
	}
	return 0;
}

static int (*const all[])(void *) = {
	read_sums, read_published, read_here, measure_sections
};

static const char *const names[] = {
	"sums", "published counts", "local reads", "sections"
};

void hotplug_stop(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (!IS_ERR_OR_NULL(threads[i]))
			kthread_stop(threads[i]);
	tally_set_release(set);
	tally_event_release(clock);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		tap_ok(&tap, atomic_read(&done[i]) > 100, "%s: %u", names[i],
		       atomic_read(&done[i]));
		tap_is(&tap, atomic_read(&back[i]), 0, "none went back");
		tap_is(&tap, atomic_read(&bad[i]), 0, "none failed");
	}
	tap_plan(&tap);
}

int hotplug_start(void)
{
	struct tally_builder *b = &builders[1];
	int i, err;

	tally_builder_init(b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	clock = tally_build(b);
	if (IS_ERR(clock))
		return PTR_ERR(clock);
	tally_builder_init(&builders[0], TALLY_KPROBE(step_point()));
	tally_builder_init(&builders[2],
			   TALLY_SOFTWARE(PERF_COUNT_SW_CONTEXT_SWITCHES));
	set = tally_set_build(builders, 3);
	err = PTR_ERR_OR_ZERO(set) ?: tally_set_publish(set, 200000);
	for (i = 0; i < ARRAY_SIZE(all) && !err; i++) {
		threads[i] = kthread_run(all[i], NULL, "tally_reads/%d", i);
		err = PTR_ERR_OR_ZERO(threads[i]);
	}
	if (err)
		hotplug_stop();
	return err;
}
