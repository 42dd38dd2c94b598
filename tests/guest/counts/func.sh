#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# With icount and one CPU, each instruction of a function is known. (QEMU adds those of other
# CPUs.)
# test: on=debian-6.12,debian-6.1,debian-6.12-arm64,debian-7 args=2000 seconds=20
# all: on=debug-x86_64 vm="--smp 4" args=2000 seconds=20
# test: on=debian-6.12-arm64 vm="--icount --smp 1" args="100000 exact" seconds=30 also="only a clock of instructions shows what a call costs its own count"
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd args=2000 seconds=20
#
# func.sh CALLS [exact]: counts of functions of the kernel, of CALLS calls: sums and histograms; as
# many calls as ftrace counts; nested calls, and calls that sleep or move to another CPU; functions
# that end, and lines that make no counts. With "exact", only the instructions of a function.

. "$(dirname "$0")/lib.sh"
[ "${2-}" ] || need_cpus 4
calls=$1
tracing=/sys/kernel/tracing
case $(uname -m) in
x86_64) getppid=__x64_sys_getppid ;;
*) getppid=__arm64_sys_getppid ;;
esac
load_tally
ok 'the module with the functions' insmod "$here/tally_func.ko"
module_results tally_func
run() { echo "$*" >/sys/module/tally_func/parameters/run; }
# number NAME ROW prints the number of a row of calls; numbers NAME those of all.
number() { sed -n "$2s/.* //p" "$tally/$1/calls"; }
numbers() { sed 's/.* //' "$tally/$1/calls" | xargs; }
sum() { sed -n "s/^$2 //p" "$tally/$1/sums"; }

# ---- instructions, each of which is known

if [ "${2-}" ]; then
	is "$(create "func:tally_func_short{instructions,cycles}" name=short)" OK 'instructions of a function'
	is "$(create "func:tally_func_long{instructions,cycles}" name=long)" OK 'and of one with 2,000 more'
	run short "$calls"
	run long "$calls"
	is "$(numbers short) $(numbers long)" "$calls $calls 0 0 0 0 $calls $calls 0 0 0 0" \
		"$calls calls of each are counted"
	short=$(sum short instructions) long=$(sum long instructions)
	note "$((short / calls)) and $((long / calls)) instructions in a call, with those of the probe"
	is $((short % calls)) 0 'each call has the same number of instructions'
	is $((long - short)) $((2000 * calls)) 'the longer function has 2,000 more in each call'
	is "$(grep -c instructions $tally/short/hist)" 1 'they are in one bucket'
	is "$(sed -n 's/^instructions .* //p' $tally/short/hist)" "$calls" 'all of them'
	is "$(remove short) $(remove long)" 'OK OK' 'both go'
	rmmod tally_func
	finish
fi

# ---- files

is "$(create "func:tally_func_short{cs,page-faults:k} name=f")" OK 'counts of a function'
is "$(find $tally/f -mindepth 1 -maxdepth 1 | sed 's|.*/||' | sort | xargs)" \
	'calls cs hist page-faults:k spec state sums' 'its folder'
is "$(cat $tally/f/spec)" 'func:tally_func_short{cs,page-faults:k} cpu=all name=f' 'its line'
is "$(sed 's/ .*//' $tally/f/calls | xargs)" 'calls counted moved switched uncounted missed' 'calls says what its numbers are'
is "$(numbers f)" '0 0 0 0 0 0' 'no call so far'
run short 10
is "$(numbers f)" '10 10 0 0 0 0' '10 calls are counted'
is "$(cat $tally/f/sums)" "$(printf 'cs 0\npage-faults:k 0')" 'which switched and faulted nowhere'
is "$(cat $tally/f/hist)" "$(printf 'cs 0 0 10\npage-faults:k 0 0 10')" 'all in the bucket of 0'
mark
is "$(remove f/cs)" EPERM 'a member is not removed alone'
line=$(cat $tally/f/spec)
is "$(remove f)" OK 'it goes as a whole'
is "$(wr $tally/create "$line")" OK 'its line makes it again'
is "$(remove f)" OK 'and it goes'

# ---- by fprobe, where the kernel has it, in the kernel itself; else by a kretprobe

