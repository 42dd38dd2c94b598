// SPDX-License-Identifier: GPL-2.0
/*
 * Groups of /dev/tally beside those of perf_event_open(2):
 *
 *	groups random NUMBER SEED	the same groups on both: which member fails, and how
 *	groups exec ROOM		groups that begin at exec(); ROOM events of the PMU fit
 *	groups leaders HOW		leaders that go or are off; HOW as below
 *	groups joins			siblings that join beside a pinned event; turns are long
 *	groups inherit ROOM		groups of a task and its children, on both
 *	groups turns ROOM SECONDS HOW	three groups that do not fit together, on both, and the same
 *					events alone; HOW is samples if the PMU has interrupts
 *
 * Prints lines "ok TEXT" and "bad TEXT".
 */
#define _GNU_SOURCE
#include "either.h"
#include <signal.h>
#include <sys/prctl.h>

#define MOST 10

#ifdef __aarch64__
#define IS_ARM64 1
#else
#define IS_ARM64 0
#endif

static int bad;

static void result(int good, const char *text)
{
	printf("%s %s\n", good ? "ok" : "bad", text);
	bad |= !good;
}

static int below(int n)
{
	return rand() % n;
}

/* ---- the same groups on both ---- */

/* Why the answers of both may differ. */
enum reason { SAME, ALONE, EQUAL, EXCLUSIVE, LEADER_OFF, REASONS };

static const char *const reasons[REASONS] = {
	[SAME] = "the answer is the same",
	[ALONE] = "tally takes it: a sibling that overflows is in no group",
	[EQUAL] = "tally takes it: equal events share a counter",
	[EXCLUSIVE] = "tally refuses it: a sibling that is in no group would not be beside an exclusive leader",
	[LEADER_OFF] = "tally refuses it: perf's drivers do not check events that are off",
};

static const struct perf_event_attr pool[] = {
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES },
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS },
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_BRANCH_MISSES },
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES, .exclude_kernel = 1 },
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS, .exclude_user = 1 },
	{ .type = PERF_TYPE_RAW, .config = 0x11 },
	{ .type = PERF_TYPE_RAW, .config = 0x23 },
	{ .type = PERF_TYPE_RAW, .config = 0x24, .exclude_kernel = 1 },
	{ .type = PERF_TYPE_RAW, .config = 0x3c },
	{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK },
	{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS },
};

struct group {
	struct perf_event_attr attr[MOST];
	int nr, cpu, pid;
	/* The result: number of events that were opened, and the error of the next one. */
	int opened[2], error[2];
	char why[sizeof(why.text)];
};

static void make(struct group *g)
{
	int i, on_cpu = below(2), inherit = !on_cpu && !below(8);

	g->nr = 1 + below(MOST);
	g->cpu = on_cpu ? 0 : -1;
	g->pid = on_cpu ? -1 : 0;
	for (i = 0; i < g->nr; i++) {
		struct perf_event_attr *a = &g->attr[i];

		*a = pool[below(sizeof(pool) / sizeof(*pool))];
		a->size = sizeof(*a);
		a->inherit = inherit;
		a->disabled = i ? !below(8) : below(2);
		a->pinned = !below(i ? 64 : 16);
		a->exclusive = !below(i ? 64 : 16);
		if (!below(16) && a->type != PERF_TYPE_SOFTWARE)
			a->sample_period = 1000000000;
	}
}

static void open_group(struct group *g, int kind)
{
	int fds[MOST], i;

	g->error[kind] = 0;
	for (i = 0; i < g->nr; i++) {
		fds[i] = open_event(kind, &g->attr[i], g->pid, g->cpu, i ? fds[0] : -1,
				    PERF_FLAG_FD_CLOEXEC);
		if (fds[i] < 0) {
			g->error[kind] = errno;
			break;
		}
	}
	g->opened[kind] = i;
	if (kind == TALLY)
		memcpy(g->why, why.text, sizeof(g->why));
	while (i--)
		close(fds[i]);
}

