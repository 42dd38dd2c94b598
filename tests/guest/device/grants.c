// SPDX-License-Identifier: GPL-2.0
/*
 * grants matrix ASKED: which events perf_event_open() and TALLY_IOC_OPEN grant to callers
 * with different rights, at each level of kernel.perf_event_paranoid. tally never grants
 * what perf refuses. Where it refuses what perf grants, stricter() says why. ASKED is 1 if
 * the kernel exports perf_allow_kernel(), else 0.
 */
#define _GNU_SOURCE
#include <grp.h>
#include <stdbool.h>
#include "rights.h"

#define ANOTHER		65533

enum { SELF, CHILD, STRANGER, CPU };

struct kind {
	const char *name;
	int target;
	void (*fill)(void);
	bool takes_raw;		/* tally takes the right to PERF_SAMPLE_RAW */
};

static int stranger, child;
static uint64_t address, function;
static int switch_id, getpid_id;

static void all(void)
{
}

static void cycles(void)
{
	user();
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
}

static void inherited(void)
{
	user();
	attr.inherit = 1;
}

static void kprobe(void)
{
	probe(function);
}

static void tracepoint(void)
{
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = switch_id;
}

static void raw(void)
{
	tracepoint();
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_RAW;
}

static void raw_syscall(void)
{
	raw();
	attr.config = getpid_id;
}

static void breakpoint(void)
{
	watch(address);
}

static void sampled(void)
{
	user();
	attr.exclude_callchain_kernel = 1;
	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN;
}

static void by_frequency(void)
{
	sampled();
	attr.freq = 1;
}

static void kernel_chain(void)
{
	sampled();
	attr.exclude_callchain_kernel = 0;
}

static void physical(void)
{
	sampled();
	attr.sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR;
}

static void registers(void)
{
	sampled();
	attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_user = 1;
	attr.sample_regs_intr = 1;
}

static void sampled_tracepoint(void)
{
	tracepoint();
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID;
}

static void branches(void)
{
	attr.exclude_kernel = 1;
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
}

static void comm(void)
{
	user();
	attr.comm = 1;
	attr.task = 1;
}

static const struct kind kinds[] = {
	{ "itself, user space", SELF, .fill = user },
	{ "itself, kernel", SELF, .fill = all },
	{ "itself, cycles", SELF, .fill = cycles },
	{ "itself, inherited", SELF, .fill = inherited },
	{ "itself, task records", SELF, .fill = comm },
	{ "itself, samples", SELF, .fill = sampled },
	{ "itself, samples by frequency", SELF, .fill = by_frequency },
	{ "itself, kernel call chains", SELF, .fill = kernel_chain },
	{ "itself, PHYS_ADDR", SELF, .fill = physical },
	{ "itself, REGS", SELF, .fill = registers },
	{ "itself, sigtrap", SELF, .fill = trap },
	{ "itself, user breakpoint", SELF, .fill = own_breakpoint },
	{ "itself, kernel breakpoint", SELF, .fill = breakpoint },
	{ "itself, kprobe", SELF, .fill = kprobe },
	{ "itself, branches, not of kernel", SELF, .fill = branches },
	{ "itself, tracepoint", SELF, .fill = tracepoint },
	{ "itself, sampled tracepoint", SELF,
	  .fill = sampled_tracepoint, .takes_raw = true },
	{ "itself, raw tracepoint", SELF, .fill = raw },
	{ "itself, raw system call", SELF, .fill = raw_syscall },
	{ "its child, user space", CHILD, .fill = user },
	{ "its child, kernel", CHILD, .fill = all },
	{ "another user's task, user space", STRANGER, .fill = user },
	{ "another user's task, kernel", STRANGER, .fill = all },
	{ "another user's task, sigtrap", STRANGER, .fill = trap },
	{ "a CPU, user space", CPU, .fill = user },
	{ "a CPU, kernel", CPU, .fill = all },
	{ "a CPU, samples", CPU, .fill = sampled },
	{ "a CPU, kprobe", CPU, .fill = kprobe },
	{ "a CPU, raw tracepoint", CPU, .fill = raw },
	{ "a CPU, kernel breakpoint", CPU, .fill = breakpoint },
};

