#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# debug-arm64 has a PMU; the stock kernels have more kinds of events than debug-arm64.
# test: on=debian-6.12-arm64,debian-6.1 seconds=12
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd,debian-6.12:generic seconds=12
# soak: on=debian-6.12,debug-arm64 seconds=30
#
# Every kind of event by its name: it counts, or creating it fails with the right errno if
# the machine lacks it (features.md, D.1 #18).

. "$(dirname "$0")/lib.sh"
need_cpus 2
load_tally

# works EVENT [SPEC]: checks that the event is made and removed, and that its spec begins
# with SPEC; default EVENT.
works() {
	is "$(create "$1" name=x)" OK "$1"
	is "$(cat $tally/x/spec 2>/dev/null)" "${2:-$1} cpu=all name=x" "its spec is ${2:-$1}"
	is "$(remove x)" OK "$1 is removed"
}

# ---- software events and their aliases: on every kernel

for name in cpu-clock task-clock page-faults context-switches cpu-migrations \
	minor-faults major-faults alignment-faults emulation-faults dummy \
	bpf-output cgroup-switches; do
	works $name
done
works faults page-faults
works cs context-switches
works migrations cpu-migrations

# Each of these events counts what a task does.
for name in cpu-clock task-clock page-faults context-switches cpu-migrations minor-faults; do
	create $name >/dev/null
done
# The task runs to its end: one in the background may be stopped before it does anything.
printf 'touch 200\nsleep 20\nmigrate 20\nspin 50\n' | task >/dev/null
at_least "$(count page-faults)" 200 'page-faults counts'
at_least "$(count minor-faults)" 200 'minor-faults counts'
at_least "$(count context-switches)" 20 'context-switches counts'
at_least "$(count cpu-migrations)" 20 'cpu-migrations counts'
at_least "$(count cpu-clock)" 50000000 'cpu-clock counts nanoseconds'
at_least "$(count task-clock)" 50000000 'task-clock counts nanoseconds'
cut -d' ' -f1 $tally/events >$tmp/names
cat $tmp/names >$tally/remove

# perf counts switches between cgroups of the perf_event controller of version 1 only.
group=$tmp/cgroup
mkdir $group
if mount -t cgroup -o perf_event none $group 2>/dev/null; then
	mkdir $group/alone
	create cgroup-switches >/dev/null
	sh -c "echo \$\$ >$group/alone/cgroup.procs; echo 'sleep 50' | exec task" >/dev/null
	at_least "$(count cgroup-switches)" 50 'cgroup-switches counts'
	remove cgroup-switches >/dev/null
	rmdir $group/alone
	end_perf_hierarchy $group
else
	skip 'this kernel has no perf_event cgroups of version 1' 'cgroup-switches counts'
fi

# ---- modifiers

works page-faults:u
works cs:k context-switches:k
works page-faults:k
works page-faults:uk
works page-faults:kh
works page-faults:ku page-faults:uk
works page-faults:uu page-faults:u
# With all three modifiers, nothing is excluded.
works page-faults:ukh page-faults
works page-faults:D
works page-faults:De
works page-faults:I
works page-faults:H
works page-faults:GH page-faults
is "$(create page-faults:u name=u)" OK 'faults of user space'
is "$(create page-faults:k name=k)" OK 'faults of the kernel'
u=$(count u)
echo 'touch 1000' | task >/dev/null
at_least $(($(count u) - u)) 1000 'user space faults in user space'
k=$(count k)
between 0 "$k" 100000 'and the kernel seldom'
remove u >/dev/null
remove k >/dev/null

# ---- hardware and cache events: counted, or refused for what they are

# maybe EVENT [SPEC]: checks that the event is made and has the spec, or that the machine
# lacks it.
had=0 lacked=0
perf_counts() { perf stat -a -x, -e "$1" true 2>&1 | grep -q '^[0-9]'; }
maybe() {
	mark
	maybe_got=$(create "$1" name=x)
	case $maybe_got in
	OK)
		had=$((had + 1))
		is "$(cat $tally/x/spec)" "${2:-$1} cpu=all name=x" "$1 is counted, as ${2:-$1}"
		case $(state x) in
		active | inactive) ;;
		*) fail "$1 is $(state x)" ;;
		esac
		remove x >/dev/null
		;;
	ENOENT | EOPNOTSUPP)
		lacked=$((lacked + 1))
		pass "$1 is lacking: $maybe_got"
		;;
	EINVAL | ENXIO)
		# Drivers of x86 refuse what no CPU has, and what needs a register that this one lacks.
		has_pmu && [ "$(uname -m)" = x86_64 ] || fail "$1: $maybe_got"
		lacked=$((lacked + 1))
		refused "perf does not count $1 either" perf_counts "$1"
		ok "$1 is lacking: $maybe_got" logged "tally: $1 .*\(has no such event\|needs an extra register\)"
		;;
	*)
		fail "$1: $maybe_got"
		;;
	esac
}

