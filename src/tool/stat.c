// SPDX-License-Identifier: GPL-2.0
/* tally stat: counts a command, tasks, CPUs or cgroups. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "stat.h"
#include "tool.h"

/* perf stat's default, without the events that it adds on some PMUs only */
#define USUAL	"task-clock,context-switches,cpu-migrations,page-faults," \
		"cycles,instructions,branches,branch-misses"

enum { KEY_JSON = 256, KEY_ATTACH, KEY_PFM, KEY_APPEND, KEY_TIMEOUT, KEY_INTERVAL_COUNT };

static const struct argp_option options[] = {
	{ "event", 'e', "LIST", 0, "These events: names separated by ',', sets in '{}'", 1 },
	{ "pfm-events", KEY_PFM, "LIST", 0, "These events of libpfm4", 1 },
	{ "attach", KEY_ATTACH, "NAME", 0, "Read this event, which another one has made", 1 },
	{ "no-inherit", 'i', NULL, 0, "Do not count children", 1 },
	{ "delay", 'D', "MS", 0, "Begin to count after so many milliseconds", 1 },
	{ "timeout", KEY_TIMEOUT, "MS", 0, "End after so many milliseconds", 1 },
	{ "no-aggr", 'A', NULL, 0, "A line for each CPU", 2 },
	{ "interval-print", 'I', "MS", 0, "Print the counts of each interval", 2 },
	{ "interval-count", KEY_INTERVAL_COUNT, "N", 0, "End after N intervals of -I", 2 },
	{ "repeat", 'r', "N", 0, "Run the command N times; print means and their spread", 2 },
	{ "field-separator", 'x', "TEXT", 0, "Print fields with this text between them", 2 },
	{ "json-output", 'j', NULL, 0, "Print JSON, an object a line", 2 },
	{ "json", KEY_JSON, NULL, OPTION_ALIAS, NULL, 2 },
	{ "output", 'o', "FILE", 0,
	  "Print to this file, or - for standard output; the default is standard error", 2 },
	{ "append", KEY_APPEND, NULL, 0, "Append to the file", 2 },
	{ 0 }
};

static const struct argp_child children[] = { { &target_argp, 0, "Targets:", 3 }, { 0 } };

/**
 * struct stat - a run of `tally stat`
 * @events:	events, by -e and --pfm-events
 * @attach:	name of the event of another owner; NULL without
 * @now:	totals of the interval, as struct stat_print's
 * @runs:	sums over the runs
 * @last:	CLOCK_MONOTONIC of the beginning of the interval
 * @delay_ms:	-D; 0 without
 * @timeout_ms:	--timeout; 0 without
 * @intervals:	--interval-count; 0 without
 * @over:	one of these two limits was reached, which ends the run
 * @complete:	@intervals were printed, and nothing is left to print
 */
struct stat {
	struct stat_options options;
	struct targets targets;
	struct wanted_list events;
	struct counters counters;
	int device;
	const char *lists[64];
	int is_pfm[64];
	int nr_lists;
	const char *attach;
	const char *output;
	bool append;
	struct total *now;
	struct stat_runs runs;
	__u64 last;
	long delay_ms, timeout_ms, intervals;
	bool over, complete;
	double user, sys;
};

static void add_list(struct stat *s, struct argp_state *state, const char *text, int is_pfm)
{
	if (s->nr_lists == (int)(sizeof(s->lists) / sizeof(s->lists[0])))
		argp_error(state, "too many lists of events");
	s->is_pfm[s->nr_lists] = is_pfm;
	s->lists[s->nr_lists++] = text;
}

