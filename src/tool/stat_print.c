// SPDX-License-Identifier: GPL-2.0
/* The output of tally stat: text, CSV and JSON in the layouts of perf stat. */
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "metrics.h"
#include "stat.h"
#include "tool.h"

/* A count of the output. */
struct line {
	const struct wanted *event;
	const struct row *row;
	const struct total *total;
	double value;	/* scaled; of several runs the mean */
	double running;	/* nanoseconds; of several runs the mean */
	struct metric metric;
	double spread;	/* relative standard error in per cent; below 0 without */
};

/* Returns the relative standard error of the mean, in per cent. */
static double spread_of(double sum, double squares, long nr)
{
	double mean = nr ? sum / nr : 0, variance;

	if (nr < 2 || mean <= 0)
		return 0;
	variance = (squares - sum * mean) / (nr - 1);
	return 100 * sqrt(variance > 0 ? variance / nr : 0) / mean;
}

static bool is_counted(const struct line *l)
{
	return !l->event->error && l->total->known && !l->total->failed && l->total->running;
}

/* Returns the text that stands in place of a count. */
static const char *excuse(const struct line *l)
{
	return l->event->error ? "<not supported>" : "<not counted>";
}

static double share_of(const struct line *l)
{
	const struct total *t = l->total;

	return t->running < t->enabled ? 100.0 * t->running / t->enabled : 100;
}

static bool is_whole_number(const struct line *l)
{
	return l->event->unit.scale == 1;
}

static void print_csv(const struct stat_print *p, const struct line *l)
{
	const char *sep = p->options->separator;
	FILE *f = p->options->file;

	if (p->options->interval_ms)
		fprintf(f, "%16.9f%s", p->at, sep);
	if (p->counters->per_cpu)
		fprintf(f, "CPU%d%s", l->row->cpu, sep);
	if (!is_counted(l))
		fprintf(f, "%s%s", excuse(l), sep);
	else
		fprintf(f, is_whole_number(l) ? "%.0f%s" : "%.2f%s", l->value, sep);
	fprintf(f, "%s%s%s%s", l->event->unit.unit, sep, l->event->name, sep);
	if (l->row->cgroup)
		fprintf(f, "%s%s", l->row->cgroup, sep);
	if (l->spread >= 0)
		fprintf(f, "%.2f%%%s", l->spread, sep);
	fprintf(f, "%.0f%s%.2f%s", l->running, sep, share_of(l), sep);
	if (l->metric.unit[0])
		fprintf(f, "%.3f%s%s\n", l->metric.value, sep, l->metric.unit);
	else
		fprintf(f, "%s\n", sep);
}

/* Adds a number in a format of perf's. json-c keeps the text of the number. */
static void add_number(struct json_object *o, const char *name, const char *format, double value)
{
	char text[400];

	snprintf(text, sizeof(text), format, value);
	json_object_object_add(o, name, json_object_new_double_s(value, text));
}

/* json-c writes the bytes of a text as they are, also those that are no UTF-8. */
static void add_text(struct json_object *o, const char *name, const char *text)
{
	char *escaped = escape(text);

	json_object_object_add(o, name, json_object_new_string(escaped));
	free(escaped);
}

