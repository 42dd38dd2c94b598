#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# arm64 has a PMU whose counts can be a budget. With icount, no window passes while the host does
# something else: each one is seen.
# test: on=debian-6.12-arm64,debian-6.12,debian-6.1,debug-x86_64 args=1 seconds=20
# test: on=debian-6.12:intel args=1 seconds=20 also="drivers of x86 write some registers only when the PMU is enabled again"
# all: on=debian-6.1:intel,debian-7:intel,debian-6.12:amd args=1 seconds=20
# all: on=debian-6.12-arm64 vm="--icount --smp 2" args="1 icount" seconds=40
# soak: on=debian-6.12 args=10 seconds=60
# soak: on=debian-6.12-arm64 vm="--icount --smp 2" args="10 icount" seconds=120
#
# budget.sh [SECONDS [icount]]: budgets of events: from a line, in a program that polls, from modules, with
# CPUs that come and go, beside real-time tasks; and a regulator that keeps three budgets for
# SECONDS (1) each.

# Away from CPU 1, which real-time threads hold.
if [ -z "${cpus-}" ]; then
	cpus=$(nproc) exec "$(dirname "$0")/as" cpu 0 sh "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
need_cpus 2
seconds=${1:-1}
case $(uname -m) in
x86_64) symbol=__x64_sys_getppid ;;
*) symbol=__arm64_sys_getppid ;;
esac
load_tally
icount=${2-}

# hits CPU N
hits() { echo "getppid $2" | as cpu "$1" "$here/task" >/dev/null; }
# of NAME CPU: prints the CPU's line of budget: window, used, windows, exceeded, the latest.
of() { sed -n "s/^$2 //p" "$tally/$1/budget"; }
word() { echo "$1" | cut -d' ' -f"$2"; }

# ---- one window

# in_one_window: 3 hits, 2 more and 20 more, all in one window of 5 s. A slow machine has no time
# to make a process for each step.
in_one_window() {
	create "kprobe:$symbol" cpu=1 budget=4/5s name=b >/dev/null
	first=$(of b 1)
	order getppid 3
	read -r after3 <$tally/b/overflows
	order getppid 2
	after5=$(of b 1)
	read -r over5 <$tally/b/overflows
	order getppid 20
	last=$(of b 1)
	read -r over <$tally/b/overflows
	[ "$(word "$first" 1)" = "$(word "$last" 1)" ] || { remove b >/dev/null; false; }
}
is "$(create "kprobe:$symbol" cpu=1 budget=4/5s name=b)" OK 'a budget of 4 in 5 s'
is "$(cat $tally/b/spec)" "kprobe:$symbol cpu=1 budget=4/5s name=b" 'its line'
is "$(remove b)" OK 'it goes'
begin_task "$here/as" cpu 1 "$here/task"
ok 'one again, with 25 hits in one window' wait_for 120 in_one_window
end_task
is "$(word "$first" 2,4,5)" '0 0 -' 'at first nothing is used'
is "$after3" 0 '3 hits call no handler'
is "$over5" 1 '5 do'
is "$(word "$after5" 2,4,5)" "5 1 $(word "$first" 1)" 'this window is exceeded'
is "$over" 1 '25 call it once'
is "$(word "$last" 2,4)" '25 1' '25 are used'
is "$(count b)" 25 'and counted'
next() { [ "$(word "$(of b 1)" 1)" -gt "$(word "$last" 1)" ]; }
ok 'the window ends' wait_for 60 next
is "$(word "$(of b 1)" 2,4)" '0 1' 'nothing is used in the next one'
again() {
	hits 1 5
	[ "$(cat $tally/b/overflows)" -eq 2 ]
}
ok 'where 5 hits call the handler again' wait_for 60 again
is "$(word "$(of b 1)" 4)" 2 'two windows were exceeded'

# ---- a program that polls

