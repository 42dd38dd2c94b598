/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that the tests of rings share. They open a ring of perf and one of tally for
 * the same overflows, and compare the records.
 */
#ifndef DEVRING_H
#define DEVRING_H

#include "devtest.h"

static struct ring perf_ring, tally_ring;

/* The next record of a forward ring; NULL if there is none. */
static inline struct perf_event_header *next(struct ring *r)
{
	struct perf_event_header *h, *copy = (void *)r->record;
	uint64_t head = head_of(r);

	if (r->tail == head)
		return NULL;
	h = copy_record(r, r->tail, head);
	if (!h)
		tell(0, "a record of %u bytes, with %llu left", copy->size,
		     (unsigned long long)(head - r->tail));
	r->tail = h ? r->tail + h->size : head;
	return h;
}

/* Opens an event of perf and one of tally with the same attr, and maps their rings. */
static inline int both(int pages, int prot)
{
	int fd = open_as(PERF, &o);

	if (fd < 0 || map_ring(&perf_ring, fd, pages, prot, 0)) {
		tell(0, "perf's: %m");
		return -1;
	}
	fd = open_it();
	if (fd < 0 || map_ring(&tally_ring, fd, pages, prot, 0)) {
		tell(0, "tally's: %m: %s", why.text);
		unmap_ring(&perf_ring);
		return -1;
	}
	return 0;
}

static inline void open_both(void)
{
	memset(&perf_ring, 0, sizeof(perf_ring));
	memset(&tally_ring, 0, sizeof(tally_ring));
	perf_ring.fd = open_as(PERF, &o);
	tally_ring.fd = open_it();
	if (perf_ring.fd < 0 || tally_ring.fd < 0)
		tell(0, "open: %m: %s", why.text);
}

static inline void neither(void)
{
	unmap_ring(&perf_ring);
	unmap_ring(&tally_ring);
}

/* Enables tally's event last, and disables it first: perf's sees all that it sees. */
static inline void switch_both(int on)
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

/*
 * Enables both events for the page faults of the area. The first switch_both() and
 * touch() fault in all other pages that the test uses.
 */
static inline void begin_both(void)
{
	switch_both(0);
	touch(1);
	switch_both(1);
}

static inline void fault_both(int pages)
{
	begin_both();
	touch(pages);
	switch_both(0);
}

static inline void pause_both(int paused)
{
	ioctl(perf_ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, paused);
	ioctl(tally_ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, paused);
}

/* Takes out an id, and returns whether it is the event's. */
static inline int own_id(uint64_t *word, const struct ring *r)
{
	int good = *word == r->id;

	*word = 0;
	return good;
}

/* The records of perf and tally have the same times: the driver's. */
static int same_times;

static inline int later(uint64_t *word, uint64_t *last)
{
	int good = *word >= *last && *word;

	*last = *word;
	if (!same_times)
		*word = 0;
	return good;
}

static inline int drop_words(uint64_t **at, uint64_t type, const struct ring *r, uint64_t *last)
{
	static const struct {
		uint64_t bit;
		int what; /* 1: an id, 2: a time */
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

static inline uint64_t words(uint64_t bits)
{
	return __builtin_popcountll(bits);
}

#define TRAILER (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
		 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* Takes out ids and times, which differ, and returns whether those are right. */
static inline int plain(struct perf_event_header *h, const struct ring *r, uint64_t *last)
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
	/* The trailer has TID, TIME, ID, STREAM_ID, CPU and IDENTIFIER. */
	at = end - words(type & TRAILER);
	good &= drop_words(&at, type & TRAILER & ~(uint64_t)PERF_SAMPLE_IDENTIFIER, r, last);
	if (type & PERF_SAMPLE_IDENTIFIER)
		good &= own_id(end - 1, r);
	return good;
}

#if defined(__x86_64__) || defined(__i386__)
/* ax to ip, flags and sp, which 32-bit and 64-bit programs have. */
#define SOME_REGS 0x3ffULL
#else
#define SOME_REGS 0x1ffffffffULL
#endif

static inline void show(const char *whose, const struct perf_event_header *h, int from)
{
	const uint64_t *at = (const uint64_t *)h;
	int i;

	printf("# %s from word %d on:", whose, from);
	for (i = from; i < h->size / 8 && i < from + 40; i++)
		printf(" %llx", (unsigned long long)at[i]);
	printf("\n");
}

/* Returns the index of the first word that differs. */
static inline int differs(const struct perf_event_header *a, const struct perf_event_header *b)
{
	const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;
	int i = 0;

	while (i < a->size / 8 - 1 && x[i] == y[i])
		i++;
	return i;
}

/* Checks that both rings have the same records, and returns how many. */
static inline int compare(const char *what, int at_least)
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

static inline int count_samples(struct ring *r, uint64_t *lost)
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

static inline int polled(int fd)
{
	return polled_for(fd, 50);
}

/* Prepares a disabled event that samples each page fault of the caller. */
static inline void faults(uint64_t type)
{
	usual();
	attr.sample_period = 1;
	attr.sample_type = type;
	attr.disabled = 1;
	attr.sample_id_all = 1;
	attr.wakeup_events = 1;
}

/* Makes it an event of task_rename, a tracepoint that the test hits when it wants. */
static inline void of_renames(void)
{
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = trace_id("task/task_rename");
}

static inline void need_renames(void)
{
	if (trace_id("task/task_rename") < 0)
		tell(0, "there is no task_rename");
}

/* Renames the task to "name" and @i from 0 to 9, without faults in the C library. */
static inline void rename_to(int i)
{
	char name[] = "name 0";

	name[5] += i;
	prctl(PR_SET_NAME, name);
}

#endif /* DEVRING_H */
