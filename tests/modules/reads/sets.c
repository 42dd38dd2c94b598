// SPDX-License-Identifier: GPL-2.0
/* Sets: the window of all members, sets that cannot be built, and sections. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/hw_breakpoint.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include "reads.h"

static unsigned long set_word;

static void init_steps(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_KPROBE(step_point()));
}

static void init_writes(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_BREAKPOINT(&set_word, sizeof(set_word),
					       HW_BREAKPOINT_W));
}

static void init_software(struct tally_builder *b, int id)
{
	tally_builder_init(b, TALLY_SOFTWARE(id));
}

static void init_hardware(struct tally_builder *b, int id)
{
	tally_builder_init(b, TALLY_HARDWARE(id));
}

static struct tally_set *build_set(struct tally_builder *builders, unsigned int n,
				   const char *what)
{
	struct tally_set *set = tally_set_build(builders, n);
	int failed;

	if (!tap_ok(&tap, !IS_ERR(set), "%s: is built", what)) {
		failed = tally_set_failed(builders, n);
		tap_line(&tap, "# %ld: member %d: %s", PTR_ERR(set), failed,
			 failed < 0 ? "" : tally_builder_why(&builders[failed]));
		return NULL;
	}
	return set;
}

/* Builds a set on a target: two members count steps, two count writes, one is a clock. */
static struct tally_set *build_five(struct tally_builder *b, int target,
				    const char *what)
{
	int i;

	init_steps(&b[0]);
	init_writes(&b[1]);
	init_steps(&b[2]);
	init_software(&b[3], PERF_COUNT_SW_CPU_CLOCK);
	init_software(&b[4], PERF_COUNT_SW_PAGE_FAULTS);
	tally_builder_disabled(&b[0]);
	for (i = 0; i < 5; i++)
		on_target(&b[i], target);
	return build_set(b, 5, what);
}

void cause(unsigned int n)
{
	while (n--) {
		step();
		WRITE_ONCE(set_word, n);
	}
}

/*
 * A write to a watched word may count twice on arm64, if an interrupt comes between the
 * write and the single step after it.
 */
bool is_writes(u64 got, u64 want)
{
	return IS_ENABLED(CONFIG_X86) ? got == want :
					got >= want && got <= want + want / 5 + 1;
}

static void expect_five(struct tally_count *counts, u64 n, const char *what)
{
	tap_is(&tap, counts[0].value, n, what);
	tap_ok(&tap, is_writes(counts[1].value, n), "%s: %llu writes", what,
	       counts[1].value);
	tap_is(&tap, counts[2].value, n, "and the second of them");
}

static bool all_equal_times(const struct tally_count *counts, unsigned int n)
{
	unsigned int i;

	for (i = 1; i < n; i++)
		if (counts[i].enabled_ns != counts[0].enabled_ns)
			return false;
	return true;
}

static void test_window(int target)
{
	struct tally_count counts[5], cpu[5], local[5];
	struct tally_set_window window;
	struct tally_builder *b;
	struct tally_set *set;
	u64 time;
	int err;

	b = kvcalloc(5, sizeof(*b), GFP_KERNEL);
	if (!b)
		return;
	set = build_five(b, target, target_name(target));
	if (!set)
		goto free;
	tap_is(&tap, tally_set_size(set), 5, "of five");
	tap_ok(&tap, tally_set_event(set, 4) && !tally_set_event(set, 5),
	       "which can be had");
	cause(5);
	tally_set_read(set, &window, counts);
	tap_ok(&tap, counts[0].value == TALLY_NOT_COUNTED &&
	       counts[3].value == TALLY_NOT_COUNTED && !window.ratio_valid,
	       "disabled, nothing was counted");
	preempt_disable();
	err = tally_set_read_local(set, &window, local);
	preempt_enable();
	tap_is(&tap, err, -EAGAIN, "nor can be read here");
	tap_is(&tap, tally_set_enable(set), 0, "it is enabled");
	cause(10);
	tally_set_read(set, &window, counts);
	expect_five(counts, 10, "ten are counted");
	tap_ok(&tap, window.ratio_valid, "and the ratio is valid");
	tap_ok(&tap, target == ON_ALL || all_equal_times(counts, 5),
	       "for all of them the same time: %llu", counts[0].enabled_ns);
	/* A set on all CPUs has the time of the latest clock, not of this CPU's. */
	preempt_disable();
	time = target == ON_ALL ? local_clock() : window.time_ns;
	err = tally_set_read_local(set, &window, local);
	preempt_enable();
	tap_is(&tap, err, 0, "it can be read here");
	expect_five(local, 10, "ten, too");
	tap_ok(&tap, window.ratio_valid && window.time_ns >= time,
	       "at a later time");
	err = tally_set_read_cpu(set, 0, &window, cpu);
	tap_is(&tap, err, target == ON_TASK ? -EINVAL : 0, "and by its CPU");
	if (!err)
		expect_five(cpu, 10, "ten, once more");

	tally_set_reset(set);
	cause(3);
	tally_set_disable(set);
	cause(7);
	tally_set_read(set, &window, counts);
	expect_five(counts, 3, "three after a reset, until it is disabled");
	tap_ok(&tap, window.ratio_valid, "with a valid ratio");
	tap_ok(&tap, target == ON_ALL || all_equal_times(counts, 5),
	       "for the same time: %llu", counts[0].enabled_ns);
	tally_set_enable(set);
	cause(4);
	tally_set_read(set, &window, counts);
	expect_five(counts, 7, "it goes on from there");
	tap_is(&tap, tally_set_release(set), 0, "it goes");
free:
	kvfree(b);
}

