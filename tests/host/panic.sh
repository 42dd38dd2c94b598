#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Why these kernels: each architecture saves registers of a crash in its own way.
# test: on=debian-6.12-arm64 seconds=45
# soak: on=debian-6.1,debug-x86_64
#
# A guest's kernel crashes while a flight recorder is armed. Its rings are frozen, and are
# found by the symbol that a reader of a memory dump would use.
#
#	panic.sh KERNEL

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

kernel=$1
log=$work/log

# said PATTERN: prints the number of lines after the panic that match.
said() {
	tr -d '\r' <"$log" | sed -n '/Kernel panic - not syncing/,$p' | grep -cE "$1"
}

is_said() {
	local got
	got=$(said "$1")
	[ "$got" = "$2" ] || {
		echo "$got lines, not $2: $1"
		tail -60 "$log"
		return 1
	}
}

# crash NAME COMMAND: passes if the guest ends with a panic.
crash() {
	check_status "$1" 125 scripts/vm --kernel "$kernel" --full --log "$log" --timeout 200 -- "$2"
}

found='0x$(sed -n "s/ . tally_flight_recorders.*//p" /proc/kallsyms)'
load="insmod tally.ko && insmod tally_recorder.ko list=$found"

crash 'it panics' "$load mode=panic && echo c >/proc/sysrq-trigger"
check 'the recorder is found' is_said 'tally_recorder: 1 recorders' 1
for cpu in 0 1 2 3; do
	check "the ring of CPU $cpu has what was recorded, and nothing of the panic" \
		is_said "tally_recorder: flight on cpu $cpu: 20 records, 0 strange" 1
done

crash 'it panics in the middle of a record' "$load mode=inside"
cpu=$(tr -d '\r' <"$log" | sed -n 's/.*not syncing: .* middle of the 4th record of cpu //p')
check 'the three before it are there, and it is not' \
	is_said "tally_recorder: clock on cpu $cpu: 3 records, 0 strange" 1

# A recorder that was released is not found.
crash 'it panics without one' "$load mode=gone && echo c >/proc/sysrq-trigger"
check 'nothing is found' is_said 'tally_recorder: 0 recorders' 1
finish
