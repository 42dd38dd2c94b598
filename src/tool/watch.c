// SPDX-License-Identifier: GPL-2.0
/* tally watch: prints a line, or runs a command, when a rate or a budget is passed. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "counters.h"
#include "tool.h"

static const struct argp_option options[] = {
	{ "interval", 'I', "MS", 0, "Compare each so many milliseconds [1000]", 1 },
	{ "count", 'n', "N", 0, "End after the rate was passed N times", 1 },
	{ 0 }
};

static const struct argp_child children[] = { { &target_argp, 0, "Targets [-a]:", 3 }, { 0 } };

enum comparison { ABOVE, AT_LEAST, BELOW, AT_MOST };

/**
 * struct watch - what is watched
 * @event:	event, or name of an event with a budget
 * @comparison:	how the rate and the limit are compared
 * @limit:	units of the event per second; units in an interval if @per_interval
 * @text:	condition as given
 * @most:	number of times after which the command ends; 0 for no limit
 * @passed:	number of times that the condition was true
 */
struct watch {
	struct targets targets;
	struct wanted_list events;
	struct counters counters;
	char *event;
	enum comparison comparison;
	bool compares;
	bool per_interval;
	double limit;
	const char *text;
	long interval_ms;
	long most;
	long passed;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct watch *w = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &w->targets;
		break;
	case 'I':
		w->interval_ms = number_argument(state, argument, 10, 86400000);
		break;
	case 'n':
		w->most = number_argument(state, argument, 1, 1000000000);
		break;
	case ARGP_KEY_ARG:
		if (w->text)
			return ARGP_ERR_UNKNOWN;
		w->text = argument;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no condition, such as 'page-faults > 1000/s'");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void bad_condition(const struct watch *w)
{
	say("'%s' is no condition such as 'page-faults > 1000/s' or 'cs >= 50/ms'", w->text);
	exit(STATUS_USAGE);
}

/* Returns seconds of a unit of time; 0 for another text. */
static double unit_seconds(const char *unit)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {
		{ "s", 1 }, { "sec", 1 }, { "ms", 0.001 }, { "us", 0.000001 }, { "min", 60 },
		{ "h", 3600 },
	};
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].name))
			return units[i].seconds;
	return 0;
}

/* Parses "EVENT > NUMBER[K|M|G][/UNIT]", or a name alone. */
static void parse_condition(struct watch *w)
{
	char *copy = need(strdup(w->text)), *sign = strpbrk(copy, "<>"), *end, *number;
	size_t length = strcspn(copy, " \t<>"), at;
	double seconds = 0;
	int equal;

	w->event = need(strndup(copy, length));
	if (!*w->event)
		bad_condition(w);
	at = strspn(copy + length, " \t");
	if (!copy[length + at]) {
		free(copy);
		return;
	}
	if (sign != copy + length + at)
		bad_condition(w);
	equal = sign[1] == '=';
	w->comparison = (*sign == '<' ? BELOW : ABOVE) + equal;
	number = sign + 1 + equal;
	w->limit = strtod(number, &end);
	if (end == number || !isfinite(w->limit) || w->limit < 0)
		bad_condition(w);
	if (*end && strchr("KMG", *end)) {
		w->limit *= *end == 'K' ? 1e3 : *end == 'M' ? 1e6 : 1e9;
		end++;
	}
	end += strspn(end, " \t");
	if (*end == '/') {
		seconds = unit_seconds(end + 1);
		if (seconds <= 0)
			bad_condition(w);
		w->limit /= seconds;
	} else if (*end) {
		bad_condition(w);
	}
	w->per_interval = seconds == 0;
	w->compares = true;
	free(copy);
}

static bool is_passed(const struct watch *w, double rate)
{
	switch (w->comparison) {
	case ABOVE:
		return rate > w->limit;
	case AT_LEAST:
		return rate >= w->limit;
	case BELOW:
		return rate < w->limit;
	default:
		return rate <= w->limit;
	}
}

/*
 * Runs the command and waits for it. Its status has no effect. A signal ends it, and a second one
 * kills it.
 */
