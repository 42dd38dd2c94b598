// SPDX-License-Identifier: GPL-2.0
/*
 * Counts a loop of known length: n more turns are exactly 2 * n more instructions. The
 * test is for machines whose PMU counts each instruction, such as QEMU's with icount: for arm64
 * and riscv64 with one CPU, for x86-64 the one of scripts/emulator.
 *
 *	insmod tally_loop.ko n=1000
 *	cat /sys/kernel/debug/tally_loop/results
 *
 * A window enables the event, runs the loop, and disables the event. It includes a part
 * of enabling and disabling, which is the same each time. So two windows with different n
 * differ by the instructions of the loop. The same test is made with a set that also has
 * cycles, and with sections of that set.
 *
 * On x86-64 all CPUs do so at a time, too, with short and with long loops. In the middle of a
 * window, cpu_relax() lets the emulator run another CPU.
 *
 * On riscv64 and x86-64 a longer loop is sampled, by tally and then by perf: each overflows once
 * in every period that it counts. The two take turns, as QEMU's PMU for riscv64 counts
 * instructions for one event at a time.
 *
 * An interrupt in a window would not cost the same each time. So a window begins right
 * after a tick. If the kernel still handled an interrupt, or switched to another task,
 * the window is thrown away whatever its count is, and measured again.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kernel_stat.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <tally/tally.h>
#include "tap.h"
#include "kernels.h"

static unsigned long n = 1000;
module_param(n, ulong, 0444);
MODULE_PARM_DESC(n, "How often the loop turns (1000)");

#define RUNS		10
#define WARM_UPS	20
#define TRIES		100

static struct tap tap;

#if defined(CONFIG_ARM64) || defined(CONFIG_RISCV) || defined(CONFIG_X86_64)
#define LOOP_LENGTH	2

/* Not inlined, so that both windows of a pair run the same instructions. */
static noinline void turn(unsigned long turns)
{
#ifdef CONFIG_ARM64
	asm volatile("1:	subs	%0, %0, #1\n"
		     "		b.ne	1b\n" : "+r" (turns) : : "cc");
#elif defined(CONFIG_RISCV)
	asm volatile("1:	addi	%0, %0, -1\n"
		     "		bnez	%0, 1b\n" : "+r" (turns));
#else
	asm volatile("1:	dec	%0\n"
		     "		jnz	1b\n" : "+r" (turns) : : "cc");
#endif
}

static void loop(unsigned long turns)
{
	unsigned long flags;

	local_irq_save(flags);
	turn(1);
	cpu_relax();
	turn(turns);
	local_irq_restore(flags);
}

/* An interrupt or another task changes one of these. */
struct marks {
	unsigned long interrupts;
	unsigned long switches;
#ifdef CONFIG_X86_64
	/* The kernel counts interrupts of the local APIC, such as its timer, here. */
	u8 local[sizeof(irq_stat)];
#endif
};

static void mark(struct marks *m)
{
	m->interrupts = kstat_cpu_irqs_sum(raw_smp_processor_id());
	m->switches = current->nvcsw + current->nivcsw;
#ifdef CONFIG_X86_64
	memcpy(m->local, raw_cpu_ptr(&irq_stat), sizeof(m->local));
#endif
}

static bool are_same(const struct marks *before, const struct marks *after)
{
#ifdef CONFIG_X86_64
	if (memcmp(before->local, after->local, sizeof(before->local)))
		return false;
#endif
	return before->interrupts == after->interrupts && before->switches == after->switches;
}

/* Windows that are open now, and the most that were open at a time. */
static atomic_t open_windows;
static unsigned int most_windows;

static void wait_for_tick(void)
{
	unsigned long before = jiffies;

	while (READ_ONCE(jiffies) == before)
		cpu_relax();
}

