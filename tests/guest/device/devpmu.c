// SPDX-License-Identifier: GPL-2.0
/*
 * devpmu TEST: files of events of the PMUs of tally_pmu.ko.
 *
 * devpmu moves: an event of the PMU tally_uncore is enabled and disabled while its driver
 *	moves it from the last CPU to another one.
 * devpmu files: cycles and instructions of the caller, on a core PMU with 4 counters.
 * devpmu kinds: a task that goes from one kind of core to the other, with hybrid=1.
 * devpmu written: raw events of such a task, with hybrid=1 raw=1: all totals are known.
 * devpmu lists: a list of events reads none of them.
 * devpmu write N M: adds N to the total of CPU 0 and then M to that of CPU 1, from there.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "devtest.h"

#define PMU_FILE(name) "/sys/kernel/debug/tally_pmu/" name

static char read_char(const char *path)
{
	int fd = open(path, O_RDONLY);
	char c = 0;

	if (fd < 0 || read(fd, &c, 1) != 1)
		err(2, "%s", path);
	close(fd);
	return c;
}

/* ---- an event that migrates ---- */

static int last;

static void *take_offline(void *unused)
{
	set_online(last, 0);
	return unused;
}

static struct {
	int fd;
	unsigned long order;
	volatile pid_t tid;
	volatile int done;
} given;

static void *give_order(void *unused)
{
	given.tid = syscall(SYS_gettid);
	if (ioctl(given.fd, given.order, 0))
		err(2, "order");
	given.done = 1;
	return unused;
}

/* The state of a thread, as its file stat has it; 0 if there is none. */
static char state_of(pid_t tid)
{
	char path[64], line[256], *state;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	stat = fopen(path, "r");
	if (!stat)
		return 0;
	state = fgets(line, sizeof(line), stat) ? strrchr(line, ')') : NULL;
	fclose(stat);
	return state ? state[2] : 0;
}

/* Whether the order has been carried out, or waits for the driver. */
static int is_given(void)
{
	return given.done || (given.tid && state_of(given.tid) == 'D');
}

/* Gives an order while the event is on no CPU. */
static void order_while_moving(int fd, unsigned long order, const char *what)
{
	pthread_t hotplug, orderer;

	write_to(PMU_FILE("hold"), "1");
	pthread_create(&hotplug, NULL, take_offline, NULL);
	tell(eventually(read_char(PMU_FILE("migrating")) == 'Y'), "%s: it moves", what);
	given.fd = fd;
	given.order = order;
	given.tid = 0;
	given.done = 0;
	pthread_create(&orderer, NULL, give_order, NULL);
	tell(eventually(is_given()), "%s: the order is given meanwhile", what);
	write_to(PMU_FILE("hold"), "0");
	pthread_join(orderer, NULL);
	pthread_join(hotplug, NULL);
	tell(read_char(PMU_FILE("migrating")) == 'N', "%s: it has moved", what);
	set_online(last, 1);
}

static void advance(const char *by)
{
	write_to(PMU_FILE("advance"), by);
}

/*
 * Each domain has one event. That of the last CPU counts on another one while its CPU is away, and
 * stays there when it is back; the page of all CPUs goes on. No file is read meanwhile: a read would
 * publish.
 */
static void test_moved_page(void)
{
	const struct perf_event_mmap_page *page;
	int64_t each, want;
	int fd, i;

	usual();
	attr.type = type_of("tally_uncore");
	attr.config = 1;
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	fd = open_it();
	page = map(fd, PROT_READ);
	if (page == MAP_FAILED)
		err(2, "page: %s", why.text);
	advance("1");
	each = value_of(fd);
	want = each;
	write_to(PMU_FILE("stay"), "1");
	/* The first time, the repair after hotplug may publish it. */
	for (i = 0; i < 9; i++) {
		if (i == 6) {
			write_to(PMU_FILE("stay"), "0");
			set_online(last, 0);
		}
		if (i % 3 == 0)
			set_online(last, i > 0);
		advance("7");
		want += 7 * each;
		while_busy(read_page(page).value == want);
		tell(each && read_page(page).value == want, "M4 page: CPU %d is %s: %lld of %lld",
		     last, i < 3 ? "away" : i < 6 ? "back" : "back, with its event",
		     (long long)read_page(page).value, (long long)want);
	}
	tell(value_of(fd) == (uint64_t)want, "M4 page: nothing is lost: %llu",
	     (long long)value_of(fd));
	munmap((void *)page, page_size);
	close(fd);
}

