#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Events end while they overflow: the longer the storm goes on, the better.
# soak: on=debug-x86_64,debug-arm64,debug-rt,debug-kcsan args=60 seconds=90
#
# A teardown storm: the threads of a module make events that overflow as fast as they
# can, call all functions on them, and release them. CPUs go offline and come online.
# The module is unloaded in the middle of the storm and loaded again. At times it does
# not release its events before it is unloaded.
#
#	soak.sh [SECONDS]	default 15

. "$(dirname "$0")/lib.sh"
need_cpus 2
seconds=${1:-15}

soak=$here/tally_soak.ko
# The module has one result for each of enum soak_fault.
results=12

# shellcheck disable=SC2119
load_tally

# ---- what goes on meanwhile

cat >$tmp/come_and_go <<'END'
cycles=0
while :; do
	for online in /sys/devices/system/cpu/cpu[1-9]/online; do
		[ -w "$online" ] || continue
		# At times two CPUs are offline, or all but one.
		echo $((cycles % 3 == 2)) >"$online" 2>/dev/null
		usleep $((cycles % 7 * 30000))
		echo $((cycles % 5 != 4)) >"$online" 2>/dev/null
		cycles=$((cycles + 1))
		echo $cycles >>$tmp/cycles
		usleep $((cycles % 4 * 100000))
	done
done
END
# A process that forks, with page faults: the module makes inherited events on it.
cat >$tmp/fork <<'END'
while :; do
	(: | :)
	usleep 2000
done
END
all_online() {
	for online in /sys/devices/system/cpu/cpu[1-9]/online; do
		[ ! -w "$online" ] || echo 1 >"$online"
	done
}

: >$tmp/cycles
cycles() { wc -l <$tmp/cycles; }
helper sh $tmp/come_and_go
helper sh $tmp/fork
forker=$helper_pid

# The kernel patches its code when the first user of one of these events comes, and
# when the last one goes. An emulated x86 CPU may run the int3 that is there during the
# patching. These events keep one user, so that the code is not patched in the storm.
held=0
if [ "$(uname -m)" = x86_64 ]; then
	for event in page-faults context-switches cpu-migrations \
		     sched:sched_switch sched:sched_waking sched:sched_wakeup \
		     workqueue:workqueue_execute_start irq:softirq_entry \
		     irq:softirq_raise irq:irq_handler_entry \
		     timer:hrtimer_expire_entry "page-faults pid=$forker"; do
		held=$((held + 1))
		is "$(create "$event name=held$held")" OK "counted all the time: $event"
	done
fi

# ---- the storm

: >$tmp/totals
loads=0 loaded_badly=0 unloaded_badly=0 without_results=0 wrong=0

# Reads the results that the module printed when it was unloaded, for the sums at the
# end.
take_results() {
	since_mark | sed -n 's/.*tally_soak: //p' >$tmp/said
	cat $tmp/said >>$tmp/totals
	[ "$(grep -c '^\(not \)\{0,1\}ok ' $tmp/said)" = $results ] &&
		grep -q "^1\\.\\.$results\$" $tmp/said ||
		without_results=$((without_results + 1))
	! grep -q '^not ok' $tmp/said || {
		wrong=$((wrong + 1))
		sed 's/^\([^#]\)/# \1/' $tmp/said
	}
}

# The kernel holds a reference to a module while it sets a probe on the module's code.
unload_soak() { rmmod tally_soak 2>/dev/null; }

storm() {
	loads=$((loads + 1))
	mark
	insmod "$soak" "$@" || { loaded_badly=$((loaded_badly + 1)); return; }
	usleep $((1000000 + loads * 700000 % 4000000))
	wait_for 60 unload_soak || { unloaded_badly=$((unloaded_badly + 1)); return; }
	take_results
}

# $tmp/needed has the sums that the storm has to reach: the module's key, the least sum
# and its meaning. total_of KEY prints the sum of a key so far.
total_of() { awk -v key="$1" '$2 == key { sum += $3 } END { print sum + 0 }' $tmp/totals; }
kinds='kprobe clock software sched irq inherited'
[ "$(uname -m)" != x86_64 ] || kinds="$kinds breakpoint"
! has_pmu || kinds="$kinds cycles"
{
	for kind in $kinds; do
		echo "made_$kind 5 events were made: $kind"
	done
	for what in direct_calls irq_calls work_calls; do
		echo "$what 1000 handlers were called: $what"
	done
	# Breakpoints are NMIs on x86. Cycles are NMIs on x86, and on arm64 with
	# pseudo-NMIs.
	if [ "$(uname -m)" = x86_64 ] || pmu_is_nmi; then
		echo 'nmi_calls 1000 many of them in NMI'
	fi
	for what in checked_direct checked_irq checked_work released_live; do
		echo "$what 5 events came to an end: $what"
	done
	echo 'refused_releases 100 handlers tried to release their event'
	echo 'rearmed 5 handlers rearmed theirs'
	case $kinds in
	*breakpoint*) echo 'modified 2 breakpoints were moved' ;;
	esac
} >$tmp/needed
all_there() {
	[ $loads -ge 4 ] && [ "$(cycles)" -ge 6 ] || return 1
	while read -r key least _; do
		[ "$(total_of "$key")" -ge "$least" ] || return 1
	done <$tmp/needed
}

# A busy machine may need more time to reach the sums.
enough() {
	now=$(date +%s)
	[ "$now" -ge $((begin + seconds + 600)) ] ||
		{ [ "$now" -ge $((begin + seconds)) ] && all_there; }
}

begin=$(date +%s)
until enough; do
	if [ $((loads % 3)) = 1 ]; then
		storm "pid=$forker" mode=leave
	else
		storm "pid=$forker"
	fi
	[ $unloaded_badly = 0 ] || break
done
end_helpers
all_online

while [ $held -gt 0 ]; do
	is "$(remove held$held)" OK 'and to the end'
	held=$((held - 1))
done

# ---- what came of it

note "$loads loads; CPUs went and came $(cycles) times"
sed -n 's/^# \([a-z_]*\) [0-9].*/\1/p' $tmp/totals | sort -u >$tmp/keys
while read -r key; do
	note "$key: $(total_of "$key")"
done <$tmp/keys
is $loaded_badly 0 'the module could be loaded each time'
is $unloaded_badly 0 'and unloaded in the middle of it'
is $without_results 0 'all its results are there each time'
is $wrong 0 'none of them is bad'
at_least "$loads" 4 'it was loaded again and again'
at_least "$(cycles)" 6 'CPUs came and went'
ok 'what it left behind was released' grep -q 'left event left[0-9] behind' <<-END
	$(dmesg)
END

while read -r key least text; do
	at_least "$(total_of "$key")" "$least" "$text"
done <$tmp/needed
nothing_left 'nothing is left'
finish
