/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TARGET_H
#define TALLY_TARGET_H

#include <linux/cpumask.h>

struct task_struct;

/**
 * struct tally_target - what an event counts on
 * @task: the task; NULL for all tasks
 * @cpu: the CPU; -1 for all CPUs
 */
struct tally_target {
	struct task_struct *task;
	int cpu;
};

/* Number of slots of a counter: perf follows a task over the CPUs by itself. */
static inline unsigned int tally_target_slots(const struct tally_target *target)
{
	return target->task || target->cpu >= 0 ? 1 : nr_cpu_ids;
}

#endif /* TALLY_TARGET_H */
