// SPDX-License-Identifier: GPL-2.0
/*
 * Levels that an event cannot leave out, or never happens in. The levels are those of the
 * exclude_* bits: user space, kernel, hypervisor, idle task, host and guests.
 *
 * perf accepts any levels for software events, tracepoints and probes. The
 * registers tell perf whether the event is in user space; of tracepoints and
 * probes, perf asks only if the kernel is excluded. An event that happens only
 * in the kernel has a count of 0 in user space. Guests, the hypervisor and the
 * idle task are not told apart: the event counts all that happens in the host.
 *
 * Drivers of PMUs refuse what they cannot leave out, but for those of x86's cores.
 */
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include "base/pmu.h"
#include "builder/builder.h"
#include "compat.h"

enum place {
	PLACE_UNKNOWN,
	PLACE_UNNAMED,
	PLACE_KERNEL,
	PLACE_USER,
	PLACE_BOTH,
};

static enum place place_of_software(u64 config)
{
	switch (config) {
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
	case PERF_COUNT_SW_CPU_MIGRATIONS:
	case PERF_COUNT_SW_CGROUP_SWITCHES:
		return PLACE_KERNEL;
	/* perf never counts these: they are for other records, and for output of BPF programs. */
	case PERF_COUNT_SW_DUMMY:
	case PERF_COUNT_SW_BPF_OUTPUT:
		return PLACE_UNKNOWN;
	default:
		return PLACE_BOTH;
	}
}

/* A system call's tracepoints show perf the program's registers, others those of the kernel. */
static enum place place_of_tracepoint(const char *system, const char *event)
{
	if (!event || !strcmp(system, "tracepoint"))
		return PLACE_UNNAMED;
	if (!strcmp(system, "syscalls"))
		return PLACE_BOTH;
	return tally_tracepoint_is_uprobe(system, event) ? PLACE_USER : PLACE_KERNEL;
}

static enum place place_of(const struct perf_event_attr *attr, const char *system,
			   const char *event)
{
	if (attr->type == PERF_TYPE_SOFTWARE)
		return place_of_software(attr->config);
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return place_of_tracepoint(system, event);
	return tally_attr_is_of(attr, "kprobe") ? PLACE_KERNEL : PLACE_UNKNOWN;
}

/* Returns whether the event is of x86's cores. Generic and raw ones are if the PMU exists. */
static bool is_of_x86(const struct perf_event_attr *attr)
{
	if (!IS_ENABLED(CONFIG_X86))
		return false;
	if (attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
	    attr->type == PERF_TYPE_RAW)
		return tally_pmu_type("cpu") >= 0 || tally_pmu_type("cpu_core") >= 0;
	return tally_pmu_is_core(attr->type);
}

/* x86's drivers have no control for the idle task, and count nothing if no level is left. */
static const char *why_of_x86(const struct perf_event_attr *attr, bool counts)
{
	if (attr->exclude_user && attr->exclude_kernel)
		return "the CPU counts in user space and in the kernel, which are excluded";
	if (attr->exclude_host && attr->exclude_guest)
		return "the CPU counts in the host and in its guests, which are excluded";
	/* Samples in the idle task are left out by tally's callback. */
	return attr->exclude_idle && counts ?
	       "the CPU counts in the idle task, too, which its driver cannot exclude" : NULL;
}

/**
 * tally_levels_why - check that an event can leave out the levels that it excludes
 * @attr: attributes of the event
 * @system: the system of a tracepoint
 * @event: its name there; NULL for a tracepoint by its number. Other events ignore it
 * @counts: true if the event counts or has a budget; false if it samples, or if
 *	that is not known yet: samples can leave out more than counts
 *
 * Context: Process context, may sleep.
 * Return: NULL if it can, or if the PMU's driver decides; else a sentence that says why not.
 */
const char *tally_levels_why(const struct perf_event_attr *attr, const char *system,
			     const char *event, bool counts)
{
	bool clock = tally_attr_is_clock(attr);
	enum place place;

	if (!attr->exclude_user && !attr->exclude_kernel && !attr->exclude_host &&
	    !attr->exclude_idle)
		return NULL;
	if (is_of_x86(attr))
		return why_of_x86(attr, counts);
	place = place_of(attr, system, event);
	if (place == PLACE_UNNAMED && attr->exclude_kernel)
		return "of a tracepoint by its number, the kernel is not excluded: give its name";
	if (place == PLACE_UNKNOWN || place == PLACE_UNNAMED)
		return NULL;
	if (attr->exclude_host)
		return "the event happens only in the host, which is excluded";
	if (attr->exclude_user && attr->exclude_kernel)
		return "the event happens only in user space and the kernel, which are excluded";
	if (attr->exclude_kernel && place == PLACE_KERNEL)
		return "the event happens only in the kernel, which is excluded";
	if (attr->exclude_user && place == PLACE_USER)
		return "the event happens only in user space, which is excluded";
	if (clock && !counts)
		return NULL;
	/* The idle task has no faults. */
	if (attr->exclude_idle && (clock || place == PLACE_KERNEL))
		return "the event is counted in the idle task, too, which cannot be excluded";
	return clock ? "a clock counts in user space and in the kernel, whatever is excluded" :
		       NULL;
}
EXPORT_SYMBOL_TALLY_KUNIT(tally_levels_why);
