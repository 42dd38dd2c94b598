// SPDX-License-Identifier: GPL-2.0
/*
 * allcpus EVENTS READS: the cost of reading EVENTS events on all CPUs, in one file of
 * tally, and in files of perf with one group for each CPU. Costs are tenths of an
 * instruction for a read of all, with icount. calls are function-call interrupts of all
 * CPUs for ten reads:
 *
 *	# figure scale user_8_2 1234
 *	# figure scale user_8_2_calls 10
 *	# figure scale fds_8_2 10
 *	# figure scale open_8_2 12345
 *
 * The figures of perf have perf_ before the name. fds is ten times the number of files;
 * open is the cost to open and close all of them. The events are of eight kinds.
 */
#define _GNU_SOURCE
#include <sys/resource.h>
#include "either.h"

#define MOST_CPUS 64

static struct perf_event_attr attr = {
	SW(0), .read_format = PERF_FORMAT_GROUP,
};

static const int kinds[8] = {
	PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
	PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_CONTEXT_SWITCHES,
	PERF_COUNT_SW_CPU_MIGRATIONS, PERF_COUNT_SW_ALIGNMENT_FAULTS,
	PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK,
};

static int nr_events, nr_reads, nr_cpus, nr_files, files[MOST_CPUS];
static unsigned long long buf[1 + 64];

static void open_perf(int cpu)
{
	struct tally_open r = request(&attr, -1, cpu, -1, 0);
	int i, fd;

	for (i = 0; i < nr_events; i++) {
		attr.config = kinds[i % 8];
		fd = must_open(PERF, &r);
		if (!i) {
			files[nr_files] = fd;
			r.group_fd = fd;
		}
	}
	nr_files++;
}

static void open_tally(void)
{
	struct tally_open r = request(&attr, -1, -1, -1, 0);
	int i, fd;

	r.flags = TALLY_OPEN_ALL_CPUS;
	need_device();
	for (i = 0; i < nr_events; i++) {
		attr.config = kinds[i % 8];
		fd = must_open(TALLY, &r);
		if (i)
			continue;
		files[nr_files++] = fd;
		r.group_fd = fd;
		r.flags |= TALLY_OPEN_MEMBER;
	}
	/* The device is no longer needed: the file takes its descriptor. */
	dup2(files[nr_files - 1], device);
	close(files[nr_files - 1]);
	files[nr_files - 1] = device;
}

static void read_all(void)
{
	ssize_t size = sizeof(*buf) * (1 + nr_events);
	int i;

	for (i = 0; i < nr_files; i++)
		if (read(files[i], buf, sizeof(buf)) != size)
			err(1, "read");
}

/* Function-call interrupts of all CPUs so far. On arm64 a number precedes each kind. */
static long calls(void)
{
	char line[1024], *word;
	FILE *f = fopen("/proc/interrupts", "r");
	long sum = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "Function call interrupts"))
			continue;
		word = strchr(line, ':');
		while (word && (word = strpbrk(word, " ")) && *(word += strspn(word, " ")) >= '0' &&
		       *word <= '9')
			sum += strtol(word, &word, 10);
	}
	if (!f)
		err(1, "/proc/interrupts");
	fclose(f);
	return sum;
}

static int open_fds(void)
{
	int fd, nr = 0;

	for (fd = 3; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static void close_all(void)
{
	int i;

	for (i = 3; i < 1024 && !close(i); i++)
		;
	nr_files = 0;
}

static void measure(const char *who, void (*open_all)(void))
{
	unsigned long long t, best = ~0ULL;
	long before;
	int i;

	for (i = 0; i < 5; i++) {
		t = now_ns();
		open_all();
		close_all();
		t = now_ns() - t;
		best = t < best ? t : best;
	}
	printf("# figure scale %sopen_%d_%d %llu\n", who, nr_events, nr_cpus, best * 10);
	open_all();

	/* Idle CPUs run once before the measurement. */
	read_all();
	read_all();
	before = calls();
	t = now_ns();
	for (i = 0; i < nr_reads; i++)
		read_all();
	t = now_ns() - t;
	before = calls() - before;
	printf("# figure scale %suser_%d_%d %llu\n", who, nr_events, nr_cpus, t * 10 / nr_reads);
	printf("# figure scale %suser_%d_%d_calls %ld\n", who, nr_events, nr_cpus,
	       before * 10 / nr_reads);
	printf("# figure scale %sfds_%d_%d %d\n", who, nr_events, nr_cpus, open_fds() * 10);
	close_all();
}

static void open_perfs(void)
{
	int cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++)
		open_perf(cpu);
}

int main(int argc, char **argv)
{
	struct rlimit most = { 1024, 1024 };

	if (argc != 3) {
		fprintf(stderr, "usage: allcpus EVENTS READS\n");
		return 2;
	}
	nr_events = atoi(argv[1]);
	nr_reads = atoi(argv[2]);
	if (nr_events < 1 || nr_events > 64 || nr_reads < 1)
		errx(2, "1 to 64 EVENTS, and READS");
	if (setrlimit(RLIMIT_NOFILE, &most))
		err(1, "setrlimit");
	nr_cpus = nr_online();
	measure("", open_tally);
	measure("perf_", open_perfs);
	return 0;
}
