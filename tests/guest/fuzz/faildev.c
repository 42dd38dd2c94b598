// SPDX-License-Identifier: GPL-2.0
/*
 * faildev SHARED: makes each call on /dev/tally and its files with the first allocation
 * failing, then with the second, and so on until no allocation is left to fail. SHARED is
 * an event of another module that shares its samples.
 *
 * Each call must either fail with ENOMEM, or succeed because the kernel does without the
 * allocation. After the files are closed again, nothing may be left: no event, and no
 * memory that a ring had locked. After its notes, the program prints "ok TEXT" or
 * "bad TEXT" for each call; "bad" with the first complaint. tally must have no events but
 * those of the module of SHARED.
 */
#define _GNU_SOURCE
#include "either.h"
#include "failnth.h"
#include "mlock.h"

/* ---- calls ---- */

enum { TASK, CPU_0, ALL_CPUS };

#define MAPS 4

static int made = -1, other = -1, group = -1;
static struct { void *at; size_t size; } maps[MAPS];
static struct perf_event_attr attr;
static struct tally_open o;
static struct tally_value values[64];
static const char *shared;
static char buf[4096];

/* Makes the event of @attr, by default of page faults, and clears @attr. */
static int make_event(int leader, unsigned int flags, int where)
{
	int fd;

	attr.size = sizeof(attr);
	if (!attr.type) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	}
	attr.read_format = PERF_FORMAT_GROUP;
	o.size = sizeof(o);
	o.attr = (unsigned long)&attr;
	o.error = (unsigned long)&why;
	o.pid = where == TASK ? 0 : -1;
	o.cpu = where == CPU_0 ? 0 : -1;
	o.group_fd = leader;
	o.flags = flags | (where == ALL_CPUS ? TALLY_OPEN_ALL_CPUS : 0);
	fd = open_as(TALLY, &o);
	memset(&attr, 0, sizeof(attr));
	return fd;
}

/* The period is too long to end: overflows are not tested here. */
static int open_sampling(uint64_t type, int where)
{
	attr.sample_period = 1000000000;
	attr.sample_type = type;
	return make_event(-1, 0, where);
}

static int do_device(void)
{
	made = device_file();
	return made;
}

static int do_task(void)
{
	made = make_event(-1, 0, TASK);
	return made;
}

static int do_all(void)
{
	strcpy(o.name, "named");
	made = make_event(-1, 0, ALL_CPUS);
	memset(o.name, 0, sizeof(o.name));
	return made;
}

static int do_overflow(void)
{
	attr.sample_period = 1000;
	made = make_event(-1, 0, ALL_CPUS);
	return made;
}

static int do_sibling(void)
{
	made = make_event(group, 0, ALL_CPUS);
	return made;
}

/* A member lives as long as its group. So the group is made anew each time. */
static int do_member(void)
{
	return make_event(made, TALLY_OPEN_MEMBER, ALL_CPUS);
}

static int do_attach(void)
{
	struct tally_attach at = { .size = sizeof(at), .name = "leader" };

	made = ioctl(device, TALLY_IOC_ATTACH, &at);
	return made;
}

static int do_next(void)
{
	struct tally_next next = { .size = sizeof(next) };

	return ioctl(device, TALLY_IOC_NEXT, &next);
}

/* A line that makes, and with @undo() removes, an event or a set. */
static int give_line(unsigned int op, const char *line)
{
	struct tally_line l = {
		.size = sizeof(l), .op = op, .line = (unsigned long)line,
		.error = (unsigned long)&why,
	};

	return ioctl(device, TALLY_IOC_LINE, &l);
}

static int do_line(void)
{
	return give_line(TALLY_LINE_CREATE, "page-faults period=1000000000 name=line");
}

static int do_set_line(void)
{
	return give_line(TALLY_LINE_CREATE, "{page-faults,cs} name=line");
}

static int do_line_off(void)
{
	return give_line(TALLY_LINE_DISABLE, "line");
}

static int do_line_gone(void)
{
	return give_line(TALLY_LINE_REMOVE, "line");
}

static int do_parse(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	struct tally_parse p = {
		.size = sizeof(p), .name = (unsigned long)"software/config=2/:u",
		.attr = (unsigned long)&attr, .error = (unsigned long)&why,
	};

	return ioctl(device, TALLY_IOC_PARSE, &p);
}

static int do_read(void)
{
	return read(group, buf, sizeof(buf)) < 0 ? -1 : 0;
}

