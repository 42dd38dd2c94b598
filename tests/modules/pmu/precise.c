// SPDX-License-Identifier: GPL-2.0
/*
 * tally_precise: a PMU whose driver fills samples in, as those of precise events do. Each
 * interrupt is one period of each of its events on that CPU, and their samples have the
 * made-up values of made_up.h. perf and tally have the same events, so that their records
 * can be compared.
 *
 * config: fields of sample_type that the driver does not hand over
 * config1: 1: the samples are of user space, although the interrupt came in the kernel
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include "../made_up.h"
#include "pmu.h"

/* Events of one CPU at a time. */
#define PRECISE_EVENTS	8

/**
 * struct precise_cpu - the PMU on one CPU
 * @events: events by hw.idx; written by the CPU with interrupts disabled, read by its NMIs
 * @made: memory of the sample that overflows
 */
struct precise_cpu {
	struct perf_event *events[PRECISE_EVENTS];
	struct made_up made;
};

static DEFINE_PER_CPU(struct precise_cpu, precise_cpus);

static void precise_start(struct perf_event *event, int flags)
{
	WRITE_ONCE(event->hw.state, 0);
}

static void precise_stop(struct perf_event *event, int flags)
{
	WRITE_ONCE(event->hw.state, PERF_HES_STOPPED | PERF_HES_UPTODATE);
}

static int precise_add(struct perf_event *event, int flags)
{
	struct precise_cpu *cpu = this_cpu_ptr(&precise_cpus);
	unsigned int i;

	for (i = 0; i < PRECISE_EVENTS; i++)
		if (!cpu->events[i])
			break;
	if (i == PRECISE_EVENTS)
		return -EAGAIN;
	event->hw.idx = i;
	event->hw.state = flags & PERF_EF_START ? 0 : PERF_HES_STOPPED | PERF_HES_UPTODATE;
	WRITE_ONCE(cpu->events[i], event);
	return 0;
}

static void precise_del(struct perf_event *event, int flags)
{
	WRITE_ONCE(this_cpu_ptr(&precise_cpus)->events[event->hw.idx], NULL);
}

/* Only interrupts count. */
static void precise_read(struct perf_event *event)
{
}

static int precise_event_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	return is_sampling_event(event) ? 0 : -EINVAL;
}

static struct pmu precise_pmu = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_hw_context,
	/* Linux 6.1 complains of a second PMU without this. */
#ifdef PERF_PMU_CAP_HETEROGENEOUS_CPUS
	.capabilities = PERF_PMU_CAP_HETEROGENEOUS_CPUS,
#endif
	.event_init = precise_event_init,
	.add = precise_add,
	.del = precise_del,
	.start = precise_start,
	.stop = precise_stop,
	.read = precise_read,
};

/* The registers of the sample: those of the interrupt, but for the address. */
static void precise_regs(const struct perf_event *event, struct pt_regs *regs)
{
	bool user = event->attr.config1 & 1 && current->mm;

	if (user)
		*regs = *task_pt_regs(current);
	made_up_regs(regs);
	if (user)
		instruction_pointer_set(regs, made_up_user_ips[1]);
}

static void precise_overflow(struct perf_event *event, struct made_up *made,
			     const struct pt_regs *interrupted)
{
	struct perf_sample_data data;
	struct pt_regs regs = *interrupted;

	event->hw.last_period = event->hw.sample_period;
	local64_add(event->hw.last_period, &event->count);
	made_up_sample(made, &data, event, ~event->attr.config);
	precise_regs(event, &regs);
	pmi_overflow(event, &data, &regs);
}

void precise_interrupt(struct pt_regs *regs)
{
	struct precise_cpu *cpu = this_cpu_ptr(&precise_cpus);
	struct perf_event *event;
	unsigned int i;

	for (i = 0; i < PRECISE_EVENTS; i++) {
		event = READ_ONCE(cpu->events[i]);
		if (event && !READ_ONCE(event->hw.state))
			precise_overflow(event, &cpu->made, regs);
	}
}

int precise_init(void)
{
	return perf_pmu_register(&precise_pmu, "tally_precise", -1);
}

void precise_exit(void)
{
	perf_pmu_unregister(&precise_pmu);
}
