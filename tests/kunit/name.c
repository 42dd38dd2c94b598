// SPDX-License-Identifier: GPL-2.0
/* Tests of the names of events: from a name to the attributes, and back. */
#include <kunit/test.h>
#include <linux/hw_breakpoint.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/string.h>
#include "compat.h"
#include "builder/builder.h"
#include "builder/name.h"

#define WHY_LEN 96

/* The tests below set a kernel probe on this function. */
static noinline void probe_me(void)
{
	asm volatile("");
}

static int parse(struct kunit *test, const char *name,
		 struct perf_event_attr *attr, char *why)
{
	char *text = kunit_kzalloc(test, strlen(name) + 1, GFP_KERNEL);
	size_t modifiers_at;

	KUNIT_ASSERT_NOT_NULL(test, text);
	memcpy(text, name, strlen(name));
	memset(attr, 0, sizeof(*attr));
	*why = '\0';
	return tally_name_parse(attr, text, &modifiers_at, why, WHY_LEN);
}

static void parse_ok(struct kunit *test, const char *name,
		     struct perf_event_attr *attr)
{
	char why[WHY_LEN];

	KUNIT_EXPECT_EQ_MSG(test, parse(test, name, attr, why), 0, "%s: %s",
			    name, why);
}

struct known {
	const char *name;
	u32 type;
	u64 config;
};

static const struct known generic[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branch-instructions", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "idle-cycles-frontend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "idle-cycles-backend", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "context-switches", PERF_TYPE_SOFTWARE,
	  PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "alignment-faults", PERF_TYPE_SOFTWARE,
	  PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", PERF_TYPE_SOFTWARE,
	  PERF_COUNT_SW_EMULATION_FAULTS },
	{ "dummy", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY },
	{ "bpf-output", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT },
	{ "cgroup-switches", PERF_TYPE_SOFTWARE,
	  PERF_COUNT_SW_CGROUP_SWITCHES },
};

static void known_desc(const struct known *k, char *desc)
{
	strscpy(desc, k->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(generic, generic, known_desc);

/* Events of these types exclude guests by default. */
static bool of_cpu(u32 type)
{
	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE ||
	       type == PERF_TYPE_RAW;
}

static void known_ok(struct kunit *test)
{
	const struct known *k = test->param_value;
	struct perf_event_attr attr;

	parse_ok(test, k->name, &attr);
	KUNIT_EXPECT_EQ(test, attr.type, k->type);
	KUNIT_EXPECT_EQ(test, (u64)attr.config, k->config);
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_guest,
			(int)of_cpu(k->type));
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_kernel, 0);
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_user, 0);
}

static void name_generic(struct kunit *test)
{
	known_ok(test);
}

#define CACHE(cache, op, result)				\
	(PERF_COUNT_HW_CACHE_##cache |				\
	 (u64)PERF_COUNT_HW_CACHE_OP_##op << 8 |		\
	 (u64)PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct known caches[] = {
	{ "L1-dcache", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS) },
	{ "L1-dcache-loads", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS) },
	{ "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS) },
	{ "L1-dcache-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS) },
	{ "l1-d-loads", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS) },
	{ "l1d-store", PERF_TYPE_HW_CACHE, CACHE(L1D, WRITE, ACCESS) },
	{ "L1-data-write-miss", PERF_TYPE_HW_CACHE, CACHE(L1D, WRITE, MISS) },
	{ "L1-icache-prefetches", PERF_TYPE_HW_CACHE,
	  CACHE(L1I, PREFETCH, ACCESS) },
	{ "l1-i-read-refs", PERF_TYPE_HW_CACHE, CACHE(L1I, READ, ACCESS) },
	{ "l1i", PERF_TYPE_HW_CACHE, CACHE(L1I, READ, ACCESS) },
	{ "L1-instruction-load-misses", PERF_TYPE_HW_CACHE,
	  CACHE(L1I, READ, MISS) },
	{ "LLC-speculative-read-misses", PERF_TYPE_HW_CACHE,
	  CACHE(LL, PREFETCH, MISS) },
	{ "L2-speculative-load", PERF_TYPE_HW_CACHE,
	  CACHE(LL, PREFETCH, ACCESS) },
	{ "dTLB-stores", PERF_TYPE_HW_CACHE, CACHE(DTLB, WRITE, ACCESS) },
	{ "d-tlb-load-Reference", PERF_TYPE_HW_CACHE,
	  CACHE(DTLB, READ, ACCESS) },
	{ "Data-TLB-read-ops", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, ACCESS) },
	{ "iTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS) },
	{ "i-tlb", PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, ACCESS) },
	{ "Instruction-TLB-loads-access", PERF_TYPE_HW_CACHE,
	  CACHE(ITLB, READ, ACCESS) },
	{ "branch-loads", PERF_TYPE_HW_CACHE, CACHE(BPU, READ, ACCESS) },
	{ "branches-load-misses", PERF_TYPE_HW_CACHE, CACHE(BPU, READ, MISS) },
	{ "bpu", PERF_TYPE_HW_CACHE, CACHE(BPU, READ, ACCESS) },
	{ "btb-store", PERF_TYPE_HW_CACHE, CACHE(BPU, WRITE, ACCESS) },
	{ "bpc-miss", PERF_TYPE_HW_CACHE, CACHE(BPU, READ, MISS) },
	{ "node-prefetch-misses", PERF_TYPE_HW_CACHE,
	  CACHE(NODE, PREFETCH, MISS) },
	{ "NODE-LOADS", PERF_TYPE_HW_CACHE, CACHE(NODE, READ, ACCESS) },
};

