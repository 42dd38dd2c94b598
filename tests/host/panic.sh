#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A guest's kernel crashes while a flight recorder is armed: its last records are
# in the log, and can be read.
#
#	panic.sh KERNEL

set -u
cd "$(dirname "$0")/../.." || exit 2
. tests/host/lib.sh

kernel=$1
log=$work/log

# said PATTERN: how many lines of the log, behind the panic, are like it.
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

# crash NAME COMMAND: the guest ends with a panic.
crash() {
	check_status "$1" 125 scripts/vm --kernel "$kernel" --log "$log" --timeout 200 -- "$2"
}

sample='tally:  [0-9]+\.[0-9]{6} cpu [0-9] pid [0-9]+ tid [0-9]+ \([^)]+\) ip'

crash 'it panics' \
	'insmod tally.ko && insmod tally_recorder.ko mode=panic && echo c >/proc/sysrq-trigger'
for cpu in 0 1; do
	check "the ring of CPU $cpu is told" \
		is_said "tally: the last records of flight on cpu $cpu, the newest first:" 1
	check 'the last 16 of it' is_said "tally:  [0-9.]+ cpu $cpu .* ip probed\+0x.*\[tally_recorder\]" 16
done
check 'and no other' is_said "$sample" 32
check 'and nothing that cannot be read' is_said 'a record of type|were lost' 0

crash 'it panics behind what a task has done' \
	'insmod tally.ko && insmod tally_recorder.ko mode=panic && cd /sys/module/tally_recorder/parameters && echo 30 >calls && echo c >/proc/sysrq-trigger'
check 'the last 16 of that task are told, by its name' \
	is_said 'tally:  [0-9.]+ cpu [01] pid ([0-9]+) tid \1 \(sh\) ip probed' 16

crash 'it panics in the middle of a record' \
	'insmod tally.ko && insmod tally_recorder.ko mode=inside'
cpu=$(tr -d '\r' <"$log" | sed -n 's/.*not syncing: .* middle of the 4th record of cpu //p')
check 'the three before it are told, and it is not' is_said "tally:  [0-9.]+ cpu $cpu pid " 3
check 'and nothing that cannot be read' is_said 'a record of type|were lost|tally:  0\.000000' 0

# One that was released, or whose module is gone, is no more.
crash 'it panics without one' \
	'insmod tally.ko && insmod tally_recorder.ko mode=panic && rmmod tally_recorder && echo c >/proc/sysrq-trigger'
check 'nothing is told' is_said 'tally: ' 0
finish