/* Returns whether two of the first events are one to tally. */
static int has_equal(const struct group *g, int nr)
{
	struct perf_event_attr a, b;
	int i, j;

	for (i = 0; i < nr; i++) {
		for (j = 0; j < i; j++) {
			a = g->attr[i];
			b = g->attr[j];
			a.disabled = b.disabled = 0;
			if (!memcmp(&a, &b, sizeof(a)))
				return 1;
		}
	}
	return 0;
}

/* Returns REASONS if there is none. */
static enum reason compare(const struct group *g)
{
	int perf = g->opened[PERF], tally = g->opened[TALLY], more = tally > perf, i;
	int alone = 0, off = 0;

	if (perf == tally && g->error[PERF] == g->error[TALLY])
		return SAME;
	if (g->attr[0].exclusive && g->error[TALLY] == EOPNOTSUPP)
		return EXCLUSIVE;
	for (i = 0; i < g->nr && i <= (more ? perf : tally); i++) {
		const struct perf_event_attr *a = &g->attr[i];

		alone |= i && a->sample_period;
		off |= a->disabled;
	}
	if (!more)
		return off && g->error[TALLY] == EINVAL ? LEADER_OFF : REASONS;
	if (g->error[PERF] != EINVAL)
		return REASONS;
	if (alone)
		return ALONE;
	return has_equal(g, i) ? EQUAL : REASONS;
}

static void print_group(const struct group *g)
{
	int i;

	fprintf(stderr, "perf opens %d (%s), tally %d (%s: %s) of", g->opened[PERF],
		strerrorname_np(g->error[PERF]) ?: "", g->opened[TALLY],
		strerrorname_np(g->error[TALLY]) ?: "", g->why);
	for (i = 0; i < g->nr; i++) {
		const struct perf_event_attr *a = &g->attr[i];

		fprintf(stderr, " %u:%llx%s%s%s%s%s%s%s", a->type, (unsigned long long)a->config,
			a->exclude_user ? "/k" : "", a->exclude_kernel ? "/u" : "",
			a->disabled ? " off" : "", a->pinned ? " pinned" : "",
			a->exclusive ? " exclusive" : "", a->inherit ? " inherit" : "",
			a->sample_period ? " overflows" : "");
	}
	fprintf(stderr, "\n");
}

static void compare_random(int nr, unsigned int seed)
{
	int times[REASONS + 1] = { 0 }, i;
	char text[200];

	srand(seed);
	for (i = 0; i < nr; i++) {
		struct group g;
		enum reason reason;

		memset(&g, 0, sizeof(g));
		make(&g);
		open_group(&g, PERF);
		open_group(&g, TALLY);
		reason = compare(&g);
		times[reason]++;
		if (reason == REASONS)
			print_group(&g);
	}
	for (i = 0; i < REASONS; i++)
		fprintf(stderr, "%d of %d: %s\n", times[i], nr, reasons[i]);
	snprintf(text, sizeof(text), "%d random groups: perf's answer, or a reason", nr);
	result(!times[REASONS], text);
	result(times[SAME] > nr / 2, "most answers are the same");
}

/* ---- groups that wait for exec() ---- */

/* Opens a group for a child that waits, as perf does for a command; returns how many are open. */
static int open_for_exec(int kind, pid_t pid, int *fds, int nr, unsigned int flags)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr), .disabled = 1, .enable_on_exec = 1,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int i;

	for (i = 0; i < nr; i++) {
		struct tally_open r;

		if (i) {
			attr.type = PERF_TYPE_RAW;
			attr.config = 0x20 + i;
			attr.disabled = attr.enable_on_exec = 0;
		}
		r = request(&attr, pid, -1, i ? fds[0] : -1, PERF_FLAG_FD_CLOEXEC);
		if (kind == TALLY)
			r.flags = flags;
		fds[i] = open_as(kind, &r);
		if (fds[i] < 0)
			break;
	}
	return i;
}