/* Measures a window. Returns whether nothing else ran; otherwise @count means nothing. */
static bool window(struct tally_event *ev, unsigned long turns, u64 *count)
{
	struct tally_count c;
	struct marks before, after;
	unsigned int open;

	tally_event_reset(ev);
	wait_for_tick();
	open = atomic_inc_return(&open_windows);
	if (open > READ_ONCE(most_windows))
		WRITE_ONCE(most_windows, open);
	mark(&before);
	tally_event_enable(ev);
	loop(turns);
	tally_event_disable(ev);
	mark(&after);
	atomic_dec(&open_windows);
	if (tally_event_read(ev, &c))
		return false;
	*count = c.value;
	return are_same(&before, &after);
}

static bool quiet_window(struct tally_event *ev, unsigned long turns,
			 u64 *count, unsigned int *thrown_away)
{
	unsigned int tries;

	for (tries = 0; tries < TRIES; tries++) {
		if (window(ev, turns, count))
			return true;
		(*thrown_away)++;
		/* Lets other tasks run before the next window. */
		msleep(20);
	}
	return false;
}

static void measure_pair(struct tally_event *ev, unsigned int i)
{
	unsigned int thrown_away = 0;
	u64 empty = 0, full = 0;

	if (!quiet_window(ev, 1, &empty, &thrown_away) ||
	    !quiet_window(ev, 1 + n, &full, &thrown_away)) {
		tap_ok(&tap, false, "run %u: no window without interrupts", i);
		return;
	}
	tap_ok(&tap, full - empty == (u64)n * LOOP_LENGTH,
	       "run %u: %lu turns are %llu instructions", i, n,
	       (u64)n * LOOP_LENGTH);
	tap_line(&tap, "# counted %llu - %llu = %llu; windows thrown away: %u",
		 full, empty, full - empty, thrown_away);
}

/* Measures a window of a set; @figures receives cycles and instructions. */
static bool set_window(struct tally_set *set, unsigned long turns, u64 *figures)
{
	struct tally_set_window w;
	struct tally_count c[2];
	struct marks before, after;

	tally_set_reset(set);
	wait_for_tick();
	mark(&before);
	tally_set_enable(set);
	loop(turns);
	tally_set_disable(set);
	mark(&after);
	tally_set_read(set, &w, c);
	figures[0] = c[0].value;
	figures[1] = c[1].value;
	return w.ratio_valid && are_same(&before, &after);
}

/* Measures a section of a set; @figures receives cycles and instructions. */
static bool section(struct tally_set *set, unsigned long turns, u64 *figures)
{
	TALLY_SECTION(section, 2);
	struct marks before, after;
	int err;

	wait_for_tick();
	mark(&before);
	preempt_disable();
	err = tally_section_begin(set, &section);
	loop(turns);
	err = err ?: tally_section_end(set, &section, figures);
	preempt_enable();
	mark(&after);
	return !err && are_same(&before, &after);
}

typedef bool (*set_fn)(struct tally_set *set, unsigned long turns, u64 *figures);

static bool quiet_set(set_fn measure, struct tally_set *set, unsigned long turns,
		      u64 *figures)
{
	unsigned int tries;

	for (tries = 0; tries < TRIES; tries++) {
		if (measure(set, turns, figures))
			return true;
		msleep(20);
	}
	return false;
}

static void measure_set(const char *what, set_fn measure, struct tally_set *set)
{
	u64 empty[2], full[2], first[2] = { 0 };
	unsigned int i, exact = 0, same = 0;

	for (i = 0; i < WARM_UPS; i++)
		measure(set, 1 + n * (i % 2), full);
	for (i = 0; i < RUNS; i++) {
		if (!quiet_set(measure, set, 1, empty) ||
		    !quiet_set(measure, set, 1 + n, full))
			break;
		if (!i)
			memcpy(first, full, sizeof(first));
		exact += full[1] - empty[1] == (u64)n * LOOP_LENGTH;
		same += full[0] == first[0] && full[1] == first[1];
	}
	tap_ok(&tap, exact == RUNS, "%s: %u of %u runs count exactly %llu",
	       what, exact, RUNS, (u64)n * LOOP_LENGTH);
	tap_ok(&tap, same == RUNS,
	       "%s: %u of %u runs are the same: %llu cycles, %llu instructions",
	       what, same, RUNS, first[0], first[1]);
}

