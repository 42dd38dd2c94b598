#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Events that overflow as often as they can, and what else runs meanwhile: a
# thread on each CPU that sleeps 10 ms must not be 50 ms late.

. "$(dirname "$0")/lib.sh"

seconds=${1:-10}

# The machine under the guest may stand still for a while: the best of three.
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

# poll_states EVENT FILE: each state that is seen, until it is told to stop.
poll_states() {
	while [ ! -e "$2.stop" ]; do
		state "$1" >>"$2"
		usleep 2000
	done
}

# storm NAME LINE...: the event, while threads sleep.
storm() {
	name=$1
	shift
	is "$(create "$* name=$name")" OK "$name: is made"
	rm -f /tmp/states.stop
	: >/tmp/states
	poll_states "$name" /tmp/states &
	poller=$!
	late=$(lateness_of "$seconds")
	touch /tmp/states.stop
	wait $poller
	between 0 "$late" 49999 "$name: threads are at most 50 ms late"
	note "$name: $late us late, without it $quiet us;" \
		"$(cat "$tally/$name/overflows") overflows," \
		"throttled $(cat "$tally/$name/throttled") times"
	at_least "$(cat "$tally/$name/overflows")" 1 "$name: it overflows"
}

throttled() {
	at_least "$(cat "$tally/$1/throttled")" 1 "$1: it is throttled"
	ok "$1: which its state tells" grep -q throttled /tmp/states
	ok "$1: and it is active in between" grep -q active /tmp/states
	before=$(cat "$tally/$1/throttled")
	ok "$1: again and again" wait_for 20 grows "$1" throttled "$before"
	ok "$1: it returns to active" wait_for 20 state_is "$1" active
}

grows() { [ "$(cat "$tally/$1/$2")" -gt "$3" ]; }

# Without timers of high resolution a clock overflows at ticks only.
has_hres() { grep -q 'hres_active.*: 1' /proc/timer_list; }

# shellcheck disable=SC2119
load_tally
quiet=$(lateness_of 3)
storm clock cpu-clock cpu=all period=1000
# The others are of the same kind.
seconds=3
if has_hres; then
	throttled clock
else
	skip 'timers come at ticks only' 'clock: it is throttled'
fi
is "$(remove clock)" OK 'it is removed'

storm task task-clock pid=$$ inherit period=1000
remove task >/dev/null
if has_pmu; then
	# perf's own limit comes first, at each tick, and is told as ours is.
	storm cycles cycles cpu=all period=1000
	at_least "$(cat $tally/cycles/throttled)" 1 'cycles: it is throttled'
	ok 'cycles: which its state tells' grep -q throttled /tmp/states
	remove cycles >/dev/null
fi

for feed in sched:sched_waking workqueue:workqueue_queue_work kmem:kmalloc \
	timer:hrtimer_start; do
	if [ ! -d "/sys/kernel/tracing/events/$(echo $feed | tr : /)" ]; then
		skip "no such tracepoint here" "$feed"
		continue
	fi
	storm feed "$feed" cpu=all period=1
	remove feed >/dev/null
done

# Nothing limits this one: that the guest lives is all that is asked.
is "$(create 'cpu-clock cpu=all period=1000 max_rate=0 name=free')" OK 'without a limit'
sleep 3
at_least "$(cat $tally/free/overflows)" 1 'it overflows'
is "$(remove free)" OK 'and is removed'
nothing_left 'nothing is left'
finish
