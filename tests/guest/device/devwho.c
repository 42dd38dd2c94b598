// SPDX-License-Identifier: GPL-2.0
/*
 * devwho table SEEN: the table of section "Rights" in <linux/tally.h>, row by row: the
 * outcome of each call for callers with different capabilities, at each level of
 * kernel.perf_event_paranoid. SEEN is 1 if the kernel exports perf_allow_kernel(), else 0.
 *
 * perf says whether the kernel has level 3. It is also asked for each event: no caller may
 * have an event of tally that perf_event_open() refuses the same caller.
 *
 * tally_recorder.ko mode=share is loaded.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <sys/stat.h>
#include "who.h"

#define PERFMON_PARAMETER	"/sys/module/tally/parameters/perfmon"

/*
 * The columns of the table. LOW and HIGH have neither capability: LOW at a level below 2,
 * HIGH at other levels and at a level that modules do not see.
 */
enum column { ADMIN, PERFMON, LOW, HIGH, COLUMNS };

/* Cells are an errno, 0 for success, or one of these. */
enum {
	BELOW_0 = 1000,		/* level below 0, else EPERM */
	BELOW_0_FILTER,		/* level below 0, else EOPNOTSUPP */
	BELOW_1,		/* level below 1, else EACCES */
	NO_LEVEL_3,		/* kernel without level 3, else EACCES */
	NO_LEVEL_3_CPU,		/* both of the last two */
	KILL,			/* CAP_KILL, else EACCES */
};

/* arm64 has breakpoints in the kernel for CPUs only. */
#ifdef __aarch64__
#define WATCHES_KERNEL(cell)	EINVAL
#else
#define WATCHES_KERNEL(cell)	(cell)
#endif

/**
 * struct row - a line of the table
 * @what: call
 * @fill: settings of the event that is opened, by tally and by perf
 * @call: another call, which returns an errno or 0
 * @list: name of an event that is looked for by TALLY_IOC_NEXT
 * @id: event that a file is attached to
 * @name: the same by its name
 * @file: file that is used
 * @use: use of the file, or of the attached file; returns an errno or 0
 * @want: cell of each column
 */
struct row {
	const char *what;
	void (*fill)(void);
	int (*call)(void);
	const char *list;
	const uint64_t *id;
	const char *name;
	const int *file;
	int (*use)(int fd);
	int want[COLUMNS];
};

#define NONE	4

static const struct caller {
	const char *name;
	uint64_t caps;		/* 0 and @root: all */
	bool root, same_user, admin, perfmon, kill;
} callers[] = {
	{ "root", .root = true, .admin = true, .kill = true },
	{ "CAP_SYS_ADMIN", BIT(CAP_SYS_ADMIN), .admin = true },
	{ "CAP_PERFMON", BIT(CAP_PERFMON), .perfmon = true },
	{ "CAP_PERFMON, CAP_KILL", BIT(CAP_PERFMON) | BIT(CAP_KILL), .perfmon = true, .kill = true },
	[NONE] = { "none", .caps = 0 },
	{ "CAP_KILL, CAP_NET_ADMIN", BIT(CAP_KILL) | BIT(CAP_NET_ADMIN), .kill = true },
};

#define CALLERS	(sizeof(callers) / sizeof(callers[0]))

/* ---- the table ---- */

/* Cells of a call that takes CAP_PERFMON. */
#define WEAK(error)	{ 0, 0, error, error }

