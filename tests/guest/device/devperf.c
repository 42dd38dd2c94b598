// SPDX-License-Identifier: GPL-2.0
/*
 * Files of /dev/tally beside files of perf: the same calls on both kinds.
 *
 * devperf calls: opens, ioctls, mappings and rings. All have the same result, but for those
 *	in a table, which has the reasons.
 * devperf exits: the EXIT record of a task comes before EPOLLHUP.
 *
 * devopens.c has many more opens.
 */
#define _GNU_SOURCE
#include "devperf.h"

/* 0 or the errno of a call. */
static long error_of(long ret)
{
	return ret < 0 ? -errno : 0;
}

/* ---- calls: opens ---- */

/*
 * Opens with one attr. @leader, if it has a size, is opened first, on the caller, and is the
 * group_fd; else @group is.
 */
static const struct opening {
	const char *name;
	struct perf_event_attr attr, leader;
	pid_t pid;
	int cpu, group;
	unsigned long flags;
} openings[] = {
#define ON_SELF	.pid = 0, .cpu = -1, .group = -1
	/* perf ignores these members. */
	{ "branch_sample_type without branches", { FAULTS, .branch_sample_type = 9 }, ON_SELF },
	{ "any branch_sample_type", { FAULTS, .branch_sample_type = ~0ULL }, ON_SELF },
	{ "sig_data without sigtrap", { FAULTS, .sig_data = 1 }, ON_SELF },
	{ "bp_type of another event", { FAULTS, .bp_type = 3 }, ON_SELF },
	{ "precise_ip without a period", { FAULTS, .precise_ip = 2 }, ON_SELF },
	{ "precise_ip and a period", { FAULTS, .precise_ip = 2, .sample_period = 9 }, ON_SELF },
	{ "aux_watermark", { FAULTS, .aux_watermark = 4096 }, ON_SELF },
	{ "sigtrap without a period", { FAULTS, .sigtrap = 1, .remove_on_exec = 1 }, ON_SELF },
	{ "sample_stack_user alone", { FAULTS, .sample_stack_user = 3 }, ON_SELF },
	{ "sample_max_stack alone", { FAULTS, .sample_max_stack = 9999 }, ON_SELF },
	{ "clockid without use_clockid", { FAULTS, .clockid = 99 }, ON_SELF },
	{ "some registers alone", { FAULTS, .sample_regs_user = 1 }, ON_SELF },
	/* perf refuses these, also where they have no effect. */
	{ "all registers of user space alone", { FAULTS, .sample_regs_user = ~0ULL }, ON_SELF },
	{ "all registers alone", { FAULTS, .sample_regs_intr = ~0ULL }, ON_SELF },
	{ "all registers, and a period",
	  { FAULTS, .sample_regs_intr = ~0ULL, .sample_period = 9 }, ON_SELF },
	{ "inherited PERF_SAMPLE_READ on a cpu",
	  { FAULTS, .inherit = 1, .sample_type = PERF_SAMPLE_READ }, .pid = -1, .group = -1 },
	/* Which of two mistakes is reported. */
	{ "unknown flags and a cgroup", { FAULTS }, ON_SELF, .flags = PERF_FLAG_PID_CGROUP | 16 },
	{ "a cgroup on all cpus", { FAULTS }, ON_SELF, .flags = PERF_FLAG_PID_CGROUP },
	{ "cgroup -1", { FAULTS }, .pid = -1, .group = -1, .flags = PERF_FLAG_PID_CGROUP },
	{ "a cgroup that is no file", { FAULTS }, .pid = 9999, .group = -1,
	  .flags = PERF_FLAG_PID_CGROUP },
	{ "a cgroup that is another file", { FAULTS }, .pid = 0, .group = -1,
	  .flags = PERF_FLAG_PID_CGROUP },
	{ "a cgroup and a bad group", { FAULTS }, .pid = 0, .group = 9999,
	  .flags = PERF_FLAG_PID_CGROUP },
	{ "no such pid and cpu", { FAULTS }, .pid = NOBODYS_PID, .cpu = 9999, .group = -1 },
	{ "no such pid and group", { FAULTS }, .pid = NOBODYS_PID, .cpu = -1, .group = 9999 },
	{ "no such pid and reserved bits", { FAULTS, .__reserved_2 = 1 }, .pid = NOBODYS_PID,
	  .cpu = -1, .group = -1 },
	{ "a bad group and a period", { FAULTS, .sample_period = 1ULL << 63 }, .cpu = -1,
	  .group = 9999 },
	{ "a bad group and a frequency", { FAULTS, .freq = 1, .sample_freq = 1ULL << 40 }, .cpu = -1,
	  .group = 9999 },
	{ "a bad group and a clock", { FAULTS, .use_clockid = 1, .clockid = 99 }, .cpu = -1,
	  .group = 9999 },
	/* Groups. */
#define LEADER(...)	.leader = { FAULTS, __VA_ARGS__ }, ON_SELF
	{ "an exclusive sibling of an exclusive leader", { FAULTS, .exclusive = 1 },
	  LEADER(.exclusive = 1) },
	{ "a pinned sibling of an exclusive leader", { FAULTS, .pinned = 1 },
	  LEADER(.exclusive = 1) },
	{ "a sibling with another clock",
	  { FAULTS, .use_clockid = 1, .clockid = CLOCK_MONOTONIC }, LEADER() },
	{ "a sibling without its leader's clock", { FAULTS },
	  LEADER(.use_clockid = 1, .clockid = CLOCK_MONOTONIC) },
	{ "a sibling with its leader's clock",
	  { FAULTS, .use_clockid = 1, .clockid = CLOCK_MONOTONIC },
	  LEADER(.use_clockid = 1, .clockid = CLOCK_MONOTONIC) },
	{ "an inherited sibling without a PMU", { .type = 99, .size = 128, .inherit = 1 }, LEADER() },
	/* Events that count nothing. */
	{ "switches of user space", { SW(PERF_COUNT_SW_CONTEXT_SWITCHES), .exclude_kernel = 1 },
	  ON_SELF },
	{ "everything excluded",
	  { FAULTS, .exclude_user = 1, .exclude_kernel = 1, .exclude_hv = 1 }, ON_SELF },
	{ "host and guest excluded", { FAULTS, .exclude_host = 1, .exclude_guest = 1 }, ON_SELF },
	/* Breakpoints. */
#define MEM(bytes, access)	\
	{ .type = PERF_TYPE_BREAKPOINT, .size = sizeof(struct perf_event_attr), .disabled = 1, \
	  .exclude_kernel = 1, .bp_addr = 0x1000, .bp_len = (bytes), .bp_type = (access) }, ON_SELF
	{ "an instruction of 0 bytes", MEM(0, 4) },
	{ "an instruction of 4 bytes", MEM(4, 4) },
	{ "an instruction of 8 bytes", MEM(8, 4) },
	{ "a write to 3 bytes", MEM(3, 2) },
	{ "a write to 9 bytes", MEM(9, 2) },
	{ "a write to 16 bytes", MEM(16, 2) },
	{ "a read alone", MEM(4, 1) },
	{ "no access", MEM(4, 0) },
	{ "any access", MEM(4, 7) },
};

