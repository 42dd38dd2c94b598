// SPDX-License-Identifier: GPL-2.0
/*
 * TALLY_IOC_INFO returns what the kernel can do. Each bit is tried here, and is 1 if it works.
 *
 * devinfo features: struct tally_info's features
 * devinfo masks: its masks of bits, and max_stack
 */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include "devtest.h"

static struct tally_info info = { .size = sizeof(info) };

static void agree(int works, int bit, const char *what)
{
	tell(!works == !bit, "%s: %s, %s", what, works ? "works" : strerrorname_np(errno),
	     bit ? "a bit" : "no bit");
}

/* ---- features ---- */

static int opens(void)
{
	int fd = open_it();

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int all_cpus(void)
{
	int fd = open_all(PERF_COUNT_SW_PAGE_FAULTS, -1, 0);

	return fd >= 0 && !close(fd);
}

static int members(void)
{
	int ret;

	usual();
	o.group_fd = open_it();
	o.flags = TALLY_OPEN_MEMBER;
	ret = open_it();
	close(o.group_fd);
	return !ret;
}

static int publishes(void)
{
	int fd, good;
	void *page;

	usual();
	fd = open_it();
	page = map(fd, PROT_READ);
	good = page != MAP_FAILED && tally_page_of(page)->nr == 1;
	munmap(page, page_size);
	close(fd);
	return good;
}

/* Whether a file can be attached, and has TALLY_IOC_RING_INFO, which says who may map. */
static int attaches(int wants_rings)
{
	struct tally_ring_info rings = { .size = sizeof(rings) };
	struct tally_attach at = { .size = sizeof(at) };
	struct tally_next next = { .size = sizeof(next) };
	int fd, other, good;

	usual();
	fd = open_it();
	good = !ioctl(device, TALLY_IOC_NEXT, &next);
	at.id = next.id;
	other = ioctl(device, TALLY_IOC_ATTACH, &at);
	good &= other >= 0;
	if (wants_rings)
		good &= ioctl(other, TALLY_IOC_RING_INFO, &rings) && errno == EACCES;
	close(other);
	close(fd);
	return good;
}

static int attach(void)
{
	return attaches(0);
}

static int shared_rings(void)
{
	return attaches(1);
}

static int rings(void)
{
	int backward, fd, good = 1;
	void *ring;

	for (backward = 0; backward < 2; backward++) {
		usual();
		attr.sample_period = 1 << 30;
		attr.write_backward = backward;
		fd = open_it();
		ring = map_pages(fd, 3, backward ? PROT_READ : PROT_READ | PROT_WRITE, 0);
		good &= ring != MAP_FAILED;
		munmap(ring, 3 * page_size);
		close(fd);
	}
	return good;
}

static int filters(void)
{
	int fd, good;

	usual();
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = trace_id("sched/sched_switch");
	fd = open_it();
	good = fd >= 0 && !ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "prev_pid == 1");
	close(fd);
	return good;
}

static void breakpoint(void)
{
	usual();
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.config = 0;
	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (unsigned long)area;
	attr.bp_len = HW_BREAKPOINT_LEN_4;
}

static int breakpoints(void)
{
	breakpoint();
	return opens();
}

static int breakpoint_periods(void)
{
	breakpoint();
	attr.sample_period = 1000;
	return opens();
}

static int bpf(void)
{
	int fd, none;

	usual();
	fd = open_it();
	none = ioctl(fd, PERF_EVENT_IOC_SET_BPF, -1) && errno == EOPNOTSUPP;
	close(fd);
	return !none;
}

static int inherited_periods(void)
{
	uint64_t period = 1 << 29;
	int fd, good;

	usual();
	attr.inherit = 1;
	attr.sample_period = 1 << 30;
	fd = open_it();
	good = fd >= 0 && !ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
	close(fd);
	return good;
}

static int inherited_reads(void)
{
	usual();
	attr.inherit = 1;
	attr.sample_period = 1 << 30;
	attr.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID;
	return opens();
}

static void sigtrap(void)
{
	usual();
	attr.sample_period = 1 << 30;
	attr.sigtrap = 1;
	attr.remove_on_exec = 1;
}

static int inherited_sigtraps(void)
{
	sigtrap();
	attr.inherit = 1;
	attr.inherit_thread = 1;
	return opens();
}

static int required_sigtraps(void)
{
	sigtrap();
	attr.disabled = 1;
	o.flags = TALLY_OPEN_REQUIRE;
	return opens();
}

static int ftrace_function(void)
{
	usual();
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = 1;
	return opens();
}

static int probes_by_name(void)
{
	usual();
	attr.type = type_of("kprobe");
	attr.config = 0;
	attr.config1 = (unsigned long)"do_exit";
	if (!attr.type) {
		errno = ENOENT;
		return 0;
	}
	return opens();
}