static const struct row rows[] = {
	{ "OPEN: own process, user space", user, .want = { 0, 0, 0, NO_LEVEL_3 } },
	{ "OPEN: own process, sigtrap", trap, .want = { 0, 0, 0, NO_LEVEL_3 } },
	{ "OPEN: own process, user breakpoint", own_breakpoint, .want = { 0, 0, 0, NO_LEVEL_3 } },
	{ "OPEN: own process, kernel", kernel, .want = { 0, 0, 0, EACCES } },
	{ "OPEN: own process, kernel call chain", chain, .want = { 0, 0, 0, EACCES } },
	{ "OPEN: own process, PHYS_ADDR", physical, .want = { 0, 0, 0, EACCES } },
	{ "OPEN: own process, tracepoint", tracepoint, .want = { 0, 0, 0, EACCES } },
	{ "OPEN: sampled tracepoint", sampled_tracepoint, .want = { 0, 0, BELOW_0, EACCES } },
	{ "OPEN: sampled system call", sampled_call, .want = { 0, 0, 0, EACCES } },
	{ "SET_FILTER of one's own tracepoint", .call = own_filter,
	  .want = { 0, 0, BELOW_0_FILTER, EACCES } },
	{ "OPEN: another process", other, .want = WEAK(EACCES) },
	{ "OPEN: another process, sibling in root's group", joined, .want = WEAK(EACCES) },
	{ "OPEN: another process, sigtrap", other_trap, .want = { KILL, KILL, EACCES, EACCES } },
	{ "OPEN: a CPU, user space", cpu_user, .want = { 0, 0, BELOW_1, NO_LEVEL_3_CPU } },
	{ "OPEN: all CPUs, user space", all_cpus_user, .want = { 0, 0, BELOW_1, NO_LEVEL_3_CPU } },
	{ "OPEN: a CPU", cpu, .want = { 0, 0, BELOW_1, EACCES } },
	{ "OPEN: all CPUs", all_cpus, .want = { 0, 0, BELOW_1, EACCES } },
	{ "OPEN: kprobe", kprobe, .want = WEAK(EACCES) },
	{ "OPEN: breakpoint in the kernel", breakpoint,
	  .want = { WATCHES_KERNEL(0), WATCHES_KERNEL(EPERM), WATCHES_KERNEL(EPERM), EACCES } },
	{ "OPEN: name", named, .want = WEAK(EACCES) },
	{ "OPEN: short publish_ns", often, .want = WEAK(EACCES) },

	{ "INFO", .call = info },
	{ "ENABLE_ALL, DISABLE_ALL", .call = switch_all },
	{ "NEXT: events on a CPU, of another process", .call = list_events },
	{ "NEXT: address", .call = list_address, .want = WEAK(ENODATA) },
	{ "NEXT: generated name", .list = made_by_root.hidden, .want = WEAK(ENODATA) },
	{ "NEXT: member of a set", .list = "pair/page-faults" },
	{ "NEXT: address in a member's name", .list = made_by_root.member, .want = WEAK(ENODATA) },
	{ "NEXT: address in a set's name", .list = made_by_root.beside, .want = WEAK(ENODATA) },

	{ "ATTACH: event on a CPU", .id = &made_by_root.public },
	{ "ATTACH: the same by its name", .name = "public" },
	{ "ATTACH: own process", .id = &of_caller.own },
	{ "ATTACH: own process, inherited", .id = &of_caller.inherited, .want = WEAK(EACCES) },
	{ "ATTACH: another process", .id = &made_by_root.private, .want = WEAK(EACCES) },
	{ "ATTACH: event of a cgroup", .name = "group", .want = WEAK(EACCES) },
	{ "ATTACH: tracepoint", .id = &made_by_root.traced, .want = WEAK(EACCES) },
	{ "ATTACH: breakpoint", .name = "address", .want = WEAK(EACCES) },
	{ "ATTACH: generated name", .name = made_by_root.hidden, .want = WEAK(ENOENT) },
	{ "ATTACH: generated name, tracepoint", .name = "task:task_rename", .want = WEAK(ENOENT) },
	{ "ATTACH: generated name of a CPU's event", .name = "page-faults" },
	{ "ATTACH: member of a set", .name = "pair/page-faults" },
	{ "ATTACH: address in a member's name", .name = made_by_root.member, .want = WEAK(ENOENT) },
	{ "ATTACH: address in a set's name", .name = made_by_root.beside, .want = WEAK(ENOENT) },
	{ "ATTACH: short publish_ns", .call = attach_often, .want = WEAK(EACCES) },
	{ "ATTACH: total", .call = attach_total, .want = WEAK(EACCES) },
	{ "attached file: read, page, RESET", .name = "faults", .use = read_all },
	{ "attached file: READ of a CPU", .name = "faults", .use = read_cpu, .want = WEAK(EACCES) },
	{ "attached file: RING_INFO", .name = "faults", .use = ring_info, .want = WEAK(EACCES) },
	{ "attached file: ring", .name = "faults", .use = map_shared, .want = WEAK(EACCES) },
	{ "attached file: calls that change it", .name = "faults", .use = change,
	  .want = { EPERM, EPERM, EPERM, EPERM } },

	{ "file of root: read, page, RESET", .file = &made_by_root.file, .use = read_all },
	{ "file of root: READ of a CPU", .file = &made_by_root.on_cpu, .use = read_cpu },
	{ "file of root: ring", .file = &made_by_root.file, .use = map_two },
	{ "file of root: other ioctls", .file = &made_by_root.file, .use = control },
	{ "file of root: SET_FILTER", .file = &made_by_root.tracepoint, .use = set_filter },
	{ "file of root: breakpoint moved", .file = &made_by_root.breakpoint, .use = move_user },
	{ "file of root: breakpoint moved to the kernel", .file = &made_by_root.breakpoint,
	  .use = move_kernel, .want = { WATCHES_KERNEL(0), WATCHES_KERNEL(EPERM),
					WATCHES_KERNEL(EPERM), WATCHES_KERNEL(EPERM) } },

	{ "LINE", .call = line, .want = WEAK(EACCES) },
	{ "PARSE", .call = parse },
	{ "PARSE: kprobe", .call = parse_kprobe, .want = WEAK(EACCES) },
	{ "debugfs: create, remove", .call = create_line, .want = WEAK(EACCES) },
};

