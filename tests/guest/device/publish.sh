#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Why these kernels: timers and their migration differ between 6.1 and 6.12, and on PREEMPT_RT.
# test: on=debian-6.12 vm="--append nohz_full=3" seconds=30
# soak: on=debian-6.1,debian-6.12-rt,debian-6.12-arm64,debian-7 vm="--append nohz_full=3" args=30000 seconds=70
#
# The timers that publish counts: none where a task does not run, none on idle CPUs, and
# none on CPUs of nohz_full=. Readers without CAP_PERFMON interrupt no CPU.
#
#	publish.sh [CALLS]	calls of each kind without CAP_PERFMON; default 10000

. "$(dirname "$0")/lib.sh"
need_cpus 4

tracing=/sys/kernel/tracing
is "$(cat /sys/devices/system/cpu/nohz_full)" 3 'CPU 3 is one of nohz_full='
# shellcheck disable=SC2119
load_tally

# timer FUNCTION EVENT: traces the timers that call a function of tally.
timer() {
	timer_at=$(sed -n "s/ t $1	\[tally\]$//p" /proc/kallsyms)
	ok "there is a timer $1" [ -n "$timer_at" ]
	setting $tracing/events/timer/"$2"/enable 1
	echo "function == 0x${timer_at:-1}" >$tracing/events/timer/"$2"/filter
}
timer fired hrtimer_expire_entry
timer ticked timer_expire_entry

# traced CPU [PATTERN]: prints the timers that ran on a CPU.
traced() { grep "\[00$1\].*${2-_expire_entry}" $tracing/trace; }
ran() { traced "$@" | wc -l; }

# hog CPU: keeps a CPU busy. Its time grows by ticks that find it running there.
hogs=''
hog() {
	helper "$here/as" cpu "$1" "$here/devpublish" hog
	hogs="$hogs $helper_pid"
}
ticks_of() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f12; }
# all_ticked N: whether each task of $hogs has had N ticks more than $before says.
tick_all() { for pid in $hogs; do ticks_of "$pid"; done; }
all_ticked() {
	tick_all >$tmp/after
	paste -d' ' $tmp/before $tmp/after | awk -v n="$1" '$2 - $1 < n { bad = 1 } END { exit bad }'
}
ticks() {
	tick_all >$tmp/before
	wait_for 120 all_ticked "$1"
}

# ---- a task that runs on CPU 1, while all CPUs are busy

for cpu in 0 2 3; do
	hog $cpu
done
helper "$here/devpublish" task 1 >$tmp/task
task=$helper_pid
hogs="$hogs $task"
ok 'all CPUs have had ticks' ticks 20
echo >$tracing/trace
ok 'and more of them' ticks 40
cp $tracing/trace $tmp/trace
for cpu in 0 2 3; do
	is "$(ran $cpu)" 0 "no timer for it on CPU $cpu"
done
at_least "$(ran 1)" 10 'but on its own CPU'
stop "$task"
results cat $tmp/task
for pid in $hogs; do
	[ "$pid" = "$task" ] || stop "$pid"
done

# ---- a task that moves between CPUs, which are idle before and afterwards

timer ticked timer_start
echo >$tracing/trace
results "$here/devpublish" follow
# starts: prints in what context each timer was started; h or H is a hard interrupt.
starts() { sed -n 's/^.*\] ..\(.\).*timer_start: .*/\1/p' $tracing/trace; }
at_least "$(starts | wc -l)" 30 'its timers are started on all CPUs'
is "$(starts | grep -c '[hH]')" 0 'but not in hard interrupt'
echo 0 >$tracing/events/timer/timer_start/enable
results "$here/devpublish" shared

# ---- all CPUs, which are busy at times

echo >$tracing/trace
helper "$here/devpublish" all >$tmp/all
task=$helper_pid
ok 'an event on all CPUs' wait_for 60 test -s $tmp/all
cycles=0
while [ $cycles -lt 10 ]; do
	cycles=$((cycles + 1))
	hogs=''
	hog 2
	hog 3
	ticks 5
	for pid in $hogs; do
		stop "$pid"
	done
	usleep 100000
done
# Each timer of CPU 2 that finds it idle is the last one, until a tick starts it again.
traced 2 >$tmp/cpu2
stop "$task"
results cat $tmp/all
at_least "$(grep -c fired $tmp/cpu2)" 100 'while it is busy, a timer keeps the interval'
at_least "$(grep -c '<idle>.*fired' $tmp/cpu2)" 1 'it finds the CPU idle'
is "$(awk '/fired/ && idle { n++ } { idle = /<idle>/ && /fired/ } END { print n + 0 }' $tmp/cpu2)" \
	0 'and ends then'
is "$(ran 3)" 0 'there is none on CPU 3, which is of nohz_full='

# ---- readers with and without CAP_PERFMON

is "$(create 'page-faults name=all')" OK 'an event on all CPUs'
is "$(create 'cpu-clock cpu=0 name=one')" OK 'one on CPU 0'
is "$(create 'cpu-clock cpu=2 name=elsewhere')" OK 'one on CPU 2'
is "$(create "page-faults pid=$$ inherit name=inherited")" OK 'an inherited one'
results "$here/as" powerless "$here/devpublish" weak

is "$(create 'page-faults name=ending')" OK 'an event that ends'
begin_task "$here/as powerless $here/devpublish gone"
read -r answer <&5
is "$answer" attached 'has a reader without CAP_PERFMON'
is "$(remove ending)" OK 'it ends'
echo >&4
results cat <&5
ok 'the reader ends' end_task

# interrupts N RIGHTS...: sets $calls to the number of calls by which a reader with these rights
# interrupts other CPUs in N calls of each kind, while CPUs 1 and 2 are busy. Two events on the
# reader count its calls.
interrupts() {
	asked=$1
	shift
	begin_task "$here/as $* $here/devpublish reader all $asked"
	read -r answer <&5
	is "$(create "kprobe:smp_call_function_single pid=$child name=single")" OK 'its calls'
	is "$(create "kprobe:smp_call_function_many_cond pid=$child name=many")" OK 'and others'
	echo >$tracing/trace
	echo >&4
	read -r answer <&5
	is "$answer" 'failed 0' "none of $asked calls of each kind fails: $*"
	read -r answer <&5
	calls=$(($(count single) + $(count many)))
	timers=$(grep -c fired $tracing/trace)
	echo >&4
	ok 'it ends' end_task
	is "$(remove single) $(remove many)" 'OK OK' 'and the events'
}
hogs=''
hog 1
hog 2
interrupts 200 cpu 0
at_least "$calls" 400 'with CAP_PERFMON, it interrupts other CPUs'
interrupts "${1:-10000}" cpu 0 "$here/as" powerless
is "$calls" 0 'without, it interrupts none'
is "$timers" 0 'and starts no timer that interrupts one'
for pid in $hogs; do
	stop "$pid"
done
for name in all one elsewhere inherited; do
	is "$(remove $name)" OK "the event $name"
done

nothing_left 'nothing is left'
finish
