/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions for tests that hammer rings. They open files whose records come from the
 * producers of tally_hammer.ko, and read them.
 */
#ifndef HAMMER_H
#define HAMMER_H

#include "devtest.h"
#include <inttypes.h>
#include <pthread.h>

#define HAMMER "/sys/kernel/debug/tally_hammer/"
#define MAX_CPUS 16
#define LEVELS 4

static int nr_cpus;
static int hit_id;
static uint64_t word_address;

/* Starts the producers; tasks sleep @us microseconds now and then. 0 stops all. */
static inline void hammers(int us)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", us);
	write_to(HAMMER "on", text);
}

/* The passes of each CPU and level, when passes() was last called. */
static uint64_t made_on[MAX_CPUS][LEVELS];

/* Stores in @made the passes of each level, summed over CPUs. */
static inline void passes(uint64_t made[LEVELS])
{
	uint64_t n[LEVELS];
	int i, cpu;
	FILE *f = fopen(HAMMER "made", "r");

	if (!f)
		err(2, "made");
	memset(made, 0, LEVELS * sizeof(*made));
	while (fscanf(f, "%d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &cpu, &n[0], &n[1],
		      &n[2], &n[3]) == 5)
		for (i = 0; i < LEVELS; i++) {
			made_on[cpu][i] = n[i];
			made[i] += n[i];
		}
	fclose(f);
}

static inline uint64_t all_passes(void)
{
	uint64_t made[LEVELS];

	passes(made);
	return made[0] + made[1] + made[2] + made[3];
}

static inline double seconds_now(void)
{
	return now_ns() / 1e9;
}

/* ---- NMIs in the middle of what writes ---- */

static volatile int stabbing;
static uint64_t stabs;

static const char *const victims[] = {
	/* The first two have reserve and commit inline, and run most often. */
	"sample_variable", "tally_record_sample", "sample_variable", "tally_ring_reserve_rest",
	"sample_variable", "no_room", "sample_variable", "tally_ring_wake",
};

/* The module's symbols, which the script copied from /proc/kallsyms. */
#define SYMBOLS "/tmp/tally_symbols"

static inline int find_code(const char *name, uint64_t *at, uint64_t *len)
{
	uint64_t address, next = ~0ULL;
	char line[512], symbol[256];
	FILE *f;
	int pass;

	*at = 0;
	for (pass = 0; pass < 2; pass++) {
		f = fopen(SYMBOLS, "r");
		if (!f)
			err(2, SYMBOLS);
		while (fgets(line, sizeof(line), f)) {
			if (sscanf(line, "%" SCNx64 " %*c %255s", &address, symbol) != 2)
				continue;
			if (!pass && !strcmp(symbol, name))
				*at = address;
			if (pass && address > *at && address < next)
				next = address;
		}
		fclose(f);
		if (!*at)
			return -1;
	}
	*len = next - *at < 4096 ? next - *at : 4096;
	return 0;
}

/* Puts a probe on a random instruction, again and again. */
static inline void *stab_all(void *unused)
{
	uint64_t at[8], len[8], part;
	unsigned int i, nr = 0;
	char text[64];
	int fd;

	for (i = 0; i < sizeof(victims) / sizeof(victims[0]); i++)
		if (!find_code(victims[i], &at[nr], &len[nr]))
			nr++;
	fd = open(HAMMER "stab", O_WRONLY);
	if (fd < 0 || !nr)
		err(2, "stab");
	srandom(time(NULL));
	while (stabbing) {
		i = random() % nr;
		/* One in four is the first instruction, which every call passes. */
		part = random() % 4 ? random() % len[i] : 0;
		snprintf(text, sizeof(text), "%#" PRIx64 " %d", at[i] + part,
			 len[i] - part < 60 ? (int)(len[i] - part) : 60);
		/* The write returns ENOENT if no instruction there can have a probe. */
		if (write(fd, text, strlen(text)) > 0)
			stabs++;
	}
	close(fd);
	return unused;
}

/* ---- events ---- */

static const uint64_t words_of_all = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
				     PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;