#define ROWS	(sizeof(rows) / sizeof(rows[0]))

/**
 * struct moment - what the outcomes depend on, beside the caller
 * @level: kernel.perf_event_paranoid
 * @level_3: the kernel has level 3
 * @seen: modules see whether the level is below 2
 * @perfmon: parameter of the module
 */
struct moment {
	int level;
	bool level_3, seen, perfmon;
};

static enum column column_of(const struct caller *c, const struct moment *m)
{
	bool low = m->seen && m->level < 2;

	if (c->admin)
		return ADMIN;
	if (c->perfmon && (low || !m->level_3 || m->perfmon))
		return PERFMON;
	/* perfmon=1 has no effect for others. */
	return low ? LOW : HIGH;
}

static int wanted(const struct row *r, const struct caller *c, const struct moment *m)
{
	int cell = r->want[column_of(c, m)];

	switch (cell) {
	case BELOW_0:
		return m->level < 0 ? 0 : EPERM;
	case BELOW_0_FILTER:
		return m->level < 0 ? 0 : EOPNOTSUPP;
	case BELOW_1:
		return m->level < 1 ? 0 : EACCES;
	case NO_LEVEL_3:
		return m->level_3 ? EACCES : 0;
	case NO_LEVEL_3_CPU:
		return m->level_3 || m->level >= 1 ? EACCES : 0;
	case KILL:
		return c->kill ? 0 : EACCES;
	default:
		return cell;
	}
}

static int ask_perf(void)
{
	return closed(open_event(PERF, &attr, o.pid, o.pid < 0 ? 0 : o.cpu, -1,
				 PERF_FLAG_FD_CLOEXEC));
}

static int call(const struct row *r)
{
	if (r->call)
		return r->call();
	if (r->list)
		return list_name(r->list);
	if (r->file)
		return r->use(*r->file);
	return attach(r->id ? *r->id : 0, r->name, r->use);
}

static void check(const struct row *r, const struct caller *c, const struct moment *m)
{
	int got, perf = 0, want = wanted(r, c, m);

	if (r->fill) {
		usual();
		r->fill();
		got = closed(open_it());
		perf = ask_perf();
	} else {
		got = call(r);
	}
	/* With perfmon=1, CAP_PERFMON has more at level 3 than perf grants. */
	tell(got == want && (got || !perf || (m->perfmon && c->perfmon)),
	     "%s, level %d%s, %s: %s, of %s%s%s", r->what, m->level,
	     m->perfmon ? ", perfmon=1" : "", c->name, name_of(got), name_of(want),
	     r->fill ? "; perf " : "", r->fill ? name_of(perf) : "");
}

/* ---- the callers ---- */

static uint64_t id_of(int fd)
{
	uint64_t id;

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_ID, &id))
		err(2, "an event: %s", why.text);
	return id;
}

/*
 * Returns what @call returns for the caller, in a child. Root makes two events of the child
 * before, and a file for it: an event takes one filter.
 */
