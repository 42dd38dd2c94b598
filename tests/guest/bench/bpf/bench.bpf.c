// SPDX-License-Identifier: GPL-2.0
/* The cost of a read in an eBPF program; see bench_bpf.c. */
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

char _license[] SEC("license") = "GPL";