static void test_moves(void)
{
	uint64_t before;
	int fd;

	last = nr_online() - 1;
	usual();
	attr.type = type_of("tally_uncore");
	attr.config = 1;
	attr.disabled = 1;
	o.pid = -1;
	o.cpu = last;
	fd = open_it();
	tell(fd >= 0, "an event on CPU %d: %s", last, outcome(fd));
	order_while_moving(fd, PERF_EVENT_IOC_ENABLE, "M4 enabled");
	advance("5");
	tell(value_of(fd) == 5, "M4 enabled: it counts: %llu", (long long)value_of(fd));
	order_while_moving(fd, PERF_EVENT_IOC_DISABLE, "M4 disabled");
	before = value_of(fd);
	advance("5");
	tell(before == 5 && value_of(fd) == 5, "M4 disabled: it stopped: %llu",
	     (long long)value_of(fd));
	close(fd);
	test_moved_page();
}

/* ---- a list of events ---- */

#define LISTS 1000

/* An event that overflows is found silent by a read. Each CPU reads its own one by an interrupt. */
static void test_lists(void)
{
	struct tally_next next;
	uint64_t before, after;
	int fd, i, seen = 0;

	usual();
	attr.type = type_of("tally_core") ?: PERF_TYPE_RAW;
	attr.sample_period = 1000;
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	fd = open_it();
	tell(fd >= 0 && value_of(fd) != ~0ULL, "an event with a period on all CPUs: %s",
	     fd < 0 ? why.text : "OK");
	before = number_in(PMU_FILE("reads"), 0);
	for (i = 0; i < LISTS; i++)
		for (next = (struct tally_next) { .size = sizeof(next) };
		     !ioctl(device, TALLY_IOC_NEXT, &next); )
			seen += next.type == attr.type && next.state == TALLY_IS_ACTIVE;
	after = number_in(PMU_FILE("reads"), 0);
	tell(seen == LISTS, "it is listed: %d times", seen);
	tell(before && before == after, "no list reads it: %llu reads before, %llu after",
	     (unsigned long long)before, (unsigned long long)after);
	close(fd);
}

/* ---- kinds of cores ---- */

struct counts {
	uint64_t value, enabled, running;
};

static struct counts counts_of(int fd)
{
	struct counts c = { };

	if (read(fd, &c, sizeof(c)) != sizeof(c))
		err(2, "read");
	return c;
}

/*
 * Whether an event did not run for longer than it was enabled. perf reads inherited events one
 * after the other, also when they are enabled, and the host may hold the emulator up in between.
 */
static int is_part(uint64_t running, uint64_t enabled)
{
	return running <= enabled + (attr.inherit ? enabled / 10 : 0);
}

/*
 * Checks that the whole task was counted since @then: a cycle is a nanosecond of its time. perf's
 * events are enabled one after the other, and the host may hold the emulator up in between; so
 * @then is the first read after that.
 */
static void check_whole(int fd, const struct counts *then, const char *what)
{
	struct counts c = counts_of(fd);
	uint64_t value = c.value - then->value, enabled = c.enabled - then->enabled,
		 running = c.running - then->running;

	tell(is_part(running, enabled) && running > enabled / 10 * 9,
	     "%s: it was on a PMU all the time: %llu of %llu ns", what,
	     (long long)running, (long long)enabled);
	tell(value > running / 10 * 9 && value < running / 10 * 11,
	     "%s: all is counted: %llu", what, (long long)value);
}

