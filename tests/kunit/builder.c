// SPDX-License-Identifier: GPL-2.0
/* Tests of the builder: settings that it refuses, with their errno, and accepts. */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/hw_breakpoint.h>
#include <linux/module.h>
#include <linux/sched.h>
#include "builder/builder.h"
#include "compat.h"

static const struct tally_what faults =
	TALLY_SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS);

/* tally_builder_check() and tally_build() fail with the same text, which has @word. */
static void expect_refused(struct kunit *test, struct tally_builder *b, int err,
			   const char *word)
{
	struct tally_builder again = *b;
	struct perf_event_attr attr;
	struct tally_event *ev;

	KUNIT_EXPECT_EQ(test, tally_builder_check(b, &attr), err);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(tally_builder_why(b), word),
				  "the sentence is '%s'", tally_builder_why(b));
	ev = tally_build(&again);
	KUNIT_EXPECT_PTR_EQ(test, ev, (struct tally_event *)ERR_PTR(err));
	KUNIT_EXPECT_STREQ(test, tally_builder_why(&again),
			   tally_builder_why(b));
	tally_event_release(ev);
}

static void period_and_freq(struct tally_builder *b)
{
	tally_builder_period(b, 1000);
	tally_builder_freq(b, 1000);
}

static void period_sign(struct tally_builder *b)
{
	tally_builder_period(b, 1ULL << 63);
}

static void period_alone(struct tally_builder *b)
{
	tally_builder_period(b, 1000);
}

static void period_largest(struct tally_builder *b)
{
	tally_builder_period(b, S64_MAX);
}

static void freq_above_limit(struct tally_builder *b)
{
	tally_builder_freq(b, 2000000000);
}

static void freq_largest(struct tally_builder *b)
{
	tally_builder_freq(b, U64_MAX);
}

static void freq_alone(struct tally_builder *b)
{
	tally_builder_freq(b, 1);
}

static void clock_freq_above(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_freq(b, 2000000000);
}

static void clock_freq_alone(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_SOFTWARE(PERF_COUNT_SW_CPU_CLOCK));
	tally_builder_freq(b, 1);
}

static void exclude_unknown(struct tally_builder *b)
{
	tally_builder_exclude(b, BIT(6));
}

static void exclude_unknown_top(struct tally_builder *b)
{
	tally_builder_exclude(b, BIT(31) | TALLY_EXCLUDE_USER);
}

static void cpu_negative(struct tally_builder *b)
{
	tally_builder_on_cpu(b, -1);
}

static void cpu_too_large(struct tally_builder *b)
{
	tally_builder_on_cpu(b, nr_cpu_ids);
}

static void cpu_largest(struct tally_builder *b)
{
	tally_builder_on_cpu(b, INT_MAX);
}

static void cpu_and_all(struct tally_builder *b)
{
	tally_builder_on_cpu(b, 0);
	tally_builder_on_all_cpus(b);
}

static void task_null(struct tally_builder *b)
{
	tally_builder_on_task(b, NULL);
}

static void task_error(struct tally_builder *b)
{
	tally_builder_on_task(b, ERR_PTR(-ENOMEM));
}

static void task_and_all(struct tally_builder *b)
{
	tally_builder_on_task(b, current);
	tally_builder_on_all_cpus(b);
}

static void pid_and_all(struct tally_builder *b)
{
	tally_builder_on_all_cpus(b);
	tally_builder_on_pid(b, 1);
}

static void task_and_pid(struct tally_builder *b)
{
	tally_builder_on_task(b, current);
	tally_builder_on_pid(b, 1);
}

static void pid_negative(struct tally_builder *b)
{
	tally_builder_on_pid(b, -1);
}

static void inherit_alone(struct tally_builder *b)
{
	tally_builder_inherit(b);
}

static void inherit_on_cpu(struct tally_builder *b)
{
	tally_builder_on_cpu(b, 0);
	tally_builder_inherit(b);
}

