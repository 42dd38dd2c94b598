// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of any sample_type. The test makes them by the text of <linux/perf_event.h>,
 * and the library parses them.
 */
#include "test.h"

static FILE *null;

/* The contents of a sample. Each list is numbered from a word of its own. */
struct made {
	uint64_t w[26];		/* a word for each bit of sample_type */
	uint64_t nr_counts, nr_ips, nr_branches, regs_abi, stack, used, aux, hw_idx;
	uint32_t raw;
	int hw_idx_there;
	int counters_there;
};

static struct perf_event_attr attr;
static struct libtally_format format;
static struct bytes b;
static struct made m;

static int has(uint64_t bit)
{
	return !!(attr.sample_type & bit);
}

static uint64_t word(uint64_t bit)
{
	return m.w[__builtin_ctzll(bit)];
}

static void put_list(uint64_t from, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++)
		put64(&b, from + i);
}

static void put_filled(size_t n, unsigned int seed)
{
	for (size_t i = 0; i < n; i++)
		put8(&b, seed + i * 7);
}

static int filled(const void *data, size_t n, unsigned int seed)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < n; i++)
		if (byte[i] != (unsigned char)(seed + i * 7))
			return 0;
	return 1;
}

static void put_read(void)
{
	uint64_t f = attr.read_format, v = word(PERF_SAMPLE_READ);
	uint64_t nr = f & PERF_FORMAT_GROUP ? m.nr_counts : 1;

	put64(&b, f & PERF_FORMAT_GROUP ? nr : v);
	if (f & PERF_FORMAT_TOTAL_TIME_ENABLED)
		put64(&b, 501);
	if (f & PERF_FORMAT_TOTAL_TIME_RUNNING)
		put64(&b, 502);
	for (uint64_t i = 0; i < nr; i++) {
		if (f & PERF_FORMAT_GROUP)
			put64(&b, v + i);
		if (f & PERF_FORMAT_ID)
			put64(&b, v + 100 + i);
		if (f & LIBTALLY_FORMAT_LOST)
			put64(&b, v + 200 + i);
	}
}

static int nr_regs(uint64_t mask)
{
	return m.regs_abi ? __builtin_popcountll(mask) : 0;
}

