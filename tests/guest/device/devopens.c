// SPDX-License-Identifier: GPL-2.0
/*
 * devopens opens N: perf_event_open(2) and TALLY_IOC_OPEN beside each other, for one in N of
 *	thousands of combinations of attr, target, group and flags. Where tally has another
 *	result than perf, a table has the reason.
 */
#define _GNU_SOURCE
#include "devperf.h"
#include <sys/utsname.h>

/* ---- what is combined ---- */

#define OF(t, c)	.type = (t), .config = (c), .size = sizeof(struct perf_event_attr)

/* Numbers that the kernel chooses: set_bases() puts them in. */
enum { KPROBE = 1000, UPROBE, TRACED };

static struct perf_event_attr bases[] = {
	{ FAULTS },
	{ SW(PERF_COUNT_SW_CPU_CLOCK) },
	{ SW(PERF_COUNT_SW_TASK_CLOCK) },
	{ SW(PERF_COUNT_SW_CONTEXT_SWITCHES) },
	{ SW(PERF_COUNT_SW_DUMMY) },
	{ FAULTS, .sample_period = 100000 },
	{ SW(PERF_COUNT_SW_CPU_CLOCK), .freq = 1, .sample_freq = 100,
	  .sample_type = PERF_SAMPLE_IP },
	{ SW(9999) },
	{ OF(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) },
	{ OF(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS), .sample_period = 1 << 30 },
	{ OF(PERF_TYPE_HW_CACHE, 0x10002) },
	{ OF(PERF_TYPE_RAW, 0x11) },
	{ OF(PERF_TYPE_BREAKPOINT, 0), .bp_addr = 0x1000, .bp_len = 4, .bp_type = 2,
	  .exclude_kernel = 1 },
	{ OF(PERF_TYPE_TRACEPOINT, TRACED) },
	{ OF(PERF_TYPE_TRACEPOINT, TRACED), .sample_period = 1, .sample_type = PERF_SAMPLE_RAW },
	{ FAULTS, .inherit = 1, .sample_period = 9,
	  .sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID },
	{ OF(KPROBE, 0) },
	{ OF(UPROBE, 0) },
	{ OF(99, 0) },
	/* perf takes seconds to open ftrace:function, so the attr is not changed. */
	{ OF(PERF_TYPE_TRACEPOINT, 1), .exclude_kernel = 1 },
};

#define CHANGED		(NR(bases) - 1)

/* A change of an attr replaces @size bytes by @value, or xors them with it. */
struct change {
	unsigned int at, size;
	int flip;
	uint64_t value;
};

static struct change changes[400];
static unsigned int nr_changes;

#define AT(member)	offsetof(struct perf_event_attr, member)
#define BITS		40	/* where the one-bit members begin */

static void add_change(unsigned int at, unsigned int size, int flip, uint64_t value)
{
	changes[nr_changes++] = (struct change) { at, size, flip, value };
}

static void add_values(unsigned int at, unsigned int size, const uint64_t *values, unsigned int nr)
{
	while (nr--)
		add_change(at, size, 0, *values++);
}

#define VALUES(at, size, ...)	do {						\
	static const uint64_t values[] = { __VA_ARGS__ };			\
										\
	add_values(at, size, values, NR(values));				\
} while (0)

