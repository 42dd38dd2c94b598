// SPDX-License-Identifier: GPL-2.0
/* The self-test's checks of overflows and samples, and of more events than there are counters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "doctor.h"
#include "selftest.h"
#include "tool.h"

#define SAMPLE_MS	600	/* time of sampling */
#define PERIOD_MS	2	/* work between two overflows */
#define TRIES		4	/* of what another program, or the host, may disturb */
#define FEW		20	/* samples that prove nothing */
#define PAGES		16	/* of a ring */
#define CROWD		12	/* events of perf, and as many of tally, that share the PMU */
#define CROWD_MS	2000

/**
 * struct sampled - an event with a ring
 * @fds:	its file, and those of the members of its group
 * @nr:		number of these
 * @id:		id of the event
 * @ring:	its ring
 * @counts:	its count at the end, and those of the members
 * @records:	samples in the ring
 * @in_loop:	of these, with an ip in the loop
 * @lost:	samples without room in the ring
 * @falls:	samples with a count that is less than in the sample before, or more than at the end
 * @overflows:	overflows, as tally counts them
 * @throttled:	number of times that tally or perf turned the event off
 */
struct sampled {
	int fds[MEMBERS];
	int nr;
	__u64 id;
	struct libtally_ring ring;
	struct counted counts[MEMBERS];
	__u64 records, in_loop, lost, falls, overflows, throttled;
};

/* ---- taking samples ---- */

static void set_sampled(struct perf_event_attr *attr, __u64 period)
{
	attr->sample_period = period;
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr->wakeup_events = 1;
}

/* Opens the first event with a ring, and the others as members of its group. */
static bool open_sampled(struct selftest *t, int layer, const struct perf_event_attr *attrs, int nr,
			 struct sampled *s)
{
	int i, error;

	memset(s, 0, sizeof(*s));
	memset(s->fds, -1, sizeof(s->fds));
	for (i = 0; i < nr; i++) {
		s->fds[i] = selftest_open(t, layer, &attrs[i], &selftest_own, i ? s->fds[0] : -1);
		if (s->fds[i] < 0)
			return false;
		s->nr = i + 1;
		if (!i && layer == TALLY)
			s->id = t->ids[t->nr_ids - 1];
	}
	error = libtally_ring_map(&s->ring, s->fds[0], PAGES, 0, 0);
	if (error)
		selftest_fail(t, layer, -error, "its ring cannot be mapped");
	return !error;
}

static void close_sampled(struct sampled *s)
{
	if (s->ring.page)
		libtally_ring_unmap(&s->ring);
	s->ring.page = NULL;
	selftest_close(s->fds, MEMBERS);
}

/* Compares the counts in a sample with those of the sample before. */
static void check_counts_in(struct sampled *s, const struct libtally_counts *counts, __u64 *before)
{
	struct libtally_count_entry entry;
	bool falls = counts->nr != (__u64)s->nr;
	int i;

	for (i = 0; i < s->nr && !libtally_counts_get(counts, i, &entry); i++) {
		falls |= entry.value < before[i] || entry.value > s->counts[i].value;
		before[i] = entry.value;
	}
	s->falls += falls;
}

static void read_ring(struct sampled *s, const struct perf_event_attr *attr)
{
	const struct perf_event_header *header;
	__u64 before[MEMBERS] = { 0 };
	struct libtally_format format;
	struct libtally_record r;

	libtally_format_init(&format, attr);
	while ((header = libtally_ring_next(&s->ring))) {
		if (libtally_record_parse(&r, header, header->size, &format))
			continue;
		if (r.type == PERF_RECORD_SAMPLE) {
			s->records++;
			s->in_loop += selftest_in_loop(r.u.sample.ip);
			if (attr->sample_type & PERF_SAMPLE_READ)
				check_counts_in(s, &r.u.sample.counts, before);
		} else if (r.type == PERF_RECORD_LOST) {
			s->lost += r.u.lost.lost;
		} else if (r.type == PERF_RECORD_THROTTLE) {
			s->throttled++;
		}
	}
}

/* Asks for what tally counts of its own events. A caller without rights does not see that. */
static void read_overflows(const struct selftest *t, struct sampled *s)
{
	struct libtally_running event = { .id = s->id - 1 };

	if (libtally_device_next(t->device, &event) <= 0 || event.id != s->id || !event.has_more)
		return;
	s->overflows = event.overflows;
	s->throttled += event.throttled;
}

