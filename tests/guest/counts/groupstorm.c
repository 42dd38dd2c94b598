// SPDX-License-Identifier: GPL-2.0
/*
 * Groups of /dev/tally come and go while a CPU and tasks do:
 *
 *	groupstorm CYCLES SAMPLES ROOM	CYCLES of the CPU; SAMPLES is 1 if the PMU has interrupts; and
 *					a group that is pinned, on a PMU with ROOM counters
 *
 * Prints lines "ok TEXT" and "bad TEXT".
 */
#define _GNU_SOURCE
#include "either.h"
#include <pthread.h>
#include <signal.h>

static int bad;

static int below(int n)
{
	return rand() % n;
}

static volatile int ended;

/* Takes a CPU offline and back, and so often. */
static void *hotplug(void *cycles)
{
	int left = *(int *)cycles;

	while (left--) {
		set_online(1, 0);
		wait_ms(5);
		set_online(1, 1);
		wait_ms(5);
	}
	ended = 1;
	return NULL;
}

/* The emulated PMU of arm64 takes any number, but no generic event for each. */
static const int events[] = { 0x11, 0x23, 0x24 };
#define NR_EVENTS (sizeof(events) / sizeof(*events))

/* A group of the storm has one of these besides events that count. */
enum kind_of_group { PLAIN, SOFTWARE, SAMPLES, INHERITED, KINDS };

/* Opens a group; returns how many files it has. */
static int open_three(int fds[NR_EVENTS], enum kind_of_group kind, pid_t pid, int cpu)
{
	unsigned int i;

	for (i = 0; i < NR_EVENTS; i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_RAW, .config = events[i], .size = sizeof(attr),
			.read_format = PERF_FORMAT_GROUP, .disabled = !i && below(2),
			.inherit = kind == INHERITED,
		};

		if (kind == SAMPLES && !i) {
			attr.sample_period = 100003;
			attr.sample_type = PERF_SAMPLE_READ;
		}
		if (kind == SOFTWARE && i == NR_EVENTS - 1) {
			attr.type = PERF_TYPE_SOFTWARE;
			attr.config = below(2) ? PERF_COUNT_SW_PAGE_FAULTS : PERF_COUNT_SW_CPU_CLOCK;
		}
		fds[i] = open_event(TALLY, &attr, pid, cpu, i ? fds[0] : -1, PERF_FLAG_FD_CLOEXEC);
		if (fds[i] >= 0)
			continue;
		if (errno != ENODEV && errno != ESRCH)
			fprintf(stderr, "member %u of kind %u: %s: %s\n", i, kind,
				strerrorname_np(errno), why.text);
		bad |= errno != ENODEV && errno != ESRCH;
		break;
	}
	return i;
}

/* Reads a group. No count falls. */
static void read_three(int fd, uint64_t last[NR_EVENTS])
{
	uint64_t values[1 + NR_EVENTS] = { 0 };
	unsigned int i;

	if (read(fd, values, sizeof(values)) < 0)
		return;
	for (i = 0; i < values[0] && i < NR_EVENTS; i++) {
		if (values[1 + i] < last[i])
			fprintf(stderr, "member %u falls from %llu to %llu\n", i,
				(unsigned long long)last[i], (unsigned long long)values[1 + i]);
		bad |= values[1 + i] < last[i];
		last[i] = values[1 + i];
	}
}

/* Closes the files in any order. */
static void close_in_turn(int *fds, int nr)
{
	int i;

	while (nr) {
		i = below(nr);
		close(fds[i]);
		fds[i] = fds[--nr];
	}
}

/* A task that ends soon, as its children do; or one that forks until it is killed. */
static pid_t begin_task(int ends)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	while (!ends || below(3)) {
		if (!fork())
			_exit(0);
		waitpid(-1, NULL, 0);
		wait_ms(below(5));
	}
	_exit(0);
}

/*
 * A pinned group that counts, on a PMU without room for all of its siblings that are off: it goes on
 * when another one is opened.
 */
static void pinned(int room)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = sizeof(attr), .config = 0x20, .pinned = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	struct tally_open alone = request(&attr, -1, 0, -1, 0);
	int fds[16], other, counts, i;
	uint64_t v[3 + 16];

	other = must_open(TALLY, &alone);
	attr.read_format |= PERF_FORMAT_GROUP;
	for (i = 0; i < room; i++) {
		struct tally_open r = request(&attr, -1, 0, i ? fds[0] : -1, 0);

		attr.config = 0x21 + i;
		fds[i] = must_open(TALLY, &r);
		attr.pinned = 0;
		attr.disabled = 1;
	}
	/* A group in error reads as the end of the file. */
	counts = read(fds[0], v, sizeof(v)) > 0 && v[0] == (uint64_t)room && v[2] && v[2] == v[1];
	bad |= !counts;
	printf("%s a pinned group counts on when a sibling is opened that is off\n",
	       counts ? "ok" : "bad");
	while (i--)
		close(fds[i]);
	close(other);
}

int main(int argc, char **argv)
{
	int fds[NR_EVENTS], of_kind[KINDS] = { 0 }, tasks = 0, nr, i, cycles, samples, all = 0;
	pthread_t thread;

	if (argc != 4)
		return 2;
	cycles = atoi(argv[1]);
	samples = atoi(argv[2]);
	need_device();
	pinned(atoi(argv[3]));
	if (pthread_create(&thread, NULL, hotplug, &cycles))
		err(2, "a thread");
	while (!ended || tasks < 5 * cycles || !all) {
		uint64_t last[NR_EVENTS] = { 0 };
		pid_t pid = -1;
		int cpu = below(3) - 1;
		enum kind_of_group kind = below(KINDS);

		if (kind == SAMPLES && !samples)
			kind = PLAIN;
		if (cpu < 0) {
			pid = begin_task(kind != INHERITED);
			tasks++;
		} else if (kind == INHERITED) {
			kind = SOFTWARE;
		}
		nr = open_three(fds, kind, pid, cpu);
		for (i = 0; nr && i < 4; i++) {
			ioctl(fds[below(nr)], below(2) ? PERF_EVENT_IOC_ENABLE :
							 PERF_EVENT_IOC_DISABLE,
			      below(2) ? PERF_IOC_FLAG_GROUP : 0);
			read_three(fds[0], last);
			wait_ms(below(4));
		}
		of_kind[kind] += nr == NR_EVENTS;
		all = of_kind[PLAIN] && of_kind[SOFTWARE] && of_kind[INHERITED] &&
		      !of_kind[SAMPLES] == !samples;
		close_in_turn(fds, nr);
		if (pid > 0) {
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
	}
	pthread_join(thread, NULL);
	fprintf(stderr, "whole groups: %d, %d with software, %d that sample, %d inherited; %d tasks\n",
		of_kind[PLAIN], of_kind[SOFTWARE], of_kind[SAMPLES], of_kind[INHERITED], tasks);
	printf("%s groups of each kind come and go: no other error, and no count falls\n",
	       bad ? "bad" : "ok");
	return bad;
}
