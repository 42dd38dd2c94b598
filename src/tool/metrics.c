// SPDX-License-Identifier: GPL-2.0
/* Metrics: instructions per cycle, rates of misses, gigahertz, rates. */
#include <string.h>
#include "metrics.h"

#define CACHE(which, op, result) \
	(PERF_COUNT_HW_CACHE_##which | PERF_COUNT_HW_CACHE_OP_##op << 8 | \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* Events whose ratio has a name. The metric stands behind the first event. */
static const struct {
	__u32 type;
	__u64 config, of;
	double factor;
	const char *unit;
} ratios[] = {
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, 1,
	  "insn per cycle" },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100,
	  "of all branches" },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CACHE_REFERENCES, 100,
	  "of all cache refs" },
	{ PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS), CACHE(L1D, READ, ACCESS), 100,
	  "of all L1-dcache accesses" },
	{ PERF_TYPE_HW_CACHE, CACHE(L1I, READ, MISS), CACHE(L1I, READ, ACCESS), 100,
	  "of all L1-icache accesses" },
	{ PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS), CACHE(LL, READ, ACCESS), 100,
	  "of all LL-cache accesses" },
	{ PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS), CACHE(DTLB, READ, ACCESS), 100,
	  "of all dTLB cache accesses" },
	{ PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS), CACHE(ITLB, READ, ACCESS), 100,
	  "of all iTLB cache accesses" },
};

static bool same_levels(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
	return a->exclude_user == b->exclude_user && a->exclude_kernel == b->exclude_kernel &&
	       a->exclude_hv == b->exclude_hv && a->exclude_host == b->exclude_host &&
	       a->exclude_guest == b->exclude_guest;
}

static bool whole(const struct total *t)
{
	return t->known && !t->failed && t->running && t->running >= t->enabled;
}

/* Whether the counts of both events can be divided. */
static bool can_divide(const struct counters *c, const struct row *row, const struct total *totals,
		       int a, int b)
{
	int group = c->events->list[a].group;

	if (group >= 0 && group == c->events->list[b].group && row->ratios[group])
		return totals[a].running && !totals[a].failed && !totals[b].failed;
	return whole(&totals[a]) && whole(&totals[b]);
}

/* Returns the number of an event that excludes the same levels as like; -1 without one. */
static int find(const struct counters *c, const struct perf_event_attr *like, __u32 type,
		__u64 config)
{
	int e;

	for (e = 0; e < c->events->nr; e++) {
		const struct perf_event_attr *attr = &c->events->list[e].attr;

		if (attr->type == type && attr->config == config && same_levels(attr, like))
			return e;
	}
	return -1;
}

/* Returns the number of a clock with any levels, as its count excludes nothing; -1 without one. */
static int find_clock(const struct counters *c)
{
	int e;

	for (e = 0; e < c->events->nr; e++)
		if (is_clock(&c->events->list[e].attr) && !c->events->list[e].error)
			return e;
	return -1;
}

static struct metric rate(double value, double clock_ns)
{
	static const char *const units[] = { "/sec", "K/sec", "M/sec", "G/sec" };
	struct metric m = { .value = clock_ns > 0 ? value * 1e9 / clock_ns : 0 };
	size_t i;

	for (i = 0; i < 3 && m.value >= 1000; i++)
		m.value /= 1000;
	strcpy(m.unit, units[i]);
	return m;
}

struct metric metric_of(const struct counters *c, const struct row *row,
			const struct total *totals, int e, double elapsed)
{
	const struct perf_event_attr *attr = &c->events->list[e].attr;
	double value = totals[e].value;
	struct metric m = { 0 };
	int of, clock;
	size_t i;

	if (is_clock(attr)) {
		if (elapsed > 0 && whole(&totals[e])) {
			m.value = value / (elapsed * 1e9);
			strcpy(m.unit, "CPUs utilized");
		}
		return m;
	}
	for (i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
		if (attr->type != ratios[i].type || attr->config != ratios[i].config)
			continue;
		of = find(c, attr, ratios[i].type, ratios[i].of);
		if (of < 0 || !can_divide(c, row, totals, e, of) || !totals[of].value)
			continue;
		m.value = ratios[i].factor * value / totals[of].value;
		m.percent = ratios[i].factor == 100;
		strcpy(m.unit, ratios[i].unit);
		return m;
	}
	clock = find_clock(c);
	if (clock < 0 || !can_divide(c, row, totals, e, clock) ||
	    c->events->list[e].unit.unit[0] || c->events->list[e].unit.gauge)
		return m;
	if (attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CPU_CYCLES &&
	    totals[clock].value) {
		m.value = value / totals[clock].value;
		strcpy(m.unit, "GHz");
		return m;
	}
	return rate(value, totals[clock].value);
}
