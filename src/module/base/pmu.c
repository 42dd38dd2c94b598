// SPDX-License-Identifier: GPL-2.0
/*
 * What only the running kernel knows: its PMUs by name, its tracepoints and
 * symbols, and how fast it lets anyone sample.
 *
 * perf exports neither its list of PMUs nor its limits. But an event shows its
 * PMU, whose device sits on the bus of all PMUs; and changing the period of an
 * event is checked against the limit. A dummy event, made for the moment, gives
 * both away.
 */
#include <linux/cpumask.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/trace_events.h>
#include "base/pmu.h"

static struct perf_event *dummy_create(u64 freq)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.freq = !!freq,
		.sample_freq = freq,
	};
	struct perf_event *event;
	int tries = 10;

	/* The CPU may go offline before the event is on it. */
	do {
		event = perf_event_create_kernel_counter(&attr,
							 raw_smp_processor_id(),
							 NULL, NULL, NULL);
	} while (PTR_ERR_OR_ZERO(event) == -ENODEV && --tries);
	return event;
}

/* How perf reads what is counted as it happens: there is nothing to do. */
static tally_read_fn read_nothing;

void tally_pmu_init(void)
{
	struct perf_event *dummy = dummy_create(0);

	/* Without it they are asked like all others. */
	if (IS_ERR(dummy))
		return;
	read_nothing = dummy->pmu->read;
	perf_event_release_kernel(dummy);
}

/**
 * tally_read_task_clock - bring a task-clock up to date
 * @event: perf's event, which is counting on this CPU
 *
 * perf's own way looks at two times of the context, one after the other, which
 * another CPU may change in between while it reads another event of the task. What
 * both of them differ by is always the same.
 */
void tally_read_task_clock(struct perf_event *event)
{
	u64 now = local_clock() + READ_ONCE(event->ctx->timeoffset);
	u64 before = local64_xchg(&event->hw.prev_count, now);

	local64_add(now - before, &event->count);
}

/* Whether its events' counts are always up to date. */
bool tally_pmu_is_still(const struct pmu *pmu)
{
	return pmu->read == read_nothing;
}

/* The PMU's device, with a reference. */
static struct device *pmu_find(const char *name)
{
	struct perf_event *dummy = dummy_create(0);
	struct device *dev = NULL;

	if (IS_ERR(dummy))
		return ERR_CAST(dummy);
	/* Clock PMUs have a marker in place of a device; this one has one. */
	if (dummy->pmu->dev && dummy->pmu->dev->bus)
		dev = bus_find_device_by_name(dummy->pmu->dev->bus, NULL, name);
	perf_event_release_kernel(dummy);
	return dev ?: ERR_PTR(-ENOENT);
}

/**
 * tally_pmu_type - the number of a PMU
 * @name: its name in /sys/bus/event_source/devices
 *
 * Context: Process context, may sleep.
 * Return: the number, which perf_event_attr::type takes; ENOENT if there is no
 * such PMU.
 */
int tally_pmu_type(const char *name)
{
	struct device *dev = pmu_find(name);
	const struct pmu *pmu;
	int ret = -ENOENT;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	/*
	 * A driver that takes its PMU away frees it after device_del(), which
	 * takes this lock first. perf gives a module no firmer hold of a PMU
	 * than an event of it; what is told is a number, which perf checks.
	 */
	device_lock(dev);
	pmu = device_is_registered(dev) ? dev_get_drvdata(dev) : NULL;
	if (pmu)
		ret = pmu->type;
	device_unlock(dev);
	put_device(dev);
	return ret;
}

/**
 * tally_pmu_check_freq - whether perf lets anyone sample so often
 * @hz: samples per second
 *
 * The limit is kernel.perf_event_max_sample_rate, which only perf's system call
 * checks at creation, and which no module can read.
 *
 * Context: Process context, may sleep.
 * Return: 0; EINVAL above the limit.
 */
int tally_pmu_check_freq(u64 hz)
{
	struct perf_event *dummy = dummy_create(1);
	int err;

	if (IS_ERR(dummy))
		return PTR_ERR(dummy);
	err = perf_event_period(dummy, hz);
	perf_event_release_kernel(dummy);
	return err;
}

/**
 * tally_tracepoint_id - the number of a tracepoint
 * @system: the folder below /sys/kernel/tracing/events
 * @event: its name there
 *
 * Context: Process context, may sleep.
 * Return: the number; ENOENT if there is no such tracepoint, EOPNOTSUPP in a
 * kernel without event tracing.
 */
int tally_tracepoint_id(const char *system, const char *event)
{
#ifdef CONFIG_EVENT_TRACING
	struct trace_event_file *file;
	int id;

	file = trace_get_event_file(NULL, system, event);
	if (IS_ERR(file))
		return PTR_ERR(file) == -EINVAL ? -ENOENT : PTR_ERR(file);
	id = file->event_call->event.type;
	trace_put_event_file(file);
	return id;
#else
	return -EOPNOTSUPP;
#endif
}

/**
 * tally_symbol_address - where a kernel symbol can be probed
 * @symbol: a function
 * @offset: bytes from its start
 * @addr: receives the address
 *
 * perf's kprobe PMU takes symbols from user memory only. A probe that is never
 * hit, and gone at once, resolves them for us by the same rules.
 *
 * Context: Process context, may sleep.
 * Return: 0; ENOENT if there is no such symbol, EINVAL if it may not be probed
 * there, EOPNOTSUPP in a kernel without kprobes.
 */
int tally_symbol_address(const char *symbol, u64 offset, u64 *addr)
{
	struct kprobe kp = {
		.symbol_name = symbol,
		.offset = offset,
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err;

	if (!IS_ENABLED(CONFIG_KPROBES))
		return -EOPNOTSUPP;
	if (offset > UINT_MAX)
		return -EINVAL;
	err = register_kprobe(&kp);
	if (err)
		return err;
	*addr = (unsigned long)kp.addr;
	unregister_kprobe(&kp);
	return 0;
}
