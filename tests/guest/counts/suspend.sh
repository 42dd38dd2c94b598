#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# 6.1 has a different perf core. The debug kernels and arm64 only suspend to idle, as a trial.
# test: on=debian-6.12 alone seconds=20
# soak: on=debian-6.12 args=real alone seconds=60
# soak: on=debian-6.1,debug-x86_64,debug-arm64,debian-6.12-arm64 alone
#
# suspend.sh [real]: with real, the machine also sleeps until an alarm ten seconds later. If it
# took longer to fall asleep, nothing would wake it.
#
# The machine suspends and wakes: all CPUs but one go offline meanwhile, and tasks stand
# still. What can be compared with a count of the kernel's own is the same as that.

. "$(dirname "$0")/lib.sh"
need_cpus 2

power=/sys/power
alarm=/sys/class/rtc/rtc0/wakealarm
cpus=$(nproc)
case $(uname -m) in
x86_64) symbol=__x64_sys_getppid ;;
*) symbol=__arm64_sys_getppid ;;
esac
[ -s $power/state ] || skip_all 'this kernel does not suspend'

# deep: whether the machine can suspend to RAM. From a suspend to idle nothing would wake it.
deep() { grep -q '\[deep\]' $power/mem_sleep 2>/dev/null; }
states() { rows "$1" | cut -d' ' -f2 | sort -u; }
all_active() { [ "$(states "$1")" = active ]; }
# minor PID and switches PID: what the kernel has counted for a task.
minor() { cut -d' ' -f10 "/proc/$1/stat"; }
switches() { awk '/ctxt_switches/ { sum += $2 } END { print sum }' "/proc/$1/status"; }
# A shell calls getppid() as it starts, so $here/task is started without one.
getppid() { echo "getppid $2" | as cpu "$1" "$here/task" >/dev/null; }

# work: 100 calls on each CPU, page faults and switches of the task.
calls=0
work() {
	cpu=0
	while [ $cpu -lt "$cpus" ]; do
		getppid $cpu 100
		cpu=$((cpu + 1))
	done
	calls=$((calls + 100 * cpus))
	order touch 500
	order sleep 10
}

# unchanged WHEN: checks all counts that are exact.
unchanged() {
	is "$(count probe)" $calls "$1: all calls are counted"
	is "$(count each) $(cat $tally/each/overflows)" "$calls $((calls / 10))" \
		"$1: and overflow"
	is "$(count faults)" $(($(minor "$child") - minor)) "$1: all page faults of a task"
	is "$(count switches)" $(($(switches "$child") - switches)) "$1: all its switches"
}

# sleep_by NAME STATE [SECONDS]: suspends the machine, with an alarm so much later, and
# compares afterwards.
sleep_by() {
	work
	unchanged "before $1"
	total=$(count total)
	at_least "$total" 500 "before $1: page faults are counted"
	[ -z "${3-}" ] || echo "+$3" >$alarm
	ok "$1" eval "echo $2 >$power/state"
	for name in probe each total; do
		ok "after $1: $name counts on all CPUs" wait_for 60 all_active $name
	done
	at_least "$(count total)" "$total" "after $1: the total has not fallen"
	work
	unchanged "after $1"
	at_least $(($(count total) - total)) 500 "after $1: page faults are counted"
}

# shellcheck disable=SC2119
load_tally
begin_task task
order touch 1
is "$(create kprobe:$symbol name=probe)" OK 'a probe on all CPUs'
is "$(create kprobe:$symbol period=10 name=each)" OK 'one that overflows'
is "$(create page-faults name=total)" OK 'page faults on all CPUs'
is "$(create "minor-faults pid=$child name=faults")" OK 'those of a task'
is "$(create "context-switches pid=$child name=switches")" OK 'its switches'
minor=$(minor "$child") switches=$(switches "$child")

if [ -w $power/pm_test ]; then
	setting /sys/module/suspend/parameters/pm_test_delay 0
	if deep; then
		echo core >$power/pm_test
		repairs=$(stat_of hotplug_repairs)
		sleep_by 'a trial of suspend to RAM' mem
		at_least $(($(stat_of hotplug_repairs) - repairs)) $((3 * (cpus - 1))) \
			'the CPUs have other events of perf'
		is "$(rows total | awk '$6 > 0' | wc -l)" $((cpus - 1)) \
			'per_cpu tells the gap of each CPU that came back'
	fi
	if grep -q freeze $power/state; then
		echo devices >$power/pm_test
		sleep_by 'a trial of suspend to idle' freeze
	fi
	echo none >$power/pm_test
fi
if [ "${1-}" = real ]; then
	sleep_by 'a suspend to RAM' mem 10
fi
is "$(stat_of hotplug_errors)" 0 'no event could not be made'
end_task
for name in probe each total faults switches; do
	is "$(remove $name)" OK "remove $name"
done
nothing_left 'nothing is left'
finish