/* Whether the caller was counted all the time between two reads. */
static int is_whole(const struct counts *then, const struct counts *now)
{
	return now->value - then->value > (now->enabled - then->enabled) / 10 * 9 &&
	       now->enabled > then->enabled;
}

static void test_kind(uint32_t type, uint64_t config, int inherit, const char *what)
{
	struct counts first, then, now;
	struct tally_value v;
	uint64_t before;
	int fd, i, tries;

	usual();
	attr.type = type;
	attr.config = config;
	attr.inherit = inherit;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = open_it();
	tell(fd >= 0, "%s: %s", what, fd < 0 ? why.text : "OK");
	if (fd < 0)
		return;
	first = counts_of(fd);
	for (i = 0; i < 6; i++) {
		/* The host may hold the emulator up between two clocks, but not each time. */
		for (tries = 20; tries; tries--) {
			then = counts_of(fd);
			busy_on(i % 2);
			now = counts_of(fd);
			if (is_whole(&then, &now))
				break;
		}
		/* The caller's own clock is not that of perf. */
		tell(is_whole(&then, &now), "%s: CPU %d is counted: %llu of %llu ns", what,
		     i % 2, (long long)(now.value - then.value),
		     (long long)(now.enabled - then.enabled));
	}
	check_whole(fd, &first, what);
	tell(read_values(fd, &v, NULL) == 1 && v.state == TALLY_IS_ACTIVE, "%s: it is active",
	     what);
	expect(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0, "M2 disabled");
	before = value_of(fd);
	busy_on(0);
	busy_on(1);
	tell(value_of(fd) == before, "%s: neither counts when it is off", what);
	expect(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0, "M2 enabled");
	first = counts_of(fd);
	busy_on(0);
	busy_on(1);
	check_whole(fd, &first, what);
	expect(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0, "M2 reset");
	tell(value_of(fd) < now.value, "%s: reset", what);
	close(fd);
}

static void test_kinds(void)
{
	/* A PMU that the machine may have besides does not count these. */
	test_kind(PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 0, "M2 cycles");
	test_kind(PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 1, "M2 inherited");
}

/* ---- raw events of a task on both kinds: event 0x01 counts what the test writes ---- */

#define NR_WRITES 8

/* Adds to the total of a CPU, as a task that runs there: its overflow comes before the return. */
static void write_on(int cpu, uint64_t n)
{
	char path[64], text[24] = "";
	int fd;

	run_on(cpu);
	snprintf(path, sizeof(path), PMU_FILE("written%d"), cpu);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		err(2, "%s", path);
	close(fd);
	snprintf(text, sizeof(text), "%llu", strtoull(text, NULL, 10) + (unsigned long long)n);
	write_to(path, text);
}

static void test_write(char **arguments)
{
	write_on(0, atoi(arguments[0]));
	write_on(1, atoi(arguments[1]));
}

static void usual_written(void)
{
	usual();
	attr.type = PERF_TYPE_RAW;
	attr.config = 1;
	attr.disabled = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

/*
 * The event for CPU 0 is enabled first, and disabled last. So there, and while the task sleeps,
 * both times begin and end at one moment.
 */
static int open_written(const char *what)
{
	int fd;

	run_on(0);
	fd = open_it();

	tell(fd >= 0 && (attr.enable_on_exec || !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)),
	     "M2 %s: %s", what, fd < 0 ? why.text : "OK");
	return fd;
}

/*
 * Checks a count, and its times: the task was on a PMU whenever it ran. perf reads inherited
 * events one after the other.
 */
