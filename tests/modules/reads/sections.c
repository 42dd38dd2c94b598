// SPDX-License-Identifier: GPL-2.0
/* Sections: nested, overlapping, in interrupts, ended on another CPU, and never ended. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hardirq.h>
#include <linux/hrtimer.h>
#include <linux/hw_breakpoint.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/workqueue.h>
#include "reads.h"
#include "kernels.h"

#define MOST	5
#define DEEP	20

struct part {
	TALLY_SECTION(section, MOST);
	u64 out[MOST];
};

static struct tally_set *section_set;
static struct part inner, deep[DEEP];
static int inner_begin, inner_end;
static bool inner_nmi;
static unsigned long nmi_word;

static void inner_section(void)
{
	inner_begin = tally_section_begin(section_set, &inner.section);
	step();
	step();
	inner_end = tally_section_end(section_set, &inner.section, inner.out);
	inner_nmi = in_nmi();
}

static enum hrtimer_restart section_timer(struct hrtimer *timer)
{
	inner_section();
	return HRTIMER_NORESTART;
}

static void on_nmi(struct tally_event *ev, const struct tally_sample *sample,
		   void *context)
{
	inner_section();
}

static void expect_inner(const char *what)
{
	tap_is(&tap, inner_begin, 0, what);
	tap_is(&tap, inner_end, 0, "and ends");
}

/* Counts @n steps and writes in a section. */
int measure_section(struct tally_set *set, unsigned int n, u64 *out)
{
	TALLY_SECTION(section, MOST);
	int err;

	preempt_disable();
	err = tally_section_begin(set, &section);
	if (!err) {
		cause(n);
		err = tally_section_end(set, &section, out);
	}
	preempt_enable();
	return err;
}

static void test_nesting(void)
{
	int i, err = 0, bad = 0;

	preempt_disable();
	for (i = 0; i < DEEP; i++) {
		err = err ?: tally_section_begin(section_set, &deep[i].section);
		step();
	}
	/* The sections end in the order in which they began: they overlap. */
	for (i = 0; i < DEEP; i++) {
		err = err ?: tally_section_end(section_set, &deep[i].section, deep[i].out);
		bad += deep[i].out[0] != DEEP;
		step();
	}
	preempt_enable();
	tap_is(&tap, err, 0, "twenty sections that overlap");
	tap_is(&tap, bad, 0, "and each has its own count");
}

static void test_interrupted(void)
{
	struct hrtimer timer;
	struct part outer;
	int err;

	hrtimer_setup_on_stack(&timer, section_timer, CLOCK_MONOTONIC,
			       HRTIMER_MODE_REL_PINNED_HARD);
	inner_begin = -EINPROGRESS;
	preempt_disable();
	err = tally_section_begin(section_set, &outer.section);
	hrtimer_start(&timer, ms_to_ktime(1), HRTIMER_MODE_REL_PINNED_HARD);
	while (READ_ONCE(inner_begin) == -EINPROGRESS)
		cpu_relax();
	step();
	err = err ?: tally_section_end(section_set, &outer.section, outer.out);
	preempt_enable();
	hrtimer_cancel(&timer);
	destroy_hrtimer_on_stack(&timer);
	tap_is(&tap, err, 0, "a section that is interrupted by one");
	expect_inner("the one in an interrupt begins");
	tap_is(&tap, inner.out[0], 2, "has its own");
	tap_is(&tap, outer.out[0], 3, "and the other one all");
}

/* A kprobe does not count in an NMI, so the NMI writes to a watched word. */
static void test_in_nmi(void)
{
	struct tally_builder b;
	struct tally_event *ev;
	struct part outer;
	int err;

	tally_builder_init(&b, TALLY_BREAKPOINT(&nmi_word, sizeof(nmi_word),
						HW_BREAKPOINT_W));
	tally_builder_on_cpu(&b, 0);
	tally_builder_period(&b, 1);
	tally_builder_on_overflow(&b, on_nmi, NULL);
	ev = build(&b, "what is an NMI");
	if (!ev)
		return;
	inner_begin = -EINPROGRESS;
	inner_nmi = false;
	preempt_disable();
	err = tally_section_begin(section_set, &outer.section);
	step();
	WRITE_ONCE(nmi_word, 1);
	step();
	err = err ?: tally_section_end(section_set, &outer.section, outer.out);
	preempt_enable();
	tap_ok(&tap, inner_nmi, "a section in NMI");
	expect_inner("it begins");
	tap_is(&tap, err, 0, "as does the one around it");
	tap_ok(&tap, outer.out[0] >= 2 && outer.out[0] <= 4,
	       "with all of its own: %llu", outer.out[0]);
	tally_event_release(ev);
}

