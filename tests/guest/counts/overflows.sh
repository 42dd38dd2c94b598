#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# debug-arm64 has NMIs and a PMU, debug-x86_64 checks every memory access, and 6.1 has the
# oldest perf core.
# test: on=debian-6.12-arm64 seconds=20
# all: on=debian-6.1,debug-arm64 seconds=45
# test: on=debian-6.12:intel seconds=20 also="here the overflows of counters are NMIs, and precise ones come through a buffer"
# all: on=debian-6.1:intel,debian-7:intel,debian-6.12:amd,debian-6.12:generic seconds=20
# soak: on=debug-x86_64,debug-rt,debian-6.12,debian-6.12-arm64 seconds=45
#
# Events with a period or a frequency that are made from a line of text. tally counts
# their overflows itself, and shows them beside the count.

. "$(dirname "$0")/lib.sh"
need_cpus 2

files='overflows skipped missed lost throttled handler_ns handler_max_ns guest'
case $(uname -m) in
x86_64) symbol=__x64_sys_getppid ;;
*) symbol=__arm64_sys_getppid ;;
esac

overflows() { cat "$tally/$1/overflows"; }
overflows_reach() { [ "$(overflows "$1")" -ge "$2" ]; }
# getppid CPU N. A shell calls getppid() as it starts, so $here/task is started without
# one.
getppid() { echo "getppid $2" | as cpu "$1" "$here/task" >/dev/null; }

# has_files NAME: whether the event has all of $files, each with a number.
has_files() {
	for file in $files; do
		is_number "$(cat "$tally/$1/$file")" || return 1
	done
}

# has_no_files NAME: whether the event exists and has none of $files.
has_no_files() {
	[ -f "$tally/$1/count" ] || return 1
	for file in $files; do
		[ ! -e "$tally/$1/$file" ] || return 1
	done
}

# divides NAME PERIOD: checks that there is one overflow per whole period. It is called
# while nothing is counted. Each CPU, or the task, keeps the rest of its last period.
divides() {
	seen=$(overflows "$1")
	want=$(awk -v period="$2" '{ sum += int($3 / period) } END { print sum }' \
		"$tally/$1/per_cpu")
	is "$seen" "$want" "$1: as many overflows as whole periods of $2"
	at_least "$seen" 1 "$1: there are some"
	is "$(cat "$tally/$1/skipped") $(cat "$tally/$1/missed")" '0 0' \
		"$1: none is skipped or missed"
}

# shellcheck disable=SC2119
load_tally

# ---- the files

is "$(create page-faults name=counts)" OK 'an event that counts'
ok 'has none of the files' has_no_files counts
is "$(create page-faults period=0 freq=0 name=none)" OK 'no period and no frequency'
ok 'is an event that counts' has_no_files none
is "$(cat $tally/none/spec)" 'page-faults cpu=all name=none' 'and its spec says so'
is "$(create page-faults disabled period=3 name=off)" OK 'one with a period, disabled'
ok 'has all of them, with numbers' has_files off
for file in $files; do
	is "$(wr "$tally/off/$file" 1)" EINVAL "$file cannot be written"
done
echo 'touch 100' | task >/dev/null
is "$(cat $tally/off/overflows $tally/off/count | tr '\n' ' ')" '0 0 ' 'it does not overflow'
for name in counts none off; do
	is "$(remove $name)" OK "$name is removed"
done

# ---- what software counts: one overflow for each whole period

total=$(stat_of overflows)
for period in 1 5 1000; do
	is "$(create kprobe:$symbol cpu=all period=$period name=probe)" OK "a probe, period $period"
	getppid 0 2003
	getppid 1 1498
	divides probe $period
	at_least "$(count probe)" 3501 'probe: all calls are counted'
	total=$((total + $(overflows probe)))
	is "$(stat_of overflows)" $total 'stats has them'
	is "$(remove probe)" OK 'probe is removed'
	is "$(stat_of overflows)" $total 'and still has them'
done
is "$(create kprobe:$symbol cpu=1 period=10 name=one)" OK 'a probe on one CPU'
is "$(create kretprobe:$symbol cpu=all period=10 name=return)" OK 'and on return, on all'
getppid 0 1000
is "$(overflows one)" $(($(count one) / 10)) 'elsewhere it does not overflow'
getppid 1 1000
divides one 10
divides return 10
for name in one return; do
	remove $name >/dev/null
done

