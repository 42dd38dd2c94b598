// SPDX-License-Identifier: GPL-2.0
/*
 * nodump perf|tally task|child PROGRAM ends|goes_on: what is reported of a task after
 * exec(). An event of perf and another one, of perf or of tally, count and sample the page
 * faults of a task of user 1000, and record what it does. The task executes PROGRAM. If that
 * may not be dumped, exec() ends perf's event of the task, and all that the other event
 * reports must end with it. With child, the events are those of the parent, which goes on,
 * and the task has inherited them.
 *
 * nodump obey FROM TO: PROGRAM takes orders from one descriptor and answers to another one.
 */
#define _GNU_SOURCE
#include "devtest.h"

#define DATA_PAGES	64
#define PAGES		100

/* ---- the task ---- */

struct task {
	pid_t pid;
	int orders, answers;
};

static const char *program;

static struct task begin_task(void);
static void order(const struct task *t, char what);

/* Does all that is recorded. */
static void work(void)
{
	prctl(PR_SET_NAME, "works");
	touch(PAGES);
	switch_out();
	touch_in_child(PAGES);
}

static void execute(int from, int to)
{
	char one[16], other[16];

	snprintf(one, sizeof(one), "%d", from);
	snprintf(other, sizeof(other), "%d", to);
	execl(program, program, "obey", one, other, NULL);
	err(1, "%s", program);
}

static void answer(int to)
{
	if (write(to, "", 1) != 1)
		err(1, "an answer");
}

/* Answers each order once it is carried out; that to execute is answered by the program. */
static void obey(int from, int to)
{
	struct task c = { 0 };
	char what;

	while (read(from, &what, 1) == 1) {
		if (what == 'w')
			work();
		else if (what == 'e')
			execute(from, to);
		else if (what == 'f')
			c = begin_task();
		else if (what == 'u' && (setgid(1000) || setuid(1000)))
			err(1, "user 1000");
		else if (what == 'q')
			_exit(0);
		else if (what < 'a')
			order(&c, what - 'A' + 'a');
		answer(to);
	}
	/* Who gave the orders is gone. */
	for (;;)
		pause();
}

static void order(const struct task *t, char what)
{
	char c;

	if (write(t->orders, &what, 1) != 1)
		err(2, "an order");
	if (what == 'q')
		waitpid(t->pid, NULL, 0);
	else if (read(t->answers, &c, 1) != 1)
		errx(2, "the task has ended");
}

static struct task begin_task(void)
{
	int orders[2], answers[2];
	struct task t;