KUNIT_ARRAY_PARAM(caches, caches, known_desc);

static void name_cache(struct kunit *test)
{
	known_ok(test);
}

static const struct known codes[] = {
	{ "r0", PERF_TYPE_RAW, 0 },
	{ "r3c", PERF_TYPE_RAW, 0x3c },
	{ "r1A2b", PERF_TYPE_RAW, 0x1a2b },
	{ "rffffffffffffffff", PERF_TYPE_RAW, U64_MAX },
	{ "tracepoint:1234", PERF_TYPE_TRACEPOINT, 1234 },
	{ "tracepoint:0x10", PERF_TYPE_TRACEPOINT, 16 },
	{ "1/config=0x9/", PERF_TYPE_SOFTWARE, 9 },
	{ "software/config=9/", PERF_TYPE_SOFTWARE, 9 },
	{ "1//", PERF_TYPE_SOFTWARE, 0 },
	{ "1/config=3,/", PERF_TYPE_SOFTWARE, 3 },
	{ "0/config=010/", PERF_TYPE_HARDWARE, 8 },
	{ "4000000000/config=7/", 4000000000u, 7 },
};

KUNIT_ARRAY_PARAM(codes, codes, known_desc);

static void name_code(struct kunit *test)
{
	known_ok(test);
}

struct mem {
	const char *name;
	u64 addr;
	u64 len;
	u32 access;
	bool exclude_user;
};

static const struct mem mems[] = {
	{ "mem:0x1000", 0x1000, 4, HW_BREAKPOINT_RW },
	{ "mem:4096", 0x1000, 4, HW_BREAKPOINT_RW },
	{ "mem:0x1000:", 0x1000, 4, HW_BREAKPOINT_RW },
	{ "mem:0x1000:r", 0x1000, 4, HW_BREAKPOINT_R },
	{ "mem:0x1000:w", 0x1000, 4, HW_BREAKPOINT_W },
	{ "mem:0x1000:wr", 0x1000, 4, HW_BREAKPOINT_RW },
	{ "mem:0x1000:x", 0x1000, sizeof(long), HW_BREAKPOINT_X },
	{ "mem:0x1000/1:x", 0x1000, 1, HW_BREAKPOINT_X },
	{ "mem:0x1000/8", 0x1000, 8, HW_BREAKPOINT_RW },
	{ "mem:0x1000/2:w", 0x1000, 2, HW_BREAKPOINT_W },
	{ "mem:0x1000/8:rw:k", 0x1000, 8, HW_BREAKPOINT_RW, true },
	{ "mem:0x1000:k", 0x1000, 4, HW_BREAKPOINT_RW, true },
	{ "mem:0x1000::k", 0x1000, 4, HW_BREAKPOINT_RW, true },
	{ "mem:0x1000/8:w:", 0x1000, 8, HW_BREAKPOINT_W },
	{ "mem:0xffffffffffffffff/1:w", U64_MAX, 1, HW_BREAKPOINT_W },
};