static void test_exec(int room)
{
	int fds[2][16], opened[2], go[2], kind, nr, i;
	uint64_t values[3 + 16] = { 0 };
	pid_t pid = fork_waiting(go);

	if (!pid) {
		spin(CLOCK_MONOTONIC, 50);
		execl("/proc/self/exe", "groups", "spin", NULL);
		_exit(1);
	}
	for (kind = PERF; kind <= TALLY; kind++) {
		opened[kind] = open_for_exec(kind, pid, fds[kind], room + 2, 0);
		for (i = 0; i < opened[kind]; i++)
			close(fds[kind][i]);
	}
	fprintf(stderr, "perf opens %d, tally %d: %s\n", opened[PERF], opened[TALLY], why.text);
	result(opened[PERF] == opened[TALLY] && opened[TALLY] < room + 2,
	       "exec: a group that is too large gets perf's answer");
	nr = open_for_exec(TALLY, pid, fds[TALLY], room + 2, TALLY_OPEN_WEAK);
	result(nr == room + 2, "exec: a weak one is cut");
	while (nr)
		close(fds[TALLY][--nr]);

	nr = open_for_exec(TALLY, pid, fds[TALLY], 3, 0);
	result(nr == 3, "exec: a group of three");
	/* The others wait for their leader. */
	ioctl(fds[TALLY][1], PERF_EVENT_IOC_DISABLE, 0);
	ioctl(fds[TALLY][1], PERF_EVENT_IOC_ENABLE, 0);
	read(fds[TALLY][0], values, sizeof(values));
	result(!values[1] && !values[2], "exec: nothing counts before it");
	let_go_on(go);
	if (waitpid(pid, NULL, 0) != pid)
		err(2, "a child");
	read(fds[TALLY][0], values, sizeof(values));
	fprintf(stderr, "%llu members, enabled %llu ns, running %llu ns, %llu cycles\n",
		(unsigned long long)values[0], (unsigned long long)values[1],
		(unsigned long long)values[2], (unsigned long long)values[3]);
	result(values[0] == 3 && values[1] && values[2] && values[3], "exec: it counts from there on");
	while (nr)
		close(fds[TALLY][--nr]);
}

/* ---- groups take turns ---- */

#define TURNS 3

struct times {
	uint64_t value, enabled, running;
};

/* take_turns() opens events alone, groups, or groups of which the first one samples. */
enum how { EVENTS, GROUPS, SAMPLES };

/* Opens the events of a group, or these alone. The first two count the same. */
static void open_turn(int kind, int turn, enum how how, int *fds, int nr)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .disabled = how != EVENTS,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int leads, i;

	for (i = 0; i < nr; i++) {
		struct tally_open r = request(&attr, -1, 0, i && how != EVENTS ? fds[0] : -1, 0);

		leads = !i && (how == SAMPLES || (how == GROUPS && kind == TALLY));
		attr.type = i < 2 && turn < 2 ? PERF_TYPE_HARDWARE : PERF_TYPE_RAW;
		attr.config = i > 1 ? 0x20 + i : turn == 2 ? 0x11 : PERF_COUNT_HW_CPU_CYCLES;
		attr.exclude_hv = i == 1;
		attr.exclude_kernel = turn == 1;
		attr.exclude_user = turn == 2;
		/* To tally this says that the leader has a counter for itself. */
		attr.read_format &= ~(uint64_t)PERF_FORMAT_GROUP;
		if (leads)
			attr.read_format |= PERF_FORMAT_GROUP;
		attr.sample_period = how == SAMPLES && !turn && !i ? 1000000 : 0;
		attr.sample_type = attr.sample_period ? PERF_SAMPLE_READ : 0;
		fds[i] = must_open(kind, &r);
		attr.disabled = 0;
	}
}

/* Reads an event, and prints it. A leader's read has all members: the first value is its own. */
static struct times read_turn(const char *who, int fd, int of_group)
{
	uint64_t v[3 + 16];
	struct times t;

