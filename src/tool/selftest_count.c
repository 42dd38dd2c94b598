// SPDX-License-Identifier: GPL-2.0
/* The self-test's checks of counts: tally's window lies between two of perf's, see selftest.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "doctor.h"
#include "selftest.h"

/**
 * struct nested - events that perf, tally and perf count, one around the other
 * @nr:		number of events; the others are members of the first one's group
 * @attrs:	the events
 * @place:	where they count
 * @failed:	layer whose event could not be opened; LAYERS for none
 * @live:	counts while all of them count
 * @last:	counts after the end
 * @shared:	an event did not have the PMU all the time
 */
struct nested {
	int nr;
	struct perf_event_attr attrs[MEMBERS];
	struct place place;
	int failed;
	struct counted live[LAYERS][MEMBERS];
	struct counted last[LAYERS][MEMBERS];
	bool shared;
};

static void add(const struct selftest *t, struct nested *n, __u32 type, __u64 config)
{
	struct perf_event_attr *attr = &n->attrs[n->nr];

	selftest_attr(t, attr, type, config);
	attr->disabled = !n->nr++;
}

static int open_nested(struct selftest *t, struct nested *n, int fds[LAYERS][MEMBERS])
{
	struct perf_event_attr attr;
	int layer, i;

	for (layer = OUTER; layer < LAYERS; layer++) {
		n->failed = layer;
		for (i = 0; i < n->nr; i++) {
			attr = n->attrs[i];
			attr.read_format |= n->nr > 1 ? PERF_FORMAT_GROUP : 0;
			fds[layer][i] = selftest_open(t, layer, &attr, &n->place,
						      i ? fds[layer][0] : -1);
			if (fds[layer][i] < 0)
				return fds[layer][i];
		}
	}
	n->failed = LAYERS;
	return 0;
}

/* Reads the inner layer first: the others are read later, and so are at least as great. */
static bool read_nested(struct selftest *t, int fds[LAYERS][MEMBERS],
			struct counted counts[LAYERS][MEMBERS], int nr)
{
	int layer;

	for (layer = INNER; layer >= OUTER; layer--)
		if (!selftest_read(t, layer, fds[layer][0], counts[layer], nr))
			return false;
	return true;
}

/* Counts the work by all layers. Returns 0, or the error of one, with a sentence in t->why. */
static int run_nested(struct selftest *t, struct nested *n)
{
	int fds[LAYERS][MEMBERS], error, layer;
	bool read;

	memset(fds, -1, sizeof(fds));
	error = open_nested(t, n, fds);
	if (!error) {
		for (layer = OUTER; layer < LAYERS; layer++)
			selftest_enable(fds[layer][0], true);
		selftest_work(WINDOW_MS / 2);
		read = read_nested(t, fds, n->live, n->nr);
		selftest_work(WINDOW_MS / 2);
		for (layer = INNER; layer >= OUTER; layer--)
			selftest_enable(fds[layer][0], false);
		if (!read || !read_nested(t, fds, n->last, n->nr))
			error = -EIO;
	}
	for (layer = OUTER; layer < LAYERS; layer++) {
		selftest_close(fds[layer], n->nr);
		n->shared |= n->last[layer][0].running < n->last[layer][0].enabled;
	}
	return error;
}

static void compare_times(struct selftest *t, const struct nested *n, const char *what)
{
	const struct counted *outer = n->last[OUTER], *inner = n->last[INNER];
	const struct counted *own = n->last[TALLY];

	t->times++;
	if (t->wrong[0])
		return;
	/* Where the PMU has no room for three files, any of them may never run. */
	if (own->enabled < inner->enabled || own->enabled > outer->enabled ||
	    own->running > own->enabled)
		snprintf(t->wrong, sizeof(t->wrong),
			 "%s: tally enabled %llu and running %llu ns, perf %llu within that and "
			 "%llu around it", what, (unsigned long long)own->enabled,
			 (unsigned long long)own->running, (unsigned long long)inner->enabled,
			 (unsigned long long)outer->enabled);
}

