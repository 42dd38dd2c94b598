#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The clock counts instructions, so that the times are the same on each machine. Linux 6.1
# starts no second CPU then.
# all: on=debian-6.12 vm="--icount --smp 2" args=3 seconds=60
# soak: on=debian-6.12,debian-6.12-rt,debian-6.12-arm64 vm="--icount --smp 2" args=15 seconds=180
#
# comeback.sh [TOGGLES]: how long events do not count after their CPU came online, with 1, 10
# and 100 events on all CPUs, quiet and beside a load. per_cpu tells that time, and the time
# enabled leaves it out. Then what that means for a count.
#
# perf creates a software event only when no CPU is coming or going: perf_swevent_init() takes
# cpu_hotplug_lock. So such an event also waits for the task that writes "online", which shares
# its CPU with the load.

. "$(dirname "$0")/lib.sh"
need_cpus 2
toggles=${1:-5}
online=/sys/devices/system/cpu/cpu1/online
[ -w $online ] || skip_all 'CPU 1 cannot go offline in this kernel'

# load_each OPTION...: a load with these options for each CPU.
load_each() {
	# shellcheck disable=SC2046 # Several words.
	helper load $(seq "$(nproc)" | sed "s/.*/$*/")
}

# gaps: prints the sum of the gaps of each event on CPU 1 so far.
gaps() { awk '$1 == 1 { print $6 }' "$tally"/e*/per_cpu; }
# last_comes GAPS: all events have come back since they had these gaps.
last_comes() {
	gaps >$tmp/now
	! paste "$1" $tmp/now | awk '$1 == $2' | grep -q .
}

# toggle: CPU 1 goes and comes. Prints the gap of the event that came last.
toggle() {
	gaps >$tmp/before
	echo 0 >$online && echo 1 >$online || return
	wait_for 60 last_comes $tmp/before || return
	paste $tmp/before $tmp/now | awk '{ d = $2 - $1; if (d > most) most = d } END { print most }'
}

# measure EVENTS LIMIT HOW: no gap is longer than LIMIT nanoseconds.
measure() {
	i=0
	while [ $i -lt "$toggles" ]; do
		i=$((i + 1))
		toggle || break
	done >$tmp/gaps
	sort -n $tmp/gaps >$tmp/sorted
	note "$1 events, $3: the last one counts after" \
		"$(sed -n "$(((toggles + 1) / 2))p" $tmp/sorted) ns (median)," \
		"$(tail -n 1 $tmp/sorted) ns (worst of $toggles)"
	is "$(wc -l <$tmp/gaps)" "$toggles" "$1 events, $3: CPU 1 came $toggles times"
	between 1 "$(tail -n 1 $tmp/sorted)" "$2" "$1 events, $3: no gap is longer than $2 ns"
}

# measure_all EVENT LOADED: LOADED times as long is allowed beside a load. The instructions of
# all CPUs advance the clock, so a gap is longer where there are more of them.
measure_all() {
	made=0
	for events in 1 10 100; do
		while [ $made -lt $events ]; do
			made=$((made + 1))
			# Pinned events share no counter: each has events of perf of its own.
			create "$1:D name=e$made" >>$tmp/created
		done
		is "$(sort -u $tmp/created)" OK "$events events, $1"
		limit=$(((events > 10 ? 10000000 : 2500000) * $(nproc)))
		measure $events $limit "$1, quiet"
		load_each -f 4000 -s 2000 -b
		measure $events $((limit * $2)) "$1, loaded"
		stop "$helper_pid"
	done
}

# shellcheck disable=SC2119
load_tally
if [ "$(uname -m)" = aarch64 ]; then
	measure_all instructions 1
else
	measure_all sched:sched_process_exec 1
fi
is "$(while [ $made -gt 0 ]; do remove e$made; made=$((made - 1)); done | sort -u)" OK 'they go'
measure_all page-faults 10

# The switches of tasks, which the kernel counts, too. Those of the kernel's own threads that
# bring the CPU up, before its events count, are few beside those of a load.
switched() { awk '/^ctxt/ { print $2 }' /proc/stat; }
is "$(create 'cs name=switches')" OK 'an event for switches'
load_each -s 0
begin=$(switched) counted=$(count switches)
i=0
while [ $i -lt "$toggles" ]; do
	echo 0 >$online && echo 1 >$online && sleep 0.15 || break
	i=$((i + 1))
done
counted=$(($(count switches) - counted)) all=$(($(switched) - begin))
stop "$helper_pid"
is $i "$toggles" 'CPU 1 went and came beside a load'
note "$counted of $all switches are counted"
between $((all - all / 100)) "$counted" $((all + 10)) 'at most 1 % of the switches are missing'
is "$(remove switches)" OK 'it goes'

# The time enabled begins again when the gap ends. CPU 0 measures the time.
enabled_on() { awk -v cpu="$1" '$1 == cpu { print $4 }' $tally/e1/per_cpu; }
gap_of() { awk '$1 == 1 { print $6 }' $tally/e1/per_cpu; }
echo 0 >$online
begin=$(enabled_on 0) enabled=$(enabled_on 1) gap=$(gap_of)
echo 1 >$online
gap_is_told() { [ "$(gap_of)" != "$gap" ]; }
ok 'per_cpu tells the gap' wait_for 60 gap_is_told
sleep 0.1
enabled=$(($(enabled_on 1) - enabled)) gap=$(($(gap_of) - gap))
at_least $enabled 100000000 'and then the event is enabled'
at_least $(($(enabled_on 0) - begin)) $((enabled + gap)) \
	'the gap and the time enabled fit into the time since'
is "$(stat_of hotplug_errors)" 0 'no event could not be made'
finish
