#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# test: on=debian-6.12,debian-6.1,debian-6.12-arm64 seconds=15
# soak: on=debug-x86_64 seconds=50
#
# tally's tracepoints tally:overflow, tally:state and tally:count, as tracefs, its triggers,
# perf and tally itself see them. Run with scripts/vm --with-perf.

. "$(dirname "$0")/lib.sh"
need_cpus 2
tracing=/sys/kernel/tracing
events=$tracing/events/tally
# hits CPU N: hits $hit N times on the CPU. On x86 that is a breakpoint, which overflows in NMI;
# on arm64, where a breakpoint of the kernel has no period, a probe.
case $(uname -m) in
x86_64)
	hit=mem:0x$(sed -n 's/ [A-Za-z] print_fatal_signals$//p' /proc/kallsyms)/4:w
	hit_ip='*do*intvec*+0x*'
	hits() {
		as cpu "$1" sh -c "n=$2; while [ \$n -gt 0 ]; do
			echo 0 >/proc/sys/kernel/print-fatal-signals; n=\$((n - 1)); done"
	}
	;;
*)
	hit=kprobe:__arm64_sys_getppid
	hit_ip='__arm64_sys_getppid+0x*'
	hits() { echo "getppid $2" | as cpu "$1" "$here/task" >/dev/null; }
	;;
esac
clear_trace() { echo >$tracing/trace; }
# told NAME PATTERN: prints the records of a tracepoint that have the pattern.
told() { grep " $1: .*$2" $tracing/trace; }
lines() { told "$@" | wc -l; }
# field NAME: prints the field of each record on standard input.
field() { sed "s/.* $1=\\([^ ]*\\).*/\\1/"; }

load_tally
is "$(find $events -mindepth 1 -maxdepth 1 -type d | sed 's|.*/||' | sort | xargs)" \
	'count overflow state' 'tracefs has three tracepoints'
is "$(sed -n 's/.*field:\(.*\);.offset.*/\1/p' $events/overflow/format | grep -v common_ |
	xargs)" '__data_loc char[] event int cpu unsigned long ip u64 period u64 missed' 'overflow has its fields'

# ---- tally:overflow

for name in overflow state count; do
	echo 1 >$events/$name/enable
done
clear_trace
is "$(create "$hit" cpu=1 period=1 name=hit)" OK 'an event that overflows at each hit'
hits 1 100
is "$(cat $tally/hit/overflows)" 100 '100 overflows'
is "$(lines overflow event=hit)" 100 'are 100 records'
is "$(told overflow event=hit | field cpu | sort -u)" 1 'on CPU 1'
is "$(told overflow event=hit | field period | sort -u)" 1 'with period 1'
is "$(told overflow event=hit | field missed | sort -u)" 0 'none missed'
like "$(told overflow event=hit | field ip | sort -u)" "$hit_ip" 'at the instruction'
clear_trace
hits 0 10
is "$(lines overflow event=hit)" 0 'hits on another CPU make none'

# A filter and a trigger of tracefs.
echo 'cpu == 1 && event == "hit"' >$events/overflow/filter
hits 1 5
is "$(lines overflow event=hit)" 5 'a filter by event and CPU passes them'
echo 'event == "other"' >$events/overflow/filter
hits 1 5
is "$(lines overflow event=hit)" 5 'or does not'
echo 0 >$events/overflow/filter

# ---- tally:state

