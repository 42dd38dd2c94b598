#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debug-x86_64,debian-6.12-arm64,debian-6.1 seconds=20
# soak: on=debug-arm64,debug-rt,debian-6.12-riscv64
#
# Another module counts with tally, and reports its results. tally keeps nothing of the
# module after it is unloaded or has failed to load.

. "$(dirname "$0")/lib.sh"

consumer=$here/tally_consumer.ko

try_all() {
	ok "tally_consumer is loaded ($1)" insmod "$consumer"
	module_results tally_consumer
	refused "tally cannot be unloaded under it ($1)" rmmod tally 2>/dev/null
	ok "tally_consumer can be unloaded ($1)" rmmod tally_consumer
}

# shellcheck disable=SC2119
load_tally
try_all 'with debugfs'
nothing_left 'nothing is left of it'

mark
ok 'tally_consumer mode=leave is loaded' insmod "$consumer" mode=leave
is "$(stat_of events)" 2 'it has two events'
ok 'one of them is in the tree' test -d $tally/left_one
is "$(remove left_one)" EPERM 'which nobody else removes'
ok 'tally_consumer mode=leave can be unloaded' rmmod tally_consumer
nothing_left 'what it left behind is released'
ok 'and the log says so' logged 'tally_consumer left event left_one behind'
ok 'of each' logged 'tally_consumer left event left_two behind'
refused 'no folder is left' test -d $tally/left_one

mark
refused 'tally_consumer mode=failinit does not load' \
	insmod "$consumer" mode=failinit 2>/dev/null
nothing_left 'what it built before it failed is released'
ok 'and the log says that as well' logged 'tally_consumer left event left_two behind'

ok 'tally can be unloaded' unload_tally
load_tally debugfs=off
refused 'there is no tree with debugfs=off' test -e $tally
try_all 'debugfs=off'
ok 'mode=leave is loaded with debugfs=off' insmod "$consumer" mode=leave
mark
ok 'and unloaded' rmmod tally_consumer
ok 'its events are released without a tree, too' logged 'left event left_two behind'
finish
