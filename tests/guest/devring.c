// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: what is in them, beside those of perf for the same overflows, and what a
 * program can do to them.
 *
 *	devring same|lost|overwrite|wakeup|errors|percpu|members|memory|mappings|outputs|inherit|
 *		reads|changes|interrupts
 */
#define _GNU_SOURCE
#include "devtest.h"
#include <setjmp.h>
#include <sys/resource.h>

#define LARGEST 65536

struct ring {
	int fd;
	char *base;
	unsigned long size;
	volatile struct perf_event_mmap_page *page;
	uint64_t id;
	uint64_t tail;
	/* One record, in one piece. */
	uint64_t record[LARGEST / 8];
};

static struct ring perf_ring, tally_ring, third_ring;

static int perf_open(int group)
{
	return syscall(SYS_perf_event_open, &attr, o.pid, o.cpu, group,
		       PERF_FLAG_FD_CLOEXEC);
}

static void *map_at(int fd, int pages, int prot, uint64_t at)
{
	return mmap64(NULL, (1 + pages) * page_size, prot, MAP_SHARED, fd, at);
}

static int map_ring(struct ring *r, int fd, int pages, int prot, uint64_t at)
{
	memset(r, 0, sizeof(*r));
	r->fd = fd;
	r->size = pages * page_size;
	r->base = map_at(fd, pages, prot, at);
	if (r->base == MAP_FAILED) {
		r->base = NULL;
		return -1;
	}
	r->page = (void *)r->base;
	return ioctl(fd, PERF_EVENT_IOC_ID, &r->id);
}

static void unmap_ring(struct ring *r)
{
	if (r->base)
		munmap(r->base, page_size + r->size);
	if (r->fd >= 0)
		close(r->fd);
	r->base = NULL;
	r->fd = -1;
}

static void copy_out(struct ring *r, uint64_t at, void *to, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		((char *)to)[i] = r->base[page_size + ((at + i) & (r->size - 1))];
}

/* The next record of a forward ring; NULL if there is none. */
static struct perf_event_header *next(struct ring *r)
{
	struct perf_event_header *h = (void *)r->record;
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);

	if (r->tail == head)
		return NULL;
	copy_out(r, r->tail, h, sizeof(*h));
	if (h->size < sizeof(*h) || h->size & 7 || r->tail + h->size > head) {
		tell(0, "a record of %u bytes, with %llu left", h->size,
		     (unsigned long long)(head - r->tail));
		r->tail = head;
		return NULL;
	}
	copy_out(r, r->tail, h, h->size);
	r->tail += h->size;
	return h;
}

static void done(struct ring *r)
{
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}

/* Both with the same attr, of the caller. */
static int both(int pages, int prot)
{
	int fd = perf_open(-1);

	if (fd < 0 || map_ring(&perf_ring, fd, pages, prot, 0)) {
		tell(0, "perf's: %m");
		return -1;
	}
	fd = open_it();
	if (fd < 0 || map_ring(&tally_ring, fd, pages, prot, 0)) {
		tell(0, "tally's: %m: %s", o.error.text);
		unmap_ring(&perf_ring);
		return -1;
	}
	return 0;
}

static void neither(void)
{
	unmap_ring(&perf_ring);
	unmap_ring(&tally_ring);
}

/* Tally's last, and off first, so that perf's sees what it sees, and maybe more. */
static void switch_both(int on)
{
	int cmd = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	if (on) {
		ioctl(perf_ring.fd, cmd, 0);
		ioctl(tally_ring.fd, cmd, 0);
	} else {
		ioctl(tally_ring.fd, cmd, 0);
		ioctl(perf_ring.fd, cmd, 0);
	}
}

/* An id is to be the event's; a time is to be later than the last one. */
static int own_id(uint64_t *word, const struct ring *r)
{
	int good = *word == r->id;

	*word = 0;
	return good;
}

static int later(uint64_t *word, uint64_t *last)
{
	int good = *word >= *last && *word;

	*last = *word;
	*word = 0;
	return good;
}

static int drop_words(uint64_t **at, uint64_t type, const struct ring *r, uint64_t *last)
{
	static const struct {
		uint64_t bit;
		int what; /* 1 an id, 2 a time */
	} head[] = {
		{ PERF_SAMPLE_IDENTIFIER, 1 }, { PERF_SAMPLE_IP, 0 }, { PERF_SAMPLE_TID, 0 },
		{ PERF_SAMPLE_TIME, 2 }, { PERF_SAMPLE_ADDR, 0 }, { PERF_SAMPLE_ID, 1 },
		{ PERF_SAMPLE_STREAM_ID, 1 },
	};
	unsigned int i;
	int good = 1;

	for (i = 0; i < sizeof(head) / sizeof(head[0]); i++) {
		if (!(type & head[i].bit))
			continue;
		if (head[i].what == 1)
			good &= own_id(*at, r);
		else if (head[i].what == 2)
			good &= later(*at, last);
		(*at)++;
	}
	return good;
}

static uint64_t words(uint64_t bits)
{
	return __builtin_popcountll(bits);
}

#define TRAILER (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
		 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* Takes out what cannot be the same; whether that is as it should be. */
static int plain(struct perf_event_header *h, const struct ring *r, uint64_t *last)
{
	uint64_t type = attr.sample_type, *at = (uint64_t *)(h + 1);
	uint64_t *end = (uint64_t *)((char *)h + h->size);
	int good = 1;

	if (h->type == PERF_RECORD_SAMPLE)
		return drop_words(&at, type, r, last);
	if (h->type == PERF_RECORD_LOST)
		good &= own_id(at, r);
	if (!attr.sample_id_all)
		return good;
	/* TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER */
	at = end - words(type & TRAILER);
	good &= drop_words(&at, type & TRAILER & ~(uint64_t)PERF_SAMPLE_IDENTIFIER, r, last);
	if (type & PERF_SAMPLE_IDENTIFIER)
		good &= own_id(end - 1, r);
	return good;
}

static void show(const char *whose, const struct perf_event_header *h, int from)
{
	const uint64_t *at = (const uint64_t *)h;
	int i;

	printf("# %s from word %d on:", whose, from);
	for (i = from; i < h->size / 8 && i < from + 40; i++)
		printf(" %llx", (unsigned long long)at[i]);
	printf("\n");
}

/* The first word that does. */
static int differs(const struct perf_event_header *a, const struct perf_event_header *b)
{
	const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;
	int i = 0;

	while (i < a->size / 8 - 1 && x[i] == y[i])
		i++;
	return i;
}

/* Whether both rings have the same records; how many. */
static int compare(const char *what, int at_least)
{
	struct perf_event_header *p, *t;
	uint64_t perf_last = 0, tally_last = 0;
	int nr = 0, good = 1, i;

	for (;; nr++) {
		p = next(&perf_ring);
		t = next(&tally_ring);
		if (!p || !t)
			break;
		good &= plain(p, &perf_ring, &perf_last);
		good &= plain(t, &tally_ring, &tally_last);
		if (p->size == t->size && !memcmp(p, t, p->size))
			continue;
		i = differs(p, t);
		show("perf ", p, i);
		show("tally", t, i);
		good = 0;
		break;
	}
	if (p || t)
		good = 0;
	tell(good && nr >= at_least, "%s: %d records are the same%s", what, nr, good ? "" :
	     p && t ? ", and then not" : p ? ", and then perf has more" :
	     t ? ", and then tally has more" : ", but for an id or time");
	done(&perf_ring);
	done(&tally_ring);
	return nr;
}

/* ---- what is in samples ---- */