static void add_changes(void)
{
	unsigned int bit;

	for (bit = 0; bit < 64; bit++)
		add_change(BITS, 8, 1, 1ULL << bit);
	for (bit = 0; bit < 32; bit++)
		add_change(AT(sample_type), 8, 1, 1ULL << bit);
	for (bit = 0; bit < 7; bit++)
		add_change(AT(read_format), 8, 1, 1ULL << bit);
	/* Several at once: an event that waits for exec(), leaves by it, traps, ... */
	VALUES(BITS, 8, 0x1001, 1ULL << 36 | 0x1001, 3ULL << 36 | 1, 3ULL << 36 | 3,
	       1ULL << 35 | 3, 0x71, 0x73, 0x180001, 0x2201, 6);
	VALUES(AT(sample_type), 8, ~0ULL, 0x1000 | 0x800, 0x4000 | 0x10, 0x10 | 2);
	VALUES(0, 4, 0, 1, 2, 3, 4, 5, 6, 7, 100, 0x7fffffff, 0xffffffff);
	VALUES(4, 4, 0, 1, 63, 64, 72, 80, 96, 104, 112, 120, 128, 136, 4096, 4097, 0xffffffff);
	VALUES(AT(config), 8, 1, 2, 3, 8, 12, 0xff, 1ULL << 32, 1ULL << 63, ~0ULL);
	VALUES(AT(sample_period), 8, 1, 5000, 100001, 1ULL << 62, 1ULL << 63, ~0ULL);
	VALUES(AT(wakeup_events), 4, 1, ~0U);
	VALUES(AT(bp_type), 4, 1, 2, 3, 4, 5, 6, 7, 8, ~0U);
	VALUES(AT(bp_addr), 8, 1, 0x1002, 0x1004, 0x1007, ~0ULL, 0x7fffffffffff, 1ULL << 63);
	VALUES(AT(bp_len), 8, 0, 1, 2, 3, 5, 7, 8, 9, 16, 1ULL << 32, ~0ULL);
	VALUES(AT(branch_sample_type), 8, 1, 8, 9, 1ULL << 17, 1ULL << 40, ~0ULL);
	VALUES(AT(sample_regs_user), 8, 1, 0xff, 1ULL << 24, 1ULL << 40, 1ULL << 63, ~0ULL);
	VALUES(AT(sample_stack_user), 4, 8, 12, 65528, 65535, 65536, ~0U);
	VALUES(AT(clockid), 4, 1, 2, 4, 7, 11, 99, ~0U);
	VALUES(AT(sample_regs_intr), 8, 1, 0xff, 1ULL << 24, 1ULL << 40, 1ULL << 63, ~0ULL);
	VALUES(AT(aux_watermark), 4, 1, 4096, ~0U);
	VALUES(AT(sample_max_stack), 2, 1, 127, 128, 0xffff);
	VALUES(AT(__reserved_2), 2, 1, 0x8000);
	VALUES(112, 4, 8, 0x10000);		/* aux_sample_size */
	VALUES(116, 4, 1, 2, 4, 3, 8, 1U << 31);	/* aux_action, and reserved bits */
	VALUES(120, 8, 1);			/* sig_data */
	VALUES(128, 8, 1);			/* config3 */
}

/* Two children, one of which has exited, and the folder of a cgroup. */
static pid_t idle, dead, cgroup;
#define IDLE	0x7ffffffe
#define DEAD	0x7fffffff
#define CGROUP	0x7ffffffd

/* The first is the usual one. */
static struct {
	pid_t pid;
	int cpu;
} targets[] = {
	{ 0, -1 }, { 0, 0 }, { 0, 1 }, { -1, 0 }, { -1, 1 }, { -1, -1 },
	{ NOBODYS_PID, -1 }, { NOBODYS_PID, 9999 }, { -2, -1 }, { 0, -2 }, { -1, 9999 },
	{ 0, 9999 }, { 9999, 0 }, { IDLE, -1 }, { IDLE, 0 }, { DEAD, -1 }, { CGROUP, 0 },
};

enum {
	ALONE, BELOW, NO_FILE, NO_EVENT, PLAIN, PINNED, EXCLUSIVE, ON_CPU, OF_CPU, OF_IDLE,
	INHERITED, SIBLING, ENDED, OTHER_CLOCK, WITH_RING, BACKWARD, SAMPLED, GROUPS
};

/* group_fd of perf's calls, and of tally's. */
static int groups[2][GROUPS];

static const unsigned long flags[] = {
	0, PERF_FLAG_FD_CLOEXEC, PERF_FLAG_FD_NO_GROUP, PERF_FLAG_FD_OUTPUT,
	PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT, PERF_FLAG_PID_CGROUP,
	PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_NO_GROUP, 16, 1UL << 31, ~0UL,
};

static struct combo {
	struct perf_event_attr attr;
	char room[5000];	/* for any size of the attr */
	unsigned int base, changes[3], nr_changes;
	pid_t pid;
	int cpu, group;
	unsigned long flags;
	long result[2];		/* of perf and of tally */
} combo;

/* ---- the differences ---- */

