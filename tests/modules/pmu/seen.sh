#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.1,debian-6.12,debian-6.12-arm64,debug-x86_64 vm="--smp 2" seconds=20
#
# What a count alone does not show: the period that is in effect, the precision that was
# obtained, and an overflow interrupt that never comes. tally_pmu.ko has a PMU whose
# interrupts come when the test wants them, and where.

. "$(dirname "$0")/lib.sh"
load_tally
test_pmu=/sys/kernel/debug/tally_pmu
need_two_cpus
last=$(($(nproc) - 1))
# Without a PMU of the machine's own, the test's core PMU has its place.
raw=1 core=cpu
! has_pmu || raw=0 core=tally_core
insmod tally_pmu.ko raw=$raw
written=$core/event=0x01/

file() { cat "$tally/$1/$2"; }
# written CPU TOTAL: the total of the event on a CPU, where the PMU interrupts.
written() { echo "$2" >$test_pmu/written"$1"; }
# refused_line ERRNO WORDS LINE: the line is refused, and the log has the words.
refused_line() {
	mark
	is "$(create "$3")" "$1" "$1: $3"
	ok "the log says: $2" logged "$2.*$(in_log "$1")"
}

# ---- the period in effect

is "$(create "$written" cpu=1 period=1000 name=fixed)" OK 'a period on one CPU'
is "$(file fixed period)" '1 1000' 'is in effect'
is "$(create "$written" period=500 name=all)" OK 'a period on all CPUs'
is "$(file all period | tr '\n' ' ')" '0 500 1 500 ' 'one for each'
is "$(create cpu-clock cpu=0 freq=100 name=clock)" OK 'a clock with a frequency'
is "$(file clock period)" '0 10000000' 'has a period in nanoseconds'
is "$(create cpu-clock cpu=0 period=7 max_rate=100 name=short)" OK 'a clock with a short period'
is "$(file short period)" '0 10000' 'has the shortest that perf has timers for'
is "$(create page-faults pid=1 period=9 name=task)" OK 'a period of a task'
is "$(file task period)" 'any 9' 'is in effect wherever it runs'
is "$(create page-faults name=counts)" OK 'an event that only counts'
refused 'has no such file' test -e $tally/counts/period

# perf begins a frequency with a period of 1, and changes it at overflows and at ticks.
is "$(create "$written" cpu=0 freq=100 name=hz)" OK 'a frequency'
total=0
changed() {
	total=$((total + 100000))
	written 0 $total
	[ "$(file hz period | cut -d' ' -f2)" -gt 1000 ]
}
ok 'perf changes its period' wait_for 60 changed
like "$(file hz spec)" '*freq=100 *' 'the spec has the frequency all the same'
echo 0 >/sys/devices/system/cpu/cpu$last/online
has_no_period() { [ "$(file all period | tail -n 1)" = "$last -" ]; }
ok 'a CPU that is offline has no period' wait_for 60 has_no_period
echo 1 >/sys/devices/system/cpu/cpu$last/online
has_period() { [ "$(file all period | tail -n 1)" = "$last 500" ]; }
ok 'it has one again when it is back' wait_for 60 has_period
for name in fixed all clock short task counts hz; do
	remove $name >/dev/null
done

# ---- the precision that was obtained

for most in 3 2 1 0; do
	echo $most >/sys/module/tally_pmu/parameters/max_precise
	is "$(create ${written}P cpu=0 period=1000 name=p)" OK "P where the PMU has $most"
	is "$(file p precise)" $most 'is the highest that it has'
	p=$(printf %.${most}s ppp)
	is "$(file p spec)" "$written$p cpu=0 period=1000 name=p" 'and stands in the spec'
	remove p >/dev/null
	is "$(create ${written}$p cpu=0 period=1000 name=p)" OK "p as often as it has"
	is "$(file p precise)" $most 'is obtained'
	remove p >/dev/null
	[ $most = 3 ] || refused_line EOPNOTSUPP 'cannot do this' "${written}ppp cpu=0 period=1000"
done
echo 3 >/sys/module/tally_pmu/parameters/max_precise
refused_line EINVAL 'precise is for sampled events' "${written}P cpu=0"
refused_line EINVAL 'more than three p' "${written}pppp cpu=0 period=1000"
rmmod tally_pmu
nothing_left 'all events are gone'
finish
