/* SPDX-License-Identifier: GPL-2.0 */
/* Events and levels that grants.c and devwho.c share. The events are changes of usual(). */
#ifndef RIGHTS_H
#define RIGHTS_H

#include <linux/hw_breakpoint.h>
#include "devtest.h"

static inline void user(void)
{
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
}

static inline void trap(void)
{
	user();
	attr.sample_period = 1000000000;
	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
}

/* A kprobe at the address of a function. */
static inline void probe(uint64_t function)
{
	attr.type = type_of("kprobe");
	attr.config = 0;
	attr.config2 = function;
}

/* A breakpoint on the word at an address. */
static inline void watch(uint64_t address)
{
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.config = 0;
	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = address & ~7ULL;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
}

static inline void own_breakpoint(void)
{
	watch((unsigned long)area);
	user();
}

static inline const char *name_of(int error)
{
	return error ? strerrorname_np(error) : "yes";
}

/* Sets kernel.perf_event_paranoid. */
static inline void set_level(int level)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", level);
	write_to("/proc/sys/kernel/perf_event_paranoid", text);
}

#endif /* RIGHTS_H */