	if (read(fd, v, sizeof(v)) < 0)
		err(2, "read");
	t.enabled = v[1];
	t.running = v[2];
	t.value = v[of_group ? 3 : 0];
	fprintf(stderr, "%s: %llu, running %llu of %llu ns\n", who, (unsigned long long)t.value,
		(unsigned long long)t.running, (unsigned long long)t.enabled);
	return t;
}

/* Returns whether the members of a group ran for the same time, and shared the PMU. */
static int is_equal(const struct times *t, int nr)
{
	int i;

	for (i = 1; i < nr; i++)
		if (t[i].running != t[0].running)
			return 0;
	return t[0].running && t[0].running < t[0].enabled;
}

/*
 * Returns whether two members that count the same differ by 1 % at most. The emulated PMU of arm64
 * now and then moves a counter to 0 when another one overflows. perf, too, then counts 2^31 - 1 less
 * what the counter had counted: so nothing is said of a member that is so far ahead.
 */
static int is_exact(const struct times *t, int samples)
{
	uint64_t most = t[0].value > t[1].value ? t[0].value : t[1].value;
	uint64_t least = t[0].value + t[1].value - most;

	if (samples && IS_ARM64 && most - least > 1U << 30)
		return 1;
	return least && (most - least) * 100 <= most;
}

/*
 * Reads the samples of a leader. Returns whether each has all members, and the first two, which
 * count the same, have counted since the last sample.
 */
static int check_samples(const char *who, struct ring *r, int nr)
{
	uint64_t head = head_of(r), last = 0, last_twin = 0, *v = r->record + 1;
	int samples = 0, bad_ones = 0, good;

	while (r->tail < head) {
		struct perf_event_header *h = copy_record(r, r->tail, head);

		if (!h)
			return 0;
		r->tail += h->size;
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		samples++;
		/* number, enabled, running, values */
		good = v[0] == (uint64_t)nr && v[3] > last && v[2] <= v[1] && v[4] > last_twin;
		if (!good)
			fprintf(stderr, "%s: a sample of %llu: %llu ns, %llu ns, %llu after %llu, %llu\n",
				who, (unsigned long long)v[0], (unsigned long long)v[1],
				(unsigned long long)v[2], (unsigned long long)v[3],
				(unsigned long long)last, (unsigned long long)v[4]);
		bad_ones += !good;
		last = v[3];
		last_twin = v[4];
	}
	fprintf(stderr, "%s: %d samples, the last one at %llu and %llu\n", who, samples,
		(unsigned long long)v[3], (unsigned long long)v[4]);
	return !bad_ones && samples > 10;
}

static void take_turns(int kind, enum how how, int nr, int seconds)
{
	static const char *const who[] = { [PERF] = "perf", [TALLY] = "tally" };
	int fds[TURNS][16], turn, i, equal = 1, exact = 1, sampled = 1;
	static struct ring ring;
	struct times t[16];
	char text[100];

	for (turn = 0; turn < TURNS; turn++)
		open_turn(kind, turn, how, fds[turn], nr);
	if (how == SAMPLES)
		must_map(&ring, fds[0][0], 64);
	for (turn = 0; turn < TURNS && how != EVENTS; turn++)
		ioctl(fds[turn][0], PERF_EVENT_IOC_ENABLE, 0);
	spin(CLOCK_MONOTONIC, 1000 * seconds);
	for (turn = 0; turn < TURNS; turn++)
		for (i = 0; i < (how == EVENTS ? nr : 1); i++)
			ioctl(fds[turn][i], PERF_EVENT_IOC_DISABLE, 0);
	if (how == SAMPLES)
		sampled = check_samples(who[kind], &ring, nr);
	for (turn = 0; turn < TURNS; turn++) {
		for (i = 0; i < nr; i++)
			t[i] = read_turn(how == EVENTS ? "alone" : who[kind], fds[turn][i],
					 !i && (how == SAMPLES || (how == GROUPS && kind == TALLY)));
		equal &= is_equal(t, nr);
		/* Not each PMU counts the raw event. */
		exact &= turn == 2 || is_exact(t, how == SAMPLES);
		while (i--)
			close(fds[turn][i]);
	}
	if (how == EVENTS)
		return;
	snprintf(text, sizeof(text), "%s: the members of each group ran for the same time%s", who[kind],
		 how == SAMPLES ? ", while one samples" : "");
	result(equal, text);
	if (how == SAMPLES)
		snprintf(text, sizeof(text), "%s: each sample has the counts of its group", who[kind]);
	else
		snprintf(text, sizeof(text), "%s: those that count the same do so to 1 %%", who[kind]);
	result(exact && sampled, text);
}

