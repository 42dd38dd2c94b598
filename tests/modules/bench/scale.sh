#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: by=scripts/bench
#
# scale.sh [RUNS]: measures the cost of reads of other CPUs, in the kernel and in a
# process, and the number of CPUs that they interrupt, with 1, 8 and 64 events on 1, 2, 4
# and 8 CPUs; for scripts/bench. It needs a guest with --icount and --smp 8.

. "$(dirname "$0")/lib.sh"

runs=${1-5}
cd "$here" || exit

# calls: prints the number of function-call interrupts of all CPUs.
calls() {
	awk '/Function call interrupts/ {
		for (i = 2; $i ~ /^[0-9]+$/; i++)
			sum += $i
	} END { print sum }' /proc/interrupts
}

# only CPUS: lets this number of CPUs be online.
only() {
	cpu=1
	while [ $cpu -lt 8 ]; do
		want=0
		[ $cpu -ge "$1" ] || want=1
		[ "$(cat /sys/devices/system/cpu/cpu$cpu/online)" = $want ] ||
			echo $want >/sys/devices/system/cpu/cpu$cpu/online || return
		cpu=$((cpu + 1))
	done
	[ "$(nproc)" = "$1" ]
}

# hundred WHO KIND: prints the figures of 100 reads.
hundred() {
	before=$(calls)
	tenths=$(as cpu 0 cat "/sys/kernel/debug/tally_scale/$1")
	after=$(calls)
	echo "# figure scale $1_$2 $tenths"
	echo "# figure scale $1_$2_calls $(((after - before) / 10))"
	is_number "$tenths"
}

# measure CPUS: prints the figures of this number of CPUs. With 8 events on 2 CPUs it
# prints the figures of reads of one other CPU, too. The first read of each file is
# thrown away: it wakes the idle CPUs, and costs too much.
measure() {
	for events in 1 8 64; do
		ok "$events events on $1 CPUs" as cpu 0 insmod tally_scale.ko events=$events
		if [ "$1$events" = 28 ]; then
			module_results tally_scale
			ok 'reads of a process' as cpu 1 ./bench_user far_user
		fi
		for who in tally perf; do
			as cpu 0 cat "/sys/kernel/debug/tally_scale/$who" >/dev/null
			hundred $who "${events}_$1"
		done
		ok 'they are gone' rmmod tally_scale
		ok "$events events on $1 CPUs for a process" as cpu 0 ./allcpus $events 100
	done
}

is "$(nproc)" 8 'eight CPUs'
# shellcheck disable=SC2119
load_tally
run=0
while [ $run -lt "$runs" ]; do
	run=$((run + 1))
	note "run $run"
	for cpus in 8 4 2 1; do
		ok "$cpus CPUs are online" only $cpus
		measure $cpus
	done
done
ok 'all CPUs are online' only 8
nothing_left 'they left nothing behind'
finish