static long open_both_of(const struct opening *o, int kind)
{
	int leader = o->group, fd;
	long error;

	if (o->leader.size)
		leader = open_event(kind, &o->leader, 0, -1, -1, 0);
	fd = open_event(kind, &o->attr, o->pid, o->cpu, leader, o->flags);
	error = error_of(fd);
	if (fd >= 0)
		close(fd);
	if (o->leader.size)
		close(leader);
	return error;
}

/* ---- calls: counts ---- */

static long count_of(int kind, struct perf_event_attr *a)
{
	int fd = open_event(kind, a, 0, -1, -1, 0);
	long value;

	if (fd < 0)
		return -errno;
	switch_out();
	run_on(0);
	run_on(nr_online() - 1);
	touch(10);
	value = value_of(fd);
	close(fd);
	return value;
}

static long switches_of_users(int kind)
{
	return count_of(kind, &(struct perf_event_attr) {
		SW(PERF_COUNT_SW_CONTEXT_SWITCHES), .exclude_kernel = 1 });
}

static long migrations_of_users(int kind)
{
	return count_of(kind, &(struct perf_event_attr) {
		SW(PERF_COUNT_SW_CPU_MIGRATIONS), .exclude_kernel = 1 });
}

static long faults_of_nobody(int kind)
{
	return count_of(kind, &(struct perf_event_attr) {
		FAULTS, .exclude_user = 1, .exclude_kernel = 1, .exclude_hv = 1 });
}

/* perf's clocks ignore what is excluded. They may advance by ticks. */
static long clock_of_nobody(int kind)
{
	struct perf_event_attr a = {
		SW(PERF_COUNT_SW_TASK_CLOCK), .exclude_user = 1, .exclude_kernel = 1,
		.exclude_hv = 1 };
	int fd = open_event(kind, &a, 0, -1, -1, 0);
	long counts = fd < 0 ? -errno : while_busy(value_of(fd));

	close(fd);
	return counts;
}