static void test_turns(int room, int seconds, int samples)
{
	need_device();
	page_size = sysconf(_SC_PAGESIZE);
	run_on(0);
	take_turns(TALLY, GROUPS, room - 1, seconds);
	take_turns(PERF, GROUPS, room - 1, seconds);
	if (samples) {
		take_turns(TALLY, SAMPLES, room - 1, seconds);
		take_turns(PERF, SAMPLES, room - 1, seconds);
	}
	/* Nothing can be said of these but what was seen. */
	take_turns(TALLY, EVENTS, room - 1, seconds);
}

/* ---- a task and its children ---- */

static struct perf_event_attr inherited(int i, int group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = sizeof(attr), .config = 0x20 + i, .inherit = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_user = group == 1, .exclude_kernel = group == 2,
	};

	return attr;
}

/* Waits until a task sleeps: nothing counts it then. */
static void wait_asleep(pid_t pid)
{
	char path[32], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		f = fopen(path, "r");
		if (!f || !fgets(line, sizeof(line), f))
			err(2, "%s", path);
		fclose(f);
	} while (!strstr(line, ") S "));
}

/* Three groups, which do not fit together, count a task with two children. */
static void count_family(int kind, int room)
{
	static const char *const who[] = { [PERF] = "perf", [TALLY] = "tally" };
	int fds[TURNS][16], go[2], turn, i, equal = 1;
	pid_t pid = fork_waiting(go);
	struct times t[16];
	char text[100];

	if (!pid) {
		run_on(0);
		for (i = 0; i < 2; i++) {
			pid = fork();
			if (!pid)
				break;
		}
		spin(CLOCK_PROCESS_CPUTIME_ID, 200);
		while (pid > 0 && wait(NULL) > 0)
			;
		_exit(0);
	}
	wait_asleep(pid);
	for (turn = 0; turn < TURNS; turn++) {
		for (i = 0; i < room - 1; i++) {
			struct perf_event_attr attr = inherited(i, turn);
			struct tally_open r = request(&attr, pid, -1, i ? fds[turn][0] : -1, 0);

			if (kind == TALLY && !i)
				attr.read_format |= PERF_FORMAT_GROUP;
			fds[turn][i] = must_open(kind, &r);
		}
	}
	let_go_on(go);
	if (waitpid(pid, NULL, 0) != pid)
		err(2, "a child");
	for (turn = 0; turn < TURNS; turn++) {
		for (i = 0; i < room - 1; i++)
			t[i] = read_turn(who[kind], fds[turn][i], kind == TALLY && !i);
		equal &= is_equal(t, room - 1);
		while (i--)
			close(fds[turn][i]);
	}
	snprintf(text, sizeof(text), "%s: the members of inherited groups ran for the same time",
		 who[kind]);
	result(equal, text);
}

/*
 * Opens groups of a task that forks. perf swaps the contexts of a task and its child: whoever opens
 * a sibling of a leader in another context is warned of in the kernel's log, and fails this run.
 */
