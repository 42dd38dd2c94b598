// SPDX-License-Identifier: GPL-2.0
/*
 * tally_pmu_reads: a module that counts with the core PMU of tally_pmu.ko, and reads its
 * events in the interrupts of that PMU. The process that loads it stays on CPU 0.
 *
 *	insmod tally_pmu.ko
 *	insmod tally_pmu_reads.ko
 *	insmod tally_pmu_reads.ko hybrid=1	the task goes from CPU 0 to 1 and back
 *	cat /sys/kernel/debug/tally_pmu_reads/results	TAP
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <tally/tally.h>
#include "kernels.h"
#include "pmu.h"
#include "reads.h"
#include "tap.h"

static bool raw = IS_ENABLED(CONFIG_X86);
module_param(raw, bool, 0444);
MODULE_PARM_DESC(raw, "the core PMU has the number of the CPU's own");

static bool hybrid;
module_param(hybrid, bool, 0444);
MODULE_PARM_DESC(hybrid, "CPUs 0 and 1 have a core PMU each: only what differs there");

struct tap tap;

static unsigned long deadline;

/* Whether a minute has not passed since the last call of begin_wait(). Others may run. */
static bool waiting(void)
{
	mdelay(1);
	cond_resched();
	return time_before(jiffies, deadline);
}

static void begin_wait(void)
{
	deadline = jiffies + 60 * HZ;
}

/* The lines differ from each other, so that no two events share a counter. */
static const char *const lines[] = {
	"cycles", "instructions", "r3c:k", "r3c:u", "r3c:uh", "r3c:uk"
};

#define NR_LINES ARRAY_SIZE(lines)

static struct tally_event *build(const char *line, const char *what)
{
	struct tally_event *ev;
	struct tally_builder b;

	tally_builder_parse(&b, line);
	tally_builder_on_cpu(&b, 0);
	ev = tally_build(&b);
	if (!tap_ok(&tap, !IS_ERR(ev), "%s: it is built", what)) {
		tap_line(&tap, "# %ld: %s", PTR_ERR(ev), tally_builder_why(&b));
		return NULL;
	}
	return ev;
}

static struct tally_set *build_set(unsigned int nr)
{
	static struct tally_builder b[NR_LINES];
	struct tally_set *set;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		tally_builder_parse(&b[i], lines[i]);
		tally_builder_on_cpu(&b[i], 0);
		tally_builder_weak(&b[i]);
	}
	set = tally_set_build(b, nr);
	if (IS_ERR(set)) {
		tap_line(&tap, "# %ld: %s", PTR_ERR(set),
			 tally_builder_why(&b[tally_set_failed(b, nr)]));
		return NULL;
	}
	return set;
}

/* ---- counting, and taking turns ---- */

/* Lets time pass on the CPU's clock, which may advance by ticks. */
static void pass(u64 ns)
{
	u64 begin = local_clock();

	while (local_clock() - begin < ns)
		cpu_relax();
}

static bool within_5_percent(u64 got, u64 want)
{
	return got >= want - want / 20 && got <= want + want / 20;
}

static void test_single(void)
{
	struct tally_event *ev = build("cycles", "cycles");
	u64 before, after, clock[4];
	struct tally_count count;
	int err;

	if (!ev)
		return;
	tap_is(&tap, tally_event_read(ev, &count), 0, "cycles: a read");
	tap_is(&tap, count.state, TALLY_STATE_ACTIVE, "cycles: they are counted");
	preempt_disable();
	clock[0] = local_clock();
	err = tally_event_read_local(ev, &before);
	clock[1] = local_clock();
	pass(20 * NSEC_PER_MSEC);
	clock[2] = local_clock();
	err = tally_event_read_local(ev, &after) ?: err;
	clock[3] = local_clock();
	preempt_enable();
	tap_is(&tap, err, 0, "cycles: local reads");
	tap_ok(&tap, after - before >= clock[2] - clock[1] && after - before <= clock[3] - clock[0],
	       "cycles: one each nanosecond: %llu in %llu to %llu", after - before,
	       clock[2] - clock[1], clock[3] - clock[0]);
	tally_event_release(ev);
}

static bool all_ran(struct tally_set *set, unsigned int nr, struct tally_set_window *window,
		    struct tally_count *counts)
{
	unsigned int i;

