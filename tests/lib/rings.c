// SPDX-License-Identifier: GPL-2.0
/*
 * Rings in memory, which the test writes as the kernel does, and the library reads: rings
 * that wrap, are mapped twice, are overwritten, are backward, and many merged by time.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include "test.h"

static size_t page_size;

/* The writer of a ring. */
struct writer {
	void *map;
	size_t mapped;
	struct perf_event_mmap_page *page;
	unsigned char *data;
	uint64_t size, head;
	uint64_t nr;		/* number of the next record */
	uint64_t lost;
	int twice;
};

static void writer_init(struct writer *w, size_t pages, int twice)
{
	memset(w, 0, sizeof(*w));
	w->size = pages * page_size;
	w->mapped = page_size + w->size * (twice ? 2 : 1);
	w->twice = twice;
	if (twice) {
		/* Only a file can be mapped twice: the data follow the page two times. */
		int fd = memfd_create("ring", 0);
		char *map;

		if (ftruncate(fd, page_size + w->size))
			exit(2);
		map = mmap(NULL, w->mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			   -1, 0);
		mmap(map, page_size + w->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		     fd, 0);
		mmap(map + page_size + w->size, w->size, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, fd, page_size);
		close(fd);
		w->map = map;
	} else {
		w->map = mmap(NULL, w->mapped, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	}
	if (w->map == MAP_FAILED)
		exit(2);
	w->page = w->map;
	w->data = (unsigned char *)w->map + page_size;
	w->page->data_offset = page_size;
	w->page->data_size = w->size;
}

static void writer_free(struct writer *w)
{
	munmap(w->map, w->mapped);
}

static void copy_in(struct writer *w, uint64_t at, const struct bytes *b)
{
	for (size_t i = 0; i < b->n; i++)
		w->data[(at + i) & (w->size - 1)] = b->u.b[i];
}

/* Makes a sample of IDENTIFIER and TIME, filled up to @size bytes. */
static void make(struct bytes *b, uint64_t time, uint64_t nr, size_t size)
{
	begin(b, PERF_RECORD_SAMPLE, 0);
	put64(b, 1);
	put64(b, time);
	put64(b, nr);
	while (b->n < size)
		put64(b, nr ^ b->n);
	end(b);
}

static size_t any_size(size_t most)
{
	return 32 + 8 * below((most - 24) / 8);
}

/* Writes a record. As in the kernel, it is lost if there is no room. */
static int write_one(struct writer *w, uint64_t time, size_t size)
{
	static __thread struct bytes b;

	if (size > w->size - (w->head - __atomic_load_n(&w->page->data_tail, __ATOMIC_ACQUIRE))) {
		w->lost++;
		return 0;
	}
	make(&b, time, w->nr++, size);
	copy_in(w, w->head, &b);
	w->head += b.n;
	__atomic_store_n(&w->page->data_head, w->head, __ATOMIC_RELEASE);
	return 1;
}

static uint64_t word_of(const struct perf_event_header *h, int n)
{
	return ((const uint64_t *)h)[n];
}

static int is_good(const struct perf_event_header *h)
{
	if (h->type != PERF_RECORD_SAMPLE || (uintptr_t)h % 8 || word_of(h, 1) != 1)
		return 0;
	for (size_t at = 32; at < h->size; at += 8)
		if (word_of(h, at / 8) != (word_of(h, 3) ^ at))
			return 0;
	return 1;
}

static void forward(int twice, uint64_t batch, const char *name)
{
	const struct perf_event_header *h;
	struct libtally_ring ring;
	struct writer w;
	uint64_t nr = 0;

	writer_init(&w, 4, twice);
	/* The positions begin near their maximum, and wrap. */
	w.head = -4 * w.size;
	w.page->data_head = w.head;
	w.page->data_tail = w.head;
	EQUAL(libtally_ring_attach(&ring, w.map, w.mapped, -1, twice ? LIBTALLY_RING_TWICE : 0), 0);
	libtally_ring_set_batch(&ring, batch);
	CHECK(!libtally_ring_next(&ring));
	for (int i = 0; i < 20000 && !test_failures; i++) {
		int writes = below(20), reads = below(20);

		while (writes--)
			write_one(&w, i, any_size(below(10) ? 200 : 9000));
		while (reads--) {
			h = libtally_ring_next(&ring);
			if (!h)
				break;
			CHECK(is_good(h));
			EQUAL(word_of(h, 3), nr++);
			/* The library must not free a record that is still in use. */
			CHECK(ring.at - h->size - w.page->data_tail <= w.size);
			if (batch == 1)
				CHECK(ring.at - w.page->data_tail <= h->size);
		}
		CHECK(ring.at - w.page->data_tail <= (batch ? batch : w.size / 4) + 9000);
	}
	while ((h = libtally_ring_next(&ring)))
		EQUAL(word_of(h, 3), nr++);
	EQUAL(nr, w.nr);
	EQUAL(w.page->data_tail, w.head);
	EQUAL(ring.skipped, 0);
	CHECK(w.lost);
	libtally_ring_unmap(&ring);
	writer_free(&w);
	test_end(name);
}

/* libtally_ring_release() writes data_tail, and frees only records that were read. */
static void release(void)
{
	struct libtally_ring ring;
	struct writer w;

	writer_init(&w, 1, 0);
	EQUAL(libtally_ring_attach(&ring, w.map, w.mapped, -1, 0), 0);
	for (int i = 0; i < 10; i++)
		write_one(&w, i, 32);
	libtally_ring_next(&ring);
	EQUAL(w.page->data_tail, 0);
	libtally_ring_release(&ring);
	EQUAL(w.page->data_tail, 32);
	libtally_ring_unmap(&ring);
	writer_free(&w);
	test_end("the tail is written in batches, and when asked for");
}

static void damaged(void)
{
	static const uint16_t sizes[] = { 0, 7, 12, 8000, 65535 };
	struct libtally_ring ring;
	struct writer w;
	uint16_t size;

	for (unsigned int i = 0; i < 5; i++) {
		writer_init(&w, 1, 0);
		EQUAL(libtally_ring_attach(&ring, w.map, w.mapped, -1, 0), 0);
		for (int n = 0; n < 10; n++)
			write_one(&w, n, 40);
		size = sizes[i];
		memcpy(w.data + 40 * 3 + 6, &size, 2);
		for (int n = 0; n < 3; n++)
			CHECK(libtally_ring_next(&ring));
		CHECK(!libtally_ring_next(&ring));
		EQUAL(ring.error, (unsigned long long)LIBTALLY_RECORD_BAD_SIZE);
		EQUAL(ring.skipped, 280);
		EQUAL(w.page->data_tail, w.head);
		CHECK(!libtally_ring_next(&ring));
		EQUAL(ring.error, 0);
		write_one(&w, 1, 40);
		CHECK(libtally_ring_next(&ring));
		/* data_head is far beyond the ring. */
		w.page->data_head = w.head + 100 * w.size;
		CHECK(!libtally_ring_next(&ring));
		EQUAL(ring.error, (unsigned long long)LIBTALLY_RECORD_BAD_SIZE);
		libtally_ring_unmap(&ring);
		writer_free(&w);
	}
	test_end("what is no record is left out up to the head");
}

/* Heads that the kernel never writes: the library reads no partial header. */
static void odd_heads(void)
{
	static const unsigned int modes[] = { 0, LIBTALLY_RING_READ_ONLY };
	struct libtally_ring ring;
	struct writer w;
	size_t size;
	char *map;

	for (int m = 0; m < 2; m++) {
		writer_init(&w, 1, 0);
		EQUAL(libtally_ring_attach(&ring, w.map, w.mapped, -1, modes[m]), 0);
		for (int n = 0; n < 3; n++)
			write_one(&w, n, 40);
		for (int n = 1; n < 8; n++) {
			w.page->data_head = w.head + n;
			CHECK(!libtally_ring_next(&ring));
			EQUAL(ring.error, (unsigned long long)LIBTALLY_RECORD_BAD_SIZE);
			w.page->data_head = w.head + 100 * w.size + n;
			CHECK(!libtally_ring_next(&ring));
			EQUAL(ring.error, (unsigned long long)LIBTALLY_RECORD_BAD_SIZE);
		}
		EQUAL(ring.at, 0);
		EQUAL(ring.skipped, 0);
		w.page->data_head = w.head;
		for (int n = 0; n < 3; n++)
			CHECK(libtally_ring_next(&ring));
		CHECK(!libtally_ring_next(&ring));
		EQUAL(ring.error, 0);
		libtally_ring_unmap(&ring);
		writer_free(&w);
	}

	/* The data end with their memory, so a read beyond them is found. */
	size = page_size + 4096;
	map = malloc(size);
	memset(map, 0, size);
	w.page = (void *)map;
	w.page->data_offset = page_size;
	w.page->data_size = 4096;
	w.page->data_tail = 4092;
	w.page->data_head = 4100;
	CHECK(libtally_ring_attach(&ring, map, size, -1, 0) < 0);
	w.page->data_tail = 0;
	w.page->data_size = 4;
	CHECK(libtally_ring_attach(&ring, map, size, -1, 0) < 0);
	w.page->data_size = 4096;
	EQUAL(libtally_ring_attach(&ring, map, size, -1, 0), 0);
	CHECK(!libtally_ring_next(&ring));
	w.page->data_head = 5000 + 4092;
	CHECK(!libtally_ring_next(&ring));
	libtally_ring_unmap(&ring);
	free(map);
	test_end("a head or a tail at no multiple of 8");
}

static void refused(void)
{
	struct libtally_ring ring;
	struct writer w;

	writer_init(&w, 2, 0);
	CHECK(libtally_ring_attach(&ring, w.map, page_size, -1, 0) < 0);
	CHECK(libtally_ring_attach(&ring, w.map, w.mapped, -1, LIBTALLY_RING_BACKWARD) < 0);
	CHECK(libtally_ring_attach(&ring, w.map, w.mapped, -1, LIBTALLY_RING_TWICE) < 0);
	w.page->data_size = 3 * page_size;
	CHECK(libtally_ring_attach(&ring, w.map, w.mapped, -1, 0) < 0);
	w.page->data_size = 4 * page_size;
	CHECK(libtally_ring_attach(&ring, w.map, w.mapped, -1, 0) < 0);
	w.page->data_size = 2 * page_size;
	w.page->data_offset = 2 * page_size;
	CHECK(libtally_ring_attach(&ring, w.map, w.mapped, -1, 0) < 0);
	w.page->data_offset = -8ULL;
	CHECK(libtally_ring_attach(&ring, w.map, w.mapped, -1, 0) < 0);
	CHECK(libtally_ring_map(&ring, -1, 3, 0, 0) < 0);
	CHECK(libtally_ring_map(&ring, -1, 4, 0, 0) < 0);
	w.page->data_size = 0;
	w.page->data_offset = 0;
	EQUAL(libtally_ring_attach(&ring, w.map, w.mapped, -1, 0), 0);
	EQUAL(ring.size, w.size);
	libtally_ring_unmap(&ring);
	writer_free(&w);
	test_end("rings that cannot be are refused; an old kernel's is taken");
}

static void put_backward(struct writer *w, uint64_t time, size_t size)
{
	static __thread struct bytes b;

	make(&b, time, w->nr++, size);
	copy_in(w, w->head - size, &b);
	w->head -= size;
	__atomic_store_n(&w->page->data_head, w->head, __ATOMIC_RELEASE);
}

static void backward(void)
{
	const struct perf_event_header *h;
	struct libtally_ring ring;
	struct writer w;

	for (int round = 0; round < 300 && !test_failures; round++) {
		int nr = round < 20 ? round : (int)below(500), told;
		uint64_t sum = 0, expected;
		uint64_t sizes[512];

		writer_init(&w, 1 << below(3), 0);
		EQUAL(libtally_ring_attach(&ring, w.map, w.mapped, -1,
					   LIBTALLY_RING_READ_ONLY | LIBTALLY_RING_BACKWARD), 0);
		for (int i = 0; i < nr; i++) {
			sizes[i] = any_size(below(10) ? 200 : 3000);
			put_backward(&w, i, sizes[i]);
		}
		for (told = 0; told < nr && sum + sizes[nr - 1 - told] <= w.size; told++)
			sum += sizes[nr - 1 - told];
		/* This ring cannot be paused: the kernel may be overwriting its end. */
		EQUAL(libtally_ring_pause(&ring, 1) < 0, 1);
		expected = libtally_ring_snapshot(&ring);
		CHECK(expected <= (uint64_t)told);
		if (sum < w.size / 2)
			EQUAL(expected, told);
		for (uint64_t i = 0; i < expected; i++) {
			h = libtally_ring_next(&ring);
			CHECK(h && is_good(h));
			if (h)
				EQUAL(word_of(h, 3), nr - expected + i);
		}
		CHECK(!libtally_ring_next(&ring));
		CHECK(!libtally_ring_next(&ring));
		libtally_ring_unmap(&ring);
		writer_free(&w);
	}
	test_end("a backward ring, the oldest record first");
}

struct flood {
	struct writer *w;
	volatile int stop;
	int backward;
};

static void *flood(void *data)
{
	struct flood *f = data;
	uint64_t seed = 12345;

	while (!f->stop) {
		size_t size;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		size = 32 + 8 * (seed >> 60);
		if (f->backward) {
			put_backward(f->w, 0, size);
		} else {
			/* The writer does not wait for the reader. */
			f->w->page->data_tail = f->w->head;
			write_one(f->w, 0, size);
		}
		for (volatile int i = seed >> 55; i > 0; i--)
			;
	}
	return NULL;
}

/* Reads a ring that is being written to: each returned record is whole, and in order. */
static void overwritten(int back, const char *name)
{
	const struct perf_event_header *h;
	struct flood f = { .backward = back };
	uint64_t nr = 0, told = 0, next = 0;
	struct libtally_ring ring;
	struct writer w;
	pthread_t thread;

	writer_init(&w, 2, 0);
	f.w = &w;
	EQUAL(libtally_ring_attach(&ring, w.map, w.mapped, -1, LIBTALLY_RING_READ_ONLY |
				   (back ? LIBTALLY_RING_BACKWARD : 0)), 0);
	pthread_create(&thread, NULL, flood, &f);
	for (int round = 0; round < 3000; round++) {
		if (back)
			CHECK(libtally_ring_snapshot(&ring) >= 0);
		while ((h = libtally_ring_next(&ring))) {
			CHECK(is_good(h));
			if (back && next)
				EQUAL(word_of(h, 3), next);
			else
				CHECK(!told || word_of(h, 3) > nr);
			nr = word_of(h, 3);
			next = nr + 1;
			told++;
		}
		next = 0;
		if (back)
			nr = told = 0;
		if (round % 100 == 0)
			usleep(1000);
	}
	f.stop = 1;
	pthread_join(thread, NULL);
	printf("# %llu bytes were left out\n", (unsigned long long)ring.skipped);
	libtally_ring_unmap(&ring);
	writer_free(&w);
	test_end(name);
}

static void slow_reader(void)
{
	const struct perf_event_header *h;
	struct libtally_ring ring;
	struct writer w;
	int told = 0;

	writer_init(&w, 1, 0);
	EQUAL(libtally_ring_attach(&ring, w.map, w.mapped, -1, LIBTALLY_RING_READ_ONLY), 0);
	for (int i = 0; i < 1000; i++) {
		w.page->data_tail = w.head;
		write_one(&w, i, 64);
	}
	CHECK(!libtally_ring_next(&ring));
	EQUAL(ring.error, (unsigned long long)-75);
	EQUAL(ring.skipped, 64000);
	for (int i = 0; i < 10; i++) {
		w.page->data_tail = w.head;
		write_one(&w, i, 64);
	}
	while ((h = libtally_ring_next(&ring))) {
		EQUAL(word_of(h, 3), 1000 + told);
		told++;
	}
	EQUAL(told, 10);
	libtally_ring_unmap(&ring);
	writer_free(&w);
	test_end("a reader that is too slow for a ring that is overwritten");
}

/*
 * Records that are written but not in data_head: a writer was interrupted, and those of
 * the interrupts are complete. The library returns neither these records nor the ones
 * they have overwritten.
 */
static void unpublished(int back)
{
	const struct perf_event_header *h;
	static struct bytes b;
	struct libtally_ring ring;
	struct writer w;
	int told = 0;

	writer_init(&w, 16, 0);
	EQUAL(libtally_ring_attach(&ring, w.map, w.mapped, -1, LIBTALLY_RING_READ_ONLY |
				   (back ? LIBTALLY_RING_BACKWARD : 0)), 0);
	for (unsigned int i = 0; i < w.size / 32 - (back ? 0 : 8); i++) {
		if (back)
			put_backward(&w, 1, 32);
		else
			write_one(&w, 1, 32);
	}
	for (unsigned int i = 1; i < w.size / 64; i++) {
		make(&b, 2, w.nr++, 32);
		copy_in(&w, back ? w.head - 32 * i : w.head + 32 * (i - 1), &b);
	}
	if (back)
		libtally_ring_snapshot(&ring);
	while ((h = libtally_ring_next(&ring))) {
		CHECK(is_good(h));
		EQUAL(word_of(h, 2), 1);
		told++;
	}
	/* A reader that was overtaken goes on at the head. */
	EQUAL(told, back ? w.size / 64 : 0);
	EQUAL(ring.skipped, back ? w.size / 2 : w.head);
	libtally_ring_unmap(&ring);
	writer_free(&w);
	test_end(back ? "records of a backward ring that are not published" :
			"records of a ring that is overwritten that are not published");
}

static struct libtally_reader *reader_of(struct libtally_ring *rings, int nr)
{
	struct libtally_reader *reader = libtally_reader_new();
	struct perf_event_attr attr;
	__u64 id = 1;

	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, 0);
	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;
	attr.sample_id_all = 1;
	EQUAL(libtally_events_add(libtally_reader_events(reader), &attr, &id, 1, NULL), 0);
	for (int i = 0; i < nr; i++)
		EQUAL(libtally_reader_add(reader, &rings[i]), i);
	return reader;
}

