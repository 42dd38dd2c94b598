// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of samples in records: a PMU without hardware hands over made-up samples, and the
 * records are compared, byte for byte, with what perf_event_open(2) says of
 * PERF_RECORD_SAMPLE.
 */
#include <kunit/test.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "../modules/made_up.h"
#include "arch/regs.h"
#include "builder/builder.h"
#include "builder/sample_fields.h"
#include "event/event.h"

#define ALL	(TALLY_SAMPLE_KNOWN & ~(PERF_SAMPLE_AUX | PERF_SAMPLE_WEIGHT_STRUCT))
#define COUNT	777

#if defined(CONFIG_X86)
#define REGS	(BIT_ULL(PERF_REG_X86_BX) | BIT_ULL(PERF_REG_X86_SP) | BIT_ULL(PERF_REG_X86_IP))
#elif defined(CONFIG_ARM64)
#define REGS	(BIT_ULL(PERF_REG_ARM64_X1) | BIT_ULL(PERF_REG_ARM64_SP) | \
		 BIT_ULL(PERF_REG_ARM64_PC))
#endif

/**
 * struct sample_case - an event, and what its driver hands over
 * @name: name of the case
 * @type: sample_type
 * @handed: fields that the driver hands over
 * @branches: bits of branch_sample_type
 * @exclude_kernel: the event excludes the kernel
 * @in_user: the registers of the sample are those of user space
 */
struct sample_case {
	const char *name;
	u64 type;
	u64 handed;
	u64 branches;
	bool exclude_kernel;
	bool in_user;
};

static const struct sample_case sample_cases[] = {
	{ "all", ALL, ALL },
	{ "all, nothing is handed over", ALL & ~PERF_SAMPLE_CALLCHAIN, 0 },
	{ "all, kernel excluded", ALL, ALL, .exclude_kernel = true },
	{ "all, kernel excluded, user", ALL, ALL, .exclude_kernel = true, .in_user = true },
	{ "all, user", ALL, ALL, .in_user = true },
	{ "identifier", PERF_SAMPLE_IDENTIFIER, ALL },
	{ "ip", PERF_SAMPLE_IP, ALL },
	{ "ip, kernel excluded", PERF_SAMPLE_IP, ALL, .exclude_kernel = true },
	{ "time", PERF_SAMPLE_TIME, ALL },
	{ "addr", PERF_SAMPLE_ADDR, ALL },
	{ "no addr", PERF_SAMPLE_ADDR, 0 },
	{ "read", PERF_SAMPLE_READ, ALL },
	{ "chain", PERF_SAMPLE_CALLCHAIN, ALL },
	{ "chain, kernel excluded", PERF_SAMPLE_CALLCHAIN, ALL, .exclude_kernel = true },
	{ "chain and ip, user", PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_IP, ALL,
	  .exclude_kernel = true, .in_user = true },
	{ "raw", PERF_SAMPLE_RAW, ALL },
	{ "no raw", PERF_SAMPLE_RAW, 0 },
	{ "branches", PERF_SAMPLE_BRANCH_STACK, ALL },
	{ "branches, index", PERF_SAMPLE_BRANCH_STACK, ALL, PERF_SAMPLE_BRANCH_HW_INDEX },
	{ "branches, counters", PERF_SAMPLE_BRANCH_STACK, ALL, PERF_SAMPLE_BRANCH_COUNTERS },
	{ "branches, index, counters", PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_IP, ALL,
	  PERF_SAMPLE_BRANCH_HW_INDEX | PERF_SAMPLE_BRANCH_COUNTERS },
	{ "branches, kernel excluded", PERF_SAMPLE_BRANCH_STACK, ALL,
	  PERF_SAMPLE_BRANCH_HW_INDEX, .exclude_kernel = true },
	{ "no branches", PERF_SAMPLE_BRANCH_STACK, 0, PERF_SAMPLE_BRANCH_HW_INDEX },
	{ "registers", PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_REGS_USER, ALL },
	{ "registers, user", PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_REGS_USER, ALL,
	  .in_user = true },
	{ "registers, kernel excluded", PERF_SAMPLE_REGS_INTR, ALL, .exclude_kernel = true },
	{ "weight", PERF_SAMPLE_WEIGHT, ALL },
	{ "no weight", PERF_SAMPLE_WEIGHT, 0 },
	{ "struct of weights", PERF_SAMPLE_WEIGHT_STRUCT, ALL | PERF_SAMPLE_WEIGHT_STRUCT },
	{ "no struct of weights", PERF_SAMPLE_WEIGHT_STRUCT, 0 },
	{ "data source", PERF_SAMPLE_DATA_SRC, ALL },
	{ "no data source", PERF_SAMPLE_DATA_SRC, 0 },
	{ "transaction", PERF_SAMPLE_TRANSACTION, ALL },
	{ "no transaction", PERF_SAMPLE_TRANSACTION, 0 },
	{ "physical address", PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_ADDR, ALL },
	{ "physical address of addr", PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_ADDR, PERF_SAMPLE_ADDR },
	{ "physical address, kernel excluded", PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_ADDR, ALL,
	  .exclude_kernel = true },
	{ "page sizes", PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE |
	  PERF_SAMPLE_ADDR, ALL },
	{ "page sizes, no addr", PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE, 0 },
	{ "page sizes, kernel excluded", PERF_SAMPLE_DATA_PAGE_SIZE |
	  PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_ADDR, ALL, .exclude_kernel = true },
};