	tally_set_read(set, window, counts);
	for (i = 0; i < nr; i++)
		if (counts[i].running_ns < 100 * NSEC_PER_MSEC)
			return false;
	return true;
}

/* Instructions come at half the rate of all others. */
static u64 wanted(const struct tally_count *count, unsigned int i)
{
	return count->enabled_ns / (i == 1 ? 2 : 1);
}

/* Each event has a rate that is known; what perf scales must have it, too. */
static bool all_right(const struct tally_count *counts)
{
	unsigned int i;

	for (i = 0; i < NR_LINES; i++)
		if (!within_5_percent(tally_count_scaled(&counts[i]), wanted(&counts[i], i)))
			return false;
	return true;
}

/* With lockdep, an assertion that does not hold is a report. */
static void test_section(struct tally_set *set)
{
	TALLY_SECTION(section, 4);
	u64 values[4] = { };
	int err;

	preempt_disable();
	err = tally_section_begin(set, &section);
	lockdep_assert_irqs_enabled();
	pass(1);
	err = tally_section_end(set, &section, values) ?: err;
	lockdep_assert_irqs_enabled();
	preempt_enable();
	tap_ok(&tap, !err || err == -EAGAIN, "M10 a section: interrupts are enabled in it");
}

/*
 * The host may hold the emulator up between perf's clock and the counter's, which no other
 * window shows: wait for one without.
 */
static void test_turns(void)
{
	struct tally_count counts[NR_LINES];
	struct tally_set *set = build_set(NR_LINES);
	struct tally_set_window window;
	unsigned int i;

	if (!tap_ok(&tap, set, "6 events on 4 counters"))
		return;
	begin_wait();
	do {
		tally_set_release(set);
		set = build_set(NR_LINES);
		while (set && !all_ran(set, NR_LINES, &window, counts) && waiting())
			;
	} while (set && !all_right(counts) && waiting());
	if (!tap_ok(&tap, set, "6 events on 4 counters: again"))
		return;
	tap_ok(&tap, !window.ratio_valid, "6 events on 4 counters: no ratio is valid");
	for (i = 0; i < NR_LINES; i++) {
		tap_ok(&tap, counts[i].running_ns < counts[i].enabled_ns,
		       "6 events on 4 counters: %s took turns: %llu of %llu ns", lines[i],
		       counts[i].running_ns, counts[i].enabled_ns);
		tap_ok(&tap, within_5_percent(tally_count_scaled(&counts[i]),
					      wanted(&counts[i], i)),
		       "6 events on 4 counters: %s is scaled: %llu of %llu", lines[i],
		       tally_count_scaled(&counts[i]), wanted(&counts[i], i));
	}
	tally_set_release(set);

	set = build_set(4);
	if (!tap_ok(&tap, set, "4 events on 4 counters"))
		return;
	begin_wait();
	while (!all_ran(set, 4, &window, counts) && waiting())
		;
	tap_ok(&tap, window.ratio_valid, "4 events on 4 counters: the ratios are valid");
	test_section(set);
	for (i = 0; i < 4; i++)
		tap_is(&tap, counts[i].running_ns, counts[i].enabled_ns,
		       "4 events on 4 counters: one is counted all the time");
	tally_set_release(set);
}

static void test_pinned(void)
{
	struct tally_event *pinned[5] = { }, *other;
	struct tally_count count;
	char line[32];
	unsigned int i;

	for (i = 0; i < 5; i++) {
		snprintf(line, sizeof(line), "%s%s", lines[i], strchr(lines[i], ':') ? "D" : ":D");
		pinned[i] = build(line, "pinned");
	}
	for (i = 0; i < 5 && pinned[i]; i++)
		tap_is(&tap, tally_event_read(pinned[i], &count), i < 4 ? 0 : -ENODATA,
		       i < 4 ? "pinned: it is counted" : "pinned: no counter is left");
	other = build("r3c:uk", "beside pinned events");
	if (other) {
		pass(20 * NSEC_PER_MSEC);
		tap_is(&tap, tally_event_read(other, &count), 0, "beside pinned events: a read");
		tap_is(&tap, count.running_ns, 0, "beside pinned events: it never runs");
		tally_event_release(other);
	}
	for (i = 0; i < 5; i++)
		tally_event_release(pinned[i]);
}

