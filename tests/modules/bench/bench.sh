#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: by=scripts/bench
#
# bench.sh [RUNS]: measures the cost of tally and its peers on one CPU, for scripts/bench.
# It needs a guest with --icount, --smp 1 and --with-bpf, in which time counts
# instructions.

. "$(dirname "$0")/lib.sh"

runs=${1-5}
cd "$here" || exit

pmu='' nmi='' kinds='page-faults cpu-clock'
if has_pmu; then
	pmu=pmu=1 kinds="$kinds instructions"
	# Elsewhere, the emulator's PMU interrupts late.
	[ "$(uname -m)" != x86_64 ] || nmi=1
fi

# shellcheck disable=SC2119
load_tally
setting /proc/sys/kernel/threads-max 20000
is "$(create page-faults cpu=0 name=file)" OK 'an event with a file'

# shellcheck disable=SC2086
one_run() {
	ok 'tally_bench is loaded' insmod tally_bench.ko $pmu
	module_results tally_bench
	ok 'reads at a tracepoint' ./bench_bpf $kinds
	ok 'records in rings' ./bench_ring /sys/kernel/debug/tally_bench/bare
	[ -z "$nmi" ] || ok 'records of a PMU' ./bench_ring /sys/kernel/debug/tally_bench/bare pmi
	ok 'tally_bench can be unloaded' rmmod tally_bench
	ok 'records drained by a program' ./bench_lib
	ok 'reads of a process' ./bench_user user "$tally/file/count"
	[ -z "$nmi" ] || ok 'reads of hardware events' ./bench_user hardware
	ok 'tasks beside those of others' ./bench_tasks
	for whose in perf tally; do
		ok "tasks of a CPU with events: $whose" ./bench_tasks $whose
	done
}

run=0
while [ $run -lt "$runs" ]; do
	run=$((run + 1))
	note "run $run"
	one_run
done
is "$(remove file)" OK 'the event is gone'
nothing_left 'they left nothing behind'

unload_tally
for run in $(seq "$runs"); do
	ok "tasks without tally, run $run" ./bench_tasks without
	ok 'tally without debugfs' insmod tally.ko debugfs=0
	ok 'events without a folder' insmod tally_bench.ko lives=1
	module_results tally_bench
	rmmod tally_bench
	ok 'tasks beside tally' ./bench_tasks loaded
	unload_tally
done
# shellcheck disable=SC2119
load_tally
finish
