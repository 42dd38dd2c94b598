// SPDX-License-Identifier: GPL-2.0
/*
 * tally top: live rates of everything that is counted. It reads the pages that the kernel
 * publishes, which interrupts no CPU. Only inherited events, which have no page, take a call.
 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <ncurses.h>
#include "attached.h"
#include "tool.h"

enum { KEY_ONCE = 256 };

static const struct argp_option options[] = {
	{ "once", KEY_ONCE, NULL, 0, "Print one table and end", 0 },
	{ "delay", 'd', "SECONDS", 0, "Time between two updates [1]", 0 },
	{ "sort", 's', "KEY", 0, "rate, count or name [rate]", 0 },
	{ 0 }
};

enum sorting { BY_RATE, BY_COUNT, BY_NAME };

/**
 * struct top - state of the display
 * @sorted:	the events in the order of the screen
 * @delay:	time between two updates, in nanoseconds
 * @sorting:	order of the events
 * @first:	number of the first event on the screen
 * @paused:	the display stands still
 * @unicode:	the terminal can show blocks of eight heights
 * @begin:	CLOCK_MONOTONIC of the start
 */
struct top {
	struct running_list events;
	struct running **sorted;
	__u64 delay;
	enum sorting sorting;
	bool once;
	int first;
	bool paused;
	bool unicode;
	__u64 begin;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	static const char *const keys[] = { "rate", "count", "name" };
	struct top *t = state->input;
	char *end;
	double seconds;
	int i;

	switch (key) {
	case KEY_ONCE:
		t->once = true;
		break;
	case 'd':
		seconds = strtod(argument, &end);
		if (!*argument || *end || !(seconds >= 0.1) || seconds > 3600)
			argp_error(state, "'%s' is no time from 0.1 to 3600 seconds", argument);
		t->delay = seconds * 1e9;
		break;
	case 's':
		for (i = 0; i < 3 && strcmp(argument, keys[i]); i++)
			;
		if (i == 3)
			argp_error(state, "'%s' is none of rate, count and name", argument);
		t->sorting = i;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "there are no arguments");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int by_name(const struct running *a, const struct running *b)
{
	int order = strcmp(running_name(a), running_name(b));

	return order ? order : a->about.id < b->about.id ? -1 : 1;
}

static int compare(const void *left, const void *right, void *sorting)
{
	const struct running *a = *(struct running *const *)left;
	const struct running *b = *(struct running *const *)right;

	if (*(enum sorting *)sorting == BY_RATE && a->rate != b->rate)
		return a->rate < b->rate ? 1 : -1;
	if (*(enum sorting *)sorting == BY_COUNT && running_count(a) != running_count(b))
		return running_count(a) < running_count(b) ? 1 : -1;
	return by_name(a, b);
}

/* Draws the last rates as a line of blocks, of which the highest one is the greatest rate. */
static void history_line(const struct top *t, const struct running *r, int width, char *text)
{
	static const char *const blocks[] = {
		" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"
	};
	static const char plain[] = " .:-=+*#@";
	int from = r->nr_history > width ? r->nr_history - width : 0, i, level;
	double most = 0;

	for (i = from; i < r->nr_history; i++)
		most = fmax(most, r->history[i]);
	text[0] = 0;
	for (i = from; i < r->nr_history; i++) {
		level = most > 0 ? ceil(8 * r->history[i] / most) : 0;
		if (t->unicode)
			strcat(text, blocks[level]);
		else
			strncat(text, plain + level, 1);
	}
}

/* Writes the columns of an event in front of its history. */
static void columns(const struct running *r, int name_width, char *text, size_t size)
{
	char target[RUNNING_TARGET], rate[32], count[32] = "-", state[RUNNING_STATE];
	char name[4 * 32 + 1], place[4 * 14 + 1], unit[4 * 6 + 1];

	running_target(r, target);
	running_rate(r, rate, sizeof(rate));
	running_state(r, state);
	if (r->seen && r->value.running)
		short_number(running_count(r), count, sizeof(count));
	fit(running_name(r), name_width, name, sizeof(name));
	fit(target, 14, place, sizeof(place));
	fit(r->unit.unit, 6, unit, sizeof(unit));
	snprintf(text, size, "%s %s %-10s %9s %9s %s ", name, place, state, rate, count, unit);
}

static void head(char *text, size_t size, int name_width)
{
	snprintf(text, size, "%-*s %-14s %-10s %9s %9s %-6s ", name_width, "NAME", "TARGET",
		 "STATE", "RATE/s", "COUNT", "UNIT");
}

static void update(struct top *t)
{
	running_look(&t->events);
	running_read(&t->events);
	t->sorted = need(realloc(t->sorted, (t->events.nr + 1) * sizeof(*t->sorted)));
	memcpy(t->sorted, t->events.list, t->events.nr * sizeof(*t->sorted));
	qsort_r(t->sorted, t->events.nr, sizeof(*t->sorted), compare, &t->sorting);
}

static void pause_for(__u64 ns)
{
	struct timespec time = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&time, NULL);
}

/* Returns the share of one CPU that this process has used since the start, in per cent. */
static double own_share(const struct top *t)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return 100.0 * (used.tv_sec * 1e9 + used.tv_nsec) / (now_ns() - t->begin + 1);
}

static int print_once(struct top *t)
{
	char text[512];
	int i;

	update(t);
	pause_for(t->delay);
	update(t);
	head(text, sizeof(text), 32);
	puts(text);
	for (i = 0; i < t->events.nr; i++) {
		columns(t->sorted[i], 32, text, sizeof(text));
		puts(text);
	}
	running_say_lacking(&t->events);
	return 0;
}