static void mem_desc(const struct mem *m, char *desc)
{
	strscpy(desc, m->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(mems, mems, mem_desc);

static void name_breakpoint(struct kunit *test)
{
	const struct mem *m = test->param_value;
	struct perf_event_attr attr;

	parse_ok(test, m->name, &attr);
	KUNIT_EXPECT_EQ(test, attr.type, (u32)PERF_TYPE_BREAKPOINT);
	KUNIT_EXPECT_EQ(test, (u64)attr.bp_addr, m->addr);
	KUNIT_EXPECT_EQ(test, (u64)attr.bp_len, m->len);
	KUNIT_EXPECT_EQ(test, attr.bp_type, m->access);
	KUNIT_EXPECT_EQ(test, !!attr.exclude_user, m->exclude_user);
}

static void name_pmu_terms(struct kunit *test)
{
	struct perf_event_attr attr;

	parse_ok(test, "9/config=1,config1=0x2,config2=3/", &attr);
	KUNIT_EXPECT_EQ(test, attr.type, 9U);
	KUNIT_EXPECT_EQ(test, (u64)attr.config, 1ULL);
	KUNIT_EXPECT_EQ(test, (u64)attr.config1, 2ULL);
	KUNIT_EXPECT_EQ(test, (u64)attr.config2, 3ULL);
	parse_ok(test, "9/config1=2/k", &attr);
	KUNIT_EXPECT_TRUE(test, attr.exclude_user);
	parse_ok(test, "9/config1=2/:u", &attr);
	KUNIT_EXPECT_TRUE(test, attr.exclude_kernel);
#ifdef PERF_ATTR_SIZE_VER8
	parse_ok(test, "9/config3=0xffffffffffffffff/", &attr);
	KUNIT_EXPECT_EQ(test, tally_attr_config3(&attr), U64_MAX);
#endif
}

static void name_tracepoint(struct kunit *test)
{
	struct perf_event_attr attr;

	if (!IS_ENABLED(CONFIG_EVENT_TRACING))
		kunit_skip(test, "no event tracing in this kernel");
	parse_ok(test, "sched:sched_switch", &attr);
	KUNIT_EXPECT_EQ(test, attr.type, (u32)PERF_TYPE_TRACEPOINT);
	KUNIT_EXPECT_GT(test, (u64)attr.config, 0ULL);
	parse_ok(test, "sched:sched_switch:k", &attr);
	KUNIT_EXPECT_TRUE(test, attr.exclude_user);
}

/* If the function begins with a landing pad, the probe is set behind it. */
static void expect_at(struct kunit *test, u64 addr, u64 want)
{
	KUNIT_EXPECT_GE(test, addr, want);
	KUNIT_EXPECT_LE(test, addr, want + 4);
}

static void need_kprobes(struct kunit *test)
{
	struct perf_event_attr attr;
	char why[WHY_LEN];

	if (parse(test, "kprobe:vfs_read", &attr, why))
		kunit_skip(test, "no kprobe PMU in this kernel");
}

static void name_kprobe(struct kunit *test)
{
	struct perf_event_attr attr;

	need_kprobes(test);
	parse_ok(test, "kprobe:probe_me", &attr);
	KUNIT_EXPECT_GE(test, attr.type, (u32)PERF_TYPE_MAX);
	KUNIT_EXPECT_EQ(test, (u64)attr.config, 0ULL);
	KUNIT_EXPECT_EQ(test, (u64)attr.config1, 0ULL);
	expect_at(test, attr.kprobe_addr, (unsigned long)probe_me);
	parse_ok(test, "kretprobe:probe_me:k", &attr);
	KUNIT_EXPECT_EQ(test, (u64)attr.config, 1ULL);
	KUNIT_EXPECT_TRUE(test, attr.exclude_user);
	expect_at(test, attr.kprobe_addr, (unsigned long)probe_me);
}

static void name_kprobe_offset(struct kunit *test)
{
	struct perf_event_attr attr;
	char text[64], why[WHY_LEN];
	unsigned int i, hits = 0;
	u64 start = 0;

	need_kprobes(test);
	/* A probe can only be set where an instruction begins. */
	for (i = 5; i <= 32; i++) {
		snprintf(text, sizeof(text), "kprobe:vfs_read+%u", i);
		if (parse(test, text, &attr, why))
			continue;
		if (!hits++)
			start = attr.kprobe_addr - i;
		KUNIT_EXPECT_EQ(test, (u64)attr.kprobe_addr, start + i);
		KUNIT_EXPECT_EQ(test, (u64)attr.config, 0ULL);
	}
	KUNIT_EXPECT_GT(test, hits, 0U);
	KUNIT_EXPECT_LT(test, hits, 28U);
}

static void name_kprobe_address(struct kunit *test)
{
	struct perf_event_attr attr;
	char text[64];

	need_kprobes(test);
	snprintf(text, sizeof(text), "kprobe:%#lx", (unsigned long)probe_me);
	parse_ok(test, text, &attr);
	KUNIT_EXPECT_EQ(test, (u64)attr.kprobe_addr, (u64)(unsigned long)probe_me);
	snprintf(text, sizeof(text), "kprobe:%#lx+8:D", (unsigned long)probe_me);
	parse_ok(test, text, &attr);
	KUNIT_EXPECT_EQ(test, (u64)attr.kprobe_addr, (u64)(unsigned long)probe_me + 8);
	KUNIT_EXPECT_TRUE(test, attr.pinned);
}

struct modifiers {
	const char *name;
	struct perf_event_attr want;
};

static const struct modifiers modifiers[] = {
	{ "cycles:", { .exclude_guest = 1 } },
	{ "cycles:u", { .exclude_guest = 1, .exclude_kernel = 1, .exclude_hv = 1 } },
	{ "cycles:k", { .exclude_guest = 1, .exclude_user = 1, .exclude_hv = 1 } },
	{ "cycles:h", { .exclude_guest = 1, .exclude_user = 1, .exclude_kernel = 1 } },
	{ "cycles:uk", { .exclude_guest = 1, .exclude_hv = 1 } },
	{ "cycles:hu", { .exclude_guest = 1, .exclude_kernel = 1 } },
	{ "cycles:ukh", { .exclude_guest = 1 } },
	{ "cycles:uu", { .exclude_guest = 1, .exclude_kernel = 1, .exclude_hv = 1 } },
	{ "cycles:G", { .exclude_host = 1 } },
	{ "cycles:H", { .exclude_guest = 1 } },
	{ "cycles:GH", { } },
	{ "dummy:G", { .exclude_host = 1 } },
	{ "page-faults:H", { .exclude_guest = 1 } },
	{ "page-faults", { } },
	{ "cycles:I", { .exclude_guest = 1, .exclude_idle = 1 } },
	{ "cycles:D", { .exclude_guest = 1, .pinned = 1 } },
	{ "cycles:e", { .exclude_guest = 1, .exclusive = 1 } },
	{ "cycles:p", { .exclude_guest = 1, .precise_ip = 1 } },
	{ "cycles:pp", { .exclude_guest = 1, .precise_ip = 2 } },
	{ "cycles:ppp", { .exclude_guest = 1, .precise_ip = 3 } },
	{ "cycles:P", { .exclude_guest = 1, .precise_ip = 3 } },
	{ "cycles:kGHIDep", { .exclude_user = 1, .exclude_hv = 1, .exclude_idle = 1, .pinned = 1,
			      .exclusive = 1, .precise_ip = 1 } },
	{ "LLC-loads:D", { .exclude_guest = 1, .pinned = 1 } },
	{ "r3c:H", { .exclude_guest = 1 } },
};

static void modifiers_desc(const struct modifiers *m, char *desc)
{
	strscpy(desc, m->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(modifiers, modifiers, modifiers_desc);

static void name_modifiers(struct kunit *test)
{
	const struct modifiers *m = test->param_value;
	struct perf_event_attr attr;

	parse_ok(test, m->name, &attr);
	attr.type = 0;
	attr.config = 0;
	KUNIT_EXPECT_EQ(test, memcmp(&attr, &m->want, sizeof(attr)), 0);
}

struct bad {
	const char *name;
	int err;
	const char *word;
};

static const struct bad bads[] = {
	{ "", -EINVAL, "no event" },
	{ "no-such-event", -ENOENT, "unknown event" },
	{ "Cycles", -ENOENT, "unknown event" },
	{ "cycles ", -ENOENT, "unknown event" },
	{ "cycles,instructions", -ENOENT, "unknown event" },
	{ "r", -ENOENT, "unknown event" },
	{ "rg", -ENOENT, "unknown event" },
	{ "r10000000000000000", -ENOENT, "unknown event" },
	{ "r-1", -ENOENT, "unknown event" },
	{ "L1-dcache-", -ENOENT, "unknown event" },
	{ "L1-dcache--loads", -ENOENT, "unknown event" },
	{ "L1-dcache-loadsmisses", -ENOENT, "unknown event" },
	{ "L1-dcache-loads-misses-x", -ENOENT, "unknown event" },
	{ "L1-dcacheloads", -ENOENT, "unknown event" },
	{ "cycles:z", -EINVAL, "unknown modifier 'z'" },
	{ "cs:u", -EINVAL, "only in the kernel, which is excluded" },
	{ "sched:sched_switch:u", -EINVAL, "only in the kernel" },
	{ "cs:I", -EINVAL, "the idle task" },
	{ "page-faults:h", -EINVAL, "only in user space and the kernel" },
	{ "page-faults:G", -EINVAL, "only in the host" },
	{ "cycles:kz", -EINVAL, "unknown modifier 'z'" },
	{ "cycles:k:u", -EINVAL, "unknown modifier ':'" },
	{ "cycles:pppp", -EINVAL, "more than three p" },
	{ "cycles:Pp", -EINVAL, "more than three p" },
	{ "mem:", -EINVAL, "mem:ADDRESS" },
	{ "mem:zz", -EINVAL, "mem:ADDRESS" },
	{ "mem:-1", -EINVAL, "mem:ADDRESS" },
	{ "mem:0x10000000000000000", -EINVAL, "mem:ADDRESS" },
	{ "mem:0x1000/", -EINVAL, "mem:ADDRESS" },
	{ "mem:0x1000/0", -EINVAL, "mem:ADDRESS" },
	{ "mem:0x1000/8/8", -EINVAL, "mem:ADDRESS" },
	{ "mem:0x1000:ww", -EINVAL, "unknown modifier 'w'" },
	{ "mem:0x1000:rq:k", -EINVAL, "unknown access 'rq'" },
	{ "mem:0x1000:w:w", -EINVAL, "unknown modifier 'w'" },
	{ "1/config=3", -EINVAL, "PMU/EVENT" },
	{ "/", -EINVAL, "PMU/EVENT" },
	{ "/config=1/", -ENOENT, "no PMU ''" },
	{ "nosuch/config=1/", -ENOENT, "no PMU 'nosuch'" },
	{ "4294967296/config=1/", -ENOENT, "no PMU" },
	{ "-1/config=1/", -ENOENT, "no PMU" },
	{ "1/frob=1/", -EINVAL, "unknown term 'frob'" },
	{ "1/config4=1/", -EINVAL, "unknown term 'config4'" },
	{ "1/config/", -EINVAL, "config=NUMBER" },
	{ "1/config=/", -EINVAL, "config=NUMBER" },
	{ "1/config=x/", -EINVAL, "config=NUMBER" },
	{ "1/config=1=2/", -EINVAL, "config=NUMBER" },
	{ "1/=1/", -EINVAL, "unknown term ''" },
	{ "1/config=1/z", -EINVAL, "unknown modifier 'z'" },
	{ "1/config=1//", -EINVAL, "unknown modifier '/'" },
	{ "tracepoint:", -EINVAL, "tracepoint:NUMBER" },
	{ "tracepoint:sched_switch", -EINVAL, "tracepoint:NUMBER" },
	{ "tracepoint:1:z", -EINVAL, "unknown modifier 'z'" },
};

static void bad_desc(const struct bad *bad, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%s'", bad->name);
}

KUNIT_ARRAY_PARAM(bads, bads, bad_desc);

static void expect_bad(struct kunit *test, const struct bad *bad)
{
	struct perf_event_attr attr;
	char why[WHY_LEN];

	KUNIT_EXPECT_EQ(test, parse(test, bad->name, &attr, why), bad->err);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(why, bad->word),
				  "the sentence is '%s'", why);
}

static void name_bad(struct kunit *test)
{
	expect_bad(test, test->param_value);
}

static const struct bad bad_probes[] = {
	{ "sched:", -ENOENT, "no tracepoint" },
	{ "sched:no_such", -ENOENT, "no tracepoint sched:no_such" },
	{ "nosuch:sched_switch", -ENOENT, "no tracepoint" },
	{ ":sched_switch", -ENOENT, "no tracepoint" },
	{ "sched:sched_switch:z", -EINVAL, "unknown modifier 'z'" },
	{ "kprobe:", -ENOENT, "symbol ''" },
	{ "kprobe:no_such_symbol_at_all", -ENOENT, "cannot probe symbol" },
	{ "kprobe:probe_me+x", -EINVAL, "bad offset 'x'" },
	{ "kprobe:probe_me+", -EINVAL, "bad offset ''" },
	{ "kprobe:probe_me+0x100000000", -EINVAL, "cannot probe symbol" },
	{ "kprobe:0xzz", -EINVAL, "bad address" },
	{ "kprobe:0x10000000000000000", -EINVAL, "bad address" },
	{ "kprobe:probe_me:z", -EINVAL, "unknown modifier 'z'" },
	{ "kprobe:notify_die", -EINVAL, "cannot probe symbol" },
	{ "kretprobe:probe_me+4", -EINVAL, "no offset" },
};

KUNIT_ARRAY_PARAM(bad_probes, bad_probes, bad_desc);

static void name_bad_probe(struct kunit *test)
{
	need_kprobes(test);
	expect_bad(test, test->param_value);
}

static void round_trip(struct kunit *test, const struct perf_event_attr *attr)
{
	char text[TALLY_EVENT_LEN];
	struct perf_event_attr back;

	tally_name_format(attr, "", text, sizeof(text));
	KUNIT_EXPECT_LT(test, strlen(text), sizeof(text) - 1);
	/* Only perf has such an event. */
	if (tally_levels_why(attr, NULL, NULL, false))
		return;
	parse_ok(test, text, &back);
	KUNIT_EXPECT_EQ_MSG(test, memcmp(attr, &back, sizeof(back)), 0,
			    "%s is not read back as it was written", text);
}

static void name_round_caches(struct kunit *test)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HW_CACHE };
	char text[TALLY_EVENT_LEN];
	u64 id, op, result;

	attr.exclude_guest = 1;
	for (id = 0; id < PERF_COUNT_HW_CACHE_MAX; id++)
		for (op = 0; op < PERF_COUNT_HW_CACHE_OP_MAX; op++)
			for (result = 0; result < 2; result++) {
				attr.config = id | op << 8 | result << 16;
				round_trip(test, &attr);
				tally_name_format(&attr, "", text, sizeof(text));
				KUNIT_EXPECT_NULL(test, strchr(text, '/'));
			}
}

static void name_format_usual(struct kunit *test)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HW_CACHE,
					.config = CACHE(LL, READ, MISS),
					.exclude_guest = 1 };
	char text[TALLY_EVENT_LEN];

	tally_name_format(&attr, "", text, sizeof(text));
	KUNIT_EXPECT_STREQ(test, text, "LLC-load-misses");
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.exclude_user = 1;
	attr.exclude_hv = 1;
	tally_name_format(&attr, "", text, sizeof(text));
	KUNIT_EXPECT_STREQ(test, text, "cycles:k");
	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.bp_addr = 0x1000;
	attr.bp_len = 8;
	attr.bp_type = HW_BREAKPOINT_RW;
	tally_name_format(&attr, "", text, sizeof(text));
	KUNIT_EXPECT_STREQ(test, text, "mem:0x1000/8:rw");
}