static void test_exclusive(void)
{
	struct tally_event *alone = build("cycles:e", "exclusive");
	struct tally_event *other = build("instructions", "beside an exclusive event");
	struct tally_count a = { }, b = { };

	if (!alone || !other)
		goto out;
	begin_wait();
	while ((a.running_ns < 20 * NSEC_PER_MSEC || b.running_ns < 20 * NSEC_PER_MSEC) &&
	       waiting()) {
		tally_event_read(alone, &a);
		tally_event_read(other, &b);
	}
	tap_ok(&tap, a.running_ns >= 20 * NSEC_PER_MSEC, "exclusive: it has its turns");
	tap_ok(&tap, b.running_ns >= 20 * NSEC_PER_MSEC, "exclusive: so has the other one");
	tally_event_disable(other);
	tally_event_disable(alone);
	tally_event_read(alone, &a);
	tally_event_read(other, &b);
	tap_ok(&tap, a.running_ns + b.running_ns <= a.enabled_ns,
	       "exclusive: never at the same time: %llu and %llu of %llu ns", a.running_ns,
	       b.running_ns, a.enabled_ns);
out:
	tally_event_release(other);
	tally_event_release(alone);
}

/* ---- reads in the PMU's interrupts ---- */

static struct tally_event *events[NR_LINES];
static struct tally_set *hook_set;
static u64 begin_ns, latest[NR_LINES];
static unsigned int nr_read, nr_again, nr_wrong, nr_other, nr_sets, nr_nmis;

/* On CPU 0, in the PMU's interrupt: no event is read twice at the same time. */
static void read_event(unsigned int i)
{
	struct tally_count count;
	u64 value;
	int err = tally_event_read_local(events[i], &value);

	if (err == -EAGAIN) {
		nr_again++;
	} else if (err) {
		nr_other++;
	} else {
		nr_read++;
		/* Instructions are fewer; no event counts faster than cycles. */
		if (value < latest[i] || value > local_clock() - begin_ns)
			nr_wrong++;
		latest[i] = value;
	}
	err = tally_event_read_local_count(events[i], &count);
	if (!err && (count.value < latest[i] || count.running_ns > count.enabled_ns))
		nr_wrong++;
	else if (err && err != -EAGAIN)
		nr_other++;
}

static void read_all(struct pt_regs *regs)
{
	struct tally_count counts[2];
	struct tally_set_window window;
	unsigned int i;

	if (smp_processor_id())
		return;
	nr_nmis += !!in_nmi();
	for (i = 0; i < NR_LINES; i++)
		read_event(i);
	if (!tally_set_read_local(hook_set, &window, counts))
		nr_sets++;
}

static bool reads_missing(void)
{
	return READ_ONCE(nr_read) < 1000 || READ_ONCE(nr_again) < 1000 || READ_ONCE(nr_sets) < 100;
}

static void test_nmi(void)
{
	struct tally_count count;
	unsigned int i;
	u64 value;

	hook_set = build_set(2);
	begin_ns = local_clock();
	for (i = 0; i < NR_LINES; i++) {
		events[i] = build(lines[i], "in the PMU's interrupt");
		if (!events[i] || !hook_set)
			goto out;
	}
	WRITE_ONCE(pmi_hook, read_all);
	WRITE_ONCE(pmi_functions, PMU_IN_ALL);
	begin_wait();
	for (i = 0; reads_missing() && waiting(); i++) {
		/* perf adds, starts, stops and deletes; rotation does, too. */
		tally_event_disable(events[i % NR_LINES]);
		tally_event_enable(events[i % NR_LINES]);
		tally_event_read(events[(i + 1) % NR_LINES], &count);
		tally_event_read_local(events[(i + 2) % NR_LINES], &value);
	}
	WRITE_ONCE(pmi_functions, 0);
	WRITE_ONCE(pmi_hook, NULL);
	tap_line(&tap, "# %u reads, %u EAGAIN, %u sets, %u in NMI", nr_read, nr_again, nr_sets,
		 nr_nmis);
	tap_ok(&tap, !reads_missing(), "in the PMU's interrupt: events can be read, or EAGAIN");
	tap_is(&tap, nr_wrong, 0, "in the PMU's interrupt: all values are right");
	tap_is(&tap, nr_other, 0, "in the PMU's interrupt: there is no other error");
	tap_ok(&tap, !raw || nr_nmis, "in the PMU's interrupt: it is an NMI");
out:
	for (i = 0; i < NR_LINES; i++)
		tally_event_release(events[i]);
	tally_set_release(hook_set);
	/* An interrupt may still be in the hook. */
	kick_all_cpus_sync();
}

