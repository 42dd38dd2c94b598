// SPDX-License-Identifier: GPL-2.0
/*
 * bench_ring FILE [pmi]: the cost of an overflow that writes a record, for files of perf and of
 * tally; of one whose file has no ring; and of one with an event whose handler does
 * nothing. The last one is made by FILE, "bare" of tests/modules/bench/bare.c. Costs are
 * tenths of an instruction, with icount, and include the trap:
 *
 *	# figure ring perf_ip 1234
 *
 * The trap is a write to a watched word where breakpoints can call a handler of the
 * kernel (x86). Elsewhere it is a read of a missing page, for which the kernel maps the
 * zero page and allocates nothing. Each round is checked for a sample of each trap.
 *
 * With "pmi", instructions overflow in a loop, by interrupts of the PMU; its figures are called
 * pmi_ring, and are without the loop.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <linux/hw_breakpoint.h>
#include "bench.h"

#define ROUNDS	30
#define CALLS	64
#define PAGES	16 /* of a ring; those of a round are less than half of it */

#define PERIOD	200000 /* instructions: 5,000 overflows a second, of which tally stops none */

static const char *bare_path;
static bool pmi;

/* ---- the trap ---- */

static struct perf_event_attr attr = {
	.size = sizeof(attr),
	.sample_period = 1,
};

#if defined(__x86_64__)
static volatile uint64_t word;

static void trap_setup(void)
{
	if (pmi) {
		attr.type = PERF_TYPE_HARDWARE;
		attr.config = PERF_COUNT_HW_INSTRUCTIONS;
		attr.sample_period = PERIOD;
		attr.exclude_kernel = 1;
		return;
	}
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.bp_type = HW_BREAKPOINT_W;
	attr.bp_addr = (uintptr_t)&word;
	attr.bp_len = sizeof(word);
}

static void trap_rearm(void)
{
}

static inline void trap(int i)
{
	unsigned long turns = PERIOD / 2;

	if (pmi)
		asm volatile("1:	dec	%0\n"
			     "		jnz	1b\n" : "+r" (turns) : : "cc");
	else
		word = i;
}
#else
static void trap_setup(void)
{
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	area = new_area(CALLS);
}

static void trap_rearm(void)
{
	madvise(area, CALLS * page_size, MADV_DONTNEED);
}

static inline void trap(int i)
{
	*(volatile char *)&area[i * page_size];
}
#endif

/* Returns the nanoseconds of CALLS traps, below @depth frames for call chains. */
FRAMED unsigned long long traps(int depth)
{
	unsigned long long t;
	int i;

	if (depth) {
		t = traps(depth - 1);
		asm volatile(""); /* not a jump */
		return t;
	}
	t = now_ns();
	for (i = 0; i < CALLS; i++)
		trap(i);
	return now_ns() - t;
}

/* ---- who counts them ---- */

static int open_bare(void)
{
	int fd = open(bare_path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || write(fd, &attr, sizeof(attr)) != sizeof(attr))
		die("%s: %m", bare_path);
	return fd;
}