static void check_counts(int fd, uint64_t want, const char *what)
{
	struct counts c = counts_of(fd);

	tell(c.value == want, "M2 %s: value %llu of %llu", what, (long long)c.value,
	     (long long)want);
	tell(attr.inherit ? c.running <= c.enabled : c.running == c.enabled,
	     "M2 %s: it was on a PMU all the time: %llu of %llu ns", what, (long long)c.running,
	     (long long)c.enabled);
}

static void check_state(int fd, unsigned int state, const char *what)
{
	struct tally_value v = { };

	tell(read_values(fd, &v, NULL) == 1 && v.state == state, "M2 %s: state %u", what, v.state);
}

static void test_group(void)
{
	unsigned int i, flags = 0;
	struct tally_value v[3] = { };
	uint64_t words[3 + 2 * 3];
	int leader, sibling;

	usual_written();
	attr.read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	leader = open_it();
	usual_written();
	attr.config = 0x3c;
	o.group_fd = leader;
	sibling = open_it();
	usual_written();
	o.group_fd = leader;
	o.flags = TALLY_OPEN_MEMBER;
	expect(open_it(), 0, "M2 member");
	expect(ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP), 0, "M2 group enabled");
	for (i = 1; i <= NR_WRITES; i++) {
		write_on(i % 2, 10);
		tell(read(leader, words, sizeof(words)) == sizeof(words) && words[0] == 3 &&
		     words[3] == 10 * i && words[7] == 10 * i && words[5] >= v[1].value,
		     "M2 group: read(2) on CPU %d: %llu, %llu, %llu", i % 2, (long long)words[3],
		     (long long)words[5], (long long)words[7]);
		tell(words[2] == words[1], "M2 group: running %llu of %llu ns",
		     (long long)words[2], (long long)words[1]);
		tell(read_values(leader, v, &flags) == 3 && flags & TALLY_READ_RATIO &&
		     v[0].value == 10 * i && v[2].value == 10 * i && v[1].value >= words[5],
		     "M2 group: TALLY_IOC_READ on CPU %d: %llu, %llu, %llu, flags %#x", i % 2,
		     (long long)v[0].value, (long long)v[1].value, (long long)v[2].value, flags);
		tell(v[1].running_ns == v[1].enabled_ns && v[1].running_ns == v[0].running_ns,
		     "M2 group: the members' times: %llu of %llu ns", (long long)v[1].running_ns,
		     (long long)v[1].enabled_ns);
	}
	close(sibling);
	close(leader);
}

struct written_sample {
	struct perf_event_header header;
	uint32_t cpu, reserved;
	uint64_t period;
	struct counts read;
};

static const struct perf_event_mmap_page *ring;

static int nr_samples(void)
{
	return __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE) / sizeof(struct written_sample);
}

/* Checks that a write on each of the CPUs in turn makes one sample, with the whole count. */
static void check_samples(unsigned int period, uint64_t *total, const char *what)
{
	const struct written_sample *s;
	int i, nr;

	for (i = 1; i <= NR_WRITES; i++) {
		nr = nr_samples();
		write_on(i % 2, period);
		*total += period;
		s = (void *)((char *)ring + page_size + nr * sizeof(*s));
		tell(nr_samples() == nr + 1, "M2 %s: CPU %d overflows: %d, %d", what, i % 2, nr,
		     nr_samples());
		tell(s->header.type == PERF_RECORD_SAMPLE && s->header.size == sizeof(*s) &&
		     (int)s->cpu == i % 2 && s->period == period, "M2 %s: CPU %d, period %llu",
		     what, s->cpu, (long long)s->period);
		tell(s->read.value == *total && s->read.running == s->read.enabled,
		     "M2 %s: the sample has the whole count: %llu of %llu, %llu of %llu ns", what,
		     (long long)s->read.value, (long long)*total, (long long)s->read.running,
		     (long long)s->read.enabled);
	}
}

