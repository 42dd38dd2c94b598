#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# perf is compared; the soak has the oldest one and a PMU.
# test: on=debian-6.12 seconds=15
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=15
# soak: on=debian-6.1,debian-6.12-arm64 seconds=30
#
# tally stat beside perf stat, on the same load. Three commands are nested: perf stat runs
# tally stat, which runs perf stat, which runs the load. So the window of tally lies within that
# of the outer perf, and that of the inner perf lies within tally's: each count lies between
# perf's two.
#
#	toolstat.sh formats	prints output of both, for tests/host/toolformats.sh

. "$(dirname "$0")/lib.sh"
PATH=$PATH:$here
command -v perf >/dev/null || {
	echo 'Bail out! there is no perf in this guest: run scripts/vm with --with-perf'
	exit 1
}
# shellcheck disable=SC2119
load_tally
events=task-clock,context-switches,cpu-migrations,page-faults,minor-faults
! has_pmu || events=$events,cycles

# nested NAME OPTIONS COMMAND...: counts with all three.
nested() {
	nested_name=$1 nested_options=$2
	shift 2
	# shellcheck disable=SC2086 # Several words.
	ok "$nested_name: the three end" perf stat $nested_options -x, -e $events -o $tmp/outer -- \
		tally stat $nested_options -x, -e $events -o $tmp/tally -- \
		perf stat $nested_options -x, -e $events -o $tmp/inner -- "$@"
	for event in $(echo $events | tr , ' '); do
		compare "$nested_name, $event" "$event"
	done
}

# field FILE EVENT: prints the count in whole numbers. Clocks have two decimal places.
field() {
	awk -F, -v event="$2" '
		# With -A, the first field is the CPU.
		$3 == event || $4 == event {
			at = $3 == event ? 1 : 2
			sum += $(at + 1) == "msec" ? $at * 100 : $at
			n++
		}
		END { if (n) printf "%.0f", sum }' "$1"
}

compare() {
	low=$(field $tmp/inner "$2") count=$(field $tmp/tally "$2") high=$(field $tmp/outer "$2")
	note "$1: tally $count, perf $low within and $high around it"
	if is_number "$low" && is_number "$high"; then
		# Both perfs round; of a clock the last digit is 10 microseconds.
		between $((low > 0 ? low - 1 : 0)) "$count" $((high + 1)) "$1"
	else
		fail "$1: perf says '$low' and '$high'"
	fi
}

formats() {
	for tool in perf tally; do
		for kind in '--no-args true' '--system-wide -a true' '--event -e cpu-clock true' \
			'--interval -I 100 sleep 0.3' '--system-wide-no-aggr -A -a true'; do
			what=${kind%% *}
			# shellcheck disable=SC2086 # Several words.
			set -- ${kind#* }
			"$tool" stat -x@ -o $tmp/csv "$@" || exit 1
			"$tool" stat -j -o $tmp/json "$@" || exit 1
			sed "s/^/csv $tool $what /" $tmp/csv
			sed "s/^/json $tool $what /" $tmp/json
		done
	done
	finished=1
	exit 0
}
[ "${1-}" != formats ] || formats

nested 'a command' '' sh -c 'i=0; while [ $i -lt 100 ]; do ls / >/dev/null; i=$((i+1)); done'
at_least "$(field $tmp/tally page-faults)" 1000 'there was work'
helper load -f 0
# The process that faults has no children: while a process forks all the time, perf itself was seen
# to lose what an event counts that is added to it.
worker() {
	pid=$(awk -v parent=$helper_pid '$4 == parent { print $1 }' /proc/[0-9]*/stat 2>/dev/null)
	[ -n "$pid" ]
}
ok 'a process faults' wait_for 60 worker
nested 'a process' "-p $pid" sleep 1
at_least "$(field $tmp/tally task-clock)" 100 'it ran'
nested 'all CPUs' -a sleep 1
nested 'a CPU' '-C 1' sleep 1
nested 'all CPUs, each' '-a -A' sleep 1
end_helpers

# ---- CPUs that come later

online=/sys/devices/system/cpu/cpu1/online
cat >$tmp/come <<END
# Brings CPU 1 online, and makes faults there as soon as all events count there. Intervals are
# printed until one has the CPU.
waits() {
	n=0
	until "\$@" || [ \$n = 1000 ]; do
		usleep 20000
		n=\$((n + 1))
	done
}
counts() { awk '\$NF != \$(NF - 2) { exit 1 }' $tally/events; }
echo 1 >$online
waits counts
as cpu 1 ls / >/dev/null
[ "\${1-}" != -I ] || waits grep -q CPU1, $tmp/late
END
# later OPTION...: counts while CPU 1 comes online, and has a line for it.
later() {
	echo 0 >$online
	: >$tmp/late
	ok "stat $*: CPU 1 comes" tally stat "$@" -x, -o $tmp/late -- sh $tmp/come "$3"
	at_least "$(awk -F, '/CPU1,/ && $0 !~ /<not/ { n++ } END { print n + 0 }' $tmp/late)" 1 \
		"stat $*: it has a line"
}
later -a -A -e page-faults
at_least "$(sed -n 's/^CPU1,\([0-9]*\),.*/\1/p' $tmp/late)" 1 'and a count'
later -a -A -I 100 -e page-faults
later -a -A -r 2 -e page-faults
later -a -A -e '{page-faults,cs}'
is "$(grep -c ^CPU1, $tmp/late)" 2 'both members have one'
echo 0 >$online
ok 'a CPU that stays away' tally stat -a -A -x, -o $tmp/late -e cs true
is "$(grep -c ^CPU1, $tmp/late)" 0 'has no line'
echo 1 >$online
finish