static void inherit_thread_alone(struct tally_builder *b)
{
	tally_builder_on_task(b, current);
	tally_builder_inherit_thread(b);
}

static void precise_counting(struct tally_builder *b)
{
	tally_builder_precise(b, 1);
}

static void precise_four(struct tally_builder *b)
{
	tally_builder_precise(b, 4);
}

static void bp_type_zero(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_BREAKPOINT(4096, 4, 0));
}

static void bp_write_execute(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_BREAKPOINT(4096, 8, HW_BREAKPOINT_W |
							HW_BREAKPOINT_X));
}

static void bp_all(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_BREAKPOINT(4096, 8, HW_BREAKPOINT_RW |
							HW_BREAKPOINT_X));
}

static void bp_unknown(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_BREAKPOINT(4096, 8, 8));
}

static void bp_len_zero(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_BREAKPOINT(4096, 0, HW_BREAKPOINT_W));
}

static void bp_len_nine(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_BREAKPOINT(4096, 9, HW_BREAKPOINT_W));
}

static void bp_execute_len_nine(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_BREAKPOINT(4096, 9, HW_BREAKPOINT_X));
}

static void bp_misaligned_two(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_BREAKPOINT(4097, 2, HW_BREAKPOINT_W));
}

static void bp_misaligned_eight(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_BREAKPOINT(4100, 8, HW_BREAKPOINT_RW));
}

static void ftrace_function(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_TRACEPOINT(1));
}

static void name_empty(struct tally_builder *b)
{
	tally_builder_name(b, "");
}

static void name_slash(struct tally_builder *b)
{
	tally_builder_name(b, "a/b");
}

static void name_own(struct tally_builder *b)
{
	tally_builder_name(b, "events");
}

static void name_long(struct tally_builder *b)
{
	char name[TALLY_NAME_LEN + 1];

	memset(name, 'x', TALLY_NAME_LEN);
	name[TALLY_NAME_LEN] = '\0';
	tally_builder_name(b, name);
}

static void pmu_unknown(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_PMU_NAMED("no_such_pmu", 0));
}

static void pmu_of_nobody(struct tally_builder *b)
{
	tally_builder_init(b, TALLY_PMU_NAMED("", 0));
}

struct rule {
	const char *desc;
	void (*set)(struct tally_builder *b);
	int err;
	const char *word;
};

