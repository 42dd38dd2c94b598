// SPDX-License-Identifier: GPL-2.0
/*
 * devcount exec: events that exec() enables.
 * devcount overflows: a limited number of overflows, signals and periods.
 * devcount breakpoints: events whose address is changed.
 * devcount hardware: events of a PMU, up to and beyond its counters.
 * devcount offline: CPU 1 goes offline and comes back.
 */
#define _GNU_SOURCE
#include "devtest.h"

/* ---- exec() ---- */

static uint64_t enabled_of(int fd)
{
	uint64_t v[2] = { 0 };

	return read(fd, v, sizeof(v)) == sizeof(v) ? v[1] : ~0ULL;
}

static int inherits;

/* Opens an event. With @waits, exec() enables it. */
static int open_waiting(int kind, int pid, int leader, int waits)
{
	usual();
	attr.disabled = waits;
	attr.enable_on_exec = waits;
	attr.inherit = inherits;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	o.pid = pid;
	o.group_fd = leader;
	return open_as(kind, &o);
}

static void execs(int kind, const char *what)
{
	int go[2], leader, sibling, off;
	pid_t pid = fork_waiting(go);

	if (!pid) {
		touch(100);
		execl("/bin/busybox", "true", NULL);
		_exit(1);
	}
	leader = open_waiting(kind, pid, -1, 1);
	sibling = open_waiting(kind, pid, leader, 0);
	off = open_waiting(kind, pid, -1, 1);
	wait_ms(100);
	tell(leader >= 0 && sibling >= 0 && !enabled_of(leader) && !enabled_of(sibling),
	     "%s: nothing counts before exec()", what);
	/* The event is still disabled, so this changes nothing. */
	ioctl(off, PERF_EVENT_IOC_DISABLE, 0);
	if (kind == TALLY) {
		int counts = open_waiting(TALLY, pid, -1, 0);

		tell(open_waiting(TALLY, pid, counts, 1) < 0 && errno == EOPNOTSUPP &&
		     why.field == TALLY_FIELD_ATTR_BIT(12),
		     "a sibling that waits alone: %s", why.text);
		close(counts);
	}
	let_go_on(go);
	waitpid(pid, NULL, 0);
	/* 100 faults came before exec(). The kernel decides how many follow it. */
	tell(value_of(leader) > 0 && value_of(leader) < 100 &&
	     value_of(leader) == value_of(sibling),
	     "%s: both count after it: %llu, %llu", what,
	     (unsigned long long)value_of(leader), (unsigned long long)value_of(sibling));
	tell(value_of(off) == value_of(leader), "%s: as does what was disabled before: %llu",
	     what, (unsigned long long)value_of(off));
	close(leader);
	close(sibling);
	close(off);
}

static void both_exec(void)
{
	execs(PERF, "perf");
	execs(TALLY, "tally");
	inherits = 1;
	execs(PERF, "perf, inherited");
	execs(TALLY, "tally, inherited");
}

/* ---- overflows ---- */

static int last_band;
static volatile sig_atomic_t bands;

static void note_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	last_band = info->si_code;
	bands++;
}

/* Each overflow sends a signal: POLL_IN, or POLL_HUP if it is the last one. */
static void signals_of(int kind)
{
	struct sigaction action = { .sa_sigaction = note_signal, .sa_flags = SA_SIGINFO };
	const char *whose = maker(kind);
	int fd, before;

	sigaction(SIGUSR1, &action, NULL);
	usual();
	attr.disabled = 1;
	attr.sample_period = 100;
	fd = open_as(kind, &o);
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETSIG, SIGUSR1);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
	bands = 0;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	touch(550);
	tell(eventually(bands >= 1) && bands <= 6 && last_band == POLL_IN,
	     "%s: %d signals of 5 overflows, %d", whose, (int)bands, last_band);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	before = bands;
	ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
	touch(550);
	eventually(bands > before);
	wait_ms(10);
	tell(bands == before + 1 && last_band == POLL_HUP, "%s: one, and that is all: %d, %d",
	     whose, (int)bands - before, last_band);
	ioctl(fd, PERF_EVENT_IOC_REFRESH, 0);
	touch(550);
	tell(eventually(bands > before + 1) && last_band == POLL_IN,
	     "%s: as many as there are: %d, %d", whose, (int)bands - before, last_band);
	close(fd);
}

static long overflows_of(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/tally/%s/overflows", name);
	return number_in(path, -1);
}

