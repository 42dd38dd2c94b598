// SPDX-License-Identifier: GPL-2.0
/*
 * devpmu TEST: files of events of the PMUs of tally_pmu.ko.
 *
 * devpmu moves: an event of the PMU tally_uncore is enabled and disabled while its driver
 *	moves it from the last CPU to another one.
 * devpmu files: cycles and instructions of the caller, on a core PMU with 4 counters.
 * devpmu kinds: a task that goes from one kind of core to the other, with hybrid=1.
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

/* Whether the order has been carried out, or waits for the driver. */
static int is_given(void)
{
	char path[64], line[256], *state;
	FILE *stat;

	if (given.done)
		return 1;
	if (!given.tid)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", given.tid);
	stat = fopen(path, "r");
	if (!stat)
		return 0;
	state = fgets(line, sizeof(line), stat) ? strrchr(line, ')') : NULL;
	fclose(stat);
	return state && state[2] == 'D';
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

/* Checks that the whole task was counted: a cycle is a nanosecond of its time. */
static void check_whole(int fd, const char *what)
{
	struct counts c = counts_of(fd);

	/* perf's events are enabled one after the other. */
	tell(c.running <= c.enabled && c.running > c.enabled / 10 * 9,
	     "%s: it was on a PMU all the time: %llu of %llu ns", what,
	     (long long)c.running, (long long)c.enabled);
	tell(c.value > c.running / 10 * 9 && c.value < c.running / 10 * 11,
	     "%s: all is counted: %llu", what, (long long)c.value);
}

static void test_kind(uint32_t type, uint64_t config, int inherit, const char *what)
{
	struct counts then, now;
	struct tally_value v;
	uint64_t before;
	int fd, i;

	usual();
	attr.type = type;
	attr.config = config;
	attr.inherit = inherit;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = open_it();
	tell(fd >= 0, "%s: %s", what, fd < 0 ? why.text : "OK");
	if (fd < 0)
		return;
	for (i = 0; i < 6; i++) {
		then = counts_of(fd);
		busy_on(i % 2);
		now = counts_of(fd);
		/* The caller's own clock is not that of perf. */
		tell(now.value - then.value > (now.enabled - then.enabled) / 10 * 9 &&
		     now.enabled > then.enabled, "%s: CPU %d is counted: %llu of %llu ns", what,
		     i % 2, (long long)(now.value - then.value),
		     (long long)(now.enabled - then.enabled));
	}
	check_whole(fd, what);
	tell(read_values(fd, &v, NULL) == 1 && v.state == TALLY_IS_ACTIVE, "%s: it is active",
	     what);
	expect(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0, "M2 disabled");
	before = value_of(fd);
	busy_on(0);
	busy_on(1);
	tell(value_of(fd) == before, "%s: neither counts when it is off", what);
	expect(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0, "M2 enabled");
	busy_on(0);
	busy_on(1);
	check_whole(fd, what);
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
		{ "files", .run = test_files },
		{ }
	};

	return run_test(tests, argc, argv);
}