static const struct rule rules[] = {
	{ "D.1 #17: both period and frequency", period_and_freq, -EINVAL,
	  "both a period and a frequency" },
	{ "D.1 #17: period with bit 63", period_sign, -EINVAL, "2^63" },
	{ "D.1 #16: period without receiver", period_alone, -EINVAL,
	  "nothing receives" },
	{ "D.1 #16: largest period without receiver", period_largest, -EINVAL,
	  "nothing receives" },
	{ "D.1 #16: 1 Hz without receiver", freq_alone, -EINVAL,
	  "nothing receives" },
	{ "D.1 #16: 1 Hz of a clock without receiver", clock_freq_alone,
	  -EINVAL, "nothing receives" },
	{ "D.1 #17: frequency above the limit", freq_above_limit, -EINVAL,
	  "perf_event_max_sample_rate" },
	{ "D.1 #17: largest frequency", freq_largest, -EINVAL,
	  "perf_event_max_sample_rate" },
	{ "D.1 #17: clock's frequency above the limit", clock_freq_above,
	  -EINVAL, "perf_event_max_sample_rate" },
	{ "exclude: unknown bit", exclude_unknown, -EINVAL, "unknown bits" },
	{ "exclude: unknown top bit", exclude_unknown_top, -EINVAL,
	  "unknown bits" },
	{ "cpu: negative", cpu_negative, -EINVAL, "cpu -1 does not exist" },
	{ "cpu: above the last", cpu_too_large, -EINVAL, "does not exist" },
	{ "cpu: largest int", cpu_largest, -EINVAL, "does not exist" },
	{ "cpu: one and all", cpu_and_all, -EINVAL, "both one cpu and all" },
	{ "task: NULL", task_null, -ESRCH, "no task" },
	{ "task: ERR_PTR", task_error, -ESRCH, "no task" },
	{ "task: and all cpus", task_and_all, -EINVAL, "not on all cpus" },
	{ "pid: and all cpus", pid_and_all, -EINVAL, "not on all cpus" },
	{ "task: and a pid", task_and_pid, -EINVAL, "both a task and a pid" },
	{ "pid: negative", pid_negative, -EINVAL, "pid -1" },
	{ "inherit: without a task", inherit_alone, -EINVAL,
	  "inherit without a task" },
	{ "inherit: on a cpu without a task", inherit_on_cpu, -EINVAL,
	  "inherit without a task" },
	{ "inherit_thread: without inherit", inherit_thread_alone, -EINVAL,
	  "inherit_thread without inherit" },
	{ "precise: of a counting event", precise_counting, -EINVAL,
	  "precise is for sampled" },
	{ "precise: 4", precise_four, -EINVAL, "precise above 3" },
	{ "breakpoint: no access", bp_type_zero, -EINVAL, "r, w, rw or x" },
	{ "breakpoint: write and execute", bp_write_execute, -EINVAL,
	  "r, w, rw or x" },
	{ "breakpoint: everything", bp_all, -EINVAL, "r, w, rw or x" },
	{ "breakpoint: unknown access", bp_unknown, -EINVAL, "r, w, rw or x" },
	{ "breakpoint: 0 bytes", bp_len_zero, -EINVAL, "1 to 8 bytes" },
	{ "breakpoint: 9 bytes", bp_len_nine, -EINVAL, "1 to 8 bytes" },
	{ "breakpoint: 9 bytes executed", bp_execute_len_nine, -EINVAL,
	  "1 to 8 bytes" },
	{ "breakpoint: 2 bytes misaligned", bp_misaligned_two, -EINVAL,
	  "no multiple" },
	{ "breakpoint: 8 bytes misaligned", bp_misaligned_eight, -EINVAL,
	  "no multiple" },
	{ "tracepoint: ftrace function", ftrace_function, -EOPNOTSUPP,
	  "every function" },
	{ "name: empty", name_empty, -EINVAL, "no name" },
	{ "name: slash", name_slash, -EINVAL, "no '/'" },
	{ "name: tally's own", name_own, -EEXIST, "tally's own" },
	{ "name: 64 characters", name_long, -ENAMETOOLONG, "at most 63" },
	{ "pmu: unknown", pmu_unknown, -ENOENT, "no PMU 'no_such_pmu'" },
	{ "pmu: empty name", pmu_of_nobody, -ENOENT, "no PMU ''" },
};