mkfifo $tmp/ask $tmp/told
helper sh -c "exec $here/budget b 1 <$tmp/ask >$tmp/told"
exec 6>$tmp/ask 7<$tmp/told
ask() {
	echo "$1" >&6
	read -r told <&7
}
ask now
like "$told" 'POLLPRI 4/5000000000 * 2' 'POLLPRI tells that windows were exceeded, and which'
ask now
like "$told" 'none 4/5000000000 * 2' 'once'
echo wait >&6
exceeds() {
	hits 1 5
	[ "$(word "$(of b 1)" 4)" -gt 2 ]
}
ok 'another one is exceeded' wait_for 60 exceeds
read -r told <&7
like "$told" 'POLLPRI * [3-9]' 'the program wakes up'
is "$(remove b)" OK 'the event goes'
ask wait
is "$told" 'POLLHUP ENODEV' 'the program sees that'
exec 6>&- 7<&-
is "$(create page-faults name=plain)" OK 'an event without a budget'
is "$(echo now | "$here/budget" plain 0)" 'none EINVAL' 'has none'
is "$(create "kprobe:$symbol" cpu=1 budget=4/1s name=b)" OK 'one of CPU 1'
is "$(echo now | "$here/budget" b 0)" 'none EINVAL' 'has none of CPU 0'
is "$(echo now | "$here/budget" b 4000)" 'none EINVAL' 'nor of a CPU that does not exist'
is "$(remove b) $(remove plain)" 'OK OK' 'both go'

# ---- after its first overflow in a window, perf's event overflows once more at most

is "$(create 'cpu-clock cpu=1 budget=100000/200ms name=b')" OK 'a budget of 1/2000 of the time'
helper "$here/load" -c 1 -b
is "$(create 'kprobe:tally_budget_exceed cpu=1 name=calls')" OK 'its overflows are counted'
first=$(word "$(of b 1)" 3)
passed() { [ "$(word "$(of b 1)" 3)" -ge $((first + 5)) ]; }
ok '5 windows pass' wait_for 60 passed
calls=$(count calls)
passed=$(($(word "$(of b 1)" 3) - first))
# The host may keep the guest from running for some windows.
between 1 "$calls" $((2 * passed + 4)) "in $passed windows, there are $calls overflows"
end_helpers
is "$(remove calls) $(remove b)" 'OK OK' 'both go'

# ---- hardware: a window begins while the PMU may interrupt

# Windows begin anew each time also for precise events, whose driver of x86 writes their registers only
# when the PMU is enabled again, and for fixed counters, which it stops and starts only then. A window
# that is exceeded without an overflow is found at its end, so overflows are counted, too. On arm64,
# QEMU counts nothing but cycles.
calls_reach() { [ "$(count calls)" -ge "$1" ]; }
exceeded_reach() { [ "$(word "$(of b 1)" 4)" -ge "$1" ]; }
# exceeded_by EVENT WHAT
exceeded_by() {
	is "$(create "$1 cpu=1 budget=20000/1ms name=b")" OK "$2: a budget of 20 us in each ms"
	is "$(create 'kprobe:tally_budget_exceed cpu=1 name=calls')" OK "$2: its overflows are counted"
	ok "$2: 300 windows are exceeded" wait_for 120 exceeded_reach 300
	ok "$2: it overflows 30 times" wait_for 120 calls_reach 30
	note "$2: $(of b 1)"
	is "$(remove calls) $(remove b)" 'OK OK' "$2: both go"
}
if has_pmu; then
	helper "$here/load" -c 1 -b
	exceeded_by cycles cycles
	if [ "$(cat /sys/bus/event_source/devices/cpu/caps/max_precise 2>/dev/null || echo 0)" = 0 ]; then
		skip 'this PMU has no precise events' 'cycles, precise'
	else
		exceeded_by cycles:p 'cycles, precise'
	fi
	[ "$(uname -m)" != x86_64 ] || exceeded_by instructions instructions
	is "$(create 'cycles:u cpu=1 period=100000 max_rate=0 name=other')" OK 'an event that interrupts'
	exceeded_by cycles 'cycles beside it'
	is "$(remove other)" OK 'it goes'
	end_helpers
fi

# ---- one timer for each length and CPU

# A timer may move while the list is printed.
timers_are() { [ "$(grep -c window_ends /proc/timer_list)" -eq "$1" ]; }
# timers N NAME
timers() { ok "$2" wait_for 60 timers_are "$1"; }
timers 0 'no timer without a budget'
is "$(create cpu-clock budget=5000000/10ms name=half)" OK 'half of each 10 ms'
is "$(create cs budget=1000/10ms name=cs) $(create page-faults cpu=1 budget=9/10ms name=pf)" 'OK OK' \
	'other budgets of this length'
timers "$cpus" 'one timer on each CPU'
is "$(create cs budget=1000/20ms name=cs20)" OK 'one of another length'
timers $((2 * cpus)) 'another timer on each CPU'
is "$(remove cs) $(remove pf) $(remove cs20)" 'OK OK OK' 'they go'
timers "$cpus" 'with their timers'

