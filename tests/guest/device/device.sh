#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Why these kernels: perf is compared, and it differs between 6.1 and 6.12, and by PMU. One
# runs the programs of 64 bits, and one those of 32. Only arm64's and the debug kernels'
# processors run at the same time, and so have races.
# test: on=debian-6.12-arm64,debian-6.12 args=64 seconds=45
# test: on=debian-6.1 args=32 seconds=25 also="the calls of programs of 32 bits"
# all: on=debug-x86_64 args=64 seconds=150
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd args=64 seconds=45
# soak: on=debug-arm64,debug-rt,debug-clang,debian-6.1 seconds=120
#
# /dev/tally: calls that it refuses, programs written for perf_event_open(2) that use
# its files, and calls that perf does not have.
#
#	device.sh [BITS]	bits of the programs; default 64 and, where those run, 32

. "$(dirname "$0")/lib.sh"
need_cpus 2

# shellcheck disable=SC2119
load_tally
ok 'the device is there' [ -c /dev/tally ]
is "$(stat -c '%a %u %g' /dev/tally)" '600 0 0' 'and is of root alone'

find_bits devabi "${1-}"
for b in $bits; do
	b=${b#64}
	note "programs of ${b:-64} bits"
	same "counting$b"
	ok 'there are tracepoints' test -e /sys/kernel/tracing/events/task/task_rename/id
	same "sampling$b"
	results "devabi$b" abi
	results "devabi$b" structs
	results "devabi$b" unbuilt
	results "devinfo$b" features
	results "devinfo$b" masks
	results "devgroups$b" cpus
	results "devread$b" poll
	results "devread$b" page
	results "devcount$b" exec
	results "devcount$b" overflows
	results "devread$b" owners
	results "devgroups$b" groups
	results "devcount$b" breakpoints
	results "devcount$b" hardware
	results "devcount$b" offline
	results "devrights$b" namespace

	results "lines$b" names
	results "lines$b" mistakes
	results "lines$b" events
	is "$(create 'page-faults name=shared')" OK 'an event for others'
	results "devread$b" attach shared
	results "devread$b" gone shared "echo shared >$tally/remove"
done

# ---- events that their module releases or leaves behind

for kind in event set overflow 'event forget=1' 'set forget=1'; do
	# shellcheck disable=SC2086 # Two parameters.
	ok "a module with an event: $kind" insmod "$here/tally_owner.ko" kind=$kind
	results devread gone owned 'rmmod tally_owner'
done

# ---- what rmmod and debugfs see of open files

mkfifo $tmp/held
hold() {
	rm -f $tmp/lock
	"$here/devrights" hold "$1" <$tmp/held >$tmp/lock &
	holder=$!
	exec 5>$tmp/held
	wait_for 60 test -s $tmp/lock
}
let_go() {
	exec 5>&-
	wait "$holder"
}
for what in device file page; do
	ok "a $what is held" hold $what
	refused "rmmod is refused while a $what is" rmmod tally
	[ $what = page ] || let_go
done
is "$(ls -d $tally/file.* 2>/dev/null)" '' 'a file has no folder'
name=$(sed -n 's/^\(file\.[0-9]*\) .*/\1/p' $tally/events)
is "$(remove "$name")" EPERM 'and is not to be removed'
let_go
ok 'its page was published' [ "$(tail -n 1 $tmp/lock)" -gt 0 ]
is "$(cat $tally/events)" '' 'nothing is left of it'

# ---- limits

chmod 666 /dev/tally
is "$(create 'page-faults cpu=0 name=public')" OK 'an event'
results devquota account
for b in $bits; do
	for what in files events memory rings; do
		results "devquota${b#64}" $what
	done
done
is "$(remove public)" OK 'it goes'

nothing_left 'nothing is left'
finish
