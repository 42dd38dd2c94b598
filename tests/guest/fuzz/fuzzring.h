/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of fuzz.c on rings: mapping rings, splitting and writing to them, and the calls
 * on files that change the contents of rings.
 */
#ifndef FUZZRING_H
#define FUZZRING_H

#include "fuzz.h"

#define RINGS	16
#define OTHER_SIGNAL (SIGRTMIN + 3)

/* A mapping of a ring or of a part of it: @pages of the ring, from page @first on. */
static struct mapped {
	char *at;
	unsigned int pages;
	unsigned int first;
	int prot;
	uint64_t head;
} rings[RINGS];

static inline void forget_ring(struct mapped *r)
{
	if (r->at)
		munmap(r->at, r->pages * page_size);
	r->at = NULL;
}

static inline void keep_ring(char *at, unsigned int pages, unsigned int first, int prot)
{
	struct mapped *r = &rings[below(RINGS)];

	forget_ring(r);
	*r = (struct mapped){ .at = at, .pages = pages, .first = first, .prot = prot };
}

/* A random one of @rings; NULL if there is none. */
static inline struct mapped *any_ring(void)
{
	int i, from = below(RINGS);

	for (i = 0; i < RINGS; i++)
		if (rings[(from + i) % RINGS].at)
			return &rings[(from + i) % RINGS];
	return NULL;
}

static inline int try_ring(void)
{
	unsigned int pages = 1 + (1U << below(one_in(20) ? 10 : 6));
	int prot = one_in(3) ? PROT_READ : PROT_READ | PROT_WRITE;
	uint64_t at = TALLY_RING_AT(one_in(2) ? 0 : below(nr_cpus + 1));
	char *ring;

	if (one_in(15))
		pages = 1 + below(70);
	if (one_in(15))
		prot = below(8);
	if (one_in(15))
		at = odd_number() & ~(uint64_t)(page_size - 1);
	ring = mmap64(NULL, pages * page_size, prot, one_in(15) ? MAP_PRIVATE : MAP_SHARED,
		      any_file(), at);
	if (ring == MAP_FAILED)
		return -1;
	if (pages > 1)
		keep_ring(ring, pages, 0, prot);
	else
		munmap(ring, page_size);
	return 0;
}

/* ---- parts of rings ---- */

/* A part of a ring was unmapped or moved: the pages around it become two entries. */
static inline void cut_out(struct mapped *r, unsigned int from, unsigned int nr)
{
	struct mapped was = *r;
	unsigned int behind = from + nr;

	r->pages = from;
	if (!from)
		r->at = NULL;
	if (behind < was.pages)
		keep_ring(was.at + behind * page_size, was.pages - behind, was.first + behind,
			  was.prot);
}

static inline int move_part(struct mapped *r, unsigned int from, unsigned int nr)
{
	size_t size = nr * page_size, bigger = size + (one_in(10) ? page_size : 0);
	struct mapped was = *r;
	char *spot, *to;

	spot = mmap(NULL, bigger, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (spot == MAP_FAILED)
		return -1;
	to = mremap(was.at + from * page_size, size, bigger, MREMAP_MAYMOVE | MREMAP_FIXED, spot);
	if (to == MAP_FAILED) {
		munmap(spot, bigger);
		return -1;
	}
	cut_out(r, from, nr);
	keep_ring(to, nr, was.first + from, was.prot);
	return 0;
}

static inline int try_part(void)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_WILLNEED, MADV_DODUMP, MADV_FREE
	};
	struct mapped *r = any_ring();
	unsigned int from, nr;
	char *at;

	if (!r)
		return 0;
	from = one_in(2) ? 0 : below(r->pages);
	nr = one_in(3) ? r->pages - from : 1 + below(r->pages - from);
	at = r->at + from * page_size;
	switch (below(6)) {
	case 0:
		if (munmap(at, nr * page_size))
			return -1;
		cut_out(r, from, nr);
		return 0;
	case 1:
		return move_part(r, from, nr);
	case 2:
		return madvise(at, nr * page_size, advices[below(6)]);
	case 3:
		return one_in(2) ? mlock(at, nr * page_size) : munlock(at, nr * page_size);
	case 4:
		return msync(at, nr * page_size, MS_SYNC);
	default:
		/* Seldom any protection: most rings are to stay readable. */
		return mprotect(at, nr * page_size, one_in(10) ? (int)below(8) :
				one_in(2) ? PROT_READ : PROT_READ | PROT_WRITE);
	}
}

