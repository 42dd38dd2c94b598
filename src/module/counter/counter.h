/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_COUNTER_H
#define TALLY_COUNTER_H

#include <linux/perf_event.h>
#include <tally/tally.h>
#include "counter/slot.h"

struct cgroup_subsys_state;
struct cpumask;
struct work_struct;

/**
 * struct tally_counter_stats - numbers of all counters
 * @counters: number of counters
 * @perf_events: number of perf's events
 * @repairs: number of events whose totals were banked because their CPU went offline
 * @repair_errors: number of failed attempts to create an event for a CPU that has come online
 */
struct tally_counter_stats {
	unsigned long counters;
	unsigned long perf_events;
	unsigned long repairs;
	unsigned long repair_errors;
};

/* Flags of tally_counter_get(). */
#define TALLY_COUNTER_AT_ONCE	BIT(0)	/* the caller enables the counter next */
#define TALLY_COUNTER_MEMBER	BIT(1)	/* the caller enables or disables it with all of its set */
#define TALLY_COUNTER_WEAK	BIT(2)	/* a group that has no room for it goes without it */
#define TALLY_COUNTER_ALONE	BIT(3)	/* in no group */

/* counter.c */
struct tally_counter *tally_counter_get(const struct perf_event_attr *attr,
					const struct tally_target *target,
					struct tally_counter *first,
					perf_overflow_handler_t handler,
					void *context, unsigned int flags, int *err_cpu);
void tally_counter_end(struct tally_counter *c);
void tally_counter_put(struct tally_counter *c);
bool tally_counter_trylock(struct tally_counter *c);
void tally_counters_visit(void (*fn)(struct tally_counter *c, const struct cpumask *changed),
			  const struct cpumask *changed);
void tally_counter_stats(struct tally_counter_stats *stats);
void tally_slot_stats(struct tally_counter_stats *stats);

/* hotplug.c */
int tally_hotplug_init(struct work_struct *after_repair);
void tally_hotplug_exit(void);

/* control.c */
void tally_counter_on(struct tally_counter *c);
void tally_counter_on_exec(struct tally_counter *c);
void tally_counter_enable_slots(struct tally_counter *c);
void tally_counter_off(struct tally_counter *c);
void tally_counter_leave(struct tally_counter *c);
void tally_counter_disable_if_off(struct tally_counter *c);
void tally_counter_pause(struct tally_counter *c, unsigned int slot, bool disarm);
void tally_counter_go_on(struct tally_counter *c, unsigned int slot, bool disarmed);
int tally_counter_set_period(struct tally_counter *c, u64 period);
int tally_counter_modify(struct tally_counter *c, const struct perf_event_attr *attr);
const struct perf_event *tally_counter_any_event(const struct tally_counter *c);
bool tally_counter_interrupts(struct tally_counter *c);
bool tally_counter_counts(const struct tally_counter *c);
bool tally_counter_ended(const struct tally_counter *c);
pid_t tally_counter_pid(const struct tally_counter *c);
enum tally_state tally_counter_state(const struct tally_counter *c, unsigned int slot);
u64 tally_counter_missed(const struct tally_counter *c);
unsigned int tally_counter_served(struct tally_counter *c, unsigned int *online);
bool tally_counter_serves(const struct tally_counter *c, unsigned int slot);

/* read.c */
bool tally_counters_read(struct tally_counter *const *counters, unsigned int nr,
			 unsigned int first, unsigned int last);
void tally_counter_read(struct tally_counter *c);
void tally_counter_read_slot(struct tally_counter *c, unsigned int slot);

/* trial.c */
int tally_times_work(void);
int tally_times_compare(struct perf_event *event, int cpu);
int tally_task_clock_works(void);
int tally_hand_over_works(void);

/* reload.c */
int tally_reload_works(void);
int tally_reload_here(struct tally_counter *c, int cpu, u64 period, u64 rest);

/* forward.c */

/**
 * struct tally_forward - what an event of perf gets from tally_forward()
 * @task: the task, as for perf_event_create_kernel_counter(); NULL for a CPU
 * @css: perf's state of the cgroup; NULL for all tasks
 * @leader: perf's event whose group the event joins; NULL for none
 */
struct tally_forward {
	struct task_struct *task;
	struct cgroup_subsys_state *css;
	struct perf_event *leader;
};

struct perf_event *tally_forward(struct perf_event_attr attr, int cpu,
				 const struct tally_forward *how,
				 perf_overflow_handler_t handler, void *context);
void tally_forward_exit(void);

/* group.c */
int tally_group_kind(const struct perf_event_attr *attr, const struct tally_target *target);
int tally_group_check(struct tally_counter *first, const struct perf_event_attr *wanted, int kind);
bool tally_attr_is_software(const struct perf_event_attr *attr);
unsigned int tally_group_room(struct tally_counter *first, int kind);
unsigned int tally_group_total(const struct tally_counter *first, bool *cut);
void tally_group_enter(struct tally_counter *c, bool weak);
void tally_group_settle(struct tally_counter *c, const struct perf_event *event);
void tally_group_exit(struct tally_counter *c);
struct tally_counter *tally_group_idle_leader(const struct tally_counter *c);
bool tally_counter_awaits_exec(const struct tally_counter *c);
void tally_group_catch_up(const struct tally_counter *c, unsigned int slot,
			  struct perf_event *event);
struct perf_event *tally_sibling_create(const struct tally_counter *c, int cpu,
					struct perf_event_attr attr);

/* cgroup.c */
void tally_cgroup_enable(struct perf_event *event, struct cgroup_subsys_state *css);
struct perf_event *tally_cgroup_create(const struct perf_event_attr *attr, int cpu,
				       const struct tally_forward *how,
				       perf_overflow_handler_t handler, void *context);

#endif /* TALLY_COUNTER_H */