/* Samples the work by perf and tally at the same time. Returns false if a layer has failed. */
static bool sample(struct selftest *t, const struct perf_event_attr *attrs, int nr,
		   void (*work)(int ms), struct sampled *perf, struct sampled *tally)
{
	bool read;

	memset(tally->fds, -1, sizeof(tally->fds));
	tally->ring.page = NULL;
	if (!open_sampled(t, OUTER, attrs, nr, perf) || !open_sampled(t, TALLY, attrs, nr, tally)) {
		close_sampled(perf);
		close_sampled(tally);
		return false;
	}
	selftest_enable(perf->fds[0], true);
	selftest_enable(tally->fds[0], true);
	work(SAMPLE_MS);
	selftest_enable(tally->fds[0], false);
	selftest_enable(perf->fds[0], false);
	read = selftest_read(t, OUTER, perf->fds[0], perf->counts, nr) &&
	       selftest_read(t, TALLY, tally->fds[0], tally->counts, nr);
	read_overflows(t, tally);
	read_ring(perf, &attrs[0]);
	read_ring(tally, &attrs[0]);
	close_sampled(perf);
	close_sampled(tally);
	return read;
}

/* ---- overflows and records ---- */

/* Returns whether a number of overflows is that of whole periods, but for one at each end. */
static bool is_whole(__u64 overflows, __u64 count, __u64 period)
{
	__u64 periods = count / period;

	return overflows <= periods + 1 && overflows + 1 >= periods;
}

static void report_overflows(const char *name, __u64 period, const struct sampled *perf,
			     const struct sampled *tally)
{
	__u64 seen = tally->records + tally->lost;
	bool perf_whole = is_whole(perf->records + perf->lost, perf->counts[0].value, period);
	bool whole = is_whole(seen, tally->counts[0].value, period);

	if (tally->overflows && tally->overflows != seen)
		fault("%s, overflows: tally counted %llu, and its ring has %llu", name,
		      (unsigned long long)tally->overflows, (unsigned long long)seen);
	else
		finding(whole ? "ok" : perf_whole ? "BAD" : "note",
			"%s, period %llu: tally has %llu overflows in %llu, perf %llu in %llu%s",
			name, (unsigned long long)period, (unsigned long long)seen,
			(unsigned long long)tally->counts[0].value,
			(unsigned long long)(perf->records + perf->lost),
			(unsigned long long)perf->counts[0].value,
			whole ? "" : perf_whole ? "" : ": some were late for both");
}

/* Returns the share of the samples with an ip in the loop, in per cent. */
static int share(const struct sampled *s)
{
	return s->records ? 100 * s->in_loop / s->records : 0;
}

static void report_ips(const char *name, const struct sampled *perf, const struct sampled *tally)
{
	bool good = share(tally) >= 90 || share(tally) + 10 >= share(perf);
	bool few = tally->records < FEW && perf->records < FEW;

	if (!tally->records && !perf->records)
		note("%s, ips: neither perf nor tally has a sample", name);
	else
		finding(good ? "ok" : few ? "note" : "BAD",
			"%s, ips: %d %% of tally's %llu samples lie in the loop that ran, of "
			"perf's %d %%", name, share(tally), (unsigned long long)tally->records,
			share(perf));
}

