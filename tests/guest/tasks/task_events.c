// SPDX-License-Identifier: GPL-2.0
/*
 * task_events perf|tally SHAPE: compares sideband records of tasks. An event of perf
 * writes to one ring; another event, of perf or of tally, writes to a second ring. Both
 * rings must have the same records. Only the times differ, and the order of different
 * tasks.
 *
 * SHAPE is own (this task alone), names (as own, but COMM records only), task (this task
 * and its children), threads (this task and its threads), cpu (a CPU); or inside: task
 * and cpu in a PID namespace of their own.
 *
 * task_events perf broken: tests that the comparison finds every difference.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "devtest.h"

#define MAX_RECORDS	8192
#define DATA_PAGES	256
/* perf records new cgroups only in the hierarchy of the perf_event controller. */
#define CGROUP		"/tmp/perf_event/tally task, a name that is not short"
#define OTHER_CGROUP	"/sys/fs/cgroup/tally_task_events"

static char program[4096];

/* ---- records ---- */

struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

/* The body of FORK and EXIT. The two events do not have the same @time. */
struct task_body {
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct record {
	uint32_t type;
	uint16_t misc;
	uint16_t size;
	int doubtful;
	uint64_t time, body_time;
	struct trailer trailer;
	unsigned char body[512];
};

struct records {
	unsigned int nr;
	int lost;
	struct record of[MAX_RECORDS];
};

struct shape {
	const char *name;
	int task, cpu, inherit, threads, all;
};

static const struct shape shapes[] = {
	{ .name = "own", .task = 1, .cpu = -1, .all = 1 },
	{ .name = "names", .task = 1, .cpu = -1 },
	{ .name = "task", .task = 1, .inherit = 1, .all = 1 },
	{ .name = "threads", .task = 1, .inherit = 1, .threads = 1, .all = 1 },
	{ .name = "cpu", .all = 1 },
};

static void set_attr(const struct shape *s)
{
	usual();
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr.sample_id_all = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = s->all;
	attr.context_switch = s->all;
	attr.cgroup = s->all;
	attr.inherit = s->inherit;
	attr.inherit_thread = s->threads;
	o.pid = s->task ? 0 : -1;
	o.cpu = s->cpu;
}

static void begin_ring(struct ring *r, const struct shape *s, int kind)
{
	set_attr(s);
	must_map(r, must_open(kind, &o), DATA_PAGES);
}

static int named(const struct record *r, const char *name)
{
	return r->type == PERF_RECORD_COMM && !strcmp((const char *)r->body + 8, name);
}

/* Splits a record into @r. The trailer has the fields of sample_type in set_attr(). */
static void take_apart(struct record *r, const struct perf_event_header *h)
{
	const char *bytes = (const char *)h;
	struct task_body t;
	size_t size = h->size - sizeof(*h) - sizeof(r->trailer);

	memset(r, 0, sizeof(*r));
	r->type = h->type;
	r->misc = h->misc;
	r->size = h->size;
	if (h->size < sizeof(*h) + sizeof(r->trailer) || size > sizeof(r->body))
		errx(2, "a record of type %u has %u bytes", h->type, h->size);
	memcpy(&r->trailer, bytes + h->size - sizeof(r->trailer), sizeof(r->trailer));
	r->time = r->trailer.time;
	r->trailer.time = 0;
	memcpy(r->body, bytes + sizeof(*h), size);
	if (h->type == PERF_RECORD_FORK || h->type == PERF_RECORD_EXIT) {
		memcpy(&t, r->body, sizeof(t));
		r->body_time = t.time;
		t.time = 0;
		memcpy(r->body, &t, sizeof(t));
	}
}

/* Reads the records between the names "task begin" and "task end"; with @whole, all records. */
static void read_ring(struct ring *ring, struct records *records, int whole)
{
	const struct perf_event_header *h;
	uint64_t head = head_of(ring);
	struct record r;
	int on = whole;

	records->nr = 0;
	records->lost = 0;
	for (; ring->tail < head; ring->tail += h->size) {
		h = copy_record(ring, ring->tail, head);
		if (!h)
			errx(2, "a record without a size");
		if (h->type == PERF_RECORD_LOST) {
			records->lost = 1;
			continue;
		}
		take_apart(&r, h);
		if (named(&r, "task begin"))
			on = 1;
		if (on && records->nr < MAX_RECORDS)
			records->of[records->nr++] = r;
		if (named(&r, "task end"))
			on = whole;
	}
}

/* ---- what is compared ---- */

/*
 * The records of one task are in the order of what the task does, and switches are in
 * their own order. A task may be switched out between perf's record and the tracepoint,
 * where tally writes its record. So the order of two tasks, or of a task and switches, is
 * not compared.
 */
#define SWITCHES	UINT32_MAX

static int is_switch(const struct record *r)
{
	return r->type == PERF_RECORD_SWITCH || r->type == PERF_RECORD_SWITCH_CPU_WIDE;
}

static const struct record *next_of(const struct records *records, unsigned int *at,
				    uint32_t whose)
{
	const struct record *r;

	while (*at < records->nr) {
		r = &records->of[(*at)++];
		if (whose == (is_switch(r) ? SWITCHES : r->trailer.tid))
			return r;
	}
	return NULL;
}

static int equal(const struct record *a, const struct record *b)
{
	return a->type == b->type && a->misc == b->misc && a->size == b->size &&
	       !memcmp(&a->trailer, &b->trailer, sizeof(a->trailer)) &&
	       !memcmp(a->body, b->body, sizeof(a->body));
}

static void describe(char *text, size_t size, const struct record *r)
{
	uint32_t w[4];

	if (!r) {
		snprintf(text, size, "nothing");
		return;
	}
	memcpy(w, r->body, sizeof(w));
	snprintf(text, size, "type %u misc %#x size %u: %u %u %u %u '%.16s' of %u/%u on %u",
		 r->type, r->misc, r->size, w[0], w[1], w[2], w[3],
		 r->type == PERF_RECORD_COMM ? (const char *)r->body + 8 : "",
		 r->trailer.pid, r->trailer.tid, r->trailer.cpu);
}

/*
 * Returns the number of equal records, or -1 with the first difference in @why. The other
 * ring need not have a doubtful record.
 */
static int compare_some(const struct records *a, const struct records *b, uint32_t whose,
			char *why, size_t size)
{
	const struct record *x, *y;
	unsigned int i = 0, j = 0;
	char one[160], other[160];
	int nr = 0;

	x = next_of(a, &i, whose);
	y = next_of(b, &j, whose);
	for (;;) {
		if (x && y && equal(x, y)) {
			nr++;
			x = next_of(a, &i, whose);
			y = next_of(b, &j, whose);
		} else if (x && x->doubtful) {
			x = next_of(a, &i, whose);
		} else if (y && y->doubtful) {
			y = next_of(b, &j, whose);
		} else {
			break;
		}
	}
	if (!x && !y)
		return nr;
	describe(one, sizeof(one), x);
	describe(other, sizeof(other), y);
	snprintf(why, size, ", but no. %d: %s / %s", nr, one, other);
	return -1;
}

/* Whether the record at @at is the first one of its task, and no switch. */
static int is_first(const struct records *records, unsigned int at)
{
	unsigned int i;

	for (i = 0; i < at; i++)
		if (!is_switch(&records->of[i]) &&
		    records->of[i].trailer.tid == records->of[at].trailer.tid)
			return 0;
	return !is_switch(&records->of[at]);
}

static int compare(const struct records *a, const struct records *b, char *why, size_t size)
{
	int nr = compare_some(a, b, SWITCHES, why, size), more;
	const struct records *both[2] = { a, b };
	unsigned int i, j;

	for (i = 0; i < 2 && nr >= 0; i++) {
		for (j = 0; j < both[i]->nr && nr >= 0; j++) {
			if (!is_first(both[i], j))
				continue;
			more = compare_some(a, b, both[i]->of[j].trailer.tid, why, size);
			nr = more < 0 ? -1 : nr + (i ? 0 : more);
		}
	}
	return nr;
}

/*
 * Removes the switches of a task, or of all with 0, between two times. perf and tally write
 * the record of a name at different places, and the task may be switched out between the
 * two. So what lies before or after a name in one ring is removed from the other one, too.
 *
 * The clock of a CPU may stand still until its next tick. A switch at the very time of the
 * name in the other ring may lie on either side of it: it stays, and is doubtful.
 */
static void forget_switches(struct records *records, uint32_t tid, uint64_t from, uint64_t to)
{
	unsigned int i, k = 0;

	for (i = 0; i < records->nr; i++) {
		struct record *r = &records->of[i];

		if (is_switch(r) && (!tid || r->trailer.tid == tid) &&
		    r->time >= from && r->time <= to) {
			if (r->time != from && r->time != to)
				continue;
			r->doubtful = 1;
		}
		records->of[k++] = *r;
	}
	records->nr = k;
}

/*
 * A task that is about to exit names itself "task bye". After that, its switches are
 * recorded only up to its EXIT record, and the two events write EXIT at different places.
 * So switches after "task bye" are not compared.
 */
static void forget_last_switches(struct records *from, struct records *other)
{
	unsigned int i;

	for (i = 0; i < from->nr; i++) {
		struct record bye = from->of[i];

		if (!named(&bye, "task bye"))
			continue;
		/* Removes only records behind this one. */
		forget_switches(from, bye.trailer.tid, bye.time, UINT64_MAX);
		forget_switches(other, bye.trailer.tid, bye.time, UINT64_MAX);
	}
}

/* Forgets switches before "task begin", with which all records begin, or after "task end". */
static void forget_outer_switches(struct records *from, struct records *other)
{
	if (!from->nr)
		return;
	forget_switches(other, 0, 0, from->of[0].time);
	forget_switches(other, 0, from->of[from->nr - 1].time, UINT64_MAX);
}

static unsigned int count(const struct records *records, uint32_t type, uint16_t misc)
{
	unsigned int i, nr = 0;

	for (i = 0; i < records->nr; i++)
		nr += records->of[i].type == type && (records->of[i].misc & misc) == misc;
	return nr;
}

/* ---- what happens ---- */

static void name(const char *to)
{
	prctl(PR_SET_NAME, to);
}

static void yields(int times)
{
	while (times--)
		sched_yield();
}

/* Sets the name after a sleep, so that the task is not switched out soon. */
static void say(const char *what)
{
	wait_ms(2);
	name(what);
}

/* Yields until this runnable task was really switched out, for 10 s at most. */
static void give_way(void)
{
	time_t end = time(NULL) + 10;
	struct rusage before, now;

	getrusage(RUSAGE_THREAD, &before);
	do {
		sched_yield();
		getrusage(RUSAGE_THREAD, &now);
	} while (now.ru_nivcsw == before.ru_nivcsw && time(NULL) < end);
}

static void finish(void)
{
	say("task bye");
	_exit(0);
}

static void *thread(void *data)
{
	name("task thread");
	yields(3);
	say("task bye");
	return data;
}

static void *executes(void *data)
{
	execl(program, program, "bye", NULL);
	_exit(1);
	return data;
}

static void run_thread(void *(*fn)(void *))
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, NULL))
		errx(2, "no thread");
	pthread_join(t, NULL);
}

