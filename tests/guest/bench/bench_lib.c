// SPDX-License-Identifier: GPL-2.0
/*
 * bench_lib: the cost of reading a record with src/lib, in tenths of an instruction,
 * with icount:
 *
 *	# figure lib drain_ip 123
 *
 *	walk	goes from record to record in a copy of a ring's data
 *	copy	the same, with a memcpy() of each record into a buffer
 *	parse	the same, and parses each record
 *	drain	empties the ring by libtally_ring_next(), which moves data_tail
 *	merge_N	empties N rings by time, with libtally_reader_next()
 *
 * The kernel fills the rings of /dev/tally with samples of page faults of this task,
 * below a few frames for call chains. merge_N has a sample of each fault in all N rings,
 * as if N CPUs took turns.
 */
#define _GNU_SOURCE
#include <libtally.h>
#include "bench.h"

#define ROUNDS	10
#define PAGES	16 /* of a ring */
#define MOST	8 /* rings */

static long page_size;
static volatile uint64_t sink;

/* ---- rings that are full ---- */

static struct perf_event_attr attr;
static struct libtally_ring rings[MOST];
static int nr_rings;
static char *area;
static size_t area_size;

static void open_rings(int nr)
{
	struct libtally_target target = LIBTALLY_TARGET_INIT;
	int fd, error;

	target.via = LIBTALLY_VIA_DEVICE;
	target.pid = 0;
	for (nr_rings = 0; nr_rings < nr; nr_rings++) {
		fd = libtally_open_event(&attr, &target);
		if (fd < 0)
			die("libtally_open_event: %s: %s", strerror(-fd), target.error);
		error = libtally_ring_map(&rings[nr_rings], fd, PAGES, 0, 0);
		if (error)
			die("libtally_ring_map: %s", strerror(-error));
	}
}

static void close_rings(void)
{
	int fd;

	while (nr_rings) {
		/* libtally_ring_unmap() clears the descriptor. */
		fd = rings[--nr_rings].fd;
		libtally_ring_unmap(&rings[nr_rings]);
		close(fd);
	}
}

static void switch_rings(unsigned long request)
{
	int i;

	for (i = 0; i < nr_rings; i++)
		if (ioctl(rings[i].fd, request, 0))
			die("ioctl: %m");
}

/* Reads missing pages. The kernel maps the zero page, and allocates nothing. */
FRAMED void touch_framed(size_t pages, int depth)
{
	size_t i;

	if (depth) {
		touch_framed(pages, depth - 1);
		asm volatile(""); /* not a jump */
		return;
	}
	for (i = 0; i < pages; i++)
		*(volatile char *)&area[i * page_size];
}

/* Puts a record for each page into each ring. */
static FRAMED void fill_rings(size_t pages)
{
	if (madvise(area, area_size, MADV_DONTNEED))
		die("madvise: %m");
	switch_rings(PERF_EVENT_IOC_ENABLE);
	touch_framed(pages, FRAMES);
	switch_rings(PERF_EVENT_IOC_DISABLE);
}

static size_t bytes_in(const struct libtally_ring *ring)
{
	return ring->page->data_head - ring->page->data_tail;
}

/*
 * Reads the one record of a ring, and returns how many such records fit. All have this
 * size if their call chains are as deep: so the caller itself calls fill_rings(1) before.
 */
static size_t room_of_ring(size_t *size)
{
	*size = bytes_in(&rings[0]);
	if (!libtally_ring_next(&rings[0]) || libtally_ring_next(&rings[0]))
		die("one fault made another number of records");
	return (rings[0].size - 1) / *size;
}

/* ---- what is measured ---- */

static char flat[PAGES * 65536]; /* the largest pages there are */
static size_t flat_size;

/* Copies the data of a ring into one piece, without draining it. */
static void flatten(const struct libtally_ring *ring, size_t nr, size_t size)
{
	uint64_t at = ring->page->data_tail;
	const struct perf_event_header *h;
	size_t i, first;

	flat_size = bytes_in(ring);
	if (flat_size != nr * size)
		die("%zu bytes, not %zu records of %zu", flat_size, nr, size);
	first = ring->size - (at & (ring->size - 1));
	if (first > flat_size)
		first = flat_size;
	memcpy(flat, ring->data + (at & (ring->size - 1)), first);
	memcpy(flat + first, ring->data, flat_size - first);
	for (i = 0; i < flat_size; i += size) {
		h = (const void *)(flat + i);
		if (h->type != PERF_RECORD_SAMPLE || h->size != size)
			die("a record of type %u, of %u bytes", h->type, h->size);
	}
}

static __attribute__((noinline)) size_t nothing(void)
{
	return 0;
}

static __attribute__((noinline)) size_t walk(void)
{
	const char *at, *end = flat + flat_size;
	const struct perf_event_header *h;
	size_t sum = 0;

	for (at = flat; at < end; at += h->size) {
		h = (const void *)at;
		sum += h->size;
	}
	return sum;
}

