// SPDX-License-Identifier: GPL-2.0
/*
 * The library compared with perf, on records that a real kernel wrote.
 *
 *	recorded record FILE [in_order]
 *				opens perf events that write records of as many types as
 *				this kernel has, and writes them to a perf.data file; with
 *				in_order, nearly all must be in order of their times
 *	recorded dump FILE	prints each record of that file in one line, in the words
 *				of `perf script -D`, beginning with its offset
 *	recorded print FILE	prints each record in the library's own words
 *
 *	recorded backward	looks at a ring that the kernel overwrites
 *	recorded device		opens an event of /dev/tally, and reads it
 *
 * All but "print" print "ok TEXT" or "bad TEXT" on standard error.
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include "recorded.h"
#include <linux/bpf.h>
#include <sys/mount.h>

/* ---- record ------------------------------------------------------------- */

static void open_side(void)
{
	struct perf_event_attr attr = usual(PERF_COUNT_SW_DUMMY);

	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	attr.context_switch = 1;
	attr.namespaces = 1;
	attr.ksymbol = 1;
	attr.bpf_event = 1;
	attr.cgroup = 1;
	attr.text_poke = 1;
	open_for(&attr, -1, -1, 256, "side");

	attr = usual(PERF_COUNT_SW_DUMMY);
	attr.mmap = 1;
	attr.mmap_data = 1;
	open_for(&attr, 0, -1, 16, "mmap");

	attr.mmap2 = 1;
	attr.build_id = 1;
	open_for(&attr, 0, -1, 16, "build-id");
}

static void open_samples(void)
{
	struct perf_event_attr attr = usual(PERF_COUNT_SW_CPU_CLOCK);

	attr.sample_period = 2000000;
	attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ |
			    PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW |
			    PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |
			    PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |
			    PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
			    PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | LIBTALLY_FORMAT_LOST |
			   PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.sample_regs_user = 0x1ff;
	attr.sample_regs_intr = 0x1a5;
	attr.sample_stack_user = 256;
	open_for(&attr, -1, -1, 256, "samples");

	/* Page faults have an address, and so the size of its page. */
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.sample_period = 1;
	attr.read_format = PERF_FORMAT_ID | LIBTALLY_FORMAT_LOST;
	open_for(&attr, 0, -1, 64, "faults");
}

/*
 * The kernel writes PERF_RECORD_READ for a child whose event ends before the child does,
 * as on exec(). When a task exits, the kernel no longer knows whose event it was.
 */
static void open_inherited(void)
{
	struct perf_event_attr attr = usual(PERF_COUNT_SW_TASK_CLOCK);

	attr.inherit = 1;
	attr.inherit_stat = 1;
	attr.remove_on_exec = 1;
	attr.task = 1;
	attr.context_switch = 1;
	attr.read_format = PERF_FORMAT_ID | LIBTALLY_FORMAT_LOST | PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING;
	open_for(&attr, 0, 0, 64, "inherited");
}

/*
 * A ring of one page is soon full. The event counts minor faults, not all faults as the
 * one above: if two software events count the same thing, kernels from 6.2 on write the
 * first one's sample, with its id, for the second event, too.
 */
static void open_small(void)
{
	struct perf_event_attr attr = usual(PERF_COUNT_SW_PAGE_FAULTS_MIN);

	attr.sample_period = 1;
	attr.sample_type |= PERF_SAMPLE_STACK_USER;
	attr.sample_stack_user = 512;
	open_for(&attr, 0, -1, 1, "small");
}

static void open_throttled(void)
{
	struct perf_event_attr attr = usual(PERF_COUNT_SW_CPU_CLOCK);

	attr.sample_period = 20000;
	open_for(&attr, 0, -1, 64, "throttled");
}

