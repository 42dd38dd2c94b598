/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cost of tally and its peers, in instructions. With QEMU's icount and one CPU,
 * ktime_get_ns() counts instructions; elsewhere the figures mean nothing.
 *
 * A figure is a line "# figure KIND OPERATION NUMBER", in tenths of an instruction.
 * scripts/bench compares the figures, and has their limits.
 */
#ifndef BENCH_H
#define BENCH_H

#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <tally/tally.h>
#include "tap.h"

#define ROUNDS	30
#define CALLS	64

/* Makes perf's event for @what; @config1 and @config2 are those of breakpoints. */
static inline struct perf_event *new_bare(const struct tally_what *what,
					  int cpu, u64 period,
					  perf_overflow_handler_t handler)
{
	struct perf_event_attr attr = {
		.type = what->type,
		.size = sizeof(attr),
		.config = what->config,
		.bp_addr = what->config1,
		.bp_len = what->config2,
		.bp_type = what->bp_type,
		.sample_period = period,
	};

	return perf_event_create_kernel_counter(&attr, cpu, NULL, handler, NULL);
}

static inline void nothing(void)
{
	asm volatile("");
}

static inline u64 once(void (*op)(void), bool asleep)
{
	u64 begin, end;
	int i;

	if (!asleep)
		preempt_disable();
	begin = ktime_get_ns();
	for (i = 0; i < CALLS; i++)
		op();
	end = ktime_get_ns();
	if (!asleep)
		preempt_enable();
	return end - begin;
}

/*
 * Returns the cost of a call in tenths, without the loop around it. The smallest of
 * several results has no interrupt in it.
 */
static inline u64 measure(void (*op)(void), bool asleep)
{
	u64 best = U64_MAX, empty = U64_MAX;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		empty = min(empty, once(nothing, asleep));
		best = min(best, once(op, asleep));
	}
	return div_u64((best - min(empty, best)) * 10, CALLS);
}

static inline void figure(struct tap *tap, const char *kind, const char *name,
			  u64 tenths)
{
	tap_line(tap, "# figure %s %s %llu", kind, name, tenths);
}

/* The events of one kind, on CPU 0. */
struct bench {
	TALLY_SECTION(section, 4);
	const char *kind;
	struct tally_what what;
	struct tally_event *ev;
	struct tally_set *set;		/* 4 members */
	struct tally_set *set_of_8;
	u64 out[4];
	struct perf_event *bare[3];	/* a PMU with room for 5 has it for these and tally's */
};

extern struct tap tap;
extern struct bench bench;

void measure_reads(void);
void measure_overflows(bool has_pmu);
void measure_lives(void);
void measure_lives_alone(void);
void trace_begin(struct dentry *dir);
void trace_end(void);
void bare_begin(struct dentry *dir);

#endif /* BENCH_H */