static void test_periods(void)
{
	uint64_t period = 50, total = 0;
	int fd;

	usual_written();
	attr.sample_period = 100;
	attr.sample_type = PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
	fd = open_written("period");
	ring = map_pages(fd, 2, PROT_READ | PROT_WRITE, 0);
	if (ring == MAP_FAILED)
		err(2, "ring");
	check_samples(100, &total, "period 100");
	expect(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), 0, "M2 a new period");
	check_samples(50, &total, "period 50");
	expect(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0, "M2 period disabled");
	write_on(0, 200);
	write_on(1, 200);
	tell(nr_samples() == 2 * NR_WRITES, "M2 disabled: no kind overflows: %d", nr_samples());
	check_counts(fd, total, "period");
	munmap((void *)ring, 2 * page_size);
	close(fd);
}

struct group_sample {
	struct perf_event_header header;
	uint64_t nr, values[2];
};

/* A sibling that has no counter on one kind of core keeps what it has counted on the other. */
static void test_crowded(void)
{
	const struct group_sample *s;
	int leader, sibling, i, others[3];

	usual_written();
	attr.pinned = 1;
	attr.sample_period = 10;
	attr.sample_type = PERF_SAMPLE_READ;
	attr.read_format = PERF_FORMAT_GROUP;
	leader = open_written("crowded leader");
	usual_written();
	o.group_fd = leader;
	sibling = open_written("crowded sibling");
	ring = map_pages(leader, 2, PROT_READ | PROT_WRITE, 0);
	if (ring == MAP_FAILED)
		err(2, "ring");
	write_on(0, 10);
	write_on(1, 10);
	/* perf puts pinned events of the CPU on the PMU before those of tasks. */
	for (i = 0; i < 3; i++) {
		usual_written();
		attr.type = PERF_TYPE_RAW;
		attr.pinned = 1;
		o.pid = -1;
		o.cpu = 0;
		others[i] = open_written("crowd");
	}
	write_on(1, 10);
	write_on(0, 10);
	s = (void *)((char *)ring + page_size);
	tell(__atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE) == 4 * sizeof(*s),
	     "M2 crowded: 4 samples: %llu", (long long)ring->data_head);
	for (i = 0; i < 4; i++)
		tell(s[i].nr == 2 && s[i].values[0] == 10ULL * (i + 1) &&
		     s[i].values[1] == (i < 3 ? 10ULL * (i + 1) : 30),
		     "M2 crowded: sample %d: %llu, %llu", i, (long long)s[i].values[0],
		     (long long)s[i].values[1]);
	munmap((void *)ring, 2 * page_size);
	for (i = 0; i < 3; i++)
		close(others[i]);
	close(sibling);
	close(leader);
}

static int orders[2];

/* A child that carries out its orders before it ends. */
static pid_t begin_child(void (*run)(void))
{
	pid_t pid = fork_waiting(orders);

	if (pid) {
		if (!eventually(state_of(pid) == 'S'))
			errx(2, "the child does not sleep");
		return pid;
	}
	run();
	_exit(0);
}

static void end_child(pid_t pid, const char *what)
{
	int status;

	let_go_on(orders);
	if (waitpid(pid, &status, 0) != pid)
		err(2, "child");
	tell(!status, "M2 %s: the child's status %#x", what, status);
}

static void run_writes(void)
{
	write_on(1, 7);
	write_on(0, 5);
	write_on(1, 7);
	write_on(0, 5);
}

static void run_exec(void)
{
	run_writes();
	execl("/proc/self/exe", "devpmu", "write", "100", "200", NULL);
	_exit(1);
}

/* Counts a child until it has ended. */
static void test_child(void (*run)(void), uint64_t want, const char *what)
{
	pid_t pid = begin_child(run);
	int fd;

	o.pid = pid;
	fd = open_written(what);
	end_child(pid, what);
	check_counts(fd, want, what);
	check_state(fd, TALLY_IS_EXITED, what);
	close(fd);
}

