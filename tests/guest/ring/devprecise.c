// SPDX-License-Identifier: GPL-2.0
/*
 * devprecise same: samples that a driver fills in, as those of precise events. The PMU
 * tally_precise of tally_pmu.ko makes them up: their values are in tests/modules/made_up.h.
 * Each of its interrupts overflows an event of perf and one of tally with the same attr, and
 * the records are compared, ids left out.
 */
#define _GNU_SOURCE
#include "devring.h"

#define INTERRUPT "/sys/kernel/debug/tally_pmu/interrupt"
#define INTERRUPTS 5

/* The PMU's config1: samples of user space. */
#define IN_USER 1

/* Older headers lack it. */
#define BRANCH_COUNTERS (1ULL << 19)

/* A kernel event has no AUX area. Both kinds of weight in one event are refused. */
#define FIELDS ((PERF_SAMPLE_MAX - 1) & ~(uint64_t)PERF_SAMPLE_AUX)
#define ALL (FIELDS & ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT)

/* An address of the made-up call chain in user space. */
#define CHAIN_USER_IP 0x403333

/* Makes interrupts on the caller's CPU, one after the other. */
static void interrupt_all(void)
{
	uint64_t before;
	int i;

	for (i = 0; i < INTERRUPTS; i++) {
		before = number_in(INTERRUPT, 0);
		write_to(INTERRUPT, "1");
		if (!eventually(number_in(INTERRUPT, 0) == before + 1))
			errx(2, "no interrupt");
	}
}

static void of_precise(uint64_t type)
{
	usual();
	attr.type = type_of("tally_precise");
	attr.sample_type = type;
	attr.sample_period = 1000;
	attr.precise_ip = 2;
	attr.disabled = 1;
	attr.sample_id_all = 1;
	attr.wakeup_events = 1;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	attr.sample_regs_user = SOME_REGS;
	attr.sample_regs_intr = SOME_REGS;
	attr.sample_stack_user = 64;
	o.pid = -1;
	o.cpu = 1;
}

static void compare_both(const char *what)
{
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	/* A driver that hands the time over gives both the same. */
	same_times = !(attr.config & PERF_SAMPLE_TIME);
	switch_both(1);
	interrupt_all();
	switch_both(0);
	compare(what, INTERRUPTS);
	neither();
}

/* Whether tally's last record has a word. */
static int has_word(uint64_t word)
{
	const struct perf_event_header *h = (void *)tally_ring.record;
	int i;

	for (i = 1; i < h->size / 8; i++)
		if (tally_ring.record[i] == word)
			return 1;
	return 0;
}

static void same_fields(void)
{
	uint64_t bit;
	char what[64];

	for (bit = 1; bit < PERF_SAMPLE_MAX; bit <<= 1) {
		if (!(bit & FIELDS))
			continue;
		of_precise(bit);
		snprintf(what, sizeof(what), "M5 sample_type %#llx", (unsigned long long)bit);
		compare_both(what);
		of_precise(bit);
		attr.config = ~0ULL;
		attr.config1 = IN_USER;
		snprintf(what, sizeof(what), "M5 sample_type %#llx, the driver hands nothing over",
			 (unsigned long long)bit);
		compare_both(what);
	}
	of_precise(FIELDS & ~(uint64_t)PERF_SAMPLE_WEIGHT);
	compare_both("M5 all fields, a weight in parts");
	of_precise(ALL);
	attr.config = ALL & ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
	compare_both("M5 all fields, the driver hands the call chain over");
	of_precise(ALL);
	o.pid = 0;
	o.cpu = -1;
	compare_both("M5 all fields, of a task");
}

static void same_precise(void)
{
	char what[64];
	int i;

	for (i = 0; i < 4; i++) {
		of_precise(ALL);
		attr.precise_ip = i;
		snprintf(what, sizeof(what), "M5 all fields, precise_ip %d", i);
		compare_both(what);
	}
	tell(has_word(CHAIN_USER_IP), "M5 the call chain is the driver's");
}

static void same_branches(void)
{
	static const struct {
		const char *what;
		uint64_t bits;
	} kinds[] = {
		{ "the index", PERF_SAMPLE_BRANCH_HW_INDEX },
		{ "counters", BRANCH_COUNTERS },
		{ "the index and counters", PERF_SAMPLE_BRANCH_HW_INDEX | BRANCH_COUNTERS },
		{ "a call stack", PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_USER },
	};
	char what[64];
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		of_precise(PERF_SAMPLE_BRANCH_STACK);
		attr.branch_sample_type |= kinds[i].bits;
		/* Linux before 6.8 has no counters of branches. */
		if (kinds[i].bits & BRANCH_COUNTERS && open_errno(PERF) == EINVAL) {
			tell(open_errno(TALLY) == EINVAL, "M5 %s: neither perf nor tally has them",
			     kinds[i].what);
			continue;
		}
		snprintf(what, sizeof(what), "M5 branches with %s", kinds[i].what);
		compare_both(what);
		of_precise(ALL);
		attr.branch_sample_type |= kinds[i].bits;
		snprintf(what, sizeof(what), "M5 all fields, branches with %s", kinds[i].what);
		compare_both(what);
	}
}

/* The driver's last branch leads to the bits that it has seen. */
static void same_branch_bits(void)
{
	uint64_t bits, bit;
	char what[64];

	for (bit = PERF_SAMPLE_BRANCH_ANY; bit <= PERF_SAMPLE_BRANCH_PRIV_SAVE; bit <<= 1) {
		bits = bit | PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL;
		of_precise(PERF_SAMPLE_BRANCH_STACK);
		attr.branch_sample_type = bits;
		snprintf(what, sizeof(what), "M5 branches of %#llx", (unsigned long long)bit);
		compare_both(what);
		tell(has_word(bits), "%s: the driver has seen the bit", what);
	}
}

static void same_chains(void)
{
	int most;

	of_precise(PERF_SAMPLE_CALLCHAIN);
	attr.exclude_callchain_kernel = 1;
	compare_both("M5 call chains without the kernel");
	of_precise(PERF_SAMPLE_CALLCHAIN);
	attr.exclude_callchain_user = 1;
	compare_both("M5 call chains without user space");
	for (most = 1; most < 6; most += 2) {
		of_precise(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK);
		attr.sample_max_stack = most;
		compare_both("M5 call chains and branches with a limit");
	}
}

/*
 * Samples of user space. If the event excludes the kernel, tally leaves the kernel's part out
 * of the driver's call chains, and perf does not: so no driver hands it over here.
 */
static void same_user(void)
{
	of_precise(ALL);
	attr.config1 = IN_USER;
	compare_both("M5 all fields, of user space");
	of_precise(ALL);
	attr.config1 = IN_USER;
	attr.exclude_kernel = 1;
	attr.exclude_callchain_kernel = 1;
	compare_both("M5 all fields, kernel excluded");
}

/* A driver knows the time of the default clock only. */
static void other_clock(void)
{
	uint64_t begin = now_ns();

	of_precise(PERF_SAMPLE_TIME);
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	switch_both(1);
	interrupt_all();
	switch_both(0);
	tell(next(&tally_ring) && tally_ring.record[1] >= begin && tally_ring.record[1] <= now_ns(),
	     "M5 a sample has the time of its event's clock, not the driver's");
	neither();
}

static void test_same(void)
{
	run_on(1);
	same_fields();
	same_precise();
	same_branches();
	same_branch_bits();
	same_chains();
	same_user();
	other_clock();
}

int main(int argc, char **argv)
{
	static const struct devtest tests[] = {
		{ "same", .run = test_same },
		{ }
	};

	return run_test(tests, argc, argv);
}