static void encode(void)
{
	begin(&b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP);
	if (has(PERF_SAMPLE_IDENTIFIER))
		put64(&b, word(PERF_SAMPLE_ID));
	if (has(PERF_SAMPLE_IP))
		put64(&b, word(PERF_SAMPLE_IP));
	if (has(PERF_SAMPLE_TID))
		put64(&b, word(PERF_SAMPLE_TID));
	if (has(PERF_SAMPLE_TIME))
		put64(&b, word(PERF_SAMPLE_TIME));
	if (has(PERF_SAMPLE_ADDR))
		put64(&b, word(PERF_SAMPLE_ADDR));
	if (has(PERF_SAMPLE_ID))
		put64(&b, word(PERF_SAMPLE_ID));
	if (has(PERF_SAMPLE_STREAM_ID))
		put64(&b, word(PERF_SAMPLE_STREAM_ID));
	if (has(PERF_SAMPLE_CPU))
		put64(&b, word(PERF_SAMPLE_CPU));
	if (has(PERF_SAMPLE_PERIOD))
		put64(&b, word(PERF_SAMPLE_PERIOD));
	if (has(PERF_SAMPLE_READ))
		put_read();
	if (has(PERF_SAMPLE_CALLCHAIN)) {
		put64(&b, m.nr_ips);
		put_list(word(PERF_SAMPLE_CALLCHAIN), m.nr_ips);
	}
	if (has(PERF_SAMPLE_RAW)) {
		put32(&b, m.raw);
		put_filled(m.raw, 1);
	}
	if (has(PERF_SAMPLE_BRANCH_STACK)) {
		put64(&b, m.nr_branches);
		if (m.hw_idx_there)
			put64(&b, m.hw_idx);
		put_list(word(PERF_SAMPLE_BRANCH_STACK), 3 * m.nr_branches);
		if (m.counters_there)
			put_list(9000, m.nr_branches);
	}
	if (has(PERF_SAMPLE_REGS_USER)) {
		put64(&b, m.regs_abi);
		put_list(word(PERF_SAMPLE_REGS_USER), nr_regs(attr.sample_regs_user));
	}
	if (has(PERF_SAMPLE_STACK_USER)) {
		put64(&b, m.stack);
		put_filled(m.stack, 2);
		if (m.stack)
			put64(&b, m.used);
	}
	if (has(PERF_SAMPLE_WEIGHT) || has(PERF_SAMPLE_WEIGHT_STRUCT)) {
		put32(&b, 0x11223344);
		put16(&b, 0x5566);
		put16(&b, 0x7788);
	}
	if (has(PERF_SAMPLE_DATA_SRC))
		put64(&b, word(PERF_SAMPLE_DATA_SRC));
	if (has(PERF_SAMPLE_TRANSACTION))
		put64(&b, word(PERF_SAMPLE_TRANSACTION));
	if (has(PERF_SAMPLE_REGS_INTR)) {
		put64(&b, m.regs_abi);
		put_list(word(PERF_SAMPLE_REGS_INTR), nr_regs(attr.sample_regs_intr));
	}
	if (has(PERF_SAMPLE_PHYS_ADDR))
		put64(&b, word(PERF_SAMPLE_PHYS_ADDR));
	if (has(PERF_SAMPLE_CGROUP))
		put64(&b, word(PERF_SAMPLE_CGROUP));
	if (has(PERF_SAMPLE_DATA_PAGE_SIZE))
		put64(&b, word(PERF_SAMPLE_DATA_PAGE_SIZE));
	if (has(PERF_SAMPLE_CODE_PAGE_SIZE))
		put64(&b, word(PERF_SAMPLE_CODE_PAGE_SIZE));
	if (has(PERF_SAMPLE_AUX)) {
		put64(&b, m.aux);
		put_filled(m.aux, 3);
	}
	end(&b);
}

static void check_read(const struct libtally_sample *s)
{
	uint64_t f = attr.read_format, v = word(PERF_SAMPLE_READ);
	struct libtally_count_entry e;

	EQUAL(s->counts.nr, f & PERF_FORMAT_GROUP ? m.nr_counts : 1);
	EQUAL(s->counts.enabled, f & PERF_FORMAT_TOTAL_TIME_ENABLED ? 501 : 0);
	EQUAL(s->counts.running, f & PERF_FORMAT_TOTAL_TIME_RUNNING ? 502 : 0);
	for (uint64_t i = 0; i < s->counts.nr; i++) {
		EQUAL(libtally_counts_get(&s->counts, i, &e), 0);
		EQUAL(e.value, v + i);
		EQUAL(e.id, f & PERF_FORMAT_ID ? v + 100 + i : 0);
		EQUAL(e.lost, f & LIBTALLY_FORMAT_LOST ? v + 200 + i : 0);
	}
}

static void check_regs(const struct libtally_regs *r, uint64_t mask, uint64_t from)
{
	unsigned int i, nth = 0;
	__u64 value;

	EQUAL(r->abi, m.regs_abi);
	EQUAL(r->nr, nr_regs(mask));
	for (i = 0; i < 70; i++) {
		int there = i < 64 && m.regs_abi && mask >> i & 1;

		EQUAL(libtally_regs_get(r, i, &value), there ? 0 : -1ULL);
		if (there)
			EQUAL(value, from + nth++);
	}
}

static void check_branches(const struct libtally_sample *s)
{
	uint64_t from = word(PERF_SAMPLE_BRANCH_STACK);

	EQUAL(s->nr_branches, m.nr_branches);
	EQUAL(s->has_hw_idx, m.hw_idx_there);
	EQUAL(s->hw_idx, m.hw_idx_there ? m.hw_idx : 0);
	for (uint64_t i = 0; i < s->nr_branches; i++) {
		EQUAL(s->branches[i].from, from + 3 * i);
		EQUAL(s->branches[i].to, from + 3 * i + 1);
		EQUAL(s->branches[i].flags, from + 3 * i + 2);
	}
	EQUAL(!!s->branch_counters, m.counters_there && m.nr_branches);
	for (uint64_t i = 0; s->branch_counters && i < s->nr_branches; i++)
		EQUAL(s->branch_counters[i], 9000 + i);
}