/* ---- calls: rings ---- */

static struct ring ring;

static void begin_ring(int kind, struct perf_event_attr *a, int pages)
{
	struct tally_open r = request(a, 0, -1, -1, 0);

	must_map(&ring, must_open(kind, &r), pages);
}

/*
 * Fills a ring of a page, whose reader writes @tail, with far more records than it has room
 * for, and then once more when the reader has added @more. Returns where the head stops: how
 * many records the kernel found room for is told by it.
 */
static long filled(int kind, int backward, uint64_t tail, uint64_t more)
{
	struct perf_event_attr a = {
		FAULTS, .sample_period = 1, .sample_type = PERF_SAMPLE_IP,
		.write_backward = backward, .disabled = 1,
	};
	long head;

	begin_ring(kind, &a, 1);
	ring.page->data_tail = tail;
	ioctl(ring.fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(600);
	head = ring.page->data_head & 0xffffff;
	ring.page->data_tail += more;
	touch(600);
	head = head << 24 | (ring.page->data_head & 0xffffff);
	unmap_ring(&ring);
	return head;
}

static const uint64_t tails[][2] = {
	{ 0, 2048 }, { 8, 0 }, { 4096, 100 }, { 3 * 4096 + 64, 1ULL << 40 }, { 1ULL << 63, 3 },
	{ ~0ULL, 1 }, { 12345, ~0ULL }, { -4096ULL, 4096 }, { 0x8000000012345678, 1ULL << 63 },
};

/* ---- calls: ioctls ---- */

static long told(int kind, struct perf_event_attr *a, unsigned long cmd, unsigned long argument)
{
	int fd = open_event(kind, a, 0, -1, -1, 0);
	long result = error_of(fd < 0 ? fd : ioctl(fd, cmd, argument));

	close(fd);
	return result;
}

/*
 * The number of samples, up to 20, that come after two REFRESH with these numbers. An event
 * without a limit has more.
 */
static long refreshed(int kind, int first, int second)
{
	struct perf_event_attr a = {
		FAULTS, .sample_period = 1, .sample_type = PERF_SAMPLE_IP, .disabled = 1,
	};
	long result;

	begin_ring(kind, &a, 8);
	result = error_of(ioctl(ring.fd, PERF_EVENT_IOC_REFRESH, first));
	if (!result)
		result = error_of(ioctl(ring.fd, PERF_EVENT_IOC_REFRESH, second));
	touch(40);
	if (!result)
		result = ring.page->data_head / 16;
	unmap_ring(&ring);
	return result > 20 ? 20 : result;
}

static long refresh_all(int kind)
{
	return refreshed(kind, -1, 0);
}

static long refresh_least(int kind)
{
	return refreshed(kind, 0x80000000, 0);
}

static long refresh_most(int kind)
{
	return refreshed(kind, 0x7fffffff, 0);
}

static long refresh_less(int kind)
{
	return refreshed(kind, 5, -2);
}

static long refresh_none(int kind)
{
	return refreshed(kind, 5, -5);
}

static long refresh_again(int kind)
{
	return refreshed(kind, 3, 4);
}

static long refresh_below(int kind)
{
	return refreshed(kind, -5, 3);
}

static long refresh_counting(int kind)
{
	return told(kind, &(struct perf_event_attr) { FAULTS }, PERF_EVENT_IOC_REFRESH, -1);
}

/* Without a direction of its own, the new period of a clock is in nanoseconds. */
static long period_of_clock(int kind)
{
	uint64_t period = 50000000;

	return told(kind, &(struct perf_event_attr) {
		SW(PERF_COUNT_SW_CPU_CLOCK), .freq = 1, .sample_freq = 1000 },
		PERF_EVENT_IOC_PERIOD, (unsigned long)&period);
}

static long period_of_frequency(int kind)
{
	uint64_t frequency = 50;

	return told(kind, &(struct perf_event_attr) { FAULTS, .freq = 1, .sample_freq = 1000 },
		    PERF_EVENT_IOC_PERIOD, (unsigned long)&frequency);
}

static long frequency_too_high(int kind)
{
	uint64_t frequency = 50000000;

	return told(kind, &(struct perf_event_attr) { FAULTS, .freq = 1, .sample_freq = 1000 },
		    PERF_EVENT_IOC_PERIOD, (unsigned long)&frequency);
}

static long filter_nowhere(int kind)
{
	return told(kind, &(struct perf_event_attr) { FAULTS }, PERF_EVENT_IOC_SET_FILTER, 8);
}

static long filter_of_faults(int kind)
{
	return told(kind, &(struct perf_event_attr) { FAULTS }, PERF_EVENT_IOC_SET_FILTER,
		    (unsigned long)"a == 1");
}

/* perf takes the -1 of a program of 32 bits for a file. */
static long output_to_none(int kind)
{
	if (sizeof(long) == 4)
		return 0;
	return told(kind, &(struct perf_event_attr) { FAULTS }, PERF_EVENT_IOC_SET_OUTPUT, -1);
}

/* Programs of 32 bits cannot tell this from -1. */
static long output_to_bits(int kind)
{
	if (sizeof(long) == 4)
		return 0;
	return told(kind, &(struct perf_event_attr) { FAULTS }, PERF_EVENT_IOC_SET_OUTPUT,
		    0xffffffff);
}

/* ---- calls: mappings ---- */

static struct perf_event_attr sampled = {
	FAULTS, .sample_period = 1, .sample_type = PERF_SAMPLE_IP,
};

/* Unmaps a part of a ring of 4 pages. Returns the result, and whether the ring is written to. */
static long cut(int kind, int from, int pages, int protect)
{
	long result;
	char *at;

	begin_ring(kind, &sampled, 4);
	at = ring.base + LENGTH(from);
	if (protect)
		result = mprotect(at, LENGTH(pages), PROT_READ);
	else
		result = munmap(at, LENGTH(pages));
	result = error_of(result);
	if (result)
		unmap_ring(&ring);
	return result;
}

static long cut_front(int kind)
{
	return cut(kind, 0, 1, 0);
}

static long cut_middle(int kind)
{
	return cut(kind, 1, 1, 0);
}

static long cut_end(int kind)
{
	return cut(kind, 4, 1, 0);
}

static long cut_all(int kind)
{
	return cut(kind, 0, 5, 0);
}

static long protect_a_page(int kind)
{
	return cut(kind, 2, 1, 1);
}

static const struct call {
	const char *name;
	long (*run)(int kind);
} calls[] = {
	{ "switches of user space are 0", switches_of_users },
	{ "migrations of user space are 0", migrations_of_users },
	{ "faults with everything excluded are 0", faults_of_nobody },
	{ "a clock with everything excluded", clock_of_nobody },
	{ "REFRESH -1", refresh_all },
	{ "REFRESH the least number", refresh_least },
	{ "REFRESH the greatest number", refresh_most },
	{ "REFRESH 5 and -2", refresh_less },
	{ "REFRESH 5 and -5", refresh_none },
	{ "REFRESH 3 and 4", refresh_again },
	{ "REFRESH -5 and 3", refresh_below },
	{ "REFRESH -1 of a counting event", refresh_counting },
	{ "PERIOD of a clock's frequency", period_of_clock },
	{ "PERIOD of a frequency", period_of_frequency },
	{ "PERIOD above the limit of frequencies", frequency_too_high },
	{ "SET_FILTER from nowhere", filter_nowhere },
	{ "SET_FILTER of page faults", filter_of_faults },
	{ "SET_OUTPUT -1", output_to_none },
	{ "SET_OUTPUT 0xffffffff", output_to_bits },
	{ "munmap() of the header page", cut_front },
	{ "munmap() of a page of the ring", cut_middle },
	{ "munmap() of the last page", cut_end },
	{ "munmap() of the whole ring", cut_all },
	{ "mprotect() of a page", protect_a_page },
};

/* ---- calls: the differences ---- */

/* Maps a page and a ring of one file, in either order. */
static long mapped_twice(int kind, int first, int second)
{
	int fd = open_event(kind, &sampled, 0, -1, -1, 0);
	void *one = map_pages(fd, first, PROT_READ, 0);
	void *two = map_pages(fd, second, PROT_READ, 0);
	long result = two == MAP_FAILED ? -errno : 0;

	munmap(one, LENGTH(first));
	if (!result)
		munmap(two, LENGTH(second));
	close(fd);
	return result;
}

static long page_and_ring(int kind)
{
	return mapped_twice(kind, 1, 5);
}

static long ring_and_page(int kind)
{
	return mapped_twice(kind, 5, 1);
}

static long refresh_trap(int kind)
{
	return told(kind, &(struct perf_event_attr) {
		FAULTS, .sample_period = 1 << 30, .sigtrap = 1, .remove_on_exec = 1, .disabled = 1 },
		PERF_EVENT_IOC_REFRESH, 1);
}

static long period_of_children(int kind)
{
	uint64_t period = 9;

	return told(kind, &(struct perf_event_attr) { FAULTS, .sample_period = 5, .inherit = 1 },
		    PERF_EVENT_IOC_PERIOD, (unsigned long)&period);
}

static long bpf_program(int kind)
{
	return told(kind, &(struct perf_event_attr) { FAULTS }, PERF_EVENT_IOC_SET_BPF, 9999);
}

static const struct {
	struct call call;
	int perf, tally;
	const char *why;
} excused[] = {
	{ { "a ring beside a page", page_and_ring }, EINVAL, 0,
	  "the page of counts is no part of tally's rings" },
	{ { "a page beside a ring", ring_and_page }, EINVAL, 0,
	  "the page of counts is no part of tally's rings" },
	{ { "REFRESH of sigtrap", refresh_trap }, 0, EINVAL, "perf itself sends the signal" },
	{ { "PERIOD of children", period_of_children }, 0, EOPNOTSUPP,
	  "modules cannot change the events of children" },
	{ { "SET_BPF of no program", bpf_program }, EBADF, EOPNOTSUPP,
	  "modules cannot attach programs" },
};

static void same_result(const char *name, long perf, long tally)
{
	tell(perf == tally, "%s: %s, %s", name, name_of(perf), name_of(tally));
}

static void run_calls(void)
{
	char name[80];
	unsigned int i;
	long perf, tally;
	int backward;

	for (i = 0; i < NR(openings); i++) {
		perf = open_both_of(&openings[i], PERF);
		same_result(openings[i].name, perf, open_both_of(&openings[i], TALLY));
	}
	for (i = 0; i < NR(calls); i++) {
		perf = calls[i].run(PERF);
		same_result(calls[i].name, perf, calls[i].run(TALLY));
	}
	for (i = 0; i < NR(excused); i++) {
		perf = excused[i].call.run(PERF);
		tally = excused[i].call.run(TALLY);
		tell(perf == -excused[i].perf && tally == -excused[i].tally, "%s: %s, %s: %s",
		     excused[i].call.name, name_of(perf), name_of(tally), excused[i].why);
	}
	for (i = 0; i < 2 * NR(tails); i++) {
		backward = i % 2;
		snprintf(name, sizeof(name), "%s ring, data_tail %#llx, and %#llx more",
			 backward ? "backward" : "forward", (unsigned long long)tails[i / 2][0],
			 (unsigned long long)tails[i / 2][1]);
		perf = filled(PERF, backward, tails[i / 2][0], tails[i / 2][1]);
		same_result(name, perf, filled(TALLY, backward, tails[i / 2][0], tails[i / 2][1]));
	}
}

/* ---- exits ---- */

static int has_record(unsigned int type, pid_t pid)
{
	uint64_t head = head_of(&ring);
	struct perf_event_header *h;
	int found = 0;

	while (ring.tail < head && (h = copy_record(&ring, ring.tail, head))) {
		found |= h->type == type && *(pid_t *)(h + 1) == pid;
		ring.tail += h->size;
	}
	return found;
}

/* A task whose memory takes long to free. */
static void exit_slowly(void)
{
	size_t size = 64 << 20;
	char *memory;

	run_on(0);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(memory, 1, size);
	_exit(0);
}

/*
 * Whether the ring has the EXIT record of a task when poll() first returns EPOLLHUP. The
 * event ends some time before the kernel has freed the task's memory.
 */
static int one_exit(int kind)
{
	struct perf_event_attr a = {
		SW(PERF_COUNT_SW_CPU_CLOCK), .sample_period = 2000000, .task = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
	};
	int go[2], found;
	pid_t pid = fork_waiting(go);
	struct tally_open r = request(&a, pid, -1, -1, 0);

	if (!pid)
		exit_slowly();
	run_on(nr_online() - 1);
	must_map(&ring, must_open(kind, &r), 256);
	let_go_on(go);
	while (!(polled_for(ring.fd, 0) & POLLHUP))
		;
	found = has_record(PERF_RECORD_EXIT, pid);
	unmap_ring(&ring);
	waitpid(pid, NULL, 0);
	return found;
}

static void exits(void)
{
	int kind, i, found;

	for (kind = PERF; kind <= TALLY; kind++) {
		for (i = found = 0; i < 5; i++)
			found += one_exit(kind);
		tell(found == 5, "%s: EXIT is there before EPOLLHUP: %d of 5", maker(kind), found);
	}
}

static const struct devtest tests[] = {
	{ "calls", .run = run_calls },
	{ "exits", .run = exits },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