/* The result of the read that interrupts another one. */
static int inner_err;

static void read_second(struct pt_regs *regs)
{
	u64 value;

	inner_err = tally_event_read_local(tally_set_event(hook_set, 1), &value);
}

/* A driver may update all events of a group at each read, as Intel's does for topdown events. */
static void test_group(void)
{
	u64 value;
	int err;

	hook_set = build_set(2);
	if (!tap_ok(&tap, hook_set, "in a read of the group: a set"))
		return;
	inner_err = 0;
	preempt_disable();
	WRITE_ONCE(pmi_hook, read_second);
	WRITE_ONCE(pmi_functions, BIT(PMU_IN_READ));
	err = tally_event_read_local(tally_set_event(hook_set, 0), &value);
	WRITE_ONCE(pmi_functions, 0);
	WRITE_ONCE(pmi_hook, NULL);
	preempt_enable();
	tap_is(&tap, err, 0, "in a read of the group: one member");
	tap_is(&tap, inner_err, -EAGAIN, "in a read of the group: not the other one meanwhile");
	/* An interrupt may still be in the hook. */
	kick_all_cpus_sync();
	tally_set_release(hook_set);
}

/* ---- PMUs with a peculiarity ---- */

struct odd_read {
	struct irq_work work;
	struct tally_event *ev;
	int err;
	u64 value;
};

static void read_in_irq(struct irq_work *work)
{
	struct odd_read *read = container_of(work, struct odd_read, work);

	read->err = tally_event_read_local(read->ev, &read->value);
}

/* lockdep sees a lock that is taken in interrupt and, elsewhere, with interrupts enabled. */
static void test_locking(void)
{
	struct odd_read read = { .ev = build("tally_locking/config=1/", "M10 a read that locks") };
	struct tally_count count;
	u64 value;
	int err;

	if (!read.ev)
		return;
	read.work = IRQ_WORK_INIT_HARD(read_in_irq);
	irq_work_queue(&read.work);
	irq_work_sync(&read.work);
	tap_is(&tap, read.err, 0, "M10 a read that locks: in interrupt");
	pass(1);
	preempt_disable();
	err = tally_event_read_local(read.ev, &value);
	preempt_enable();
	tap_is(&tap, err, 0, "M10 a read that locks: in a task");
	pass(1);
	tap_ok(&tap, value > read.value, "M10 a read that locks: the count grows");
	tap_is(&tap, tally_event_read(read.ev, &count), 0, "M10 a read that locks: whole");
	tap_ok(&tap, count.value > value, "M10 a read that locks: it grows again");
	tally_event_release(read.ev);
}

static void ignore(struct tally_event *ev, const struct tally_sample *sample, void *context)
{
}

static void test_empty(void)
{
	struct tally_count count;
	struct tally_event *ev;
	struct tally_builder b;
	u64 value, age;
	int err;

	tally_builder_parse(&b, "tally_empty/config=1/");
	tally_builder_on_cpu(&b, 0);
	tally_builder_period(&b, 1000000);
	tally_builder_on_overflow(&b, ignore, NULL);
	ev = tally_build(&b);
	if (!tap_ok(&tap, !IS_ERR(ev), "M8 an empty read: an event with a period is built"))
		return;
	preempt_disable();
	err = tally_event_read_local(ev, &value);
	preempt_enable();
	tap_is(&tap, err, -EOPNOTSUPP, "M8 an empty read: no count is new");
	tap_is(&tap, tally_event_publish(ev, NSEC_PER_MSEC), 0, "M8 an empty read: published");
	begin_wait();
	while (tally_event_published(ev, 0, &count, &age) && waiting())
		;
	tap_is(&tap, tally_event_published(ev, 0, &count, &age), 0,
	       "M8 an empty read: the count of the last overflow is published");
	tally_event_release(ev);
}

/* ---- two kinds of cores: a task on CPU 0 and CPU 1 in turn ---- */