static int rdpmc(void)
{
	struct perf_event_mmap_page *page;
	int fd, good;

	usual();
	fd = open_it();
	page = map(fd, PROT_READ);
	good = page->cap_user_rdpmc;
	munmap(page, page_size);
	close(fd);
	errno = EOPNOTSUPP;
	return good;
}

static int lines(void)
{
	if (parse_it("cs:k") || line_it(TALLY_LINE_CREATE, "cs name=tried"))
		return 0;
	return !line_it(TALLY_LINE_REMOVE, "tried");
}

static void features(void)
{
	static const struct {
		const char *name;
		int (*works)(void);
	} tries[] = {
		{ "all CPUs", all_cpus }, { "members", members }, { "the page", publishes },
		{ "ATTACH", attach }, { "rings", rings }, { "shared rings", shared_rings },
		{ "filters", filters }, { "breakpoints", breakpoints },
		{ "breakpoints with a period", breakpoint_periods }, { "BPF", bpf },
		{ "periods of inherited events", inherited_periods },
		{ "reads in samples of inherited events", inherited_reads },
		{ "sigtrap of inherited events", inherited_sigtraps },
		{ "sigtrap with REQUIRE", required_sigtraps },
		{ "ftrace:function", ftrace_function },
		{ "kprobes by name", probes_by_name }, { "rdpmc", rdpmc }, { "lines", lines },
	};
	unsigned int i, nr = sizeof(tries) / sizeof(*tries);

	for (i = 0; i < nr; i++)
		agree(tries[i].works(), info.features >> i & 1, tries[i].name);
	tell(!(info.features >> nr), "no other feature");
}

/* ---- masks ---- */

/* An event of which no sample is taken meanwhile. */
static void sampled(void)
{
	usual();
	attr.sample_period = 1ULL << 40;
}

static void attr_bit(unsigned int bit)
{
	uint64_t word = 1ULL << bit;

	usual();
	memcpy((char *)&attr + 40, &word, sizeof(word));
	if (attr.precise_ip || attr.sigtrap)
		attr.sample_period = 1ULL << 40;
	if (attr.sigtrap)
		attr.remove_on_exec = 1;
	if (attr.inherit_thread)
		attr.inherit = 1;
}

static void sample_bit(unsigned int bit)
{
	sampled();
	attr.sample_type = 1ULL << bit;
	if (attr.sample_type == PERF_SAMPLE_REGS_USER)
		attr.sample_regs_user = 1;
	if (attr.sample_type == PERF_SAMPLE_REGS_INTR)
		attr.sample_regs_intr = 1;
	if (attr.sample_type == PERF_SAMPLE_STACK_USER)
		attr.sample_stack_user = 8;
	if (attr.sample_type == PERF_SAMPLE_BRANCH_STACK)
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
}

static void format_bit(unsigned int bit)
{
	usual();
	attr.read_format = 1ULL << bit;
}

static void flag_bit(unsigned int bit)
{
	usual();
	o.perf_flags = 1ULL << bit;
	if (o.perf_flags != PERF_FLAG_PID_CGROUP)
		return;
	o.pid = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	o.cpu = 0;
}

static void clock_bit(unsigned int bit)
{
	sampled();
	attr.use_clockid = 1;
	attr.clockid = bit;
}

/* Tries each bit. What only the PMU refuses, such as branches, is in the mask. */
static void mask(uint64_t bits, void (*set)(unsigned int bit), const char *what)
{
	unsigned int bit;
	char name[64];
	int works;

	for (bit = 0; bit < 64; bit++) {
		set(bit);
		works = opens() || why.stage == TALLY_STAGE_PERF;
		snprintf(name, sizeof(name), "%s %u", what, bit);
		agree(works, bits >> bit & 1, name);
	}
}

static void masks(void)
{
	mask(info.attr_bits, attr_bit, "attr's bit");
	mask(info.sample_type, sample_bit, "sample_type");
	mask(info.read_format, format_bit, "read_format");
	mask(info.perf_flags, flag_bit, "perf_flags");
	mask(info.clocks, clock_bit, "clock");
	tell(info.max_stack && !info.reserved, "call chains of %u", info.max_stack);
	sampled();
	attr.sample_type = PERF_SAMPLE_CALLCHAIN;
	if (!(info.sample_type & PERF_SAMPLE_CALLCHAIN))
		return;
	attr.sample_max_stack = info.max_stack;
	made("so many entries");
	attr.sample_max_stack++;
	refused(EOVERFLOW, TALLY_FIELD_ATTR_AT(offsetof(struct perf_event_attr,
							sample_max_stack)), "one more");
}

static const struct devtest tests[] = {
	{ "features", .run = features },
	{ "masks", .run = masks },
	{ }
};

int main(int argc, char **argv)
{
	int fd = device_file();

	if (fd < 0 || ioctl(fd, TALLY_IOC_INFO, &info))
		err(2, "TALLY_IOC_INFO");
	close(fd);
	return run_test(tests, argc, argv);
}