static void open_while_forking(void)
{
	static const int codes[] = { 0x11, 0x23, 0x24 };
	int fds[3], go[2], groups = 0, failed = 0;
	pid_t pid = fork_waiting(go);
	uint64_t end;
	unsigned int i;

	if (!pid) {
		run_on(0);
		for (end = now_ns() + 1000000000; now_ns() < end; ) {
			pid = fork();
			if (!pid) {
				spin(CLOCK_MONOTONIC, below(2));
				_exit(0);
			}
			waitpid(pid, NULL, 0);
		}
		_exit(0);
	}
	let_go_on(go);
	while (!waitpid(pid, NULL, WNOHANG)) {
		for (i = 0; i < 3; i++) {
			struct perf_event_attr attr = inherited(i, 0);

			attr.config = codes[i];
			/* The task may fork, and switch to its child. */
			wait_ms(below(3));
			fds[i] = open_event(TALLY, &attr, pid, -1, i ? fds[0] : -1, 0);
			if (fds[i] >= 0)
				continue;
			if (errno != ESRCH && errno != ENODEV)
				fprintf(stderr, "member %u: %s: %s\n", i, strerrorname_np(errno),
					why.text);
			failed |= errno != ESRCH && errno != ENODEV;
			break;
		}
		groups += i == 3;
		while (i--)
			close(fds[i]);
	}
	fprintf(stderr, "%d whole groups\n", groups);
	result(groups > 0 && !failed, "groups of a task that forks");
}

static void test_inherit(int room)
{
	count_family(TALLY, room);
	count_family(PERF, room);
	open_while_forking();
}

/* ---- leaders that go, or are off ---- */

/* What open_led() counts, if it is no task. */
enum { ON_CPU_0 = -1, ON_ALL_CPUS = -2 };

/*
 * Opens a leader that samples, or only counts, and two siblings, all on: of CPU 0, of all CPUs, or
 * of a task and its children.
 */
static void open_led(int samples, pid_t on, int fds[3])
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = sizeof(attr), .config = 0x11,
		.read_format = PERF_FORMAT_GROUP, .sample_period = samples ? 1000000 : 0,
		.inherit = on > 0,
	};
	struct tally_open r = request(&attr, on > 0 ? on : -1, on == ON_CPU_0 ? 0 : -1, -1, 0);

	r.flags = on == ON_ALL_CPUS ? TALLY_OPEN_ALL_CPUS : 0;
	fds[0] = must_open(TALLY, &r);
	r.group_fd = fds[0];
	attr.sample_period = 0;
	attr.read_format = 0;
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	fds[1] = must_open(TALLY, &r);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	fds[2] = must_open(TALLY, &r);
}

/* Returns whether an event has counted for some of the time from now on. */
static int goes_on(int fd)
{
	uint64_t value = value_of(fd);
	int i;

	for (i = 0; i < 100; i++) {
		spin(CLOCK_MONOTONIC, 1);
		if (value_of(fd) > value)
			return 1;
	}
	return 0;
}

/* The same; a task on another CPU of a busy machine may be late. */
static int goes_on_later(int fd)
{
	int i;

	for (i = 0; i < 100; i++)
		if (goes_on(fd))
			return 1;
	return 0;
}

/* Returns for how many nanoseconds an enabled event was not on the PMU. */
static uint64_t waited(int fd)
{
	struct tally_value v;

	if (read_first(fd, -1, &v))
		err(2, "TALLY_IOC_READ");
	return v.enabled_ns - v.running_ns;
}

