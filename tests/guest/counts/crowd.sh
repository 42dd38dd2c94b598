#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12:intel args=0 seconds=25
# all: on=debian-6.1:intel,debian-7:intel,debian-6.12:amd args=0 seconds=25
# all: on=debug-x86_64:intel args=0 seconds=60
# soak: on=debug-x86_64:intel,debug-x86_64:amd args=90 alone seconds=130
#
# crowd.sh [SECONDS]: 24 sampled events share the counters of a CPU, of which there are fewer, while
# the NMI watchdog starts and stops, a CPU goes and comes, and perf and tally record: three times each,
# and for SECONDS. No count goes back.

. "$(dirname "$0")/lib.sh"
need_cpus 2
has_pmu || skip_all 'this machine has no PMU'
seconds=${1:-0}
load_tally
sample_rate 100000

last=$(($(nproc) - 1))
watchdog=/proc/sys/kernel/nmi_watchdog
ok 'there is an NMI watchdog' test -e $watchdog
keep $watchdog
# Linux 6.12 warns in sched/deadline.c if a busy CPU goes offline while its fair server has a timer.
no_fair_servers

# ---- 24 events: six codes, with levels and periods that differ

n=0
for event in cycles instructions branches branch-misses cache-references cache-misses; do
	for level in '' :u :k :uk; do
		n=$((n + 1))
		# About 500 overflows a second.
		case $event in
		branches) period=$((200000 + n)) ;;
		cache-references) period=$((50000 + n)) ;;
		*misses) period=$((20000 + n)) ;;
		*) period=$((2000000 + n)) ;;
		esac
		# :uk is what no modifier means; its period differs.
		is "$(create "$event$level period=$period name=e$n")" OK "$event$level, each $period"
	done
done
is "$(stat_of events)" 24 '24 events'

# ---- what else happens meanwhile

# rounds COUNTER COMMAND...: repeats the command until the file $tmp/stop exists. The file COUNTER
# has the number of times that it did well.
rounds() {
	rounds_file=$1 rounds_done=0
	shift
	echo 0 >"$rounds_file"
	until [ -e $tmp/stop ]; do
		! "$@" >$tmp/said."${rounds_file##*/}" 2>&1 || rounds_done=$((rounds_done + 1))
		echo $rounds_done >"$rounds_file"
	done
}
toggle() { echo 0 >$watchdog && usleep 50000 && echo 1 >$watchdog && usleep 50000; }
cycle() {
	echo 0 >/sys/devices/system/cpu/cpu"$last"/online && usleep 100000 &&
		echo 1 >/sys/devices/system/cpu/cpu"$last"/online && usleep 300000
}
# perf gives up if a CPU goes while it opens its files.
record_perf() {
	perf record -q -C 0-$((last - 1)) -F 500 -e cycles,page-faults -o $tmp/perf.data sleep 0.3
}
record_tally() { "$here/tally" record -a -F 500 -e cycles,page-faults -o $tmp/tally.data sleep 0.3; }

helper as nice "$here/load" -b
cpu=0
while [ $cpu -lt "$last" ]; do
	helper as nice "$here/load" -c $cpu -b
	cpu=$((cpu + 1))
done
helper as nice monot $tally/events 4
monot_pid=$helper_pid
workers=''
for worker in toggle cycle record_perf record_tally; do
	helper rounds $tmp/rounds.$worker $worker
	workers="$workers $helper_pid"
done
sleep "$seconds"
# Each of the 24 overflows: so it had a counter.
all_overflow() {
	for file in $tally/e*/overflows; do
		[ "$(cat "$file")" -gt 0 ] || return 1
	done
}
# The file is empty for a moment.
enough() {
	for worker in toggle cycle record_perf record_tally; do
		[ "$(cat $tmp/rounds.$worker)" -ge 3 ] 2>/dev/null || return 1
	done
}
ok 'each of them three times' wait_for 1000 enough
ok 'each event overflows' wait_for 300 all_overflow
waited=$(awk '/^e[0-9]/ { n += $6 + 0 < 100 } END { print n }' $tally/events)
at_least "$waited" 12 'events that waited for a counter'
: >$tmp/stop
# shellcheck disable=SC2086 # Several pids.
wait $workers
note "watchdog $(cat $tmp/rounds.toggle), hotplug $(cat $tmp/rounds.cycle)," \
	"perf record $(cat $tmp/rounds.record_perf), tally record $(cat $tmp/rounds.record_tally) times"
ok 'no count goes back' stop $monot_pid

# ---- all of them count to the end

awk '/^e[0-9]/ { print $1, $4 }' $tally/events >$tmp/before
all_grow() {
	awk 'NR == FNR { before[$1] = $2; next }
	     /^e[0-9]/ { n += $4 > before[$1] } END { exit n != 24 }' $tmp/before $tally/events
}
ok 'each count still grows' wait_for 300 all_grow
end_helpers
# A count that is 2^48 too large is perf's own: x86_perf_event_update() misses an interrupt between
# two reads of the counter if a whole period has passed meanwhile.
jumped=$(awk '$4 >= 140737488355328' $tally/events | wc -l)
[ "$jumped" = 0 ] || note "$jumped counts have a jump by 2^48"
cut -d' ' -f1 $tally/events >$tmp/names
cat $tmp/names >$tally/remove
nothing_left 'all are removed'
finish
