#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The races are rare, so the soak runs many cycles. 6.1 has a different perf core.
# test: on=debug-x86_64 args=3 seconds=50
# all: on=debian-6.12-arm64,debian-6.1 args=5 seconds=20
# all: on=debian-6.12:intel,debian-6.1:intel,debian-7:intel,debian-6.12:amd args=5 seconds=20
# soak: on=debug-rt,debug-kcsan args=10 seconds=100
# soak: on=debug-x86_64,debug-arm64 args=40 seconds=220
# soak: on=debian-6.12,debian-6.1,debian-6.12-arm64 args=25 seconds=100
#
# CPU 1 goes offline and online again under load, while readers check that no total ever
# falls (features.md, D.1 #19: CPU hotplug is handled).
#
#	hotplug.sh [CYCLES]	number of cycles; default 8

. "$(dirname "$0")/lib.sh"
need_cpus 2
cycles=${1:-8}

online=/sys/devices/system/cpu/cpu1/online
[ -w $online ] || skip_all 'CPU 1 cannot go offline in this kernel'

offline() { echo 0 >$online; }
online() { echo 1 >$online; }
column() { cpu_line "$1" 1 | cut -d' ' -f"$2"; }
faults_on_1() { echo 'touch 500' | as cpu 1 task >/dev/null; }
column_is() { [ "$(column "$1" "$2")" = "$3" ]; }
column_grew() { [ "$(column "$1" "$2")" -gt "$3" ]; }
overflows() { cat "$tally/$1/overflows"; }
overflows_more() { [ "$(overflows "$1")" -gt "$2" ]; }
# runs PID: a helper that has ended by itself has failed.
runs() { kill -0 "$1" 2>/dev/null; }

# ---- a CPU that was offline when tally was loaded

offline
load_tally events=page-faults,cpu-clock
is "$(cpu_line page-faults 1)" 'offline 0 0 0 0' 'offline from the start, and says so'
is "$(stat_of perf_events)" $(($(nproc) * 2)) 'it has no perf event'
is "$(state page-faults)" active 'the others count'
is "$(create 'page-faults cpu=1 name=one')" ENODEV 'no event on it alone'
online
ok 'it joins when it comes' wait_for 60 column_is page-faults 1 active
faults_on_1
at_least "$(column page-faults 2)" 500 'and counts'
at_least "$(column cpu-clock 2)" 1 'all events'

# ---- one cycle, step by step

is "$(create 'page-faults cpu=1 name=one')" OK 'an event on it alone'
is "$(create 'page-faults cpu=1 disabled name=off')" OK 'one that is off'
faults_on_1
all=$(column page-faults 2) total=$(count page-faults) one=$(count one)
at_least "$one" 500 'the event on it alone counts'
offline
is "$(column page-faults 1)" offline 'offline: per_cpu says so'
is "$(state one)" offline 'the state of its own event too'
is "$(grep '^one ' $tally/events | cut -d' ' -f2,3)" 'cpu=1 offline' 'and the list'
is "$(state page-faults)" active 'the event on all CPUs is active on the others'
at_least "$(column page-faults 2)" "$all" 'its count is kept'
at_least "$(count one)" "$one" 'that of its own event too'
at_least "$(count page-faults)" "$total" 'the total does not fall'
is "$(create 'page-faults cpu=1 name=two')" ENODEV 'no new event on it, even if another one counts the same'
is "$(create 'minor-faults cpu=1 name=other')" ENODEV 'nor one that counts something else'
all=$(column page-faults 2) one=$(count one) enabled=$(cat $tally/one/enabled_ns)
echo 'touch 500' | task >/dev/null
is "$(column page-faults 2) $(count one) $(cat $tally/one/enabled_ns)" "$all $one $enabled" \
	'nothing moves while it is away'
is "$(create 'page-faults name=three')" OK 'an event on all CPUs can be made meanwhile'
is "$(cpu_line three 1)" 'offline 0 0 0 0' 'without it'
is "$(create 'page-faults name=four disabled')" OK 'one that is off too'
online
for name in page-faults one three; do
	ok "$name counts again" wait_for 60 column_is $name 1 active