static int do_values(void)
{
	struct tally_read r = {
		.size = sizeof(r), .cpu = -1, .nr = 64, .values = (unsigned long)values,
		.value_size = sizeof(*values),
	};

	return ioctl(group, TALLY_IOC_READ, &r);
}

static int do_off(void)
{
	return ioctl(group, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
}

static int do_on(void)
{
	return ioctl(group, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

static int do_zero(void)
{
	return ioctl(group, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
}

/* ---- samples and rings ---- */

#define READ_WRITE (PROT_READ | PROT_WRITE)

static int keep_map(int fd, int pages, int prot, int cpu)
{
	void *at = map_pages(fd, pages, prot, TALLY_RING_AT(cpu));
	int i = 0;

	if (at == MAP_FAILED)
		return -1;
	while (maps[i].at)
		i++;
	maps[i].at = at;
	maps[i].size = pages * page_size;
	return 0;
}

static int do_page(void)
{
	return keep_map(made, 1, PROT_READ, 0);
}

static int do_samples(void)
{
	attr.sample_regs_user = 0xff;
	attr.sample_regs_intr = 0xff;
	attr.sample_stack_user = 1024;
	made = open_sampling(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN |
			     PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR |
			     PERF_SAMPLE_STACK_USER, TASK);
	return made;
}

static int do_samples_of_all(void)
{
	made = open_sampling(PERF_SAMPLE_IP | PERF_SAMPLE_TIME, ALL_CPUS);
	return made;
}

static int do_samples_of_cpu(void)
{
	made = open_sampling(PERF_SAMPLE_IP | PERF_SAMPLE_CPU, CPU_0);
	return made;
}

static void told_of_tasks(void)
{
	attr.comm = 1;
	attr.task = 1;
	attr.context_switch = 1;
	attr.cgroup = 1;
	attr.sample_id_all = 1;
}

static int do_side(void)
{
	told_of_tasks();
	attr.inherit = 1;
	made = make_event(-1, 0, TASK);
	return made;
}

static int do_side_of_all(void)
{
	told_of_tasks();
	made = make_event(-1, 0, ALL_CPUS);
	return made;
}

static int do_ring_of_1(void)
{
	return keep_map(made, 1 + 1, READ_WRITE, 0);
}

static int do_ring_of_64(void)
{
	return keep_map(made, 1 + 64, PROT_READ, 0);
}

static int do_ring_of_cpu_1(void)
{
	return keep_map(made, 1 + 8, READ_WRITE, 1);
}

static int do_ringed(void)
{
	return do_samples_of_all() < 0 ? -1 : keep_map(made, 1 + 2, READ_WRITE, 1);
}

/* The ring exists, and is mapped at another address. */
static int do_ring_again(void)
{
	return keep_map(made, 1 + 2, READ_WRITE, 1);
}

static int do_sampling_member(void)
{
	attr.sample_period = 1000000000;
	attr.sample_type = PERF_SAMPLE_TID;
	return make_event(made, TALLY_OPEN_MEMBER, ALL_CPUS);
}

/* Makes an event with a ring (@other) and one that only counts (@made). */
static int do_two(void)
{
	other = open_sampling(PERF_SAMPLE_IP, ALL_CPUS);
	if (other < 0 || keep_map(other, 1 + 4, READ_WRITE, 0))
		return -1;
	made = make_event(-1, 0, ALL_CPUS);
	return made;
}

static int do_set_output(void)
{
	return ioctl(made, PERF_EVENT_IOC_SET_OUTPUT, other);
}

static int do_two_shared(void)
{
	return do_two() < 0 ? -1 : do_set_output();
}

static int do_shared_ring(void)
{
	return keep_map(made, 1 + 4, READ_WRITE, 0);
}

static int do_one_ring(void)
{
	other = open_sampling(PERF_SAMPLE_IP, ALL_CPUS);
	return other < 0 ? -1 : keep_map(other, 1 + 4, READ_WRITE, 0);
}

static int do_fd_output(void)
{
	attr.sample_type = PERF_SAMPLE_TIME;
	attr.sample_period = 1000000000;
	o.perf_flags = PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP;
	made = make_event(other, 0, ALL_CPUS);
	o.perf_flags = 0;
	return made;
}

static int do_tracepoint(void)
{
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = atoi(contents("/sys/kernel/tracing/events/sched/sched_switch/id"));
	made = make_event(-1, 0, TASK);
	return made;
}

static int do_filter(void)
{
	return ioctl(made, PERF_EVENT_IOC_SET_FILTER,
		     "(prev_pid == 0 && next_comm ~ \"*sh*[a-z]\") || !(comm == \"init\" && cpu < 4)"
		     " || next_prio & 1 || CPU & 3");
}

static int do_attach_ring(void)
{
	struct tally_attach at = { .size = sizeof(at) };

	snprintf(at.name, sizeof(at.name), "%s", shared);
	made = ioctl(device, TALLY_IOC_ATTACH, &at);
	return made;
}

static int do_ring_of_8(void)
{
	return keep_map(made, 1 + 8, PROT_READ, 0);
}

static int do_signals(void)
{
	return fcntl(made, F_SETFL, O_ASYNC);
}

static void undo(void)
{
	int i;

	for (i = 0; i < MAPS; i++) {
		if (maps[i].at)
			munmap(maps[i].at, maps[i].size);
		maps[i].at = NULL;
	}
	give_line(TALLY_LINE_REMOVE, "line");
	if (made >= 0)
		close(made);
	if (other >= 0)
		close(other);
	made = -1;
	other = -1;
}

static const struct op {
	const char *name;
	int (*run)(void);
	int (*first)(void);
	int least;	/* number of ENOMEM that must be seen */
} ops[] = {
	{ "the device opened", do_device, NULL, 1 },
	{ "a file for a task", do_task, NULL, 3 },
	{ "a file for all CPUs, with a name", do_all, NULL, 5 },
	{ "one that overflows", do_overflow, NULL, 5 },
	{ "a sibling", do_sibling, NULL, 3 },
	{ "a member", do_member, do_all, 1 },
	{ "attached to", do_attach, NULL, 3 },
	{ "the next one", do_next, NULL, 0 },
	{ "a line", do_line, NULL, 5 },
	{ "the line of a set", do_set_line, NULL, 5 },
	{ "an event of a line disabled", do_line_off, do_line, 1 },
	{ "an event of a line removed", do_line_gone, do_line, 1 },
	{ "a name", do_parse, NULL, 1 },
	{ "a group read", do_read, NULL, 0 },
	{ "all values", do_values, NULL, 1 },
	{ "a page mapped", do_page, do_all, 3 },
	{ "a group disabled", do_off, NULL, 0 },
	{ "and enabled", do_on, NULL, 0 },
	{ "and reset", do_zero, NULL, 0 },
	{ "samples with chains, registers and stacks", do_samples, NULL, 5 },
	{ "what a task's children do", do_side, NULL, 5 },
	{ "what all tasks do", do_side_of_all, NULL, 5 },
	{ "signals", do_signals, do_samples, 1 },
	{ "a ring of a page", do_ring_of_1, do_samples, 5 },
	{ "one of an event that only counts", do_ring_of_1, do_task, 5 },
	{ "a ring of 64 pages, of a CPU", do_ring_of_64, do_samples_of_cpu, 60 },
	{ "a ring of one of all CPUs", do_ring_of_cpu_1, do_samples_of_all, 10 },
	{ "a ring of what all tasks do", do_ring_of_cpu_1, do_side_of_all, 10 },
	{ "a ring mapped twice", do_ring_again, do_ringed, 1 },
	{ "a member that writes to its leader's ring", do_sampling_member, do_ringed, 5 },
	{ "SET_OUTPUT", do_set_output, do_two, 1 },
	{ "the ring that came by that", do_shared_ring, do_two_shared, 1 },
	{ "a file that begins with another one's ring", do_fd_output, do_one_ring, 5 },
	{ "a filter", do_filter, do_tracepoint, 1 },
	{ "attached to one with a ring", do_attach_ring, NULL, 3 },
	{ "that ring", do_ring_of_8, do_attach_ring, 0 },
};

/* ---- checks that nothing is left ---- */

#define ALLOWANCE_PAGES (1 + 4)
#define MLOCK_KBYTES "/sys/module/tally/parameters/mlock_kbytes"

static int meter, one_more;

static void set_mlock_kbytes(const char *kbytes)
{
	int fd = open(MLOCK_KBYTES, O_WRONLY);

	if (fd < 0 || put(fd, kbytes))
		err(2, MLOCK_KBYTES);
	close(fd);
}

/* Copies the numbers of events, counters and perf's events from the file stats. */
static void numbers(char *to, size_t size)
{
	char *end;

	contents(DIR "/stats");
	end = strstr(text, "hotplug_repairs");
	*(end ?: text) = '\0';
	snprintf(to, size, "%.100s", text);
}

/* The numbers before a call. */
static char before[128];

/* Says what is left, or returns NULL. */
static const char *left(void)
{
	static char now[128];

	numbers(now, sizeof(now));
	if (strcmp(now, before))
		return now;
	contents("/proc/self/status");
	if (!strstr(text, "VmLck:\t       0 kB") || !strstr(text, "VmPin:\t       0 kB"))
		return "locked memory, by /proc/self/status";
	return wrong_allowance(meter, one_more, ALLOWANCE_PAGES);
}

/* No call makes as many allocations, apart from those that only fill caches. */
#define MOST 150

/*
 * Makes the call with each of its allocations failing, until something is wrong. Returns
 * the number of ENOMEM.
 */
static int try_once(const struct op *op)
{
	int n, error, hit = 1, enomem = 0, without = 0, last = 0;
	const char *wrong;

	for (n = 1; hit && n <= MOST; n++) {
		if (op->first && op->first() < 0)
			err(2, "%s", op->name);
		arm(n);
		error = op->run() < 0 ? errno : 0;
		hit = disarm();
		last = error;
		if (!error)
			without += hit;
		else if (error == ENOMEM && hit)
			enomem++;
		else
			complain(n, "%s%s: %s", outcome(error), hit ? "" : ", and none failed",
				 why.text);
		undo();
		wrong = left();
		if (wrong) {
			complain(n, "%s, and something is left: %s", outcome(error), wrong);
			break;
		}
		if (do_read())
			complain(n, "the group cannot be read: %s", outcome(errno));
	}
	if (last)
		complain(n, "without failures it says %s", outcome(last));
	printf("# %d allocations: %d times ENOMEM, %d times it did without\n",
	       n - 2, enomem, without);
	return enomem;
}

/*
 * Every other allocation is one of a debugging check, which does without the memory. The
 * allocator also takes memory for itself in between, and not at the same place each time.
 * So a number does not stand for the same allocation each time, and some allocations may
 * never fail: on a busy machine, three of seven failures were noticed. So each call is
 * tried several times.
 */
static void try(const struct op *op)
{
	int tries, enomem = 0, most = 0;

	bad = 0;
	for (tries = 0; tries < 5 && !bad && (!tries || most < op->least); tries++) {
		enomem = try_once(op);
		if (enomem > most)
			most = enomem;
	}
	if (!bad && most < op->least)
		complain(0, "in %d tries at most %d failures were noticed, not %d", tries, most,
			 op->least);
	conclude("device", op->name);
}

/* Sets an allowance that is so small that left() can use all of it each time. */
static void set_allowance(void)
{
	char kbytes[24];

	snprintf(kbytes, sizeof(kbytes), "%ld", ALLOWANCE_PAGES * page_size / 1024);
	set_mlock_kbytes(kbytes);
}

int main(int argc, char **argv)
{
	char kbytes[24], whole[128];
	const char *wrong;
	int failed = 0;
	size_t i;

	if (argc != 2)
		errx(2, "usage: faildev SHARED");
	shared = argv[1];
	begin();
	page_size = getpagesize();
	snprintf(kbytes, sizeof(kbytes), "%.20s", contents(MLOCK_KBYTES));
	set_allowance();
	limit_memory();
	need_device();
	meter = make_event(-1, 0, ALL_CPUS);
	one_more = make_event(-1, 0, ALL_CPUS);
	if (meter < 0 || one_more < 0)
		err(2, "%s", why.text);
	numbers(whole, sizeof(whole));
	strcpy(o.name, "leader");
	group = make_event(-1, 0, ALL_CPUS);
	memset(o.name, 0, sizeof(o.name));
	for (i = 1; i < 10; i++)
		if (make_event(group, TALLY_OPEN_MEMBER, ALL_CPUS) < 0)
			err(2, "%s", why.text);
	numbers(before, sizeof(before));
	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		try(&ops[i]);
		failed += !!bad;
	}
	close(group);
	strcpy(before, whole);
	wrong = left();
	printf("%s device: nothing is left%s%s\n", wrong ? "bad" : "ok", wrong ? ": " : "",
	       wrong ?: "");
	close(device);
	set_mlock_kbytes(kbytes);
	return failed || wrong;
}