/* ---- contents of rings ---- */

static inline void read_pages(volatile char *at, uint64_t n)
{
	uint64_t i, sum = 0;

	for (i = 0; i < n; i += 64)
		sum += at[i];
	/* Write once only: each access to @word may hit a breakpoint. */
	word += sum;
}

static inline void write_byte(volatile char *at, uint64_t n)
{
	*at = n;
}

static inline void write_anything(volatile char *at, uint64_t n)
{
	long i;

	for (i = 0; i < page_size; i++)
		at[i] = n >> 8 * (i & 7);
}

static inline void write_word(volatile char *at, uint64_t n)
{
	*(volatile uint64_t *)at = n;
}

static inline void write_tail(volatile char *at, uint64_t n)
{
	((volatile struct perf_event_mmap_page *)at)->data_tail = n;
}

static inline void read_head(volatile char *at, uint64_t n)
{
	*(uint64_t *)(uintptr_t)n = ((volatile struct perf_event_mmap_page *)at)->data_head;
}

/* Frees all records, as a reader does, without looking at them. */
static inline void consume(struct mapped *r)
{
	uint64_t head = 0;

	if (faults(read_head, r->at, (uintptr_t)&head))
		return;
	if (head != r->head)
		see(RECORDS);
	r->head = head;
	faults(write_tail, r->at, head);
}

/* Writes to a page that no program may write to. The write must fault. */
static inline void must_fault(struct mapped *r)
{
	unsigned int page = below(r->pages);

	if (!page && !r->first && r->prot & PROT_WRITE)
		return;
	if (!faults(write_byte, r->at + page * page_size + below(page_size), rnd())) {
		dprintf(1, "# page %u of a ring was written to, which was mapped with %d\n",
			r->first + page, r->prot);
		see(WRITTEN);
	}
}

static inline int try_scribble(void)
{
	struct mapped *r = any_ring();

	if (!r)
		return 0;
	if (one_in(3)) {
		must_fault(r);
		return 0;
	}
	if (r->first || one_in(4)) {
		faults(read_pages, r->at, r->pages * page_size);
		return 0;
	}
	switch (below(5)) {
	case 0:
		faults(write_tail, r->at, odd_number());
		break;
	case 1:
		faults(write_anything, r->at, one_in(2) ? odd_number() : rnd());
		break;
	case 2:
		faults(write_word, r->at + 8 * below(page_size / 8), odd_number());
		break;
	default:
		consume(r);
	}
	return 0;
}

/* ---- calls on files ---- */

/* Tries any two files, then all pairs: few files agree, with a ring in one of them. */
static inline int try_output(void)
{
	int i, k, from = any_slot(), ret;

	if (one_in(3))
		return ioctl(any_file(), PERF_EVENT_IOC_SET_OUTPUT,
			     one_in(2) ? -1L : (long)odd_number());
	ret = ioctl(any_file(), PERF_EVENT_IOC_SET_OUTPUT, (long)any_file());
	for (i = from; i < from + FILES && ret; i++)
		for (k = 0; k < FILES && ret; k++)
			if (files[i % FILES] >= 0 && files[k] >= 0)
				ret = ioctl(files[i % FILES], PERF_EVENT_IOC_SET_OUTPUT,
					    (long)files[k]);
	if (!ret)
		see(SHARES);
	return ret;
}

static inline int try_pause(void)
{
	return ioctl(any_file(), PERF_EVENT_IOC_PAUSE_OUTPUT, one_in(10) ? odd_number() : below(2));
}

static int caught;

/* Handling a signal may cause the next one. A process ignores signals after 1,000. */
static inline void caught_signal(int sig)
{
	see(SIGNALS);
	if (++caught > 1000)
		signal(sig, SIG_IGN);
}

static inline void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = caught_signal, .sa_flags = SA_RESTART };
	struct sigaction fault = { .sa_handler = faulted };

	caught = 0;
	sigaction(SIGIO, &sa, NULL);
	sigaction(OTHER_SIGNAL, &sa, NULL);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
}