static int open_perf(void)
{
	struct tally_open r = request(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return must_open(PERF, &r);
}

static int open_tally(void)
{
	struct tally_open r = request(&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return must_open(TALLY, &r);
}

/* ---- the ring ---- */

static struct perf_event_mmap_page *page;

/* Checks the @traps newest samples. The others were checked before. */
static void look_through(uint64_t before, int traps)
{
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = attr.write_backward ? head : before;
	uint64_t end = attr.write_backward ? before : head;
	const struct perf_event_header *h;
	int nr = 0;

	for (; at != end; at += h->size, nr++) {
		h = (void *)((char *)page + page_size + (at & (PAGES * page_size - 1)));
		if (h->type != PERF_RECORD_SAMPLE || h->size < sizeof(*h) || end - at < h->size)
			die("a record of type %u, of %u bytes", h->type, h->size);
	}
	if (nr != traps)
		die("%d samples, not %d", nr, traps);
	if (!attr.write_backward)
		__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

static uint64_t count_of(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		die("read: %m");
	return count;
}

/* Returns the overflows since a count. The instructions around the loops may make one more. */
static int overflows_since(int fd, uint64_t before)
{
	uint64_t period = attr.sample_period, traps = count_of(fd) / period - before / period;

	if (traps != CALLS && (!pmi || traps != CALLS + 1))
		die("%llu traps, not %d", (unsigned long long)traps, CALLS);
	return traps;
}

/* The time of the traps' own instructions, which is no part of the cost of an overflow. */
static unsigned long long base;

/* Puts the cost of an overflow, in tenths, into @best if it is smaller. */
static void one_round(int fd, unsigned long long *best)
{
	uint64_t head = page ? page->data_head : 0, before;
	unsigned long long t;
	int nr;

	trap_rearm();
	before = count_of(fd);
	t = traps(FRAMES);
	if (t < base)
		die("%llu ns with overflows, and %llu without", t, base);
	t -= base;
	nr = overflows_since(fd, before);
	if (page)
		look_through(head, nr);
	t = t * 10 / nr;
	if (t < *best)
		*best = t;
}

enum ring_kind { NO_RING, RING, OVERWRITE };

static void measure(const char *whose, const char *name, int (*open_it)(void), enum ring_kind ring)
{
	int i, fd, prot = ring == OVERWRITE ? PROT_READ : PROT_READ | PROT_WRITE;
	unsigned long long best = ~0ULL;

	attr.write_backward = ring == OVERWRITE;
	fd = open_it();
	page = NULL;
	if (ring) {
		page = map_pages(fd, 1 + PAGES, prot, 0);
		if (page == MAP_FAILED)
			die("%s %s: no ring: %m", whose, name);
	}
	for (i = 0; i < (pmi ? 3 : ROUNDS); i++)
		one_round(fd, &best);
	printf("# figure %s %s%s%s %llu\n", pmi ? "pmi_ring" : "ring", whose, *name ? "_" : "",
	       name, best);
	if (page)
		munmap(page, (1 + PAGES) * page_size);
	close(fd);
}

static void both(const char *name, enum ring_kind ring)
{
	measure("perf", name, open_perf, ring);
	measure("tally", name, open_tally, ring);
}

/*
 * Values that a reader may write to data_tail, or all over the page, before each trap.
 * An honest reader keeps up with the writer. The dearest of the others is printed.
 */
enum tails { HONEST, AHEAD, BEHIND, NO_TAIL, ALL_ONES, SIGN, EACH_OTHER, ALL_OVER, TAILS };

static void put_tail(enum tails tail, uint64_t head, int i)
{
	volatile uint64_t *at = (volatile uint64_t *)&page->data_tail;
	static const uint64_t beyond = PAGES * 4096 * 3ULL + 5;

	switch (tail) {
	case HONEST:
		*at = head;
		break;
	case AHEAD:
		*at = head + 1 + i;
		break;
	case BEHIND:
		*at = head - beyond;
		break;
	case NO_TAIL:
		*at = 0;
		break;
	case ALL_ONES:
		*at = ~0ULL;
		break;
	case SIGN:
		*at = head ^ 1ULL << 63;
		break;
	case EACH_OTHER: /* every other record is lost, and the next one reports it */
		*at = i & 1 ? head : head - beyond;
		break;
	default:
		memset(page, 0x5a + i, page_size);
		*at = head;
	}
}

static unsigned long long tails_round(int fd, enum tails tail)
{
	unsigned long long t, sum = 0;
	uint64_t head = 0, before;
	int i;

	trap_rearm();
	page->data_head = 0;
	before = count_of(fd);
	for (i = 0; i < CALLS; i++) {
		/* ALL_OVER overwrites data_head, so it is read only once. */
		if (tail != ALL_OVER || !i)
			head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
		put_tail(tail, head, i);
		t = now_ns();
		trap(i);
		sum += now_ns() - t;
	}
	overflows_since(fd, before);
	return sum;
}

static void tails(void)
{
	unsigned long long best, t, worst = 0;
	int i, fd = open_tally();
	enum tails tail;

	page = map_pages(fd, 1 + PAGES, PROT_READ | PROT_WRITE, 0);
	if (page == MAP_FAILED)
		die("no ring: %m");
	for (tail = HONEST; tail < TAILS; tail++) {
		for (i = 0, best = ~0ULL; i < ROUNDS; i++) {
			t = tails_round(fd, tail);
			if (t < best)
				best = t;
		}
		if (tail == HONEST)
			printf("# figure ring tally_tail_honest %llu\n", best * 10 / CALLS);
		else if (best > worst)
			worst = best;
		printf("# tail %d: %llu\n", tail, best * 10 / CALLS);
	}
	printf("# figure ring tally_tail_worst %llu\n", worst * 10 / CALLS);
	munmap(page, (1 + PAGES) * page_size);
	page = NULL;
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint64_t type;
	} kinds[] = {
		{ "ip", PERF_SAMPLE_IP },
		{ "tid", PERF_SAMPLE_TID },
		{ "time", PERF_SAMPLE_TIME },
		{ "cpu", PERF_SAMPLE_CPU },
		{ "period", PERF_SAMPLE_PERIOD },
	};
	unsigned int i;

	pmi = argc == 3 && !strcmp(argv[2], "pmi");
	if (argc != 2 && !pmi) {
		fprintf(stderr, "usage: bench_ring FILE [pmi]\n");
		return 2;
	}
	bare_path = argv[1];
	page_size = getpagesize();
	need_device();
	trap_setup();
	/* The first round takes the page faults that are no trap. */
	trap_rearm();
	traps(FRAMES);
	if (pmi) {
		base = traps(FRAMES);
		for (i = 0; i < 2; i++) {
			unsigned long long t = traps(FRAMES);

			base = t < base ? t : base;
		}
	}
	measure("bare", "", open_bare, NO_RING);
	/* Each kind has the fields of the kinds before it, too. */
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		attr.sample_type |= kinds[i].type;
		if (!pmi || !i || i + 1 == sizeof(kinds) / sizeof(*kinds))
			both(kinds[i].name, RING);
	}
	if (!pmi) {
		both("overwrite", OVERWRITE);
		both("no_ring", NO_RING);
		tails();
	}
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	both("callchain", RING);
	return 0;
}
