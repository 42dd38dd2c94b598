#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Only debug kernels let allocations fail, and only debug-x86_64 checks every access. With kmemleak,
# all of it takes more than twice as long: make test-all looks for leaks, too.
# test: on=debug-x86_64 vm=--no-leak-scan args="30 2" alone seconds=50
# all: on=debug-x86_64 args="30 2" alone seconds=150
# soak: on=debug-x86_64 args=1 seconds=500
# soak: on=debug-arm64 seconds=200
#
# Every allocation fails in turn: while an event is made, in each call on the device and
# its files, and while a module is loaded (features.md, D.1 #4 and #5; see failnth.c and
# faildev.c). With kmemleak, scripts/vm looks for leaks afterwards.
#
#	failslab.sh [STEP [CPUS]]	while a module is loaded, only every STEP-th allocation
#					fails; default 7. Without CPUS, all CPUs are online.

. "$(dirname "$0")/lib.sh"
slab=/sys/kernel/debug/failslab
pages=/sys/kernel/debug/fail_page_alloc
[ -e /proc/self/fail-nth ] || skip_all 'this kernel has no fault injection (CONFIG_FAULT_INJECTION)'
[ -d $slab ] || skip_all 'this kernel has no CONFIG_FAILSLAB'

# Allocations that may sleep fail, too. With verbose 1, the log has a line without a stack
# for each failure: by this line scripts/vm knows that a stack that some callers print is
# no report of the kernel.
setting $slab/ignore-gfp-wait N
setting $slab/verbose 1
if [ -d $pages ]; then
	setting $pages/ignore-gfp-wait N
	setting $pages/min-order 0
	setting $pages/verbose 1
fi

# reject FUNCTION...: no allocation of the first one that the kernel has, and of what it
# calls, fails.
reject() {
	for function in "$@"; do
		sort /proc/kallsyms | awk -v name="$function" '
			start != "" && $1 != start { print start, $1; exit }
			$3 == name { start = $1 }' >$tmp/range
		[ ! -s $tmp/range ] || break
	done
	read -r start end <$tmp/range
	for where in $slab $pages; do
		[ -d $where ] || continue
		setting $where/reject-start "0x$start"
		setting $where/reject-end "0x$end"
	done
}
# The kernel warns when it has no memory for the fields of a module's tracepoints.
reject event_define_fields event_create_dir

case $(uname -m) in
x86_64) symbol=__x64_sys_getppid ;;
*) symbol=__arm64_sys_getppid ;;
esac
address=0x$(sed -n 's/ [A-Za-z] print_fatal_signals$//p' /proc/kallsyms)

cpus=${2:-$(nproc)}
for processor in $(seq "$cpus" $(($(nproc) - 1))); do
	setting "/sys/devices/system/cpu/cpu$processor/online" 0
done
is "$(nproc)" "$cpus" 'the CPUs are online'
# Thousands of rounds wait for grace periods, which are not what is tested here.
setting /sys/kernel/rcu_expedited 1
load_tally
# A machine with a PMU only tests the PMU's events: all others are the same on both.
step=${1:-7}
if has_pmu; then
	step=10
	results failnth create cycles 'r11:k cpu=0 period=1000000'
else
	results failnth create page-faults 'cpu-clock cpu=0' 'page-faults pid=1 inherit' \
		'sched:sched_switch' "kprobe:$symbol" "kretprobe:$symbol cpu=0" \
		"mem:$address/4:w cpu=0" 'software/config=2/:uD cpu=0 disabled require exclude=kernel' \
		'{page-faults,cs} cpu=0'
	# Several functions have this name.
	results failnth refuse kprobe:c_start 'func:c_start{page-faults}'
	# Events that overflow allocate more: counts on each CPU, and files.
	results failnth create 'cpu-clock cpu=0 period=1000000' "kprobe:$symbol freq=100" \
		'page-faults:u pid=1 period=1000000000 remove_on_exec sigtrap'
fi
# The module shares the samples of its event with other processes.
ok 'a module with an event to attach to' insmod "$here/tally_recorder.ko" mode=share
results faildev shared
rmmod tally_recorder
# The module makes a set of events and publishes it.
results failnth insmod "$here/tally_reads.ko" mode=once "$step"
nothing_left 'nothing is left'
is "$(stat_of hotplug_errors)" 0 'no CPU was given up'

# Samples with a payload: memory for each place of a queue.
results failnth insmod "$here/tally_payload.ko" 'line=page-faults type=0x84400 period=1000000000' 7
nothing_left 'nothing is left of them'

unload_tally

results failnth insmod "$here/tally.ko" \
	'events="page-faults;cpu-clock;cpu-clock period=1000000 name=clock" debugfs=on' "$step"
load_tally events=page-faults
is "$(state page-faults)" active 'it loads and counts as ever'
finish