/* All modifiers in all combinations, but those that exclude everything. */
static void round_modifiers(struct kunit *test, struct perf_event_attr *attr)
{
	unsigned int bits;

	for (bits = 0; bits < 1 << 10; bits++) {
		attr->exclude_user = bits & 1;
		attr->exclude_kernel = bits >> 1 & 1;
		attr->exclude_hv = bits >> 2 & 1;
		attr->exclude_guest = bits >> 3 & 1;
		attr->exclude_host = bits >> 4 & 1;
		attr->exclude_idle = bits >> 5 & 1;
		attr->pinned = bits >> 6 & 1;
		attr->exclusive = bits >> 7 & 1;
		attr->precise_ip = bits >> 8;
		if ((bits & 7) != 7 && (bits & 24) != 24)
			round_trip(test, attr);
	}
}

static void name_round_modifiers(struct kunit *test)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE };

	round_modifiers(test, &attr);
	attr.type = PERF_TYPE_SOFTWARE;
	round_modifiers(test, &attr);
}

static const struct perf_event_attr rounds[] = {
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_REF_CPU_CYCLES,
	  .exclude_guest = 1 },
	{ .type = PERF_TYPE_HARDWARE, .config = 10, .exclude_guest = 1 },
	{ .type = PERF_TYPE_HARDWARE, .config = 5ULL << 32,
	  .exclude_guest = 1 },
	{ .type = PERF_TYPE_HARDWARE, .config1 = 1, .exclude_guest = 1 },
	{ .type = PERF_TYPE_SOFTWARE, .config = 9 },
	{ .type = PERF_TYPE_SOFTWARE, .config = 12 },
	{ .type = PERF_TYPE_SOFTWARE, .config = 2, .config2 = 3, .pinned = 1 },
	{ .type = PERF_TYPE_TRACEPOINT, .config = 300 },
	{ .type = PERF_TYPE_TRACEPOINT, .config = 300, .config1 = 1 },
	{ .type = PERF_TYPE_HW_CACHE, .config = 0x7, .exclude_guest = 1 },
	{ .type = PERF_TYPE_HW_CACHE, .config = 0x300, .exclude_guest = 1 },
	{ .type = PERF_TYPE_HW_CACHE, .config = 0x20000, .exclude_guest = 1 },
	{ .type = PERF_TYPE_HW_CACHE, .config = 1ULL << 32,
	  .exclude_guest = 1 },
	{ .type = PERF_TYPE_RAW, .config = U64_MAX, .exclude_guest = 1 },
	{ .type = PERF_TYPE_RAW, .config = 1, .config1 = 2, .config2 = 3,
	  .exclude_guest = 1 },
	{ .type = PERF_TYPE_BREAKPOINT, .bp_addr = 0x1000, .bp_len = 8,
	  .bp_type = HW_BREAKPOINT_RW },
	{ .type = PERF_TYPE_BREAKPOINT, .bp_addr = U64_MAX, .bp_len = 1,
	  .bp_type = HW_BREAKPOINT_W, .exclude_user = 1 },
	{ .type = PERF_TYPE_BREAKPOINT, .bp_addr = 0, .bp_len = sizeof(long),
	  .bp_type = HW_BREAKPOINT_X },
	{ .type = 1234567, .config = 1 },
	{ .type = U32_MAX, .config = U64_MAX, .config1 = U64_MAX,
	  .config2 = U64_MAX, .exclude_user = 1, .exclude_hv = 1,
	  .exclude_guest = 1, .exclude_idle = 1, .pinned = 1, .exclusive = 1,
	  .precise_ip = 3 },
};