/* ---- all or nothing ---- */

static void refused(struct tally_builder *b, unsigned int n, int err, int member,
		    const char *what)
{
	struct tally_set *set = tally_set_build(b, n);

	if (!tap_is(&tap, PTR_ERR_OR_ZERO(set), err, what)) {
		tally_set_release(set);
		return;
	}
	tap_is(&tap, tally_set_failed(b, n), member, "and the member is told");
	if (member >= 0)
		tap_ok(&tap, tally_builder_why(&b[member])[0], "%s: %s", what,
		       tally_builder_why(&b[member]));
}

static void init_four(struct tally_builder *b)
{
	int i;

	for (i = 0; i < 4; i++) {
		init_software(&b[i], PERF_COUNT_SW_PAGE_FAULTS + i);
		tally_builder_on_cpu(&b[i], 0);
	}
}

void test_bad_sets(void)
{
	struct tally_builder *b;
	unsigned int i;

	b = kvcalloc(TALLY_SET_MOST + 1, sizeof(*b), GFP_KERNEL);
	if (!b)
		return;
	init_four(b);
	refused(b, 0, -EINVAL, -1, "no member");
	for (i = 0; i <= TALLY_SET_MOST; i++)
		init_software(&b[i], PERF_COUNT_SW_PAGE_FAULTS);
	refused(b, TALLY_SET_MOST + 1, -EINVAL, -1, "65 members");

	init_four(b);
	tally_builder_init(&b[2], TALLY_PMU(0x7fff, 0));
	tally_builder_on_cpu(&b[2], 0);
	refused(b, 4, -ENOENT, 2, "no such PMU");
	init_four(b);
	tally_builder_precise(&b[2], 9);
	refused(b, 4, -EINVAL, 2, "a bad setting");
	init_four(b);
	tally_builder_on_all_cpus(&b[2]);
	refused(b, 4, -EINVAL, 2, "another target");
	init_four(b);
	tally_builder_name(&b[1], "same");
	tally_builder_name(&b[2], "same");
	refused(b, 4, -EEXIST, 2, "two of one name");
	init_four(b);
	b[2].owner = NULL;
	refused(b, 4, -EINVAL, 2, "of another module");
	init_four(b);
	tally_builder_on_task(&b[2], current);
	refused(b, 4, -EINVAL, 2, "another target: a task on that CPU");
	for (i = 0; i < 4; i++) {
		init_software(&b[i], PERF_COUNT_SW_PAGE_FAULTS);
		tally_builder_on_task(&b[i], current);
	}
	tally_builder_inherit(&b[2]);
	refused(b, 4, -EOPNOTSUPP, 2, "an inherited member");
	init_four(b);
	for (i = 0; i < 4; i++)
		tally_builder_on_cpu(&b[i], num_possible_cpus() + 100);
	refused(b, 4, -EINVAL, 0, "no such CPU");
	/* A CPU has few breakpoints, so the last members cannot be built. */
	for (i = 0; i < TALLY_SET_MOST; i++) {
		tally_builder_init(&b[i], TALLY_BREAKPOINT(&set_word,
							   sizeof(set_word),
							   HW_BREAKPOINT_W));
		tally_builder_on_cpu(&b[i], 0);
	}
	refused(b, TALLY_SET_MOST, -ENOSPC, 4, "five breakpoints");
	kvfree(b);
}

static void test_sections_on(int target)
{
	struct tally_builder *b;
	struct tally_set *set;

	b = kvcalloc(5, sizeof(*b), GFP_KERNEL);
	if (!b)
		return;
	set = build_five(b, target, "a set for sections");
	if (set)
		test_sections(set, target_name(target));
	tally_set_release(set);
	kvfree(b);
}

/* ---- starved by others ---- */