static void rule_desc(const struct rule *rule, char *desc)
{
	strscpy(desc, rule->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rules, rules, rule_desc);

static void builder_refuses(struct kunit *test)
{
	const struct rule *rule = test->param_value;
	struct tally_builder b;

	tally_builder_init(&b, faults);
	rule->set(&b);
	expect_refused(test, &b, rule->err, rule->word);
}

struct attr_rule {
	const char *desc;
	struct perf_event_attr attr;
	int err;
	const char *word;
};

#define NOT_BUILT(member, number, what) \
	{ #member " " #number, { .member = (number) }, -EOPNOTSUPP, what }

/* D.1 #17 and T.1: attributes that perf_event_create_kernel_counter() does not check. */
static const struct attr_rule attrs[] = {
	{ "reserved_1", { .__reserved_1 = 1 }, -EINVAL, "reserved" },
	{ "reserved_1, top bit", { .__reserved_1 = 1 << 25 }, -EINVAL,
	  "reserved" },
	{ "reserved_2", { .__reserved_2 = 1 }, -EINVAL, "reserved" },
	{ "sample_type, first unknown bit",
	  { .sample_type = PERF_SAMPLE_MAX }, -EINVAL, "sample_type" },
	{ "sample_type, bit 63", { .sample_type = 1ULL << 63 }, -EINVAL,
	  "sample_type" },
	{ "read_format, first unknown bit",
	  { .read_format = PERF_FORMAT_MAX }, -EINVAL, "read_format" },
	{ "read_format, bit 63", { .read_format = 1ULL << 63 }, -EINVAL,
	  "read_format" },
	{ "remove_on_exec with enable_on_exec",
	  { .remove_on_exec = 1, .enable_on_exec = 1 }, -EINVAL, "both" },
	{ "sigtrap without remove_on_exec", { .sigtrap = 1 }, -EINVAL,
	  "sigtrap without" },
	{ "sigtrap with remove_on_exec, but no task",
	  { .sigtrap = 1, .remove_on_exec = 1 }, -EINVAL, "without a task" },
	{ "enable_on_exec without a task", { .enable_on_exec = 1 }, -EINVAL,
	  "without a task" },
	{ "remove_on_exec without a task", { .remove_on_exec = 1 }, -EINVAL,
	  "without a task" },
	{ "sample_type of an event that counts",
	  { .sample_type = PERF_SAMPLE_IP }, -EINVAL, "sampled events" },
	{ "branch_sample_type, unknown bit",
	  { .sample_type = PERF_SAMPLE_BRANCH_STACK,
	    .branch_sample_type = PERF_SAMPLE_BRANCH_MAX }, -EINVAL,
	  "branch_sample_type" },
	{ "branch_sample_type, levels alone",
	  { .sample_type = PERF_SAMPLE_BRANCH_STACK,
	    .branch_sample_type = PERF_SAMPLE_BRANCH_USER }, -EINVAL,
	  "no kind of branch" },
	{ "sample_stack_user, too large",
	  { .sample_type = PERF_SAMPLE_STACK_USER,
	    .sample_stack_user = 65536 }, -EINVAL, "sample_stack_user" },
	{ "sample_stack_user, unaligned",
	  { .sample_type = PERF_SAMPLE_STACK_USER,
	    .sample_stack_user = 12 }, -EINVAL, "sample_stack_user" },
	{ "both weights",
	  { .sample_type = PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT },
	  -EINVAL, "weight" },
	NOT_BUILT(sample_type, PERF_SAMPLE_READ, "for records"),
	NOT_BUILT(sample_type, PERF_SAMPLE_CALLCHAIN, "for records"),
	NOT_BUILT(sample_type, PERF_SAMPLE_DATA_PAGE_SIZE, "for records"),
	NOT_BUILT(sample_type, PERF_SAMPLE_AUX, "for records"),
	NOT_BUILT(sample_regs_user, 1, "for records"),
	NOT_BUILT(sample_regs_intr, 1, "for records"),
	NOT_BUILT(sample_stack_user, 8, "for records"),
	NOT_BUILT(sample_max_stack, 1, "for records"),
	NOT_BUILT(sample_id_all, 1, "for records"),
	NOT_BUILT(exclude_callchain_kernel, 1, "for records"),
	NOT_BUILT(exclude_callchain_user, 1, "for records"),
	NOT_BUILT(use_clockid, 1, "for records"),
	NOT_BUILT(clockid, 1, "for records"),
	NOT_BUILT(write_backward, 1, "for records"),
	NOT_BUILT(watermark, 1, "for records"),
	NOT_BUILT(wakeup_events, 1, "for records"),
	NOT_BUILT(mmap, 1, "no module"),
	NOT_BUILT(mmap_data, 1, "no module"),
	NOT_BUILT(mmap2, 1, "no module"),
	NOT_BUILT(build_id, 1, "no module"),
	NOT_BUILT(comm, 1, "for records"),
	NOT_BUILT(comm_exec, 1, "for records"),
	NOT_BUILT(task, 1, "for records"),
	NOT_BUILT(inherit_stat, 1, "no module"),
	NOT_BUILT(context_switch, 1, "for records"),
	NOT_BUILT(namespaces, 1, "no module"),
	NOT_BUILT(ksymbol, 1, "no module"),
	NOT_BUILT(bpf_event, 1, "no module"),
	NOT_BUILT(cgroup, 1, "for records"),
	NOT_BUILT(text_poke, 1, "no module"),
	NOT_BUILT(aux_output, 1, "AUX"),
	NOT_BUILT(aux_watermark, 1, "for records"),
	NOT_BUILT(aux_sample_size, 1, "AUX"),
	{ "sample_period", { .sample_period = 1 }, -EINVAL,
	  "nothing receives" },
	{ "sample_period with bit 63", { .sample_period = 1ULL << 63 },
	  -EINVAL, "2^63" },
	{ "freq 1", { .freq = 1, .sample_freq = 1 }, -EINVAL,
	  "nothing receives" },
	{ "freq above the limit", { .freq = 1, .sample_freq = 2000000000 },
	  -EINVAL, "perf_event_max_sample_rate" },
	{ "precise_ip", { .precise_ip = 1 }, -EINVAL, "precise" },
	{ "inherit", { .inherit = 1 }, -EINVAL, "inherit without" },
	{ "inherit_thread", { .inherit_thread = 1 }, -EINVAL,
	  "inherit_thread without" },
};

static void attr_desc(const struct attr_rule *rule, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "D.1 #17: %s", rule->desc);
}

KUNIT_ARRAY_PARAM(attrs, attrs, attr_desc);

static void builder_refuses_attr(struct kunit *test)
{
	const struct attr_rule *rule = test->param_value;
	struct perf_event_attr attr = rule->attr;
	struct tally_builder b;

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	tally_builder_init_attr(&b, &attr);
	expect_refused(test, &b, rule->err, rule->word);
}

/* With tally_builder_period(), sample_period is set after the attributes are read. */
static void builder_refuses_group_format(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_type = PERF_SAMPLE_READ,
		.read_format = PERF_FORMAT_GROUP,
	};
	struct tally_builder b;

	tally_builder_init_attr(&b, &attr);
	tally_builder_on_cpu(&b, 0);
	tally_builder_ring(&b, PAGE_SIZE, 0);
	tally_builder_period(&b, 1);
	expect_refused(test, &b, -EOPNOTSUPP, "PERF_FORMAT_GROUP");
}

