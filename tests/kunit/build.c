// SPDX-License-Identifier: GPL-2.0
/* Tests of tally_build(): a builder holds no references, and can be used many times. */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/string.h>
#include <tally/tally.h>

static const struct tally_what faults =
	TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS);

static int sleeper(void *unused)
{
	set_current_state(TASK_INTERRUPTIBLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static struct task_struct *start_sleeper(struct kunit *test)
{
	struct task_struct *task;

	task = kthread_run(sleeper, NULL, "tally_sleeper");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	return get_task_struct(task);
}

static void end_sleeper(struct task_struct *task)
{
	kthread_stop(task);
	put_task_struct(task);
}

/* D.1 #4: a builder holds no reference to its task, also after a failed build. */
static void build_holds_nothing(struct kunit *test)
{
	struct task_struct *task = start_sleeper(test);
	unsigned int before = refcount_read(&task->usage);
	struct tally_builder b;

	tally_builder_init(&b, faults);
	tally_builder_on_task(&b, task);
	tally_builder_name(&b, "kunit_held");
	KUNIT_EXPECT_EQ(test, refcount_read(&task->usage), before);
	tally_builder_on_all_cpus(&b);
	KUNIT_EXPECT_TRUE(test, IS_ERR(tally_build(&b)));
	KUNIT_EXPECT_EQ(test, refcount_read(&task->usage), before);

	/* perf refuses this event after tally has set up everything. */
	tally_builder_init(&b, TALLY_PMU(4000000000U, 0));
	tally_builder_on_task(&b, task);
	KUNIT_EXPECT_TRUE(test, IS_ERR(tally_build(&b)));
	KUNIT_EXPECT_EQ(test, refcount_read(&task->usage), before);
	end_sleeper(task);
}

static void build_twice(struct kunit *test)
{
	struct tally_event *one, *two;
	struct tally_builder b;

	tally_builder_init(&b, faults);
	tally_builder_name(&b, "kunit_twice");
	one = tally_build(&b);
	KUNIT_ASSERT_FALSE(test, IS_ERR(one));
	KUNIT_EXPECT_STREQ(test, tally_event_name(one), "kunit_twice");
	two = tally_build(&b);
	KUNIT_EXPECT_PTR_EQ(test, two, (struct tally_event *)ERR_PTR(-EEXIST));
	KUNIT_EXPECT_NOT_NULL(test, strstr(tally_builder_why(&b), "taken"));
	tally_event_release(one);

	two = tally_build(&b);
	KUNIT_EXPECT_FALSE(test, IS_ERR(two));
	KUNIT_EXPECT_STREQ(test, tally_builder_why(&b), "");
	tally_event_release(two);
}

static void build_twice_unnamed(struct kunit *test)
{
	struct tally_event *one, *two;
	struct tally_builder b;

	tally_builder_init(&b, faults);
	one = tally_build(&b);
	two = tally_build(&b);
	KUNIT_ASSERT_FALSE(test, IS_ERR(one));
	KUNIT_ASSERT_FALSE(test, IS_ERR(two));
	KUNIT_EXPECT_STRNEQ(test, tally_event_name(one), tally_event_name(two));
	KUNIT_EXPECT_TRUE(test, strstarts(tally_event_name(one),
					  "tally_kunit.page-faults."));
	tally_event_release(one);
	tally_event_release(two);
}

/* D.1 #7: a failure has its own errno, and does not fail the next build. */
static void build_after_failure(struct kunit *test)
{
	struct task_struct *task = start_sleeper(test);
	struct tally_event *ev;
	struct tally_builder b;

	kthread_stop(task);
	/* For perf, a task has exited once PF_EXITING is set. */
	while (!(READ_ONCE(task->flags) & PF_EXITING))
		cond_resched();
	tally_builder_init(&b, faults);
	tally_builder_on_task(&b, task);
	ev = tally_build(&b);
	KUNIT_EXPECT_PTR_EQ(test, ev, (struct tally_event *)ERR_PTR(-ESRCH));
	KUNIT_EXPECT_NOT_NULL(test, strstr(tally_builder_why(&b), "exited"));
	put_task_struct(task);

	tally_builder_on_task(&b, current);
	ev = tally_build(&b);
	KUNIT_EXPECT_FALSE_MSG(test, IS_ERR(ev), "%s", tally_builder_why(&b));
	tally_event_release(ev);
}

static void build_no_pid(struct kunit *test)
{
	struct tally_event *ev;
	struct tally_builder b;

	tally_builder_init(&b, faults);
	tally_builder_on_pid(&b, INT_MAX);
	ev = tally_build(&b);
	KUNIT_EXPECT_PTR_EQ(test, ev, (struct tally_event *)ERR_PTR(-ESRCH));
	KUNIT_EXPECT_NOT_NULL(test, strstr(tally_builder_why(&b), "no task"));
	tally_builder_on_pid(&b, 0);
	ev = tally_build(&b);
	KUNIT_EXPECT_FALSE_MSG(test, IS_ERR(ev), "%s", tally_builder_why(&b));
	tally_event_release(ev);
}

/* D.1 #7: perf's own errors are returned unchanged. */
static void build_perf_refuses(struct kunit *test)
{
	struct tally_event *ev;
	struct tally_builder b;

	tally_builder_init(&b, TALLY_PMU(4000000000U, 0));
	ev = tally_build(&b);
	KUNIT_EXPECT_PTR_EQ(test, ev, (struct tally_event *)ERR_PTR(-ENOENT));
	KUNIT_EXPECT_STRNEQ(test, tally_builder_why(&b), "");
	tally_builder_init(&b, TALLY_SOFTWARE(PERF_COUNT_SW_MAX));
	ev = tally_build(&b);
	KUNIT_EXPECT_PTR_EQ(test, ev, (struct tally_event *)ERR_PTR(-ENOENT));
	tally_builder_init(&b, TALLY_TRACEPOINT(U32_MAX));
	ev = tally_build(&b);
	KUNIT_EXPECT_TRUE(test, IS_ERR(ev));
	KUNIT_EXPECT_STRNEQ(test, tally_builder_why(&b), "");
}

static struct kunit_case build_cases[] = {
	KUNIT_CASE(build_holds_nothing),
	KUNIT_CASE(build_twice),
	KUNIT_CASE(build_twice_unnamed),
	KUNIT_CASE(build_after_failure),
	KUNIT_CASE(build_no_pid),
	KUNIT_CASE(build_perf_refuses),
	{ }
};

static struct kunit_suite build_suite = {
	.name = "tally_build",
	.test_cases = build_cases,
};

kunit_test_suite(build_suite);
