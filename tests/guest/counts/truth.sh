#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The stock kernels have zram, for major faults; arm64 has a different clock.
# test: on=debian-6.12-arm64 vm="--module zram" seconds=25
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd vm="--module zram" seconds=25
# soak: on=debian-6.12,debian-6.1,debian-6.12-arm64 vm="--module zram" args=soak
# soak: on=debug-x86_64,debug-arm64 args=soak
#
# Counts of tally beside the kernel's own counts, under load, in windows that enclose each
# other (see set/interval.c).
#
#	truth.sh [soak]	with soak, each window lasts three seconds
#
# Major faults need swap: run with zram if the kernel has it as a module.

. "$(dirname "$0")/lib.sh"
need_cpus 2
soak='' seconds=1
[ "${1:-}" != soak ] || soak=1 seconds=3
cpus=$(nproc)
load_tally 'events="page-faults;minor-faults;major-faults;context-switches;cpu-clock;task-clock;cpu-migrations;dummy;page-faults:u name=user;page-faults:k name=kernel"'

# beside EVENT[/NUMBER] WORD FILE SLACK LEAST: checks that the count of the event agrees
# with WORD in FILE. NUMBER is another file of the event than count. SLACK is thousandths
# of the count, for different definitions of the two counts. A count of LEAST shows that
# there was work.
beside() {
	case $1 in
	*/*) got=$(window "$seconds" "$5" "$2" "$tally/$1" "$3") ;;
	*) got=$(window "$seconds" "$5" "$2" "$tally/$1/count" "$3") ;;
	esac
	# shellcheck disable=SC2086 # Three words.
	set -- "$1" "$2" "$3" "$4" "$5" $got
	note "$1: $7 counted, $2 in $3 between $6 and $8"
	slack=$(($8 * $4 / 1000))
	between $(($6 - slack)) "$7" $(($8 + slack)) "$1 agrees with $2 in $3"
	at_least "$7" "$5" "there was work for $1"
}

# Swap in memory, so that pages are really swapped out.
swap=''
if [ -e /sys/block/zram0 ]; then
	echo 64M >/sys/block/zram0/disksize
	mdev -s
	mkswap /dev/zram0 >/dev/null && swapon /dev/zram0 && swap=1
fi

helper load -f 20000 -s 4000 -m 200 ${swap:+-M 2000}

# Both count exactly the same switches: no slack.
beside context-switches ctxt /proc/stat 0 1500
# vmstat also counts pages that the kernel touches for another process, and faults that
# are retried.
beside page-faults pgfault /proc/vmstat 5 3000
beside minor-faults pgfault-pgmajfault /proc/vmstat 5 3000
if [ -n "$swap" ]; then
	beside major-faults pgmajfault /proc/vmstat 5 300
else
	beside major-faults pgmajfault /proc/vmstat 0 0
	skip 'this guest has no swap' 'major faults that happen'
fi
# perf's clocks read the CPU's counter. If CLOCK_MONOTONIC reads another counter, the two
# differ as the machine's counters do: for example by ticks that are lost while the host
# is busy. Then a clock is only compared with the time that another event was enabled.
case $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource) in
tsc | arch_sys_counter) same_clock=1 ;;
*) same_clock=$soak ;;
esac
for clock in cpu-clock task-clock; do
	beside $clock - $tally/page-faults/enabled_ns 0 1000000000
	# One thousandth is slack enough for two clocks of one machine.
	if [ -n "$same_clock" ]; then
		beside $clock "$cpus" time 1 $((seconds * 1000000000))
	fi
done
[ -z "$same_clock" ] ||
	beside dummy/enabled_ns "$cpus" time 1 $((seconds * 1000000000))

# /proc has no number of migrations of the whole machine. So the count is compared with
# the number of migrations that the test forces.
before=$(count cpu-migrations)
echo 'migrate 100' | task >/dev/null
at_least $(($(count cpu-migrations) - before)) 100 'cpu-migrations has those that were forced'
end_helpers

# Minor and major faults add up to all page faults; so do those of user and kernel.
all=$(count page-faults)
parts=$(($(count minor-faults) + $(count major-faults)))
between "$all" "$parts" "$(count page-faults)" 'minor and major faults make page faults'
all=$(count page-faults)
parts=$(($(count user) + $(count kernel)))
between "$all" "$parts" "$(count page-faults)" 'those of user space and kernel do'
is "$(count dummy)" 0 'the dummy counts nothing'

# All page faults of one process.
mkfifo $tmp/orders
helper sh -c 'exec task <$tmp/orders >$tmp/answers'
exec 4>$tmp/orders
wait_for 60 test -e $tmp/answers
create "page-faults pid=$helper_pid name=task" >/dev/null
echo 'touch 10000' >&4
wait_for 60 grep -q 'done' $tmp/answers
faults=$(awk '{ print $10 + $12 }' "/proc/$helper_pid/stat")
between "$((faults - 200))" "$(count task)" "$faults" "a task's page faults agree with its /proc/PID/stat"
at_least "$(count task)" 10000 'and were as many as ordered'
exec 4>&-
wait "$helper_pid"
[ -z "$swap" ] || swapoff /dev/zram0

finish