/* The bytes before sig_data have two names, and no name on older kernels. */
static void builder_refuses_aux_bits(struct kunit *test)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
	};
	struct tally_builder b;
	unsigned int byte;

	for (byte = 1; byte <= 4; byte++) {
		u8 *p = (u8 *)&attr + offsetof(struct perf_event_attr,
					       sig_data) - byte;

		*p = 0x80;
		tally_builder_init_attr(&b, &attr);
		expect_refused(test, &b, -EINVAL, "reserved");
		*p = byte == 4 ? 4 : 0;
	}
	tally_builder_init_attr(&b, &attr);
	expect_refused(test, &b, -EOPNOTSUPP, "aux_action");
}

/* Valid settings pass, and the attributes for perf are those of a disabled event. */
static void expect_passes(struct kunit *test, struct tally_builder *b,
			  struct perf_event_attr *attr)
{
	KUNIT_EXPECT_EQ_MSG(test, tally_builder_check(b, attr), 0, "%s",
			    tally_builder_why(b));
	KUNIT_EXPECT_STREQ(test, tally_builder_why(b), "");
	KUNIT_EXPECT_EQ(test, attr->size, (u32)sizeof(*attr));
	/* D.1 #15 */
	KUNIT_EXPECT_EQ(test, (int)attr->disabled, 1);
	KUNIT_EXPECT_EQ(test, (u64)attr->read_format, 0ULL);
	KUNIT_EXPECT_EQ(test, (u64)attr->sample_period, 0ULL);
}