static void child_forks(void)
{
	pid_t pid;

	name("task child");
	yields(3);
	pid = fork();
	if (!pid)
		finish();
	waitpid(pid, NULL, 0);
	execl(program, program, "bye", NULL);
}

static void child_threads(void)
{
	run_thread(thread);
	/* The exec() of a thread ends this task. */
	say("task bye");
	run_thread(executes);
}

/* Waits to be killed. */
static void child_waits(void)
{
	say("task bye");
	for (;;)
		raise(SIGSTOP);
}

static pid_t child(void (*does)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	does();
	_exit(1);
}

static int wake[2], who[2];

static void *waits(void *data)
{
	pid_t tid = gettid();
	char c;

	if (write(who[1], &tid, sizeof(tid)) != sizeof(tid) || read(wake[0], &c, 1) != 1)
		errx(2, "a thread that waits");
	say("task bye");
	return data;
}

/* perf writes COMM to the events of the task that renames, not of the renamed one. */
static void rename_other(void)
{
	char path[64];
	pthread_t t;
	pid_t tid;
	int fd;

	if (pipe(wake) || pipe(who) || pthread_create(&t, NULL, waits, NULL) ||
	    read(who[0], &tid, sizeof(tid)) != sizeof(tid))
		errx(2, "no thread");
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "task renamed", 12) != 12)
		err(2, "%s", path);
	close(fd);
	if (write(wake[1], "", 1) != 1)
		err(2, "a pipe");
	pthread_join(t, NULL);
	close(wake[0]);
	close(wake[1]);
	close(who[0]);
	close(who[1]);
}

