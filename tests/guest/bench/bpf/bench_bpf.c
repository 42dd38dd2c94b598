// SPDX-License-Identifier: GPL-2.0
/*
 * bench_bpf KIND...: the cost of reading an event at a tracepoint, with tally in a
 * module's probe, and with eBPF in a program; and the cost of a call of a function in which an
 * event is counted, by tally and by a pair of eBPF programs. Needs tally_bench.ko, and a guest whose
 * only CPU is CPU 0.
 *
 *	# figure KIND probe_empty 123		in tenths
 *	# figure KIND probe_read 456
 *	# figure KIND bpf_empty 234
 *	# figure KIND bpf_read 567
 *	# figure KIND call 1			nobody counts
 *	# figure KIND tally_call 678
 *	# figure KIND bpf_call 789
 *
 * The exit status is 1 if a call or a read fails.
 */
#define _GNU_SOURCE
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOLDER "/sys/kernel/debug/tally_bench/"
#define TALLY "/sys/kernel/debug/tally/"

static void die(const char *what)
{
	fprintf(stderr, "bench_bpf: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void tell(const char *file, const char *word)
{
	FILE *f = fopen(file, "w");

	if (!f || fputs(word, f) < 0 || fclose(f))
		die(file);
}

static unsigned long long call(void)
{
	unsigned long long tenths;
	FILE *f = fopen(FOLDER "call", "r");

	if (!f || fscanf(f, "%llu", &tenths) != 1)
		die("call");
	fclose(f);
	return tenths;
}

static unsigned long long hit(void)
{
	unsigned long long tenths;
	unsigned int failed;
	FILE *f = fopen(FOLDER "hit", "r");

	if (!f || fscanf(f, "%llu %u", &tenths, &failed) != 2)
		die("hit");
	fclose(f);
	if (failed) {
		fprintf(stderr, "bench_bpf: %u of tally's reads failed\n", failed);
		exit(1);
	}
	return tenths;
}

static int open_event(const char *kind)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	int fd;

	if (!strcmp(kind, "page-faults")) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	} else if (!strcmp(kind, "cpu-clock")) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
	} else if (!strcmp(kind, "instructions")) {
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	} else {
		errno = EINVAL;
		die(kind);
	}
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		die(kind);
	return fd;
}

static unsigned long long with_program(struct bpf_object *object,
				       const char *name)
{
	struct bpf_program *program;
	struct bpf_link *link;
	unsigned long long tenths;

	program = bpf_object__find_program_by_name(object, name);
	link = program ? bpf_program__attach(program) : NULL;
	if (!link)
		die(name);
	tenths = hit();
	bpf_link__destroy(link);
	return tenths;
}

/* The calls that the programs have counted. */
static unsigned long long bpf_calls(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "totals");
	unsigned long long total[67];	/* of the only CPU */
	int key = 0;

	if (!map || bpf_map__lookup_elem(map, &key, sizeof(key), total, sizeof(total), 0))
		die("totals");
	return total[0];
}

static unsigned long long with_pair(struct bpf_object *object)
{
	struct bpf_program *begin = bpf_object__find_program_by_name(object, "call_begin");
	struct bpf_program *end = bpf_object__find_program_by_name(object, "call_end");
	struct bpf_link *links[2];
	unsigned long long tenths;

	links[0] = bpf_program__attach(begin);
	links[1] = bpf_program__attach(end);
	if (!links[0] || !links[1])
		die("a pair of programs");
	tenths = call();
	bpf_link__destroy(links[0]);
	bpf_link__destroy(links[1]);
	if (!bpf_calls(object)) {
		fprintf(stderr, "bench_bpf: eBPF has counted no call\n");
		exit(1);
	}
	return tenths;
}

static void bpf(const char *kind)
{
	unsigned long long failed = 0;
	struct bpf_object *object;
	struct bpf_map *map;
	int key = 0, event;

	object = bpf_object__open_file("bench.bpf.o", NULL);
	if (!object || bpf_object__load(object))
		die("bench.bpf.o");
	event = open_event(kind);
	map = bpf_object__find_map_by_name(object, "events");
	if (!map || bpf_map__update_elem(map, &key, sizeof(key), &event,
					 sizeof(event), 0))
		die("events");
	printf("# figure %s bpf_empty %llu\n", kind,
	       with_program(object, "probe_empty"));
	printf("# figure %s bpf_read %llu\n", kind,
	       with_program(object, "probe_read"));
	printf("# figure %s bpf_call %llu\n", kind, with_pair(object));
	map = bpf_object__find_map_by_name(object, ".bss");
	if (!map || bpf_map__lookup_elem(map, &key, sizeof(key), &failed,
					 sizeof(failed), 0))
		die(".bss");
	if (failed) {
		fprintf(stderr, "bench_bpf: %llu of eBPF's reads failed\n",
			failed);
		exit(1);
	}
	bpf_object__close(object);
	close(event);
}

static void tally(const char *kind)
{
	tell(FOLDER "kind", kind);
	tell(FOLDER "probe", "empty");
	printf("# figure %s probe_empty %llu\n", kind, hit());
	tell(FOLDER "probe", "read");
	printf("# figure %s probe_read %llu\n", kind, hit());
	tell(FOLDER "probe", "none");
}

static void tally_call(const char *kind)
{
	unsigned long long calls, counted, tenths;
	char line[80];
	FILE *f;

	printf("# figure %s call %llu\n", kind, call());
	snprintf(line, sizeof(line), "func:tally_bench_call{%s} name=bench_bpf", kind);
	tell(TALLY "create", line);
	tenths = call();
	f = fopen(TALLY "bench_bpf/calls", "r");
	if (!f || fscanf(f, "calls %llu counted %llu", &calls, &counted) != 2)
		die("calls");
	fclose(f);
	tell(TALLY "remove", "bench_bpf");
	if (!calls || calls != counted) {
		fprintf(stderr, "bench_bpf: tally has counted %llu of %llu calls\n", counted,
			calls);
		exit(1);
	}
	printf("# figure %s tally_call %llu\n", kind, tenths);
}

static int quiet(enum libbpf_print_level level, const char *format,
		 va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

int main(int argc, char **argv)
{
	int i;

	libbpf_set_print(quiet);
	for (i = 1; i < argc; i++) {
		tally(argv[i]);
		tally_call(argv[i]);
		bpf(argv[i]);
	}
	return 0;
}
