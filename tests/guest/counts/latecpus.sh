#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Linux 6.1 takes room on the board for CPUs that are possible; 6.12 does not.
# test: on=debian-6.1 vm="--room 6 --append maxcpus=2" args=6 seconds=10
# all: on=debian-6.12 vm="--append maxcpus=2" seconds=10
# soak: on=debug-x86_64 vm="--append maxcpus=2"
#
# latecpus.sh [POSSIBLE]: CPUs that were never online when tally was loaded. 2 and 3 are
# there and come later; those from 4 on are possible only, up to POSSIBLE (4). hotplug.sh
# has CPUs that were online before.

. "$(dirname "$0")/lib.sh"

case $(uname -m) in
x86_64) symbol=__x64_sys_getppid ;;
*) symbol=__arm64_sys_getppid ;;
esac
cpus=/sys/devices/system/cpu
possible=${1:-4}

state_on() { cpu_line "$1" "$2" | cut -d' ' -f1; }
on_cpu() { cpu_line "$1" "$2" | cut -d' ' -f2; }
active_on() { [ "$(state_on "$1" "$2")" = active ]; }
# states_are TEXT WORD...: checks the states of probe on CPUs 0 to 3; others are offline.
states_are() {
	want="$2 $3 $4 $5"
	[ "$possible" = 4 ] || want="$want offline offline"
	is "$(states probe)" "$want " "$1"
}
states() { rows "$1" | cut -d' ' -f2 | tr '\n' ' '; }
# sum NAME: checks that the count is the sum of all CPUs. Nothing counts meanwhile.
sum() {
	is "$(count "$1")" "$(awk '{ sum += $3 } END { print sum }' "$tally/$1/per_cpu")" \
		"$1: the count is that of all CPUs"
}
# A shell calls getppid() as it starts, so $here/task is started without one.
getppid() { echo "getppid $2" | as cpu "$1" "$here/task" >/dev/null; }

is "$(cat $cpus/online) $(cat $cpus/present) $(cat $cpus/possible)" \
	"0-1 0-3 0-$((possible - 1))" "two CPUs are online, four are there, $possible possible"
# shellcheck disable=SC2119
load_tally
is "$(create kprobe:$symbol name=probe)" OK 'a probe on all CPUs'
is "$(create kprobe:$symbol period=10 name=each)" OK 'one that overflows'
is "$(create page-faults name=faults)" OK 'page faults on all CPUs'
states_are 'two CPUs count' active active offline offline
is "$(stat_of perf_events)" 6 'and only these have events of perf'
is "$(create page-faults cpu=2 name=x)" ENODEV 'no event on a CPU that was never online'
[ "$possible" = 4 ] ||
	is "$(create page-faults cpu=5 name=x)" ENODEV 'nor on one that is possible only'
is "$(create page-faults cpu=$possible name=x)" EINVAL 'nor on one that cannot be'
getppid 0 100
getppid 1 100
is "$(count probe)" 200 'all calls are counted'
sum probe
for cpu in 3 2; do
	echo 1 >$cpus/cpu$cpu/online
	for name in probe each faults; do
		ok "$name counts on CPU $cpu" wait_for 60 active_on $name $cpu
	done
	before=$(on_cpu faults $cpu)
	getppid $cpu 100
	is "$(on_cpu probe $cpu)" 100 "probe counts the calls on CPU $cpu"
	at_least "$(on_cpu faults $cpu)" $((before + 1)) "faults those of the program"
done
states_are 'four CPUs count' active active active active
is "$(count probe) $(count each) $(cat $tally/each/overflows)" '400 400 40' \
	'all calls are counted'
sum probe
sum each
is "$(create page-faults cpu=2 name=x)" OK 'an event on a CPU that came'
is "$(stat_of hotplug_errors)" 0 'no event could not be made'
echo 0 >$cpus/cpu3/online
states_are 'one goes' active active active offline
is "$(on_cpu probe 3)" 100 'and its count stays'
sum probe
for name in probe each faults x; do
	is "$(remove $name)" OK "remove $name"
done
nothing_left 'nothing is left'
finish
