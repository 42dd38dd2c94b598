/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TARGET_H
#define TALLY_TARGET_H

#include <linux/cpumask.h>

struct task_struct;

/**
 * struct tally_target - whom to count
 * @task: one task; NULL counts whatever runs on the CPU
 * @cpu: one CPU; -1 for any CPU the task runs on, or, without a task, all CPUs
 */
struct tally_target {
	struct task_struct *task;
	int cpu;
};

static inline unsigned int tally_target_slots(const struct tally_target *target)
{
	return target->task || target->cpu >= 0 ? 1 : nr_cpu_ids;
}

#endif /* TALLY_TARGET_H */