#define CHECK_WORD(field, bit) EQUAL(s->field, has(bit) ? word(bit) : 0)

static void check(const struct libtally_record *r)
{
	const struct libtally_sample *s = &r->u.sample;

	EQUAL(r->type, PERF_RECORD_SAMPLE);
	EQUAL(s->has, attr.sample_type);
	CHECK_WORD(ip, PERF_SAMPLE_IP);
	EQUAL(s->pid, has(PERF_SAMPLE_TID) ? (uint32_t)word(PERF_SAMPLE_TID) : 0);
	EQUAL(s->tid, has(PERF_SAMPLE_TID) ? word(PERF_SAMPLE_TID) >> 32 : 0);
	CHECK_WORD(time, PERF_SAMPLE_TIME);
	CHECK_WORD(addr, PERF_SAMPLE_ADDR);
	EQUAL(s->id, has(PERF_SAMPLE_ID) || has(PERF_SAMPLE_IDENTIFIER) ?
		     word(PERF_SAMPLE_ID) : 0);
	CHECK_WORD(stream_id, PERF_SAMPLE_STREAM_ID);
	EQUAL(s->cpu, has(PERF_SAMPLE_CPU) ? (uint32_t)word(PERF_SAMPLE_CPU) : 0);
	EQUAL(s->cpu_reserved, has(PERF_SAMPLE_CPU) ? word(PERF_SAMPLE_CPU) >> 32 : 0);
	CHECK_WORD(period, PERF_SAMPLE_PERIOD);
	if (has(PERF_SAMPLE_READ))
		check_read(s);
	EQUAL(s->nr_ips, has(PERF_SAMPLE_CALLCHAIN) ? m.nr_ips : 0);
	for (uint64_t i = 0; i < s->nr_ips; i++)
		EQUAL(s->ips[i], word(PERF_SAMPLE_CALLCHAIN) + i);
	EQUAL(s->raw_size, has(PERF_SAMPLE_RAW) ? m.raw : 0);
	CHECK(filled(s->raw, s->raw_size, 1));
	if (has(PERF_SAMPLE_BRANCH_STACK))
		check_branches(s);
	if (has(PERF_SAMPLE_REGS_USER))
		check_regs(&s->regs_user, attr.sample_regs_user, word(PERF_SAMPLE_REGS_USER));
	EQUAL(s->stack_size, has(PERF_SAMPLE_STACK_USER) ? m.stack : 0);
	EQUAL(s->stack_used, has(PERF_SAMPLE_STACK_USER) && m.stack ? m.used : 0);
	CHECK(filled(s->stack, s->stack_size, 2));
	if (has(PERF_SAMPLE_WEIGHT) || has(PERF_SAMPLE_WEIGHT_STRUCT)) {
		EQUAL(s->weight, 0x7788556611223344);
		EQUAL(LIBTALLY_WEIGHT_VAR1(s->weight), 0x11223344);
		EQUAL(LIBTALLY_WEIGHT_VAR2(s->weight), 0x5566);
		EQUAL(LIBTALLY_WEIGHT_VAR3(s->weight), 0x7788);
	}
	CHECK_WORD(data_src, PERF_SAMPLE_DATA_SRC);
	CHECK_WORD(transaction, PERF_SAMPLE_TRANSACTION);
	if (has(PERF_SAMPLE_REGS_INTR))
		check_regs(&s->regs_intr, attr.sample_regs_intr, word(PERF_SAMPLE_REGS_INTR));
	CHECK_WORD(phys_addr, PERF_SAMPLE_PHYS_ADDR);
	CHECK_WORD(cgroup, PERF_SAMPLE_CGROUP);
	CHECK_WORD(data_page_size, PERF_SAMPLE_DATA_PAGE_SIZE);
	CHECK_WORD(code_page_size, PERF_SAMPLE_CODE_PAGE_SIZE);
	EQUAL(s->aux_size, has(PERF_SAMPLE_AUX) ? m.aux : 0);
	CHECK(filled(s->aux, s->aux_size, 3));
	EQUAL(s->rest.size, 0);
	EQUAL(libtally_record_time(r), s->time);
}

