// SPDX-License-Identifier: GPL-2.0
/*
 * The library beside perf, with what a real kernel writes.
 *
 *	recorded record FILE	makes perf events write records of as many types as can
 *				be had here, and writes them to a perf.data file
 *	recorded dump FILE	reads that file, and tells each record in one line, in the
 *				words of `perf script -D`, beginning with where it is
 *	recorded print FILE	the same in the library's own words
 *
 *	recorded backward	looks at a ring that the kernel overwrites
 *	recorded device		opens an event of /dev/tally, and reads it
 *
 * All but "print" print "ok TEXT" or "bad TEXT" on standard error.
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* Programs of this folder are built of one file. */
#include "../../src/lib/record.c"
#include "../../src/lib/sample.c"
#include "../../src/lib/counts.c"
#include "../../src/lib/events.c"
#include "../../src/lib/print.c"
#include "../../src/lib/ring.c"
#include "../../src/lib/reader.c"
#include "../../src/lib/open.c"
#include "../../src/lib/perfdata.c"
#include "../../src/lib/running.c"

static void tell(int good, const char *what)
{
	fprintf(stderr, "%s %s\n", good ? "ok" : "bad", what);
}

/* ---- record ------------------------------------------------------------- */

static struct tally_reader *reader;
static struct tally_perfdata *out;
static unsigned long long seen[64], nr_bad, nr_all;

static struct perf_event_attr usual(__u64 config)
{
	struct perf_event_attr attr;

	tally_attr_init(&attr, PERF_TYPE_SOFTWARE, config);
	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_TID |
			   PERF_SAMPLE_CPU | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;
	attr.sample_id_all = 1;
	return attr;
}

static void open_for(const struct perf_event_attr *attr, int pid, int cpu, size_t pages,
		     const char *name)
{
	struct tally_target target = TALLY_TARGET_INIT;
	int error;

	target.pid = pid;
	target.cpu = cpu;
	error = tally_reader_open(reader, attr, &target, pages, name);
	if (error < 0)
		fprintf(stderr, "# %s: %s (%s)\n", name, target.error, strerror(-error));
	tell(error >= 0, name);
}

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
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | TALLY_FORMAT_LOST |
			   PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.sample_regs_user = 0x1ff;
	attr.sample_regs_intr = 0x1a5;
	attr.sample_stack_user = 256;
	open_for(&attr, -1, -1, 256, "samples");

	/* Of faults there is an address, and the page that it is in. */
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.sample_period = 1;
	attr.read_format = PERF_FORMAT_ID | TALLY_FORMAT_LOST;
	open_for(&attr, 0, -1, 64, "faults");
}

/*
 * A child's counts are told as its event ends before it does: on exec(). Of a task
 * that exits the kernel has forgotten by then whose the event was.
 */
static void open_inherited(void)
{
	struct perf_event_attr attr = usual(PERF_COUNT_SW_TASK_CLOCK);

	attr.inherit = 1;
	attr.inherit_stat = 1;
	attr.remove_on_exec = 1;
	attr.task = 1;
	attr.context_switch = 1;
	attr.read_format = PERF_FORMAT_ID | TALLY_FORMAT_LOST | PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING;
	open_for(&attr, 0, 0, 64, "inherited");
}

/*
 * One page, which is soon full. Not of all page faults, as the one above: kernels from
 * 6.2 on use the sample of the first of two software events that count the same thing
 * for the second, too, with the first one's id.
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

static void keep(const struct perf_event_header *header)
{
	struct tally_record r;
	int error = tally_reader_parse(reader, header, &r);

	nr_all++;
	if (error < 0 || !r.known || r.extra.size || tally_record_time(&r) == 0) {
		if (!nr_bad++)
			fprintf(stderr, "# type %u: %s, extra %zu\n", header->type,
				tally_record_strerror(error < 0 ? error : 0), r.extra.size);
	} else if (header->type < 64) {
		seen[header->type]++;
	}
	if (tally_perfdata_write(out, header))
		err(2, "write");
}

static void drain(void)
{
	const struct perf_event_header *header;

	while ((header = tally_reader_next(reader)))
		keep(header);
}

static void put_into(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "# %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(2, "cpu %d", cpu);
}

static void spin(int ms)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do
		clock_gettime(CLOCK_MONOTONIC, &b);
	while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

static void fault(int pages)
{
	long size = sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, pages * size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < pages; i++)
		area[i * size] = 1;
	munmap(area, pages * size);
}

static void run_child(int other_names)
{
	pid_t pid = fork();

	if (!pid) {
		if (other_names && unshare(CLONE_NEWUTS | CLONE_NEWNS))
			_exit(1);
		usleep(20000);
		spin(20);
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

/* One of its own hierarchy: in the one that is mounted perf is told of none. */
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
	drain();
	put_into("/proc/sys/kernel/sched_schedstats", "1");
	put_into("/proc/sys/kernel/sched_schedstats", "0");
	make_cgroup();
	drain();
	spin(100);
	fault(30);
	drain();
	fault(30);
	drain();
	/* The BPF program is freed by another, later. */
	usleep(200000);
	drain();
}

