// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of task events and their records. task_events.c and task_records.c are included
 * here, with a writer of records that keeps each record. Listeners are added and removed
 * while tasks switch, fork and exit.
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/pid.h>
#include <linux/umh.h>
#include "../../src/module/base/account.c"
#include "../../src/module/record/task_members.c"
#include "../../src/module/record/task_events.c"
#include "../../src/module/record/task_records.c"

#define KEPT	4096

struct kept {
	u32 type;
	u16 misc;
	u32 tid;
	size_t size;
	u32 body[6];
};

struct asker {
	raw_spinlock_t lock;
	unsigned int nr;
	struct kept *kept;
	int cpu;
	bool removed;
	atomic_t late;
	atomic_long_t told;
	struct tally_output out;
};

void tally_record_task_event(struct tally_output *out, u32 type, u16 misc,
			     struct task_struct *task, const void *body, size_t size)
{
	struct asker *a = container_of(out, struct asker, out);
	unsigned long flags;
	struct kept *k;

	raw_spin_lock_irqsave(&a->lock, flags);
	if (a->nr < KEPT) {
		k = &a->kept[a->nr];
		k->type = type;
		k->misc = misc;
		k->tid = task->pid;
		k->size = size;
		memset(k->body, 0, sizeof(k->body));
		if (size)
			memcpy(k->body, body, min(size, sizeof(k->body)));
	}
	a->nr++;
	raw_spin_unlock_irqrestore(&a->lock, flags);
}

/* No event here waits for exec(). */
enum tally_state tally_counter_state(const struct tally_counter *c, unsigned int slot)
{
	return TALLY_STATE_ACTIVE;
}

u32 tally_output_pid(const struct tally_output *out, struct task_struct *task)
{
	return task->tgid;
}

u32 tally_output_tid(const struct tally_output *out, struct task_struct *task)
{
	return task->pid;
}

static void hear(struct tally_task_listener *listener, const struct tally_task_event *e)
{
	struct asker *a = container_of(listener, struct asker, out.tasks);

	if (READ_ONCE(a->removed) ||
	    (listener->cpu >= 0 && listener->cpu != raw_smp_processor_id()))
		atomic_inc(&a->late);
	atomic_long_inc(&a->told);
	if (a->kept)
		write_record(listener, e);
}

static struct asker *new_asker(struct kunit *test, unsigned int kinds)
{
	/* The counter is of no cgroup, and no test reads its slots. */
	static struct tally_counter counter;
	static struct tally_event enabled = { .counter = &counter, .on = true };
	struct asker *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	a->kept = kunit_kcalloc(test, KEPT, sizeof(*a->kept), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, a->kept);
	raw_spin_lock_init(&a->lock);
	a->out.ev = &enabled;
	a->out.tasks.kinds = kinds;
	a->out.tasks.cpu = -1;
	a->out.tasks.notify = hear;
	return a;
}

static void remove(struct kunit *test, struct asker *a)
{
	tally_task_events_leave(&a->out.tasks);
	synchronize_rcu();
	a->removed = true;
	KUNIT_EXPECT_EQ(test, atomic_read(&a->late), 0);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&a->out.tasks.missed), 0);
	KUNIT_EXPECT_LE(test, a->nr, KEPT);
}

/* Without listeners, no probe is registered and no memory is left. */
static void nothing_left(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR_PROBES; i++)
		KUNIT_EXPECT_EQ(test, probes[i].users, 0);
	for (i = 0; i < BIT(members_bits); i++)
		KUNIT_EXPECT_TRUE(test, hlist_empty(&members[i]));
	KUNIT_EXPECT_TRUE(test, hlist_empty(&on_all));
	KUNIT_EXPECT_EQ(test, nr_inheriting, 0);
	KUNIT_EXPECT_EQ(test, nr_spares, 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&spares));
}

/* Index of the first record of that type whose body has @value at @word; -1 for none. */
static int find(const struct asker *a, unsigned int from, u32 type,
		unsigned int word, u32 value)
{
	unsigned int i;

	for (i = from; i < min_t(unsigned int, a->nr, KEPT); i++)
		if (a->kept[i].type == type && a->kept[i].body[word] == value)
			return i;
	return -1;
}