#define NR	((int)(sizeof(kinds) / sizeof(kinds[0])))

static void fill(const struct kind *k)
{
	const int pids[] = { 0, child, stranger, -1 };

	usual();
	k->fill();
	o.pid = pids[k->target];
	o.cpu = k->target == CPU ? 0 : -1;
}

/* Prints the errno of both calls for each kind of event, 0 for a file. */
static void ask(void)
{
	int i, perf;

	for (i = 0; i < NR; i++) {
		fill(&kinds[i]);
		perf = open_errno(PERF);
		printf("%d %d\n", perf, open_errno(TALLY));
	}
	fflush(stdout);
}

/* ---- the callers ---- */

static void root(void)
{
}

static void admin(void)
{
	become(BIT(CAP_SYS_ADMIN));
}

static void perfmon(void)
{
	become(BIT(CAP_PERFMON));
}

static void nobody(void)
{
	become(0);
}

/* The user's own namespace, where it is root with all capabilities. */
static void namespace_root(void)
{
	become(0);
	/* The files of a task that has changed its user belong to root. */
	prctl(PR_SET_DUMPABLE, 1);
	if (unshare(CLONE_NEWUSER))
		err(2, "a user namespace");
	write_to("/proc/self/uid_map", "0 65534 1\n");
	if (setuid(0))
		err(2, "root of a namespace");
}

/* A set-user-ID program of root. */
static void set_user_id(void)
{
	if (setresuid(NOBODY, 0, 0))
		err(2, "setresuid");
}

/* A service that gives up root: not dumpable, no capabilities. */
static void dropped(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		err(2, "setuid");
}

enum { PERFMON = 2, NOTHING };

static const struct caller {
	const char *name;
	void (*become)(void);
	bool admin, perfmon;
} callers[] = {
	{ "root", root, .admin = true, .perfmon = true },
	{ "CAP_SYS_ADMIN", admin, .admin = true, .perfmon = true },
	[PERFMON] = { "CAP_PERFMON", perfmon, .perfmon = true },
	[NOTHING] = { "none", .become = nobody },
	{ "root of a user namespace", .become = namespace_root },
	{ "root, by a set-user-ID program", set_user_id, .admin = true, .perfmon = true },
	{ "none, after setuid()", .become = dropped },
};

#define CALLERS	((int)(sizeof(callers) / sizeof(callers[0])))

/* ---- the table ---- */

struct cell {
	int perf, tally;
};

/* Starts a task that sleeps until its parent kills it, or dies. Returns its number. */
static int sleeper(int uid)
{
	int ready[2], pid;
	char c;

	if (pipe(ready))
		err(2, "pipe");
	pid = fork();
	if (pid) {
		if (read(ready[0], &c, 1) != 1)
			err(2, "a task that sleeps");
		close(ready[0]);
		close(ready[1]);
		return pid;
	}
	if (uid && (setgid(uid) || setuid(uid)))
		err(2, "user %d", uid);
	/* setuid() clears the dumpable flag and the death signal. */
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(ready[1], "", 1) != 1)
		err(2, "pipe");
	for (;;)
		pause();
}

/* Fills in the cells of one caller. */
static void ask_as(const struct caller *c, struct cell *cells)
{
	int pipes[2], pid, i;
	FILE *f;

	if (pipe(pipes))
		err(2, "pipe");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(pipes[1], 1);
		c->become();
		child = sleeper(0);
		ask();
		kill(child, SIGKILL);
		_exit(0);
	}
	close(pipes[1]);
	f = fdopen(pipes[0], "r");
	for (i = 0; i < NR; i++)
		if (fscanf(f, "%d %d", &cells[i].perf, &cells[i].tally) != 2)
			errx(2, "%s: no answer for %s", c->name, kinds[i].name);
	fclose(f);
	waitpid(pid, NULL, 0);
}

/*
 * Returns whether tally may refuse what perf grants. It cannot tell level 2 from 3, nor any
 * levels where perf_allow_kernel() is not exported; ptrace_may_access() is not exported;
 * and a tracepoint may get a filter, which reads PERF_SAMPLE_RAW.
 */
