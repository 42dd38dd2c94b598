// SPDX-License-Identifier: GPL-2.0
/*
 * perfdata FILE KIND: writes a perf.data file of made-up records for perf to read. KIND
 * is "one" or "two", the number of events, or "many", one event with 10,000 ids, or "none": the
 * program ends before it has written a record. The status is 3 if there is no room for the ids.
 */
#include <errno.h>
#include <unistd.h>
#include "test.h"

static struct bytes b;

static void trailer(uint64_t time, uint64_t id)
{
	put32(&b, 1234);
	put32(&b, 1235);
	put64(&b, time);
	put32(&b, 0);
	put32(&b, 0);
	put64(&b, id);
	end(&b);
}

int main(int argc, char **argv)
{
	const __u64 ids[2][3] = { { 10, 11, 12 }, { 20, 21, 22 } };
	struct libtally_events *events = libtally_events_new();
	struct perf_event_attr attr;
	struct libtally_perfdata *d;
	int two = argc > 2 && !strcmp(argv[2], "two");
	int many = argc > 2 && !strcmp(argv[2], "many");
	uint64_t time = 1000000000;

	if (argc < 3)
		return 2;
	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			   PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	attr.sample_id_all = 1;
	if (libtally_events_add(events, &attr, ids[0], 2, "made-up") < 0)
		return 2;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	if (two && libtally_events_add(events, &attr, ids[1], 2, "other") < 0)
		return 2;
	for (int i = 0; many && i < 10000; i++)
		if (libtally_events_add_id(events, 0, 1000 + i))
			return 2;
	d = libtally_perfdata_create(argv[1], events);
	if (!d) {
		libtally_events_free(events);
		return errno == E2BIG ? 3 : 2;
	}
	if (!strcmp(argv[2], "none"))
		_exit(0);
	/* An event on a CPU that came online while the file was written */
	if (libtally_events_add_id(events, 0, 12) || (two && libtally_events_add_id(events, 1, 22)))
		return 2;
	if (libtally_perfdata_write_running(d, 1))
		return 2;
	begin(&b, PERF_RECORD_COMM, 0);
	put32(&b, 1234);
	put32(&b, 1235);
	put_text(&b, "invented");
	trailer(time, 12);
	libtally_perfdata_write(d, (void *)&b);
	for (int i = 0; i < 100; i++) {
		int n = two && i % 3 == 0;

		begin(&b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		put64(&b, ids[n][i % 3]);
		put64(&b, 0x400000 + i);
		put32(&b, 1234);
		put32(&b, 1235);
		put64(&b, time += 1000);
		put32(&b, i % 2);
		put32(&b, 0);
		put64(&b, 7000 + i);
		if (n) {
			put64(&b, 3);
			put64(&b, PERF_CONTEXT_USER);
			put64(&b, 0x400000 + i);
			put64(&b, 0x500000 + i);
		}
		end(&b);
		if (libtally_perfdata_write(d, (void *)&b) ||
		    (i % 25 == 24 && libtally_perfdata_flush(d)))
			return 2;
	}
	if (libtally_perfdata_close(d))
		return 2;
	libtally_events_free(events);
	return 0;
}