static unsigned int count(const struct asker *a, u32 type)
{
	unsigned int i, nr = 0;

	for (i = 0; i < min_t(unsigned int, a->nr, KEPT); i++)
		nr += a->kept[i].type == type;
	return nr;
}

/* ---- kinds of records ---- */

static void task_events_kinds(struct kunit *test)
{
	struct perf_event_attr attr = { };

	KUNIT_EXPECT_EQ(test, tally_task_records_kinds(&attr), 0);
	attr.comm = 1;
	KUNIT_EXPECT_EQ(test, tally_task_records_kinds(&attr),
			(unsigned int)(TALLY_TASK_COMM | TALLY_TASK_LIFE));
	attr = (struct perf_event_attr){ .mmap_data = 1 };
	KUNIT_EXPECT_EQ(test, tally_task_records_kinds(&attr), (unsigned int)TALLY_TASK_LIFE);
	attr = (struct perf_event_attr){ .task = 1, .comm_exec = 1 };
	KUNIT_EXPECT_EQ(test, tally_task_records_kinds(&attr), (unsigned int)TALLY_TASK_LIFE);
	attr = (struct perf_event_attr){ .context_switch = 1, .cgroup = 1 };
	KUNIT_EXPECT_EQ(test, tally_task_records_kinds(&attr),
			(unsigned int)(TALLY_TASK_SWITCH | TALLY_TASK_CGROUP));
}

/* ---- names of a program ---- */

static int run_program(const char *script)
{
	char *argv[4] = { "/bin/sh", "-c", (char *)script, NULL };
	char *envp[2] = { "PATH=/bin:/sbin", NULL };

	return call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);
}

/* exec() names the task "sh" after the file; the script renames it to "tally_task". */
static void task_events_comm(struct kunit *test)
{
	struct asker *a = new_asker(test, TALLY_TASK_COMM | TALLY_TASK_LIFE);
	const struct kept *k;
	u32 name[4] = { };
	int at, born;

	KUNIT_ASSERT_EQ(test, tally_task_events_add(&a->out.tasks), 0);
	KUNIT_EXPECT_EQ(test, run_program("printf tally_task >/proc/self/comm"), 0);
	remove(test, a);
	nothing_left(test);

	memcpy(name, "tally_task", sizeof("tally_task"));
	at = find(a, 0, PERF_RECORD_COMM, 2, name[0]);
	KUNIT_ASSERT_GE(test, at, 0);
	k = &a->kept[at];
	KUNIT_EXPECT_EQ(test, k->misc, 0);
	KUNIT_EXPECT_EQ(test, k->size, 8 + 16);
	KUNIT_EXPECT_MEMEQ(test, k->body + 2, name, sizeof(name));
	KUNIT_EXPECT_EQ(test, k->tid, k->body[1]);

	born = find(a, 0, PERF_RECORD_FORK, 2, k->tid);
	KUNIT_ASSERT_GE(test, born, 0);
	KUNIT_EXPECT_LT(test, born, at);
	KUNIT_EXPECT_EQ(test, a->kept[born].size, 24);
	KUNIT_EXPECT_EQ(test, a->kept[born].tid, a->kept[born].body[3]);
	KUNIT_EXPECT_GT(test, find(a, at, PERF_RECORD_EXIT, 2, k->tid), at);

	memset(name, 0, sizeof(name));
	memcpy(name, "sh", sizeof("sh"));
	at = find(a, born, PERF_RECORD_COMM, 1, k->tid);
	KUNIT_ASSERT_GE(test, at, 0);
	k = &a->kept[at];
	KUNIT_EXPECT_EQ(test, k->misc, PERF_RECORD_MISC_COMM_EXEC);
	KUNIT_EXPECT_EQ(test, k->size, 8 + 8);
	KUNIT_EXPECT_EQ(test, k->body[2], name[0]);
}

/* ---- tasks ---- */

static int sleeper(void *data)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		usleep_range(100, 200);
	complete(data);
	return 0;
}

static struct task_struct *run(struct kunit *test, struct completion *done)
{
	struct task_struct *task;

	init_completion(done);
	task = kthread_create(sleeper, done, "tally_sleeper");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	return task;
}

/* Only a task with an event of perf is listened to, as those of tally are. */
static struct perf_event *give_perf(struct kunit *test, struct task_struct *task)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.inherit = 1,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, -1, task, NULL, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(event));
	return event;
}