#define RINGS 7

/* The writers take turns, and reads come at any time: all records are in order. */
static void merge(void)
{
	const struct perf_event_header *h;
	static struct libtally_ring rings[RINGS];
	static struct writer w[RINGS];
	uint64_t time = 1, last = 0, told = 0, nr[RINGS] = { 0 }, written = 0;
	struct libtally_reader *reader;
	struct libtally_record r;

	for (int i = 0; i < RINGS; i++) {
		writer_init(&w[i], 2, 0);
		EQUAL(libtally_ring_attach(&rings[i], w[i].map, w[i].mapped, -1, 0), 0);
	}
	reader = reader_of(rings, RINGS);
	for (int step = 0; step < 100000 && !test_failures; step++) {
		if (below(2)) {
			written += write_one(&w[below(RINGS)], time, any_size(200));
			time += below(3);
		} else {
			h = libtally_reader_next(reader);
			if (h) {
				int ring = libtally_reader_ring(reader);

				CHECK(is_good(h));
				CHECK(word_of(h, 2) >= last);
				last = word_of(h, 2);
				EQUAL(word_of(h, 3), nr[ring]++);
				EQUAL(libtally_reader_parse(reader, h, &r), 0);
				EQUAL(r.u.sample.time, last);
				told++;
			}
		}
	}
	while ((h = libtally_reader_next(reader))) {
		CHECK(word_of(h, 2) >= last);
		last = word_of(h, 2);
		told++;
	}
	EQUAL(told, written);
	EQUAL(libtally_reader_late(reader), 0);
	EQUAL(libtally_reader_poll(reader, 0), (unsigned long long)-32);
	for (int i = 0; i < RINGS; i++)
		EQUAL(w[i].page->data_tail, w[i].head);
	libtally_reader_free(reader);
	for (int i = 0; i < RINGS; i++) {
		libtally_ring_unmap(&rings[i]);
		writer_free(&w[i]);
	}
	test_end("many rings by time");
}