static void measure_sets(void)
{
	static const int ids[] = {
		PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS
	};
	struct tally_builder *b;
	struct tally_set *set;
	unsigned int i;

	b = kvcalloc(2, sizeof(*b), GFP_KERNEL);
	if (!b)
		return;
	for (i = 0; i < 2; i++) {
		tally_builder_init(&b[i], TALLY_HARDWARE(ids[i]));
		tally_builder_on_cpu(&b[i], raw_smp_processor_id());
		tally_builder_disabled(&b[i]);
	}
	set = tally_set_build(b, 2);
	kvfree(b);
	if (!tap_ok(&tap, !IS_ERR(set), "a set of cycles and instructions"))
		return;
	measure_set("a set", set_window, set);
	tally_set_enable(set);
	measure_set("a section", section, set);
	tally_set_release(set);
}

#ifdef CONFIG_X86_64
#define LONG_TURNS	500000

/* A CPU measures this while the others do, too. */
struct cpu_run {
	struct work_struct work;
	struct tally_event *ev;
	unsigned long turns;
	unsigned int exact;
};

static void measure_on_cpu(struct work_struct *work)
{
	struct cpu_run *run = container_of(work, struct cpu_run, work);
	unsigned int i, thrown_away = 0;
	u64 empty, full;

	for (i = 0; i < WARM_UPS; i++)
		window(run->ev, 1 + n * (i % 2), &full);
	for (i = 0; i < RUNS; i++) {
		if (quiet_window(run->ev, 1, &empty, &thrown_away) &&
		    quiet_window(run->ev, 1 + run->turns, &full, &thrown_away))
			run->exact += full - empty == (u64)run->turns * LOOP_LENGTH;
	}
}

static void measure_all_cpus(unsigned long turns)
{
	struct cpu_run *runs = kcalloc(nr_cpu_ids, sizeof(*runs), GFP_KERNEL);
	struct tally_builder b;
	int cpu;

	if (!tap_ok(&tap, runs, "memory for all CPUs"))
		return;
	most_windows = 0;
	for_each_online_cpu(cpu) {
		tally_builder_init(&b, TALLY_HARDWARE(PERF_COUNT_HW_INSTRUCTIONS));
		tally_builder_on_cpu(&b, cpu);
		tally_builder_disabled(&b);
		runs[cpu].turns = turns;
		runs[cpu].ev = tally_build(&b);
		tap_ok(&tap, !IS_ERR(runs[cpu].ev), "an event on CPU %d: error %d", cpu,
		       PTR_ERR_OR_ZERO(runs[cpu].ev));
		INIT_WORK(&runs[cpu].work, measure_on_cpu);
	}
	for_each_online_cpu(cpu) {
		if (!IS_ERR(runs[cpu].ev))
			schedule_work_on(cpu, &runs[cpu].work);
	}
	for_each_online_cpu(cpu) {
		flush_work(&runs[cpu].work);
		if (!IS_ERR(runs[cpu].ev))
			tally_event_release(runs[cpu].ev);
		tap_ok(&tap, runs[cpu].exact == RUNS,
		       "CPU %d, beside the others: %u of %u runs count exactly %llu", cpu,
		       runs[cpu].exact, RUNS, (u64)turns * LOOP_LENGTH);
	}
	tap_ok(&tap, most_windows == num_online_cpus(), "%u windows were open at a time",
	       most_windows);
	kfree(runs);
}
#else
/* QEMU's PMU for arm64 counts the instructions of all CPUs. */
#define LONG_TURNS	0

static void measure_all_cpus(unsigned long turns)
{
}
#endif

#ifndef CONFIG_ARM64
/* The brake of tally allows 10,000 overflows in a second of 1,000,000,000 instructions. */
#define PERIOD		1000000
#define LONG_LOOP	(10 * PERIOD)

static void tally_overflowed(struct tally_event *ev, const struct tally_sample *sample,
			     void *overflows)
{
	(*(u64 *)overflows)++;
}

static void perf_overflowed(struct perf_event *event, struct perf_sample_data *data,
			    struct pt_regs *regs)
{
	(*(u64 *)event->overflow_handler_context)++;
}