static void draw_event(const struct top *t, const struct running *r, int name_width)
{
	char text[512], line[4 * RUNNING_HISTORY + 1];
	int room;

	columns(r, name_width, text, sizeof(text));
	addnstr(text, first_bytes(text, COLS));
	room = COLS - getcurx(stdscr) - 1;
	if (r->error)
		snprintf(line, sizeof(line), "%.*s",
			 (int)first_bytes(r->why, room > 0 ? room : 0), r->why);
	else
		history_line(t, r, room < 0 ? 0 : room < RUNNING_HISTORY ? room : RUNNING_HISTORY,
			     line);
	addstr(line);
	clrtoeol();
}

/*
 * Draws the whole screen into curses' memory. curses sends only what differs from what the
 * terminal has, so nothing flickers.
 */
static void draw(struct top *t)
{
	static const char *const orders[] = { "rate", "count", "name" };
	int rows = LINES - 3, name_width = COLS >= 120 ? 32 : 20, i;
	const struct running *r;
	char text[512], lacking[64] = "";

	if (t->first > t->events.nr - rows)
		t->first = t->events.nr - rows;
	if (t->first < 0)
		t->first = 0;
	move(0, 0);
	i = running_lacking(&t->events, &r);
	if (i)
		snprintf(lacking, sizeof(lacking), ", %d of them without a count", i);
	snprintf(text, sizeof(text), "tally top: %d events%s, by %s, every %g s%s; this program "
				     "uses %.2f%% of a CPU",
		 t->events.nr, lacking, orders[t->sorting], t->delay / 1e9,
		 t->paused ? ", paused" : "", own_share(t));
	addnstr(text, COLS - 1);
	clrtoeol();
	head(text, sizeof(text), name_width);
	move(1, 0);
	attron(A_REVERSE);
	printw("%-*.*s", COLS - 1, COLS - 1, text);
	attroff(A_REVERSE);
	for (i = 0; i < rows; i++) {
		move(2 + i, 0);
		clrtoeol();
		if (t->first + i < t->events.nr)
			draw_event(t, t->sorted[t->first + i], name_width);
	}
	move(LINES - 1, 0);
	addnstr("q quit  r rate  c count  n name  p pause  up/down", COLS - 1);
	clrtoeol();
	refresh();
}

/* Takes a key. Returns whether the program goes on. */
static bool take_key(struct top *t, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
	case 27:
		return false;
	case 'r':
		t->sorting = BY_RATE;
		break;
	case 'c':
		t->sorting = BY_COUNT;
		break;
	case 'n':
		t->sorting = BY_NAME;
		break;
	case 'p':
	case ' ':
		t->paused = !t->paused;
		break;
	case KEY_UP:
		t->first--;
		break;
	case KEY_DOWN:
		t->first++;
		break;
	case KEY_PPAGE:
		t->first -= LINES - 3;
		break;
	case KEY_NPAGE:
		t->first += LINES - 3;
		break;
	}
	return true;
}

/* Whether the terminal is gone for ever: poll(2) reports input, but getch() returns no key. */
static bool is_gone(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int key;

	if (poll(&input, 1, 0) <= 0)
		return false;
	timeout(0);
	key = getch();
	if (key != ERR)
		ungetch(key);
	return key == ERR;
}

/* Shows the events until the user quits. Keys and a new size are seen at once. */
static void show(struct top *t)
{
	__u64 next = now_ns(), now;
	int key;

	for (;;) {
		now = now_ns();
		if (now >= next) {
			if (!t->paused)
				update(t);
			next = now + t->delay;
		}
		draw(t);
		timeout((next - now) / 1000000 + 1);
		tool_writes = false;
		key = getch();
		tool_writes = true;
		if (tool_stopped || (key == ERR && is_gone()) || !take_key(t, key))
			return;
		/* ncurses has the new size with KEY_RESIZE. */
		if (key == KEY_RESIZE)
			clear();
	}
}

/* A failure ends the program in the middle of a screen. */
static void restore(void)
{
	if (stdscr && !isendwin())
		endwin();
}

static int run(struct top *t)
{
	struct sigaction action = { .sa_handler = stop_tool };
	SCREEN *screen;

	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
		say("standard input and output are no terminal; tally top --once prints one table");
		return STATUS_FAILED;
	}
	atexit(restore);
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		say("the terminal '%s' is not known; tally top --once prints one table",
		    getenv("TERM") ? getenv("TERM") : "");
		return STATUS_FAILED;
	}
	catch_signals(&action);
	set_escdelay(25);
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	show(t);
	endwin();
	return 0;
}

int command_top(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse,
		.doc = "Shows live rates of all events that are counted, whoever made them."
		       "\vCounts are those since the start of this program. It reads what the "
		       "kernel "
		       "publishes: for users without CAP_PERFMON, and for CPUs that are idle, "
		       "counts "
		       "may be some milliseconds old.",
	};
	struct top t = { .delay = 1000000000, .begin = now_ns() };
	int status;

	parse_arguments(&argp, argc, argv, 0, &t);
	setlocale(LC_CTYPE, "");
	t.unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
	t.events.device = device_or_die();
	status = t.once ? print_once(&t) : run(&t);
	free(t.sorted);
	running_free(&t.events);
	close(t.events.device);
	return status;
}
