// SPDX-License-Identifier: GPL-2.0
/*
 * Random bytes for the parser and for rings. The first bytes are the attr, the others are
 * records. Built with -fsanitize=fuzzer,address,undefined, which report each read outside
 * of the bytes.
 */
#include <sys/mman.h>
#include <unistd.h>
#include "test.h"

/* The beginning of an input. */
struct settings {
	uint64_t sample_type, read_format, branch_sample_type, regs_user, regs_intr;
	uint8_t sample_id_all, mode, pages, batch;
	/* 32 bits of the tail, and of the head in each of three reads */
	uint32_t tail, heads[3];
};

static FILE *null;

static void set_attr(struct perf_event_attr *attr, const struct settings *s)
{
	libtally_attr_init(attr, PERF_TYPE_SOFTWARE, 0);
	attr->sample_type = s->sample_type;
	attr->read_format = s->read_format;
	attr->branch_sample_type = s->branch_sample_type;
	attr->sample_regs_user = s->regs_user;
	attr->sample_regs_intr = s->regs_intr;
	attr->sample_id_all = s->sample_id_all & 1;
}

static struct libtally_events *events_of(const struct settings *s)
{
	struct libtally_events *events = libtally_events_new();
	struct perf_event_attr attr;
	const __u64 ids[] = { 0, 1, 2 };

	set_attr(&attr, s);
	libtally_events_add(events, &attr, ids, 2, NULL);
	if (s->sample_id_all & 2) {
		attr.sample_type ^= PERF_SAMPLE_CALLCHAIN;
		libtally_events_add(events, &attr, ids + 2, 1, NULL);
	}
	return events;
}

static void look(const struct libtally_events *events, const void *data, size_t size)
{
	struct libtally_record r;

	libtally_events_time(events, data, size);
	if (libtally_events_parse(events, &r, data, size) >= 0) {
		libtally_record_time(&r);
		libtally_record_print(null, &r);
	}
}

static void ring(const struct settings *s, const struct libtally_events *events,
		 const uint8_t *data, size_t size)
{
	static const unsigned int modes[] = { 0, LIBTALLY_RING_TWICE, LIBTALLY_RING_READ_ONLY,
					      LIBTALLY_RING_READ_ONLY | LIBTALLY_RING_BACKWARD };
	size_t page_size = sysconf(_SC_PAGESIZE), data_size = page_size << (s->pages % 3);
	unsigned int mode = modes[s->mode % 4];
	size_t mapped = page_size + data_size * (mode & LIBTALLY_RING_TWICE ? 2 : 1);
	const struct perf_event_header *h;
	struct perf_event_mmap_page *page;
	struct libtally_ring r;
	char *map;

	map = aligned_alloc(page_size, mapped);
	memset(map, 0, mapped);
	memcpy(map + page_size, data, size < data_size ? size : data_size);
	if (mode & LIBTALLY_RING_TWICE)
		memcpy(map + page_size + data_size, map + page_size, data_size);
	page = (void *)map;
	page->data_offset = page_size;
	page->data_size = data_size;
	page->data_tail = s->tail;
	if (!libtally_ring_attach(&r, map, mapped, -1, mode)) {
		libtally_ring_set_batch(&r, s->batch);
		for (int i = 0; i < 3; i++) {
			page->data_head = s->heads[i];
			if (mode & LIBTALLY_RING_BACKWARD)
				libtally_ring_snapshot(&r);
			while ((h = libtally_ring_next(&r)))
				look(events, h, h->size);
		}
		libtally_ring_unmap(&r);
	}
	free(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct settings s = { 0 };
	struct libtally_counts counts;
	struct libtally_events *events;
	void *copy;

	if (!null)
		null = fopen("/dev/null", "w");
	if (size < sizeof(s))
		return 0;
	memcpy(&s, data, sizeof(s));
	data += sizeof(s);
	size -= sizeof(s);
	events = events_of(&s);
	/* The copy ends with its memory, so a read beyond it is found. */
	copy = malloc(size ? size : 1);
	memcpy(copy, data, size);
	look(events, copy, size);
	libtally_counts_parse(&counts, copy, size, s.read_format);
	ring(&s, events, copy, size);
	/* A random size nearly never fits, so the right one is tried, too. */
	if (size >= 8 && size < 65536) {
		uint16_t whole = size;

		memcpy((char *)copy + 6, &whole, 2);
		look(events, copy, size);
	}
	free(copy);
	libtally_events_free(events);
	return 0;
}
