#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# perf itself is compared, so one kernel shows most; the soak has the oldest and a PMU.
# test: on=debian-6.12 vm="--module zram" seconds=25
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd vm="--module zram" seconds=25
# soak: on=debian-6.12,debian-6.1,debian-6.12-arm64 vm="--module zram" args="soak 10"
#
# Counts of tally beside those of perf stat. Two perfs run: the inner one's window lies
# within tally's, and the outer one's window encloses tally's (see enclose.c). So tally
# counts at least as much as the inner perf, and at most as much as the outer one. Run
# with scripts/vm --with-perf.
#
#	perfstat.sh [soak [SECONDS]]
#
# With soak, the windows last SECONDS, default 10, and cycles of the PMU are counted, too:
# at most 2 % more than the inner perf counts. QEMU's cycles are the host's time, so this
# only holds on a machine that does nothing else.

. "$(dirname "$0")/lib.sh"
need_cpus 2
soak='' seconds=1
[ "${1:-}" != soak ] || { soak=1 seconds=${2:-10}; }
command -v perf >/dev/null || {
	echo 'Bail out! there is no perf in this guest: run scripts/vm with --with-perf'
	exit 1
}

events='cpu-clock task-clock page-faults minor-faults major-faults context-switches cpu-migrations alignment-faults emulation-faults'
[ -z "$soak" ] || ! has_pmu || events="$events cycles"
load_tally "events=$(echo "$events" | tr ' ' ,)"
is "$(cut -d' ' -f1 $tally/events | tr '\n' ' ')" "$events " 'all are counted by tally'

# Major faults need swap: zram is swap in memory, if the guest has the module.
swap=''
if [ -e /sys/block/zram0 ]; then
	echo 64M >/sys/block/zram0/disksize
	mdev -s
	mkswap /dev/zram0 >/dev/null && swapon /dev/zram0 && swap=1
fi

# least NAME: prints the count that shows that there was work for the event; nothing if no
# work is expected.
least() {
	case $1 in
	major-faults) echo ${swap:+1000} ;;
	alignment-faults | emulation-faults) ;;
	*-clock | cycles) echo 100000000 ;;
	cpu-migrations) echo 200 ;;
	*) echo 2000 ;;
	esac
}

# start_perf FOLDER: starts perf stat with its events disabled, and with its control fifos
# in FOLDER.
start_perf() {
	mkdir $tmp/"$1"
	mkfifo $tmp/"$1"/control $tmp/"$1"/answers
	perf stat -a -x, -D -1 --control "fifo:$tmp/$1/control,$tmp/$1/answers" \
		-e "$(echo "$events" | tr ' ' ,)" -o "$tmp/$1/csv" 2>"$tmp/$1/said" &
}

# says FOLDER NAME: prints perf's count of the event. perf prints clocks in milliseconds
# with two decimal places.
says() {
	awk -F, -v name="$2" '$3 ~ "^" name {
		if ($2 == "msec") printf "%.0f", $1 * 1000000
		else print $1
		exit
	}' "$tmp/$1/csv"
}

# Whether perf's count of cycles is possible. The guest's cycles are nanoseconds. On a
# busy machine, the emulated 32-bit counter that perf gets (tally has the cycle counter)
# was seen to run faster than time. More cycles than nanoseconds cannot be compared with
# anything.
possible() {
	awk -F, '$3 == "cycles" && $1 > $4 * 1.01 { exit 1 }' $tmp/inner/csv
}

measure() {
	rm -rf $tmp/outer $tmp/inner
	start_perf outer
	outer=$!
	start_perf inner
	inner=$!
	helper load -f 0 -s 0 -m 500 ${swap:+-M 3000}
	words=''
	for name in $events; do
		leasts=$(least "$name")
		words="$words $tally/$name/count ${leasts:-0}"
	done
	# shellcheck disable=SC2086 # Several words.
	grown=$(enclose "$seconds" $tmp/outer $tmp/inner $words)
	end_helpers
	kill -INT $outer $inner
	wait $outer $inner
	sed 's/^/# inner: /' $tmp/inner/csv
	sed 's/^/# outer: /' $tmp/outer/csv
}

for try in 1 2 3; do
	measure
	! possible || break
	note "try $try: perf has more cycles than there was time"
done
ok 'perf did as it was told' test -n "$grown"
[ -z "$soak" ] || ok 'and its cycles are possible' possible

for name in $events; do
	counted=${grown%% *}
	grown=${grown#* }
	low=$(says inner "$name") high=$(says outer "$name")
	note "$name: tally $counted, perf $low within and $high around it"
	is_number "$low" && is_number "$high" || {
		fail "perf says '$low' and '$high' for $name"
		continue
	}
	case $name in
	*-clock)
		low=$((low < 10000 ? 0 : low - 10000)) high=$((high + 10000))
		;;
	cycles)
		high=$((low + low / 50))
		;;
	esac
	between "$low" "$counted" "$high" "$name: between the two perfs"
	leasts=$(least "$name")
	[ -z "$leasts" ] || at_least "$counted" "$leasts" "there was work for $name"
done
[ -z "$swap" ] || swapoff /dev/zram0
[ -n "$swap" ] || skip 'this guest has no swap' 'there were major faults'
finish