static int look(const void *data, size_t size, struct libtally_record *r)
{
	int error = libtally_record_parse(r, data, size, &format);

	if (!error)
		libtally_record_print(null, r);
	return error;
}

static void at_every_length(void)
{
	struct libtally_record r;
	static struct bytes cut;
	size_t n;

	cut = b;
	for (n = 0; n < b.n; n++) {
		void *copy = exact(&b, n);
		int error;

		EQUAL(look(copy, n, &r), LIBTALLY_RECORD_SHORT);
		free(copy);
		if (n < 8)
			continue;
		set_size(&cut, n);
		copy = exact(&cut, n);
		error = look(copy, n, &r);
		/* Only an empty branch stack may parse when its sample is cut. */
		CHECK(error == LIBTALLY_RECORD_TRUNCATED || error == LIBTALLY_RECORD_BAD_LENGTH ||
		      (!error && has(PERF_SAMPLE_BRANCH_STACK)));
		free(copy);
	}
}

static void choose(uint64_t sample_type)
{
	libtally_attr_init(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	attr.sample_type = sample_type;
	attr.read_format = below(32);
	attr.sample_regs_user = any() & any();
	attr.sample_regs_intr = any();
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	for (int i = 0; i < 26; i++)
		m.w[i] = any();
	m.nr_counts = below(5);
	m.nr_ips = below(9);
	m.raw = 4 + 8 * below(9);
	m.nr_branches = below(5);
	m.regs_abi = below(3);
	m.stack = 8 * below(9);
	m.used = m.stack ? below(m.stack + 1) : 0;
	m.aux = 8 * below(9);
	m.hw_idx = any();
	m.hw_idx_there = below(2);
	m.counters_there = below(2);
	if (m.hw_idx_there)
		attr.branch_sample_type |= PERF_SAMPLE_BRANCH_HW_INDEX;
	if (m.counters_there)
		attr.branch_sample_type |= LIBTALLY_SAMPLE_BRANCH_COUNTERS;
	libtally_format_init(&format, &attr);
}

static void round_trip(void)
{
	struct libtally_record r;
	void *copy;

	encode();
	copy = exact(&b, b.n);
	EQUAL(look(copy, b.n, &r), 0);
	if (!test_failures)
		check(&r);
	free(copy);
}

static void each_bit(void)
{
	char name[64];

	for (int bit = 0; bit < 25; bit++) {
		for (int i = 0; i < 40; i++) {
			choose(1ULL << bit);
			round_trip();
			at_every_length();
		}
		snprintf(name, sizeof(name), "sample_type bit %d alone", bit);
		test_end(name);
	}
}

static void combinations(void)
{
	for (int x = 0; x < 25; x++) {
		for (int y = 0; y < x; y++) {
			choose(1ULL << x | 1ULL << y);
			round_trip();
			at_every_length();
		}
	}
	test_end("each two bits of sample_type");
	for (int i = 0; i < 200000; i++) {
		choose(any() & LIBTALLY_SAMPLE_KNOWN);
		round_trip();
	}
	test_end("200000 combinations of sample_type, read_format and lengths");
	for (int i = 0; i < 300; i++) {
		choose(any() & LIBTALLY_SAMPLE_KNOWN);
		encode();
		at_every_length();
	}
	choose(LIBTALLY_SAMPLE_KNOWN);
	round_trip();
	at_every_length();
	test_end("combinations at every length");
}

/* Words of a branch stack whose presence does not follow from the attr. */
static void branch_words(void)
{
	for (int i = 0; i < 100000; i++) {
		choose((any() & LIBTALLY_SAMPLE_KNOWN) | PERF_SAMPLE_BRANCH_STACK);
		m.nr_branches = 0;
		attr.branch_sample_type |= PERF_SAMPLE_BRANCH_HW_INDEX;
		libtally_format_init(&format, &attr);
		m.hw_idx_there = below(2);
		/* With fields that have their own length, both readings could fit. */
		if (!m.hw_idx_there)
			attr.sample_type &= ~(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR |
					      PERF_SAMPLE_STACK_USER | PERF_SAMPLE_AUX);
		libtally_format_init(&format, &attr);
		round_trip();
	}
	test_end("no branch stack, and an empty one with its hw_idx");
	for (int i = 0; i < 100000; i++) {
		choose((any() & LIBTALLY_SAMPLE_KNOWN) | PERF_SAMPLE_BRANCH_STACK);
		attr.sample_type &= ~(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR |
				      PERF_SAMPLE_STACK_USER | PERF_SAMPLE_AUX);
		m.counters_there = 0;
		attr.branch_sample_type |= LIBTALLY_SAMPLE_BRANCH_COUNTERS;
		libtally_format_init(&format, &attr);
		round_trip();
	}
	test_end("branch counters that the PMU did not have");
}

static void lies(void)
{
	struct libtally_record r;
	uint64_t huge[] = { 1ULL << 61, 1ULL << 60, ~0ULL, 1ULL << 32, 10000, 1 };
	uint64_t kinds[] = { PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_STACK_USER,
			     PERF_SAMPLE_AUX, PERF_SAMPLE_READ };

	for (unsigned int k = 0; k < 5; k++) {
		for (unsigned int h = 0; h < 6; h++) {
			void *copy;

			choose(kinds[k]);
			attr.read_format = PERF_FORMAT_GROUP;
			libtally_format_init(&format, &attr);
			begin(&b, PERF_RECORD_SAMPLE, 0);
			put64(&b, huge[h]);
			end(&b);
			copy = exact(&b, b.n);
			CHECK(look(copy, b.n, &r) < 0);
			free(copy);
		}
	}
	choose(PERF_SAMPLE_RAW);
	begin(&b, PERF_RECORD_SAMPLE, 0);
	put32(&b, ~0U - 3);
	put32(&b, 0);
	end(&b);
	EQUAL(look(b.u.b, b.n, &r), LIBTALLY_RECORD_BAD_LENGTH);
	test_end("numbers that lead out of a sample");

	choose(PERF_SAMPLE_STACK_USER);
	m.stack = 16;
	m.used = 17;
	encode();
	EQUAL(look(b.u.b, b.n, &r), LIBTALLY_RECORD_BAD_LENGTH);
	test_end("more of a stack used than there is");

	choose(PERF_SAMPLE_IP | 1ULL << 25);
	encode();
	put64(&b, 77);
	end(&b);
	EQUAL(look(b.u.b, b.n, &r), 0);
	EQUAL(r.u.sample.rest.size, 8);
	EQUAL(*(const uint64_t *)r.u.sample.rest.data, 77);
	test_end("what later bits of sample_type add");
}

static void decoding(void)
{
	struct libtally_branch_flags f;
	struct libtally_data_src d;

	for (int i = 0; i < 1000; i++) {
		struct perf_branch_entry e;
		union perf_mem_data_src s;
		uint64_t w[3] = { 0, 0, any() };

		memcpy(&e, w, sizeof(e));
		libtally_branch_decode(w[2], &f);
		EQUAL(f.mispred, e.mispred);
		EQUAL(f.predicted, e.predicted);
		EQUAL(f.in_tx, e.in_tx);
		EQUAL(f.abort, e.abort);
		EQUAL(f.cycles, e.cycles);
		EQUAL(f.type, e.type);
		EQUAL(f.spec, e.spec);
		EQUAL(f.new_type, e.new_type);
		EQUAL(f.priv, e.priv);
		s.val = any();
		libtally_data_src_decode(s.val, &d);
		EQUAL(d.op, s.mem_op);
		EQUAL(d.lvl, s.mem_lvl);
		EQUAL(d.snoop, s.mem_snoop);
		EQUAL(d.lock, s.mem_lock);
		EQUAL(d.dtlb, s.mem_dtlb);
		EQUAL(d.lvl_num, s.mem_lvl_num);
		EQUAL(d.remote, s.mem_remote);
		EQUAL(d.snoopx, s.mem_snoopx);
		EQUAL(d.blk, s.mem_blk);
		EQUAL(d.hops, s.mem_hops);
	}
	test_end("branch flags and data_src, as the kernel's bit-fields");
}

/* Events with different samples in one ring. */
static void events(void)
{
	struct libtally_events *e = libtally_events_new();
	struct perf_event_attr attrs[3];
	const __u64 ids[3][2] = { { 100, 5 }, { 7, 300 }, { 50, 51 } };
	struct libtally_record r;

	for (int i = 0; i < 3; i++) {
		choose(((any() & LIBTALLY_SAMPLE_KNOWN) | PERF_SAMPLE_IDENTIFIER) ^ (1 << i));
		attr.sample_id_all = 1;
		attrs[i] = attr;
		EQUAL(libtally_events_add(e, &attr, ids[i], 2, NULL), i);
	}
	EQUAL(libtally_events_nr(e), 3);
	for (int i = 0; i < 30000; i++) {
		int n = below(3);
		uint64_t id = ids[n][below(2)];

		choose(attrs[n].sample_type);
		attr = attrs[n];
		format = *libtally_events_format(e, n);
		m.w[6] = id;
		m.hw_idx_there = !!(attr.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX);
		m.counters_there = !!(attr.branch_sample_type & LIBTALLY_SAMPLE_BRANCH_COUNTERS);
		encode();
		EQUAL(libtally_events_parse(e, &r, b.u.b, b.n), n);
		check(&r);
		EQUAL(libtally_events_time(e, b.u.b, b.n), r.u.sample.time);
		begin(&b, PERF_RECORD_SWITCH, 0);
		if (has(PERF_SAMPLE_TID))
			put64(&b, 1);
		if (has(PERF_SAMPLE_TIME))
			put64(&b, 2);
		if (has(PERF_SAMPLE_ID))
			put64(&b, id);
		if (has(PERF_SAMPLE_STREAM_ID))
			put64(&b, 3);
		if (has(PERF_SAMPLE_CPU))
			put64(&b, 4);
		put64(&b, id);
		end(&b);
		EQUAL(libtally_events_parse(e, &r, b.u.b, b.n), n);
		EQUAL(r.id.id, id);
		EQUAL(libtally_events_time(e, b.u.b, b.n), has(PERF_SAMPLE_TIME) ? 2 : 0);
	}
	begin(&b, PERF_RECORD_SAMPLE, 0);
	put64(&b, 101);
	end(&b);
	EQUAL(libtally_events_find(e, b.u.b, b.n), (unsigned long long)LIBTALLY_RECORD_NO_EVENT);
	EQUAL(libtally_events_find(e, b.u.b, 8), (unsigned long long)LIBTALLY_RECORD_SHORT);
	begin(&b, PERF_RECORD_SAMPLE, 0);
	end(&b);
	EQUAL(libtally_events_find(e, b.u.b, b.n), (unsigned long long)LIBTALLY_RECORD_TRUNCATED);
	test_end("the event of a record, by IDENTIFIER");

	choose(PERF_SAMPLE_ID | PERF_SAMPLE_IP);
	attr.sample_id_all = 1;
	CHECK(libtally_events_add(e, &attr, NULL, 0, NULL) < 0);
	choose(PERF_SAMPLE_IDENTIFIER);
	attr.sample_id_all = 1;
	CHECK(libtally_events_add(e, &attr, ids[1], 2, NULL) < 0);
	EQUAL(libtally_events_nr(e), 3);
	libtally_events_free(e);
	test_end("events that could not be told from each other are refused");
}

int main(void)
{
	null = fopen("/dev/null", "w");
	each_bit();
	combinations();
	branch_words();
	lies();
	decoding();
	events();
	fclose(null);
	return 0;
}