# ---- each window is exceeded: a clock counts twice its budget

# windows_pass CPU N: waits for N windows and sets $passed and $over to how many were seen.
pass_by() { [ "$(word "$(of half "$1")" 3)" -ge "$2" ]; }
windows_pass() {
	begin=$(of half "$1")
	wait_for 120 pass_by "$1" $(($(word "$begin" 3) + $2))
	end=$(of half "$1")
	passed=$(($(word "$end" 3) - $(word "$begin" 3)))
	over=$(($(word "$end" 4) - $(word "$begin" 4)))
	is $(($(word "$end" 1) - $(word "$begin" 1))) $passed "CPU $1: windows are counted by their numbers"
}
# all_exceeded NAME: without icount, a window may pass while the host does not run the guest.
all_exceeded() {
	if [ "$icount" ]; then
		between $((passed - 1)) $over $((passed + 1)) "$1: each of $passed windows is exceeded"
	else
		between 1 $over $((passed + 1)) "$1: $over of $passed windows are exceeded"
	fi
}
windows_pass 0 50
all_exceeded 'CPU 0'
windows_pass 1 50
all_exceeded 'CPU 1'

before=$(of half 1)
echo 0 >/sys/devices/system/cpu/cpu1/online
windows_pass 0 20
all_exceeded 'CPU 0, while CPU 1 is offline'
echo 1 >/sys/devices/system/cpu/cpu1/online
back() { [ "$(word "$(of half 1)" 4)" -gt "$(word "$before" 4)" ]; }
ok 'CPU 1 goes on when it is back' wait_for 60 back
after=$(of half 1)
is $(($(word "$after" 1) - $(word "$before" 1))) $(($(word "$after" 3) - $(word "$before" 3))) \
	'its windows went on by their numbers'
windows_pass 1 20
all_exceeded 'CPU 1, which is back'
timers "$cpus" 'each CPU has its timer'

for cpu in $(seq 0 $((cpus - 1))); do
	helper sh -c "echo 'spin 400' | $here/as fifo $here/as cpu $cpu $here/task"
done
windows_pass 0 30
all_exceeded 'CPU 0, with real-time tasks on all CPUs'
windows_pass 1 30
all_exceeded 'CPU 1, with real-time tasks on all CPUs'
end_helpers
is "$(remove half)" OK 'the event goes'
timers 0 'with all timers'

# ---- a clock cannot exceed two windows, even if a timer is late

# x86 without a stable TSC ends windows by another clock than perf's, and a host that is busy stops
# one of the two: there, one try of five has to show it.
case $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource) in
tsc | arch_sys_counter) tries=1 ;;
*) tries='1 2 3 4 5' ;;
esac
# never_exceeds CPU N NAME: checks that none of N windows is exceeded.
never_exceeds() {
	for _ in $tries; do
		windows_pass "$1" "$2"
		[ $over != 0 ] || break
	done
	is $over 0 "$3"
}
is "$(create cpu-clock budget=20000000/10ms name=half)" OK 'a budget of 20 ms in 10 ms'
# perf locks the events of CPU 1 for a moment each time.
begin_task "$here/task"
echo 'open 100000000' >&4
never_exceeds 0 30 'CPU 0 does not exceed it'
never_exceeds 1 100 'nor does CPU 1, while somebody opens events there'
end_helpers
exec 4>&- 5<&-
is "$(remove half)" OK 'the event goes'

# The handler is called when the budget is used up, and not at the end of the window.
is "$(create cpu-clock cpu=1 budget=600000000/1s name=half)" OK 'a budget of 600 ms in 1 s'
windows_pass 1 3
told() {
	read -r told <$tally/half/overflows
	[ "$told" -ge 1 ] && [ "$told" -eq "$(word "$(of half 1)" 4)" ]
}
ok 'each excess is told at once' wait_for 60 told
is "$(remove half)" OK 'the event goes'

# ---- modules

ok 'the module that tests' insmod "$here/tally_budget.ko"
module_results tally_budget
rmmod tally_budget

# The load faults as fast as it can, on CPU 1.
mkfifo $tmp/load
helper sh -c "exec $here/as cpu 1 $here/task <$tmp/load >/dev/null"
helper sh -c "exec yes 'touch 1000' >$tmp/load"
# A window must be longer than the few commands that read its line.
ms=200 parts='11 14 17'
[ ! -e /sys/kernel/debug/kmemleak ] || ms=1000 parts=11
is "$(create page-faults:u cpu=1 budget=1000000000/${ms}ms name=half)" OK 'the load is counted'
windows_pass 1 2
per_window=$(($(count half) / $(word "$(of half 1)" 3)))
is "$(remove half)" OK 'it wants'
note "$per_window faults in $ms ms"