done
ok 'what was off is off' wait_for 60 column_is off 1 off
is "$(column four 1)" off 'and what was made off'
faults_on_1
at_least $(($(column page-faults 2) - all)) 500 'its count grows from where it was'
at_least $(($(count one) - one)) 500 'that of its own event too'
at_least "$(column three 2)" 500 'and of the one made meanwhile'
is "$(count off)" 0 'what is off counts nothing'
at_least "$(stat_of hotplug_repairs)" 3 'stats counts the repairs'

# Events of a task count while CPU 1 is offline, and after that.
mkfifo $tmp/orders
helper sh -c 'exec task <$tmp/orders >$tmp/answers'
task=$helper_pid
exec 4>$tmp/orders
is "$(create "page-faults pid=$task name=task")" OK 'an event of a task'
is "$(create "page-faults pid=$task cpu=1 name=task1")" OK 'of a task on CPU 1'
echo 'migrate 3' >&4
echo 'touch 500' >&4
wait_lines() { [ "$(wc -l <$tmp/answers)" -ge "$1" ]; }
ok 'does as it is told' wait_for 60 wait_lines 2
before=$(count task) before1=$(count task1)
at_least "$before" 500 'it is counted'
at_least "$before1" 500 'on CPU 1'
offline
echo 'touch 500' >&4
ok 'without CPU 1 too' wait_for 60 wait_lines 3
at_least $(($(count task) - before)) 500 'it is counted wherever it runs'
at_least "$(count task1)" "$before1" 'what it did on CPU 1 is kept'
online
exec 4>&-
wait "$task"
is "$(state task)" exited 'and its exit is seen'
is "$(state task1)" exited 'for both'
for name in one off three four task task1; do
	is "$(remove $name)" OK "remove $name"
done

# The same with events that overflow.
is "$(create 'cpu-clock cpu=all period=1000000 name=clock')" OK 'a clock that overflows'
is "$(create 'cpu-clock cpu=1 period=1000000 name=clock1')" OK 'one on CPU 1'
is "$(create 'page-faults cpu=1 period=10 name=ten')" OK 'every tenth page fault there'
is "$(create 'cpu-clock cpu=1 period=1000000 disabled name=off')" OK 'a clock that is off'
for name in clock clock1; do
	ok "$name overflows" wait_for 60 overflows_more $name 5
done
faults_on_1
at_least "$(overflows ten)" 50 'ten overflows'
offline
all=$(overflows clock) one=$(overflows clock1) ten=$(overflows ten)
is "$ten" $(($(count ten) / 10)) 'ten: once in a whole period'
ok 'without CPU 1 the clock overflows on the others' wait_for 60 overflows_more clock "$all"
is "$(overflows clock1) $(overflows ten)" "$one $ten" 'and on CPU 1 nothing does'
online
ok 'with it again' wait_for 60 overflows_more clock1 "$one"
ok 'ten counts there again' wait_for 60 column_is ten 1 active
faults_on_1
# The part of a period that was counted when the CPU went offline is lost.
between $(($(count ten) / 10 - 1)) "$(overflows ten)" $(($(count ten) / 10)) 'ten overflows again'
at_least "$(overflows ten)" $((ten + 50)) 'and has not forgotten'
is "$(overflows off) $(state off)" '0 off' 'what is off does not overflow'
for name in clock clock1 ten off; do
	is "$(remove $name)" OK "remove $name"
done

# ---- many cycles

is "$(create context-switches)" OK 'one more event'
is "$(create 'page-faults cpu=1 name=one')" OK 'and one on CPU 1'
is "$(create 'cpu-clock cpu=all period=10000000 name=clock')" OK 'a clock that overflows'
is "$(create 'page-faults cpu=1 period=1 name=each')" OK 'and each page fault on CPU 1'
# The work and those who watch leave the CPUs to the cycles.
# shellcheck disable=SC2046 # Several words, for each CPU.
helper as nice load $(seq $(nproc) | sed 's/.*/-f 4000 -s 2000 -b/')
work=$helper_pid
# come_and_go runs in the background and writes its failures to this file.
rm -f $tmp/came
cat >$tmp/come_and_go <<'END'
i=0
while [ ! -e $tmp/stop ]; do
	i=$((i + 1))
	for line in "page-faults:u name=x" "cpu-clock cpu=0 name=y" "cs cpu=1 name=z" \
		"cpu-clock cpu=1 period=100000 name=o"; do
		got=$(wr $1/create "$line")
		case "$line $got" in
		*OK) ;;
		*cpu=1*ENODEV) continue ;;
		*)
			echo "# create $line: $got" >>$tmp/came
			exit 1
			;;
		esac
		got=$(wr $1/remove "${line##*name=}")
		if [ "$got" != OK ]; then
			echo "# remove $line: $got" >>$tmp/came
			exit 1
		fi
	done