static void happen(int proc)
{
	pid_t pid;

	say("task begin");
	give_way();
	pid = child(child_forks);
	yields(5);
	waitpid(pid, NULL, 0);
	run_thread(thread);
	waitpid(child(child_threads), NULL, 0);
	pid = child(child_waits);
	waitpid(pid, NULL, WUNTRACED);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* /proc has the threads by their numbers outside of the PID namespace. */
	if (proc)
		rename_other();
	if (mkdir(OTHER_CGROUP, 0755) || mkdir(CGROUP, 0755))
		err(2, CGROUP);
	wait_ms(2);
	name("a name that is longer than fits");
	name("1234567");
	name("");
	say("task end");
	rmdir(OTHER_CGROUP);
	rmdir(CGROUP);
}

/* ---- tests ---- */

static struct records told[2], copy;

/* Checks that there are records of each kind; else the comparison proves nothing. */
static void all_kinds(const struct shape *s, const struct records *r)
{
	uint32_t sw = s->task ? PERF_RECORD_SWITCH : PERF_RECORD_SWITCH_CPU_WIDE;
	/* Whether the event records more processes than this one. */
	unsigned int others = !s->task || (s->inherit && !s->threads);

	tell(count(r, PERF_RECORD_COMM, 0) >= 5, "%s: %u COMM", s->name,
	     count(r, PERF_RECORD_COMM, 0));
	tell(count(r, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC) == 2 * others,
	     "%s: %u of them exec()", s->name,
	     count(r, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC));
	tell(count(r, PERF_RECORD_FORK, 0) >= 4 + 3 * others, "%s: %u FORK", s->name,
	     count(r, PERF_RECORD_FORK, 0));
	tell(count(r, PERF_RECORD_EXIT, 0) >= 2U * s->threads + 7 * others, "%s: %u EXIT",
	     s->name, count(r, PERF_RECORD_EXIT, 0));
	if (!s->all)
		return;
	tell(count(r, sw, PERF_RECORD_MISC_SWITCH_OUT) >= 5, "%s: %u SWITCH out", s->name,
	     count(r, sw, PERF_RECORD_MISC_SWITCH_OUT));
	tell(count(r, sw, PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) >= 1,
	     "%s: %u of them of who could go on", s->name,
	     count(r, sw, PERF_RECORD_MISC_SWITCH_OUT_PREEMPT));
	tell(count(r, PERF_RECORD_CGROUP, 0) == 1, "%s: %u CGROUP", s->name,
	     count(r, PERF_RECORD_CGROUP, 0));
}

