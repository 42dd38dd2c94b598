// SPDX-License-Identifier: GPL-2.0
/* The text formats of Prometheus. */
#include <stdlib.h>
#include <string.h>
#include "openmetrics.h"
#include "tool.h"

#define NR_STATES	(LIBTALLY_IS_SILENT + 1)

/* A number with more hexadecimal digits may be an address, which most users must not see. */
#define MOST_DIGITS	8
/* A number with more decimal or octal digits may be an address, too. */
#define MOST_DECIMAL	10

/* The counters of each event. */
static const struct {
	const char *name, *help;
	bool of_overflows;
} counters[] = {
	{ "tally_event", "Count of the event since it was made, in its unit.", false },
	{ "tally_event_enabled_seconds", "Time the event was enabled, summed over CPUs.", false },
	{ "tally_event_running_seconds", "Time the event counted, summed over CPUs.", false },
	{ "tally_event_overflows", "Overflows of the event since it was made.", true },
	{ "tally_event_missed",
	  "Overflows without a call of a handler, and hits that a kernel probe missed.", true },
	{ "tally_event_lost", "Records of the event without room.", true },
	{ "tally_event_throttled", "Times that too many overflows turned the event off.", true },
};

/* Prometheus has base units. A count in one of these units is multiplied by the factor. */
static const struct base {
	const char *unit, *name;
	double factor;
} bases[] = {
	{ "msec", "seconds", 0.001 }, { "Joules", "joules", 1 }, { "MiB", "bytes", 1048576 },
};

/* Returns the base of a unit; a base without a name for a unit that stays as it is. */
static const struct base *base_of(const char *unit)
{
	static const struct base itself = { .factor = 1 };
	size_t i;

	for (i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		if (!strcmp(unit, bases[i].unit))
			return &bases[i];
	return &itself;
}

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

/* Returns the length of the number that a text begins with, if it may be an address; 0 if not. */
static size_t address_length(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (!strncasecmp(text, "0x", 2)) {
		digits = strspn(text + 2, "0123456789abcdefABCDEF");
		return digits > MOST_DIGITS ? 2 + digits : 0;
	}
	return digits > MOST_DECIMAL ? digits : 0;
}

static bool has_address(const char *text)
{
	for (; *text; text++)
		if (address_length(text))
			return true;
	return false;
}

/* Everybody who can reach the server reads the text, so its addresses become "0x?". */
static void hide_addresses(char *text)
{
	char *to = text;
	size_t length;

	while (*text) {
		length = address_length(text);
		if (!length) {
			*to++ = *text++;
			continue;
		}
		memcpy(to, "0x?", 3);
		to += 3;
		text += length;
	}
	*to = 0;
}

/*
 * Writes the labels, without the closing brace. The label "event" has the name, which is unique; or
 * the id, if the name is hidden or holds an address.
 */
static void write_labels(FILE *f, const struct running *r)
{
	const struct libtally_running *about = &r->about;
	const char *slash = strchr(about->name, '/'), *base = base_of(r->unit.unit)->name;
	bool named = about->name[0] && !has_address(about->name);
	char number[32], set[sizeof(about->name)], what[sizeof(about->what)], *cgroup, *unit;

	fputc('{', f);
	snprintf(number, sizeof(number), "id:%llu", (unsigned long long)about->id);
	write_escaped(f, "event", named ? about->name : number);
	memcpy(what, about->what, sizeof(what));
	hide_addresses(what);
	write_escaped(f, ",what", what);
	write_escaped(f, ",owner", about->owner);
	snprintf(number, sizeof(number), "%d", about->cpu);
	write_escaped(f, ",cpu", about->cpu < 0 ? "all" : number);
	if (about->pid >= 0) {
		snprintf(number, sizeof(number), "%d", about->pid);
		write_escaped(f, ",pid", number);
	}
	cgroup = escape(about->cgroup);
	if (*cgroup)
		write_escaped(f, ",cgroup", cgroup);
	free(cgroup);
	unit = escape(base ? base : r->unit.unit);
	if (*unit)
		write_escaped(f, ",unit", unit);
	free(unit);
	if (slash && named) {
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
	else if (!counter && (r->unit.unit[0] || r->unit.scale != 1))
		fprintf(f, "} %.9f\n", running_count(r) * base_of(r->unit.unit)->factor);
	else
		fprintf(f, "} %llu\n", (unsigned long long)of_event[counter]);
}

/* Returns whether the event has a count: it was read, and the event is not in the error state. */
static bool has_count(const struct running *r)
{
	return r->seen && r->about.state != LIBTALLY_IS_ERROR;
}

/* The value of a gauge may fall, which a counter's never does. */
static void write_gauges(FILE *f, const struct running_list *events)
{
	const struct running *r;
	int i;

	write_type(f, "tally_event_gauge", "", "gauge",
		   "Last value of an event whose count is a level, in its unit.");
	for (i = 0; i < events->nr; i++) {
		r = events->list[i];
		if (!r->unit.gauge || !has_count(r) || !r->value.running)
			continue;
		fputs("tally_event_gauge", f);
		write_labels(f, r);
		fprintf(f, "} %.9f\n", running_count(r) * base_of(r->unit.unit)->factor);
	}
}

static void write_counter(FILE *f, const struct running_list *events, size_t counter, bool open)
{
	const struct running *r;
	int i;

	write_type(f, counters[counter].name, open ? "" : "_total", "counter",
		   counters[counter].help);
	for (i = 0; i < events->nr; i++) {
		r = events->list[i];
		if (counters[counter].of_overflows ? !r->about.has_more :
		    counter ? !r->seen : !has_count(r) || r->unit.gauge)
			continue;
		fprintf(f, "%s_total", counters[counter].name);
		write_labels(f, r);
		write_value(f, r, counter);
	}
}

/* The state is a number, so that an event has one series and keeps it. */
static void write_states(FILE *f, const struct running_list *events)
{
	char help[256] = "State of the event:";
	size_t used = strlen(help);
	unsigned int state;
	int i;

	for (state = 0; state < NR_STATES; state++)
		used += snprintf(help + used, sizeof(help) - used, "%s %u %s", state ? "," : "",
				 state, libtally_state_name(state));
	snprintf(help + used, sizeof(help) - used, ".");
	write_type(f, "tally_event_state", "", "gauge", help);
	for (i = 0; i < events->nr; i++) {
		fputs("tally_event_state", f);
		write_labels(f, events->list[i]);
		fprintf(f, "} %u\n", events->list[i]->about.state);
	}
}

void openmetrics_write(FILE *f, const struct running_list *events, bool open)
{
	size_t i;

	for (i = 0; i < NR_COUNTERS; i++)
		write_counter(f, events, i, open);
	write_gauges(f, events);
	write_states(f, events);
	write_type(f, "tally_events", "", "gauge", "Number of events that are served.");
	fprintf(f, "tally_events %d\n", events->nr);
	if (open)
		fputs("# EOF\n", f);
}
