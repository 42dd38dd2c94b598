#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# 6.1 has the oldest perf core, which inherits in another way. debug-x86_64 checks every
# memory access.
# test: on=debian-6.1 args=1000 seconds=30
# soak: on=debug-x86_64,debug-rt,debug-kcsan,debug-arm64 args=100 seconds=50
# soak: on=debian-6.12,debian-6.12-arm64 args=1000 seconds=40
#
# forks.sh [CHILDREN]: inherited events that overflow, and then events at exec(). The
# overflows of children are added to the parent's, and nothing of a child is touched after
# its exit.

. "$(dirname "$0")/lib.sh"
children=${1:-250}
# shellcheck disable=SC2119
load_tally

# within_one NAME PERIOD TASKS: checks that there is one overflow per period. Each task
# may keep the rest of its last period.
within_one() {
	counted=$(count "$1")
	seen=$(cat "$tally/$1/overflows")
	note "$1: $counted counted, period $2, $seen overflows, $3 tasks"
	between $((counted / $2 - $3)) "$seen" $((counted / $2 + $3)) \
		"$1: overflows are the count divided by the period, within one per task"
	at_least "$seen" 1 "$1: there are some"
	is "$(cat "$tally/$1/skipped")" 0 "$1: none is skipped"
}

begin_task task
order touch 1
is "$(create "page-faults:u pid=$child inherit period=7 name=faults")" OK 'user page faults'
is "$(create "page-faults pid=$child inherit period=1 name=every")" OK 'each page fault'
is "$(create "context-switches pid=$child inherit period=3 name=switches")" OK 'switches'
is "$(create "task-clock pid=$child inherit period=200000 name=clock max_rate=0")" OK 'a clock'
order forks "$children"
within_one faults 7 $((children + 1))
within_one every 1 $((children + 1))
within_one switches 3 $((children + 1))
at_least "$(cat $tally/clock/overflows)" 1 'clock: it overflows in the children'
for name in faults every switches clock; do
	is "$(remove $name)" OK "$name is removed"
done

if [ -d /sys/kernel/tracing/events/sched/sched_switch ]; then
	is "$(create "sched:sched_switch pid=$child inherit period=1 name=tp")" OK 'a tracepoint'
	order forks 200
	within_one tp 1 201
	is "$(remove tp)" OK 'tp is removed'
else
	skip 'this kernel has none' 'a tracepoint'
fi
if has_pmu; then
	is "$(create "cycles:u pid=$child inherit period=50000 name=cycles")" OK 'cycles'
	order forks 200
	at_least "$(cat $tally/cycles/overflows)" 1 'cycles overflow in the children'
	is "$(remove cycles)" OK 'cycles is removed'
else
	skip 'no PMU' 'cycles'
fi

# An event is removed while children start and exit.
removed=0
echo "forks $((2 * children))" >&4
while [ $removed -lt 20 ]; do
	create "page-faults pid=$child inherit period=1 name=short" >/dev/null || break
	usleep 10000
	[ "$(remove short)" = OK ] || break
	removed=$((removed + 1))
done
read -r answer <&5
is "$answer $removed" 'done 20' 'removed 20 times while children come and go'
end_task

# ---- exec()

begin_task task
order touch 1
is "$(create "page-faults:u pid=$child disabled enable_on_exec name=late")" OK 'enable_on_exec'
is "$(create "page-faults:u pid=$child disabled enable_on_exec inherit period=1 name=latei")" OK 'inherited, too'
is "$(create "page-faults:u pid=$child remove_on_exec period=1 name=early")" OK 'remove_on_exec'
order touch 10
is "$(count late) $(state late)" '0 off' 'it does not count before exec()'
is "$(count latei) $(cat $tally/latei/overflows)" '0 0' 'nor does the inherited one'
at_least "$(count early)" 10 'the other one does'
is "$(cat $tally/late/spec)" \
	"page-faults:u pid=$child enable_on_exec disabled name=late" 'spec has all of it'
order exec
order touch 10
at_least "$(count late)" 10 'it counts after exec()'
at_least "$(cat $tally/latei/overflows)" 10 'and overflows'
is "$(state early)" exited 'the other one is over'
was=$(count early)
order exec
order touch 10
is "$(count early)" "$was" 'with its count'
at_least "$(count late)" 20 'a second exec() changes nothing'
for name in late latei early; do
	is "$(remove $name)" OK "$name is removed"
done

# An event that is removed before exec(): exec() must not enable it.
is "$(create "page-faults:u pid=$child disabled enable_on_exec period=1 name=gone")" OK 'one more'
is "$(remove gone)" OK 'which goes before exec()'
order exec
order touch 1
end_task
nothing_left 'nothing is left'
finish