static uint64_t bits_of(const struct perf_event_attr *a)
{
	uint64_t bits;

	memcpy(&bits, (const char *)a + BITS, sizeof(bits));
	return bits;
}

static uint32_t word_at(const struct perf_event_attr *a, unsigned int at)
{
	uint32_t word;

	memcpy(&word, (const char *)a + at, sizeof(word));
	return a->size > at || !a->size ? word : 0;
}

static int not_told(const struct combo *c)
{
	return !!(bits_of(&c->attr) & (1ULL << 8 | 1ULL << 11 | 1ULL << 17 | 1ULL << 23 |
				       7ULL << 28 | 3ULL << 33));
}

static int of_aux(const struct combo *c)
{
	return bits_of(&c->attr) >> 31 & 1 || c->attr.sample_type & PERF_SAMPLE_AUX ||
	       word_at(&c->attr, 112) || word_at(&c->attr, 116);
}

static int of_cgroup(const struct combo *c)
{
	return c->flags & PERF_FLAG_PID_CGROUP;
}

static int trapped_children(const struct combo *c)
{
	return c->attr.sigtrap && c->attr.inherit;
}

static int read_of_children(const struct combo *c)
{
	return c->attr.inherit && c->attr.sample_type & PERF_SAMPLE_READ &&
	       c->attr.sample_type & PERF_SAMPLE_TID;
}

static int of_functions(const struct combo *c)
{
	return c->attr.type == PERF_TYPE_TRACEPOINT && c->attr.config == 1;
}

static int probe_by_name(const struct combo *c)
{
	return c->attr.type >= PERF_TYPE_MAX && c->attr.config1;
}

static int breakpoint_overflows(const struct combo *c)
{
	return c->attr.type == PERF_TYPE_BREAKPOINT && c->attr.sample_period;
}

static int exclusive_leader(const struct combo *c)
{
	return c->group == EXCLUSIVE && !(c->flags & PERF_FLAG_FD_NO_GROUP);
}

static int ended_leader(const struct combo *c)
{
	return c->group == ENDED;
}

static int waits_for_exec(const struct combo *c)
{
	return c->group >= PLAIN && !(c->flags & PERF_FLAG_FD_NO_GROUP) && c->attr.enable_on_exec;
}

static int unsafe_clock(const struct combo *c)
{
	return c->attr.use_clockid && (c->attr.clockid == CLOCK_REALTIME ||
	       c->attr.clockid == CLOCK_BOOTTIME || c->attr.clockid == CLOCK_TAI);
}

static int is_later(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	uname(&name);
	sscanf(name.release, "%d.%d", &major, &minor);
	return major > 6 || (major == 6 && minor >= 12);
}

static int is_earlier(void)
{
	return !is_later();
}

static int not_x86(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return 0;
#else
	return 1;
#endif
}

/*
 * Where tally differs from perf, and why. @error is tally's errno; 0 if tally opens the event
 * and perf does not. A row that is not for all kernels asks @here.
 */
static struct difference {
	const char *why;
	int (*match)(const struct combo *c);
	int error;
	int (*here)(void);
	unsigned long times;
} differences[] = {
	{ .match = not_told, .error = EOPNOTSUPP,
	  .why = "modules are not told of mappings, namespaces, symbols and the counts of children" },
	{ .match = of_aux, .error = EOPNOTSUPP, .why = "kernel events have no AUX area" },
	{ .match = of_cgroup, .error = EBADF,
	  .why = "perf asks the PMU before it looks at the cgroup, and tally never asks it" },
	{ .match = trapped_children, .error = EOPNOTSUPP,
	  .why = "perf sends children the signal even while the event is disabled" },
	{ .match = read_of_children, .error = EINVAL, .here = is_later,
	  .why = "each child counts by itself in perf, and a module's event has one count" },
	{ .match = of_functions, .error = EOPNOTSUPP,
	  .why = "it would hook each function of the kernel" },
	{ .match = probe_by_name, .error = EOPNOTSUPP,
	  .why = "perf reads the name from the memory of the task, also when a cpu comes online" },
	{ .match = breakpoint_overflows, .error = EOPNOTSUPP, .here = not_x86,
	  .why = "the kernel steps over a breakpoint for perf's own handler only" },
	{ .match = exclusive_leader, .error = EOPNOTSUPP,
	  .why = "an exclusive leader would keep its siblings off the PMU" },
	{ .match = waits_for_exec, .error = EOPNOTSUPP,
	  .why = "exec() enables each event of perf, and a sibling of tally with its leader" },
	{ .match = ended_leader, .error = ENODEV, .here = is_earlier,
	  .why = "older kernels do not look whether the leader has ended" },
	{ .match = unsafe_clock, .error = 0, .why = "tally reads these clocks as NMI allows" },
};