static bool stricter(int level, const struct caller *c, const struct kind *k, int asked)
{
	if (!c->admin && (level >= 2 || !asked))
		return true;
	return !c->perfmon && (k->target == CHILD || k->target == STRANGER ||
			       (k->takes_raw && level >= 0));
}

static void print_level(int level, struct cell cells[CALLERS][NR])
{
	const struct cell *cell;
	int i, c;

	for (c = 0; c < CALLERS; c++)
		printf("# %d %c: %s\n", level, 'A' + c, callers[c].name);
	for (i = 0; i < NR; i++) {
		printf("# %d %-32s", level, kinds[i].name);
		for (c = 0; c < CALLERS; c++) {
			cell = &cells[c][i];
			printf(" %c:%s", 'A' + c, name_of(cell->perf));
			if (cell->perf != cell->tally)
				printf("/%s", name_of(cell->tally));
		}
		printf("\n");
	}
}

static void matrix_at(int level, int asked)
{
	int c, i, perf, tally, more, less;
	struct cell cells[CALLERS][NR];

	set_level(level);
	for (c = 0; c < CALLERS; c++)
		ask_as(&callers[c], cells[c]);
	print_level(level, cells);
	for (c = 0; c < CALLERS; c++) {
		perf = tally = more = less = 0;
		for (i = 0; i < NR; i++) {
			bool by_perf = !cells[c][i].perf, by_tally = !cells[c][i].tally;

			perf += by_perf;
			tally += by_tally;
			more += by_tally && !by_perf;
			less += by_perf && !by_tally &&
				!stricter(level, &callers[c], &kinds[i], asked);
		}
		tell(!more, "level %d, %s: of %d events perf grants %d, tally %d, %d that perf refuses",
		     level, callers[c].name, NR, perf, tally, more);
		tell(!less, "and refuses %d without a reason", less);
		/* Only cycles need a PMU, and branches one with LBR. */
		if (!c)
			tell(tally >= NR - 2, "root has %d of %d", tally, NR);
	}
}

/* With perfmon=1, CAP_PERFMON has at level 3 what perf grants it at level 2. */
static void relaxed(void)
{
	struct cell before[NR], cells[NR];
	int i, granted = 0, other = 0;

	set_level(2);
	ask_as(&callers[PERFMON], before);
	set_level(3);
	write_to("/sys/module/tally/parameters/perfmon", "1");
	ask_as(&callers[PERFMON], cells);
	for (i = 0; i < NR; i++) {
		granted += !cells[i].tally;
		other += !cells[i].tally != !before[i].perf;
	}
	tell(granted && !other, "perfmon=1, CAP_PERFMON: tally grants %d of %d, %d other than perf at level 2",
	     granted, NR, other);
	ask_as(&callers[NOTHING], cells);
	for (i = granted = 0; i < NR; i++)
		granted += !cells[i].tally;
	tell(!granted, "perfmon=1, none: tally grants %d", granted);
	write_to("/sys/module/tally/parameters/perfmon", "0");
}

static void matrix(char **arguments)
{
	int level, i;

	address = address_of("print_fatal_signals");
	function = address_of("do_sys_openat2");
	switch_id = trace_id("sched/sched_switch");
	getpid_id = trace_id("syscalls/sys_enter_getpid");
	if (!address || !function || !type_of("kprobe") || switch_id < 0 || getpid_id < 0)
		errx(2, "no address, no kprobes or no tracepoints");
	stranger = sleeper(ANOTHER);
	/* A caller without the right must not share the counter of one who has it. */
	for (i = 0; i < NR; i++) {
		fill(&kinds[i]);
		if (kinds[i].target == CPU || kinds[i].target == STRANGER)
			open_it();
	}
	for (level = -1; level <= 3; level++)
		matrix_at(level, atoi(arguments[0]));
	relaxed();
	kill(stranger, SIGKILL);
}

static const struct devtest tests[] = {
	{ "matrix", .arguments = 1, .with = matrix },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