is "$(told state event=hit)" '' 'no state changed meanwhile'
clear_trace
remove hit >/dev/null
is "$(create page-faults name=all)" OK 'an event on all CPUs'
is "$(state all)" active 'that counts'
is "$(told state event=all | field from) $(told state event=all | field to)" 'off active' 'goes from off to active'
is "$(told state event=hit | field to)" off 'the one before went off'
echo 0 >/sys/devices/system/cpu/cpu1/online
ok 'a CPU goes' wait_for 60 sh -c "grep -q ' state: event=all cpu=1 from=active to=offline' $tracing/trace"
echo 1 >/sys/devices/system/cpu/cpu1/online
ok 'and comes' wait_for 60 sh -c "grep -q ' state: event=all cpu=1 from=offline to=active' $tracing/trace"
is "$(lines state event=all)" 3 'nothing else was told'
begin_task task
is "$(create page-faults pid="$child" name=task)" OK 'an event of a task'
order touch 10
end_task
ok 'a read sees' wait_for 60 state_is task exited
is "$(told state 'event=task .*to=exited' | field from | sort -u | wc -l)" 1 'and tells once that the task has exited'
is "$(create "$hit" cpu=1 period=1 max_rate=10 name=fast)" OK 'an event with a limit of its rate'
# The event may be stopped before the next hit: then none is skipped.
is_throttled() {
	hits 1 200
	[ "$(told state event=fast | head -2 | field to | xargs)" = 'active throttled' ]
}
ok 'is throttled' wait_for 60 is_throttled
goes_on() { told state event=fast | tail -1 | grep -q 'cpu=1 from=throttled to=active'; }
ok 'and goes on' wait_for 60 goes_on
is "$(told overflow event=fast | wc -l)" "$(cat $tally/fast/overflows)" 'each overflow is told, without a handler, too'
hits 1 1
is "$(told overflow event=fast | tail -1 | field missed)" "$(cat $tally/fast/skipped)" \
	'the next one tells how many'
remove fast >/dev/null

# ---- tally:count

clear_trace
value=$(count all)
is "$(told count event=all | field value)" "$value" 'a read of a file tells the count that it returned'
is "$(told count event=all | field cpu)" -1 'of all CPUs'
is "$(create '{cs,page-faults}' cpu=0 name=set)" OK 'a set'
clear_trace
window=$(cat $tally/set/values)
is "$(told count 'event=set/' | field value | xargs)" "$(echo "$window" | cut -d' ' -f2,3)" 'a read of a set tells its members'
is "$(told count 'event=set/' | field cpu | sort -u)" 0 'on its CPU'
remove set >/dev/null
clear_trace
helper "$here/devpublish" all >$tmp/all
ok 'a program maps a page of all CPUs' wait_for 60 test -s $tmp/all
copied() { [ "$(told count 'cpu=[0-9]' | field cpu | sort -u | wc -l)" -eq "$(nproc)" ]; }
ok 'copies for it are told, of each CPU' wait_for 60 copied
stop "$helper_pid"
is "$(remove all) $(remove task)" 'OK OK' 'the events go'

clear_trace
# A program samples into rings; sampled.sh looks at its results.
"$here/sampled" record $tmp/rings.data >/dev/null 2>&1
at_least "$(lines overflow event=file)" 1 'its overflows are told'

# ---- a profile: by a trigger, and by perf of the same load

for name in overflow state count; do
	echo 0 >$events/$name/enable
done
begin_task task
order touch 1
is "$(create page-faults pid="$child" period=1 name=profile)" OK 'page faults of a task, each one'
# record NAME OPTION...: starts perf, which waits for orders on descriptor 7.
mkfifo $tmp/orders.perf $tmp/acks
record() {
	helper perf record -q -D -1 --control fifo:$tmp/orders.perf,$tmp/acks -c 1 "$@"
	perf=$helper_pid
	exec 7>$tmp/orders.perf 8<$tmp/acks
	tell_perf enable
}
tell_perf() {
	echo "$1" >&7
	read -r answer <&8
}
end_perf() {
	tell_perf disable
	echo stop >&7
	ok 'perf ends' wait "$perf"
	exec 7>&- 8<&-
}
load() {
	order touch 200
	order exec
	order touch 100
}
# addresses: prints each address on standard input with its number, sorted.
addresses() { awk '{ n[$1]++ } END { for (ip in n) print ip, n[ip] }' | sort; }
# profile_of FILE: prints the addresses that perf recorded.
profile_of() { perf script -i "$1" -F ip 2>/dev/null | awk 'NF' | addresses; }

hist='hist:keys=ip.hex:size=4096'
record -e page-faults -p "$child" -o $tmp/perf.data
if [ -e $events/overflow/hist ]; then
	echo "$hist" >$events/overflow/trigger