/* The siblings of an inherited leader stay on the PMU when it is closed, however long the task runs. */
static void test_inherited_leader(void)
{
	uint64_t before;
	int fds[3], counts;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_on(1);
		for (;;)
			;
	}
	open_led(1, pid, fds);
	counts = goes_on_later(fds[1]);
	before = waited(fds[1]);
	close(fds[0]);
	counts &= goes_on_later(fds[1]);
	result(counts && waited(fds[1]) == before, "inherited: and without it, all the time");
	close(fds[1]);
	close(fds[2]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Siblings of a leader on all CPUs go on, although perf releases its events one after the other. */
static void test_leader_on_all_cpus(void)
{
	uint64_t before;
	int fds[3], counts;

	open_led(1, ON_ALL_CPUS, fds);
	counts = goes_on(fds[1]);
	before = waited(fds[1]);
	close(fds[0]);
	counts &= goes_on(fds[1]);
	result(counts && waited(fds[1]) == before, "on all CPUs: and without it, all the time");
	close(fds[1]);
	close(fds[2]);
}

/*
 * Returns whether a group that samples CPU 0, and is disabled from another CPU, has counts that are
 * not less than those of its last sample.
 */
static int ends_after_samples(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .size = sizeof(attr),
		.read_format = PERF_FORMAT_GROUP, .sample_period = 50000,
		.sample_type = PERF_SAMPLE_READ, .disabled = 1,
	};
	uint64_t last[3] = { 0 }, end[3] = { 0 };
	struct perf_event_header *h;
	struct ring ring;
	int fds[2];

	fds[0] = open_event(TALLY, &attr, -1, 0, -1, 0);
	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	attr.sample_period = attr.sample_type = attr.read_format = attr.disabled = 0;
	fds[1] = open_event(TALLY, &attr, -1, 0, fds[0], 0);
	if (fds[0] < 0 || fds[1] < 0)
		err(2, "a group: %s", why.text);
	must_map(&ring, fds[0], 64);
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	spin(CLOCK_MONOTONIC, 2);
	ioctl(fds[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	if (read(fds[0], end, sizeof(end)) != sizeof(end))
		err(2, "read");
	for (; ring.tail < head_of(&ring); ring.tail += h->size) {
		h = copy_record(&ring, ring.tail, head_of(&ring));
		if (h->type == PERF_RECORD_SAMPLE)
			memcpy(last, h + 1, sizeof(last));
	}
	unmap_ring(&ring);
	close(fds[1]);
	if (end[1] >= last[1] && end[2] >= last[2])
		return 1;
	fprintf(stderr, "the last sample has %llu and %llu, and the end %llu and %llu\n",
		(unsigned long long)last[1], (unsigned long long)last[2],
		(unsigned long long)end[1], (unsigned long long)end[2]);
	return 0;
}

/* Whether a sibling could count is tried together with a leader that is disabled. */
static void test_required(int pinned)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = sizeof(attr), .config = 0x11, .disabled = 1,
		.sample_period = 1000000, .pinned = pinned,
	};
	int leader = open_event(TALLY, &attr, -1, 0, -1, 0), fd;
	struct tally_open r;

	attr.sample_period = attr.disabled = attr.pinned = 0;
	attr.config = 0x3c;
	r = request(&attr, -1, 0, leader, 0);
	r.flags = TALLY_OPEN_REQUIRE;
	fd = open_as(TALLY, &r);
	result(fd >= 0, pinned ? "the same, pinned" : "a required sibling of a disabled leader that samples");
	close(fd);
	close(leader);
}

/* The first period of a disabled leader does not contain what it counts while siblings join it. */
static void test_first_period(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = sizeof(attr), .config = 0x11, .disabled = 1,
		.sample_period = 20000000, .sample_type = PERF_SAMPLE_READ,
	};
	int leader = open_event(TALLY, &attr, -1, 0, -1, 0), fd, i;
	uint64_t period = attr.sample_period, value = 0;
	struct perf_event_header *h;
	struct ring ring;

	must_map(&ring, leader, 64);
	attr.sample_period = attr.sample_type = 0;
	attr.config = 0x3c;
	for (i = 0; i < 50; i++) {
		fd = open_event(TALLY, &attr, -1, 0, leader, 0);
		if (fd < 0)
			err(2, "a sibling: %s", why.text);
		close(fd);
	}
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < 10000 && ring.tail == head_of(&ring); i++)
		spin(CLOCK_MONOTONIC, 1);
	ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
	h = copy_record(&ring, ring.tail, head_of(&ring));
	if (h->type == PERF_RECORD_SAMPLE)
		memcpy(&value, h + 1, sizeof(value));
	fprintf(stderr, "the first sample has %llu of %llu\n", (unsigned long long)value,
		(unsigned long long)period);
	result(value >= period, "siblings that come and go leave the leader's first period whole");
	unmap_ring(&ring);
	close(leader);
}