static void do_throttled(void)
{
	put_into("/proc/sys/kernel/perf_event_max_sample_rate", "1000");
	spin(100);
	drain();
}

static void was_seen(int type)
{
	char text[64];

	snprintf(text, sizeof(text), "%s is there", tally_record_name(type));
	fprintf(stderr, "# %llu of %s\n", seen[type], tally_record_name(type));
	tell(seen[type] > 0, text);
}

static int record(const char *path)
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
	reader = tally_reader_new();
	open_side();
	open_samples();
	open_inherited();
	open_small();
	open_throttled();
	/* The events are at its beginning: by now all are there. */
	out = tally_perfdata_create(path, tally_reader_events(reader));
	if (!out)
		err(2, "%s", path);
	if (tally_perfdata_write_running(out, getpid()))
		err(2, "what runs");
	do_all();
	do_throttled();
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		was_seen(types[i]);
	fprintf(stderr, "# %llu records, %llu late\n", nr_all, tally_reader_late(reader));
	tell(nr_all > 200, "there are records");
	tell(!nr_bad, "all can be taken apart, and are of a known event and time");
	tell(tally_reader_late(reader) * 1000 <= nr_all, "they are in order");
	tell(!tally_perfdata_close(out), "they are written");
	tally_reader_free(reader);
	return 0;
}

/* ---- dump --------------------------------------------------------------- */

static void *file_bytes;
static struct tally_events *file_events;

/* The file as perf's header.h says it is, apart from the code that wrote it. */
static void read_file(const char *path, size_t *begin, size_t *end)
{
	int fd = open(path, O_RDONLY);
	const __u64 *header;
	struct stat st;
	char *bytes;

	if (fd < 0 || fstat(fd, &st))
		err(2, "%s", path);
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		err(2, "%s", path);
	close(fd);
	file_bytes = bytes;
	header = file_bytes;
	/* magic, size, attr_size, attrs, data */
	if (memcmp(bytes, "PERFILE2", 8) || header[1] != 104)
		errx(2, "%s: no perf.data", path);
	file_events = tally_events_new();
	for (__u64 at = header[3]; at < header[3] + header[4]; at += header[2]) {
		const __u64 *ids = (void *)(bytes + at + header[2] - 16);

		if (tally_events_add(file_events, (void *)(bytes + at),
				     (void *)(bytes + ids[0]), ids[1] / 8, NULL) < 0)
			errx(2, "%s: bad attr", path);
	}
	*begin = header[5];
	*end = header[5] + header[6];
}

#define U(x) ((unsigned long long)(x))

static void dump_mmap(const struct tally_record *r)
{
	const struct tally_mmap *m = &r->u.mmap;

	printf(" %d/%d: [%#llx(%#llx) @ %#llx", m->pid, m->tid, U(m->addr), U(m->len),
	       U(m->pgoff));
	if (r->type == PERF_RECORD_MMAP) {
		printf("]: %c %s", r->misc & PERF_RECORD_MISC_MMAP_DATA ? 'r' : 'x', m->filename);
		return;
	}
	if (m->build_id) {
		printf(" <");
		for (unsigned int i = 0; i < m->build_id_size; i++)
			printf("%02x", m->build_id[i]);
		printf(">]: ");
	} else {
		printf(" %02x:%02x %llu %llu]: ", m->maj, m->min, U(m->ino),
		       U(m->ino_generation));
	}
	printf("%c%c%c%c %s", m->prot & PROT_READ ? 'r' : '-', m->prot & PROT_WRITE ? 'w' : '-',
	       m->prot & PROT_EXEC ? 'x' : '-', m->flags & MAP_SHARED ? 's' : 'p', m->filename);
}

