#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1,debian-6.12-arm64 seconds=20
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=20
# soak: on=debug-x86_64 seconds=60
#
# What a count alone does not show: the period that is in effect, the precision that was
# obtained, and an overflow interrupt that never comes. tally_pmu.ko has a PMU whose
# interrupts come when the test wants them, and where.

. "$(dirname "$0")/lib.sh"
need_cpus 2
load_tally
test_pmu=/sys/kernel/debug/tally_pmu
last=$(($(nproc) - 1))
# Without a PMU of the machine's own, the test's core PMU has its place.
raw=1 core=cpu
! has_pmu || raw=0 core=tally_core
# Linux 6.1 has one context for all PMUs: no exclusive event counts there beside the watchdog's.
case $(uname -r) in
6.1.*) [ ! -e /proc/sys/kernel/nmi_watchdog ] || setting /proc/sys/kernel/nmi_watchdog 0 ;;
esac
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
is "$(file all period | xargs)" "$(seq 0 $last | sed 's/$/ 500/' | xargs)" 'one for each'
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
	[ $most = 3 ] || refused_line EOPNOTSUPP 'no such precision' "${written}ppp cpu=0 period=1000"
done
echo 3 >/sys/module/tally_pmu/parameters/max_precise
refused_line EINVAL 'precise is for sampled events' "${written}P cpu=0"
refused_line EINVAL 'more than three p' "${written}pppp cpu=0 period=1000"

# ---- an overflow interrupt that never comes

# count_on CPU N: the PMU counts N more there.
total0=0 total1=0
count_on() {
	case $1 in
	0) total0=$((total0 + $2)) && written 0 $total0 ;;
	*) total1=$((total1 + $2)) && written 1 $total1 ;;
	esac
}
written 0 0
written 1 0
echo Y >$test_pmu/mute
is "$(create "$written" cpu=0 period=1000 name=one)" OK 'a PMU whose interrupts never come'
is "$(create "$written" period=1000 name=all)" OK 'the same on all CPUs'
is "$(create "$written" cpu=0 freq=100 name=hz)" OK 'the same with a frequency'
is "$(create "${written}I" cpu=0 period=1000 name=idle)" OK 'the same but for the idle task'
is "$(create "$written" cpu=0 disabled period=1000 name=off)" OK 'the same, disabled'
is "$(create context-switches period=1 name=soft)" OK 'and an event of software'
count_on 0 2255
is "$(state one) $(state all)" 'active active' 'before two periods and 256 counts they are active'
count_on 0 1
is "$(state one) $(state all)" 'silent silent' 'and silent after them'
is "$(count one) $(file one overflows)" '2256 0' 'the count is right all the same'
is "$(grep '^one ' $tally/events | cut -d' ' -f1-4)" 'one cpu=0 silent 2256' 'the list says it, too'
is "$(rows all | cut -d' ' -f2-3 | sort | uniq -c | xargs)" "$last active 0 1 silent 2256" \
	'each CPU that has not counted is active'
is "$(state hz)" silent 'with a frequency it is silent after ten periods'
is "$(state idle) $(state off) $(state soft)" 'active off active' 'the others are never silent'
echo N >$test_pmu/mute
count_on 0 1
is "$(state one) $(file one overflows)" 'active 1' 'when an interrupt comes, it is active again'
echo Y >$test_pmu/mute
states=''
for n in 1 2; do
	count_on 0 3000
	states="$states$(state one) "
done
is "$states" 'active silent ' 'when no more come, reads find it out'
is "$(rd $tally/one/state)" silent 'and still know it'
echo "one" >$tally/remove
is "$(create "$written" cpu=0 period=1000 name=one)" OK 'one that is made anew'
is "$(state one)" active 'is active at first'
for name in one all hz idle off soft; do
	remove $name >/dev/null
done
echo N >$test_pmu/mute

# Interrupts come: whatever is counted between two reads, no event is ever silent.
is "$(create "$written" period=700 name=all)" OK 'a PMU whose interrupts come'
is "$(create "$written" cpu=1 freq=1000 name=hz)" OK 'and with a frequency'
n=0 seen=''
while [ $n -lt 100 ]; do
	n=$((n + 1))
	count_on $((n % 2)) $((n * n * 7))
	seen="$seen $(state all) $(state hz) $(rows all | cut -d' ' -f2 | xargs)"
done
is "$(echo "$seen" | tr ' ' '\n' | sort -u | xargs)" active 'no event is ever silent'
at_least "$(file all overflows)" 50 'they overflow'
if [ $raw = 0 ]; then
	is "$(create cycles period=500000000 name=real)" OK "the machine's own PMU"
	overflows_reach() { [ "$(file real overflows)" -ge 2 ] || { state real >>$tmp/states && false; }; }
	ok 'overflows' wait_for 60 overflows_reach
	is "$(sort -u $tmp/states)" active 'and is never silent'
fi
for name in all hz real; do
	remove $name >/dev/null
done

# ---- samples in a guest

