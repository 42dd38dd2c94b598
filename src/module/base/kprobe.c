// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel probes that serve the events of all CPUs.
 *
 * perf's kprobe PMU registers a probe for each of its events. With an event on each CPU,
 * each hit would call as many handlers as there are CPUs, and the release of each event
 * would wait for a grace period. So tally makes one trace event, as a line in tracefs'
 * kprobe_events does. Its probe is registered once for all events of perf that have its
 * number, and calls those of the CPU that hits it.
 *
 * A probe at a return has room for a number of calls at a time, and misses others. perf's PMU asks
 * for two for each CPU, and at least ten; tasks may sleep in the function. So the events of such a
 * probe are of tally's trace event on one CPU and for a task, too.
 *
 * The trace event shows in tracefs as events/tally/probeNUMBER while tally counts. Its name
 * has no address, which not everybody who sees the name may know.
 *
 * Somebody else may use the trace event, too, and longer than tally. It then stays until the
 * next creation of one, or the end of the module, at which nobody uses it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/xarray.h>
#include "base/kprobe.h"
#include "base/pmu.h"

/* As config of perf's kprobe PMU: the probe is at the return of the function. */
#define CONFIG_RETURN	1

/* Calls at the same time for each CPU, and the most that the kernel makes room for. */
#define AT_ONCE		128
#define AT_ONCE_MOST	4096

static atomic_t last_number;

/* Numbers of the trace events that somebody else used at their end. */
static DEFINE_XARRAY(left);

static int delete_number(unsigned int number)
{
	char name[32];

	if (!IS_ENABLED(CONFIG_KPROBE_EVENTS))
		return -ENOENT;
	snprintf(name, sizeof(name), "tally/probe%u", number);
	return kprobe_event_delete(name);
}

static void delete_left(void)
{
	unsigned long number;
	void *entry;

	xa_for_each(&left, number, entry)
		if (delete_number(number) != -EBUSY)
			xa_erase(&left, number);
}

bool tally_attr_is_kprobe(const struct perf_event_attr *attr)
{
	return attr->type >= PERF_TYPE_MAX && (int)attr->type == tally_pmu_type("kprobe");
}

/* Whether the events of a counter are to be those of a trace event of tally's. */
bool tally_kprobe_wanted(const struct perf_event_attr *attr, bool all_cpus)
{
	return tally_attr_is_kprobe(attr) && (all_cpus || attr->config & CONFIG_RETURN);
}

/*
 * Makes a trace event: @kind as "p", @place as a line in kprobe_events has it. A trace event that
 * somebody still used when the module was unloaded may be there, and the kernel would add a second
 * probe to one of the same name.
 */
static int create(struct tally_kprobe *kp, const char *kind, const char *place)
{
	struct dynevent_cmd cmd;
	size_t size = strlen(place) + 64;
	char *text = kmalloc(size, GFP_KERNEL);
	char name[20];
	int ret;

	if (!text)
		return -ENOMEM;
	do {
		kp->number = atomic_inc_return(&last_number);
		snprintf(name, sizeof(name), "probe%u", kp->number);
	} while (tally_tracepoint_id("tally", name) >= 0);
	kprobe_event_cmd_init(&cmd, text, size);
	snprintf(text, size, "%s:tally/%s %s", kind, name, place);
	ret = dynevent_create(&cmd);
	kfree(text);
	return ret;
}

/**
 * tally_kprobe_check - check that a name stands for one function
 * @symbol: the name
 * @offset: offset in the function
 * @addr: address that tally_symbol_address() has found
 *
 * The kernel looks for a second function of the name when it makes a trace event by that, as perf's
 * PMU does for a probe by name. Its error is EINVAL, so a trace event by the address is made, too:
 * if the kernel refuses both, that is for another reason.
 *
 * Context: As tally_kprobe_create(), and waits for grace periods.
 * Return: 0; EADDRNOTAVAIL if several functions have the name; ENOMEM.
 */
int tally_kprobe_check(const char *symbol, u64 offset, u64 addr)
{
	struct tally_kprobe kp = { };
	char at[32], *place;
	int err;

	if (!IS_ENABLED(CONFIG_KPROBE_EVENTS))
		return 0;
	place = kasprintf(GFP_KERNEL, "%s+%llu", symbol, offset);
	if (!place)
		return -ENOMEM;
	err = create(&kp, "p", place);
	kfree(place);
	if (!err)
		tally_kprobe_delete(&kp);
	if (err != -EINVAL && err != -EADDRNOTAVAIL)
		return 0;
	snprintf(at, sizeof(at), "%#llx", addr);
	err = create(&kp, "p", at);
	if (err)
		return 0;
	tally_kprobe_delete(&kp);
	return -EADDRNOTAVAIL;
}

/**
 * tally_kprobe_create - make the trace event of a kernel probe
 * @kp: zeroed; receives the trace event
 * @attr: attributes for perf's kprobe PMU, with the probe's address
 *
 * Context: Process context, may sleep; takes locks of tracing, and cpus_read_lock().
 * Return: 0; EACCES without CAP_PERFMON, as for an event of perf's kprobe PMU; EINVAL, EILSEQ
 * or ENOENT if there can be no probe at the address; EOPNOTSUPP in a kernel without trace
 * events of kernel probes; EPERM under lockdown; ENOMEM.
 */
int tally_kprobe_create(struct tally_kprobe *kp, const struct perf_event_attr *attr)
{
	char kind[8] = "p", place[32], name[20];
	int ret;

	if (!IS_ENABLED(CONFIG_KPROBE_EVENTS))
		return -EOPNOTSUPP;
	if (!perfmon_capable())
		return -EACCES;
	/* A trace event waits for a module that may have the address later; perf's does not. */
	ret = tally_address_check(attr->kprobe_addr);
	if (ret)
		return ret;
	delete_left();
	if (attr->config & CONFIG_RETURN)
		snprintf(kind, sizeof(kind), "r%u",
			 min_t(unsigned int, AT_ONCE * num_possible_cpus(), AT_ONCE_MOST));
	snprintf(place, sizeof(place), "%#llx", attr->kprobe_addr);
	ret = create(kp, kind, place);
	if (ret)
		return ret;
	snprintf(name, sizeof(name), "probe%u", kp->number);
	ret = tally_tracepoint_id("tally", name);
	if (ret < 0) {
		tally_kprobe_delete(kp);
		/* Without memory for its files, the kernel makes an event that has none. */
		return ret == -ENOENT ? -ENOMEM : ret;
	}
	kp->id = ret;
	return 0;
}

/**
 * tally_kprobe_delete - remove a trace event, after perf's events that have its number
 * @kp: the trace event; if somebody else uses it, it stays for now
 *
 * Context: As tally_kprobe_create(), and waits for a grace period.
 */
void tally_kprobe_delete(struct tally_kprobe *kp)
{
	int err = delete_number(kp->number);

	if (err == -EBUSY)
		err = xa_err(xa_store(&left, kp->number, xa_mk_value(1), GFP_KERNEL));
	if (err)
		pr_notice_ratelimited("the trace event tally/probe%u stays: error %d\n",
				      kp->number, err);
	kp->id = 0;
}

/* Before the module goes, and after the last counter. */
void tally_kprobe_exit(void)
{
	unsigned long number;
	void *entry;

	delete_left();
	xa_for_each(&left, number, entry)
		pr_notice("somebody uses the trace event tally/probe%lu, which stays; later, remove it by: echo -:tally/probe%lu >> /sys/kernel/tracing/kprobe_events\n",
			  number, number);
	xa_destroy(&left);
}
