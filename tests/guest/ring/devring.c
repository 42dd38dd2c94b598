// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: their records, compared with perf's of the same overflows, and mappings that
 * are refused.
 *
 *	devring same|regs|lost|overwrite|errors|inherit|switching|throttle
 */
#define _GNU_SOURCE
#include "devring.h"

/* ---- what is in samples ---- */

static void same_faults(uint64_t type, const char *what)
{
	faults(type);
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	fault_both(20);
	compare(what, 20);
	neither();
}

static void rename_ten(void)
{
	int i;

	for (i = 0; i < 10; i++)
		rename_to(i);
}

static void same_tracepoint(uint64_t type, const char *what)
{
	faults(type);
	of_renames();
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	switch_both(1);
	rename_ten();
	switch_both(0);
	compare(what, 10);
	neither();
}

#if defined(__x86_64__) || defined(__i386__)
static volatile uint64_t word;

static __attribute__((noinline)) void write_word(void)
{
	int i;

	for (i = 0; i < 10; i++)
		word = i;
}

/*
 * perf and tally take turns: QEMU reports only one of two breakpoints at an address. The
 * program stays on a CPU, whose number is in the records.
 */
static void same_breakpoint(uint64_t type, const char *what)
{
	cpu_set_t all;
	int i;

	sched_getaffinity(0, sizeof(all), &all);
	run_on(0);
	faults(type);
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.config = 0;
	attr.bp_type = 2;
	attr.bp_addr = (unsigned long)&word;
	attr.bp_len = 8;
	attr.exclude_kernel = 1;
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	for (i = 0; i < 2; i++) {
		ioctl(i ? tally_ring.fd : perf_ring.fd, PERF_EVENT_IOC_ENABLE, 0);
		write_word();
		ioctl(i ? tally_ring.fd : perf_ring.fd, PERF_EVENT_IOC_DISABLE, 0);
	}
	compare(what, 10);
	neither();
	sched_setaffinity(0, sizeof(all), &all);
}
#endif

#define ALL_WORDS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
		   PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |		\
		   PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_WEIGHT |	\
		   PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION)

static void same(void)
{
	uint64_t bit;
	char what[64];

	for (bit = 1; bit < PERF_SAMPLE_MAX; bit <<= 1) {
		if (!(bit & ALL_WORDS))
			continue;
		snprintf(what, sizeof(what), "sample_type %#llx", (unsigned long long)bit);
		same_faults(bit, what);
	}
	same_faults(0, "no field");
	same_faults(ALL_WORDS, "all fields that are words");
	same_faults(PERF_SAMPLE_IP | PERF_SAMPLE_WEIGHT_STRUCT, "a weight in parts");
	same_faults(PERF_SAMPLE_PHYS_ADDR, "physical addresses");
	same_faults(PERF_SAMPLE_CGROUP, "the cgroup");
	same_faults(PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE |
		    PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_ADDR, "sizes of pages");
	same_faults(PERF_SAMPLE_CALLCHAIN, "call chains");
	same_tracepoint(PERF_SAMPLE_RAW, "raw data");
	same_tracepoint(PERF_SAMPLE_RAW | ALL_WORDS | PERF_SAMPLE_CALLCHAIN,
			"raw data, call chains and words of a tracepoint");
	need_renames();
#if defined(__x86_64__) || defined(__i386__)
	same_breakpoint(ALL_WORDS, "words of a breakpoint");
	same_breakpoint(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN, "call chains of a breakpoint");
#endif
}

/* Faults with more than 16 KB of stack in use. */
static __attribute__((noinline)) void touch_deep(int pages)
{
	volatile char room[16384];
	unsigned int i;

	for (i = 0; i < sizeof(room); i++)
		room[i] = i;
	touch(pages);
	room[1] = room[0];
}

static void regs_of(uint64_t type, unsigned int stack, const char *what)
{
	faults(type);
	attr.sample_regs_user = SOME_REGS;
	attr.sample_regs_intr = SOME_REGS;
	attr.sample_stack_user = stack;
	if (both(64, PROT_READ | PROT_WRITE))
		return;
	begin_both();
	touch_deep(5);
	switch_both(0);
	compare(what, 5);
	neither();
}

