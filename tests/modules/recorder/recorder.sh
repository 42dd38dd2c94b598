#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12-arm64,debian-6.1,debug-x86_64 seconds=10
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=10
# soak: on=debian-6.12,debug-arm64
#
# Rings of another module: forward rings and flight recorders, also when memory is short
# and when the module is unloaded. For a panic see tests/host/panic.sh.

. "$(dirname "$0")/lib.sh"

module=$here/tally_recorder.ko
slab=/sys/kernel/debug/failslab
pages=/sys/kernel/debug/fail_page_alloc

# shellcheck disable=SC2119
load_tally
ok 'tally_recorder is loaded' insmod "$module"
module_results tally_recorder
ok 'tally_recorder can be unloaded' rmmod tally_recorder
nothing_left 'nothing is left of it'

records() { [ "$(cat $tally/left_recorder/overflows)" -ge 1 ]; }
for round in 1 2; do
	mark
	ok "mode=leave is loaded ($round)" insmod "$module" mode=leave
	ok 'its recorder records' wait_for 60 records
	ok 'it can be unloaded while it does' rmmod tally_recorder
	nothing_left 'what it left is released'
	ok 'and the log says so' logged 'tally_recorder left event left_recorder behind'
done

ok 'mode=share is loaded' insmod "$module" mode=share
results "$here/devshare" rings
results "$here/devshare" released 'rmmod tally_recorder'
nothing_left 'nothing is left of it'

if [ -e /proc/self/fail-nth ] && [ -d $slab ]; then
	# The settings are those of failslab.sh.
	setting $slab/ignore-gfp-wait N
	setting $slab/verbose 1
	if [ -d $pages ]; then
		setting $pages/ignore-gfp-wait N
		setting $pages/min-order 0
		setting $pages/verbose 1
	fi
	setting /sys/kernel/rcu_expedited 1
	results failnth insmod "$module" mode=once 1
	nothing_left 'nothing is left of what failed'
else
	skip 'this kernel has no fault injection' 'each allocation fails in turn'
fi
finish