/* Disabled, page faults of the caller, each one. */
static void faults(uint64_t type)
{
	usual();
	attr.sample_period = 1;
	attr.sample_type = type;
	attr.disabled = 1;
	attr.sample_id_all = 1;
	attr.wakeup_events = 1;
}

static void same_faults(uint64_t type, const char *what)
{
	faults(type);
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	switch_both(0);
	touch(1);
	switch_both(1);
	touch(20);
	switch_both(0);
	compare(what, 20);
	neither();
}

static int trace_id(const char *event)
{
	char path[128];
	FILE *f;
	int id = -1;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", event);
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%d", &id) != 1)
			id = -1;
		fclose(f);
	}
	return id;
}

static void same_tracepoint(uint64_t type, const char *what)
{
	char name[16];
	int i;

	faults(type);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = trace_id("task/task_rename");
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	switch_both(1);
	for (i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		prctl(PR_SET_NAME, name);
	}
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

/* One after the other: QEMU tells of one of two breakpoints at the same place. */
static void same_breakpoint(uint64_t type, const char *what)
{
	int i;

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
}
#endif

#define ALL_WORDS (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
		   PERF_SAMPLE_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |		\
		   PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_WEIGHT |	\
		   PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION)

#if defined(__x86_64__) || defined(__i386__)
/* ax to ip, flags, sp: all that both kinds of programs have. */
#define SOME_REGS 0x3ffULL
#else
#define SOME_REGS 0x1ffffffffULL
#endif

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
	if (trace_id("task/task_rename") < 0)
		tell(0, "there is no task_rename");
#if defined(__x86_64__) || defined(__i386__)
	same_breakpoint(ALL_WORDS, "words of a breakpoint");
	same_breakpoint(PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN, "call chains of a breakpoint");
#endif
}

/* The stack ends far away. */
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
	switch_both(0);
	touch(1);
	switch_both(1);
	touch_deep(5);
	switch_both(0);
	compare(what, 5);
	neither();
}

/*
 * As much as there is. perf copies it in as many pieces as its ring makes of it, and
 * each may end some bytes before it has to.
 */
static void whole_stack(void)
{
	struct perf_event_header *p, *t;
	uint64_t *a, *b, got[2], size;

	faults(PERF_SAMPLE_STACK_USER);
	attr.sample_stack_user = 32768;
	if (both(64, PROT_READ | PROT_WRITE))
		return;
	switch_both(0);
	touch(1);
	switch_both(1);
	touch(1);
	switch_both(0);
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

static int count_samples(struct ring *r, uint64_t *lost)
{
	struct perf_event_header *h;
	int nr = 0;

	while ((h = next(r))) {
		if (h->type == PERF_RECORD_SAMPLE)
			nr++;
		else if (h->type == PERF_RECORD_LOST && lost)
			*lost += ((uint64_t *)(h + 1))[1];
	}
	return nr;
}

static void lost(void)
{
	uint64_t told[2] = { 0 }, words_read[2][2];
	int seen[2];

	faults(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	attr.read_format = PERF_FORMAT_LOST;
	if (both(1, PROT_READ | PROT_WRITE))
		return;
	switch_both(0);
	touch(1);
	switch_both(1);
	touch(500);
	switch_both(0);
	/* What was lost is told with the next one that is not. */
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

/* The newest first, as many as there are whole. */
static int check_backward(struct ring *r, int made)
{
	struct perf_event_header *h = (void *)r->record;
	uint64_t at = r->page->data_head, end = at + r->size;
	uint64_t addr, last = 0;
	int nr = 0;

	while (at < end) {
		copy_out(r, at, h, sizeof(*h));
		if (h->size < 24 || h->size > end - at)
			break;
		copy_out(r, at, h, h->size);
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
	switch_both(0);
	touch(1);
	switch_both(1);
	touch(500);
	ioctl(perf_ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	ioctl(tally_ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	switch_both(0);
	nr[0] = check_backward(&perf_ring, 500);
	nr[1] = check_backward(&tally_ring, 500);
	tell(nr[0] == nr[1] && nr[1] == page_size / 24,
	     "backward: the newest %d of 500 are there, perf %d", nr[1], nr[0]);
	neither();
	/* Forward, and nobody reads: all is there, from any whole record on. */
	faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
	if (both(1, PROT_READ))
		return;
	switch_both(0);
	touch(1);
	switch_both(1);
	touch(500);
	switch_both(0);
	tell(perf_ring.page->data_head == tally_ring.page->data_head &&
	     tally_ring.page->data_head == 500 * 24,
	     "forward: data_head is %llu, perf's %llu",
	     (unsigned long long)tally_ring.page->data_head,
	     (unsigned long long)perf_ring.page->data_head);
	tell(!memcmp(perf_ring.base + page_size, tally_ring.base + page_size, page_size),
	     "and all bytes are the same");
	neither();
}

/* ---- wake-ups ---- */

static int polled(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 50) == 1 ? p.revents : 0;
}

static void wakes(const char *what, int after)
{
	int i, first[2] = { 0 };

	if (both(1, PROT_READ | PROT_WRITE))
		return;
	switch_both(0);
	touch(1);
	for (i = 1; i <= 2 * after && !(first[0] && first[1]); i++) {
		switch_both(1);
		touch(1);
		switch_both(0);
		if (polled(perf_ring.fd) && !first[0])
			first[0] = i;
		if (polled(tally_ring.fd) == POLLIN && !first[1])
			first[1] = i;
	}
	tell(first[0] == first[1] && first[1] == after, "%s: woken after %d samples, perf %d",
	     what, first[1], first[0]);
	tell(!polled(tally_ring.fd), "%s: and not again", what);
	neither();
}

static void wakeup(void)
{
	faults(PERF_SAMPLE_IP);
	wakes("wakeup_events 1", 1);
	faults(PERF_SAMPLE_IP);
	attr.wakeup_events = 7;
	wakes("wakeup_events 7", 7);
	faults(PERF_SAMPLE_IP);
	attr.watermark = 1;
	attr.wakeup_watermark = 1;
	wakes("a watermark of 1 byte", 1);
	faults(PERF_SAMPLE_IP);
	attr.watermark = 1;
	attr.wakeup_watermark = 100;
	wakes("a watermark of 100 bytes", 7);
	faults(PERF_SAMPLE_IP);
	attr.watermark = 1;
	attr.wakeup_watermark = 0;
	wakes("half of the ring", page_size / 2 / 16 + 1);
	faults(PERF_SAMPLE_IP);
	attr.wakeup_events = 0;
	wakes("no number: half of the ring", page_size / 2 / 16 + 1);
}

/* Somebody sleeps in poll() while the other one writes. */
static void sleeper(void)
{
	int fd, i, woken = 0;
	pid_t child;

	faults(PERF_SAMPLE_IP);
	attr.disabled = 0;
	child = fork();
	if (!child) {
		for (i = 0; i < 20; i++) {
			touch(1);
			wait_ms(20);
		}
		_exit(0);
	}
	o.pid = child;
	fd = open_it();
	if (fd < 0 || map_ring(&tally_ring, fd, 1, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "%m");
		return;
	}
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, 10000) != 1 || p.revents & POLLHUP)
			break;
		woken++;
		tally_ring.tail = tally_ring.page->data_head;
		done(&tally_ring);
	}
	tell(woken >= 10, "a sleeper was woken %d times, and then told that the task is gone",
	     woken);
	unmap_ring(&tally_ring);
	waitpid(child, NULL, 0);
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

static void open_both(void)
{
	memset(&perf_ring, 0, sizeof(perf_ring));
	memset(&tally_ring, 0, sizeof(tally_ring));
	perf_ring.fd = perf_open(-1);
	tally_ring.fd = open_it();
	if (perf_ring.fd < 0 || tally_ring.fd < 0)
		tell(0, "open: %m: %s", o.error.text);
}

static void opened_alike(const char *what)
{
	int p, t;

	p = perf_open(-1);
	p = p < 0 ? errno : (close(p), 0);
	t = open_it();
	t = t < 0 ? errno : (close(t), 0);
	tell(p == t, "%s: %s, perf %s", what, t ? strerrorname_np(t) : "OK",
	     p ? strerrorname_np(p) : "OK");
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

/* ---- filters ---- */

static int filter_errno(int fd, const char *text)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, text) ? errno : 0;
}

static void rename_ten(void)
{
	char name[16];
	int i;

	for (i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		prctl(PR_SET_NAME, name);
	}
}

/* What passes is counted, and is in the ring, as often as the period says. */
static void filtered(const char *text, uint64_t period, uint64_t type)
{
	uint64_t values[2];
	char what[128];
	int p, t;

	faults(type);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = trace_id("task/task_rename");
	attr.sample_period = period;
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	p = filter_errno(perf_ring.fd, text);
	t = filter_errno(tally_ring.fd, text);
	tell(p == t, "filter '%s': %s, perf %s", text, t ? strerrorname_np(t) : "OK",
	     p ? strerrorname_np(p) : "OK");
	switch_both(1);
	rename_ten();
	switch_both(0);
	snprintf(what, sizeof(what), "'%s', period %llu, sample_type %#llx", text,
		 (unsigned long long)period, (unsigned long long)type);
	compare(what, 0);
	values[0] = value_of(perf_ring.fd);
	values[1] = value_of(tally_ring.fd);
	tell(values[0] == values[1], "%s: %llu counted, perf %llu", what,
	     (unsigned long long)values[1], (unsigned long long)values[0]);
	neither();
}

static void filters(void)
{
	static const char *const texts[] = {
		"newcomm == \"name 3\"", "newcomm ~ \"*[3-6]\"", "oom_score_adj == 0",
		"newcomm != \"name 0\" && pid > 0", "pid == 0", "pid >= 0",
		"!(newcomm == \"name 3\" || newcomm == \"name 4\")", "nothing == 3",
		"newcomm ==", "", "(((", "newcomm == \"name 3", "0", "1", "common_pid & 1",
	};
	unsigned int i;
	int p, t;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		filtered(texts[i], 1, PERF_SAMPLE_RAW | PERF_SAMPLE_TIME);
		filtered(texts[i], 3, PERF_SAMPLE_RAW | PERF_SAMPLE_IP);
		filtered(texts[i], 3, PERF_SAMPLE_PERIOD);
		filtered(texts[i], 0, 0);
	}
	faults(PERF_SAMPLE_RAW);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = trace_id("task/task_rename");
	open_both();
	p = filter_errno(perf_ring.fd, "pid == 1");
	t = filter_errno(tally_ring.fd, "pid == 1");
	tell(!p && !t, "a filter");
	p = filter_errno(perf_ring.fd, "pid == 1");
	t = filter_errno(tally_ring.fd, "pid == 1");
	tell(p == t && t == EEXIST, "and another one: %s, perf %s", strerrorname_np(t),
	     strerrorname_np(p));
	p = filter_errno(perf_ring.fd, (const char *)8);
	t = filter_errno(tally_ring.fd, (const char *)8);
	tell(p == t && t == EFAULT, "from nowhere: %s, perf %s", strerrorname_np(t),
	     strerrorname_np(p));
	neither();
	faults(PERF_SAMPLE_IP);
	open_both();
	p = filter_errno(perf_ring.fd, "pid == 1");
	t = filter_errno(tally_ring.fd, "pid == 1");
	tell(p == t && t == EINVAL, "of page faults: %s, perf %s", strerrorname_np(t),
	     strerrorname_np(p));
	neither();
	faults(PERF_SAMPLE_IP);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = trace_id("task/task_rename");
	attr.sample_period = 2;
	attr.inherit = 1;
	open_both();
	expect(ioctl(tally_ring.fd, PERF_EVENT_IOC_SET_FILTER, "pid == 1"), EOPNOTSUPP,
	       "of an inherited event with a period");
	neither();
	/* Another period of one that has a filter. */
	faults(PERF_SAMPLE_RAW);
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = trace_id("task/task_rename");
	attr.sample_period = 5;
	if (!both(16, PROT_READ | PROT_WRITE)) {
		uint64_t period = 2;

		p = filter_errno(perf_ring.fd, "newcomm ~ \"name*\"");
		t = filter_errno(tally_ring.fd, "newcomm ~ \"name*\"");
		p = ioctl(perf_ring.fd, PERF_EVENT_IOC_PERIOD, &period);
		t = ioctl(tally_ring.fd, PERF_EVENT_IOC_PERIOD, &period);
		tell(!p && !t, "another period");
		switch_both(1);
		rename_ten();
		switch_both(0);
		compare("with a filter and another period", 5);
		neither();
	}
}

/* ---- outputs ---- */

static int output_errno(int fd, int to)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (long)to) ? errno : 0;
}