/*
 * The sample asks for more stack than there is. perf copies the stack in pieces, by the
 * pages of its ring, and each piece may end some bytes early.
 */
static void whole_stack(void)
{
	struct perf_event_header *p, *t;
	uint64_t *a, *b, got[2], size;

	faults(PERF_SAMPLE_STACK_USER);
	attr.sample_stack_user = 32768;
	if (both(64, PROT_READ | PROT_WRITE))
		return;
	fault_both(1);
	p = next(&perf_ring);
	t = next(&tally_ring);
	if (p && t) {
		a = (uint64_t *)(p + 1);
		b = (uint64_t *)(t + 1);
		size = a[0];
		got[0] = a[size / 8 + 1];
		got[1] = b[size / 8 + 1];
		tell(b[0] == size && size == 32768 && got[1] >= got[0] && got[1] <= got[0] + 64 &&
		     got[1] < size && !memcmp(a + 1, b + 1, got[0]),
		     "all of the stack: %llu bytes, perf %llu", (unsigned long long)got[1],
		     (unsigned long long)got[0]);
	} else {
		tell(0, "no record of all of the stack");
	}
	neither();
}

static void regs(void)
{
	regs_of(PERF_SAMPLE_REGS_USER, 0, "registers of the program");
	regs_of(PERF_SAMPLE_REGS_INTR, 0, "registers");
	regs_of(PERF_SAMPLE_STACK_USER, 512, "512 bytes of the stack");
	regs_of(PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_CALLCHAIN |
		PERF_SAMPLE_IP, 2048, "registers, stack and call chain");
	whole_stack();
	regs_of(PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR |
		PERF_SAMPLE_IP | PERF_SAMPLE_TIME, 1024, "all of them");
}

/* ---- rings that are full ---- */