/* Freeing a reader leaves the records that it has not returned in the rings. */
static void let_go(void)
{
	const struct perf_event_header *h;
	static struct libtally_ring rings[3];
	static struct writer w[3];
	uint64_t nr[3] = { 0 };
	struct libtally_reader *reader;
	int told = 0, all = 0;

	for (int i = 0; i < 3; i++) {
		writer_init(&w[i], 1, 0);
		EQUAL(libtally_ring_attach(&rings[i], w[i].map, w[i].mapped, -1,
					   i < 2 ? 0 : LIBTALLY_RING_READ_ONLY), 0);
	}
	/* The reader ends at any place of the rings, also where a record wraps. */
	for (int round = 0; round < 300 && !test_failures; round++) {
		reader = reader_of(rings, 3);
		for (int n = below(12); n; n--) {
			int i = below(3);

			if (i == 2)
				w[i].page->data_tail = w[i].head;
			all += write_one(&w[i], 3 * round, any_size(200));
		}
		for (int n = below(12); n && (h = libtally_reader_next(reader)); n--) {
			EQUAL(word_of(h, 3), nr[libtally_reader_ring(reader)]++);
			told++;
		}
		libtally_reader_free(reader);
		for (int i = 0; i < 3; i++) {
			while ((h = libtally_ring_next(&rings[i]))) {
				CHECK(is_good(h));
				EQUAL(word_of(h, 3), nr[i]++);
				told++;
			}
			EQUAL(rings[i].error, 0);
		}
		EQUAL(told, all);
	}
	/* The reader does not access rings that are unmapped before it ends. */
	reader = reader_of(rings, 3);
	for (int i = 0; i < 3; i++)
		write_one(&w[i], 1, 40);
	CHECK(libtally_reader_next(reader));
	for (int i = 0; i < 3; i++) {
		libtally_ring_unmap(&rings[i]);
		writer_free(&w[i]);
	}
	libtally_reader_free(reader);
	test_end("rings of others go on where the reader was");
}

