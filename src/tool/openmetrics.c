// SPDX-License-Identifier: GPL-2.0
/* The text formats of Prometheus. */
#include <string.h>
#include "openmetrics.h"

#define NR_STATES	(LIBTALLY_IS_SILENT + 1)

/* The counters of each event. */
static const struct {
	const char *name, *help;
	bool of_overflows;
} counters[] = {
	{ "tally_event", "Count of the event since this exporter saw it first.", false },
	{ "tally_event_enabled_seconds", "Time the event was enabled, summed over CPUs.", false },
	{ "tally_event_running_seconds", "Time the event counted, summed over CPUs.", false },
	{ "tally_event_overflows", "Overflows of the event since it was made.", true },
	{ "tally_event_missed", "Overflows without a call of a handler.", true },
	{ "tally_event_lost", "Records of the event without room.", true },
	{ "tally_event_throttled", "Times that too many overflows turned the event off.", true },
};

#define NR_COUNTERS	(sizeof(counters) / sizeof(counters[0]))

static void write_escaped(FILE *f, const char *name, const char *value)
{
	fprintf(f, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", f);
		else if (*value == '"' || *value == '\\')
			fprintf(f, "\\%c", *value);
		else
			fputc(*value, f);
	}
	fputc('"', f);
}

/* Writes the labels, without the closing brace. A name is unique; the id is for hidden names. */
static void write_labels(FILE *f, const struct running *r)
{
	const struct libtally_running *about = &r->about;
	const char *slash = strchr(about->name, '/');
	char number[32], set[sizeof(about->name)];

	fputc('{', f);
	snprintf(number, sizeof(number), "id:%llu", (unsigned long long)about->id);
	write_escaped(f, "event", about->name[0] ? about->name : number);
	write_escaped(f, ",what", about->what);
	write_escaped(f, ",owner", about->owner);
	snprintf(number, sizeof(number), "%d", about->cpu);
	write_escaped(f, ",cpu", about->cpu < 0 ? "all" : number);
	if (about->pid >= 0) {
		snprintf(number, sizeof(number), "%d", about->pid);
		write_escaped(f, ",pid", number);
	}
	if (about->cgroup[0])
		write_escaped(f, ",cgroup", about->cgroup);
	if (slash) {
		snprintf(set, sizeof(set), "%.*s", (int)(slash - about->name), about->name);
		write_escaped(f, ",set", set);
	}
}

static void write_type(FILE *f, const char *name, const char *suffix, const char *type,
		       const char *help)
{
	fprintf(f, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix, type);
}

static void write_value(FILE *f, const struct running *r, size_t counter)
{
	const __u64 of_event[] = {
		r->value.value, r->value.enabled, r->value.running,
		r->about.overflows, r->about.missed, r->about.lost, r->about.throttled,
	};

	if (counter == 1 || counter == 2)
		fprintf(f, "} %.9f\n", of_event[counter] / 1e9);
	else
		fprintf(f, "} %llu\n", (unsigned long long)of_event[counter]);
}

static void write_counter(FILE *f, const struct running_list *events, size_t counter, bool open)
{
	const struct running *r;
	int i;

	write_type(f, counters[counter].name, open ? "" : "_total", "counter",
		   counters[counter].help);
	for (i = 0; i < events->nr; i++) {
		r = events->list[i];
		/* A count that was not read, or is none, is no 0. */
		if (counters[counter].of_overflows ? !r->about.has_more :
		    !r->seen || (!counter && r->about.state == LIBTALLY_IS_ERROR))
			continue;
		fprintf(f, "%s_total", counters[counter].name);
		write_labels(f, r);
		write_value(f, r, counter);
	}
}

static void write_states(FILE *f, const struct running_list *events, bool open)
{
	unsigned int state;
	int i;

	write_type(f, "tally_event_state", "", open ? "stateset" : "gauge",
		   "State of the event: 1 for the state that it has.");
	for (i = 0; i < events->nr; i++) {
		for (state = 0; state < NR_STATES; state++) {
			fputs("tally_event_state", f);
			write_labels(f, events->list[i]);
			/* The label of a stateset has the name of its metric. */
			fprintf(f, ",tally_event_state=\"%s\"} %d\n", libtally_state_name(state),
				events->list[i]->about.state == state);
		}
	}
}

void openmetrics_write(FILE *f, const struct running_list *events, bool open)
{
	size_t i;

	for (i = 0; i < NR_COUNTERS; i++)
		write_counter(f, events, i, open);
	write_states(f, events, open);
	write_type(f, "tally_events", "", "gauge", "Number of events that are counted.");
	fprintf(f, "tally_events %d\n", events->nr);
	if (open)
		fputs("# EOF\n", f);
}