/* Makes a file send signals to this process or to its parent. */
static inline int try_async(void)
{
	int fd = any_file();

	/* Only files of this program, not the standard output, for example. */
	if (fd <= device || fcntl(fd, F_GETFD) < 0)
		return -1;
	catch_signals();
	if (fcntl(fd, F_SETOWN, one_in(4) ? getppid() : getpid()))
		return -1;
	if (one_in(2))
		fcntl(fd, F_SETSIG, one_in(2) ? OTHER_SIGNAL : 0);
	return fcntl(fd, F_SETFL, one_in(3) ? 0 : O_ASYNC);
}

/* ---- filters ---- */

struct text {
	char at[6000];
	size_t len;
};

static inline void add(struct text *t, const char *what)
{
	size_t len = strlen(what);

	if (t->len + len >= sizeof(t->at))
		return;
	memcpy(t->at + t->len, what, len + 1);
	t->len += len;
}

#define ANY_OF(list) list[below(sizeof(list) / sizeof(list[0]))]

static inline void add_term(struct text *t)
{
	static const char *const fields[] = {
		"common_pid", "common_type", "common_flags", "cpu", "CPU", "comm", "COMM",
		"prev_pid", "prev_prio", "next_pid", "prev_comm", "next_comm", "prev_state", "id",
		"nothing", "common_preempt_count", "common_pid.function"
	};
	static const char *const ops[] = { "==", "!=", "<", "<=", ">", ">=", "&", "~", "=", "" };
	static const char *const strings[] = {
		"\"fuzz\"", "\"f*\"", "\"*z*\"", "\"[a-f]uz?\"", "\"!f*\"", "'swapper/0'", "\"*",
		"CPUS{0-1}", "CPUS{1}", "CPUS{", "CPUS{0,2-9999}", "schedule", "\"\""
	};
	const char *field = ANY_OF(fields);
	char number[32];
	int is_text = strstr(field, "omm") && !strstr(field, "common");

	add(t, field);
	add(t, one_in(2) ? " " : "");
	if (!one_in(6))
		add(t, is_text ? (one_in(2) ? "==" : "~") : ops[below(7)]);
	else
		add(t, ANY_OF(ops));
	add(t, one_in(2) ? " " : "");
	if (is_text || one_in(6)) {
		add(t, is_text && !one_in(6) ? strings[below(6)] : ANY_OF(strings));
		return;
	}
	snprintf(number, sizeof(number), one_in(3) ? "0x%llx" : "%lld",
		 (long long)(one_in(3) ? odd_number() : below(10)));
	add(t, number);
}

static inline void add_formula(struct text *t, int depth)
{
	if (one_in(6))
		add(t, "!");
	if (!depth || one_in(3)) {
		add_term(t);
		return;
	}
	add(t, "(");
	add_formula(t, depth - 1);
	add(t, one_in(2) ? " && " : "||");
	add_formula(t, depth - 1);
	add(t, ")");
}

/* Cuts the text, changes or removes a character, or makes the text about too long. */
static inline void break_text(struct text *t)
{
	static const char odd[] = "()!&|~\"'<>=*[]{} a0\\\n\t\x80";
	unsigned int at = below(t->len + 1);

	switch (below(4)) {
	case 0:
		t->at[at] = '\0';
		break;
	case 1:
		t->at[at] = odd[below(sizeof(odd) - 1)];
		t->at[t->len + 1] = '\0';
		break;
	case 2:
		memmove(t->at + at, t->at + at + 1, t->len - at + 1);
		break;
	default:
		while (t->len < 4090 + below(10))
			add(t, one_in(2) ? "(" : " || cpu < 3");
	}
}

/* Tries all files of tracepoints: there are few, and a file accepts one filter only. */
static inline int try_filter(void)
{
	static struct text t;
	int i, ret = -1;

	t.len = 0;
	add(&t, "");
	add_formula(&t, one_in(4) ? below(9) : below(3));
	if (one_in(3))
		break_text(&t);
	if (one_in(20))
		return ioctl(any_file(), PERF_EVENT_IOC_SET_FILTER, odd_number());
	for (i = 0; i < FILES && ret; i++)
		if (files[i] >= 0 && attrs[i].type == PERF_TYPE_TRACEPOINT)
			ret = ioctl(files[i], PERF_EVENT_IOC_SET_FILTER, t.at);
	return ret;
}

#endif /* FUZZRING_H */