#define SAMPLE_SIZE 48u
#define RAW_SIZE 28u
#define HIT_SIZE (SAMPLE_SIZE + 4 + RAW_SIZE)
#define LOST_SIZE (8u + 16 + 32)

struct hit {
	uint16_t type;
	uint8_t flags;
	uint8_t preempt;
	int32_t pid;
	uint64_t seq;
	uint32_t level;
	uint32_t cpu;
} __attribute__((packed));

/* A record of a hit, without the header. */
struct hit_sample {
	uint64_t id;
	uint32_t pid, tid;
	uint64_t time;
	uint64_t addr;
	uint32_t cpu, cpu_unused;
	uint32_t raw_size;
	struct hit hit;
	uint32_t pad;
} __attribute__((packed));

enum kind { HITS, FAULTS, WORD, CLOCK, KINDS };
static const char *const kind_names[] = { "hits", "faults", "word", "clock" };

static inline void prepare(enum kind kind)
{
	usual();
	attr.sample_period = 1;
	attr.sample_type = words_of_all;
	attr.sample_id_all = 1;
	attr.disabled = 1;
	attr.wakeup_events = 20;
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
	switch (kind) {
	case HITS:
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = hit_id;
		attr.sample_type |= PERF_SAMPLE_RAW;
		break;
	case WORD:
		attr.type = PERF_TYPE_BREAKPOINT;
		attr.config = 0;
		attr.bp_type = 2;
		attr.bp_addr = word_address;
		attr.bp_len = 8;
		break;
	case CLOCK:
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		attr.sample_period = 1000000;
		break;
	default:
		break;
	}
	o.pid = -1;
}

/* Checks the record of a hit. Returns what is wrong with it, or NULL. */
static inline const char *bad_hit(const struct perf_event_header *h, int cpu)
{
	const struct hit_sample *s = (const void *)(h + 1);

	if (h->misc != PERF_RECORD_MISC_KERNEL)
		return "misc";
	if (h->size != HIT_SIZE)
		return "size";
	if (s->raw_size != RAW_SIZE || s->hit.type != hit_id)
		return "raw";
	if (s->hit.level >= LEVELS || s->hit.cpu != s->cpu || s->cpu_unused ||
	    s->hit.cpu >= MAX_CPUS || (cpu >= 0 && s->cpu != (uint32_t)cpu))
		return "cpu";
	if (!s->time || !s->hit.seq || s->addr)
		return "word";
	return NULL;
}

static inline void begin_hammer(void)
{
	nr_cpus = nr_online();
	word_address = number_in(HAMMER "word", 0);
	hit_id = trace_id("tally_hammer/tally_hammer_hit");
	if (!word_address || hit_id < 0)
		errx(2, "tally_hammer is not loaded");
}

/* ---- the events that a test has, and their rings ---- */

#define MAX_EVENTS (4 * MAX_CPUS)

/* An event; a member has no file, and -1 as its fd. */
struct event {
	enum kind kind;
	int fd;
	uint64_t id;
	char name[32];
	uint64_t seen;
	uint64_t value;
	uint64_t lost;
	uint64_t overflows;
};

static struct event events[MAX_EVENTS];
static int nr_events;
static struct ring rings[MAX_CPUS];
static int nr_rings;
static int leader = -1;

static struct event *new_event(enum kind kind, int cpu, int fd)
{
	struct event *e = &events[nr_events++];

	memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->fd = fd;
	snprintf(e->name, sizeof(e->name), "%s.%d", kind_names[kind], cpu < 0 ? 99 : cpu);
	return e;
}

/* Opens an event with a file or, with TALLY_OPEN_MEMBER, a member of the leader. */
static struct event *add(enum kind kind, int cpu, pid_t pid, unsigned int flags, int pages)
{
	struct event *e = new_event(kind, cpu, -1);
	int fd;

