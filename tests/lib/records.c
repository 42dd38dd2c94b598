// SPDX-License-Identifier: GPL-2.0
/* Every type of record, with each of its fields, and at every length. */
#include "test.h"

static FILE *null;

/* Parses and prints a record: this reads all its parts, and finds one that is outside. */
static int look(const void *data, size_t size, const struct libtally_format *f,
		struct libtally_record *r)
{
	int error = libtally_record_parse(r, data, size, f);

	if (!error)
		libtally_record_print(null, r);
	return error;
}

/*
 * A record with fewer bytes than its header says is short. A record whose header has a
 * smaller size may be anything, but no part of it is outside.
 */
static void at_every_length(const struct bytes *b, const struct libtally_format *f)
{
	struct libtally_record r;
	struct bytes cut;
	size_t n;

	for (n = 0; n < b->n; n++) {
		void *copy = exact(b, n);

		EQUAL(look(copy, n, f, &r), LIBTALLY_RECORD_SHORT);
		free(copy);
	}
	cut.n = b->n;
	memcpy(cut.u.b, b->u.b, b->n);
	for (n = 8; n < b->n; n++) {
		void *copy;
		int error;

		set_size(&cut, n);
		copy = exact(&cut, n);
		error = look(copy, n, f, &r);
		CHECK(error <= 0 && error >= LIBTALLY_RECORD_NO_END &&
		      error != LIBTALLY_RECORD_SHORT &&
		      error != LIBTALLY_RECORD_BAD_SIZE);
		free(copy);
	}
	for (n = 0; n < 8; n++) {
		void *copy;

		set_size(&cut, n);
		copy = exact(&cut, b->n);
		EQUAL(look(copy, b->n, f, &r), LIBTALLY_RECORD_BAD_SIZE);
		free(copy);
	}
}

#define ID_ALL (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
		PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static struct perf_event_attr attr;
static struct libtally_format format;

static void usual(uint64_t sample_type)
{
	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	attr.sample_type = sample_type;
	attr.sample_id_all = 1;
	libtally_format_init(&format, &attr);
}