for name in cycles instructions cache-references cache-misses branch-instructions \
	branch-misses bus-cycles stalled-cycles-frontend stalled-cycles-backend \
	ref-cycles; do
	maybe $name
done
maybe cpu-cycles cycles
maybe branches branch-instructions
maybe idle-cycles-frontend stalled-cycles-frontend
maybe idle-cycles-backend stalled-cycles-backend
for cache in L1-dcache L1-icache LLC dTLB iTLB branch node; do
	for op in load store; do
		maybe $cache-${op}s
		maybe $cache-$op-misses
	done
	maybe $cache-prefetches
	maybe $cache-prefetch-misses
done
maybe L1-dcache L1-dcache-loads
maybe l1d-read-access L1-dcache-loads
maybe L2-miss LLC-load-misses
maybe Data-TLB-write-miss dTLB-store-misses
maybe cycles:u
maybe cycles:k
maybe cycles:ukhH cycles
maybe cycles:GH
maybe r11
maybe r11:k
maybe r0
maybe rFF rff
note "hardware: $had had, $lacked lacking"
if has_pmu; then
	at_least $had 5 'a PMU has some of them'
	ok 'perf counts cycles' perf_counts cycles
	is "$(create cycles)" OK 'and cycles for sure'
	echo 'spin 50' | task >/dev/null
	at_least "$(count cycles)" 1000000 'which count'
	remove cycles >/dev/null
	type=$(cat /sys/bus/event_source/devices/armv8*/type /sys/bus/event_source/devices/cpu/type 2>/dev/null | head -n 1)
	pmu=$(cd /sys/bus/event_source/devices && ls -d armv8* cpu 2>/dev/null | head -n 1)
	case $pmu in
	armv8*)
		works "$pmu/config=0x11/"
		works "$pmu/config=0x11/u"
		works "$type/config=17/k"
		;;
	esac
else
	is $had 0 'without a PMU there are none'
fi

# ---- any PMU, by name and number

works software/config=2/ page-faults
works 1/config=4,config1=0/ cpu-migrations
works software/config=2/:u page-faults:u
works software/config=2/uD page-faults:uD
msr=/sys/bus/event_source/devices/msr
if [ -e $msr ]; then
	works msr/config=0x0/
	works "$(cat $msr/type)/config=0/"
	is "$(create msr/config=0x0/ name=tsc)" OK 'the time stamp counter'
	before=$(count tsc)
	tsc_grows() { [ $(($(count tsc) - before)) -ge 100000000 ]; }
	ok 'counts' wait_for 60 tsc_grows
	remove tsc >/dev/null
else
	skip 'this machine has no msr PMU' 'msr/config=0x0/'
fi

# ---- tracepoints

tracing=/sys/kernel/tracing/events
id=$(cat $tracing/sched/sched_switch/id)
works sched:sched_switch
works "tracepoint:$id"
works "sched:sched_switch:k"
if [ -e $tracing/syscalls ]; then
	is "$(create syscalls:sys_enter_chdir:u name=u)" OK 'a system call, in user space'
	is "$(create syscalls:sys_enter_chdir name=all)" OK 'and at all'
	before=$(count all)
	for i in 1 2 3; do cd .; done
	at_least $(($(count all) - before)) 3 'the shell calls it'
	is "$(count u)" "$(count all)" 'perf sees the registers of the program'
	remove u >/dev/null
	remove all >/dev/null
fi
if [ -e /sys/kernel/tracing/uprobe_events ]; then
	program=$(command -v task)
	entry=$(($(od -An -t u8 -j 24 -N 8 "$program")))
	[ $entry -lt $((0x400000)) ] || entry=$((entry - 0x400000))
	echo "p:tallytest/entry $program:$(printf '%#x' $entry)" >/sys/kernel/tracing/uprobe_events
	is "$(create tallytest:entry:k)" EINVAL 'a uprobe is in user space'
	is "$(create tallytest:entry:u name=u)" OK 'where it can be counted'
	for i in 1 2 3; do task </dev/null; done
	is "$(count u)" 3 'at each start of a program'
	remove u >/dev/null
	echo >/sys/kernel/tracing/uprobe_events
