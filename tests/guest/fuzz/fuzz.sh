#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Random calls find more, the longer they run; `make fuzz` runs longer.
# soak: on=debug-x86_64,debug-arm64,debug-rt,debug-kcsan args=60 seconds=100
#
# fuzz.sh [SECONDS [SEED]]: random calls on /dev/tally from several processes, while
# allocations fail and, with more than one CPU, CPU 1 goes offline and online again. While
# it is online, RCU grace periods are expedited, so that there are more calls. See fuzz.c.

. "$(dirname "$0")/lib.sh"

seconds=${1:-10}
# A short run makes the same calls each time, unless another seed is given. A long run
# tries something new.
if [ "$seconds" -gt 60 ]; then seed=${2:-$(date +%s)}; else seed=${2:-1}; fi

for fault in failslab fail_page_alloc; do
	[ ! -d /sys/kernel/debug/$fault ] || {
		setting /sys/kernel/debug/$fault/ignore-gfp-wait N
		setting /sys/kernel/debug/$fault/verbose 1
	}
done
# These limits are reached now and then.
load_tally files_per_user=80 events_per_user=400
is "$(create 'page-faults name=kept')" OK 'an event for all'
ok 'one of another module, with a ring' insmod "$here/tally_recorder.ko" mode=share
note "seed $seed"
helper sh -c 'while [ ! -e $tmp/stop ]; do
	echo 0 >/sys/kernel/rcu_expedited
	echo 0 >/sys/devices/system/cpu/cpu1/online; sleep 1
	echo 1 >/sys/devices/system/cpu/cpu1/online
	echo 1 >/sys/kernel/rcu_expedited; sleep 2
done'
cpus=$helper_pid
results "$here/fuzz" "$seconds" 4 "$seed"
# Without arguments, fuzz32 prints its usage and exits with 2, if it runs at all.
if [ -x "$here/fuzz32" ] && { "$here/fuzz32" 2>/dev/null; [ $? -eq 2 ]; }; then
	results "$here/fuzz32" $((seconds / 2)) 4 "$seed"
fi
touch $tmp/stop
wait "$cpus"
no_files() { ! grep -q '^file\|^fuzz' $tally/events; }
ok 'no file of it is left' wait_for 60 no_files
results "$here/fuzz" memory
ok 'the other module goes' rmmod tally_recorder
is "$(remove kept)" OK 'the event goes'
nothing_left 'nothing is left'
finish