static void trailer(struct bytes *b, uint64_t type)
{
	if (type & PERF_SAMPLE_TID) {
		put32(b, 11);
		put32(b, 12);
	}
	if (type & PERF_SAMPLE_TIME)
		put64(b, 13000000000ULL);
	if (type & PERF_SAMPLE_ID)
		put64(b, 14);
	if (type & PERF_SAMPLE_STREAM_ID)
		put64(b, 15);
	if (type & PERF_SAMPLE_CPU) {
		put32(b, 16);
		put32(b, 17);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		put64(b, 14);
	end(b);
}

static struct libtally_record *parsed(const struct bytes *b)
{
	static struct libtally_record r;
	static void *copy;

	free(copy);
	copy = exact(b, b->n);
	EQUAL(look(copy, b->n, &format, &r), 0);
	EQUAL(r.size, b->n);
	CHECK(r.header == copy);
	EQUAL(r.known, 1);
	EQUAL(r.raw.size, b->n - 8);
	EQUAL(r.extra.size, 0);
	return &r;
}

static void check_trailer(const struct libtally_record *r, uint64_t type)
{
	EQUAL(r->id.has, type & ID_ALL);
	EQUAL(r->id.pid, type & PERF_SAMPLE_TID ? 11 : 0);
	EQUAL(r->id.tid, type & PERF_SAMPLE_TID ? 12 : 0);
	EQUAL(r->id.time, type & PERF_SAMPLE_TIME ? 13000000000ULL : 0);
	EQUAL(r->id.id, type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 14 : 0);
	EQUAL(r->id.stream_id, type & PERF_SAMPLE_STREAM_ID ? 15 : 0);
	EQUAL(r->id.cpu, type & PERF_SAMPLE_CPU ? 16 : 0);
	EQUAL(r->id.reserved, type & PERF_SAMPLE_CPU ? 17 : 0);
}

/* Runs the body for each combination of the trailer's fields, and for no trailer. */
#define FOR_EACH_TRAILER(type) \
	for (unsigned int i_ = 0; i_ < 65; i_++) \
		for (uint64_t type = trailer_number(i_), once_ = 1; once_; once_ = 0)

static uint64_t trailer_number(unsigned int i)
{
	static const uint64_t bits[] = {
		PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID,
		PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER,
	};
	uint64_t type = 0;
	unsigned int b;

	for (b = 0; b < 6; b++)
		if (i >> b & 1)
			type |= bits[b];
	usual(type);
	if (i == 64) {
		attr.sample_type = ID_ALL;
		attr.sample_id_all = 0;
		libtally_format_init(&format, &attr);
		EQUAL(format.id_size, 0);
	}
	return type;
}

static struct bytes b;

#define FINISH(name) \
	do { \
		if (!test_failures) { \
			usual(ID_ALL); \
			at_every_length(&b, &format); \
		} \
		test_end(name); \
	} while (0)

static void mmaps(void)
{
	struct libtally_record *r;

	FOR_EACH_TRAILER(type) {
		begin(&b, PERF_RECORD_MMAP, PERF_RECORD_MISC_MMAP_DATA | PERF_RECORD_MISC_USER);
		put32(&b, 1);
		put32(&b, 2);
		put64(&b, 0x7f0000001000);
		put64(&b, 0x2000);
		put64(&b, 0x3000);
		put_text(&b, "/bin/true");
		trailer(&b, type);
		r = parsed(&b);
		EQUAL(r->type, PERF_RECORD_MMAP);
		EQUAL(r->misc, PERF_RECORD_MISC_MMAP_DATA | PERF_RECORD_MISC_USER);
		EQUAL(r->u.mmap.pid, 1);
		EQUAL(r->u.mmap.tid, 2);
		EQUAL(r->u.mmap.addr, 0x7f0000001000);
		EQUAL(r->u.mmap.len, 0x2000);
		EQUAL(r->u.mmap.pgoff, 0x3000);
		CHECK(!strcmp(r->u.mmap.filename, "/bin/true"));
		check_trailer(r, type);
	}
	FINISH("MMAP");

	FOR_EACH_TRAILER(type) {
		begin(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
		put32(&b, 1);
		put32(&b, 2);
		put64(&b, 0x7f0000001000);
		put64(&b, 0x2000);
		put64(&b, 0x3000);
		put32(&b, 8);
		put32(&b, 3);
		put64(&b, 123456);
		put64(&b, 77);
		put32(&b, 5);
		put32(&b, 2);
		put_text(&b, "/lib/x");
		trailer(&b, type);
		r = parsed(&b);
		EQUAL(r->u.mmap.pid, 1);
		EQUAL(r->u.mmap.tid, 2);
		EQUAL(r->u.mmap.addr, 0x7f0000001000);
		EQUAL(r->u.mmap.len, 0x2000);
		EQUAL(r->u.mmap.pgoff, 0x3000);
		EQUAL(r->u.mmap.maj, 8);
		EQUAL(r->u.mmap.min, 3);
		EQUAL(r->u.mmap.ino, 123456);
		EQUAL(r->u.mmap.ino_generation, 77);
		EQUAL(r->u.mmap.build_id_size, 0);
		CHECK(!r->u.mmap.build_id);
		EQUAL(r->u.mmap.prot, 5);
		EQUAL(r->u.mmap.flags, 2);
		CHECK(!strcmp(r->u.mmap.filename, "/lib/x"));
		check_trailer(r, type);
	}
	FINISH("MMAP2");
}

static void build_ids(void)
{
	static const char id[] = "0123456789abcdefghij";
	struct libtally_record *r, other;

	usual(ID_ALL);
	begin(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
	put32(&b, 1);
	put32(&b, 2);
	put64(&b, 0x7f0000001000);
	put64(&b, 0x2000);
	put64(&b, 0x3000);
	put8(&b, 20);
	put8(&b, 0);
	put16(&b, 0);
	put(&b, id, 20);
	put32(&b, 5);
	put32(&b, 2);
	put_text(&b, "/lib/x");
	trailer(&b, ID_ALL);
	r = parsed(&b);
	EQUAL(r->u.mmap.build_id_size, 20);
	CHECK(!memcmp(r->u.mmap.build_id, id, 20));
	EQUAL(r->u.mmap.ino, 0);
	EQUAL(r->u.mmap.prot, 5);
	EQUAL(r->u.mmap.flags, 2);
	CHECK(!strcmp(r->u.mmap.filename, "/lib/x"));
	check_trailer(r, ID_ALL);
	at_every_length(&b, &format);

	b.u.b[8 + 32] = 21;
	EQUAL(look(b.u.b, b.n, &format, &other), LIBTALLY_RECORD_BAD_LENGTH);
	test_end("MMAP2 with a build id");
}

static void tasks(void)
{
	static const uint32_t types[] = { PERF_RECORD_FORK, PERF_RECORD_EXIT };
	struct libtally_record *r;

	FOR_EACH_TRAILER(type) {
		begin(&b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
		put32(&b, 1);
		put32(&b, 2);
		put_text(&b, "seven77");
		trailer(&b, type);
		r = parsed(&b);
		EQUAL(r->misc, PERF_RECORD_MISC_COMM_EXEC);
		EQUAL(r->u.comm.pid, 1);
		EQUAL(r->u.comm.tid, 2);
		CHECK(!strcmp(r->u.comm.comm, "seven77"));
		check_trailer(r, type);
	}
	FINISH("COMM");
	for (int t = 0; t < 2; t++) {
		FOR_EACH_TRAILER(type) {
			begin(&b, types[t], 0);
			put32(&b, 1);
			put32(&b, 2);
			put32(&b, 3);
			put32(&b, 4);
			put64(&b, 5);
			trailer(&b, type);
			r = parsed(&b);
			EQUAL(r->type, types[t]);
			EQUAL(r->u.task.pid, 1);
			EQUAL(r->u.task.ppid, 2);
			EQUAL(r->u.task.tid, 3);
			EQUAL(r->u.task.ptid, 4);
			EQUAL(r->u.task.time, 5);
			EQUAL(libtally_record_time(r), r->id.has & PERF_SAMPLE_TIME ?
						    13000000000ULL : 5);
			check_trailer(r, type);
		}
		FINISH(t ? "EXIT" : "FORK");
	}
}

/* Records that have only words. */
static void words(void)
{
	static const struct { uint32_t type; int nr; } kinds[] = {
		{ PERF_RECORD_LOST, 2 }, { PERF_RECORD_THROTTLE, 3 },
		{ PERF_RECORD_UNTHROTTLE, 3 }, { PERF_RECORD_AUX, 3 },
		{ PERF_RECORD_ITRACE_START, 1 }, { PERF_RECORD_LOST_SAMPLES, 1 },
		{ PERF_RECORD_SWITCH, 0 }, { PERF_RECORD_SWITCH_CPU_WIDE, 1 },
		{ PERF_RECORD_AUX_OUTPUT_HW_ID, 1 },
	};
	const uint64_t w[3] = { 0x1111222233334444, 0x5555666677778888, 0x9999aaaabbbbcccc };
	struct libtally_record *r;
	char name[64];

	for (unsigned int k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		FOR_EACH_TRAILER(type) {
			begin(&b, kinds[k].type, PERF_RECORD_MISC_SWITCH_OUT);
			put(&b, w, kinds[k].nr * 8);
			trailer(&b, type);
			r = parsed(&b);
			EQUAL(r->type, kinds[k].type);
			EQUAL(r->misc, PERF_RECORD_MISC_SWITCH_OUT);
			check_trailer(r, type);
			switch (r->type) {
			case PERF_RECORD_LOST:
				EQUAL(r->u.lost.id, w[0]);
				EQUAL(r->u.lost.lost, w[1]);
				break;
			case PERF_RECORD_LOST_SAMPLES:
				EQUAL(r->u.lost.id, 0);
				EQUAL(r->u.lost.lost, w[0]);
				break;
			case PERF_RECORD_THROTTLE:
			case PERF_RECORD_UNTHROTTLE:
				EQUAL(r->u.throttle.time, w[0]);
				EQUAL(r->u.throttle.id, w[1]);
				EQUAL(r->u.throttle.stream_id, w[2]);
				break;
			case PERF_RECORD_AUX:
				EQUAL(r->u.aux.offset, w[0]);
				EQUAL(r->u.aux.size, w[1]);
				EQUAL(r->u.aux.flags, w[2]);
				break;
			case PERF_RECORD_ITRACE_START:
				EQUAL(r->u.itrace_start.pid, 0x33334444);
				EQUAL(r->u.itrace_start.tid, 0x11112222);
				break;
			case PERF_RECORD_SWITCH_CPU_WIDE:
				EQUAL(r->u.switch_cpu_wide.pid, 0x33334444);
				EQUAL(r->u.switch_cpu_wide.tid, 0x11112222);
				break;
			case PERF_RECORD_AUX_OUTPUT_HW_ID:
				EQUAL(r->u.aux_output_hw_id, w[0]);
				break;
			}
		}
		snprintf(name, sizeof(name), "%s", libtally_record_name(kinds[k].type));
		FINISH(name);
	}
}

static void namespaces(void)
{
	struct libtally_record *r, other;

	for (uint64_t nr = 0; nr <= 8; nr++) {
		FOR_EACH_TRAILER(type) {
			begin(&b, PERF_RECORD_NAMESPACES, 0);
			put32(&b, 1);
			put32(&b, 2);
			put64(&b, nr);
			for (uint64_t i = 0; i < nr; i++) {
				put64(&b, 100 + i);
				put64(&b, 200 + i);
			}
			trailer(&b, type);
			r = parsed(&b);
			EQUAL(r->u.namespaces.pid, 1);
			EQUAL(r->u.namespaces.tid, 2);
			EQUAL(r->u.namespaces.nr, nr);
			for (uint64_t i = 0; i < nr; i++) {
				EQUAL(r->u.namespaces.links[i].dev, 100 + i);
				EQUAL(r->u.namespaces.links[i].ino, 200 + i);
			}
			check_trailer(r, type);
		}
	}
	/* A number of links that is too large, also one whose product overflows. */
	usual(0);
	for (int i = 0; i < 2; i++) {
		uint64_t nr = i ? 1ULL << 60 : 9;

		memcpy(b.u.b + 16, &nr, 8);
		EQUAL(look(b.u.b, b.n, &format, &other), nr == 9 && b.n >= 24 + 16 * 9 ? 0 :
							 LIBTALLY_RECORD_BAD_LENGTH);
	}
	b.u.b[16] = 8;
	memset(b.u.b + 17, 0, 7);
	FINISH("NAMESPACES");
}

static void kernels(void)
{
	struct libtally_record *r;

	FOR_EACH_TRAILER(type) {
		begin(&b, PERF_RECORD_KSYMBOL, 0);
		put64(&b, 0xffffffffa0001000);
		put32(&b, 0x123);
		put16(&b, 2);
		put16(&b, 1);
		put_text(&b, "bpf_prog_1");
		trailer(&b, type);
		r = parsed(&b);
		EQUAL(r->u.ksymbol.addr, 0xffffffffa0001000);
		EQUAL(r->u.ksymbol.len, 0x123);
		EQUAL(r->u.ksymbol.ksym_type, 2);
		EQUAL(r->u.ksymbol.flags, 1);
		CHECK(!strcmp(r->u.ksymbol.name, "bpf_prog_1"));
		check_trailer(r, type);
	}
	FINISH("KSYMBOL");

	FOR_EACH_TRAILER(type) {
		begin(&b, PERF_RECORD_BPF_EVENT, 0);
		put16(&b, 1);
		put16(&b, 2);
		put32(&b, 3);
		put(&b, "\1\2\3\4\5\6\7\10", 8);
		trailer(&b, type);
		r = parsed(&b);
		EQUAL(r->u.bpf_event.type, 1);
		EQUAL(r->u.bpf_event.flags, 2);
		EQUAL(r->u.bpf_event.id, 3);
		CHECK(!memcmp(r->u.bpf_event.tag, "\1\2\3\4\5\6\7\10", 8));
		check_trailer(r, type);
	}
	FINISH("BPF_EVENT");

	FOR_EACH_TRAILER(type) {
		begin(&b, PERF_RECORD_CGROUP, 0);
		put64(&b, 42);
		put_text(&b, "/a/b");
		trailer(&b, type);
		r = parsed(&b);
		EQUAL(r->u.cgroup.id, 42);
		CHECK(!strcmp(r->u.cgroup.path, "/a/b"));
		check_trailer(r, type);
	}
	FINISH("CGROUP");

	FOR_EACH_TRAILER(type) {
		begin(&b, PERF_RECORD_TEXT_POKE, PERF_RECORD_MISC_KERNEL);
		put64(&b, 0xffffffff81000000);
		put16(&b, 5);
		put16(&b, 6);
		put(&b, "oldold", 5);
		put(&b, "newnew", 6);
		while (b.n % 8)
			put8(&b, 0);
		trailer(&b, type);
		r = parsed(&b);
		EQUAL(r->u.text_poke.addr, 0xffffffff81000000);
		EQUAL(r->u.text_poke.old_len, 5);
		EQUAL(r->u.text_poke.new_len, 6);
		CHECK(!memcmp(r->u.text_poke.old_bytes, "oldol", 5));
		CHECK(!memcmp(r->u.text_poke.new_bytes, "newnew", 6));
		check_trailer(r, type);
	}
	FINISH("TEXT_POKE");
}

/* Adds counts as read(2) and records have them, in any read format. */
static void put_counts(struct bytes *to, uint64_t f, uint64_t nr)
{
	if (f & PERF_FORMAT_GROUP)
		put64(to, nr);
	else
		put64(to, 1000);
	if (f & PERF_FORMAT_TOTAL_TIME_ENABLED)
		put64(to, 7);
	if (f & PERF_FORMAT_TOTAL_TIME_RUNNING)
		put64(to, 8);
	for (uint64_t i = 0; i < (f & PERF_FORMAT_GROUP ? nr : 1); i++) {
		if (f & PERF_FORMAT_GROUP)
			put64(to, 1000 + i);
		if (f & PERF_FORMAT_ID)
			put64(to, 2000 + i);
		if (f & LIBTALLY_FORMAT_LOST)
			put64(to, 3000 + i);
	}
}

static void check_counts(const struct libtally_counts *c, uint64_t f, uint64_t nr)
{
	struct libtally_count_entry e;
	uint64_t i;

	EQUAL(c->nr, f & PERF_FORMAT_GROUP ? nr : 1);
	EQUAL(c->enabled, f & PERF_FORMAT_TOTAL_TIME_ENABLED ? 7 : 0);
	EQUAL(c->running, f & PERF_FORMAT_TOTAL_TIME_RUNNING ? 8 : 0);
	for (i = 0; i < c->nr; i++) {
		EQUAL(libtally_counts_get(c, i, &e), 0);
		EQUAL(e.value, 1000 + i);
		EQUAL(e.id, f & PERF_FORMAT_ID ? 2000 + i : 0);
		EQUAL(e.lost, f & LIBTALLY_FORMAT_LOST ? 3000 + i : 0);
		EQUAL(e.enabled, c->enabled);
		EQUAL(e.running, c->running);
	}
	EQUAL(libtally_counts_get(c, c->nr, &e), -1ULL);
	EQUAL(libtally_counts_find(c, 1999, &e), -1ULL);
	if (c->nr && f & PERF_FORMAT_ID) {
		EQUAL(libtally_counts_find(c, 2000 + c->nr - 1, &e), 0);
		EQUAL(e.value, 1000 + c->nr - 1);
	}
}

static void reads(void)
{
	struct libtally_record *r;
	struct libtally_counts c;

	for (uint64_t f = 0; f < 32; f++) {
		for (uint64_t nr = 0; nr < 4; nr++) {
			FOR_EACH_TRAILER(type) {
				format.read_format = f;
				begin(&b, PERF_RECORD_READ, 0);
				put32(&b, 1);
				put32(&b, 2);
				put_counts(&b, f, nr);
				trailer(&b, type);
				r = parsed(&b);
				EQUAL(r->u.read.pid, 1);
				EQUAL(r->u.read.tid, 2);
				check_counts(&r->u.read.counts, f, nr);
				check_trailer(r, type);
			}
			b.n = 0;
			put_counts(&b, f, nr);
			EQUAL(libtally_counts_parse(&c, b.u.b, b.n, f), b.n);
			check_counts(&c, f, nr);
			EQUAL(libtally_read_size(f, nr), b.n);
			for (size_t n = 0; n < b.n; n++) {
				void *copy = exact(&b, n);

				CHECK(libtally_counts_parse(&c, copy, n, f) < 0);
				free(copy);
			}
		}
	}
	usual(0);
	begin(&b, PERF_RECORD_READ, 0);
	put64(&b, 0);
	format.read_format = 31;
	put_counts(&b, 31, 3);
	end(&b);
	at_every_length(&b, &format);
	test_end("READ, and counts in every format");
}

static void scaled(void)
{
	__u64 v;

	for (int i = 0; i < 200000; i++) {
		uint64_t a = any() >> below(64), e = any() >> below(64), run = any() >> below(64);
		unsigned __int128 want;

		run += !run;
		want = (unsigned __int128)a * e / run;
		EQUAL(libtally_scaled(a, e, run, &v), want > UINT64_MAX);
		EQUAL(v, want > UINT64_MAX ? UINT64_MAX : (uint64_t)want);
	}
	EQUAL(libtally_scaled(5, 5, 0, &v), -1ULL);
	EQUAL(libtally_scaled(~0ULL, ~0ULL, ~0ULL, &v), 0);
	EQUAL(v, ~0ULL);
	test_end("scaled counts are exact in 128 bits");
}

static void others(void)
{
	static const char *names[] = { "MMAP", "LOST", "COMM", "EXIT", "THROTTLE",
		"UNTHROTTLE", "FORK", "READ", "SAMPLE", "MMAP2", "AUX", "ITRACE_START",
		"LOST_SAMPLES", "SWITCH", "SWITCH_CPU_WIDE", "NAMESPACES", "KSYMBOL",
		"BPF_EVENT", "CGROUP", "TEXT_POKE", "AUX_OUTPUT_HW_ID" };
	struct libtally_record r;

	for (int i = 0; i < 21; i++)
		CHECK(!strcmp(libtally_record_name(i + 1), names[i]));
	CHECK(!libtally_record_name(0) && !libtally_record_name(22) && !libtally_record_name(~0U));

	usual(ID_ALL);
	begin(&b, 33, 5);
	put64(&b, 0x1234);
	trailer(&b, ID_ALL);
	EQUAL(look(b.u.b, b.n, &format, &r), 0);
	EQUAL(r.known, 0);
	EQUAL(r.type, 33);
	EQUAL(r.raw.size, b.n - 8);
	EQUAL(r.extra.size, 8);
	EQUAL(r.id.id, 14);
	at_every_length(&b, &format);
	begin(&b, 70, 5);
	end(&b);
	EQUAL(look(b.u.b, b.n, &format, &r), 0);
	EQUAL(r.known, 0);
	EQUAL(r.id.has, 0);
	test_end("types without a name are passed on");

	begin(&b, PERF_RECORD_LOST, 0);
	put64(&b, 1);
	put64(&b, 2);
	put64(&b, 0xabcdef);
	trailer(&b, ID_ALL);
	EQUAL(look(b.u.b, b.n, &format, &r), 0);
	EQUAL(r.u.lost.lost, 2);
	EQUAL(r.extra.size, 8);
	EQUAL(*(const uint64_t *)r.extra.data, 0xabcdef);
	EQUAL(r.id.id, 14);
	test_end("what later kernels add is told");

	begin(&b, PERF_RECORD_COMM, 0);
	put64(&b, 1);
	put(&b, "notanend", 8);
	trailer(&b, ID_ALL);
	/* The zeros of the trailer do not end the text. */
	EQUAL(look(b.u.b, b.n, &format, &r), LIBTALLY_RECORD_NO_END);
	EQUAL(look(b.u.b + 4, b.n, &format, &r), LIBTALLY_RECORD_BAD_SIZE);
	begin(&b, PERF_RECORD_SWITCH, 0);
	end(&b);
	memmove(b.u.b + 4, b.u.b, b.n);
	usual(0);
	EQUAL(look(b.u.b + 4, 8, &format, &r), LIBTALLY_RECORD_UNALIGNED);
	for (int e = -7; e < 0; e++)
		CHECK(strcmp(libtally_record_strerror(e), "unknown error"));
	test_end("each mistake has its own error");
}

static void attrs(void)
{
	struct perf_event_attr *small = malloc(64);
	struct perf_event_attr whole;
	struct libtally_format f;

	libtally_attr_init(&whole, PERF_TYPE_SOFTWARE, 0);
	whole.size = 0;
	whole.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_IP;
	whole.read_format = PERF_FORMAT_ID;
	whole.sample_id_all = 1;
	memcpy(small, &whole, 64);
	libtally_format_init(&f, small);
	EQUAL(f.sample_type, PERF_SAMPLE_TIME | PERF_SAMPLE_IP);
	EQUAL(f.read_format, PERF_FORMAT_ID);
	EQUAL(f.id_size, 8);
	EQUAL(f.branch_sample_type, 0);
	EQUAL(libtally_format_sample_time(&f), 16);
	EQUAL(libtally_format_trailer_time(&f), 8);
	free(small);
	test_end("an attr of 64 bytes");
}

/* The format of a parsed record lives as long as its events, also when some are added. */
static void formats(void)
{
	struct libtally_events *events = libtally_events_new();
	const struct libtally_format *first;
	struct perf_event_attr attr;
	struct libtally_record r;
	__u64 id = 1;

	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, 0);
	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;
	attr.sample_id_all = 1;
	EQUAL(libtally_events_add(events, &attr, &id, 1, "first"), 0);
	first = libtally_events_format(events, 0);
	begin(&b, PERF_RECORD_SAMPLE, 0);
	put64(&b, 1);
	put64(&b, 1000);
	end(&b);
	EQUAL(libtally_events_parse(events, &r, b.u.b, b.n), 0);
	CHECK(r.format == first);
	for (id = 2; id < 100; id++)
		EQUAL(libtally_events_add(events, &attr, &id, 1, NULL), id - 1);
	CHECK(libtally_events_format(events, 0) == first);
	EQUAL(r.format->sample_type, attr.sample_type);
	EQUAL(libtally_record_time(&r), 1000);
	libtally_events_free(events);
	test_end("the format of a record stays when events are added");
}

/* Names of other programs are printed so that they do nothing to a terminal. */
static void controls(void)
{
	static const struct {
		const char *name, *printed;
	} names[] = {
		{ "plain", "plain" },
		{ "\033[8m\177", "\\x1b[8m\\x7f" },
		{ "back\\slash", "back\\x5cslash" },
		{ "\x9b\x31m", "\\x9b1m" },
		{ "\xc2\x9b\x31m", "\\xc2\\x9b1m" },
		{ "\xe0\x82\x9b", "\\xe0\\x82\\x9b" },
		{ "\xc3\x84\xe2\x82\xac", "\xc3\x84\xe2\x82\xac" },
		{ "\xc3", "\\xc3" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
		/* Turned text, and what cannot be seen */
		{ "a\xe2\x80\xaehs", "a\\xe2\\x80\\xaehs" },
		{ "\xe2\x81\xa6", "\\xe2\\x81\\xa6" },
		{ "a\xe2\x80\x8b", "a\\xe2\\x80\\x8b" },
		{ "\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81" },
		{ "\xf0\x9f\x90\xa7", "\xf0\x9f\x90\xa7" },
	};
	struct libtally_record *r;
	char *text, expected[64];
	size_t size, i;
	FILE *file;

	usual(0);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		begin(&b, PERF_RECORD_COMM, 0);
		put32(&b, 1);
		put32(&b, 2);
		put_text(&b, names[i].name);
		trailer(&b, 0);
		r = parsed(&b);
		file = open_memstream(&text, &size);
		libtally_record_print(file, r);
		fclose(file);
		snprintf(expected, sizeof(expected), " %s\n", names[i].printed);
		CHECK(strstr(text, expected));
		free(text);
	}
	test_end("control and hidden characters are escaped, and other letters are not");
}

int main(void)
{
	null = fopen("/dev/null", "w");
	mmaps();
	build_ids();
	tasks();
	words();
	namespaces();
	kernels();
	reads();
	scaled();
	others();
	attrs();
	formats();
	controls();
	fclose(null);
	return 0;
}