static void builder_default(struct kunit *test)
{
	struct perf_event_attr attr;
	struct tally_builder b;

	/* D.1 #6: without a target, an event counts on all CPUs. */
	tally_builder_init(&b, faults);
	expect_passes(test, &b, &attr);
	KUNIT_EXPECT_EQ(test, b.cpu, -1);
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_guest, 0);
	tally_builder_init(&b, TALLY_HARDWARE(PERF_COUNT_HW_CPU_CYCLES));
	expect_passes(test, &b, &attr);
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_guest, 1);
	tally_builder_exclude(&b, 0);
	expect_passes(test, &b, &attr);
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_guest, 0);
}

/* perf accepts and ignores these. */
static void builder_ignores(struct kunit *test)
{
	static const struct perf_event_attr attrs[] = {
		{ .branch_sample_type = PERF_SAMPLE_BRANCH_ANY },
		{ .sig_data = 1 },
		{ .bp_type = HW_BREAKPOINT_W },
		{ .config = PERF_COUNT_SW_PAGE_FAULTS, .exclude_hv = 1, .exclude_idle = 1 },
	};
	struct perf_event_attr attr;
	struct tally_builder b;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		attr = attrs[i];
		attr.type = PERF_TYPE_SOFTWARE;
		tally_builder_init_attr(&b, &attr);
		expect_passes(test, &b, &attr);
	}
}

/* perf accepts these, and counts nothing, or what is excluded. */
static void builder_refuses_levels(struct kunit *test)
{
	static const struct perf_event_attr attrs[] = {
		{ .exclude_user = 1, .exclude_kernel = 1, .exclude_hv = 1 },
		{ .exclude_host = 1, .exclude_guest = 1 },
		{ .config = PERF_COUNT_SW_CONTEXT_SWITCHES, .exclude_kernel = 1 },
		{ .config = PERF_COUNT_SW_CONTEXT_SWITCHES, .exclude_idle = 1 },
		{ .config = PERF_COUNT_SW_CPU_MIGRATIONS, .exclude_kernel = 1 },
		{ .config = PERF_COUNT_SW_CGROUP_SWITCHES, .exclude_kernel = 1 },
		{ .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_user = 1 },
	};
	struct perf_event_attr attr;
	struct tally_builder b;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		attr = attrs[i];
		attr.type = PERF_TYPE_SOFTWARE;
		tally_builder_init_attr(&b, &attr);
		expect_refused(test, &b, -EINVAL, "exclude");
	}
}

static void builder_passes(struct kunit *test)
{
	struct perf_event_attr attr;
	struct tally_builder b;

	tally_builder_init(&b, faults);
	tally_builder_on_task(&b, current);
	tally_builder_on_cpu(&b, 0);
	tally_builder_inherit(&b);
	tally_builder_inherit_thread(&b);
	tally_builder_pinned(&b);
	tally_builder_exclusive(&b);
	tally_builder_period(&b, 0);
	tally_builder_freq(&b, 0);
	tally_builder_precise(&b, TALLY_PRECISE_MAX);
	tally_builder_precise(&b, 0);
	tally_builder_require(&b);
	tally_builder_disabled(&b);
	tally_builder_exclude(&b, TALLY_EXCLUDE_USER | TALLY_EXCLUDE_IDLE |
				  TALLY_EXCLUDE_GUEST);
	expect_passes(test, &b, &attr);
	KUNIT_EXPECT_EQ(test, (int)attr.inherit, 1);
	KUNIT_EXPECT_EQ(test, (int)attr.inherit_thread, 1);
	KUNIT_EXPECT_EQ(test, (int)attr.pinned, 1);
	KUNIT_EXPECT_EQ(test, (int)attr.exclusive, 1);
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_user, 1);
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_kernel, 0);
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_hv, 0);
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_idle, 1);
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_host, 0);
	KUNIT_EXPECT_EQ(test, (int)attr.exclude_guest, 1);
}