static void test_ends(void)
{
	usual_written();
	test_child(run_writes, 24, "a task that exits");
	test_child(run_exec, 324, "exec");
	attr.enable_on_exec = 1;
	test_child(run_exec, 300, "enable_on_exec");
	attr.enable_on_exec = 0;
	attr.remove_on_exec = 1;
	test_child(run_exec, 24, "remove_on_exec");
}

static void run_here(int cpu, uint64_t n)
{
	pid_t pid = fork();

	if (pid) {
		if (waitpid(pid, NULL, 0) != pid)
			err(2, "child");
		return;
	}
	write_on(cpu, n);
	write_on(!cpu, n);
	_exit(0);
}

static void test_children(void)
{
	int fd;

	usual_written();
	attr.inherit = 1;
	fd = open_written("inherit");
	write_on(0, 1);
	run_here(0, 10);
	run_here(1, 100);
	check_counts(fd, 221, "inherit on CPU 0");
	write_on(1, 1);
	run_here(0, 1000);
	run_here(1, 10000);
	check_counts(fd, 22222, "inherit on CPU 1");
	expect(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0, "M2 inherit disabled");
	run_here(0, 10);
	check_counts(fd, 22222, "inherit disabled");
	close(fd);
}

static void test_pinned(void)
{
	int fds[4], i;

	for (i = 0; i < 4; i++) {
		usual_written();
		attr.pinned = 1;
		attr.exclude_user = i & 1;
		attr.exclude_hv = i >> 1;
		fds[i] = open_written("pinned");
	}
	for (i = 0; i < NR_WRITES; i++)
		write_on(i % 2, 10);
	for (i = 0; i < 4; i++) {
		check_counts(fds[i], 80, "pinned");
		check_state(fds[i], TALLY_IS_ACTIVE, "pinned");
		close(fds[i]);
	}
}

/* ---- the page of counts ---- */

static int page_shows(const void *page, const struct counts *c)
{
	struct shown s = read_page(page);

	return s.value == (int64_t)c->value && s.enabled == c->enabled && s.running == c->running;
}

/* The task that writes on CPUs 0 and 1 in turn, and sleeps in between. */
static void run_turns(void)
{
	char c;
	int i;

	for (i = 1; i <= NR_WRITES; i++) {
		write_on(i % 2, 10);
		if (read(orders[0], &c, 1) != 1)
			_exit(1);
	}
}

static void test_page(void)
{
	const struct perf_event_mmap_page *page;
	struct counts c = { };
	struct shown s;
	pid_t pid;
	int fd, i;

	pid = begin_child(run_turns);
	usual_written();
	o.pid = pid;
	fd = open_written("page");
	page = map(fd, PROT_READ);
	if (page == MAP_FAILED)
		err(2, "page");
	for (i = 1; i <= NR_WRITES; i++) {
		if (write(orders[1], "", 1) != 1)
			err(2, "order");
		/* No read(2) before: perf would bring the times of both its events up to date. */
		while_busy(read_page(page).value == 10 * i && state_of(pid) == 'S');
		s = read_page(page);
		tell(s.value == 10 * i && s.running == s.enabled,
		     "M2 page: it shows the count of CPU %d: %lld, %llu of %llu ns", i % 2,
		     (long long)s.value, (long long)s.running, (long long)s.enabled);
		c = counts_of(fd);
		tell(while_busy(page_shows(page, &c)) && c.running == c.enabled,
		     "M2 page: read(2) agrees: %llu, %llu of %llu ns", (long long)c.value,
		     (long long)c.running, (long long)c.enabled);
	}
	end_child(pid, "page");
	c = counts_of(fd);
	while_busy(page_shows(page, &c));
	s = read_page(page);
	tell(page_shows(page, &c) && c.value == 10 * NR_WRITES, "M2 page: it has the last count: %llu",
	     (long long)s.value);
	munmap((void *)page, page_size);
	close(fd);
}

