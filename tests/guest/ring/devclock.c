// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: the clocks of their records.
 *
 *	devclock clocks|default
 */
#define _GNU_SOURCE
#include <sys/timex.h>
#include "devring.h"

#define ROUNDS 50

static const struct {
	clockid_t id;
	const char *name;
} clocks_of_records[] = {
	{ CLOCK_MONOTONIC, "CLOCK_MONOTONIC" },
	{ CLOCK_MONOTONIC_RAW, "CLOCK_MONOTONIC_RAW" },
	{ CLOCK_REALTIME, "CLOCK_REALTIME" },
	{ CLOCK_BOOTTIME, "CLOCK_BOOTTIME" },
	{ CLOCK_TAI, "CLOCK_TAI" },
};

static void adjust(unsigned int what, long value)
{
	struct timex t = { .modes = what, .constant = value, .tick = value };

	if (adjtimex(&t) < 0)
		err(2, "adjtimex");
}

/*
 * Sets the clocks apart, so that no one can be taken for another one: CLOCK_TAI by 37 seconds,
 * and CLOCK_MONOTONIC_RAW by milliseconds. Only a suspend sets CLOCK_BOOTTIME apart from
 * CLOCK_MONOTONIC.
 */
static void set_apart(void)
{
	adjust(ADJ_TAI, 37);
	adjust(ADJ_TICK, 9000);
	while (llabs((long long)(ns_of(CLOCK_MONOTONIC_RAW) - ns_of(CLOCK_MONOTONIC))) < 5000000)
		;
	adjust(ADJ_TICK, 10000);
}

/* Counts the samples of a round, and those whose time is not of that round. */
static void look(uint64_t from, uint64_t to, int *nr, int *strange)
{
	struct perf_event_header *h;

	while ((h = next(&tally_ring))) {
		uint64_t time = *(uint64_t *)(h + 1);

		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		++*nr;
		if (time >= from && time <= to)
			continue;
		if (!(*strange)++)
			printf("# %llu is not in %llu to %llu\n", (unsigned long long)time,
			       (unsigned long long)from, (unsigned long long)to);
	}
	done(&tally_ring);
}

static void one_clock(clockid_t id, const char *name)
{
	int i, fd, nr = 0, strange = 0;
	uint64_t from, to;

	faults(PERF_SAMPLE_TIME);
	attr.use_clockid = 1;
	attr.clockid = id;
	fd = open_it();
	if (fd < 0 || map_ring(&tally_ring, fd, 4, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "%s: %m: %s", name, why.text);
		return;
	}
	for (i = 0; i <= ROUNDS; i++) {
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		from = ns_of(id);
		touch(1);
		to = ns_of(id);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		look(from, to, &nr, &strange);
		/* In the first round the test's own pages are faulted in. */
		if (!i)
			nr = strange = 0;
	}
	tell(nr == ROUNDS && !strange,
	     "%s: %d of %d samples lie between two readings of the clock", name, nr - strange,
	     ROUNDS);
	unmap_ring(&tally_ring);
}

static void clocks(void)
{
	unsigned int i;

	run_on(0);
	set_apart();
	for (i = 0; i < sizeof(clocks_of_records) / sizeof(clocks_of_records[0]); i++)
		one_clock(clocks_of_records[i].id, clocks_of_records[i].name);
	adjust(ADJ_TAI, 0);
}

/* ---- the clock without use_clockid ---- */

static int times(struct ring *r, uint64_t *to)
{
	struct perf_event_header *h;
	int nr = 0;

	while ((h = next(r)))
		if (h->type == PERF_RECORD_SAMPLE && nr < ROUNDS)
			to[nr++] = *(uint64_t *)(h + 1);
	return nr;
}

/* No program can read this clock: perf's sample of each fault is a reading. */
static void default_clock(void)
{
	uint64_t perf[ROUNDS], tally[ROUNDS];
	int i, nr[2], good = 1;

	run_on(0);
	faults(PERF_SAMPLE_TIME);
	if (both(8, PROT_READ | PROT_WRITE))
		return;
	fault_both(ROUNDS);
	nr[0] = times(&perf_ring, perf);
	nr[1] = times(&tally_ring, tally);
	for (i = 1; i < ROUNDS - 1 && nr[0] == ROUNDS && nr[1] == ROUNDS; i++)
		good &= tally[i] >= perf[i - 1] && tally[i] <= perf[i + 1];
	tell(good && nr[0] == ROUNDS && nr[1] == ROUNDS,
	     "the default clock: %d samples lie between those of perf", nr[1]);
	neither();
}

static const struct devtest tests[] = {
	{ "clocks", .run = clocks },
	{ "default", .run = default_clock },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