static int as_caller(const struct caller *c,
		     int (*call)(const struct caller *c, const struct moment *m),
		     const struct moment *m)
{
	int go[2], status, own, inherited;
	pid_t pid;

	usual();
	tracepoint();
	made_by_root.tracepoint = open_it();
	if (made_by_root.tracepoint < 0 || pipe(go))
		err(2, "a file or a pipe");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (read(go[0], &of_caller, sizeof(of_caller)) != sizeof(of_caller))
			_exit(255);
		close(device);
		if (c->same_user)
			keep_only(c->caps);
		else if (!c->root)
			become(c->caps);
		device = device_file();
		_exit(call(c, m));
	}
	usual();
	o.pid = pid;
	own = open_it();
	of_caller.own = id_of(own);
	attr.inherit = 1;
	inherited = open_it();
	of_caller.inherited = id_of(inherited);
	if (write(go[1], &of_caller, sizeof(of_caller)) != sizeof(of_caller))
		err(2, "pipe");
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) == 255)
		errx(2, "%s ended with status %#x", c->name, status);
	close(own);
	close(inherited);
	close(made_by_root.tracepoint);
	close(go[0]);
	close(go[1]);
	return WEXITSTATUS(status);
}

static int device_errno(const struct caller *c, const struct moment *m)
{
	(void)c;
	(void)m;
	return device < 0 ? errno : 0;
}

/* Checks who may open the device. Without its group, only root may. */
static void check_device(gid_t group, mode_t mode)
{
	const struct caller *c;
	int got;

	if (chown("/dev/tally", 0, group) || chmod("/dev/tally", mode))
		err(2, "the mode of the device");
	for (c = callers; c < callers + CALLERS; c++) {
		got = as_caller(c, device_errno, NULL);
		tell(got == (c->root || group ? 0 : EACCES), "open, mode %#o, %s: %s", mode,
		     c->name, name_of(got));
	}
}

static int check_rows(const struct caller *c, const struct moment *m)
{
	const struct row *r;

	for (r = rows; r < rows + ROWS; r++)
		check(r, c, m);
	return 0;
}

/* A program of root's user opens the file in debugfs itself. */
static int open_create(const struct caller *c, const struct moment *m)
{
	(void)c;
	(void)m;
	close(made_by_root.create);
	made_by_root.create = open(DEBUGFS "create", O_WRONLY);
	return made_by_root.create < 0 ? errno : create_line();
}

static void check_opener(const struct moment *m)
{
	static const struct caller opener = {
		"root's user, CAP_PERFMON alone", BIT(CAP_PERFMON), .same_user = true,
	};
	int want = m->level_3 && !m->perfmon ? EACCES : 0, got;

	got = as_caller(&opener, open_create, m);
	tell(got == want, "debugfs, level %d%s, %s: %s, of %s", m->level,
	     m->perfmon ? ", perfmon=1" : "", opener.name, name_of(got), name_of(want));
}

static void check_moment(const struct moment *m)
{
	const struct caller *c;

	set_level(m->level);
	write_to(PERFMON_PARAMETER, m->perfmon ? "1" : "0");
	for (c = callers; c < callers + CALLERS; c++)
		as_caller(c, check_rows, m);
	check_opener(m);
	write_to(PERFMON_PARAMETER, "0");
}

/* Only at level 3, perf refuses a caller without capabilities its own user space. */
static int refused_by_perf(const struct caller *c, const struct moment *m)
{
	(void)c;
	(void)m;
	usual();
	user();
	return ask_perf();
}

/* ---- what root makes ---- */

static uint64_t make(const char *name, void (*fill)(void))
{
	usual();
	fill();
	strcpy(o.name, name);
	return id_of(open_it());
}

static void write_line(int file, const char *line)
{
	if (write(file, line, strlen(line)) < 0)
		err(2, "%s", line);
}

/* Sets whose names, or the names of whose members, have an address. */
static void make_sets(unsigned long long address)
{
	char line[128];

	snprintf(line, sizeof(line), "{cs,mem:0x%llx/8:w} cpu=1", address);
	write_line(made_by_root.create, line);
	snprintf(line, sizeof(line), "{page-faults,mem:0x%llx/8:w} cpu=1 name=pair", address);
	write_line(made_by_root.create, line);
	sprintf(made_by_root.set, "{cs,mem:0x%llx:8:w}", address);
	sprintf(made_by_root.beside, "{cs,mem:0x%llx:8:w}/cs", address);
	sprintf(made_by_root.member, "pair/mem:0x%llx:8:w", address);
}