static void times(const struct shape *s, const struct records *r, const char *whose)
{
	unsigned int i, bad = 0;

	for (i = 0; i < r->nr; i++) {
		bad += i && r->of[i].time < r->of[i - 1].time;
		bad += r->of[i].body_time && r->of[i].body_time < r->of[i].time;
		bad += !r->of[i].time;
	}
	tell(!bad, "%s: %u of %s's times are out of order", s->name, bad, whose);
}

/* Runs on the same CPU, so that a task that yields is really switched out. */
static void child_yields(void)
{
	for (;;)
		sched_yield();
}

static void record_both(const struct shape *s, int kind)
{
	static struct ring rings[2];
	pid_t other;
	int i;

	run_on(0);
	other = child(child_yields);
	begin_ring(&rings[0], s, PERF);
	begin_ring(&rings[1], s, kind);
	happen(getpid() != 1);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	for (i = 0; i < 2; i++) {
		if (ioctl(rings[i].fd, PERF_EVENT_IOC_DISABLE, 0))
			err(2, "disable");
		read_ring(&rings[i], &told[i], 0);
		unmap_ring(&rings[i]);
	}
	for (i = 0; i < 2; i++) {
		forget_outer_switches(&told[i], &told[!i]);
		if (s->task)
			forget_last_switches(&told[i], &told[!i]);
	}
}

