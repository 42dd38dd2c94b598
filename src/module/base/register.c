// SPDX-License-Identifier: GPL-2.0
/*
 * Reads of the register that counts an event, in place of the driver's read function.
 *
 * The driver's function reads the register, and moves what it finds to the
 * event's count. To read only the register leaves the event alone, and costs
 * half as much. It relies on how drivers keep their counts, which perf does not
 * promise. So each PMU is tried first: an event that is made for the trial is
 * read both ways, on its CPU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include "base/register.h"
#include "base/trick.h"

/* Numbers of PMUs, which are small. */
#define NUMBERS	256

/* PMUs that have passed the trial, and that have failed, by number. */
static DECLARE_BITMAP(passed, NUMBERS);
static DECLARE_BITMAP(failed, NUMBERS);

/* Time of the next trial, after one that found nothing out. */
static unsigned long next_trial = INITIAL_JIFFIES;

/* How often a trial reads an event both ways. */
#define TRIALS	32

/* More than an event of one core counts between two reads, with interrupts disabled. */
#define MOST	100000000

/**
 * struct trial - events that are read both ways, one after the other
 * @event: the event
 * @width: as tally_slot::width
 * @counted: what the driver has counted between the first and the last read
 * @right: the register answers, and each read of the driver was between two of
 *	the register, which counted by itself, too
 */
struct trial {
	struct perf_event *event;
	u32 width;
	u64 counted;
	bool right;
};

/* Runs in interrupt on the event's CPU. */
static void compare(void *data)
{
	struct trial *t = data;
	struct perf_event *event = t->event;
	u64 before, count, after = 0, first = 0;
	bool counts = false;
	unsigned int i;

	if (READ_ONCE(event->oncpu) != smp_processor_id())
		return;
	for (i = 0; i < TRIALS; i++) {
		before = tally_register_count(event, &t->width);
		/* The driver was not called in between. */
		counts |= i && before > after;
		event->pmu->read(event);
		count = local64_read(&event->count);
		after = tally_register_count(event, &t->width);
		t->right &= before <= count && count <= after && after - before < MOST;
		first = i ? first : count;
	}
	t->counted += count - first;
	t->right &= tally_register_answers(&event->hw) && (counts || count == first);
}

/* An event without a period is interrupted when its register has counted half of its range. */
static unsigned int width_of(const struct perf_event *event)
{
	return fls64(event->hw.sample_period) + 1;
}

/* Returns whether the PMU is that of the cores, or of one kind of them. */
static bool is_of_cores(const struct pmu *pmu)
{
	return pmu->task_ctx_nr == perf_hw_context && pmu->type >= 0 && pmu->type < NUMBERS &&
	       !(pmu->capabilities & PERF_PMU_CAP_NO_INTERRUPT) &&
	       (pmu->type == PERF_TYPE_RAW || pmu->capabilities & PERF_PMU_CAP_EXTENDED_HW_TYPE);
}

/* Reads an event of a PMU both ways, if the PMU has it and a free counter. */
static void try_event(const struct pmu *pmu, int cpu, u64 config, struct trial *t)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config | (u64)pmu->type << PERF_PMU_TYPE_SHIFT,
	};

	t->event = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	if (IS_ERR(t->event))
		return;
	t->width = width_of(t->event);
	if (t->event->pmu == pmu && tally_register_exists(t->event))
		smp_call_function_single(cpu, compare, t, true);
	perf_event_release_kernel(t->event);
}

/*
 * Tries a PMU with two events that always count: arm64 has a register of its
 * own for cycles. If neither event counts, the trial has found nothing out, and
 * the next one is a second later at the earliest: others may have all counters,
 * or the CPU may be of another PMU.
 */
static void try(const struct pmu *pmu, int cpu)
{
	struct trial t = { .right = true };
	u64 begun = ktime_get_ns();

	try_event(pmu, cpu, PERF_COUNT_HW_INSTRUCTIONS, &t);
	try_event(pmu, cpu, PERF_COUNT_HW_CPU_CYCLES, &t);
	if (t.right && !t.counted) {
		WRITE_ONCE(next_trial, jiffies + HZ);
		return;
	}
	set_bit(pmu->type, t.right ? passed : failed);
	tally_trick_note(TALLY_TRICK_REGISTER, t.right, ktime_get_ns() - begun);
	if (!t.right)
		pr_notice("%s: the registers do not have what the driver counts, so the driver reads its events\n",
			  pmu->name);
}

/**
 * tally_register_width - find whether the register of an event can be read
 * @event: perf's event
 *
 * Context: Process context, may sleep.
 * Return: tally_slot::width, for tally_register_count(); 0 if only the driver can read the event.
 */
unsigned int tally_register_width(struct perf_event *event)
{
	const struct pmu *pmu = event->pmu;

	if (tally_trick_is_forbidden(TALLY_TRICK_REGISTER) || is_sampling_event(event) ||
	    !is_of_cores(pmu) || !tally_register_exists(event) || test_bit(pmu->type, failed))
		return 0;
	if (!test_bit(pmu->type, passed) && time_after_eq(jiffies, READ_ONCE(next_trial)))
		try(pmu, event->cpu < 0 ? raw_smp_processor_id() : event->cpu);
	return test_bit(pmu->type, passed) ? width_of(event) : 0;
}