begin_task task
order touch 1
is "$(create page-faults:u pid=$child period=7 name=f7)" OK 'page faults of a task'
is "$(create page-faults pid=$child period=1 name=f1)" OK 'each of them'
is "$(create page-faults pid=$child cpu=0 period=10 name=f0)" OK 'those on CPU 0'
is "$(create page-faults pid=$child period=9223372036854775807 name=never)" OK \
	'the longest period'
is "$(create context-switches pid=$child period=3 name=cs)" OK 'its switches'
is "$(create page-faults pid=$child name=counted)" OK 'the same, counted'
# After two migrations the task is on CPU 0.
order migrate 2
order touch 1000
order sleep 50
divides f7 7
divides f1 1
divides f0 10
at_least "$(overflows f1)" 1000 'f1: no fault is left out'
is "$(overflows f1)" "$(count counted)" 'f1: nor one made up'
is "$(overflows never) $(count never)" "0 $(count counted)" \
	'never: it counts and does not overflow'
end_task
is "$(state f7)" exited 'the task has exited'
divides f7 7
divides f1 1
divides cs 3
before=$(stat_of overflows)
for name in f7 f1 f0 never cs counted; do
	is "$(remove $name)" OK "$name is removed"
done
is "$(stat_of overflows)" "$before" 'no total falls with its event'

tracepoint=sched:sched_switch
if [ -d /sys/kernel/tracing/events/syscalls/sys_enter_getppid ]; then
	tracepoint=syscalls:sys_enter_getppid
fi
is "$(create $tracepoint cpu=all period=2 name=tp)" OK "a tracepoint: $tracepoint"
getppid 0 500
ok 'it overflows' overflows_reach tp 1
# Switches go on, so the count may grow between the two reads.
seen=$(overflows tp)
between $((seen * 2)) "$(count tp)" '' 'at each second time at most'
remove tp >/dev/null

# ---- clocks

for line in 'cpu-clock cpu=all period=1000000' 'cpu-clock cpu=0 freq=1000' \
	'cpu-clock:k cpu=all period=2000000' 'task-clock cpu=1 period=1000000'; do
	is "$(create "$line" name=clock)" OK "$line"
	ok 'overflows' wait_for 60 overflows_reach clock 20
	before=$(overflows clock)
	ok 'and goes on' wait_for 60 overflows_reach clock $((before + 20))
	seen=$(overflows clock)
	# Allow 5 %: the timer's clock is not the clock that is counted.
	at_least $(($(count clock) * 21 / 20 / 1000000 + $(nproc))) "$seen" \
		'not more often than it is told'
	is "$(state clock)" active 'it is active'
	is "$(remove clock)" OK 'and removed'
done
begin_task task
order touch 1
is "$(create task-clock pid=$child period=1000000 name=clock)" OK "a task's clock"
is "$(overflows clock)" 0 'does not overflow while it sleeps'
order spin 300
at_least "$(overflows clock)" 3 'but while it runs'
end_task
remove clock >/dev/null

# ---- in Hz

is "$(create page-faults cpu=all freq=500 name=hz)" OK 'page faults by frequency'
getting_faults() { echo 'touch 2000' | task >/dev/null; overflows_reach hz 10; }
ok 'overflow' wait_for 60 getting_faults
seen=$(overflows hz)
at_least "$(count hz)" "$seen" 'not more often than there are any'
remove hz >/dev/null
was=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
sample_rate 700
for what in page-faults cpu-clock kprobe:$symbol; do
	is "$(create "$what" freq=701 name=x)" EINVAL "$what: above the machine's limit"
	is "$(create "$what" freq=700 name=x)" OK "$what: the limit"
	is "$(create "$what" disabled freq=701 name=y)" EINVAL "$what: disabled, above it"
	remove x >/dev/null
done
sample_rate "$was"

# ---- breakpoints

address=0x$(sed -n 's/ [A-Za-z] print_fatal_signals$//p' /proc/kallsyms)
file=/proc/sys/kernel/print-fatal-signals
write_it() {
	writes=0
	while [ $writes -lt 10 ]; do
		echo 0 >$file
		writes=$((writes + 1))
	done
}
if [ "$(uname -m)" = x86_64 ]; then
	is "$(create "mem:$address/4:w" period=1 name=w1)" OK 'a breakpoint on data'
	write_it
	is "$(count w1) $(overflows w1)" '10 10' 'each write is an overflow'
	is "$(remove w1)" OK 'w1 is removed'
	is "$(create "mem:$address/4:w" period=3 name=w3)" OK 'at each third write'
	write_it
	is "$(count w3)" 10 'w3: each write is counted'
	divides w3 3
	remove w3 >/dev/null
