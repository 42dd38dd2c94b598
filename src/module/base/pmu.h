/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TALLY_PMU_H
#define TALLY_PMU_H

#include <linux/compiler.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct device;
struct module;
struct notifier_block;

typedef void (*tally_read_fn)(struct perf_event *event);

/* The most kinds of cores that tally_core_pmus() finds; it leaves further ones out. */
#define TALLY_CORE_PMUS 8

int tally_pmu_init(void);
void tally_read_task_clock(struct perf_event *event);
bool tally_pmu_is_still(const struct pmu *pmu);
int tally_pmu_type(const char *name);
bool tally_attr_is_of(const struct perf_event_attr *attr, const char *pmu);
bool tally_pmu_is_core(u32 type);
unsigned int tally_core_pmus(u32 *types);
struct device *tally_pmu_get(u32 type);
const struct pmu *tally_pmu_lock(struct device *dev);
int tally_pmus_watch(struct notifier_block *nb);
void tally_pmus_unwatch(struct notifier_block *nb);
int tally_pmus_walk(int (*fn)(struct device *dev, void *data), void *data);
int tally_pmu_check_freq(u64 hz);
int tally_pmu_max_stack(void);
int tally_tracepoint_id(const char *system, const char *event);
bool tally_tracepoint_is_uprobe(const char *system, const char *event);
int tally_symbol_address(const char *symbol, u64 offset, u64 *addr);
void tally_symbol_suggest(const char *symbol, char *text, size_t size);
char *tally_module_symbol(u64 addr, u64 *offset);
bool tally_symbol_is_in(const char *symbol, const struct module *mod);

/*
 * Returns whether perf has throttled the event until the next tick: the number
 * of its interrupts is then MAX_INTERRUPTS, which perf keeps to itself.
 */
static inline bool tally_pmu_throttled(const struct perf_event *event)
{
	return data_race(event->hw.interrupts) == ~0ULL; /* perf may write it now */
}

/* Returns whether the event is a clock: perf counts and samples clocks in nanoseconds only. */
static inline bool tally_attr_is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

static inline bool tally_attr_is_task_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       attr->config == PERF_COUNT_SW_TASK_CLOCK;
}

#endif /* TALLY_PMU_H */
