// SPDX-License-Identifier: GPL-2.0
/*
 * bench_cpus: prints the cost of one thing, in instructions with icount:
 *
 *	bench_cpus read FILE			a file is opened, read and closed; the least of 20
 *	bench_cpus write FILE TEXT [FILE TEXT]	texts are written to files, one after the other
 *	bench_cpus run COMMAND [ARGUMENT]...	a command runs, and succeeds; without the time in
 *						which it waits
 *
 *	bench_cpus hold WHO N	opens N events on all CPUs, in files of tally or of perf, says
 *				"open", and holds them until its input ends
 */
#define _GNU_SOURCE
#include <sys/resource.h>
#include "bench.h"

static char text[1 << 20];

static void read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	size_t size = 0;
	ssize_t got;

	while ((got = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += got;
	if (fd < 0 || got < 0)
		die("%s: %m", path);
	text[size] = '\0';
	close(fd);
}

static void write_file(const char *path, const char *what)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, what, strlen(what)) < 0)
		die("%s: %m", path);
	close(fd);
}

/* Returns the time that the command ran. */
static unsigned long long run(char **argv)
{
	struct rusage used;
	int status;
	pid_t pid = fork();

	if (!pid) {
		close(1);
		open("/dev/null", O_WRONLY);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status)
		die("%s failed", argv[0]);
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000ULL +
	       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000ULL;
}

static void hold(const char *who, int n)
{
	struct perf_event_attr attr = { PAGE_FAULTS, .pinned = 1 };
	struct tally_open r = request(&attr, -1, -1, -1, 0);
	int kind = strcmp(who, "tally") ? PERF : TALLY, cpus = kind == TALLY ? 1 : nr_online();
	struct rlimit most = { 20000, 20000 };
	int cpu;

	setrlimit(RLIMIT_NOFILE, &most);
	device = device_file();
	r.flags = TALLY_OPEN_ALL_CPUS;
	while (n--) {
		for (cpu = 0; cpu < cpus; cpu++) {
			r.cpu = kind == TALLY ? -1 : cpu;
			must_open(kind, &r);
		}
	}
	printf("open\n");
	fflush(stdout);
	while (read(0, text, sizeof(text)) > 0)
		;
}

int main(int argc, char **argv)
{
	unsigned long long begin, took, least = ~0ULL;
	int rounds, i;

	if (argc < 3 || (!strcmp(argv[1], "hold") && argc < 4))
		die("usage: bench_cpus read|write|run|hold ...");
	if (!strcmp(argv[1], "hold")) {
		hold(argv[2], atoi(argv[3]));
		return 0;
	}
	if (!strcmp(argv[1], "run")) {
		printf("%llu\n", run(argv + 2));
		return 0;
	}
	rounds = strcmp(argv[1], "read") ? 1 : 20;
	while (rounds--) {
		begin = now_ns();
		if (!strcmp(argv[1], "read"))
			read_file(argv[2]);
		else
			for (i = 2; i + 1 < argc; i += 2)
				write_file(argv[i], argv[i + 1]);
		took = now_ns() - begin;
		if (took < least)
			least = took;
	}
	printf("%llu\n", least);
	return 0;
}