static struct difference *difference_of(const struct combo *c)
{
	struct difference *d;

	for (d = differences; d < differences + NR(differences); d++)
		if (c->result[TALLY] == -d->error && d->match(c) && (!d->here || d->here()))
			return d;
	return NULL;
}

/* ---- all combinations ---- */

static unsigned long same, different, unexplained;

static void print_combo(const struct combo *c)
{
	const struct change *change;
	unsigned int i;

	printf("bad base %u pid %d cpu %d group %d flags %#lx:", c->base, c->pid, c->cpu, c->group,
	       c->flags);
	for (i = 0; i < c->nr_changes; i++) {
		change = &changes[c->changes[i]];
		printf(" attr+%u%s%#llx", change->at, change->flip ? "^" : "=",
		       (unsigned long long)change->value);
	}
	printf(": %s, %s %s\n", name_of(c->result[PERF]), name_of(c->result[TALLY]), why.text);
}

static void change_attr(struct combo *c, unsigned int n)
{
	const struct change *change = &changes[n];
	uint64_t value = 0;
	char *at = (char *)&c->attr + change->at;

	c->changes[c->nr_changes++] = n;
	memcpy(&value, at, change->size);
	value = change->flip ? value ^ change->value : change->value;
	memcpy(at, &value, change->size);
}

static void begin_combo(struct combo *c, unsigned int base, unsigned int target)
{
	memset(c, 0, sizeof(*c));
	c->attr = bases[base];
	c->base = base;
	c->pid = targets[target].pid == IDLE ? idle : targets[target].pid == DEAD ? dead :
		 targets[target].pid == CGROUP ? cgroup : targets[target].pid;
	c->cpu = targets[target].cpu;
}

/* Only combinations whose number is a multiple of this are tried. */
static unsigned int stride;

static void run_combo(struct combo *c)
{
	static unsigned long turn;
	static struct combo copy;
	struct difference *d;
	int kind, fd;

	if (turn++ % stride)
		return;
	for (kind = PERF; kind <= TALLY; kind++) {
		/* The kernel may write the size that it knows. */
		copy = *c;
		fd = open_event(kind, &copy.attr, c->pid, c->cpu, groups[kind][c->group], c->flags);
		c->result[kind] = fd < 0 ? -errno : 0;
		if (fd >= 0)
			close(fd);
	}
	if (c->result[PERF] == c->result[TALLY]) {
		same++;
		return;
	}
	d = difference_of(c);
	if (d) {
		d->times++;
		different++;
	} else if (unexplained++ < 40) {
		print_combo(c);
	}
}

static uint32_t below(uint32_t n)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 20) % n;
}

static void random_combo(void)
{
	unsigned int n = below(4);

	begin_combo(&combo, below(CHANGED), below(2) ? 0 : below(NR(targets)));
	while (n--)
		change_attr(&combo, below(nr_changes));
	combo.group = below(2) ? ALONE : below(GROUPS);
	combo.flags = below(2) ? 0 : flags[below(NR(flags))];
	run_combo(&combo);
}

static void set_bases(void)
{
	struct perf_event_attr *a;

	for (a = bases; a < bases + NR(bases); a++) {
		a->disabled = 1;
		if (a->type == KPROBE)
			a->type = type_of("kprobe") ?: 98;
		if (a->type == UPROBE)
			a->type = type_of("uprobe") ?: 97;
		if (a->config == TRACED)
			a->config = trace_id("task/task_rename");
	}
}

static void open_group(int group, struct perf_event_attr *a, pid_t pid, int cpu, int leader)
{
	int kind;

	a->disabled = 1;
	for (kind = PERF; kind <= TALLY; kind++) {
		groups[kind][group] = open_event(kind, a, pid, cpu, groups[kind][leader], 0);
		if (groups[kind][group] < 0)
			tell(0, "%s: group %d: %s", maker(kind), group, why.text);
	}
}