static void periods(void)
{
	uint64_t period = 100;
	long before;
	int fd;

	usual();
	strcpy(o.name, "often");
	attr.sample_period = 10;
	fd = open_it();
	touch(500);
	before = overflows_of("often");
	tell(before >= 50 && before < 70, "each 10: %ld", before);
	expect(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), 0, "each 100 from now on");
	before = overflows_of("often");
	touch(500);
	tell(overflows_of("often") - before >= 4 && overflows_of("often") - before <= 7,
	     "each 100: %ld", overflows_of("often") - before);
	period = 1ULL << 63;
	expect(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), EINVAL, "a negative one");
	close(fd);
}

/*
 * The last overflow of a refresh disables the event from a task, some time later. This
 * waits until it is off.
 */
static uint64_t value_once_off(int fd)
{
	uint64_t value;

	eventually((value = value_of(fd), touch(1), value_of(fd) == value));
	return value;
}

static void overflows(void)
{
	int leader, fd, i, again = 0;
	uint64_t value;

	for (i = 0; i < 20; i++) {
		usual();
		attr.disabled = 1;
		attr.sample_period = 10;
		fd = open_it();
		expect(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3), 0, "three overflows");
		touch(500);
		value = value_once_off(fd);
		touch(500);
		tell(value >= 30 && value_of(fd) == value, "and off: %llu",
		     (unsigned long long)value);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		touch(500);
		tell(value_of(fd) >= value + 500, "and on, without a limit");
		close(fd);
	}
	/* At once: tally's thread has not disabled the event yet. */
	for (i = 0; i < 300; i++) {
		usual();
		attr.disabled = 1;
		attr.sample_period = 10;
		fd = open_it();
		ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
		touch(10);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		value = value_of(fd);
		touch(100);
		again += value_of(fd) >= value + 100;
		close(fd);
	}
	tell(again == i, "enabled after its last overflow: %d of %d times", again, i);
	usual();
	attr.disabled = 1;
	leader = open_it();
	attr.sample_period = 10;
	o.group_fd = leader;
	fd = open_it();
	expect(ioctl(fd, PERF_EVENT_IOC_REFRESH, 2), 0, "two, of a sibling");
	touch(100);
	tell(!value_of(fd), "whose leader is disabled");
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	touch(500);
	value = value_once_off(fd);
	touch(500);
	tell(value >= 20 && value_of(fd) == value, "and is enabled: %llu",
	     (unsigned long long)value);
	close(fd);
	close(leader);
	usual();
	attr.inherit = 1;
	attr.sample_period = 10;
	fd = open_it();
	expect(ioctl(fd, PERF_EVENT_IOC_REFRESH, 2), EINVAL, "of an inherited event");
	close(fd);
	signals_of(PERF);
	signals_of(TALLY);
	periods();
}

/* ---- breakpoints ---- */

static volatile uint64_t here, there;

static void watch(volatile uint64_t *address)
{
	usual();
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.config = 0;
	attr.bp_type = 2; /* HW_BREAKPOINT_W */
	attr.bp_addr = (unsigned long)address;
	attr.bp_len = 4;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
}

/* Moves a breakpoint. */
static void moves(int kind)
{
	const char *whose = maker(kind);
	int fd, i;

	watch(&here);
	fd = open_as(kind, &o);
	tell(fd >= 0, "%s: a breakpoint", whose);
	for (i = 0; i < 10; i++)
		here++;
	tell(value_of(fd) == 10, "%s: ten writes: %llu", whose, (unsigned long long)value_of(fd));
	attr.bp_addr = (unsigned long)&there;
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), 0, "elsewhere");
	here++;
	for (i = 0; i < 5; i++)
		there++;
	tell(value_of(fd) == 15, "%s: five more: %llu", whose, (unsigned long long)value_of(fd));
	attr.disabled = 1;
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), 0, "off");
	there++;
	tell(value_of(fd) == 15, "%s: none: %llu", whose, (unsigned long long)value_of(fd));
	attr.disabled = 0;
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), 0, "on");
	there++;
	tell(value_of(fd) == 16, "%s: one: %llu", whose, (unsigned long long)value_of(fd));
	attr.exclude_user = 1;
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), EINVAL, "something else");
	attr.exclude_user = 0;
	attr.bp_len = 0x100000004ULL;
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), EINVAL, "4 GiB of it");
	attr.bp_len = 4;
	attr.bp_addr = ~0ULL << 12;
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), EINVAL, "in the kernel");
	close(fd);
}