/* ---- a set that is switched off and on inside a section ---- */

static bool switched;
/* perf's clock on the section's CPU, which writes it. */
static u64 section_clock;

static int switch_off_and_on(void *set)
{
	u64 then;

	tally_set_disable(set);
	/* tally_section_end() notices nothing if perf's clock has stood still meanwhile. */
	then = READ_ONCE(section_clock);
	while (READ_ONCE(section_clock) == then && !kthread_should_stop())
		cpu_relax();
	WRITE_ONCE(switched, !tally_set_enable(set));
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* The section lasts until another CPU has switched the set off and on. */
static void test_switched(void)
{
	struct task_struct *task;
	u64 now, end;
	struct part p;
	int err;

	/* The thread runs on another CPU than this section. */
	if (num_online_cpus() < 2) {
		tap_skip(&tap, "a section of a set that is switched", "one CPU");
		return;
	}
	task = kthread_create(switch_off_and_on, section_set, "tally_switch");
	if (!tap_ok(&tap, !IS_ERR(task), "a thread that switches the set"))
		return;
	switched = false;
	migrate_disable();
	kthread_bind(task, cpumask_any_but(cpu_online_mask, raw_smp_processor_id()));
	preempt_disable();
	err = tally_section_begin(section_set, &p.section);
	now = local_clock();
	end = now + 10 * NSEC_PER_SEC;
	WRITE_ONCE(section_clock, now);
	wake_up_process(task);
	while (!READ_ONCE(switched) && now < end) {
		now = local_clock();
		WRITE_ONCE(section_clock, now);
		cpu_relax();
	}
	tap_ok(&tap, switched, "a set is switched off and on");
	tap_is(&tap, err, 0, "while a section of it goes on");
	tap_is(&tap, tally_section_end(section_set, &p.section, p.out), -EAGAIN,
	       "says that it has not counted all");
	preempt_enable();
	migrate_enable();
	kthread_stop(task);
}

/* ---- sections that are refused ---- */

static int end_it(struct tally_set *set, struct part *p)
{
	int err;

	preempt_disable();
	err = tally_section_end(set, &p->section, p->out);
	preempt_enable();
	return err;
}

static int begin_it(struct tally_set *set, struct part *p)
{
	int err;

	preempt_disable();
	err = tally_section_begin(set, &p->section);
	preempt_enable();
	return err;
}

static long end_by_another(void *data)
{
	return end_it(section_set, data);
}

static void test_wrong_ends(void)
{
	TALLY_SECTION(small, MOST - 1);
	struct tally_set *other;
	struct tally_builder b;
	struct part p = { };
	int err;

	tap_is(&tap, end_it(section_set, &p), -EINVAL, "none ends that did not begin");
	begin_it(section_set, &p);
	end_it(section_set, &p);
	tap_is(&tap, end_it(section_set, &p), -EINVAL, "none ends twice");
	begin_it(section_set, &p);
	tap_is(&tap, work_on_cpu(raw_smp_processor_id(), end_by_another, &p), -EINVAL,
	       "none is ended by another task");
	preempt_disable();
	err = tally_section_begin(section_set, &small);
	preempt_enable();
	tap_is(&tap, err, -EINVAL, "none begins that is too small");

	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
	tally_builder_on_cpu(&b, 0);
	other = tally_set_build(&b, 1);
	if (!tap_ok(&tap, !IS_ERR(other), "another set"))
		return;
	preempt_disable();
	err = tally_section_begin(section_set, &p.section);
	tap_is(&tap, tally_section_end(other, &p.section, p.out), -EINVAL,
	       "none ends as another set's");
	step();
	err = err ?: tally_section_end(section_set, &p.section, p.out);
	preempt_enable();
	tap_is(&tap, err, 0, "which changes nothing for its own");
	tap_is(&tap, p.out[0], 1, "with what it has counted");
	tally_set_release(other);
}

void test_sections(struct tally_set *set, const char *what)
{
	u64 out[MOST];
	int i, bad;

	section_set = set;
	tap_line(&tap, "# sections of %s", what);
	tap_is(&tap, measure_section(set, 1, out), -EAGAIN, "none while it is disabled");
	tally_set_enable(set);
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT))
		tap_is(&tap, tally_section_begin(set, &inner.section), -EINVAL,
		       "nor with preemption enabled");
	for (i = 0, bad = 0; i < 100; i++)
		if (measure_section(set, i, out) || out[0] != i || out[2] != i ||
		    !is_writes(out[1], i))
			bad++;
	tap_is(&tap, bad, 0, "sections of 0 to 99 steps");
	test_nesting();
	test_interrupted();
	test_switched();
	test_wrong_ends();
	if (IS_ENABLED(CONFIG_X86))
		test_in_nmi();
}

