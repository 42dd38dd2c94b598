/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_TARGET_H
#define TALLY_TARGET_H

#include <linux/cpumask.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>

/**
 * struct tally_target - what an event counts on
 * @task: the task; NULL for all tasks
 * @css: perf's state of the cgroup whose tasks count; NULL for all tasks
 * @cpu: the CPU; -1 for all CPUs
 * @one_kind: a raw event counts only on the one kind of cores that perf asks for it
 */
struct tally_target {
	struct task_struct *task;
	struct cgroup_subsys_state *css;
	int cpu;
	bool one_kind;
};

/* Returns whether two targets are the same tasks on the same CPUs. */
static inline bool tally_target_is_same(const struct tally_target *a,
					const struct tally_target *b)
{
	return a->task == b->task && a->css == b->css && a->cpu == b->cpu;
}

/* Number of slots of a counter: perf follows a task over the CPUs by itself. */
static inline unsigned int tally_target_slots(const struct tally_target *target)
{
	return target->task || target->cpu >= 0 ? 1 : nr_cpu_ids;
}

/*
 * Keeps the task out of exec(), which may change what the caller may see of it,
 * and take perf's events off it. Returns 0, or EINTR.
 */
static inline int tally_target_lock(const struct tally_target *target)
{
	if (!target->task)
		return 0;
	return down_read_interruptible(&target->task->signal->exec_update_lock);
}

static inline void tally_target_unlock(const struct tally_target *target)
{
	if (target->task)
		up_read(&target->task->signal->exec_update_lock);
}

#endif /* TALLY_TARGET_H */
