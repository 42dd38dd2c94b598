#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Not on debug-x86_64: its clock advances at ticks only, so nothing overflows too often.
# test: on=debian-6.12,debug-arm64 seconds=25
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd seconds=25
# soak: on=debian-6.12,debian-6.1,debian-6.12-rt,debug-rt,debug-arm64 args="soak 10"
#
# Events that overflow as often as possible are throttled, and tasks on each CPU go on.
#
#	storm.sh [soak [SECONDS]]
#
# With soak, one thread on each CPU sleeps 10 ms again and again for SECONDS, default 10,
# and wakes up at most 50 ms late. This only holds on a machine that does nothing else.

. "$(dirname "$0")/lib.sh"

# A busy machine overflows less often than tally's own limit, 10,000 a second, allows.
soak='' rate=max_rate=1000
[ "${1:-}" != soak ] || { soak=1 rate=''; }
seconds=${2:-10}

# lateness_of SECONDS: prints the best of three measurements, in microseconds, since the
# host may not run the guest for a while. One below 50 ms ends the measuring.
lateness_of() {
	best=''
	for _ in 1 2 3; do
		late=$("$here/lateness" "$1")
		if [ -z "$best" ] || [ "$late" -lt "$best" ]; then
			best=$late
		fi
		[ "$best" -ge 50000 ] || break
	done
	echo "$best"
}

# poll_states EVENT FILE: appends the event's state to FILE every 2 ms, until FILE.stop
# exists.
poll_states() {
	while [ ! -e "$2.stop" ]; do
		state "$1" >>"$2"
		usleep 2000
	done
}

# sleeps CPU: whether a task on the CPU that sleeps 100 times ends in time.
sleeps() { echo 'sleep 100' | timeout 120 as cpu "$1" "$here/task" >/dev/null; }

# others_go_on NAME: checks that tasks run on each CPU during the storm.
others_go_on() {
	cpu=0
	while [ $cpu -lt "$(nproc)" ]; do
		ok "$1: a task on CPU $cpu goes on" sleeps $cpu
		cpu=$((cpu + 1))
	done
	[ -n "$soak" ] || return 0
	late=$(lateness_of "$seconds")
	between 0 "$late" 49999 "$1: threads are at most 50 ms late"
	note "$1: $late us late, without it $quiet us"
}

# storm NAME LINE...: makes the event, and checks that tasks run and that it overflows.
storm() {
	name=$1
	shift
	is "$(create "$* name=$name")" OK "$name: is made"
	rm -f $tmp/states.stop
	: >$tmp/states
	helper poll_states "$name" $tmp/states
	poller=$helper_pid
	others_go_on "$name"
	ok "$name: it overflows" wait_for 60 grows "$name" overflows 0
	note "$name: $(cat "$tally/$name/overflows") overflows," \
		"throttled $(cat "$tally/$name/throttled") times"
}

# end_storm NAME: ends the polling of states and removes the event.
end_storm() {
	touch $tmp/states.stop
	wait $poller
	is "$(remove "$1")" OK "$1: is removed"
}

# throttled NAME: checks, during the storm, that the event is throttled and goes on.
throttled() {
	ok "$1: it is throttled" wait_for 60 grows "$1" throttled 0
	ok "$1: which its state tells" wait_for 60 grep -q throttled $tmp/states
	ok "$1: and it is active in between" wait_for 60 grep -q active $tmp/states
	before=$(cat "$tally/$1/throttled")
	ok "$1: again and again" wait_for 60 grows "$1" throttled "$before"
	ok "$1: it returns to active" wait_for 60 state_is "$1" active
}

grows() { [ "$(cat "$tally/$1/$2")" -gt "$3" ]; }

# Without high-resolution timers, a clock overflows at ticks only.
has_hres() { grep -q 'hres_active.*: 1' /proc/timer_list; }

# shellcheck disable=SC2119
load_tally
[ -z "$soak" ] || quiet=$(lateness_of 3)
# shellcheck disable=SC2086 # Nothing, or a word.
storm clock cpu-clock cpu=all period=1000 $rate
# The other storms are alike, so they are measured for a shorter time.
seconds=3
if has_hres; then
	throttled clock
else
	skip 'timers come at ticks only' 'clock: it is throttled'
fi
end_storm clock

storm task task-clock pid=$$ inherit period=1000
end_storm task
if has_pmu; then
	# perf's own limit applies first, at each tick; tally shows it like its own limit.
	# shellcheck disable=SC2086 # Nothing, or a word.
	storm cycles cycles cpu=all period=1000 $rate
	ok 'cycles: it is throttled' wait_for 60 grows cycles throttled 0
	ok 'cycles: which its state tells' wait_for 60 grep -q throttled $tmp/states
	end_storm cycles
fi

for feed in sched:sched_waking workqueue:workqueue_queue_work kmem:kmalloc \
	timer:hrtimer_start; do
	if [ ! -d "/sys/kernel/tracing/events/$(echo $feed | tr : /)" ]; then
		skip "no such tracepoint here" "$feed"
		continue
	fi
	storm feed "$feed" cpu=all period=1
	end_storm feed
done

# An event without a limit: the guest must survive it, no more.
is "$(create 'cpu-clock cpu=all period=1000 max_rate=0 name=free')" OK 'without a limit'
ok 'it overflows' wait_for 60 grows free overflows 1000
is "$(remove free)" OK 'and is removed'
nothing_left 'nothing is left'
finish
