// SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note
/* Counts: the data of read(2), and the scaling of a count. */
#include <stdint.h>
#include "cursor.h"

static int take_group(struct cursor *c, struct libtally_counts *counts, __u64 format)
{
	int error = take_u64(c, &counts->nr);

	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		error |= take_u64(c, &counts->enabled);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		error |= take_u64(c, &counts->running);
	if (error)
		return LIBTALLY_RECORD_TRUNCATED;
	counts->words = take_array(c, counts->nr, counts->stride * sizeof(__u64));
	return counts->words ? 0 : LIBTALLY_RECORD_BAD_LENGTH;
}

static int take_one(struct cursor *c, struct libtally_counts *counts, __u64 format)
{
	int times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		    !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	const __u64 *word;

	counts->words = take(c, (counts->stride + times) * sizeof(__u64));
	if (!counts->words)
		return LIBTALLY_RECORD_TRUNCATED;
	counts->nr = 1;
	word = counts->words + 1;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		counts->enabled = *word++;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		counts->running = *word;
	return 0;
}

int libtally_counts_take(struct cursor *c, struct libtally_counts *counts, __u64 read_format)
{
	memset(counts, 0, sizeof(*counts));
	counts->format = read_format;
	counts->stride = 1 + !!(read_format & PERF_FORMAT_ID) +
			 !!(read_format & LIBTALLY_FORMAT_LOST);
	if (read_format & PERF_FORMAT_GROUP)
		return take_group(c, counts, read_format);
	return take_one(c, counts, read_format);
}

int libtally_counts_parse(struct libtally_counts *counts, const void *data, size_t size,
			  __u64 read_format)
{
	struct cursor c = { data, (const unsigned char *)data + size };
	int error;

	if ((uintptr_t)data % sizeof(__u64))
		return LIBTALLY_RECORD_UNALIGNED;
	error = libtally_counts_take(&c, counts, read_format);
	return error ? error : (int)(c.at - (const unsigned char *)data);
}

int libtally_counts_get(const struct libtally_counts *counts, __u64 index,
			struct libtally_count_entry *entry)
{
	const __u64 *word;

	if (index >= counts->nr)
		return -1;
	word = counts->words + index * counts->stride;
	memset(entry, 0, sizeof(*entry));
	entry->value = *word++;
	if (!(counts->format & PERF_FORMAT_GROUP)) {
		word += !!(counts->format & PERF_FORMAT_TOTAL_TIME_ENABLED);
		word += !!(counts->format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	}
	if (counts->format & PERF_FORMAT_ID)
		entry->id = *word++;
	if (counts->format & LIBTALLY_FORMAT_LOST)
		entry->lost = *word;
	entry->enabled = counts->enabled;
	entry->running = counts->running;
	return 0;
}

int libtally_counts_find(const struct libtally_counts *counts, __u64 id,
			 struct libtally_count_entry *entry)
{
	__u64 i;

	if (!(counts->format & PERF_FORMAT_ID))
		return -1;
	for (i = 0; i < counts->nr; i++)
		if (libtally_counts_get(counts, i, entry) == 0 && entry->id == id)
			return 0;
	return -1;
}

/* Computes a * b in two words. */
static void multiply(__u64 a, __u64 b, __u64 *high, __u64 *low)
{
	__u64 a0 = (__u32)a, a1 = a >> 32, b0 = (__u32)b, b1 = b >> 32;
	__u64 middle = a1 * b0 + (a0 * b0 >> 32);
	__u64 other = a0 * b1 + (__u32)middle;

	*low = a * b;
	*high = a1 * b1 + (middle >> 32) + (other >> 32);
}

/* Divides two words by one, a bit at a time; high is less than by. */
static __u64 divide(__u64 high, __u64 low, __u64 by)
{
	__u64 result = 0;
	int i, carry;

	for (i = 63; i >= 0; i--) {
		carry = high >> 63;
		high = high << 1 | (low >> i & 1);
		if (carry || high >= by) {
			high -= by;
			result |= 1ULL << i;
		}
	}
	return result;
}

int libtally_scaled(__u64 value, __u64 enabled, __u64 running, __u64 *result)
{
	__u64 high, low;

	*result = 0;
	if (!running)
		return -1;
	multiply(value, enabled, &high, &low);
	if (high >= running) {
		*result = ~0ULL;
		return 1;
	}
	*result = high ? divide(high, low, running) : low / running;
	return 0;
}
