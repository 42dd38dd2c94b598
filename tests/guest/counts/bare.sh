#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# soak: on=debug-bare seconds=30
#
# A kernel without tracepoints, kprobes and debugfs: tally prints what is off, and programs
# count and sample as with perf.

. "$(dirname "$0")/lib.sh"

said() { dmesg | grep -q "tally: $1"; }

ok 'insmod with an event' insmod "$here/tally.ko" events=page-faults
for option in TRACEPOINTS EVENT_TRACING KPROBE_EVENTS DEBUG_FS; do
	ok "no CONFIG_$option: it is said" said "the kernel has no CONFIG_$option, so there are no "
done
refused 'nothing is said of breakpoints' said 'the kernel has no CONFIG_HAVE_HW_BREAKPOINT'
ok 'the event is made' said '1 events started, 0 failed'
refused 'there is no folder in debugfs' test -e $tally
ok 'the device is there' [ -c /dev/tally ]
same counting
same sampling
results devgroups cpus
results devread page
results devcount breakpoints
results devinfo features
results devinfo masks
ok 'rmmod' rmmod tally
insmod "$here/tally.ko" events='kprobe:do_exit;sched:sched_switch;page-faults'
ok 'events of kprobes and tracepoints are refused, others are made' said '1 events started, 2 failed'
ok 'rmmod' rmmod tally
finish
