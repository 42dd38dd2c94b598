#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Seconds in which anything may meet: the longer the better. One CPU, two, and more
# than the machine has.
# test: on=debug-x86_64 args="15 all cpu task backward churn" seconds=30
# test: on=debug-x86_64 args="20 abuse" seconds=30
# test: on=debian-6.12 vm="--smp 1" args="8 all cpu task backward" seconds=15
# soak: on=debug-x86_64 vm="--smp 4" args="600 abuse abuse_speed" seconds=640
# soak: on=debug-x86_64,debug-arm64,debian-6.12 vm="--smp 4" args=300 seconds=340
#
# Rings of /dev/tally under fire: producers in all contexts, NMIs in the middle of what
# writes, readers that stop, and readers that write whatever they can.
#
#	hammer.sh [SECONDS [TEST]...]	default 60; about so long in all

. "$(dirname "$0")/lib.sh"

seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- all cpu task backward abuse churn
part=$((seconds / $#))

setting /proc/sys/kernel/kptr_restrict 0
# shellcheck disable=SC2119
load_tally
# The PMU's interrupts are to come as often as they are asked for.
setting /proc/sys/kernel/perf_cpu_time_max_percent 0
insmod "$here/tally_hammer.ko" || {
	echo "Bail out! tally_hammer.ko does not load"
	exit 1
}
grep '\[tally\]$' /proc/kallsyms >/tmp/tally_symbols
note "$(nproc) CPUs"
for test; do
	results "$here/hammer" "$test" $part
done
nothing_left 'nothing is left'
ok 'tally can be unloaded' unload_tally
# It heeds such traps, in tally's code, to the end.
note "traps that QEMU had kept: $(cat /sys/kernel/debug/tally_hammer/stale)"
ok 'the producers can be unloaded' rmmod tally_hammer
finish