# by FUNCTION: prints what probes the function.
by() {
	if grep -q "$1.*fprobe_" $tracing/enabled_functions 2>/dev/null; then
		echo fprobe
	elif grep -q " r .*$1" /sys/kernel/debug/kprobes/list; then
		echo kretprobe
	fi
}
kind=kretprobe
! grep -q ' T register_fprobe_syms$' /proc/kallsyms || kind=fprobe
note "this kernel has a $kind"
is "$(create "func:$getppid{cs,dummy} name=f")" OK 'counts of a function of the kernel'
is "$(by sys_getppid)" $kind "are those of a $kind"
is "$(create "func:tally_func_short{cs} name=g")" OK 'those of a function of a module'
is "$(by tally_func_short)" kretprobe 'are those of a kretprobe'
is "$(remove f) $(remove g) $(by sys_getppid)$(by tally_func_short)" 'OK OK ' 'both go'

# ---- as many calls as ftrace counts

echo "p:hits $getppid" >>$tracing/kprobe_events
echo 1 >$tracing/events/kprobes/hits/enable
hits() { awk '$1 == "hits" { print $2 + $3 }' $tracing/kprobe_profile; }
is "$(create "func:$getppid{cpu-clock,cs}" name=f)" OK 'counts of a system call'
before=$(hits)
for cpu in 0 1 2 3; do
	helper sh -c "echo 'getppid $calls' | $here/as cpu $cpu $here/task >/dev/null"
done
for pid in $helpers; do
	wait "$pid"
done
helpers=''
is "$(($(number f 1) + $(number f 6)))" $(($(hits) - before)) 'on 4 CPUs: calls and missed ones are those that ftrace has'
at_least "$(number f 1)" $((4 * calls)) 'there are enough'
is "$(number f 1)" $(($(number f 2) + $(number f 3) + $(number f 4) + $(number f 5))) \
	'each was counted or left out'
at_least "$(number f 2)" $((3 * calls)) 'most were counted'
is "$(awk '$1 == "cpu-clock" { n += $4 } END { print n }' $tally/f/hist)" "$(number f 2)" \
	'each is in the histogram'
at_least "$(sum f cpu-clock)" "$(number f 2)" 'they took time'
is "$(sum f cs)" 0 'no call that was switched away is counted'
is "$(remove f)" OK 'it goes'
echo 0 >$tracing/events/kprobes/hits/enable
echo '-:hits' >>$tracing/kprobe_events

# ---- nested calls, calls that sleep, calls that move

is "$(create "func:tally_func_nested{cs}" name=f)" OK 'a function that calls itself'
run nested 100
is "$(number f 1) $(number f 6)" '500 0' '100 times 5 calls'
is "$(number f 1)" $(($(number f 2) + $(number f 3) + $(number f 4) + $(number f 5))) 'nothing is lost'
is "$(remove f) $(create "func:tally_func_sleep{cs}" name=f)" 'OK OK' 'one that sleeps'
run sleep 50
is "$(number f 1) $(number f 6)" '50 0' '50 calls'
is $(($(number f 2) + $(number f 3) + $(number f 4))) 50 'all of them are known'
# A timer may expire before the task sleeps.
at_least $(($(number f 3) + $(number f 4))) 25 'most were switched away'
is "$(sum f cs)" 0 'and those that were counted were not'
is "$(remove f) $(create "func:tally_func_move{cs}" name=f)" 'OK OK' 'one that moves to another CPU'
run move 50
is "$(numbers f)" '50 0 50 0 0 0' '50 calls moved'
is "$(cat $tally/f/sums) $(cat $tally/f/hist)" 'cs 0 ' 'and none was counted'
is "$(remove f)" OK 'it goes'

# ---- all of these at a time, while a CPU comes and goes

is "$(create "func:tally_func_nested{cs,cpu-clock}" name=f)" OK 'a function on all CPUs'
for cpu in 0 1 2 3; do
	helper sh -c "echo 'nested $calls' >/sys/module/tally_func/parameters/run"
done
echo 0 >/sys/devices/system/cpu/cpu3/online
echo 1 >/sys/devices/system/cpu/cpu3/online
for pid in $helpers; do
	wait "$pid"
done
helpers=''
is $(($(number f 1) + $(number f 6))) $((20 * calls)) "$((20 * calls)) calls"
is "$(number f 1)" $(($(number f 2) + $(number f 3) + $(number f 4) + $(number f 5))) 'nothing is lost'
is "$(remove f)" OK 'it goes'

# ---- functions that handlers call; functions of a module that goes