static void name_of(const struct sample_case *c, char *desc)
{
	strscpy(desc, c->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(samples, sample_cases, name_of);

/* ---- a PMU without hardware ---- */

static int pmu_event_init(struct perf_event *event)
{
	return event->attr.type == event->pmu->type ? 0 : -ENOENT;
}

static int pmu_add(struct perf_event *event, int flags)
{
	return 0;
}

static void pmu_del(struct perf_event *event, int flags)
{
}

static void pmu_nothing(struct perf_event *event)
{
}

static struct pmu pmu = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_invalid_context,
	.event_init = pmu_event_init,
	.add = pmu_add,
	.del = pmu_del,
	.start = pmu_del,
	.stop = pmu_del,
	.read = pmu_nothing,
};

/* ---- one sample ---- */

/**
 * struct sampled - a sample that is handed over, and its record
 * @ev: tally's event
 * @event: perf's event
 * @made: memory of @data
 * @data: the sample
 * @regs: registers of the sample
 * @addr: address of the sample, and @regs's ip: memory of vmalloc() or kmalloc()
 * @record: the record in the ring
 * @nr: words of @record
 * @want: what the record has to be
 * @nr_want: words of @want
 */
struct sampled {
	struct tally_event *ev;
	struct perf_event *event;
	struct made_up made;
	struct perf_sample_data data;
	struct pt_regs regs;
	u64 addr;
	u64 record[1024];
	unsigned int nr;
	u64 want[1024];
	unsigned int nr_want;
};

static void put(struct sampled *s, u64 word)
{
	s->want[s->nr_want++] = word;
}

static void put_bytes(struct sampled *s, const void *from, size_t size)
{
	memcpy(&s->want[s->nr_want], from, size);
	s->nr_want += DIV_ROUND_UP(size, sizeof(u64));
}

static bool is_hidden(const struct sample_case *c)
{
	return c->exclude_kernel && !c->in_user;
}

static void want_head(struct sampled *s, const struct sample_case *c)
{
	u64 addr = c->handed & PERF_SAMPLE_ADDR && !is_hidden(c) ? s->addr : 0;
	u32 pid[2] = { current->tgid, current->pid };
	u32 cpu[2] = { raw_smp_processor_id(), 0 };

	if (c->type & PERF_SAMPLE_IDENTIFIER)
		put(s, s->ev->id);
	if (c->type & PERF_SAMPLE_IP)
		put(s, is_hidden(c) ? 0 : s->addr);
	if (c->type & PERF_SAMPLE_TID)
		put_bytes(s, pid, sizeof(pid));
	/* tests/guest/ring/clocks.c looks at times that no driver hands over. */
	if (c->type & PERF_SAMPLE_TIME)
		put(s, c->handed & PERF_SAMPLE_TIME ? MADE_UP_TIME : s->record[s->nr_want]);
	if (c->type & PERF_SAMPLE_ADDR)
		put(s, addr);
	if (c->type & PERF_SAMPLE_ID)
		put(s, s->ev->id);
	if (c->type & PERF_SAMPLE_STREAM_ID)
		put(s, s->ev->id);
	if (c->type & PERF_SAMPLE_CPU)
		put_bytes(s, cpu, sizeof(cpu));
	if (c->type & PERF_SAMPLE_PERIOD)
		put(s, MADE_UP_PERIOD);
	if (c->type & PERF_SAMPLE_READ)
		put(s, COUNT);
}

static void want_chain(struct sampled *s, const struct sample_case *c)
{
	unsigned int nr = ARRAY_SIZE(made_up_user_ips);

	/* Nothing of the kernel, also if the interrupt came there. */
	if (!c->exclude_kernel)
		nr += ARRAY_SIZE(made_up_kernel_ips);
	put(s, nr);
	if (!c->exclude_kernel)
		put_bytes(s, made_up_kernel_ips, sizeof(made_up_kernel_ips));
	put_bytes(s, made_up_user_ips, sizeof(made_up_user_ips));
}

static void want_raw(struct sampled *s, const struct sample_case *c)
{
	u32 raw[1 + round_up(MADE_UP_RAW + 4, 8) / 4 - 1] = { 4 };

	if (!(c->handed & PERF_SAMPLE_RAW)) {
		put_bytes(s, raw, 8);
		return;
	}
	raw[0] = sizeof(raw) - 4;
	memcpy(&raw[1], s->made.bytes, MADE_UP_RAW);
	put_bytes(s, raw, sizeof(raw));
}

static void want_branches(struct sampled *s, const struct sample_case *c)
{
	const struct perf_branch_stack *br = (void *)s->made.branches;

	if (!(c->handed & PERF_SAMPLE_BRANCH_STACK) || is_hidden(c)) {
		put(s, 0);
		return;
	}
	put(s, MADE_UP_BRANCHES);
	if (c->branches & PERF_SAMPLE_BRANCH_HW_INDEX)
		put(s, MADE_UP_HW_IDX);
	put_bytes(s, br->entries, MADE_UP_BRANCHES * sizeof(br->entries[0]));
	if (c->branches & PERF_SAMPLE_BRANCH_COUNTERS)
		put_bytes(s, s->made.counters, sizeof(s->made.counters));
}

/* The ABI is that of the task. On x86 a thread of the kernel is no 64-bit program. */
static void want_regs(struct sampled *s, bool has)
{
	put(s, !has ? PERF_SAMPLE_REGS_ABI_NONE :
	       IS_ENABLED(CONFIG_X86) ? PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64);
	if (!has)
		return;
#if defined(CONFIG_X86)
	put(s, s->regs.bx);
	put(s, s->regs.sp);
	put(s, s->addr);
#elif defined(CONFIG_ARM64)
	put(s, s->regs.regs[1]);
	put(s, s->regs.sp);
	put(s, s->addr);
#endif
}

static u64 want_phys(const struct sampled *s, const struct sample_case *c)
{
	if (is_hidden(c))
		return 0;
	if (c->handed & PERF_SAMPLE_PHYS_ADDR)
		return MADE_UP_PHYS;
	return c->handed & PERF_SAMPLE_ADDR ? virt_to_phys((void *)s->addr) : 0;
}

static void want_tail(struct sampled *s, const struct sample_case *c)
{
	bool addr = c->handed & PERF_SAMPLE_ADDR && !is_hidden(c);

	if (c->type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		put(s, c->handed & c->type & PERF_SAMPLE_WEIGHT_TYPE ? MADE_UP_WEIGHT : 0);
	if (c->type & PERF_SAMPLE_DATA_SRC)
		put(s, c->handed & PERF_SAMPLE_DATA_SRC ? MADE_UP_SRC : PERF_MEM_NA);
	if (c->type & PERF_SAMPLE_TRANSACTION)
		put(s, c->handed & PERF_SAMPLE_TRANSACTION ? MADE_UP_TXN : 0);
	if (c->type & PERF_SAMPLE_REGS_INTR)
		want_regs(s, !is_hidden(c));
	if (c->type & PERF_SAMPLE_PHYS_ADDR)
		put(s, want_phys(s, c));
	/* The root of the cgroups, where the test's thread is. */
	if (c->type & PERF_SAMPLE_CGROUP)
		put(s, 1);
	if (c->type & PERF_SAMPLE_DATA_PAGE_SIZE)
		put(s, addr ? PAGE_SIZE : 0);
	if (c->type & PERF_SAMPLE_CODE_PAGE_SIZE)
		put(s, is_hidden(c) ? 0 : PAGE_SIZE);
}

static void want_record(struct sampled *s, const struct sample_case *c)
{
	struct perf_event_header h = { .type = PERF_RECORD_SAMPLE };

	h.misc = c->in_user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
	if (IS_ENABLED(CONFIG_X86))
		h.misc |= PERF_RECORD_MISC_EXACT_IP;
	s->nr_want = sizeof(h) / sizeof(u64);
	want_head(s, c);
	if (c->type & PERF_SAMPLE_CALLCHAIN)
		want_chain(s, c);
	if (c->type & PERF_SAMPLE_RAW)
		want_raw(s, c);
	if (c->type & PERF_SAMPLE_BRANCH_STACK)
		want_branches(s, c);
	if (c->type & PERF_SAMPLE_REGS_USER)
		want_regs(s, c->in_user);
	/* A thread of the kernel has no stack in user space. */
	if (c->type & PERF_SAMPLE_STACK_USER)
		put(s, 0);
	want_tail(s, c);
	h.size = s->nr_want * sizeof(u64);
	memcpy(s->want, &h, sizeof(h));
}

/* An event on this CPU, which the caller does not leave. */
static void build(struct kunit *test, struct sampled *s, const struct sample_case *c)
{
	struct tally_builder b;

	tally_builder_init(&b, TALLY_PMU(pmu.type, 0));
	tally_builder_on_cpu(&b, raw_smp_processor_id());
	tally_builder_period(&b, 1000);
	tally_builder_precise(&b, 2);
	tally_builder_sample_type(&b, c->type);
	tally_builder_ring(&b, 65536, 0);
	tally_builder_exclude(&b, c->exclude_kernel ? TALLY_EXCLUDE_KERNEL : 0);
	if (c->type & PERF_SAMPLE_BRANCH_STACK)
		b.attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | c->branches;
	if (c->type & PERF_SAMPLE_REGS_USER)
		b.attr.sample_regs_user = REGS;
	if (c->type & PERF_SAMPLE_REGS_INTR)
		b.attr.sample_regs_intr = REGS;
	if (c->type & PERF_SAMPLE_STACK_USER)
		b.attr.sample_stack_user = 64;
	s->ev = tally_build(&b);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(s->ev), "%s", tally_builder_why(&b));
	s->event = s->ev->counter->slots[0].event;
	local64_set(&s->event->count, COUNT);
}

/* The registers of the sample: those of this function, with another ip. */
static noinline void set_regs(struct sampled *s, const struct sample_case *c)
{
	perf_fetch_caller_regs(&s->regs);
	made_up_regs(&s->regs);
	instruction_pointer_set(&s->regs, s->addr);
#if defined(CONFIG_X86)
	s->regs.bx = 0xb0b0;
	if (c->in_user)
		s->regs.cs = __USER_CS;
#elif defined(CONFIG_ARM64)
	s->regs.regs[1] = 0xb0b0;
	if (c->in_user)
		s->regs.pstate = PSR_MODE_EL0t;
#endif
}

/* Hands the sample over, as perf_event_overflow() does, and reads its record. */
static void overflow(struct kunit *test, struct sampled *s, const struct sample_case *c)
{
	unsigned long flags;
	ssize_t size;

	set_regs(s, c);
	made_up_sample(&s->made, &s->data, s->event, c->handed);
	if (c->handed & PERF_SAMPLE_ADDR) {
		s->data.addr = s->addr;
		s->data.sample_flags |= PERF_SAMPLE_ADDR;
	}
	local_irq_save(flags);
	s->event->overflow_handler(s->event, &s->data, &s->regs);
	local_irq_restore(flags);
	size = tally_ring_read(s->ev, -1, s->record, sizeof(s->record));
	KUNIT_EXPECT_GE(test, size, (ssize_t)sizeof(struct perf_event_header));
	s->nr = max_t(ssize_t, size, 0) / sizeof(u64);
}

/* Whether the record has a physical address that the driver has not handed over. */
static bool finds_phys(const struct sample_case *c)
{
	return c->type & PERF_SAMPLE_PHYS_ADDR && !(c->handed & PERF_SAMPLE_PHYS_ADDR);
}

static void sample_record(struct kunit *test)
{
	struct sample_case c = *(const struct sample_case *)test->param_value;
	struct sampled *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	unsigned int i;
	void *page;

	KUNIT_ASSERT_NOT_NULL(test, s);
	/* Page tables are found on x86 only; memory of kmalloc() may be in a larger page. */
	if (!IS_ENABLED(CONFIG_X86) || finds_phys(&c))
		c.type &= ~(PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE);
	if (!c.type)
		kunit_skip(test, "not on this architecture");
	page = finds_phys(&c) ? kmalloc(PAGE_SIZE, GFP_KERNEL) : vmalloc(PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, page);
	s->addr = (unsigned long)page + 8;
	migrate_disable();
	build(test, s, &c);
	overflow(test, s, &c);
	want_record(s, &c);
	tally_event_release(s->ev);
	migrate_enable();
	kvfree(page);

	KUNIT_EXPECT_EQ(test, s->nr, s->nr_want);
	for (i = 0; i < min(s->nr, s->nr_want); i++)
		KUNIT_EXPECT_EQ_MSG(test, s->record[i], s->want[i], "word %u", i);
}

/* ---- the limit of call chains ---- */

#define LIMIT_FILE	"/proc/sys/kernel/perf_event_max_stack"

static void set_limit(struct kunit *test, const char *text)
{
	struct file *file = filp_open(LIMIT_FILE, O_WRONLY, 0);
	loff_t at = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_EQ(test, kernel_write(file, text, strlen(text), &at),
			(ssize_t)strlen(text));
	filp_close(file, NULL);
}

static unsigned int max_stack(struct kunit *test, u64 type, unsigned int precise, u16 asked)
{
	struct perf_event_attr attr = { };
	struct tally_builder b;

	tally_builder_init(&b, TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES));
	tally_builder_period(&b, 1000);
	tally_builder_precise(&b, precise);
	tally_builder_sample_type(&b, type);
	tally_builder_ring(&b, 65536, 0);
	b.attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	b.attr.sample_max_stack = asked;
	KUNIT_EXPECT_EQ_MSG(test, tally_builder_check(&b, &attr), 0, "%s",
			    tally_builder_why(&b));
	return attr.sample_max_stack;
}