#define NR_TURNS 8

static u64 written[2];
static unsigned int nr_overflows[2], nr_bad_values;
static u64 total;

/* The current task adds to the total of the CPU that it is on, and to that of its events. */
static void add_here(u64 n)
{
	int cpu = smp_processor_id();

	total += n;
	written[cpu] += n;
	core_write(cpu, written[cpu]);
}

static void move(int cpu)
{
	tap_is(&tap, set_cpus_allowed_ptr(current, cpumask_of(cpu)), 0, "M2 the task moves");
}

/* In the PMU's interrupt. The handler of an event reads the event there. */
static void overflowed(struct tally_event *ev, const struct tally_sample *sample, void *context)
{
	struct tally_count count = { };
	u64 value = 0;

	nr_overflows[smp_processor_id() & 1]++;
	if (tally_event_read_local(ev, &value) || tally_event_read_local_count(ev, &count) ||
	    value != total || count.value != total || count.running_ns > count.enabled_ns)
		nr_bad_values++;
}

static void init_own(struct tally_builder *b, const char *line)
{
	tally_builder_parse(b, line);
	tally_builder_on_task(b, current);
}

static struct tally_event *build_own(struct tally_builder *b, const char *what)
{
	struct tally_event *ev = tally_build(b);

	total = 0;
	if (tap_ok(&tap, !IS_ERR(ev), "M2 %s: it is built", what))
		return ev;
	tap_line(&tap, "# %ld: %s", PTR_ERR(ev), tally_builder_why(b));
	return NULL;
}

/* Another CPU may hold a lock of perf, with interrupts disabled here: then EAGAIN. */
static int read_irqs_off(struct tally_event *ev, u64 *value)
{
	unsigned long flags;
	int err;

	begin_wait();
	do {
		local_irq_save(flags);
		err = tally_event_read_local(ev, value);
		local_irq_restore(flags);
	} while (err == -EAGAIN && waiting());
	return err;
}

static void test_kinds_local(void)
{
	struct tally_count count = { }, last = { };
	struct tally_event *ev;
	struct tally_builder b;
	u64 value, off;
	int err, i;

	init_own(&b, "r1");
	ev = build_own(&b, "local reads");
	for (i = 1; ev && i <= NR_TURNS; i++) {
		move(i % 2);
		preempt_disable();
		add_here(10);
		err = tally_event_read_local(ev, &value);
		err = tally_event_read_local_count(ev, &count) ?: err;
		preempt_enable();
		err = read_irqs_off(ev, &off) ?: err;
		tap_is(&tap, err, 0, "M2 local reads");
		tap_ok(&tap, value == total && count.value == total && off == total,
		       "M2 local reads on CPU %d: %llu, %llu, %llu of %llu", i % 2, value,
		       count.value, off, total);
		tap_ok(&tap, count.running_ns >= last.running_ns &&
		       count.enabled_ns >= last.enabled_ns && count.running_ns <= count.enabled_ns,
		       "M2 local reads on CPU %d: %llu of %llu ns", i % 2, count.running_ns,
		       count.enabled_ns);
		last = count;
		tally_event_read(ev, &count);
		tap_ok(&tap, count.value == total && count.running_ns >= last.running_ns &&
		       count.enabled_ns >= last.enabled_ns &&
		       count.running_ns <= count.enabled_ns && count.state == TALLY_STATE_ACTIVE,
		       "M2 local reads: a whole read agrees: %llu, %llu of %llu ns", count.value,
		       count.running_ns, count.enabled_ns);
		last = count;
	}
	tally_event_release(ev);
}

/* Returns the error of a section in which the task adds 3. perf may change the events in it. */
static int count_section(struct tally_set *set, u64 *values)
{
	TALLY_SECTION(section, 2);
	int err;

	begin_wait();
	do {
		preempt_disable();
		err = tally_section_begin(set, &section);
		add_here(3);
		err = tally_section_end(set, &section, values) ?: err;
		preempt_enable();
	} while (err == -EAGAIN && waiting());
	return err;
}