fi
create sched:sched_switch name=switches >/dev/null
create context-switches name=cs >/dev/null
before=$(count switches) cs=$(count cs)
echo 'sleep 100' | task >/dev/null
after=$(count cs)
at_least $(($(count switches) - before)) $((after - cs - 50)) 'as many as context-switches'
at_least $(($(count switches) - before)) 100 'and more than were ordered'
remove switches >/dev/null
remove cs >/dev/null
if [ -e $tracing/syscalls/sys_enter_getppid/id ]; then
	create syscalls:sys_enter_getppid name=getppid >/dev/null
	echo 'getppid 500' | task >/dev/null
	between 500 "$(count getppid)" 510 'one for each system call'
	remove getppid >/dev/null
else
	skip 'this kernel does not trace system calls' 'one for each system call'
fi
if [ -e $tracing/ftrace/function/id ]; then
	mark
	is "$(create "tracepoint:$(cat $tracing/ftrace/function/id)")" EOPNOTSUPP 'the number of ftrace:function is the one that is refused'
	ok 'for what it is' logged 'would hook every function'
	like "$(create ftrace:function)" 'E*' 'and its name'
else
	skip 'this kernel has no function tracer' 'ftrace:function is refused'
fi

# ---- probes

case $(uname -m) in
x86_64) symbol=__x64_sys_getppid ;;
*) symbol=__arm64_sys_getppid ;;
esac
address=0x$(sed -n "s/ [Tt] $symbol\$//p" /proc/kallsyms)
is "$(create kprobe:$symbol name=in)" OK 'a probe by symbol'
is "$(create kretprobe:$symbol name=out)" OK 'on return'
is "$(create kprobe:$address name=at)" OK 'by address'
echo 'getppid 300' | task >/dev/null
between 300 "$(count in)" 310 'every entry is counted'
between 300 "$(count out)" 310 'and every return'
is "$(count at)" "$(count in)" 'by address the same'
is "$(cat $tally/in/spec)" "kprobe:$symbol cpu=all name=in" 'its spec'
for name in in out at; do
	spec=$(cat $tally/$name/spec)
	is "$(remove $name)" OK "remove $name"
	is "$(create "$spec")" OK "make it again from $spec"
	echo 'getppid 100' | task >/dev/null
	between 100 "$(count $name)" 110 'and it counts again'
	remove $name >/dev/null
done
mkfifo $tmp/orders
helper sh -c 'exec task <$tmp/orders >$tmp/answers'
exec 4>$tmp/orders
is "$(create kprobe:$symbol pid=$helper_pid name=mine)" OK 'a probe on one task'
echo 'getppid 50' | task >/dev/null
is "$(count mine)" 0 'others do not hit it'
echo 'getppid 50' >&4
wait_for 60 grep -q 'done' $tmp/answers
is "$(count mine)" 50 'the task does, and each time'
remove mine >/dev/null
exec 4>&-

# ---- breakpoints

data=print_fatal_signals
address=0x$(sed -n "s/ [A-Za-z] $data\$//p" /proc/kallsyms)
is "$(create "mem:$address/4:w" name=w)" OK 'a breakpoint on data of the kernel'
# The kernel prints the address without leading zeroes, if there are any.
is "$(cat $tally/w/spec)" "mem:$address/4:w cpu=all name=w" 'its spec'
i=0
while [ $i -lt 10 ]; do
	echo 0 >/proc/sys/kernel/print-fatal-signals
	i=$((i + 1))
done
# arm64 single-steps the instruction after the breakpoint. An interrupt before the step
# makes the instruction hit the breakpoint a second time.
twice=0
[ "$(uname -m)" = x86_64 ] || twice=3
between 10 "$(count w)" $((10 + twice)) 'every write is counted'
writes=$(count w)
cat /proc/sys/kernel/print-fatal-signals >/dev/null
is "$(count w)" "$writes" 'and no read'
remove w >/dev/null
is "$(create "mem:$address/4" name=rw)" OK 'on reads and writes'
i=0
while [ $i -lt 10 ]; do
	echo 0 >/proc/sys/kernel/print-fatal-signals
	cat /proc/sys/kernel/print-fatal-signals >/dev/null
	i=$((i + 1))
done
at_least "$(count rw)" 20 'both are counted'
remove rw >/dev/null
code=0x$(sed -n "s/ [Tt] $symbol\$//p" /proc/kallsyms)
is "$(create "mem:$code:x" name=exec)" OK 'on an instruction'
spec=$(cat $tally/exec/spec)
echo 'getppid 20' | task >/dev/null
at_least "$(count exec)" 1 'its execution is counted'
remove exec >/dev/null
is "$(create "$spec")" OK "make it again from $spec"
remove exec >/dev/null

nothing_left 'nothing is left behind'
finish