/* The PMU stands still in each interrupt, so the last period may be short. */
static void judge_samples(const char *whose, u64 count, u64 overflows)
{
	u64 periods = div_u64(count, PERIOD);

	tap_ok(&tap, count >= LONG_LOOP * LOOP_LENGTH &&
	       (overflows == periods || overflows == periods + 1),
	       "%s overflows once in each period", whose);
	tap_line(&tap, "# %llu overflows, %llu instructions", overflows, count);
}

static void sample_with_tally(void)
{
	struct tally_builder b;
	struct tally_event *ev;
	struct tally_count c = {};
	u64 overflows = 0;

	tally_builder_init(&b, TALLY_HARDWARE(PERF_COUNT_HW_INSTRUCTIONS));
	tally_builder_on_cpu(&b, raw_smp_processor_id());
	tally_builder_disabled(&b);
	tally_builder_period(&b, PERIOD);
	tally_builder_on_overflow(&b, tally_overflowed, &overflows);
	ev = tally_build(&b);
	if (!tap_ok(&tap, !IS_ERR(ev), "tally samples instructions"))
		return;
	tally_event_enable(ev);
	turn(LONG_LOOP);
	tally_event_disable(ev);
	tally_event_read(ev, &c);
	tally_event_release(ev);
	judge_samples("tally", c.value, overflows);
}

/* Returns whether the event could be made. */
static bool perf_window(u64 *count, u64 *overflows)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS,
		.size = sizeof(attr), .sample_period = PERIOD, .disabled = 1,
	};
	struct perf_event *event;
	u64 enabled, running;

	*overflows = 0;
	event = perf_event_create_kernel_counter(&attr, raw_smp_processor_id(), NULL,
						 perf_overflowed, overflows);
	if (IS_ERR(event))
		return false;
	perf_event_enable(event);
	turn(LONG_LOOP);
	perf_event_disable(event);
	*count = perf_event_read_value(event, &enabled, &running);
	perf_event_release_kernel(event);
	return true;
}

/*
 * After events that only count, the first one that samples does not overflow in QEMU,
 * whether it is tally's or perf's. So the first window of perf is thrown away.
 */
static void measure_samples(void)
{
	u64 count, overflows;

	if (!tap_ok(&tap, perf_window(&count, &overflows), "perf samples instructions"))
		return;
	sample_with_tally();
	if (tap_ok(&tap, perf_window(&count, &overflows), "perf samples them again"))
		judge_samples("perf", count, overflows);
}
#else
/* On arm64, QEMU interrupts the loop late, and an overflow stands for many periods. */
static void measure_samples(void)
{
}
#endif

static void measure(void)
{
	struct tally_builder b;
	struct tally_event *ev;
	unsigned int i;
	u64 unused;

	tally_builder_init(&b, TALLY_HARDWARE(PERF_COUNT_HW_INSTRUCTIONS));
	tally_builder_on_cpu(&b, raw_smp_processor_id());
	tally_builder_disabled(&b);
	ev = tally_build(&b);
	if (IS_ERR(ev)) {
		tap_skip_all(&tap, tally_builder_why(&b));
		return;
	}
	/* The first windows differ, because of static keys and the caches of lockdep. */
	for (i = 0; i < WARM_UPS; i++)
		window(ev, 1 + n * (i % 2), &unused);
	for (i = 1; i <= RUNS; i++)
		measure_pair(ev, i);
	tally_event_release(ev);
	measure_sets();
	measure_all_cpus(n);
	measure_all_cpus(LONG_TURNS);
	measure_samples();
	tap_plan(&tap);
}
#else
static void measure(void)
{
	tap_skip_all(&tap, "the loop is written for arm64, riscv64 and x86-64");
}
#endif

static int __init loop_init(void)
{
	int err = tap_start(&tap);

	if (err)
		return err;
	/* The task stays on the CPU that it counts. */
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	measure();
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	tap_show(&tap, "tally_loop");
	return 0;
}

static void __exit loop_exit(void)
{
	tap_end(&tap);
}

module_init(loop_init);
module_exit(loop_exit);
IMPORT_TALLY();
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Counts the instructions of a loop of known length");
MODULE_LICENSE("GPL");