	if (pipe(orders) || pipe(answers))
		err(2, "pipe");
	t.pid = fork();
	if (!t.pid) {
		close(orders[1]);
		close(answers[0]);
		obey(orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	t.orders = orders[1];
	t.answers = answers[0];
	return t;
}

/* ---- the events ---- */

struct seen {
	char list[512];		/* COMM, FORK and EXIT of the program and its children */
	unsigned int late;	/* records after perf's EXIT, but for EXIT itself */
	uint64_t end;		/* time of the first EXIT */
};

static void begin_event(struct ring *e, int kind, pid_t pid, int inherit)
{
	usual();
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr.sample_id_all = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	attr.context_switch = 1;
	attr.inherit = inherit;
	o.pid = pid;
	/* perf has no ring for an inherited event on any CPU. */
	o.cpu = 0;
	must_map(e, must_open(kind, &o), DATA_PAGES);
}

static void see(struct seen *s, const struct perf_event_header *h, uint64_t time, uint64_t end)
{
	if (h->type == PERF_RECORD_LOST)
		errx(2, "a record is lost");
	s->late += h->type != PERF_RECORD_EXIT && end && time > end;
	if (h->type == PERF_RECORD_EXIT && !s->end)
		s->end = time;
	if (h->type == PERF_RECORD_COMM || h->type == PERF_RECORD_FORK ||
	    h->type == PERF_RECORD_EXIT)
		snprintf(s->list + strlen(s->list), sizeof(s->list) - strlen(s->list),
			 " %s%s", h->type == PERF_RECORD_COMM ? "COMM" :
			 h->type == PERF_RECORD_FORK ? "FORK" : "EXIT",
			 h->misc & PERF_RECORD_MISC_COMM_EXEC ? "(exec)" : "");
}

/* Reads the records from exec() on, of all tasks but @parent. */
static void read_ring(struct ring *e, pid_t parent, uint64_t end, struct seen *s)
{
	const struct perf_event_header *h;
	uint64_t head = head_of(e), id[2];
	int on = 0;

	memset(s, 0, sizeof(*s));
	for (; e->tail < head; e->tail += h->size) {
		h = copy_record(e, e->tail, head);
		if (!h || h->size < sizeof(*h) + sizeof(id))
			errx(2, "a record at %llu", (unsigned long long)e->tail);
		/* The pid and the time end a record, and are all that a sample has. */
		memcpy(id, (const char *)h + h->size - sizeof(id), sizeof(id));
		on |= h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC;
		if (on && (pid_t)(uint32_t)id[0] != parent)
			see(s, h, id[1], end);
	}
}

/* ---- the tests ---- */

static int hangs_up(const struct ring *e)
{
	return !!(polled_for(e->fd, 0) & POLLHUP);
}

static int is_state(struct ring *e, unsigned int state)
{
	struct tally_value v = { 0 };

	return read_values(e->fd, &v, NULL) == 1 && v.state == state;
}

static const char *whose, *what;

static void check(const char *test, int good)
{
	tell(good, "%s, %s: %s", whose, what, test);
}

static void check_poll(struct ring *e, int up, const char *when)
{
	tell(eventually(hangs_up(&e[0]) == up), "%s, %s: perf's file %s %s", whose, what,
	     up ? "hangs up" : "does not hang up", when);
	check("and the other one as well", eventually(hangs_up(&e[1]) == up));
}

static void read_counts(struct ring *e, uint64_t *counts, const char *when)
{
	counts[0] = value_of(e[0].fd);
	counts[1] = value_of(e[1].fd);
	tell(counts[0] == counts[1], "%s, %s: %s, both count the same: %llu, %llu", whose, what,
	     when, (unsigned long long)counts[0], (unsigned long long)counts[1]);
}

static void check_counts(struct ring *e, const struct task *t, char works, int ends)
{
	uint64_t before[2], after[2];

	read_counts(e, before, "after exec()");
	order(t, works);
	read_counts(e, after, "later");
	check(ends ? "the count stands still" : "the count goes on",
	      ends ? after[0] == before[0] : after[0] > before[0] + PAGES);
}

static void check_records(struct ring *e, pid_t parent, int ends)
{
	struct seen s[2];

	read_ring(&e[0], parent, 0, &s[0]);
	read_ring(&e[1], parent, s[0].end, &s[1]);
	tell(!strcmp(s[0].list, s[1].list), "%s, %s: the records are the same:%s / %s", whose,
	     what, s[0].list, s[1].list);
	if (!ends)
		return;
	check("these are all", !strcmp(s[0].list, " COMM(exec) EXIT"));
	tell(!s[1].late, "%s, %s: %u records after perf's EXIT", whose, what, s[1].late);
}

/* An order to the task whose program it is, which may be a child. */
static char to(int child, char what)
{
	return child ? what - 'a' + 'A' : what;
}

static void run(int tally, int child, int ends)
{
	struct task t = begin_task();
	static struct ring e[2];
	uint64_t counts[2];
	int i;

	setpgid(t.pid, t.pid);
	/* The child answers when it has begun. */
	order(&t, 'n');
	for (i = 0; i < 2; i++)
		begin_event(&e[i], i && tally ? TALLY : PERF, t.pid, child);
	if (child)
		order(&t, 'f');
	order(&t, to(child, 'u'));
	order(&t, to(child, 'w'));
	read_counts(e, counts, "before exec()");
	order(&t, to(child, 'e'));
	order(&t, to(child, 'w'));
	check_counts(e, &t, to(child, 'w'), ends);
	check_records(e, child ? t.pid : 0, ends);
	if (child) {
		check_poll(e, 0, "while the parent runs");
		check_counts(e, &t, 'w', 0);
		order(&t, 'q');
	}
	check_poll(e, ends, "then");
	if (tally && ends)
		check("the state says so", is_state(&e[1], TALLY_IS_EXITED));
	kill(-t.pid, SIGKILL);
	check_poll(e, 1, "after the end of all");
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "obey")) {
		begin_area();
		answer(atoi(argv[3]));
		obey(atoi(argv[2]), atoi(argv[3]));
	}
	if (argc != 5)
		errx(2, "usage: %s perf|tally task|child PROGRAM ends|goes_on", argv[0]);
	begin_area();
	run_on(0);
	whose = argv[2];
	program = argv[3];
	what = strrchr(program, '/') + 1;
	if (!strcmp(argv[1], "tally"))
		need_device();
	run(!strcmp(argv[1], "tally"), !strcmp(whose, "child"), !strcmp(argv[4], "ends"));
	return 0;
}