static __attribute__((noinline)) size_t copy(void)
{
	const char *at, *end = flat + flat_size;
	const struct perf_event_header *h;
	static char to[65536];
	size_t sum = 0;

	for (at = flat; at < end; at += h->size) {
		h = (const void *)at;
		memcpy(to, h, h->size);
		sum += h->size;
	}
	sink = to[0];
	return sum;
}

static struct libtally_format format;

static __attribute__((noinline)) size_t parse(void)
{
	const char *at, *end = flat + flat_size;
	const struct perf_event_header *h;
	struct libtally_record r;
	size_t sum = 0;

	for (at = flat; at < end; at += h->size) {
		h = (const void *)at;
		if (libtally_record_parse(&r, h, h->size, &format) < 0)
			return 0;
		sum += r.size;
	}
	return sum;
}

static __attribute__((noinline)) size_t drain(void)
{
	const struct perf_event_header *h;
	size_t sum = 0;

	while ((h = libtally_ring_next(&rings[0])))
		sum += h->size;
	return sum;
}

static struct libtally_reader *reader;

static __attribute__((noinline)) size_t merge(void)
{
	const struct perf_event_header *h;
	size_t sum = 0;

	while ((h = libtally_reader_next(reader)))
		sum += h->size;
	return sum;
}

/* Keeps in @best the shortest time of @op, which must return @bytes. */
static void shortest(unsigned long long *best, size_t (*op)(void), size_t bytes)
{
	unsigned long long t = now_ns();
	size_t seen = op();

	t = now_ns() - t;
	if (seen != bytes)
		die("%zu bytes were seen, not %zu", seen, bytes);
	if (t < *best)
		*best = t;
}

/* Prints a figure without the cost of reading the clock. */
static void figure(const char *what, const char *name, unsigned long long best, size_t nr)
{
	unsigned long long empty = ~0ULL;
	int i;

	for (i = 0; i < ROUNDS; i++)
		shortest(&empty, nothing, 0);
	printf("# figure lib %s_%s %llu\n", what, name, (best - empty) * 10 / nr);
}

static FRAMED void one_ring(const char *name)
{
	static const struct {
		const char *name;
		size_t (*op)(void);
	} ops[] = {
		{ "walk", walk }, { "copy", copy }, { "parse", parse },
		/* drain comes last, because it empties the ring. */
		{ "drain", drain },
	};
	enum { NR_OPS = sizeof(ops) / sizeof(*ops) };
	unsigned long long best[NR_OPS];
	size_t nr, size;
	unsigned int i;
	int round;

	memset(best, 0xff, sizeof(best));
	open_rings(1);
	libtally_format_init(&format, &attr);
	fill_rings(1);
	nr = room_of_ring(&size);
	for (round = 0; round < ROUNDS; round++) {
		fill_rings(nr);
		flatten(&rings[0], nr, size);
		for (i = 0; i < NR_OPS; i++)
			shortest(&best[i], ops[i].op, nr * size);
		if (bytes_in(&rings[0]))
			die("the ring is not empty");
	}
	printf("# %s: %zu records of %zu bytes\n", name, nr, size);
	for (i = 0; i < NR_OPS; i++)
		figure(ops[i].name, name, best[i], nr);
	close_rings();
}

static FRAMED void many_rings(int many)
{
	unsigned long long best = ~0ULL;
	__u64 id[MOST];
	size_t nr, size;
	char name[8];
	int i, round;

	open_rings(many);
	fill_rings(1);
	nr = room_of_ring(&size);
	reader = libtally_reader_new();
	for (i = 0; i < many; i++) {
		while (libtally_ring_next(&rings[i]))
			;
		if (ioctl(rings[i].fd, PERF_EVENT_IOC_ID, &id[i]))
			die("ioctl: %m");
	}
	if (libtally_events_add(libtally_reader_events(reader), &attr, id, many, NULL) < 0)
		die("libtally_events_add");
	for (i = 0; i < many; i++)
		if (libtally_reader_add(reader, &rings[i]) < 0)
			die("libtally_reader_add");
	for (round = 0; round < ROUNDS; round++) {
		fill_rings(nr);
		shortest(&best, merge, many * nr * size);
		for (i = 0; i < many; i++)
			if (bytes_in(&rings[i]))
				die("ring %d is not empty", i);
	}
	if (libtally_reader_late(reader))
		die("the reader's records are not by time");
	snprintf(name, sizeof(name), "%d", many);
	figure("merge", name, best, many * nr);
	libtally_reader_free(reader);
	close_rings();
}

FRAMED int main(void)
{
	page_size = sysconf(_SC_PAGESIZE);
	/* A page for each of the smallest records, of 16 bytes. */
	area_size = PAGES * page_size / 16 * page_size;
	area = mmap(NULL, area_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || madvise(area, area_size, MADV_NOHUGEPAGE))
		die("no area: %m");
	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	attr.sample_period = 1;
	attr.disabled = 1;

	attr.sample_type = PERF_SAMPLE_IP;
	one_ring("ip");
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	one_ring("callchain");
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	one_ring("five");
	many_rings(1);
	many_rings(MOST);
	return 0;
}