static void run_command(const struct watch *w, const char *value)
{
	sigset_t all, before;
	int told = 0;
	pid_t pid;

	fflush(NULL);
	/* A signal that comes before the command is executed waits for it. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = fork();
	if (pid)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		say("fork: %s", strerror(errno));
		return;
	}
	if (!pid) {
		uncatch_signals();
		sigprocmask(SIG_SETMASK, &before, NULL);
		setenv("TALLY_EVENT", w->event, 1);
		setenv("TALLY_VALUE", value, 1);
		restore_file_limit();
		execvp(w->targets.command[0], w->targets.command);
		say("%s: %s", w->targets.command[0], strerror(errno));
		_exit(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN);
	}
	while (!waitpid(pid, NULL, WNOHANG)) {
		if (tool_stopped > told)
			kill(pid, told ? SIGKILL : SIGTERM);
		told = tool_stopped;
		usleep(10000);
	}
}

/* A scaled value has two digits behind the point, as perf stat's. */
static void report(struct watch *w, double value, const char *per)
{
	const struct libtally_unit *unit = w->compares ? &w->events.list->unit : NULL;
	bool scaled = unit && unit->scale != 1;
	char text[64], number[400];
	time_t now = time(NULL);
	struct tm local;

	w->passed++;
	snprintf(number, sizeof(number), scaled ? "%.2f" : "%.0f", value);
	if (w->targets.command) {
		run_command(w, number);
		return;
	}
	localtime_r(&now, &local);
	strftime(text, sizeof(text), "%F %T", &local);
	tool_writes = true;
	printf("%s %s %s%s%s%s\n", text, w->event, number, unit && unit->unit[0] ? " " : "",
	       unit ? unit->unit : "", per);
	fflush(stdout);
	tool_writes = false;
}

/* Says once that a kernel probe has missed hits. */
static void find_missed(struct watch *w)
{
	if (w->events.list->missed || !is_probe(w->event))
		return;
	counters_add_missed(&w->counters);
	tool_writes = true;
	counters_say_missed(&w->counters);
	tool_writes = false;
}

static bool is_over(const struct watch *w)
{
	return tool_stopped || (w->most && w->passed >= w->most);
}

/* Each cgroup has a row. */
static struct total sum_of_rows(const struct counters *c)
{
	struct total sum = { 0 };
	int r;

	for (r = 0; r < c->nr_rows; r++)
		total_add(&sum, &c->rows[r].totals[0]);
	return sum;
}

static void watch_rate(struct watch *w)
{
	struct total since;
	__u64 last = now_ns(), next = last, now;
	struct timespec until;
	double value;

	counters_enable(&w->counters, true);
	while (!is_over(w)) {
		next += w->interval_ms * 1000000ULL;
		until.tv_sec = next / 1000000000;
		until.tv_nsec = next % 1000000000;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) &&
		       !tool_stopped)
			;
		counters_read(&w->counters);
		now = now_ns();
		since = sum_of_rows(&w->counters);
		value = since.scaled * w->events.list->unit.scale;
		if (!w->per_interval)
			value = value * 1e9 / (now - last);
		/* A task off the CPU has rate 0; its gauge, and an event off the PMU, have none. */
		if (!tool_stopped && !since.failed &&
		    (since.running || (!since.enabled && !w->events.list->unit.gauge)) &&
		    is_passed(w, value))
			report(w, value, w->per_interval ? "" : "/s");
		find_missed(w);
		last = now;
		if ((w->targets.pids || w->targets.tids || w->targets.cgroups) &&
		    counters_exited(&w->counters, true))
			return;
		/* The command may have taken longer than the interval. */
		if (now_ns() > next + w->interval_ms * 1000000ULL) {
			counters_read(&w->counters);
			last = now_ns();
			next = last;
		}
	}
}

/* Leaves the kernel out if the user may not count it. */
static void restrict_event(struct watch *w, int device)
{
	const struct wanted *e = w->events.list;

	wanted_restrict(&w->events, device);
	/* The event never happens in user space. */
	if (e->error) {
		say_failed(w->event, -EACCES, e->why);
		exit(STATUS_FAILED);
	}
	free(w->event);
	w->event = need(strdup(e->name));
}

static void open_event(struct watch *w, int device)
{
	const struct wanted *e;

	wanted_add(&w->events, device, w->event);
	wanted_counts(&w->events);
	e = w->events.list;
	if (w->events.nr != 1 || e->group >= 0)
		bad_condition(w);
	if (!e->error)
		restrict_event(w, device);
	if (e->unit.gauge && !w->per_interval) {
		say("%s: its count is a level, which has no rate", w->event);
		fprintf(stderr, "  remedy: compare the level: leave out the unit of time\n");
		exit(STATUS_USAGE);
	}
	if (!w->targets.cpus && !w->targets.pids && !w->targets.tids && !w->targets.cgroups)
		w->targets.all = true;
	targets_find(&w->targets);
	w->counters.device = device;
	w->counters.events = &w->events;
	w->counters.targets = &w->targets;
	if (!e->error) {
		char **command = w->targets.command;

		/* counters_open() would start the command, which runs for each report instead. */
		w->targets.command = NULL;
		counters_open(&w->counters, NULL);
		w->targets.command = command;
	}
	if (e->error) {
		say_failed(w->event, e->error, e->why);
		exit(STATUS_FAILED);
	}
}