/* The page follows a task that does not sleep. */
static void test_own_page(void)
{
	const struct perf_event_mmap_page *page;
	struct shown s;
	int fd, i;

	usual_written();
	fd = open_written("own page");
	page = map(fd, PROT_READ);
	if (page == MAP_FAILED)
		err(2, "page");
	for (i = 1; i <= NR_WRITES; i++) {
		write_on(i % 2, 10);
		while (read_page(page).value != 10 * i && clock() < 60 * CLOCKS_PER_SEC)
			;
		s = read_page(page);
		tell(s.value == 10 * i && s.running == s.enabled,
		     "M2 own page: CPU %d: %lld, %llu of %llu ns", i % 2, (long long)s.value,
		     (long long)s.running, (long long)s.enabled);
	}
	expect(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0, "M2 own page reset");
	tell(!read_page(page).value, "M2 own page: reset: %lld", (long long)read_page(page).value);
	write_on(0, 3);
	write_on(1, 3);
	expect(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0, "M2 own page disabled");
	tell(read_page(page).value == 6, "M2 own page: disabled: %lld",
	     (long long)read_page(page).value);
	munmap((void *)page, page_size);
	close(fd);
}

static void test_written(void)
{
	test_group();
	test_periods();
	test_crowded();
	test_ends();
	test_children();
	test_pinned();
	test_page();
	test_own_page();
}

/* ---- cycles and instructions of the caller, more of them than there are counters ---- */

#define FILES 6

static int open_turn(int i)
{
	usual();
	attr.type = i < 2 ? PERF_TYPE_HARDWARE : PERF_TYPE_RAW;
	attr.config = i == 1 ? PERF_COUNT_HW_INSTRUCTIONS :
		      i ? 0x3c : PERF_COUNT_HW_CPU_CYCLES;
	attr.exclude_user = i == 2;
	attr.exclude_kernel = i == 3;
	attr.exclude_hv = i == 4;
	attr.exclude_idle = i == 5;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return open_it();
}

static int all_ran(const int *fds)
{
	int i;

	for (i = 0; i < FILES; i++)
		if (counts_of(fds[i]).running < 100000000)
			return 0;
	return 1;
}

/* Whether the scaled count has the rate that is known. */
static int is_scaled(const struct counts *c, int i)
{
	uint64_t scaled = (double)c->value * c->enabled / c->running;
	uint64_t want = c->enabled / (i == 1 ? 2 : 1);

	return c->running < c->enabled && scaled > want / 20 * 19 && scaled < want / 20 * 21;
}

/* Counts until each file had its turn; returns whether all are scaled right. */
static int count_window(struct counts *counts)
{
	int fds[FILES], i, right = 1;

	for (i = 0; i < FILES; i++) {
		fds[i] = open_turn(i);
		if (fds[i] < 0)
			err(2, "file %d: %s", i, why.text);
	}
	tell(while_busy(all_ran(fds)), "6 files on 4 counters: each had its turn");
	for (i = 0; i < FILES; i++) {
		counts[i] = counts_of(fds[i]);
		right &= is_scaled(&counts[i], i);
		close(fds[i]);
	}
	return right;
}

/*
 * The host may hold the emulator up between perf's clock and the counter's, which no other
 * window shows: take one without.
 */
static void test_files(void)
{
	struct counts counts[FILES];
	int i, tries = 20;

	while (!count_window(counts) && --tries)
		;
	for (i = 0; i < FILES; i++)
		tell(is_scaled(&counts[i], i), "file %d is scaled: %llu in %llu of %llu ns", i,
		     (long long)counts[i].value, (long long)counts[i].running,
		     (long long)counts[i].enabled);
}

int main(int argc, char **argv)
{
	static const struct devtest tests[] = {
		{ "moves", .run = test_moves },
		{ "kinds", .run = test_kinds },
		{ "written", .run = test_written },
		{ "write", .arguments = 2, .with = test_write },
		{ "files", .run = test_files },
		{ "lists", .run = test_lists },
		{ }
	};

	return run_test(tests, argc, argv);
}
