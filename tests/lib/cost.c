// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of taking a record from a ring, in instructions, which are counted by single
 * steps. It is compared with a memcpy() of the same records.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test.h"

#define RECORDS 200

static size_t page_size;
static char *map;
static size_t mapped;
static volatile uint64_t sink;

/* Fills a ring with records of @size bytes, whose first word is their number. */
static void fill(struct libtally_ring *ring, size_t size)
{
	struct perf_event_mmap_page *page = (void *)map;
	static struct bytes b;

	memset(map, 0, mapped);
	page->data_offset = page_size;
	page->data_size = mapped - page_size;
	for (int i = 0; i < RECORDS; i++) {
		begin(&b, PERF_RECORD_SAMPLE, 0);
		put64(&b, 1);
		put64(&b, i + 1);
		while (b.n < size)
			put64(&b, 0);
		end(&b);
		memcpy(map + page_size + i * size, b.u.b, size);
	}
	page->data_head = RECORDS * size;
	if (libtally_ring_attach(ring, map, mapped, -1, 0))
		_exit(2);
}

static void __attribute__((noinline)) drain(struct libtally_ring *ring)
{
	const struct perf_event_header *h;
	uint64_t sum = 0;

	while ((h = libtally_ring_next(ring)))
		sum += h->size;
	sink = sum;
}

static void __attribute__((noinline)) drain_all(struct libtally_reader *reader)
{
	const struct perf_event_header *h;
	uint64_t sum = 0;

	while ((h = libtally_reader_next(reader)))
		sum += h->size;
	sink = sum;
}

static void __attribute__((noinline)) copy(const char *from)
{
	static char to[65536];

	for (int i = 0; i < RECORDS; i++) {
		const struct perf_event_header *h = (const void *)from;

		memcpy(to, from, h->size);
		from += h->size;
	}
	sink = to[0];
}

static void child(size_t size)
{
	struct libtally_reader *reader = libtally_reader_new();
	struct libtally_ring ring, again;
	struct perf_event_attr attr;
	__u64 id = 1;

	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, 0);
	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;
	libtally_events_add(libtally_reader_events(reader), &attr, &id, 1, NULL);
	fill(&ring, size);
	fill(&again, size);
	libtally_reader_add(reader, &again);
	copy(map + page_size);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	raise(SIGSTOP);
	copy(map + page_size);
	raise(SIGSTOP);
	drain(&ring);
	raise(SIGSTOP);
	drain_all(reader);
	raise(SIGSTOP);
	_exit(0);
}

/* Returns the number of instructions until the child stops itself again. */
static long step(pid_t pid)
{
	int status, signal = 0;
	long n = 0;

	for (;; n++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, signal) || waitpid(pid, &status, 0) < 0 ||
		    !WIFSTOPPED(status))
			exit(2);
		signal = 0;
		if (WSTOPSIG(status) == SIGSTOP)
			return n;
	}
}

static void measure(size_t size)
{
	long empty, copies, drains, readers;
	char text[128];
	int status;
	pid_t pid = fork();

	if (!pid)
		child(size);
	waitpid(pid, &status, 0);
	empty = step(pid);
	copies = step(pid) - empty;
	drains = step(pid) - empty;
	readers = step(pid) - empty;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	printf("# %zu bytes: memcpy %.1f, libtally_ring_next %.1f, libtally_reader_next %.1f\n",
	       size, (double)copies / RECORDS, (double)drains / RECORDS, (double)readers / RECORDS);
	CHECK(drains <= 2 * copies);
	CHECK(copies > 5 * RECORDS && drains > 5 * RECORDS);
	snprintf(text, sizeof(text), "a record of %zu bytes costs at most two memcpy() of it", size);
	test_end(text);
}

int main(void)
{
	page_size = sysconf(_SC_PAGESIZE);
	mapped = page_size + 1024 * 1024;
	map = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	measure(24);
	measure(48);
	measure(96);
	measure(400);
	return 0;
}