/* A snapshot of rings that are not backward is refused, and loses no record. */
static void mixed(void)
{
	static struct libtally_ring rings[2];
	static struct writer w[2];
	struct libtally_reader *reader;
	int told = 0;

	for (int i = 0; i < 2; i++) {
		writer_init(&w[i], 1, 0);
		EQUAL(libtally_ring_attach(&rings[i], w[i].map, w[i].mapped, -1, 0), 0);
	}
	reader = reader_of(rings, 2);
	for (int i = 0; i < 10; i++)
		write_one(&w[i % 2], i, 40);
	CHECK(libtally_reader_next(reader));
	EQUAL(libtally_reader_snapshot(reader), (unsigned long long)-22);
	while (libtally_reader_next(reader))
		told++;
	EQUAL(told, 9);
	libtally_reader_free(reader);
	for (int i = 0; i < 2; i++) {
		libtally_ring_unmap(&rings[i]);
		writer_free(&w[i]);
	}
	test_end("no snapshot of a ring that is not backward");
}

static uint64_t clock_ns;

struct many {
	struct writer *w;
	volatile int *stop;
};

static void *write_many(void *data)
{
	struct many *m = data;

	while (!*m->stop)
		write_one(m->w, __atomic_add_fetch(&clock_ns, 1, __ATOMIC_SEQ_CST), 48);
	return NULL;
}