static void breakpoints(void)
{
	int perf, fd;

	watch(&here);
	perf = open_as(PERF, &o);
	if (perf < 0) {
		expect(open_it(), errno, "there are none, as perf says");
		return;
	}
	close(perf);
	moves(PERF);
	moves(TALLY);

	/*
	 * perf checks the rights on an address when it moves an event. With the CPU
	 * offline there is no event of perf, so the move is refused.
	 */
	watch(&here);
	attr.exclude_kernel = 0;
	o.pid = -1;
	o.cpu = 1;
	fd = open_it();
	tell(fd >= 0, "on CPU 1: %s", why.text);
	set_online(1, 0);
	attr.bp_addr = ~0ULL << 12;
	expect(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr), ENODEV, "which is offline");
	set_online(1, 1);
	close(fd);
}

/* ---- a PMU ---- */

/*
 * A sibling counts this event. QEMU's PMU of arm64 has nothing but cycles: their raw number. Branches
 * have no counter of their own on x86.
 */
#if defined(__x86_64__) || defined(__i386__)
#define SIBLING_TYPE	PERF_TYPE_HARDWARE
#define SIBLING_CONFIG	PERF_COUNT_HW_BRANCH_INSTRUCTIONS
#else
#define SIBLING_TYPE	PERF_TYPE_RAW
#define SIBLING_CONFIG	0x11
#endif

static int open_cycles(int leader, unsigned int flags, int pinned)
{
	usual();
	attr.type = leader < 0 ? PERF_TYPE_HARDWARE : SIBLING_TYPE;
	attr.config = leader < 0 ? PERF_COUNT_HW_CPU_CYCLES : SIBLING_CONFIG;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.pinned = pinned;
	o.group_fd = leader;
	o.flags = flags;
	return open_it();
}