static void same(const struct shape *s, int kind)
{
	char why[400] = "";
	int nr;

	record_both(s, kind);
	tell(!told[0].lost && !told[1].lost, "%s: nothing was lost", s->name);
	all_kinds(s, &told[0]);
	times(s, &told[0], "perf");
	times(s, &told[1], maker(kind));
	nr = compare(&told[0], &told[1], why, sizeof(why));
	tell(nr >= 10, "%s: %d records are the same%s", s->name, nr, why);
}

static int differs(void)
{
	char why[400];

	return compare(&told[0], &copy, why, sizeof(why)) < 0;
}

/* Changes or removes each record in turn; the comparison must find it. */
static void broken(void)
{
	unsigned int i, nr = 0, tried = 0, missed = 0;
	struct record *r;

	record_both(&shapes[4], 0);
	/* The comparison may pair a doubtful record with an equal one. */
	for (i = 0; i < told[0].nr; i++)
		if (!told[0].of[i].doubtful)
			told[0].of[nr++] = told[0].of[i];
	told[0].nr = nr;
	for (i = 0; i < told[0].nr; i++) {
		r = &copy.of[i];
		copy = told[0];
		missed += differs();
		r->misc ^= 1 << 13;
		missed += !differs();
		*r = told[0].of[i];
		r->type ^= 1;
		missed += !differs();
		*r = told[0].of[i];
		r->trailer.tid++;
		missed += !differs();
		*r = told[0].of[i];
		r->body[i % 8] ^= 1;
		missed += !differs();
		*r = told[0].of[i];
		memmove(r, r + 1, (copy.nr - i - 1) * sizeof(*r));
		copy.nr--;
		missed += !differs();
		tried += 6;
	}
	tell(tried > 100, "%u changes were tried", tried);
	tell(!missed, "%u of them were not seen", missed);
}

static void inside(int kind)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWPID))
		err(2, "a PID namespace");
	pid = fork();
	if (pid) {
		waitpid(pid, &status, 0);
		tell(WIFEXITED(status) && !WEXITSTATUS(status), "the namespace ended");
		return;
	}
	same(&shapes[2], kind);
	same(&shapes[4], kind);
	exit(0);
}

/* ---- events that do not see all of a task, or of a CPU ---- */

static const char *const kinds[] = { "perf", "tally" };

/* Opens rings of perf and of tally, as set_attr() and @o say. */
static void begin_two(struct ring *rings)
{
	int i;

	for (i = 0; i < 2; i++)
		must_map(&rings[i], must_open(i ? TALLY : PERF, &o), DATA_PAGES);
}