# regulate N: gives the load N faults in each window.
regulate() {
	ok "a regulator of $1 faults in $ms ms" insmod "$here/tally_regulator.ko" \
		'event="page-faults:u cpu=1"' budget="$1" window_us=${ms}000
	ok 'the load is held' wait_for 120 held "$1"
	begin=$line counted=$faults
	wait_for 120 held_windows $(($(word "$begin" 3) + 1000 * seconds / ms))
	ok 'and is held later' wait_for 120 held "$1"
	passed=$(($(word "$line" 3) - $(word "$begin" 3)))
	over=$(($(word "$line" 4) - $(word "$begin" 4)))
	most=105
	# Without icount, two windows may be one while the host does not run the guest, and the load
	# is held late. It wants more than ten times as much.
	[ "$icount" ] || passed=$over most=150
	mean=$(((100 * (faults - counted)) / passed))
	between $((95 * $1)) $mean $((most * $1)) "100 of $passed windows have $mean faults, 95 to $most % of 100 times $1"
	is $over $passed "the load wants more in each of $passed windows"
	ok 'the regulator goes' rmmod tally_regulator
}
held_windows() { [ "$(word "$(of regulator 1)" 3)" -ge "$1" ]; }
# held N: whether the load is held now, with all N faults of its window. Sets $line and $faults.
# One process reads all three: on a slow machine, a window ends before four have been made.
held() {
	lines=$(sed -n 's/^1 //p' $tally/regulator/budget $tally/regulator/per_cpu \
		$tally/regulator/budget)
	{
		read -r line
		read -r _ faults _
		read -r later
	} <<-LINES
		$lines
	LINES
	[ "$(word "$line" 2)" -gt "$1" ] && [ "$later" = "$line" ]
}
# Real-time threads hold the CPU for more than 95 % of the time.
setting /proc/sys/kernel/sched_rt_runtime_us -1
no_fair_servers
for part in $parts; do
	at_least $((per_window / part)) 20 'enough faults to be divided'
	regulate $((per_window / part))
done
end_helpers

# ---- lines that make no budget

bad() {
	mark
	is "$(wr $tally/create "$2")" "$1" "$2: $1"
	ok "its sentence: $3" logged "tally: .*: $3.* $(in_log "$1")"
}
bad EINVAL 'cs budget=5' 'budget=: expected N/LENGTH'
bad EINVAL 'cs budget=5/10' 'budget=: expected N/LENGTH'
bad EINVAL 'cs budget=5/10m' 'budget=: expected N/LENGTH'
bad EINVAL 'cs budget=/10ms' 'budget=: expected N/LENGTH'
bad EINVAL 'cs budget=five/10ms' 'budget=: expected N/LENGTH'
bad EINVAL 'cs budget=0/10ms' 'a budget is 1 to 2^62 counts'
bad EINVAL 'cs budget=9223372036854775807/10ms' 'a budget is 1 to 2^62 counts'
bad ERANGE 'cs budget=5/10us' 'a window has 100 us to 10 s'
bad ERANGE 'cs budget=5/11s' 'a window has 100 us to 10 s'
bad ERANGE 'cs budget=5/99999999999999999s' 'a window has 100 us to 10 s'
bad EINVAL 'cs budget=5/10ms period=7' 'both a budget and a period'
bad EINVAL 'cs budget=5/10ms freq=7' 'both a budget and a period'
bad EOPNOTSUPP 'cs budget=5/10ms pid=0' 'a budget is for CPUs'
bad EOPNOTSUPP '{cs,page-faults} budget=5/10ms' 'cs: a set in a line only counts'
nothing_left 'nothing is left'
timers 0 'and no timer'

# ---- budgets come and go while their timers fire

n=0 made=0
while [ $n -lt $((10 * seconds)) ]; do
	n=$((n + 1))
	[ "$(create cpu-clock budget=50000/100us name=b$n) $(create cs budget=1/100us name=c$n)" = 'OK OK' ] &&
		made=$((made + 1))
	remove b$n >/dev/null
	[ $((n % 2)) -eq 0 ] || remove c$n >/dev/null
done
is $made $n 'pairs of budgets come and go'
unload_tally
timers 0 'tally takes the timers of the others along'
load_tally

finish