/*
 * Threads take the time, and then write a record. A record is late if its writer was
 * delayed in between; the reader counts those. No record is missing or returned twice.
 */
static void merge_live(void)
{
	const struct perf_event_header *h;
	static struct libtally_ring rings[4];
	static struct writer w[4];
	struct many many[4];
	pthread_t threads[4];
	uint64_t nr[4] = { 0 }, told = 0, written = 0, late = 0, last = 0;
	struct libtally_reader *reader;
	volatile int stop = 0;

	for (int i = 0; i < 4; i++) {
		writer_init(&w[i], 4, 0);
		EQUAL(libtally_ring_attach(&rings[i], w[i].map, w[i].mapped, -1, 0), 0);
		many[i].w = &w[i];
		many[i].stop = &stop;
	}
	reader = reader_of(rings, 4);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, write_many, &many[i]);
	while (told < 500000) {
		h = libtally_reader_next(reader);
		if (!h)
			continue;
		CHECK(is_good(h));
		EQUAL(word_of(h, 3), nr[libtally_reader_ring(reader)]++);
		late += word_of(h, 2) < last;
		if (word_of(h, 2) > last)
			last = word_of(h, 2);
		told++;
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	while (libtally_reader_next(reader))
		told++;
	for (int i = 0; i < 4; i++)
		written += w[i].nr;
	EQUAL(told, written);
	CHECK(libtally_reader_late(reader) >= late);
	printf("# %llu of %llu were late\n", (unsigned long long)libtally_reader_late(reader),
	       (unsigned long long)told);
	CHECK(libtally_reader_late(reader) < told / 100);
	libtally_reader_free(reader);
	for (int i = 0; i < 4; i++) {
		libtally_ring_unmap(&rings[i]);
		writer_free(&w[i]);
	}
	test_end("many rings while they are written to");
}