static void name_round_table(struct kunit *test)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rounds); i++)
		round_trip(test, &rounds[i]);
}

/* A probe is formatted with the number of its PMU, unless its name was kept. */
static void name_round_kprobe(struct kunit *test)
{
	char text[TALLY_EVENT_LEN];
	struct perf_event_attr attr;

	need_kprobes(test);
	parse_ok(test, "kretprobe:probe_me:k", &attr);
	round_trip(test, &attr);
	tally_name_format(&attr, "", text, sizeof(text));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "/config=0x1,config2="));
	tally_name_format(&attr, "kretprobe:probe_me", text, sizeof(text));
	KUNIT_EXPECT_STREQ(test, text, "kretprobe:probe_me:k");
}

static void name_round_random(struct kunit *test)
{
	struct perf_event_attr attr = { };
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 20240607);
	for (i = 0; i < 2000; i++) {
		memset(&attr, 0, sizeof(attr));
		attr.type = prandom_u32_state(&rnd) % 5;
		attr.config = prandom_u32_state(&rnd) >>
			      prandom_u32_state(&rnd) % 32;
		if (prandom_u32_state(&rnd) % 4 == 0)
			attr.config2 = prandom_u32_state(&rnd);
		attr.exclude_kernel = prandom_u32_state(&rnd) & 1;
		attr.exclude_guest = prandom_u32_state(&rnd) & 1;
		attr.pinned = prandom_u32_state(&rnd) & 1;
		round_trip(test, &attr);
	}
}

