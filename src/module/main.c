// SPDX-License-Identifier: GPL-2.0
/*
 * tally: counters that live in the kernel.
 *
 *	insmod tally.ko events=cycles,page-faults
 *	insmod tally.ko 'events="cycles:k cpu=0 name=k0;page-faults pid=1"'
 *	cat /sys/kernel/debug/tally/events
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include "arch/chain.h"
#include "life/life.h"
#include "event/overflow.h"
#include "counter/counter.h"
#include "counter/slot.h"
#include "debugfs/debugfs.h"
#include "device/device.h"
#include "builder/name.h"
#include "event/event.h"
#include "filter/filter.h"
#include "set/page.h"
#include "set/budget.h"
#include "base/account.h"
#include "base/kick.h"
#include "base/kprobe.h"
#include "base/pmu.h"
#include "record/output.h"
#include "record/recorder.h"
#include "event/registry.h"
#include "record/ring.h"
#include "record/task_events.h"
#include "record/task_members.h"

static char *events;

/* charp, the kernel's own type of a string parameter, takes at most 1,024 characters. */
static int set_events(const char *value, const struct kernel_param *param)
{
	kfree(events);
	events = kstrdup(value, GFP_KERNEL);
	return events ? 0 : -ENOMEM;
}

static int show_events(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", events ?: "");
}

static void free_events(void *param)
{
	kfree(events);
}

static const struct kernel_param_ops events_ops = {
	.set = set_events,
	.get = show_events,
	.free = free_events,
};

/* A line may have an address of the kernel. */
module_param_cb(events, &events_ops, &events, 0400);
__MODULE_PARM_TYPE(events, "charp");
MODULE_PARM_DESC(events, "Events to count from the start: lines as debugfs' create takes them, separated by ';', or plain names separated by ','");

static bool use_debugfs = true;
module_param_named(debugfs, use_debugfs, bool, 0444);
MODULE_PARM_DESC(debugfs, "Show events in debugfs (default on)");

/*
 * Releases what a module has left behind, after its exit or its failed init. When a module comes,
 * the functions in it that were probed before it went are probed again.
 */
static int module_changed(struct notifier_block *nb, unsigned long state,
			  void *data)
{
	if (state == MODULE_STATE_GOING) {
		tally_funcs_release_owned(data);
		tally_sets_forget(data);
		tally_events_release_owned(data);
	} else if (state == MODULE_STATE_COMING) {
		tally_kprobes_module_came(data);
		tally_funcs_module_came(data);
	}
	return NOTIFY_OK;
}

static struct notifier_block module_notifier = {
	.notifier_call = module_changed,
	/* Before that of trace events, which has 1 or 2; see tally_kprobes_module_came(). */
	.priority = 3,
};

/* Makes events from the module's parameter. If one fails, the others are still made. */
static void __init start_events(char *list)
{
	char separator = tally_name_separator(list);
	unsigned int started = 0, failed = 0;
	char *line;

	while ((line = tally_name_next(&list, separator))) {
		line = tally_name_trim(line);
		if (!*line)
			continue;
		if (tally_line_logged(line, tally_line_create))
			failed++;
		else
			started++;
	}
	if (started || failed)
		pr_info("%u events started, %u failed\n", started, failed);
	else if (use_debugfs)
		pr_info("idle; for an event: echo page-faults > /sys/kernel/debug/tally/create\n");
	else
		pr_info("idle; for an event: events=page-faults\n");
}

struct feature {
	bool on;
	const char *option;
	const char *name;
};

static const struct feature features[] __initconst = {
	{ IS_ENABLED(CONFIG_TRACEPOINTS), "TRACEPOINTS", "records of tasks" },
	{ IS_ENABLED(CONFIG_EVENT_TRACING), "EVENT_TRACING", "tracepoints and filters" },
	{ IS_ENABLED(CONFIG_KPROBE_EVENTS), "KPROBE_EVENTS", "kprobes" },
	{ IS_ENABLED(CONFIG_HAVE_HW_BREAKPOINT), "HAVE_HW_BREAKPOINT", "breakpoints" },
	{ IS_ENABLED(CONFIG_DEBUG_FS), "DEBUG_FS", "files in debugfs" },
};

/* Prints which features are off because the kernel was built without what they need. */
static void __init say_what_is_off(void)
{
	const struct feature *f;

	for (f = features; f < features + ARRAY_SIZE(features); f++)
		if (!f->on)
			pr_info("the kernel has no CONFIG_%s, so there are no %s\n",
				f->option, f->name);
}

/* Runs in process context after CPUs came or went and the counters were repaired. */
static void cpus_changed(struct work_struct *work)
{
	tally_budget_repair();
	tally_pages_repair();
}

static DECLARE_WORK(cpus_work, cpus_changed);

static int __init tally_init(void)
{
	char *list;
	int err;

	list = kstrdup(events ?: "", GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	tally_account_init();
	tally_chain_init();
	tally_brakes_init();
	err = tally_pmu_init() ?: tally_overflow_init();
	if (err)
		goto free_list;
	err = tally_control_init();
	if (err)
		goto exit_overflow;
	err = tally_ring_init(tally_outputs_wake);
	if (err)
		goto exit_control;
	err = tally_members_init();
	if (err)
		goto exit_ring;
	tally_slot_init(tally_event_slot_changed);
	err = tally_hotplug_init(&cpus_work);
	if (err)
		goto exit_members;
	tally_recorder_init();
	err = register_module_notifier(&module_notifier);
	if (err)
		goto exit_cpus;
	err = tally_device_init();
	if (err)
		goto unregister;
	/* Nothing may fail from here on: somebody may have opened a file. */
	say_what_is_off();
	use_debugfs = tally_debugfs_init(use_debugfs);
	start_events(tally_name_trim(list));
	kfree(list);
	return 0;

unregister:
	unregister_module_notifier(&module_notifier);
exit_cpus:
	tally_recorder_exit();
	tally_hotplug_exit();
exit_members:
	tally_members_exit();
exit_ring:
	tally_ring_exit();
exit_control:
	tally_control_exit();
exit_overflow:
	tally_overflow_exit();
free_list:
	kfree(list);
	return err;
}

static void __exit tally_exit(void)
{
	/*
	 * No file is open and no other module uses tally: both hold a reference to this
	 * module, and neither can get one any more. Only tally's own events are left.
	 */
	tally_line_sets_release();
	tally_events_release_owned(THIS_MODULE);
	tally_device_exit();
	tally_debugfs_exit();
	unregister_module_notifier(&module_notifier);
	tally_recorder_exit();
	tally_hotplug_exit();
	tally_kprobe_exit();
	tally_task_events_exit();
	tally_ring_exit();
	tally_chains_free();
	tally_filter_exit();
	tally_control_exit();
	tally_overflow_exit();
	tally_brakes_exit();
}

module_init(tally_init);
module_exit(tally_exit);
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("In-kernel performance counters with debugfs and a kernel API");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