static void merge_snapshots(void)
{
	const struct perf_event_header *h;
	static struct libtally_ring rings[3];
	static struct writer w[3];
	struct libtally_reader *reader;
	int told = 0, nr;
	uint64_t last = 0;

	for (int i = 0; i < 3; i++) {
		writer_init(&w[i], 4, 0);
		EQUAL(libtally_ring_attach(&rings[i], w[i].map, w[i].mapped, -1,
					   LIBTALLY_RING_READ_ONLY | LIBTALLY_RING_BACKWARD), 0);
	}
	reader = reader_of(rings, 3);
	CHECK(!libtally_reader_next(reader));
	for (int round = 0; round < 3; round++) {
		for (int i = 1; i < 500; i++)
			put_backward(&w[below(3)], i, any_size(200));
		nr = libtally_reader_snapshot(reader);
		CHECK(nr > 50);
		for (told = 0, last = 0; (h = libtally_reader_next(reader)); told++) {
			CHECK(is_good(h));
			/* Records of earlier rounds are still there, with later times. */
			if (!round)
				CHECK(word_of(h, 2) >= last);
			last = word_of(h, 2);
		}
		EQUAL(told, nr);
	}
	libtally_reader_free(reader);
	for (int i = 0; i < 3; i++) {
		libtally_ring_unmap(&rings[i]);
		writer_free(&w[i]);
	}
	test_end("many backward rings by time");
}

