#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Why one kernel: it is the same for perf and the library. arm64 has other registers.
# soak: on=debian-6.12,debian-6.12-arm64 args=soak seconds=80
#
# The library for user programs, compared with perf. Records of perf events, of as many
# types as a guest has, are written to a perf.data file; `perf script -D` and the library
# print the same for each. Run with scripts/vm --with-perf.
#
#	recorded.sh [soak]	with soak, records must be in the order of their times

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/recorded.lib.sh"

# recorded lowers the sample rate to throttle an event; see sample_rate in lib.sh.
setting /proc/sys/kernel/perf_cpu_time_max_percent 25
keep /proc/sys/kernel/perf_event_max_sample_rate
in_order=''
[ "${1:-}" != soak ] || in_order=in_order
program recorded record $tmp/perf.data $in_order
program recorded dump $tmp/perf.data
theirs $tmp/perf.data
same_records

ok 'perf script prints samples' sh -c 'perf script -i $tmp/perf.data -F comm,tid,time,event 2>/dev/null | grep -q "recorded .*samples:"'
ok "the library's own words" sh -c 'recorded print $tmp/perf.data >$tmp/printed'
is "$(grep -c '^[A-Z]' $tmp/printed)" "$(wc -l <$tmp/ours)" 'each record is printed'

program recorded backward

load_tally
program recorded device
finish