static const struct bad checks[] = {
	{ "a", 0, "" },
	{ "...", 0, "" },
	{ ".a", 0, "" },
	{ "-", 0, "" },
	{ "event", 0, "" },
	{ "~!@$%^&*()_+=", 0, "" },
	{ "012345678901234567890123456789012345678901234567890123456789012",
	  0, "" },
	{ "0123456789012345678901234567890123456789012345678901234567890123",
	  -ENAMETOOLONG, "at most 63" },
	{ "", -EINVAL, "no name" },
	{ ".", -EINVAL, "'.' is no name" },
	{ "..", -EINVAL, "'..' is no name" },
	{ "a/b", -EINVAL, "no '/'" },
	{ "/", -EINVAL, "no '/'" },
	{ "a b", -EINVAL, "no blank" },
	{ "a\tb", -EINVAL, "printable" },
	{ "a\nb", -EINVAL, "printable" },
	{ "a\x7f", -EINVAL, "printable" },
	{ "\x01", -EINVAL, "printable" },
	{ "caf\xc3\xa9", -EINVAL, "printable ASCII" },
	{ "\xa0", -EINVAL, "printable ASCII" },
	{ "events", -EEXIST, "tally's own" },
	{ "stats", -EEXIST, "tally's own" },
	{ "create", -EEXIST, "tally's own" },
	{ "remove", -EEXIST, "tally's own" },
	{ "pmus", -EEXIST, "tally's own" },
};