static void dump_namespaces(const struct tally_namespaces *n)
{
	static const char * const words[] = { "net", "uts", "ipc", "pid", "user", "mnt",
					      "cgroup" };

	printf(" %d/%d - nr_namespaces: %llu|\t\t[", n->pid, n->tid, U(n->nr));
	for (__u64 i = 0; i < n->nr; i++)
		printf("%s%llu/%s: %llu/%#llx%s", i && i % 4 == 0 ? "|\t\t " : "", U(i),
		       i < 7 ? words[i] : "unknown", U(n->links[i].dev), U(n->links[i].ino),
		       i + 1 < n->nr ? ", " : "]");
}

static void dump_bytes(const char *name, const unsigned char *byte, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (i % 16 == 0)
			printf("|            %s bytes:", name);
		printf(" %02x", byte[i]);
	}
}

static void dump_regs(const char *name, const struct tally_regs *regs)
{
	__u64 value;

	if (!regs->abi)
		return;
	printf("|... %s regs: mask 0x%llx ABI %s", name, U(regs->mask),
	       regs->abi == 2 ? "64-bit" : "32-bit");
	for (unsigned int i = 0; i < 64; i++)
		if (!tally_regs_get(regs, i, &value))
			printf("|.... 0x%016llx", U(value));
}