else
	for options in period=1 freq=100 'disabled period=1' 'cpu=0 period=1'; do
		mark
		# shellcheck disable=SC2086 # Several words.
		is "$(create "mem:$address/4:w" $options name=w)" EOPNOTSUPP \
			"a breakpoint with $options is refused"
		ok 'with the reason' logged 'can count, but not overflow'
	done
	is "$(create "mem:$address/4:w" name=w)" OK 'one that counts is fine'
	write_it
	at_least "$(count w)" 10 'and counts'
	remove w >/dev/null
fi

# ---- hardware, and what cannot interrupt

if has_pmu; then
	is "$(create cycles cpu=all period=1000000 name=cycles)" OK 'cycles'
	ok 'overflow' wait_for 60 overflows_reach cycles 100
	seen=$(overflows cycles)
	at_least "$(count cycles)" $((seen * 900000)) 'not more often than told'
	remove cycles >/dev/null
	is "$(create cycles cpu=0 freq=100 name=cycles)" OK 'by frequency'
	busy_cycles() { echo 'spin 100' | task >/dev/null; overflows_reach cycles 5; }
	ok 'overflow too' wait_for 60 busy_cycles
	remove cycles >/dev/null
else
	is "$(create cycles period=1000000 name=cycles)" ENOENT 'no PMU, no cycles'
fi
if [ -e /sys/bus/event_source/devices/msr ]; then
	is "$(create msr/config=0x0/ period=1000 name=msr)" EINVAL \
		'a PMU that cannot interrupt has no period'
else
	skip 'this machine has no msr PMU' 'a PMU that cannot interrupt has no period'
fi

# ---- what spec says makes the event again

begin_task task
order touch 1
while read -r line; do
	is "$(create "$line")" OK "$line"
	name=${line##*name=}
	is "$(cat "$tally/$name/spec")" "$line" 'is its own spec'
	spec=$(cat "$tally/$name/spec")
	is "$(remove "$name")" OK 'it goes'
	is "$(create "$spec")" OK 'and is made again'
	is "$(cat "$tally/$name/spec")" "$line" 'with the same one'
	remove "$name" >/dev/null
done <<END
page-faults:u pid=$child period=7 name=a
page-faults:k pid=$child cpu=1 period=7 name=a
cpu-clock cpu=all period=1000000 name=a
cpu-clock cpu=all freq=300 name=a
task-clock cpu=0 freq=100 max_rate=50 name=a
page-faults cpu=all freq=500 max_rate=200 name=a
kprobe:$symbol cpu=1 period=3 max_rate=0 disabled name=a
sched:sched_switch cpu=0 period=1000 max_rate=4294967294 name=a
page-faults pid=$child inherit period=2 name=a
page-faults pid=$child inherit inherit_thread freq=100 disabled name=a
page-faults pid=$child period=9 enable_on_exec disabled name=a
page-faults pid=$child enable_on_exec disabled name=a
page-faults pid=$child inherit period=9 remove_on_exec name=a
page-faults pid=$child period=1000000 remove_on_exec sigtrap name=a
END
end_task

# ---- what cannot be together

while read -r errno line; do
	is "$(create "$line name=bad")" "$errno" "$errno: $line"
done <<END
EINVAL page-faults period=9223372036854775808
EINVAL page-faults period=5 freq=5
EINVAL page-faults freq=18446744073709551615
EINVAL page-faults max_rate=0
EINVAL page-faults max_rate=10 period=0
EINVAL page-faults period=5 max_rate=4294967295
EINVAL page-faults period=5 max_rate=-1
EINVAL page-faults period=5 inherit
EINVAL page-faults period=5 enable_on_exec
EINVAL page-faults period=5 remove_on_exec
EINVAL page-faults period=5 sigtrap
EINVAL page-faults pid=1 period=5 sigtrap
EINVAL page-faults pid=1 sigtrap remove_on_exec
EINVAL page-faults pid=1 freq=5 enable_on_exec remove_on_exec
EINVAL page-faults period=5 one_shot
EOPNOTSUPP page-faults pid=1 period=5 inherit sigtrap remove_on_exec
END
refused 'none of them was made' test -e $tally/bad
nothing_left 'nothing is left'

# ---- as a parameter of the module

unload_tally
load_tally 'events="cpu-clock period=1000000;page-faults cpu=0 freq=100 name=f"'
ok 'its events overflow' wait_for 60 overflows_reach cpu-clock 20
ok 'both have the files' has_files f
case $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource) in
*jiffies) skip 'the clock moves at ticks only' 'the handler takes some time' ;;
*) at_least "$(stat_of handler_max_ns)" 1 'the handler takes some time' ;;
esac
ok 'unloading while they do' unload_tally
finish