static void check_desc(const struct bad *check, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%*pE'",
		 (int)strlen(check->name), check->name);
}

KUNIT_ARRAY_PARAM(checks, checks, check_desc);

static void name_check(struct kunit *test)
{
	const struct bad *check = test->param_value;
	char why[WHY_LEN] = "";

	KUNIT_EXPECT_EQ(test, tally_name_check(check->name, why, sizeof(why)),
			check->err);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(why, check->word),
				  "the sentence is '%s'", why);
	KUNIT_EXPECT_EQ(test, !*why, !check->err);
}

struct list {
	const char *text;
	char separator;
	const char *lines[5];
};

static const struct list lists[] = {
	{ "", ',', { "" } },
	{ "cycles", ',', { "cycles" } },
	{ "cycles,cs", ',', { "cycles", "cs" } },
	{ "cycles,,cs,", ',', { "cycles", "", "cs", "" } },
	{ "msr/config=1,config1=2/,cs", ',', { "msr/config=1,config1=2/", "cs" } },
	{ "{cs,1/config=1,config1=2/},cs", ',', { "{cs,1/config=1,config1=2/}", "cs" } },
	{ "cs,{a,b}:u,{c,d}", ',', { "cs", "{a,b}:u", "{c,d}" } },
	{ "1/config=1,config1=2/u,2/config=3,config2=4/:k,cs", ',',
	  { "1/config=1,config1=2/u", "2/config=3,config2=4/:k", "cs" } },
	{ "cpu/mem-loads,ldlat=30/P,cs", ',', { "cpu/mem-loads,ldlat=30/P", "cs" } },
	{ "cpu/event=3,umask=1/:P,cs", ',', { "cpu/event=3,umask=1/:P", "cs" } },
	{ "mem:0x1000/8:w,cs", ',', { "mem:0x1000/8:w", "cs" } },
	{ "cs,mem:0x1000/8,mem:0x2000/4:w", ',',
	  { "cs", "mem:0x1000/8", "mem:0x2000/4:w" } },
	{ "cycles cpu=1;cs", ';', { "cycles cpu=1", "cs" } },
	{ "cycles:k;cs", ';', { "cycles:k", "cs" } },
	{ "cs exclude=user,hv;faults", ';', { "cs exclude=user,hv", "faults" } },
	{ "1/config=1,config1=2/ cpu=0", ';', { "1/config=1,config1=2/ cpu=0" } },
	{ "{a,b} cpu=0;x filter=y~'{*';cs", ';', { "{a,b} cpu=0", "x filter=y~'{*'", "cs" } },
	{ "a\tb", ';', { "a\tb" } },
	{ "a\nb;c", ';', { "a\nb", "c" } },
};