/* Waits until the task has surely passed the tracepoint of exit(). */
static void wait_for_end(struct task_struct *task)
{
	unsigned long end = jiffies + 10 * HZ;

	while (pid_alive(task) && time_before(jiffies, end))
		usleep_range(100, 200);
}

static struct task_struct *thread_maker(void)
{
	struct task_struct *task = NULL;
	struct pid *pid = find_get_pid(2);

	if (pid) {
		task = get_pid_task(pid, PIDTYPE_PID);
		put_pid(pid);
	}
	return task;
}

/* For a task that does not fork: only its own switches and its own EXIT. */
static void task_events_task(struct kunit *test)
{
	struct asker *a = new_asker(test, TALLY_TASK_LIFE | TALLY_TASK_SWITCH);
	struct perf_event *event;
	struct task_struct *task;
	struct completion done;
	unsigned int i;

	task = run(test, &done);
	event = give_perf(test, task);
	a->out.tasks.task = task;
	KUNIT_ASSERT_EQ(test, tally_task_events_add(&a->out.tasks), 0);
	wake_up_process(task);
	wait_for_completion(&done);
	wait_for_end(task);
	remove(test, a);
	perf_event_release_kernel(event);
	nothing_left(test);

	KUNIT_EXPECT_EQ(test, count(a, PERF_RECORD_FORK), 0);
	KUNIT_EXPECT_EQ(test, count(a, PERF_RECORD_EXIT), 1);
	KUNIT_EXPECT_EQ(test, count(a, PERF_RECORD_SWITCH_CPU_WIDE), 0);
	/*
	 * The task was switched in, and slept three times. On a busy host, a sleep may
	 * end before the task is switched out.
	 */
	KUNIT_EXPECT_GE(test, count(a, PERF_RECORD_SWITCH), 3);
	for (i = 0; i < min_t(unsigned int, a->nr, KEPT); i++) {
		const struct kept *k = &a->kept[i];

		KUNIT_EXPECT_EQ(test, k->tid, (u32)task->pid);
		if (k->type == PERF_RECORD_SWITCH)
			KUNIT_EXPECT_EQ(test, k->size, 0);
	}
	put_task_struct(task);
}

/* For kthreadd: only the threads that it makes after the listener was added. */
static void task_events_inherit(struct kunit *test)
{
	struct asker *with = new_asker(test, TALLY_TASK_LIFE | TALLY_TASK_SWITCH);
	struct asker *without = new_asker(test, TALLY_TASK_LIFE | TALLY_TASK_SWITCH);
	struct asker *threads = new_asker(test, TALLY_TASK_LIFE);
	struct task_struct *maker = thread_maker(), *before, *after;
	struct tally_account account = { };
	struct completion first, second;
	struct perf_event *event;
	u32 born, dead;

	KUNIT_ASSERT_NOT_NULL(test, maker);
	event = give_perf(test, maker);
	with->out.tasks.account = &account;
	with->out.tasks.task = maker;
	with->out.tasks.inherit = true;
	without->out.tasks.task = maker;
	threads->out.tasks.task = maker;
	threads->out.tasks.inherit = true;
	threads->out.tasks.inherit_thread = true;
	before = run(test, &first);
	KUNIT_ASSERT_EQ(test, tally_task_events_add(&with->out.tasks), 0);
	KUNIT_ASSERT_EQ(test, tally_task_events_add(&without->out.tasks), 0);
	KUNIT_ASSERT_EQ(test, tally_task_events_add(&threads->out.tasks), 0);
	after = run(test, &second);
	KUNIT_EXPECT_GE(test, atomic64_read(&account.bytes), 2 * (s64)sizeof(struct member));
	wake_up_process(before);
	wake_up_process(after);
	wait_for_completion(&first);
	wait_for_completion(&second);
	wait_for_end(before);
	wait_for_end(after);
	tally_task_events_leave(&with->out.tasks);
	tally_task_events_leave(&without->out.tasks);
	tally_task_events_leave(&threads->out.tasks);
	synchronize_rcu();
	perf_event_release_kernel(event);
	KUNIT_EXPECT_EQ(test, atomic64_read(&account.bytes), 0);
	nothing_left(test);

	born = after->pid;
	dead = before->pid;
	KUNIT_EXPECT_GE(test, find(with, 0, PERF_RECORD_FORK, 2, born), 0);
	KUNIT_EXPECT_GE(test, find(with, 0, PERF_RECORD_EXIT, 2, born), 0);
	KUNIT_EXPECT_LT(test, find(with, 0, PERF_RECORD_EXIT, 2, dead), 0);
	KUNIT_EXPECT_GE(test, find(without, 0, PERF_RECORD_FORK, 2, born), 0);
	KUNIT_EXPECT_LT(test, find(without, 0, PERF_RECORD_EXIT, 2, born), 0);
	/* kthreadd makes processes, and no threads of its own. */
	KUNIT_EXPECT_GE(test, find(threads, 0, PERF_RECORD_FORK, 2, born), 0);
	KUNIT_EXPECT_EQ(test, count(threads, PERF_RECORD_EXIT), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&with->late), 0);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&with->out.tasks.missed), 0);
	put_task_struct(before);
	put_task_struct(after);
	put_task_struct(maker);
}