static void test_leaders(int samples)
{
	int fds[3], tries = 200;

	run_on(1);
	page_size = sysconf(_SC_PAGESIZE);
	while (tries && ends_after_samples())
		tries--;
	result(!tries, "no sample of a group shows more than its last counts");
	run_on(0);
	test_leader_on_all_cpus();
	open_led(0, ON_CPU_0, fds);
	result(goes_on(fds[2]), "a clock counts with its leader");
	ioctl(fds[2], PERF_EVENT_IOC_DISABLE, 0);
	ioctl(fds[2], PERF_EVENT_IOC_ENABLE, 0);
	result(goes_on(fds[2]), "and when it is enabled again");
	close(fds[0]);
	result(goes_on(fds[2]), "and without it");
	close(fds[1]);
	close(fds[2]);
	if (!samples)
		return;
	open_led(1, ON_CPU_0, fds);
	result(goes_on(fds[1]) && goes_on(fds[2]), "siblings of a leader that samples count");
	ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
	result(!goes_on(fds[1]) && !goes_on(fds[2]), "but not while it is disabled");
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	result(goes_on(fds[1]) && goes_on(fds[2]), "and when it is enabled again");
	close(fds[0]);
	result(goes_on(fds[1]) && goes_on(fds[2]), "and without it");
	close(fds[1]);
	close(fds[2]);

	test_inherited_leader();

	test_required(0);
	test_required(1);
	test_first_period();
}

/* ---- siblings that join ---- */

/*
 * Siblings join while they are off, so that they need no counter. But tally creates each of them on,
 * for a moment, and the PMU has no room for such a group beside a pinned event. The leader counts on
 * at once.
 */
static void test_joins(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = sizeof(attr), .config = 0x2b, .pinned = 1,
	};
	struct tally_open r = request(&attr, -1, 0, -1, 0);
	int pinned = must_open(TALLY, &r), fds[MOST], nr = 1, counts, larger;

	run_on(0);
	attr.pinned = 0;
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	fds[0] = must_open(TALLY, &r);
	counts = goes_on(fds[0]);
	attr.type = PERF_TYPE_RAW;
	attr.disabled = 1;
	do {
		attr.config = 0x20 + nr;
		fds[nr] = open_event(TALLY, &attr, -1, 0, fds[0], 0);
		larger = fds[nr] >= 0;
		nr += larger;
		counts &= goes_on(fds[0]);
	} while (larger && nr < MOST);
	fprintf(stderr, "%d members: %s\n", nr, why.text);
	result(counts, "joins: the leader counts on beside each sibling that is off");
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	result(!goes_on(fds[0]), "joins: the PMU has no room for all that are on");
	while (nr--)
		close(fds[nr]);
	close(pinned);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "spin")) {
		spin(CLOCK_MONOTONIC, 20);
		return 0;
	}

	need_device();
	if (argc == 4 && !strcmp(argv[1], "random"))
		compare_random(atoi(argv[2]), atoi(argv[3]));
	else if (argc == 3 && !strcmp(argv[1], "exec"))
		test_exec(atoi(argv[2]));
	else if (argc == 3 && !strcmp(argv[1], "inherit"))
		test_inherit(atoi(argv[2]));
	else if (argc == 3 && !strcmp(argv[1], "leaders"))
		test_leaders(!strcmp(argv[2], "samples"));
	else if (argc == 2 && !strcmp(argv[1], "joins"))
		test_joins();
	else if (argc == 5 && !strcmp(argv[1], "turns"))
		test_turns(atoi(argv[2]), atoi(argv[3]), !strcmp(argv[4], "samples"));
	else
		return 2;
	return bad;
}