static void lost(void)
{
	uint64_t told[2] = { 0 }, words_read[2][2];
	int seen[2];

	faults(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	attr.read_format = PERF_FORMAT_LOST;
	if (both(1, PROT_READ | PROT_WRITE))
		return;
	fault_both(500);
	/* The next record that finds room reports the lost ones. */
	seen[0] = count_samples(&perf_ring, &told[0]);
	seen[1] = count_samples(&tally_ring, &told[1]);
	tell(seen[0] == seen[1] && seen[1] < 500 && !told[1],
	     "%d samples fit into a page, %d into perf's", seen[1], seen[0]);
	done(&perf_ring);
	done(&tally_ring);
	switch_both(1);
	touch(3);
	switch_both(0);
	compare("after some were lost", 4);
	perf_ring.tail = perf_ring.page->data_head;
	if (read(perf_ring.fd, words_read[0], 16) != 16 ||
	    read(tally_ring.fd, words_read[1], 16) != 16)
		tell(0, "read: %m");
	tell(words_read[0][1] == words_read[1][1] && words_read[1][1] == 500u - seen[1],
	     "PERF_FORMAT_LOST: %llu, perf's %llu", (unsigned long long)words_read[1][1],
	     (unsigned long long)words_read[0][1]);
	tell(words_read[1][0] == 503, "%llu were produced", (unsigned long long)words_read[1][0]);
	neither();
}

/* Checks the records from the newest to the oldest; returns how many are whole. */
static int check_backward(struct ring *r, int made)
{
	struct perf_event_header *h;
	uint64_t at = r->page->data_head, end = at + r->size;
	uint64_t addr, last = 0;
	int nr = 0;

	while (at < end) {
		h = copy_record(r, at, end);
		if (!h || h->size < 24)
			break;
		addr = ((uint64_t *)(h + 1))[1];
		if (h->type != PERF_RECORD_SAMPLE || (last && addr != last - page_size)) {
			tell(0, "record %d from the end: type %u, address %llx after %llx", nr,
			     h->type, (unsigned long long)addr, (unsigned long long)last);
			return -1;
		}
		if (!nr && addr != (unsigned long)(area + (made - 1) * page_size))
			return -1;
		last = addr;
		at += h->size;
		nr++;
	}
	return nr;
}

static void overwrite(void)
{
	int nr[2];

	faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
	attr.write_backward = 1;
	if (both(1, PROT_READ))
		return;
	begin_both();
	touch(500);
	pause_both(1);
	switch_both(0);
	nr[0] = check_backward(&perf_ring, 500);
	nr[1] = check_backward(&tally_ring, 500);
	tell(nr[0] == nr[1] && nr[1] == page_size / 24,
	     "backward: the newest %d of 500 are there, perf %d", nr[1], nr[0]);
	neither();
	/* A forward ring that is overwritten has the same bytes as perf's. */
	faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
	if (both(1, PROT_READ))
		return;
	fault_both(500);
	tell(perf_ring.page->data_head == tally_ring.page->data_head &&
	     tally_ring.page->data_head == 500 * 24,
	     "forward: data_head is %llu, perf's %llu",
	     (unsigned long long)tally_ring.page->data_head,
	     (unsigned long long)perf_ring.page->data_head);
	tell(!memcmp(perf_ring.base + page_size, tally_ring.base + page_size, page_size),
	     "and all bytes are the same");
	neither();
}

/* ---- what is refused ---- */

static const char *mapped(int fd, unsigned long len, int prot, int flags, uint64_t at)
{
	void *p = mmap64(NULL, len, prot, flags, fd, at);

	if (p == MAP_FAILED)
		return strerrorname_np(errno);
	munmap(p, len);
	return "OK";
}

static void mapped_alike(unsigned long pages, int prot, int flags, uint64_t at)
{
	const char *p, *t;

	p = mapped(perf_ring.fd, pages * page_size, prot, flags, at);
	t = mapped(tally_ring.fd, pages * page_size, prot, flags, at);
	tell(!strcmp(p, t), "%lu pages, prot %d, flags %d, offset %#llx: %s, perf %s", pages, prot,
	     flags, (unsigned long long)at, t, p);
}

static void opened_alike(const char *what)
{
	int p = open_errno(PERF), t = open_errno(TALLY);

	tell(p == t, "%s: %s, perf %s", what, errno_name(t), errno_name(p));
}

static void errors(void)
{
	static const unsigned long pages[] = { 2, 3, 4, 5, 6, 7, 9, 17, 33 };
	unsigned int i;

	faults(PERF_SAMPLE_IP);
	open_both();
	for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		mapped_alike(pages[i], PROT_READ | PROT_WRITE, MAP_SHARED, 0);
		mapped_alike(pages[i], PROT_READ, MAP_SHARED, 0);
	}
	mapped_alike(2, PROT_READ, MAP_PRIVATE, 0);
	mapped_alike(2, PROT_READ, MAP_SHARED, page_size);
	mapped_alike(1, PROT_READ, MAP_SHARED, page_size);
	expect(ioctl(tally_ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), EINVAL, "pause of no ring");
	neither();

	faults(PERF_SAMPLE_IP);
	attr.inherit = 1;
	open_both();
	mapped_alike(2, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	neither();

	faults(PERF_SAMPLE_REGS_USER);
	opened_alike("no registers");
	attr.sample_regs_user = 1ULL << 62;
	opened_alike("a register that there is not");
	faults(PERF_SAMPLE_REGS_INTR);
	opened_alike("no registers at the interrupt");
	faults(PERF_SAMPLE_STACK_USER);
	attr.sample_stack_user = 12;
	opened_alike("12 bytes of the stack");
	attr.sample_stack_user = 65535;
	opened_alike("65,535 bytes of the stack");
	attr.sample_stack_user = 65528;
	opened_alike("65,528 bytes of the stack");
	faults(PERF_SAMPLE_CALLCHAIN);
	attr.sample_max_stack = 128;
	opened_alike("a call chain of 128");
	attr.sample_max_stack = 127;
	opened_alike("a call chain of 127");
	faults(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT);
	opened_alike("both weights");
	faults(PERF_SAMPLE_TIME);
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	opened_alike("CLOCK_MONOTONIC");
	attr.clockid = 1234;
	opened_alike("no clock");
	attr.clockid = CLOCK_PROCESS_CPUTIME_ID;
	opened_alike("a clock of a process");
	faults(PERF_SAMPLE_TIME);
	attr.sample_period = 0;
	opened_alike("samples of an event that counts");
	faults(PERF_SAMPLE_BRANCH_STACK);
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	opened_alike("branches of software");
}

/* ---- children ---- */

static void inherit(void)
{
	int nr = 0, others = 0;
	struct perf_event_header *h;
	uint32_t pid;
	pid_t child;

	run_on(0);
	faults(PERF_SAMPLE_TID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_ID);
	attr.inherit = 1;
	o.cpu = 0;
	if (both(64, PROT_READ | PROT_WRITE))
		return;
	switch_both(1);
	child = touch_in_child(20);
	switch_both(0);
	while ((h = next(&tally_ring))) {
		pid = *(uint32_t *)(h + 1);
		nr += pid == (uint32_t)child;
		others += pid != (uint32_t)child && pid != (uint32_t)getpid();
	}
	tell(nr >= 20 && !others, "a child writes to its parent's ring: %d", nr);
	neither();
}

/*
 * Runs for half a second, or longer if there is no sample then: the guest may have had no time
 * of its own. Returns how often the event was throttled.
 */
static uint64_t throttled(struct ring *r, const char *whose)
{
	uint64_t begins = 0, ends = 0, samples = 0;
	struct perf_event_header *h;
	uint64_t end;
	int good = 1;

	ioctl(r->fd, PERF_EVENT_IOC_ENABLE, 0);
	end = now_ns() + 60000000000ULL;
	spin(CLOCK_MONOTONIC, 500);
	while (!r->page->data_head && now_ns() < end)
		;
	ioctl(r->fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = next(r))) {
		samples += h->type == PERF_RECORD_SAMPLE;
		if (h->type != PERF_RECORD_THROTTLE && h->type != PERF_RECORD_UNTHROTTLE)
			continue;
		begins += h->type == PERF_RECORD_THROTTLE;
		ends += h->type == PERF_RECORD_UNTHROTTLE;
		good &= h->size == 8 + 24 + 8 && ((uint64_t *)(h + 1))[1] == r->id;
		good &= begins == ends || begins == ends + 1;
	}
	tell(good && samples, "%s: %llu samples, throttled %llu times, and %llu times no more",
	     whose, (unsigned long long)samples, (unsigned long long)begins,
	     (unsigned long long)ends);
	return begins;
}