/* ---- begun on one CPU and ended on another, or not at all ---- */

#define STRANDERS	4
#define MOVES		250

struct strander {
	struct tally_set *set;
	struct task_struct *task;
	unsigned int ended, refused, wrong;
};

static void go_to(int cpu)
{
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
}

static int next_cpu(int cpu)
{
	cpu = cpumask_next(cpu, cpu_online_mask);
	return cpu < nr_cpu_ids ? cpu : cpumask_first(cpu_online_mask);
}

/*
 * Sleeps in the middle of a section. Each fourth section ends on the CPU that it began
 * on, the others end on another CPU. For each section, another one is begun and never
 * ended.
 */
static int strand(void *data)
{
	int i, begun, err, cpu = cpumask_first(cpu_online_mask);
	struct part abandoned, p;
	struct strander *s = data;

	for (i = 0; i < MOVES; i++) {
		go_to(cpu);
		begin_it(s->set, &abandoned);
		begun = begin_it(s->set, &p);
		schedule_timeout_uninterruptible(1);
		if (i % 4)
			cpu = next_cpu(cpu);
		go_to(cpu);
		err = end_it(s->set, &p);
		if (err == -EINVAL)
			s->refused++;
		else
			s->ended++;
		if (err != (i % 4 || begun ? -EINVAL : 0))
			s->wrong++;
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static struct tally_set *build_software(int cpu)
{
	struct tally_builder *b;
	struct tally_set *set;
	int i;

	b = kvcalloc(2, sizeof(*b), GFP_KERNEL);
	if (!b)
		return NULL;
	tally_builder_init(&b[0], TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_init(&b[1], TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS));
	for (i = 0; i < 2 && cpu >= 0; i++)
		tally_builder_on_cpu(&b[i], cpu);
	set = tally_set_build(b, 2);
	kvfree(b);
	return set;
}

static int failures_by_cpu(struct tally_set *set)
{
	u64 out[2];
	int cpu, bad = 0;

	for_each_online_cpu(cpu) {
		go_to(cpu);
		bad += measure_section(set, 0, out) != 0;
	}
	return bad;
}

void test_stranded(void)
{
	struct strander stranders[STRANDERS] = { };
	unsigned int ended = 0, refused = 0, wrong = 0;
	cpumask_var_t before;
	struct tally_set *set;
	int i;

	if (num_online_cpus() < 2 || !zalloc_cpumask_var(&before, GFP_KERNEL)) {
		tap_skip(&tap, "sections that move", "one CPU");
		return;
	}
	set = build_software(-1);
	if (!tap_ok(&tap, !IS_ERR_OR_NULL(set), "a set on all CPUs")) {
		free_cpumask_var(before);
		return;
	}
	for (i = 0; i < STRANDERS; i++) {
		stranders[i].set = set;
		stranders[i].task = kthread_run(strand, &stranders[i], "strand/%d", i);
	}
	for (i = 0; i < STRANDERS; i++) {
		if (IS_ERR(stranders[i].task))
			continue;
		while (READ_ONCE(stranders[i].ended) + READ_ONCE(stranders[i].refused) < MOVES)
			msleep(20);
		kthread_stop(stranders[i].task);
		ended += stranders[i].ended;
		refused += stranders[i].refused;
		wrong += stranders[i].wrong;
	}
	tap_is(&tap, ended + refused, STRANDERS * MOVES, "a thousand sections across a sleep");
	tap_is(&tap, wrong, 0, "end, or answer EINVAL if they have moved");
	tap_line(&tap, "# %u ended, %u refused", ended, refused);
	cpumask_copy(before, current->cpus_ptr);
	tap_is(&tap, failures_by_cpu(set), 0, "and then one begins and ends on every CPU");
	set_cpus_allowed_ptr(current, before);
	free_cpumask_var(before);
	tap_is(&tap, tally_set_release(set), 0, "the set goes");
}