/* ---- a CPU ---- */

/* A task that was reaped before its last switch has the number -1. */
static bool same_task(const struct task_struct *task, u32 a, u32 b)
{
	return a == b || (a == (u32)task->pid && b == -1U) || (b == (u32)task->pid && a == -1U);
}

/*
 * A switch out names the next task, a switch in names the previous one; none is lost. The
 * listener may come or go while the CPU switches, between the two records of a switch.
 */
static void task_events_switch(struct kunit *test)
{
	struct asker *a = new_asker(test, TALLY_TASK_SWITCH);
	const struct kept *k = a->kept;
	unsigned int i, nr, first, bad = 0, slept = 0;
	struct task_struct *task;
	struct completion done;

	a->out.tasks.cpu = cpumask_first(cpu_online_mask);
	task = run(test, &done);
	kthread_bind(task, a->out.tasks.cpu);
	KUNIT_ASSERT_EQ(test, tally_task_events_add(&a->out.tasks), 0);
	wake_up_process(task);
	wait_for_completion(&done);
	wait_for_end(task);
	remove(test, a);
	nothing_left(test);

	nr = min_t(unsigned int, a->nr, KEPT);
	KUNIT_EXPECT_EQ(test, count(a, PERF_RECORD_SWITCH_CPU_WIDE), nr);
	KUNIT_EXPECT_GE(test, find(a, 0, PERF_RECORD_SWITCH_CPU_WIDE, 1, task->pid), 0);
	first = nr && !k[0].misc;
	for (i = first; i < nr; i += 2) {
		bad += !(k[i].misc & PERF_RECORD_MISC_SWITCH_OUT);
		bad += i && !same_task(task, k[i].tid, k[i - 1].tid);
		if (i + 1 == nr)
			break;
		bad += k[i + 1].misc != 0;
		bad += k[i].body[1] != k[i + 1].tid || k[i + 1].body[1] != k[i].tid;
		/* A task that sleeps is not preempted. */
		slept += k[i].tid == (u32)task->pid &&
			 !(k[i].misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_GE(test, slept, 1);
	put_task_struct(task);
}

/* ---- all at once ---- */

/* The race lasts so long, and on a slow machine until all have taken part in it. */
#define RACE_TIME	(5 * HZ)
#define RACE_PATIENCE	(120 * HZ)
#define RACE_ROUNDS	10UL
#define RACE_TOLD	100UL
#define RACE_FORKS	100UL

static int switches(void *data)
{
	while (!kthread_should_stop())
		usleep_range(20, 50);
	return 0;
}

static int forks(void *data)
{
	unsigned long *nr = data;
	struct task_struct *task;

	while (!kthread_should_stop()) {
		struct completion done;

		init_completion(&done);
		task = kthread_run(sleeper, &done, "tally_child");
		if (IS_ERR(task))
			continue;
		wait_for_completion(&done);
		WRITE_ONCE(*nr, *nr + 1);
	}
	return 0;
}

struct race {
	struct task_struct *maker;
	bool own_cpu;
	unsigned long rounds;
	unsigned long failed;
	unsigned long late;
	unsigned long told;
};

/* Listeners are freed as soon as possible, so that KASAN reports a late use. */
static int comes_and_goes(void *data)
{
	struct race *race = data;
	struct asker *a;

	while (!kthread_should_stop()) {
		a = kzalloc(sizeof(*a), GFP_KERNEL);
		if (!a)
			continue;
		a->out.tasks.kinds = TALLY_TASK_COMM | TALLY_TASK_LIFE | TALLY_TASK_SWITCH |
				TALLY_TASK_CGROUP;
		a->out.tasks.cpu = race->own_cpu ? cpumask_first(cpu_online_mask) : -1;
		a->out.tasks.task = race->maker;
		a->out.tasks.inherit = race->rounds % 2;
		a->out.tasks.notify = hear;
		if (tally_task_events_add(&a->out.tasks)) {
			race->failed++;
		} else {
			usleep_range(1000, 3000);
			tally_task_events_leave(&a->out.tasks);
			synchronize_rcu();
			WRITE_ONCE(a->removed, true);
			race->late += atomic_read(&a->late);
			WRITE_ONCE(race->told, race->told + atomic_long_read(&a->told));
			WRITE_ONCE(race->rounds, race->rounds + 1);
		}
		kfree(a);
	}
	return 0;
}

static bool all_took_part(const struct race *race, const unsigned long *forked)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (READ_ONCE(race[i].rounds) <= RACE_ROUNDS ||
		    READ_ONCE(race[i].told) <= RACE_TOLD)
			return false;
	return READ_ONCE(*forked) > RACE_FORKS;
}

static void task_events_race(struct kunit *test)
{
	struct race *race = kunit_kzalloc(test, 3 * sizeof(*race), GFP_KERNEL);
	struct task_struct *maker = thread_maker();
	struct task_struct *tasks[5];
	unsigned long forked = 0, begin;
	struct perf_event *event;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, race);
	KUNIT_ASSERT_NOT_NULL(test, maker);
	event = give_perf(test, maker);
	race[0].maker = maker;
	race[2].own_cpu = true;
	tasks[0] = kthread_run(switches, NULL, "tally_switches");
	tasks[1] = kthread_run(forks, &forked, "tally_forks");
	for (i = 0; i < 3; i++)
		tasks[2 + i] = kthread_run(comes_and_goes, &race[i], "tally_asker%u", i);
	begin = jiffies;
	schedule_timeout_uninterruptible(RACE_TIME);
	while (!all_took_part(race, &forked) && time_before(jiffies, begin + RACE_PATIENCE))
		schedule_timeout_uninterruptible(HZ / 10);
	for (i = 0; i < ARRAY_SIZE(tasks); i++) {
		KUNIT_EXPECT_FALSE(test, IS_ERR(tasks[i]));
		if (!IS_ERR(tasks[i]))
			kthread_stop(tasks[i]);
	}
	perf_event_release_kernel(event);
	put_task_struct(maker);
	for (i = 0; i < 3; i++) {
		kunit_info(test, "%lu rounds, told %lu times\n", race[i].rounds,
			   race[i].told);
		KUNIT_EXPECT_GT(test, race[i].rounds, RACE_ROUNDS);
		KUNIT_EXPECT_GT(test, race[i].told, RACE_TOLD);
		KUNIT_EXPECT_EQ(test, race[i].failed, 0UL);
		KUNIT_EXPECT_EQ(test, race[i].late, 0UL);
	}
	kunit_info(test, "%lu forks\n", forked);
	KUNIT_EXPECT_GT(test, forked, RACE_FORKS);
	nothing_left(test);
}

static int task_events_suite_init(struct kunit_suite *suite)
{
	return tally_members_init();
}

static void task_events_suite_exit(struct kunit_suite *suite)
{
	tally_task_events_exit();
}

static struct kunit_case task_events_cases[] = {
	KUNIT_CASE(task_events_kinds),
	KUNIT_CASE(task_events_comm),
	KUNIT_CASE(task_events_task),
	KUNIT_CASE(task_events_inherit),
	KUNIT_CASE(task_events_switch),
	KUNIT_CASE(task_events_race),
	{ }
};

static struct kunit_suite task_events_suite = {
	.name = "tally_task_events",
	.suite_init = task_events_suite_init,
	.suite_exit = task_events_suite_exit,
	.test_cases = task_events_cases,
};

kunit_test_suite(task_events_suite);