/* Compares the counts of one event, while it counted and at the end. */
static bool compare_counts(const struct nested *n, int i, const char *what)
{
	char live[64];

	snprintf(live, sizeof(live), "%s while it counts", what);
	return selftest_lies(live, n->live[INNER][i].value, n->live[TALLY][i].value,
			     n->live[OUTER][i].value) &&
	       selftest_lies(what, n->last[INNER][i].value, n->last[TALLY][i].value,
			     n->last[OUTER][i].value);
}

/* ---- one event after the other ---- */

static const struct {
	const char *name;
	__u32 type;
	__u64 config;
} events[] = {
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
};

/* Counts the work by one file alone, in counts per ms. Returns false if that fails. */
static bool count_alone(struct selftest *t, int layer, const struct perf_event_attr *attr,
			double *rate)
{
	int fd = selftest_open(t, layer, attr, &selftest_own, -1);
	struct counted c;
	bool done;

	if (fd < 0)
		return false;
	selftest_enable(fd, true);
	selftest_work(WINDOW_MS);
	selftest_enable(fd, false);
	done = selftest_read(t, layer, fd, &c, 1);
	close(fd);
	if (done && !c.running) {
		selftest_fail(t, layer, 0, "its only file did not get the PMU");
		return false;
	}
	*rate = c.value * 1e6 / c.running;
	return done;
}

/*
 * The PMU has no room for the three files at once: some events have one counter. So the files count
 * one after the other, and the work is only about the same each time.
 */
static void compare_in_turn(struct selftest *t, const struct perf_event_attr *attr,
			    const char *name)
{
	double first, own, last, low, high;

	if (!count_alone(t, OUTER, attr, &first) || !count_alone(t, INNER, attr, &last) ||
	    !count_alone(t, TALLY, attr, &own)) {
		selftest_refused(t, name);
		return;
	}
	low = (first < last ? first : last) * 0.8;
	high = (first > last ? first : last) * 1.2;
	finding(low <= own && own <= high ? "ok" : "note",
		"%s: the files counted in turn: tally counted %.0f/ms, perf %.0f/ms and %.0f/ms",
		name, own, first, last);
}

/* Says why an event was not counted. Perf and tally may both refuse it, but not one alone. */
static void report_refusal(struct selftest *t, const char *name, const struct nested *n, int error)
{
	int fd;

	if (n->failed != OUTER) {
		finding(selftest_mark(t), "%s: perf opens it%s: %s", name,
			n->failed == INNER ? " once, and not twice" : ", tally does not", t->why);
		return;
	}
	fd = selftest_open(t, TALLY, &n->attrs[0], &n->place, -1);
	if (fd >= 0) {
		close(fd);
		fault("%s: tally opens it, perf does not: %s", name, strerror(-error));
	} else {
		snprintf(t->absent + strlen(t->absent), NAMES - strlen(t->absent), " %s", name);
	}
}

static void check_event(struct selftest *t, const char *name, __u32 type, __u64 config)
{
	struct nested n = { .place = selftest_own };
	int error;

	add(t, &n, type, config);
	error = run_nested(t, &n);
	if (error && n.failed < LAYERS) {
		report_refusal(t, name, &n, error);
		return;
	}
	if (error) {
		selftest_refused(t, name);
		return;
	}
	compare_times(t, &n, name);
	if (n.shared)
		compare_in_turn(t, &n.attrs[0], name);
	else if (compare_counts(&n, 0, name))
		finding(n.last[OUTER][0].value ? "ok" : "note",
			"%s: tally %llu, between perf's %llu and %llu", name,
			(unsigned long long)n.last[TALLY][0].value,
			(unsigned long long)n.last[INNER][0].value,
			(unsigned long long)n.last[OUTER][0].value);
}

void check_counts(struct selftest *t)
{
	size_t i;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (t->user_only && events[i].type == PERF_TYPE_SOFTWARE && i)
			continue;
		check_event(t, events[i].name, events[i].type, events[i].config);
	}
	if (t->absent[0])
		note("not tried: perf does not have, or not for a task:%s", t->absent);
	if (t->wrong[0])
		fault("times: %s", t->wrong);
	else
		good("times: %d times, tally's lie between perf's", t->times);
}

/* ---- user and kernel ---- */