/**
 * struct excess - how often CPUs have exceeded a budget
 * @fd:		file of the event
 * @seen:	for each CPU, its number of windows as last read, plus 1; 0 before the first reading
 * @nr:		number of CPUs that @seen has room for
 * @new:	number of windows on all CPUs since the reading before
 * @error:	0 if a CPU has a budget; else the error of the CPUs
 */
struct excess {
	int fd;
	__u64 *seen;
	int nr;
	__u64 new;
	int error;
};

/* A CPU that cannot be read now keeps its number; what it had before its first reading is old. */
static void add_excess(void *data, int cpu)
{
	struct libtally_budget budget;
	struct excess *e = data;
	int error = libtally_budget_read(e->fd, cpu, &budget);

	if (cpu >= e->nr) {
		e->seen = need(realloc(e->seen, (cpu + 1) * sizeof(*e->seen)));
		memset(e->seen + e->nr, 0, (cpu + 1 - e->nr) * sizeof(*e->seen));
		e->nr = cpu + 1;
	}
	if (!error) {
		e->new += e->seen[cpu] ? budget.exceeded + 1 - e->seen[cpu] : 0;
		e->seen[cpu] = budget.exceeded + 1;
	}
	if (!error || (e->error && error != -EINVAL))
		e->error = error;
}

static void read_excess(struct excess *e)
{
	e->new = 0;
	e->error = -EINVAL;
	each_possible(add_excess, e);
}

/* Waits for windows that exceed the budget of an event that exists. */
static int watch_budget(struct watch *w, int device)
{
	char why[LIBTALLY_ERROR_SIZE];
	int fd = libtally_device_attach(device, 0, w->event, 0, why);
	struct pollfd polled = { .fd = fd, .events = POLLPRI };
	struct excess e = { .fd = fd };

	if (fd < 0) {
		say_no_event(w->event, fd, why);
		return STATUS_FAILED;
	}
	read_excess(&e);
	if (e.error == -EINVAL) {
		say("%s: the event has no budget", w->event);
		fprintf(stderr, "  remedy: give a condition, such as '%s > 1000/s'\n", w->event);
		return STATUS_FAILED;
	}
	if (e.error) {
		say_failed(w->event, e.error, "its windows cannot be read");
		return STATUS_FAILED;
	}
	while (!is_over(w)) {
		/*
		 * A signal may have come before poll(). A window of one CPU that ended while
		 * another one's was read wakes nobody, so it is found when the time is over.
		 */
		if (poll(&polled, 1, 1000) < 0)
			continue;
		if (polled.revents & (POLLHUP | POLLERR)) {
			say("%s: the event was released", w->event);
			return STATUS_FAILED;
		}
		read_excess(&e);
		if (e.new)
			report(w, e.new, " windows above the budget");
	}
	free(e.seen);
	close(fd);
	return 0;
}

int command_watch(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .children = children,
		.args_doc = "CONDITION [--] [COMMAND [ARGUMENT]...]",
		.doc = "Prints a line each time a rate is passed, or runs a command."
		       "\vA CONDITION is an event, one of > >= < <= and a number, with a unit: "
		       "'page-faults > 1000/s', 'cs >= 50/ms', 'cycles < 1G/s'; without a unit the "
		       "number is for an interval. The name of an event that was made with budget= "
		       "is a condition, too. The command finds TALLY_EVENT and TALLY_VALUE in its "
		       "environment.",
	};
	struct watch w = { .interval_ms = 1000, .counters = { .inherit = true } };
	struct sigaction action = { .sa_handler = stop_tool, .sa_flags = SA_RESTART };
	int device, status = 0;

	parse_arguments(&argp, argc, argv, ARGP_IN_ORDER, &w);
	parse_condition(&w);
	device = device_or_die();
	raise_file_limit();
	catch_signals(&action);
	if (w.compares) {
		open_event(&w, device);
		watch_rate(&w);
	} else {
		status = watch_budget(&w, device);
	}
	close(device);
	return status;
}