static void test_starved(void)
{
	struct tally_event *rivals[32];
	struct tally_set_window window;
	struct tally_count counts[2];
	struct tally_builder *b, *rival;
	unsigned int n = 0, i;
	struct tally_set *set;

	b = kvcalloc(3, sizeof(*b), GFP_KERNEL);
	if (!b)
		return;
	rival = &b[2];
	init_hardware(&b[0], PERF_COUNT_HW_CPU_CYCLES);
	init_software(&b[1], PERF_COUNT_SW_CPU_CLOCK);
	/* In no group with a member that is not pinned. */
	tally_builder_pinned(&b[1]);
	for (i = 0; i < 2; i++)
		tally_builder_on_cpu(&b[i], 0);
	set = build_set(b, 2, "cycles and a clock");
	if (!set)
		goto free;
	mdelay(1);
	tally_set_read(set, &window, counts);
	tap_ok(&tap, window.ratio_valid && counts[0].value > 0,
	       "have a valid ratio: %llu in %llu", counts[0].value,
	       counts[1].value);
	/* Takes all counters of the PMU: pinned events share no counter. */
	while (n < ARRAY_SIZE(rivals)) {
		init_hardware(rival, PERF_COUNT_HW_CPU_CYCLES);
		tally_builder_on_cpu(rival, 0);
		tally_builder_pinned(rival);
		tally_builder_require(rival);
		rivals[n] = tally_build(rival);
		if (IS_ERR(rivals[n]))
			break;
		n++;
	}
	tap_ok(&tap, n && n < ARRAY_SIZE(rivals), "%u rivals take the PMU", n);
	msleep(20);
	tally_set_read(set, &window, counts);
	tap_ok(&tap, !window.ratio_valid, "the ratio is not valid any more");
	tap_ok(&tap, counts[0].running_ns < counts[0].enabled_ns,
	       "as its time tells: %llu of %llu", counts[0].running_ns,
	       counts[0].enabled_ns);
	tap_is(&tap, counts[0].state, TALLY_STATE_INACTIVE, "and its state");
	tally_set_release(set);

	/* A set that is never on the PMU. */
	set = build_set(b, 2, "the same with no place");
	if (set) {
		msleep(20);
		tally_set_read(set, &window, counts);
		tap_ok(&tap, counts[0].value == TALLY_NOT_COUNTED,
		       "it is not shown as 0");
		tap_ok(&tap, !window.ratio_valid && counts[1].value > 0,
		       "while the clock goes on");
		preempt_disable();
		tap_is(&tap, tally_set_read_local(set, &window, counts), 0,
		       "it is read here");
		preempt_enable();
		tap_ok(&tap, counts[0].value == TALLY_NOT_COUNTED &&
		       counts[1].value != TALLY_NOT_COUNTED &&
		       !window.ratio_valid, "with the same result");
		tap_is(&tap, measure_section(set, 1, &counts[0].value), -EAGAIN,
		       "and there is no section");
		tally_set_release(set);
	}
	tally_builder_require(&b[1]);
	set = tally_set_build(b, 2);
	tap_is(&tap, PTR_ERR_OR_ZERO(set), -EBUSY, "who requires both has none");
	tap_is(&tap, tally_set_failed(b, 2), 0, "because of the first");
	while (n--)
		tally_event_release(rivals[n]);
free:
	kvfree(b);
}

void test_sets(void)
{
	int target;

	for (target = 0; target < NR_TARGETS; target++) {
		/* A task of arm64 has no breakpoints in the kernel. */
		if (target == ON_TASK && !IS_ENABLED(CONFIG_X86)) {
			tap_skip(&tap, "a set on a task", "no breakpoints");
			continue;
		}
		test_window(target);
		test_sections_on(target);
	}
	test_bad_sets();
	test_stranded();
	if (has_pmu)
		test_starved();
	else
		tap_skip(&tap, "starved by rivals", "no PMU");
}

/* ---- a set for tests with failing allocations ---- */

static struct tally_set *once_set;

int once_begin(void)
{
	struct tally_builder *b;
	int i, err;

	b = kvcalloc(3, sizeof(*b), GFP_KERNEL);
	if (!b)
		return -ENOMEM;
	for (i = 0; i < 3; i++) {
		init_software(&b[i], PERF_COUNT_SW_CPU_CLOCK + i);
		tally_builder_on_all_cpus(&b[i]);
	}
	once_set = tally_set_build(b, 3);
	kvfree(b);
	if (IS_ERR(once_set))
		return PTR_ERR(once_set);
	err = tally_set_publish(once_set, NSEC_PER_MSEC);
	if (err)
		tally_set_release(once_set);
	return err;
}

void once_end(void)
{
	tally_set_release(once_set);
}