static void end_two(struct ring *rings)
{
	int i;

	for (i = 0; i < 2; i++) {
		read_ring(&rings[i], &told[i], 1);
		unmap_ring(&rings[i]);
	}
}

static int go[2];

static void child_executes(void)
{
	char c;

	name("before");
	if (read(go[0], &c, 1) == 1)
		execl(program, program, "bye", NULL);
}

/* An event that begins with exec() records nothing that the task did before. */
static void from_exec(void)
{
	struct ring rings[2] = { 0 };
	unsigned int i, before;
	pid_t pid;

	if (pipe(go))
		err(2, "a pipe");
	run_on(0);
	pid = child(child_executes);
	set_attr(&shapes[0]);
	attr.disabled = 1;
	attr.enable_on_exec = 1;
	o.pid = pid;
	begin_two(rings);
	yields(20);
	if (write(go[1], "", 1) != 1)
		err(2, "a pipe");
	waitpid(pid, NULL, 0);
	end_two(rings);
	for (i = 0; i < 2; i++) {
		for (before = 0; before < told[i].nr; before++)
			if (told[i].of[before].misc & PERF_RECORD_MISC_COMM_EXEC)
				break;
		tell(!before && told[i].nr > 1, "%s: %u of %u records are from before exec()",
		     kinds[i], before, told[i].nr);
	}
}

/* An event of a cgroup records the tasks of that alone. */
static void of_cgroup(void)
{
	struct ring rings[2] = { 0 };
	pid_t inside, outside;
	unsigned int i, j, others;
	char path[200];
	FILE *f;

	run_on(0);
	if (mkdir(CGROUP, 0755))
		err(2, CGROUP);
	inside = child(child_yields);
	outside = child(child_yields);
	snprintf(path, sizeof(path), "%s/cgroup.procs", CGROUP);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%d", inside) < 0 || fclose(f))
		err(2, "%s", path);
	set_attr(&shapes[4]);
	o.pid = open(CGROUP, O_RDONLY);
	o.cpu = 0;
	o.perf_flags |= PERF_FLAG_PID_CGROUP;
	begin_two(rings);
	/* How many switches 50 yields are is up to the scheduler. Eleven records have less than this. */
	for (i = 0; i < 1000 && (head_of(&rings[0]) < 2048 || head_of(&rings[1]) < 2048); i++)
		yields(50);
	kill(outside, SIGKILL);
	waitpid(outside, NULL, 0);
	end_two(rings);
	kill(inside, SIGKILL);
	waitpid(inside, NULL, 0);
	close(o.pid);
	rmdir(CGROUP);
	for (i = 0; i < 2; i++) {
		for (j = 0, others = 0; j < told[i].nr; j++)
			others += told[i].of[j].trailer.tid != (uint32_t)inside;
		tell(!others && told[i].nr > 10, "%s: %u of %u records are of others than the cgroup",
		     kinds[i], others, told[i].nr);
	}
}

int main(int argc, char **argv)
{
	unsigned int i;
	int kind;

	if (argc == 2 && !strcmp(argv[1], "bye"))
		finish();
	if (argc != 3)
		errx(2, "usage: %s perf|tally SHAPE", argv[0]);
	kind = strcmp(argv[1], "tally") ? PERF : TALLY;
	page_size = getpagesize();
	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		err(2, "/proc/self/exe");
	if (kind == TALLY)
		need_device();
	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (strcmp(argv[2], shapes[i].name))
			continue;
		same(&shapes[i], kind);
		return 0;
	}
	if (!strcmp(argv[2], "broken"))
		broken();
	else if (!strcmp(argv[2], "exec"))
		from_exec();
	else if (!strcmp(argv[2], "cgroup"))
		of_cgroup();
	else if (!strcmp(argv[2], "inside"))
		inside(kind);
	else
		errx(2, "no shape is called %s", argv[2]);
	return 0;
}
