// SPDX-License-Identifier: GPL-2.0
/*
 * Events of cgroups for modules. The process that loads this module is in the cgroup /t/a,
 * which has b below it:
 *
 *	insmod tally_cgroup.ko
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <tally/tally.h>
#include "kernels.h"
#include "tap.h"

#define MS	1000000

static struct tap tap;

/* Without a path, all tasks are counted. */
static struct tally_event *count_in(const char *path)
{
	struct tally_builder *b = kzalloc(sizeof(*b), GFP_KERNEL);
	struct tally_event *ev;

	if (!b)
		return ERR_PTR(-ENOMEM);
	tally_builder_init(b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	if (path)
		tally_builder_on_cgroup(b, path);
	ev = tally_build(b);
	if (IS_ERR(ev))
		tap_line(&tap, "# %s: %s", path ?: "all", tally_builder_why(b));
	kfree(b);
	return ev;
}

static void check_fd(void)
{
	struct tally_builder *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return;
	tally_builder_init(b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_on_cgroup_fd(b, 0);
	tap_ok(&tap, tally_build(b) == ERR_PTR(-EBADF), "a file of no cgroup is EBADF");
	kfree(b);
}

/*
 * Returns for how many cgroups, one in the other, perf has room when it merges the events of
 * this CPU. One place is for events of no cgroup.
 */
static int room(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr), .disabled = 1,
	};
	struct perf_event *event;
	int size = 0;

	event = perf_event_create_kernel_counter(&attr, raw_smp_processor_id(), NULL, NULL, NULL);
	if (IS_ERR(event))
		return 0;
#ifdef CONFIG_CGROUP_PERF
	size = container_of(event->ctx, struct perf_cpu_context, ctx)->heap_size;
#endif
	perf_event_release_kernel(event);
	return size - 1;
}

static void check_reads(struct tally_event *in, struct tally_event *below)
{
	struct tally_count first, second;
	unsigned long deadline;
	u64 value = 0, age, end;
	bool published = false;
	int err;

	tap_ok(&tap, !tally_event_read_local(in, &value), "the caller's cgroup is read locally");
	err = tally_event_read_local(below, &value);
	tap_ok(&tap, err == -EAGAIN, "one that does not run is EAGAIN: %d", err);
	preempt_disable();
	err = tally_event_read_local_count(in, &first);
	for (end = local_clock() + 2 * MS; local_clock() < end; )
		cpu_relax();
	err = err ?: tally_event_read_local_count(in, &second);
	preempt_enable();
	tap_ok(&tap, !err && second.value >= first.value + MS &&
	       second.enabled_ns >= first.enabled_ns + MS &&
	       second.running_ns - first.running_ns == second.enabled_ns - first.enabled_ns &&
	       second.enabled_ns <= first.enabled_ns + 10000ULL * MS,
	       "its times go on with its clock: %lld, enabled %lld ns",
	       (long long)(second.value - first.value),
	       (long long)(second.enabled_ns - first.enabled_ns));
	err = tally_event_read(below, &second);
	tap_ok(&tap, !err && !second.value && !second.enabled_ns &&
	       second.state == TALLY_STATE_INACTIVE, "the other one has not run");
	err = tally_event_publish(below, MS / 10);
	/* Timers publish on CPUs that are busy. */
	deadline = jiffies + 60 * HZ;
	while (!err && !published && time_before(jiffies, deadline)) {
		published = !tally_event_published(below, raw_smp_processor_id(), &second, &age);
		cond_resched();
	}
	tap_ok(&tap, published && !second.value && second.state == TALLY_STATE_INACTIVE,
	       "it is published, too: %d", err);
}

/* ---- sections ---- */

static bool switched;