static void test_kinds_set(void)
{
	TALLY_SECTION(section, 2);
	struct tally_count counts[2], last = { };
	static struct tally_builder b[2];
	struct tally_set_window window;
	struct tally_set *set;
	u64 values[2] = { };
	int err, i;

	init_own(&b[0], "r1");
	init_own(&b[1], "r3c");
	set = tally_set_build(b, 2);
	total = 0;
	if (!tap_ok(&tap, !IS_ERR(set), "M2 a set is built"))
		return;
	for (i = 1; i <= NR_TURNS; i++) {
		move(i % 2);
		preempt_disable();
		add_here(10);
		err = tally_set_read_local(set, &window, counts);
		preempt_enable();
		tap_is(&tap, err, 0, "M2 a set: a local read");
		tap_ok(&tap, counts[0].value == total && counts[1].value >= last.value &&
		       counts[1].running_ns == counts[1].enabled_ns && window.ratio_valid,
		       "M2 a set on CPU %d: %llu of %llu, %llu in %llu of %llu ns", i % 2,
		       counts[0].value, total, counts[1].value, counts[1].running_ns,
		       counts[1].enabled_ns);
		last = counts[1];
		tally_set_read(set, &window, counts);
		tap_ok(&tap, counts[0].value == total && counts[1].value >= last.value &&
		       window.ratio_valid, "M2 a set on CPU %d: a whole read: %llu, %llu", i % 2,
		       counts[0].value, counts[1].value);
		last = counts[1];
		tap_is(&tap, count_section(set, values), 0, "M2 a section");
		tap_is(&tap, values[0], 3, "M2 a section: its value");
		preempt_disable();
		err = tally_section_begin(set, &section);
		preempt_enable();
		tap_is(&tap, err, 0, "M2 a section begins");
		move(!(i % 2));
		preempt_disable();
		err = tally_section_end(set, &section, values);
		preempt_enable();
		tap_is(&tap, err, -EINVAL, "M2 a section does not end on the other kind");
	}
	tally_set_release(set);
}

static void test_kinds_overflows(void)
{
	struct tally_count count;
	struct tally_event *ev;
	struct tally_builder b;
	u64 age, period = 100;
	int i, err;

	init_own(&b, "r1");
	tally_builder_period(&b, period);
	tally_builder_on_overflow(&b, overflowed, NULL);
	tally_builder_disabled(&b);
	ev = build_own(&b, "a period");
	if (!ev)
		return;
	tap_is(&tap, tally_event_enable(ev), 0, "M2 a period: it is enabled");
	tap_is(&tap, tally_event_publish(ev, NSEC_PER_SEC * 1000), 0, "M2 a period: published");
	for (i = 1; i <= NR_TURNS; i++) {
		move(i % 2);
		if (i == NR_TURNS / 2 + 1) {
			period = 50;
			tap_is(&tap, tally_event_set_period(ev, period), 0, "M2 a new period");
		}
		preempt_disable();
		add_here(period);
		preempt_enable();
		tap_is(&tap, nr_overflows[i % 2], (i + 1) / 2, "M2 a period: an overflow");
		err = tally_event_published(ev, -1, &count, &age);
		tap_ok(&tap, !err && count.value == total && count.running_ns <= count.enabled_ns,
		       "M2 a period: CPU %d publishes it: %llu of %llu, %llu of %llu ns", i % 2,
		       count.value, total, count.running_ns, count.enabled_ns);
	}
	tap_is(&tap, nr_bad_values, 0, "M2 a period: its handler reads the whole count");
	tally_event_release(ev);
}

static void test_kinds(void)
{
	test_kinds_local();
	test_kinds_set();
	test_kinds_overflows();
	move(0);
}

static int __init reads_init(void)
{
	int err = tap_start(&tap);

	if (err)
		return err;
	if (hybrid) {
		test_kinds();
		goto out;
	}
	if (raw) {
		test_single();
		test_turns();
		test_pinned();
		test_exclusive();
		test_nmi();
		test_group();
		test_budget();
	}
	test_locking();
	test_empty();
out:
	tap_plan(&tap);
	tap_show(&tap, "tally_pmu_reads");
	return 0;
}
module_init(reads_init);

static void __exit reads_exit(void)
{
	tap_end(&tap);
}
module_exit(reads_exit);

MODULE_DESCRIPTION("Reads of events of PMUs for tests of tally");
MODULE_AUTHOR("The tally developers");
MODULE_LICENSE("GPL");
IMPORT_TALLY();