static void outputs_alike(int p, int p_to, int t, int t_to, const char *what)
{
	int perfs = output_errno(p, p_to), tallys = output_errno(t, t_to);

	tell(perfs == tallys, "SET_OUTPUT %s: %s, perf %s", what,
	     tallys ? strerrorname_np(tallys) : "OK", perfs ? strerrorname_np(perfs) : "OK");
}

static void outputs(void)
{
	int p, t, pipes[2];

	faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	if (pipe(pipes))
		tell(0, "pipe");
	/* Another one, of context switches: they come when it sleeps. */
	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	p = perf_open(-1);
	t = open_it();
	outputs_alike(p, perf_ring.fd, t, tally_ring.fd, "to one that has a ring");
	outputs_alike(p, p, t, t, "to itself");
	outputs_alike(p, 12345, t, 12345, "to no file");
	outputs_alike(p, pipes[0], t, pipes[0], "to a pipe");
	outputs_alike(p, t, t, p, "to the other kind");
	/* perf forgets that programs of 32 bits have another -1. */
	if (sizeof(long) == 8) {
		outputs_alike(p, -1, t, -1, "to none");
		outputs_alike(p, -1, t, -1, "to none, again");
	} else {
		expect(ioctl(t, PERF_EVENT_IOC_SET_OUTPUT, -1), 0, "SET_OUTPUT to none");
	}
	outputs_alike(perf_ring.fd, p, tally_ring.fd, t, "of one that is mapped");
	outputs_alike(p, perf_ring.fd, t, tally_ring.fd, "to it, again");
	switch_both(0);
	touch(1);
	switch_both(1);
	ioctl(p, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(t, PERF_EVENT_IOC_ENABLE, 0);
	touch(2);
	wait_ms(5);
	touch(2);
	ioctl(t, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(p, PERF_EVENT_IOC_DISABLE, 0);
	switch_both(0);
	compare("two events in one ring", 5);
	/* The ring goes, and with it where the other one wrote. */
	munmap(perf_ring.base, page_size + perf_ring.size);
	munmap(tally_ring.base, page_size + tally_ring.size);
	perf_ring.base = NULL;
	tally_ring.base = NULL;
	outputs_alike(p, perf_ring.fd, t, tally_ring.fd, "to one whose ring is gone");
	ioctl(t, PERF_EVENT_IOC_ENABLE, 0);
	wait_ms(5);
	tell(1, "and it goes on without");
	close(p);
	close(t);

	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.write_backward = 1;
	p = perf_open(-1);
	t = open_it();
	tell(map_ring(&perf_ring, perf_ring.fd, 1, PROT_READ | PROT_WRITE, 0) == 0 &&
	     map_ring(&tally_ring, tally_ring.fd, 1, PROT_READ | PROT_WRITE, 0) == 0,
	     "a ring again");
	outputs_alike(p, perf_ring.fd, t, tally_ring.fd, "of one that writes backward");
	close(p);
	close(t);
	attr.write_backward = 0;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	p = perf_open(-1);
	t = open_it();
	outputs_alike(p, perf_ring.fd, t, tally_ring.fd, "of one with another clock");
	close(p);
	close(t);
	attr.use_clockid = 0;
	attr.clockid = 0;
	o.cpu = 0;
	p = perf_open(-1);
	t = open_it();
	outputs_alike(p, perf_ring.fd, t, tally_ring.fd, "of one on a CPU");
	close(p);
	close(t);
	o.cpu = -1;
	o.perf_flags = PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP;
	o.group_fd = tally_ring.fd;
	t = open_it();
	expect(t, 0, "PERF_FLAG_FD_OUTPUT");
	close(t);
	neither();
	close(pipes[0]);
	close(pipes[1]);
}

/* A ring that is paused has nothing new, and what came is lost. */
static void pauses(void)
{
	uint64_t told = 0;
	int nr;

	faults(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR);
	if (both(16, PROT_READ | PROT_WRITE))
		return;
	switch_both(0);
	touch(1);
	switch_both(1);
	touch(2);
	ioctl(perf_ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	ioctl(tally_ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	touch(5);
	ioctl(perf_ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	ioctl(tally_ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	touch(2);
	switch_both(0);
	perf_ring.tail = 0;
	compare("before and after a pause", 5);
	tally_ring.tail = 0;
	nr = count_samples(&tally_ring, &told);
	tell(nr == 4 && told == 5, "%d were seen, %llu lost", nr, (unsigned long long)told);
	neither();
}

/* ---- all CPUs, and members ---- */

static void percpu(void)
{
	int cpu, fd, nr = 0, wrong = 0, i;
	struct perf_event_header *h;
	uint64_t *at;

	faults(PERF_SAMPLE_TID | PERF_SAMPLE_CPU);
	o.pid = -1;
	o.cpu = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	fd = open_it();
	if (fd < 0) {
		tell(0, "%m: %s", o.error.text);
		return;
	}
	expect(map_at(fd, 1, PROT_READ, TALLY_RING_AT(4096)) == MAP_FAILED ? -1 : 0, EINVAL,
	       "no such CPU");
	expect(map_at(fd, 1, PROT_READ, TALLY_RING_AT(0) + page_size) == MAP_FAILED ? -1 : 0,
	       EINVAL, "in between");
	for (cpu = 0; cpu < nr_online(); cpu++) {
		nr = 0;
		wrong = 0;
		if (map_ring(&third_ring, fd, 64, PROT_READ | PROT_WRITE, TALLY_RING_AT(cpu))) {
			tell(0, "cpu %d: %m", cpu);
			continue;
		}
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		for (i = 0; i < nr_online(); i++) {
			run_on(i);
			touch(10);
		}
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		while ((h = next(&third_ring))) {
			at = (uint64_t *)(h + 1);
			wrong += h->type != PERF_RECORD_SAMPLE || (uint32_t)at[1] != (uint32_t)cpu;
			nr += (uint32_t)at[0] == (uint32_t)getpid();
		}
		tell(nr >= 10 && !wrong, "the ring of CPU %d: %d of ours, %d of other CPUs", cpu, nr,
		     wrong);
		munmap(third_ring.base, page_size + third_ring.size);
	}
	/* One poll for all of them. */
	for (cpu = 0; cpu < nr_online(); cpu++)
		map_at(fd, 1, PROT_READ | PROT_WRITE, TALLY_RING_AT(cpu));
	while (polled(fd))
		;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	run_on(nr_online() - 1);
	touch(2);
	tell(polled(fd) & POLLIN, "the last CPU's wakes who polls the file");
	close(fd);
}

static void members(void)
{
	uint64_t ids[3];
	int fd, i, place, seen[3] = { 0 }, strange = 0;
	struct perf_event_header *h;

	faults(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR);
	fd = open_it();
	ioctl(fd, PERF_EVENT_IOC_ID, &ids[0]);
	o.group_fd = fd;
	o.flags = TALLY_OPEN_MEMBER;
	attr.disabled = 0;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	place = open_it();
	tell(place == 1, "a member before the ring: %d", place);
	if (map_ring(&third_ring, fd, 16, PROT_READ | PROT_WRITE, 0))
		tell(0, "map: %m");
	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	place = open_it();
	tell(place == 2, "a member behind it: %d", place);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	touch(5);
	wait_ms(5);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	ids[1] = ids[0] + 1;
	ids[2] = ids[0] + 2;
	while ((h = next(&third_ring))) {
		for (i = 0; i < 3 && ids[i] != *(uint64_t *)(h + 1); i++)
			;
		if (i < 3 && h->type == PERF_RECORD_SAMPLE)
			seen[i]++;
		else
			strange++;
	}
	tell(seen[0] >= 5 && seen[1] >= 5 && seen[2] >= 1 && !strange,
	     "all write to the leader's ring: %d %d %d, %d others", seen[0], seen[1], seen[2],
	     strange);
	unmap_ring(&third_ring);
}

/* Of another target it is refused, whatever the leader has mapped. */
static void strangers(void)
{
	int fd, i, nr;

	faults(PERF_SAMPLE_IP | PERF_SAMPLE_CPU);
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	fd = open_it();
	for (i = 0; i < nr_online(); i++)
		if (map_at(fd, 1, PROT_READ | PROT_WRITE, TALLY_RING_AT(i)) == MAP_FAILED)
			tell(0, "cpu %d: %m", i);
	o.flags = TALLY_OPEN_MEMBER;
	o.group_fd = fd;
	for (i = 0; i < 20; i++) {
		o.cpu = 0;
		o.pid = -1;
		nr = open_it();
		if (nr >= 0 || errno != EINVAL)
			break;
		o.cpu = -1;
		o.pid = 0;
		nr = open_it();
		if (nr >= 0 || errno != EINVAL)
			break;
	}
	tell(i == 20, "a member on another target is refused: %s, %s", outcome(nr), o.error.text);
	o.pid = -1;
	o.cpu = -1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	o.flags = TALLY_OPEN_MEMBER | TALLY_OPEN_ALL_CPUS;
	nr = open_it();
	tell(nr < 0 && errno == EINVAL, "and with another clock: %s, %s", outcome(nr),
	     o.error.text);
	attr.use_clockid = 0;
	attr.clockid = 0;
	nr = open_it();
	tell(nr == 1, "but another one is not: %s %s", outcome(nr), nr < 0 ? o.error.text : "");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	touch(5);
	close(fd);
}

/* Who polls the file of an event that writes to another one's ring is woken, too. */
static void redirected(void)
{
	struct pollfd p = { .events = POLLIN };
	int fd, t;
	pid_t child;

	faults(PERF_SAMPLE_IP);
	attr.disabled = 0;
	child = fork();
	if (!child) {
		wait_ms(300);
		touch(3);
		wait_ms(300);
		_exit(0);
	}
	o.pid = child;
	fd = open_it();
	t = open_it();
	if (map_ring(&tally_ring, fd, 1, PROT_READ | PROT_WRITE, 0) ||
	    ioctl(t, PERF_EVENT_IOC_SET_OUTPUT, fd))
		tell(0, "SET_OUTPUT: %m");
	p.fd = t;
	tell(poll(&p, 1, 200000) == 1 && p.revents == POLLIN, "it is woken: %#x", p.revents);
	unmap_ring(&tally_ring);
	close(t);
	waitpid(child, NULL, 0);
}

/* ---- memory ---- */

static sigjmp_buf back;

static void caught(int sig)
{
	siglongjmp(back, sig);
}

/* Whether a byte can be written. */
static int writable(volatile char *at)
{
	int sig = sigsetjmp(back, 1);

	if (!sig)
		*at = *at;
	return !sig;
}

static void mappings(void)
{
	struct sigaction act = { .sa_handler = caught };
	char *at;
	int i;

	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	faults(PERF_SAMPLE_IP);
	if (both(4, PROT_READ | PROT_WRITE))
		return;
	at = tally_ring.base;
	for (i = 0; i < 5; i++)
		tell(writable(at + i * page_size) == !i &&
		     writable(perf_ring.base + i * page_size) == !i,
		     "page %d is %s", i, i ? "read only" : "to be written to");
	/* Data alone, at the beginning of a mapping. */
	munmap(at + page_size, page_size);
	tell(!writable(at + 2 * page_size) && !writable(at + 4 * page_size),
	     "nor is it behind a hole");
	tell(!mprotect(at + 2 * page_size, page_size, PROT_READ) &&
	     !mprotect(at + 2 * page_size, page_size, PROT_READ | PROT_WRITE) &&
	     !writable(at + 2 * page_size), "nor when protection was changed");
	switch_both(1);
	touch(50);
	switch_both(0);
	tell(tally_ring.page->data_head >= 50 * 16, "it is still written to");
	munmap(at, page_size);
	touch(5);
	tell(1, "and without the header");
	tell(mremap(at + 2 * page_size, 3 * page_size, 8 * page_size, MREMAP_MAYMOVE) == MAP_FAILED,
	     "it does not grow");
	munmap(at + 2 * page_size, 3 * page_size);
	tally_ring.base = NULL;
	/* A second time, of the same size and of another one. */
	at = map_at(tally_ring.fd, 4, PROT_READ | PROT_WRITE, 0);
	tell(at != MAP_FAILED, "it can be mapped again");
	expect(map_at(tally_ring.fd, 8, PROT_READ, 0) == MAP_FAILED ? -1 : 0, EINVAL,
	       "another size");
	tell(map_at(tally_ring.fd, 4, PROT_READ, 0) != MAP_FAILED, "the same size, twice");
	close(tally_ring.fd);
	tally_ring.fd = -1;
	tell(((volatile struct perf_event_mmap_page *)at)->data_size == (uint64_t)(4 * page_size),
	     "it outlives the descriptor");
	/* A reader that writes anything there hurts nobody. */
	memset(at, 0xff, page_size);
	neither();
	faults(PERF_SAMPLE_IP);
	if (both(1, PROT_READ | PROT_WRITE))
		return;
	switch_both(1);
	for (i = 0; i < 200; i++) {
		memset(tally_ring.base, i * 37, page_size);
		touch(20);
	}
	switch_both(0);
	tell(1, "a header full of anything");
	neither();
}

static void memory(void)
{
	struct rlimit limit = { 0, 0 };
	int fd, fds[8], i;
	char *at;

	faults(PERF_SAMPLE_IP);
	open_both();
	fd = tally_ring.fd;
	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		tell(0, "setrlimit: %m");
	at = map_at(fd, 4096, PROT_READ, 0);
	tell(at != MAP_FAILED, "with CAP_IPC_LOCK there is no limit");
	munmap(at, 4097 * page_size);
	for (i = 0; i < 8; i++)
		fds[i] = open_it();
	if (setgid(12345) || setuid(12345))
		tell(0, "setuid: %m");
	expect(map_at(fd, 4096, PROT_READ, 0) == MAP_FAILED ? -1 : 0, EPERM,
	       "16 MiB without any right");
	expect(map_at(perf_ring.fd, 4096, PROT_READ, 0) == MAP_FAILED ? -1 : 0, EPERM,
	       "perf's");
	at = map_at(fd, 64, PROT_READ, 0);
	tell(at != MAP_FAILED, "but what is allowed");
	for (i = 0; i < 8; i++)
		if (map_at(fds[i], 128, PROT_READ, 0) == MAP_FAILED)
			break;
	tell(i >= 1 && i < 8 && errno == EPERM, "%d more", i);
	tell(map_at(perf_ring.fd, 128, PROT_READ, 0) == MAP_FAILED, "and perf has none left");
	munmap(at, 65 * page_size);
	close(fds[0]);
	tell(map_at(fd, 32, PROT_READ, 0) != MAP_FAILED, "what is given back can be had again");
}

/* ---- children ---- */

static void inherit(void)
{
	int status, nr = 0, others = 0;
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
	child = fork();
	if (!child) {
		touch(20);
		_exit(0);
	}
	waitpid(child, &status, 0);
	switch_both(0);
	while ((h = next(&tally_ring))) {
		pid = *(uint32_t *)(h + 1);
		nr += pid == (uint32_t)child;
		others += pid != (uint32_t)child && pid != (uint32_t)getpid();
	}
	tell(nr >= 20 && !others, "a child writes to its parent's ring: %d", nr);
	neither();
}

/* Runs for half a second; how often it was throttled. */
static uint64_t throttled(struct ring *r, const char *whose)
{
	uint64_t begins = 0, ends = 0, samples = 0;
	struct perf_event_header *h;
	struct timespec now, begin;
	int good = 1;

	ioctl(r->fd, PERF_EVENT_IOC_ENABLE, 0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
		 500);
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

/* perf says that it switches an event off, in the overflow in which it does. */
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
	/* How much time a guest has for it differs from one half of a second to the next. */
	for (i = 0; i < 5 && !(perfs && tallys); i++) {
		if (both(2048, PROT_READ | PROT_WRITE))
			return;
		perfs += throttled(&perf_ring, "perf");
		tallys += throttled(&tally_ring, "tally");
		neither();
	}
	tell(!perfs == !tallys, "both are throttled, or none");
}

/* ---- counts in samples ---- */

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define ALL_FORMATS (TIMES | PERF_FORMAT_ID | PERF_FORMAT_GROUP | PERF_FORMAT_LOST)
#define MEMBERS 3

/* What one side has: its files, and what its events are called. */
struct group {
	int fds[MEMBERS];
	uint64_t ids[MEMBERS];
	int nr;
	struct ring *ring;
	uint64_t times[2];
};

static struct group perf_group = { .ring = &perf_ring }, tally_group = { .ring = &tally_ring };

/* The last one is of what happens between page faults. */
static void describe(int i, int sampler, uint64_t format)
{
	faults(i == sampler ? PERF_SAMPLE_READ | PERF_SAMPLE_ADDR : 0);
	attr.read_format = format;
	attr.disabled = !i;
	if (i == 1)
		attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	if (i == 2) {
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = trace_id("task/task_rename");
	}
	if (i == sampler)
		return;
	attr.sample_period = 0;
	attr.wakeup_events = 0;
}

static void close_group(struct group *g)
{
	unmap_ring(g->ring);
	while (g->nr--)
		if (g->fds[g->nr] >= 0 && g->fds[g->nr] != g->ring->fd)
			close(g->fds[g->nr]);
	g->nr = 0;
}

/* Of tally, the last member has no file. */
static int open_group(struct group *g, int nr, int sampler, uint64_t format, int pages)
{
	struct tally_value values[64];
	int i, perf = g == &perf_group;

	memset(g->times, 0, sizeof(g->times));
	for (i = 0; i < nr; i++) {
		describe(i, sampler, format);
		o.group_fd = i ? g->fds[0] : -1;
		o.flags = i == 2 && sampler != 2 ? TALLY_OPEN_MEMBER : 0;
		g->fds[i] = perf ? perf_open(o.group_fd) : open_it();
		if (g->fds[i] < 0) {
			tell(0, "member %d, format %llu: %m: %s", i, (unsigned long long)format,
			     perf ? "perf" : o.error.text);
			return -1;
		}
		if (perf && ioctl(g->fds[i], PERF_EVENT_IOC_ID, &g->ids[i]))
			tell(0, "id: %m");
		if (!perf && o.flags)
			g->fds[i] = -1;
	}
	g->nr = nr;
	if (!perf) {
		if (read_values(g->fds[0], values, NULL) != nr)
			tell(0, "values: %m");
		for (i = 0; i < nr; i++)
			g->ids[i] = values[i].id;
	}
	if (map_ring(g->ring, g->fds[sampler], pages, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "map: %m");
		return -1;
	}
	return 0;
}

/* How often a time was later than the one before. */
static unsigned int times_grew;

static int sane_times(struct group *g, uint64_t **at, uint64_t format)
{
	uint64_t now[2] = { 0 };
	int i, good = 1;

	for (i = 0; i < 2; i++) {
		if (!(format & (1 << i)))
			continue;
		now[i] = **at;
		*(*at)++ = 0;
		/* Where a clock goes by ticks, it stands still between most faults. */
		good &= now[i] >= g->times[i];
		times_grew += now[i] > g->times[i];
		g->times[i] = now[i];
	}
	return good && ((format & TIMES) != TIMES || now[0] >= now[1]);
}

/* Takes out what cannot be the same, and looks whether all is there. */
static int sane_reads(struct perf_event_header *h, struct group *g, int sampler,
		      uint64_t format)
{
	uint64_t *at = (uint64_t *)(h + 1) + 1, *end = (uint64_t *)((char *)h + h->size);
	int i, first = 0, last = g->nr, good = 1;

	if (h->type != PERF_RECORD_SAMPLE)
		return own_id((uint64_t *)(h + 1), g->ring);
	if (format & PERF_FORMAT_GROUP) {
		good &= *at++ == (uint64_t)g->nr;
		good &= sane_times(g, &at, format);
	} else {
		first = sampler;
		last = first + 1;
	}
	for (i = first; good && i < last; i++) {
		at++;
		if (!(format & PERF_FORMAT_GROUP))
			good &= sane_times(g, &at, format);
		if (format & PERF_FORMAT_ID) {
			good &= *at == g->ids[i];
			*at++ = i;
		}
		if (format & PERF_FORMAT_LOST)
			at++;
	}
	return good && at == end;
}

static int compare_reads(int sampler, uint64_t format)
{
	struct perf_event_header *p, *t;
	int nr = 0, i;

	for (;; nr++) {
		p = next(&perf_ring);
		t = next(&tally_ring);
		if (!p && !t)
			break;
		if (p && !sane_reads(p, &perf_group, sampler, format)) {
			show("perf's is strange", p, 0);
			return -1;
		}
		if (t && !sane_reads(t, &tally_group, sampler, format)) {
			show("tally's is strange", t, 0);
			return -1;
		}
		if (p && t && p->size == t->size && !memcmp(p, t, p->size))
			continue;
		i = p && t ? differs(p, t) : 0;
		if (p)
			show("perf ", p, i);
		if (t)
			show("tally", t, i);
		return -1;
	}
	done(&perf_ring);
	done(&tally_ring);
	return nr;
}

static void switch_groups(int on)
{
	int cmd = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	ioctl(on ? perf_group.fds[0] : tally_group.fds[0], cmd, 0);
	ioctl(on ? tally_group.fds[0] : perf_group.fds[0], cmd, 0);
}

/* Page faults, with other things in between, and a time when all is off. */
static void fault_about(int nr)
{
	char name[16];
	int i;

	for (i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "name %d", i);
		switch_groups(1);
		prctl(PR_SET_NAME, name);
		touch(5);
		switch_groups(0);
		touch(2);
	}
}

static int same_reads(int nr, int sampler, uint64_t format)
{
	int found = -1;

	if (!open_group(&perf_group, nr, sampler, format, 16) &&
	    !open_group(&tally_group, nr, sampler, format, 16)) {
		switch_groups(0);
		touch(1);
		fault_about(2);
		ioctl(perf_group.fds[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
		ioctl(tally_group.fds[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
		fault_about(2);
		found = compare_reads(sampler, format);
	}
	close_group(&perf_group);
	close_group(&tally_group);
	return found;
}

static void all_reads(int nr, int sampler, const char *what)
{
	uint64_t format;
	int good = 0;

	times_grew = 0;
	for (format = 0; format <= ALL_FORMATS; format++) {
		if (same_reads(nr, sampler, format) == 20)
			good++;
		else
			printf("# %s: format %llu\n", what, (unsigned long long)format);
	}
	tell(good == 32 && times_grew,
	     "%s: 20 samples are the same in %d formats of 32; times grew %u times", what, good,
	     times_grew);
}

/* All of what was lost is told in the first one that is not. */
static void lost_reads(void)
{
	int nr = 0;

	if (!open_group(&perf_group, MEMBERS, 0, ALL_FORMATS, 1) &&
	    !open_group(&tally_group, MEMBERS, 0, ALL_FORMATS, 1)) {
		switch_groups(0);
		touch(1);
		switch_groups(1);
		touch(500);
		switch_groups(0);
		nr = compare_reads(0, ALL_FORMATS);
		switch_groups(1);
		touch(3);
		switch_groups(0);
		tell(nr > 10 && nr < 400 && compare_reads(0, ALL_FORMATS) == 4,
		     "after %d samples some were lost, and that is told", nr);
	}
	close_group(&perf_group);
	close_group(&tally_group);
}

/* Each CPU's ring tells this CPU's part. */
static void reads_of_cpus(void)
{
	struct tally_read r = { .size = sizeof(r), .nr = 2 };
	struct tally_value values[2];
	struct ring *rings = calloc(nr_online(), sizeof(*rings));
	struct perf_event_header *h;
	int fd, cpu, nr, good;
	uint64_t *at;

	faults(PERF_SAMPLE_READ | PERF_SAMPLE_ADDR);
	attr.read_format = ALL_FORMATS;
	o.pid = -1;
	o.flags = TALLY_OPEN_ALL_CPUS;
	fd = open_it();
	o.group_fd = fd;
	o.flags |= TALLY_OPEN_MEMBER;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	attr.sample_period = 0;
	attr.sample_type = 0;
	attr.disabled = 0;
	if (fd < 0 || open_it() != 1 || !rings) {
		tell(0, "%m: %s", o.error.text);
		return;
	}
	for (cpu = 0; cpu < nr_online(); cpu++)
		if (map_ring(&rings[cpu], fd, 64, PROT_READ | PROT_WRITE, TALLY_RING_AT(cpu)))
			tell(0, "cpu %d: %m", cpu);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (cpu = 0; cpu < nr_online(); cpu++) {
		run_on(cpu);
		touch(10 + cpu);
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	for (cpu = 0; cpu < nr_online(); cpu++) {
		nr = 0;
		good = 1;
		at = NULL;
		while ((h = next(&rings[cpu]))) {
			at = (uint64_t *)(h + 1) + 1;
			/* nr, times; value, id, lost: twice */
			good &= h->size == 8 + 8 + 3 * 8 + 2 * 24 && at[0] == 2 &&
				at[1] >= at[2] && at[3] == (uint64_t)(nr + 1) &&
				at[4] == rings[cpu].id && at[6] <= at[3] &&
				at[6] + 20 > at[3] && at[7] == at[4] + 1;
			nr++;
		}
		r.cpu = cpu;
		r.nr = 2;
		r.values = (unsigned long)values;
		good &= !ioctl(fd, TALLY_IOC_READ, &r) && at && at[3] == values[0].value &&
			at[6] + 1 >= values[1].value;
		tell(good && nr >= 10 + cpu, "CPU %d: %d samples tell what it counts", cpu, nr);
		munmap(rings[cpu].base, page_size + rings[cpu].size);
	}
	close(fd);
	free(rings);
}

static int inherited_errno(int perf)
{
	int fd = perf ? perf_open(-1) : open_it();
	int error = fd < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	return error;
}

/* Each task tells what it counts itself. */
static void inherited_reads(void)
{
	int i, nr = 0, error, good = 1;
	struct perf_event_header *p, *t;
	uint64_t last[2] = { 0 };
	pid_t child;

	faults(PERF_SAMPLE_READ);
	attr.inherit = 1;
	error = inherited_errno(1);
	tell(inherited_errno(0) == error, "inherited, without TID: as perf: %s",
	     strerrorname_np(error));
	faults(PERF_SAMPLE_READ | PERF_SAMPLE_TID);
	attr.inherit = 1;
	error = inherited_errno(1);
	tell(inherited_errno(0) == error, "inherited: as perf: %s",
	     error ? strerrorname_np(error) : "OK");
	attr.read_format = PERF_FORMAT_GROUP;
	refused(EOPNOTSUPP, TALLY_FIELD_ATTR_BIT(1), "and with its group");
	if (error)
		return;
	attr.read_format = PERF_FORMAT_ID | TIMES;
	run_on(0);
	o.cpu = 0;
	if (both(64, PROT_READ | PROT_WRITE))
		return;
	for (i = 0; i < 3; i++) {
		switch_both(1);
		child = i ? 0 : fork();
		if (!i && !child) {
			touch(20);
			_exit(0);
		}
		if (child)
			waitpid(child, NULL, 0);
		touch(10);
		switch_both(0);
		touch(7);
		if (i == 1) {
			ioctl(perf_ring.fd, PERF_EVENT_IOC_RESET, 0);
			ioctl(tally_ring.fd, PERF_EVENT_IOC_RESET, 0);
		}
	}
	while (good) {
		p = next(&perf_ring);
		t = next(&tally_ring);
		if (!p || !t)
			break;
		/* TID; value, times, ID */
		for (i = 0; i < 2; i++) {
			uint64_t *at = (uint64_t *)((i ? t : p) + 1);

			good &= at[2] >= at[3] && at[4] == (i ? tally_ring : perf_ring).id;
			if (at[0] == ((uint64_t)getpid() << 32 | (uint32_t)getpid())) {
				good &= at[2] >= last[i];
				last[i] = at[2];
			}
			at[2] = 0;
			at[3] = 0;
			at[4] = 0;
		}
		good &= p->size == t->size && !memcmp(p, t, p->size);
		if (!good) {
			show("perf ", p, 0);
			show("tally", t, 0);
		}
		nr++;
	}
	tell(good && !p && !t && nr >= 50, "%d inherited samples are the same", nr);
	neither();
}

static void reads(void)
{
	if (trace_id("task/task_rename") < 0)
		tell(0, "there is no task_rename");
	all_reads(1, 0, "alone");
	all_reads(MEMBERS, 0, "the leader's");
	all_reads(MEMBERS, 1, "a sibling's");
	lost_reads();
	reads_of_cpus();
	inherited_reads();
}

/* ---- groups that change meanwhile ---- */

static volatile int *go_on;

/* Of what the child does. */
static int open_beside(int leader, pid_t child, int samples, unsigned int flags)
{
	faults(samples ? PERF_SAMPLE_READ : 0);
	attr.config = samples ? PERF_COUNT_SW_PAGE_FAULTS_MIN : PERF_COUNT_SW_PAGE_FAULTS;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	attr.disabled = leader < 0;
	attr.wakeup_events = 0;
	if (leader >= 0 && !samples)
		attr.sample_period = 0;
	else if (leader < 0)
		attr.sample_type = PERF_SAMPLE_READ;
	o.pid = child;
	o.group_fd = leader;
	o.flags = flags;
	return open_it();
}

/* Whether they are of one time: each with an id of its own, the first that leads. */
static int consistent(const struct perf_event_header *h, uint64_t leader, uint64_t most,
		      int leads)
{
	const uint64_t *at = (const uint64_t *)(h + 1);
	uint64_t nr = at[0], i, j;

	if (h->type != PERF_RECORD_SAMPLE || !nr || nr > 8 || h->size != 8 + 8 + nr * 16)
		return 0;
	for (i = 0; i < nr; i++) {
		if (at[2 + 2 * i] < leader || at[2 + 2 * i] > most)
			return 0;
		for (j = 0; j < i; j++)
			if (at[2 + 2 * i] == at[2 + 2 * j])
				return 0;
	}
	return at[2] == leader || (!leads && nr == 1);
}

static int drain(struct ring *r, uint64_t leader, uint64_t most, int leads,
		 unsigned int *seen)
{
	struct perf_event_header *h;
	int good = 1;

	while (good && (h = next(r))) {
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		if (!consistent(h, leader, most, leads)) {
			show("torn", h, 0);
			good = 0;
			continue;
		}
		seen[((uint64_t *)(h + 1))[0] - 1]++;
	}
	done(r);
	return good;
}

/* A leader, a sibling that samples, and others that come and go. */
static int change_group(pid_t child, unsigned int *seen)
{
	int leader, sibling, fds[4], i, j, good = 1;
	uint64_t first, most = 0;

	leader = open_beside(-1, child, 0, 0);
	if (leader < 0 || map_ring(&tally_ring, leader, 32, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "leader: %m: %s", o.error.text);
		return 0;
	}
	first = tally_ring.id;
	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	sibling = open_beside(leader, child, 1, 0);
	if (sibling < 0 || map_ring(&third_ring, sibling, 32, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "sibling: %m: %s", o.error.text);
		return 0;
	}
	if (open_beside(leader, child, 0, TALLY_OPEN_MEMBER) != 2)
		tell(0, "member: %m: %s", o.error.text);
	for (i = 0; i < 10 && good; i++) {
		for (j = 0; j < 4; j++)
			fds[j] = open_beside(leader, child, j & 1, 0);
		if (ioctl(fds[3], PERF_EVENT_IOC_ID, &most))
			tell(0, "member: %m: %s", o.error.text);
		/* In one order, and in the other. */
		for (j = 0; j < 4; j++)
			close(fds[i & 1 ? 3 - j : j]);
		good &= drain(&tally_ring, first, most, 1, seen);
		good &= drain(&third_ring, first, most, 0, seen);
	}
	/* The sibling goes on by itself. */
	unmap_ring(&tally_ring);
	good &= drain(&third_ring, first, most, 0, seen);
	unmap_ring(&third_ring);
	return good;
}

static void changes(void)
{
	unsigned int seen[8] = { 0 }, i, rounds = 0, kinds = 0;
	struct timespec begin, now;
	int good = 1;
	pid_t child;

	go_on = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*go_on = 1;
	run_on(0);
	child = fork();
	if (!child) {
		run_on(nr_online() - 1);
		while (*go_on)
			touch(200);
		_exit(0);
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		good &= change_group(child, seen);
		rounds++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (good && now.tv_sec < begin.tv_sec + 8);
	*go_on = 0;
	waitpid(child, NULL, 0);
	for (i = 0; i < 8; i++)
		kinds += !!seen[i];
	printf("# samples of groups of 1 to 8: %u %u %u %u %u %u %u %u\n", seen[0], seen[1],
	       seen[2], seen[3], seen[4], seen[5], seen[6], seen[7]);
	tell(good && kinds >= 4 && rounds > 1, "%u groups that changed: each sample is of one time",
	     rounds);
}

/* ---- counts in NMIs, and of a PMU ---- */

#if defined(__x86_64__) || defined(__i386__)
static unsigned long long address_of(const char *symbol)
{
	unsigned long long at, found = 0;
	char name[128], line[512];
	FILE *f = fopen("/proc/kallsyms", "r");

	while (f && !found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %*c %127s", &at, name) == 2 && !strcmp(name, symbol))
			found = at;
	if (f)
		fclose(f);
	return found;
}

/* A breakpoint of the kernel leads, and is hit where an NMI would be. */
static int read_in_nmi(int perf, uint64_t *faults_seen)
{
	static const uint64_t siblings[] = {
		PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK,
	};
	int fds[4], i, nr = 0, control, good = 1;
	struct perf_event_header *h;
	uint64_t last[2] = { 0 }, *at;

	faults(PERF_SAMPLE_READ);
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.config = 0;
	attr.bp_type = 2;
	attr.bp_addr = address_of("print_fatal_signals");
	attr.bp_len = 4;
	attr.read_format = PERF_FORMAT_GROUP;
	fds[0] = perf ? perf_open(-1) : open_it();
	o.group_fd = fds[0];
	for (i = 1; i < 4; i++) {
		faults(0);
		attr.config = siblings[i - 1];
		attr.sample_period = 0;
		attr.wakeup_events = 0;
		attr.disabled = 0;
		o.group_fd = fds[0];
		fds[i] = perf ? perf_open(fds[0]) : open_it();
	}
	control = open("/proc/sys/kernel/print-fatal-signals", O_WRONLY);
	if (fds[0] < 0 || fds[3] < 0 || control < 0 ||
	    map_ring(&third_ring, fds[0], 16, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "a breakpoint in the kernel: %m: %s", o.error.text);
		return 0;
	}
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
	ioctl(fds[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < 10; i++) {
		if (pwrite(control, "0", 1, 0) != 1)
			tell(0, "write: %m");
		touch(1000);
	}
	ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
	while ((h = next(&third_ring))) {
		at = (uint64_t *)(h + 1);
		nr++;
		/* A clock of ticks may be 0 at first. */
		good &= h->size == 8 + 5 * 8 && at[0] == 4 && at[1] == (uint64_t)nr &&
			(nr == 1 || (at[3] > last[0] && at[4] > last[1]));
		if (nr <= 10)
			faults_seen[nr - 1] = at[2];
		last[0] = at[3];
		last[1] = at[4];
	}
	close(control);
	for (i = 1; i < 4; i++)
		close(fds[i]);
	unmap_ring(&third_ring);
	return good ? nr : -nr;
}

static void nmi_reads(void)
{
	uint64_t perfs[10] = { 0 }, tallys[10] = { 0 };
	int p, t;

	p = read_in_nmi(1, perfs);
	p = read_in_nmi(1, perfs);
	t = read_in_nmi(0, tallys);
	t = read_in_nmi(0, tallys);
	tell(p == 10 && t == 10 && !memcmp(perfs, tallys, sizeof(perfs)) && tallys[9] == 9000,
	     "in %d NMIs: page faults and clocks as in perf's %d: %llu, %llu", t, p,
	     (unsigned long long)tallys[9], (unsigned long long)perfs[9]);
}

#endif

/*
 * Cycles lead; their second counter is read in the interrupt of the first one. Returns
 * how many samples of 100 differ: QEMU adds something of its own to one of them, for
 * perf as well, the more the busier its host is.
 */
static int read_cycles(int perf, int noise)
{
	int fds[3], nr = 0, good = 1, differ = 0, old = 0, members = 2, i;
	long long apart;
	uint64_t last[2] = { 0 }, times[2] = { 0 }, *at;
	struct perf_event_header *h;

	faults(PERF_SAMPLE_READ);
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.sample_period = 1000000;
	attr.read_format = PERF_FORMAT_GROUP | TIMES | PERF_FORMAT_ID;
	fds[0] = perf ? perf_open(-1) : open_it();
	if (fds[0] < 0) {
		expect(fds[0], ENOENT, "there is no PMU");
		return 0;
	}
	attr.sample_period = 0;
	attr.sample_type = 0;
	attr.disabled = 0;
	attr.wakeup_events = 0;
	attr.type = PERF_TYPE_RAW;
	attr.config = 0x11;
	o.group_fd = fds[0];
	fds[1] = perf ? perf_open(fds[0]) : open_it();
	/* QEMU may not have them. */
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	fds[2] = perf ? perf_open(fds[0]) : open_it();
	members += fds[2] >= 0;
	if (fds[1] < 0 || map_ring(&third_ring, fds[0], 64, PROT_READ | PROT_WRITE, 0)) {
		tell(0, "cycles: %m: %s", o.error.text);
		return 0;
	}
	ioctl(fds[0], PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < 100; i++)
		touch(1000);
	ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0);
	while ((h = next(&third_ring))) {
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		at = (uint64_t *)(h + 1);
		nr++;
		good &= h->size == 8 + 3 * 8 + members * 16 && at[0] == (uint64_t)members &&
			at[1] >= times[0] && at[2] >= times[1] && at[1] >= at[2] &&
			at[3] >= last[0] && at[5] >= last[1] && at[4] == third_ring.id;
		/* Members begin together, once all are on: one may overflow before. */
		if (!perf && !at[3])
			continue;
		apart = at[3] - last[0] - (at[5] - last[1]);
		differ += llabs(apart) > 1000;
		old += at[5] == last[1];
		if (!good) {
			show("strange", h, 0);
			break;
		}
		last[0] = at[3];
		last[1] = at[5];
		times[0] = at[1];
		times[1] = at[2];
	}
	tell(good && nr >= 10 && (differ <= nr / 4 || noise > 10) && old <= nr / 20,
	     "%s: %d samples of cycles with their sibling's, %d of which differ, %d are old",
	     perf ? "perf" : "tally", nr, differ, old);
	for (i = 1; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	unmap_ring(&third_ring);
	return nr ? differ * 100 / nr : 0;
}

static void interrupts(void)
{
#if defined(__x86_64__) || defined(__i386__)
	nmi_reads();
#endif
	read_cycles(0, read_cycles(1, 100));
}

static const struct devtest tests[] = {
	{ "same", .run = same },
	{ "regs", .run = regs },
	{ "lost", .run = lost },
	{ "overwrite", .run = overwrite },
	{ "wakeup", .run = wakeup },
	{ "sleeper", .run = sleeper },
	{ "errors", .run = errors },
	{ "filters", .run = filters },
	{ "outputs", .run = outputs },
	{ "pauses", .run = pauses },
	{ "percpu", .run = percpu },
	{ "members", .run = members },
	{ "strangers", .run = strangers },
	{ "redirected", .run = redirected },
	{ "mappings", .run = mappings },
	{ "memory", .run = memory },
	{ "inherit", .run = inherit },
	{ "throttle", .run = throttle },
	{ "reads", .run = reads },
	{ "changes", .run = changes },
	{ "interrupts", .run = interrupts },
	{ }
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