static void map_group(int group)
{
	int kind;

	for (kind = PERF; kind <= TALLY; kind++)
		if (map_pages(groups[kind][group], 2, PROT_READ | PROT_WRITE, 0) == MAP_FAILED)
			tell(0, "%s: group %d: a ring", maker(kind), group);
}

#define GROUP(group, pid, cpu, ...)	\
	open_group(group, &(struct perf_event_attr) { FAULTS, __VA_ARGS__ }, pid, cpu, ALONE)

static void set_groups(void)
{
	int kind;

	for (kind = PERF; kind <= TALLY; kind++) {
		groups[kind][ALONE] = -1;
		groups[kind][BELOW] = -2;
		groups[kind][NO_FILE] = 9999;
		groups[kind][NO_EVENT] = device;
	}
	GROUP(PLAIN, 0, -1);
	GROUP(PINNED, 0, -1, .pinned = 1);
	GROUP(EXCLUSIVE, 0, -1, .exclusive = 1);
	GROUP(ON_CPU, -1, 0);
	GROUP(OF_CPU, 0, 0);
	GROUP(OF_IDLE, idle, -1);
	GROUP(INHERITED, 0, -1, .inherit = 1);
	open_group(SIBLING, &(struct perf_event_attr) { FAULTS }, 0, -1, PLAIN);
	GROUP(ENDED, dead, -1);
	GROUP(OTHER_CLOCK, 0, -1, .use_clockid = 1, .clockid = CLOCK_MONOTONIC);
	GROUP(WITH_RING, 0, -1);
	map_group(WITH_RING);
	GROUP(BACKWARD, 0, -1, .sample_period = 1, .write_backward = 1);
	map_group(BACKWARD);
	GROUP(SAMPLED, 0, -1, .sample_period = 1000, .sample_type = PERF_SAMPLE_IP);
}

/* Events may overflow, and send the signal of sigtrap. */
static void ignored(int number)
{
	(void)number;
}

static void prepare(void)
{
	struct sigaction act = { .sa_handler = ignored };
	siginfo_t info;

	sigaction(SIGTRAP, &act, NULL);
	cgroup = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY);
	run_on(0);
	idle = fork();
	if (!idle)
		for (;;)
			pause();
	dead = fork();
	if (!dead)
		for (;;)
			pause();
	set_bases();
	add_changes();
	set_groups();
	kill(dead, SIGKILL);
	waitid(P_PID, dead, &info, WEXITED | WNOWAIT);
}

static void each_change(unsigned int base, int group)
{
	unsigned int n;

	for (n = 0; n < nr_changes; n++) {
		begin_combo(&combo, base, 0);
		change_attr(&combo, n);
		combo.group = group;
		run_combo(&combo);
	}
}

static void each_target(void)
{
	unsigned int t, f;
	int group;

	for (t = 0; t < NR(targets); t++)
		for (group = 0; group < GROUPS; group++)
			for (f = 0; f < NR(flags); f++) {
				begin_combo(&combo, 0, t);
				combo.group = group;
				combo.flags = flags[f];
				run_combo(&combo);
			}
}

static void opens(char **arguments)
{
	struct difference *d;
	unsigned int n;

	stride = atoi(arguments[0]);
	prepare();
	begin_combo(&combo, CHANGED, 0);
	run_combo(&combo);
	for (n = 0; n < CHANGED; n++)
		each_change(n, ALONE);
	for (n = BELOW; n < GROUPS; n++)
		each_change(0, n);
	each_target();
	for (n = 0; n < 2000; n++)
		random_combo();
	kill(idle, SIGKILL);
	tell(same + different + unexplained >= 4000 / stride,
	     "%lu opens have the same result as perf's", same);
	tell(!unexplained, "%lu have another one for a reason, %lu without", different, unexplained);
	/* Each row is needed. */
	for (d = differences; stride == 1 && d < differences + NR(differences); d++)
		tell(!d->times == (d->here && !d->here()), "%lu: %s", d->times, d->why);
}

static const struct devtest tests[] = {
	{ "opens", .with = opens, .arguments = 1 },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