fi
load
if [ -e $events/overflow/hist ]; then
	sed -n 's/^{ ip: *\([0-9a-f]*\) } hitcount: *\([0-9]*\)$/\1 \2/p' $events/overflow/hist |
		sort >$tmp/hist
	echo "!$hist" >$events/overflow/trigger
fi
end_perf
profile_of $tmp/perf.data >$tmp/profile
faults=$(cat $tally/profile/overflows)
is "$(awk '{ n += $2 } END { print n }' $tmp/profile)" "$faults" "perf record has $faults page faults"
at_least "$(wc -l <$tmp/profile)" 20 'at many addresses'
if [ -e $events/overflow/hist ]; then
	is "$(awk '{ n += $2 } END { print n }' $tmp/hist)" "$faults" 'the trigger has as many'
	ok 'at the same addresses' cmp $tmp/profile $tmp/hist
	diff $tmp/profile $tmp/hist | head -5
else
	skip 'no CONFIG_HIST_TRIGGERS' 'the trigger has as many' 'at the same addresses'
fi

remove profile >/dev/null
end_task

# Overflows of software events, tracepoints and probes happen within perf, which drops any
# tracepoint in there. Those of clocks, breakpoints and hardware do not.
ticks() {
	is "$(create cpu-clock cpu=1 period=1000000 name=clock)" OK 'a clock that overflows'
	echo 'spin 50' | as cpu 1 task >/dev/null
	is "$(remove clock)" OK 'it goes'
}
echo 1 >$events/overflow/enable
clear_trace
record -e tally:overflow -a -o $tmp/tally.data
ticks
end_perf
clocked=$(lines overflow event=clock)
at_least "$clocked" 10 'it overflowed'
is "$(perf script -i $tmp/tally.data -F trace:event,trace 2>/dev/null | grep -c event=clock)" \
	"$clocked" 'perf record -e tally:overflow has each one'

# ---- overflows of events that count tally:overflow

is "$(create tally:overflow name=counts)" OK 'an event counts overflows'
clear_trace
ticks
is "$(count counts)" "$(lines overflow event=clock)" 'all of them'
remove counts >/dev/null
is "$(create tally:overflow period=1 name=again)" OK 'one overflows in them'
clear_trace
ticks
is "$(cat $tally/again/overflows)" "$(lines overflow event=clock)" 'as often'
is "$(lines overflow event=again)" "$(lines overflow event=clock)" \
	'tracefs has its overflows, but none in these'
is "$(remove again)" OK 'it goes'
echo 0 >$events/overflow/enable

# ---- wrong input

# wrong FILE TEXT ERRNO
wrong() { is "$(wr "$events/$1" "$2")" "$3" "$1: $2: $3"; }
wrong overflow/filter 'color == 1' EINVAL
wrong overflow/filter 'cpu == "zero"' EINVAL
wrong overflow/filter 'event > 1' EINVAL
wrong overflow/enable 2 EINVAL
wrong state/filter 'from & 1' EINVAL
wrong count/filter 'value ==' EINVAL
wrong count/trigger 'nonsense' EINVAL
bad() {
	mark
	is "$(wr $tally/create "$2")" "$1" "$2: $1"
	ok "its sentence: $3" logged "tally: .*: .*$3.* $(in_log "$1")"
}
bad ENOENT tally:overflows 'tally:overflows'
bad ENOENT tally:read 'tally:read'
bad EINVAL tally:count:z "unknown modifier 'z'"
bad EINVAL 'tally:state precise=1' "unknown option 'precise='"
bad EINVAL 'tally:overflow period=many' 'period'
nothing_left 'nothing is left'

# ---- tally cannot go while perf has one of its tracepoints; a switch in tracefs does not keep it

is "$(create tally:state name=holds)" OK 'an event counts a tracepoint'
refused 'rmmod fails then' rmmod tally 2>/dev/null
is "$(remove holds)" OK 'without the event'
echo 1 >$events/state/enable
unload_tally
refused 'tally goes, with its tracepoints' test -e $events
load_tally
is "$(cat $events/state/enable)" 0 'which are off when it is back'

finish
