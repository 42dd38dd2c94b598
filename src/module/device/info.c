// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls that a program calls before it makes a file: they return what the
 * kernel can do, and which events there are.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <uapi/linux/tally.h>
#include "arch/breakpoint.h"
#include "base/cgroup.h"
#include "base/clock.h"
#include "base/copyin.h"
#include "builder/name.h"
#include "builder/builder.h"
#include "builder/sample_fields.h"
#include "device/device.h"
#include "device/quota.h"
#include "event/event.h"
#include "event/registry.h"
#include "set/page.h"
#include "set/publish.h"

/* Sizes of the structs in the first ABI, the least that an ioctl takes. */
#define INFO_SIZE_1	offsetofend(struct tally_info, publish_default_ns)
#define NEXT_SIZE_1	offsetofend(struct tally_next, what)

/* ---- TALLY_IOC_INFO ---- */

/* The features that no kernel has have no bit here: see <linux/tally.h>. */
static u64 features(void)
{
	u64 found = TALLY_FEATURE_ALL_CPUS | TALLY_FEATURE_MEMBERS | TALLY_FEATURE_PUBLISH |
		    TALLY_FEATURE_ATTACH | TALLY_FEATURE_RINGS | TALLY_FEATURE_SHARED_RINGS |
		    TALLY_FEATURE_LINES;

	if (IS_ENABLED(CONFIG_EVENT_TRACING))
		found |= TALLY_FEATURE_FILTERS;
	if (tally_breakpoint_exists())
		found |= TALLY_FEATURE_BREAKPOINTS;
	if (tally_breakpoint_can_overflow())
		found |= TALLY_FEATURE_BREAKPOINT_PERIODS;
	return found;
}

static u64 clocks(void)
{
	struct perf_event_attr attr = { .use_clockid = 1 };
	u64 found = 0;

	for (; attr.clockid < 64; attr.clockid++)
		if (tally_clock_of(&attr))
			found |= BIT_ULL(attr.clockid);
	return found;
}

int tally_ioc_info(void __user *arg)
{
	struct tally_info info = {
		.abi = TALLY_ABI,
		.features = features(),
		.attr_size = sizeof(struct perf_event_attr),
		.nr_cpus = nr_cpu_ids,
		.publish_min_ns = TALLY_PUBLISH_SHORTEST,
		.publish_max_ns = TALLY_PUBLISH_LONGEST,
		.publish_default_ns = TALLY_PUBLISH_DEFAULT,
		.attr_bits = tally_attr_bits(),
		.sample_type = tally_attr_sample_type(),
		.read_format = TALLY_FORMAT_KNOWN,
		.perf_flags = TALLY_PERF_FLAGS |
			      (IS_ENABLED(CONFIG_CGROUP_PERF) ? PERF_FLAG_PID_CGROUP : 0),
		.clocks = clocks(),
		.max_stack = PERF_MAX_STACK_DEPTH,
	};
	struct tally_info asked;
	u32 size;
	int err;

	err = tally_copyin_request(&asked, sizeof(asked), arg, sizeof(asked),
				   INFO_SIZE_1, &size);
	if (err)
		return err;
	tally_quota_limits(&info);
	return tally_copyin_answer(arg, &info, sizeof(info), size);
}

/* ---- TALLY_IOC_NEXT ---- */

/* A generated name reveals what the event counts, but for that of a file: file.NUMBER. */
static bool may_see_name(const struct tally_event *ev)
{
	return !ev->name_hidden &&
	       (ev->named || ev->of_file || tally_attr_is_public(&ev->attr));
}

/* Writes the path. If that is too long, writes the cgroup's unique number and the path's end. */
static void put_path(struct tally_next *n, const char *path, u64 id)
{
	size_t len = strlen(path), used;

	if (strscpy(n->cgroup, path, sizeof(n->cgroup)) >= 0)
		return;
	used = scnprintf(n->cgroup, sizeof(n->cgroup), "id:%llu...", id);
	strscpy(n->cgroup + used, path + len - (sizeof(n->cgroup) - used - 1),
		sizeof(n->cgroup) - used);
}

/* Fills in overflows and the cgroup. Without CAP_PERFMON, the numbers are U64_MAX. */
static void describe_more(struct tally_event *ev, struct tally_next *n, bool perfmon)
{
	struct cgroup_subsys_state *css = ev->counter->target.css;
	struct tally_overflow_stats stats;
	char *path;

	if (!perfmon) {
		n->overflows = U64_MAX;
		n->missed = U64_MAX;
		n->lost = U64_MAX;
		n->throttled = U64_MAX;
		return;
	}
	if (!tally_event_overflow_stats(ev, &stats)) {
		n->overflows = stats.overflows;
		n->missed = stats.missed;
		n->lost = stats.lost;
		n->throttled = stats.throttled;
	}
	n->missed += tally_event_missed(ev);
	path = css ? tally_cgroup_path(css) : NULL;
	if (path)
		put_path(n, path, tally_cgroup_id(css));
	kfree(path);
}

/* Waits for nobody, and interrupts no CPU. */
static void describe_next(struct tally_event *ev, struct tally_next *n)
{
	const struct tally_target *target = &ev->counter->target;
	bool perfmon = tally_perfmon_capable();

	n->id = ev->id;
	rcu_read_lock();
	n->state = tally_event_state_now(ev);
	rcu_read_unlock();
	n->type = ev->attr.type;
	n->cpu = target->cpu;
	n->pid = target->task ? tally_counter_pid(ev->counter) : -1;
	n->flags = ev->of_file ? TALLY_NEXT_OF_FILE : 0;
	strscpy(n->owner, module_name(ev->owner), sizeof(n->owner));
	if (perfmon || may_see_name(ev))
		strscpy(n->name, ev->name, sizeof(n->name));
	describe_more(ev, n, perfmon);
	if (!perfmon && !tally_attr_is_public(&ev->attr))
		return;
	n->config = ev->attr.config;
	tally_name_format(&ev->attr, ev->given, n->what, sizeof(n->what));
}

int tally_ioc_next(struct tally_next __user *arg)
{
	struct tally_event *ev;
	struct tally_next n;
	u32 size;
	int err;

	err = tally_copyin_request(&n, sizeof(n), arg, sizeof(n), NEXT_SIZE_1, &size);
	if (err)
		return err;
	if (n.flags & ~TALLY_NEXT_OF_FILE)
		return -EINVAL;
	ev = n.id < U64_MAX ? tally_registry_hold(n.id + 1) : NULL;
	if (!ev)
		return -ENOENT;
	memset(&n, 0, sizeof(n));
	describe_next(ev, &n);
	tally_registry_put(ev);
	return tally_copyin_answer(arg, &n, sizeof(n), size);
}