/* Events without a name. One with an address has the address in the name that tally makes up. */
static void make_hidden(void)
{
	struct tally_next next = { .size = sizeof(next) };
	char line[128];

	write_line(made_by_root.create, "page-faults cpu=0");
	write_line(made_by_root.create, "task:task_rename cpu=0");
	write_line(made_by_root.create, "page-faults cpu=0 cgroup=/ name=group");
	snprintf(line, sizeof(line), "mem:0x%llx/8:w cpu=0",
		 (unsigned long long)(made_by_root.address & ~7ULL));
	write_line(made_by_root.create, line);
	while (!ioctl(device, TALLY_IOC_NEXT, &next))
		if (next.type == PERF_TYPE_BREAKPOINT && !strncmp(next.name, "mem:", 4))
			strcpy(made_by_root.hidden, next.name);
	make_sets(made_by_root.address & ~7ULL);
}

static void cpu_tracepoint(void)
{
	cpu();
	tracepoint();
}

static void cpu_breakpoint(void)
{
	cpu();
	breakpoint();
}

static void make_files(void)
{
	struct tally_ring_info i = { .size = sizeof(i) };
	int fd;

	usual();
	cpu();
	made_by_root.on_cpu = open_it();
	usual();
	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_TID;
	made_by_root.file = open_it();
	if (map_pages(made_by_root.file, 2, PROT_READ | PROT_WRITE, 0) == MAP_FAILED)
		err(2, "a ring");
	usual();
	made_by_root.second = open_it();
	usual();
	watch((unsigned long)area);
	attr.disabled = 1;
	made_by_root.breakpoint = open_it();
	fd = attach_to("faults");
	if (made_by_root.on_cpu < 0 || made_by_root.second < 0 || made_by_root.breakpoint < 0 ||
	    ioctl(fd, TALLY_IOC_RING_INFO, &i))
		err(2, "a file");
	made_by_root.pages = 1 + i.pages;
	close(fd);
}

static void make_all(void)
{
	made_by_root.parent = getpid();
	made_by_root.address = address_of("print_fatal_signals");
	made_by_root.function = address_of("do_sys_openat2");
	made_by_root.rename_id = trace_id("task/task_rename");
	made_by_root.call_id = trace_id("syscalls/sys_enter_getpid");
	made_by_root.create = open(DEBUGFS "create", O_WRONLY | O_CLOEXEC);
	made_by_root.remove = open(DEBUGFS "remove", O_WRONLY | O_CLOEXEC);
	if (!made_by_root.address || !made_by_root.function || !type_of("kprobe") ||
	    made_by_root.rename_id < 0 || made_by_root.call_id < 0 ||
	    made_by_root.create < 0 || made_by_root.remove < 0)
		errx(2, "no address, no kprobes, no tracepoints or no debugfs");
	made_by_root.public = make("public", cpu);
	made_by_root.private = make("private", kernel);
	made_by_root.traced = make("traced", cpu_tracepoint);
	made_by_root.watched = make("address", cpu_breakpoint);
	make_hidden();
	make_files();
}

static void table(char **arguments)
{
	struct moment m = { .seen = atoi(arguments[0]) };

	make_all();
	check_device(0, 0600);
	check_device(NOBODY, 0660);
	set_level(3);
	m.level_3 = as_caller(&callers[NONE], refused_by_perf, NULL);
	printf("# level 3: %d, seen: %d\n", m.level_3, m.seen);
	for (m.level = -1; m.level <= 2 + m.level_3; m.level++)
		check_moment(&m);
	m.level--;
	m.perfmon = true;
	check_moment(&m);
	write_line(made_by_root.remove, made_by_root.hidden);
	write_line(made_by_root.remove, "task:task_rename");
	write_line(made_by_root.remove, "page-faults");
	write_line(made_by_root.remove, "group");
	write_line(made_by_root.remove, made_by_root.set);
	write_line(made_by_root.remove, "pair");
	if (chown("/dev/tally", 0, 0) || chmod("/dev/tally", 0600))
		err(2, "the end");
}

static const struct devtest tests[] = {
	{ "table", .arguments = 1, .with = table },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