is "$(create "func:perf_event_update_userpage{cs}" name=inner)" OK 'a function that perf calls itself'
is "$(create "func:$getppid{cpu-clock,page-faults}" name=outer)" OK 'and one beside it'
echo 'getppid 100' | "$here/task" >/dev/null
at_least "$(number outer 1)" 100 'both go on'
is "$(remove inner) $(remove outer)" 'OK OK' 'both go'
mark
is "$(create "func:tally_func_copy{cs}")" ENOENT 'a function that the compiler has made a copy of'
ok 'the sentence names the copy' logged "no function 'tally_func_copy'.*: try tally_func_copy\.isra\.0 "
is "$(create "func:tally_func_copy.isra.0{cs}" name=f)" OK 'the copy'
run copy 3
is "$(numbers f) $(remove f)" '3 3 0 0 0 0 OK' 'it counts'
is "$(create "func:tally_func_short{cs}" name=f)" OK 'a function of a module'
run short 3
ok 'the module goes' rmmod tally_func
is "$(numbers f) $(state f)" '3 3 0 0 0 0 offline' 'the numbers stay, and the state says so'
ok 'the module comes' insmod "$here/tally_func.ko"
run short 4
is "$(numbers f) $(state f)" '7 7 0 0 0 0 active' 'they go on'
is "$(create "func:tally_func_long{cs}" name=g)" OK 'another function'
run inner 10
is "$(numbers g)" '0 0 0 0 0 10' 'calls in the handler of a probe are missed'
ok 'the module goes again' rmmod tally_func
is "$(numbers g)" '0 0 0 0 0 10' 'the missed ones stay'
is "$(remove f) $(remove g)" 'OK OK' 'and go'
is "$(create "func:do_nanosleep{cs}" name=f)" OK 'a function in which tasks sleep'
helper sleep 1000
sleeping() { [ "$(number f 1)" -ge 1 ]; }
ok 'one does' wait_for 60 sleeping
is "$(remove f)" OK 'the counts go meanwhile'
end_helpers

# The new counts may be where the old ones were in memory. wait_for() sleeps in the function, too.
in_nanosleep() { grep -q nanosleep "/proc/$1/wchan"; }
is "$(create "func:do_nanosleep{cs}" name=stays)" OK 'a function in which tasks sleep, once more'
i=0 strange=0
while [ $i -lt 20 ]; do
	create "func:do_nanosleep{cs}" name=f >/dev/null
	sleep 1000 &
	sleeper=$!
	wait_for 60 in_nanosleep $sleeper || fail 'a task sleeps'
	remove f >/dev/null
	create "func:do_nanosleep{cs}" name=f >/dev/null
	kill $sleeper
	wait $sleeper
	[ $(($(number f 2) + $(number f 3) + $(number f 4) + $(number f 5))) -le "$(number f 1)" ] ||
		strange=$((strange + 1))
	remove f >/dev/null
	i=$((i + 1))
done
is $strange 0 'a call that goes on while its counts go returns to no others'
is "$(remove stays)" OK 'the first ones go, too'

# ---- lines that make no counts

bad() {
	mark
	is "$(wr $tally/create "$2")" "$1" "$2: $1"
	ok "its sentence: $3" logged "tally: .*: $3.* $(in_log "$1")"
}
bad ENOENT 'func:no_such_function_at_all{cs}' "no function 'no_such_function_at_all'"
bad EINVAL 'func:{cs}' 'no function'
bad EINVAL "func:$getppid" "expected 'func:FUNCTION{EVENT,...}'"
bad EINVAL "func:$getppid{cs" "a '{' without a '}'"
bad EINVAL "func:$getppid{}" 'no event'
bad ENOENT "func:$getppid{nonsense}" "nonsense: unknown event 'nonsense'"
bad EOPNOTSUPP "func:$getppid{cs} cpu=1" 'cs: counts of a function are on all CPUs'
bad EOPNOTSUPP "func:$getppid{cs} pid=1" 'cs: counts of a function are on all CPUs'
bad EOPNOTSUPP "func:$getppid{cs} period=5" 'cs: a set in a line only counts'
bad E2BIG "func:$getppid{cs,cs,cs,cs,cs,cs,cs,cs,dummy} name=x" 'a set has at most 8 members'
bad EINVAL 'func:register_kretprobe{cs}x name=x' "expected ':' or a blank behind the '}'"
nothing_left 'nothing is left'

finish