/*
 * A driver unwinds up to perf's sample_max_stack, and later kernels hand over so many branches:
 * as many as perf's system call allows.
 */
static void sample_max_stack(struct kunit *test)
{
	const u64 chain = PERF_SAMPLE_CALLCHAIN, branches = PERF_SAMPLE_BRANCH_STACK;

	KUNIT_EXPECT_EQ(test, max_stack(test, chain, 2, 0), PERF_MAX_STACK_DEPTH);
	KUNIT_EXPECT_EQ(test, max_stack(test, chain, 2, 9), 9);
	KUNIT_EXPECT_EQ(test, max_stack(test, chain, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, max_stack(test, branches, 0, 0), PERF_MAX_STACK_DEPTH);
	KUNIT_EXPECT_EQ(test, max_stack(test, branches, 0, 9), 9);
	KUNIT_EXPECT_EQ(test, max_stack(test, PERF_SAMPLE_IP, 2, 0), 0);
	set_limit(test, "50");
	KUNIT_EXPECT_EQ(test, max_stack(test, chain, 2, 0), 50);
	KUNIT_EXPECT_EQ(test, max_stack(test, branches, 0, 0), 50);
	set_limit(test, "1000");
	KUNIT_EXPECT_EQ(test, max_stack(test, chain, 2, 0), PERF_MAX_STACK_DEPTH);
	set_limit(test, __stringify(PERF_MAX_STACK_DEPTH));
}

/* ---- the suite ---- */

static int sample_suite_init(struct kunit_suite *suite)
{
	return perf_pmu_register(&pmu, "tally_kunit", -1);
}

static void sample_suite_exit(struct kunit_suite *suite)
{
	perf_pmu_unregister(&pmu);
}

static struct kunit_case sample_suite_cases[] = {
	KUNIT_CASE_PARAM(sample_record, samples_gen_params),
	KUNIT_CASE(sample_max_stack),
	{ }
};

static struct kunit_suite sample_suite = {
	.name = "tally_sample",
	.suite_init = sample_suite_init,
	.suite_exit = sample_suite_exit,
	.test_cases = sample_suite_cases,
};

kunit_test_suite(sample_suite);