/* The files: perf's of all, tally's of user space and of the kernel, and perf's of all again. */
enum { USER = 1, KERNEL, HALVES = 4 };

static const int half_layers[HALVES] = { OUTER, TALLY, TALLY, INNER };

static void set_half(const struct selftest *t, struct perf_event_attr *attr, int i)
{
	*attr = t->attr;
	attr->exclude_kernel = i == USER;
	attr->exclude_hv = i == USER;
	attr->exclude_user = i == KERNEL;
}

static bool open_halves(struct selftest *t, int *fds)
{
	struct perf_event_attr attr;
	int i, fd;

	for (i = 0; i < HALVES; i++) {
		set_half(t, &attr, i);
		/* Where perf does not open a half, tally need not. */
		fd = selftest_open(t, OUTER, &attr, &selftest_own, -1);
		if (fd < 0)
			return false;
		close(fd);
		fds[i] = selftest_open(t, half_layers[i], &attr, &selftest_own, -1);
		if (fds[i] < 0)
			return false;
	}
	return true;
}

/* Says that tally counted nothing of a half, which is BAD only if perf counts some. */
static void report_zero(struct selftest *t, int half)
{
	struct perf_event_attr attr;
	double rate;

	set_half(t, &attr, half);
	if (count_alone(t, OUTER, &attr, &rate))
		finding(rate > 0 ? "BAD" : "note",
			"user and kernel: tally counted 0 of %s:%c, and perf alone %.0f/ms",
			t->event, half == USER ? 'u' : 'k', rate);
	else
		selftest_refused(t, "user and kernel");
}

void check_exclusion(struct selftest *t)
{
	struct counted c[HALVES];
	int fds[HALVES] = { -1, -1, -1, -1 }, i;
	bool shared = false, read = true;

	if (!t->event || t->user_only) {
		note("not tried: user and kernel: %s", t->event ? "no right to count the kernel" :
							  "no hardware event");
		return;
	}
	if (!open_halves(t, fds)) {
		selftest_refused(t, "user and kernel");
		selftest_close(fds, HALVES);
		return;
	}
	for (i = 0; i < HALVES; i++)
		selftest_enable(fds[i], true);
	selftest_work(WINDOW_MS);
	for (i = HALVES - 1; i >= 0; i--) {
		selftest_enable(fds[i], false);
		read = read && selftest_read(t, half_layers[i], fds[i], &c[i], 1);
		shared |= read && c[i].running < c[i].enabled;
	}
	selftest_close(fds, HALVES);
	if (!read)
		selftest_refused(t, "user and kernel");
	else if (shared)
		note("not tried: user and kernel: the PMU has no room for four files");
	else if (!c[USER].value || !c[KERNEL].value)
		report_zero(t, c[USER].value ? KERNEL : USER);
	else if (selftest_lies("user and kernel", c[3].value, c[USER].value + c[KERNEL].value,
			       c[0].value))
		good("%s: tally :u %llu and :k %llu, between perf's %llu and %llu of both",
		     t->event, (unsigned long long)c[USER].value,
		     (unsigned long long)c[KERNEL].value, (unsigned long long)c[3].value,
		     (unsigned long long)c[0].value);
}

/* ---- a group ---- */

void check_group(struct selftest *t)
{
	struct nested n = { .place = selftest_own };
	bool is_good = true;
	char what[64];
	int error, i;

	if (t->event)
		add(t, &n, t->attr.type, t->attr.config);
	add(t, &n, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	add(t, &n, PERF_TYPE_SOFTWARE, t->user_only ? PERF_COUNT_SW_PAGE_FAULTS_MIN :
						      PERF_COUNT_SW_CONTEXT_SWITCHES);
	error = run_nested(t, &n);
	if (error) {
		selftest_refused(t, "group");
		return;
	}
	if (n.shared) {
		note("not tried: group: the PMU has no room for three groups");
		return;
	}
	for (i = 0; i < n.nr; i++) {
		snprintf(what, sizeof(what), "group, event %d", i + 1);
		is_good &= compare_counts(&n, i, what);
	}
	if (is_good)
		good("group: one read(2) of %d events: each lies between those of perf's groups",
		     n.nr);
}
