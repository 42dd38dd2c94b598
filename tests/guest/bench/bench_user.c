// SPDX-License-Identifier: GPL-2.0
/*
 * bench_user NAME [FILE]...: the cost of reading counts in a process, from files of perf
 * and of tally: of one event, of eight events, and of a group of eight; from a mapped
 * page; and from FILE, a count in tally's folder that is opened once. Also the cost of
 * opening and closing a file. Costs are tenths of an instruction, with icount:
 *
 *	# figure NAME read 1234
 *
 * The event is page-faults on CPU 0; those of a group are of eight kinds. Files are
 * opened for a kind that is counted already, and for one that is not. With the name "hardware",
 * the events are four of hardware, and only read(2) is measured.
 */
#define _GNU_SOURCE
#include "bench.h"

#define ROUNDS	30
#define CALLS	64

static int alone[8], group[8], file, tally_alone, tally_group, tally_page;
static volatile struct perf_event_mmap_page *page;
static char buf[4096];
static const char *bench_name;

static void failed(const char *what)
{
	perror(what);
	exit(1);
}

static struct perf_event_attr attr = { SW(0) };

static const int kinds[8] = {
	PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
	PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_CONTEXT_SWITCHES,
	PERF_COUNT_SW_CPU_MIGRATIONS, PERF_COUNT_SW_ALIGNMENT_FAULTS,
	PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK,
};

static const int hardware_kinds[4] = {
	PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES,
	PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_COUNT_HW_BRANCH_MISSES,
};

#define ANOTHER_KIND PERF_COUNT_SW_EMULATION_FAULTS

static int open_one(int whose, int kind, int leader, unsigned long long format,
		    unsigned int flags)
{
	struct tally_open r = request(&attr, -1, 0, leader, 0);

	attr.config = kind;
	attr.read_format = format;
	r.flags = flags;
	return must_open(whose, &r);
}

static void nothing(void)
{
}

static void read_one(void)
{
	if (read(alone[0], buf, sizeof(buf)) != 8)
		failed("read");
}

static void read_eight(void)
{
	int i;

	for (i = 0; i < 8; i++)
		if (read(alone[i], buf, sizeof(buf)) != 8)
			failed("read");
}

static void read_group(void)
{
	if (read(group[0], buf, sizeof(buf)) != 9 * 8)
		failed("read of a group");
}

static void tally_read_one(void)
{
	if (read(tally_alone, buf, sizeof(buf)) != 8)
		failed("read");
}

static void tally_read_group(void)
{
	if (read(tally_group, buf, sizeof(buf)) != 9 * 8)
		failed("read of a group");
}

static volatile unsigned long long seen;

/* The loop of perf_event_open(2). */
static void look_at_page(void)
{
	unsigned long long count;
	unsigned int seq;

	do {
		seq = page->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		count = page->offset;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (page->lock != seq);
	seen = count;
}

static void perf_create(void)
{
	close(open_one(PERF, kinds[0], -1, 0, 0));
}

static void tally_create(void)
{
	close(open_one(TALLY, kinds[0], -1, 0, 0));
}

static void perf_create_first(void)
{
	close(open_one(PERF, ANOTHER_KIND, -1, 0, 0));
}

static void tally_create_first(void)
{
	close(open_one(TALLY, ANOTHER_KIND, -1, 0, 0));
}

static void read_file(void)
{
	if (pread(file, buf, sizeof(buf), 0) <= 0)
		failed("pread");
}

static void figure(const char *name, void (*op)(void))
{
	unsigned long long best = ~0ULL, t;
	int i, j;

	for (i = 0; i < ROUNDS; i++) {
		t = now_ns();
		for (j = 0; j < CALLS; j++)
			op();
		t = now_ns() - t;
		best = t < best ? t : best;
	}
	printf("# figure %s %s %llu\n", bench_name, name, best * 10 / CALLS);
}

static void read_hardware_group(void)
{
	if (read(group[0], buf, sizeof(buf)) != 5 * 8)
		failed("read of a group");
}

/* The PMU has room for one of the two groups beside the watchdog, so they take turns. */
static void hardware(void)
{
	int i, whose;

	attr.type = PERF_TYPE_HARDWARE;
	need_device();
	for (whose = PERF; whose <= TALLY; whose++) {
		for (i = 0; i < 4; i++)
			group[i] = open_one(whose, hardware_kinds[i], i ? group[0] : -1,
					    i ? 0 : PERF_FORMAT_GROUP,
					    whose == TALLY && i ? TALLY_OPEN_MEMBER : 0);
		figure(whose == TALLY ? "tally_read_group" : "read_group", read_hardware_group);
		for (i = 3; i >= 0; i--)
			close(group[i]);
		alone[0] = open_one(whose, hardware_kinds[0], -1, 0, 0);
		figure(whose == TALLY ? "tally_read" : "read", read_one);
		close(alone[0]);
	}
	close(device);
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2) {
		fprintf(stderr, "usage: bench_user NAME [FILE]...\n");
		return 2;
	}
	bench_name = argv[1];
	if (!strcmp(bench_name, "hardware")) {
		hardware();
		return 0;
	}
	figure("nothing", nothing);
	for (i = 0; i < 8; i++) {
		alone[i] = open_one(PERF, kinds[i], -1, 0, 0);
		group[i] = open_one(PERF, kinds[i], i ? group[0] : -1, PERF_FORMAT_GROUP, 0);
	}
	need_device();
	tally_alone = open_one(TALLY, kinds[0], -1, 0, 0);
	tally_group = open_one(TALLY, kinds[0], -1, PERF_FORMAT_GROUP, 0);
	for (i = 1; i < 8; i++)
		open_one(TALLY, kinds[i], tally_group, 0, TALLY_OPEN_MEMBER);
	figure("tally_read", tally_read_one);
	figure("tally_read_group_8", tally_read_group);
	figure("create", perf_create);
	figure("tally_create", tally_create);
	figure("create_first", perf_create_first);
	figure("tally_create_first", tally_create_first);
	/* The page comes last: its timer would cost the other figures something. */
	tally_page = open_one(TALLY, kinds[0], -1, 0, 0);
	page_size = getpagesize();
	page = map(tally_page, PROT_READ);
	if (page == MAP_FAILED)
		failed("mmap");
	figure("page", look_at_page);
	close(tally_page);
	munmap((void *)page, page_size);
	close(tally_group);
	close(tally_alone);
	close(device);
	figure("read", read_one);
	figure("read_8", read_eight);
	figure("read_group_8", read_group);
	for (i = 2; i < argc; i++) {
		file = open(argv[i], O_RDONLY);
		if (file < 0)
			failed(argv[i]);
		figure("file", read_file);
		close(file);
	}
	return 0;
}
