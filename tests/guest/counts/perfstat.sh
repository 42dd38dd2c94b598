#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Beside perf stat, in one window: tally's encloses perf's, and counts at least
# as much and at most 2 % more. Run with scripts/vm --with-perf.
#
#	perfstat.sh [SECONDS]	of the window, default 10
#
# perf starts with its events off and turns them on and off when it is told to,
# so that its own start and end are in neither window. What is between the two
# beginnings, and the two ends, is one message to perf and its answer, and the
# reads of tally's files (see enclose.c). Of rare events that alone is more than
# 2 %: of those below 15,000, 300 more are allowed, which is said of each.

. "$(dirname "$0")/lib.sh"
seconds=${1:-10}
need_two_cpus
command -v perf >/dev/null || {
	echo 'Bail out! there is no perf in this guest: run scripts/vm with --with-perf'
	exit 1
}

events='cpu-clock task-clock page-faults minor-faults major-faults context-switches cpu-migrations alignment-faults emulation-faults'
! has_pmu || events="$events cycles"
load_tally "events=$(echo "$events" | tr ' ' ,)"
is "$(cut -d' ' -f1 $tally/events | tr '\n' ' ')" "$events " 'all are counted by tally'

# Swap in memory, for major faults, where the guest has the module.
swap=''
if [ -e /sys/block/zram0 ]; then
	echo 64M >/sys/block/zram0/disksize
	mdev -s
	mkswap /dev/zram0 >/dev/null && swapon /dev/zram0 && swap=1
fi

files=''
for name in $events; do files="$files $tally/$name/count"; done
mkfifo /tmp/control /tmp/answers

measure() {
	as fifo perf stat -a -x, -D -1 --control fifo:/tmp/control,/tmp/answers \
		-e "$(echo "$events" | tr ' ' ,)" -o /tmp/perf.csv 2>/tmp/perf.said &
	perf=$!
	helper load -f 0 -s 0 -m 500 ${swap:+-M 3000}
	sleep 1
	# shellcheck disable=SC2086 # Several words.
	grown=$(enclose "$seconds" /tmp/control /tmp/answers $files)
	end_helpers
	kill -INT $perf
	wait $perf
	sed 's/^/# /' /tmp/perf.csv
}

# The guest's cycles are nanoseconds. On a crowded machine the emulated 32-bit
# counter that perf gets (tally has the one for cycles) was seen to run ahead of
# time itself: more cycles than nanoseconds is no number to compare with.
possible() {
	awk -F, '$3 == "cycles" && $1 > $4 * 1.01 { exit 1 }' /tmp/perf.csv
}

for try in 1 2 3; do
	measure
	! possible || break
	note "try $try: perf has more cycles than there was time"
done
ok 'perf did as it was told' test -n "$grown"
ok 'and its cycles are possible' possible

for name in $events; do
	counted=${grown%% *}
	grown=${grown#* }
	# perf has clocks in milliseconds.
	perf_says=$(awk -F, -v name="$name" '$3 ~ "^" name {
		if ($2 == "msec") printf "%.0f", $1 * 1000000
		else print $1
		exit
	}' /tmp/perf.csv)
	is_number "$perf_says" || { fail "perf says '$perf_says' for $name"; continue; }
	slack=0
	if [ "$perf_says" -lt 15000 ]; then
		slack=300
		note "$name is rare: $slack more are allowed"
	fi
	note "$name: tally $counted, perf $perf_says"
	between "$perf_says" "$counted" $((perf_says + perf_says / 50 + slack)) "$name: not less than perf, at most 2 % more"
	case $name in
	major-faults) [ -z "$swap" ] || at_least "$counted" 1000 'there were major faults' ;;
	alignment-faults | emulation-faults) ;;
	cpu-migrations) at_least "$counted" $((seconds * 20)) "there was work for $name" ;;
	*) at_least "$counted" $((seconds * 200)) "there was work for $name" ;;
	esac
done
[ -n "$swap" ] || skip 'this guest has no swap' 'there were major faults'
finish