	prepare(kind);
	o.pid = pid;
	o.cpu = cpu;
	o.flags = flags;
	if (flags & TALLY_OPEN_MEMBER) {
		o.group_fd = leader;
		attr.disabled = 0;
	}
	attr.write_backward = pages < 0;
	snprintf(o.name, sizeof(o.name), "%s", e->name);
	fd = must_open(TALLY, &o);
	if (flags & TALLY_OPEN_MEMBER)
		return e;
	e->fd = fd;
	return e;
}

static int wants_word(void)
{
#ifdef __x86_64__
	return 1;
#else
	return 0;
#endif
}

static void map_one(int fd, int pages, int at_cpu, int prot)
{
	uint64_t at = at_cpu < 0 ? 0 : TALLY_RING_AT(at_cpu);

	if (map_ring(&rings[nr_rings], fd, pages, prot, at))
		err(2, "mmap");
	rings[nr_rings++].cpu = at_cpu;
}

static void to_ring_of(int fd, int other)
{
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, other))
		err(2, "SET_OUTPUT");
}

/* On all CPUs: a leader with members, and another file that writes to their rings. */
static void open_all_cpus(int pages)
{
	int cpu, fd;

	leader = add(HITS, -1, -1, TALLY_OPEN_ALL_CPUS, pages)->fd;
	for (cpu = 0; cpu < nr_cpus; cpu++)
		map_one(leader, pages, cpu, PROT_READ | PROT_WRITE);
	add(CLOCK, -1, -1, TALLY_OPEN_ALL_CPUS | TALLY_OPEN_MEMBER, pages);
	if (wants_word())
		add(WORD, -1, -1, TALLY_OPEN_ALL_CPUS | TALLY_OPEN_MEMBER, pages);
	fd = add(FAULTS, -1, -1, TALLY_OPEN_ALL_CPUS, pages)->fd;
	to_ring_of(fd, leader);
}

/* The same events with a file for each event and CPU. */
static void open_each_cpu(int pages)
{
	int cpu, first;

	for (cpu = 0; cpu < nr_cpus; cpu++) {
		first = add(HITS, cpu, -1, 0, pages)->fd;
		map_one(first, pages, -1, PROT_READ | PROT_WRITE);
		rings[nr_rings - 1].cpu = cpu;
		to_ring_of(add(CLOCK, cpu, -1, 0, pages)->fd, first);
		to_ring_of(add(FAULTS, cpu, -1, 0, pages)->fd, first);
		if (wants_word())
			to_ring_of(add(WORD, cpu, -1, 0, pages)->fd, first);
	}
}

/* Opens events of a task that moves from CPU to CPU. */
static void open_task(pid_t tid, int pages)
{
	leader = add(FAULTS, -1, tid, 0, pages)->fd;
	map_one(leader, pages, -1, PROT_READ | PROT_WRITE);
	add(CLOCK, -1, tid, TALLY_OPEN_MEMBER, pages);
	add(HITS, -1, tid, TALLY_OPEN_MEMBER, pages);
	if (wants_word())
		to_ring_of(add(WORD, -1, tid, 0, pages)->fd, leader);
}

static void tell_all(unsigned int cmd, enum kind from, enum kind to)
{
	int i;

	for (i = 0; i < nr_events; i++)
		if (events[i].fd >= 0 && events[i].kind >= from && events[i].kind <= to)
			ioctl(events[i].fd, cmd, 0);
}

/* Reads the counts, ids and losses of all events, in the order they were made in. */
static void read_events(void)
{
	struct { uint64_t nr, v[8][3]; } words;
	char path[128];
	unsigned int k;
	int i, j;

	for (i = 0; i < nr_events; i++) {
		if (events[i].fd < 0)
			continue;
		if (read(events[i].fd, &words, sizeof(words)) < 8)
			err(2, "read");
		for (k = 0, j = i; k < words.nr && k < 8; k++) {
			events[j].value = words.v[k][0];
			events[j].id = words.v[k][1];
			events[j].lost = words.v[k][2];
			for (j++; j < nr_events && events[j].fd >= 0; j++)
				;
		}
	}
	for (i = 0; i < nr_events; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/tally/%s/overflows",
			 events[i].name);
		events[i].overflows = number_in(path, ~0ULL);
	}
}

#endif /* HAMMER_H */