static void pages(void)
{
	struct perf_event_mmap_page *page = calloc(1, 4096);
	struct libtally_count_entry e;

	page->lock = 8;
	page->offset = 123;
	page->time_enabled = 5;
	page->time_running = 4;
	EQUAL(libtally_page_read(page, &e), 0);
	EQUAL(e.value, 123);
	EQUAL(e.enabled, 5);
	EQUAL(e.running, 4);
	page->index = 1;
	EQUAL(libtally_page_read(page, &e), (unsigned long long)-95);
	page->lock = 9;
	EQUAL(libtally_page_read(page, &e), (unsigned long long)-11);
	free(page);
	test_end("the page of an event");
}

int main(void)
{
	page_size = sysconf(_SC_PAGESIZE);
	forward(0, 0, "a ring that wraps");
	forward(0, 1, "a ring whose tail is written for each record");
	forward(0, 1000, "a ring with batches of 1000 bytes");
	forward(1, 0, "a ring that is there twice");
	release();
	damaged();
	odd_heads();
	refused();
	backward();
	slow_reader();
	unpublished(0);
	unpublished(1);
	overwritten(0, "a ring that is overwritten while it is read");
	overwritten(1, "a backward ring that is overwritten while it is read");
	merge();
	merge_live();
	merge_snapshots();
	let_go();
	mixed();
	pages();
	return 0;
}