static void print_json(const struct stat_print *p, const struct line *l)
{
	struct json_object *o = json_object_new_object();
	char text[400];

	if (p->options->interval_ms)
		add_number(o, "interval", "%.9f", p->at);
	snprintf(text, sizeof(text), "%d", l->row->cpu);
	if (p->counters->per_cpu)
		json_object_object_add(o, "cpu", json_object_new_string(text));
	if (is_counted(l))
		snprintf(text, sizeof(text), "%f", l->value);
	json_object_object_add(o, "counter-value",
			       json_object_new_string(is_counted(l) ? text : excuse(l)));
	json_object_object_add(o, "unit", json_object_new_string(l->event->unit.unit));
	add_text(o, "event", l->event->name);
	if (l->row->cgroup)
		add_text(o, "cgroup", l->row->cgroup);
	if (l->spread >= 0)
		add_number(o, "variance", "%.2f", l->spread);
	json_object_object_add(o, "event-runtime", json_object_new_uint64(l->running));
	add_number(o, "pcnt-running", "%.2f", share_of(l));
	add_number(o, "metric-value", "%f", l->metric.value);
	json_object_object_add(o, "metric-unit", json_object_new_string(l->metric.unit));
	fprintf(p->options->file, "%s\n",
		json_object_to_json_string_ext(o, JSON_C_TO_STRING_SPACED |
					       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}

static void print_metric(FILE *f, const struct metric *m)
{
	if (m->percent)
		fprintf(f, " # %7.2f%%  %-24s", m->value, m->unit);
	else if (m->unit[0])
		fprintf(f, " # %8.3f %-25s", m->value, m->unit);
}

static void print_text(const struct stat_print *p, const struct line *l)
{
	FILE *f = p->options->file;

	if (p->options->interval_ms)
		fprintf(f, "%16.9f ", p->at);
	if (p->counters->per_cpu)
		fprintf(f, "CPU%-4d ", l->row->cpu);
	if (!is_counted(l))
		fprintf(f, "%18s", excuse(l));
	else
		fprintf(f, is_whole_number(l) ? "%18.0f" : "%18.2f", l->value);
	fprintf(f, " %-4s %-24s", l->event->unit.unit, l->event->name);
	if (l->row->cgroup)
		fprintf(f, " %-16s", l->row->cgroup);
	print_metric(f, &l->metric);
	if (l->spread > 0)
		fprintf(f, " ( +- %5.2f%% )", l->spread);
	if (share_of(l) < 100)
		fprintf(f, "  (%.2f%%)", share_of(l));
	fputc('\n', f);
}

/* Sets what is printed of event e in row r. */
static void set_line(const struct stat_print *p, int r, int e, struct line *l)
{
	const struct counters *c = p->counters;
	const struct stat_runs *runs = p->runs;
	int nr = c->events->nr, at = r * nr + e;
	double elapsed = p->elapsed;

	l->event = &c->events->list[e];
	l->row = &c->rows[r];
	l->total = &p->totals[at];
	l->value = l->total->scaled;
	l->running = l->total->running;
	l->spread = -1;
	if (runs) {
		l->value = runs->counted[at] ? runs->sum[at] / runs->counted[at] : 0;
		l->running /= runs->nr;
		l->spread = spread_of(runs->sum[at], runs->squares[at], runs->counted[at]);
		/* The totals are sums of all runs. */
		elapsed *= runs->nr;
	}
	l->value *= l->event->unit.scale;
	memset(&l->metric, 0, sizeof(l->metric));
	if (is_counted(l))
		l->metric = metric_of(c, l->row, p->totals + r * nr, e, elapsed);
}

void stat_print_counts(const struct stat_print *p)
{
	const struct counters *c = p->counters;
	struct line l;
	int e, r;

	for (e = 0; e < c->events->nr; e++) {
		for (r = 0; r < c->nr_rows; r++) {
			if (!c->rows[r].shown)
				continue;
			set_line(p, r, e, &l);
			if (p->options->json)
				print_json(p, &l);
			else if (p->options->separator)
				print_csv(p, &l);
			else
				print_text(p, &l);
		}
	}
	fflush(p->options->file);
}

void stat_print_heading(const struct stat_print *p)
{
	const struct stat_options *o = p->options;

	if (o->json || o->separator)
		return;
	if (o->interval_ms)
		fprintf(o->file, "#           time %s            counts unit events\n",
			p->counters->per_cpu ? "CPU    " : "");
	else if (p->runs)
		fprintf(o->file, "\n Performance counter stats for %s (%ld runs):\n\n", o->what,
			p->runs->nr);
	else
		fprintf(o->file, "\n Performance counter stats for %s:\n\n", o->what);
}

/* Prints why events are not supported, once each. */
static void print_reasons(const struct stat_print *p)
{
	const struct wanted_list *events = p->counters->events;
	int e, other;

	for (e = 0; e < events->nr; e++) {
		if (!events->list[e].error)
			continue;
		for (other = 0; other < e; other++)
			if (!strcmp(events->list[other].why, events->list[e].why))
				break;
		if (other == e)
			fprintf(p->options->file, " %s: %s\n", events->list[e].name,
				events->list[e].why);
	}
}

/* Prints which estimates are of CPUs that have counted for a small part of the time. */
static void print_rough(const struct stat_print *p)
{
	int nr = p->counters->events->nr, e, r;
	struct total sum;

	for (e = 0; e < nr; e++) {
		memset(&sum, 0, sizeof(sum));
		for (r = 0; r < p->counters->nr_rows; r++)
			total_add(&sum, &p->totals[r * nr + e]);
		/* An event that has counted nowhere has no estimate. */
		if (sum.running && sum.rough > sum.enabled / 100)
			fprintf(p->options->file,
				" %s: a rough estimate: of %.0f%% of the time, less than a tenth was counted\n",
				p->counters->events->list[e].name, 100.0 * sum.rough / sum.enabled);
	}
}

void stat_print_end(const struct stat_print *p)
{
	const struct stat_runs *runs = p->runs;
	FILE *f = p->options->file;

	if (p->options->json || p->options->separator || p->options->interval_ms)
		return;
	fprintf(f, "\n%18.9f seconds time elapsed", p->elapsed);
	if (runs)
		fprintf(f, "  ( +- %5.2f%% )",
			spread_of(runs->elapsed, runs->elapsed_squares, runs->nr));
	fputc('\n', f);
	if (p->user >= 0 && !runs)
		fprintf(f, "\n%18.9f seconds user\n%18.9f seconds sys\n", p->user, p->sys);
	fputc('\n', f);
	print_reasons(p);
	print_rough(p);
}