static int switch_set(void *set)
{
	tally_set_disable(set);
	tally_set_enable(set);
	WRITE_ONCE(switched, true);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/*
 * A section in which another CPU switches the set off and on, if @task is to do that. perf may
 * change its members at any time: then EAGAIN, but in @end only what came in the section.
 */
static int section_of(struct tally_set *set, struct task_struct *task, u64 *values, int *end)
{
	TALLY_SECTION(section, 2);
	u64 deadline = local_clock() + 10ULL * 1000 * MS;
	int err;

	preempt_disable();
	err = tally_section_begin(set, &section);
	if (!err && task)
		wake_up_process(task);
	while (!err && task && !READ_ONCE(switched) && local_clock() < deadline)
		cpu_relax();
	if (!err)
		*end = tally_section_end(set, &section, values);
	preempt_enable();
	return err;
}

static void check_sections(void)
{
	struct tally_builder *b = kcalloc(2, sizeof(*b), GFP_KERNEL);
	struct task_struct *task;
	struct tally_set *set;
	u64 values[2], begin = 0, end;
	int i, err = -EAGAIN, ended = -EAGAIN;

	if (!b)
		return;
	for (i = 0; i < 2; i++) {
		tally_builder_init(&b[i], TALLY_SOFTWARE(i ? PERF_COUNT_SW_TASK_CLOCK :
							     PERF_COUNT_SW_CPU_CLOCK));
		tally_builder_on_cgroup(&b[i], "/t/a");
	}
	set = tally_set_build(b, 2);
	kfree(b);
	if (!tap_ok(&tap, !IS_ERR(set), "a set of a cgroup"))
		return;
	tally_set_enable(set);
	for (i = 0; i < 1000 && (err == -EAGAIN || ended == -EAGAIN); i++) {
		begin = local_clock();
		err = section_of(set, NULL, values, &ended);
	}
	end = local_clock();
	tap_ok(&tap, !err && !ended && values[0] <= end - begin && values[1] <= end - begin,
	       "a section of it: %d", err ?: ended);
	migrate_disable();
	task = kthread_create(switch_set, set, "tally_switch");
	if (tap_ok(&tap, !IS_ERR(task), "another CPU switches it")) {
		kthread_bind(task, cpumask_any_but(cpu_online_mask, raw_smp_processor_id()));
		for (i = 0, err = -EAGAIN; i < 1000 && err == -EAGAIN; i++)
			err = section_of(set, task, values, &ended);
		tap_ok(&tap, !err && READ_ONCE(switched) && ended == -EAGAIN,
		       "a section in which it was off is EAGAIN: %d, %d", err, ended);
		kthread_stop(task);
	}
	migrate_enable();
	tally_set_release(set);
}

/*
 * An event of a cgroup on CPUs that count already, and have no other of a cgroup. Linux 6.12 starts
 * the clock of such a cgroup when a task of another one runs there, and then has it go on from the
 * time at which it was used last.
 */
static void check_first(const char *path)
{
	/* Each task is in the root or below it, and only this one in another cgroup. */
	bool is_root = !strcmp(path, "/");
	unsigned int cpus = is_root ? num_online_cpus() : 1;
	u64 begun, made, least = 0, most = 0;
	struct tally_count count = { };
	struct tally_event *ev;
	bool right = true;
	unsigned int i;

	msleep(300);
	begun = local_clock();
	ev = count_in(path);
	made = local_clock();
	if (!tap_ok(&tap, !IS_ERR(ev), "the first event of %s", path))
		return;
	for (i = 0; i < 3 && right; i++) {
		/* The idle task, which is in the root, runs here. */
		msleep(20);
		least = is_root ? cpus * (local_clock() - made) : 0;
		tally_event_read(ev, &count);
		most = cpus * (local_clock() - begun);
		right = least <= count.enabled_ns && count.enabled_ns <= most;
	}
	tap_ok(&tap, right, "it is enabled while it exists: %llu <= %llu <= %llu ns",
	       least, count.enabled_ns, most);
	tally_event_release(ev);
}

/* All tasks of this CPU are in the root: no other cgroup ever starts the clock. */
static void check_root(void)
{
	struct tally_event *ev = count_in("/");
	struct tally_count first, last;
	u64 begun, ns;
	int err;

	if (tap_ok(&tap, !IS_ERR(ev), "an event of the root")) {
		preempt_disable();
		err = tally_event_read_local_count(ev, &first);
		begun = local_clock();
		mdelay(5);
		ns = local_clock() - begun;
		err = err ?: tally_event_read_local_count(ev, &last);
		preempt_enable();
		tap_ok(&tap, !err && last.enabled_ns - first.enabled_ns >= ns,
		       "its time goes on: error %d, %llu of %llu ns", err,
		       last.enabled_ns - first.enabled_ns, ns);
	}
	tally_event_release(ev);
}

static void check_clocks(void)
{
	struct tally_event *plain = count_in(NULL);

	if (tap_ok(&tap, !IS_ERR(plain), "all CPUs count")) {
		check_root();
		check_first("/t/a");
		/* The clocks that the last one has left. */
		check_first("/t/a");
		check_first("/");
	}
	tally_event_release(plain);
}

static int __init start(void)
{
	struct tally_event *none, *in, *below;
	int err = tap_start(&tap);

	if (err)
		return err;
	check_clocks();
	none = count_in("/t/none");
	tap_ok(&tap, none == ERR_PTR(-ENOENT), "no such cgroup is ENOENT");
	check_fd();
	in = count_in("/t/a");
	below = count_in("t/a/b");
	if (tap_ok(&tap, !IS_ERR(in) && !IS_ERR(below), "events of two cgroups")) {
		/* The root, t, a and b. */
		tap_ok(&tap, room() >= 4, "perf has room for %d cgroups", room());
		check_reads(in, below);
	}
	check_sections();
	tally_event_release(below);
	tally_event_release(in);
	tap_plan(&tap);
	tap_show(&tap, "tally_cgroup");
	return 0;
}

static void __exit stop(void)
{
	tap_end(&tap);
}

module_init(start);
module_exit(stop);
IMPORT_TALLY();
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Counts cgroups, as any other module may");
MODULE_LICENSE("GPL");