static void hardware(void)
{
	int fd, perf, sibling, fds[32], i, full = 0;
	uint64_t v[5] = { 0 }, w[5] = { 0 };

	fd = open_cycles(-1, 0, 0);
	if (fd < 0) {
		expect(fd, ENOENT, "there is no PMU");
		return;
	}
	expect(open_cycles(fd, TALLY_OPEN_MEMBER, 0), 0, "cycles, twice");
	perf = open_event(PERF, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	sibling = open_event(PERF, &attr, 0, -1, perf, PERF_FLAG_FD_CLOEXEC);
	tell(perf >= 0 && sibling >= 0, "and perf's");
	ioctl(fd, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	ioctl(perf, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	for (i = 0; i < 30; i++)
		touch(1000);
	full = read(fd, v, sizeof(v)) + read(perf, w, sizeof(w));
	tell(full == sizeof(v) + sizeof(w),
	     "%llu and %llu values", (unsigned long long)v[0], (unsigned long long)w[0]);
	/* Each event also counts a part of the other one's system calls. */
	tell(v[4] > 1000000 && v[4] < w[4] + w[4] / 50 && w[4] < v[4] + v[4] / 50,
	     "cycles agree within 2 in 100: %llu, %llu", (unsigned long long)v[4],
	     (unsigned long long)w[4]);
	tell(v[2] > 0 && v[2] <= v[1], "for %llu of %llu ns", (unsigned long long)v[2],
	     (unsigned long long)v[1]);
	close(sibling);
	close(perf);
	close(fd);

	/* Nothing else uses the PMU: required events fit until all counters are taken. */
	for (i = 0; i < 32; i++) {
		fds[i] = open_cycles(-1, TALLY_OPEN_REQUIRE, 1);
		if (fds[i] < 0)
			break;
	}
	full = i;
	tell(full > 1 && full < 32 && errno == EBUSY && why.error == EBUSY &&
	     why.stage == TALLY_STAGE_PERF, "%d fit: %s: %s", full,
	     strerrorname_np(errno), why.text);
	fd = open_cycles(-1, 0, 0);
	tell(fd >= 0, "another one waits: %s", why.text);
	close(fd);
	fd = open_cycles(-1, 0, 1);
	tell(fd >= 0 && read(fd, v, 8) == 0 && read(fd, v, sizeof(v)) == 0,
	     "one that is pinned is in error, and has an end: %s", why.text);
	close(fd);
	/* As in perf, an event that waits is left out, and the one that was pinned last. */
	fd = open_cycles(fds[0], TALLY_OPEN_MEMBER | TALLY_OPEN_REQUIRE, 0);
	expect(fd, 0, "a member of the first one goes with that");
	i = read(fds[0], v, sizeof(v));
	tell(i == 5 * 8 && v[0] == 2, "which has it: %llu", (unsigned long long)v[0]);
	tell(read(fds[full - 1], v, sizeof(v)) == 0, "the last one is in error");
	close(fds[0]);
	fds[0] = fds[--full];
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	tell(read(fds[0], v, sizeof(v)) > 0, "and counts when it is enabled again");
	close(fds[--full]);
	fd = open_cycles(-1, TALLY_OPEN_REQUIRE, 1);
	tell(fd >= 0, "one for one: %s", why.text);
	close(fd);
	while (full--)
		close(fds[full]);
}

/* ---- a CPU goes ---- */

/* The count of CPU 1, with its state in *@state. */
static uint64_t on_cpu_1(int fd, unsigned int *state)
{
	struct tally_value value = { 0 };

	if (read_first(fd, 1, &value))
		return ~0ULL;
	*state = value.state;
	return value.value;
}

/* The event counts on CPU 1 again some time after the CPU came online. */
static int comes_back(int fd)
{
	unsigned int state;

	return eventually(on_cpu_1(fd, &state) != ~0ULL && state == TALLY_IS_ACTIVE);
}

static void offline(void)
{
	struct perf_event_mmap_page *page;
	struct pollfd p = { .events = POLLIN };
	uint64_t before, all;
	unsigned int state;
	int fd, one, born, reader;

	usual();
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	o.publish_ns = 1000000;
	strcpy(o.name, "all");
	fd = open_it();
	page = map(fd, PROT_READ);
	reader = attach_to("all");
	usual();
	o.pid = -1;
	o.cpu = 1;
	one = open_it();
	tell(fd >= 0 && page != MAP_FAILED && one >= 0 && reader >= 0, "all CPUs, and one");
	run_on(1);
	touch(300);
	run_on(0);
	before = on_cpu_1(fd, &state);
	tell(before >= 300 && state == TALLY_IS_ACTIVE, "CPU 1 counts: %llu",
	     (unsigned long long)before);
	set_online(1, 0);
	tell(on_cpu_1(fd, &state) >= before && state == TALLY_IS_OFFLINE,
	     "it goes, and its count stays: %llu, state %u",
	     (unsigned long long)on_cpu_1(fd, &state), state);
	before = on_cpu_1(fd, &state);
	tell(value_of(one) >= 300 && value_of(one) == on_cpu_1(one, &state) &&
	     state == TALLY_IS_OFFLINE, "so does that of an event on it: %llu, state %u",
	     (unsigned long long)value_of(one), state);
	p.fd = one;
	tell(!poll(&p, 1, 0), "which has not ended");
	all = value_of(fd);
	touch(100);
	tell(value_of(fd) >= all + 100, "the others go on: %llu",
	     (unsigned long long)value_of(fd));
	tell(while_busy(page->offset >= (long long)all + 100), "and are published: %lld",
	     page->offset);
	usual();
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	born = open_it();
	tell(born >= 0, "made meanwhile: %s", why.text);
	usual();
	o.pid = -1;
	o.cpu = 1;
	refused(ENODEV, TALLY_FIELD_CPU, "on that CPU alone");
	tell(why.cpu == 1, "it is said which: %d", why.cpu);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	tell(!on_cpu_1(fd, &state), "reset meanwhile: %llu",
	     (unsigned long long)on_cpu_1(fd, &state));
	tell(value_of(reader) >= 400, "a reader is not: %llu",
	     (unsigned long long)value_of(reader));
	set_online(1, 1);
	tell(comes_back(fd) && comes_back(one) && comes_back(born), "it comes");
	run_on(1);
	touch(200);
	run_on(0);
	tell(on_cpu_1(fd, &state) >= 200 && on_cpu_1(fd, &state) < 200 + before &&
	     state == TALLY_IS_ACTIVE, "and counts: %llu, state %u",
	     (unsigned long long)on_cpu_1(fd, &state), state);
	tell(value_of(one) >= 500, "on it alone, too: %llu", (unsigned long long)value_of(one));
	tell(on_cpu_1(born, &state) >= 200, "and for who never saw it: %llu",
	     (unsigned long long)on_cpu_1(born, &state));
	before = value_of(fd);
	tell(while_busy(page->offset >= (long long)before), "and is published: %lld of %llu",
	     page->offset, (unsigned long long)before);
	munmap(page, page_size);
	close(born);
	close(one);
	close(reader);
	close(fd);
}

static const struct devtest tests[] = {
	{ "exec", .run = both_exec },
	{ "overflows", .run = overflows },
	{ "breakpoints", .run = breakpoints },
	{ "hardware", .run = hardware },
	{ "offline", .run = offline },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