static void list_desc(const struct list *list, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%*pE'",
		 (int)strlen(list->text), list->text);
}

KUNIT_ARRAY_PARAM(lists, lists, list_desc);

static void name_list(struct kunit *test)
{
	const struct list *list = test->param_value;
	char text[96], *rest = text;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, tally_name_separator(list->text),
			list->separator);
	strscpy(text, list->text, sizeof(text));
	for (i = 0; list->lines[i]; i++)
		KUNIT_EXPECT_STREQ(test, tally_name_next(&rest, list->separator),
				   list->lines[i]);
	KUNIT_EXPECT_NULL(test, tally_name_next(&rest, list->separator));
	KUNIT_EXPECT_NULL(test, tally_name_next(&rest, list->separator));
}

static struct kunit_case name_cases[] = {
	KUNIT_CASE_PARAM(name_generic, generic_gen_params),
	KUNIT_CASE_PARAM(name_cache, caches_gen_params),
	KUNIT_CASE_PARAM(name_code, codes_gen_params),
	KUNIT_CASE_PARAM(name_breakpoint, mems_gen_params),
	KUNIT_CASE(name_pmu_terms),
	KUNIT_CASE(name_tracepoint),
	KUNIT_CASE(name_kprobe),
	KUNIT_CASE(name_kprobe_offset),
	KUNIT_CASE(name_kprobe_address),
	KUNIT_CASE_PARAM(name_modifiers, modifiers_gen_params),
	KUNIT_CASE_PARAM(name_bad, bads_gen_params),
	KUNIT_CASE_PARAM(name_bad_probe, bad_probes_gen_params),
	KUNIT_CASE(name_round_caches),
	KUNIT_CASE(name_format_usual),
	KUNIT_CASE(name_round_modifiers),
	KUNIT_CASE(name_round_table),
	KUNIT_CASE(name_round_kprobe),
	KUNIT_CASE(name_round_random),
	KUNIT_CASE_PARAM(name_check, checks_gen_params),
	KUNIT_CASE_PARAM(name_list, lists_gen_params),
	{ }
};

static struct kunit_suite name_suite = {
	.name = "tally_name",
	.test_cases = name_cases,
};

kunit_test_suite(name_suite);

TALLY_IMPORT_NS();
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Unit tests of tally");
MODULE_LICENSE("GPL");
