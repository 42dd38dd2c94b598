#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Writers and readers run at random: the longer, the better. Guests have one CPU, two, and
# more than the machine has.
# test: on=debian-6.12 vm="--smp 1" args="8 all cpu task backward" seconds=40
# all: on=debug-x86_64 vm=--no-leak-scan args="8 all cpu task backward churn" seconds=60
# soak: on=debug-x86_64 args="120 abuse abuse_speed" seconds=150
# soak: on=debug-arm64,debug-rt,debian-6.12 args=60 seconds=90
#
# A stress test of the rings of /dev/tally: producers in all contexts, NMIs in the middle
# of writers, readers that stop, and readers that write anything to the header page.
#
#	hammer.sh [SECONDS [TEST]...]	SECONDS for all tests together, default 60

. "$(dirname "$0")/lib.sh"

seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- all cpu task backward abuse churn
part=$((seconds / $#))

setting /proc/sys/kernel/kptr_restrict 0
# shellcheck disable=SC2119
load_tally
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
# The module handles such traps, also in tally's code, until it is unloaded.
note "traps that QEMU had kept: $(cat /sys/kernel/debug/tally_hammer/stale)"
ok 'the producers can be unloaded' rmmod tally_hammer
finish
