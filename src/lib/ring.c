// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/*
 * The reader's side of a ring.
 *
 * Ordering:
 *
 * A. The kernel writes records, then data_head. The reader reads data_head, then records.
 * B. The reader reads records, then writes data_tail. The kernel reads data_tail, then
 *    overwrites those records.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/membarrier.h>
#include "ring.h"

/* The size in a header has 16 bits. */
#define LARGEST_RECORD	65536

/*
 * data_head and data_tail are at multiples of 8. On 32 bits a __u64 may have less alignment,
 * and the compiler calls a function of libatomic, which programs may not have.
 */
typedef __u64 aligned_u64 __attribute__((aligned(8)));

static __u64 load_head(const struct libtally_ring *ring)
{
	const aligned_u64 *head = &ring->page->data_head;

	return __atomic_load_n(head, __ATOMIC_ACQUIRE); /* A */
}

int libtally_ring_attach(struct libtally_ring *ring, void *mapped, size_t size, int fd,
			 unsigned int flags)
{
	struct perf_event_mmap_page *page = mapped;
	size_t page_size = sysconf(_SC_PAGESIZE);
	__u64 offset, data_size;

	if (size <= page_size ||
	    (flags & LIBTALLY_RING_BACKWARD && !(flags & LIBTALLY_RING_READ_ONLY)))
		return -EINVAL;
	offset = page->data_offset;
	data_size = page->data_size;
	/* Kernels before 4.1 have no data_offset and data_size. */
	if (!data_size) {
		offset = page_size;
		data_size = size - page_size;
		if (flags & LIBTALLY_RING_TWICE)
			data_size /= 2;
	}
	/* Records begin at multiples of 8, so that no header is in two pieces. */
	if (!(flags & LIBTALLY_RING_READ_ONLY) && page->data_tail % 8)
		return -EINVAL;
	if (data_size & (data_size - 1) || data_size % 8 || offset % 8 || offset > size ||
	    data_size > (size - offset) / (flags & LIBTALLY_RING_TWICE ? 2 : 1))
		return -EINVAL;

	memset(ring, 0, sizeof(*ring));
	ring->page = page;
	ring->size = data_size;
	ring->fd = fd;
	ring->flags = flags;
	ring->data = (unsigned char *)mapped + offset;
	ring->base = ring->data;
	ring->mask = data_size - 1;
	ring->batch = data_size / 4;
	if (!(flags & LIBTALLY_RING_READ_ONLY)) {
		ring->at = page->data_tail;
		ring->edge = ring->at;
		ring->head = ring->at;
		ring->tail = ring->at;
	}
	if (!(flags & LIBTALLY_RING_BACKWARD) &&
	    (flags & (LIBTALLY_RING_READ_ONLY | LIBTALLY_RING_TWICE)) != LIBTALLY_RING_TWICE) {
		ring->copy = malloc(LARGEST_RECORD);
		if (!ring->copy)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Maps one page and the data twice. The first mapping has the page and the data at the end;
 * the second one is in front of it, its data over the page of the first. Newer kernels do
 * not replace a page of a mapping of perf.
 */
static void *map_twice(int fd, size_t data_size, size_t size, __u64 at, int protection)
{
	size_t once = size - data_size;
	char *mapped = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error;

	if (mapped == MAP_FAILED)
		return mapped;
	if (mmap(mapped + data_size, once, protection, MAP_SHARED | MAP_FIXED, fd, at) !=
	    MAP_FAILED) {
		if (mmap(mapped, once, protection, MAP_SHARED | MAP_FIXED, fd, at) !=
		    MAP_FAILED)
			return mapped;
		errno = EOPNOTSUPP;
	}
	error = errno;
	munmap(mapped, size);
	errno = error;
	return MAP_FAILED;
}

int libtally_ring_map(struct libtally_ring *ring, int fd, size_t data_pages, __u64 at,
		      unsigned int flags)
{
	int protection = flags & LIBTALLY_RING_READ_ONLY ? PROT_READ : PROT_READ | PROT_WRITE;
	size_t page_size = sysconf(_SC_PAGESIZE), size;
	void *mapped;
	int error;

	if (!data_pages || data_pages & (data_pages - 1) ||
	    data_pages > (SIZE_MAX / 2 - page_size) / page_size / 2)
		return -EINVAL;
	size = (1 + data_pages * (flags & LIBTALLY_RING_TWICE ? 2 : 1)) * page_size;
	if (flags & LIBTALLY_RING_TWICE)
		mapped = map_twice(fd, data_pages * page_size, size, at, protection);
	else
		mapped = mmap(NULL, size, protection, MAP_SHARED, fd, at);
	if (mapped == MAP_FAILED)
		return -errno;
	error = libtally_ring_attach(ring, mapped, size, fd, flags);
	if (error) {
		munmap(mapped, size);
		return error;
	}
	ring->mapped = mapped;
	ring->mapped_size = size;
	return 0;
}

void libtally_ring_unmap(struct libtally_ring *ring)
{
	free(ring->copy);
	free(ring->snapshot);
	if (ring->mapped)
		munmap(ring->mapped, ring->mapped_size);
	memset(ring, 0, sizeof(*ring));
}

void libtally_ring_set_batch(struct libtally_ring *ring, __u64 bytes)
{
	ring->batch = bytes ? bytes : ring->size / 4;
	/* The next call of libtally_ring_next() computes the edge. */
	ring->edge = ring->at;
}

void libtally_ring_release(struct libtally_ring *ring)
{
	aligned_u64 *tail = &ring->page->data_tail;

	if (ring->flags & LIBTALLY_RING_READ_ONLY || ring->tail == ring->at)
		return;
	__atomic_store_n(tail, ring->at, __ATOMIC_RELEASE); /* B */
	ring->tail = ring->at;
}

int libtally_ring_pause(struct libtally_ring *ring, int paused)
{
	return ioctl(ring->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, !!paused) ? -errno : 0;
}

/*
 * Skips all bytes up to the head, where a record begins. A head that is no multiple of 8 is
 * wrong: nothing is skipped, and the next call reads data_head again.
 */
static const struct perf_event_header *skip(struct libtally_ring *ring, int error)
{
	if (ring->head % 8) {
		ring->head = ring->at;
		ring->edge = ring->at;
		ring->error = LIBTALLY_RECORD_BAD_SIZE;
		return NULL;
	}
	ring->skipped += ring->head - ring->at;
	ring->at = ring->head;
	ring->edge = ring->head;
	ring->error = error;
	libtally_ring_release(ring);
	return NULL;
}

static void copy_out(const struct libtally_ring *ring, void *to, __u64 from, size_t size)
{
	size_t offset = from & (ring->size - 1);
	size_t first = ring->size - offset;

	if (first > size)
		first = size;
	memcpy(to, ring->data + offset, first);
	memcpy((char *)to + first, ring->data, size - first);
}

/*
 * Returns how many of the oldest bytes of an overwritten ring are taken for overwritten. data_head
 * does not move for records that are being written: while one writer is in the middle of a record,
 * interrupts and NMIs may finish any number of theirs, and data_head moves after all of them.
 * Nothing in the page says how far the writers are.
 */
static __u64 margin(const struct libtally_ring *ring)
{
	return ring->size / 2;
}

/* Returns 1 if the bytes at a place had not been overwritten when they were copied. */
static int still_there(const struct libtally_ring *ring, __u64 at)
{
	/* The copy is complete before data_head is read. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return load_head(ring) - at <= ring->size - margin(ring);
}

/* Copies the next record of an overwritten ring, then checks that it was not overwritten. */
static const struct perf_event_header *next_overwritten(struct libtally_ring *ring)
{
	struct perf_event_header *header = (struct perf_event_header *)ring->copy;
	__u64 left;

	if (!ring->held)
		ring->head = load_head(ring);
	left = ring->head - ring->at;
	ring->edge = ring->at;
	if (!left)
		return NULL;
	if (left > ring->size || ring->head % 8)
		return skip(ring, -EOVERFLOW);
	copy_out(ring, header, ring->at, sizeof(*header));
	if (header->size < sizeof(*header) || header->size % 8 || header->size > left)
		return skip(ring, still_there(ring, ring->at) ? LIBTALLY_RECORD_BAD_SIZE :
								-EOVERFLOW);
	copy_out(ring, header, ring->at, header->size);
	if (!still_there(ring, ring->at)) {
		ring->head = load_head(ring);
		return skip(ring, -EOVERFLOW);
	}
	ring->at += header->size;
	ring->edge = ring->at;
	return header;
}

/* Returns the end of the records that need no libtally_ring_next_slow(). */
static __u64 new_edge(const struct libtally_ring *ring)
{
	__u64 end = ring->tail + ring->batch, wrap = (ring->at | ring->mask) + 1;
	__u64 left = ring->head - ring->at;

	if (end - ring->at < left)
		left = end - ring->at;
	if (!(ring->flags & LIBTALLY_RING_TWICE) && wrap - ring->at < left)
		left = wrap - ring->at;
	return ring->at + left;
}

const struct perf_event_header *libtally_ring_next_slow(struct libtally_ring *ring)
{
	const struct perf_event_header *header;
	__u64 left;

	ring->error = 0;
	if (ring->flags & LIBTALLY_RING_BACKWARD)
		return NULL;
	if (ring->flags & LIBTALLY_RING_READ_ONLY)
		return next_overwritten(ring);

	if (ring->at == ring->head || ring->at - ring->tail >= ring->batch)
		libtally_ring_release(ring);
	if (ring->at == ring->head && !ring->held)
		ring->head = load_head(ring);
	left = ring->head - ring->at;
	if (!left)
		return NULL;
	if (left > ring->size || ring->head % 8)
		return skip(ring, LIBTALLY_RECORD_BAD_SIZE);

	header = (const void *)(ring->data + (ring->at & ring->mask));
	if (header->size < sizeof(*header) || header->size % 8 || header->size > left)
		return skip(ring, LIBTALLY_RECORD_BAD_SIZE);
	ring->edge = new_edge(ring);
	if (!(ring->flags & LIBTALLY_RING_TWICE) &&
	    (ring->at & ring->mask) + header->size > ring->size) {
		copy_out(ring, ring->copy, ring->at, header->size);
		header = (const void *)ring->copy;
	}
	ring->at += header->size;
	if ((__s64)(ring->edge - ring->at) < 0)
		ring->edge = ring->at;
	return header;
}

void libtally_ring_hold(struct libtally_ring *ring)
{
	ring->held = 1;
}

void libtally_ring_refresh(struct libtally_ring *ring)
{
	if (ring->flags & LIBTALLY_RING_BACKWARD)
		return;
	ring->head = load_head(ring);
}

void libtally_ring_let_go(struct libtally_ring *ring, __u64 bytes)
{
	ring->held = 0;
	ring->at -= bytes;
	/* The record may be in two pieces, which the next call checks; a snapshot is in one. */
	if (!(ring->flags & LIBTALLY_RING_BACKWARD))
		ring->edge = ring->at;
}

/*
 * Returns the end of the oldest whole record before end. A size of 0 is where nothing was
 * written yet. The end of a record that leads out of the ring was overwritten.
 */
static size_t find_end(const unsigned char *from, size_t size, size_t end, int *nr)
{
	const struct perf_event_header *header;
	size_t at = 0;

	*nr = 0;
	while (end - at >= sizeof(*header)) {
		header = (const void *)(from + at);
		if (header->size < sizeof(*header) || header->size % 8 ||
		    header->size > size - at || at + header->size > end)
			break;
		at += header->size;
		++*nr;
	}
	return at;
}

/* Reverses the order of records: a backward ring has the newest one first. */
static void turn(unsigned char *to, const unsigned char *from, size_t end)
{
	const struct perf_event_header *header;
	size_t at;

	for (at = 0; at < end; at += header->size) {
		header = (const void *)(from + at);
		memcpy(to + end - at - header->size, header, header->size);
	}
}

int libtally_ring_copy(struct libtally_ring *ring, int still)
{
	unsigned char *copy, *to;
	__u64 head, written;
	size_t end, good;
	int nr;

	if (!(ring->flags & LIBTALLY_RING_BACKWARD))
		return -EINVAL;
	if (!ring->snapshot) {
		ring->snapshot = malloc(2 * ring->size);
		if (!ring->snapshot)
			return -ENOMEM;
	}
	to = ring->snapshot;
	copy = to + ring->size;

	head = load_head(ring);
	copy_out(ring, copy, head, ring->size);
	/* The copy is complete before data_head is read. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	written = head - load_head(ring);

	end = find_end(copy, ring->size, ring->size, &nr);
	good = written < ring->size ? ring->size - written : 0;
	if (!still)
		good = good > margin(ring) ? good - margin(ring) : 0;
	if (good < end) {
		size_t old = end;

		end = find_end(copy, ring->size, good, &nr);
		ring->skipped += old - end;
	}
	turn(to, copy, end);

	ring->base = to;
	ring->mask = ~0ULL;
	ring->at = 0;
	ring->edge = end;
	ring->head = end;
	return nr;
}

/*
 * perf's pause returns while records are being written. Writers are in RCU's read side, for
 * which membarrier(2) waits. Kernels with CPUs without a tick (nohz_full) refuse the call.
 */
int libtally_ring_wait(const struct libtally_ring *ring)
{
	return ring->flags & LIBTALLY_RING_PAUSE_WAITS ||
	       !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

int libtally_ring_snapshot(struct libtally_ring *ring)
{
	int paused = ring->fd >= 0 && !libtally_ring_pause(ring, 1);
	int nr = libtally_ring_copy(ring, paused && libtally_ring_wait(ring));

	if (paused)
		libtally_ring_pause(ring, 0);
	return nr;
}