/* D.1 #18 */
static void builder_config(struct kunit *test)
{
	struct perf_event_attr attr;
	struct tally_builder b;

	tally_builder_init(&b, TALLY_PMU(1, 9));
	tally_builder_config(&b, 1, U64_MAX, 0);
	expect_passes(test, &b, &attr);
	KUNIT_EXPECT_EQ(test, (u64)attr.config1, 1ULL);
	KUNIT_EXPECT_EQ(test, (u64)attr.config2, U64_MAX);
	tally_builder_config(&b, 1, 2, 3);
#ifdef PERF_ATTR_SIZE_VER8
	expect_passes(test, &b, &attr);
	KUNIT_EXPECT_EQ(test, tally_attr_config3(&attr), 3ULL);
#else
	expect_refused(test, &b, -EOPNOTSUPP, "config3");
#endif
}

static void builder_breakpoints(struct kunit *test)
{
	struct perf_event_attr attr;
	struct tally_builder b;
	unsigned int len;

	for (len = 1; len <= 8; len *= 2) {
		tally_builder_init(&b, TALLY_BREAKPOINT(4096 + len, len,
							HW_BREAKPOINT_W));
		expect_passes(test, &b, &attr);
		KUNIT_EXPECT_EQ(test, (u64)attr.bp_addr, 4096ULL + len);
		KUNIT_EXPECT_EQ(test, (u64)attr.bp_len, (u64)len);
	}
	/* D.2 #24 */
	tally_builder_init(&b, TALLY_BREAKPOINT(4097, 0, HW_BREAKPOINT_X));
	expect_passes(test, &b, &attr);
	KUNIT_EXPECT_EQ(test, (u64)attr.bp_len, (u64)sizeof(long));
	tally_builder_init(&b, TALLY_BREAKPOINT(4096, 4, HW_BREAKPOINT_R));
	if (IS_ENABLED(CONFIG_X86))
		expect_refused(test, &b, -EINVAL, "x86 cannot watch reads");
	else
		expect_passes(test, &b, &attr);
}

static void builder_first_error(struct kunit *test)
{
	struct tally_builder b;

	tally_builder_init(&b, faults);
	tally_builder_on_cpu(&b, -5);
	tally_builder_on_task(&b, NULL);
	tally_builder_name(&b, "events");
	expect_refused(test, &b, -EINVAL, "cpu -5");

	tally_builder_init(&b, faults);
	tally_builder_on_task(&b, NULL);
	tally_builder_on_cpu(&b, -5);
	tally_builder_on_cpu(&b, 0);
	expect_refused(test, &b, -ESRCH, "no task");

	/* tally_builder_init() clears the error. */
	tally_builder_init(&b, faults);
	KUNIT_EXPECT_STREQ(test, tally_builder_why(&b), "");
	KUNIT_EXPECT_EQ(test, b.err, 0);
}

static struct kunit_case builder_cases[] = {
	KUNIT_CASE_PARAM(builder_refuses, rules_gen_params),
	KUNIT_CASE_PARAM(builder_refuses_attr, attrs_gen_params),
	KUNIT_CASE(builder_refuses_group_format),
	KUNIT_CASE(builder_refuses_aux_bits),
	KUNIT_CASE(builder_default),
	KUNIT_CASE(builder_ignores),
	KUNIT_CASE(builder_refuses_levels),
	KUNIT_CASE(builder_passes),
	KUNIT_CASE(builder_config),
	KUNIT_CASE(builder_breakpoints),
	KUNIT_CASE(builder_first_error),
	{ }
};

static struct kunit_suite builder_suite = {
	.name = "tally_builder",
	.test_cases = builder_cases,
};

kunit_test_suite(builder_suite);

TALLY_IMPORT_NS();
MODULE_AUTHOR("The tally developers");
MODULE_DESCRIPTION("Unit tests of tally that need a kernel");
MODULE_LICENSE("GPL");