/* perf writes PERF_RECORD_THROTTLE in the overflow in which it stops an event. */
static void throttle(void)
{
	uint64_t perfs = 0, tallys = 0;
	int i;

	run_on(0);
	usual();
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	attr.sample_period = 1000;
	attr.sample_type = PERF_SAMPLE_TIME;
	attr.sample_id_all = 1;
	attr.disabled = 1;
	/* A guest gets more or less CPU time in half a second, so this takes turns. */
	for (i = 0; (i < 5 && !(perfs && tallys)) || (i < 60 && !perfs != !tallys); i++) {
		if (both(2048, PROT_READ | PROT_WRITE))
			return;
		perfs += throttled(&perf_ring, "perf");
		tallys += throttled(&tally_ring, "tally");
		neither();
	}
	tell(!perfs == !tallys, "both are throttled, or none");
}

/*
 * While the CPU switches from a kernel thread to a task, the thread has already returned
 * the page tables that it borrowed. They must not be walked for the size of a page.
 */
static void switching(void)
{
	struct perf_event_header *h;
	int fd, i, nr = 0;

	faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_CODE_PAGE_SIZE |
	       PERF_SAMPLE_DATA_PAGE_SIZE);
	attr.type = type_of("kprobe");
	attr.config = 0;
	attr.config2 = address_of("__switch_to");
	o.pid = -1;
	o.cpu = 0;
	fd = open_it();
	if (fd < 0 || map_ring(&tally_ring, fd, 64, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "a probe of __switch_to: %m: %s", why.text);
		return;
	}
	run_on(0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < 50; i++)
		switch_out();
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while ((h = next(&tally_ring)))
		nr += h->type == PERF_RECORD_SAMPLE && h->size == 5 * sizeof(uint64_t);
	tell(nr >= 50, "%d samples with sizes of pages, of tasks that are switched", nr);
	unmap_ring(&tally_ring);
}

static const struct devtest tests[] = {
	{ "same", .run = same },
	{ "regs", .run = regs },
	{ "lost", .run = lost },
	{ "overwrite", .run = overwrite },
	{ "errors", .run = errors },
	{ "inherit", .run = inherit },
	{ "switching", .run = switching },
	{ "throttle", .run = throttle },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
