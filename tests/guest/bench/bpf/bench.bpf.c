// SPDX-License-Identifier: GPL-2.0
/* The cost of a read in an eBPF program, and of counts of a function; see bench_bpf.c. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(int));
	__uint(value_size, sizeof(int));
	__uint(max_entries, 1);
} events SEC(".maps");

__u64 failed;

SEC("raw_tp/tally_bench_hit")
int probe_empty(void *ctx __attribute__((unused)))
{
	return 0;
}

SEC("raw_tp/tally_bench_hit")
int probe_read(void *ctx __attribute__((unused)))
{
	struct bpf_perf_event_value value;

	if (bpf_perf_event_read_value(&events, 0, &value, sizeof(value)))
		failed++;
	return 0;
}

/* The counts at the entries of the calls that go on, by thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u64);
	__type(value, __u64);
	__uint(max_entries, 1024);
} begun SEC(".maps");

/* What tally has for each member and CPU: a histogram, the sum and the number of calls. */
struct total {
	__u64 calls;
	__u64 sum;
	__u64 buckets[65];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, int);
	__type(value, struct total);
	__uint(max_entries, 1);
} totals SEC(".maps");

static __always_inline unsigned int log2(__u64 value)
{
	unsigned int bits = 0;

	if (value >> 32)
		value >>= 32, bits += 32;
	if (value >> 16)
		value >>= 16, bits += 16;
	if (value >> 8)
		value >>= 8, bits += 8;
	if (value >> 4)
		value >>= 4, bits += 4;
	if (value >> 2)
		value >>= 2, bits += 2;
	if (value >> 1)
		value >>= 1, bits += 1;
	return bits + (unsigned int)value;
}

SEC("kprobe/tally_bench_call")
int call_begin(void *ctx __attribute__((unused)))
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct bpf_perf_event_value value;

	if (bpf_perf_event_read_value(&events, 0, &value, sizeof(value)))
		failed++;
	else
		bpf_map_update_elem(&begun, &thread, &value.counter, BPF_ANY);
	return 0;
}

SEC("kretprobe/tally_bench_call")
int call_end(void *ctx __attribute__((unused)))
{
	__u64 thread = bpf_get_current_pid_tgid(), counted;
	struct bpf_perf_event_value value;
	struct total *total;
	__u64 *begin;
	int key = 0;

	if (bpf_perf_event_read_value(&events, 0, &value, sizeof(value)))
		failed++;
	begin = bpf_map_lookup_elem(&begun, &thread);
	total = bpf_map_lookup_elem(&totals, &key);
	if (!begin || !total)
		return 0;
	counted = value.counter - *begin;
	total->calls++;
	total->sum += counted;
	total->buckets[log2(counted) & 63]++;
	bpf_map_delete_elem(&begun, &thread);
	return 0;
}

char _license[] SEC("license") = "GPL";