static void dump_counts(const struct tally_counts *c)
{
	struct tally_count_entry e;

	printf("|... sample_read:");
	if (c->format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		printf("|...... time enabled %016llx", U(c->enabled));
	if (c->format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		printf("|...... time running %016llx", U(c->running));
	if (c->format & PERF_FORMAT_GROUP)
		printf("|.... group nr %llu", U(c->nr));
	for (__u64 i = 0; !tally_counts_get(c, i, &e); i++) {
		printf("|..... id %016llx, value %016llx", U(e.id), U(e.value));
		if (c->format & TALLY_FORMAT_LOST)
			printf(", lost %llu", U(e.lost));
	}
}

static const char *page_name(__u64 size)
{
	static char name[32];

	if (!size)
		return "N/A";
	/* Of a sample that the kernel has miswritten it may be any number: see README. */
	if (size >= 1 << 30)
		snprintf(name, sizeof(name), "%lluG", U(size >> 30));
	else if (size >= 1 << 20)
		snprintf(name, sizeof(name), "%lluM", U(size >> 20));
	else
		snprintf(name, sizeof(name), "%lluK", U(size >> 10));
	return name;
}

/* What perf says of a sample without a period: its event's. */
static __u64 period_of(const struct tally_record *r)
{
	for (int e = 0; e < tally_events_nr(file_events); e++)
		if (r->format == tally_events_format(file_events, e))
			return ((struct perf_event_attr *)file_events->list[e].attr)->sample_period;
	return 0;
}

static void dump_sample(const struct tally_record *r)
{
	const struct tally_sample *s = &r->u.sample;

	printf("(IP, 0x%x): %d/%d: %#llx period: %llu addr: %#llx", r->misc, s->pid, s->tid,
	       U(s->ip), U(s->has & PERF_SAMPLE_PERIOD ? s->period : period_of(r)), U(s->addr));
	if (s->has & PERF_SAMPLE_CALLCHAIN) {
		printf("|... FP chain: nr:%llu", U(s->nr_ips));
		for (__u64 i = 0; i < s->nr_ips; i++)
			printf("|..... %2llu: %016llx", U(i), U(s->ips[i]));
	}
	if (s->has & PERF_SAMPLE_REGS_USER)
		dump_regs("user", &s->regs_user);
	if (s->has & PERF_SAMPLE_REGS_INTR)
		dump_regs("intr", &s->regs_intr);
	if (s->has & PERF_SAMPLE_STACK_USER)
		printf("|... ustack: size %llu", U(s->stack_used));
	if (s->has & PERF_SAMPLE_WEIGHT)
		printf("|... weight: %llu", U(s->weight));
	if (s->has & PERF_SAMPLE_DATA_SRC)
		printf("| . data_src: 0x%llx", U(s->data_src));
	if (s->has & PERF_SAMPLE_PHYS_ADDR)
		printf("| .. phys_addr: 0x%llx", U(s->phys_addr));
	if (s->has & PERF_SAMPLE_DATA_PAGE_SIZE)
		printf("| .. data page size: %s", page_name(s->data_page_size));
	if (s->has & PERF_SAMPLE_CODE_PAGE_SIZE)
		printf("| .. code page size: %s", page_name(s->code_page_size));
	if (s->has & PERF_SAMPLE_TRANSACTION)
		printf("|... transaction: %llx", U(s->transaction));
	if (s->has & PERF_SAMPLE_READ)
		dump_counts(&s->counts);
}

static void dump_read(const struct tally_read_record *r)
{
	struct tally_count_entry e;

	tally_counts_get(&r->counts, 0, &e);
	printf(": %d %d EVENT %llu", r->pid, r->tid, U(e.value));
	printf("|... time enabled : %llu|... time running : %llu|... id           : %llu|... lost         : %llu",
	       U(e.enabled), U(e.running), U(e.id), U(e.lost));
}

static void dump_switch(const struct tally_record *r)
{
	int out_of = r->misc & PERF_RECORD_MISC_SWITCH_OUT;

	printf(" %s", !out_of ? "IN         " : r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ?
			      "OUT preempt" : "OUT        ");
	if (r->type == PERF_RECORD_SWITCH_CPU_WIDE)
		printf("  %s pid/tid: %5d/%-5d", out_of ? "next" : "prev",
		       r->u.switch_cpu_wide.pid, r->u.switch_cpu_wide.tid);
}

static void dump_one(const struct tally_record *r)
{
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		dump_mmap(r);
		break;
	case PERF_RECORD_COMM:
		printf("%s: %s:%d/%d", r->misc & PERF_RECORD_MISC_COMM_EXEC ? " exec" : "",
		       r->u.comm.comm, r->u.comm.pid, r->u.comm.tid);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		printf("(%d:%d):(%d:%d)", r->u.task.pid, r->u.task.tid, r->u.task.ppid,
		       r->u.task.ptid);
		break;
	case PERF_RECORD_LOST:
		printf(": id:%llu: lost:%llu", U(r->u.lost.id), U(r->u.lost.lost));
		break;
	case PERF_RECORD_READ:
		dump_read(&r->u.read);
		break;
	case PERF_RECORD_SAMPLE:
		dump_sample(r);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		dump_switch(r);
		break;
	case PERF_RECORD_NAMESPACES:
		dump_namespaces(&r->u.namespaces);
		break;
	case PERF_RECORD_KSYMBOL:
		printf(" addr %llx len %u type %u flags 0x%x name %s", U(r->u.ksymbol.addr),
		       r->u.ksymbol.len, r->u.ksymbol.ksym_type, r->u.ksymbol.flags,
		       r->u.ksymbol.name);
		break;
	case PERF_RECORD_BPF_EVENT:
		printf(" type %u, flags %u, id %u", r->u.bpf_event.type, r->u.bpf_event.flags,
		       r->u.bpf_event.id);
		break;
	case PERF_RECORD_CGROUP:
		printf(" cgroup: %llu %s", U(r->u.cgroup.id), r->u.cgroup.path);
		break;
	case PERF_RECORD_TEXT_POKE:
		printf(" %llx old len %u new len %u", U(r->u.text_poke.addr),
		       r->u.text_poke.old_len, r->u.text_poke.new_len);
		dump_bytes("Old", r->u.text_poke.old_bytes, r->u.text_poke.old_len);
		dump_bytes("New", r->u.text_poke.new_bytes, r->u.text_poke.new_len);
		break;
	}
}

/* What perf does not tell of a record is compared with the trailer here. */
static int is_sound(const struct tally_record *r)
{
	switch (r->type) {
	case PERF_RECORD_LOST:
		return r->u.lost.id == r->id.id;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return r->u.throttle.id == r->id.id && r->u.throttle.stream_id &&
		       r->u.throttle.time <= r->id.time;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return r->u.task.time <= r->id.time + 1000000000;
	case PERF_RECORD_BPF_EVENT:
		return r->u.bpf_event.type == 1 || r->u.bpf_event.type == 2;
	case PERF_RECORD_SAMPLE:
		return !(r->u.sample.has & PERF_SAMPLE_RAW) || r->u.sample.raw_size == 4;
	default:
		return r->id.stream_id != 0;
	}
}

static int dump(const char *path, int own_words)
{
	const struct perf_event_header *header;
	unsigned long long unsound = 0;
	size_t at, end_at;
	struct tally_record r;

	read_file(path, &at, &end_at);
	for (; at < end_at; at += header->size) {
		header = (void *)((char *)file_bytes + at);
		if (tally_events_parse(file_events, &r, header, end_at - at) < 0)
			errx(2, "record at %#zx", at);
		if (own_words) {
			tally_record_print(stdout, &r);
			continue;
		}
		if (!is_sound(&r) && !unsound++) {
			fprintf(stderr, "# at %#zx\n", at);
			tally_record_print(stderr, &r);
		}
		printf("%#zx [%#x]: %u %llu PERF_RECORD_%s", at, r.size, r.id.cpu,
		       U(r.id.time), tally_record_name(r.type));
		dump_one(&r);
		putchar('\n');
	}
	if (!own_words)
		tell(!unsound, "what perf does not tell is sound");
	return 0;
}

/* ---- backward ----------------------------------------------------------- */

/* Rings that are overwritten, paused for a snapshot: the newest records, in order. */
static int backward(void)
{
	struct perf_event_attr attr = usual(PERF_COUNT_SW_PAGE_FAULTS);
	const struct perf_event_header *header;
	unsigned long long last = 0, disorder = 0, bad = 0;
	struct tally_record r;
	int told, nr, round;

	reader = tally_reader_new();
	attr.sample_period = 1;
	attr.sample_type |= PERF_SAMPLE_ADDR;
	attr.write_backward = 1;
	open_for(&attr, 0, -1, 2, "backward");
	tell(!tally_ring_pause(reader->rings[0].ring, 1) &&
	     !tally_ring_pause(reader->rings[0].ring, 0), "its ring can be paused");
	for (round = 0; round < 3; round++) {
		fault(1000);
		nr = tally_reader_snapshot(reader);
		for (told = 0, last = 0; (header = tally_reader_next(reader)); told++) {
			bad += tally_reader_parse(reader, header, &r) < 0 || r.size != 64;
			disorder += tally_record_time(&r) < last;
			last = tally_record_time(&r);
		}
		fprintf(stderr, "# %d records of %d, %llu in disorder, %llu bad\n", told, nr,
			disorder, bad);
		/* As many as there is room for. */
		tell(nr == told && nr == 2 * 4096 / 64, "the newest are there");
	}
	tell(!disorder && !bad, "in order, and whole");
	tally_reader_free(reader);
	return 0;
}

/* ---- device ------------------------------------------------------------- */

static int device(void)
{
	struct tally_target target = TALLY_TARGET_INIT;
	struct perf_event_attr attr;
	struct tally_counts counts;
	struct tally_count_entry e, page_entry;
	__u64 buffer[8], scaled;
	void *page;
	int fd;

	tally_attr_init(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			   PERF_FORMAT_ID;
	target.via = TALLY_VIA_DEVICE;
	fd = tally_open_event(&attr, &target);
	if (fd < 0)
		fprintf(stderr, "# %s\n", target.error);
	tell(fd >= 0, "an event of /dev/tally on all CPUs");
	page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	fault(100);
	usleep(300000);
	tell(!tally_read(fd, buffer, sizeof(buffer), attr.read_format, &counts) &&
	     !tally_counts_get(&counts, 0, &e) && e.value >= 100 && e.id && e.running,
	     "it is read");
	tell(!tally_scaled(e.value, e.enabled, e.running, &scaled) && scaled >= 100,
	     "its count is scaled");
	tell(tally_read(fd, buffer, 8, attr.read_format, &counts) == -ENOSPC,
	     "a buffer that is too small is told");
	tell(page != MAP_FAILED && !tally_page_read(page, &page_entry) &&
	     page_entry.value >= 100 && page_entry.value <= e.value && page_entry.enabled,
	     "its page is read without a system call");
	attr.config = 12345;
	tell(tally_open_event(&attr, &target) < 0 && target.error[0],
	     "an event that cannot be is refused, with a reason");
	fprintf(stderr, "# %s\n", target.error);
	target.via = TALLY_VIA_PERF;
	target.cpu = 0;
	tell(tally_open_event(&attr, &target) < 0 && target.error[0], "by perf, too");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "backward"))
		return backward();
	if (argc == 2 && !strcmp(argv[1], "device"))
		return device();
	if (argc < 3)
		errx(2, "usage: recorded record|dump|print FILE, or recorded device|backward");
	if (!strcmp(argv[1], "record"))
		return record(argv[2]);
	return dump(argv[2], !strcmp(argv[1], "print"));
}