is "$(create "$written" period=10 name=all)" OK 'samples of a PMU'
echo Y >$test_pmu/vcpu
guests() {
	total0=$((total0 + 10))
	as cpu "$1" sh -c "echo $total0 >$test_pmu/written0"
	is "$(file all guest)" 1 "$2"
}
guests 0 'a task that runs a guest'
guests 1 'not another one'
echo N >$test_pmu/vcpu
guests 0 'nor the same one when the guest is left'
is "$(file all overflows)" 3 'each is an overflow'
is "$(stat_of guest)" 1 'stats has it'
remove all >/dev/null
as cpu 0 insmod tally_pmu_seen.ko core=$core
module_results tally_pmu_seen
rmmod tally_pmu_seen

# ---- what holds the PMU

# busy WORDS LINE: the line is refused, and the log has these words before the errno.
busy() {
	mark
	is "$(as cpu 0 wr $tally/create "$2")" EBUSY "EBUSY: $2"
	ok "the log says: $1" logged ": the PMU is taken$1 $(in_log EBUSY)"
}
# at_times WORDS LINE: the same of events that take turns.
at_times() {
	mark
	[ "$(as cpu 0 wr $tally/create "$2 name=turn")" = EBUSY ] || { remove turn; false; } &&
		logged ": the PMU is taken$1 $(in_log EBUSY)"
}
two=$core/event=0x3c/ three=$core/event=0xc0/
# Pinned, because events take turns otherwise.
create "$written" cpu=0 pinned exclusive name=solo >/dev/null
busy '; exclusive on cpu 0: event solo' "$two cpu=0 require"
busy '; exclusive on cpu 0: event solo' "$two cpu=0 require disabled"
busy '; exclusive on cpu 0: event solo' "$two require"
busy '; exclusive on cpu 0: event solo' "$two cpu=0 exclusive require"
busy '; exclusive on cpu 0: event solo' "$two pid=0 require"
busy '; exclusive on cpu 0: event solo' "{$two,$three} cpu=0 require name=pair"
is "$(create "$two" cpu=1 require name=other)" OK 'nothing holds another CPU'
remove solo >/dev/null
remove other >/dev/null
create "$two" cpu=0 name=other >/dev/null
ok 'an exclusive event shares the PMU with pinned ones only' wait_for 60 \
	at_times ', and an exclusive event shares it with pinned ones only' "$three cpu=0 exclusive require"
remove other >/dev/null
for n in 1 2 3 4; do
	create "$two" cpu=0 pinned name=p$n >/dev/null
done
busy '; pinned on cpu 0: event p[1-4], and 3 more' "$three cpu=0 require"
for n in 1 2 3 4; do
	remove p$n >/dev/null
done
create_modified() { create "$two$1" cpu=0 name=m"$1" >/dev/null; }
for m in u k uk uh; do
	create_modified $m
done
ok 'events that take turns are not named' wait_for 60 at_times '' "$three cpu=0 require"
for m in u k uk uh; do
	remove m$m >/dev/null
done
refused 'none of them was made' test -e $tally/pair

# Four pinned events of a program, one of which is named, to those who may see it.
setting /proc/sys/kernel/perf_event_paranoid 1
type=$(cat /sys/bus/event_source/devices/$core/type)
for n in 1 2 3 4; do
	helper devbusy hold "$type" 0x3c >$tmp/held$n
done
all_held() { cat $tmp/held? | wc -l | grep -qx 4; }
ok 'a program holds the PMU' wait_for 60 all_held
busy '; pinned on cpu 0: devbusy\[[0-9]*\], and 3 more' "$three cpu=0 require"
like "$(devbusy root "$type" 0xc0)" \
	'EBUSY the PMU is taken; pinned on cpu 0: devbusy\[[0-9]*\], and 3 more' 'root is told'
got=$(devbusy nobody "$type" 0xc0)
case $got in
EACCES*) skip 'this kernel hides its level from modules' 'nobody is told no names' ;;
*) is "$got" 'EBUSY the PMU is taken' 'nobody is told no names' ;;
esac
end_helpers
if [ $raw = 1 ]; then
	rmmod tally_pmu
	insmod tally_pmu.ko counters=1
	insmod tally_pmu_seen.ko hold=1
	busy '; pinned on cpu 0: function hold_it .*' "$two cpu=0 require"
	busy '; pinned on cpu 1: the NMI watchdog' "$two cpu=1 require"
	rmmod tally_pmu_seen
	is "$(create "$two" require name=all)" OK 'nothing holds it any more'
	remove all >/dev/null
fi

# ---- hotplug. A CPU that comes back makes no interrupts any more.

is "$(create "$written" period=500 name=all)" OK 'a period, and a CPU that goes'
echo 0 >/sys/devices/system/cpu/cpu$last/online
has_no_period() { [ "$(file all period | tail -n 1)" = "$last -" ]; }
ok 'a CPU that is offline has no period' wait_for 60 has_no_period
echo 1 >/sys/devices/system/cpu/cpu$last/online
has_period() { [ "$(file all period | tail -n 1)" = "$last 500" ]; }
ok 'it has one again when it is back' wait_for 60 has_period
remove all >/dev/null
rmmod tally_pmu
nothing_left 'all events are gone'
finish