done
echo "# $i rounds of events came and went"
END
watchers=''
for watch in 'count 1' 'enabled_ns 1' 'running_ns 1' 'per_cpu 3 4 5'; do
	for name in page-faults cpu-clock context-switches; do
		# Leave some watchers out: all of them share the CPUs.
		case $name:$watch in
		cpu-clock:enabled* | cpu-clock:running* | context-switches:enabled*) continue ;;
		esac
		# shellcheck disable=SC2086 # Several words.
		helper as nice monot $tally/$name/$watch
		watchers="$watchers $helper_pid"
	done
done
for file in one/count clock/overflows each/overflows; do
	helper as nice monot $tally/$file 1
	watchers="$watchers $helper_pid"
done
helper sh $tmp/come_and_go $tally
comer=$helper_pid

repairs=$(stat_of hotplug_repairs)
start=$(date +%s)
done=0 stuck=0
while [ $done -lt "$cycles" ]; do
	offline || { note "cycle $done: cannot go offline"; break; }
	online || { note "cycle $done: cannot come online"; break; }
	done=$((done + 1))
	# All cycles but the first quarter are quick ones.
	[ $done != $(((cycles + 3) / 4)) ] || setting /sys/kernel/rcu_expedited 1
	# After every other cycle, do not wait for the repair before the next cycle.
	[ $((done % 2)) = 1 ] ||
		wait_for 60 column_is page-faults 1 active || stuck=$((stuck + 1))
done
note "$done cycles in $(($(date +%s) - start)) s"
is $done "$cycles" 'CPU 1 went and came'
is $stuck 0 'counting resumed each time'

touch $tmp/stop
wait "$comer"
is "$?" 0 'events came and went meanwhile'
[ ! -e $tmp/came ] || cat $tmp/came
for watcher in $watchers; do
	ok 'no number fell' stop "$watcher"
done
ok 'the work went on' runs "$work"
end_helpers
for name in page-faults one; do
	ok "$name is counted on CPU 1 at the end" wait_for 60 column_is $name 1 active
	before=$(column $name 2)
	faults_on_1
	at_least $(($(column $name 2) - before)) 500 "$name grows by what happens there"
done
before=$(overflows clock) each=$(overflows each)
ok 'the clock goes on to overflow' wait_for 60 overflows_more clock "$before"
faults_on_1
at_least $(($(overflows each) - each)) 500 'so does each page fault'
is "$(cat $tally/each/skipped)" 0 'of which none was skipped'
at_least "$(stat_of hotplug_repairs)" $((repairs + cycles)) 'a repair for each cycle, at least'
is "$(stat_of hotplug_errors)" 0 'no repair failed'
is "$(cut -d' ' -f1 $tally/events | tr '\n' ' ')" \
	'page-faults cpu-clock context-switches one clock each ' \
	'the events are those that there were'
is "$(stat_of perf_events)" $((4 * $(nproc) + 2)) 'with one perf event for each CPU'

# ---- breakpoints: a CPU has few, and the events that it lost hold theirs until they go

address=0x$(sed -n 's/ [A-Za-z] linux_proc_banner$//p' /proc/kallsyms)
taken=0
while [ $taken -lt 32 ] && [ "$(create "mem:$address/4:w:D name=bp$taken")" = OK ]; do
	taken=$((taken + 1))
done
at_least $taken 2 'breakpoints are taken until there are no more'
for _ in 1 2 3; do
	offline
	online
done
while [ $taken -gt 0 ]; do
	taken=$((taken - 1))
	ok "breakpoint $taken is back" wait_for 60 column_is bp$taken 1 active
	is "$(remove bp$taken)" OK 'it goes'
done
is "$(stat_of hotplug_errors)" 0 'none failed meanwhile'

# ---- unloading at the worst moment

for moment in 'after it came' 'after it went'; do
	offline
	[ "$moment" = 'after it went' ] || online
	ok "unload right $moment" unload_tally
	online 2>/dev/null
	load_tally 'events="page-faults;context-switches;cpu-clock period=1000000"'
done
offline
unload_tally
load_tally
nothing_left 'nothing is left after a load with CPU 1 away'
online
finish
