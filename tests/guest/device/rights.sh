#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Why these kernels: perf_allow_kernel() is exported by 6.12 and 7, not by 6.1, and arm64 has
# a PMU.
# test: on=debian-6.12,debian-6.1,debian-6.12-arm64 seconds=30
# soak: on=debian-7,debian-6.12-rt,debug-x86_64,debug-arm64 seconds=60
#
# Who may have which event: perf_event_open() and tally, beside each other. Who may make which
# call: the table of section "Rights" in <linux/tally.h>.

. "$(dirname "$0")/lib.sh"
need_cpus 2

# shellcheck disable=SC2119
load_tally
ok 'there are tracepoints' test -e /sys/kernel/tracing/events/task/task_rename/id
asked=0
grep -q ' __ksymtab_perf_allow_kernel$' /proc/kallsyms && asked=1
note "perf_allow_kernel() is exported: $asked"
keep /proc/sys/kernel/perf_event_paranoid
results grants matrix $asked
ok 'a module with an event that has rings' insmod "$here/tally_recorder.ko" mode=share
find_bits devwho
for b in $bits; do
	note "programs of $b bits"
	results "devwho${b#64}" table $asked
done
rmmod tally_recorder
nothing_left 'nothing is left'
finish