static void put_into(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "# %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void run_child(int other_names)
{
	pid_t pid = fork();

	if (!pid) {
		if (other_names && unshare(CLONE_NEWUTS | CLONE_NEWNS))
			_exit(1);
		usleep(20000);
		spin(CLOCK_MONOTONIC, 20);
		execl("/bin/busybox", "busybox", "true", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void map_file(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	void *a = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	void *b = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 4096);

	if (a != MAP_FAILED)
		munmap(a, 4096);
	if (b != MAP_FAILED)
		munmap(b, 8192);
	close(fd);
}

static void load_program(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (unsigned long)code;
	attr.insn_cnt = 2;
	attr.license = (unsigned long)"GPL";
	fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		fprintf(stderr, "# bpf: %s\n", strerror(errno));
	else
		close(fd);
}

/* Makes a cgroup in a hierarchy of perf_event: perf writes no record of any other. */
static void make_cgroup(void)
{
	mkdir("/tmp/cgroup", 0755);
	if (mount("none", "/tmp/cgroup", "cgroup", 0, "perf_event") ||
	    mkdir("/tmp/cgroup/recorded", 0755))
		fprintf(stderr, "# cgroup: %s\n", strerror(errno));
	rmdir("/tmp/cgroup/recorded");
}

static void do_all(void)
{
	run_on(0);
	run_child(0);
	run_child(1);
	map_file();
	load_program();
	drain(keep);
	put_into("/proc/sys/kernel/sched_schedstats", "1");
	put_into("/proc/sys/kernel/sched_schedstats", "0");
	make_cgroup();
	drain(keep);
	spin(CLOCK_MONOTONIC, 100);
	touch_new(30);
	drain(keep);
	touch_new(30);
	drain(keep);
	/* The kernel frees the BPF program later, in a worker. */
	usleep(200000);
	drain(keep);
}

static void do_throttled(void)
{
	int i;

	put_into("/proc/sys/kernel/perf_event_max_sample_rate", "1000");
	/* The tick that ends the throttling may be late. */
	for (i = 0; i < 600 && !seen[PERF_RECORD_UNTHROTTLE]; i++) {
		spin(CLOCK_MONOTONIC, 100);
		drain(keep);
	}
}

static void was_seen(int type)
{
	char text[64];

	snprintf(text, sizeof(text), "%s is there", libtally_record_name(type));
	fprintf(stderr, "# %llu of %s\n", seen[type], libtally_record_name(type));
	tell(seen[type] > 0, text);
}

static int record(const char *path, int in_order)
{
	static const int types[] = {
		PERF_RECORD_MMAP, PERF_RECORD_LOST, PERF_RECORD_COMM, PERF_RECORD_EXIT,
		PERF_RECORD_THROTTLE, PERF_RECORD_UNTHROTTLE, PERF_RECORD_FORK,
		PERF_RECORD_READ, PERF_RECORD_SAMPLE, PERF_RECORD_MMAP2, PERF_RECORD_SWITCH,
		PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_NAMESPACES, PERF_RECORD_KSYMBOL,
		PERF_RECORD_BPF_EVENT, PERF_RECORD_CGROUP,
#ifdef __x86_64__
		PERF_RECORD_TEXT_POKE,
#endif
	};
	reader = libtally_reader_new();
	open_side();
	open_samples();
	open_inherited();
	open_small();
	open_throttled();
	/* The file begins with all events, so they are opened before. */
	out = libtally_perfdata_create(path, libtally_reader_events(reader));
	if (!out)
		err(2, "%s", path);
	if (libtally_perfdata_write_running(out, getpid()))
		err(2, "what runs");
	do_all();
	do_throttled();
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		was_seen(types[i]);
	fprintf(stderr, "# %llu records, %llu late\n", nr_all, libtally_reader_late(reader));
	tell(nr_all > 200, "there are records");
	tell(!nr_bad, "all can be taken apart, and are of a known event and time");
	if (in_order)
		tell(libtally_reader_late(reader) * 1000 <= nr_all, "they are in order");
	tell(!libtally_perfdata_close(out), "they are written");
	libtally_reader_free(reader);
	return 0;
}

/* ---- backward ----------------------------------------------------------- */

/* Takes snapshots of a paused, overwritten ring: its newest records, in order. */
static int backward(void)
{
	struct perf_event_attr attr = usual(PERF_COUNT_SW_PAGE_FAULTS);
	const struct perf_event_header *header;
	unsigned long long last = 0, disorder = 0, bad = 0;
	struct libtally_record r;
	int told, nr, round;

	reader = libtally_reader_new();
	attr.sample_period = 1;
	attr.sample_type |= PERF_SAMPLE_ADDR;
	attr.write_backward = 1;
	open_for(&attr, 0, -1, 2, "backward");
	tell(!libtally_ring_pause(reader->rings[0].ring, 1) &&
	     !libtally_ring_pause(reader->rings[0].ring, 0), "its ring can be paused");
	for (round = 0; round < 3; round++) {
		touch_new(1000);
		nr = libtally_reader_snapshot(reader);
		for (told = 0, last = 0; (header = libtally_reader_next(reader)); told++) {
			bad += libtally_reader_parse(reader, header, &r) < 0 || r.size != 64;
			disorder += libtally_record_time(&r) < last;
			last = libtally_record_time(&r);
		}
		fprintf(stderr, "# %d records of %d, %llu in disorder, %llu bad\n", told, nr,
			disorder, bad);
		/* The ring has room for so many. */
		tell(nr == told && nr == 2 * 4096 / 64, "the newest are there");
	}
	tell(!disorder && !bad, "in order, and whole");
	libtally_reader_free(reader);
	return 0;
}

/* ---- device ------------------------------------------------------------- */

static int read_device(void)
{
	struct libtally_target target = LIBTALLY_TARGET_INIT;
	struct perf_event_attr attr;
	struct libtally_counts counts;
	struct libtally_count_entry e, page_entry;
	__u64 buffer[8], scaled;
	clock_t begin;
	void *page;
	int fd;

	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			   PERF_FORMAT_ID;
	target.via = LIBTALLY_VIA_DEVICE;
	fd = libtally_open_event(&attr, &target);
	if (fd < 0)
		fprintf(stderr, "# %s\n", target.error);
	tell(fd >= 0, "an event of /dev/tally on all CPUs");
	page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	run_on(0);
	touch_new(100);
	/* The page is published at intervals, while the CPU is busy. */
	for (begin = clock(); page != MAP_FAILED && clock() - begin < 60 * CLOCKS_PER_SEC;)
		if (!libtally_page_read(page, &page_entry) && page_entry.value >= 100)
			break;
	tell(!libtally_read_counts(fd, buffer, sizeof(buffer), attr.read_format, &counts) &&
	     !libtally_counts_get(&counts, 0, &e) && e.value >= 100 && e.id && e.running,
	     "it is read");
	tell(!libtally_scaled(e.value, e.enabled, e.running, &scaled) && scaled >= 100,
	     "its count is scaled");
	tell(libtally_read_counts(fd, buffer, 8, attr.read_format, &counts) == -ENOSPC,
	     "a buffer that is too small is told");
	tell(page != MAP_FAILED && !libtally_page_read(page, &page_entry) &&
	     page_entry.value >= 100 && page_entry.value <= e.value && page_entry.enabled,
	     "its page is read without a system call");
	attr.config = 12345;
	tell(libtally_open_event(&attr, &target) < 0 && target.error[0],
	     "an event that cannot be is refused, with a reason");
	fprintf(stderr, "# %s\n", target.error);
	target.via = LIBTALLY_VIA_PERF;
	target.cpu = 0;
	tell(libtally_open_event(&attr, &target) < 0 && target.error[0], "by perf, too");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "backward"))
		return backward();
	if (argc == 2 && !strcmp(argv[1], "device"))
		return read_device();
	if (argc < 3)
		errx(2, "usage: recorded record|dump|print FILE, or recorded device|backward");
	if (!strcmp(argv[1], "record"))
		return record(argv[2], argc > 3);
	return dump(argv[2], !strcmp(argv[1], "print"));
}