static void check(struct stat *s, struct argp_state *state)
{
	bool place = s->targets.all || s->targets.cpus || s->targets.pids || s->targets.tids ||
		     s->targets.cgroups;

	if (s->attach && (place || s->nr_lists || s->counters.per_cpu))
		argp_error(state, "--attach takes no events and no target");
	if (!place && !s->attach && !s->targets.command)
		argp_error(state, "no command, and no target");
	if (s->counters.per_cpu && !s->targets.all && !s->targets.cpus)
		argp_error(state, "-A needs -a or -C");
	if (s->counters.per_cpu && s->targets.cgroups)
		argp_error(state, "-A takes no cgroups");
	if (s->options.repeat > 1 && (!s->targets.command || s->options.interval_ms || s->attach))
		argp_error(state, "-r needs a command, and no -I");
	if (s->delay_ms && s->attach)
		argp_error(state, "--attach reads an event that counts: -D cannot delay it");
	if (s->intervals && !s->options.interval_ms)
		argp_error(state, "--interval-count needs -I");
	if (s->append && !s->output)
		argp_error(state, "--append needs -o");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct stat *s = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &s->targets;
		break;
	case 'e':
	case KEY_PFM:
		add_list(s, state, argument, key == KEY_PFM);
		break;
	case KEY_ATTACH:
		s->attach = argument;
		break;
	case 'i':
		s->counters.inherit = false;
		break;
	case 'A':
		s->counters.per_cpu = true;
		break;
	case 'D':
		s->delay_ms = number_argument(state, argument, 1, 1000000000);
		break;
	case KEY_TIMEOUT:
		s->timeout_ms = number_argument(state, argument, 10, 1000000000);
		break;
	case KEY_INTERVAL_COUNT:
		s->intervals = number_argument(state, argument, 1, 1000000000);
		break;
	case 'I':
		s->options.interval_ms = number_argument(state, argument, 1, 1000000000);
		break;
	case 'r':
		s->options.repeat = number_argument(state, argument, 1, 1000000);
		break;
	case 'x':
		/* As perf: \t in quotes is a tab. */
		s->options.separator = strcmp(argument, "\\t") ? argument : "\t";
		break;
	case 'j':
	case KEY_JSON:
		s->options.json = true;
		break;
	case 'o':
		s->output = argument;
		break;
	case KEY_APPEND:
		s->append = true;
		break;
	case ARGP_KEY_END:
		check(s, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void add_events(struct stat *s)
{
	char *list, *name, *rest;
	int i, e;

	for (i = 0; i < s->nr_lists; i++) {
		if (!s->is_pfm[i]) {
			wanted_add(&s->events, s->device, s->lists[i]);
			continue;
		}
		list = need(strdup(s->lists[i]));
		for (rest = list; (name = strsep(&rest, ",")); )
			wanted_add_pfm(&s->events, s->device, name);
		free(list);
	}
	if (!s->nr_lists)
		wanted_add(&s->events, s->device, USUAL);
	wanted_counts(&s->events);
	for (e = 0; e < s->events.nr; e++) {
		struct wanted *w = &s->events.list[e];

		if (!w->error)
			continue;
		say_failed(w->name, w->error, w->why);
		exit(STATUS_FAILED);
	}
}

static void try_cpu(void *data, int cpu)
{
	struct counters *c = data;
	struct libtally_value value;

	c->on_cpus |= libtally_values_read(c->files[0], cpu, &value, 1, NULL) == 1;
}

/*
 * An attached event has its unit and scale, too, if the caller may see what it counts. Returns
 * whether the event is a kernel probe.
 */
static bool add_attached(struct stat *s)
{
	struct libtally_running about = { 0 };
	struct wanted *w;

	while (libtally_device_next(s->device, &about) > 0)
		if (!strcmp(about.name, s->attach))
			break;
	if (!strcmp(about.name, s->attach) && about.what[0])
		wanted_add(&s->events, s->device, about.what);
	if (s->events.nr != 1 || s->events.list->error) {
		wanted_free(&s->events);
		s->events.list = need(calloc(1, sizeof(*s->events.list)));
		s->events.nr = 1;
		s->events.list->group = -1;
		s->events.list->unit.scale = 1;
		s->events.list->attr.type = ~0U;
	}
	w = s->events.list;
	free(w->name);
	w->name = need(strdup(s->attach));
	return !strcmp(about.name, s->attach) && is_probe(about.what);
}

/* Sets up the counters with a file that is attached to the event, in place of counters_open(). */
static void attach(struct stat *s)
{
	struct counters *c = &s->counters;
	char why[LIBTALLY_ERROR_SIZE];
	bool probe = add_attached(s);
	int fd;

	/* A gauge does not begin at 0. */
	if (s->events.list->unit.gauge)
		fd = libtally_device_attach_total(s->device, 0, s->attach, 0, why);
	else
		fd = libtally_device_attach(s->device, 0, s->attach, 0, why);
	if (fd < 0) {
		say_no_event(s->attach, fd, why);
		exit(STATUS_FAILED);
	}
	c->files = need(malloc(sizeof(*c->files)));
	c->files[0] = fd;
	c->nr_places = 1;
	c->rows = need(calloc(1, sizeof(*c->rows)));
	c->rows->cpu = -1;
	c->rows->shown = true;
	c->rows->totals = need(calloc(1, sizeof(*c->rows->totals)));
	c->nr_rows = 1;
	/* An event of a task, and a file without CAP_PERFMON, cannot be read by CPU. */
	each_possible(try_cpu, c);
	counters_begin(c, c->on_cpus);
	counters_begin_missed(c);
	/* Overflows that no handler was called for are in the count. */
	if (!probe)
		s->events.list->missed_before = ~0ULL;
}

static double seconds(__u64 ns)
{
	return ns / 1e9;
}

/* Sets s->now to the counts since the last call, or since the opening; of a gauge, the value. */
static void take_interval(struct stat *s)
{
	struct counters *c = &s->counters;
	int nr = c->events->nr, r;

	counters_read(c);
	for (r = 0; r < c->nr_rows; r++)
		memcpy(&s->now[r * nr], c->rows[r].totals, nr * sizeof(*s->now));
}

/* Prints something while no signal is waited for: the reader of the output may not read. */
static void print(const struct stat_print *p, void (*what)(const struct stat_print *p))
{
	sigset_t set;

	allow_signals();
	what(p);
	block_signals(&set);
}

static struct stat_print print_of(struct stat *s)
{
	struct stat_print p = {
		.counters = &s->counters, .options = &s->options, .totals = s->now,
		.user = s->user, .sys = s->sys,
	};

	return p;
}

/* Waits for a signal until a time, or without a limit. Returns the signal; 0 without one. */
static int wait_until(const sigset_t *set, __u64 deadline)
{
	__u64 now = now_ns(), left = deadline > now ? deadline - now : 0;
	struct timespec t = { left / 1000000000, left % 1000000000 };
	int signal;

	do
		signal = deadline ? sigtimedwait(set, NULL, &t) : sigwaitinfo(set, NULL);
	while (signal < 0 && errno == EINTR);
	return signal < 0 ? 0 : signal;
}

/* Returns whether the child has ended: SIGCHLD also comes when it was only stopped. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return pid > 0 && !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/* Waits until -D is over. Returns false if a signal, or the end of the command, comes before. */
static bool wait_for_delay(const struct stat *s, const sigset_t *set, pid_t pid)
{
	__u64 until = now_ns() + s->delay_ms * 1000000ULL;
	int signal;

	while ((signal = wait_until(set, until))) {
		tool_stopped |= signal != SIGCHLD;
		if (tool_stopped || has_ended(pid))
			return false;
	}
	return true;
}

/* Returns the earlier one of two times, of which 0 never comes. */
static __u64 earlier(__u64 a, __u64 b)
{
	return a && (!b || a < b) ? a : b;
}

/*
 * Waits for the end of the command or of all tasks, for a signal or for a limit. Prints the
 * intervals meanwhile. Without a command, tasks that have exited, and cgroups that are
 * removed, are looked for twice a second.
 */
static void wait_for_end(struct stat *s, const sigset_t *set, pid_t pid, __u64 begin)
{
	__u64 step = s->options.interval_ms * 1000000ULL, next = begin + step, now;
	__u64 limit = s->timeout_ms ? begin + s->timeout_ms * 1000000ULL : 0;
	bool tasks = s->targets.pids || s->targets.tids || s->targets.cgroups || s->attach;
	struct stat_print p;
	long nr = 0;
	int signal;

	while (!tool_stopped) {
		__u64 look = tasks && pid < 0 ? now_ns() + 500000000 : 0;

		signal = wait_until(set, earlier(limit, earlier(look, step ? next : 0)));
		tool_stopped |= signal && signal != SIGCHLD;
		if (tool_stopped || (signal == SIGCHLD && has_ended(pid)) ||
		    (!signal && look &&
		     counters_exited(&s->counters, !targets_exist(&s->targets))))
			return;
		now = now_ns();
		s->over = limit && now >= limit;
		if (s->over)
			return;
		if (!step || now < next)
			continue;
		take_interval(s);
		p = print_of(s);
		p.at = seconds(now - begin);
		p.elapsed = seconds(now - s->last);
		print(&p, stat_print_counts);
		s->last = now;
		s->over = ++nr == s->intervals;
		s->complete = s->over;
		if (s->over)
			return;
		while (next <= now)
			next += step;
	}
}

/* Waits for the command, and returns its status as a shell does. */
static int end_child(struct stat *s, const sigset_t *set, pid_t pid)
{
	struct rusage usage;
	int status, signal;
	pid_t ended;

	if (tool_stopped || s->over)
		kill(pid, SIGTERM);
	/* A second signal ends a command that ignores the first one. */
	while (!(ended = wait4(pid, &status, WNOHANG, &usage))) {
		signal = wait_until(set, 0);
		if (signal != SIGCHLD)
			kill(pid, tool_stopped ? SIGKILL : SIGTERM);
		tool_stopped |= signal != SIGCHLD;
	}
	if (ended != pid)
		die("wait4: %s", strerror(errno));
	s->user = usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
	s->sys = usage.ru_stime.tv_sec + usage.ru_stime.tv_usec / 1e6;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void add_run(struct stat *s, double elapsed)
{
	int i, nr = s->counters.nr_rows * s->events.nr;

	for (i = 0; i < nr; i++) {
		const struct total *now = &s->now[i];
		double value = now->scaled;

		total_add(&s->runs.totals[i], now);
		/* A run in which the event had no part of the PMU has no count. */
		if (!now->running)
			continue;
		s->runs.sum[i] += value;
		s->runs.squares[i] += value * value;
		s->runs.counted[i]++;
	}
	s->runs.elapsed += elapsed;
	s->runs.elapsed_squares += elapsed * elapsed;
	s->runs.nr++;
}

/* The ratios of a group are valid if they were so in each run. */
static void keep_ratios(struct stat *s, int *kept)
{
	int r, g, nr = s->events.nr_groups;

	for (r = 0; r < s->counters.nr_rows; r++) {
		for (g = 0; g < nr; g++) {
			int *ratio = &s->counters.rows[r].ratios[g];

			*ratio &= s->runs.nr > 1 ? kept[r * nr + g] : 1;
			kept[r * nr + g] = *ratio;
		}
	}
}

static void open_all(struct stat *s, struct child *child)
{
	int nr;

	if (s->attach)
		attach(s);
	else
		counters_open(&s->counters, child);
	nr = s->counters.nr_rows * s->events.nr + 1;
	if (!s->now) {
		s->now = need(calloc(nr, sizeof(*s->now)));
		s->runs.sum = need(calloc(nr, sizeof(*s->runs.sum)));
		s->runs.squares = need(calloc(nr, sizeof(*s->runs.squares)));
		s->runs.counted = need(calloc(nr, sizeof(*s->runs.counted)));
		s->runs.totals = need(calloc(nr, sizeof(*s->runs.totals)));
	}
	if (s->attach && s->targets.command)
		child_start(child, s->targets.command, NULL, NULL);
}

/* Counts once. Returns the status of the command. */
static int run_once(struct stat *s, const sigset_t *set, double *elapsed, double *at)
{
	struct child child = { .pid = -1 };
	int error, status = 0;
	bool begun = true;
	__u64 begin, end;

	open_all(s, &child);
	if (s->options.interval_ms) {
		struct stat_print p = print_of(s);

		print(&p, stat_print_heading);
	}
	s->over = false;
	if (!s->delay_ms)
		counters_enable(&s->counters, true);
	begin = now_ns();
	s->last = begin;
	error = child.pid > 0 ? child_go(&child) : 0;
	if (s->delay_ms && !error) {
		begun = wait_for_delay(s, set, child.pid);
		counters_begin_missed(&s->counters);
		counters_enable(&s->counters, begun);
		begin = now_ns();
		s->last = begin;
	}
	if (!error && begun)
		wait_for_end(s, set, child.pid, begin);
	if (child.pid > 0)
		status = end_child(s, set, child.pid);
	if (error) {
		say_failed(s->targets.command[0], 0, strerror(error));
		exit(status);
	}
	end = now_ns();
	counters_enable(&s->counters, false);
	take_interval(s);
	*at = seconds(end - begin);
	*elapsed = seconds(end - s->last);
	counters_add_missed(&s->counters);
	counters_close(&s->counters);
	return status;
}

static int count(struct stat *s)
{
	struct stat_print p;
	int *ratios = NULL;
	sigset_t set;
	double elapsed = 0, at = 0;
	int status = 0;
	long run;

	block_signals(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (run = 0; run < s->options.repeat && !tool_stopped; run++) {
		status = run_once(s, &set, &elapsed, &at);
		if (!ratios)
			ratios = need(calloc(s->counters.nr_rows * s->events.nr_groups + 1,
					     sizeof(*ratios)));
		add_run(s, elapsed);
		keep_ratios(s, ratios);
	}
	allow_signals();
	p = print_of(s);
	p.elapsed = elapsed;
	p.at = at;
	if (s->options.repeat > 1) {
		p.runs = &s->runs;
		p.totals = s->runs.totals;
		p.elapsed = s->runs.elapsed / s->runs.nr;
	}
	if (!s->options.interval_ms)
		stat_print_heading(&p);
	if (!s->complete)
		stat_print_counts(&p);
	stat_print_end(&p);
	counters_say_missed(&s->counters);
	free(ratios);
	return status;
}

/* Describes the target for the heading. */
static char *describe(const struct stat *s)
{
	const struct targets *t = &s->targets;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	char **word;

	need(f);
	if (s->attach) {
		fprintf(f, "the event '%s'", s->attach);
	} else if (t->pids) {
		fprintf(f, "process id '%s'", t->pids);
	} else if (t->tids) {
		fprintf(f, "thread id '%s'", t->tids);
	} else if (t->cpus) {
		fprintf(f, "CPUs '%s'", t->cpus);
	} else if (t->all || t->cgroups) {
		fprintf(f, "'system wide'");
	} else {
		for (word = t->command; *word; word++)
			fprintf(f, "%s%s", word == t->command ? "'" : " ", *word);
		fputc('\'', f);
	}
	fclose(f);
	return text;
}

int command_stat(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .children = children,
		.args_doc = "[--] [COMMAND [ARGUMENT]...]",
		.doc = "Counts events while a command runs, or until it is interrupted."
		       "\vThe exit status is the command's.",
	};
	struct stat s = {
		.options = { .repeat = 1, .file = stderr }, .counters = { .inherit = true },
		.user = -1,
	};
	int status;

	parse_arguments(&argp, argc, argv, ARGP_IN_ORDER, &s);
	s.device = device_or_die();
	raise_file_limit();
	s.counters.device = s.device;
	s.counters.events = &s.events;
	s.counters.targets = &s.targets;
	s.counters.delayed = s.delay_ms;
	if (!s.attach) {
		add_events(&s);
		wanted_restrict(&s.events, s.device);
		targets_find(&s.targets);
	}
	if (s.output) {
		s.options.file = !strcmp(s.output, "-") ? stdout :
				 fopen(s.output, s.append ? "ae" : "we");
		if (!s.options.file)
			die("%s: %s", s.output, strerror(errno));
	}
	s.options.what = describe(&s);
	status = count(&s);
	/* check_output() of main.c reports failures of standard output, for all commands. */
	if (s.options.file == stdout)
		return status;
	if (ferror(s.options.file) | (s.output ? fclose(s.options.file) : 0)) {
		say("%s: the counts cannot be written", s.output ? s.output : "standard error");
		return STATUS_FAILED;
	}
	return status;
}