void check_software_samples(struct selftest *t)
{
	struct sampled perf, tally;
	struct perf_event_attr attr;

	selftest_attr(t, &attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	set_sampled(&attr, 7);
	if (sample(t, &attr, 1, selftest_work, &perf, &tally))
		report_overflows("page-faults", 7, &perf, &tally);
	else
		selftest_refused(t, "page-faults, overflows");
	selftest_attr(t, &attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	set_sampled(&attr, PERIOD_MS * 1000000);
	attr.exclude_kernel = 1;
	if (sample(t, &attr, 1, selftest_run, &perf, &tally))
		report_ips("cpu-clock:u", &perf, &tally);
	else
		selftest_refused(t, "cpu-clock:u, ips");
}

/* Sets the sampled hardware event, in user space, where the loop runs. Returns its period. */
static __u64 set_event(const struct selftest *t, struct perf_event_attr *attr)
{
	/* AMD's driver refuses a period that is no multiple of 16. */
	__u64 period = (__u64)(t->per_ms * PERIOD_MS) & ~15ULL;

	*attr = t->attr;
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	set_sampled(attr, period > 1000 ? period : 1000);
	return attr->sample_period;
}

void check_samples(struct selftest *t)
{
	struct sampled perf, tally;
	struct perf_event_attr attr;
	int tries = TRIES;
	char name[64];
	__u64 period;

	if (!t->event) {
		note("not tried: overflows of a PMU: perf counts no cycles and no instructions");
		return;
	}
	period = set_event(t, &attr);
	snprintf(name, sizeof(name), "%s:u", t->event);
	do {
		if (!sample(t, &attr, 1, selftest_run, &perf, &tally)) {
			selftest_refused(t, name);
			return;
		}
	} while (--tries && !is_whole(tally.records + tally.lost, tally.counts[0].value, period));
	if (tally.throttled)
		note("%s, overflows: throttled %llu times", name,
		     (unsigned long long)tally.throttled);
	else
		report_overflows(name, period, &perf, &tally);
	report_ips(name, &perf, &tally);
}

/* ---- precise events ---- */

/*
 * Samples at a level. Adds what came of it to a text, and changes the mark if that is not "ok".
 * Returns whether perf has the level.
 */
static bool try_precise(struct selftest *t, int level, char *text, size_t size, const char **mark)
{
	struct perf_event_attr attr;
	struct sampled perf, tally;
	const char *result = "ok";
	int fd;

	set_event(t, &attr);
	/* Each precise PMU has cycles; AMD's does not tell user space and kernel apart. */
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.precise_ip = level;
	fd = selftest_open(t, OUTER, &attr, &selftest_own, -1);
	if (fd < 0 && !t->user_only) {
		attr.exclude_kernel = 0;
		attr.exclude_hv = 0;
		fd = selftest_open(t, OUTER, &attr, &selftest_own, -1);
	}
	if (fd < 0)
		return false;
	close(fd);
	if (!sample(t, &attr, 1, selftest_run, &perf, &tally)) {
		snprintf(text, size, " level %d: %s: %s;", level,
			 t->failed == TALLY ? "tally" : "perf", t->why);
		result = selftest_mark(t);
	} else {
		snprintf(text, size, " level %d: tally %llu samples, perf %llu;", level,
			 (unsigned long long)tally.records, (unsigned long long)perf.records);
		if (perf.records && !tally.records)
			result = "BAD";
	}
	if (!strcmp(*mark, "ok") || !strcmp(result, "BAD"))
		*mark = result;
	return true;
}

void check_precise(struct selftest *t)
{
	const char *mark = "ok";
	char text[400] = "";
	size_t length;
	int level;

	for (level = 1; level <= 3 && t->event; level++) {
		length = strlen(text);
		if (!try_precise(t, level, text + length, sizeof(text) - length, &mark))
			break;
	}
	if (!text[0])
		note("not tried: precise: perf has no precise event here");
	else
		finding(mark, "precise:%.*s", (int)strlen(text) - 1, text);
}

/* ---- counts that are read in NMI ---- */

/* Returns the number of a CPU in a row of /proc/interrupts, such as "NMI:"; -1 without it. */
static long long interrupts(const char *row, int cpu)
{
	char line[65536], *word, *rest;
	FILE *file = fopen("/proc/interrupts", "re");
	long long result = -1;
	int column = -1, i = 0;

	if (!file)
		return -1;
	if (fgets(line, sizeof(line), file))
		for (rest = line; (word = strtok_r(rest, " \t\n", &rest)); i++)
			if (!strncmp(word, "CPU", 3) && atoi(word + 3) == cpu)
				column = i;
	while (column >= 0 && result < 0 && fgets(line, sizeof(line), file)) {
		word = strtok_r(line, " \t\n", &rest);
		if (!word || strcmp(word, row))
			continue;
		for (i = 0; word && i <= column; i++)
			word = strtok_r(NULL, " \t\n", &rest);
		result = word ? atoll(word) : -1;
	}
	fclose(file);
	return result;
}

void check_nmi_reads(struct selftest *t)
{
	struct perf_event_attr attrs[MEMBERS];
	struct sampled perf, tally;
	long long nmis;

	if (!t->event) {
		note("not tried: reads in NMI: no PMU that overflows");
		return;
	}
	set_event(t, &attrs[0]);
	attrs[0].sample_type |= PERF_SAMPLE_READ;
	attrs[0].read_format |= PERF_FORMAT_GROUP;
	selftest_attr(t, &attrs[1], PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	selftest_attr(t, &attrs[2], PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	attrs[1].disabled = 0;
	attrs[2].disabled = 0;
	attrs[1].read_format = attrs[0].read_format;
	attrs[2].read_format = attrs[0].read_format;
	nmis = interrupts("NMI:", t->cpu);
	if (!sample(t, attrs, MEMBERS, selftest_work, &perf, &tally)) {
		selftest_refused(t, "reads in overflows");
		return;
	}
	if (nmis >= 0)
		nmis = interrupts("NMI:", t->cpu) - nmis;
	if (tally.falls)
		fault("reads in overflows: in %llu of %llu samples of tally a count falls, or "
		      "passes the last one; of perf %llu of %llu", (unsigned long long)tally.falls,
		      (unsigned long long)tally.records, (unsigned long long)perf.falls,
		      (unsigned long long)perf.records);
	else if (!tally.records)
		note("reads in overflows: no overflow came");
	else if (nmis >= (long long)tally.records)
		good("reads in NMI: 3 counts in each of %llu samples, which rise; NMIs meanwhile: "
		     "%lld", (unsigned long long)tally.records, nmis);
	else if (pmu_uses_nmi())
		good("reads in NMI, by the log: 3 counts in each of %llu samples, which rise",
		     (unsigned long long)tally.records);
	else
		note("reads in overflows: the 3 counts of %llu samples rise; nothing says that "
		     "they came in NMI", (unsigned long long)tally.records);
}

/* ---- more events than counters ---- */

/**
 * struct crowd - events of one kind
 * @rate:	mean of the counts in a millisecond in which an event ran
 * @spread:	the greatest distance of one from that, in per cent
 * @waited:	events that ran, but not all the time
 * @idle:	events that never ran
 * @wrong:	events that ran for longer than they were enabled
 */
struct crowd {
	double rate, spread;
	int waited, idle, wrong;
};

/* Reads the files of one kind, and sums them up. Returns false if a file cannot be read. */
static bool sum_up(struct selftest *t, int layer, const int *fds, struct crowd *crowd)
{
	double rates[CROWD], distance;
	struct counted c;
	int i, nr = 0;

	memset(crowd, 0, sizeof(*crowd));
	for (i = 0; i < CROWD; i++) {
		if (!selftest_read(t, layer, fds[i], &c, 1))
			return false;
		if (!c.running) {
			crowd->idle++;
			continue;
		}
		crowd->waited += c.running < c.enabled;
		crowd->wrong += c.running > c.enabled;
		/* Some are enabled earlier than others: only their rates can be compared. */
		rates[nr] = c.value * 1e6 / c.running;
		crowd->rate += rates[nr++];
	}
	crowd->rate /= nr ? nr : 1;
	for (i = 0; i < nr; i++) {
		distance = 100 * (rates[i] / crowd->rate - 1);
		distance = distance < 0 ? -distance : distance;
		if (distance > crowd->spread)
			crowd->spread = distance;
	}
	return true;
}

static void report_crowd(const struct selftest *t, const struct crowd *perf,
			 const struct crowd *tally)
{
	double apart = perf->rate ? 100 * (tally->rate / perf->rate - 1) : 0;
	const char *mark = apart > -10 && apart < 10 ? "ok" : "note";

	if (tally->wrong) {
		fault("multiplexing: %d of %d events of tally ran longer than they were enabled",
		      tally->wrong, CROWD);
		return;
	}
	if (!tally->waited && !perf->waited) {
		if (tally->idle || perf->idle)
			note("not tried: multiplexing: no event gave the PMU to another: %d of "
			     "tally and %d of perf never ran", tally->idle, perf->idle);
		else
			note("not tried: multiplexing: the PMU has room for %d events", 2 * CROWD);
		return;
	}
	if (tally->idle > perf->idle)
		mark = "BAD";
	else if (mark[0] == 'n' && perf->spread < 5 && tally->spread < 5)
		mark = "BAD";
	finding(mark, "multiplexing: %d + %d %s: tally: %d waited, %d never ran, %.0f/ms, spread "
		"%.1f %%; perf: %d, %d, %.0f/ms, %.1f %%; %+.1f %% apart", CROWD, CROWD, t->event,
		tally->waited, tally->idle, tally->rate, tally->spread, perf->waited, perf->idle,
		perf->rate, perf->spread, apart);
}

void check_multiplexing(struct selftest *t)
{
	struct perf_event_attr attr = t->attr;
	struct crowd perf, tally;
	int fds[LAYERS][CROWD], i, layer;
	bool good = true;

	if (!t->event) {
		note("not tried: multiplexing: no hardware event");
		return;
	}
	/* Equal events of tally share a counter, but not with a period: this one never ends. */
	attr.sample_period = 1ULL << 40;
	memset(fds, -1, sizeof(fds));
	for (i = 0; i < CROWD && good; i++)
		for (layer = OUTER; layer <= TALLY && good; layer++) {
			fds[layer][i] = selftest_open(t, layer, &attr, &selftest_own, -1);
			good = fds[layer][i] >= 0;
		}
	if (good) {
		for (i = 0; i < CROWD; i++)
			for (layer = OUTER; layer <= TALLY; layer++)
				selftest_enable(fds[layer][i], true);
		selftest_run(CROWD_MS);
		good = sum_up(t, OUTER, fds[OUTER], &perf) &&
			 sum_up(t, TALLY, fds[TALLY], &tally);
	}
	if (good)
		report_crowd(t, &perf, &tally);
	else
		selftest_refused(t, "multiplexing");
	selftest_close(fds[OUTER], CROWD);
	selftest_close(fds[TALLY], CROWD);
}
